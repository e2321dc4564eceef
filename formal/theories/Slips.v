(* Linked from THEOREMS.md#lemma5, THEOREMS.md#lemma6, THEOREMS.md#lemma7, THEOREMS.md#theorem3. *)
(** Printed steps that fail as they stand, each with a counterexample that Coq computes: the layers are run.

    Outputs are compared as pairs of numerator and denominator. *)

From Formwright Require Import Numbers Transformer Ids Lemma6Layers Lemma5 Lemma6 Columns Lemma6Outside Lemma7 Contexts ValueMap
  Theorem2 Theorem3Ids.

(** Numbers as fractions, to be read. *)
Definition show (X : sequence) : list (list Q) := map (map this) X.
Definition ints (X : list (list Z)) : sequence := map (map inj) X.
Definition frac (a : Z) (b : positive) : Qc := Q2Qc (a # b).

(** * Lemma 7 lacks a hypothesis

    [n = 2], [d = 1], [N = 2]. The only context is {0, 1}, its centres are 26 and 27 in integer units. The values are 27
    and 14. With the windows in the order of their listing, both tokens end at 14. *)

Definition listed_windows : list layer :=
  map Feed (map (value_layer 1 2)
    (combine (combine (context_ids 2 2 [0; 1]%Z) (map (fun l => tl (digits 1 2 l)) [0; 1]%Z)) (ints [[27]; [14]]%Z))).

Lemma lemma7_centres : context_ids 2 2 [0; 1]%Z = [26; 27]%Z.
Proof. reflexivity. Qed.

(** Lemma 7 with its windows as listed: values 27 and 14 come out as 14 and 14. *)
Lemma lemma7_as_listed : show (run (contextual_map 2 1 2 ++ listed_windows) (ints [[0]; [1]]%Z)) = show (ints [[14]; [14]]%Z).
Proof. now vm_compute. Qed.

(** With the windows repaired, the network gives 27 and 14. *)
Lemma lemma7_repaired :
  show (run (theorem2_layers 2 1 2 (fun L => map (map (fun c => if (c =? 0)%Z then inj 27 else inj 14)) L) (inj 27)) (ints [[0]; [1]]%Z))
  = show (ints [[27]; [14]]%Z).
Proof. now vm_compute. Qed.

(** * Theorem 3: a token that is shifted twice

    [n = 2], [d = 1], [N = 4], with the printed positions 0 and 1 and a sweep of all [nD] windows: the ids 3 and 4 become
    43 and 16, so [l̃_1 < l̃_2] fails. *)

Lemma theorem3_as_printed : fold_left (step 4) (range 8) [3; 4]%Z = [43; 16]%Z.
Proof. reflexivity. Qed.

(** Theorem 3 with positions 0, 1 and a sweep of nD windows: the ids 3, 4 become 43, 16, not in order. *)
Lemma theorem3_layers_as_printed : show (run (map (selective_shift 1 4) (range 8)) (ints [[3]; [4]]%Z)) = show (ints [[43]; [16]]%Z).
Proof. now vm_compute. Qed.

(** So for every [D]: the ids [D-1] and [D] become [2D-1 + D(D-1)²] and [D²]. *)
Lemma step_two D a b v : step D [a; b] v =
  [if (a =? v)%Z then (a + D * (Z.max a b - Z.min a b))%Z else a; if (b =? v)%Z then (b + D * (Z.max a b - Z.min a b))%Z else b].
Proof.
  unfold step. replace (zmax [a; b]) with (Z.max a b) by (unfold zmax; simpl; lia).
  replace (zmin [a; b]) with (Z.min a b) by (unfold zmin; simpl; lia). reflexivity.
Qed.

(** For n = 2, d = 1 and every D ≥ 2, as printed: the ids D-1, D become 2D-1 + D(D-1)², D², not in order. *)
Theorem theorem3_shifts_twice D : (2 <= D)%Z ->
  fold_left (step D) (range (Z.to_nat (2 * D))) [D - 1; D]%Z = [2 * D - 1 + D * (D - 1) * (D - 1); D * D]%Z.
Proof.
  intros D2. assert (Q : (2 * D <= D * D)%Z) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (G : forall v, (Z.of_nat v <= 2 * D - 1)%Z -> fold_left (step D) (range v) [D - 1; D]%Z =
    [if (Z.of_nat v <=? D - 1)%Z then (D - 1)%Z else (2 * D - 1)%Z; if (Z.of_nat v <=? D)%Z then D else (D * D)%Z]).
  { induction v as [|v IH]; intros V.
    - simpl. destruct (Z.leb_spec 0 (D - 1)); [|lia]. destruct (Z.leb_spec 0 D); [auto|lia].
    - rewrite range_S, fold_left_app, IH by lia. cbn [fold_left]. rewrite step_two.
      destruct (Z.leb_spec (Z.of_nat v) (D - 1)), (Z.leb_spec (Z.of_nat v) D),
        (Z.leb_spec (Z.of_nat (S v)) (D - 1)), (Z.leb_spec (Z.of_nat (S v)) D); try lia;
        repeat match goal with |- context [(?x =? Z.of_nat v)%Z] => destruct (Z.eqb_spec x (Z.of_nat v)); try lia end;
        f_equal; try lia; f_equal; lia. }
  replace (Z.to_nat (2 * D)) with (S (Z.to_nat (2 * D - 1))) by lia.
  rewrite range_S, fold_left_app, G by lia. cbn [fold_left]. rewrite step_two, Z2Nat.id by lia.
  destruct (Z.leb_spec (2 * D - 1) (D - 1)); [lia|]. destruct (Z.leb_spec (2 * D - 1) D); [lia|].
  rewrite Z.eqb_refl. destruct (Z.eqb_spec (D * D) (2 * D - 1)); [lia|]. f_equal. lia.
Qed.

(** * The flag of the lecture

    With [F = N^{1-nd}] instead of [N^{1+nd}], [n = 2], [d = 1], [N = 4]: the sequence (-1/4, 2) of the extended grid has
    ids in [[t_l, t_r] = [768, 3072]]. *)

(** The lecture's flag -N^{1-nd}: a flagged sequence has ids 1864¾ and 1885, inside of [768, 3072]. *)
Lemma flag_as_printed : show (run (contextual_map 2 1 4) [[frac (-1) 4]; [inj 2]]) = [[7459 # 4]; [1885 # 1]]%Q.
Proof. now vm_compute. Qed.

Lemma flag_interval : (t_l 2 4 = 768 /\ t_r 2 4 = 3072)%Z.
Proof. now split. Qed.

(** * The flag for [[0, 1]] instead of [[0, 1)]

    A coordinate at the upper end is neither flagged nor in a cell: with [N = 4] it stays at 4. *)

Definition closed_flag : piecewise := window 0 (inj 4) true (0, 0) (- (1), - inj (flag_magnitude 2 1 4)).

(** A flag for what is outside of [0, 1]: the coordinate 1 is neither flagged nor in a cell. *)
Lemma closed_flag_misses :
  show (run (map Feed (row_unit 1 0 1 0 closed_flag :: quantise_row 1 4 None 0)) (ints [[4]; [0]]%Z)) = show (ints [[4]; [0]]%Z).
Proof. now vm_compute. Qed.

(** * Without the factor [D] before Ψ

    The shift must be [D (max - min)]. With [max - min], [n = 2] and [D = 4], the ids 0 and 1 both become 1. *)

Definition shift_without_factor (d : nat) (N v : Z) : layer :=
  Attention [psi d N (inj v - half) 1; psi d N (inj v + half) (- (1))].

(** No factor D before Ψ: the ids 0 and 1 both become 1. *)
Lemma factor_lost : show (run (map (shift_without_factor 1 4) (range 4)) (ints [[0]; [1]]%Z)) = show (ints [[1]; [1]]%Z).
Proof. now vm_compute. Qed.

(** * Equal columns cannot be counted

    [n = 3], [d = 1], [N = 4]: {0, 0, 1} and {0, 1, 1} have the same ids, 3332 and 3341. So the loss on cells with equal
    columns is structural. *)

(** No slip, but why equal columns cost: {0,0,1} and {0,1,1} share their ids 3332 and 3341. *)
Lemma multiplicities_are_invisible :
  show (run (contextual_map 3 1 4) (ints [[0]; [0]; [1]]%Z)) = show (ints [[3332]; [3332]; [3341]]%Z) /\
  show (run (contextual_map 3 1 4) (ints [[0]; [1]; [1]]%Z)) = show (ints [[3332]; [3341]; [3341]]%Z).
Proof. split; now vm_compute. Qed.
