(** The columns of the grid, as lists of [d] whole numbers in [[0, N)], and their ids.

    The id [uᵀz], [u = (1, N, …, N^{d-1})], reads a column as a number to the base [N]. In the extended grid a coordinate
    may also be the flag [-F]. *)

From Formwright Require Import Numbers Transformer Ids Lemma6Layers.
Local Open Scope Z_scope.

Definition id (d : nat) (N : Z) (z : list Z) : Z := zdot (radix d N) z.

Definition in_grid (N : Z) (z : list Z) : Prop := Forall (fun c => 0 <= c < N) z.
Definition in_extended_grid (N F : Z) (z : list Z) : Prop := Forall (fun c => 0 <= c < N \/ c = - F) z.

(** The column with the id [l]. *)
Fixpoint digits (d : nat) (N l : Z) : list Z :=
  match d with O => [] | S k => l mod N :: digits k N (l / N) end.

(** [1 + N + … + N^{d-1}]. *)
Definition repunit (d : nat) (N : Z) : Z := fold_right Z.add 0 (radix d N).

(** The column [z] as its id and its other rows. *)
Definition split (d : nat) (N : Z) (z : list Z) : Z * list Z := (id d N z, tl z).

Lemma radix_S d N : radix (S d) N = 1 :: map (Z.mul N) (radix d N).
Proof.
  unfold radix. cbn [seq map]. f_equal. rewrite <- seq_shift, !map_map. apply map_ext. intros i.
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. reflexivity.
Qed.

Lemma id_cons d N c z : id (S d) N (c :: z) = c + N * id d N z.
Proof.
  unfold id, zdot. rewrite radix_S. cbn [combine map fold_right fst snd]. rewrite Z.mul_1_l. f_equal.
  generalize (radix d N). revert z. induction z as [|y z IH]; intros [|r R]; cbn [combine map fold_right fst snd]; try lia.
  rewrite IH. ring.
Qed.

Lemma id_first d N c z : (1 <= d)%nat -> id d N (c :: z) = c + zdot (tl (radix d N)) z.
Proof.
  intros d1. unfold id, zdot. destruct d as [|k]; [lia|]. rewrite radix_S. cbn [combine map fold_right fst snd tl]. lia.
Qed.

Lemma repunit_S d N : repunit (S d) N = 1 + N * repunit d N.
Proof.
  unfold repunit. rewrite radix_S. cbn [fold_right]. f_equal.
  induction (radix d N) as [|r R IH]; cbn [map fold_right]; lia.
Qed.

Lemma pow_S N d : N ^ Z.of_nat (S d) = N * N ^ Z.of_nat d.
Proof. rewrite Nat2Z.inj_succ, Z.pow_succ_r; lia. Qed.

Section Columns.
Variables (N F : Z).
Hypothesis N2 : 2 <= N.
Hypothesis F0 : 0 <= F.

Lemma pow_pos d : 1 <= N ^ Z.of_nat d.
Proof. induction d as [|d IH]; [cbn; lia|]. rewrite pow_S. nia. Qed.

Lemma pow_ge_2 d : (1 <= d)%nat -> 2 <= N ^ Z.of_nat d.
Proof. destruct d; [lia|]. intros _. rewrite pow_S. pose proof (pow_pos d). nia. Qed.

Lemma repunit_pos d : (1 <= d)%nat -> 1 <= repunit d N.
Proof.
  assert (A : forall d, 0 <= repunit d N) by (induction d0 as [|e IH]; [cbn; lia|]; rewrite repunit_S; nia).
  destruct d; [lia|]. rewrite repunit_S. specialize (A d). nia.
Qed.

Lemma repunit_pow d : (N - 1) * repunit d N = N ^ Z.of_nat d - 1.
Proof. induction d as [|d IH]; [cbn; lia|]. rewrite repunit_S, pow_S. nia. Qed.

Lemma id_in_range : forall d z, length z = d -> in_grid N z -> 0 <= id d N z < N ^ Z.of_nat d.
Proof.
  induction d as [|d IH]; intros [|c z] L G; simpl in L; try lia; [cbn; lia|].
  inversion G; subst. rewrite id_cons, pow_S. specialize (IH z ltac:(lia) H2). nia.
Qed.

Lemma id_injective : forall d z z', length z = d -> length z' = d -> in_grid N z -> in_grid N z' ->
  id d N z = id d N z' -> z = z'.
Proof.
  induction d as [|d IH]; intros [|c z] [|c' z'] L L' G G' E; simpl in L, L'; try lia; auto.
  inversion G; inversion G'; subst. rewrite !id_cons in E.
  assert (c = c').
  { apply (f_equal (fun x => x mod N)) in E. rewrite !(Z.mul_comm N), !Z.mod_add, !Z.mod_small in E; lia. }
  subst. f_equal. apply IH; auto; try lia. nia.
Qed.

Lemma length_digits : forall d l, length (digits d N l) = d.
Proof. induction d; intros; simpl; auto. Qed.

Lemma digits_in_grid : forall d l, in_grid N (digits d N l).
Proof. induction d; intros; simpl; constructor; [apply Z.mod_pos_bound; lia | apply IHd]. Qed.

Lemma id_digits : forall d l, 0 <= l < N ^ Z.of_nat d -> id d N (digits d N l) = l.
Proof.
  induction d as [|d IH]; intros l B; [cbn in *; lia|]. rewrite pow_S in B. cbn [digits]. rewrite id_cons, IH.
  - rewrite (Z.div_mod l N) at 3 by lia. lia.
  - split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia].
Qed.

Lemma digits_id d z : length z = d -> in_grid N z -> digits d N (id d N z) = z.
Proof.
  intros L G. apply (id_injective d); auto using length_digits, digits_in_grid. apply id_digits. now apply id_in_range.
Qed.

(** The first coordinate is at most the id, inside of the grid. *)
Lemma first_le_id : forall d z, length z = d -> in_grid N z -> hd 0 z <= id d N z.
Proof.
  intros [|d] [|c z] L G; simpl in L; try lia; [cbn; lia|]. rewrite id_cons. simpl. inversion G; subst.
  pose proof (id_in_range d z ltac:(lia) H2). nia.
Qed.

(** * Flags *)

Lemma in_grid_extended z : in_grid N z -> in_extended_grid N F z.
Proof. apply Forall_impl. auto. Qed.

Lemma extended_cases z : in_extended_grid N F z -> in_grid N z \/ In (- F) z.
Proof.
  induction 1 as [|c z [C|C] G IH]; [left; constructor| |right; simpl; auto].
  destruct IH; [left; now constructor | right; simpl; auto].
Qed.

Lemma id_below : forall d z, length z = d -> in_extended_grid N F z -> id d N z <= N ^ Z.of_nat d - 1.
Proof.
  induction d as [|d IH]; intros [|c z] L G; simpl in L; try lia; [cbn; lia|].
  inversion G; subst. rewrite id_cons, pow_S. specialize (IH z ltac:(lia) H2). nia.
Qed.

Lemma id_above : forall d z, length z = d -> in_extended_grid N F z -> - (F * repunit d N) <= id d N z.
Proof.
  induction d as [|d IH]; intros [|c z] L G; simpl in L; try lia; [cbn; lia|].
  inversion G; subst. rewrite id_cons, repunit_S. specialize (IH z ltac:(lia) H2). nia.
Qed.

(** A column with a flag has an id far below 0. *)
Lemma flagged_id : forall d z, length z = d -> in_extended_grid N F z -> In (- F) z ->
  id d N z <= - F + N ^ Z.of_nat d - 1.
Proof.
  induction d as [|d IH]; intros [|c z] L G I; simpl in L; try lia; [easy|].
  inversion G; subst. rewrite id_cons, pow_S. destruct I as [->|I].
  - pose proof (id_below d z ltac:(lia) H2). nia.
  - specialize (IH z ltac:(lia) H2 I). pose proof (pow_pos d). nia.
Qed.
End Columns.

(** * Columns as tokens *)

Lemma token_split d N z : (1 <= d)%nat -> length z = d -> token d N (split d N z) = map inj z.
Proof.
  intros d1 L. destruct z as [|c z]; [simpl in L; lia|]. unfold token, split. cbn [fst snd tl map].
  f_equal. f_equal. rewrite id_first by auto. lia.
Qed.

Lemma fits_split d N X : (1 <= d)%nat -> Forall (fun z => length z = d) X -> Forall (fits d) (map (split d N) X).
Proof.
  intros d1 L. apply Forall_map. eapply Forall_impl; [|exact L]. intros [|c z] E; unfold fits; simpl in *; lia.
Qed.

Lemma tokens_split d N X : (1 <= d)%nat -> Forall (fun z => length z = d) X ->
  map (map inj) X = map (token d N) (map (split d N) X).
Proof.
  intros d1 L. rewrite map_map. apply map_ext_in. intros z Z. rewrite Forall_forall in L. symmetry. apply token_split; auto.
Qed.

Lemma ids_split d N X : map fst (map (split d N) X) = map (id d N) X.
Proof. now rewrite map_map. Qed.
