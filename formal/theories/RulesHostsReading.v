(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** What is read in a stock host, and what is made of it: CERTIFICATE.md, section 10, *Reading*, *Units in a host*, *Nothing is
    exact*, *Heads in a host*, *Read-out in a host*, *Labels*. *)

From Formwright Require Import RulesExecution RulesSums RulesSumsFalse RulesSoftmax RulesLayers RulesIntegral RulesHosts.

(** * Reading *)

Section Reading.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).

(** What a row adds up: the weight of a pair stands twice, with both signs. *)
Definition read_pair (w : R) (x : R * R) : list R := [w * fst x; - w * snd x].
Definition row (w0 : R) (pin : R * R) (l : list (R * register)) : list R :=
  read_pair w0 pin ++ flat_map (fun t => read_pair (fst t) (pair (snd t))) l.

(** The errors of a register and of the pin, which are the same for every row. *)
Definition off (f : R) (x : register) : R := half_difference (pair x) / f - value x.
Definition pin_off (C f : R) (pin : R * R) : R := half_difference pin / f / C - 1.

Lemma row_length w0 pin l : length (row w0 pin l) = (2 * length l + 2)%nat.
Proof. unfold row. rewrite app_length. induction l as [|t l IH]; simpl in *; lia. Qed.

Lemma row_total w0 pin l : total (row w0 pin l)
  = 2 * w0 * half_difference pin + total (map (fun t => 2 * fst t * half_difference (pair (snd t))) l).
Proof.
  unfold row. rewrite total_app. f_equal; [unfold total, read_pair, half_difference; simpl; field|].
  induction l as [|t l IH]; [reflexivity|]. cbn [flat_map map]. rewrite total_app, total_cons, IH. f_equal.
  unfold total, read_pair, half_difference. simpl. field.
Qed.

Lemma read_pair_size w x B : Rabs (fst x) <= B -> Rabs (snd x) <= B -> size (read_pair w x) <= 2 * Rabs w * B.
Proof.
  intros H K. unfold size, read_pair, total. simpl. rewrite !Rabs_mult, Rabs_Ropp.
  assert (W := Rabs_pos w). assert (Rabs w * Rabs (fst x) <= Rabs w * B) by now apply Rmult_le_compat_l.
  assert (Rabs w * Rabs (snd x) <= Rabs w * B) by now apply Rmult_le_compat_l. lra.
Qed.

(** The errors of what is read are those of the norm. *)
Lemma errors_of_readable C f r eta zeta M pin registers : 0 < C -> readable C f r eta zeta M pin registers ->
  Rabs (pin_off C f pin) <= zeta /\ forall x, In x registers -> Rabs (off f x) <= eta * (limit x + M).
Proof.
  intros HC (F0 & F1 & (A & _) & H). rewrite Forall_forall in H. split; [|intros x I; apply (H x I)].
  unfold pin_off. replace (half_difference pin / f / C - 1) with ((half_difference pin / f - C) / C) by (field; lra).
  unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq C) by lra. apply Rmult_le_reg_r with C; auto.
  rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Section Rows.
Variables (C f r eta zeta M : R) (pin : R * R) (registers : list register) (l : list (R * register)).

(** What a row reads, and what may be lost of it to a rounding [g] of all that it adds up. *)
Definition reads (c : R) : R :=
  total (map (fun t => 2 * fst t * (value (snd t) + off f (snd t))) l) + c * (1 + pin_off C f pin).
Definition row_loss (g c : R) (k : nat) : R := g * (1 + eta)
  * (total (map (fun t => Rabs (2 * fst t) * (limit (snd t) + M)) l) + Rabs c * (1 + M / C)) + 2 * phi emin prec k.

Hypothesis (HC : 0 < C) (R4 : r <= / 4) (Heta : 0 <= eta) (Hr : readable C f r eta zeta M pin registers).
Hypothesis (Inc : forall t, In t l -> In (snd t) registers).

Lemma row_rounded w0 g n k x : 0 <= g -> (n <= k + 1)%nat ->
  Rabs (x - total (row w0 pin l)) <= g * size (row w0 pin l) + 4 * INR n * least_normal ->
  exists xi, x = f * (reads (2 * C * w0) + xi) /\ Rabs xi <= row_loss g (2 * C * w0) k.
Proof.
  intros G Nk B. destruct Hr as (F0 & F1 & (A & A1 & A2) & H). rewrite Forall_forall in H. set (c := 2 * C * w0).
  assert (T : total (row w0 pin l) = f * reads c).
  { unfold reads. rewrite row_total, Rmult_plus_distr_l, <- total_of_multiple, Rplus_comm. f_equal.
    - f_equal. apply map_ext. intros t. unfold off. field. lra.
    - unfold c, pin_off. field. lra. }
  assert (Sz : size (row w0 pin l) <= f * ((1 + eta)
    * (total (map (fun t => Rabs (2 * fst t) * (limit (snd t) + M)) l) + Rabs c * (1 + M / C)))).
  { unfold row. rewrite size_app. replace (f * _) with
      (2 * Rabs w0 * (f * ((1 + eta) * (C + M))) + f * (1 + eta) * total (map (fun t => Rabs (2 * fst t) * (limit (snd t) + M)) l)).
    - apply Rplus_le_compat; [now apply read_pair_size|]. rewrite <- total_of_multiple. clear - H Inc F0.
      induction l as [|t l' IH]; [unfold size, total; simpl; lra|]. cbn [flat_map map]. rewrite size_app, total_cons.
      apply Rplus_le_compat; [|apply IH; intros; apply Inc; now right].
      destruct (H (snd t) (Inc t (or_introl eq_refl))) as (_ & B1 & B2).
      eapply Rle_trans; [apply (read_pair_size _ _ _ B1 B2)|]. rewrite Rabs_mult, (Rabs_pos_eq 2) by lra. right. ring.
    - unfold c. rewrite !Rabs_mult, (Rabs_pos_eq 2), (Rabs_pos_eq C) by lra. field. lra. }
  exists (x / f - reads c). split; [field; lra|].
  replace (x / f - reads c) with ((x - total (row w0 pin l)) / f) by (rewrite T; field; lra).
  unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq f) by lra.
  apply Rmult_le_reg_r with f; auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. eapply Rle_trans; [apply B|].
  unfold row_loss. set (W := total _ + _) in *. rewrite Rmult_plus_distr_r. apply Rplus_le_compat.
  - replace (g * (1 + eta) * W * f) with (g * (f * ((1 + eta) * W))) by ring. now apply Rmult_le_compat_l.
  - assert (F34 : 3 / 4 <= f) by (apply Rabs_le_inv in F1; lra). assert (Lam := least_normal_pos emin prec).
    assert (Kp : 0 <= INR k * least_normal) by (apply Rmult_le_pos; [apply pos_INR | lra]).
    assert (Np : INR n * least_normal <= (INR k + 1) * least_normal).
    { apply Rmult_le_compat_r; [lra|]. apply le_INR in Nk. rewrite plus_INR in Nk. exact Nk. }
    assert (P : 0 <= phi emin prec k) by (unfold phi; lra).
    assert (2 * phi emin prec k * (3 / 4) <= 2 * phi emin prec k * f) by (apply Rmult_le_compat_l; lra). unfold phi in *. lra.
Qed.

Lemma gamma_nonneg k : INR k * u < 1 -> 0 <= gamma u k.
Proof.
  intros K. assert (Q := gamma_pos prec k K). assert (U := u_pos prec).
  assert (0 <= INR k * u) by (apply Rmult_le_pos; [apply pos_INR | lra]). lra.
Qed.

(** A row computes [f] times what it reads, with errors that all rows have in common, and a rounding of its own. *)
Theorem reading w0 x : let k := (2 * length l + 2)%nat in INR k * u < 1 -> sum emin prec (row w0 pin l) x ->
  let c := 2 * C * w0 in exists xi, x = f * (reads c + xi) /\ Rabs xi <= row_loss (gamma u k) c k.
Proof.
  intros k K S c. apply row_rounded with k; [now apply gamma_nonneg | lia|].
  assert (B := any_sum emin prec (row w0 pin l) x). rewrite row_length in B. now apply B.
Qed.

Lemma row_of_registers : let s := flat_map (fun t => read_pair (fst t) (pair (snd t))) l in
  total (row 0 pin l) = total s /\ size (row 0 pin l) = size s /\ length s = (2 * length l)%nat.
Proof.
  cbv zeta. unfold row. rewrite total_app, size_app. split; [|split].
  - unfold read_pair at 1, total at 1. simpl. ring.
  - unfold read_pair at 1, size at 1, total. simpl. rewrite !Rmult_0_l, Ropp_0, Rmult_0_l, Rabs_R0. ring.
  - induction l as [|t l' IH]; [reflexivity|]. simpl. rewrite IH; [lia|]. intros. apply Inc. now right.
Qed.

(** Where it has no number there are two terms less, and one rounding less where all products are with powers of two: numbers of
    the format, or below the normal range. *)
Theorem reading_without_a_number x : let s := flat_map (fun t => read_pair (fst t) (pair (snd t))) l in
  let k := (2 * length l)%nat in (1 <= k)%nat -> INR k * u < 1 -> sum emin prec s x ->
  (exists xi, x = f * (reads 0 + xi) /\ Rabs xi <= row_loss (gamma u k) 0 k) /\
  (Forall (fun t => number emin prec t \/ Rabs t < least_normal) s ->
    exists xi, x = f * (reads 0 + xi) /\ Rabs xi <= row_loss (gamma u (k - 1)) 0 (k - 1)).
Proof.
  intros s k K1 K H. destruct row_of_registers as (T & Z & L). fold s in T, Z, L. fold k in L.
  assert (E : 2 * C * 0 = 0) by ring. rewrite <- E. split.
  - apply row_rounded with k; [now apply gamma_nonneg | lia|]. rewrite T, Z. assert (B := any_sum emin prec s x). rewrite L in B. now apply B.
  - intros N. assert (Q : INR (k - 1) * u <= INR k * u) by (apply Rmult_le_compat_r; [apply Rlt_le, u_pos | apply le_INR; lia]).
    apply row_rounded with k; [apply gamma_nonneg; lra | lia|]. rewrite T, Z. assert (B := sum_of_exact_products emin prec s x). rewrite L in B.
    eapply Rle_trans; [apply B; auto; lra|]. apply Rplus_le_compat_r, Rmult_le_compat_r; [apply size_nonneg|].
    apply (bernoulli prec). lra.
Qed.

End Rows.

(** * Labels: the difference of two rows *)

(** The outputs of two rows, less each other, are [f] times what the difference of the rows reads. *)
Theorem difference_of_rows C f r eta zeta M pin registers (l : list (R * R * register)) cu cv xu xv yu yv Ru Rv :
  0 < C -> readable C f r eta zeta M pin registers -> (forall t, In t l -> In (snd t) registers) ->
  yu = f * (total (map (fun t => 2 * fst (fst t) * (value (snd t) + off f (snd t))) l) + cu * (1 + pin_off C f pin) + xu) ->
  yv = f * (total (map (fun t => 2 * snd (fst t) * (value (snd t) + off f (snd t))) l) + cv * (1 + pin_off C f pin) + xv) ->
  Rabs xu <= Ru -> Rabs xv <= Rv ->
  Rabs ((yu - yv) / f - (total (map (fun t => 2 * (fst (fst t) - snd (fst t)) * value (snd t)) l) + (cu - cv)))
    <= total (map (fun t => Rabs (2 * (fst (fst t) - snd (fst t))) * (eta * (limit (snd t) + M))) l) + Rabs (cu - cv) * zeta + (Ru + Rv).
Proof.
  intros HC H Inc -> -> BU BV. assert (F0 := proj1 H). apply errors_of_readable in H as [P H]; auto.
  set (e := fun t : R * R * register => 2 * (fst (fst t) - snd (fst t)) * off f (snd t)).
  replace (_ - _) with (total (map e l) + (cu - cv) * pin_off C f pin + (xu - xv)).
  - assert (T : Rabs (total (map e l)) <= total (map (fun t => Rabs (2 * (fst (fst t) - snd (fst t))) * (eta * (limit (snd t) + M))) l)).
    { clear - H Inc. induction l as [|t l IH]; [unfold total; simpl; rewrite Rabs_R0; lra|]. cbn [map]. rewrite !total_cons.
      eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|apply IH; intros; apply Inc; now right].
      unfold e. rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|]. apply H, Inc. now left. }
    assert (Q : Rabs ((cu - cv) * pin_off C f pin) <= Rabs (cu - cv) * zeta).
    { rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos | exact P]. }
    apply Rabs_le. apply Rabs_le_inv in T, Q, BU, BV. lra.
  - replace (f * _ - f * _) with (f * (total (map e l) + total (map (fun t => 2 * (fst (fst t) - snd (fst t)) * value (snd t)) l)
      + (cu - cv) * (1 + pin_off C f pin) + (xu - xv))); [field; lra|].
    assert (E : total (map e l) + total (map (fun t => 2 * (fst (fst t) - snd (fst t)) * value (snd t)) l)
      = total (map (fun t => 2 * fst (fst t) * (value (snd t) + off f (snd t))) l)
      - total (map (fun t => 2 * snd (fst t) * (value (snd t) + off f (snd t))) l)).
    { clear. induction l as [|t l IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons.
      replace (e t + total (map e l) + _) with (e t + 2 * (fst (fst t) - snd (fst t)) * value (snd t)
        + (total (map e l) + total (map (fun t => 2 * (fst (fst t) - snd (fst t)) * value (snd t)) l))) by ring.
      rewrite IH. unfold e. ring. }
    rewrite E. ring.
Qed.

End Reading.

(** Rounding counts the middles of the pairs: here registers hold 0 and a half, and a row that reads both computes 0. *)
Theorem reading_needs_the_middles : exists p q x, half_difference p = 0 /\ half_difference q = / 2 /\
  sum64 (read_pair 1 p ++ read_pair 1 q) x /\ / 2 < Rabs (x - (2 * half_difference p + 2 * half_difference q)).
Proof.
  exists (large, large), (1, 0), 0. unfold half_difference. cbn [fst snd]. repeat split; try lra.
  - unfold read_pair. cbn [fst snd app]. rewrite !Rmult_1_l. replace (- (1) * large) with (- large) by ring. replace (- (1) * 0) with 0 by ring.
    apply Sum_order with (0 :: [large; 1; - large]).
    + apply perm_trans with [large; 0; 1; - large]; [apply perm_swap|]. apply perm_skip.
      apply perm_trans with [0; - large; 1]; [apply perm_skip, perm_swap|].
      apply (Permutation_app_comm [0] [- large; 1]).
    + apply Sum_fused with 0; [apply cancelled; [apply number64_1 | rewrite Rabs_R1; lra]|].
      rewrite Rplus_0_l. apply itself, number_0.
  - replace (0 - (2 * ((large - large) / 2) + 2 * ((1 - 0) / 2))) with (- (1)) by field. rewrite Rabs_Ropp, Rabs_R1. lra.
Qed.

(** * Units in a host *)

(** The activation as it is computed, of an exact [gelu]: near it below 16, and beyond what the linear parts are. *)
Inductive activation (gelu : R -> R) (near x : R) : R -> Prop :=
| Act_near y : Rabs x < 16 -> Rabs (y - gelu x) <= near * Rabs x -> activation gelu near x y
| Act_above : 16 <= x -> activation gelu near x x
| Act_below y : x <= -16 -> Rabs y <= / 2 ^ 80 -> activation gelu near x y.

(** What is computed is within 43/250 of [max x 0], if the exact activation is within 171/1000 of it. *)
Theorem activation_near_relu gelu near x y : (forall x, Rabs (gelu x - relu x) <= 171 / 1000) -> 0 <= near <= / 2 ^ 20 ->
  activation gelu near x y -> Rabs (y - relu x) <= 43 / 250.
Proof.
  intros G N [y' X Y|X|y' X Y].
  - specialize (G x). assert (near * Rabs x <= / 2 ^ 20 * 16) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
    replace (y' - relu x) with ((y' - gelu x) + (gelu x - relu x)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
  - unfold relu. rewrite Rmax_left by lra. rewrite Rminus_eq_0, Rabs_R0. lra.
  - unfold relu. rewrite Rmax_right by lra. rewrite Rminus_0_r. eapply Rle_trans; [exact Y|].
    apply Rle_trans with (/ 2 ^ 10); [apply Rinv_le; [lra|]; apply Rle_pow; [lra | lia] | lra].
Qed.

Lemma relu_factor f x : 0 <= f -> relu (f * x) = f * relu x.
Proof.
  intros F. unfold relu. destruct (Rle_lt_dec 0 x).
  - rewrite !Rmax_left; auto. now apply Rmult_le_pos.
  - rewrite !Rmax_right; [ring | lra |]. assert (0 <= f * - x) by (apply Rmult_le_pos; lra). lra.
Qed.

(** A unit that reads [x], with the factor [f] of its token, gives [f] times [max x 0]: in units of the pin where the
    stream has no factor, and where it has the same one. *)
Theorem units_in_a_host s f r x y : 1 <= s -> 0 < f -> Rabs (f - 1) <= r -> r < 1 -> Rabs (y - relu (s * (f * x))) <= 43 / 250 ->
  let alpha := 43 / (250 * s * (1 - r)) in Rabs (y / s - f * relu x) <= alpha /\ Rabs (y / s / f - relu x) <= alpha.
Proof.
  intros Hs Hf Hr R1 H alpha. rewrite !relu_factor in H by lra. apply Rabs_le_inv in Hr.
  assert (R0 : 0 <= r) by lra.
  assert (A : Rabs (y / s - f * relu x) <= 43 / 250 / s).
  { replace (y / s - f * relu x) with ((y - s * (f * relu x)) / s) by (field; lra). unfold Rdiv at 1.
    rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq s) by lra. apply Rmult_le_compat_r; auto. apply Rlt_le, Rinv_0_lt_compat. lra. }
  assert (S0 : 0 < 43 / 250 / s) by (apply Rdiv_lt_0_compat; lra).
  assert (E : alpha * (1 - r) = 43 / 250 / s) by (unfold alpha; field; lra).
  assert (A0 : 0 < alpha) by (unfold alpha; apply Rdiv_lt_0_compat; [lra | apply Rmult_lt_0_compat; lra]).
  split; [nra|]. replace (y / s / f - relu x) with ((y / s - f * relu x) / f) by (field; lra). unfold Rdiv at 1.
  rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq f) by lra. apply Rmult_le_reg_r with f; auto.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. assert (alpha * (1 - r) <= alpha * f) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** So a gate adds [f] times what it would add, and what is made by it is off by [r] times that more. *)
Theorem gates_in_a_host f r (units : list (R * R)) sup E : 0 < f -> Rabs (f - 1) <= r ->
  let adds := total (map (fun t => fst t * relu (snd t)) units) in Rabs adds <= sup + E ->
  total (map (fun t => fst t * relu (f * snd t)) units) = f * adds /\ Rabs (f * adds - adds) <= r * (sup + E).
Proof.
  intros F R adds H. split.
  - unfold adds. rewrite <- total_of_multiple. f_equal. apply map_ext. intros t. rewrite relu_factor by lra. ring.
  - replace (f * adds - adds) with ((f - 1) * adds) by ring. rewrite Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos.
Qed.

(** A second register gets [k] times what the first one does, up to [d]: with the factor it has lost [1 + r] times that. *)
Theorem second_registers_in_a_host f r k first second d : 0 < f -> Rabs (f - 1) <= r -> Rabs (second - k * first) <= d ->
  Rabs (f * second - k * (f * first)) <= (1 + r) * d.
Proof.
  intros F R H. replace (f * second - k * (f * first)) with (f * (second - k * first)) by ring.
  rewrite Rabs_mult, (Rabs_pos_eq f) by lra. apply Rabs_le_inv in R. apply Rmult_le_compat; try apply Rabs_pos; lra.
Qed.

(** A factor that is not positive moves kinks: it has to be shown that it is. *)
Theorem units_need_a_positive_factor : exists f x, f <> 0 /\ relu (f * x) <> f * relu x.
Proof. exists (-1), 1. unfold relu. split; [lra|]. rewrite Rmax_right, Rmax_left by lra. lra. Qed.

(** * Nothing is exact *)

(** A row of the vocabulary is there to the bit: half the difference of a mirrored pair is its entry, and the middle is 0. What
    the entry is off from a form is what the register is off. *)
Theorem rows_of_words entry form e : Rabs (entry - form) <= e ->
  Rabs (half_difference (entry, - entry) - form) <= e /\ half_sum (entry, - entry) = 0.
Proof. intros H. unfold half_difference, half_sum. cbn. replace ((entry - - entry) / 2) with entry by field. split; auto. field. Qed.

(** With a factor that is a number, however near to 1, a product of a whole number is rounded. *)
Theorem nothing_is_exact_with_a_factor : exists f x, number64 f /\ Rabs (f - 1) <= bpow radix2 (-52) /\ sum64 [f * 3] x /\ x <> f * 3.
Proof.
  set (a := (2 ^ 52)%Z). exists (IZR (a + 1) * bpow radix2 (-52)), (IZR (3 * 2 ^ 51 + 2) * bpow radix2 (-51)).
  assert (E52 : IZR a * bpow radix2 (-52) = 1) by (unfold a; rewrite (IZR_Zpower radix2) by lia; rewrite <- bpow_plus; reflexivity).
  assert (D : bpow radix2 (-51) = 2 * bpow radix2 (-52)) by (rewrite (bpow_double (-51)); reflexivity).
  assert (P := bpow_gt_0 radix2 (-52)). set (b := bpow radix2 (-52)) in *.
  assert (F : IZR (a + 1) * b = 1 + b) by (rewrite plus_IZR; lra).
  split; [apply number64_of; [unfold a; lia | lia]|]. split; [|split].
  - rewrite F. replace (1 + b - 1) with b by ring. rewrite Rabs_pos_eq; lra.
  - constructor. rewrite <- (fl64_at (-51) (3 * 2 ^ 51 + 2) (IZR (a + 1) * b * 3)); [constructor | lia | |].
    + rewrite F, Rabs_pos_eq by lra. assert (b <= / 4) by (change (/ 4) with (bpow radix2 (-2)); apply bpow_le; lia).
      simpl bpow at 1 2. simpl. lra.
    + replace (IZR (a + 1) * b * 3 * bpow radix2 (- (-51))) with (IZR (3 * 2 ^ 51 + 1) + / 2).
      * rewrite nearest_tie. reflexivity.
      * rewrite F. replace (bpow radix2 (- (-51))) with (IZR (2 ^ 51)) by (rewrite (IZR_Zpower radix2) by lia; reflexivity).
        assert (B : b * IZR (2 ^ 51) = / 2). { unfold b. rewrite (IZR_Zpower radix2) by lia. rewrite <- bpow_plus. reflexivity. }
        rewrite plus_IZR, mult_IZR. lra.
  - rewrite F, D. intros E. assert (B : b * IZR (2 ^ 52) = 1) by (unfold b; rewrite Rmult_comm; exact E52).
    assert (E' : IZR (3 * 2 ^ 51 + 2) * 2 * (b * IZR (2 ^ 52)) = (IZR (2 ^ 52) + b * IZR (2 ^ 52)) * 3) by (rewrite (Rmult_comm b), <- !Rmult_assoc; lra).
    rewrite B in E'. rewrite !Rmult_1_r in E'. rewrite <- mult_IZR, <- plus_IZR, <- mult_IZR in E'. apply eq_IZR in E'. lia.
Qed.

(** * Heads in a host *)

(** Values of other tokens have factors of their own, and are off by that much more before a mean of them is taken. *)
Theorem heads_in_a_host (l : list (R * R * R)) r : Forall (fun t => 0 <= fst (fst t) /\ Rabs (snd (fst t) - 1) <= r) l ->
  Rabs (total (map (fun t => fst (fst t) * (snd (fst t) * snd t)) l) - total (map (fun t => fst (fst t) * snd t) l))
    <= total (map (fun t => fst (fst t) * (r * Rabs (snd t))) l).
Proof.
  induction 1 as [|[[a f] v] l [A F] _ IH]; [unfold total; simpl; rewrite Rminus_eq_0, Rabs_R0; lra|].
  cbn [map fst snd] in *. rewrite !total_cons.
  set (x := total (map (fun t => fst (fst t) * (snd (fst t) * snd t)) l)) in *.
  replace (a * (f * v) + x - (a * v + total (map (fun t => fst (fst t) * snd t) l)))
    with (a * ((f - 1) * v) + (x - total (map (fun t => fst (fst t) * snd t) l))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; auto. rewrite !Rabs_mult, (Rabs_pos_eq a) by auto.
  apply Rmult_le_compat_l; auto. apply Rmult_le_compat_r; [apply Rabs_pos | auto].
Qed.

(** Behind norms the factor of a value is that of its own pin, and the stream to which it is added has another one. *)
Theorem factors_behind_norms C P Q r : 0 < C -> r < 1 -> Rabs (P / C - 1) <= r -> Rabs (Q / C - 1) <= r ->
  Rabs (P / Q - 1) <= 2 * r / (1 - r).
Proof.
  intros HC R HP HQ. apply Rabs_le_inv in HP, HQ. set (p := P / C) in *. set (q := Q / C) in *.
  assert (Q0 : Q <> 0). { intros E. unfold q in HQ. rewrite E in HQ. unfold Rdiv in HQ. rewrite Rmult_0_l in HQ. lra. }
  replace (P / Q - 1) with ((p - q) / q) by (unfold p, q; field; lra). unfold Rdiv at 1.
  rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq q) by lra. unfold Rdiv. apply Rmult_le_compat; try apply Rabs_pos.
  - apply Rlt_le, Rinv_0_lt_compat. lra.
  - apply Rabs_le. lra.
  - apply Rinv_le; lra.
Qed.

(** What rows of queries and keys read has the factor too: it is off by [r] of what is read in addition. *)
Theorem scores_in_a_host f r q Q a : Rabs (f - 1) <= r -> Rabs (q - Q) <= a -> Rabs (f * q - Q) <= a + r * Rabs q.
Proof.
  intros F H. replace (f * q - Q) with ((q - Q) + (f - 1) * q) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite Rabs_mult. apply Rplus_le_compat; auto. apply Rmult_le_compat_r; auto. apply Rabs_pos.
Qed.

(** The number by which *Largest* multiplies scores is less by what its row is off, and by its factor. *)
Theorem queries_in_a_host f r lambda zeta e xi X : 0 <= r <= 1 -> Rabs (f - 1) <= r -> 0 <= lambda -> Rabs e <= zeta -> Rabs xi <= X ->
  0 <= lambda - X - zeta * lambda -> (1 - r) * (lambda - X - zeta * lambda) <= f * (lambda * (1 + e) + xi).
Proof.
  intros R F L E H P. apply Rabs_le_inv in F, E, H.
  assert (zeta * lambda >= - e * lambda) by (apply Rle_ge, Rmult_le_compat_r; lra). apply Rmult_le_compat; lra.
Qed.

(** Behind norms [r] alone is too little: two pins may be off in opposite ways. *)
Theorem heads_need_both_factors : exists C P Q r, 0 < C /\ r < 1 /\ Rabs (P / C - 1) <= r /\ Rabs (Q / C - 1) <= r /\ ~ Rabs (P / Q - 1) <= r.
Proof.
  exists 4, 5, 3, (/ 4). split; [lra|]. split; [lra|]. split; [apply Rabs_le; lra|]. split; [apply Rabs_le; lra|].
  intros H. apply Rabs_le_inv in H. lra.
Qed.

(** * Read-out in a host *)

(** An output is [f] times what is read. *)
Theorem read_out_in_a_host f r x F e : Rabs (f - 1) <= r -> Rabs (x - F) <= e -> Rabs (f * x - F) <= e + r * Rabs x.
Proof. apply scores_in_a_host. Qed.

(** What is read right is put out wrong, if its factor is not 1. *)
Theorem read_out_needs_the_factor : exists f r x F e, Rabs (f - 1) <= r /\ Rabs (x - F) <= e /\ ~ Rabs (f * x - F) <= e.
Proof.
  exists (5 / 4), (/ 4), 1, 1, 0. split; [apply Rabs_le; lra|]. split; [apply Rabs_le; lra|]. intros H. apply Rabs_le_inv in H. lra.
Qed.

(** * Labels *)

(** The label of a row whose output is the largest is the target, if that is a label, and any two rows are told apart. *)
Theorem labels f (y : R -> R) (all : list R) F : 0 < f ->
  (forall u v, In u all -> In v all -> u <> v ->
    Rabs ((y u - y v) / f - (2 * (u - v) * F - (u * u - v * v))) < (u - v) * (u - v)) ->
  In F all -> forall w, In w all -> (forall v, In v all -> y v <= y w) -> w = F.
Proof.
  intros Hf H I w Iw Largest. destruct (Req_dec w F) as [|N]; auto. exfalso.
  specialize (H F w I Iw (not_eq_sym N)). specialize (Largest F I). apply Rabs_def2 in H as [_ H].
  assert (E : 2 * (F - w) * F - (F * F - w * w) = (F - w) * (F - w)) by ring. rewrite E in H.
  assert (0 < (y F - y w) / f) by lra. assert (0 < (y F - y w) / f * f) by now apply Rmult_lt_0_compat.
  unfold Rdiv in *. rewrite Rmult_assoc, Rinv_l in * by lra. lra.
Qed.

(** A difference that is off by all of the distance is a tie. *)
Theorem labels_need_a_smaller_difference : exists (y : R -> R) all F w, In F all /\ In w all /\ w <> F /\
  (forall u v, In u all -> In v all -> u <> v -> Rabs ((y u - y v) / 1 - (2 * (u - v) * F - (u * u - v * v))) <= (u - v) * (u - v)) /\
  (forall v, In v all -> y v <= y w).
Proof.
  exists (fun _ => 0), [0; 1], 0, 1. split; [now left|]. split; [right; now left|]. split; [lra|]. split.
  - intros u v [<-|[<-|[]]] [<-|[<-|[]]] N; try lra; apply Rabs_le; lra.
  - intros. lra.
Qed.

(** A target that is no label is not put out, however well rows are told apart: here it is 2/5, and the labels are 0 and 1. *)
Theorem labels_need_a_target_among_them : exists (y : R -> R) all F w, In w all /\ w <> F /\
  (forall u v, In u all -> In v all -> u <> v -> Rabs ((y u - y v) / 1 - (2 * (u - v) * F - (u * u - v * v))) < (u - v) * (u - v)) /\
  (forall v, In v all -> y v <= y w).
Proof.
  exists (fun u => 2 * u * (2 / 5) - u * u), [0; 1], (2 / 5), 0. split; [now left|]. split; [lra|]. split.
  - intros u v _ _ N. replace (_ - _) with 0 by field. rewrite Rabs_R0. nra.
  - intros v [<-|[<-|[]]]; lra.
Qed.
