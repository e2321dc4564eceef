(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** What registers mean: the rules of CERTIFICATE.md, section 7. *)

From Formwright Require Import RulesExecution RulesSums RulesSoftmax RulesLayers.

(** * Curve *)

(** The chord of [f] over [a, b]. *)
Definition chord (f : R -> R) (a b t : R) : R := ((b - t) * f a + (t - a) * f b) / (b - a).

(** A function whose derivative grows lies below its chord. *)
Lemma below_chord h h' h'' a b t : a < t < b ->
  (forall x, a <= x <= b -> derivable_pt_lim h x (h' x)) ->
  (forall x, a <= x <= b -> derivable_pt_lim h' x (h'' x)) ->
  (forall x, a <= x <= b -> 0 <= h'' x) ->
  (b - a) * h t <= (b - t) * h a + (t - a) * h b.
Proof.
  intros T D D' P.
  destruct (MVT_cor2 h h' a t) as (c & E & C); [lra | intros; apply D; lra|].
  destruct (MVT_cor2 h h' t b) as (d & F & G); [lra | intros; apply D; lra|].
  destruct (MVT_cor2 h' h'' c d) as (e & H & K); [lra | intros; apply D'; lra|].
  assert (X : h' c <= h' d) by (specialize (P e ltac:(lra)); nra).
  assert (Y : h' c * ((t - a) * (b - t)) <= h' d * ((t - a) * (b - t))) by (apply Rmult_le_compat_r; nra).
  replace ((b - t) * h a + (t - a) * h b - (b - a) * h t) with ((t - a) * (h b - h t) - (b - t) * (h t - h a)) in * by ring.
  assert (Z : (t - a) * (h b - h t) - (b - t) * (h t - h a) = h' d * ((t - a) * (b - t)) - h' c * ((t - a) * (b - t)))
    by (rewrite E, F; ring).
  assert (W : (b - t) * h a + (t - a) * h b - (b - a) * h t = (t - a) * (h b - h t) - (b - t) * (h t - h a)) by ring.
  lra.
Qed.

Lemma derive_square k x : derivable_pt_lim (fun y => k * (y * y)) x (k * (2 * x)).
Proof.
  apply derivable_pt_lim_scal. replace (2 * x) with (1 * x + x * 1) by ring.
  apply (derivable_pt_lim_mult id id); apply derivable_pt_lim_id.
Qed.

Lemma derive_line k x : derivable_pt_lim (fun y => k * (2 * y)) x (k * 2).
Proof.
  apply derivable_pt_lim_scal. replace 2 with (2 * 1) at 2 by ring. apply derivable_pt_lim_scal, derivable_pt_lim_id.
Qed.

(** The chord is above the function by [(t - a)(b - t) / 2] times the second derivative. *)
Theorem curve_chord f f' f'' a b t m M : a < b -> a <= t <= b ->
  (forall x, a <= x <= b -> derivable_pt_lim f x (f' x)) ->
  (forall x, a <= x <= b -> derivable_pt_lim f' x (f'' x)) ->
  (forall x, a <= x <= b -> m <= f'' x <= M) ->
  / 2 * ((t - a) * (b - t)) * m <= chord f a b t - f t <= / 2 * ((t - a) * (b - t)) * M.
Proof.
  intros AB T D D' B.
  assert (Chord : (b - a) * chord f a b t = (b - t) * f a + (t - a) * f b) by (unfold chord; field; lra).
  destruct (Req_dec t a) as [->|Ta]; [assert (chord f a b a = f a) by (apply Rmult_eq_reg_l with (b - a); lra); nra|].
  destruct (Req_dec t b) as [->|Tb]; [assert (chord f a b b = f b) by (apply Rmult_eq_reg_l with (b - a); lra); nra|].
  assert (I : a < t < b) by lra.
  assert (Lo := below_chord (fun x => f x + - m / 2 * (x * x)) (fun x => f' x + - m / 2 * (2 * x))
                            (fun x => f'' x + - m / 2 * 2) a b t I).
  assert (Hi := below_chord (fun x => - 1 * f x + M / 2 * (x * x)) (fun x => - 1 * f' x + M / 2 * (2 * x))
                            (fun x => - 1 * f'' x + M / 2 * 2) a b t I).
  cbv beta in Lo, Hi.
  specialize (Lo (fun x X => derivable_pt_lim_plus _ _ _ _ _ (D x X) (derive_square _ x))
                 (fun x X => derivable_pt_lim_plus _ _ _ _ _ (D' x X) (derive_line _ x))
                 ltac:(intros x X; specialize (B x X); lra)).
  specialize (Hi (fun x X => derivable_pt_lim_plus _ _ _ _ _ (derivable_pt_lim_scal _ _ _ _ (D x X)) (derive_square _ x))
                 (fun x X => derivable_pt_lim_plus _ _ _ _ _ (derivable_pt_lim_scal _ _ _ _ (D' x X)) (derive_line _ x))
                 ltac:(intros x X; specialize (B x X); lra)).
  split; apply Rmult_le_reg_l with (b - a); lra.
Qed.

(** On a cell without knots a piecewise linear [P] is as near to [f] as at the ends of the cell, but for that. *)
Theorem curve_cell P f f' f'' a b t d K : a < b -> a <= t <= b ->
  P t = chord P a b t -> Rabs (P a - f a) <= d -> Rabs (P b - f b) <= d ->
  (forall x, a <= x <= b -> derivable_pt_lim f x (f' x)) ->
  (forall x, a <= x <= b -> derivable_pt_lim f' x (f'' x)) ->
  (forall x, a <= x <= b -> Rabs (f'' x) <= K) ->
  Rabs (P t - f t) <= d + / 2 * ((t - a) * (b - t)) * K.
Proof.
  intros AB T E A B D D' S.
  assert (C := curve_chord f f' f'' a b t (- K) K AB T D D' ltac:(intros x X; apply Rabs_le_inv, S; auto)).
  apply Rabs_le_inv in A, B.
  assert (H : - d <= chord P a b t - chord f a b t <= d).
  { unfold chord. split; apply Rmult_le_reg_r with (b - a); try lra.
    - replace ((((b - t) * P a + (t - a) * P b) / (b - a) - ((b - t) * f a + (t - a) * f b) / (b - a)) * (b - a))
        with ((b - t) * (P a - f a) + (t - a) * (P b - f b)) by (field; lra). nra.
    - replace ((((b - t) * P a + (t - a) * P b) / (b - a) - ((b - t) * f a + (t - a) * f b) / (b - a)) * (b - a))
        with ((b - t) * (P a - f a) + (t - a) * (P b - f b)) by (field; lra). nra. }
  rewrite E. apply Rabs_le. lra.
Qed.

(** What a curve [P / c] is off at a computed argument. *)
Theorem curve_error (P f : R -> R) c slope e t s : c <> 0 -> Rabs (s - t) <= e -> 0 <= slope ->
  Rabs (P s - P t) <= slope * Rabs (s - t) ->
  Rabs (P s / c - f t) <= slope / Rabs c * e + Rabs (P t / c - f t).
Proof.
  intros C E S L. assert (Cp := Rabs_pos_lt c C).
  replace (P s / c - f t) with ((P s - P t) / c + (P t / c - f t)) by (field; auto).
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_r.
  unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv. unfold Rdiv.
  replace (slope * / Rabs c * e) with (slope * e * / Rabs c) by ring.
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|].
  eapply Rle_trans; [apply L|]. apply Rmult_le_compat_l; auto.
Qed.

(** The cell must be without knots. *)
Theorem curve_needs_no_knot :
  exists P : R -> R, let f := fun _ : R => 1 in
    P (-1) = f (-1) /\ P 1 = f 1 /\ (forall x, derivable_pt_lim f x 0) /\ Rabs (P 0 - f 0) = 1.
Proof.
  exists Rabs. cbv zeta beta. rewrite Rabs_R0, Rabs_R1. repeat split.
  - rewrite <- (Rabs_Ropp (-1)). replace (- (-1)) with 1 by ring. apply Rabs_R1.
  - intros x. apply derivable_pt_lim_const.
  - replace (0 - 1) with (- (1)) by ring. rewrite Rabs_Ropp. apply Rabs_R1.
Qed.

(** * Product *)

(** A product by squares: [u = (a + b) / 2], [v = (a - b) / 2]. *)
Theorem product_by_squares a b : ((a + b) / 2) * ((a + b) / 2) - ((a - b) / 2) * ((a - b) / 2) = a * b.
Proof. field. Qed.

(** What a product is off by, if its factors are off. *)
Theorem product_error a b a' b' ea eb : Rabs (a' - a) <= ea -> Rabs (b' - b) <= eb ->
  Rabs (a' * b' - a * b) <= Rabs a * eb + Rabs b * ea + ea * eb.
Proof.
  intros A B. replace (a' * b' - a * b) with (a * (b' - b) + b * (a' - a) + (a' - a) * (b' - b)) by ring.
  assert (X := Rabs_triang (a * (b' - b) + b * (a' - a)) ((a' - a) * (b' - b))).
  assert (Y := Rabs_triang (a * (b' - b)) (b * (a' - a))). rewrite !Rabs_mult in *.
  assert (Rabs a * Rabs (b' - b) <= Rabs a * eb) by (apply Rmult_le_compat_l; auto using Rabs_pos).
  assert (Rabs b * Rabs (a' - a) <= Rabs b * ea) by (apply Rmult_le_compat_l; auto using Rabs_pos).
  assert (Rabs (a' - a) * Rabs (b' - b) <= ea * eb) by (apply Rmult_le_compat; auto using Rabs_pos). lra.
Qed.

Definition squares (l : list R) : R := total (map (fun x => x * x) l).

Lemma squares_pos l : 0 <= squares l.
Proof. apply total_nonneg, Forall_map, Forall_forall. intros. nra. Qed.

(** The square of a sum. *)
Lemma square_of_sum l : total l * total l <= INR (length l) * squares l.
Proof.
  induction l as [|x l IH]; [unfold squares, total; simpl; lra|]. cbn [length]. rewrite S_INR. unfold squares. cbn [map].
  rewrite !total_cons. fold (squares l). assert (S := squares_pos l). assert (N := pos_INR (length l)).
  set (T := total l) in *. set (q := squares l) in *. set (n := INR (length l)) in *.
  (* 2 x T <= n x^2 + q, since T^2 <= n q. *)
  assert (H : 2 * (x * T) <= n * (x * x) + q).
  { destruct N as [N|N].
    - assert (0 <= (n * x - T) * (n * x - T)) by apply Rle_0_sqr. apply Rmult_le_reg_l with n; auto. lra.
    - assert (Z : Rsqr T = 0) by (apply Rle_antisym; [unfold Rsqr; rewrite <- N in IH; lra | apply Rle_0_sqr]).
      apply Rsqr_eq_0 in Z. rewrite Z, <- N. lra. }
  nra.
Qed.

(** A deviation from the mean, by the mean square of all: [d_i^2 <= (n - 1) mean (d^2)]. *)
Theorem deviation_by_mean_square l x : In x l -> total l = 0 ->
  x * x <= INR (length l - 1) * (squares l / INR (length l)).
Proof.
  intros I T. apply in_split in I as (l1 & l2 & ->).
  assert (P : Permutation (l1 ++ x :: l2) (x :: (l1 ++ l2))) by (symmetry; apply Permutation_middle).
  rewrite (total_order _ _ P) in T. rewrite (Permutation_length P).
  replace (squares (l1 ++ x :: l2)) with (squares (x :: l1 ++ l2))
    by (symmetry; apply total_order, Permutation_map, P).
  set (r := l1 ++ l2) in *. assert (S := square_of_sum r). rewrite total_cons in T.
  replace (total r) with (- x) in S by lra. cbn [length]. replace (Datatypes.S (length r) - 1)%nat with (length r) by lia.
  unfold squares. cbn [map]. rewrite total_cons. fold (squares r). rewrite S_INR.
  assert (N := pos_INR (length r)). apply Rmult_le_reg_r with (INR (length r) + 1); [lra|].
  replace (INR (length r) * ((x * x + squares r) / (INR (length r) + 1)) * (INR (length r) + 1))
    with (INR (length r) * (x * x + squares r)) by (field; lra). nra.
Qed.

(** The product of the errors counts. *)
Theorem product_needs_both_errors :
  exists a b a' b', Rabs a * Rabs (b' - b) + Rabs b * Rabs (a' - a) < Rabs (a' * b' - a * b).
Proof.
  exists 0, 0, 1, 1. replace (1 * 1 - 0 * 0) with 1 by ring. replace (1 - 0) with 1 by ring. rewrite Rabs_R0, Rabs_R1. lra.
Qed.

(** Only deviations, whose sum is 0, are bounded so. *)
Theorem deviation_needs_the_mean :
  exists l x, In x l /\ INR (length l - 1) * (squares l / INR (length l)) < x * x.
Proof. exists [1; 0], 1. split; [now left|]. unfold squares, total. simpl. lra. Qed.

(** * Teeth *)

Definition tent (t : R) : R := 2 * relu t - 4 * relu (t - / 2).

Fixpoint tooth (v : R) (k : nat) : R := match k with O => v | S k => tent (tooth v k) end.

(** [T_1 / 4 + T_2 / 16 + ... ], the first [m] of them, with [T_1 = tent v]. *)
Fixpoint teeth (v : R) (m : nat) : R := match m with O => 0 | S m => teeth v m + tooth v (S m) / 4 ^ (S m) end.

Lemma tent_step t : 0 <= t <= 1 -> 0 <= tent t <= 1 /\ t * (1 - t) = tent t / 4 + tent t * (1 - tent t) / 4.
Proof.
  intros T. unfold tent. rewrite (relu_pos t) by lra. destruct (Rle_dec t (/ 2)) as [H|H].
  - rewrite relu_neg by lra. split; [lra | field].
  - rewrite relu_pos by lra. split; [lra | field].
Qed.

Lemma tooth_between v k : 0 <= v <= 1 -> 0 <= tooth v k <= 1.
Proof. intros V. induction k as [|k IH]; [auto | apply (tent_step _ IH)]. Qed.

Lemma teeth_rest v m : 0 <= v <= 1 -> v * (1 - v) = teeth v m + tooth v m * (1 - tooth v m) / 4 ^ m.
Proof.
  intros V. induction m as [|m IH]; [simpl; field|].
  destruct (tent_step _ (tooth_between v m V)) as [_ E]. rewrite IH, E.
  change (teeth v (S m)) with (teeth v m + tooth v (S m) / 4 ^ S m). change (tooth v (S m)) with (tent (tooth v m)).
  change (4 ^ S m) with (4 * 4 ^ m). assert (0 < 4 ^ m) by (apply pow_lt; lra). field. lra.
Qed.

(** Teeth make a square within their reach, from above, up to a quarter of what is left with each tooth. *)
Theorem teeth_make_squares r u m : 0 < r -> Rabs u <= r ->
  0 <= r * r - 4 * (r * r) * teeth (/ 2 + u / (2 * r)) m - u * u <= r * r / 4 ^ m.
Proof.
  intros P U. apply Rabs_le_inv in U. set (v := / 2 + u / (2 * r)).
  assert (E : r * (2 * v - 1) = u) by (unfold v; field; lra).
  assert (V : 0 <= v <= 1).
  { assert (W : 2 * r * v = r + u) by (unfold v; field; lra). split; apply Rmult_le_reg_l with (2 * r); lra. }
  assert (R := teeth_rest v m V). assert (B := tooth_between v m V). assert (Q : 0 < 4 ^ m) by (apply pow_lt; lra).
  set (t := tooth v m) in *.
  replace (r * r - 4 * (r * r) * teeth v m - u * u) with (4 * (r * r) * (t * (1 - t) / 4 ^ m)).
  - assert (I : 0 < / 4 ^ m) by (apply Rinv_0_lt_compat; auto).
    assert (S : 0 <= t * (1 - t) <= / 4).
    { assert (X := Rle_0_sqr (t - / 2)). unfold Rsqr in X. split; [apply Rmult_le_pos; lra | lra]. }
    assert (W : 0 <= r * r) by nra. unfold Rdiv. split.
    + apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; lra.
    + replace (4 * (r * r) * (t * (1 - t) * / 4 ^ m)) with (r * r * (4 * (t * (1 - t))) * / 4 ^ m) by ring.
      apply Rmult_le_compat_r; [lra|]. rewrite <- (Rmult_1_r (r * r)) at 2. apply Rmult_le_compat_l; lra.
  - replace (teeth v m) with (v * (1 - v) - t * (1 - t) / 4 ^ m) by lra. rewrite <- E. field. lra.
Qed.

(** Beyond its reach a square by teeth is wrong. *)
Theorem teeth_need_their_reach :
  exists r u m, 0 < r /\ r * r - 4 * (r * r) * teeth (/ 2 + u / (2 * r)) m - u * u < 0.
Proof. exists 1, 2, 0%nat. simpl. lra. Qed.

(** * Mean *)

Definition mean (l : list R) : R := total l / INR (length l).

(** Errors are averaged. *)
Theorem errors_averaged a b e : Forall2 (fun t s => Rabs (fst t - snd t) <= s) (combine a b) e ->
  length a = length b -> Rabs (mean a - mean b) <= mean e.
Proof.
  intros F L. assert (H : length a = length e).
  { apply two_lengths in F. rewrite combine_length, L, Nat.min_id in F. congruence. }
  unfold mean. rewrite <- L, <- H.
  assert (S : Rabs (total a - total b) <= total e).
  { clear H. revert b e F L. induction a as [|x a IH]; intros [|y b] e F L; try discriminate L.
    - inversion F; subst. unfold total. simpl. rewrite Rminus_0_r, Rabs_R0. lra.
    - simpl in F. inversion F as [|? s ? e' H F']; subst. simpl in H. rewrite !total_cons.
      replace (x + total a - (y + total b)) with (x - y + (total a - total b)) by ring.
      assert (T := Rabs_triang (x - y) (total a - total b)). specialize (IH b e' F' ltac:(now injection L)). lra. }
  unfold Rdiv. rewrite <- Rmult_minus_distr_r, Rabs_mult.
  assert (I : 0 <= / INR (length a)).
  { destruct a; [simpl; rewrite Rinv_0; lra|]. apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. simpl. lia. }
  rewrite (Rabs_pos_eq _ I). now apply Rmult_le_compat_r.
Qed.

Definition concave (lo hi : R) (f : R -> R) : Prop :=
  forall x y w, lo <= x <= hi -> lo <= y <= hi -> 0 <= w <= 1 -> w * f x + (1 - w) * f y <= f (w * x + (1 - w) * y).

Lemma mean_between x l lo hi : Forall (fun t => lo <= t <= hi) (x :: l) -> lo <= mean (x :: l) <= hi.
Proof.
  intros F. assert (N : 0 < INR (length (x :: l))) by (apply lt_0_INR; simpl; lia).
  assert (H : lo * INR (length (x :: l)) <= total (x :: l) <= hi * INR (length (x :: l))).
  { clear N. induction F as [|y r B F IH]; [unfold total; simpl; lra|]. cbn [length]. rewrite S_INR, total_cons. lra. }
  unfold mean. split; apply Rmult_le_reg_r with (INR (length (x :: l))); auto;
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
Qed.

(** With a concave bound of the error, the mean error is at most that bound at the mean. *)
Theorem concave_errors lo hi e x l : concave lo hi e -> Forall (fun t => lo <= t <= hi) (x :: l) ->
  mean (map e (x :: l)) <= e (mean (x :: l)).
Proof.
  intros C. revert x. induction l as [|y l IH]; intros x F.
  - unfold mean, total. simpl. rewrite !Rplus_0_r. unfold Rdiv. rewrite Rinv_1, !Rmult_1_r. lra.
  - inversion F as [|? ? Fx Fl]; subst. specialize (IH y Fl). assert (B := mean_between y l lo hi Fl).
    set (r := y :: l) in *. assert (N : 1 <= INR (length r)) by (apply (le_INR 1); simpl; lia).
    set (w := / (INR (length r) + 1)).
    assert (W : 0 < w) by (apply Rinv_0_lt_compat; lra).
    assert (W1 : w * (INR (length r) + 1) = 1) by (apply Rinv_l; lra).
    assert (Split : forall s z, length s = length r -> mean (z :: s) = w * z + (1 - w) * mean s).
    { intros s z E. unfold mean. cbn [length]. rewrite S_INR, total_cons, E. unfold w. field. lra. }
    cbn [map]. rewrite (Split (map e r) (e x)), (Split r x) by (auto; apply map_length).
    assert (K := C x (mean r) w Fx B ltac:(nra)).
    assert ((1 - w) * mean (map e r) <= (1 - w) * e (mean r)) by (apply Rmult_le_compat_l; nra). lra.
Qed.

(** The mean square of scaled deviations is at most that of two halves at the ends. *)
Theorem deviations_mean_square c lo hi x l : Forall (fun t => lo <= t <= hi) (x :: l) ->
  let mu := mean (x :: l) in
  mean (map (fun t => c * (t - mu) * (c * (t - mu))) (x :: l)) <= c * c * ((hi - lo) * (hi - lo) / 4).
Proof.
  intros F mu. set (r := x :: l) in *. assert (N : 0 < INR (length r)) by (apply lt_0_INR; simpl; lia).
  assert (M : total r = mu * INR (length r)) by (unfold mu, mean; field; lra).
  assert (H : total (map (fun t => c * (t - mu) * (c * (t - mu))) r)
              <= c * c * ((hi + lo - 2 * mu) * total r + (mu * mu - lo * hi) * INR (length r))).
  { clear M N. clearbody mu. induction F as [|y s B F IH]; [unfold total; simpl; lra|].
    cbn [map length]. rewrite !total_cons, S_INR.
    assert (0 <= c * c * ((hi - y) * (y - lo))) by (apply Rmult_le_pos; [apply Rle_0_sqr | apply Rmult_le_pos; lra]).
    lra. }
  rewrite M in H. unfold mean. rewrite map_length. apply Rmult_le_reg_r with (INR (length r)); auto.
  unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (0 <= c * c * INR (length r) * ((mu - (hi + lo) / 2) * (mu - (hi + lo) / 2))).
  { apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rle_0_sqr | lra] | apply Rle_0_sqr]. }
  lra.
Qed.

(** A bound that is not concave may be exceeded by the mean error. *)
Theorem concave_errors_need_concavity : exists e l, e (mean l) < mean (map e l).
Proof. exists (fun x => x * x), [0; 2]. unfold mean, total. simpl. lra. Qed.

(** Deviations are from the mean of the numbers themselves. *)
Theorem deviations_need_the_mean :
  exists c lo hi mu l, Forall (fun t => lo <= t <= hi) l /\ lo <= mu <= hi /\
    c * c * ((hi - lo) * (hi - lo) / 4) < mean (map (fun t => c * (t - mu) * (c * (t - mu))) l).
Proof. exists 1, 0, 1, 0, [1]. split; [repeat (constructor; [lra|]); constructor|]. unfold mean, total. simpl. lra. Qed.

Lemma total_scaled w v : total (map (Rmult w) v) = w * total v.
Proof. induction v as [|t v IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH. ring. Qed.

Lemma size_scaled w v : size (map (Rmult w) v) = Rabs w * size v.
Proof.
  unfold size. induction v as [|t v IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH, Rabs_mult. ring.
Qed.

Section Computed.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation number := (number emin prec).
Notation fl := (fl emin prec).
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation sum := (sum emin prec).

(** What the uniform head computes: the values times [fl (1/n)], in any order. *)
Theorem computed_mean v x : let n := length v in
  INR (n + 1) * u < 1 -> least_normal <= 1 / INR n ->
  sum (map (Rmult (fl (1 / INR n))) v) x ->
  Rabs (x - mean v) <= gamma u (n + 1) * mean (map Rabs v) + 4 * INR n * least_normal.
Proof.
  intros n K Small H. set (w := fl (1 / INR n)) in *. assert (U := u_pos prec). assert (N := least_normal_pos emin prec).
  assert (L := sum_not_empty _ _ H). rewrite map_length in L. fold n in L.
  assert (K1 : 1 <= INR n) by (apply (le_INR 1); auto).
  assert (KS : INR (n + 1) = INR n + 1) by (rewrite plus_INR; reflexivity). rewrite KS in K.
  assert (W : Rabs (w - 1 / INR n) <= u * (1 / INR n)).
  { assert (E := one_rounding_error emin prec (1 / INR n) w (Rounded _ _ _)).
    assert (P : 0 < 1 / INR n) by (apply Rdiv_lt_0_compat; lra).
    destruct (fl_normal emin prec (1 / INR n)) as (eps & E1 & E2); [rewrite Rabs_pos_eq; lra|].
    unfold w. rewrite E2. replace (1 / INR n * (1 + eps) - 1 / INR n) with (eps * (1 / INR n)) by ring.
    rewrite Rabs_mult, (Rabs_pos_eq (1 / INR n)) by lra. apply Rmult_le_compat_r; [lra|].
    eapply Rle_trans; [apply E1 | apply u_over]. }
  assert (A := any_sum emin prec (map (Rmult w) v) x). cbv zeta in A. rewrite map_length in A. fold n in A.
  specialize (A ltac:(lra) H).
  assert (T := total_scaled w v). assert (S := size_scaled w v).
  rewrite T, S in A. unfold mean. rewrite map_length. fold n. change (total (map Rabs v)) with (size v).
  assert (Sv := size_nonneg v). assert (Tv := total_size v).
  set (s := size v) in *. set (z := total v) in *.
  assert (Rw : Rabs w <= (1 + u) * (1 / INR n)).
  { replace w with (1 / INR n + (w - 1 / INR n)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_pos_eq (1 / INR n)); [lra|]. apply Rlt_le, Rdiv_lt_0_compat; lra. }
  replace (x - z / INR n) with (x - w * z + (w - 1 / INR n) * z) by (field; lra).
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  assert (B : Rabs (w - 1 / INR n) * Rabs z <= u * (1 / INR n) * s) by (apply Rmult_le_compat; auto using Rabs_pos).
  assert (G : 0 <= gamma u n) by (unfold gamma; apply Rmult_le_pos; [nra | apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (C : gamma u n * (Rabs w * s) <= gamma u n * ((1 + u) * (1 / INR n) * s)).
  { apply Rmult_le_compat_l; auto. apply Rmult_le_compat_r; auto. }
  assert (D : gamma u n * (1 + u) + u <= gamma u (n + 1)).
  { unfold gamma. rewrite KS. set (k := INR n) in *.
    apply Rmult_le_reg_r with ((1 - k * u) * (1 - (k + 1) * u)); [apply Rmult_lt_0_compat; lra|].
    replace ((k * u / (1 - k * u) * (1 + u) + u) * ((1 - k * u) * (1 - (k + 1) * u)))
      with ((k * u * (1 + u) + u * (1 - k * u)) * (1 - (k + 1) * u)) by (field; nra).
    replace ((k + 1) * u / (1 - (k + 1) * u) * ((1 - k * u) * (1 - (k + 1) * u)))
      with ((k + 1) * u * (1 - k * u)) by (field; lra).
    assert (0 <= u * u * (k + 1)) by (repeat apply Rmult_le_pos; lra). nra. }
  assert (I : 0 <= 1 / INR n * s) by (apply Rmult_le_pos; auto; apply Rlt_le, Rdiv_lt_0_compat; lra).
  assert ((gamma u n * (1 + u) + u) * (1 / INR n * s) <= gamma u (n + 1) * (1 / INR n * s)) by (apply Rmult_le_compat_r; auto).
  unfold Rdiv in *. lra.
Qed.

(** * Clearing *)

(** A register [z], in a sum with [-relu z] and [relu (-z)], is 0 whatever the order. *)
Theorem clearing z x : number z -> z = 0 \/ least_normal <= Rabs z ->
  sum [z; - relu z; relu (- z)] x -> x = 0.
Proof.
  intros N L H. assert (E : z + (- relu z + (relu (- z) + 0)) = 0).
  { unfold relu, Rmax. destruct (Rle_dec z 0), (Rle_dec (- z) 0); lra. }
  replace 0 with (total [z; - relu z; relu (- z)]) by exact E.
  apply (sums_of_a_kind emin prec (fun t => exists k, t = IZR k * z) (Rabs z)); auto.
  - exists 0%Z. ring.
  - intros a b [k ->] [l ->]. exists (k + l)%Z. rewrite plus_IZR. ring.
  - intros a [k ->] B. destruct (Req_dec z 0) as [->|Z]; [rewrite Rmult_0_r; split; [apply number_0 | auto]|].
    assert (P := Rabs_pos_lt z Z). rewrite Rabs_mult, <- abs_IZR in B.
    assert (K : IZR (Z.abs k) <= 1) by (apply Rmult_le_reg_r with (Rabs z); lra). apply le_IZR in K.
    assert (C : k = 0%Z \/ k = 1%Z \/ k = (-1)%Z) by lia. destruct C as [->|[->| ->]].
    + rewrite Rmult_0_l. split; [apply number_0 | auto].
    + rewrite Rmult_1_l. auto.
    + replace (-1 * z) with (- z) by ring. split; [now apply number_opp|]. rewrite Rabs_Ropp. destruct L; [left; lra | auto].
  - repeat constructor.
    + exists 1%Z. ring.
    + unfold relu, Rmax. destruct (Rle_dec z 0); [exists 0%Z | exists (-1)%Z]; ring.
    + unfold relu, Rmax. destruct (Rle_dec (- z) 0); [exists 0%Z | exists (-1)%Z]; ring.
  - unfold above, relu, total, Rabs, Rmax. simpl.
    repeat (destruct (Rle_dec _ _)); destruct (Rcase_abs z); lra.
  - unfold below, relu, total, Rabs, Rmax. simpl.
    repeat (destruct (Rle_dec _ _)); destruct (Rcase_abs z); lra.
Qed.

End Computed.
