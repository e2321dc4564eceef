(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** False variants of the rules for sums: each drops one hypothesis, and an execution in [f64] refutes it. *)

From Formwright Require Import RulesExecution RulesSums.

#[export] Instance digits_pos : Prec_gt_0 53.
Proof. reflexivity. Qed.

Notation number64 := (number (-1074) 53).
Notation fl64 := (fl (-1074) 53).
Notation rounded64 := (rounded (-1074) 53).
Notation sum64 := (sum (-1074) 53).
Notation u64 := (u 53).
Notation least_normal64 := (least_normal (-1074) 53).
Notation ulp64 := (ulp radix2 (FLT_exp (-1074) 53)).

(** * Tools *)

Lemma number64_of q n : (Z.abs n <= 2 ^ 53)%Z -> (-1074 <= q)%Z -> number64 (IZR n * bpow radix2 q).
Proof.
  intros H Q. apply multiple_number with q; auto with typeclass_instances; [eexists; reflexivity|].
  rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 q)), Z.add_comm, bpow_plus by apply bpow_ge_0.
  apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- abs_IZR. now apply IZR_le in H.
Qed.

Lemma number64_int n : (Z.abs n <= 2 ^ 53)%Z -> number64 (IZR n).
Proof. intros H. rewrite <- (Rmult_1_r (IZR n)). apply (number64_of 0); auto. lia. Qed.

Lemma number64_power q : (-1074 <= q)%Z -> number64 (bpow radix2 q).
Proof. intros. rewrite <- (Rmult_1_l (bpow radix2 q)). apply (number64_of q 1); auto. simpl. lia. Qed.

(** A whole number of units [2^e], where that is the unit in the last place. *)
Lemma fl64_at e n x : (-1074 <= e)%Z -> bpow radix2 (e + 52) <= Rabs x < bpow radix2 (e + 53) ->
  ZnearestE (x * bpow radix2 (- e)) = n -> fl64 x = IZR n * bpow radix2 e.
Proof.
  intros E B H. unfold fl, round, scaled_mantissa, cexp.
  rewrite (mag_unique radix2 x (e + 53)) by (replace (e + 53 - 1)%Z with (e + 52)%Z by ring; exact B).
  replace (FLT_exp (-1074) 53 (e + 53)) with e by (unfold FLT_exp; lia). now rewrite H.
Qed.

(** Ties go to even. *)
Lemma nearest_tie n : ZnearestE (IZR n + / 2) = if Z.even n then n else (n + 1)%Z.
Proof.
  unfold Znearest. rewrite (Zfloor_imp n), (Zceil_imp (n + 1)).
  - rewrite Rcompare_Eq by lra. now destruct (Z.even n).
  - rewrite plus_IZR. replace (n + 1 - 1)%Z with n by ring. lra.
  - rewrite plus_IZR. lra.
Qed.

Lemma round64 x : rounded64 x (fl64 x).
Proof. constructor. Qed.

Lemma itself x : number64 x -> rounded64 x x.
Proof. intros H. rewrite <- (fl_id (-1074) 53 x) at 2 by auto. constructor. Qed.

Definition large : R := IZR (2 ^ 55).

Lemma large_absorbs w : Rabs w < 2 -> fl64 (large + w) = large.
Proof.
  intros H. apply (fl_absorbs (-1074) 53 55); auto.
  - apply (number64_power 55). lia.
  - exists 1%Z. unfold large. simpl. lra.
  - unfold large. apply IZR_neq. lia.
Qed.

Lemma number64_large : number64 large.
Proof. apply (number64_power 55). lia. Qed.

(** [(large + w) - large] is 0. *)
Lemma cancelled w : number64 w -> Rabs w < 2 -> sum64 [large; w; - large] 0.
Proof.
  intros N H. apply (Sum_add _ _ [large; w] [- large] large (- large)).
  - apply (Sum_add _ _ [large] [w] large w); try (constructor; apply itself; auto using number64_large).
    rewrite <- (large_absorbs w) at 2 by auto. constructor.
  - constructor. apply itself. apply number_opp, number64_large.
  - replace (large + - large) with 0 by ring. apply itself, number_0.
Qed.

Lemma number64_1 : number64 1.
Proof. now apply (number64_int 1). Qed.

Lemma number64_half : number64 (/ 2).
Proof. apply (number64_power (-1)). lia. Qed.

(** A whole number is a multiple of 1. *)
Lemma multiple_whole n : multiple 0 (IZR n).
Proof. exists n. simpl. ring. Qed.

Lemma half_not_whole : ~ multiple 0 (/ 2).
Proof.
  intros [n H]. simpl in H. assert (E : IZR 1 = IZR (2 * n)) by (rewrite mult_IZR; lra). apply eq_IZR in E. lia.
Qed.

(** * Exact sums *)

(** It is not enough that the sum is small: the positive terms, and the negative ones, must be. *)
Theorem exact_sums_need_bounded_parts :
  exists s x, Forall (multiple 0) s /\ Rabs (total s) <= bpow radix2 (0 + 53) /\ sum64 s x /\ x <> total s.
Proof.
  exists [large; 1; - large], 0. repeat split.
  - repeat constructor; try apply (multiple_whole 1); try apply multiple_opp; apply multiple_whole.
  - unfold total. simpl fold_right. replace (large + (1 + (- large + 0))) with 1 by ring. rewrite Rabs_R1.
    apply (bpow_le radix2 0). lia.
  - apply cancelled; [apply number64_1 | rewrite Rabs_R1; lra].
  - unfold total. simpl. lra.
Qed.

(** * Multiples stay multiples *)

(** It is not enough that the exact sum is a multiple: every term must be. *)
Theorem multiples_need_every_term :
  exists s x, multiple 0 (total s) /\ sum64 s x /\ ~ multiple 0 x.
Proof.
  exists [large; / 2; - large; / 2], (/ 2). repeat split.
  - replace (total _) with 1 by (unfold total; simpl; lra). apply (multiple_whole 1).
  - apply (Sum_add _ _ [large; / 2; - large] [/ 2] 0 (/ 2)).
    + apply cancelled; [apply number64_half | rewrite Rabs_pos_eq; lra].
    + constructor. apply itself, number64_half.
    + rewrite Rplus_0_l. apply itself, number64_half.
  - apply half_not_whole.
Qed.

(** * One rounding *)

Lemma tiny_product : fl64 (bpow radix2 (-538) * bpow radix2 (-538)) = 0.
Proof.
  rewrite <- bpow_plus. apply round_N_small_pos with (-1075)%Z.
  - split; [apply bpow_le | apply bpow_lt]; lia.
  - unfold FLT_exp. lia.
Qed.

(** Below the normal range the error is not [u] times the size. *)
Theorem one_rounding_needs_the_normal_range :
  exists a b x, number64 a /\ number64 b /\ rounded64 (a * b) x /\ u64 * Rabs (a * b) < Rabs (x - a * b).
Proof.
  set (a := bpow radix2 (-538)). exists a, a, 0. assert (P : 0 < a * a) by (apply Rmult_lt_0_compat; apply bpow_gt_0).
  assert (V := u_half 53). repeat split; try (apply number64_power; lia).
  - rewrite <- tiny_product. constructor.
  - replace (0 - a * a) with (- (a * a)) by ring. rewrite Rabs_Ropp, Rabs_pos_eq by lra. nra.
Qed.

(** Two exact products are rounded more than once if one of them may be flushed. *)
Theorem two_terms_need_normal_products :
  exists a b x, number64 a /\ number64 b /\ least_normal64 <= Rabs (a + b) /\ sum64 [a; b] x /\ ~ rounded64 (a + b) x.
Proof.
  exists (bpow radix2 (-1023)), (bpow radix2 (-1022)), (bpow radix2 (-1022)).
  assert (P := bpow_gt_0 radix2 (-1023)). assert (Q := bpow_gt_0 radix2 (-1022)).
  assert (L : Rabs (bpow radix2 (-1023) + bpow radix2 (-1022)) = bpow radix2 (-1023) + bpow radix2 (-1022))
    by (apply Rabs_pos_eq; lra).
  assert (D : least_normal64 = bpow radix2 (-1022)) by reflexivity.
  assert (N : number64 (bpow radix2 (-1023) + bpow radix2 (-1022))).
  { replace (bpow radix2 (-1022)) with (2 * bpow radix2 (-1023)).
    - replace (bpow radix2 (-1023) + 2 * bpow radix2 (-1023)) with (3 * bpow radix2 (-1023)) by ring.
      apply number64_of; simpl; lia.
    - symmetry. apply (bpow_double (-1022)). }
  repeat split; try (apply number64_power; lia).
  - rewrite L, D. lra.
  - apply (Sum_add _ _ [bpow radix2 (-1023)] [bpow radix2 (-1022)] 0 (bpow radix2 (-1022))).
    + constructor. apply Flushed. rewrite Rabs_pos_eq by lra. apply bpow_lt. lia.
    + constructor. apply itself, number64_power. lia.
    + rewrite Rplus_0_l. apply itself, number64_power. lia.
  - intros H. apply rounded_exact in H; auto with typeclass_instances; [lra|]. right. rewrite L, D. lra.
Qed.

(** * Any sum *)

(** A product that is no number: 2^53 + 1. *)
Definition tie : R := IZR (2 ^ 53 + 1).

Lemma tie_is_a_product : exists a b, number64 a /\ number64 b /\ tie = a * b.
Proof.
  exists 3, (IZR 3002399751580331). repeat split; try now apply number64_int. unfold tie. rewrite <- mult_IZR. reflexivity.
Qed.

Lemma fl64_tie : fl64 tie = IZR (2 ^ 53).
Proof.
  rewrite (fl64_at 1 (2 ^ 52)).
  - simpl. lra.
  - lia.
  - unfold tie. rewrite Rabs_pos_eq by (apply IZR_le; lia). simpl bpow. split; [apply IZR_le | apply IZR_lt]; lia.
  - replace (tie * bpow radix2 (- (1))) with (IZR (2 ^ 52) + / 2) by (unfold tie; simpl; lra). now rewrite nearest_tie.
Qed.

(** The rounding of a product counts as well as the additions do. *)
Theorem any_sum_needs_every_rounding :
  exists s x, sum64 s x /\
    gamma u64 (length s - 1) * size s + 4 * INR (length s) * least_normal64 < Rabs (x - total s).
Proof.
  exists [tie], (IZR (2 ^ 53)). split.
  - constructor. rewrite <- fl64_tie. constructor.
  - replace (IZR (2 ^ 53) - total [tie]) with (- (1)) by (unfold total, tie; simpl; lra).
    rewrite Rabs_Ropp, Rabs_R1. unfold gamma. simpl.
    assert (least_normal64 <= bpow radix2 (-3)) by (apply bpow_le; lia). simpl in H. lra.
Qed.

(** * Absorption *)

(** Twice the bound is too much: the numbers below a power of two are nearer to it. *)
Theorem absorption_needs_its_bound :
  exists exact small x, multiple 0 exact /\ exact <> 0 /\ number64 small /\ Rabs small < bpow radix2 (0 - 53) /\
    sum64 [exact; small] x /\ x <> exact.
Proof.
  exists 1, (IZR (-3) * bpow radix2 (-55)), (IZR (2 ^ 53 - 1) * bpow radix2 (-53)).
  assert (N : number64 (IZR (-3) * bpow radix2 (-55))) by (apply number64_of; simpl; lia).
  assert (B := bpow_gt_0 radix2 (-55)).
  repeat split; auto; try apply (multiple_whole 1); try lra.
  - rewrite Rabs_mult, (Rabs_pos_eq (bpow _ _)) by lra. rewrite <- abs_IZR. simpl. lra.
  - apply (Sum_add _ _ [1] [IZR (-3) * bpow radix2 (-55)] 1 (IZR (-3) * bpow radix2 (-55)));
      try (constructor; apply itself; auto; apply number64_1).
    rewrite <- (fl64_at (-53) (2 ^ 53 - 1) (1 + IZR (-3) * bpow radix2 (-55))).
    + constructor.
    + lia.
    + rewrite Rabs_pos_eq by (simpl; lra). simpl. lra.
    + apply Znearest_imp. rewrite Rabs_pos_eq; simpl; lra.
  - simpl. lra.
Qed.

(** * Snapping *)

(** A tie is not near enough: fused into a sum, it may be a tie of another kind. *)
Theorem snapping_needs_no_tie :
  exists t g b x, fl64 t = g /\ Rabs (t - g) <= / 2 * ulp64 g /\ number64 b /\ number64 (g + b) /\
    sum64 [t; b] x /\ x <> g + b.
Proof.
  exists tie, (IZR (2 ^ 53)), 2, (IZR (2 ^ 53 + 4)).
  assert (N2 : number64 2) by now apply (number64_int 2).
  repeat split; auto.
  - apply fl64_tie.
  - replace (tie - IZR (2 ^ 53)) with 1 by (unfold tie; simpl; lra). rewrite Rabs_R1.
    rewrite ulp_neq_0 by (apply IZR_neq; lia). unfold cexp. rewrite (mag_unique radix2 _ 54).
    + simpl. lra.
    + rewrite Rabs_pos_eq by (apply IZR_le; lia). split; [apply Rle_refl | apply (bpow_lt radix2 53 54); lia].
  - replace (IZR (2 ^ 53) + 2) with (IZR (2 ^ 52 + 1) * bpow radix2 1) by (simpl; lra). apply number64_of; lia.
  - apply Sum_fused with 2; [constructor; now apply itself|].
    replace (IZR (2 ^ 53 + 4)) with (fl64 (tie + 2)); [constructor|].
    rewrite (fl64_at 1 (2 ^ 52 + 2)).
    + simpl. lra.
    + lia.
    + unfold tie. rewrite <- plus_IZR, Rabs_pos_eq by (apply IZR_le; lia).
      split; [apply (IZR_le (2 ^ 53)) | apply (IZR_lt _ (2 ^ 54))]; lia.
    + replace ((tie + 2) * bpow radix2 (- (1))) with (IZR (2 ^ 52 + 1) + / 2) by (unfold tie; simpl; lra).
      now rewrite nearest_tie.
  - rewrite <- plus_IZR. apply IZR_neq. lia.
Qed.

(** A product just below the normal range rounds to the least normal number, but may be flushed instead. *)
Theorem snapping_needs_the_normal_range :
  exists a b g x, number64 a /\ number64 b /\ number64 g /\ fl64 (a * b) = g /\
    Rabs (a * b - g) < bpow radix2 (-1100) /\ multiple (-1022) g /\ sum64 [a * b; g] x /\ x <> g + g.
Proof.
  set (g := bpow radix2 (-1022)). set (w := - bpow radix2 (-1126)).
  assert (P := bpow_gt_0 radix2 (-1022)). fold g in P.
  assert (Q := bpow_gt_0 radix2 (-1126)). assert (W : Rabs w = bpow radix2 (-1126))
    by (unfold w; rewrite Rabs_Ropp; apply Rabs_pos_eq; lra).
  assert (Ng : number64 g) by (apply number64_power; lia).
  assert (Mg : multiple (-1022) g) by (exists 1%Z; unfold g; ring).
  assert (E : IZR (2 ^ 52 - 1) * bpow radix2 (-52) * (IZR (2 ^ 52 + 1) * bpow radix2 (-1074)) = g + w).
  { assert (G : g = IZR (2 ^ 104) * bpow radix2 (-1126)) by (unfold g; rewrite (IZR_Zpower radix2), <- bpow_plus by lia; reflexivity).
    assert (B : bpow radix2 (-1126) = bpow radix2 (-52) * bpow radix2 (-1074)) by (rewrite <- bpow_plus; reflexivity).
    unfold w. rewrite G, B. set (y := bpow radix2 (-52) * bpow radix2 (-1074)).
    replace (IZR (2 ^ 52 - 1) * bpow radix2 (-52) * (IZR (2 ^ 52 + 1) * bpow radix2 (-1074)))
      with (IZR ((2 ^ 52 - 1) * (2 ^ 52 + 1)) * y) by (rewrite mult_IZR; unfold y; ring).
    replace ((2 ^ 52 - 1) * (2 ^ 52 + 1))%Z with (2 ^ 104 - 1)%Z by reflexivity. rewrite minus_IZR. ring. }
  exists (IZR (2 ^ 52 - 1) * bpow radix2 (-52)), (IZR (2 ^ 52 + 1) * bpow radix2 (-1074)), g, g. rewrite E.
  split; [apply number64_of; lia|]. split; [apply number64_of; lia|]. split; [exact Ng|]. split; [|split; [|split; [exact Mg|split]]].
  - apply (fl_absorbs (-1074) 53 (-1022)); auto; [lra|]. rewrite W. apply bpow_lt. lia.
  - replace (g + w - g) with w by ring. rewrite W. apply bpow_lt. lia.
  - apply (Sum_add _ _ [g + w] [g] 0 g).
    + constructor. apply Flushed. change least_normal64 with g.
      assert (bpow radix2 (-1126) < g) by (apply bpow_lt; lia). unfold w. rewrite Rabs_pos_eq; lra.
    + constructor. now apply itself.
    + rewrite Rplus_0_l. now apply itself.
  - lra.
Qed.

(** * Clearing *)

(** [z] and [-z] leave what stands in a sum of its own, but not what is added together with them. *)
Theorem clearing_needs_a_sum_of_its_own :
  exists z w x, number64 z /\ number64 w /\ sum64 [z; w; - z] x /\ x <> w.
Proof.
  exists large, 1, 0. repeat split; auto using number64_large, number64_1.
  apply cancelled; [apply number64_1 | rewrite Rabs_R1; lra].
Qed.
