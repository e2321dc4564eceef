(* Linked from THEOREMS.md#claim1. *)
(** Claim 1: a network without positions is permutation equivariant, [g(XP) = g(X)P], ties of hardmax included.

    A head sees the sequence through sums, maxima and counts over all tokens. They do not depend on the order. *)

From Formwright Require Import Numbers Transformer.

Lemma zip_comm f (C : forall x y, f x y = f y x) : forall a b, zip_with f a b = zip_with f b a.
Proof. induction a; intros [|]; simpl; auto. now rewrite C, IHa. Qed.

Lemma vadd_comm a b : vadd a b = vadd b a.
Proof. apply zip_comm. intros. ring. Qed.

Lemma vadd_assoc a : forall b c, vadd a (vadd b c) = vadd (vadd a b) c.
Proof.
  unfold vadd. induction a as [|x a IH]; intros [|y b] [|z c]; simpl; auto. f_equal; [ring | apply IH].
Qed.

Lemma vsum_permutation m X Y : Permutation X Y -> vsum m X = vsum m Y.
Proof.
  induction 1; simpl; auto; try congruence.
  now rewrite !vadd_assoc, (vadd_comm y x).
Qed.

Lemma qmax_comm x y : qmax x y = qmax y x.
Proof. unfold qmax. destruct (Qclt_le_dec x y), (Qclt_le_dec y x); auto; qlra. Qed.

Lemma qmax_assoc x y z : qmax x (qmax y z) = qmax (qmax x y) z.
Proof.
  unfold qmax. destruct (Qclt_le_dec y z), (Qclt_le_dec x y);
    repeat (destruct (Qclt_le_dec _ _)); auto; qlra.
Qed.

Lemma fold_qmax_swap x y l : fold_right qmax x (y :: l) = fold_right qmax y (x :: l).
Proof.
  induction l as [|z l IH]; simpl in *; [apply qmax_comm|].
  rewrite qmax_assoc, (qmax_comm y z), <- qmax_assoc, IH, qmax_assoc, (qmax_comm z x), <- qmax_assoc. reflexivity.
Qed.

Lemma fold_qmax_permutation l l' : Permutation l l' -> forall x, fold_right qmax x l = fold_right qmax x l'.
Proof.
  induction 1; intros; simpl; auto; [now f_equal| |congruence].
  now rewrite !qmax_assoc, (qmax_comm y x).
Qed.

Lemma largest_permutation l l' : Permutation l l' -> largest l = largest l'.
Proof.
  induction 1; simpl; auto; [now apply fold_qmax_permutation | apply fold_qmax_swap | congruence].
Qed.

Lemma ties_permutation l l' : Permutation l l' -> ties l = ties l'.
Proof.
  intros P. unfold ties, is_largest. rewrite (largest_permutation _ _ P). apply Permutation_length.
  clear -P. set (f := fun s => _). clearbody f.
  induction P; simpl; auto; repeat destruct (f _); auto; try constructor; auto. eapply perm_trans; eauto.
Qed.

Lemma hardmax_permutation l l' s : Permutation l l' -> hardmax l s = hardmax l' s.
Proof. intros P. unfold hardmax, is_largest. now rewrite (largest_permutation _ _ P), (ties_permutation _ _ P). Qed.

(** A head gives a token the same, in whatever order the others stand. *)
Lemma attend_permutation h X Y x : Permutation X Y -> attend h X x = attend h Y x.
Proof.
  intros P. unfold attend. f_equal.
  rewrite (vsum_permutation _ _ _ (Permutation_map _ P)). f_equal. apply map_ext. intros y.
  f_equal. apply hardmax_permutation. now apply Permutation_map.
Qed.

Lemma permute_is_permutation {A} (e : A) n p X : is_permutation n p -> length X = n -> Permutation (permute e p X) X.
Proof.
  intros P L. unfold permute. rewrite (Permutation_map _ P), <- L. apply Permutation_refl'. clear.
  assert (G : forall (Z : list A) W, map (fun i => nth i (W ++ Z) e) (seq (length W) (length Z)) = Z).
  { induction Z as [|z Z IH]; intros W; simpl; auto.
    rewrite app_nth2, Nat.sub_diag by auto. simpl. f_equal.
    specialize (IH (W ++ [z])). rewrite <- app_assoc, app_length, Nat.add_1_r in IH. exact IH. }
  apply (G X []).
Qed.

Lemma permute_map {A B} (e : A) (e' : B) (f : A -> B) n p X : is_permutation n p -> length X = n ->
  permute e' p (map f X) = map f (permute e p X).
Proof.
  intros P L. unfold permute. rewrite map_map. apply map_ext_in. intros i I.
  rewrite (nth_indep _ e' (f e)), map_nth; auto. rewrite map_length, L.
  apply (Permutation_in _ P), in_seq in I. lia.
Qed.

Lemma layer_equivariant n l : equivariant n (run_layer l).
Proof.
  intros p X P L. destruct l; simpl.
  - unfold attention. rewrite (@permute_map vec vec [] []) with (n := n) by auto. apply map_ext. intros x. f_equal.
    apply map_ext. intros h. apply attend_permutation. eapply permute_is_permutation; eauto.
  - now rewrite (@permute_map vec vec [] []) with (n := n).
Qed.

(** A network without positions is equivariant: g(XP) = g(X)P for every permutation P, ties of hardmax included. *)
Theorem claim1 n layers : equivariant n (run layers).
Proof.
  induction layers as [|l layers IH]; intros p X P L; [reflexivity|].
  unfold run in *. simpl. rewrite layer_equivariant with (n := n) by auto.
  apply IH; auto. now rewrite length_run_layer.
Qed.
