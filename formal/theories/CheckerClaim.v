(** Claims over integers: CERTIFICATE.md, section 5. *)

From Formwright Require Import RulesExecution CheckerNetwork.
From Formwright Require CheckerTarget.
From Coq Require Import QArith Qreals.
Open Scope R_scope.

(** * The claim *)

Record claim := Claim {
  execution : format;
  shortest : nat; longest : nat;  (** tokens *)
  dims : nat;
  integers_from : Z; integers_before : Z;  (** the domain, [from <= x < before] *)
  otherwise : option Q;  (** over distinct integers: the value where tokens are equal *)
  error_bound : Q
}.

Fixpoint distinct (x : list (list Z)) : bool :=
  match x with
  | [] => true
  | t :: x => negb (existsb (fun s => if list_eq_dec Z.eq_dec t s then true else false) x) && distinct x
  end.

(** What the network should give, [token][coordinate]; [None]: there is no such value. *)
Definition wanted (c : claim) (f : CheckerTarget.target) (x : list (list Z)) : option (list (list Q)) :=
  let value := CheckerTarget.target_value f (dims c) (map (map inject_Z) x) in
  match otherwise c with
  | Some r => if distinct x then value else Some (map (fun _ => map (fun _ => r) (CheckerTarget.body f)) x)
  | None => value
  end.

(** A sequence that the claim is about. *)
Definition covers (c : claim) (x : list (list Z)) : Prop :=
  (shortest c <= length x <= longest c)%nat /\
  Forall (fun token => length token = dims c /\ Forall (fun n => (integers_from c <= n < integers_before c)%Z) token) x.

(** [y] is within the bound of [f], number by number. *)
Definition near (c : claim) (f : list (list Q)) (y : list (list R)) : Prop :=
  Forall2 (Forall2 (fun f y => Rabs (y - Q2R f) <= Q2R (error_bound c))) f y.

(** For every sequence there is a wanted value, and every execution gives numbers within the bound of it: none
    overflows. *)
Definition met (c : claim) (net : network) (f : CheckerTarget.target) : Prop :=
  forall x, covers c x ->
    exists values, wanted c f x = Some values /\
      forall r, outputs (execution c) net x r -> exists y, r = Some y /\ near c values y.
