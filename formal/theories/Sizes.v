(* Linked from THEOREMS.md#theorem2, THEOREMS.md#theorem3. *)
(** Sizes, as formulas: the number of layers, and that they are in the paper's class. *)

From Formwright Require Import Numbers Transformer Ids Lemma6Layers Lemma5 Lemma6 Columns Lemma6Outside Lemma7 Contexts ValueMap
  Theorem2 Theorem3Ids Theorem3.

(** The last layers that multiply back, two rows each: none if nothing was divided. *)
Definition rescale_size (d k : nat) : nat := match k with O => 0 | _ => Nat.div2 (S d) end.

Lemma length_quantiser d steps flag : length (quantiser d steps flag) =
  (d * (Z.to_nat steps + match flag with Some _ => 1 | None => 0 end))%nat.
Proof.
  unfold quantiser. rewrite (length_flat_map _ (Z.to_nat steps + match flag with Some _ => 1 | None => 0 end)).
  - now rewrite seq_length.
  - intros i _. unfold quantise_row. rewrite app_length, map_length. unfold range. rewrite map_length, seq_length.
    destruct flag; simpl; lia.
Qed.

Lemma length_pairs : forall d from, length (pairs from d) = Nat.div2 (S d).
Proof.
  enough (G : forall d from, length (pairs from d) = Nat.div2 (S d) /\ length (pairs from (S d)) = Nat.div2 (S (S d)))
    by (intros; apply G).
  induction d as [|d IH]; intros from; [auto|]. split; [apply IH|]. cbn [pairs length]. rewrite (proj1 (IH _)). reflexivity.
Qed.

Lemma length_rescale d k : length (rescale d k) = rescale_size d k.
Proof. destruct k; simpl; auto. rewrite map_length. apply length_pairs. Qed.

Lemma length_value_map n d N F values B :
  (forall s, In s (contexts F) -> length (after F s) = n /\ length (rows F s) = n /\ length (values s) = n) ->
  length (value_map d N F values B) =
  (length (contexts F) * n + rescale_size d (value_exponent d N (lowest F) B))%nat.
Proof.
  intros H. unfold value_map. rewrite app_length, length_rescale, map_length. f_equal. apply length_flat_map.
  intros s S. destruct (H s S) as (A & R & V). unfold entries. rewrite rev_length, !combine_length, map_length. lia.
Qed.

(** The network of Theorem 2 has d(N+1) + (D+1) + (1 + d + n·C(D,n)) layers, and ⌈d/2⌉ more if values are divided
    and multiplied back. *)
Theorem theorem2_size n d N table B : (2 <= n)%nat -> (1 <= d)%nat -> (2 <= N)%Z ->
  is_table n d B (distinct_cells n d N) table ->
  let D := Z.to_nat (N ^ Z.of_nat d) in
  length (theorem2_layers n d N table B) =
  (d * (Z.to_nat N + 1) + (D + 1) + (1 + d + n * binomial D n)
   + rescale_size d (value_exponent d N (t_l n (N ^ Z.of_nat d)) B))%nat.
Proof.
  intros n2 d1 N2 is D. unfold theorem2_layers. rewrite !app_length, !map_length, length_quantiser.
  rewrite (length_value_map n).
  - unfold contextual_map, selective_shifts, zero_outside. rewrite app_length, map_length. unfold range.
    cbn [length]. rewrite !map_length, !seq_length. cbn [sets contexts lowest].
    rewrite length_descending, length_increasing. fold D. lia.
  - intros s S. destruct (sets_shapes n d N table B n2 d1 N2 is s S) as (A & R & V & _). auto.
Qed.

(** The network of Theorem 3 has ndN + ((n-1)D + 1) + nD^n layers, and likewise. *)
Theorem theorem3_size n d N table B : (2 <= n)%nat -> (1 <= d)%nat -> (2 <= N)%Z ->
  is_table n d B (some_cells n d N) table ->
  let D := Z.to_nat (N ^ Z.of_nat d) in
  length (theorem3_layers n d N table B) =
  (d * (n * Z.to_nat N) + ((n - 1) * D + 1) + n * D ^ n
   + rescale_size d (value_exponent d N (lowest (sequences n d N)) B))%nat.
Proof.
  intros n2 d1 N2 is D. unfold theorem3_layers. rewrite !app_length, !map_length, length_quantiser.
  rewrite (length_value_map n).
  - unfold positional_map, positional_windows. rewrite app_length, map_length.
    rewrite (length_flat_map _ D), seq_length by (intros; unfold windows_of, range; now rewrite !map_length, seq_length).
    cbn [length]. cbn [sequences contexts]. rewrite length_descending, length_tuples. fold D.
    rewrite Z2Nat.inj_mul, Nat2Z.id by lia. lia.
  - intros s S. destruct (sequences_shapes n d N table B n2 d1 N2 is s S) as (A & R & V & _). auto.
Qed.

(** * The class: two heads of size one, activations of Φ, at most four hidden units *)

Lemma row_unit_in_class d i a b phi : in_Phi phi -> in_class 4 (Feed (row_unit d i a b phi)).
Proof. intros H. split; [simpl; lia | exact H]. Qed.

Lemma quantiser_in_class d steps flag : Forall (in_class 4) (map Feed (quantiser d steps flag)).
Proof.
  apply Forall_map, Forall_forall. intros f I. unfold quantiser in I. apply in_flat_map in I. destruct I as (i & _ & I).
  unfold quantise_row in I. apply in_app_or in I. destruct I as [I|I].
  - destruct flag; [|easy]. destruct I as [<-|[]]. apply row_unit_in_class. right. left. reflexivity.
  - apply in_map_iff in I. destruct I as (k & <- & _). apply row_unit_in_class. left. reflexivity.
Qed.

Lemma attention_in_class d N vs S : Forall (in_class 4) (map (selective_shift d N) vs ++ [global_shift d N S]).
Proof.
  apply Forall_app. split.
  - apply Forall_map, Forall_forall. intros v _. split; [simpl; lia | repeat constructor].
  - repeat constructor.
Qed.

Lemma pairs_small d : forall from rows, In rows (pairs from d) -> (length rows <= 2)%nat.
Proof.
  enough (G : forall d from rows, (In rows (pairs from d) \/ In rows (pairs from (S d))) -> (length rows <= 2)%nat)
    by (intros; eapply G; eauto).
  clear d. induction d as [|d IH]; intros from rows H.
  - destruct H as [[]|[<-|[]]]. simpl. lia.
  - destruct H as [H|[<-|H]]; [eapply IH; eauto | simpl; lia | eapply IH; eauto].
Qed.

Lemma value_map_in_class d N F values B : Forall (in_class 4) (map Feed (value_map d N F values B)).
Proof.
  apply Forall_map, Forall_forall. intros f I. unfold value_map in I. apply in_app_or in I. destruct I as [I|I].
  - apply in_map_iff in I. destruct I as (e & <- & _). split; [simpl; lia|]. left. reflexivity.
  - unfold rescale in I. destruct (value_exponent d N (lowest F) B); [easy|]. apply in_map_iff in I.
    destruct I as (rows & <- & R). apply pairs_small in R. split; [|left; reflexivity].
    unfold rescale_rows. cbn [W1]. rewrite (length_flat_map _ 2) by reflexivity. lia.
Qed.

(** The layers of Theorem 2 have at most two heads, of size one, or at most four hidden units, with activations of
    Φ. *)
Theorem theorem2_in_class n d N table B : Forall (in_class 4) (theorem2_layers n d N table B).
Proof.
  unfold theorem2_layers. apply Forall_app. split; [apply quantiser_in_class|].
  apply Forall_app. split; [apply (attention_in_class d N)|].
  apply Forall_app. split; [|apply value_map_in_class].
  unfold zero_outside. cbn [map]. constructor; [split; [simpl; lia | left; reflexivity]|].
  apply Forall_map, Forall_map, Forall_forall. intros i _. apply row_unit_in_class. left. reflexivity.
Qed.

(** The layers of Theorem 3 are of that class too. *)
Theorem theorem3_in_class n d N table B : Forall (in_class 4) (theorem3_layers n d N table B).
Proof.
  unfold theorem3_layers. apply Forall_app. split; [apply quantiser_in_class|].
  apply Forall_app. split; [apply attention_in_class | apply value_map_in_class].
Qed.
