(** Rational numbers, with equality as Coq's own equality.

    [Qc] is the type of rational numbers in lowest terms, so that two equal numbers are one and the same term. Whole
    numbers enter by [inj]. The tactic [qlra] settles linear (in)equalities between rational numbers. *)

From Coq Require Export QArith Qcanon Qround ZArith List Lia Bool Permutation.
From Coq Require Import Lqa.
Export ListNotations.
Open Scope Qc_scope.

(** A whole number as a rational one. *)
Definition inj (z : Z) : Qc := Q2Qc (inject_Z z).

Definition half : Qc := Q2Qc (1 # 2).

(** [x < y], decided. *)
Definition ltb (x y : Qc) : bool := if Qclt_le_dec x y then true else false.
Definition leb (x y : Qc) : bool := negb (ltb y x).

Lemma this_plus x y : (this (x + y) == this x + this y)%Q.
Proof. apply Qred_correct. Qed.
Lemma this_mult x y : (this (x * y) == this x * this y)%Q.
Proof. apply Qred_correct. Qed.
Lemma this_opp x : (this (- x) == - this x)%Q.
Proof. apply Qred_correct. Qed.
Lemma this_minus x y : (this (x - y) == this x - this y)%Q.
Proof. unfold Qcminus. rewrite this_plus, this_opp. reflexivity. Qed.
Lemma this_Q2Qc q : (this (Q2Qc q) == q)%Q.
Proof. apply Qred_correct. Qed.
Lemma this_inj z : (this (inj z) == inject_Z z)%Q.
Proof. apply Qred_correct. Qed.
Lemma this_half : (this half == 1 # 2)%Q.
Proof. reflexivity. Qed.

Lemma eq_this x y : x = y <-> (this x == this y)%Q.
Proof. split; [now intros -> | apply Qc_is_canon]. Qed.

(* What an expression means in Q is added as a hypothesis, once for each subterm. *)
Ltac add_fact H :=
  let T := type of H in
  match goal with K : T |- _ => fail 1 | _ => pose proof H end.

Ltac expand :=
  repeat match goal with
  | _ : context [this (?x + ?y)] |- _ => add_fact (this_plus x y)
  | |- context [this (?x + ?y)] => add_fact (this_plus x y)
  | _ : context [this (?x - ?y)] |- _ => add_fact (this_minus x y)
  | |- context [this (?x - ?y)] => add_fact (this_minus x y)
  | _ : context [this (?x * ?y)] |- _ => add_fact (this_mult x y)
  | |- context [this (?x * ?y)] => add_fact (this_mult x y)
  | _ : context [this (- ?x)] |- _ => add_fact (this_opp x)
  | |- context [this (- ?x)] => add_fact (this_opp x)
  | _ : context [this half] |- _ => add_fact this_half
  | |- context [this half] => add_fact this_half
  | _ : context [this (Q2Qc ?x)] |- _ => add_fact (this_Q2Qc x)
  | |- context [this (Q2Qc ?x)] => add_fact (this_Q2Qc x)
  end.

Ltac to_Q :=
  unfold Qcle, Qclt in *;
  repeat match goal with H : @eq Qc _ _ |- _ => apply eq_this in H end;
  try match goal with |- @eq Qc _ _ => apply eq_this end;
  expand.

Ltac qlra := to_Q; lra.

Lemma inj_plus a b : inj (a + b) = inj a + inj b.
Proof. apply eq_this. rewrite this_plus, !this_inj. now rewrite inject_Z_plus. Qed.
Lemma inj_mult a b : inj (a * b) = inj a * inj b.
Proof. apply eq_this. rewrite this_mult, !this_inj. now rewrite inject_Z_mult. Qed.
Lemma inj_opp a : inj (- a) = - inj a.
Proof. apply eq_this. rewrite this_opp, !this_inj. now rewrite inject_Z_opp. Qed.
Lemma inj_minus a b : inj (a - b) = inj a - inj b.
Proof. unfold Z.sub, Qcminus. now rewrite inj_plus, inj_opp. Qed.
Lemma inj_le a b : inj a <= inj b <-> (a <= b)%Z.
Proof. unfold Qcle. rewrite !this_inj. now rewrite <- Zle_Qle. Qed.
Lemma inj_lt a b : inj a < inj b <-> (a < b)%Z.
Proof. unfold Qclt. rewrite !this_inj. now rewrite <- Zlt_Qlt. Qed.
Lemma inj_eq a b : inj a = inj b <-> a = b.
Proof. split; [|now intros ->]. rewrite eq_this, !this_inj. apply inject_Z_injective. Qed.
Lemma inj_0 : inj 0 = 0.
Proof. reflexivity. Qed.
Lemma inj_1 : inj 1 = 1.
Proof. reflexivity. Qed.

Lemma ltb_spec x y : reflect (x < y) (ltb x y).
Proof. unfold ltb. destruct (Qclt_le_dec x y); constructor; auto. intro. qlra. Qed.
Lemma leb_spec x y : reflect (x <= y) (leb x y).
Proof. unfold leb. destruct (ltb_spec y x); constructor; auto. - intro. qlra. - destruct (Qclt_le_dec y x); auto; easy. Qed.

(** The whole part. *)
Definition floor (x : Qc) : Z := Qfloor (this x).

Lemma floor_low x : inj (floor x) <= x.
Proof. unfold Qcle. rewrite this_inj. apply Qfloor_le. Qed.
Lemma floor_high x : x < inj (floor x + 1).
Proof. unfold Qclt. rewrite this_inj. apply Qlt_floor. Qed.

Lemma floor_unique x k : inj k <= x -> x < inj (k + 1) -> floor x = k.
Proof.
  intros L H. pose proof (floor_low x). pose proof (floor_high x).
  assert (inj k < inj (floor x + 1)) by qlra. assert (inj (floor x) < inj (k + 1)) by qlra.
  rewrite inj_lt in *. lia.
Qed.

Lemma mult_pos_le x y z : 0 <= z -> x <= y -> z * x <= z * y.
Proof. intros. rewrite (Qcmult_comm z x), (Qcmult_comm z y). now apply Qcmult_le_compat_r. Qed.
Lemma mult_pos_lt x y z : 0 < z -> x < y -> z * x < z * y.
Proof. intros. rewrite (Qcmult_comm z x), (Qcmult_comm z y). now apply Qcmult_lt_compat_r. Qed.
