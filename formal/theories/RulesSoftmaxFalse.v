(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** False variants of the rules about heads: each drops one hypothesis, and a counterexample refutes it. *)

From Formwright Require Import RulesExecution RulesSums RulesSumsFalse RulesSoftmax RulesSweep.

(** * Softmax *)

Definition third : R := fl64 (1 / 3).

Lemma third_is_not_a_third : third * 3 <> 1.
Proof.
  intros H. destruct (number_multiple (-1074) 53 third) as [n E]; [apply (fl_number (-1074) 53)|]. rewrite E in H.
  assert (B : bpow radix2 (-1074) * bpow radix2 1074 = 1) by (rewrite <- bpow_plus; reflexivity).
  assert (P := bpow_gt_0 radix2 1074).
  assert (X : IZR (3 * n) = bpow radix2 1074).
  { rewrite mult_IZR. transitivity (IZR n * bpow radix2 (-1074) * 3 * bpow radix2 1074); [|rewrite H; ring].
    transitivity (IZR n * 3 * (bpow radix2 (-1074) * bpow radix2 1074)); [rewrite B|]; ring. }
  rewrite <- (IZR_Zpower radix2) in X by lia. apply eq_IZR in X. apply (f_equal (fun z => (z mod 3)%Z)) in X.
  rewrite Z.mul_comm, Z_mod_mult in X. vm_compute in X. discriminate X.
Qed.

(** The computed weights do not add up to 1: a head may leave the hull of its values. *)
Theorem shares_are_not_1 :
  exists p, softmax (-1074) 53 0 [0; 0; 0] p /\ total p <> 1.
Proof.
  assert (N0 : rounded64 (0 - 0) 0) by (replace (0 - 0) with 0 by ring; apply itself, number_0).
  assert (One : rounded64 1 1) by apply itself, number64_1.
  assert (Two : sum64 [1; 1] 2).
  { apply (Sum_add _ _ [1] [1] 1 1); try now constructor. replace (1 + 1) with 2 by ring. apply itself. now apply (number64_int 2). }
  exists [third; third; third]. split.
  - exists 0, [0; 0; 0], [1; 1; 1], 3. repeat split.
    + now left.
    + repeat (apply Forall_cons; [apply Rle_refl|]). apply Forall_nil.
    + repeat (apply Forall2_cons; [exact N0|]). apply Forall2_nil.
    + repeat (apply Forall2_cons; [now apply Exp_zero|]). apply Forall2_nil.
    + apply (Sum_add _ _ [1; 1] [1] 2 1); [auto | now constructor |].
      replace (2 + 1) with 3 by ring. apply itself. now apply (number64_int 3).
    + repeat (apply Forall2_cons; [apply By_division, Rounded|]). apply Forall2_nil.
  - unfold total. simpl. intros H. apply third_is_not_a_third. lra.
Qed.

(** The gap must be to every other key. *)
Theorem others_share_needs_the_largest_gap :
  exists m others g, Exists (fun s => s <= m - g) others /\
    INR (length others) * exp (- g) < 1 - exp m / total (map exp (m :: others)).
Proof.
  exists 0, [0; -4], 4. split; [right; left; lra|].
  assert (E := exp_ineq1_le 4). assert (P := exp_pos (-4)).
  assert (X : exp (-4) <= / 5) by (change (-4) with (- (4)); rewrite exp_Ropp; apply Rinv_le; lra).
  change (- (4)) with (-4). unfold total. cbn [map fold_right]. rewrite exp_0. simpl INR.
  assert (Q : 1 / (1 + (1 + (exp (-4) + 0))) < / 2) by (unfold Rdiv; rewrite Rmult_1_l; apply Rinv_lt_contravar; nra).
  lra.
Qed.

(** * Largest *)

(** The number that an average is compared with must be the largest. *)
Theorem average_gap_needs_the_largest :
  exists M others, M - average 1 (M :: others) < 0.
Proof.
  exists 0, [1]. replace (average 1 [0; 1]) with (exp 1 / (1 + exp 1)).
  - assert (P := exp_pos 1). assert (0 < exp 1 / (1 + exp 1)) by (apply Rdiv_lt_0_compat; lra). lra.
  - assert (P := exp_pos 1). unfold average, moment, mass, total. simpl. rewrite Rmult_0_r, Rmult_1_r, exp_0. field. lra.
Qed.

(** * Pairs *)

(** The values must be those of both heads. *)
Theorem pairs_need_equal_values :
  exists p p' V V' c o, o * (p * V) + - o * (p' * V') <> o * (c * (p - p') + (p - p') * (V - c)).
Proof. exists 1, 1, 1, 0, 0, 1. lra. Qed.

(** * Sweep *)

Lemma average_alone sigma t : average sigma [t] = t.
Proof. unfold average, moment, mass, total. simpl. assert (P := exp_pos (sigma * t)). field. lra. Qed.

(** Averages of different keys are not ordered. *)
Theorem averages_need_the_same_keys :
  exists sigma sigma' keys keys', sigma <= sigma' /\ average sigma' keys' < average sigma keys.
Proof. exists 0, 1, [1], [0]. rewrite !average_alone. lra. Qed.

(** Queries whose thresholds are less apart than their errors are not in order. *)
Theorem queries_need_thresholds_apart :
  exists lambda t b b' q q', 1 <= lambda /\ b < b' /\
    Rabs (q - lambda * (t - b)) <= lambda / 2 /\ Rabs (q' - lambda * (t - b')) <= lambda / 2 /\ q < q'.
Proof.
  exists 1, 0, 0, (/ 2), (- / 2), 0. repeat split; try lra; apply Rabs_le; lra.
Qed.

Lemma exp_double x : exp (2 * x) = exp x * exp x.
Proof. rewrite <- exp_plus. f_equal. ring. Qed.

Lemma exp_16 x : 0 <= 1 + x -> (1 + x) ^ 16 <= exp (16 * x).
Proof.
  intros H. replace (exp (16 * x)) with (exp x ^ 16).
  - apply pow_incr. split; auto. apply exp_ineq1_le.
  - replace (16 * x) with (2 * (2 * (2 * (2 * x)))) by ring. rewrite !exp_double. ring.
Qed.

(** Since queries may be off by half of [lambda], it is not enough that a token is 3/2 above the thresholds. *)
Theorem sweep_gain_needs_two_above :
  exists t b b' q q' M others,
    b + 1 <= b' /\ b' + 3 / 2 <= t /\ Rabs (q - 1 * (t - b)) <= 1 / 2 /\ Rabs (q' - 1 * (t - b')) <= 1 / 2 /\
    Forall (fun r => 0 <= r <= M) (M :: others) /\
    1 * INR (length others) / (3 / 2 * 1 * exp 1) < 1 * (average q (M :: others) - average q' (M :: others)).
Proof.
  exists 0, (-400), (- 3 / 2), 400, 1, (5 / 4), [0].
  split; [lra|]. split; [lra|]. split; [apply Rabs_le; lra|]. split; [apply Rabs_le; lra|].
  split; [repeat (apply Forall_cons; [lra|]); apply Forall_nil|].
  assert (A : forall sigma, average sigma [5 / 4; 0] = 5 / 4 - 5 / 4 / (exp (sigma * (5 / 4)) + 1)).
  { intros sigma. unfold average, moment, mass, total. simpl. rewrite Rmult_0_r, exp_0. assert (P := exp_pos (sigma * (5 / 4))).
    field. lra. }
  rewrite !A. simpl.
  assert (E1 : 263 / 100 <= exp 1).
  { assert (X := exp_16 (/ 16) ltac:(lra)). replace (16 * / 16) with 1 in X by field. lra. }
  assert (E2 : exp (1 * (5 / 4)) <= 37 / 10).
  { assert (X := exp_16 (- 5 / 64) ltac:(lra)). replace (16 * (- 5 / 64)) with (- (1 * (5 / 4))) in X by field.
    rewrite exp_Ropp in X. assert (P := exp_pos (1 * (5 / 4))). set (y := exp (1 * (5 / 4))) in *.
    apply Rmult_le_reg_r with (/ y); [now apply Rinv_0_lt_compat|]. rewrite Rinv_r by lra. lra. }
  assert (E3 : 501 <= exp (400 * (5 / 4))) by (assert (X := exp_ineq1_le (400 * (5 / 4))); lra).
  assert (P := exp_pos (1 * (5 / 4))).
  assert (B1 : / (37 / 10 + 1) <= / (exp (1 * (5 / 4)) + 1)) by (apply Rinv_le; lra).
  assert (B2 : / (exp (400 * (5 / 4)) + 1) <= / 502) by (apply Rinv_le; lra).
  assert (B3 : / (3 / 2 * 1 * exp 1) <= / (3 / 2 * (263 / 100))) by (apply Rinv_le; lra).
  unfold Rdiv in *. lra.
Qed.

(** If tokens may fall they land again and again, each time higher up. *)
Theorem sweep_needs_tokens_that_do_not_fall :
  exists (t : nat -> nat -> R) (i : nat), let tokens := [0%nat; 1%nat] in
    (forall i, In i tokens -> - (1) <= t 0%nat i <= 0) /\
    (forall k i, (k < 3)%nat -> In i tokens -> 0 <= t k i -> t (S k) i <= t k i + 0 + 0) /\
    (forall k i, (k < 3)%nat -> In i tokens ->
      exists j l, In j tokens /\ In l tokens /\ t (S k) i <= t k i + 2 * (t k j - t k l) + 0) /\
    In i tokens /\ most 3 0 2 0 0 1 0 (length tokens) < t 3%nat i.
Proof.
  exists (fun k i => match k, i with
                     | O, O => 0 | O, _ => -1 | S O, O => -1 | S O, _ => 1
                     | S (S O), O => 3 | S (S O), _ => -1 | _, O => -1 | _, _ => 7
                     end), 1%nat.
  cbv zeta. repeat split.
  - destruct H as [<-|[<-|[]]]; lra.
  - destruct H as [<-|[<-|[]]]; lra.
  - intros k i K [<-|[<-|[]]]; destruct k as [|[|[|k]]]; try lia; lra.
  - intros k i K I. assert (C : (k = 0 \/ k = 1 \/ k = 2)%nat) by lia. destruct C as [->|[->| ->]].
    + exists 0%nat, 1%nat. simpl. destruct I as [<-|[<-|[]]]; repeat split; auto; lra.
    + exists 1%nat, 0%nat. simpl. destruct I as [<-|[<-|[]]]; repeat split; auto; lra.
    + exists 0%nat, 1%nat. simpl. destruct I as [<-|[<-|[]]]; repeat split; auto; lra.
  - simpl. auto.
  - simpl. unfold Rmax. repeat destruct (Rle_dec _ _); lra.
Qed.
