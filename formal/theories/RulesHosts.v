(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** Stock hosts with norms: CERTIFICATE.md, section 10. Here are the lines of the execution that section 3 does not have, and
    the rules about norms: *Units of the pin*, *Norm*, *Norm before the layers*, *Norm behind the layers*.

    A pair of coordinates is one thing here, and a token is its pairs, that of the pin first. *)

From Formwright Require Import RulesExecution RulesSums RulesSoftmax RulesIntegral.

(** * Pairs of coordinates *)

(** Half the difference of a pair, which is what a register holds, and half its sum, its middle. *)
Definition half_difference (x : R * R) : R := (fst x - snd x) / 2.
Definition half_sum (x : R * R) : R := (fst x + snd x) / 2.

Definition coordinates (token : list (R * R)) : list R := flat_map (fun x => [fst x; snd x]) token.

Definition squares (v : list R) : R := total (map (fun x => x * x) v).
Definition average (v : list R) : R := total v / INR (length v).

(** The same in units of the pin: [P] is half the difference of the pins, and should be [C]. *)
Definition held (C P : R) (x : R * R) : R := half_difference x * (C / P).
Definition middle (C P : R) (x : R * R) : R := half_sum x * (C / P).

(** The mean of the middles. *)
Definition common (C P : R) (token : list (R * R)) : R := average (map (middle C P) token).

Lemma coordinates_length token : length (coordinates token) = (2 * length token)%nat.
Proof. induction token as [|x l IH]; simpl; lia. Qed.

Lemma average_of_halves token : token <> [] -> average (coordinates token) = average (map half_sum token).
Proof.
  intros E. unfold average. rewrite coordinates_length, map_length, mult_INR. simpl (INR 2).
  assert (N : INR (length token) <> 0) by (apply not_0_INR; destruct token; simpl; congruence).
  assert (T : total (coordinates token) = 2 * total (map half_sum token)).
  { clear. induction token as [|x l IH]; [unfold total; simpl; ring|]. simpl. unfold total in *. simpl. rewrite IH. unfold half_sum. field. }
  rewrite T. field. exact N.
Qed.

Lemma average_scaled {A} (f : A -> R) c l : average (map (fun x => f x * c) l) = average (map f l) * c.
Proof.
  unfold average. rewrite !map_length. replace (total (map (fun x => f x * c) l)) with (c * total (map f l)); [unfold Rdiv; ring|].
  rewrite <- total_of_multiple. f_equal. apply map_ext. intros. ring.
Qed.

Lemma common_average C P token : token <> [] -> common C P token = average (coordinates token) * (C / P).
Proof. intros E. unfold common, middle. now rewrite average_scaled, average_of_halves. Qed.

Lemma squares_pairs token :
  squares (coordinates token) = total (map (fun x => 2 * (half_difference x * half_difference x + half_sum x * half_sum x)) token).
Proof.
  unfold squares. induction token as [|x l IH]; [reflexivity|].
  change (coordinates (x :: l)) with (fst x :: snd x :: coordinates l). cbn [map]. rewrite !total_cons, IH.
  unfold half_difference, half_sum. field.
Qed.

(** The mean square, less the square of the mean. *)
Lemma squares_centred v : v <> [] ->
  squares (map (fun x => x - average v) v) = squares v - INR (length v) * (average v * average v).
Proof.
  intros E. assert (N : INR (length v) <> 0) by (apply not_0_INR; destruct v; simpl; congruence).
  assert (G : forall a, squares (map (fun x => x - a) v) = squares v - 2 * a * total v + INR (length v) * (a * a)).
  { intros a. unfold squares. rewrite map_map. clear. induction v as [|x v IH]; [unfold total; simpl; ring|].
    cbn [map length]. rewrite !total_cons, IH, S_INR. ring. }
  rewrite G. unfold average. field. exact N.
Qed.

Lemma square_nonneg x : 0 <= x * x.
Proof. apply Rle_0_sqr. Qed.

Lemma square_le x y : Rabs x <= y -> x * x <= y * y.
Proof.
  intros H. rewrite <- (Rabs_pos_eq (x * x)), Rabs_mult by apply square_nonneg. apply Rmult_le_compat; auto using Rabs_pos.
Qed.

Lemma squares_nonneg v : 0 <= squares v.
Proof. apply total_nonneg, Forall_map, Forall_forall. intros. apply square_nonneg. Qed.

(** A mean is no larger than what is averaged. *)
Lemma average_within {A} (f : A -> R) B l : l <> [] -> (forall x, In x l -> Rabs (f x) <= B) -> Rabs (average (map f l)) <= B.
Proof.
  intros E H. unfold average. rewrite map_length.
  assert (N : 0 < INR (length l)) by (apply lt_0_INR; destruct l; simpl; [congruence | lia]).
  assert (T : Rabs (total (map f l)) <= INR (length l) * B).
  { clear E N. induction l as [|x l IH]; [unfold total; simpl; rewrite Rabs_R0; lra|]. cbn [map length]. rewrite total_cons, S_INR.
    eapply Rle_trans; [apply Rabs_triang|]. assert (H1 := H x (or_introl eq_refl)). assert (H2 := IH (fun y I => H y (or_intror I))). lra. }
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (INR _)) by lra.
  apply Rmult_le_reg_r with (INR (length l)); auto. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma average_moved {A} (f g : A -> R) c l : l <> [] ->
  average (map (fun x => f x - (g x - c)) l) = average (map f l) - (average (map g l) - c).
Proof.
  intros E. unfold average. rewrite !map_length. assert (N : INR (length l) <> 0) by (apply not_0_INR; destruct l; simpl; congruence).
  assert (T : total (map (fun x => f x - (g x - c)) l) = total (map f l) - total (map g l) + INR (length l) * c).
  { clear. induction l as [|x l IH]; [unfold total; simpl; ring|]. cbn [map length]. rewrite !total_cons, IH, S_INR. ring. }
  rewrite T. field. exact N.
Qed.

(** A register as readers see it: what it holds in units of the pin, how large that may be, and its pair of coordinates. *)
Record register := { value : R; limit : R; pair : R * R }.

(** A token as readers see it: the factor [f] and the errors of what is in its registers are the same for all of them. *)
Definition readable (C f r eta zeta M : R) (pin : R * R) (registers : list register) : Prop :=
  0 < f /\ Rabs (f - 1) <= r /\
  (Rabs (half_difference pin / f - C) <= C * zeta /\
    Rabs (fst pin) <= f * ((1 + eta) * (C + M)) /\ Rabs (snd pin) <= f * ((1 + eta) * (C + M))) /\
  Forall (fun x => Rabs (half_difference (pair x) / f - value x) <= eta * (limit x + M) /\
    Rabs (fst (pair x)) <= f * ((1 + eta) * (limit x + M)) /\ Rabs (snd (pair x)) <= f * ((1 + eta) * (limit x + M))) registers.

Lemma two_squares x y a h : x - y = 2 * h -> 2 * (h * h) <= (x - a) * (x - a) + (y - a) * (y - a).
Proof. intros E. assert (Q := Rle_0_sqr (x - a - h)). unfold Rsqr in Q. replace y with (x - 2 * h) by lra. nra. Qed.

Section Hosts.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation gamma := (gamma u).

(** * The execution of a norm

    The page's table says that what is below the normal range may be flushed, not how much that may come to. Here it is a
    number of least normal numbers that no order of the operations reaches. *)

Definition mean_of (v : list R) (m : R) : Prop :=
  Rabs (m - average v) <= gamma (length v + 8) * sqrt (squares v / INR (length v)) + 8 * least_normal.

Definition variance_of (v : list R) (w : R) : Prop :=
  Rabs (w - squares (map (fun x => x - average v) v) / INR (length v))
    <= gamma (length v + 32) * (squares v / INR (length v)) + 12 * least_normal.

(** [eps] is the number of `config.json`, which is rounded to the format. *)
Definition inverse_root (eps w i : R) : Prop :=
  exists e, 0 <= e <= eps * (1 + / 2 ^ 20) + 2 * least_normal /\
    0 < w + e /\ Rabs (i - / sqrt (w + e)) <= gamma 8 * / sqrt (w + e).

(** The rest of a norm, in any order: what one flush does is multiplied by the gain, or by [i], or by none. *)
Definition rest_of (j : nat) (g m i x y : R) : Prop :=
  Rabs (y - g * (x - m) * i) <= gamma j * (g * i * (Rabs x + Rabs m)) + 16 * least_normal * Rmax 1 (Rmax g i).

(** A pair of coordinates in front of a norm, its gains, and behind it; and the most that its register may be. *)
Record place := { entered : R * R; gains : R * R; normed : R * R; most : R }.

Definition layer_norm (eps : R) (j : nat) (token : list place) : Prop :=
  let v := coordinates (map entered token) in
  exists m w i, mean_of v m /\ variance_of v w /\ inverse_root eps w i /\
    Forall (fun p => rest_of j (fst (gains p)) m i (fst (entered p)) (fst (normed p)) /\
                     rest_of j (snd (gains p)) m i (snd (entered p)) (snd (normed p))) token.

(** * Units of the pin *)

(** Behind the embedding both coordinates of every pair are off by at most [omega]. *)
Theorem units_of_the_pin C token omega : token <> [] ->
  (forall x, In x token -> exists z e e', x = (z + e, - z + e') /\ Rabs e <= omega /\ Rabs e' <= omega) ->
  forall P, P = C -> 0 < C ->
  (forall x, In x token -> Rabs (middle C P x - common C P token) <= 2 * omega) /\ Rabs (common C P token) <= omega.
Proof.
  intros E H P -> Pos.
  assert (M : forall x, In x token -> Rabs (middle C C x) <= omega).
  { intros x I. destruct (H x I) as (z & e & e' & -> & A & B). unfold middle, half_sum. cbn [fst snd].
    replace ((z + e + (- z + e')) / 2 * (C / C)) with ((e + e') / 2) by (field; lra).
    apply Rabs_le. apply Rabs_le_inv in A, B. lra. }
  assert (A : Rabs (common C C token) <= omega) by (now apply average_within).
  split; auto. intros x I. specialize (M x I). apply Rabs_le. apply Rabs_le_inv in M, A. lra.
Qed.

(** The pins are never added to: behind a sum with nothing but 0 they are what they were. *)
Theorem pins_stay C zeros x : number emin prec C -> Forall (fun t => t = 0) zeros -> sum emin prec (C :: zeros) x ->
  C = 0 \/ least_normal <= Rabs C -> x = C.
Proof.
  intros N Z. revert x. induction zeros as [|t l IH]; intros x H B.
  - apply (sum_single emin prec) in H. exact (rounded_exact emin prec C x N B H).
  - inversion Z; subst. apply IH; auto. apply (zeros_do_not_count emin prec (C :: l)); [discriminate|].
    apply Sum_order with (C :: 0 :: l); auto. apply perm_swap.
Qed.

(** * Norm *)

Definition phi (k : nat) : R := (4 * INR k + 8) * least_normal.

(** The inverse root of a number near 1. *)
Lemma inverse_root_near x q nu theta t : 0 <= q -> 0 <= nu <= / 4 -> - nu <= x <= q + nu -> 0 <= t -> Rabs (theta - / sqrt (1 + x)) <= t * / sqrt (1 + x) ->
  t <= 1 -> Rabs (theta - 1) <= (1 + q / 2) * (1 + nu / 2 + nu * nu) * (1 + t) - 1.
Proof.
  intros Q N X T H T1. set (y := / sqrt (1 + x)) in *.
  assert (Sq : 0 < sqrt (1 + x)) by (apply sqrt_lt_R0; lra).
  assert (Y : 0 < y) by (apply Rinv_0_lt_compat; auto).
  assert (YY : y * y * (1 + x) = 1).
  { unfold y. rewrite <- (sqrt_sqrt (1 + x)) at 3 by lra. field. lra. }
  assert (Up : y <= 1 + nu / 2 + nu * nu).
  { apply Rnot_lt_le. intros L. set (U := 1 + nu / 2 + nu * nu) in *. assert (1 <= U) by (unfold U; nra).
    assert (U * U * (1 - nu) >= 1).
    { unfold U. replace ((1 + nu / 2 + nu * nu) * (1 + nu / 2 + nu * nu) * (1 - nu))
        with (1 + nu * nu * (5 / 4 * (1 - nu) - nu * nu * nu)) by field.
      assert (0 <= nu * nu * (5 / 4 * (1 - nu) - nu * nu * nu)); [|lra]. assert (nu * nu <= / 16) by nra.
      apply Rmult_le_pos; nra. }
    assert (U * U < y * y) by nra. assert (y * y * (1 - nu) <= y * y * (1 + x)) by (apply Rmult_le_compat_l; nra). nra. }
  assert (Lo : 1 - (q + nu) / 2 <= y).
  { apply Rnot_lt_le. intros L. set (s := q + nu) in *. assert (0 <= s) by (unfold s; lra).
    assert (y * y < (1 - s / 2) * (1 - s / 2)) by nra.
    assert (y * y * (1 + x) <= y * y * (1 + s)) by (apply Rmult_le_compat_l; nra).
    assert (y * y * (1 + s) < (1 - s / 2) * (1 - s / 2) * (1 + s)) by (apply Rmult_lt_compat_r; lra).
    assert ((1 - s / 2) * (1 - s / 2) * (1 + s) <= 1); [|lra].
    replace ((1 - s / 2) * (1 - s / 2) * (1 + s)) with (1 - s * s * (3 - s) / 4) by field.
    assert (s < 2) by lra. assert (0 <= s * s * (3 - s)) by (apply Rmult_le_pos; nra). lra. }
  apply Rabs_le_inv in H. assert (A : (1 - t) * y <= theta <= (1 + t) * y) by lra.
  set (U := 1 + nu / 2 + nu * nu) in *. assert (U1 : 1 + nu / 2 <= U) by (unfold U; nra).
  assert (G : (1 + t) * U <= (1 + q / 2) * U * (1 + t)).
  { replace ((1 + q / 2) * U * (1 + t)) with ((1 + t) * U + q / 2 * (U * (1 + t))) by ring. assert (0 <= q / 2 * (U * (1 + t))) by (repeat apply Rmult_le_pos; lra). lra. }
  assert (K : 1 + q / 2 + nu / 2 + t <= (1 + q / 2) * U * (1 + t)).
  { assert ((1 + q / 2) * (1 + nu / 2) <= (1 + q / 2) * U) by (apply Rmult_le_compat_l; lra).
    assert (1 + q / 2 + nu / 2 <= (1 + q / 2) * U) by nra. set (V := (1 + q / 2) * U) in *. nra. }
  apply Rabs_le. split.
  - assert (1 - (q + nu) / 2 - t <= theta); [|lra]. set (b := 1 - (q + nu) / 2) in *.
    destruct (Rle_lt_dec b 0); [assert (0 <= (1 - t) * y) by (apply Rmult_le_pos; lra); lra|].
    assert ((1 - t) * b <= (1 - t) * y) by (apply Rmult_le_compat_l; lra).
    assert (t * b <= t * 1) by (apply Rmult_le_compat_l; [lra | unfold b; lra]). lra.
  - assert ((1 + t) * y <= (1 + t) * U) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Section Norm.
Variables (C eps S m r0 tau : R) (j : nat) (pin : place) (registers : list place).
Let token := pin :: registers.
Let P := half_difference (entered pin).
Let D := (2 * length token)%nat.

(** The page's numbers. *)
Definition norm_X := total (map (fun p => most p * most p) registers).
Definition norm_O := S + m.
Definition norm_scale := C * sqrt (2 / INR D).
Definition norm_eta := tau + gamma j * (1 + tau).
Definition norm_delta := gamma (D + 8) * sqrt ((2 * (C * C) + 2 * norm_X + INR D * (norm_O * norm_O)) / INR D) + phi D.
Definition norm_M := S + 2 * m + norm_delta + 32 * Rmax norm_scale (/ norm_scale) * least_normal / u.
Definition norm_eps := eps * (1 + / 2 ^ 20) / ((1 - r0) * (1 - r0)).
Definition norm_q := (2 * norm_X + INR D * (norm_O * norm_O) + INR D * norm_eps) / (2 * (C * C)).
Definition norm_nu := gamma (D + 32) * (1 + norm_q) + 4 * phi D / (C * C).
Definition norm_r := (1 + norm_q / 2) * (1 + norm_nu / 2 + norm_nu * norm_nu) * (1 + gamma 8) - 1.
Definition norm_zeta := norm_eta * (1 + norm_M / C).

(** What is known of a token in front of a norm, in units of the pin. *)
Definition in_units : Prop :=
  0 < C /\ 0 < P /\ Rabs (P / C - 1) <= r0 /\ 0 <= eps /\ 0 <= tau /\ (2 <= j)%nat /\ INR (D + 32) * u < / 2 /\ INR j * u < 1 /\
  (forall p, In p registers -> Rabs (held C P (entered p)) <= most p) /\
  (forall p, In p token -> Rabs (middle C P (entered p) - common C P (map entered token)) <= S) /\
  Rabs (common C P (map entered token)) <= m /\
  (forall p, In p token -> Rabs (fst (gains p) / norm_scale - 1) <= tau /\ Rabs (snd (gains p) / norm_scale - 1) <= tau).

(** The hypotheses of the page, which reject a claim where they do not hold. *)
Definition in_reach : Prop := r0 <= / 4 /\ norm_nu <= / 4 /\ norm_zeta <= / 4 /\ norm_r <= / 4.


Lemma gamma_pos k : INR k * u < 1 -> INR k * u <= gamma k.
Proof.
  intros H. assert (U := u_pos prec). assert (K := pos_INR k). unfold RulesSums.gamma.
  apply Rmult_le_reg_r with (1 - INR k * u); [lra|].
  replace (INR k * u / (1 - INR k * u) * (1 - INR k * u)) with (INR k * u) by (field; lra). nra.
Qed.

Lemma squares_of_places s O l : 0 <= s ->
  (forall p, In p l -> Rabs (half_difference (entered p)) <= s * most p /\ Rabs (half_sum (entered p)) <= s * O) ->
  total (map (fun x => 2 * (half_difference x * half_difference x + half_sum x * half_sum x)) (map entered l))
    <= s * s * (2 * total (map (fun p => most p * most p) l) + INR (2 * length l) * (O * O)).
Proof.
  intros Hs. induction l as [|p l IH]; intros H; [unfold total; simpl; lra|].
  assert (Sq : forall a b, Rabs a <= b -> a * a <= b * b).
  { exact square_le. }
  destruct (H p (or_introl eq_refl)) as [A B]. apply Sq in A, B.
  specialize (IH (fun q I => H q (or_intror I))). cbn [map length]. rewrite !total_cons.
  replace (INR (2 * Datatypes.S (length l))) with (INR (2 * length l) + 2) by (rewrite !mult_INR, (S_INR (length l)); simpl; ring). nra.
Qed.

(** What is left of every coordinate: half the difference and the middle, less the mean, times one factor. *)
Lemma norm_of_coordinates : in_units -> in_reach -> layer_norm eps j token ->
  exists f mean, 0 < f /\ Rabs (f - 1) <= norm_r /\ Rabs (mean - common C P (map entered token)) <= norm_delta /\
    0 <= norm_eta /\ S + 2 * m + norm_delta <= norm_M /\
    forall p Z, In p token -> Rabs (held C P (entered p)) <= Z ->
      exists e e', Rabs e <= norm_eta * (Z + norm_M) /\ Rabs e' <= norm_eta * (Z + norm_M) /\
        fst (normed p) = f * (middle C P (entered p) + held C P (entered p) - mean + e) /\
        snd (normed p) = f * (middle C P (entered p) - held C P (entered p) - mean + e').
Proof.
  intros (HC & HP & HR & Heps & Htau & Hj & HD & Hju & HZ & HS & Hm & HG) (R4 & N4 & Z4 & r4) (mh & w & i & HM & HV & HI & HF).
  set (s := P / C). set (lam := least_normal). assert (Hl : 0 < lam) by apply least_normal_pos.
  assert (U := u_pos prec). assert (Hs : 3 / 4 <= s <= 5 / 4).
  { fold s in HR. apply Rabs_le_inv in HR. lra. }
  assert (HCP : C / P = / s) by (unfold s; field; lra).
  set (O := norm_O) in *. set (X := norm_X) in *. set (N := INR D) in *.
  assert (Nt : token <> []) by discriminate.
  assert (N2 : 2 <= N).
  { unfold N, D. rewrite mult_INR. unfold token. cbn [length]. rewrite (S_INR (length registers)). assert (K := pos_INR (length registers)). simpl. lra. }
  set (v := coordinates (map entered token)) in *.
  assert (Lv : length v = D) by (unfold v; now rewrite coordinates_length, map_length).
  unfold mean_of, variance_of in HM, HV. rewrite Lv in HM, HV. fold N in HM, HV.
  set (ob := common C P (map entered token)) in *.
  assert (Eob : ob = average v / s).
  { unfold ob. rewrite common_average by discriminate. fold v. rewrite HCP. reflexivity. }
  (* coordinates in units of the pin *)
  assert (Mid : forall p, In p token -> Rabs (middle C P (entered p)) <= O).
  { intros p I. specialize (HS p I). unfold O, norm_O. apply Rabs_le. apply Rabs_le_inv in HS, Hm. fold ob in HS. lra. }
  assert (HO : 0 <= O) by (eapply Rle_trans; [apply Rabs_pos | apply (Mid pin); now left]).
  assert (Hm0 : 0 <= m) by (eapply Rle_trans; [apply Rabs_pos | apply Hm]).
  assert (HS0 : 0 <= S) by (eapply Rle_trans; [apply Rabs_pos | apply (HS pin); now left]).
  assert (Ed : forall p, half_difference (entered p) = s * held C P (entered p)) by (intros p; unfold held; rewrite HCP; field; lra).
  assert (Es : forall p, half_sum (entered p) = s * middle C P (entered p)) by (intros p; unfold middle; rewrite HCP; field; lra).
  assert (Hpin : held C P (entered pin) = C) by (unfold held; fold P; field; lra).
  set (Q := 2 * (C * C) + 2 * X + N * (O * O)).
  assert (SQ : squares v <= s * s * Q).
  { unfold v. rewrite squares_pairs. unfold token. cbn [map]. rewrite total_cons.
    assert (B := squares_of_places s O registers ltac:(lra)). fold norm_X in B. fold X in B.
    assert (B' : total (map (fun x => 2 * (half_difference x * half_difference x + half_sum x * half_sum x)) (map entered registers))
      <= s * s * (2 * X + INR (2 * length registers) * (O * O))).
    { apply B. intros p I. rewrite Ed, Es, !Rabs_mult, (Rabs_pos_eq s) by lra.
      split; apply Rmult_le_compat_l; try lra; [now apply HZ | apply Mid; now right]. }
    assert (EN : N = INR (2 * length registers) + 2) by (unfold N, D, token; cbn [length]; rewrite !mult_INR, (S_INR (length registers)); simpl; ring).
    rewrite Ed, Es, Hpin. set (o := middle C P (entered pin)).
    assert (o * o <= O * O).
    { assert (A := Mid pin (or_introl eq_refl)). fold o in A. now apply square_le. }
    assert (s * s * (o * o) <= s * s * (O * O)) by (apply Rmult_le_compat_l; [apply square_nonneg | auto]). unfold Q. rewrite EN.
    set (L := INR (2 * length registers)) in *.
    replace (2 * (s * C * (s * C) + s * o * (s * o))) with (2 * (s * s * (C * C)) + 2 * (s * s * (o * o))) by ring.
    replace (s * s * (2 * (C * C) + 2 * X + (L + 2) * (O * O)))
      with (2 * (s * s * (C * C)) + 2 * (s * s * (O * O)) + s * s * (2 * X + L * (O * O))) by ring. lra. }
  assert (HX : 0 <= X) by (apply total_nonneg, Forall_map, Forall_forall; intros; apply square_nonneg).
  assert (HQ : 2 * (C * C) <= Q) by (unfold Q; assert (0 <= N * (O * O)) by (apply Rmult_le_pos; [lra | apply square_nonneg]); lra).
  assert (CC : 0 < C * C) by (apply Rmult_lt_0_compat; lra).
  assert (ss : 9 / 16 <= s * s <= 25 / 16).
  { split; [apply Rle_trans with (3 / 4 * (3 / 4)) | apply Rle_trans with (5 / 4 * (5 / 4))]; try lra; apply Rmult_le_compat; lra. }
  set (Y := squares (map (fun x => x - average v) v)) in *.
  assert (Ylo : 2 * (s * s) * (C * C) <= Y).
  { unfold Y, v, token. cbn [map]. change (coordinates (entered pin :: ?l)) with (fst (entered pin) :: snd (entered pin) :: coordinates l).
    set (a := average _). cbn [map]. unfold squares. cbn [map]. rewrite !total_cons. fold (squares (map (fun x => x - a) (coordinates (map entered registers)))).
    assert (T := squares_nonneg (map (fun x => x - a) (coordinates (map entered registers)))).
    assert (EP : P = s * C) by (unfold s; field; lra). unfold P, half_difference in EP.
    assert (B := two_squares (fst (entered pin)) (snd (entered pin)) a (s * C) ltac:(lra)).
    replace (2 * (s * s) * (C * C)) with (2 * (s * C * (s * C))) by ring. lra. }
  assert (Yhi : Y <= s * s * Q).
  { unfold Y. rewrite squares_centred by (unfold v, token; discriminate). assert (0 <= INR (length v) * (average v * average v)) by (apply Rmult_le_pos; [apply pos_INR | apply square_nonneg]). lra. }
  (* gammas *)
  assert (K8 : INR 8 * u < / 7). { rewrite plus_INR in HD. fold N in HD. simpl (INR 32) in HD. simpl (INR 8).
    assert (34 * u <= (N + 32) * u) by (apply Rmult_le_compat_r; lra). lra. }
  assert (G8 : 0 <= gamma 8 <= 1).
  { split; [assert (T := gamma_pos 8); assert (0 <= INR 8 * u) by (simpl; lra); lra|]. unfold RulesSums.gamma.
    apply Rmult_le_reg_r with (1 - INR 8 * u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (GD : 0 <= gamma (D + 32)).
  { assert (T := gamma_pos (D + 32)). assert (0 <= INR (D + 32) * u) by (apply Rmult_le_pos; [apply pos_INR | lra]). lra. }
  assert (GD8 : 0 <= gamma (D + 8)).
  { assert (INR (D + 8) * u <= INR (D + 32) * u) by (apply Rmult_le_compat_r; [lra | apply le_INR; lia]).
    assert (T := gamma_pos (D + 8)). assert (0 <= INR (D + 8) * u) by (apply Rmult_le_pos; [apply pos_INR | lra]). lra. }
  assert (Gj : 2 * u <= gamma j).
  { assert (T := gamma_pos j Hju). assert (2 * u <= INR j * u) by (apply Rmult_le_compat_r; [lra | apply (le_INR 2); auto]). lra. }
  (* the mean *)
  assert (Mean : Rabs (mh / s - ob) <= norm_delta).
  { rewrite Eob. replace (mh / s - average v / s) with ((mh - average v) / s) by (field; lra).
    unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq s) by lra. apply Rmult_le_reg_r with s; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    eapply Rle_trans; [apply HM|]. unfold norm_delta. fold X O N. fold Q.
    assert (sqrt (squares v / N) <= s * sqrt (Q / N)).
    { assert (QN : 0 <= Q / N) by (apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat; lra]).
      rewrite <- (sqrt_square s) at 1 by lra. rewrite <- sqrt_mult by lra.
      apply sqrt_le_1_alt. unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra | exact SQ]. }
    assert (8 * lam <= phi D * s).
    { unfold phi. fold N lam. assert (16 * lam <= (4 * N + 8) * lam) by (apply Rmult_le_compat_r; lra).
      apply Rle_trans with (16 * lam * (3 / 4)); [lra | apply Rmult_le_compat; lra]. }
    assert (gamma (D + 8) * sqrt (squares v / N) <= gamma (D + 8) * (s * sqrt (Q / N))) by (now apply Rmult_le_compat_l). fold lam. rewrite Rmult_plus_distr_r. lra. }
  (* the variance *)
  destruct HI as (e & He & HA & Hi). fold lam in He.
  assert (Sc : 0 < norm_scale) by (apply Rmult_lt_0_compat; [lra | apply sqrt_lt_R0; fold N; apply Rdiv_lt_0_compat; lra]).
  assert (Sc2 : norm_scale * norm_scale = 2 * (C * C) / N).
  { unfold norm_scale. fold N. replace (C * sqrt (2 / N) * (C * sqrt (2 / N))) with (C * C * (sqrt (2 / N) * sqrt (2 / N))) by ring.
    rewrite sqrt_sqrt by (apply Rlt_le, Rdiv_lt_0_compat; lra). field. lra. }
  set (x := (w + e) * N / (2 * (C * C) * (s * s)) - 1).
  set (T := 2 * (C * C) * (s * s)) in *. assert (T0 : 0 < T) by (unfold T; apply Rmult_lt_0_compat; lra).
  assert (Ex : w + e = (s * norm_scale) * (s * norm_scale) * (1 + x)).
  { replace ((s * norm_scale) * (s * norm_scale)) with (s * s * (norm_scale * norm_scale)) by ring. rewrite Sc2. unfold x, T. field. split; lra. }
  assert (Phi : 16 * N * lam <= 4 * phi D - 32 * lam) by (unfold phi; fold N lam; lra).
  assert (Qq : Q / (2 * (C * C)) <= 1 + norm_q).
  { unfold norm_q. fold X O N. assert (E : 0 <= N * norm_eps).
    { apply Rmult_le_pos; [lra|]. unfold norm_eps. apply Rmult_le_pos; [apply Rmult_le_pos; [lra|]; assert (0 < / 2 ^ 20) by (apply Rinv_0_lt_compat; lra); lra|].
      apply Rlt_le, Rinv_0_lt_compat. assert (0 <= r0) by (eapply Rle_trans; [apply Rabs_pos | apply HR]). apply Rmult_lt_0_compat; lra. }
    apply Rmult_le_reg_r with (2 * (C * C)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    rewrite Rmult_plus_distr_r, Rmult_assoc, Rinv_l by lra. unfold Q. lra. }
  assert (Wx : - norm_nu <= x <= norm_q + norm_nu).
  { assert (W1 : Rabs (w * N - Y) <= gamma (D + 32) * (s * s * Q) + 12 * N * lam).
    { replace (w * N - Y) with ((w - Y / N) * N) by (field; lra). rewrite Rabs_mult, (Rabs_pos_eq N) by lra.
      apply Rle_trans with ((gamma (D + 32) * (squares v / N) + 12 * lam) * N); [apply Rmult_le_compat_r; [lra | exact HV]|].
      replace ((gamma (D + 32) * (squares v / N) + 12 * lam) * N) with (gamma (D + 32) * squares v + 12 * N * lam) by (field; lra).
      apply Rplus_le_compat_r. now apply Rmult_le_compat_l. }
    apply Rabs_le_inv in W1.
    assert (G1 : gamma (D + 32) * (s * s * Q) <= gamma (D + 32) * (1 + norm_q) * T).
    { replace (gamma (D + 32) * (1 + norm_q) * T) with (gamma (D + 32) * ((1 + norm_q) * T)) by ring. apply Rmult_le_compat_l; auto.
      replace (s * s * Q) with (Q / (2 * (C * C)) * T) by (unfold T; field; lra). apply Rmult_le_compat_r; lra. }
    assert (Fl : 18 * N * lam <= 4 * phi D / (C * C) * T).
    { unfold T. replace (4 * phi D / (C * C) * (2 * (C * C) * (s * s))) with (8 * phi D * (s * s)) by (field; lra).
      assert (0 < phi D) by (unfold phi; fold N lam; apply Rmult_lt_0_compat; lra). assert (8 * phi D * (9 / 16) <= 8 * phi D * (s * s)) by (apply Rmult_le_compat_l; lra). lra. }
    assert (Ee : N * e <= N * norm_eps * (s * s) + 2 * N * lam).
    { assert (E1 : e <= norm_eps * (s * s) + 2 * lam); [|apply (Rmult_le_compat_l N) in E1; lra]. destruct He as [_ He]. eapply Rle_trans; [apply He|]. apply Rplus_le_compat_r.
      unfold norm_eps. assert (0 <= r0) by (eapply Rle_trans; [apply Rabs_pos | apply HR]).
      assert (Rr : (1 - r0) * (1 - r0) <= s * s). { apply Rabs_le_inv in HR. fold s in HR. apply Rmult_le_compat; lra. }
      assert (E0 : 0 <= eps * (1 + / 2 ^ 20)) by (apply Rmult_le_pos; [lra|]; assert (0 < / 2 ^ 20) by (apply Rinv_0_lt_compat; lra); lra).
      apply Rmult_le_reg_r with ((1 - r0) * (1 - r0)); [apply Rmult_lt_0_compat; lra|].
      replace (eps * (1 + / 2 ^ 20) / ((1 - r0) * (1 - r0)) * (s * s) * ((1 - r0) * (1 - r0))) with (eps * (1 + / 2 ^ 20) * (s * s)) by (field; lra).
      now apply Rmult_le_compat_l. }
    assert (Eq : norm_q * T = s * s * (Q - 2 * (C * C)) + N * norm_eps * (s * s)).
    { unfold norm_q, T, Q. fold X O N. field. lra. }
    assert (X1 : x * T = (w + e) * N - T) by (unfold x; field; lra).
    assert (NN : norm_nu * T = gamma (D + 32) * (1 + norm_q) * T + 4 * phi D / (C * C) * T) by (unfold norm_nu; fold N; ring).
    assert (0 <= N * e) by (apply Rmult_le_pos; lra). assert (0 < N * lam) by (apply Rmult_lt_0_compat; lra).
    assert (ET : T = 2 * (s * s) * (C * C)) by (unfold T; ring).
    split; apply Rmult_le_reg_r with T; auto.
    - replace (- norm_nu * T) with (- (norm_nu * T)) by ring. rewrite X1, NN, Rmult_plus_distr_r. lra.
    - rewrite Rmult_plus_distr_r, Eq, X1, NN. rewrite (Rmult_plus_distr_r w e N), Rmult_minus_distr_l. lra. }
  assert (Hq : 0 <= norm_q).
  { assert (1 <= Q / (2 * (C * C))); [|lra]. apply Rmult_le_reg_r with (2 * (C * C)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (Hnu : 0 <= norm_nu).
  { unfold norm_nu. apply Rplus_le_le_0_compat; [apply Rmult_le_pos; lra|]. apply Rmult_le_pos; [unfold phi; fold N lam; apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra] | apply Rlt_le, Rinv_0_lt_compat; lra]. }
  assert (Sr : sqrt (w + e) = s * norm_scale * sqrt (1 + x)).
  { rewrite Ex, sqrt_mult by (try apply Rle_0_sqr; lra). rewrite sqrt_square; [reflexivity|]. apply Rmult_le_pos; lra. }
  assert (Sx : 0 < sqrt (1 + x)) by (apply sqrt_lt_R0; lra).
  assert (A0 : 0 < s * norm_scale) by (apply Rmult_lt_0_compat; lra).
  set (f := s * norm_scale * i).
  assert (Hf : Rabs (f - / sqrt (1 + x)) <= gamma 8 * / sqrt (1 + x)).
  { rewrite Sr in Hi. replace (f - / sqrt (1 + x)) with ((s * norm_scale) * (i - / (s * norm_scale * sqrt (1 + x)))) by (unfold f; field; lra).
    rewrite Rabs_mult, (Rabs_pos_eq (s * norm_scale)) by lra.
    apply Rle_trans with (s * norm_scale * (gamma 8 * / (s * norm_scale * sqrt (1 + x)))); [apply Rmult_le_compat_l; lra|].
    right. field. lra. }
  assert (F1 : Rabs (f - 1) <= norm_r).
  { unfold norm_r. apply inverse_root_near with x; auto; lra. }
  assert (F34 : 3 / 4 <= f) by (apply Rabs_le_inv in F1; lra).
  exists f, (mh / s). split; [lra|]. split; [exact F1|]. split; [exact Mean|]. cut (0 <= norm_eta /\ S + 2 * m + norm_delta <= norm_M /\ forall p Z, In p token -> Rabs (held C P (entered p)) <= Z ->
      exists e e', Rabs e <= norm_eta * (Z + norm_M) /\ Rabs e' <= norm_eta * (Z + norm_M) /\
        fst (normed p) = f * (middle C P (entered p) + held C P (entered p) - mh / s + e) /\
        snd (normed p) = f * (middle C P (entered p) - held C P (entered p) - mh / s + e')); [auto|].
  (* what is left of one coordinate *)
  assert (Hi0 : 0 < i). { unfold f in F34. assert (0 < s * norm_scale * i) by lra. apply Rmult_lt_reg_l with (s * norm_scale); auto. rewrite Rmult_0_r. lra. }
  assert (Ei : i = f / (s * norm_scale)) by (unfold f; field; lra).
  set (big := Rmax norm_scale (/ norm_scale)).
  assert (Big : 1 <= big /\ norm_scale <= big /\ / norm_scale <= big).
  { unfold big. split; [|split; [apply Rmax_l | apply Rmax_r]]. destruct (Rle_lt_dec 1 norm_scale); [eapply Rle_trans; [|apply Rmax_l]; lra|].
    eapply Rle_trans; [|apply Rmax_r]. rewrite <- Rinv_1. apply Rinv_le; lra. }
  assert (D0 : 0 <= norm_delta) by (eapply Rle_trans; [apply Rabs_pos | apply Mean]).
  assert (FM : 0 <= 32 * big * lam / u) by (apply Rmult_le_pos; [repeat apply Rmult_le_pos; lra | apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (EM : norm_M = S + 2 * m + norm_delta + 32 * big * lam / u) by reflexivity.
  assert (Eta : 2 * u <= norm_eta /\ tau <= norm_eta).
  { unfold norm_eta. assert (0 <= gamma j * tau) by (apply Rmult_le_pos; lra). lra. }
  assert (Tau4 : tau <= / 4).
  { unfold norm_zeta in Z4. assert (0 <= norm_M / C) by (apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat; lra]).
    assert (0 <= norm_eta * (norm_M / C)) by (apply Rmult_le_pos; lra). lra. }
  assert (Hmm : Rabs (mh / s) <= m + norm_delta).
  { apply Rabs_le. apply Rabs_le_inv in Mean, Hm. fold ob in Hm. lra. }
  assert (One : forall g z y a, Rabs (g / norm_scale - 1) <= tau -> Rabs a <= z + S + m ->
    rest_of j g mh i (s * a) y -> exists er, Rabs er <= norm_eta * (z + norm_M) /\ y = f * (a - mh / s + er)).
  { intros g z y a Hg Ha Hr. exists (y / f - (a - mh / s)). split; [|field; split; lra].
    set (t := g / norm_scale - 1) in *. assert (Eg : g = norm_scale * (1 + t)) by (unfold t; field; lra).
    assert (Ht := Hg). apply Rabs_le_inv in Ht. assert (G0 : 0 < g) by (rewrite Eg; apply Rmult_lt_0_compat; lra).
    unfold rest_of in Hr. fold lam in Hr.
    assert (Egi : g * i = f / s * (1 + t)) by (rewrite Eg, Ei; field; lra).
    assert (L1 : g * (s * a - mh) * i = f * (1 + t) * (a - mh / s)).
    { replace (g * (s * a - mh) * i) with (g * i * (s * a - mh)) by ring. rewrite Egi. field. lra. }
    assert (L2 : g * i * (Rabs (s * a) + Rabs mh) = f * (1 + t) * (Rabs a + Rabs (mh / s))).
    { rewrite Egi, Rabs_mult. unfold Rdiv. rewrite (Rabs_mult mh), Rabs_inv, (Rabs_pos_eq s) by lra. field. lra. }
    rewrite L1, L2 in Hr.
    assert (Mx : Rmax 1 (Rmax g i) <= f * (5 / 3 * big)).
    { assert (B1 : 3 / 4 * big <= f * big) by (apply Rmult_le_compat_r; lra).
      apply Rmax_lub; [lra|]. apply Rmax_lub.
      - rewrite Eg. assert (norm_scale * (1 + t) <= big * (5 / 4)) by (apply Rmult_le_compat; lra). lra.
      - rewrite Ei. unfold Rdiv. rewrite Rinv_mult. apply Rmult_le_compat_l; [lra|].
        assert (/ s <= 4 / 3). { replace (4 / 3) with (/ (3 / 4)) by field. apply Rinv_le; lra. }
        assert (0 < / s) by (apply Rinv_0_lt_compat; lra). assert (0 < / norm_scale) by (apply Rinv_0_lt_compat; lra).
        assert (/ s * / norm_scale <= 4 / 3 * big) by (apply Rmult_le_compat; lra). lra. }
    replace (y / f - (a - mh / s)) with ((y - f * (1 + t) * (a - mh / s)) / f + t * (a - mh / s)) by (field; lra).
    set (W := Rabs a + Rabs (mh / s)) in *.
    assert (W0 : 0 <= W) by (unfold W; assert (Q1 := Rabs_pos a); assert (Q2 := Rabs_pos (mh / s)); lra).
    assert (W1 : Rabs (a - mh / s) <= W). { unfold W, Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    assert (P1 : Rabs ((y - f * (1 + t) * (a - mh / s)) / f) <= gamma j * (1 + tau) * W + 16 * lam * (5 / 3 * big)).
    { unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq f) by lra. apply Rmult_le_reg_r with f; [lra|].
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. eapply Rle_trans; [apply Hr|].
      assert (gamma j * (f * (1 + t) * W) <= gamma j * (f * (1 + tau) * W)).
      { apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; auto. apply Rmult_le_compat_l; lra. }
      assert (16 * lam * Rmax 1 (Rmax g i) <= 16 * lam * (f * (5 / 3 * big))) by (apply Rmult_le_compat_l; lra). lra. }
    assert (P2 : Rabs (t * (a - mh / s)) <= tau * W) by (rewrite Rabs_mult; apply Rmult_le_compat; try apply Rabs_pos; lra).
    eapply Rle_trans; [apply Rabs_triang|].
    assert (P3 : norm_eta * W <= norm_eta * (z + S + 2 * m + norm_delta)) by (apply Rmult_le_compat_l; [lra | unfold W; lra]).
    assert (P4 : 64 * big * lam <= norm_eta * (32 * big * lam / u)).
    { apply Rle_trans with (2 * u * (32 * big * lam / u)); [right; field; lra | apply Rmult_le_compat_r; lra]. }
    assert (0 <= big * lam) by (apply Rmult_le_pos; lra).
    assert (Eeta : norm_eta * W = tau * W + gamma j * (1 + tau) * W) by (unfold norm_eta; ring).
    replace (z + norm_M) with (z + S + 2 * m + norm_delta + 32 * big * lam / u) by (rewrite EM; ring).
    rewrite (Rmult_plus_distr_l norm_eta). lra. }
  split; [lra|]. split; [lra|].
  intros p Z Ip Hz. rewrite Forall_forall in HF. destruct (HF p Ip) as [F2 F3]. destruct (HG p Ip) as [g1 g2].
  assert (Mp := Mid p Ip). unfold O, norm_O in Mp.
  assert (E1 : fst (entered p) = s * (middle C P (entered p) + held C P (entered p))).
  { assert (T1 := Ed p). assert (T2 := Es p). unfold half_difference in T1. unfold half_sum in T2. lra. }
  assert (E2 : snd (entered p) = s * (middle C P (entered p) - held C P (entered p))).
  { assert (T1 := Ed p). assert (T2 := Es p). unfold half_difference in T1. unfold half_sum in T2. lra. }
  rewrite E1 in F2. rewrite E2 in F3.
  destruct (One (fst (gains p)) Z (fst (normed p)) (middle C P (entered p) + held C P (entered p)) g1) as (e1 & H1 & H1'); auto.
  { apply Rabs_le. apply Rabs_le_inv in Mp, Hz. lra. }
  destruct (One (snd (gains p)) Z (snd (normed p)) (middle C P (entered p) - held C P (entered p)) g2) as (e2 & H2 & H2'); auto.
  { apply Rabs_le. apply Rabs_le_inv in Mp, Hz. lra. }
  exists e1, e2. repeat split; auto.
Qed.


(** A norm gives half the difference of every pair a factor that all pairs have in common, and moves it a little. *)
Theorem norm : in_units -> in_reach -> layer_norm eps j token ->
  exists f, 0 < f /\ Rabs (f - 1) <= norm_r /\
    (forall p, In p registers -> exists e, Rabs e <= norm_eta * (most p + norm_M) /\
      half_difference (normed p) = f * (held C P (entered p) + e)) /\
    exists e, Rabs e <= norm_zeta /\ half_difference (normed pin) = f * (C * (1 + e)).
Proof.
  intros I R L. destruct (norm_of_coordinates I R L) as (f & mean & F0 & F1 & _ & _ & _ & H).
  destruct I as (HC & HP & _ & _ & _ & _ & _ & _ & HZ & _).
  exists f. split; auto. split; auto. split.
  - intros p Ip. destruct (H p (most p) (or_intror Ip) (HZ p Ip)) as (e & e' & E & E' & A & B).
    exists ((e - e') / 2). split; [apply Rabs_le; apply Rabs_le_inv in E, E'; lra|]. unfold half_difference. rewrite A, B. field.
  - assert (Hpin : held C P (entered pin) = C) by (unfold held; fold P; field; lra).
    destruct (H pin C (or_introl eq_refl)) as (e & e' & E & E' & A & B); [rewrite Hpin, Rabs_pos_eq; lra|].
    exists ((e - e') / 2 / C). split.
    + unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq C) by lra. apply Rmult_le_reg_r with C; auto.
      rewrite Rmult_assoc, Rinv_l by lra. replace (norm_zeta * C) with (norm_eta * (C + norm_M)) by (unfold norm_zeta; field; lra).
      rewrite Rmult_1_r. apply Rabs_le. apply Rabs_le_inv in E, E'. lra.
    + unfold half_difference. rewrite A, B, Hpin. field. lra.
Qed.

(** * Norm before the layers *)

(** The stream stays as it is, and readers read it with these numbers. *)
Theorem norm_before_the_layers : in_units -> in_reach -> layer_norm eps j token ->
  exists f, readable C f norm_r norm_eta norm_zeta norm_M (normed pin)
    (map (fun p => {| value := held C P (entered p); limit := most p; pair := normed p |}) registers).
Proof.
  intros I R L. destruct (norm_of_coordinates I R L) as (f & mean & F0 & F1 & Hmean & Eta & HM & H).
  destruct I as (HC & HP & _ & _ & _ & _ & _ & _ & HZ & HS & Hm & _).
  assert (Hpin : held C P (entered pin) = C) by (unfold held; fold P; field; lra).
  assert (Part : forall p Z, In p token -> Rabs (held C P (entered p)) <= Z ->
    Rabs (half_difference (normed p) / f - held C P (entered p)) <= norm_eta * (Z + norm_M) /\
    Rabs (fst (normed p)) <= f * ((1 + norm_eta) * (Z + norm_M)) /\ Rabs (snd (normed p)) <= f * ((1 + norm_eta) * (Z + norm_M))).
  { intros p Z Ip Hz. destruct (H p Z Ip Hz) as (e & e' & E & E' & A & B). specialize (HS p Ip).
    apply Rabs_le_inv in E, E', HS, Hm, Hmean, Hz. split; [|split].
    - replace (half_difference (normed p) / f - held C P (entered p)) with ((e - e') / 2) by (unfold half_difference; rewrite A, B; field; lra).
      apply Rabs_le. lra.
    - rewrite A, Rabs_mult, (Rabs_pos_eq f) by lra. apply Rmult_le_compat_l; [lra|]. apply Rabs_le. lra.
    - rewrite B, Rabs_mult, (Rabs_pos_eq f) by lra. apply Rmult_le_compat_l; [lra|]. apply Rabs_le. lra. }
  exists f. split; [exact F0|]. split; [exact F1|]. split.
  - destruct (Part pin C (or_introl eq_refl)) as (A & B & B'); [rewrite Hpin, Rabs_pos_eq; lra|].
    rewrite Hpin in A. split; [|split; auto]. eapply Rle_trans; [apply A|]. unfold norm_zeta. right. field. lra.
  - apply Forall_map, Forall_forall. intros p Ip. cbn. apply Part; [now right | now apply HZ].
Qed.

(** * Norm behind the layers *)

(** The stream is what was normed, in units of the new pin: nothing is left of the factor. *)
Theorem norm_behind_the_layers Z : in_units -> in_reach -> layer_norm eps j token ->
  C <= Z -> (forall p, In p registers -> most p <= Z) ->
  let P' := half_difference (normed pin) in
  0 < P' /\ Rabs (P' / C - 1) <= (1 + norm_r) * (1 + norm_zeta) - 1 /\
  (forall p, In p registers -> Rabs (held C P' (normed p) - held C P (entered p))
    <= (norm_eta * (most p + norm_M) + norm_zeta * most p) / (1 - norm_zeta)) /\
  (forall p, In p token -> Rabs (middle C P' (normed p) - common C P' (map normed token))
    <= (S + 2 * norm_eta * (Z + norm_M)) / (1 - norm_zeta)) /\
  Rabs (common C P' (map normed token)) <= (norm_delta + norm_eta * (Z + norm_M)) / (1 - norm_zeta).
Proof.
  intros I R L CZ MZ P'. destruct (norm_of_coordinates I R L) as (f & mean & F0 & F1 & Hmean & Eta & HM & H).
  destruct R as (_ & _ & Z4 & R4).
  destruct I as (HC & HP & _ & _ & _ & _ & _ & _ & HZ & HS & Hm & _).
  assert (Hpin : held C P (entered pin) = C) by (unfold held; fold P; field; lra).
  destruct (H pin C (or_introl eq_refl)) as (e0 & e0' & E0 & E0' & A0 & B0); [rewrite Hpin, Rabs_pos_eq; lra|].
  set (eps0 := (e0 - e0') / 2 / C).
  assert (EP : P' = f * (C * (1 + eps0))) by (unfold P', half_difference, eps0; rewrite A0, B0, Hpin; field; lra).
  assert (HE : Rabs eps0 <= norm_zeta).
  { unfold eps0. unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq C) by lra. apply Rmult_le_reg_r with C; auto.
    rewrite Rmult_assoc, Rinv_l by lra. replace (norm_zeta * C) with (norm_eta * (C + norm_M)) by (unfold norm_zeta; field; lra).
    rewrite Rmult_1_r. apply Rabs_le. apply Rabs_le_inv in E0, E0'. lra. }
  assert (Zeta : 0 <= norm_zeta) by (eapply Rle_trans; [apply Rabs_pos | apply HE]).
  assert (HE' := HE). apply Rabs_le_inv in HE'. set (d := 1 + eps0) in *.
  assert (Hd : 1 - norm_zeta <= d) by (unfold d; lra).
  assert (HP' : 0 < P') by (rewrite EP; apply Rmult_lt_0_compat; auto; apply Rmult_lt_0_compat; lra).
  assert (Over : forall x b, Rabs (x * d) <= b -> Rabs x <= b / (1 - norm_zeta)).
  { intros x b Hx. rewrite Rabs_mult, (Rabs_pos_eq d) in Hx by lra. apply Rmult_le_reg_r with (1 - norm_zeta); [lra|].
    unfold Rdiv. rewrite (Rmult_assoc b), Rinv_l, Rmult_1_r by lra. assert (Q := Rabs_pos x).
    assert (Rabs x * (1 - norm_zeta) <= Rabs x * d) by (apply Rmult_le_compat_l; auto). lra. }
  assert (Mid : forall p, In p token -> Rabs (held C P (entered p)) <= Z ->
    Rabs (middle C P' (normed p) * d - (middle C P (entered p) - mean)) <= norm_eta * (Z + norm_M)).
  { intros p Ip Hz. destruct (H p Z Ip Hz) as (e & e' & E & E' & A & B).
    replace (middle C P' (normed p) * d - (middle C P (entered p) - mean)) with ((e + e') / 2).
    - apply Rabs_le. apply Rabs_le_inv in E, E'. lra.
    - unfold middle at 1, half_sum. rewrite A, B, EP. field. repeat split; lra. }
  assert (All : forall p, In p token -> Rabs (held C P (entered p)) <= Z).
  { intros p [<-|Ip]; [rewrite Hpin, Rabs_pos_eq; lra|]. eapply Rle_trans; [now apply HZ | now apply MZ]. }
  assert (G : Rabs (common C P' (map normed token) * d - (common C P (map entered token) - mean)) <= norm_eta * (Z + norm_M)).
  { unfold common at 1 2. rewrite !map_map. rewrite <- average_scaled.
    rewrite <- (average_moved (fun p => middle C P' (normed p) * d) (fun p => middle C P (entered p)) mean) by discriminate.
    apply average_within; [discriminate|]. intros p Ip. now apply Mid; [|apply All]. }
  split; [exact HP'|]. split; [|split; [|split]].
  - replace (P' / C - 1) with (f * d - 1) by (rewrite EP; unfold d; field; lra).
    replace (f * d - 1) with ((f - 1) + eps0 * f) by (unfold d; ring).
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_pos_eq f) by lra.
    assert (Rabs eps0 * f <= norm_zeta * (1 + norm_r)). { apply Rmult_le_compat; try apply Rabs_pos; auto; [lra|]. apply Rabs_le_inv in F1. lra. } lra.
  - intros p Ip. apply Over. destruct (H p (most p) (or_intror Ip) (HZ p Ip)) as (e & e' & E & E' & A & B).
    replace ((held C P' (normed p) - held C P (entered p)) * d) with ((e - e') / 2 + - (eps0 * held C P (entered p))).
    + eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult.
      assert (Rabs eps0 * Rabs (held C P (entered p)) <= norm_zeta * most p) by (apply Rmult_le_compat; try apply Rabs_pos; auto).
      assert (Rabs ((e - e') / 2) <= norm_eta * (most p + norm_M)) by (apply Rabs_le; apply Rabs_le_inv in E, E'; lra). lra.
    + unfold held at 2, half_difference at 1. rewrite A, B, EP. unfold d. field. repeat split; lra.
  - intros p Ip. apply Over. specialize (Mid p Ip (All p Ip)). specialize (HS p Ip).
    rewrite Rmult_minus_distr_r. apply Rabs_le. apply Rabs_le_inv in Mid, G, HS. lra.
  - apply Over. apply Rabs_le. apply Rabs_le_inv in G, Hmean. lra.
Qed.

End Norm.

(** Where nothing was normed, what is read is the stream itself. *)
Theorem stream_is_readable C S m r pin registers : let P := half_difference (entered pin) in
  let token := map entered (pin :: registers) in
  0 < C -> 0 < P -> Rabs (P / C - 1) <= r ->
  (forall p, In p registers -> Rabs (held C P (entered p)) <= most p) ->
  (forall x, In x token -> Rabs (middle C P x - common C P token) <= S) -> Rabs (common C P token) <= m ->
  readable C (P / C) r 0 0 (S + m) (entered pin)
    (map (fun p => {| value := held C P (entered p); limit := most p; pair := entered p |}) registers).
Proof.
  intros P token HC HP HR HZ HS Hm. assert (HF : 0 < P / C) by (now apply Rdiv_lt_0_compat).
  assert (Part : forall x Z, In x token -> Rabs (held C P x) <= Z ->
    Rabs (fst x) <= P / C * ((1 + 0) * (Z + (S + m))) /\ Rabs (snd x) <= P / C * ((1 + 0) * (Z + (S + m)))).
  { intros x Z Ix Hz. specialize (HS x Ix). apply Rabs_le_inv in HS, Hm, Hz.
    assert (E1 : fst x = P / C * (middle C P x + held C P x)) by (unfold middle, held, half_sum, half_difference; field; lra).
    assert (E2 : snd x = P / C * (middle C P x - held C P x)) by (unfold middle, held, half_sum, half_difference; field; lra).
    rewrite E1, E2, !Rabs_mult, (Rabs_pos_eq (P / C)) by lra. split; (apply Rmult_le_compat_l; [lra|]; apply Rabs_le; lra). }
  split; auto. split; auto. split.
  - split; [|apply Part; [now left|]].
    + fold P. replace (P / (P / C) - C) with 0 by (field; lra). rewrite Rabs_R0. lra.
    + unfold held. fold P. replace (P * (C / P)) with C by (field; lra). rewrite Rabs_pos_eq; lra.
  - apply Forall_map, Forall_forall. intros p Ip. cbn. split; [|apply Part; [right; now apply in_map | now apply HZ]].
    unfold held. replace (half_difference (entered p) / (P / C) - half_difference (entered p) * (C / P)) with 0 by (field; lra).
    rewrite Rabs_R0. lra.
Qed.

End Hosts.

(** * Without a hypothesis *)

(** With both coordinates off by at most [omega], a middle may be farther than that from their mean. *)
Theorem middles_need_twice_that : exists C token omega, 0 < C /\
  (forall x, In x token -> exists z e e', x = (z + e, - z + e') /\ Rabs e <= omega /\ Rabs e' <= omega) /\
  exists x, In x token /\ ~ Rabs (middle C C x - common C C token) <= omega.
Proof.
  exists 1, [(2, 0); (-1, -1); (-1, -1)], 1. split; [lra|]. split.
  - intros x [<-|[<-|[<-|[]]]].
    + exists 1, 1, 1. repeat split; try (f_equal; lra); rewrite Rabs_pos_eq; lra.
    + exists 0, (-1), (-1). repeat split; try (f_equal; lra); apply Rabs_le; lra.
    + exists 0, (-1), (-1). repeat split; try (f_equal; lra); apply Rabs_le; lra.
  - exists (2, 0). split; [now left|]. unfold common, average, middle, half_sum, total. simpl.
    intros H. apply Rabs_le_inv in H. lra.
Qed.

(** A pin, and a register that is seven times as large, behind a norm that rounds nothing. *)
Definition gain := 1 * sqrt (2 / INR 4).
Definition small_pin := {| entered := (1, -1); gains := (gain, gain); normed := (gain / 5, - (gain / 5)); most := 1 |}.
Definition large_register := {| entered := (7, -7); gains := (gain, gain); normed := (7 * gain / 5, - (7 * gain / 5)); most := 0 |}.

Lemma gain_size : 0 < gain < 1.
Proof.
  unfold gain. rewrite Rmult_1_l. replace (2 / INR 4) with (/ 2) by (simpl; field). split; [apply sqrt_lt_R0; lra|].
  rewrite <- sqrt_1. apply sqrt_lt_1; lra.
Qed.

Lemma norm_of_example : layer_norm (-1074) 53 0 2 [small_pin; large_register].
Proof.
  assert (U : 0 < u 53 < / 1000).
  { split; [apply u_pos|]. unfold u. apply Rle_lt_trans with (bpow radix2 (-10)); [apply bpow_le; lia | simpl; lra]. }
  assert (Lam := least_normal_pos (-1074) 53). assert (G := gain_size).
  assert (Gam : forall k, (k <= 100)%nat -> 0 <= gamma (u 53) k).
  { intros k K. apply le_INR in K. replace (INR 100) with 100 in K by (simpl; ring). assert (Q := pos_INR k). unfold gamma.
    apply Rmult_le_pos; [nra|]. apply Rlt_le, Rinv_0_lt_compat. nra. }
  assert (Av : average (coordinates (map entered [small_pin; large_register])) = 0).
  { unfold average, total. simpl. field. }
  assert (Ro : forall x y g, 0 < g -> y = g * (x - 0) * / 5 -> rest_of (-1074) 53 2 g 0 (/ 5) x y).
  { intros x y g Hg ->. unfold rest_of. replace (_ - _) with 0 by ring. rewrite Rabs_R0. apply Rplus_le_le_0_compat.
    - apply Rmult_le_pos; [apply Gam; lia|]. apply Rmult_le_pos; [nra|]. assert (Q := Rabs_pos x). assert (Q' := Rabs_pos 0). lra.
    - apply Rmult_le_pos; [lra|]. eapply Rle_trans; [|apply Rmax_l]. lra. }
  exists 0, 25, (/ 5). split; [|split; [|split]].
  - unfold mean_of. rewrite Av, Rminus_0_r, Rabs_R0. apply Rplus_le_le_0_compat; [|lra]. apply Rmult_le_pos; [apply Gam; simpl; lia | apply sqrt_pos].
  - unfold variance_of. rewrite Av. replace (25 - _) with 0 by (unfold squares, total; simpl; field). rewrite Rabs_R0.
    apply Rplus_le_le_0_compat; [|lra]. apply Rmult_le_pos; [apply Gam; simpl; lia|]. apply Rmult_le_pos; [apply squares_nonneg | simpl; lra].
  - exists 0. split.
    { split; [apply Rle_refl|]. rewrite Rmult_0_l, Rplus_0_l. apply Rmult_le_pos; [lra | now apply Rlt_le]. }
    split; [lra|]. replace (25 + 0) with (5 * 5) by ring. rewrite sqrt_square by lra.
    rewrite Rminus_eq_0, Rabs_R0. apply Rmult_le_pos; [apply Gam; lia | lra].
  - constructor; [|constructor; [|constructor]]; cbn [fst snd entered gains normed small_pin large_register];
      split; apply Ro; try lra; field.
Qed.

(** The factor of a norm is near 1 if registers are no larger than is said: not if one of them is not counted. *)
Theorem norm_needs_every_register : exists pin register, layer_norm (-1074) 53 0 2 [pin; register] /\
  half_difference (entered pin) = 1 /\ most register = 0 /\
  ~ exists f e, Rabs (f - 1) <= / 4 /\ Rabs e <= / 4 /\ half_difference (normed pin) = f * (1 * (1 + e)).
Proof.
  exists small_pin, large_register. split; [apply norm_of_example|]. split; [unfold half_difference; cbn; lra|]. split; [reflexivity|].
  intros (f & e & F & E & H). unfold half_difference in H. cbn in H. assert (G := gain_size).
  apply Rabs_le_inv in F, E. assert (/ 2 < f * (1 + e)) by nra. lra.
Qed.

(** Without the factor that all pairs have in common readers would not read what is in the stream. *)
Theorem norm_before_needs_a_factor : exists pin register, layer_norm (-1074) 53 0 2 [pin; register] /\
  half_difference (normed register) <> held 1 (half_difference (entered pin)) (entered register).
Proof.
  exists small_pin, large_register. split; [apply norm_of_example|]. unfold held, half_difference. cbn. assert (G := gain_size). lra.
Qed.

(** Behind a norm registers hold what they held in units of the new pin, not of the old one. *)
Theorem norm_behind_needs_the_new_pin : exists pin register, layer_norm (-1074) 53 0 2 [pin; register] /\
  held 1 (half_difference (normed pin)) (normed register) = held 1 (half_difference (entered pin)) (entered register) /\
  held 1 (half_difference (entered pin)) (normed register) <> held 1 (half_difference (entered pin)) (entered register).
Proof.
  exists small_pin, large_register. split; [apply norm_of_example|]. assert (G := gain_size).
  unfold held, half_difference. cbn. split; [field; lra | lra].
Qed.
