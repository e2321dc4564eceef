(* Linked from THEOREMS.md#lemma10, THEOREMS.md#lemma6. *)
(** Lemma 6, for sequences with distinct columns: the contextual map.

    [D + 1] attention layers, built by [contextual_map], give every token an id.
    1. The ids inside of a sequence are distinct.
    2. So are the ids of two sequences that are no permutations of each other.
    3. All ids are in [[t_l, t_r)], [t_l = D^{2n} (D-1)] and [t_r = D^{2n+1} (D-1)].
    And Lemma 10: [D^{n-1} (D-1) <= l̃_n <= D^n (D-1) - (D-1)²].

    A sequence is a list of pairs: the id [l] of a column, and the column's rows below the first. *)

From Coq Require Import Sorted.
From Formwright Require Import Numbers Transformer Ids Lemma6Layers.
Local Open Scope Z_scope.

(** What the contextual map makes of the ids: [l̃_j + D^{n+1} l̃_n]. *)
Definition context_ids (n : nat) (D : Z) (ls : list Z) : list Z :=
  map (fun l => shifted D ls l + D ^ Z.of_nat (S n) * last_id D ls) ls.

(** * Lemma 10 *)

Section Lemma10.
Variables (D : Z) (ls : list Z).
Hypothesis D2 : 2 <= D.
Hypothesis small : forall l, In l ls -> 0 <= l < D.
Hypothesis some : ls <> [].

(** With [k] distinct ids, spread from [l1] to [lk]. *)
Lemma last_id_bounds : exists l1 lk, let k := Z.of_nat (length (events D ls)) in
  In l1 ls /\ In lk ls /\ l1 <= lk /\ 1 <= k /\ (2 <= k -> l1 < lk) /\
  (D ^ k - D ^ (k - 1)) * (lk - l1) + lk <= last_id D ls <= (D ^ k - D) * (lk - l1) + lk.
Proof.
  destruct (events D ls) as [|l1 rest] eqn:E.
  { exfalso. pose proof (zmax_in _ some) as I. apply (in_events D ls D2 small) in I. now rewrite E in I. }
  exists l1, (zmax ls).
  assert (I : In l1 ls) by (apply (in_events D ls D2 small); rewrite E; simpl; auto).
  pose proof (zmax_ge _ _ I). pose proof (zmax_in _ some).
  pose proof (events_sorted D ls) as S. rewrite E in S.
  split; auto. split; auto. split; auto. split; [simpl length; lia|]. split.
  { intros K. destruct rest as [|r rest]; [simpl in K; lia|].
    assert (R : In r ls) by (apply (in_events D ls D2 small); rewrite E; simpl; auto).
    apply zmax_ge in R. inversion S as [|? ? ? F]; inversion F; subst. lia. }
  rewrite (last_id_recurs D ls), E. cbn [recur fold_left].
  pose proof (recur_bounds D D2 rest 1 (zmax ls - l1) l1 l1 (l1 + D * (zmax ls - l1)) ltac:(lia) S ltac:(lia)) as B.
  rewrite Z.pow_1_r in B. specialize (B ltac:(rewrite Z.sub_diag; lia)). cbv zeta in B.
  rewrite <- (zmax_last D ls D2 small l1 rest E) in B.
  replace (Z.of_nat (length (l1 :: rest))) with (1 + Z.of_nat (length rest)) by (simpl length; lia).
  unfold recur in *. lia.
Qed.

Lemma upper : last_id D ls <= D ^ Z.of_nat (length (events D ls)) * (D - 1) - (D - 1) * (D - 1).
Proof.
  destruct last_id_bounds as (l1 & lk & A & B & C & K & _ & _ & U). cbv zeta in *.
  pose proof (small _ A). pose proof (small _ B).
  assert (D ^ 1 <= D ^ Z.of_nat (length (events D ls))) by (apply Z.pow_le_mono_r; lia).
  rewrite Z.pow_1_r in *. nia.
Qed.
End Lemma10.

(** D^{n-1}(D-1) ≤ l̃_n ≤ D^n(D-1) - (D-1)² for n ≥ 2 distinct ids. *)
Theorem lemma10 D ls n : 2 <= D -> (forall l, In l ls -> 0 <= l < D) -> NoDup ls -> length ls = n -> (2 <= n)%nat ->
  D ^ (Z.of_nat n - 1) * (D - 1) <= last_id D ls <= D ^ Z.of_nat n * (D - 1) - (D - 1) * (D - 1).
Proof.
  intros D2 small nd L n2. assert (some : ls <> []) by (intros ->; simpl in L; lia).
  pose proof (upper D ls D2 small some) as U.
  destruct (last_id_bounds D ls D2 small some) as (l1 & lk & A & B & C & _ & K & Lo & _). cbv zeta in *.
  rewrite (Permutation_length (events_permutation D ls D2 small nd)), L in *.
  specialize (K ltac:(lia)). pose proof (small _ B). split; auto.
  assert (P : D ^ Z.of_nat n = D * D ^ (Z.of_nat n - 1)) by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  assert (1 <= D ^ (Z.of_nat n - 1)) by (apply (Z.pow_le_mono_r D 0); lia).
  set (p := D ^ (Z.of_nat n - 1)) in *. rewrite P in Lo. assert (0 <= (D - 1) * p * (lk - l1 - 1)) by
    (repeat apply Z.mul_nonneg_nonneg; lia). lia.
Qed.

(** * The last id names the sequence *)

Lemma recur_step D l l' a a' : 2 <= D -> 0 <= l < D -> 0 <= l' < D ->
  l + D * (a - l) = l' + D * (a' - l') -> l = l' /\ a = a'.
Proof.
  intros D2 H H' E. assert (l = l').
  { apply (f_equal (fun x => x mod D)) in E. rewrite !(Z.mul_comm D), !Z.mod_add, !Z.mod_small in E; lia. }
  subst. split; auto. nia.
Qed.

Lemma recur_injective D : 2 <= D -> forall e e' a a', length e = length e' ->
  (forall l, In l e -> 0 <= l < D) -> (forall l, In l e' -> 0 <= l < D) ->
  recur D a e = recur D a' e' -> a = a' /\ e = e'.
Proof.
  intros D2. induction e as [|l e IH]; intros [|l' e'] a a' L H H' E; simpl in *; try lia; auto.
  destruct (IH e' _ _ ltac:(lia) ltac:(auto) ltac:(auto) E) as [A ->].
  destruct (recur_step D l l' a a') as [-> ->]; auto.
Qed.

(** Two sets of n ids with the same l̃_n are equal. *)
Theorem last_id_names_the_set D ls ls' : 2 <= D -> NoDup ls -> NoDup ls' -> length ls = length ls' ->
  (forall l, In l ls -> 0 <= l < D) -> (forall l, In l ls' -> 0 <= l < D) ->
  last_id D ls = last_id D ls' -> Permutation ls ls'.
Proof.
  intros D2 nd nd' L H H' E. rewrite !last_id_recurs in E.
  pose proof (events_permutation D ls D2 H nd) as P. pose proof (events_permutation D ls' D2 H' nd') as P'.
  destruct (recur_injective D D2 (events D ls) (events D ls') (zmax ls) (zmax ls')) as [_ F]; auto.
  - now rewrite (Permutation_length P), (Permutation_length P').
  - intros l I. apply H. now apply (Permutation_in _ P).
  - intros l I. apply H'. now apply (Permutation_in _ P').
  - rewrite F in P. eapply perm_trans; [apply Permutation_sym, P | exact P'].
Qed.

(** * Lemma 6 *)

(** On n ≥ 2 distinct columns of the grid, the D + 1 layers give the ids l̃_j + D^{n+1} l̃_n. *)
Theorem lemma6_layers n d N P : (1 <= d)%nat -> 2 <= N -> (2 <= n)%nat ->
  let D := N ^ Z.of_nat d in let ls := map fst P in
  length P = n -> Forall (fits d) P -> NoDup ls -> (forall l, In l ls -> 0 <= l < D) ->
  run (contextual_map n d N) (map (token d N) P) =
  map (token d N) (shift_pairs P (context_ids n D ls)).
Proof.
  intros d1 N2 n2 D ls L F nd small.
  assert (D2 : 2 <= D). { unfold D. replace 2 with (2 ^ 1) by lia. transitivity (N ^ 1); [lia|]. apply Z.pow_le_mono_r; lia. }
  assert (Lls : length ls = n) by (unfold ls; now rewrite map_length).
  assert (some : ls <> []) by (intros E; rewrite E in Lls; simpl in Lls; lia).
  unfold contextual_map. rewrite run_app, shifts_are_the_sweep by auto. fold D ls.
  assert (LS : length (sweep D ls) = length P) by (unfold sweep, ls; now rewrite length_sweep, map_length).
  unfold run. cbn [fold_left]. rewrite global_adds_the_largest; auto.
  - rewrite fst_shift by auto. unfold ls at 1. fold ls. rewrite last_id_is_largest by auto.
    rewrite sweep_closed_form by auto. fold D. unfold context_ids, shift_pairs.
    generalize (shifted D ls), (last_id D ls). intros f m. unfold ls. clear.
    induction P as [|[l r] P IH]; cbn [map fst snd combine]; auto. f_equal. exact IH.
  - rewrite Forall_forall in *. intros q Q. apply (in_map snd) in Q. rewrite snd_shift in Q by auto.
    apply in_map_iff in Q. destruct Q as (r & E & R). unfold fits. rewrite <- E. now apply F.
  - intros x X. rewrite fst_shift, sweep_closed_form in X by auto. apply in_map_iff in X. destruct X as (l & <- & I).
    pose proof (small _ I). pose proof (shifted_not_below D ls D2 small l I).
    destruct (Z.eq_dec l 0) as [->|]; [|lia].
    (* the id 0 is not the largest, so it moves beyond every window *)
    enough (0 < zmax ls) by (pose proof (shifted_beyond D ls D2 small 0 I ltac:(lia)); lia).
    destruct ls as [|a [|b rest]]; simpl in Lls; try lia. inversion nd as [|? ? NI _]; subst.
    pose proof (zmax_ge (a :: b :: rest) a ltac:(simpl; auto)). pose proof (zmax_ge (a :: b :: rest) b ltac:(simpl; auto)).
    pose proof (small a ltac:(simpl; auto)). pose proof (small b ltac:(simpl; auto)).
    assert (a <> b) by (intros ->; apply NI; simpl; auto). lia.
Qed.

Section Properties.
Variables (n : nat) (D : Z).
Hypothesis D2 : 2 <= D.
Hypothesis n2 : (2 <= n)%nat.

(** A sequence of [n] distinct columns, by its ids. *)
Definition distinct_columns (ls : list Z) : Prop := length ls = n /\ NoDup ls /\ forall l, In l ls -> 0 <= l < D.

Lemma ids_between ls l : distinct_columns ls -> In l ls -> 0 <= shifted D ls l <= last_id D ls.
Proof.
  intros (L & nd & small) I. pose proof (small _ I). pose proof (shifted_not_below D ls D2 small l I). split; [lia|].
  apply top_le; auto. lia.
Qed.

Lemma below_scale ls : distinct_columns ls -> last_id D ls < D ^ Z.of_nat (S n).
Proof.
  intros (L & nd & small). destruct (lemma10 D ls n D2 small nd L n2) as [_ U].
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. assert (1 <= D ^ Z.of_nat n) by (apply (Z.pow_le_mono_r D 0); lia). nia.
Qed.

(** Property 1: these ids are distinct. *)
Theorem lemma6_1 ls : distinct_columns ls -> NoDup (context_ids n D ls).
Proof.
  intros (L & nd & small). unfold context_ids. clear L.
  assert (G : forall Y, incl Y ls -> NoDup Y ->
    NoDup (map (fun l => shifted D ls l + D ^ Z.of_nat (S n) * last_id D ls) Y)).
  { induction Y as [|y Y IH]; intros I N; simpl; constructor; inversion N; subst; auto.
    - intros X. apply in_map_iff in X. destruct X as (z & E & Z). assert (y <> z) by congruence.
      assert (In y ls) by (apply I; simpl; auto). assert (In z ls) by (apply I; simpl; auto).
      destruct (Z.lt_total y z) as [C|[C|C]]; [|lia|]; apply (shifted_increases D ls D2 small) in C; auto; lia.
    - apply IH; auto. intros z Z. apply I. simpl. auto. }
  apply G; auto. apply incl_refl.
Qed.

(** Property 2: two sequences that share an id are permutations of each other. *)
Theorem lemma6_2 ls ls' : distinct_columns ls -> distinct_columns ls' ->
  forall x, In x (context_ids n D ls) -> In x (context_ids n D ls') -> Permutation ls ls'.
Proof.
  intros H H' x X X'. apply in_map_iff in X, X'. destruct X as (l & E & I), X' as (l' & E' & I').
  pose proof (ids_between _ _ H I). pose proof (ids_between _ _ H' I').
  pose proof (below_scale _ H). pose proof (below_scale _ H').
  assert (last_id D ls = last_id D ls').
  { set (S := D ^ Z.of_nat (Datatypes.S n)) in *. clearbody S. rewrite <- E in E'. nia. }
  destruct H as (L & nd & small), H' as (L' & nd' & small'). apply (last_id_names_the_set D); auto. congruence.
Qed.

(** Property 3: they are in [D^{2n}(D-1), D^{2n+1}(D-1)). *)
Theorem lemma6_3 ls : distinct_columns ls -> forall x, In x (context_ids n D ls) ->
  D ^ (2 * Z.of_nat n) * (D - 1) <= x < D ^ (2 * Z.of_nat n + 1) * (D - 1).
Proof.
  intros H x X. apply in_map_iff in X. destruct X as (l & <- & I). pose proof (ids_between _ _ H I) as B.
  destruct H as (L & nd & small). destruct (lemma10 D ls n D2 small nd L n2) as [Lo Hi].
  set (p := D ^ (Z.of_nat n - 1)) in *.
  assert (P : D ^ Z.of_nat n = D * p) by (unfold p; rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  assert (1 <= p) by (apply (Z.pow_le_mono_r D 0); lia).
  replace (D ^ Z.of_nat (S n)) with (D * D * p) by (rewrite Nat2Z.inj_succ, Z.pow_succ_r, P by lia; ring).
  replace (D ^ (2 * Z.of_nat n + 1)) with (D * (D * p) * (D * p)) by
    (rewrite <- Z.mul_assoc, <- P, <- Z.pow_add_r, <- Z.pow_succ_r by lia; f_equal; lia).
  replace (D ^ (2 * Z.of_nat n)) with (D * p * (D * p))
    by (rewrite <- P, <- Z.pow_add_r by lia; f_equal; lia).
  rewrite P in Hi. set (m := last_id D ls) in *. clearbody m p. split.
  - assert (0 <= D * D * p * (m - p * (D - 1))) by (repeat apply Z.mul_nonneg_nonneg; lia). nia.
  - assert (0 <= (D * D * p + 1) * (D * p * (D - 1) - (D - 1) * (D - 1) - m)) by (apply Z.mul_nonneg_nonneg; nia).
    nia.
Qed.
End Properties.
