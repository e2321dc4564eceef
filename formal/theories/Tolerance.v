(* Linked from THEOREMS.md#lemma8, THEOREMS.md#proposition4, THEOREMS.md#theorem2, THEOREMS.md#theorem3. *)
(** The tolerance half of Theorem 2, without integrals: for every function with a modulus of continuity on the unit box and
    every [ε > 0], every fine enough grid gives a network that is within [ε] of the function at every point of every cell
    with distinct columns. Of the [D^n] cells at most [n(n-1)/2 D^{n-1}] have equal columns. *)

From Coq Require Import Sorted.
From Formwright Require Import Numbers Transformer Ids Lemma6Layers Columns Lemma7 Contexts ValueMap Theorem2 Theorem3 Functions.

(** Entry by entry at most [e] apart. *)
Definition near (e : Qc) (X Y : sequence) : Prop := Forall2 (Forall2 (fun s t => s - t <= e /\ t - s <= e)) X Y.

(** Where arguments are [delta] apart, values are [eps] apart. *)
Definition moves_little (n d : nat) (f : sequence -> sequence) (delta eps : Qc) : Prop :=
  forall X Y, shaped n d X -> shaped n d Y -> unit_box X -> unit_box Y -> near delta X Y -> near eps (f X) (f Y).

Definition continuous (n d : nat) (f : sequence -> sequence) : Prop :=
  forall eps, 0 < eps -> exists delta, 0 < delta /\ moves_little n d f delta eps.

(** A column that occurs twice. *)
Fixpoint repeats (s : list Z) : bool := match s with [] => false | a :: t => mem a t || repeats t end.

(** * A point and the centre of its cell *)

(** A point of the box is at most half a cell's side from the centre of its cell, in every coordinate. *)
Theorem lemma8 N delta X : (2 <= N)%Z -> half <= delta * inj N -> near delta (centre N (cell_of N X)) X.
Proof.
  intros N2 H. unfold near, centre, cell_of, cells, embed, scale. rewrite !map_map.
  induction X as [|x X IH]; simpl; constructor; auto. clear IH. rewrite !map_map.
  induction x as [|t x IH]; simpl; constructor; auto. clear IH.
  pose proof (floor_low (inj N * t)). pose proof (floor_high (inj N * t)) as Hi. rewrite inj_plus, inj_1 in Hi.
  pose proof halves. set (c := inj (floor (inj N * t))) in *.
  split; apply (at_most_by_N N N2).
  - replace (inj N * (/ inj N * (c + half) - t)) with (c + half - inj N * t) by (field; now apply N_not_0).
    replace (inj N * delta) with (delta * inj N) by ring. qlra.
  - replace (inj N * (t - / inj N * (c + half))) with (inj N * t - (c + half)) by (field; now apply N_not_0).
    replace (inj N * delta) with (delta * inj N) by ring. qlra.
Qed.

(** Every fine enough grid has cells that small. *)
Lemma fine_enough delta : 0 < delta -> exists N0, (2 <= N0)%Z /\ forall N, (N0 <= N)%Z -> half <= delta * inj N.
Proof.
  intros P. exists (Z.max 2 (floor (half * / delta) + 1)). split; [lia|]. intros N HN.
  pose proof (floor_high (half * / delta)) as Hi.
  assert (A : inj (floor (half * / delta) + 1) <= inj N) by (apply inj_le; lia).
  assert (B : half * / delta <= inj N) by qlra. apply (mult_pos_le _ _ delta) in B; [|qlra].
  replace (delta * (half * / delta)) with half in B; auto. field. intros E. rewrite E in P. discriminate.
Qed.

Lemma cell_some n d N X : (2 <= N)%Z -> shaped n d X -> unit_box X -> some_cells n d N (cell_of N X).
Proof.
  intros N2 Sh Box. apply (embed_box N N2) in Box. destruct (embed_shaped n d N X Sh) as [L H].
  unfold cell_of, cells. split; [now rewrite map_length|]. split; apply Forall_map.
  - eapply Forall_impl; [|exact H]. intros. now rewrite map_length.
  - eapply Forall_impl; [|exact Box]. intros x Hx. apply Forall_map. eapply Forall_impl; [|exact Hx]. cbv beta.
    intros t [P Q]. now apply floor_bounds.
Qed.

(** * The tolerance *)

(** For a function with a modulus of continuity and every ε > 0, every fine enough grid gives a network that is
    within ε at every point of every cell with distinct columns. *)
Theorem theorem2_tolerance n d f B : (2 <= n)%nat -> (1 <= d)%nat -> is_function n d B f -> equivariant_function n d f ->
  continuous n d f -> forall eps, 0 < eps -> exists N0, (2 <= N0)%Z /\ forall N, (N0 <= N)%Z ->
  forall X, shaped n d X -> unit_box X -> NoDup (cell_of N X) -> near eps (theorem2_network n d N f B X) (f X).
Proof.
  intros n2 d1 F E C eps P. destruct (C eps P) as (delta & Pd & M). destruct (fine_enough delta Pd) as (N0 & N2 & Fine).
  exists N0. split; auto. intros N HN X Sh Box nd. assert (N2' : (2 <= N)%Z) by lia.
  rewrite (proj1 (theorem2 n d N f B n2 d1 N2' F E X Sh) Box nd).
  apply M; auto; [| |apply lemma8; auto].
  - apply centre_shaped; auto. now apply cell_some.
  - apply centre_in_box with n d; auto. now apply cell_some.
Qed.

(** With positions, every fine enough grid gives a network that is within ε at every point of the box. *)
Theorem theorem3_tolerance n d f B : (2 <= n)%nat -> (1 <= d)%nat -> is_function n d B f ->
  continuous n d f -> forall eps, 0 < eps -> exists N0, (2 <= N0)%Z /\ forall N, (N0 <= N)%Z ->
  forall X, shaped n d X -> unit_box X -> near eps (theorem3_network n d N f B X) (f X).
Proof.
  intros n2 d1 F C eps P. destruct (C eps P) as (delta & Pd & M). destruct (fine_enough delta Pd) as (N0 & N2 & Fine).
  exists N0. split; auto. intros N HN X Sh Box. assert (N2' : (2 <= N)%Z) by lia.
  rewrite (theorem3 n d N f B n2 d1 N2' F X Sh Box).
  apply M; auto; [| |apply lemma8; auto].
  - apply centre_shaped; auto. now apply cell_some.
  - apply centre_in_box with n d; auto. now apply cell_some.
Qed.

(** * The cells that are not served *)

Lemma repeats_spec s : repeats s = false <-> NoDup s.
Proof.
  induction s as [|a s IH]; simpl; [split; auto; constructor|]. rewrite orb_false_iff, mem_not, IH.
  split; [intros []; now constructor | intros H; inversion H; auto].
Qed.

Lemma sum_plus {A} (g h : A -> nat) l : list_sum (map (fun x => (g x + h x)%nat) l) = (list_sum (map g l) + list_sum (map h l))%nat.
Proof. induction l; simpl; auto. rewrite IHl. lia. Qed.

Lemma sum_swap {A C} (w : A -> C -> nat) R T :
  list_sum (map (fun a => list_sum (map (w a) T)) R) = list_sum (map (fun t => list_sum (map (fun a => w a t) R)) T).
Proof.
  induction R as [|a R IH]; simpl; [induction T; simpl; auto|]. now rewrite IH, <- sum_plus.
Qed.

Lemma length_filter_sum {A} (p : A -> bool) l : length (filter p l) = list_sum (map (fun x => Nat.b2n (p x)) l).
Proof. induction l as [|a l IH]; simpl; auto. destruct (p a); simpl; auto. Qed.

Lemma sum_bound {A} (g : A -> nat) c l : (forall a, In a l -> (g a <= c)%nat) -> (list_sum (map g l) <= length l * c)%nat.
Proof.
  induction l as [|a l IH]; simpl; intros H; auto. pose proof (H a (or_introl eq_refl)). specialize (IH (fun x X => H x (or_intror X))). lia.
Qed.

Lemma filter_cons_map {A} (p : list A -> bool) a T : length (filter p (map (cons a) T)) = length (filter (fun t => p (a :: t)) T).
Proof. induction T as [|t T IH]; simpl; auto. destruct (p (a :: t)); simpl; auto. Qed.

Lemma filter_flat_map {A C} (p : C -> bool) (g : A -> list C) l :
  length (filter p (flat_map g l)) = list_sum (map (fun a => length (filter p (g a))) l).
Proof. induction l; simpl; auto. now rewrite filter_app, app_length, IHl. Qed.

Notation unserved D n := (length (filter repeats (tuples D n))).

Lemma unserved_step D k : (unserved D (S k) <= D ^ k * k + D * unserved D k)%nat.
Proof.
  cbn [tuples]. rewrite filter_flat_map.
  rewrite (map_ext _ (fun a => list_sum (map (fun t => Nat.b2n (mem a t || repeats t)) (tuples D k)))).
  2: { intros a. now rewrite filter_cons_map, length_filter_sum. }
  rewrite sum_swap, length_filter_sum. rewrite <- (length_tuples D k).
  assert (G : forall T, (forall t, In t T -> length t = k) ->
    (list_sum (map (fun t => list_sum (map (fun a => Nat.b2n (mem a t || repeats t)) (range D))) T)
     <= length T * k + D * list_sum (map (fun t => Nat.b2n (repeats t)) T))%nat).
  { induction T as [|t T IH]; intros H; simpl; [lia|]. specialize (IH (fun x X => H x (or_intror X))).
    enough (list_sum (map (fun a => Nat.b2n (mem a t || repeats t)) (range D)) <= k + D * Nat.b2n (repeats t))%nat by lia.
    destruct (repeats t); cbn [Nat.b2n].
    - etransitivity; [apply (sum_bound _ 1)|].
      + intros a _. destruct (mem a t || true); simpl; lia.
      + unfold range. rewrite map_length, seq_length. lia.
    - rewrite (map_ext _ (fun a => Nat.b2n (mem a t))) by (intros; now rewrite orb_false_r).
      rewrite <- length_filter_sum. rewrite Nat.mul_0_r, Nat.add_0_r, <- (H t (or_introl eq_refl)).
      apply NoDup_incl_length.
      + apply NoDup_filter, sorted_nodup, range_sorted.
      + intros a I. apply filter_In in I. now apply mem_in. }
  apply G. intros t T. now apply in_tuples in T.
Qed.

(** Of the D^n cells, at most n(n-1)/2 · D^{n-1} have equal columns. *)
Theorem unserved_cells D n : (length (tuples D n) = D ^ n /\ 2 * unserved D n * D <= n * (n - 1) * D ^ n)%nat.
Proof.
  split; [apply length_tuples|]. induction n as [|k IH]; [simpl; lia|].
  pose proof (unserved_step D k) as St. replace (S k - 1)%nat with k by lia. rewrite Nat.pow_succ_r'.
  set (u := unserved D (S k)) in *. set (v := unserved D k) in *. set (p := (D ^ k)%nat) in *. clearbody u v p.
  assert (A : (2 * u * D <= 2 * (p * k + D * v) * D)%nat) by (apply Nat.mul_le_mono_r, Nat.mul_le_mono_l; exact St).
  assert (C : (D * (2 * v * D) <= D * (k * (k - 1) * p))%nat) by (apply Nat.mul_le_mono_l; exact IH).
  destruct k as [|j]; [simpl in *; lia|]. replace (S j - 1)%nat with j in * by lia. nia.
Qed.
