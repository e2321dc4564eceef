(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** Sums in a stock host, where units add a little even if they should add nothing: CERTIFICATE.md, section 10, *Quiet terms*,
    *Writing*, *Clearing in a host*. *)

From Formwright Require Import RulesExecution RulesSums RulesSumsFalse RulesSoftmax RulesLayers RulesIntegral RulesHosts.

(** * Quiet terms *)

Section Sums.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation number := (number emin prec).
Notation rounded := (rounded emin prec).
Notation sum := (sum emin prec).
Let c := 1 + u.

(** Terms are marked: those that are not quiet, and those that are. *)
Definition loud (l : list (bool * R)) : list R := map snd (filter fst l).
Definition quiet (l : list (bool * R)) : list R := map snd (filter (fun t => negb (fst t)) l).

Definition flushes (n : nat) : R := (2 * INR n - 1) * c ^ n.

(** What a sum of [n] quiet terms of size [T] may come to; and what one is off in which [k] terms of size [S] are not quiet. *)
Definition quiet_bound (n : nat) (T : R) : R := c ^ n * T + flushes n * least_normal.
Definition loud_bound (k n : nat) (S T : R) : R := (c ^ k - 1) * S + 2 * c ^ n * T + 2 * flushes n * least_normal.

Definition part (k n : nat) (S T L x : R) : Prop :=
  (1 <= n)%nat /\ 0 <= T /\ Rabs L <= S /\
  ((k = 0%nat /\ L = 0 /\ S = 0 /\ Rabs x <= quiet_bound n T) \/ ((1 <= k)%nat /\ Rabs (x - L) <= loud_bound k n S T)).

Lemma c1 : 1 < c.
Proof. unfold c. assert (U := u_pos prec). lra. Qed.

Lemma powers m n : (m <= n)%nat -> 1 <= c ^ m <= c ^ n.
Proof. intros H. assert (C := c1). split; [apply pow_R1_Rle | apply Rle_pow]; auto; lra. Qed.

Lemma flushes_add m n : (1 <= m)%nat -> (1 <= n)%nat -> c * (flushes m + flushes n) + 1 <= flushes (m + n).
Proof.
  intros M N. assert (C := c1). assert (Gm := powers (Datatypes.S m) (m + n) ltac:(lia)). assert (Gn := powers (Datatypes.S n) (m + n) ltac:(lia)).
  cbn [pow] in Gm, Gn. unfold flushes. rewrite plus_INR. apply (le_INR 1) in M, N. simpl (INR 1) in *.
  set (g := c ^ (m + n)) in *. set (a := INR m) in *. set (b := INR n) in *.
  assert ((2 * a - 1) * (c * c ^ m) <= (2 * a - 1) * g) by (apply Rmult_le_compat_l; lra).
  assert ((2 * b - 1) * (c * c ^ n) <= (2 * b - 1) * g) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma flushes_pos n : (1 <= n)%nat -> 1 <= flushes n.
Proof.
  intros N. unfold flushes. assert (G := powers n n (le_n n)). apply (le_INR 1) in N. simpl (INR 1) in N.
  assert (1 * 1 <= (2 * INR n - 1) * c ^ n) by (apply Rmult_le_compat; lra). lra.
Qed.

(** A number and something are rounded to what is no farther from their sum than the number is. *)
Lemma rounded_near x w z : number x -> rounded (x + w) z -> Rabs (z - (x + w)) <= Rabs w + least_normal.
Proof.
  intros N H. assert (L := least_normal_pos emin prec). destruct H as [|F].
  - destruct (round_N_pt radix2 (FLT_exp emin prec) (fun n => negb (Z.even n)) (x + w)) as [_ H]. specialize (H x N).
    unfold fl. replace (x - (x + w)) with (- w) in H by ring. rewrite Rabs_Ropp in H. lra.
  - assert (Q := Rabs_pos w). replace (0 - (x + w)) with (- (x + w)) by ring. rewrite Rabs_Ropp. lra.
Qed.

Lemma rounded_from S D T v z : rounded v z -> Rabs (v - T) <= D -> Rabs T <= S -> Rabs (z - T) <= u * S + c * D + least_normal.
Proof. apply (rounded_off emin prec). Qed.

Lemma join k1 n1 S1 T1 L1 x k2 n2 S2 T2 L2 y z : part k1 n1 S1 T1 L1 x -> part k2 n2 S2 T2 L2 y ->
  number y -> number x \/ (k1 = 1%nat /\ x = L1) \/ k1 = 0%nat -> rounded (x + y) z ->
  part (k1 + k2) (n1 + n2) (S1 + S2) (T1 + T2) (L1 + L2) z.
Proof.
  intros (N1 & P1 & A1 & H1) (N2 & P2 & A2 & H2) Ny Nx H. assert (C := c1). assert (Lam := least_normal_pos emin prec).
  assert (U := u_pos prec).
  split; [lia|]. split; [lra|]. split; [eapply Rle_trans; [apply Rabs_triang | lra]|].
  assert (F := flushes_add n1 n2 N1 N2). assert (F1 := flushes_pos n1 N1). assert (F2 := flushes_pos n2 N2).
  assert (Fl : c * (flushes n1 * least_normal + flushes n2 * least_normal) + least_normal <= flushes (n1 + n2) * least_normal) by
    (replace (c * (flushes n1 * least_normal + flushes n2 * least_normal) + least_normal) with ((c * (flushes n1 + flushes n2) + 1) * least_normal) by ring; apply Rmult_le_compat_r; lra).
  assert (Fl' : flushes n1 * least_normal + flushes n2 * least_normal + least_normal <= flushes (n1 + n2) * least_normal).
  { assert (0 <= (flushes n1 + flushes n2) * least_normal) by (apply Rmult_le_pos; lra). nra. }
  assert (Fp : 0 <= flushes n1 * least_normal /\ 0 <= flushes n2 * least_normal) by (split; apply Rmult_le_pos; lra).
  assert (G1 := powers (Datatypes.S n1) (n1 + n2) ltac:(lia)). assert (G2 := powers (Datatypes.S n2) (n1 + n2) ltac:(lia)). cbn [pow] in G1, G2.
  assert (g1 := powers n1 (n1 + n2) ltac:(lia)). assert (g2 := powers n2 (n1 + n2) ltac:(lia)).
  assert (Q1 : c * c ^ n1 * T1 <= c ^ (n1 + n2) * T1 /\ c ^ n1 * T1 <= c ^ (n1 + n2) * T1) by (split; apply Rmult_le_compat_r; lra).
  assert (Q2 : c * c ^ n2 * T2 <= c ^ (n1 + n2) * T2 /\ c ^ n2 * T2 <= c ^ (n1 + n2) * T2) by (split; apply Rmult_le_compat_r; lra).
  destruct H1 as [(-> & -> & -> & H1)|(K1 & H1)], H2 as [(-> & -> & -> & H2)|(K2 & H2)].
  - left. split; auto. split; [ring|]. split; [ring|].
    apply (rounded_from 0 (Rabs (x + y)) 0) in H; [|rewrite Rminus_0_r; lra | rewrite Rabs_R0; lra]. rewrite Rminus_0_r in H.
    assert (T := Rabs_triang x y). assert (c * Rabs (x + y) <= c * (quiet_bound n1 T1 + quiet_bound n2 T2)) by (apply Rmult_le_compat_l; lra).
    unfold quiet_bound in *. lra.
  - right. split; [lia|]. rewrite Rplus_comm in H. apply rounded_near in H; auto.
    replace (z - (0 + L2)) with ((z - (y + x)) + (y - L2) + x) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. assert (Q := Rabs_triang (z - (y + x)) (y - L2)).
    unfold loud_bound, quiet_bound in *. rewrite !Rplus_0_l. cbn [Nat.add]. lra.
  - right. split; [lia|]. destruct Nx as [Nx|[[-> E]|E]]; [| |lia].
    + apply rounded_near in H; auto.
      replace (z - (L1 + 0)) with ((z - (x + y)) + (x - L1) + y) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. assert (Q := Rabs_triang (z - (x + y)) (x - L1)).
      unfold loud_bound, quiet_bound in *. rewrite !Rplus_0_r. rewrite Nat.add_0_r. lra.
    + subst x. apply (rounded_from S1 (Rabs y) L1) in H; [|replace (L1 + y - L1) with y by ring; lra | exact A1].
      rewrite Rplus_0_r. assert (c * Rabs y <= c * quiet_bound n2 T2) by (apply Rmult_le_compat_l; lra).
      unfold loud_bound, quiet_bound in *. rewrite !Rplus_0_r. cbn [Nat.add pow]. replace (c * 1 - 1) with u by (unfold c; ring).
      assert (0 <= c ^ (n1 + n2) * T1) by (apply Rmult_le_pos; lra). assert (0 <= c ^ (n1 + n2) * T2) by (apply Rmult_le_pos; lra).
      assert (0 <= c * (flushes n1 * least_normal)) by (apply Rmult_le_pos; lra). lra.
  - right. split; [lia|].
    assert (D : Rabs (x + y - (L1 + L2)) <= loud_bound k1 n1 S1 T1 + loud_bound k2 n2 S2 T2).
    { replace (x + y - (L1 + L2)) with ((x - L1) + (y - L2)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
    apply (rounded_from (S1 + S2) _ (L1 + L2)) with (2 := D) in H; [|eapply Rle_trans; [apply Rabs_triang | lra]].
    assert (S1p : 0 <= S1) by (eapply Rle_trans; [apply Rabs_pos | apply A1]). assert (S2p : 0 <= S2) by (eapply Rle_trans; [apply Rabs_pos | apply A2]).
    assert (B1 : c * c ^ k1 <= c ^ (k1 + k2)) by (apply (powers (Datatypes.S k1) (k1 + k2)); lia).
    assert (B2 : c * c ^ k2 <= c ^ (k1 + k2)) by (apply (powers (Datatypes.S k2) (k1 + k2)); lia).
    assert (E1 : c * c ^ k1 * S1 <= c ^ (k1 + k2) * S1) by (apply Rmult_le_compat_r; lra).
    assert (E2 : c * c ^ k2 * S2 <= c ^ (k1 + k2) * S2) by (apply Rmult_le_compat_r; lra).
    assert (Eu : c * S1 = S1 + u * S1 /\ c * S2 = S2 + u * S2) by (unfold c; split; ring).
    unfold loud_bound in *. lra.
Qed.

(** One term as it is, which may stand for a term that is rounded too. *)
Lemma one_term b t x : rounded t x \/ x = t ->
  part (if b : bool then 1 else 0) 1 (if b then Rabs t else 0) (if b then 0 else Rabs t) (if b then t else 0) x.
Proof.
  intros H. assert (C := c1). assert (U := u_pos prec). assert (Lam := least_normal_pos emin prec). assert (T := Rabs_pos t).
  assert (D : Rabs (x - t) <= u * Rabs t + least_normal).
  { destruct H as [H| ->].
    - apply (rounded_from (Rabs t) 0 t) in H; [lra | rewrite Rminus_eq_0, Rabs_R0; lra | lra].
    - rewrite Rminus_eq_0, Rabs_R0. assert (0 <= u * Rabs t) by (apply Rmult_le_pos; lra). lra. }
  assert (Cl : least_normal <= c * least_normal) by nra.
  split; [auto|]. destruct b.
  - split; [lra|]. split; [lra|]. right. split; auto. unfold loud_bound, flushes. simpl. replace (c * 1 - 1) with u by (unfold c; ring). lra.
  - split; [lra|]. split; [rewrite Rabs_R0; lra|]. left. repeat split; auto. unfold quiet_bound, flushes. simpl.
    replace x with (t + (x - t)) by ring. eapply Rle_trans; [apply Rabs_triang|]. replace (c * 1 * Rabs t) with (Rabs t + u * Rabs t) by (unfold c; ring). lra.
Qed.

Lemma parts_of_sum s x : sum s x -> forall l, s = map snd l ->
  part (length (loud l)) (length l) (size (loud l)) (size (quiet l)) (total (loud l)) x.
Proof.
  assert (Split : forall a b, loud (a ++ b) = loud a ++ loud b /\ quiet (a ++ b) = quiet a ++ quiet b).
  { intros a b. unfold loud, quiet. now rewrite !filter_app, !map_app. }
  assert (One : forall b t x, rounded t x \/ x = t ->
    part (length (loud [(b, t)])) 1 (size (loud [(b, t)])) (size (quiet [(b, t)])) (total (loud [(b, t)])) x).
  { intros b t y H. apply (one_term b) in H. destruct b; unfold loud, quiet, size, total; simpl; simpl in H; rewrite ?Rplus_0_r; exact H. }
  induction 1 as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros l E.
  - destruct l as [|[b w] [|]]; try discriminate. injection E as ->. apply One. now left.
  - symmetry in E. apply map_eq_app in E as (l1 & l2 & -> & <- & <-). destruct (Split l1 l2) as [-> ->].
    rewrite !app_length, !size_app, total_app. apply join with x y; auto; [now apply sum_number in Hy | left; now apply sum_number in Hx].
  - destruct l as [|[b w] l]; [discriminate|]. injection E as -> ->. destruct (Split [(b, w)] l) as [E1 E2].
    change ((b, w) :: l) with ([(b, w)] ++ l). rewrite E1, E2, !app_length, !size_app, total_app.
    apply join with w y; auto; [now apply sum_number in Hy|]. right. destruct b; [left; split; auto|now right].
    unfold loud, total. simpl. lra.
  - subst r. apply Permutation_map_inv in P as (l' & -> & P). specialize (IH l' eq_refl).
    assert (PL : Permutation (loud l') (loud l) /\ Permutation (quiet l') (quiet l)).
    { split; apply Permutation_map; clear -P; induction P; simpl; eauto using Permutation;
        repeat match goal with |- context [if ?b then _ else _] => destruct b end; eauto using Permutation. }
    destruct PL as [P1 P2]. rewrite (Permutation_length P), <- (Permutation_length P1), <- (size_order _ _ P1), <- (size_order _ _ P2), <- (total_order _ _ P1). exact IH.
Qed.

Lemma power_gamma k : INR k * u < 1 -> c ^ k - 1 <= gamma u k.
Proof. apply (bernoulli prec). Qed.

(** A sum of [k] terms, and of others that are quiet, is off from that of the [k] by their rounding and three times the
    size of the others. *)
Theorem quiet_terms l x : let k := length (loud l) in let n := length l in
  INR n * u <= / 16 -> sum (map snd l) x ->
  Rabs (x - total (loud l)) <= gamma u k * size (loud l) + 3 * size (quiet l) + 5 * INR n * least_normal.
Proof.
  intros k n Hn H. assert (U := u_pos prec). assert (Lam := least_normal_pos emin prec).
  destruct (parts_of_sum _ _ H l eq_refl) as (N1 & T0 & A & B). fold k n in N1, B.
  assert (Kn : (k <= n)%nat) by (unfold k, n, loud; rewrite map_length; clear; induction l as [|[[|] t] l IH]; simpl; lia).
  assert (Ku : INR k * u <= INR n * u) by (apply Rmult_le_compat_r; [lra | now apply le_INR]).
  assert (Gn := power_gamma n ltac:(lra)). assert (Gk := power_gamma k ltac:(lra)).
  assert (G15 : gamma u n <= / 15).
  { unfold gamma. apply Rmult_le_reg_r with (1 - INR n * u); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
  assert (Cn : c ^ n <= 16 / 15) by lra. assert (Cn1 := powers n n (le_n n)).
  assert (S0 := size_nonneg (loud l)).
  assert (E1 : c ^ n * size (quiet l) <= 16 / 15 * size (quiet l)) by (apply Rmult_le_compat_r; lra).
  apply (le_INR 1) in N1. simpl (INR 1) in N1.
  assert (E2 : flushes n * least_normal <= 5 / 2 * INR n * least_normal).
  { apply Rmult_le_compat_r; [lra|]. unfold flushes. assert ((2 * INR n - 1) * c ^ n <= (2 * INR n - 1) * (16 / 15)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (E3 : (c ^ k - 1) * size (loud l) <= gamma u k * size (loud l)) by (apply Rmult_le_compat_r; lra).
  assert (F0 : 0 <= flushes n * least_normal).
  { apply Rmult_le_pos; [|lra]. unfold flushes. apply Rmult_le_pos; lra. }
  destruct B as [(K & L & S & B)|(K & B)].
  - rewrite L, S, Rminus_0_r in *. unfold quiet_bound in B. lra.
  - unfold loud_bound in B. lra.
Qed.

(** * Writing *)

(** A layer adds the same to both coordinates of a pair, with opposite signs: half the difference moves by that, and both
    that and the middle are off by what one sum is. *)
Theorem writing a b l a' b' A : let k := length (loud l) in let n := length l in
  INR (n + 1) * u <= / 16 -> Rabs a <= A -> Rabs b <= A ->
  sum (a :: map snd l) a' -> sum (b :: map Ropp (map snd l)) b' ->
  let e := gamma u (k + 1) * (A + size (loud l)) + 3 * size (quiet l) + 5 * INR (n + 1) * least_normal in
  Rabs (half_difference (a', b') - (half_difference (a, b) + total (loud l))) <= e /\
  Rabs (half_sum (a', b') - half_sum (a, b)) <= e.
Proof.
  intros k n Hn Ha Hb Sa Sb e.
  assert (One : forall a l a' A, INR (length l + 1) * u <= / 16 -> Rabs a <= A -> sum (a :: map snd l) a' ->
    Rabs (a' - (a + total (loud l)))
      <= gamma u (length (loud l) + 1) * (A + size (loud l)) + 3 * size (quiet l) + 5 * INR (length l + 1) * least_normal).
  { clear a b l a' b' A k n Hn Ha Hb Sa Sb e. intros a l a' A Hn Ha Sa.
    assert (Q := quiet_terms ((true, a) :: l) a'). cbn [map snd length] in Q.
    change (loud ((true, a) :: l)) with (a :: loud l) in Q. change (quiet ((true, a) :: l)) with (quiet l) in Q. cbn [length] in Q.
    rewrite total_cons in Q. replace (Datatypes.S (length l)) with (length l + 1)%nat in Q by lia.
    replace (Datatypes.S (length (loud l))) with (length (loud l) + 1)%nat in Q by lia. specialize (Q Hn Sa).
    eapply Rle_trans; [exact Q|]. apply Rplus_le_compat_r, Rplus_le_compat_r.
    assert (K : INR (length (loud l) + 1) * u <= / 16).
    { eapply Rle_trans; [|exact Hn]. apply Rmult_le_compat_r; [apply Rlt_le, u_pos|]. apply le_INR.
      unfold loud. rewrite map_length. clear. induction l as [|[[|] t] l IH]; simpl; lia. }
    assert (G := gamma_pos prec (length (loud l) + 1) ltac:(lra)).
    assert (0 <= INR (length (loud l) + 1) * u) by (apply Rmult_le_pos; [apply pos_INR | apply Rlt_le, u_pos]).
    apply Rmult_le_compat_l; [lra|]. unfold size at 1. cbn [map]. rewrite total_cons. fold (size (loud l)). lra. }
  assert (Ea := One a l a' A Hn Ha Sa).
  set (l' := map (fun t => (fst t, - snd t)) l).
  assert (El : map Ropp (map snd l) = map snd l') by (unfold l'; rewrite !map_map; reflexivity).
  assert (Facts : length l' = length l /\ length (loud l') = length (loud l) /\ size (loud l') = size (loud l) /\
    size (quiet l') = size (quiet l) /\ total (loud l') = - total (loud l)).
  { unfold l'. clear. induction l as [|[[|] t] l (E1 & E2 & E3 & E4 & E5)]; [unfold size, total; simpl; repeat split; ring| |];
      unfold loud, quiet, size, total in *; simpl in *; rewrite ?Rabs_Ropp; repeat split; lra || lia. }
  destruct Facts as (F1 & F2 & F3 & F4 & F5). rewrite El in Sb.
  assert (Eb := One b l' b' A). rewrite F1, F2, F3, F4, F5 in Eb. specialize (Eb Hn Hb Sb).
  fold k n in Ea, Eb. fold e in Ea, Eb. unfold half_difference, half_sum. cbn [fst snd]. apply Rabs_le_inv in Ea, Eb.
  split; apply Rabs_le; lra.
Qed.

End Sums.

(** Where middles move by at most [omega], the mean of them does, and what they are off from it grows by twice that. *)
Theorem middles_behind_writing (before behind : list R) S m omega : before <> [] ->
  Forall2 (fun o o' => Rabs (o' - o) <= omega) before behind ->
  Forall (fun o => Rabs (o - average before) <= S) before -> Rabs (average before) <= m ->
  Forall (fun o => Rabs (o - average behind) <= S + 2 * omega) behind /\ Rabs (average behind) <= m + omega.
Proof.
  intros E H HS Hm. assert (N : length behind = length before) by (symmetry; now apply two_lengths in H).
  assert (D : Rabs (average behind - average before) <= omega).
  { unfold average. rewrite N. assert (P : 0 < INR (length before)) by (apply lt_0_INR; destruct before; simpl; [congruence | lia]).
    replace (total behind / INR (length before) - total before / INR (length before)) with ((total behind - total before) / INR (length before)) by (field; lra).
    unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (INR _)) by lra. apply Rmult_le_reg_r with (INR (length before)); auto.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. clear - H. induction H as [|o o' l l' A _ IH]; [unfold total; simpl; rewrite Rminus_eq_0, Rabs_R0; lra|].
    rewrite !total_cons. cbn [length]. rewrite S_INR. replace (o' + total l' - (o + total l)) with ((o' - o) + (total l' - total l)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra. }
  apply Rabs_le_inv in D, Hm. split; [|apply Rabs_le; lra].
  set (a := average before) in *. set (a' := average behind) in *. clearbody a a'. clear N E Hm.
  induction H as [|o o' l l' A _ IH]; constructor; inversion HS; subst; auto. apply Rabs_le_inv in A. apply Rabs_le.
  match goal with K : Rabs (o - a) <= S |- _ => apply Rabs_le_inv in K; lra end.
Qed.

(** The page's bound for what a sum is off: in units of the pin, [s] being what the pin is of them, with [w] the sum of the sizes of
    all weights that write, and [wx] that of their products with what units read. *)
Theorem writing_in_units emin prec (prec_pos : Prec_gt_0 prec) s rho alpha K k n A Z wx w_loud w_quiet loud_size quiet_size :
  3 / 4 <= s -> 0 <= rho <= 2 -> 0 <= alpha -> 0 <= w_loud -> 0 <= w_quiet -> 0 <= wx -> 0 <= Z ->
  (k <= K)%nat -> (n <= K)%nat -> INR (K + 1) * u prec <= / 16 ->
  A <= s * Z -> loud_size <= s * (rho * (wx + alpha * w_loud)) -> quiet_size <= s * (alpha * w_quiet) ->
  (gamma (u prec) (k + 1) * (A + loud_size) + 3 * quiet_size + 5 * INR (n + 1) * least_normal emin prec) / s + alpha * w_loud
    <= 2 * gamma (u prec) (K + 1) * (Z + wx) + 3 * alpha * (w_loud + w_quiet) + 2 * phi emin prec K.
Proof.
  intros Hs Hr Ha Hl Hq Hx Hz Hk Hn HK HA HL HQ. assert (U := u_pos prec). assert (Lam := least_normal_pos emin prec).
  assert (Kk : INR (k + 1) * u prec <= INR (K + 1) * u prec) by (apply Rmult_le_compat_r; [lra | apply le_INR; lia]).
  assert (Gk := gamma_pos prec (k + 1) ltac:(lra)). assert (0 <= INR (k + 1) * u prec) by (apply Rmult_le_pos; [apply pos_INR | lra]).
  assert (GK : gamma (u prec) (k + 1) <= gamma (u prec) (K + 1)).
  { unfold gamma, Rdiv. apply Rmult_le_compat; try lra; [apply Rlt_le, Rinv_0_lt_compat; lra | apply Rinv_le; lra]. }
  assert (G15 : gamma (u prec) (K + 1) <= / 15).
  { unfold gamma. apply Rmult_le_reg_r with (1 - INR (K + 1) * u prec); [lra|].
    unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
  set (g := gamma (u prec) (k + 1)) in *. set (G := gamma (u prec) (K + 1)) in *. set (lam := least_normal emin prec) in *.
  assert (aw : 0 <= alpha * w_loud) by now apply Rmult_le_pos. assert (aq : 0 <= alpha * w_quiet) by now apply Rmult_le_pos.
  assert (In1 : INR (n + 1) <= INR K + 1) by (rewrite plus_INR; simpl (INR 1); apply le_INR in Hn; lra).
  assert (PK := pos_INR K).
  assert (B : g * (A + loud_size) + 3 * quiet_size + 5 * INR (n + 1) * lam
    <= s * (G * (Z + 2 * (wx + alpha * w_loud)) + 3 * (alpha * w_quiet) + 2 * phi emin prec K)).
  { assert (rho * (wx + alpha * w_loud) <= 2 * (wx + alpha * w_loud)) by (apply Rmult_le_compat_r; lra).
    assert (X : A + loud_size <= s * (Z + 2 * (wx + alpha * w_loud))).
    { assert (s * (rho * (wx + alpha * w_loud)) <= s * (2 * (wx + alpha * w_loud))) by (apply Rmult_le_compat_l; lra). lra. }
    set (Y := Z + 2 * (wx + alpha * w_loud)) in *. assert (Y0 : 0 <= Y) by (unfold Y; lra).
    assert (g * (A + loud_size) <= G * (s * Y)).
    { apply Rle_trans with (g * (s * Y)); [apply Rmult_le_compat_l; lra|]. apply Rmult_le_compat_r; auto. apply Rmult_le_pos; lra. }
    assert (5 * INR (n + 1) * lam <= 3 / 4 * (2 * phi emin prec K)).
    { unfold phi. fold lam. assert (5 * INR (n + 1) * lam <= 5 * (INR K + 1) * lam) by (apply Rmult_le_compat_r; lra).
      assert (0 <= INR K * lam) by (apply Rmult_le_pos; lra). lra. }
    assert (P0 : 0 <= phi emin prec K) by (unfold phi; fold lam; apply Rmult_le_pos; lra).
    assert (3 / 4 * (2 * phi emin prec K) <= s * (2 * phi emin prec K)) by (apply Rmult_le_compat_r; lra). lra. }
  assert (D : (g * (A + loud_size) + 3 * quiet_size + 5 * INR (n + 1) * lam) / s
    <= G * (Z + 2 * (wx + alpha * w_loud)) + 3 * (alpha * w_quiet) + 2 * phi emin prec K).
  { apply Rmult_le_reg_r with s; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
  assert (0 <= G * Z) by (apply Rmult_le_pos; lra). assert (G * (alpha * w_loud) <= / 15 * (alpha * w_loud)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** * Clearing in a host *)

Section Clearing.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation rounded := (rounded emin prec).
Notation sum := (sum emin prec).

(** What two units that read a register, each with an error of its own, take away of it. *)
Lemma taken_away z l1 l2 l : Rabs l1 <= l -> Rabs l2 <= l ->
  Rabs (z - (relu (z + l1) - relu (l2 - z))) <= l /\ relu (z + l1) + relu (l2 - z) <= Rabs z + 2 * l.
Proof.
  intros H1 H2. apply Rabs_le_inv in H1, H2. unfold relu, Rmax, Rabs.
  destruct (Rle_dec (z + l1) 0), (Rle_dec (l2 - z) 0), (Rcase_abs z), (Rcase_abs _); lra.
Qed.

(** What is left of a register [z] that two units clear, in units of the pin ([s] is what the pin is of them): [t1] and [t2] are
    what they take away and give back, [g] their factor, and [alpha] what one is off by. *)
Theorem clearing_in_a_host s a b z t1 t2 g r l l1 l2 alpha a' b' Z O :
  3 / 4 <= s -> 3 * u <= / 16 -> half_difference (a, b) = s * z -> Rabs a <= s * O -> Rabs b <= s * O -> Rabs z <= Z ->
  0 <= g -> Rabs (g - 1) <= r -> Rabs l1 <= l -> Rabs l2 <= l ->
  Rabs (t1 / s - g * relu (z + l1)) <= alpha -> Rabs (t2 / s - g * relu (l2 - z)) <= alpha ->
  sum [a; - t1; t2] a' -> sum [b; t1; - t2] b' ->
  Rabs (half_difference (a', b') / s)
    <= r * Z + (1 + r) * l + 6 * alpha + gamma u 3 * (O + (1 + r) * (Z + 2 * l)) + 2 * phi emin prec 3.
Proof.
  intros Hs U3 Hz Ha Hb HZ Hg Hr H1 H2 A1 A2 Sa Sb. assert (U := u_pos prec). assert (Lam := least_normal_pos emin prec).
  destruct (taken_away z l1 l2 l H1 H2) as [B1 B2]. set (g1 := relu (z + l1)) in *. set (g2 := relu (l2 - z)) in *.
  assert (P1 : 0 <= g1) by apply Rmax_r. assert (P2 : 0 <= g2) by apply Rmax_r.
  assert (U3' : INR 3 * u < 1) by (simpl; lra).
  assert (Sa' := any_sum emin prec [a; - t1; t2] a' U3' Sa). assert (Sb' := any_sum emin prec [b; t1; - t2] b' U3' Sb).
  cbn [length] in Sa', Sb'. unfold size, total in Sa', Sb'. cbn [map fold_right] in Sa', Sb'. rewrite !Rabs_Ropp in Sa', Sb'.
  replace (INR 3) with 3 in Sa', Sb' by (simpl; ring).
  assert (G3 : 0 <= gamma u 3 <= / 15).
  { unfold gamma. replace (INR 3) with 3 by (simpl; ring). split; [apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat; lra]|].
    apply Rmult_le_reg_r with (1 - 3 * u); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
  set (x1 := t1 / s) in *. set (x2 := t2 / s) in *. assert (E1 : t1 = s * x1) by (unfold x1; field; lra). assert (E2 : t2 = s * x2) by (unfold x2; field; lra).
  assert (Al : 0 <= alpha) by (eapply Rle_trans; [apply Rabs_pos | apply A1]).
  assert (L0 : 0 <= l) by (eapply Rle_trans; [apply Rabs_pos | apply H1]).
  assert (g1r : g <= 1 + r) by (apply Rabs_le_inv in Hr; lra).
  assert (Sizes : Rabs x1 + Rabs x2 <= (1 + r) * (Z + 2 * l) + 2 * alpha).
  { assert (X1 : Rabs x1 <= g * g1 + alpha).
    { replace x1 with (g * g1 + (x1 - g * g1)) by ring. eapply Rle_trans; [apply Rabs_triang|].
      rewrite (Rabs_pos_eq (g * g1)) by now apply Rmult_le_pos. lra. }
    assert (X2 : Rabs x2 <= g * g2 + alpha).
    { replace x2 with (g * g2 + (x2 - g * g2)) by ring. eapply Rle_trans; [apply Rabs_triang|].
      rewrite (Rabs_pos_eq (g * g2)) by now apply Rmult_le_pos. lra. }
    assert (g * (g1 + g2) <= (1 + r) * (Z + 2 * l)) by (apply Rmult_le_compat; lra). lra. }
  assert (Round : forall e y, Rabs e <= s * O -> Rabs (y - e) <= gamma u 3 * (Rabs e + (Rabs t1 + (Rabs t2 + 0))) + 4 * 3 * least_normal ->
    Rabs ((y - e) / s) <= gamma u 3 * (O + (1 + r) * (Z + 2 * l)) + 2 / 15 * alpha + 2 * phi emin prec 3); [|].
  { intros e y He Hy. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq s) by lra. apply Rmult_le_reg_r with s; [lra|].
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. eapply Rle_trans; [exact Hy|].
    assert (T : Rabs e + (Rabs t1 + (Rabs t2 + 0)) <= s * (O + ((1 + r) * (Z + 2 * l) + 2 * alpha))).
    { rewrite E1, E2, !Rabs_mult, (Rabs_pos_eq s) by lra. assert (s * (Rabs x1 + Rabs x2) <= s * ((1 + r) * (Z + 2 * l) + 2 * alpha)) by (apply Rmult_le_compat_l; lra). lra. }
    apply (Rmult_le_compat_l (gamma u 3)) in T; [|lra].
    assert (gamma u 3 * (s * alpha) <= / 15 * (s * alpha)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra | lra]).
    assert (4 * 3 * least_normal <= 2 * phi emin prec 3 * s).
    { unfold phi. replace (INR 3) with 3 by (simpl; ring). assert (40 * (3 / 4) * least_normal <= 40 * s * least_normal) by (apply Rmult_le_compat_r; lra). lra. }
    lra. }
  assert (Fix : forall y e1 e2, y - e1 - e2 = y - (e1 + e2)) by (intros; ring).
  assert (Ra : Rabs ((a' - (a + (- t1 + (t2 + 0)))) / s) <= gamma u 3 * (O + (1 + r) * (Z + 2 * l)) + 2 / 15 * alpha + 2 * phi emin prec 3).
  { replace ((a' - (a + (- t1 + (t2 + 0)))) / s) with ((a' - (- t1 + (t2 + 0)) - a) / s) by (field; lra). apply Round; auto.
    replace (a' - (- t1 + (t2 + 0)) - a) with (a' - (a + (- t1 + (t2 + 0)))) by ring. exact Sa'. }
  assert (Rb : Rabs ((b' - (b + (t1 + (- t2 + 0)))) / s) <= gamma u 3 * (O + (1 + r) * (Z + 2 * l)) + 2 / 15 * alpha + 2 * phi emin prec 3).
  { replace ((b' - (b + (t1 + (- t2 + 0)))) / s) with ((b' - (t1 + (- t2 + 0)) - b) / s) by (field; lra). apply Round; auto.
    replace (b' - (t1 + (- t2 + 0)) - b) with (b' - (b + (t1 + (- t2 + 0)))) by ring. exact Sb'. }
  set (ea := (a' - _) / s) in *. set (eb := (b' - _) / s) in *.
  assert (Left : half_difference (a', b') / s = (z - g * (g1 - g2)) - (x1 - g * g1) + (x2 - g * g2) + (ea - eb) / 2).
  { unfold half_difference in *. cbn [fst snd] in *. assert (Ez : z = (a - b) / 2 / s) by (rewrite Hz; field; lra).
    rewrite Ez. unfold ea, eb, x1, x2. field. lra. }
  assert (Zl : Rabs (z - g * (g1 - g2)) <= r * Z + (1 + r) * l).
  { replace (z - g * (g1 - g2)) with (- (g - 1) * z + g * (z - (g1 - g2))) by ring. eapply Rle_trans; [apply Rabs_triang|].
    rewrite !Rabs_mult, Rabs_Ropp, (Rabs_pos_eq g) by auto.
    assert (Rabs (g - 1) * Rabs z <= r * Z) by (apply Rmult_le_compat; auto using Rabs_pos).
    assert (g * Rabs (z - (g1 - g2)) <= (1 + r) * l) by (apply Rmult_le_compat; auto using Rabs_pos). lra. }
  rewrite Left. apply Rabs_le. apply Rabs_le_inv in Zl, A1, A2, Ra, Rb. lra.
Qed.

(** Rounding is monotone: if terms are smaller, there is a result of their sum that is no larger, flushed or not. *)
Theorem sums_grow s x : sum s x -> forall l, s = map snd l -> Forall (fun t => fst t <= snd t) l ->
  exists x0, sum (map fst l) x0 /\ x0 <= x.
Proof.
  assert (Step : forall v v0 z, v0 <= v -> rounded v z -> exists z0, rounded v0 z0 /\ z0 <= z).
  { intros v v0 z L [|F].
    - exists (fl emin prec v0). split; [constructor | now apply fl_le].
    - destruct (Rle_lt_dec v0 0).
      + exists (fl emin prec v0). split; [constructor|]. apply Rle_trans with (fl emin prec 0); [now apply fl_le | rewrite fl_0; lra].
      + exists 0. split; [|lra]. constructor. apply Rabs_def2 in F. rewrite Rabs_pos_eq; lra. }
  induction 1 as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros l E F.
  - destruct l as [|[w t'] [|]]; try discriminate. injection E as ->. inversion F; subst. cbn in *.
    destruct (Step t' w x) as (z0 & R & L); auto. exists z0. split; auto. now constructor.
  - symmetry in E. apply map_eq_app in E as (l1 & l2 & -> & <- & <-). apply Forall_app in F as [F1 F2].
    destruct (IHx l1 eq_refl F1) as (x0 & X & LX), (IHy l2 eq_refl F2) as (y0 & Y & LY).
    destruct (Step (x + y) (x0 + y0) z) as (z0 & R & L); [lra | auto|]. exists z0. split; auto. rewrite map_app. now apply Sum_add with x0 y0.
  - destruct l as [|[w t'] l]; [discriminate|]. injection E as -> ->. inversion F; subst. cbn in *.
    destruct (IHy l eq_refl) as (y0 & Y & LY); auto. destruct (Step (t' + y) (w + y0) z) as (z0 & R & L); [lra | auto|].
    exists z0. split; auto. now apply Sum_fused with y0.
  - subst r. apply Permutation_map_inv in P as (l' & -> & P). assert (F' : Forall (fun t => fst t <= snd t) l') by (now rewrite <- P).
    destruct (IH l' eq_refl F') as (x0 & X & L). exists x0. split; auto. apply Sum_order with (map fst l'); auto. apply Permutation_map. now symmetry.
Qed.

(** If all else that is added is of one sign, but for [q] altogether, a coordinate is on the other side by no more than what was
    left, what is kept being [l], and three times [q]. *)
Theorem clearing_keeps_signs (kept : list R) (added : list (R * R)) x : let n := length (kept ++ map snd added) in
  INR n * u <= / 16 -> Forall (fun t => 0 <= fst t /\ - fst t <= snd t) added -> sum (kept ++ map snd added) x ->
  total kept - (gamma u (length kept) * size kept + 3 * total (map fst added) + 5 * INR n * least_normal) <= x.
Proof.
  intros n Hn F H.
  destruct (sums_grow _ _ H (map (fun t => (t, t)) kept ++ map (fun t => (- fst t, snd t)) added)) as (x0 & S0 & L).
  - rewrite map_app, !map_map. cbn. now rewrite map_id.
  - apply Forall_app. split; apply Forall_map; [apply Forall_forall; intros; cbn; lra|]. eapply Forall_impl; [|exact F]. intros t [_ A]. exact A.
  - set (l := map (fun t => (true, t)) kept ++ map (fun t : R * R => (false, - fst t)) added).
    assert (El : map fst (map (fun t => (t, t)) kept ++ map (fun t : R * R => (- fst t, snd t)) added) = map snd l).
    { unfold l. rewrite !map_app, !map_map. reflexivity. }
    rewrite El in S0. assert (Q := quiet_terms emin prec l x0).
    assert (E1 : loud l = kept).
    { unfold loud, l. rewrite filter_app, map_app. replace (filter fst (map (fun t : R * R => (false, - fst t)) added)) with (@nil (bool * R)).
      - cbn. rewrite app_nil_r. clear. induction kept as [|t k IH]; [reflexivity|]. cbn. now f_equal.
      - clear. induction added as [|t k IH]; auto. }
    assert (E2 : size (quiet l) = total (map fst added)).
    { unfold quiet, l. rewrite filter_app, map_app. replace (filter (fun t => negb (fst t)) (map (fun t => (true, t)) kept)) with (@nil (bool * R)).
      - cbn [map app]. clear - F. induction F as [|t k [A _] _ IH]; [reflexivity|]. cbn [map filter fst negb snd]. unfold size in *. cbn [map].
        rewrite !total_cons, IH, Rabs_Ropp, Rabs_pos_eq by auto. reflexivity.
      - clear. induction kept as [|t k IH]; auto. }
    assert (E3 : length l = n) by (unfold l, n; rewrite !app_length, !map_length; reflexivity).
    rewrite E1, E2, E3 in Q. specialize (Q Hn S0). apply Rabs_le_inv in Q. lra.
Qed.

End Clearing.

(** * Without a hypothesis *)

(** Together the quiet terms must be small, not each of them: four of them add up to more than three. *)
Theorem quiet_terms_need_their_sum : exists l x, Forall (fun t => fst t = false /\ Rabs (snd t) <= 1) l /\ sum64 (map snd l) x /\ 3 < x.
Proof.
  exists [(false, 1); (false, 1); (false, 1); (false, 1)], 4. split; [|split; [|lra]].
  - repeat constructor; cbn; rewrite Rabs_R1; lra.
  - cbn. assert (I : forall n, (Z.abs n <= 2 ^ 53)%Z -> rounded64 (IZR n) (IZR n)) by (intros; now apply itself, number64_int).
    apply Sum_fused with 3; [|replace (1 + 3) with 4 by ring; apply (I 4%Z); lia].
    apply Sum_fused with 2; [|replace (1 + 2) with 3 by ring; apply (I 3%Z); lia].
    apply Sum_fused with 1; [constructor; apply (I 1%Z); lia | replace (1 + 1) with 2 by ring; apply (I 2%Z); lia].
Qed.

(** What a layer writes is lost where the middle of a pair is large: what was there before counts with it. *)
Theorem writing_needs_the_middle : exists a b w a' b', half_difference (a, b) = 0 /\ w = 1 /\
  sum64 [a; w] a' /\ sum64 [b; - w] b' /\ half_difference (a', b') = 0.
Proof.
  exists large, large, 1, large, large. unfold half_difference. cbn [fst snd]. split; [field|]. split; auto.
  assert (A : forall w, number64 w -> Rabs w < 2 -> sum64 [large; w] large).
  { intros w N H. apply (Sum_add _ _ [large] [w] large w); try (constructor; apply itself; auto using number64_large).
    rewrite <- (large_absorbs w) at 2 by auto. constructor. }
  split; [apply A; [apply number64_1 | rewrite Rabs_R1; lra]|]. split; [|field].
  apply A; [apply number_opp, number64_1 | rewrite Rabs_Ropp, Rabs_R1; lra].
Qed.

(** Units with a factor take away more than there is: a register that is cleared so is not 0. *)
Theorem clearing_needs_the_factor : exists g z a, Rabs (g - 1) <= / 4 /\ number64 z /\
  sum64 [z; - (g * relu z); g * relu (- z)] a /\ a <> 0.
Proof.
  exists (5 / 4), 4, (-1). split; [apply Rabs_le; lra|]. split; [apply (number64_int 4); lia|].
  unfold relu. rewrite Rmax_left, Rmax_right by lra. replace (- (5 / 4 * 4)) with (-5) by field. rewrite Rmult_0_r. split; [|lra].
  apply (Sum_add _ _ [4] [-5; 0] 4 (-5)).
  - constructor. apply itself. apply (number64_int 4). lia.
  - apply (Sum_add _ _ [-5] [0] (-5) 0); [constructor; apply itself; apply (number64_int (-5)); lia | constructor; apply itself, number_0|].
    rewrite Rplus_0_r. apply itself. apply (number64_int (-5)). lia.
  - replace (4 + -5) with (-1) by ring. apply itself. apply (number64_int (-1)). lia.
Qed.
