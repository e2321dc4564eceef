(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** Heads, beside softmax averages of section 6: CERTIFICATE.md, sections 6 and 7, *Other heads*, *Average, Linformer,
    Performer*, *Hub*, *Scores by position*, *Softmax head* and *What heads write*. *)

From Formwright Require Import RulesExecution RulesSums RulesSumsFalse RulesSoftmax RulesSweep RulesMeanings
  RulesSymmetry.
From Flocq Require Import Mult_error.

(** * Other heads *)

Lemma list_eq_nil {A} (l : list A) : l = [] \/ exists t r, l = t :: r.
Proof. destruct l; eauto. Qed.

Lemma no_quotient x : 0 / x = 0.
Proof. unfold Rdiv. ring. Qed.

Section Divided.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation number := (number emin prec).
Notation fl := (fl emin prec).
Notation least_normal := (least_normal emin prec).
Notation rounded := (rounded emin prec).
Notation sum := (sum emin prec).
Notation softmax := (softmax emin prec).

Lemma fl_pos x : 0 <= x -> 0 <= fl x.
Proof. intros H. rewrite <- (fl_0 emin prec). now apply (fl_le emin prec). Qed.

(** What is divided by [n] in one of several ways ([weight] has both: a quotient, or a product with the reciprocal) lies
    in the hull of all of them, or it is flushed. *)
Theorem other_heads n lo hi S y : 0 < n -> lo <= S <= hi -> weight emin prec n S y ->
  let by_product t := fl (t * fl (1 / n)) in
  Rmin (fl (lo / n)) (by_product lo) <= y <= Rmax (fl (hi / n)) (by_product hi) \/ y = 0.
Proof.
  intros N B H by_product. assert (I : 0 < / n) by now apply Rinv_0_lt_compat.
  assert (D : lo / n <= S / n <= hi / n) by (split; apply Rmult_le_compat_r; lra).
  assert (W : 0 <= fl (1 / n)) by (apply fl_pos; unfold Rdiv; lra).
  assert (P : by_product lo <= by_product S <= by_product hi).
  { split; apply (fl_le emin prec); apply Rmult_le_compat_r; lra. }
  assert (Q : fl (lo / n) <= fl (S / n) <= fl (hi / n)) by (split; apply (fl_le emin prec); lra).
  assert (M1 := Rmin_l (fl (lo / n)) (by_product lo)). assert (M2 := Rmin_r (fl (lo / n)) (by_product lo)).
  assert (M3 := Rmax_l (fl (hi / n)) (by_product hi)). assert (M4 := Rmax_r (fl (hi / n)) (by_product hi)).
  destruct H as [y [|F]|r y Hr [|F]]; auto; [left; lra|].
  destruct Hr as [|F]; [left; fold (by_product S); lra | right; rewrite Rmult_0_r; apply fl_0].
Qed.

(** With one key the weight is 1. *)
Theorem one_key theta s p : (emin + prec - 1 <= 0)%Z -> number 1 -> softmax theta [s] p -> p = [1].
Proof.
  intros Q N1 H. assert (L : length p = 1%nat).
  { destruct H as (m & d & e & S & _ & _ & D & E & _ & W). apply two_lengths in D, E, W. simpl in *. congruence. }
  assert (LN : least_normal <= 1) by (change 1 with (bpow radix2 0); apply bpow_le; lia).
  apply uniform_head in H; auto.
  - destruct p as [|w [|? ?]]; try discriminate L. inversion H as [|? ? E _]; subst. simpl.
    replace (1 / 1) with 1 by field. f_equal. now apply (fl_id emin prec).
  - simpl. apply (bpow_le radix2 0). unfold Prec_gt_0 in prec_pos. lia.
  - simpl. lra.
  - intros a b [<-|[]] [<-|[]]. reflexivity.
Qed.

(** A head that sees one token gives what it reads there: nothing is rounded. *)
Theorem one_token theta s v x : (emin + prec - 1 <= 0)%Z -> number 1 -> number v -> v = 0 \/ least_normal <= Rabs v ->
  head emin prec theta [(s, v)] x -> x = v.
Proof.
  intros Q N1 Nv Lv (p & W & H). simpl in W. rewrite (one_key theta s p Q N1 W) in H. simpl in H. rewrite Rmult_1_l in H.
  apply (sum_single emin prec) in H. now apply (rounded_exact emin prec v).
Qed.

(** *Average*: the sum of what is read, which are numbers, divided in one of both ways. *)
Theorem average_head v S y : let n := length v in
  INR (n + 1) * u prec < 1 -> least_normal <= 1 / INR n -> Forall number v -> sum v S -> weight emin prec (INR n) S y ->
  Rabs (y - mean v) <= gamma (u prec) (n + 1) * mean (map Rabs v) + 10 * least_normal.
Proof.
  intros n K Small F H W. assert (U := u_pos prec). assert (V := u_half prec). assert (N := least_normal_pos emin prec).
  assert (L := sum_not_empty _ _ H). fold n in L. assert (K1 : 1 <= INR n) by (apply (le_INR 1); auto).
  assert (KS : INR (n + 1) = INR n + 1) by (rewrite plus_INR; reflexivity). rewrite KS in K.
  apply (sum_of_numbers emin prec) in H; auto; [|fold n; nra]. cbv zeta in H. fold n in H.
  unfold mean. rewrite map_length. fold n. change (total (map Rabs v)) with (size v).
  assert (A0 := size_nonneg v). assert (T := total_size v). set (A := size v) in *. set (Z := total v) in *.
  set (g := (1 + u prec) ^ (n - 1)) in *. assert (G : 1 <= g) by (apply pow_R1_Rle; lra).
  assert (B : (1 + u prec) * (1 + u prec) * g - 1 <= gamma (u prec) (n + 1)).
  { assert (X := bernoulli prec (n + 1) ltac:(rewrite KS; lra)). cbv zeta in X.
    replace ((1 + u prec) ^ (n + 1)) with ((1 + u prec) * (1 + u prec) * g) in X; auto.
    unfold g. replace (n + 1)%nat with (Datatypes.S (Datatypes.S (n - 1))) by lia. simpl. ring. }
  assert (S1 : Rabs S <= g * A + 4 * INR n * least_normal).
  { replace S with ((S - Z) + Z) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (I : 0 < / INR n <= 1) by (split; [apply Rinv_0_lt_compat; lra | rewrite <- Rinv_1; apply Rinv_le; lra]).
  assert (D1 : Rabs (S / INR n - Z / INR n) <= (g - 1) * (A / INR n) + 4 * least_normal).
  { replace (S / INR n - Z / INR n) with ((S - Z) * / INR n) by (unfold Rdiv; ring).
    rewrite Rabs_mult, (Rabs_pos_eq (/ INR n)) by lra.
    replace ((g - 1) * (A / INR n) + 4 * least_normal) with (((g - 1) * A + 4 * INR n * least_normal) * / INR n) by (field; lra).
    apply Rmult_le_compat_r; lra. }
  assert (S2 : Rabs (S / INR n) <= g * (A / INR n) + 4 * least_normal).
  { unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_pos_eq (/ INR n)) by lra.
    replace (g * (A / INR n) + 4 * least_normal) with ((g * A + 4 * INR n * least_normal) * / INR n) by (field; lra).
    apply Rmult_le_compat_r; lra. }
  assert (A1 : 0 <= A / INR n) by (apply Rmult_le_pos; lra). assert (S0 := Rabs_pos (S / INR n)).
  assert (Max : forall t x, rounded t x -> Rabs (x - t) <= u prec * Rabs t + least_normal).
  { intros t x Hx. eapply Rle_trans; [apply (one_rounding_error emin prec t x Hx)|]. assert (X := Rabs_pos t).
    assert (0 <= u prec * Rabs t) by (apply Rmult_le_pos; lra). apply Rmax_lub; lra. }
  assert (BA : ((1 + u prec) * (1 + u prec) * g - 1) * (A / INR n) <= gamma (u prec) (n + 1) * (A / INR n)) by (apply Rmult_le_compat_r; lra).
  assert (P : 0 <= u prec * g * (A / INR n)) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra | lra]).
  assert (UP : u prec * (u prec * g * (A / INR n)) >= 0) by (apply Rle_ge, Rmult_le_pos; lra).
  assert (US : u prec * Rabs (S / INR n) <= u prec * (g * (A / INR n) + 4 * least_normal)) by (apply Rmult_le_compat_l; lra).
  assert (UL : u prec * least_normal <= / 2 * least_normal) by (apply Rmult_le_compat_r; lra).
  destruct W as [y Hy|r y Hr Hy].
  - apply Max in Hy. replace (y - Z / INR n) with ((y - S / INR n) + (S / INR n - Z / INR n)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
  - assert (R : Rabs (r - / INR n) <= u prec * / INR n).
    { destruct Hr as [|X]; [|rewrite Rabs_pos_eq in X by (unfold Rdiv; lra); lra].
      destruct (fl_normal emin prec (1 / INR n)) as (eps & E1 & E2); [rewrite Rabs_pos_eq; unfold Rdiv in *; lra|].
      rewrite E2. replace (1 / INR n * (1 + eps) - / INR n) with (eps * / INR n) by (unfold Rdiv; ring).
      rewrite Rabs_mult, (Rabs_pos_eq (/ INR n)) by lra. apply Rmult_le_compat_r; [lra|].
      eapply Rle_trans; [apply E1 | apply u_over]. }
    assert (D2 : Rabs (S * r - S / INR n) <= u prec * Rabs (S / INR n)).
    { replace (S * r - S / INR n) with (S * (r - / INR n)) by (unfold Rdiv; ring). unfold Rdiv. rewrite !Rabs_mult.
      rewrite (Rabs_pos_eq (/ INR n)) by lra. replace (u prec * (Rabs S * / INR n)) with (Rabs S * (u prec * / INR n)) by ring.
      apply Rmult_le_compat_l; auto using Rabs_pos. }
    apply Max in Hy.
    assert (S3 : Rabs (S * r) <= (1 + u prec) * Rabs (S / INR n)).
    { replace (S * r) with ((S * r - S / INR n) + S / INR n) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
    assert (U3 : u prec * Rabs (S * r) <= u prec * ((1 + u prec) * Rabs (S / INR n))) by (apply Rmult_le_compat_l; lra).
    assert (U4 : u prec * (u prec * Rabs (S / INR n)) <= u prec * (u prec * (g * (A / INR n) + 4 * least_normal)))
      by (apply Rmult_le_compat_l; lra).
    assert (U5 : u prec * (u prec * least_normal) <= / 2 * (/ 2 * least_normal)).
    { apply Rle_trans with (u prec * (/ 2 * least_normal)); [apply Rmult_le_compat_l; lra | apply Rmult_le_compat_r; lra]. }
    replace (y - Z / INR n) with ((y - S * r) + (S * r - S / INR n) + (S / INR n - Z / INR n)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. lra.
Qed.

(** * What heads write *)

(** A number times a power of two is a number, unless it falls below the normal range. *)
Lemma number_times_power k v : number v -> v * bpow radix2 k = 0 \/ least_normal <= Rabs (v * bpow radix2 k) ->
  number (v * bpow radix2 k).
Proof.
  intros N [Z|L]; [rewrite Z; apply number_0|].
  destruct (Req_dec v 0) as [->|V]; [rewrite Rmult_0_l; apply number_0|].
  apply mult_bpow_exact_FLT; auto. assert (P := bpow_gt_0 radix2 k).
  assert (M : mag radix2 (v * bpow radix2 k) = (mag radix2 v + k)%Z :> Z) by now apply mag_mult_bpow.
  enough (emin + prec <= mag radix2 v + k)%Z by lia. rewrite <- M. unfold least_normal, RulesExecution.least_normal in L.
  apply mag_ge_bpow in L. lia.
Qed.

(** One value [v], times a power of two, beside what the register holds: one rounding of the sum of both. *)
Theorem what_heads_write r v k x : number r -> r = 0 \/ least_normal <= Rabs r -> number v ->
  v * bpow radix2 k = 0 \/ least_normal <= Rabs (v * bpow radix2 k) ->
  sum [r; v * bpow radix2 k] x -> rounded (r + v * bpow radix2 k) x.
Proof. intros Nr Zr Nv Zv H. apply two_terms_round_once; auto. now apply number_times_power. Qed.

(** Otherwise the sum of both is any sum. *)
Theorem heads_write_any_sum r values x : let k := length (r :: values) in
  INR k * u prec < 1 -> sum (r :: values) x ->
  Rabs (x - (r + total values)) <= gamma (u prec) k * size (r :: values) + 4 * INR k * least_normal.
Proof. intros k K H. apply (any_sum emin prec) in H; auto. Qed.

End Divided.

(** A factor that is no power of two makes a product that is rounded by itself. *)
Theorem what_heads_write_needs_a_power_of_two :
  exists r v o x, number64 r /\ least_normal64 <= Rabs r /\ number64 v /\ least_normal64 <= Rabs (v * o) /\
    sum64 [r; v * o] x /\ ~ rounded64 (r + v * o) x.
Proof.
  set (a := (2 ^ 52)%Z). assert (Normal : forall n, (1 <= Z.abs n)%Z -> least_normal64 <= Rabs (IZR n)).
  { intros n H. apply Rle_trans with (bpow radix2 0); [apply bpow_le; lia|]. simpl. rewrite <- abs_IZR. now apply (IZR_le 1). }
  assert (N3 : number64 (IZR (3 * a))).
  { replace (IZR (3 * a)) with (IZR 3 * bpow radix2 52) by (unfold a; simpl; lra). apply number64_of; lia. }
  exists (- IZR (3 * a)), (IZR (a + 1)), 3, 4.
  assert (V : IZR (a + 1) * 3 = IZR (3 * a + 3)) by (rewrite <- mult_IZR; f_equal; lia). rewrite V.
  assert (R : fl64 (IZR (3 * a + 3)) = IZR (3 * a + 4)).
  { rewrite (fl64_at 1 (3 * 2 ^ 51 + 2)).
    - unfold a. simpl. lra.
    - lia.
    - rewrite <- abs_IZR. unfold a. simpl. lra.
    - replace (IZR (3 * a + 3) * bpow radix2 (- (1))) with (IZR (3 * 2 ^ 51 + 1) + / 2) by (unfold a; simpl; lra).
      rewrite nearest_tie. reflexivity. }
  assert (N4 : number64 (IZR (3 * a + 4))) by (rewrite <- R; apply (fl_number (-1074) 53)).
  split; [now apply number_opp|]. split; [rewrite Rabs_Ropp; apply Normal; unfold a; lia|].
  split; [apply number64_int; unfold a; lia|]. split; [apply Normal; unfold a; lia|]. split.
  - apply (Sum_add _ _ [- IZR (3 * a)] [IZR (3 * a + 3)] (- IZR (3 * a)) (IZR (3 * a + 4))).
    + constructor. now apply itself, number_opp.
    + constructor. rewrite <- R. constructor.
    + replace (- IZR (3 * a) + IZR (3 * a + 4)) with 4 by (unfold a; simpl; lra). apply itself. now apply (number64_int 4).
  - replace (- IZR (3 * a) + IZR (3 * a + 3)) with 3 by (unfold a; simpl; lra). intros H.
    apply rounded_exact in H; [lra | now apply (number64_int 3) | right; apply (Normal 3%Z); lia].
Qed.

(** * Other heads: which tokens weigh alike *)

(** Rows of [f] of one number each: what the head gives depends on the sum of the values alone. *)
Theorem constant_rows_weigh_alike (rows : list (R * R)) (values : list R) :
  total (map (fun r => fst r * total (map (Rmult (snd r)) values)) rows)
  = total (map (fun r => fst r * snd r) rows) * total values.
Proof.
  induction rows as [|r rows IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH, total_scaled. ring.
Qed.

(** A row of two numbers tells tokens apart. *)
Theorem other_heads_need_constant_rows :
  exists row values values' : list R, Permutation values values' /\
    weighted (combine row values) <> weighted (combine row values').
Proof. exists [1; 0], [1; 0], [0; 1]. split; [constructor|]. unfold weighted, total. simpl. lra. Qed.

(** A quotient alone is not enough: 49 times the rounded reciprocal of 49 is not 1. *)
Theorem other_heads_need_both_ways :
  exists n S y, weight (-1074) 53 n S y /\ y <> fl64 (S / n).
Proof.
  set (m := ((2 ^ 58 - 23) / 49)%Z). assert (M : (49 * m = 2 ^ 58 - 23)%Z) by reflexivity.
  assert (F : fl64 (1 / 49) = IZR m * bpow radix2 (-58)).
  { apply fl64_at; [lia| |].
    - rewrite Rabs_pos_eq by lra. simpl. lra.
    - change (bpow radix2 (- -58)) with (IZR (2 ^ 58)). apply Znearest_imp. apply (f_equal IZR) in M.
      rewrite mult_IZR in M. replace (IZR (2 ^ 58 - 23)) with (IZR (2 ^ 58) - 23) in M by (rewrite minus_IZR; lra).
      apply Rabs_lt. lra. }
  exists 49, 49, (fl64 (49 * fl64 (1 / 49))). split; [now apply By_reciprocal with (fl64 (1 / 49)); constructor|].
  replace (49 / 49) with 1 by field. rewrite (fl_id (-1074) 53 1 number64_1), F.
  rewrite (fl64_at (-53) (2 ^ 53 - 1)).
  - simpl. lra.
  - lia.
  - replace (49 * (IZR m * bpow radix2 (-58))) with (IZR (49 * m) * bpow radix2 (-58)) by (rewrite mult_IZR; ring).
    rewrite M, Rabs_pos_eq by (apply Rmult_le_pos; [apply IZR_le; lia | apply bpow_ge_0]). simpl. lra.
  - replace (49 * (IZR m * bpow radix2 (-58))) with (IZR (49 * m) * bpow radix2 (-58)) by (rewrite mult_IZR; ring).
    rewrite M. apply Znearest_imp. apply Rabs_lt. simpl. lra.
Qed.

(** * Average, Linformer, Performer *)

(** One term of such a head: the weight, the relative error of the term, the value. *)
Record share := Share { alpha : R; off : R; value : R }.

(** A sum over tokens whose weights are nearly alike, with terms a little off, is nearly [tau] times the mean. *)
Theorem average_linformer_performer (l : list share) tau sigma spread : let n := INR (length l) in
  Forall (fun t => Rabs (n * alpha t - tau) <= sigma * Rabs tau) l ->
  total (map (fun t => Rabs (alpha t * off t * value t)) l) <= spread * Rabs tau * mean (map (fun t => Rabs (value t)) l) ->
  Rabs (total (map (fun t => alpha t * (1 + off t) * value t) l) - tau * mean (map value l))
  <= (spread + sigma) * Rabs tau * mean (map (fun t => Rabs (value t)) l).
Proof.
  intros n W S. destruct (list_eq_nil l) as [->|(t0 & l0 & E0)].
  { unfold mean, total. simpl. rewrite !no_quotient, !Rmult_0_r, Rminus_0_r, Rabs_R0. lra. }
  assert (N : 0 < n) by (unfold n; rewrite E0; apply lt_0_INR; simpl; lia).
  assert (M1 : mean (map value l) = total (map value l) / n) by (unfold mean; now rewrite map_length).
  assert (M2 : mean (map (fun t => Rabs (value t)) l) = total (map (fun t => Rabs (value t)) l) / n)
    by (unfold mean; now rewrite map_length).
  rewrite M1, M2 in *. clearbody n. clear E0 M1 M2 t0 l0.
  assert (H : Rabs (n * total (map (fun t => alpha t * value t) l) - tau * total (map value l))
              <= sigma * Rabs tau * total (map (fun t => Rabs (value t)) l)).
  { clear S. induction W as [|t l Wt W IH]; [unfold total; simpl; rewrite !Rmult_0_r, Rminus_0_r, Rabs_R0; lra|].
    cbn [map]. rewrite !total_cons.
    replace (n * (alpha t * value t + total (map (fun t => alpha t * value t) l)) - tau * (value t + total (map value l)))
      with ((n * alpha t - tau) * value t + (n * total (map (fun t => alpha t * value t) l) - tau * total (map value l))) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
    assert (Rabs (n * alpha t - tau) * Rabs (value t) <= sigma * Rabs tau * Rabs (value t))
      by (apply Rmult_le_compat_r; auto using Rabs_pos). lra. }
  assert (G : Rabs (total (map (fun t => alpha t * off t * value t) l)) <= total (map (fun t => Rabs (alpha t * off t * value t)) l)).
  { assert (X := total_size (map (fun t => alpha t * off t * value t) l)). unfold size in X. now rewrite map_map in X. }
  assert (Split : total (map (fun t => alpha t * (1 + off t) * value t) l)
                  = total (map (fun t => alpha t * value t) l) + total (map (fun t => alpha t * off t * value t) l)).
  { clear. induction l as [|t l IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH. ring. }
  rewrite Split. set (a := total (map (fun t => alpha t * value t) l)) in *. set (b := total (map value l)) in *.
  set (c := total (map (fun t => Rabs (value t)) l)) in *. set (d := total (map (fun t => alpha t * off t * value t) l)) in *.
  replace (a + d - tau * (b / n)) with ((n * a - tau * b) / n + d) by (field; lra).
  eapply Rle_trans; [apply Rabs_triang|]. unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_pos_eq (/ n)) by (apply Rlt_le, Rinv_0_lt_compat; auto).
  assert (Rabs (n * a - tau * b) * / n <= sigma * Rabs tau * c * / n)
    by (apply Rmult_le_compat_r; auto; apply Rlt_le, Rinv_0_lt_compat; auto).
  unfold Rdiv in *. lra.
Qed.

(** *Linformer*: what the sums of its terms are off by. [f k] are the sizes [Σ_a |f_ak| / size] of its terms. *)
(** *Linformer*: what the sums of its terms are off by, if their sizes [Σ_a |f_ak| / size] are [f]. *)
Theorem linformer_spread (l : list share) (f : list R) tau gamma rho : let n := INR (length l) in
  Forall2 (fun t s => Rabs (alpha t * off t) <= gamma * s) l f -> 0 <= gamma ->
  Forall (fun s => n * s <= rho * Rabs tau) f ->
  total (map (fun t => Rabs (alpha t * off t * value t)) l) <= gamma * rho * Rabs tau * mean (map (fun t => Rabs (value t)) l).
Proof.
  intros n F G S. unfold mean. rewrite map_length. fold n. destruct (list_eq_nil l) as [->|(t0 & l0 & E0)].
  { unfold total. simpl. rewrite no_quotient, Rmult_0_r. lra. }
  assert (N : 0 < n) by (unfold n; rewrite E0; apply lt_0_INR; simpl; lia). clearbody n. clear E0 t0 l0.
  apply Rmult_le_reg_l with n; auto.
  replace (n * (gamma * rho * Rabs tau * (total (map (fun t => Rabs (value t)) l) / n)))
    with (gamma * (rho * Rabs tau) * total (map (fun t => Rabs (value t)) l)) by (field; lra).
  induction F as [|t s l f H F IH]; [unfold total; simpl; lra|]. inversion S as [|? ? Ss Sf]; subst. specialize (IH Sf).
  cbn [map]. rewrite !total_cons, Rabs_mult. assert (V := Rabs_pos (value t)).
  assert (n * Rabs (alpha t * off t) <= n * (gamma * s)) by (apply Rmult_le_compat_l; lra).
  assert (gamma * (n * s) <= gamma * (rho * Rabs tau)) by (apply Rmult_le_compat_l; lra).
  assert (n * Rabs (alpha t * off t) * Rabs (value t) <= gamma * (rho * Rabs tau) * Rabs (value t)) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.

(** *Performer*: weights in [l, h] are near their middle. *)
(** *Performer*: weights in [l, h] are near their middle. *)
Theorem performer_weights n l h alpha : 0 <= n -> 0 < l -> l <= alpha <= h ->
  let tau := n * (l + h) / 2 in Rabs (n * alpha - tau) <= (h - l) / (h + l) * Rabs tau.
Proof.
  intros N L A tau. assert (T : 0 <= tau) by (unfold tau; assert (0 <= n * (l + h)) by (apply Rmult_le_pos; lra); lra).
  rewrite (Rabs_pos_eq tau) by auto. replace ((h - l) / (h + l) * tau) with (n * (h - l) / 2) by (unfold tau; field; lra).
  unfold tau. apply Rabs_le. nra.
Qed.

(** The weights must be nearly alike. *)
Theorem averages_need_equal_weights :
  exists (l : list share) tau, Forall (fun t => off t = 0) l /\ tau = total (map alpha l) /\
    total (map (fun t => alpha t * (1 + off t) * value t) l) <> tau * mean (map value l).
Proof.
  exists [Share 1 0 1; Share 0 0 0], 1. unfold mean, total. simpl. repeat split; [repeat constructor | lra | lra].
Qed.

(** * Hub *)

(** What the wire [hub T c] is for tokens with the numbers [v]. *)
Definition hub_wire (T : nat) (c : R) (v : list R) (t : nat) : R := if Nat.eq_dec t T then c * mean v else c * nth t v 0.

(** [m] is what the hub computes, [w t] what token [t] reads; the weight of one key is 1 ([one_key]). Every token that sees
    the hub alone, and reads [a + k H], has [a + k c] times the mean. *)
Theorem hub T c v (computed : nat -> R) at_hub elsewhere :
  Rabs (computed T - c * mean v) <= at_hub ->
  (forall t, t <> T -> Rabs (computed t - c * nth t v 0) <= elsewhere) ->
  (forall t, Rabs (computed t - hub_wire T c v t) <= Rmax at_hub elsewhere) /\
  (forall a k (t : nat), Rabs (a + k * computed T - (a + k * c * mean v)) <= Rabs k * at_hub).
Proof.
  intros H E. split.
  - intros t. unfold hub_wire. destruct (Nat.eq_dec t T) as [->|N].
    + eapply Rle_trans; [apply H | apply Rmax_l].
    + eapply Rle_trans; [apply (E t N) | apply Rmax_r].
  - intros a k _. replace (a + k * computed T - (a + k * c * mean v)) with (k * (computed T - c * mean v)) by ring.
    rewrite Rabs_mult. apply Rmult_le_compat_l; auto using Rabs_pos.
Qed.

(** Behind it every token must see the hub: another one has no mean. *)
Theorem hub_must_be_seen : exists T c v t, hub_wire T c v t <> c * mean v.
Proof. exists 0%nat, 1, [0; 1], 1%nat. unfold hub_wire, mean, total. simpl. lra. Qed.

(** And a hub that does not see all tokens has the mean of those it sees. *)
Theorem hub_must_see_all : exists seen unseen : list R, mean seen <> mean (seen ++ unseen).
Proof. exists [0], [1]. unfold mean, total. simpl. lra. Qed.

(** * Scores by position *)

(** For each token that may be seen: the computed weight [p], the one that is meant, what is read, and the number meant. *)
Record key := Key { computed : R; meant : R; read : R; number_meant : R }.

Definition distance (l : list key) : R := total (map (fun t => Rabs (computed t - meant t)) l).

Lemma weighted_distance l B : Forall (fun t => Rabs (number_meant t) <= B) l ->
  Rabs (total (map (fun t => (computed t - meant t) * number_meant t) l)) <= distance l * B.
Proof.
  intros F. unfold distance. induction F as [|t l H F IH]; [unfold total; simpl; rewrite Rabs_R0; lra|].
  cbn [map]. rewrite !total_cons. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, Rmult_plus_distr_r.
  apply Rplus_le_compat; auto. apply Rmult_le_compat_l; auto using Rabs_pos.
Qed.

Lemma read_off l e : Forall (fun t => 0 <= computed t /\ Rabs (read t - number_meant t) <= e) l ->
  Rabs (total (map (fun t => computed t * read t) l) - total (map (fun t => computed t * number_meant t) l))
  <= total (map computed l) * e.
Proof.
  induction 1 as [|t l [P H] F IH]; [unfold total; simpl; rewrite Rminus_0_r, Rabs_R0; lra|]. cbn [map]. rewrite !total_cons.
  match goal with |- Rabs (?a + ?x - (?b + ?y)) <= _ => replace (a + x - (b + y)) with (computed t * (read t - number_meant t) + (x - y)) by ring end.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_pos_eq (computed t)) by auto.
  assert (computed t * Rabs (read t - number_meant t) <= computed t * e) by now apply Rmult_le_compat_l. lra.
Qed.

Lemma split_weights l :
  total (map (fun t => computed t * number_meant t) l) - total (map (fun t => meant t * number_meant t) l)
  = total (map (fun t => (computed t - meant t) * number_meant t) l).
Proof. induction l as [|t l IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, <- IH. ring. Qed.

(** Weights known from positions, on what is read with an error, instead of those that are meant, which add up to 1. *)
Theorem scores_by_position l lo hi D eps e :
  Forall (fun t => 0 <= computed t /\ Rabs (read t - number_meant t) <= e /\ lo <= number_meant t <= hi) l ->
  distance l <= D -> lo <= hi -> 0 <= e ->
  Rabs (total (map computed l) - 1) <= eps -> total (map meant l) = 1 ->
  let m := (lo + hi) / 2 in
  Rabs (total (map (fun t => computed t * read t) l) - total (map (fun t => meant t * number_meant t) l))
  <= D * ((hi - lo) / 2) + Rabs m * eps + (1 + eps) * e.
Proof.
  intros F HD LH E S M m.
  assert (R := read_off l e ltac:(eapply Forall_impl; [|apply F]; simpl; tauto)).
  assert (Ep : 0 <= eps) by (eapply Rle_trans; [apply Rabs_pos | apply S]).
  assert (C : total (map computed l) * e <= (1 + eps) * e) by (apply Rmult_le_compat_r; auto; apply Rabs_le_inv in S; lra).
  set (centred := map (fun t => Key (computed t) (meant t) (read t) (number_meant t - m)) l).
  assert (W := weighted_distance centred ((hi - lo) / 2)). assert (DC : distance centred = distance l).
  { unfold distance, centred. now rewrite map_map. }
  rewrite DC in W.
  assert (FC : Forall (fun t => Rabs (number_meant t) <= (hi - lo) / 2) centred).
  { unfold centred. apply Forall_map. eapply Forall_impl; [|apply F]. simpl. intros t (_ & _ & B). apply Rabs_le. unfold m. lra. }
  specialize (W FC). unfold centred in W. rewrite map_map in W. simpl in W.
  assert (T : total (map (fun t => (computed t - meant t) * (number_meant t - m)) l)
              = total (map (fun t => computed t * number_meant t) l) - total (map (fun t => meant t * number_meant t) l)
                - m * (total (map computed l) - total (map meant l))).
  { clear. clearbody m. induction l as [|t l IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH. ring. }
  rewrite T, M in W.
  assert (DD : distance l * ((hi - lo) / 2) <= D * ((hi - lo) / 2)) by (apply Rmult_le_compat_r; lra).
  assert (ME : Rabs (m * (total (map computed l) - 1)) <= Rabs m * eps)
    by (rewrite Rabs_mult; apply Rmult_le_compat_l; auto using Rabs_pos).
  set (a := total (map (fun t => computed t * read t) l)) in *. set (b := total (map (fun t => computed t * number_meant t) l)) in *.
  set (c := total (map (fun t => meant t * number_meant t) l)) in *. set (d := m * (total (map computed l) - 1)) in *.
  replace (a - c) with ((a - b) + (b - c - d) + d) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. assert (X := Rabs_triang (a - b) (b - c - d)). lra.
Qed.

(** For any of them the largest size may take the place of the distance from the middle; then no sum is asked for. *)
Theorem scores_by_position_by_size l B D e :
  Forall (fun t => 0 <= computed t /\ Rabs (read t - number_meant t) <= e /\ Rabs (number_meant t) <= B) l ->
  distance l <= D -> 0 <= B ->
  Rabs (total (map (fun t => computed t * read t) l) - total (map (fun t => meant t * number_meant t) l))
  <= D * B + total (map computed l) * e.
Proof.
  intros F HD HB. assert (R := read_off l e ltac:(eapply Forall_impl; [|apply F]; simpl; tauto)).
  assert (W := weighted_distance l B ltac:(eapply Forall_impl; [|apply F]; simpl; tauto)). rewrite <- split_weights in W.
  assert (distance l * B <= D * B) by now apply Rmult_le_compat_r.
  match goal with |- Rabs (?a - ?c) <= _ => match type of W with Rabs (?b - _) <= _ => replace (a - c) with ((a - b) + (b - c)) by ring end end.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

(** The weights that are meant must add up to 1. *)
Theorem scores_need_weights_that_add_up :
  exists l lo hi D, Forall (fun t => 0 <= computed t /\ read t = number_meant t /\ lo <= number_meant t <= hi) l /\
    distance l <= D /\ total (map computed l) = 1 /\
    D * ((hi - lo) / 2) < Rabs (total (map (fun t => computed t * read t) l) - total (map (fun t => meant t * number_meant t) l)).
Proof.
  exists [Key 1 0 1 1], 1, 1, 1. unfold distance, total. simpl. split; [repeat constructor; simpl; lra|].
  replace (1 - 0) with 1 by ring. rewrite Rabs_R1. split; [lra|]. split; [lra|].
  replace (1 * 1 + 0 - (0 * 1 + 0)) with 1 by ring. rewrite Rabs_R1. lra.
Qed.

(** * Softmax head *)

(** What a score is off by: for each product what is read of it and meant, [q' k'] and [q k], with [|q| <= Q], [|k| <= K]. *)
Record product := Product { q' : R; k' : R; q : R; k : R; Q : R; K : R; a : R; b : R }.

(** What a score is off by, if what is read of queries and keys is off. *)
Theorem scores_off l :
  Forall (fun t => Rabs (q' t - q t) <= a t /\ Rabs (k' t - k t) <= b t /\ Rabs (q t) <= Q t /\ Rabs (k t) <= K t) l ->
  Rabs (total (map (fun t => q' t * k' t) l) - total (map (fun t => q t * k t) l))
  <= total (map (fun t => Q t * b t + a t * (K t + b t)) l).
Proof.
  induction 1 as [|t l (HA & HB & HQ & HK) F IH]; [unfold total; simpl; rewrite Rminus_0_r, Rabs_R0; lra|].
  cbn [map]. rewrite !total_cons.
  match goal with |- Rabs (?a + ?x - (?b + ?y)) <= _ => replace (a + x - (b + y)) with ((a - b) + (x - y)) by ring end.
  eapply Rle_trans; [apply Rabs_triang|]. assert (E := product_error (q t) (k t) (q' t) (k' t) (a t) (b t) HA HB).
  assert (A0 : 0 <= a t) by (eapply Rle_trans; [apply Rabs_pos | apply HA]).
  assert (B0 : 0 <= b t) by (eapply Rle_trans; [apply Rabs_pos | apply HB]).
  assert (Rabs (q t) * b t <= Q t * b t) by now apply Rmult_le_compat_r.
  assert (Rabs (k t) * a t <= K t * a t) by now apply Rmult_le_compat_r. lra.
Qed.

(** A key of a head that attends: its score, what the score is off by, its value. *)
Record attended := Attended { score : R; drift : R; what : R }.

(** The average of the values where scores are off by [x] times their drift. *)
Definition masses (x : R) (l : list attended) : R := total (map (fun t => exp (score t + x * drift t)) l).
Definition moments (x : R) (l : list attended) : R := total (map (fun t => what t * exp (score t + x * drift t)) l).
Definition attends (x : R) (l : list attended) : R := moments x l / masses x l.

Lemma masses_pos x t l : 0 < masses x (t :: l).
Proof.
  unfold masses. cbn [map]. rewrite total_cons. assert (P := exp_pos (score t + x * drift t)).
  assert (0 <= total (map (fun t => exp (score t + x * drift t)) l)); [|lra].
  apply total_nonneg, Forall_map, Forall_forall. intros. apply Rlt_le, exp_pos.
Qed.

Lemma attends_between x t l lo hi : Forall (fun r => lo <= what r <= hi) (t :: l) -> lo <= attends x (t :: l) <= hi.
Proof.
  intros F. assert (P := masses_pos x t l). unfold attends.
  assert (H : lo * masses x (t :: l) <= moments x (t :: l) <= hi * masses x (t :: l)).
  { clear P. induction F as [|r s B F IH]; [unfold masses, moments, total; simpl; lra|].
    unfold masses, moments in *. cbn [map]. rewrite !total_cons. assert (E := exp_pos (score r + x * drift r)). nra. }
  split; apply Rmult_le_reg_r with (masses x (t :: l)); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
Qed.

(** The derivatives along the drift. *)
Definition masses' (x : R) (l : list attended) : R := total (map (fun t => drift t * exp (score t + x * drift t)) l).
Definition moments' (x : R) (l : list attended) : R := total (map (fun t => what t * (drift t * exp (score t + x * drift t))) l).

Lemma derive_exp s d x : derivable_pt_lim (fun x => exp (s + x * d)) x (d * exp (s + x * d)).
Proof.
  replace (d * exp (s + x * d)) with (exp (s + x * d) * (0 + d * 1)) by ring.
  apply (derivable_pt_lim_comp (fun x => s + x * d) exp); [|apply derivable_pt_lim_exp].
  apply (derivable_pt_lim_plus (fun _ => s) (fun x => x * d)); [apply derivable_pt_lim_const|].
  replace (d * 1) with (1 * d + x * 0) by ring.
  apply (derivable_pt_lim_mult id (fun _ => d)); [apply derivable_pt_lim_id | apply derivable_pt_lim_const].
Qed.

Lemma derive_masses l x : derivable_pt_lim (fun x => masses x l) x (masses' x l).
Proof.
  induction l as [|t l IH]; [apply derivable_pt_lim_const|].
  apply (derivable_pt_lim_plus (fun x => exp (score t + x * drift t)) (fun x => masses x l)); [apply derive_exp | apply IH].
Qed.

Lemma derive_moments l x : derivable_pt_lim (fun x => moments x l) x (moments' x l).
Proof.
  induction l as [|t l IH]; [apply derivable_pt_lim_const|].
  apply (derivable_pt_lim_plus (fun x => what t * exp (score t + x * drift t)) (fun x => moments x l)); [|apply IH].
  apply derivable_pt_lim_scal, derive_exp.
Qed.

(** The derivative is a covariance: at most half of what the values span, times the largest drift. *)
Lemma covariance x t l lo hi e : Forall (fun r => lo <= what r <= hi /\ Rabs (drift r) <= e) (t :: l) -> lo <= hi ->
  Rabs (moments' x (t :: l) * masses x (t :: l) - masses' x (t :: l) * moments x (t :: l))
  <= e * ((hi - lo) / 2) * (masses x (t :: l) * masses x (t :: l)).
Proof.
  intros F LH. assert (P := masses_pos x t l).
  assert (B := attends_between x t l lo hi ltac:(eapply Forall_impl; [|apply F]; simpl; tauto)).
  assert (Em : moments x (t :: l) = attends x (t :: l) * masses x (t :: l)) by (unfold attends; field; lra).
  set (V := attends x (t :: l)) in *. set (M := masses x (t :: l)) in *.
  assert (E0 : 0 <= e) by (inversion F as [|? ? [_ H] _]; subst; eapply Rle_trans; [apply Rabs_pos | apply H]).
  (* Σ p |V_k - V| is at most (h - l) / 2 Σ p. *)
  assert (Spread : (hi - lo) * total (map (fun r => Rabs (what r - V) * exp (score r + x * drift r)) (t :: l))
                   <= (hi - V) * (moments x (t :: l) - lo * M) + (V - lo) * (hi * M - moments x (t :: l))).
  { unfold M. clear Em M P. clearbody V. induction F as [|r s [W D] F IH]; [unfold masses, moments, total; simpl; lra|].
    unfold masses, moments in *. cbn [map]. rewrite !total_cons. assert (X := exp_pos (score r + x * drift r)).
    set (w := exp (score r + x * drift r)) in *.
    assert (C : (hi - lo) * Rabs (what r - V) <= (hi - V) * (what r - lo) + (V - lo) * (hi - what r)).
    { unfold Rabs. destruct (Rcase_abs (what r - V)); nra. }
    assert ((hi - lo) * Rabs (what r - V) * w <= ((hi - V) * (what r - lo) + (V - lo) * (hi - what r)) * w)
      by (apply Rmult_le_compat_r; lra). lra. }
  rewrite Em in Spread |- *. set (A := total (map (fun r => Rabs (what r - V) * exp (score r + x * drift r)) (t :: l))) in *.
  assert (Half : A <= (hi - lo) / 2 * M).
  { destruct LH as [LH|LH].
    - apply Rmult_le_reg_l with (hi - lo); [lra|]. eapply Rle_trans; [apply Spread|].
      assert (0 <= (2 * V - lo - hi) * (2 * V - lo - hi)) by apply Rle_0_sqr.
      assert (0 <= (2 * V - lo - hi) * (2 * V - lo - hi) * M) by (apply Rmult_le_pos; lra). lra.
    - assert (Z : A = 0).
      { unfold A. clear - F B LH. assert (V = lo) by lra. clearbody V. subst V.
        induction F as [|r s [W D] F IH]; [reflexivity|]. cbn [map]. rewrite total_cons, IH.
        replace (what r - lo) with 0 by lra. rewrite Rabs_R0. ring. }
      rewrite Z, LH. replace (hi - hi) with 0 by ring. lra. }
  assert (Cov : Rabs (moments' x (t :: l) - masses' x (t :: l) * V) <= e * A).
  { unfold A. clear Spread Half A Em P. clearbody V. unfold moments', masses'.
    assert (forall s, Forall (fun r => lo <= what r <= hi /\ Rabs (drift r) <= e) s ->
      Rabs (total (map (fun t => what t * (drift t * exp (score t + x * drift t))) s) -
            total (map (fun t => drift t * exp (score t + x * drift t)) s) * V)
      <= e * total (map (fun r => Rabs (what r - V) * exp (score r + x * drift r)) s)) as G; [|now apply G].
    clear - E0. induction 1 as [|r s [W D] F IH]; [unfold total; simpl; rewrite Rmult_0_l, Rminus_0_r, Rabs_R0; lra|].
    cbn [map]. rewrite !total_cons. assert (X := exp_pos (score r + x * drift r)). set (w := exp (score r + x * drift r)) in *.
    match goal with |- Rabs (?a + ?y - (?b + ?z) * V) <= _ =>
      replace (a + y - (b + z) * V) with (drift r * ((what r - V) * w) + (y - z * V)) by (ring) end.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, Rabs_mult, (Rabs_pos_eq w) by lra.
    assert (Rabs (drift r) * (Rabs (what r - V) * w) <= e * (Rabs (what r - V) * w)).
    { apply Rmult_le_compat_r; auto. apply Rmult_le_pos; [apply Rabs_pos | lra]. }
    lra. }
  replace (moments' x (t :: l) * M - masses' x (t :: l) * (V * M)) with ((moments' x (t :: l) - masses' x (t :: l) * V) * M) by ring.
  rewrite Rabs_mult, (Rabs_pos_eq M) by lra.
  assert (e * A <= e * ((hi - lo) / 2 * M)) by now apply Rmult_le_compat_l.
  replace (e * ((hi - lo) / 2) * (M * M)) with (e * ((hi - lo) / 2 * M) * M) by ring.
  apply Rmult_le_compat_r; lra.
Qed.

Lemma common_drift c l x : attends x (map (fun t => Attended (score t) (drift t + c) (what t)) l) = attends x l.
Proof.
  assert (E : forall r, exp (score r + x * (drift r + c)) = exp (x * c) * exp (score r + x * drift r)).
  { intros r. rewrite <- exp_plus. f_equal. ring. }
  assert (M : masses x (map (fun t => Attended (score t) (drift t + c) (what t)) l) = exp (x * c) * masses x l).
  { unfold masses. rewrite map_map. simpl. induction l as [|r l IH]; [unfold total; simpl; ring|].
    cbn [map]. rewrite !total_cons, IH, E. ring. }
  assert (N : moments x (map (fun t => Attended (score t) (drift t + c) (what t)) l) = exp (x * c) * moments x l).
  { clear M. unfold moments. rewrite map_map. simpl. induction l as [|r l IH]; [unfold total; simpl; ring|].
    cbn [map]. rewrite !total_cons, IH, E. ring. }
  unfold attends. rewrite M, N. destruct l as [|t l]; [unfold masses, moments, total; simpl; rewrite !Rmult_0_r, no_quotient; reflexivity|].
  assert (P := masses_pos x t l). assert (X := exp_pos (x * c)). field. split; lra.
Qed.

(** Scores off by at most [e], but for what all of them have in common, [c]. *)
Theorem softmax_head t l lo hi e c :
  Forall (fun r => lo <= what r <= hi /\ Rabs (drift r - c) <= e) (t :: l) -> lo <= hi ->
  Rabs (attends 1 (t :: l) - attends 0 (t :: l)) <= Rmin 1 (e / 2) * (hi - lo).
Proof.
  intros F LH. assert (B := fun x => attends_between x t l lo hi ltac:(eapply Forall_impl; [|apply F]; simpl; tauto)).
  assert (One : Rabs (attends 1 (t :: l) - attends 0 (t :: l)) <= 1 * (hi - lo)).
  { assert (B1 := B 1). assert (B0 := B 0). apply Rabs_le. lra. }
  assert (Two : Rabs (attends 1 (t :: l) - attends 0 (t :: l)) <= e / 2 * (hi - lo)).
  { rewrite <- !(common_drift (- c) (t :: l)).
    set (s := map (fun t => Attended (score t) (drift t + - c) (what t)) (t :: l)).
    assert (G : Forall (fun r => lo <= what r <= hi /\ Rabs (drift r) <= e) s).
    { unfold s. apply Forall_map. eapply Forall_impl; [|apply F]. simpl. intros r [W D]. split; auto. }
    assert (S : s = Attended (score t) (drift t + - c) (what t) :: map (fun t => Attended (score t) (drift t + - c) (what t)) l)
      by reflexivity.
    clearbody s. subst s.
    set (t1 := Attended _ _ _) in *. set (l1 := map _ l) in *.
    destruct (MVT_cor2 (fun x => attends x (t1 :: l1))
      (fun x => (moments' x (t1 :: l1) * masses x (t1 :: l1) - masses' x (t1 :: l1) * moments x (t1 :: l1)) / Rsqr (masses x (t1 :: l1))) 0 1)
      as (x & E & _); [lra| |].
    - intros x _. apply (derivable_pt_lim_div (fun x => moments x (t1 :: l1)) (fun x => masses x (t1 :: l1)));
        [apply derive_moments | apply derive_masses |]. assert (P := masses_pos x t1 l1). lra.
    - rewrite E. replace (1 - 0) with 1 by ring. rewrite Rmult_1_r.
      assert (C := covariance x t1 l1 lo hi e G LH). assert (P := masses_pos x t1 l1).
      set (M := masses x (t1 :: l1)) in *. assert (M2 : 0 < M * M) by nra. unfold Rdiv, Rsqr. rewrite Rabs_mult.
      rewrite (Rabs_pos_eq (/ (M * M))) by (apply Rlt_le, Rinv_0_lt_compat; auto).
      apply Rmult_le_reg_r with (M * M); auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. rewrite <- Rmult_assoc in C. unfold Rdiv in C. lra. }
  unfold Rmin. destruct (Rle_dec 1 (e / 2)); lra.
Qed.

(** What the head computes: the weight that is meant, how far the computed one is off, what is read, the value. *)
Record computed_key := Computed { weight_meant : R; weight_off : R; value_read : R; value_meant : R }.

(** What the head computes, if the computed weights and what is read are off. *)
Theorem softmax_head_computed l Theta S r :
  Forall (fun t => 0 <= weight_meant t /\ Rabs (weight_off t) <= Theta /\ Rabs (value_meant t) <= S
                   /\ Rabs (value_read t - value_meant t) <= r) l ->
  total (map weight_meant l) = 1 ->
  Rabs (total (map (fun t => weight_meant t * (1 + weight_off t) * value_read t) l)
        - total (map (fun t => weight_meant t * value_meant t) l)) <= Theta * S + (1 + Theta) * r.
Proof.
  intros F T. assert (H : Rabs (total (map (fun t => weight_meant t * (1 + weight_off t) * value_read t) l)
        - total (map (fun t => weight_meant t * value_meant t) l)) <= total (map weight_meant l) * (Theta * S + (1 + Theta) * r)).
  { clear T. induction F as [|t l (P & O & V & D) F IH]; [unfold total; simpl; rewrite Rminus_0_r, Rabs_R0; lra|].
    cbn [map]. rewrite !total_cons.
    match goal with |- Rabs (?a + ?x - (?b + ?y)) <= _ => replace (a + x - (b + y)) with ((a - b) + (x - y)) by ring end.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rmult_plus_distr_r. apply Rplus_le_compat; auto.
    replace (weight_meant t * (1 + weight_off t) * value_read t - weight_meant t * value_meant t)
      with (weight_meant t * (weight_off t * value_meant t + (1 + weight_off t) * (value_read t - value_meant t))) by ring.
    rewrite Rabs_mult, (Rabs_pos_eq (weight_meant t)) by auto. apply Rmult_le_compat_l; auto.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult. apply Rplus_le_compat.
    - apply Rmult_le_compat; auto using Rabs_pos.
    - apply Rmult_le_compat; auto using Rabs_pos. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_R1. lra. }
  rewrite T in H. lra.
Qed.

(** Every score must be near its own. *)
Theorem softmax_head_needs_every_score :
  exists t l, Forall (fun r => 0 <= what r <= 1) (t :: l) /\ drift t = 0 /\
    Rmin 1 (0 / 2) * (1 - 0) < Rabs (attends 1 (t :: l) - attends 0 (t :: l)).
Proof.
  exists (Attended 0 0 0), [Attended 0 1 1]. split; [repeat constructor; simpl; lra|]. split; [reflexivity|].
  unfold attends, moments, masses, total. simpl. rewrite !Rmult_0_r, !Rmult_0_l, !Rmult_1_l, !Rplus_0_r, !Rplus_0_l, exp_0.
  assert (E := exp_ineq1 1 ltac:(lra)). unfold Rmin. destruct (Rle_dec 1 (0 / 2)); [lra|].
  assert (X : / 2 < exp 1 / (1 + exp 1)).
  { apply Rmult_lt_reg_r with (1 + exp 1); [lra|]. replace (exp 1 / (1 + exp 1) * (1 + exp 1)) with (exp 1) by (field; lra). lra. }
  apply Rlt_le_trans with (exp 1 / (1 + exp 1) - 1 / (1 + 1)); [lra | apply Rle_abs].
Qed.
