(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** What registers hold, in forms: CERTIFICATE.md, section 7, *Embedding*, *What may be computed*, *Whole numbers*, *Points*,
    *Cases*, *Selection* and *Signs*. *)

From Formwright Require Import RulesExecution RulesSums RulesSumsFalse RulesSoftmax RulesLayers RulesMeanings.

(** * Embedding *)

(** An input of a token, beside a register: what it is multiplied by, and the factor of the form. *)
Record entry := Entry { input : R; embedded : R; factor : R }.

Section Embedding.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation number := (number emin prec).
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation sum := (sum emin prec).

(** What a register is embedded as differs from its form by the linear rest over the inputs, by what the bias and
    the position are off from the numbers of the form, and by rounding. *)
Theorem embedding l bias position offset numbers X z :
  let terms := map (fun t => embedded t * input t) l ++ [bias; position] in
  let k := length terms in
  INR k * u < 1 -> Forall (fun t => Rabs (input t) <= X) l -> sum terms z ->
  Rabs (z - (offset + total (map (fun t => factor t * input t) l) + numbers))
  <= X * total (map (fun t => Rabs (embedded t - factor t)) l) + Rabs (bias + position - offset - numbers)
     + (gamma u k * size terms + 4 * INR k * least_normal).
Proof.
  intros terms k K B H. apply (any_sum emin prec) in H; auto. fold k in H.
  assert (T : total terms = total (map (fun t => embedded t * input t) l) + (bias + position)).
  { unfold terms. rewrite total_app. unfold total at 2. simpl. ring. }
  assert (D : Rabs (total (map (fun t => embedded t * input t) l) - total (map (fun t => factor t * input t) l))
              <= X * total (map (fun t => Rabs (embedded t - factor t)) l)).
  { clear T H K k terms. induction B as [|t l H B IH]; [unfold total; simpl; rewrite Rminus_0_r, Rabs_R0; lra|].
    cbn [map]. rewrite !total_cons.
    match goal with |- Rabs (?a + ?x - (?b + ?y)) <= _ => replace (a + x - (b + y)) with ((embedded t - factor t) * input t + (x - y)) by ring end.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, Rmult_plus_distr_l.
    apply Rplus_le_compat; auto. rewrite Rmult_comm. apply Rmult_le_compat_r; auto using Rabs_pos. }
  rewrite T in H. set (a := total (map (fun t => embedded t * input t) l)) in *.
  set (b := total (map (fun t => factor t * input t) l)) in *.
  replace (z - (offset + b + numbers)) with ((z - (a + (bias + position))) + (a - b) + (bias + position - offset - numbers)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. lra.
Qed.

(** A bias or a position alone is not rounded. *)
Theorem embedding_alone b z : number b -> b = 0 \/ least_normal <= Rabs b -> sum [b] z -> z = b.
Proof. intros N L H. apply (sum_single emin prec) in H. now apply (rounded_exact emin prec b). Qed.

End Embedding.

(** A bias and a position together are. *)
Theorem embedding_needs_one_alone :
  exists b position z, number64 b /\ number64 position /\ sum64 [b; position] z /\ z <> b + position.
Proof.
  exists large, 1, large. split; [apply number64_large|]. split; [apply number64_1|]. split.
  - apply (Sum_add _ _ [large] [1] large 1); try (constructor; apply itself; auto using number64_large, number64_1).
    rewrite <- (large_absorbs 1) at 2 by (rewrite Rabs_R1; lra). constructor.
  - lra.
Qed.

(** * What may be computed *)

(** What is computed lies within the error of what is meant, and in the range of what the units make. *)
Theorem what_may_be_computed (P : R -> R) g E lo hi from to a b read :
  Rabs (P read - g) <= E -> lo <= g <= hi -> from <= read <= to -> (forall t, from <= t <= to -> a <= P t <= b) ->
  Rmax (lo - E) a <= P read <= Rmin (hi + E) b.
Proof.
  intros H G T B. specialize (B read T). apply Rabs_le_inv in H. split; [apply Rmax_lub | apply Rmin_glb]; lra.
Qed.

(** A tooth stays within [0, 1] by the second alone: by the first it may be outside. *)
Theorem what_may_be_computed_needs_both :
  (forall t, 0 <= t <= 1 -> 0 <= tent t <= 1) /\ exists g' g E, 0 <= g <= 1 /\ Rabs (g' - g) <= E /\ 1 < g'.
Proof.
  split; [intros t T; apply (tent_step t T)|]. exists 2, 1, 1. split; [lra|]. split; [|lra].
  replace (2 - 1) with 1 by ring. rewrite Rabs_R1. lra.
Qed.

(** * Whole numbers *)

Definition whole (x : R) : Prop := exists n : Z, x = IZR n.

Lemma whole_IZR n : whole (IZR n).
Proof. now exists n. Qed.

Lemma whole_plus x y : whole x -> whole y -> whole (x + y).
Proof. intros [n ->] [m ->]. exists (n + m)%Z. now rewrite plus_IZR. Qed.

Lemma whole_times x y : whole x -> whole y -> whole (x * y).
Proof. intros [n ->] [m ->]. exists (n * m)%Z. now rewrite mult_IZR. Qed.

Lemma whole_total l : Forall whole l -> whole (total l).
Proof. induction 1; [apply (whole_IZR 0) | rewrite total_cons; now apply whole_plus]. Qed.

(** A form with whole factors and a whole offset over what is whole, and the largest of what is whole. *)
Theorem whole_numbers offset (terms : list (R * R)) : whole offset -> Forall (fun t => whole (fst t) /\ whole (snd t)) terms ->
  whole (offset + total (map (fun t => fst t * snd t) terms)) /\
  whole (fold_right Rmax offset (map snd terms)).
Proof.
  intros O F. split.
  - apply whole_plus; auto. apply whole_total, Forall_map. eapply Forall_impl; [|apply F]. intros t [A B]. now apply whole_times.
  - induction F as [|t l [_ H] F IH]; simpl; auto. unfold Rmax. destruct (Rle_dec _ _); auto.
Qed.

(** A mean of what is whole, times a multiple of the number of tokens. *)
Theorem whole_mean l k : l <> [] -> Forall whole l -> whole k -> whole (k * INR (length l) * mean l).
Proof.
  intros N F K. replace (k * INR (length l) * mean l) with (k * total l).
  - apply whole_times; auto. now apply whole_total.
  - unfold mean. field. destruct l; [contradiction|]. apply not_0_INR. discriminate.
Qed.

(** What is whole, times [2^q], is a multiple of [2^q]: *Exact sums* applies. *)
Theorem whole_sums_are_exact emin prec (prec_pos : Prec_gt_0 prec) q l x :
  (emin + prec - 1 <= q)%Z -> Forall whole l ->
  let terms := map (fun t => t * bpow radix2 q) l in
  above terms <= bpow radix2 (q + prec) -> below terms <= bpow radix2 (q + prec) -> sum emin prec terms x -> x = total terms.
Proof.
  intros Q F terms A B H. apply (exact_sums emin prec q) in H; auto.
  unfold terms. apply Forall_map. eapply Forall_impl; [|apply F]. intros t [n ->]. now exists n.
Qed.

(** A mean of whole numbers is not whole by itself. *)
Theorem whole_numbers_need_a_divisor : exists l, Forall whole l /\ ~ whole (mean l).
Proof.
  exists [0; 1]. split; [repeat constructor; [now exists 0%Z | now exists 1%Z]|]. intros [n H].
  unfold mean, total in H. simpl in H. assert (E : IZR 1 = IZR (2 * n)) by (rewrite mult_IZR; lra). apply eq_IZR in E. lia.
Qed.

(** * Points *)

(** Units that read a whole form, with an error, make a number for each whole number: only the slope near them
    counts. *)
Theorem points (P f : R -> R) c k slope e t s : c <> 0 -> 0 <= slope -> whole t -> Rabs (s - t) <= e ->
  (forall r, whole r -> forall s, Rabs (s - r) <= e -> Rabs (P s - P r) <= slope * Rabs (s - r)) ->
  Rabs (P s / c - (f t + k)) <= slope / Rabs c * e + Rabs (P t / c - f t - k).
Proof.
  intros C S W E L. assert (H := curve_error P (fun t => f t + k) c slope e t s C E S (L t W s E)). cbv beta in H.
  replace (P t / c - f t - k) with (P t / c - (f t + k)) by ring. exact H.
Qed.

(** A product of whole numbers by the squares of half of [u] and half of [v], at their points. *)
Theorem points_make_products a b u v : u * u - v * v = 4 * (a * b) -> u * u / 4 - v * v / 4 = a * b.
Proof. intros H. lra. Qed.

(** Where the form is not whole the curve is anything. *)
Theorem points_need_whole_numbers :
  exists P f : R -> R, (forall t, t = 0 \/ t = 1 -> P t = f t) /\ exists t, 0 < t < 1 /\ P t <> f t.
Proof.
  exists (fun t => t), (fun t => t * t). split; [intros t [->| ->]; ring|]. exists (/ 2). lra.
Qed.

(** * Cases *)

(** A term of the form: whether it is on, what is meant, what is computed, and its errors where it is on and off. *)
Record term := Term { on : bool; meant : R; found : R; off_by_on : R; off_by_off : R }.

Definition fits (t : term) : Prop :=
  0 <= off_by_off t /\ (if on t then Rabs (found t - meant t) <= off_by_on t else meant t = 0 /\ Rabs (found t) <= off_by_off t).

(** A sum of terms of which no more than one is on is off by the worst error of one that is on, and by those of all
    that are off. *)
Theorem cases (l : list term) worst : (length (filter on l) <= 1)%nat -> Forall fits l ->
  0 <= worst -> Forall (fun t => off_by_on t <= worst) l ->
  (total (map meant l) = 0 \/ exists t, In t l /\ total (map meant l) = meant t) /\
  Rabs (total (map found l) - total (map meant l)) <= worst + total (map off_by_off l).
Proof.
  intros One F W B.
  assert (Off : forall s, filter on s = [] -> Forall fits s ->
    total (map meant s) = 0 /\ Rabs (total (map found s)) <= total (map off_by_off s)).
  { induction s as [|t s IH]; intros N G; [unfold total; simpl; rewrite Rabs_R0; lra|].
    inversion G as [|? ? Gt G']; subst. destruct Gt as [P H]. simpl in N. destruct (on t); [discriminate|].
    destruct (IH N G') as [I J]. destruct H as [H K]. cbn [map]. rewrite !total_cons, H, I. split; [ring|].
    eapply Rle_trans; [apply Rabs_triang|]. lra. }
  induction l as [|t l IH]; [unfold total; simpl; split; auto; rewrite Rminus_0_r, Rabs_R0; lra|].
  inversion F as [|? ? Ft F']; subst. destruct Ft as [P H]. inversion B as [|? ? Bt B']; subst. simpl in One. cbn [map]. rewrite !total_cons.
  destruct (on t) eqn:O.
  - assert (N : filter on l = []) by (destruct (filter on l); [reflexivity | simpl in One; lia]).
    destruct (Off l N F') as [I J]. rewrite I. split; [right; exists t; split; [now left | ring]|].
    replace (found t + total (map found l) - (meant t + 0)) with ((found t - meant t) + total (map found l)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
  - destruct H as [H K]. destruct (IH One F' B') as [I J]. rewrite H. split.
    + destruct I as [I|(s & I & E)]; [left; lra | right; exists s; split; [now right | lra]].
    + replace (found t + total (map found l) - (0 + total (map meant l)))
        with (found t + (total (map found l) - total (map meant l))) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

(** Two terms that are on add their errors. *)
Theorem cases_need_one_at_a_time :
  exists l worst, Forall fits l /\ Forall (fun t => off_by_on t <= worst) l /\
    worst + total (map off_by_off l) < Rabs (total (map found l) - total (map meant l)).
Proof.
  set (t := Term true 0 1 1 0). exists [t; t], 1.
  assert (H : fits t) by (unfold fits; simpl; split; [lra|]; rewrite Rminus_0_r, Rabs_R1; lra).
  split; [repeat (apply Forall_cons; [exact H|]); apply Forall_nil|].
  split; [repeat (apply Forall_cons; [simpl; lra|]); apply Forall_nil|]. unfold total. simpl.
  replace (1 + (1 + 0) - (0 + (0 + 0))) with 2 by ring. rewrite Rabs_pos_eq; lra.
Qed.

(** * Selection *)

(** Units that stand for [u - d + q] where the condition is 1, and for [q] elsewhere, make [condition * value + q]. *)
Theorem selection (P : R -> R) condition value d q e : condition = 0 \/ condition = 1 ->
  (condition = 1 -> Rabs (P (value + d) - (value + d - d + q)) <= e) ->
  (condition = 0 -> Rabs (P (value + d) - q) <= e) ->
  Rabs (P (value + d) - (condition * value + q)) <= e.
Proof.
  intros [->| ->] A B.
  - rewrite Rmult_0_l, Rplus_0_l. auto.
  - replace (1 * value + q) with (value + d - d + q) by ring. auto.
Qed.

(** With a condition that is computed, its multiples in [d] and [q] are charged. *)
Theorem selection_by_a_form (P : R -> R) c c' value d0 d1 q0 q1 slope e off : c = 0 \/ c = 1 -> 0 <= slope ->
  Rabs (c' - c) <= off ->
  (forall s t, Rabs (P s - P t) <= slope * Rabs (s - t)) ->
  (c = 1 -> Rabs (P (value + (d0 + d1 * c)) - (value + (q0 + q1 * c))) <= e) ->
  (c = 0 -> Rabs (P (value + (d0 + d1 * c)) - (q0 + q1 * c)) <= e) ->
  Rabs (P (value + (d0 + d1 * c')) - (c * value + (q0 + q1 * c'))) <= e + (slope * Rabs d1 + Rabs q1) * off.
Proof.
  intros C S O L A B.
  assert (H : Rabs (P (value + (d0 + d1 * c)) - (c * value + (q0 + q1 * c))) <= e).
  { apply (selection P c value (d0 + d1 * c) (q0 + q1 * c)); auto. intros E. specialize (A E).
    replace (value + (d0 + d1 * c) - (d0 + d1 * c) + (q0 + q1 * c)) with (value + (q0 + q1 * c)) by ring. exact A. }
  specialize (L (value + (d0 + d1 * c')) (value + (d0 + d1 * c))).
  replace (value + (d0 + d1 * c') - (value + (d0 + d1 * c))) with (d1 * (c' - c)) in L by ring. rewrite Rabs_mult in L.
  set (x := P (value + (d0 + d1 * c'))) in *. set (y := P (value + (d0 + d1 * c))) in *.
  replace (x - (c * value + (q0 + q1 * c'))) with ((x - y) + (y - (c * value + (q0 + q1 * c))) + - (q1 * (c' - c))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult.
  assert (T := Rabs_triang (x - y) (y - (c * value + (q0 + q1 * c)))).
  assert (Rabs d1 * Rabs (c' - c) <= Rabs d1 * off) by (apply Rmult_le_compat_l; auto using Rabs_pos).
  assert (Rabs q1 * Rabs (c' - c) <= Rabs q1 * off) by (apply Rmult_le_compat_l; auto using Rabs_pos).
  assert (slope * (Rabs d1 * Rabs (c' - c)) <= slope * (Rabs d1 * off)) by (apply Rmult_le_compat_l; auto). lra.
Qed.

(** A condition that is neither 0 nor 1 selects nothing. *)
Theorem selection_needs_a_condition :
  exists P condition value d q, 0 < condition < 1 /\
    (condition = 1 -> Rabs (P (value + d) - (value + d - d + q)) <= 0) /\ (condition = 0 -> Rabs (P (value + d) - q) <= 0) /\
    P (value + d) <> condition * value + q.
Proof. exists (fun x : R => x), (/ 2), 1, 0, 0. repeat split; try lra; intros; exfalso; lra. Qed.

(** * Signs *)

(** Values and errors of one sign: the register has it, and a unit that reads it is a line, or nothing. *)
Theorem signs g g' e lo hi : lo <= g <= hi -> Rabs (g' - g) <= e ->
  (0 <= lo - e -> 0 <= g' /\ relu g' = g' /\ relu (- g') = 0) /\ (hi + e <= 0 -> g' <= 0 /\ relu g' = 0 /\ relu (- g') = - g').
Proof.
  intros B E. apply Rabs_le_inv in E. split; intros S; (split; [lra|]).
  - rewrite relu_pos, relu_neg by lra. auto.
  - rewrite relu_neg, relu_pos by lra. auto.
Qed.

(** The errors count. *)
Theorem signs_need_the_errors : exists g g' e, 0 <= g /\ Rabs (g' - g) <= e /\ g' < 0.
Proof. exists 0, (-1), 1. split; [lra|]. split; [|lra]. rewrite Rminus_0_r, Rabs_left; lra. Qed.
