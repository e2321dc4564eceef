(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** Outputs near a target: CERTIFICATE.md, section 7, *Read-out within a distance*. *)

From Formwright Require Import RulesExecution RulesSums RulesSoftmax RulesLayers RulesMeanings.

(** * Read-out within a distance *)

(** ** Along one input *)

(** What is known of a function along an input [from ... to]: its steps lie between [low] and [high], and its second
    derivatives, where it has them and bounds of them are known, between two numbers. *)
Record side := Side { from : R; to : R; low : R; high : R; bends : option (R * R) }.

Definition width (d : side) : R := to d - from d.

(** Every quotient of a step by its length lies between these numbers. *)
Definition steps (h : R -> R) (d : side) : Prop :=
  forall x y, from d <= x <= to d -> from d <= y <= to d -> x <> y -> low d <= (h x - h y) / (x - y) <= high d.

(** The function is one that has second derivatives, and they lie between these numbers. *)
Definition bent (h : R -> R) (a b m M : R) : Prop :=
  exists f f' f'', (forall x, a <= x <= b -> h x = f x) /\
    (forall x, a <= x <= b -> derivable_pt_lim f x (f' x)) /\
    (forall x, a <= x <= b -> derivable_pt_lim f' x (f'' x)) /\
    (forall x, a <= x <= b -> m <= f'' x <= M).

Definition along (h : R -> R) (d : side) : Prop :=
  steps h d /\ match bends d with Some (m, M) => bent h (from d) (to d) m M | None => True end.

(** How far the function may be above the larger end of a side, and below the smaller one. *)
Definition rise (d : side) : R :=
  let by_steps := width d * (high d - low d) / 4 in
  match bends d with Some (m, _) => Rmin by_steps (width d * width d * Rmax 0 (- m) / 8) | None => by_steps end.
Definition fall (d : side) : R :=
  let by_steps := width d * (high d - low d) / 4 in
  match bends d with Some (_, M) => Rmin by_steps (width d * width d * Rmax 0 M / 8) | None => by_steps end.

Lemma chord_at_ends h a b : a < b -> chord h a b a = h a /\ chord h a b b = h b.
Proof. intros L. unfold chord. split; field; lra. Qed.

Lemma chord_between h a b t : a < b -> a <= t <= b -> Rmin (h a) (h b) <= chord h a b t <= Rmax (h a) (h b).
Proof.
  intros L T. assert (C : (b - a) * chord h a b t = (b - t) * h a + (t - a) * h b) by (unfold chord; field; lra).
  assert (A := Rmin_l (h a) (h b)). assert (B := Rmin_r (h a) (h b)).
  assert (A' := Rmax_l (h a) (h b)). assert (B' := Rmax_r (h a) (h b)).
  set (m := Rmin (h a) (h b)) in *. set (M := Rmax (h a) (h b)) in *. set (c := chord h a b t) in *. clearbody m M c.
  split; apply Rmult_le_reg_l with (b - a); try lra; rewrite C; nra.
Qed.

(** By steps, a function is at most a quarter of the width, times what steps differ by, away from its chord. *)
Theorem near_the_chord_by_steps h d t : from d < to d -> from d <= t <= to d -> steps h d ->
  Rabs (h t - chord h (from d) (to d) t) <= width d * (high d - low d) / 4.
Proof.
  unfold steps, width. destruct d as [a b s S bd]. cbn [from to low high]. intros L T H.
  assert (Q : forall x y, a <= x <= b -> a <= y <= b -> y < x -> s * (x - y) <= h x - h y <= S * (x - y)).
  { intros x y X Y O. destruct (H x y X Y ltac:(lra)) as [A B].
    replace (h x - h y) with ((h x - h y) / (x - y) * (x - y)) by (field; lra).
    split; apply Rmult_le_compat_r; lra. }
  assert (SS : s <= S) by (destruct (H b a ltac:(lra) ltac:(lra) ltac:(lra)); lra).
  assert (C : (b - a) * chord h a b t = (b - t) * h a + (t - a) * h b) by (unfold chord; field; lra).
  assert (A : s * (t - a) <= h t - h a <= S * (t - a)).
  { destruct (Req_dec t a) as [->|]; [lra | apply Q; lra]. }
  assert (B : s * (b - t) <= h b - h t <= S * (b - t)).
  { destruct (Req_dec t b) as [->|]; [lra | apply Q; lra]. }
  assert (E : (b - a) * (h t - chord h a b t) = (b - t) * (h t - h a) - (t - a) * (h b - h t)) by (rewrite Rmult_minus_distr_l, C; ring).
  assert (U : (b - a) * (h t - chord h a b t) <= (S - s) * ((b - t) * (t - a))).
  { rewrite E. assert ((b - t) * (h t - h a) <= (b - t) * (S * (t - a))) by (apply Rmult_le_compat_l; lra).
    assert ((t - a) * (s * (b - t)) <= (t - a) * (h b - h t)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (V : - ((S - s) * ((b - t) * (t - a))) <= (b - a) * (h t - chord h a b t)).
  { rewrite E. assert ((b - t) * (s * (t - a)) <= (b - t) * (h t - h a)) by (apply Rmult_le_compat_l; lra).
    assert ((t - a) * (h b - h t) <= (t - a) * (S * (b - t))) by (apply Rmult_le_compat_l; lra). lra. }
  assert (W : (S - s) * ((b - t) * (t - a)) <= (S - s) * ((b - a) * (b - a) / 4)).
  { apply Rmult_le_compat_l; [lra|]. assert (0 <= (b - t - (t - a)) * (b - t - (t - a))) by apply Rle_0_sqr. lra. }
  apply Rabs_le. split; apply Rmult_le_reg_l with (b - a); lra.
Qed.

(** By second derivatives, it is an eighth of the square of the width, times their size, away from its chord. *)
Theorem near_the_chord_by_bends h a b m M t : a < b -> a <= t <= b -> bent h a b m M ->
  - ((b - a) * (b - a) * Rmax 0 M / 8) <= h t - chord h a b t <= (b - a) * (b - a) * Rmax 0 (- m) / 8.
Proof.
  intros L T (f & f' & f'' & E & D & D' & B).
  assert (C := curve_chord f f' f'' a b t m M L T D D' B).
  replace (chord h a b t) with (chord f a b t) by (unfold chord; rewrite !E by lra; reflexivity). rewrite (E t T).
  assert (P : 0 <= (t - a) * (b - t) <= (b - a) * (b - a) / 4).
  { split; [apply Rmult_le_pos; lra|]. assert (0 <= (b - t - (t - a)) * (b - t - (t - a))) by apply Rle_0_sqr. lra. }
  set (p := (t - a) * (b - t)) in *. set (q := (b - a) * (b - a)) in *.
  assert (X : p * - m <= q / 4 * Rmax 0 (- m)).
  { apply Rle_trans with (p * Rmax 0 (- m)); [apply Rmult_le_compat_l; [lra | apply Rmax_r]|].
    apply Rmult_le_compat_r; [apply Rmax_l | lra]. }
  assert (Y : p * M <= q / 4 * Rmax 0 M).
  { apply Rle_trans with (p * Rmax 0 M); [apply Rmult_le_compat_l; [lra | apply Rmax_r]|].
    apply Rmult_le_compat_r; [apply Rmax_l | lra]. }
  lra.
Qed.

(** Along one input: no further above the larger end than [rise], and no further below the smaller one than [fall]. *)
Theorem along_one_input h d t : from d <= t <= to d -> along h d ->
  Rmin (h (from d)) (h (to d)) - fall d <= h t <= Rmax (h (from d)) (h (to d)) + rise d.
Proof.
  intros T (S & B). destruct (Req_dec (from d) (to d)) as [E|N].
  - assert (Z : rise d = 0 /\ fall d = 0).
    { unfold rise, fall, width. rewrite E. replace (to d - to d) with 0 by ring. destruct (bends d) as [[m M]|].
      - replace (0 * (high d - low d) / 4) with 0 by field. replace (0 * 0 * Rmax 0 (- m) / 8) with 0 by field.
        replace (0 * 0 * Rmax 0 M / 8) with 0 by field. split; apply Rmin_left; lra.
      - split; field. }
    destruct Z as [-> ->]. replace t with (from d) by lra. rewrite <- E. rewrite Rmin_left, Rmax_left; lra.
  - assert (L : from d < to d) by lra. assert (Q := near_the_chord_by_steps h d t L T S). apply Rabs_le_inv in Q.
    assert (C := chord_between h _ _ t L T).
    unfold rise, fall. destruct (bends d) as [[m M]|]; [|lra].
    assert (K := near_the_chord_by_bends h _ _ m M t L T B). fold (width d) in K.
    assert (X := Rmin_glb (width d * (high d - low d) / 4) (width d * width d * Rmax 0 (- m) / 8) (h t - chord h (from d) (to d) t)
                          ltac:(lra) ltac:(lra)).
    assert (Y := Rmin_glb (width d * (high d - low d) / 4) (width d * width d * Rmax 0 M / 8) (chord h (from d) (to d) t - h t)
                          ltac:(lra) ltac:(lra)).
    lra.
Qed.

(** ** On a box *)

Definition inside (box : list side) (x : list R) : Prop := Forall2 (fun d t => from d <= t <= to d) box x.

Fixpoint corners (box : list side) : list (list R) :=
  match box with
  | [] => [[]]
  | d :: rest => map (cons (from d)) (corners rest) ++ map (cons (to d)) (corners rest)
  end.

(** What is known along each input holds wherever the others are in the box. *)
Definition everywhere (g : list R -> R) (box : list side) : Prop :=
  forall before d after x y, box = before ++ d :: after -> inside before x -> inside after y ->
    along (fun t => g (x ++ t :: y)) d.

Lemma corner_inside box x : inside box x -> forall c, In c (corners box) -> inside box c.
Proof.
  induction 1 as [|d t box x T I IH]; intros c; cbn [corners].
  - intros [<-|[]]. constructor.
  - rewrite in_app_iff, !in_map_iff. intros [(r & <- & C)|(r & <- & C)]; constructor; try lra; now apply IH.
Qed.

(** On a box a function is at most its value at some corner and the sum of what it may rise by along the inputs, and at
    least its value at some corner without the sum of what it may fall by. *)
Theorem on_a_box g box x : everywhere g box -> inside box x ->
  (exists c, In c (corners box) /\ g x <= g c + total (map rise box)) /\
  (exists c, In c (corners box) /\ g c - total (map fall box) <= g x).
Proof.
  intros H I. revert g H. induction I as [|d t box x T I IH]; intros g H.
  - split; exists []; (split; [left; reflexivity | unfold total; simpl; lra]).
  - destruct (IH (fun y => g (t :: y))) as [(c & C & U) (e & E & V)].
    { intros before k after y z -> Y Z. apply (H (d :: before) k after (t :: y) z); auto. constructor; auto. }
    assert (A : forall r, In r (corners box) ->
      Rmin (g (from d :: r)) (g (to d :: r)) - fall d <= g (t :: r) <= Rmax (g (from d :: r)) (g (to d :: r)) + rise d).
    { intros r K. apply (along_one_input (fun t => g (t :: r)) d t T).
      apply (H [] d box [] r); auto; [constructor | eapply corner_inside; eauto]. }
    cbn [map corners]. rewrite !total_cons. split.
    + specialize (A c C). unfold Rmax in A. destruct (Rle_dec _ _) in A;
        [exists (to d :: c) | exists (from d :: c)]; rewrite in_app_iff; split; try lra; [right | left]; now apply in_map.
    + specialize (A e E). unfold Rmin in A. destruct (Rle_dec _ _) in A;
        [exists (from d :: e) | exists (to d :: e)]; rewrite in_app_iff; split; try lra; [left | right]; now apply in_map.
Qed.

(** A box shows that the size of a function is at most [D]. *)
Definition shows (g : list R -> R) (D : R) (box : list side) : Prop :=
  everywhere g box /\
  Forall (fun c => g c + total (map rise box) <= D /\ - D <= g c - total (map fall box)) (corners box).

(** Boxes that cover the domain, for every token of every number of tokens: what is read out is off by [D] more. *)
Theorem read_out_within_a_distance (form target : nat -> nat -> list R -> R) (domain : nat -> list R -> Prop)
    (boxes : nat -> nat -> list (list side)) least most D e n i x y :
  (forall n i, (least <= n <= most)%nat -> (i < n)%nat ->
    Forall (shows (fun x => form n i x - target n i x) D) (boxes n i) /\
    (forall x, domain n x -> Exists (fun box => inside box x) (boxes n i))) ->
  (least <= n <= most)%nat -> (i < n)%nat -> domain n x -> Rabs (y - form n i x) <= e ->
  Rabs (y - target n i x) <= e + D.
Proof.
  intros H N I X Y. destruct (H n i N I) as [S C]. specialize (C x X).
  apply Exists_exists in C. destruct C as (box & B & J). rewrite Forall_forall in S. destruct (S box B) as [K L].
  rewrite Forall_forall in L.
  destruct (on_a_box _ _ _ K J) as [(c & Cc & U) (d & Cd & V)].
  assert (P := L c Cc). assert (Q := L d Cd). cbv beta in *.
  apply Rabs_le_inv in Y. apply Rabs_le. lra.
Qed.

(** Where a function does not depend on the order of the tokens but for where it is read, one token stands for all. *)
Theorem one_token_stands_for_all {A} (g : list A -> list R) (domain : list A -> Prop) D (a : A) :
  (forall x p, Permutation p (seq 0 (length x)) ->
     g (map (fun i => nth i x a) p) = map (fun i => nth i (g x) 0) p) ->
  (forall x x', domain x -> Permutation x x' -> domain x') ->
  (forall x, domain x -> Rabs (nth 0 (g x) 0) <= D) ->
  forall x i, domain x -> (i < length x)%nat -> Rabs (nth i (g x) 0) <= D.
Proof.
  intros G P Z x i X I.
  destruct (in_split i (seq 0 (length x))) as (l & r & E); [apply in_seq; lia|].
  assert (Q : Permutation (i :: l ++ r) (seq 0 (length x))) by (rewrite E; apply Permutation_middle).
  assert (M : map (fun i => nth i x a) (seq 0 (length x)) = x).
  { clear. induction x as [|b x IH]; [reflexivity|].
    cbn [length seq map]. f_equal. rewrite <- seq_shift, map_map. cbn [nth]. exact IH. }
  specialize (Z (map (fun i => nth i x a) (i :: l ++ r))). rewrite (G x _ Q) in Z. cbn [map nth] in Z. apply Z.
  apply P with x; auto. rewrite <- M at 1.
  change (nth i x a :: map (fun i => nth i x a) (l ++ r)) with (map (fun i => nth i x a) (i :: l ++ r)).
  apply Permutation_map. symmetry. exact Q.
Qed.

(** Where the form is further from the target than the bound and all that outputs may be from the form, the output is
    not within the bound. *)
Theorem far_from_the_target bound e form target y : Rabs (y - form) <= e -> bound + e < Rabs (form - target) ->
  bound < Rabs (y - target).
Proof.
  intros Y F. assert (T := Rabs_triang (form - y) (y - target)).
  replace (form - y + (y - target)) with (form - target) in T by ring. rewrite (Rabs_minus_sym form y) in T. lra.
Qed.

(** ** What is needed *)

Lemma tent_steps x y : x <> y -> -1 <= (1 - Rabs x - (1 - Rabs y)) / (x - y) <= 1.
Proof.
  intros N. assert (T := Rabs_triang_inv2 x y).
  replace (1 - Rabs x - (1 - Rabs y)) with (- (Rabs x - Rabs y)) by ring.
  assert (P := Rabs_pos_lt (x - y) ltac:(lra)).
  assert (Q : Rabs (- (Rabs x - Rabs y) / (x - y)) <= 1).
  { unfold Rdiv. rewrite Rabs_mult, Rabs_Ropp, Rabs_inv. apply Rmult_le_reg_r with (Rabs (x - y)); auto.
    rewrite Rmult_assoc, Rinv_l by lra. lra. }
  now apply Rabs_le_inv.
Qed.

Lemma ends : Rabs (-1) = 1.
Proof. rewrite <- Rabs_Ropp. replace (- (-1)) with 1 by ring. apply Rabs_R1. Qed.

(** The corners alone do not do, and the sum of the rises is reached: [1 - |x|]. *)
Theorem corners_alone_do_not_do :
  exists g box x, everywhere g box /\ inside box x /\
    Forall (fun c => g c < g x /\ g x = g c + total (map rise box)) (corners box).
Proof.
  exists (fun x => 1 - Rabs (nth 0 x 0)), [Side (-1) 1 (-1) 1 None], [0]. split; [|split].
  - intros before d after x y E X Y. destruct before as [|k before]; [|destruct before; discriminate].
    injection E as <- <-. inversion X; subst. split; [|exact I]. intros s t _ _ N. now apply tent_steps.
  - repeat constructor; simpl; lra.
  - unfold rise, width, total. repeat constructor; simpl; rewrite ?ends, ?Rabs_R1, Rabs_R0; lra.
Qed.

(** Steps must be known along every input: here they are along the first. *)
Theorem distance_needs_every_input :
  exists g d k x, inside [d; k] x /\
    (forall y, from k <= y <= to k -> along (fun t => g [t; y]) d) /\
    Forall (fun c => g c + total (map rise [d; k]) < g x) (corners [d; k]).
Proof.
  exists (fun x => 1 - Rabs (nth 1 x 0)), (Side (-1) 1 0 0 None), (Side (-1) 1 0 0 None), [0; 0]. split; [|split].
  - repeat constructor; simpl; lra.
  - intros y _. split; [|exact I]. intros s t _ _ N. cbn. replace (1 - Rabs y - (1 - Rabs y)) with 0 by ring.
    unfold Rdiv. rewrite Rmult_0_l. lra.
  - unfold rise, width, total. repeat constructor; simpl; rewrite ?ends, ?Rabs_R1, Rabs_R0; lra.
Qed.

(** Second derivatives must be there at every point: [1 - |x|] is a line near each but one. *)
Theorem bends_need_every_point :
  exists h, (forall x, x <> 0 -> exists s r, 0 < r /\ forall y, Rabs (y - x) < r -> h y = h x + s * (y - x)) /\
    let d := Side (-1) 1 (-1) 1 (Some (0, 0)) in steps h d /\ Rmax (h (from d)) (h (to d)) + rise d < h 0.
Proof.
  exists (fun x => 1 - Rabs x). split; [|split].
  - intros x N. exists (if Rlt_dec x 0 then 1 else -1), (Rabs x). split; [now apply Rabs_pos_lt|].
    intros y Y. destruct (Rlt_dec x 0) as [K|K].
    + rewrite (Rabs_left x) in * by lra. apply Rabs_def2 in Y. rewrite Rabs_left by lra. lra.
    + rewrite (Rabs_right x) in * by lra. apply Rabs_def2 in Y. rewrite Rabs_right by lra. lra.
  - intros s t _ _ N. now apply tent_steps.
  - unfold rise, width. cbn [from to low high bends]. rewrite ends, Rabs_R0, Rabs_R1, Ropp_0, !(Rmax_left _ _ (Rle_refl _)).
    rewrite Rmin_right; lra.
Qed.
