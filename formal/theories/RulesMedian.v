(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** The median of copies on shifted grids: CERTIFICATE.md, section 6, *Median*, *Comparators* and *Table with a constant*. *)

From Coq Require Import Bool Sorting.Sorted Classical.
From Formwright Require Import RulesExecution.

(** * Comparators: minima and maxima of copies *)

Inductive net := Copy (i : nat) | Least (a b : net) | Largest (a b : net).

Fixpoint eval (v : nat -> R) (n : net) : R :=
  match n with
  | Copy i => v i
  | Least a b => Rmin (eval v a) (eval v b)
  | Largest a b => Rmax (eval v a) (eval v b)
  end.

(** What it makes of zeros and ones. *)
Fixpoint truth (z : nat -> bool) (n : net) : bool :=
  match n with
  | Copy i => z i
  | Least a b => truth z a && truth z b
  | Largest a b => truth z a || truth z b
  end.

Definition at_least (x y : R) : bool := if Rle_dec x y then true else false.

Lemma at_least_spec x y : at_least x y = true <-> x <= y.
Proof. unfold at_least. destruct (Rle_dec x y); split; intros; auto; discriminate. Qed.

(** A function of minima and maxima is at least [x] if and only if it is 1 for the zeros and ones that say which numbers
    are at least [x]. *)
Theorem comparators_by_zeros_and_ones n v x : x <= eval v n <-> truth (fun i => at_least x (v i)) n = true.
Proof.
  induction n as [i|a IA b IB|a IA b IB]; simpl.
  - rewrite at_least_spec. reflexivity.
  - rewrite andb_true_iff, <- IA, <- IB. unfold Rmin. destruct (Rle_dec (eval v a) (eval v b)); split; intros; try split; lra.
  - rewrite orb_true_iff, <- IA, <- IB. unfold Rmax. destruct (Rle_dec (eval v a) (eval v b)); split; intros H; try destruct H; lra.
Qed.

(** How many of the first [K] copies are 1. *)
Fixpoint ones (z : nat -> bool) (K : nat) : nat :=
  match K with O => O | S k => ((if z k then 1 else 0) + ones z k)%nat end.

Lemma ones_grow y z K : (forall i, (i < K)%nat -> y i = true -> z i = true) -> (ones y K <= ones z K)%nat.
Proof.
  induction K as [|k IH]; intros H; simpl; [lia|]. assert (I := IH ltac:(intros; apply H; auto; lia)).
  specialize (H k ltac:(lia)). destruct (y k), (z k); try lia; specialize (H eq_refl); discriminate.
Qed.

Lemma ones_apart y z K : (forall i, (i < K)%nat -> y i = true -> z i = false) -> (ones y K + ones z K <= K)%nat.
Proof.
  induction K as [|k IH]; intros H; simpl; [lia|]. assert (I := IH ltac:(intros; apply H; auto; lia)).
  specialize (H k ltac:(lia)). destruct (y k), (z k); try lia; specialize (H eq_refl); discriminate.
Qed.

(** It is the median of [2 m + 1] copies if it is 1 just where more than [m] of them are, for all zeros and ones. *)
Definition takes_the_median (m : nat) (n : net) : Prop :=
  forall z, truth z n = true <-> (m < ones z (2 * m + 1))%nat.

(** Then it lies between two numbers between which more than half of the copies lie, whatever the others are. *)
Theorem median_of_a_majority m n v good lo hi : takes_the_median m n ->
  (m < ones good (2 * m + 1))%nat -> (forall i, (i < 2 * m + 1)%nat -> good i = true -> lo <= v i <= hi) ->
  lo <= eval v n <= hi.
Proof.
  intros T G B. split.
  - apply comparators_by_zeros_and_ones, T. eapply Nat.lt_le_trans; [apply G|]. apply ones_grow.
    intros i I E. apply at_least_spec. now apply B.
  - destruct (Rle_dec (eval v n) hi) as [|N]; auto. exfalso.
    assert (H : eval v n <= eval v n) by lra. apply comparators_by_zeros_and_ones, T in H.
    assert (A := ones_apart good (fun i => at_least (eval v n) (v i)) (2 * m + 1)). cbn beta in A.
    assert (F : forall i, (i < 2 * m + 1)%nat -> good i = true -> at_least (eval v n) (v i) = false).
    { intros i I E. destruct (at_least _ _) eqn:L; auto. apply at_least_spec in L. specialize (B i I E). lra. }
    specialize (A F). lia.
Qed.

Ltac sizes := repeat match goal with H : Rabs _ <= _ |- _ => apply Rabs_le_inv in H end.

Lemma smaller_moves a b a' b' e g : Rabs (a - a') <= e -> Rabs (b - b') <= g -> Rabs (Rmin a b - Rmin a' b') <= Rmax e g.
Proof.
  intros A B. assert (E := Rmax_l e g). assert (G := Rmax_r e g). sizes. apply Rabs_le. unfold Rmin.
  destruct (Rle_dec a b), (Rle_dec a' b'); lra.
Qed.

Lemma larger_moves a b a' b' e g : Rabs (a - a') <= e -> Rabs (b - b') <= g -> Rabs (Rmax a b - Rmax a' b') <= Rmax e g.
Proof.
  intros A B. assert (E := Rmax_l e g). assert (G := Rmax_r e g). sizes. apply Rabs_le. set (G' := Rmax e g) in *. clearbody G'. unfold Rmax.
  destruct (Rle_dec a b), (Rle_dec a' b'); lra.
Qed.

(** A number [w], the sum of which is rounded, near the number [m] that is meant. *)
Lemma rounded_near u eta M r w m out : 0 <= u -> Rabs m <= M -> Rabs (w - m) <= r -> Rabs (out - w) <= u * Rabs w + eta ->
  Rabs (out - m) <= r * (1 + u) + u * M + eta.
Proof.
  intros U A B O. assert (W : Rabs w <= M + r) by (sizes; apply Rabs_le; lra).
  assert (P : u * Rabs w <= u * (M + r)) by (apply Rmult_le_compat_l; lra).
  assert (Q : Rabs (out - w) <= u * (M + r) + eta) by lra. clear O P. sizes. apply Rabs_le. lra.
Qed.

Lemma difference_near u eta S T a b d : 0 <= u -> Rabs a <= S -> Rabs b <= T -> Rabs (d - (a - b)) <= u * Rabs (a - b) + eta ->
  Rabs (d - (a - b)) <= u * (S + T) + eta.
Proof.
  intros U A B D. assert (W : Rabs (a - b) <= S + T) by (sizes; apply Rabs_le; lra).
  assert (P : u * Rabs (a - b) <= u * (S + T)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** What a layer computes for the smaller of two numbers: the difference is rounded, and the sum with it; numbers that are
    off by [ea] and [eb] give the smaller one of the numbers that are meant up to the larger of both and [tau]. *)
Theorem comparison_rounded u eta S T a b a' b' ea eb d out : 0 <= u -> Rabs a <= S -> Rabs b <= T ->
  Rabs (a - a') <= ea -> Rabs (b - b') <= eb -> Rabs (d - (a - b)) <= u * Rabs (a - b) + eta ->
  Rabs (out - (a - Rmax d 0)) <= u * Rabs (a - Rmax d 0) + eta ->
  let M := Rmax S T in let r := u * (S + T) + eta in let tau := r * (1 + u) + u * M + eta in
  Rabs (out - Rmin a' b') <= Rmax ea eb + tau /\ Rabs out <= M + tau.
Proof.
  intros U SA SB OA OB D O M r tau. assert (Y := smaller_moves a b a' b' ea eb OA OB).
  assert (SM : S <= M) by apply Rmax_l. assert (TM : T <= M) by apply Rmax_r.
  apply (difference_near u eta S T) in D; auto. fold r in D.
  assert (N : Rabs (a - Rmax d 0 - Rmin a b) <= r).
  { clear - D. sizes. apply Rabs_le. unfold Rmax, Rmin. destruct (Rle_dec d 0), (Rle_dec a b); lra. }
  assert (Q : Rabs (Rmin a b) <= M) by (unfold Rmin; destruct (Rle_dec a b); lra).
  assert (Z := rounded_near u eta M r _ _ out U Q N O). fold tau in Z. clear - Q Y Z. sizes. split; apply Rabs_le; lra.
Qed.

(** The larger one likewise. *)
Theorem comparison_rounded_up u eta S T a b a' b' ea eb d out : 0 <= u -> Rabs a <= S -> Rabs b <= T ->
  Rabs (a - a') <= ea -> Rabs (b - b') <= eb -> Rabs (d - (b - a)) <= u * Rabs (b - a) + eta ->
  Rabs (out - (a + Rmax d 0)) <= u * Rabs (a + Rmax d 0) + eta ->
  let M := Rmax S T in let r := u * (S + T) + eta in let tau := r * (1 + u) + u * M + eta in
  Rabs (out - Rmax a' b') <= Rmax ea eb + tau /\ Rabs out <= M + tau.
Proof.
  intros U SA SB OA OB D O M r tau. assert (Y := larger_moves a b a' b' ea eb OA OB).
  assert (SM : S <= M) by apply Rmax_l. assert (TM : T <= M) by apply Rmax_r.
  apply (difference_near u eta T S) in D; auto. replace (u * (T + S) + eta) with r in D by (unfold r; ring).
  assert (N : Rabs (a + Rmax d 0 - Rmax a b) <= r).
  { clear - D. sizes. apply Rabs_le. unfold Rmax. destruct (Rle_dec d 0), (Rle_dec a b); lra. }
  assert (Q : Rabs (Rmax a b) <= M) by (unfold Rmax at 1; destruct (Rle_dec a b); lra).
  assert (Z := rounded_near u eta M r _ _ out U Q N O). fold tau in Z. clear - Q Y Z. sizes. split; apply Rabs_le; lra.
Qed.

(** A clamp leaves what is between its ends, up to what is flushed; and what comes out is no larger than its ends, up to
    rounding. Rounding keeps signs, so that not both units are active. *)
Theorem clamps_rest u eta S low high z d1 d2 out : 0 <= u -> 0 <= eta -> low <= high -> Rabs z <= S ->
  (z - high <= 0 -> d1 <= 0) -> (low - z <= 0 -> d2 <= 0) ->
  Rabs (d1 - (z - high)) <= u * Rabs (z - high) + eta -> Rabs (d2 - (low - z)) <= u * Rabs (low - z) + eta ->
  (low <= z <= high -> Rabs (out - (z - Rmax d1 0 + Rmax d2 0)) <= eta) ->
  Rabs (out - (z - Rmax d1 0 + Rmax d2 0)) <= u * Rabs (z - Rmax d1 0 + Rmax d2 0) + eta ->
  let M := Rmax (Rabs low) (Rabs high) in let r := u * (S + M) + eta in
  (low <= z <= high -> Rabs (out - z) <= eta) /\ Rabs out <= (M + r) * (1 + u) + eta.
Proof.
  intros U E LH SZ K1 K2 D1 D2 I O M r.
  assert (LM : Rabs low <= M) by apply Rmax_l. assert (HM : Rabs high <= M) by apply Rmax_r.
  split.
  - intros [L H]. specialize (K1 ltac:(lra)). specialize (K2 ltac:(lra)). specialize (I (conj L H)).
    rewrite !Rmax_right in I by lra. replace (z - 0 + 0) with z in I by lra. exact I.
  - apply (difference_near u eta S M) in D1; auto. fold r in D1.
    apply (difference_near u eta M S) in D2; auto. replace (u * (M + S) + eta) with r in D2 by (unfold r; ring).
    assert (P : 0 <= r) by (eapply Rle_trans; [apply Rabs_pos | apply D1]).
    assert (W : Rabs (z - Rmax d1 0 + Rmax d2 0) <= M + r).
    { clear - LH K1 K2 D1 D2 LM HM P. sizes. apply Rabs_le. unfold Rmax.
      destruct (Rle_dec (z - high) 0) as [A|A], (Rle_dec (low - z) 0) as [B|B];
        try specialize (K1 A); try specialize (K2 B); destruct (Rle_dec d1 0), (Rle_dec d2 0); lra. }
    assert (V : u * Rabs (z - Rmax d1 0 + Rmax d2 0) <= u * (M + r)) by (apply Rmult_le_compat_l; lra).
    assert (T : Rabs (out - (z - Rmax d1 0 + Rmax d2 0)) <= u * (M + r) + eta) by lra. clear - W T. sizes. apply Rabs_le. lra.
Qed.

(** Every choice of zeros and ones counts: a network that is right for all but one is no median. *)
Theorem comparators_need_every_choice : exists n v,
  (forall z, z 0%nat = true \/ z 1%nat = false \/ z 2%nat = false -> truth z n = true <-> (1 < ones z 3)%nat) /\
  0 <= v 1%nat <= 0 /\ 0 <= v 2%nat <= 0 /\ eval v n < 0.
Proof.
  exists (Least (Copy 0) (Largest (Copy 1) (Copy 2))), (fun i => match i with O => -1 | _ => 0 end).
  split; [|split; [lra|split; [lra|]]].
  - intros z H. simpl. destruct (z 0%nat), (z 1%nat), (z 2%nat); simpl; split; intros; auto; try lia; try discriminate;
      destruct H as [H|[H|H]]; discriminate.
  - simpl. unfold Rmin, Rmax. destruct (Rle_dec 0 0), (Rle_dec _ _); lra.
Qed.

(** * Median *)

(** Within [mu] sides of a wall of the grid with the shift [s]. *)
Definition near (low h mu s x : R) : Prop := exists k : Z, Rabs (x - (low + (IZR k - s) * h)) < mu * h.

(** Sorted shifts that are two margins apart, and a margin from 0 and 1: nothing is near walls of two grids. *)
Theorem walls_are_apart low h mu shifts x i j a b : 0 < h -> 0 <= mu ->
  LocallySorted (fun a b => a + 2 * mu <= b) shifts -> Forall (fun s => mu <= s <= 1 - mu) shifts ->
  nth_error shifts i = Some a -> nth_error shifts j = Some b -> near low h mu a x -> near low h mu b x -> i = j.
Proof.
  intros H MU S F A B [k K] [l L].
  assert (SS : StronglySorted (fun a b => a + 2 * mu <= b) shifts).
  { apply Sorted_StronglySorted; [intros p q r P Q; lra | now apply Sorted_LocallySorted_iff]. }
  assert (Apart : forall t i j a b, StronglySorted (fun a b => a + 2 * mu <= b) t -> (i < j)%nat ->
    nth_error t i = Some a -> nth_error t j = Some b -> a + 2 * mu <= b).
  { clear. induction t as [|s t IH]; intros i j a b S L A B; [destruct i; discriminate|].
    inversion S as [|? ? S' G]; subst. destruct j as [|j]; [lia|]. destruct i as [|i]; simpl in *.
    - injection A as <-. rewrite Forall_forall in G. apply G. eapply nth_error_In, B.
    - apply (IH i j a b S' ltac:(lia) A B). }
  assert (Differ : forall a b (k l : Z), a + 2 * mu <= b -> mu <= a -> b <= 1 - mu ->
    Rabs (x - (low + (IZR k - a) * h)) < mu * h -> Rabs (x - (low + (IZR l - b) * h)) < mu * h -> False).
  { clear - H MU. intros a b k l AB LA LB K L.
    assert (D : Rabs ((IZR (k - l) + (b - a)) * h) < 2 * mu * h).
    { rewrite minus_IZR. replace ((IZR k - IZR l + (b - a)) * h)
        with ((x - (low + (IZR l - b) * h)) - (x - (low + (IZR k - a) * h))) by ring.
      eapply Rle_lt_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    rewrite Rabs_mult, (Rabs_pos_eq h) in D by lra. apply Rmult_lt_reg_r in D; auto.
    destruct (Z_lt_le_dec (k - l) 0) as [N|N].
    - assert (M : IZR (k - l) <= -1) by (change (-1) with (IZR (-1)); apply IZR_le; lia). split_Rabs; lra.
    - apply IZR_le in N. split_Rabs; lra. }
  rewrite Forall_forall in F.
  assert (FA := F a (nth_error_In _ _ A)). assert (FB := F b (nth_error_In _ _ B)).
  destruct (Nat.lt_trichotomy i j) as [I|[I|I]]; auto; exfalso.
  - apply (Differ a b k l); auto; try lra. eapply Apart; eauto.
  - apply (Differ b a l k); auto; try lra. eapply Apart; eauto.
Qed.

(** Of the grids, those that some coordinate of the point spoils. *)
Definition spoiled (low h mu : R) (shifts x : list R) (i : nat) : Prop :=
  exists s t, nth_error shifts i = Some s /\ In t x /\ near low h mu s t.

Lemma as_many_as_coordinates (P : nat -> R -> Prop) (x : list R) (l : list nat) :
  (forall i j t, P i t -> P j t -> i = j) -> NoDup l -> (forall i, In i l -> exists t, In t x /\ P i t) ->
  (length l <= length x)%nat.
Proof.
  revert l. induction x as [|t x IH]; intros l U N H.
  - destruct l as [|i l]; simpl; [lia|]. destruct (H i (or_introl eq_refl)) as (? & [] & _).
  - destruct (classic (exists i, In i l /\ P i t)) as [(i & I & PI)|No].
    + apply in_split in I. destruct I as (l1 & l2 & ->).
      assert (M := NoDup_remove_1 _ _ _ N). assert (Q := NoDup_remove_2 _ _ _ N).
      assert (B := IH (l1 ++ l2) U M). rewrite app_length in *. simpl. enough (length l1 + length l2 <= length x)%nat by lia.
      apply B. intros j J. destruct (H j) as (s & [<-|S] & PS).
      * apply in_app_iff. apply in_app_iff in J. simpl. tauto.
      * exfalso. apply Q. now rewrite (U i j t PI PS).
      * eauto.
    + simpl. enough (length l <= length x)%nat by lia. apply IH; auto. intros i I. destruct (H i I) as (s & [<-|S] & PS); eauto.
      exfalso. apply No. eauto.
Qed.

Lemma not_spoiled_are_many (bad : nat -> Prop) K m :
  (forall l, NoDup l -> (forall i, In i l -> bad i) -> (length l <= m)%nat) ->
  exists good, (forall i, good i = true -> ~ bad i) /\ (K <= ones good K + m)%nat.
Proof.
  intros H.
  assert (G : exists good l, (forall i, good i = true -> ~ bad i) /\ NoDup l /\ (forall i, In i l -> bad i /\ (i < K)%nat)
    /\ (forall i, (K <= i)%nat -> good i = false) /\ (ones good K + length l = K)%nat).
  { induction K as [|k (good & l & A & N & B & Z & E)].
    - exists (fun _ => false), []. repeat split; try constructor; simpl; intros; try discriminate; tauto.
    - destruct (classic (bad k)) as [Y|Y].
      + exists good, (k :: l). repeat split; auto.
        * constructor; auto. intros I. apply B in I. lia.
        * destruct H0 as [<-|I]; auto. now apply B.
        * destruct H0 as [<-|I]; [lia|]. apply B in I. lia.
        * intros i I. apply Z. lia.
        * simpl. rewrite (Z k) by lia. simpl in *. lia.
      + exists (fun i => if Nat.eqb i k then true else good i), l. repeat split; auto.
        * intros i. destruct (Nat.eqb_spec i k); subst; auto.
        * now apply B.
        * apply B in H0. lia.
        * intros i I. destruct (Nat.eqb_spec i k); [lia|]. apply Z. lia.
        * simpl. rewrite Nat.eqb_refl.
          assert (Same : forall j, (j <= k)%nat -> ones (fun i => if Nat.eqb i k then true else good i) j = ones good j).
          { induction j as [|j IH]; intros J; simpl; auto. destruct (Nat.eqb_spec j k); [lia|]. rewrite IH by lia. reflexivity. }
          rewrite Same by lia. simpl. lia. }
  destruct G as (good & l & A & N & B & _ & E). exists good. split; auto.
  assert (L := H l N ltac:(intros i I; apply B; auto)). lia.
Qed.

(** The median of [2 m + 1] copies, each within [e] of [f] where no coordinate of a point with [m] of them is near a wall
    of its grid, is within [e] of [f] everywhere, whatever copies are elsewhere. *)
Theorem median m n low h mu shifts x v f e : 0 < h -> 0 <= mu -> length x = m ->
  LocallySorted (fun a b => a + 2 * mu <= b) shifts -> Forall (fun s => mu <= s <= 1 - mu) shifts ->
  takes_the_median m n ->
  (forall i, (i < 2 * m + 1)%nat -> ~ spoiled low h mu shifts x i -> Rabs (v i - f) <= e) ->
  Rabs (eval v n - f) <= e.
Proof.
  intros H MU M S F T G.
  destruct (not_spoiled_are_many (spoiled low h mu shifts x) (2 * m + 1) m) as (good & A & B).
  - intros l N I. rewrite <- M.
    apply (as_many_as_coordinates (fun i t => exists s, nth_error shifts i = Some s /\ near low h mu s t)); auto.
    + intros i j t (a & A & NA) (b & B & NB). eapply walls_are_apart; eauto.
    + intros i J. destruct (I i J) as (s & t & E & X & P). eauto.
  - assert (L : f - e <= eval v n <= f + e).
    { apply (median_of_a_majority m n v good); auto; [lia|]. intros i I E. specialize (G i I (A i E)). split_Rabs; lra. }
    split_Rabs; lra.
Qed.

(** Walls must not meet: with two grids alike, one coordinate spoils two copies of three, and the median with them. *)
Theorem median_needs_walls_apart : exists n shifts x v f e,
  takes_the_median 1 n /\ length x = 1%nat /\ Forall (fun s => 1 / 8 <= s <= 1 - 1 / 8) shifts /\ length shifts = 3%nat /\
  (forall i, (i < 3)%nat -> ~ spoiled 0 1 (1 / 8) shifts x i -> Rabs (v i - f) <= e) /\ e < Rabs (eval v n - f).
Proof.
  exists (Largest (Least (Copy 0) (Copy 1)) (Least (Largest (Copy 0) (Copy 1)) (Copy 2))), [1 / 4; 1 / 4; 3 / 4], [3 / 4],
    (fun i => match i with 2%nat => 0 | _ => 1 end), 0, 0.
  split; [|split; [reflexivity|split; [repeat constructor; lra|split; [reflexivity|split]]]].
  - intros z. simpl. destruct (z 0%nat), (z 1%nat), (z 2%nat); simpl; split; intros; auto; try lia; discriminate.
  - intros i I N. assert (P : near 0 1 (1 / 8) (1 / 4) (3 / 4)).
    { exists 1%Z. replace (3 / 4 - (0 + (1 - 1 / 4) * 1)) with 0 by lra. rewrite Rabs_R0. lra. }
    destruct i as [|[|[|i]]]; [| |rewrite Rabs_pos_eq; lra|lia]; exfalso; apply N; exists (1 / 4), (3 / 4); simpl; auto.
  - simpl. unfold Rmin, Rmax. repeat (destruct (Rle_dec _ _); try lra); rewrite Rabs_pos_eq; lra.
Qed.

(** * Table with a constant *)

(** The largest distance of coordinates. *)
Fixpoint apart (a b : list Z) : Z :=
  match a, b with
  | s :: a, t :: b => Z.max (Z.abs (s - t)) (apart a b)
  | _, _ => 0%Z
  end.

Lemma apart_pos a : forall b, (0 <= apart a b)%Z.
Proof. induction a as [|s a IH]; intros [|t b]; simpl; try lia. Qed.

(** One step towards a cube. *)
Definition towards (s t : Z) : Z := if (s <? t)%Z then (s + 1)%Z else if (t <? s)%Z then (s - 1)%Z else s.

Fixpoint step (a b : list Z) : list Z :=
  match a, b with s :: a, t :: b => towards s t :: step a b | _, _ => [] end.

Definition inside (N : Z) (a : list Z) : Prop := Forall (fun s => 0 <= s < N)%Z a.

Lemma towards_near s t : (Z.abs (s - towards s t) <= 1)%Z /\ (Z.abs (towards s t - t) <= Z.max 0 (Z.abs (s - t) - 1))%Z.
Proof. unfold towards. destruct (Z.ltb_spec s t), (Z.ltb_spec t s); lia. Qed.

Lemma step_near a : forall b, length a = length b ->
  (apart a (step a b) <= 1)%Z /\ (apart (step a b) b <= Z.max 0 (apart a b - 1))%Z /\ length (step a b) = length b.
Proof.
  induction a as [|s a IH]; intros [|t b] L; simpl in *; try discriminate; [lia|].
  destruct (IH b ltac:(lia)) as (A & B & C). assert (T := towards_near s t). assert (P := apart_pos a b).
  assert (Q := apart_pos (step a b) b). lia.
Qed.

Lemma step_inside N a : forall b, inside N a -> inside N b -> inside N (step a b).
Proof.
  induction a as [|s a IH]; intros [|t b] A B; simpl; try constructor; inversion A; inversion B; subst; auto; [|now apply IH].
  unfold towards. destruct (Z.ltb_spec s t), (Z.ltb_spec t s); lia.
Qed.

Lemma apart_nothing a : forall b, length a = length b -> (apart a b <= 0)%Z -> a = b.
Proof.
  induction a as [|s a IH]; intros [|t b] L Z; simpl in *; try discriminate; auto. assert (P := apart_pos a b).
  f_equal; [lia|]. apply IH; lia.
Qed.

(** A table that changes by at most [q] between cubes that touch, be it in a corner, changes by at most [q] for each step
    of the distance between any two cubes. *)
Theorem entries_by_steps N q (T : list Z -> R) : 0 <= q ->
  (forall a b, length a = length b -> inside N a -> inside N b -> (apart a b <= 1)%Z -> Rabs (T a - T b) <= q) ->
  forall a b, length a = length b -> inside N a -> inside N b -> Rabs (T a - T b) <= IZR (apart a b) * q.
Proof.
  intros Q H a b L A B. assert (P := apart_pos a b). remember (Z.to_nat (apart a b)) as D eqn:E.
  revert a L A P E. induction D as [|D IH]; intros a L A P E.
  - rewrite (apart_nothing a b) by lia. unfold Rminus. rewrite Rplus_opp_r, Rabs_R0.
    apply Rmult_le_pos; auto. apply IZR_le, apart_pos.
  - destruct (step_near a b L) as (S1 & S2 & S3). assert (P' := apart_pos (step a b) b).
    assert (I := step_inside N a b A B).
    assert (Lower : (apart (step a b) b <= apart a b - 1)%Z) by lia.
    assert (T1 := H a (step a b) ltac:(lia) A I S1).
    assert (Far : Rabs (T (step a b) - T b) <= IZR (apart a b - 1) * q).
    { destruct (Z.eq_dec (apart (step a b) b) (apart a b - 1)) as [Same|Less].
      - rewrite <- Same. apply IH; auto; lia.
      - (* A step shortens the distance by one: the other way two steps would be one. *)
        exfalso. assert (Tri : forall a b c, length a = length b -> length b = length c -> (apart a c <= apart a b + apart b c)%Z).
        { clear. induction a as [|s a IH]; intros [|t b] [|w c] L M; simpl in *; try discriminate; try lia.
          specialize (IH b c ltac:(lia) ltac:(lia)). lia. }
        specialize (Tri a (step a b) b ltac:(lia) ltac:(lia)). lia. }
    rewrite minus_IZR in Far. split_Rabs; lra.
Qed.

(** Numbers at points that change by at most [L] times the distance are those of a function that does so everywhere. *)
Theorem a_function_with_the_constant {X} (d : X -> X -> R) (L : R) (table : list (X * R)) : 0 <= L ->
  (forall x, d x x = 0) -> (forall x y, d x y = d y x) -> (forall x y z, d x z <= d x y + d y z) ->
  table <> [] -> (forall c v c' v', In (c, v) table -> In (c', v') table -> Rabs (v - v') <= L * d c c') ->
  exists f, (forall x y, Rabs (f x - f y) <= L * d x y) /\ (forall c v, In (c, v) table -> f c = v).
Proof.
  intros PL Zero Sym Tri NE H.
  assert (Least : exists f, (forall x c v, In (c, v) table -> f x <= v + L * d x c) /\
    (forall x, exists c v, In (c, v) table /\ f x = v + L * d x c)).
  { clear H. destruct table as [|[c0 v0] t]; [congruence|]. clear NE. revert c0 v0. induction t as [|[c1 v1] t IH]; intros c0 v0.
    - exists (fun x => v0 + L * d x c0). split; [intros x c v [E|[]]; injection E as <- <-; lra|].
      intros x. exists c0, v0. simpl; auto.
    - destruct (IH c1 v1) as (f & A & B). exists (fun x => Rmin (v0 + L * d x c0) (f x)). split.
      + intros x c v [E|I]; [injection E as <- <-; apply Rmin_l|]. eapply Rle_trans; [apply Rmin_r|]. now apply A.
      + intros x. unfold Rmin. destruct (Rle_dec _ _); [exists c0, v0; simpl; auto|].
        destruct (B x) as (c & v & I & E). exists c, v. split; [now right | auto]. }
  destruct Least as (f & A & B). exists f. split.
  - assert (One : forall x y, f x - f y <= L * d x y).
    { intros x y. destruct (B y) as (c & v & I & E). specialize (A x c v I). specialize (Tri x y c).
      assert (L * d x c <= L * (d x y + d y c)) by (apply Rmult_le_compat_l; auto). lra. }
    intros x y. assert (P := One x y). assert (Q := One y x). rewrite (Sym y x) in Q. split_Rabs; lra.
  - intros c v I. destruct (B c) as (c' & v' & I' & E). assert (U := A c c v I). rewrite Zero in U.
    assert (W := H c v c' v' I I'). split_Rabs; lra.
Qed.

(** On a part where no point is farther than [rho] from a centre, a function with the constant is within [L rho] of the
    entry there, for every centre. *)
Theorem table_with_a_constant {X} (d : X -> X -> R) (L : R) (f : X -> R) centres (part : X -> Prop) : 0 <= L ->
  (forall x y, Rabs (f x - f y) <= L * d x y) ->
  forall x, part x -> Forall (fun c => forall rho, (forall y, part y -> d y c <= rho) -> f c - L * rho <= f x <= f c + L * rho) centres.
Proof.
  intros P H x I. apply Forall_forall. intros c _ rho R. specialize (H x c). specialize (R x I).
  assert (L * d x c <= L * rho) by (apply Rmult_le_compat_l; auto). split_Rabs; lra.
Qed.

(** Cubes that touch in a corner count: a table may change by no more than [q] across every face, and by more than [q] for a
    step. *)
Theorem table_needs_corners : exists (q : R) (T : list Z -> R), 0 <= q /\
  (forall a b c, inside 2 [a; c] -> inside 2 [b; c] -> Rabs (T [a; c] - T [b; c]) <= q) /\
  (forall a b c, inside 2 [c; a] -> inside 2 [c; b] -> Rabs (T [c; a] - T [c; b]) <= q) /\
  IZR (apart [0; 0]%Z [1; 1]%Z) * q < Rabs (T [0; 0]%Z - T [1; 1]%Z).
Proof.
  exists 1, (fun a => IZR (fold_right Z.add 0%Z a)).
  assert (D : forall a b c : Z, inside 2 [a; c] -> inside 2 [b; c] -> Rabs (IZR a - IZR b) <= 1).
  { intros a b c A B. inversion A; inversion B; subst. rewrite <- minus_IZR, <- abs_IZR. apply IZR_le. lia. }
  split; [lra|]. split; [|split].
  - intros a b c A B. unfold fold_right. rewrite !plus_IZR.
    replace (IZR a + _ - (IZR b + _)) with (IZR a - IZR b) by ring. apply (D a b c A B).
  - intros a b c A B. unfold fold_right. rewrite !plus_IZR.
    replace (IZR c + _ - (IZR c + _)) with (IZR a - IZR b) by ring.
    unfold inside in A, B. rewrite Forall_forall in A, B.
    apply (D a b c); apply Forall_forall; intros s [<-|[<-|[]]]; (apply A; simpl; tauto) || (apply B; simpl; tauto).
  - change (1 * 1 < Rabs (0 - 2)). rewrite Rabs_left; lra.
Qed.
