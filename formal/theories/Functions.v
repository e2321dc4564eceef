(* Linked from THEOREMS.md#theorem2, THEOREMS.md#theorem3. *)
(** Theorems 2 and 3 for functions on the unit box, in the paper's real units.

    The network stores [N f(C_L)], [C_L] the centre of the cell [L]. The embedding multiplies by [N], the read-out divides.
    On the cells that a theorem serves, [g(X) = f(C_L)]: the piecewise constant function of Lemma 8. If [f] moves by at
    most [ε] where its argument moves by at most half a cell's side, then [|g(X) - f(X)| <= ε] there. *)

From Formwright Require Import Numbers Transformer Claim1 Ids Lemma6Layers Lemma5 Columns Lemma6Outside Lemma7 Contexts ValueMap
  Theorem2 Theorem3Ids Theorem3.

(** * The construction *)

Definition embed (N : Z) (X : sequence) : sequence := map (scale (inj N)) X.
Definition read_out (N : Z) (Y : sequence) : sequence := map (scale (/ inj N)) Y.

(** [C_L]: the point [(c + ½)/N] in every coordinate. *)
Definition centre (N : Z) (L : list (list Z)) : sequence := map (map (fun c => / inj N * (inj c + half))) L.

Definition stored (N : Z) (f : sequence -> sequence) (L : list (list Z)) : sequence := map (scale (inj N)) (f (centre N L)).

Definition theorem2_network (n d : nat) (N : Z) (f : sequence -> sequence) (B : Qc) (X : sequence) : sequence :=
  read_out N (run (theorem2_layers n d N (stored N f) (inj N * B)) (embed N X)).

Definition theorem3_network (n d : nat) (N : Z) (f : sequence -> sequence) (B : Qc) (X : sequence) : sequence :=
  read_out N (run (theorem3_layers n d N (stored N f) (inj N * B)) (add_positions (embed N X) (encoding n d N))).

(** * The statement *)

Definition unit_box (X : sequence) : Prop := Forall (Forall (fun t => 0 <= t /\ t < 1)) X.

(** The cell of a point. *)
Definition cell_of (N : Z) (X : sequence) : list (list Z) := cells (embed N X).

(** A function on the unit box with values of at most [B]. *)
Definition is_function (n d : nat) (B : Qc) (f : sequence -> sequence) : Prop :=
  forall X, shaped n d X -> unit_box X -> shaped n d (f X) /\ Forall (Forall (fun t => t <= B)) (f X).

Definition equivariant_function (n d : nat) (f : sequence -> sequence) : Prop :=
  forall p X, is_permutation n p -> shaped n d X -> unit_box X -> f (permute [] p X) = permute [] p (f X).

(** * Proof *)

Section Units.
Variables (n d : nat) (N : Z).
Hypothesis N2 : (2 <= N)%Z.

Lemma N_pos : 0 < inj N.
Proof. rewrite <- inj_0. apply inj_lt. lia. Qed.

Lemma N_not_0 : inj N <> 0.
Proof. pose proof N_pos as P. intros E. rewrite E in P. discriminate. Qed.

Lemma inv_N x : inj N * (/ inj N * x) = x.
Proof. field. apply N_not_0. Qed.

Lemma less_by_N x y : inj N * x < inj N * y -> x < y.
Proof.
  intros H. destruct (Qclt_le_dec x y) as [|C]; auto. exfalso. pose proof N_pos.
  apply (mult_pos_le _ _ (inj N)) in C; qlra.
Qed.

Lemma at_most_by_N x y : inj N * x <= inj N * y -> x <= y.
Proof.
  intros H. destruct (Qclt_le_dec y x) as [C|]; auto. exfalso. pose proof N_pos.
  apply (mult_pos_lt _ _ (inj N)) in C; qlra.
Qed.

Lemma embed_shaped X : shaped n d X -> shaped n d (embed N X).
Proof.
  intros [L H]. split; [unfold embed; now rewrite map_length|]. apply Forall_map. eapply Forall_impl; [|exact H].
  intros. unfold scale. now rewrite map_length.
Qed.

Lemma embed_box X : unit_box X <-> in_box N (embed N X).
Proof.
  unfold unit_box, in_box, embed, scale. rewrite Forall_map. pose proof N_pos.
  split; intros H0; (eapply Forall_impl; [|exact H0]); cbv beta; intros x Hx; [apply Forall_map | rewrite Forall_map in Hx];
    (eapply Forall_impl; [|exact Hx]); cbv beta; intros t [A C].
  - split; [replace 0 with (inj N * 0) by ring; apply mult_pos_le; qlra|].
    replace (inj N) with (inj N * 1) at 2 by ring. now apply mult_pos_lt.
  - split; [apply at_most_by_N; replace (inj N * 0) with 0 by ring; auto|].
    apply less_by_N. replace (inj N * 1) with (inj N) by ring. auto.
Qed.

Lemma centre_shaped L : some_cells n d N L -> shaped n d (centre N L).
Proof.
  intros (LL & HL & _). split; [unfold centre; now rewrite map_length|]. apply Forall_map. eapply Forall_impl; [|exact HL].
  intros. now rewrite map_length.
Qed.

Lemma centre_in_box L : some_cells n d N L -> unit_box (centre N L).
Proof.
  intros (_ & _ & G). unfold unit_box, centre. apply Forall_map. eapply Forall_impl; [|exact G]. intros z Z.
  apply Forall_map. eapply Forall_impl; [|exact Z]. cbv beta. intros c C. pose proof halves.
  assert (A : inj 0 <= inj c) by (apply inj_le; lia). assert (C' : inj (c + 1) <= inj N) by (apply inj_le; lia).
  rewrite inj_plus, inj_1 in C'. rewrite inj_0 in A. split; [apply at_most_by_N | apply less_by_N]; rewrite inv_N.
  - replace (inj N * 0) with 0 by ring. qlra.
  - replace (inj N * 1) with (inj N) by ring. qlra.
Qed.

Lemma stored_is_table B f (P : list (list Z) -> Prop) : is_function n d B f -> (forall L, P L -> some_cells n d N L) ->
  is_table n d (inj N * B) P (stored N f).
Proof.
  intros F S L HL. specialize (S L HL). destruct (F _ (centre_shaped L S) (centre_in_box L S)) as [[Lf Hf] Bf].
  unfold stored. split; [now rewrite map_length|]. apply Forall_map. rewrite Forall_forall in *. intros v V. split.
  - unfold scale. rewrite map_length. auto.
  - unfold scale. apply Forall_map. specialize (Bf v V). eapply Forall_impl; [|exact Bf]. cbv beta. intros t T.
    apply mult_pos_le; auto. pose proof N_pos. qlra.
Qed.

Lemma read_stored f L : read_out N (stored N f L) = f (centre N L).
Proof.
  unfold read_out, stored. rewrite map_map. rewrite <- (map_id (f _)) at 2. apply map_ext. intros v.
  unfold scale. rewrite map_map. rewrite <- (map_id v) at 2. apply map_ext. intros t. field. apply N_not_0.
Qed.

Lemma read_zero : read_out N (repeat (zeros d) n) = repeat (zeros d) n.
Proof. unfold read_out. induction n; simpl; auto. now rewrite IHn0, scale_zeros. Qed.

Lemma stored_equivariant B f : is_function n d B f -> equivariant_function n d f ->
  equivariant_table n (distinct_cells n d N) (stored N f).
Proof.
  intros F E p L Pp (LL & HL & G & _). assert (S : some_cells n d N L) by (split; auto).
  unfold stored. replace (centre N (permute [] p L)) with (permute [] p (centre N L)).
  - rewrite E by (auto using centre_shaped, centre_in_box).
    destruct (F _ (centre_shaped L S) (centre_in_box L S)) as [[Lf _] _].
    symmetry. apply (permute_map (A := vec) (B := vec) [] [] _ n); auto.
  - unfold centre. apply (permute_map (A := list Z) (B := vec) [] [] _ n); auto.
Qed.
End Units.

(** **Theorem 2** in the paper's units, for every equivariant function f on the unit box: the network gives f at the
    centre of every cell with distinct columns, and 0 at every other point. *)
Theorem theorem2 n d N f B : (2 <= n)%nat -> (1 <= d)%nat -> (2 <= N)%Z -> is_function n d B f -> equivariant_function n d f ->
  forall X, shaped n d X ->
  (unit_box X -> NoDup (cell_of N X) -> theorem2_network n d N f B X = f (centre N (cell_of N X))) /\
  (~ (unit_box X /\ NoDup (cell_of N X)) -> theorem2_network n d N f B X = repeat (zeros d) n).
Proof.
  intros n2 d1 N2 F E X Sh. unfold theorem2_network.
  assert (T : is_table n d (inj N * B) (distinct_cells n d N) (stored N f)).
  { apply stored_is_table; auto. intros L (A & C & G & _). split; auto. }
  pose proof (embed_shaped n d N X Sh) as Se. split.
  - intros Box nd. rewrite theorem2_on_contexts; auto.
    + now apply read_stored.
    + now apply stored_equivariant with B.
    + now apply embed_box.
  - intros Out. rewrite theorem2_elsewhere; auto; [now apply read_zero|].
    intros [Box nd]. apply Out. split; auto. now apply embed_box in Box.
Qed.

(** **Theorem 3** in the paper's units, for every function: the network gives f at the centre of every cell of the
    box. *)
Theorem theorem3 n d N f B : (2 <= n)%nat -> (1 <= d)%nat -> (2 <= N)%Z -> is_function n d B f ->
  forall X, shaped n d X -> unit_box X -> theorem3_network n d N f B X = f (centre N (cell_of N X)).
Proof.
  intros n2 d1 N2 F X Sh Box. unfold theorem3_network. rewrite theorem3_on_the_box; auto.
  - now apply read_stored.
  - apply stored_is_table; auto.
  - now apply embed_shaped.
  - now apply embed_box.
Qed.
