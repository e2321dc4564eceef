(* Linked from THEOREMS.md#lemma6. *)
(** The selective shifts of Lemma 6, seen from the ids alone: whole numbers, one for each token.

    The window [v] adds [D (max - min)] to the ids that are [v]. The sweep visits [v = 0, …, D-1]. If all ids are in
    [[0, D)], the ids in ascending order, [l_1 < … < l_k] without repetitions, become

      l̃_1 = l_1 + D (l_k - l_1),      l̃_j = l_j + D (l̃_{j-1} - l_j),

    and equal ids stay equal. *)

From Coq Require Import ZArith Lia List Bool Permutation Sorted.
Import ListNotations.
Local Open Scope Z_scope.

Definition zmax (ls : list Z) : Z := fold_right Z.max (hd 0 ls) ls.
Definition zmin (ls : list Z) : Z := fold_right Z.min (hd 0 ls) ls.
Definition mem (v : Z) (ls : list Z) : bool := existsb (Z.eqb v) ls.

(** The numbers [0, …, k-1]. *)
Definition range (k : nat) : list Z := map Z.of_nat (seq 0 k).

(** One window. *)
Definition step (D : Z) (ls : list Z) (v : Z) : list Z :=
  map (fun l => if l =? v then l + D * (zmax ls - zmin ls) else l) ls.

Definition sweep (D : Z) (ls : list Z) : list Z := fold_left (step D) (range (Z.to_nat D)) ls.

Lemma fold_max_ge a ls : a <= fold_right Z.max a ls /\ forall l, In l ls -> l <= fold_right Z.max a ls.
Proof.
  induction ls as [|x ls [A B]]; simpl; split; try lia; try easy.
  intros l [->|I]; [lia|]. specialize (B _ I). lia.
Qed.
Lemma fold_max_in a ls : fold_right Z.max a ls = a \/ In (fold_right Z.max a ls) ls.
Proof. induction ls; simpl; auto. destruct (Z.max_spec a0 (fold_right Z.max a ls)) as [[_ ->]|[_ ->]]; intuition. Qed.
Lemma fold_min_le a ls : fold_right Z.min a ls <= a /\ forall l, In l ls -> fold_right Z.min a ls <= l.
Proof.
  induction ls as [|x ls [A B]]; simpl; split; try lia; try easy.
  intros l [->|I]; [lia|]. specialize (B _ I). lia.
Qed.
Lemma fold_min_in a ls : fold_right Z.min a ls = a \/ In (fold_right Z.min a ls) ls.
Proof. induction ls; simpl; auto. destruct (Z.min_spec a0 (fold_right Z.min a ls)) as [[_ ->]|[_ ->]]; intuition. Qed.

Lemma zmax_ge ls l : In l ls -> l <= zmax ls.
Proof. apply fold_max_ge. Qed.
Lemma zmin_le ls l : In l ls -> zmin ls <= l.
Proof. apply fold_min_le. Qed.
Lemma zmax_in ls : ls <> [] -> In (zmax ls) ls.
Proof. intros N. destruct (fold_max_in (hd 0 ls) ls) as [E|]; auto. unfold zmax. rewrite E. destruct ls; simpl; easy || auto. Qed.
Lemma zmin_in ls : ls <> [] -> In (zmin ls) ls.
Proof. intros N. destruct (fold_min_in (hd 0 ls) ls) as [E|]; auto. unfold zmin. rewrite E. destruct ls; simpl; easy || auto. Qed.
Lemma zmax_unique ls m : In m ls -> (forall l, In l ls -> l <= m) -> zmax ls = m.
Proof. intros I H. apply Z.le_antisymm; [|now apply zmax_ge]. apply H, zmax_in. now intros ->. Qed.
Lemma zmin_unique ls m : In m ls -> (forall l, In l ls -> m <= l) -> zmin ls = m.
Proof. intros I H. apply Z.le_antisymm; [now apply zmin_le|]. apply H, zmin_in. now intros ->. Qed.

Lemma mem_in v ls : mem v ls = true <-> In v ls.
Proof. unfold mem. rewrite existsb_exists. split; [intros (x & I & E); apply Z.eqb_eq in E; now subst|]. exists v. now rewrite Z.eqb_refl. Qed.
Lemma mem_not v ls : mem v ls = false <-> ~ In v ls.
Proof. rewrite <- mem_in. destruct (mem v ls); intuition congruence. Qed.

Lemma range_S k : range (S k) = range k ++ [Z.of_nat k].
Proof. unfold range. rewrite seq_S, map_app. reflexivity. Qed.
Lemma in_range k v : In v (range k) <-> 0 <= v < Z.of_nat k.
Proof.
  unfold range. rewrite in_map_iff. split; [intros (x & <- & I); apply in_seq in I; lia|].
  intros. exists (Z.to_nat v). rewrite in_seq. lia.
Qed.

Lemma last_default (l : list Z) r x y : last (r :: l) x = last (r :: l) y.
Proof. revert r. induction l; intros; simpl in *; auto. Qed.
Lemma last_cons (l : list Z) r x : last (r :: l) x = last l r.
Proof. destruct l; [reflexivity|]. simpl. apply (last_default l z x r). Qed.

Section InRange.
Variables (D : Z) (ls : list Z).
Hypothesis D2 : 2 <= D.
Hypothesis small : forall l, In l ls -> 0 <= l < D.
Hypothesis some : ls <> [].

(** The largest id when the windows below [v] are done. *)
Fixpoint top (v : nat) : Z :=
  match v with
  | O => zmax ls
  | S w => if mem (Z.of_nat w) ls then Z.of_nat w + D * (top w - Z.of_nat w) else top w
  end.

Lemma top_grows v : zmax ls <= top v /\ top v <= top (S v).
Proof.
  assert (A : forall v, zmax ls <= top v -> top v <= top (S v)).
  { intros w H. simpl. destruct (mem _ _) eqn:M; [|lia]. apply mem_in, zmax_ge in M. nia. }
  induction v; [split; [simpl; lia | apply A; simpl; lia]|].
  assert (zmax ls <= top (S v)) by lia. auto.
Qed.

Lemma top_le v w : (v <= w)%nat -> top v <= top w.
Proof. induction 1; [lia|]. pose proof (proj2 (top_grows m)). lia. Qed.

(** What becomes of the id [l]. *)
Definition shifted (l : Z) : Z := top (S (Z.to_nat l)).

Lemma shifted_is l : In l ls -> shifted l = l + D * (top (Z.to_nat l) - l).
Proof. intros I. unfold shifted. simpl. rewrite Z2Nat.id by now apply small. now rewrite (proj2 (mem_in _ _) I). Qed.

Lemma shifted_far l : In l ls -> shifted l = l \/ D <= shifted l.
Proof.
  intros I. rewrite shifted_is by auto. pose proof (zmax_ge _ _ I). pose proof (proj1 (top_grows (Z.to_nat l))).
  pose proof (small _ I). destruct (Z.eq_dec (top (Z.to_nat l)) l) as [E|]; [left; rewrite E; lia | right; nia].
Qed.

Lemma shifted_beyond l : In l ls -> l < zmax ls -> D <= shifted l.
Proof.
  intros I H. rewrite shifted_is by auto. pose proof (proj1 (top_grows (Z.to_nat l))). pose proof (small _ I). nia.
Qed.

Lemma top_attained v : top v = zmax ls \/ exists w, In w ls /\ 0 <= w < Z.of_nat v /\ top v = shifted w.
Proof.
  induction v as [|v IH]; [auto|]. destruct (mem (Z.of_nat v) ls) eqn:M.
  - right. exists (Z.of_nat v). apply mem_in in M. repeat split; auto; try lia. unfold shifted. now rewrite Nat2Z.id.
  - simpl. rewrite M. destruct IH as [|(w & A & B & C)]; auto. right. exists w. repeat split; auto; lia.
Qed.

(** When the windows below [v] are done, the ids below [v] are shifted and the others are not. *)
Lemma sweep_to v : Z.of_nat v <= D ->
  fold_left (step D) (range v) ls = map (fun l => if l <? Z.of_nat v then shifted l else l) ls.
Proof.
  induction v as [|v IH]; intros Hv.
  - simpl. rewrite <- (map_id ls) at 1. apply map_ext_in. intros l I. pose proof (small _ I).
    destruct (Z.ltb_spec l 0); lia.
  - rewrite range_S, fold_left_app, IH by lia. clear IH.
    set (f := fun l => if l <? Z.of_nat v then shifted l else l). cbn [fold_left]. unfold step at 1. rewrite map_map.
    apply map_ext_in. intros l I. pose proof (small _ I) as L.
    assert (Lo : l < Z.of_nat v -> f l = shifted l) by (unfold f; destruct (Z.ltb_spec l (Z.of_nat v)); lia).
    assert (Hi : Z.of_nat v <= l -> f l = l) by (unfold f; destruct (Z.ltb_spec l (Z.of_nat v)); lia).
    destruct (Z.ltb_spec l (Z.of_nat (S v))) as [H|H].
    2: { rewrite Hi by lia. destruct (Z.eqb_spec l (Z.of_nat v)); lia. }
    destruct (Z.eq_dec l (Z.of_nat v)) as [E|].
    2: { rewrite Lo by lia. pose proof (shifted_far _ I). destruct (Z.eqb_spec (shifted l) (Z.of_nat v)); lia. }
    rewrite Hi by lia. rewrite E, Z.eqb_refl in *. clear Lo Hi. rewrite shifted_is, Nat2Z.id by auto.
    assert (Max : l <= zmax ls) by (rewrite E; now apply zmax_ge).
    f_equal. f_equal. f_equal.
    + apply zmax_unique.
      * apply in_map_iff. destruct (top_attained v) as [T|(w & A & B & C)].
        -- exists (zmax ls). rewrite T. split; [unfold f; destruct (Z.ltb_spec (zmax ls) (Z.of_nat v)); lia | now apply zmax_in].
        -- exists w. split; auto. unfold f. destruct (Z.ltb_spec w (Z.of_nat v)); lia.
      * intros x X. apply in_map_iff in X. destruct X as (w & <- & W). unfold f. pose proof (small _ W).
        destruct (Z.ltb_spec w (Z.of_nat v)).
        -- apply top_le. lia.
        -- pose proof (zmax_ge _ _ W). pose proof (proj1 (top_grows v)). lia.
    + apply zmin_unique.
      * apply in_map_iff. exists (Z.of_nat v). split; auto. unfold f. now rewrite Z.ltb_irrefl.
      * intros x X. apply in_map_iff in X. destruct X as (w & <- & W). unfold f.
        destruct (Z.ltb_spec w (Z.of_nat v)); [|lia]. pose proof (shifted_beyond _ W). lia.
Qed.

(** The sweep of the windows 0, …, D-1 over ids in [0, D) gives l̃_1 = l_1 + D(l_k - l_1), l̃_j = l_j + D(l̃_{j-1} -
    l_j). *)
Theorem sweep_closed_form : sweep D ls = map shifted ls.
Proof.
  unfold sweep. rewrite sweep_to by lia. apply map_ext_in. intros l I. pose proof (small _ I).
  destruct (Z.ltb_spec l (Z.of_nat (Z.to_nat D))); lia.
Qed.

(** [l̃_n], the largest id behind the sweep. *)
Definition last_id : Z := top (Z.to_nat D).

Lemma last_id_is_largest : zmax (sweep D ls) = last_id.
Proof.
  rewrite sweep_closed_form. apply zmax_unique.
  - apply in_map_iff. unfold last_id. destruct (top_attained (Z.to_nat D)) as [T|(w & A & B & C)]; [|now exists w].
    exists (zmax ls). pose proof (zmax_in _ some) as I. pose proof (small _ I). split; auto.
    apply Z.le_antisymm; [apply top_le; lia|]. rewrite T. apply top_grows.
  - intros x X. apply in_map_iff in X. destruct X as (w & <- & W). pose proof (small _ W). apply top_le. lia.
Qed.

(** The order is kept. *)
Lemma shifted_increases l l' : In l ls -> In l' ls -> l < l' -> shifted l < shifted l'.
Proof.
  intros I I' H. pose proof (zmax_ge _ _ I'). pose proof (small _ I'). pose proof (small _ I).
  pose proof (shifted_beyond _ I ltac:(lia)).
  assert (shifted l <= top (Z.to_nat l')) by (apply top_le; lia).
  rewrite (shifted_is l') by auto. nia.
Qed.

Lemma shifted_not_below l : In l ls -> l <= shifted l.
Proof.
  intros I. rewrite shifted_is by auto. pose proof (zmax_ge _ _ I). pose proof (proj1 (top_grows (Z.to_nat l))). nia.
Qed.

(** * The recurrence *)

Definition recur (a : Z) (events : list Z) : Z := fold_left (fun a l => l + D * (a - l)) events a.

(** The distinct ids in ascending order. *)
Definition events : list Z := filter (fun v => mem v ls) (range (Z.to_nat D)).

Lemma last_id_recurs : last_id = recur (zmax ls) events.
Proof.
  unfold last_id, events, recur. induction (Z.to_nat D) as [|k IH]; [reflexivity|].
  rewrite range_S, filter_app, fold_left_app, <- IH. simpl. now destruct (mem (Z.of_nat k) ls).
Qed.

Lemma in_events l : In l events <-> In l ls.
Proof.
  unfold events. rewrite filter_In, mem_in, in_range. split; [tauto|]. intros I. pose proof (small _ I). split; auto; lia.
Qed.

Lemma range_sorted k : StronglySorted Z.lt (range k).
Proof.
  induction k as [|k IH]; [constructor|]. rewrite range_S.
  assert (B : Forall (fun v => v < Z.of_nat k) (range k)) by (apply Forall_forall; intros v; rewrite in_range; lia).
  induction IH; simpl; constructor; inversion B; subst; auto; try constructor. apply Forall_app. split; auto.
Qed.

Lemma sorted_filter f l : StronglySorted Z.lt l -> StronglySorted Z.lt (filter f l).
Proof.
  induction 1; simpl; [constructor|]. destruct (f a); auto. constructor; auto.
  rewrite Forall_forall in *. intros x X. apply filter_In in X. now apply H0.
Qed.

Lemma events_sorted : StronglySorted Z.lt events.
Proof. apply sorted_filter, range_sorted. Qed.

Lemma sorted_nodup l : StronglySorted Z.lt l -> NoDup l.
Proof.
  induction 1; constructor; auto. intros I. rewrite Forall_forall in *. specialize (H0 _ I). lia.
Qed.

Lemma events_permutation : NoDup ls -> Permutation events ls.
Proof. intros. apply NoDup_Permutation; auto using in_events. apply sorted_nodup, events_sorted. Qed.

Lemma zmax_last l0 rest : events = l0 :: rest -> zmax ls = last rest l0.
Proof.
  intros E. apply zmax_unique.
  - apply in_events. rewrite E. clear. revert l0.
    induction rest as [|r rest IH]; intros; [simpl; auto|]. rewrite last_cons. right. apply IH.
  - intros l I. apply in_events in I. rewrite E in I. pose proof events_sorted as S. rewrite E in S. clear E.
    revert l l0 S I. induction rest as [|r rest IH]; intros l l0 S I; [simpl in I; simpl; lia|].
    rewrite last_cons. inversion S as [|? ? S' F]; subst. inversion F; subst.
    destruct I as [->|I]; [|now apply IH]. pose proof (IH r r S' (or_introl eq_refl)). lia.
Qed.

(** * Lemma 10 *)

(** Between the first and the last event: with the spread [a], and [j] events done, the last of which is [l]. *)
Lemma recur_bounds rest : forall j a l1 l c, (1 <= j) -> StronglySorted Z.lt (l :: rest) -> l1 <= l ->
  D ^ j * a - D ^ (j - 1) * (l - l1) + l <= c <= D ^ j * a - D * (l - l1) + l ->
  let j' := j + Z.of_nat (length rest) in let l' := last rest l in
  D ^ j' * a - D ^ (j' - 1) * (l' - l1) + l' <= recur c rest <= D ^ j' * a - D * (l' - l1) + l'.
Proof.
  induction rest as [|r rest IH]; intros j a l1 l c J S L B; [simpl; now rewrite Z.add_0_r|].
  inversion S as [|? ? S' F]; subst. inversion F; subst. rewrite last_cons.
  replace (j + Z.of_nat (length (r :: rest))) with ((j + 1) + Z.of_nat (length rest)) by (simpl length; lia).
  apply IH; auto; try lia.
  replace (j + 1 - 1) with j by lia. rewrite Z.pow_add_r, Z.pow_1_r by lia.
  assert (P : D ^ j = D * D ^ (j - 1)) by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  assert (1 <= D ^ (j - 1)) by (apply (Z.pow_le_mono_r D 0); lia).
  set (p := D ^ (j - 1)) in *. rewrite P in *. destruct B as [B1 B2].
  apply (Z.mul_le_mono_nonneg_l _ _ D) in B1, B2; try lia.
  assert (0 <= D * (p - 1) * (r - l)) by (repeat apply Z.mul_nonneg_nonneg; lia).
  assert (0 <= D * (D - 1) * (l - l1)) by (repeat apply Z.mul_nonneg_nonneg; lia). split; lia.
Qed.
End InRange.
