(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** The rules for sums, CERTIFICATE.md, section 6: a lemma a rule. What they are about is in [RulesExecution]. *)

From Formwright Require Import RulesExecution.
From Flocq Require Import Relative.

(** Relative errors add up: [gamma k] is the page's γ_k. *)
Definition gamma (u : R) (k : nat) : R := INR k * u / (1 - INR k * u).

Lemma bpow_double e : bpow radix2 e = 2 * bpow radix2 (e - 1).
Proof. unfold Z.sub. rewrite bpow_plus. simpl (bpow radix2 (- (1))). lra. Qed.

Section Sums.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation number := (number emin prec).
Notation fl := (fl emin prec).
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation rounded := (rounded emin prec).
Notation sum := (sum emin prec).

Let fexp := FLT_exp emin prec.

(** * Exact sums *)

Lemma rounded_exact x y : number x -> (x = 0 \/ least_normal <= Rabs x) -> rounded x y -> y = x.
Proof. intros N H [|F]; [now apply (fl_id emin prec) | destruct H; lra]. Qed.

Lemma multiple_normal q x : (emin + prec - 1 <= q)%Z -> multiple q x -> x = 0 \/ least_normal <= Rabs x.
Proof.
  intros H M. destruct (Req_dec x 0) as [|N]; [now left | right].
  eapply Rle_trans; [|now apply (multiple_least q)]. now apply bpow_le.
Qed.

Lemma rounded_multiple q x y : (emin + prec - 1 <= q)%Z -> multiple q x -> Rabs x <= bpow radix2 (q + prec) ->
  rounded x y -> y = x.
Proof.
  intros H M B. apply rounded_exact; [|now apply multiple_normal with q].
  apply multiple_number with q; auto. unfold Prec_gt_0 in prec_pos. lia.
Qed.

Lemma total_between B s : above s <= B -> below s <= B -> Rabs (total s) <= B.
Proof.
  intros. rewrite total_above_below. assert (A := above_nonneg s). assert (D := below_nonneg s). apply Rabs_le. lra.
Qed.

(** Terms of a kind that is closed under addition, and whose members up to [B] are numbers that cannot be flushed. *)
Lemma sums_of_a_kind (kind : R -> Prop) B s x :
  kind 0 -> (forall a b, kind a -> kind b -> kind (a + b)) ->
  (forall a, kind a -> Rabs a <= B -> number a /\ (a = 0 \/ least_normal <= Rabs a)) ->
  Forall kind s -> above s <= B -> below s <= B -> sum s x -> x = total s.
Proof.
  intros K0 KA KN K A D H.
  assert (KT : forall r, Forall kind r -> kind (total r)) by (induction 1; [exact K0 | now apply KA]).
  assert (Once : forall a z, kind a -> Rabs a <= B -> rounded a z -> z = a).
  { intros a z Ka Ba. destruct (KN a Ka Ba). now apply rounded_exact. }
  revert K A D.
  induction H as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros K A D.
  - assert (T := total_between _ _ A D). replace (total [t]) with t in * by (unfold total; simpl; lra).
    apply Once in H; auto. now inversion K.
  - assert (T := total_between _ _ A D). apply Forall_app in K as [Ks Kr].
    rewrite above_app in A. rewrite below_app in D. rewrite total_app in T |- *.
    assert (A1 := above_nonneg s). assert (A2 := above_nonneg r).
    assert (D1 := below_nonneg s). assert (D2 := below_nonneg r).
    rewrite IHx, IHy in H by (auto; lra). apply Once in H; auto.
  - assert (T := total_between _ _ A D). change (t :: r) with ([t] ++ r) in A, D. rewrite above_app in A.
    rewrite below_app in D. inversion K as [|? ? Kt Kr]; subst.
    assert (A1 := above_nonneg [t]). assert (D1 := below_nonneg [t]).
    rewrite IHy in H by (auto; lra). apply Once in H; auto.
  - rewrite <- (total_order _ _ P). apply IH.
    + apply Permutation_Forall with r; auto. now apply Permutation_sym.
    + now rewrite (above_order _ _ P).
    + now rewrite (below_order _ _ P).
Qed.

(** Every partial sum is a number of the format, so the sum is exact in any order. *)
Theorem exact_sums q s x :
  (emin + prec - 1 <= q)%Z ->
  Forall (multiple q) s ->
  above s <= bpow radix2 (q + prec) ->
  below s <= bpow radix2 (q + prec) ->
  sum s x -> x = total s.
Proof.
  intros Q. apply (sums_of_a_kind (multiple q)).
  - apply multiple_0.
  - apply multiple_add.
  - intros a M B. split; [|now apply multiple_normal with q].
    apply multiple_number with q; auto. unfold Prec_gt_0 in prec_pos. lia.
Qed.

(** * Multiples stay multiples *)

Lemma multiple_rounded q x y : multiple q x -> rounded x y -> multiple q y.
Proof. intros M [|F]; [now apply multiple_fl | apply multiple_0]. Qed.

(** Every sum of multiples of [2^q] is one, however it is rounded. *)
Theorem multiples_stay_multiples q s x : Forall (multiple q) s -> sum s x -> multiple q x.
Proof.
  intros M H. revert M. induction H as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros M.
  - inversion M. now apply multiple_rounded with t.
  - apply Forall_app in M as [Ms Mr]. apply multiple_rounded with (x + y); auto. apply multiple_add; auto.
  - inversion M. apply multiple_rounded with (t + y); auto. apply multiple_add; auto.
  - apply IH. apply Permutation_Forall with r; auto. now apply Permutation_sym.
Qed.

(** * One rounding *)

Lemma sum_single t x : sum [t] x -> rounded t x.
Proof.
  intros H. remember [t] as s eqn:E. revert t E.
  induction H as [t x H|s r x y z Hx _ Hy _ H|t r y z Hy _ H|s r x P H IH]; intros w E.
  - now injection E as <-.
  - apply sum_not_empty in Hx, Hy. apply (f_equal (@length R)) in E. rewrite app_length in E. simpl in E. lia.
  - apply sum_not_empty in Hy. injection E as _ ->. simpl in Hy. lia.
  - subst. apply IH. apply Permutation_sym, Permutation_length_1_inv in P. auto.
Qed.

(** Two terms, whose products are numbers and cannot be flushed, are rounded once. *)
Theorem two_terms_round_once a b x :
  number a -> a = 0 \/ least_normal <= Rabs a -> number b -> b = 0 \/ least_normal <= Rabs b ->
  sum [a; b] x -> rounded (a + b) x.
Proof.
  intros Na Za Nb Zb H. assert (P := Permutation_refl [a; b]). remember [a; b] as s eqn:E in H, P at 1.
  clear E. revert P.
  induction H as [t x H|s r x y z Hx _ Hy _ H|t r y z Hy _ H|s r x P H IH]; intros Q.
  - apply Permutation_length in Q. discriminate Q.
  - assert (Lx := sum_not_empty _ _ Hx). assert (Ly := sum_not_empty _ _ Hy). assert (L := Permutation_length Q).
    rewrite app_length in L. destruct s as [|v [|? ?]], r as [|w [|? ?]]; simpl in *; try lia.
    apply sum_single in Hx, Hy. apply Permutation_length_2 in Q as [[-> ->]|[-> ->]].
    + rewrite (rounded_exact _ _ Na Za Hx), (rounded_exact _ _ Nb Zb Hy) in H. auto.
    + rewrite (rounded_exact _ _ Nb Zb Hx), (rounded_exact _ _ Na Za Hy), Rplus_comm in H. auto.
  - assert (L := Permutation_length Q). destruct r as [|w [|? ?]]; simpl in L; try lia.
    apply sum_single in Hy. apply Permutation_length_2 in Q as [[-> ->]|[-> ->]].
    + rewrite (rounded_exact _ _ Nb Zb Hy) in H. auto.
    + rewrite (rounded_exact _ _ Na Za Hy), Rplus_comm in H. auto.
  - apply IH. now apply Permutation_trans with r.
Qed.

(** Rounding is monotone, and 0 is added to the interval only if the result may be flushed. *)
Theorem one_rounding_interval lo hi t x : lo <= t <= hi -> rounded t x ->
  fl lo <= x <= fl hi \/ x = 0 /\ Rabs t < least_normal.
Proof. intros [L U] [|F]; [left; split; now apply (fl_le emin prec) | auto]. Qed.

(** It is off by at most [u] times the size; below the normal range by one least normal number. *)
Theorem one_rounding_error t x : rounded t x -> Rabs (x - t) <= Rmax (u * Rabs t) least_normal.
Proof.
  assert (U := u_pos prec). assert (V := u_half prec). assert (W := u_over prec).
  assert (N := least_normal_pos emin prec).
  intros [|F].
  - destruct (fl_error emin prec t) as (eps & eta & E1 & E2 & E3).
    destruct (Rle_lt_dec least_normal (Rabs t)) as [G|G].
    + eapply Rle_trans; [|apply Rmax_l].
      destruct (relative_error_N_FLT_ex radix2 emin prec prec_pos (fun n => negb (Z.even n)) t) as (e & F1 & F2); auto.
      change (round radix2 (FLT_exp emin prec) (Znearest (fun n => negb (Z.even n))) t) with (fl t) in F2.
      rewrite F2. replace (t * (1 + e) - t) with (e * t) by ring. rewrite Rabs_mult.
      apply Rmult_le_compat_r; [apply Rabs_pos|]. eapply Rle_trans; [apply F1|].
      rewrite <- u_is_u_ro. unfold u_ro. lra.
    + eapply Rle_trans; [|apply Rmax_r].
      rewrite E3. replace (t * (1 + eps) + eta - t) with (eps * t + eta) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult. assert (0 <= Rabs t) by apply Rabs_pos.
      assert (Rabs eps * Rabs t <= / 2 * least_normal) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
      nra.
  - replace (0 - t) with (- t) by ring. rewrite Rabs_Ropp. eapply Rle_trans; [|apply Rmax_r]. lra.
Qed.

(** The sum of two numbers is off by at most the smaller one, as the larger is a number. *)
Theorem two_terms_error a b : number a -> number b -> Rabs (fl (a + b) - (a + b)) <= Rmin (Rabs a) (Rabs b).
Proof.
  intros Ha Hb.
  destruct (round_N_pt radix2 (FLT_exp emin prec) (fun n => negb (Z.even n)) (a + b)) as [_ H].
  assert (A := H a Ha). assert (B := H b Hb). change (Znearest _) with ZnearestE in A, B.
  replace (a - (a + b)) with (- b) in A by ring. replace (b - (a + b)) with (- a) in B by ring.
  rewrite Rabs_Ropp in A, B. now apply Rmin_glb.
Qed.

(** * Terms that are 0 *)

(** A result below the normal range may as well be 0. *)
Lemma sum_flushed s x : sum s x -> Rabs x < least_normal -> sum s 0.
Proof.
  assert (Once : forall v z, rounded v z -> Rabs z < least_normal -> rounded v 0).
  { intros v z [|F] H; [|now apply Flushed]. apply Flushed. destruct (Rlt_le_dec (Rabs v) least_normal) as [L|L]; auto.
    exfalso. assert (G : least_normal <= Rabs (fl v)); [|lra].
    apply abs_round_ge_generic; auto with typeclass_instances.
    apply generic_format_bpow. unfold FLT_exp. unfold Prec_gt_0 in prec_pos. lia. }
  induction 1 as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros F.
  - constructor. now apply (Once t x).
  - apply (Sum_add _ _ s r x y); auto. now apply (Once (x + y) z).
  - apply (Sum_fused _ _ t r y); auto. now apply (Once (t + y) z).
  - apply (Sum_order _ _ s); auto.
Qed.

(** Adding 0 to a result gives a result. *)
Lemma sum_plus_0 s y z : sum s y -> rounded y z -> sum s z.
Proof.
  intros H [|F].
  - rewrite fl_id; auto. now apply sum_number with s.
  - now apply sum_flushed with y.
Qed.

(** Terms that are 0 may be left out of a sum. *)
Theorem zeros_do_not_count r x : r <> [] -> sum (0 :: r) x -> sum r x.
Proof.
  intros E H. assert (P := Permutation_refl (0 :: r)). remember (0 :: r) as s eqn:Es in H, P at 1. clear Es.
  revert r E P.
  induction H as [t x H|s1 s2 x y z Hx IHx Hy IHy H|t s y z Hy IHy H|s1 s2 x P H IH]; intros r E Q.
  - apply Permutation_length_1_inv in Q. injection Q as _ ->. now contradiction E.
  - assert (I : In 0 (s1 ++ s2)) by (apply Permutation_in with (0 :: r); [now symmetry | now left]).
    apply in_app_or in I as [I|I]; apply in_split in I as (a & b & ->).
    + assert (P1 : Permutation (a ++ 0 :: b) (0 :: (a ++ b))) by (symmetry; apply Permutation_middle).
      assert (P2 : Permutation r ((a ++ b) ++ s2)).
      { apply (Permutation_cons_inv (a := 0)). rewrite <- Q. rewrite P1. reflexivity. }
      apply Sum_order with ((a ++ b) ++ s2); [now symmetry|].
      destruct (a ++ b) as [|w l] eqn:El.
      * assert (Z : sum [0] x) by (now apply Sum_order with (a ++ 0 :: b)). apply sum_single in Z.
        apply rounded_exact in Z; [|apply number_0 | now left]. subst x. rewrite Rplus_0_l in H. simpl.
        now apply sum_plus_0 with y.
      * apply Sum_add with x y; auto. apply IHx; auto. discriminate.
    + assert (P1 : Permutation (a ++ 0 :: b) (0 :: (a ++ b))) by (symmetry; apply Permutation_middle).
      assert (P2 : Permutation r (s1 ++ (a ++ b))).
      { apply (Permutation_cons_inv (a := 0)). rewrite <- Q. rewrite P1. symmetry. apply Permutation_middle. }
      apply Sum_order with (s1 ++ (a ++ b)); [now symmetry|].
      destruct (a ++ b) as [|w l] eqn:El.
      * assert (Z : sum [0] y) by (now apply Sum_order with (a ++ 0 :: b)). apply sum_single in Z.
        apply rounded_exact in Z; [|apply number_0 | now left]. subst y. rewrite Rplus_0_r in H. rewrite app_nil_r.
        now apply sum_plus_0 with x.
      * apply Sum_add with x y; auto. apply IHy; auto. discriminate.
  - assert (I : In 0 (t :: s)) by (apply Permutation_in with (0 :: r); [now symmetry | now left]).
    destruct I as [->|I].
    + apply Permutation_cons_inv in Q. rewrite Rplus_0_l in H. apply Sum_order with s; auto. now apply sum_plus_0 with y.
    + apply in_split in I as (a & b & ->).
      assert (P1 : Permutation (a ++ 0 :: b) (0 :: (a ++ b))) by (symmetry; apply Permutation_middle).
      assert (P2 : Permutation r (t :: (a ++ b))).
      { apply (Permutation_cons_inv (a := 0)). rewrite <- Q. rewrite P1. apply perm_swap. }
      apply Sum_order with (t :: (a ++ b)); [now symmetry|].
      destruct (a ++ b) as [|w l] eqn:El.
      * assert (Z : sum [0] y) by (now apply Sum_order with (a ++ 0 :: b)). apply sum_single in Z.
        apply rounded_exact in Z; [|apply number_0 | now left]. subst y. rewrite Rplus_0_r in H. now constructor.
      * apply Sum_fused with y; auto. apply IHy; auto. discriminate.
  - apply IH; auto. now apply Permutation_trans with s2.
Qed.

(** * Any sum *)

Let c := 1 + u.

Lemma c_ge_1 : 1 <= c.
Proof. unfold c. assert (H := u_pos prec). lra. Qed.

Lemma grow m n : (m <= n)%nat -> c ^ m <= c ^ n.
Proof. apply Rle_pow, c_ge_1. Qed.

Lemma c_pow_1 n : 1 <= c ^ n.
Proof. apply pow_R1_Rle, c_ge_1. Qed.

(** How often the least normal number can be lost in a sum of [k] terms, grown by later roundings. *)
Let lost (k : nat) := 2 * (c ^ k - 1) / u - 1.

Lemma lost_1 : lost 1 = 1.
Proof. unfold lost, c. assert (H := u_pos prec). simpl. field. lra. Qed.

Lemma lost_pos k : (1 <= k)%nat -> 1 <= lost k.
Proof.
  intros H. rewrite <- lost_1. unfold lost. assert (U := u_pos prec). apply grow in H.
  apply Rplus_le_compat_r. unfold Rdiv. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra | lra].
Qed.

Lemma lost_add a b : (1 <= a)%nat -> (1 <= b)%nat -> c * (lost a + lost b) + 1 <= lost (a + b).
Proof.
  intros Ha Hb. assert (U := u_pos prec). apply grow in Ha, Hb. unfold lost. rewrite pow_add.
  set (x := c ^ a) in *. set (y := c ^ b) in *. rewrite pow_1 in Ha, Hb.
  apply Rmult_le_reg_r with u; auto. unfold Rdiv. 
  replace ((c * (2 * (x - 1) * / u - 1 + (2 * (y - 1) * / u - 1)) + 1) * u)
    with (c * (2 * (x - 1) + 2 * (y - 1) - 2 * u) + u) by (field; lra).
  replace ((2 * (x * y - 1) * / u - 1) * u) with (2 * (x * y - 1) - u) by (field; lra).
  assert (0 <= (x - c) * (y - c)) by (apply Rmult_le_pos; lra). unfold c in *. nra.
Qed.

(** What one more rounding of a number within [D] of its exact sum does. *)
Lemma rounded_off S D T v z : rounded v z -> Rabs (v - T) <= D -> Rabs T <= S ->
  Rabs (z - T) <= u * S + c * D + least_normal.
Proof.
  assert (U := u_pos prec). assert (V := u_half prec). assert (W := u_over prec).
  assert (N := least_normal_pos emin prec).
  intros [|F] HD HS; assert (D0 : 0 <= D) by (eapply Rle_trans; [apply Rabs_pos | apply HD]);
    assert (S0 : 0 <= S) by (eapply Rle_trans; [apply Rabs_pos | apply HS]).
  - destruct (fl_error emin prec v) as (eps & eta & E1 & E2 & ->).
    assert (A : Rabs (eps * (v - T)) <= u * D).
    { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; lra. }
    assert (B : Rabs (eps * T) <= u * S).
    { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; lra. }
    assert (E : Rabs eta <= least_normal) by nra.
    replace (v * (1 + eps) + eta - T) with (v - T + eps * (v - T) + eps * T + eta) by ring.
    unfold c. repeat (eapply Rle_trans; [apply Rabs_triang|]); try apply Rle_refl.
    assert (X := Rabs_triang (v - T + eps * (v - T)) (eps * T)). assert (Y := Rabs_triang (v - T) (eps * (v - T))).
    lra.
  - assert (X := Rabs_triang (0 - v) (v - T)). replace (0 - v + (v - T)) with (0 - T) in X by ring.
    replace (0 - v) with (- v) in X by ring. rewrite Rabs_Ropp in X.
    assert (0 <= u * S) by nra. assert (0 <= u * D) by nra. unfold c. lra.
Qed.

Lemma any_sum_grown s x : sum s x ->
  Rabs (x - total s) <= (c ^ length s - 1) * size s + lost (length s) * least_normal.
Proof.
  assert (U := u_pos prec). assert (N := least_normal_pos emin prec). assert (C := c_ge_1).
  induction 1 as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH].
  - apply (rounded_off (Rabs t) 0 t) in H; [| | lra].
    + simpl length. rewrite lost_1. unfold size, total. simpl. rewrite Rplus_0_r. unfold c in *. lra.
    + replace (t - t) with 0 by ring. rewrite Rabs_R0. lra.
  - assert (Ls := sum_not_empty _ _ Hx). assert (Lr := sum_not_empty _ _ Hy).
    rewrite app_length, total_app, size_app.
    set (k := (length s + length r)%nat) in *.
    assert (Gs : c ^ length s <= c ^ (k - 1)) by (apply grow; unfold k; lia).
    assert (Gr : c ^ length r <= c ^ (k - 1)) by (apply grow; unfold k; lia).
    assert (Gk : c ^ k = c * c ^ (k - 1)) by (replace k with (S (k - 1)) at 1 by (unfold k; lia); reflexivity).
    assert (Ss := size_nonneg s). assert (Sr := size_nonneg r).
    assert (L := lost_add _ _ Ls Lr). fold k in L.
    set (D := (c ^ (k - 1) - 1) * (size s + size r) + (lost (length s) + lost (length r)) * least_normal).
    apply (rounded_off (size s + size r) D (total s + total r)) in H.
    + eapply Rle_trans; [apply H|]. rewrite Gk. unfold D. set (g := c ^ (k - 1)) in *.
      assert ((c * (lost (length s) + lost (length r)) + 1) * least_normal <= lost k * least_normal)
        by (apply Rmult_le_compat_r; lra).
      assert (E : u * (size s + size r) + c * ((g - 1) * (size s + size r)) = (c * g - 1) * (size s + size r))
        by (unfold c; ring).
      lra.
    + replace (x + y - (total s + total r)) with ((x - total s) + (y - total r)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. unfold D.
      assert ((c ^ length s - 1) * size s <= (c ^ (k - 1) - 1) * size s) by (apply Rmult_le_compat_r; lra).
      assert ((c ^ length r - 1) * size r <= (c ^ (k - 1) - 1) * size r) by (apply Rmult_le_compat_r; lra).
      lra.
    + rewrite <- total_app, <- size_app. apply total_size.
  - assert (Lr := sum_not_empty _ _ Hy).
    assert (L := lost_add 1 _ (le_n 1) Lr). rewrite lost_1 in L. change (1 + length r)%nat with (length (t :: r)) in L.
    change (total (t :: r)) with (t + total r). change (size (t :: r)) with (Rabs t + size r).
    assert (Sr := size_nonneg r). assert (St := Rabs_pos t). assert (G := c_pow_1 (length r)).
    change (c ^ length (t :: r)) with (c * c ^ length r).
    set (D := (c ^ length r - 1) * size r + lost (length r) * least_normal) in *.
    apply (rounded_off (Rabs t + size r) D (t + total r)) in H.
    + eapply Rle_trans; [apply H|]. unfold D. set (g := c ^ length r) in *.
      assert ((c * (1 + lost (length r)) + 1) * least_normal <= lost (length (t :: r)) * least_normal)
        by (apply Rmult_le_compat_r; lra).
      assert (0 <= c * (g - 1) * Rabs t) by (apply Rmult_le_pos; auto; apply Rmult_le_pos; lra).
      assert (0 <= c * least_normal) by nra.
      assert (E : u * (Rabs t + size r) + c * ((g - 1) * size r) + c * (g - 1) * Rabs t
                  = (c * g - 1) * (Rabs t + size r)) by (unfold c; ring).
      lra.
    + replace (t + y - (t + total r)) with (y - total r) by ring. apply IHy.
    + rewrite <- (Rplus_0_r (Rabs t)) at 1. change (t + total r) with (total (t :: r)).
      rewrite Rplus_0_r. apply (total_size (t :: r)).
  - now rewrite <- (total_order _ _ P), <- (size_order _ _ P), <- (Permutation_length P).
Qed.

Lemma bernoulli k : INR k * u < 1 -> c ^ k - 1 <= gamma u k.
Proof.
  assert (U := u_pos prec). intros H.
  assert (B : c ^ k * (1 - INR k * u) <= 1).
  { clear H. induction k as [|k IH]; [simpl; lra|]. rewrite S_INR. simpl. unfold c at 1.
    assert (G := c_pow_1 k). assert (P := pos_INR k). set (g := c ^ k) in *.
    assert (0 <= g * ((INR k + 1) * (u * u))) by (repeat apply Rmult_le_pos; lra).
    replace ((1 + u) * g * (1 - (INR k + 1) * u)) with (g * (1 - INR k * u) - g * ((INR k + 1) * (u * u))) by ring.
    lra. }
  unfold gamma. apply Rmult_le_reg_r with (1 - INR k * u); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma grown_twice k : INR k * u <= 1 -> c ^ k - 1 <= 2 * (INR k * u).
Proof.
  assert (U := u_pos prec).
  assert (A : forall k, INR k * u <= 1 -> c ^ k <= 1 + INR k * u + INR k * u * (INR k * u)).
  { induction k0 as [|m IH]; [simpl; lra|]. rewrite S_INR. intros H. assert (P := pos_INR m).
    assert (H' : INR m * u <= 1) by nra. specialize (IH H'). simpl. unfold c at 1.
    set (g := c ^ m) in *. set (x := INR m) in *.
    assert ((1 + u) * g <= (1 + u) * (1 + x * u + x * u * (x * u))) by (apply Rmult_le_compat_l; [lra | exact IH]).
    assert (x * (x * u) * (u * u) <= x * 1 * (u * u)) by (apply Rmult_le_compat_r; [nra|]; apply Rmult_le_compat_l; lra).
    nra. }
  intros H. specialize (A k H). assert (P := pos_INR k). assert (0 <= INR k * u) by nra. nra.
Qed.

(** A sum of [k] terms is off by at most [gamma k] times their sizes, and what is flushed. *)
Theorem any_sum s x : let k := length s in INR k * u < 1 -> sum s x ->
  Rabs (x - total s) <= gamma u k * size s + 4 * INR k * least_normal.
Proof.
  intros k K H. assert (U := u_pos prec). assert (N := least_normal_pos emin prec).
  eapply Rle_trans; [now apply any_sum_grown|]. fold k. apply Rplus_le_compat.
  - apply Rmult_le_compat_r; [apply size_nonneg | now apply bernoulli].
  - apply Rmult_le_compat_r; [lra|]. unfold lost. assert (G := grown_twice k ltac:(lra)).
    assert (2 * (c ^ k - 1) / u <= 4 * INR k); [|lra].
    apply Rmult_le_reg_r with u; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** Terms that lose no more than the least normal number where they are rounded by themselves. *)
Lemma sum_of_exact_terms s x : let k := length s in INR k * u <= 1 ->
  Forall (fun t => forall y, rounded t y -> Rabs (y - t) <= least_normal) s -> sum s x ->
  Rabs (x - total s) <= ((1 + u) ^ (k - 1) - 1) * size s + 4 * INR k * least_normal.
Proof.
  intros k K F H. assert (U := u_pos prec). assert (N := least_normal_pos emin prec). assert (C := c_ge_1).
  assert (G : Rabs (x - total s) <= (c ^ (length s - 1) - 1) * size s + lost (length s) * least_normal).
  { clear K k. revert F.
    assert (Step : forall a b A B T x y z, (1 <= a)%nat -> (1 <= b)%nat -> 0 <= A -> 0 <= B -> Rabs T <= A + B ->
      Rabs (x + y - T) <= (c ^ (a - 1) - 1) * A + (c ^ (b - 1) - 1) * B + (lost a + lost b) * least_normal ->
      rounded (x + y) z -> Rabs (z - T) <= (c ^ (a + b - 1) - 1) * (A + B) + lost (a + b) * least_normal).
    { intros a b A B T x0 y z Ha Hb PA PB HT D R. assert (R' := rounded_off _ _ _ _ _ R D HT). clear R. rename R' into R.
      eapply Rle_trans; [apply R|]. assert (L := lost_add a b Ha Hb).
      assert (Ga : c ^ (a - 1) <= c ^ (a + b - 2)) by (apply grow; lia).
      assert (Gb : c ^ (b - 1) <= c ^ (a + b - 2)) by (apply grow; lia).
      replace (c ^ (a + b - 1)) with (c * c ^ (a + b - 2)) by (replace (a + b - 1)%nat with (S (a + b - 2)) by lia; reflexivity).
      set (g := c ^ (a + b - 2)) in *.
      assert ((c ^ (a - 1) - 1) * A <= (g - 1) * A) by (apply Rmult_le_compat_r; lra).
      assert ((c ^ (b - 1) - 1) * B <= (g - 1) * B) by (apply Rmult_le_compat_r; lra).
      assert ((c * (lost a + lost b) + 1) * least_normal <= lost (a + b) * least_normal) by (apply Rmult_le_compat_r; lra).
      assert (c * ((c ^ (a - 1) - 1) * A + (c ^ (b - 1) - 1) * B + (lost a + lost b) * least_normal)
              <= c * ((g - 1) * A + (g - 1) * B + (lost a + lost b) * least_normal)) by (apply Rmult_le_compat_l; lra).
      assert (E : u * (A + B) + c * ((g - 1) * A + (g - 1) * B) = (c * g - 1) * (A + B)) by (unfold c; ring). lra. }
    induction H as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros F.
    - inversion F as [|? ? Nt _]; subst. simpl length. rewrite lost_1. simpl. unfold size, total. simpl. rewrite !Rplus_0_r.
      replace ((1 - 1) * Rabs t + 1 * least_normal) with least_normal by ring. now apply Nt.
    - apply Forall_app in F as [Fs Fr]. rewrite app_length, total_app, size_app.
      apply (Step _ _ _ _ _ x y); eauto using sum_not_empty, size_nonneg.
      + rewrite <- total_app, <- size_app. apply total_size.
      + specialize (IHx Fs). specialize (IHy Fr).
        replace (x + y - (total s + total r)) with ((x - total s) + (y - total r)) by ring.
        eapply Rle_trans; [apply Rabs_triang|]. lra.
    - inversion F as [|? ? Nt Fr]; subst. specialize (IHy Fr).
      change (length (t :: r)) with (1 + length r)%nat. change (total (t :: r)) with (t + total r).
      change (size (t :: r)) with (Rabs t + size r).
      apply (Step 1%nat (length r) (Rabs t) (size r) (t + total r) t y); eauto using sum_not_empty, size_nonneg, Rabs_pos.
      + change (t + total r) with (total (t :: r)). change (Rabs t + size r) with (size (t :: r)). apply total_size.
      + replace (t + y - (t + total r)) with (y - total r) by ring. rewrite lost_1. simpl (1 - 1)%nat. simpl (c ^ 0). lra.
    - rewrite <- (total_order _ _ P), <- (size_order _ _ P), <- (Permutation_length P). apply IH.
      now apply (Permutation_Forall (Permutation_sym P)). }
  eapply Rle_trans; [apply G|]. fold k. apply Rplus_le_compat; [apply Rle_refl|]. apply Rmult_le_compat_r; [lra|].
  unfold lost. assert (T := grown_twice k K). assert (2 * (c ^ k - 1) / u <= 4 * INR k); [|lra].
  apply Rmult_le_reg_r with u; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** A sum of numbers: they are not rounded before they are added. *)
Theorem sum_of_numbers s x : let k := length s in INR k * u <= 1 -> Forall number s -> sum s x ->
  Rabs (x - total s) <= ((1 + u) ^ (k - 1) - 1) * size s + 4 * INR k * least_normal.
Proof.
  intros k K F. apply sum_of_exact_terms; auto. eapply Forall_impl; [|exact F]. clear -prec_pos. intros t N y [|L].
  - rewrite (fl_id emin prec) by auto. rewrite Rminus_eq_0, Rabs_R0. apply Rlt_le, least_normal_pos.
  - replace (0 - t) with (- t) by ring. rewrite Rabs_Ropp. lra.
Qed.

(** A product with a power of two is a number, or below the normal range: no more than that is lost of it. *)
Theorem sum_of_exact_products s x : let k := length s in INR k * u <= 1 ->
  Forall (fun t => number t \/ Rabs t < least_normal) s -> sum s x ->
  Rabs (x - total s) <= ((1 + u) ^ (k - 1) - 1) * size s + 4 * INR k * least_normal.
Proof.
  intros k K F. apply sum_of_exact_terms; auto. eapply Forall_impl; [|exact F]. clear -prec_pos. intros t N y [|L].
  - destruct N as [N|L]; [rewrite (fl_id emin prec) by auto; rewrite Rminus_eq_0, Rabs_R0; apply Rlt_le, least_normal_pos|].
    destruct (fl_error emin prec t) as (eps & eta & E1 & E2 & ->). assert (W := u_over prec). assert (V := u_half prec).
    replace (t * (1 + eps) + eta - t) with (eps * t + eta) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
    assert (Q := Rabs_pos t). assert (Rabs eps * Rabs t <= / 2 * least_normal) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
    assert (u * least_normal <= / 2 * least_normal) by (apply Rmult_le_compat_r; lra). lra.
  - replace (0 - t) with (- t) by ring. rewrite Rabs_Ropp. lra.
Qed.

(** * Absorption *)

Lemma ulp_large q g : multiple q g -> g <> 0 -> bpow radix2 (q + 1 - prec) <= ulp radix2 fexp g.
Proof.
  intros M Z. rewrite ulp_neq_0 by auto. apply bpow_le. unfold cexp, fexp, FLT_exp.
  assert (H := mag_gt_bpow radix2 g q (multiple_least _ _ M Z)). lia.
Qed.

(** The distance of a positive number to the one below it. *)
Lemma gap_below q g : multiple q g -> 0 < g -> bpow radix2 (q - prec) <= g - pred radix2 fexp g.
Proof.
  intros M Z. assert (H := mag_gt_bpow radix2 g q (multiple_least _ _ M (Rgt_not_eq _ _ Z))).
  rewrite pred_eq_pos by lra. unfold pred_pos. destruct (Req_bool g _).
  - assert (bpow radix2 (q - prec) <= bpow radix2 (fexp (mag radix2 g - 1))); [|lra].
    apply bpow_le. unfold fexp, FLT_exp. lia.
  - assert (A := ulp_large _ _ M (Rgt_not_eq _ _ Z)).
    assert (bpow radix2 (q - prec) <= bpow radix2 (q + 1 - prec)) by (apply bpow_le; lia). lra.
Qed.

Lemma fl_absorbs q g w : number g -> multiple q g -> g <> 0 -> Rabs w < bpow radix2 (q - prec - 1) -> fl (g + w) = g.
Proof.
  assert (Pos : forall g w, number g -> multiple q g -> 0 < g -> Rabs w < bpow radix2 (q - prec - 1) -> fl (g + w) = g).
  { clear g w. intros g w N M Z W. apply Rabs_def2 in W as [W1 W2].
    assert (H1 := bpow_double (q - prec)). assert (H2 := bpow_double (q + 1 - prec)).
    replace (q + 1 - prec - 1)%Z with (q - prec)%Z in H2 by ring.
    assert (P := bpow_gt_0 radix2 (q - prec - 1)). apply Rle_antisym.
    - apply round_N_le_midp; auto with typeclass_instances. rewrite succ_eq_pos by lra.
      assert (A := ulp_large _ _ M (Rgt_not_eq _ _ Z)). fold fexp. lra.
    - apply round_N_ge_midp; auto with typeclass_instances. assert (A := gap_below _ _ M Z). fold fexp. lra. }
  intros N M Z W. destruct (Rtotal_order g 0) as [L|[L|L]]; auto; [|contradiction].
  assert (E : fl (- g + - w) = - g).
  { apply Pos; [now apply number_opp | now apply multiple_opp | lra | now rewrite Rabs_Ropp]. }
  rewrite <- (Ropp_involutive (g + w)), Ropp_plus_distr, fl_opp, E. ring.
Qed.

(** One rounding of an exact number [E] and something small [w]. *)
Lemma rounded_absorbs q E w z :
  (emin + prec <= q)%Z -> multiple q E -> Rabs E <= bpow radix2 (q + prec) -> Rabs w < bpow radix2 (q - prec - 1) ->
  rounded (E + w) z ->
  exists w', z = E + w' /\ (E <> 0 -> w' = 0) /\ Rabs w' <= c * Rabs w + u * least_normal.
Proof.
  intros Q M B W H. assert (U := u_pos prec). assert (N := least_normal_pos emin prec).
  assert (P := Rabs_pos w). assert (0 <= u * least_normal) by nra. assert (c * Rabs w = Rabs w + u * Rabs w) by (unfold c; ring).
  assert (0 <= u * Rabs w) by nra. destruct (Req_dec E 0) as [->|Z].
  - exists z. split; [ring|]. split; [congruence|]. rewrite Rplus_0_l in H. destruct H as [|F].
    + destruct (fl_error emin prec w) as (eps & eta & E1 & E2 & ->). assert (V := u_over prec).
      replace (w * (1 + eps) + eta) with (w + (eps * w + eta)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. assert (X := Rabs_triang (eps * w) eta).
      assert (Rabs (eps * w) <= u * Rabs w) by (rewrite Rabs_mult; apply Rmult_le_compat_r; lra). lra.
    + rewrite Rabs_R0. lra.
  - exists 0. split; [|split; [auto | rewrite Rabs_R0; lra]]. rewrite Rplus_0_r. unfold Prec_gt_0 in prec_pos.
    destruct H as [|F].
    + apply (fl_absorbs q); auto. apply multiple_number with q; auto. lia.
    + assert (L := multiple_least _ _ M Z). assert (T := Rabs_triang_inv E (- w)).
      replace (E - - w) with (E + w) in T by ring. rewrite Rabs_Ropp in T.
      assert (least_normal <= bpow radix2 (q - 1)) by (apply bpow_le; lia).
      assert (bpow radix2 (q - prec - 1) <= bpow radix2 (q - 1)) by (apply bpow_le; lia).
      assert (D := bpow_double q). lra.
Qed.

(** A term has an exact part and a small part; on the page one of them is 0. *)
Definition both (t : R * R) : R := fst t + snd t.

Let noise (l : list (R * R)) := c ^ length l * (size (map snd l) + (2 * INR (length l) - 1) * (u * least_normal)).
Let before (l : list (R * R)) :=
  c ^ (length l - 1) * (size (map snd l) + (2 * INR (length l) - 2) * (u * least_normal)).

Lemma noise_before l : (1 <= length l)%nat -> c * before l + u * least_normal <= noise l /\ before l <= noise l.
Proof.
  intros H. unfold noise, before. assert (U := u_pos prec). assert (N := least_normal_pos emin prec).
  assert (S := size_nonneg (map snd l)). assert (P : 0 < u * least_normal) by (now apply Rmult_lt_0_compat).
  assert (K : 1 <= INR (length l)) by (apply (le_INR 1); auto).
  assert (E : c ^ length l = c * c ^ (length l - 1)) by (replace (length l) with (Datatypes.S (length l - 1)) at 1 by lia; reflexivity).
  assert (G := c_pow_1 (length l)). assert (G' := c_pow_1 (length l - 1)). assert (C := c_ge_1).
  set (D := size (map snd l)) in *. set (k := INR (length l)) in *. set (n := u * least_normal) in *.
  set (g := c ^ length l) in *. set (h := c ^ (length l - 1)) in *.
  assert (0 <= (2 * k - 2) * n) by (apply Rmult_le_pos; lra).
  assert (n <= g * n) by nra. split.
  - replace (c * (h * (D + (2 * k - 2) * n))) with (g * (D + (2 * k - 2) * n)) by (rewrite E; ring). nra.
  - apply Rmult_le_compat; try lra. rewrite E. nra.
Qed.

Lemma noise_app l r : (1 <= length l)%nat -> (1 <= length r)%nat -> noise l + noise r <= before (l ++ r).
Proof.
  intros Hl Hr. unfold noise, before. rewrite map_app, size_app, app_length, plus_INR.
  assert (U := u_pos prec). assert (N := least_normal_pos emin prec).
  assert (P : 0 < u * least_normal) by (now apply Rmult_lt_0_compat). set (n := u * least_normal) in *.
  assert (Kl : 1 <= INR (length l)) by (apply (le_INR 1); auto).
  assert (Kr : 1 <= INR (length r)) by (apply (le_INR 1); auto).
  assert (Sl := size_nonneg (map snd l)). assert (Sr := size_nonneg (map snd r)).
  assert (Gl : c ^ length l <= c ^ (length l + length r - 1)) by (apply grow; lia).
  assert (Gr : c ^ length r <= c ^ (length l + length r - 1)) by (apply grow; lia).
  set (g := c ^ (length l + length r - 1)) in *.
  assert (c ^ length l * (size (map snd l) + (2 * INR (length l) - 1) * n)
          <= g * (size (map snd l) + (2 * INR (length l) - 1) * n)) by (apply Rmult_le_compat_r; nra).
  assert (c ^ length r * (size (map snd r) + (2 * INR (length r) - 1) * n)
          <= g * (size (map snd r) + (2 * INR (length r) - 1) * n)) by (apply Rmult_le_compat_r; nra).
  nra.
Qed.

Lemma noise_single t : Rabs (snd t) <= before [t].
Proof. unfold before, size, total. simpl. lra. Qed.

Lemma noise_cons t r : (1 <= length r)%nat -> Rabs (snd t) + noise r <= before (t :: r).
Proof.
  intros Hr. eapply Rle_trans; [|apply (noise_app [t]); auto; simpl; lia]. apply Rplus_le_compat_r.
  eapply Rle_trans; [apply noise_single|]. apply noise_before. simpl. lia.
Qed.

Lemma noise_pos l : (1 <= length l)%nat -> 0 <= noise l.
Proof.
  intros H. unfold noise. assert (U := u_pos prec). assert (N := least_normal_pos emin prec).
  assert (K : 1 <= INR (length l)) by (apply (le_INR 1); auto). assert (G := c_pow_1 (length l)).
  assert (S := size_nonneg (map snd l)). apply Rmult_le_pos; [lra|]. assert (0 < u * least_normal) by nra. nra.
Qed.

Lemma noise_order l r : Permutation l r -> noise l = noise r.
Proof.
  intros P. unfold noise. rewrite (Permutation_length P).
  now rewrite (size_order (map snd l) (map snd r)) by now apply Permutation_map.
Qed.

Lemma absorption_noise q s x : sum s x -> (emin + prec <= q)%Z -> forall l, s = map both l ->
  Forall (multiple q) (map fst l) ->
  above (map fst l) <= bpow radix2 (q + prec) -> below (map fst l) <= bpow radix2 (q + prec) ->
  noise l < bpow radix2 (q - prec - 1) ->
  exists w, x = total (map fst l) + w /\ (total (map fst l) <> 0 -> w = 0) /\ Rabs w <= noise l.
Proof.
  intros H Q. assert (C := c_ge_1).
  induction H as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros l E M A B S.
  - destruct l as [|v [|? ?]]; try discriminate E. injection E as ->.
    destruct (noise_before [v] (le_n 1)) as [N1 N2]. assert (N := noise_single v).
    assert (T := total_between _ _ A B). simpl map in *. change (total [fst v]) with (fst v + 0) in *.
    rewrite Rplus_0_r in *. inversion M as [|? ? Mv _]; subst.
    destruct (rounded_absorbs q (fst v) (snd v) x Q Mv T ltac:(lra) H) as (w & W1 & W2 & W3).
    exists w. repeat split; auto. assert (c * Rabs (snd v) <= c * before [v]) by (apply Rmult_le_compat_l; lra). lra.
  - symmetry in E. apply map_eq_app in E as (l1 & l2 & -> & <- & <-).
    assert (L1 := sum_not_empty _ _ Hx). assert (L2 := sum_not_empty _ _ Hy). rewrite map_length in L1, L2.
    assert (T := total_between _ _ A B). assert (NA := noise_app _ _ L1 L2).
    destruct (noise_before (l1 ++ l2)) as [N1 N2]; [rewrite app_length; lia|].
    assert (P1 := noise_pos _ L1). assert (P2 := noise_pos _ L2).
    rewrite map_app in *. apply Forall_app in M as [M1 M2]. rewrite above_app in A. rewrite below_app in B.
    assert (A1 := above_nonneg (map fst l1)). assert (A2 := above_nonneg (map fst l2)).
    assert (B1 := below_nonneg (map fst l1)). assert (B2 := below_nonneg (map fst l2)).
    destruct (IHx l1 eq_refl) as (w1 & -> & _ & W1); auto; try lra.
    destruct (IHy l2 eq_refl) as (w2 & -> & _ & W2); auto; try lra.
    rewrite total_app in *. assert (X := Rabs_triang w1 w2).
    replace (total (map fst l1) + w1 + (total (map fst l2) + w2))
      with (total (map fst l1) + total (map fst l2) + (w1 + w2)) in H by ring.
    destruct (rounded_absorbs q _ (w1 + w2) z Q (multiple_add _ _ _ (multiple_total _ _ M1) (multiple_total _ _ M2)) T
      ltac:(lra) H) as (w & V1 & V2 & V3).
    exists w. repeat split; auto. assert (c * Rabs (w1 + w2) <= c * before (l1 ++ l2)) by (apply Rmult_le_compat_l; lra). lra.
  - destruct l as [|v l]; try discriminate E. injection E as -> ->.
    assert (L := sum_not_empty _ _ Hy). rewrite map_length in L.
    assert (T := total_between _ _ A B). assert (NA := noise_cons v _ L).
    destruct (noise_before (v :: l)) as [N1 N2]; [simpl; lia|]. assert (P := noise_pos _ L).
    simpl map in *. inversion M as [|? ? Mv Ml]; subst. change (fst v :: map fst l) with ([fst v] ++ map fst l) in A, B.
    rewrite above_app in A. rewrite below_app in B. assert (A1 := above_nonneg [fst v]). assert (B1 := below_nonneg [fst v]).
    assert (Pv := Rabs_pos (snd v)).
    destruct (IHy l eq_refl) as (w2 & -> & _ & W2); auto; try lra.
    change (total (fst v :: map fst l)) with (fst v + total (map fst l)) in *. assert (X := Rabs_triang (snd v) w2).
    replace (both v + (total (map fst l) + w2)) with (fst v + total (map fst l) + (snd v + w2)) in H by (unfold both; ring).
    destruct (rounded_absorbs q _ (snd v + w2) z Q (multiple_add _ _ _ Mv (multiple_total _ _ Ml)) T ltac:(lra) H)
      as (w & V1 & V2 & V3).
    exists w. repeat split; auto. assert (c * Rabs (snd v + w2) <= c * before (v :: l)) by (apply Rmult_le_compat_l; lra). lra.
  - subst. apply Permutation_map_inv in P as (l' & -> & P).
    assert (PF := Permutation_map fst P).
    rewrite (total_order _ _ PF), (noise_order _ _ P). apply IH; auto.
    + now apply Permutation_Forall with (map fst l).
    + now rewrite <- (above_order _ _ PF).
    + now rewrite <- (below_order _ _ PF).
    + now rewrite <- (noise_order _ _ P).
Qed.

(** Terms that are exact absorb small ones: the sum is theirs if that is not 0, and as small as those otherwise. *)
Theorem absorption q l x :
  let k := INR (length l) in
  let exact := map fst l in
  let small := size (map snd l) * (1 + 2 * (k * u)) + 4 * k * least_normal in
  k * u <= 1 ->
  Forall (multiple q) exact ->
  above exact <= bpow radix2 (q + prec) -> below exact <= bpow radix2 (q + prec) ->
  small < bpow radix2 (q - prec - 1) ->
  sum (map both l) x ->
  (total exact <> 0 -> x = total exact) /\ (total exact = 0 -> Rabs x <= small).
Proof.
  intros k exact small K M A B S H. assert (U := u_pos prec). assert (V := u_half prec).
  assert (N := least_normal_pos emin prec). assert (L := sum_not_empty _ _ H). rewrite map_length in L.
  assert (K1 : 1 <= k) by (apply (le_INR 1); auto). assert (D := size_nonneg (map snd l)).
  assert (G := grown_twice (length l) K). fold k in G.
  assert (NS : noise l <= small).
  { unfold noise, small. fold k. set (g := c ^ length l) in *. set (d := size (map snd l)) in *.
    assert (P : 0 < u * least_normal) by (now apply Rmult_lt_0_compat).
    assert (g * (d + (2 * k - 1) * (u * least_normal)) <= (1 + 2 * (k * u)) * (d + (2 * k - 1) * (u * least_normal)))
      by (apply Rmult_le_compat_r; nra).
    assert ((1 + 2 * (k * u)) * ((2 * k - 1) * (u * least_normal)) <= 3 * (2 * k * (u * least_normal)))
      by (apply Rmult_le_compat; nra).
    assert (k * (u * least_normal) <= k * (/ 2 * least_normal)) by (apply Rmult_le_compat_l; nra).
    assert (0 <= k * least_normal) by nra. lra. }
  assert (Q : (emin + prec <= q)%Z).
  { assert (X : least_normal < bpow radix2 (q - prec - 1)).
    { unfold small in S. assert (0 <= size (map snd l) * (1 + 2 * (k * u))) by (apply Rmult_le_pos; nra). nra. }
    unfold RulesExecution.least_normal in X. apply lt_bpow in X. unfold Prec_gt_0 in prec_pos. lia. }
  destruct (absorption_noise q _ _ H Q l eq_refl M A B ltac:(lra)) as (w & W1 & W2 & W3). fold exact in W1, W2. split; intros Z.
  - rewrite W1, W2; auto. ring.
  - rewrite W1, Z, Rplus_0_l. lra.
Qed.

(** * Snapping *)

(** A product [t], not below the normal range, and the number [g] that it rounds to, less than half a unit in the last
    place away: it is no tie. (Towards 0 from a power of two this leaves a quarter of a unit, as [t] rounds to [g].) *)
Definition near (t g : R) : Prop := fl t = g /\ Rabs (t - g) < / 2 * ulp radix2 fexp g /\ least_normal <= t.

Lemma near_pos t g : near t g -> 0 < t /\ 0 <= g.
Proof.
  intros (R & _ & L). assert (N := least_normal_pos emin prec). split; [lra|]. rewrite <- R, <- (fl_0 emin prec).
  apply (fl_le emin prec). lra.
Qed.

Lemma fl_snaps t g b : near t g -> number g -> 0 < g -> 0 < b -> number (g + b) -> fl (t + b) = g + b.
Proof.
  intros (R & H & _) Ng Zg Zb NG. apply Rabs_def2 in H as [H1 H2].
  assert (U : ulp radix2 fexp g <= ulp radix2 fexp (g + b)).
  { apply (ulp_le_pos radix2 (FLT_exp emin prec)); lra. }
  assert (Up : 0 < ulp radix2 fexp g) by (rewrite ulp_neq_0 by lra; apply bpow_gt_0).
  apply Rle_antisym.
  - apply round_N_le_midp; auto with typeclass_instances. rewrite succ_eq_pos by lra. fold fexp. lra.
  - apply round_N_ge_midp; auto with typeclass_instances. fold fexp.
    assert (G : ulp radix2 fexp g <= g + b - pred radix2 fexp (g + b)); [|lra].
    rewrite pred_eq_pos by lra. unfold pred_pos. case Req_bool_spec; intros E; [|lra].
    assert (M : (mag radix2 g <= mag radix2 (g + b) - 1)%Z).
    { apply mag_le_bpow; [lra|]. rewrite Rabs_pos_eq by lra. rewrite <- E. lra. }
    rewrite ulp_neq_0 by lra. assert (bpow radix2 (cexp radix2 fexp g) <= bpow radix2 (fexp (mag radix2 (g + b) - 1))); [|lra].
    apply bpow_le. unfold cexp, fexp, FLT_exp. lia.
Qed.

(** Products that round to numbers [g] from nearby, of one sign, add up to the sum of the [g]. *)
Theorem snapping q s x : sum s x -> (emin + prec - 1 <= q)%Z -> forall l, s = map fst l ->
  Forall (fun p => near (fst p) (snd p)) l ->
  Forall (multiple q) (map snd l) ->
  total (map snd l) <= bpow radix2 (q + prec) ->
  x = total (map snd l).
Proof.
  intros H Q. assert (N := least_normal_pos emin prec).
  assert (Pos : forall l, (1 <= length l)%nat -> Forall (fun p => near (fst p) (snd p)) l -> 0 < total (map snd l)).
  { intros l L F. destruct F as [|p l Hp F]; [simpl in L; lia|]. simpl.
    assert (0 <= total (map snd l)).
    { apply total_nonneg, Forall_map. eapply Forall_impl; [|apply F]. intros a Ha. now apply near_pos in Ha. }
    assert (least_normal <= snd p); [|lra]. destruct Hp as (R & _ & G).
    rewrite <- R, <- (fl_id emin prec least_normal); [now apply (fl_le emin prec)|].
    apply generic_format_bpow. unfold FLT_exp, Prec_gt_0 in *. lia. }
  assert (Num : forall v, multiple q v -> 0 <= v <= bpow radix2 (q + prec) -> number v).
  { intros v Mv Bv. apply multiple_number with q; auto; [rewrite Rabs_pos_eq; lra|]. unfold Prec_gt_0 in prec_pos. lia. }
  induction H as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros l E F M B.
  - destruct l as [|p [|? ?]]; try discriminate E. injection E as ->. inversion F as [|? ? (R & _ & G) _]; subst.
    simpl. rewrite <- R, Rplus_0_r. destruct H as [|L]; auto. apply Rabs_def2 in L. lra.
  - symmetry in E. apply map_eq_app in E as (l1 & l2 & -> & <- & <-).
    assert (L1 := sum_not_empty _ _ Hx). assert (L2 := sum_not_empty _ _ Hy). rewrite map_length in L1, L2.
    rewrite map_app in *. apply Forall_app in M as [M1 M2]. apply Forall_app in F as [F1 F2].
    rewrite total_app in *. assert (P1 := Pos _ L1 F1). assert (P2 := Pos _ L2 F2).
    rewrite (IHx l1), (IHy l2) in H by (auto; lra).
    apply (rounded_multiple q) in H; auto.
    + apply multiple_add; now apply multiple_total.
    + rewrite Rabs_pos_eq; lra.
  - destruct l as [|p l]; try discriminate E. injection E as -> ->.
    assert (L := sum_not_empty _ _ Hy). rewrite map_length in L.
    inversion F as [|? ? Fp Fl]; subst. simpl map in *. inversion M as [|? ? Mp Ml]; subst.
    assert (P := Pos _ L Fl). assert (Pp : 0 < total (map snd [p])) by (apply Pos; auto).
    change (total (map snd [p])) with (snd p + 0) in Pp.
    change (total (snd p :: map snd l)) with (snd p + total (map snd l)) in *.
    rewrite (IHy l) in H by (auto; lra).
    assert (Mt := multiple_add _ _ _ Mp (multiple_total _ _ Ml)).
    assert (G := Fp). destruct G as (_ & _ & G). destruct H as [|Z].
    + apply fl_snaps; auto; try lra; apply Num; auto; lra.
    + apply Rabs_def2 in Z. lra.
  - subst. apply Permutation_map_inv in P as (l' & -> & P).
    assert (PS := Permutation_map snd P). rewrite (total_order _ _ PS). apply IH; auto.
    + now apply Permutation_Forall with l.
    + now apply Permutation_Forall with (map snd l).
    + now rewrite <- (total_order _ _ PS).
Qed.

End Sums.
