(** The Transformer of Yun et al. 2020, with hardmax and piecewise linear activations (the class with a bar on top).

    A token is a list of [d] rational numbers, a sequence a list of [n] tokens (the columns of the paper's [X]).

      Attn(X) = X + sum over heads of W_O (W_V X) σ_H[(W_K X)ᵀ (W_Q X + b_Q 1ᵀ)]
      FF(X)   = X + W_2 φ(W_1 X + b_1 1ᵀ) + b_2 1ᵀ

    Both have their skip connection. Nothing is said about sizes: [zip_with] stops at the shorter list. *)

From Formwright Require Import Numbers.

Definition vec := list Qc.
Definition matrix := list vec.
Definition sequence := list vec.

(** * Vectors *)

Fixpoint zip_with (f : Qc -> Qc -> Qc) (a b : vec) : vec :=
  match a, b with
  | x :: a, y :: b => f x y :: zip_with f a b
  | _, _ => []
  end.

Definition vadd : vec -> vec -> vec := zip_with Qcplus.
Definition scale (c : Qc) (a : vec) : vec := map (Qcmult c) a.
Definition zeros (d : nat) : vec := repeat 0 d.
Definition sum (a : vec) : Qc := fold_right Qcplus 0 a.
Definition dot (a b : vec) : Qc := sum (zip_with Qcmult a b).
Definition mul (M : matrix) (x : vec) : vec := map (fun row => dot row x) M.
Definition vsum (m : nat) (vs : list vec) : vec := fold_right vadd (zeros m) vs.

(** * Hardmax: all weight on the largest scores, shared equally by those that tie *)

Definition qmax (x y : Qc) : Qc := if Qclt_le_dec x y then y else x.

Definition largest (scores : list Qc) : Qc :=
  match scores with [] => 0 | s :: rest => fold_right qmax s rest end.

Definition is_largest (scores : list Qc) (s : Qc) : bool := if Qc_eq_dec s (largest scores) then true else false.

Definition ties (scores : list Qc) : nat := length (filter (is_largest scores) scores).

(** The weight of a key with score [s] among [scores]. *)
Definition hardmax (scores : list Qc) (s : Qc) : Qc :=
  if is_largest scores s then / inj (Z.of_nat (ties scores)) else 0.

(** * Attention *)

Record head := Head { WQ : matrix; bQ : vec; WK : matrix; WV : matrix; WO : matrix }.

Definition score (h : head) (query key : vec) : Qc := dot (mul (WK h) key) (vadd (mul (WQ h) query) (bQ h)).

(** What a head adds to the token [x] of the sequence [X]. *)
Definition attend (h : head) (X : sequence) (x : vec) : vec :=
  let scores := map (score h x) X in
  mul (WO h) (vsum (length (WV h)) (map (fun y => scale (hardmax scores (score h x y)) (mul (WV h) y)) X)).

Definition attention (heads : list head) (X : sequence) : sequence :=
  map (fun x => fold_left vadd (map (fun h => attend h X x) heads) x) X.

(** * Feed-forward layers *)

(** A line [t ↦ a t + b]. *)
Definition line := (Qc * Qc)%type.
Definition at_line (l : line) (t : Qc) : Qc := fst l * t + snd l.

(** Φ: a function of at most three linear pieces, split at [c1] and [c2]. The point [c1] belongs to the middle piece,
    and [c2] does if [closed]. *)
Record piecewise := Piecewise { c1 : Qc; c2 : Qc; closed : bool; below : line; middle : line; above : line }.

Definition apply (phi : piecewise) (t : Qc) : Qc :=
  if ltb t (c1 phi) then at_line (below phi) t
  else if (if closed phi then leb t (c2 phi) else ltb t (c2 phi)) then at_line (middle phi) t
  else at_line (above phi) t.

(** The paper asks of Φ that one piece is constant. *)
Definition in_Phi (phi : piecewise) : Prop := fst (below phi) = 0 \/ fst (middle phi) = 0 \/ fst (above phi) = 0.

Definition relu : piecewise := Piecewise 0 0 false (0, 0) (0, 0) (1, 0).

Record feed_forward := FeedForward { W1 : matrix; b1 : vec; activation : piecewise; W2 : matrix; b2 : vec }.

Definition feed (f : feed_forward) (x : vec) : vec :=
  vadd (vadd x (mul (W2 f) (map (apply (activation f)) (vadd (mul (W1 f) x) (b1 f))))) (b2 f).

(** * Networks *)

Inductive layer := Attention (heads : list head) | Feed (f : feed_forward).

Definition run_layer (l : layer) (X : sequence) : sequence :=
  match l with Attention heads => attention heads X | Feed f => map (feed f) X end.

Definition run (layers : list layer) (X : sequence) : sequence := fold_left (fun X l => run_layer l X) layers X.

(** A layer of the paper's class with [h = 2] heads of size [m = 1] and [r] hidden units, and an activation of Φ. *)
Definition in_class (r : nat) (l : layer) : Prop :=
  match l with
  | Attention heads => (length heads <= 2)%nat /\ Forall (fun h => length (WV h) = 1%nat /\ length (WK h) = 1%nat) heads
  | Feed f => (length (W1 f) <= r)%nat /\ in_Phi (activation f)
  end.

(** * Permutations of the tokens *)

(** [p] lists the places [0, …, n-1] in another order. *)
Definition is_permutation (n : nat) (p : list nat) : Prop := Permutation p (seq 0 n).

Definition permute {A : Type} (default : A) (p : list nat) (X : list A) : list A := map (fun i => nth i X default) p.

(** [g (XP) = (g X) P], for sequences of [n] tokens. *)
Definition equivariant (n : nat) (g : sequence -> sequence) : Prop :=
  forall p X, is_permutation n p -> length X = n -> g (permute [] p X) = permute [] p (g X).

(** * First facts *)

Lemma run_app a b X : run (a ++ b) X = run b (run a X).
Proof. apply fold_left_app. Qed.

Lemma length_run_layer l X : length (run_layer l X) = length X.
Proof. destruct l; simpl; [unfold attention|]; apply map_length. Qed.

Lemma length_run layers : forall X, length (run layers X) = length X.
Proof. induction layers; intros; simpl; auto. unfold run in *. now rewrite IHlayers, length_run_layer. Qed.

(** A run of feed-forward layers acts on each token alone. *)
Definition feed_all (fs : list feed_forward) (x : vec) : vec := fold_left (fun x f => feed f x) fs x.

Lemma run_feed fs : forall X, run (map Feed fs) X = map (feed_all fs) X.
Proof.
  induction fs as [|f fs IH]; intros X; simpl; [symmetry; apply map_id|].
  unfold run in *. simpl. rewrite IH, map_map. reflexivity.
Qed.
