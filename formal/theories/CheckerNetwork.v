(** Networks and their executions: CERTIFICATE.md, sections 2 and 3, as a program whose steps may come out in many ways.

    Whoever reads what the checker proves has to believe this file, [CheckerTarget] and [CheckerClaim]. One sum, one
    rounding, one exponential are those of [RulesExecution]. Terms that are 0 are among those of a sum; that they do not
    count is [zeros_do_not_count] of [RulesSums]. *)

From Formwright Require Import RulesExecution.

(** * The formats *)

Inductive format := F32 | F64.

(** Binary digits, the exponents of the least normal number and of what overflows, and [theta]. *)
Definition prec (f : format) : Z := match f with F32 => 24 | F64 => 53 end.
Definition least (f : format) : Z := match f with F32 => -126 | F64 => -1022 end.
Definition most (f : format) : Z := match f with F32 => 128 | F64 => 1024 end.
Definition theta (f : format) : R := match f with F32 => bpow radix2 (-20) | F64 => bpow radix2 (-49) end.

(** The exponent of the distance of the smallest numbers. *)
Definition emin (f : format) : Z := (least f - prec f + 1)%Z.

(** * Networks *)

(** A number of a file, [m 2^e]; [F2R] is its value. *)
Definition dyadic := float radix2.
Definition vector := list dyadic.
Definition matrix := list vector.

(** Which tokens a head shows: a line [mask low high from to first], or for each token those that it [sees]. *)
Inductive mask :=
| Window (low high start stop : option Z) (first : bool)
| Listed (seen : list (list nat)).

Definition sees (m : mask) (t k : nat) : bool :=
  match m with
  | Window low high start stop first =>
      let above limit i := match limit with None => true | Some l => (l <=? i)%Z end in
      let below limit i := match limit with None => true | Some l => (i <=? l)%Z end in
      let (t, k) := (Z.of_nat t, Z.of_nat k) in
      above low (k - t)%Z && below high (k - t)%Z && above start k && below stop k || first && (k =? 0)%Z
  | Listed seen => existsb (Nat.eqb k) (nth t seen [])
  end.

Record head := Head {
  q : matrix; q_bias : vector; k : matrix; v : matrix;
  o : matrix;  (** a row for each coordinate of the stream *)
  shows : mask
}.

(** A block with both parts is two layers. *)
Inductive layer :=
| Attention (heads : list head)
| FeedForward (w1 : matrix) (b1 : vector) (w2 : matrix) (b2 : vector).

Record network := Network {
  embed_weight : matrix; embed_bias : vector;
  pos : matrix;  (** a row for each position; no rows: there are no positions *)
  layers : list layer;
  read_out_weight : matrix; read_out_bias : vector
}.

(** * Steps that may come out in many ways *)

(** [Some x]: this may come out. [None]: something may overflow, or there is nothing to compute. *)
Definition outcomes (A : Type) := option A -> Prop.

Definition returns {A} (a : A) : outcomes A := fun r => r = Some a.

Definition bind {A B} (m : outcomes A) (f : A -> outcomes B) : outcomes B :=
  fun r => m None /\ r = None \/ exists a, m (Some a) /\ f a r.

Notation "x <- m ; f" := (bind m (fun x => f)) (at level 100, m at next level, f at level 200, right associativity).

Definition either {A} (m n : outcomes A) : outcomes A := fun r => m r \/ n r.

(** The same for each of a list, independently. *)
Fixpoint each {A B} (f : A -> outcomes B) (l : list A) : outcomes (list B) :=
  match l with
  | [] => returns []
  | a :: l => b <- f a; bs <- each f l; returns (b :: bs)
  end.

(** * One execution *)

Section Execution.
Variable f : format.

Definition huge : R := bpow radix2 (most f).

(** A number that is computed; one of [2^most] or more overflows. *)
Definition computed (result : R -> Prop) : outcomes R :=
  fun r => match r with Some x => result x | None => exists x, result x /\ huge <= Rabs x end.

Definition round_off (t : R) : outcomes R := computed (rounded (emin f) (prec f) t).

(** A sum overflows if some of its terms, in some order, come to [2^most] or more: they may be added first. *)
Definition add_up (terms : list R) : outcomes R :=
  fun r => match r with
  | Some x => sum (emin f) (prec f) terms x
  | None => terms = [] \/
      exists part rest x, Permutation (part ++ rest) terms /\ sum (emin f) (prec f) part x /\ huge <= Rabs x
  end.

Definition products (a b : list R) : list R := map (fun p => fst p * snd p) (combine a b).

(** [rows z], and to each row its numbers of [extras]. *)
Definition sums (rows : matrix) (extras : list vector) (z : list R) : outcomes (list R) :=
  each (fun p => add_up (products (map F2R (fst p)) z ++ map F2R (snd p))) (combine rows extras).

Definition linear (rows : matrix) : list R -> outcomes (list R) := sums rows (map (fun _ => []) rows).
Definition affine (rows : matrix) (bias : vector) : list R -> outcomes (list R) := sums rows (map (fun b => [b]) bias).

(** Softmax. *)
Definition largest (scores : list R) : R := fold_right Rmax (hd 0 scores) scores.

Definition share (S e : R) : outcomes R := either (round_off (e / S)) (r <- round_off (1 / S); round_off (e * r)).

Definition shares (scores : list R) : outcomes (list R) :=
  d <- each (fun s => round_off (s - largest scores)) scores;
  e <- each (fun d => computed (exponential (emin f) (prec f) (theta f) d)) d;
  S <- add_up e;
  each (share S) e.

(** What a head gives to token [t], which is [z], from the keys and values of all tokens. *)
Definition answer (h : head) (keys values : list (list R)) (t : nat) (z : list R) : outcomes (list R) :=
  let seen := filter (sees (shows h) t) (seq 0 (length keys)) in
  query <- affine (q h) (q_bias h) z;
  scores <- each (fun i => add_up (products (nth i keys []) query)) seen;
  p <- shares scores;
  each (fun j => add_up (products p (map (fun i => nth j (nth i values []) 0) seen))) (seq 0 (length (v h))).

Definition numbered {A} (l : list A) : list (nat * A) := combine (seq 0 (length l)) l.

Definition answers (tokens : list (list R)) (h : head) : outcomes (list (list R)) :=
  keys <- each (linear (k h)) tokens;
  values <- each (linear (v h)) tokens;
  each (fun p => answer h keys values (fst p) (snd p)) (numbered tokens).

Definition attention (heads : list head) (tokens : list (list R)) : outcomes (list (list R)) :=
  given <- each (answers tokens) heads;
  let written t r := flat_map (fun p => products (map F2R (nth r (o (fst p)) [])) (nth t (snd p) [])) (combine heads given) in
  each (fun token => each (fun entry => add_up (snd entry :: written (fst token) (fst entry))) (numbered (snd token)))
    (numbered tokens).

Definition feed_forward (w1 : matrix) (b1 : vector) (w2 : matrix) (b2 : vector) (z : list R) : outcomes (list R) :=
  u <- affine w1 b1 z;
  each (fun p => add_up (fst p :: products (map F2R (fst (snd p))) (map (fun x => Rmax x 0) u) ++ [F2R (snd (snd p))]))
    (combine z (combine w2 b2)).

Definition apply (tokens : list (list R)) (l : layer) : outcomes (list (list R)) :=
  match l with
  | Attention heads => attention heads tokens
  | FeedForward w1 b1 w2 b2 => each (feed_forward w1 b1 w2 b2) tokens
  end.

Fixpoint through (ls : list layer) (tokens : list (list R)) : outcomes (list (list R)) :=
  match ls with [] => returns tokens | l :: ls => tokens <- apply tokens l; through ls tokens end.

Definition embed (net : network) (p : nat * list Z) : outcomes (list R) :=
  let position r := match nth_error (pos net) (fst p) with Some row => [nth r row (Float radix2 0 0)] | None => [] end in
  x <- each (fun n => round_off (IZR n)) (snd p);
  sums (embed_weight net) (map (fun b => snd b :: position (fst b)) (numbered (embed_bias net))) x.

(** The outputs that an execution may give for a sequence of tokens of integers. *)
Definition outputs (net : network) (sequence : list (list Z)) : outcomes (list (list R)) :=
  tokens <- each (embed net) (numbered sequence);
  tokens <- through (layers net) tokens;
  each (affine (read_out_weight net) (read_out_bias net)) tokens.

End Execution.
