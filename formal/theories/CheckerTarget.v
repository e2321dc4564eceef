(** Targets: CERTIFICATE.md, section 4, as an interpreter over the rational numbers. [None]: there is no value.

    The functions whose values are not rational ([exp], [log], [sqrt], [tanh], [sin], [cos]) are not there. *)

From Coq Require Export QArith Qround Qabs Qminmax List Bool.
Export ListNotations.
Open Scope Q_scope.

(** * Expressions *)

Inductive operation := Add | Sub | Mul | Div | Mod.
Inductive comparison := Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual.
Inductive fold := Sum | Mean | Var | Largest | Least.

Inductive expression :=
| Token | Index | Running | Length
| Number (x : Q) | Negate (a : expression) | Power (a : expression) (k : N)
| Gather (a : expression)
| Bound (b : nat) | GatherBound (b : nat) (a : expression)  (** lets have numbers *)
| Coordinate (a : expression) (k : nat)
| Binary (f : operation) (a b : expression)
| If (c : condition) (a b : expression)
| Absolute (a : expression) | Relu (a : expression) | Floor (a : expression)
| Min (a b : expression) | Max (a b : expression) | Clamp (a l h : expression)
| Aggregate (f : fold) (a : expression) (filter : condition)
| Count (a filter : condition)
| Sort (a : expression)
| Table (a : expression) (entries : list Q)
with condition :=
| Always  (** a filter that is [null] *)
| Compare (f : comparison) (a b : expression)
| And (a b : condition) | Or (a b : condition) | Not (a : condition).

(** A body [each] is one expression at every coordinate, a body [coordinates] one for each coordinate, at 0. *)
Record target := Target { lets : list expression; body : list (expression * nat) }.

(** * Values *)

Definition sequence := list (list Q).

(** Where an expression is evaluated: the sequence, the values of the lets so far as [let][token][coordinate], the output
    token, the running one, the coordinate. *)
Record place := Place { tokens : sequence; bound : list sequence; i : nat; j : option nat; c : nat }.

Definition token (p : place) : nat := match j p with Some j => j | None => i p end.
Definition runs (p : place) (t : nat) : place := Place (tokens p) (bound p) (i p) (Some t) (c p).
Definition stands (p : place) (t : nat) : place := Place (tokens p) (bound p) t None (c p).
Definition at_coordinate (p : place) (k : nat) : place := Place (tokens p) (bound p) (i p) (j p) k.

Definition andThen {A B} (a : option A) (f : A -> option B) : option B := match a with Some a => f a | None => None end.
Notation "x <-- a ;; b" := (andThen a (fun x => b)) (at level 100, a at next level, b at level 200, right associativity).

(** All values, if all are there. *)
Fixpoint every {A B} (f : A -> option B) (l : list A) : option (list B) :=
  match l with [] => Some [] | a :: l => b <-- f a;; bs <-- every f l;; Some (b :: bs) end.

Definition entry (x : sequence) (t k : nat) : option Q := row <-- nth_error x t;; nth_error row k.

(** The whole number that a rational is, if it is one and not negative. *)
Definition whole (x : Q) : option nat :=
  let n := Qfloor x in if Qeq_bool x (inject_Z n) && (0 <=? n)%Z then Some (Z.to_nat n) else None.

Definition absolute (x : Q) : Q := if Qle_bool 0 x then x else - x.
Definition smaller (x y : Q) : Q := if Qle_bool x y then x else y.
Definition larger (x y : Q) : Q := if Qle_bool x y then y else x.

Definition operate (f : operation) (x y : Q) : option Q :=
  match f with
  | Add => Some (x + y) | Sub => Some (x - y) | Mul => Some (x * y)
  | Div => if Qeq_bool y 0 then None else Some (x / y)
  | Mod => if Qeq_bool y 0 then None else Some (x - absolute y * inject_Z (Qfloor (x / absolute y)))
  end.

Definition compare (f : comparison) (x y : Q) : bool :=
  match f with
  | Less => negb (Qle_bool y x) | LessEqual => Qle_bool x y
  | Greater => negb (Qle_bool x y) | GreaterEqual => Qle_bool y x
  | Equal => Qeq_bool x y | NotEqual => negb (Qeq_bool x y)
  end.

Definition total (l : list Q) : Q := fold_right Qplus 0 l.
Definition mean (l : list Q) : option Q :=
  match l with [] => None | _ => Some (total l / inject_Z (Z.of_nat (length l))) end.

Definition aggregate (f : fold) (l : list Q) : option Q :=
  match f, l with
  | Sum, _ => Some (total l)
  | Mean, _ => mean l
  | Var, _ => m <-- mean l;; mean (map (fun x => (x - m) * (x - m)) l)
  | Largest, x :: l => Some (fold_right larger x l)
  | Least, x :: l => Some (fold_right smaller x l)
  | _, [] => None
  end.

Fixpoint insert (x : Q) (l : list Q) : list Q :=
  match l with [] => [x] | y :: r => if Qle_bool x y then x :: l else y :: insert x r end.
Definition sorted (l : list Q) : list Q := fold_right insert [] l.

Definition reduced (x : option Q) : option Q := x <-- x;; Some (Qred x).

Fixpoint number (e : expression) (p : place) : option Q :=
  let n := length (tokens p) in
  match e with
  | Token => entry (tokens p) (token p) (c p)
  | Index => Some (inject_Z (Z.of_nat (i p)))
  | Running => t <-- j p;; Some (inject_Z (Z.of_nat t))
  | Length => Some (inject_Z (Z.of_nat n))
  | Number x => Some x
  | Negate a => x <-- number a p;; Some (- x)
  | Power a k => x <-- number a p;; Some (Qred (x ^ Z.of_N k))
  | Gather a => x <-- number a p;; t <-- whole x;; entry (tokens p) t (c p)
  | Bound b => values <-- nth_error (bound p) b;; entry values (token p) (c p)
  | GatherBound b a => x <-- number a p;; t <-- whole x;; values <-- nth_error (bound p) b;; entry values t (c p)
  | Coordinate a k => number a (at_coordinate p k)
  | Binary f a b => x <-- number a p;; y <-- number b p;; reduced (operate f x y)
  | If h a b => yes <-- holds h p;; if yes : bool then number a p else number b p
  | Absolute a => x <-- number a p;; Some (absolute x)
  | Relu a => x <-- number a p;; Some (larger x 0)
  | Floor a => x <-- number a p;; Some (inject_Z (Qfloor x))
  | Min a b => x <-- number a p;; y <-- number b p;; Some (smaller x y)
  | Max a b => x <-- number a p;; y <-- number b p;; Some (larger x y)
  | Clamp a l h => x <-- number a p;; lo <-- number l p;; hi <-- number h p;; Some (smaller (larger x lo) hi)
  | Aggregate f a filter =>
      shown <-- every (fun t => yes <-- holds filter (runs p t);; Some (t, yes)) (seq 0 n);;
      values <-- every (fun t => number a (runs p (fst t))) (List.filter snd shown);;
      reduced (aggregate f values)
  | Count a filter =>
      shown <-- every (fun t => yes <-- holds filter (runs p t);; Some (t, yes)) (seq 0 n);;
      those <-- every (fun t => holds a (runs p (fst t))) (List.filter snd shown);;
      Some (inject_Z (Z.of_nat (length (List.filter (fun yes => yes) those))))
  | Sort a => values <-- every (fun t => number a (stands p t)) (seq 0 n);; nth_error (sorted values) (token p)
  | Table a entries => x <-- number a p;; at_ <-- whole x;; nth_error entries at_
  end
with holds (h : condition) (p : place) : option bool :=
  match h with
  | Always => Some true
  | Compare f a b => x <-- number a p;; y <-- number b p;; Some (compare f x y)
  | And a b => x <-- holds a p;; y <-- holds b p;; Some (x && y)
  | Or a b => x <-- holds a p;; y <-- holds b p;; Some (x || y)
  | Not a => x <-- holds a p;; Some (negb x)
  end.

(** The values of the lets: each at every token, at coordinates below [dims]. *)
Fixpoint let_values (dims : nat) (x : sequence) (ls : list expression) (before : list sequence) : option (list sequence) :=
  match ls with
  | [] => Some before
  | e :: ls =>
      values <-- every (fun t => every (fun k => number e (Place x before t None k)) (seq 0 dims)) (seq 0 (length x));;
      let_values dims x ls (before ++ [values])
  end.

(** [token][output coordinate] *)
Definition target_value (f : target) (dims : nat) (x : sequence) : option sequence :=
  bound <-- let_values dims x (lets f) [];;
  every (fun t => every (fun e => number (fst e) (Place x bound t None (snd e))) (body f)) (seq 0 (length x)).
