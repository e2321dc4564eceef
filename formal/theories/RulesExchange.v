(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** Comparators: CERTIFICATE.md, section 7, *Exchange* and *Comparators*. *)

From Formwright Require Import RulesExecution RulesLayers.

(** * Exchange *)

(** The larger of two numbers moves by no more than they do. *)
Lemma larger_of_two a b a' b' : Rabs (Rmax a' b' - Rmax a b) <= Rmax (Rabs (a' - a)) (Rabs (b' - b)).
Proof. unfold Rmax, Rabs. repeat destruct Rcase_abs; repeat destruct Rle_dec; lra. Qed.

Lemma smaller_of_two a b a' b' : Rabs (Rmin a' b' - Rmin a b) <= Rmax (Rabs (a' - a)) (Rabs (b' - b)).
Proof. unfold Rmax, Rmin, Rabs. repeat destruct Rcase_abs; repeat destruct Rle_dec; lra. Qed.

(** Units that read [b - a + d] and stand for [R(t - d)], or for [-R(d - t)], make the larger, or the smaller, of [a] and
    [b] of what they are added to: off by as much as the worse one of both is, by what reading is off, and by what the
    units are off themselves. *)
Theorem exchange (P : R -> R) larger a b a' b' d off e :
  let t := b' - a' + d + off in
  (larger = true -> Rabs (P t - relu (t - d)) <= e) ->
  (larger = false -> Rabs (P t + relu (d - t)) <= e) ->
  Rabs (a' + P t - (if larger then Rmax a b else Rmin a b)) <= Rmax (Rabs (a' - a)) (Rabs (b' - b)) + Rabs off + e.
Proof.
  intros t L S. destruct larger.
  - specialize (L eq_refl). clear S.
    assert (M := larger_of_two a b a' b').
    assert (Q : Rabs (a' + relu (t - d) - Rmax a' b') <= Rabs off)
      by (unfold t, relu, Rmax, Rabs; repeat destruct Rcase_abs; repeat destruct Rle_dec; lra).
    replace (a' + P t - Rmax a b) with ((P t - relu (t - d)) + (a' + relu (t - d) - Rmax a' b') + (Rmax a' b' - Rmax a b)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. assert (T := Rabs_triang (P t - relu (t - d)) (a' + relu (t - d) - Rmax a' b')). lra.
  - specialize (S eq_refl). clear L.
    assert (M := smaller_of_two a b a' b').
    assert (Q : Rabs (a' - relu (d - t) - Rmin a' b') <= Rabs off)
      by (unfold t, relu, Rmax, Rmin, Rabs; repeat destruct Rcase_abs; repeat destruct Rle_dec; lra).
    replace (a' + P t - Rmin a b) with ((P t + relu (d - t)) + (a' - relu (d - t) - Rmin a' b') + (Rmin a' b' - Rmin a b)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. assert (T := Rabs_triang (P t + relu (d - t)) (a' - relu (d - t) - Rmin a' b')). lra.
Qed.

(** The worse of both errors counts, whichever number is kept. *)
Theorem exchange_needs_both_errors :
  exists a b a' b', Rmax a b = a /\ Rabs (a' - a) < Rabs (Rmax a' b' - Rmax a b).
Proof.
  exists 0, 0, 0, 1. unfold Rmax, Rabs. repeat destruct Rcase_abs; repeat destruct Rle_dec; lra.
Qed.

(** * Comparators *)

(** For every line its partner, and whether it keeps the larger number. *)
Definition round := nat -> nat * bool.

Definition step (ends : round) (x : nat -> R) (t : nat) : R :=
  if snd (ends t) then Rmax (x t) (x (fst (ends t))) else Rmin (x t) (x (fst (ends t))).

Definition run (network : list round) (x : nat -> R) : nat -> R := fold_left (fun x ends => step ends x) network x.

(** Partners are partners, among the first [n] lines, and keep both numbers. *)
Definition paired (n : nat) (ends : round) : Prop := forall t, (t < n)%nat ->
  (fst (ends t) < n)%nat /\ fst (ends (fst (ends t))) = t /\ (fst (ends t) <> t -> snd (ends (fst (ends t))) = negb (snd (ends t))).

Definition ascending (n : nat) (x : nat -> R) : Prop := forall s t, (s < t)%nat -> (t < n)%nat -> x s <= x t.

(** 1 for numbers above a threshold, 0 for the others. *)
Definition exceeds (z x : R) : R := if Rlt_dec z x then 1 else 0.

(** How many of the first [n] numbers are above a threshold. *)
Definition count (n : nat) (z : R) (x : nat -> R) : R := total (map (fun t => exceeds z (x t)) (seq 0 n)).

Lemma exceeds_max z a b : exceeds z (Rmax a b) = Rmax (exceeds z a) (exceeds z b).
Proof. unfold exceeds. repeat destruct Rlt_dec; unfold Rmax in *; repeat destruct Rle_dec; lra. Qed.

Lemma exceeds_min z a b : exceeds z (Rmin a b) = Rmin (exceeds z a) (exceeds z b).
Proof. unfold exceeds. repeat destruct Rlt_dec; unfold Rmin in *; repeat destruct Rle_dec; lra. Qed.

Lemma step_exceeds z ends x t : exceeds z (step ends x t) = step ends (fun s => exceeds z (x s)) t.
Proof. unfold step. destruct (snd (ends t)); auto using exceeds_max, exceeds_min. Qed.

Lemma step_same ends x y t : (forall s, x s = y s) -> step ends x t = step ends y t.
Proof. intros E. unfold step. now rewrite !E. Qed.

Lemma run_same network x y : (forall s, x s = y s) -> forall t, run network x t = run network y t.
Proof.
  revert x y. induction network as [|ends network IH]; intros x y E t; simpl; auto.
  apply IH. intros s. now apply step_same.
Qed.

Lemma run_exceeds z network x t : exceeds z (run network x t) = run network (fun s => exceeds z (x s)) t.
Proof.
  revert x t. induction network as [|ends network IH]; intros x t; simpl; auto.
  rewrite IH. apply run_same. intros s. apply step_exceeds.
Qed.

(** The 0-1 principle: a network that sorts all zeros and ones sorts all numbers. *)
Theorem zero_one_principle n network :
  (forall x, (forall t, x t = 0 \/ x t = 1) -> ascending n (run network x)) ->
  forall x, ascending n (run network x).
Proof.
  intros H x s t L T. apply Rnot_lt_le. intros W.
  set (z := run network x t) in *.
  assert (B : forall u, exceeds z (x u) = 0 \/ exceeds z (x u) = 1) by (intros u; unfold exceeds; destruct Rlt_dec; auto).
  specialize (H (fun u => exceeds z (x u)) B s t L T). rewrite <- !run_exceeds in H. fold z in H.
  unfold exceeds in H. repeat destruct Rlt_dec; lra.
Qed.

Lemma total_permutation l l' : Permutation l l' -> total l = total l'.
Proof.
  induction 1 as [|x l l' _ IH|x y l|l l' l'' _ IH _ IH']; [auto| | |congruence];
    change total with (fold_right Rplus 0) in *; simpl; lra.
Qed.

Lemma partners_permute n ends : paired n ends -> Permutation (map (fun t => fst (ends t)) (seq 0 n)) (seq 0 n).
Proof.
  intros P. apply NoDup_Permutation_bis.
  - apply NoDup_map_inv with (f := fun t => fst (ends t)).
    rewrite map_map. erewrite map_ext_in with (g := fun t => t).
    + rewrite map_id. apply seq_NoDup.
    + intros t I. apply in_seq in I. destruct (P t) as (_ & E & _); [lia|]. auto.
  - now rewrite map_length.
  - intros t I. apply in_map_iff in I. destruct I as (s & E & I). apply in_seq in I.
    destruct (P s) as (L & _ & _); [lia|]. apply in_seq. lia.
Qed.

Lemma total_plus {A} (f g : A -> R) l : total (map (fun t => f t + g t) l) = total (map f l) + total (map g l).
Proof. induction l as [|t l IH]; simpl map; [unfold total; simpl; lra|]. change total with (fold_right Rplus 0) in *; simpl; rewrite IH; ring. Qed.

(** Numbers are exchanged, and none is lost: so many are above any threshold as were before. *)
Lemma step_keeps n z ends x : paired n ends -> count n z (step ends x) = count n z x.
Proof.
  intros P. set (h t := exceeds z (step ends x t)). set (g t := exceeds z (x t)).
  assert (Both : forall f : nat -> R, total (map (fun t => f (fst (ends t))) (seq 0 n)) = total (map f (seq 0 n))).
  { intros f. rewrite <- (map_map (fun t => fst (ends t)) f). apply total_permutation, Permutation_map, partners_permute, P. }
  assert (E : total (map (fun t => h t + h (fst (ends t))) (seq 0 n)) = total (map (fun t => g t + g (fst (ends t))) (seq 0 n))).
  { f_equal. apply map_ext_in. intros t I. apply in_seq in I. destruct (P t) as (_ & Back & Sides); [lia|].
    unfold h, g. rewrite !step_exceeds. unfold step. rewrite Back.
    destruct (Nat.eq_dec (fst (ends t)) t) as [Same|Other].
    - rewrite !Same. unfold Rmax, Rmin. destruct (snd (ends t)); repeat destruct Rle_dec; lra.
    - rewrite (Sides Other). destruct (snd (ends t)); simpl; unfold Rmax, Rmin; repeat destruct Rle_dec; lra. }
  rewrite !total_plus, !Both in E. unfold count. fold h g. lra.
Qed.

(** A network of pairs that sorts all zeros and ones sorts: what comes out ascends, and is what went in. *)
Theorem comparators n network : Forall (paired n) network ->
  (forall x, (forall t, x t = 0 \/ x t = 1) -> ascending n (run network x)) ->
  forall x, ascending n (run network x) /\ forall z, count n z (run network x) = count n z x.
Proof.
  intros P H x. split; [now apply zero_one_principle|]. intros z. clear H. revert x.
  induction P as [|ends network P _ IH]; intros x; simpl; auto. rewrite IH. now apply step_keeps.
Qed.

(** Lines that have not met hold no more than all pairs of what they hold by themselves. *)
Theorem lines_that_have_not_met (x : nat -> R) (A B : list nat) (held_A held_B : list (list R)) :
  In (map x A) held_A -> In (map x B) held_B ->
  In (map x (A ++ B)) (flat_map (fun a => map (fun b => a ++ b) held_B) held_A).
Proof.
  intros IA IB. rewrite map_app. apply in_flat_map. exists (map x A). split; auto.
  apply in_map_iff. exists (map x B). auto.
Qed.

(** Two partners that both keep the larger number lose one. *)
Theorem comparators_need_both_sides :
  exists network x, (forall y, (forall t, y t = 0 \/ y t = 1) -> ascending 2 (run network y)) /\
    count 2 0 (run network x) <> count 2 0 x.
Proof.
  set (ends := fun t : nat => (Nat.sub 1 t, true)).
  exists [ends], (fun t => match t with O => 1 | _ => 0 end). split.
  - intros y _ s t L T. assert (s = 0%nat) by lia. assert (t = 1%nat) by lia. subst. unfold run, step, ends. simpl.
    rewrite Rmax_comm. lra.
  - unfold count, run, step, ends, exceeds, total. simpl. unfold Rmax. repeat destruct Rle_dec; repeat destruct Rlt_dec; lra.
Qed.

(** A network that sorts only some zeros and ones sorts only some numbers. *)
Theorem comparators_need_all_zeros_and_ones :
  exists network x, paired 2 (fun t => (t, true)) /\ network = [fun t => (t, true)] /\ ~ ascending 2 (run network x).
Proof.
  exists [fun t => (t, true)], (fun t => match t with O => 1 | _ => 0 end). split; [|split; auto].
  - intros t L. simpl. split; [lia|]. split; auto. congruence.
  - intros H. specialize (H 0%nat 1%nat). unfold run, step in H. simpl in H. unfold Rmax in H.
    assert (W : 0 < 1) by lra. repeat destruct Rle_dec; apply Rlt_not_le in W; apply W; apply H; lia.
Qed.
