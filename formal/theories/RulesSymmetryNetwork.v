(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** *Symmetry*, CERTIFICATE.md, section 6, for a whole network without positions and masks: permuted tokens may give what
    the tokens give, permuted. *)

From Formwright Require Import RulesExecution CheckerNetwork CheckerSums CheckerSoftmax CheckerLayers.

(** * Symmetry *)

(** The list with the element [nth i s] of [l] at place [i]. *)
Definition permuted {A} (s : list nat) (d : A) (l : list A) : list A := map (fun i => nth i l d) s.

(** Every head shows everything. *)
Definition shows_all (h : head) : Prop := forall t k, sees (shows h) t k = true.

Definition unmasked (l : layer) : Prop := match l with Attention heads => Forall shows_all heads | FeedForward _ _ _ _ => True end.

Lemma all_of_seq n : filter (fun _ : nat => true) (seq 0 n) = seq 0 n.
Proof. induction (seq 0 n); simpl; congruence. Qed.

Lemma each_of {A B} (g : A -> outcomes B) l bs : Forall2 (fun a b => g a (Some b)) l bs -> each g l (Some bs).
Proof.
  induction 1 as [|a b l bs H F IH]; simpl; [reflexivity|]. right. exists b. split; auto. right. exists bs. split; auto. reflexivity.
Qed.

Lemma Forall2_nth_in {A B} (P : A -> B -> Prop) a b da db i : Forall2 P a b -> (i < length a)%nat -> P (nth i a da) (nth i b db).
Proof. intros F. revert i. induction F; intros [|i] L; simpl in *; auto; try lia. apply IHF. lia. Qed.

Lemma filter_all (g : nat -> bool) l : (forall k, g k = true) -> filter g l = l.
Proof. intros H. induction l as [|a l IH]; simpl; auto. rewrite H. congruence. Qed.

Lemma nth_map_seq {A} (g : nat -> A) n k d : (k < n)%nat -> nth k (map g (seq 0 n)) d = g k.
Proof.
  intros K. rewrite (nth_indep _ d (g 0%nat)) by (rewrite map_length, seq_length; auto). now rewrite map_nth, seq_nth.
Qed.

Section Permutation.
Variables (s : list nat) (n : nat).
Hypothesis places : Permutation s (seq 0 n).

Lemma place_below i : In i s -> (i < n)%nat.
Proof. intros H. apply (Permutation_in _ places) in H. apply in_seq in H. lia. Qed.

Lemma length_places : length s = n.
Proof. rewrite (Permutation_length places). apply seq_length. Qed.

Lemma length_permuted {A} (d : A) l : length (permuted s d l) = n.
Proof. unfold permuted. rewrite map_length. apply length_places. Qed.

Lemma map_seq_nth {A} (d : A) l : map (fun i => nth i l d) (seq 0 (length l)) = l.
Proof.
  induction l as [|a l IH]; simpl; auto. f_equal. rewrite <- seq_shift, map_map. exact IH.
Qed.

Lemma permuted_is {A} (d : A) l : length l = n -> Permutation (permuted s d l) l.
Proof.
  intros L. unfold permuted. rewrite places. rewrite <- L. now rewrite map_seq_nth.
Qed.

Lemma nth_permuted {A} (d e : A) l i : length l = n -> (i < n)%nat -> nth i (permuted s d l) e = nth (nth i s 0%nat) l e.
Proof.
  intros L I. unfold permuted. rewrite (nth_indep _ e (nth 0 l d)) by (rewrite map_length, length_places; lia).
  rewrite (map_nth (fun i => nth i l d)). apply nth_indep. rewrite L. apply place_below, nth_In. rewrite length_places. lia.
Qed.

Lemma permuted_by_place {A} (d : A) l : permuted s d l = map (fun i => nth (nth i s 0%nat) l d) (seq 0 n).
Proof.
  unfold permuted. transitivity (map (fun i => nth i l d) (map (fun i => nth i s 0%nat) (seq 0 (length s)))); [now rewrite map_seq_nth|].
  now rewrite map_map, length_places.
Qed.

Lemma old_place i : (i < n)%nat -> (nth i s 0%nat < n)%nat.
Proof. intros I. apply place_below, nth_In. now rewrite length_places. Qed.

Lemma Forall2_by_place {A B} (P : A -> B -> Prop) (g : nat -> A) (h : nat -> B) :
  (forall i, (i < n)%nat -> P (g i) (h i)) -> Forall2 P (map g (seq 0 n)) (map h (seq 0 n)).
Proof.
  intros G. assert (F : forall i, In i (seq 0 n) -> P (g i) (h i)) by (intros i I; apply in_seq in I; apply G; lia).
  clear G. revert F. generalize (seq 0 n). intros l F. induction l as [|i r IH]; simpl; constructor; [apply F; now left|].
  apply IH. intros j J. apply F. now right.
Qed.

(** The same done to each token. *)
Lemma each_permuted {A B} (g : A -> outcomes B) l bs da db : length l = n -> each g l (Some bs) ->
  each g (permuted s da l) (Some (permuted s db bs)).
Proof.
  intros L H. apply each_some in H. apply each_of. unfold permuted.
  assert (G : forall i, In i s -> g (nth i l da) (Some (nth i bs db))).
  { intros i I. apply (Forall2_nth_in (fun a b => g a (Some b))); auto. rewrite L. now apply place_below. }
  clear - G. induction s as [|i r IH]; simpl; constructor; [apply G; now left|]. apply IH. intros j J. apply G. now right.
Qed.

Section Format.
Variable f : format.

Lemma largest_permuted xs d : length xs = n -> largest (permuted s d xs) = largest xs.
Proof.
  intros L. assert (P := permuted_is d xs L). set (ys := permuted s d xs) in *.
  destruct xs as [|x xs]; [apply Permutation_sym, Permutation_nil in P; now rewrite P|].
  destruct ys as [|y ys]; [now apply Permutation_nil in P|].
  apply Rle_antisym; apply largest_above; [apply (Permutation_in _ P) | apply (Permutation_in _ (Permutation_sym P))]; apply largest_in.
Qed.

Lemma shares_permuted xs ps d e : length xs = n -> shares f xs (Some ps) -> shares f (permuted s d xs) (Some (permuted s e ps)).
Proof.
  intros L [[_ E]|(ds & Hd & [[_ E]|(es & He & [[_ E]|(S & HS & Hp)])])]; try discriminate.
  assert (Ld := Forall2_length_eq _ _ _ (each_some _ _ _ Hd)). assert (Le := Forall2_length_eq _ _ _ (each_some _ _ _ He)).
  right. exists (permuted s 0 ds). split.
  - rewrite (largest_permuted xs d L). now apply each_permuted.
  - right. exists (permuted s 0 es). split; [apply each_permuted; auto; lia|].
    right. exists S. split.
    + apply (Sum_order _ _ es); auto. apply Permutation_sym, permuted_is. lia.
    + apply each_permuted; auto. lia.
Qed.

Lemma products_permuted p xs d e : length p = n -> length xs = n ->
  Permutation (products (permuted s d p) (permuted s e xs)) (products p xs).
Proof.
  intros Lp Lx. transitivity (permuted s (d * e) (products p xs)).
  - apply Permutation_refl'. unfold permuted, products.
    assert (G : forall i, nth i (map (fun q => fst q * snd q) (combine p xs)) (d * e) = nth i p d * nth i xs e).
    { intros i. change (d * e) with ((fun q : R * R => fst q * snd q) (d, e)). rewrite map_nth, combine_nth by lia. reflexivity. }
    clear - G. induction s as [|i r IH]; simpl; auto. rewrite G. congruence.
  - apply permuted_is. unfold products. rewrite map_length, combine_length. lia.
Qed.

(** A head gives a token what it gives it where the others stand elsewhere. *)
Lemma answer_permuted h keys values t t' z r : shows_all h -> length keys = n -> length values = n ->
  answer f h keys values t z (Some r) -> answer f h (permuted s [] keys) (permuted s [] values) t' z (Some r).
Proof.
  intros All Lk Lv H. unfold answer in *. rewrite (length_permuted [] keys). rewrite Lk in H.
  rewrite filter_all in H by apply All. rewrite filter_all by apply All.
  destruct H as [[_ E]|(query & Hq & [[_ E]|(scores & Hs & [[_ E]|(p & Hp & H)])])]; try discriminate.
  right. exists query. split; auto.
  assert (Ls : length scores = n) by (rewrite <- (Forall2_length_eq _ _ _ (each_some _ _ _ Hs)); apply seq_length).
  assert (Lp : length p = n) by (apply shares_are_softmax in Hp as (m & d & e & S & _ & _ & D & E & _ & W);
    rewrite <- (Forall2_length_eq _ _ _ W), <- (Forall2_length_eq _ _ _ E), <- (Forall2_length_eq _ _ _ D); auto).
  right. exists (permuted s 0 scores). split.
  - apply each_some in Hs. apply each_of. rewrite (permuted_by_place 0 scores).
    replace (seq 0 n) with (map (fun i => i) (seq 0 n)) at 1 by apply map_id. apply Forall2_by_place.
    intros i I. rewrite nth_permuted by auto. assert (B := old_place i I).
    assert (X := Forall2_nth_in _ _ _ 0%nat 0 (nth i s 0%nat) Hs ltac:(now rewrite seq_length)). simpl in X.
    rewrite seq_nth in X by auto. exact X.
  - right. exists (permuted s 0 p). split; [now apply shares_permuted|].
    apply each_some in H. apply each_of. revert H. apply Forall2_weaker. intros j x Hx. simpl in *.
    apply (Sum_order _ _ (products p (map (fun i => nth j (nth i values []) 0) (seq 0 n)))); auto.
    assert (E : map (fun i => nth j (nth i (permuted s [] values) []) 0) (seq 0 n)
      = permuted s 0 (map (fun i => nth j (nth i values []) 0) (seq 0 n))).
    { rewrite (permuted_by_place 0 (map (fun i => nth j (nth i values []) 0) (seq 0 n))). apply map_ext_in. intros i I. apply in_seq in I. rewrite nth_permuted by (auto; lia).
      assert (B := old_place i ltac:(lia)).
      now rewrite (nth_map_seq (fun i => nth j (nth i values []) 0)). }
    rewrite E. apply Permutation_sym, products_permuted; auto. now rewrite map_length, seq_length.
Qed.

(** Tokens with their places, where what is done does not depend on the place. *)
Lemma numbered_permuted {A B} (g g' : nat * A -> outcomes B) l bs da db : length l = n ->
  (forall i, (i < n)%nat -> forall r, g (nth i s 0%nat, nth (nth i s 0%nat) l da) (Some r) ->
    g' (i, nth (nth i s 0%nat) l da) (Some r)) ->
  each g (numbered l) (Some bs) -> each g' (numbered (permuted s da l)) (Some (permuted s db bs)).
Proof.
  intros L G H. apply each_some in H. apply each_of. unfold numbered. rewrite (length_permuted da l).
  assert (Ln : length (numbered l) = n) by (unfold numbered; rewrite combine_length, seq_length; lia).
  replace (combine (seq 0 n) (permuted s da l)) with (map (fun i => (i, nth (nth i s 0%nat) l da)) (seq 0 n)).
  - rewrite (permuted_by_place db bs). apply Forall2_by_place. intros i I. apply G; auto. assert (Below := old_place i I).
    assert (X := Forall2_nth_in _ _ _ (0%nat, da) db (nth i s 0%nat) H ltac:(lia)). simpl in X.
    unfold numbered in X. rewrite combine_nth in X by (now rewrite seq_length). rewrite seq_nth in X by lia. exact X.
  - rewrite permuted_by_place. clear. induction (seq 0 n) as [|i r IH]; simpl; auto. now rewrite IH.
Qed.

Lemma answers_permuted h tokens ys : shows_all h -> length tokens = n -> answers f tokens h (Some ys) ->
  answers f (permuted s [] tokens) h (Some (permuted s [] ys)).
Proof.
  intros All L [[_ E]|(keys & Hk & [[_ E]|(values & Hv & H)])]; try discriminate.
  assert (Lk := Forall2_length_eq _ _ _ (each_some _ _ _ Hk)). assert (Lv := Forall2_length_eq _ _ _ (each_some _ _ _ Hv)).
  right. exists (permuted s [] keys). split; [now apply each_permuted|].
  right. exists (permuted s [] values). split; [now apply each_permuted|].
  refine (numbered_permuted _ _ _ _ _ _ L _ H). intros i I r Hr. simpl in *. apply (answer_permuted _ _ _ _ i) in Hr; auto; lia.
Qed.

Lemma attention_permuted heads tokens ys : Forall shows_all heads -> length tokens = n -> attention f heads tokens (Some ys) ->
  attention f heads (permuted s [] tokens) (Some (permuted s [] ys)).
Proof.
  intros All L [[_ E]|(given & Hg & H)]; try discriminate. apply each_some in Hg.
  right. exists (map (permuted s []) given). split.
  - apply each_of. clear H. induction Hg as [|h g heads given Hh Hg IH]; simpl; constructor.
    + apply answers_permuted; auto. exact (Forall_inv All).
    + apply IH. exact (Forall_inv_tail All).
  - refine (numbered_permuted _ _ _ _ _ _ L _ H). intros i I r Hr. simpl in *.
    apply each_some in Hr. apply each_of. revert Hr. apply Forall2_weaker. intros [j x] y Hy. simpl in *.
    replace (flat_map _ _) with (flat_map (fun p => products (map F2R (nth j (o (fst p)) [])) (nth (nth i s 0%nat) (snd p) [])) (combine heads given)); auto.
    clear - Hg I places L. induction Hg as [|h g heads given Hh Hg IH]; simpl; auto. f_equal; auto.
    rewrite nth_permuted; auto. destruct Hh as [[_ E]|(keys & _ & [[_ E]|(values & _ & Hh)])]; try discriminate.
    apply each_some, Forall2_length_eq in Hh. rewrite <- Hh. unfold numbered. rewrite combine_length, seq_length. lia.
Qed.

Lemma through_permuted ls : Forall unmasked ls -> forall tokens ys, length tokens = n -> through f ls tokens (Some ys) ->
  length ys = n /\ through f ls (permuted s [] tokens) (Some (permuted s [] ys)).
Proof.
  induction 1 as [|l ls U F IH]; simpl; intros tokens ys L H; [injection H as ->; split; auto; reflexivity|].
  destruct H as [[_ E]|(next & Hn & H)]; [discriminate|].
  assert (N : length next = n /\ apply f (permuted s [] tokens) l (Some (permuted s [] next))).
  { destruct l as [heads|w1 b1 w2 b2]; simpl in *.
    - split; [|now apply attention_permuted]. destruct Hn as [[_ E]|(given & _ & Hn)]; [discriminate|].
      apply each_some, Forall2_length_eq in Hn. rewrite <- Hn. unfold numbered. rewrite combine_length, seq_length. lia.
    - split; [|now apply each_permuted]. apply each_some, Forall2_length_eq in Hn. lia. }
  destruct N as [Ln N]. destruct (IH next ys Ln H) as [Ly H']. split; auto. right. eauto.
Qed.

(** Permuted tokens may give what the tokens give, permuted: no positions, no masks. *)
Theorem network_is_symmetric net x y : pos net = [] -> Forall unmasked (layers net) -> length x = n ->
  outputs f net x (Some y) -> outputs f net (permuted s [] x) (Some (permuted s [] y)).
Proof.
  intros P U L [[_ E]|(tokens & Ht & [[_ E]|(last & Hl & H)])]; try discriminate.
  assert (Lt : length tokens = n).
  { apply each_some, Forall2_length_eq in Ht. rewrite <- Ht. unfold numbered. rewrite combine_length, seq_length. lia. }
  destruct (through_permuted _ U _ _ Lt Hl) as [Ll Hl'].
  right. exists (permuted s [] tokens). split.
  - refine (numbered_permuted _ _ _ _ _ _ L _ Ht). intros i I r. unfold embed. simpl. rewrite P.
    assert (None_there : forall A k, nth_error (@nil A) k = None) by (now destruct k). now rewrite !None_there.
  - right. exists (permuted s [] last). split; auto. now apply each_permuted.
Qed.

End Format.
End Permutation.
