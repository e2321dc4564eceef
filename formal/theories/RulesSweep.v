(** Exact averages by softmax, and what a sweep of them can do: CERTIFICATE.md, section 6, *Softmax* and *Sweep*. *)

From Formwright Require Import RulesExecution RulesSoftmax.

(** * Softmax: gaps *)

(** What is left for the other keys, if the largest score is [g] above all others: [n - 1] of them. *)
Theorem others_share m others g : Forall (fun s => s <= m - g) others ->
  1 - exp m / total (map exp (m :: others)) <= INR (length others) * exp (- g).
Proof.
  intros F. assert (M := exp_pos m). cbn [map]. rewrite total_cons.
  assert (O : 0 <= total (map exp others) <= INR (length others) * exp (- g) * exp m).
  { induction F as [|s l H F IH]; [unfold total; simpl; lra|]. cbn [map length]. rewrite total_cons, S_INR.
    assert (P := exp_pos s). assert (E : exp s <= exp (- g) * exp m); [|lra].
    rewrite <- exp_plus. destruct H as [H|H]; [left; apply exp_increasing; lra | right; f_equal; lra]. }
  set (T := total (map exp others)) in *. set (k := INR (length others) * exp (- g)) in *.
  assert (K : 0 <= k) by (apply Rmult_le_pos; [apply pos_INR | apply Rlt_le, exp_pos]).
  replace (1 - exp m / (exp m + T)) with (T / (exp m + T)) by (field; lra).
  apply Rmult_le_reg_r with (exp m + T); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

(** Whom a head gathers: the value of the key with the share [p], but for the rest of the shares times the spread. *)
Theorem gather_leak p v rest lo hi : 0 <= p -> Forall (fun t => 0 <= fst t /\ lo <= snd t <= hi) rest -> lo <= v <= hi ->
  p + total (map fst rest) = 1 -> Rabs (weighted ((p, v) :: rest) - v) <= (1 - p) * (hi - lo).
Proof.
  intros P F V T. unfold weighted. cbn [map fst snd]. rewrite total_cons.
  assert (S : (lo - v) * total (map fst rest) <= total (map (fun t => fst t * snd t) rest) - v * total (map fst rest)
              <= (hi - v) * total (map fst rest)).
  { clear T. induction F as [|[q w] l [Q W] F IH]; [unfold total; simpl; lra|]. cbn [map fst snd] in *. rewrite !total_cons. nra. }
  replace (p * v + total (map (fun t => fst t * snd t) rest) - v)
    with (total (map (fun t => fst t * snd t) rest) - v * total (map fst rest)) by (replace p with (1 - total (map fst rest)) by lra; ring).
  replace (1 - p) with (total (map fst rest)) by lra.
  assert (0 <= total (map fst rest)).
  { apply total_nonneg, Forall_map. eapply Forall_impl; [|apply F]. simpl. tauto. }
  apply Rabs_le. split; nra.
Qed.

(** The average of the numbers [ts] with the weights of a softmax whose scores are [sigma t]. *)
Definition mass (sigma : R) (ts : list R) : R := total (map (fun t => exp (sigma * t)) ts).
Definition moment (sigma : R) (ts : list R) : R := total (map (fun t => t * exp (sigma * t)) ts).
Definition average (sigma : R) (ts : list R) : R := moment sigma ts / mass sigma ts.

Lemma mass_pos sigma t ts : 0 < mass sigma (t :: ts).
Proof.
  unfold mass. cbn [map]. rewrite total_cons. assert (P := exp_pos (sigma * t)).
  assert (0 <= total (map (fun t => exp (sigma * t)) ts)); [|lra].
  apply total_nonneg, Forall_map, Forall_forall. intros. apply Rlt_le, exp_pos.
Qed.

(** An average lies between the numbers. *)
Theorem average_between sigma t ts lo hi : Forall (fun r => lo <= r <= hi) (t :: ts) -> lo <= average sigma (t :: ts) <= hi.
Proof.
  intros F. assert (P := mass_pos sigma t ts). unfold average.
  assert (H : lo * mass sigma (t :: ts) <= moment sigma (t :: ts) <= hi * mass sigma (t :: ts)).
  { clear P. induction F as [|r l B F IH]; [unfold mass, moment, total; simpl; lra|].
    unfold mass, moment in *. cbn [map]. rewrite !total_cons. assert (E := exp_pos (sigma * r)). nra. }
  split; apply Rmult_le_reg_r with (mass sigma (t :: ts)); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
Qed.

(** [(x - L) e^-x] is at most [e^(-L-1)]. *)
Lemma bump x L : (x - L) * exp (- x) <= exp (- L - 1).
Proof.
  assert (E := exp_ineq1_le (x - L - 1)). replace (exp (- L - 1)) with (exp (x - L - 1) * exp (- x)).
  - apply Rmult_le_compat_r; [apply Rlt_le, exp_pos | lra].
  - rewrite <- exp_plus. f_equal. ring.
Qed.

(** How far an average stays below the largest number, [M], from what the other keys may add. *)
Lemma average_below L sigma M others : 0 < sigma -> Forall (fun t => t <= M) others ->
  INR (length others) * exp (- L - 1) <= L ->
  M - average sigma (M :: others) <= L / sigma.
Proof.
  intros S F H. assert (P := mass_pos sigma M others). unfold average.
  assert (Others : total (map (fun t => (sigma * (M - t) - L) * exp (sigma * t)) others)
                   <= INR (length others) * exp (- L - 1) * exp (sigma * M)).
  { clear P H. induction F as [|t l B F IH]; [unfold total; simpl; lra|]. cbn [map length]. rewrite total_cons, S_INR.
    assert (E : exp (sigma * t) = exp (- (sigma * (M - t))) * exp (sigma * M)) by (rewrite <- exp_plus; f_equal; ring).
    assert (Q := bump (sigma * (M - t)) L). assert (X := exp_pos (sigma * M)). rewrite E.
    set (b := exp (- (sigma * (M - t)))) in *.
    assert ((sigma * (M - t) - L) * b * exp (sigma * M) <= exp (- L - 1) * exp (sigma * M)) by (apply Rmult_le_compat_r; lra).
    lra. }
  assert (All : forall l, total (map (fun t => (sigma * (M - t) - L) * exp (sigma * t)) l)
                = sigma * M * mass sigma l - sigma * moment sigma l - L * mass sigma l).
  { induction l as [|t l IH]; [unfold mass, moment, total; simpl; ring|]. unfold mass, moment in *. cbn [map].
    rewrite !total_cons, IH. ring. }
  assert (K := All (M :: others)). cbn [map] in K. rewrite total_cons in K.
  assert (X := exp_pos (sigma * M)).
  assert (INR (length others) * exp (- L - 1) * exp (sigma * M) <= L * exp (sigma * M)) by (apply Rmult_le_compat_r; lra).
  assert (E : sigma * M * mass sigma (M :: others) - sigma * moment sigma (M :: others) <= L * mass sigma (M :: others)) by lra.
  apply Rmult_le_reg_r with (sigma * mass sigma (M :: others)); [nra|].
  replace ((M - moment sigma (M :: others) / mass sigma (M :: others)) * (sigma * mass sigma (M :: others)))
    with (sigma * M * mass sigma (M :: others) - sigma * moment sigma (M :: others)) by (field; lra).
  replace (L / sigma * (sigma * mass sigma (M :: others))) with (L * mass sigma (M :: others)) by (field; lra). exact E.
Qed.

Lemma exp_1_inv : exp (- (1)) = / exp 1.
Proof. now rewrite exp_Ropp. Qed.

(** It lies below the largest by at most [ln (1 + (n-1)/e) / sigma]. *)
Theorem average_gap sigma M others : 0 < sigma -> Forall (fun t => t <= M) others ->
  0 <= M - average sigma (M :: others) <= ln (1 + INR (length others) / exp 1) / sigma.
Proof.
  intros S F. split.
  - assert (Lo : exists lo, Forall (fun r => lo <= r <= M) (M :: others)).
    { induction F as [|t l B F [lo IH]]; [exists M; repeat constructor; lra|].
      exists (Rmin lo t). inversion IH as [|? ? H1 H2]; subst. constructor; [|constructor].
      - split; [eapply Rle_trans; [apply Rmin_l | lra] | lra].
      - split; [apply Rmin_r | auto].
      - eapply Forall_impl; [|apply H2]. intros r [R1 R2]. split; auto. eapply Rle_trans; [apply Rmin_l | auto]. }
    destruct Lo as [lo Lo]. apply (average_between sigma) in Lo. lra.
  - apply average_below; auto. set (y := INR (length others) / exp 1).
    assert (E := exp_pos 1). assert (N := pos_INR (length others)).
    assert (Y : 0 <= y) by (apply Rmult_le_pos; auto; apply Rlt_le, Rinv_0_lt_compat; auto).
    assert (X : exp (- ln (1 + y)) = / (1 + y)) by (rewrite exp_Ropp, exp_ln; lra).
    unfold Rminus. rewrite exp_plus, X, exp_1_inv.
    replace (INR (length others) * (/ (1 + y) * / exp 1)) with (y * / (1 + y)) by (unfold y; field; fold y; lra).
    assert (G := exp_ineq1_le (- ln (1 + y))). rewrite X in G.
    replace (y * / (1 + y)) with (1 - / (1 + y)) by (field; lra). lra.
Qed.

(** The simpler bound of the sweep: [(n-1) / (e sigma)]. *)
Theorem average_gap_simple sigma M others : 0 < sigma -> Forall (fun t => t <= M) others ->
  M - average sigma (M :: others) <= INR (length others) / (exp 1 * sigma).
Proof.
  intros S F. eapply Rle_trans; [apply average_gap; auto|]. assert (E := exp_pos 1). assert (N := pos_INR (length others)).
  replace (INR (length others) / (exp 1 * sigma)) with (INR (length others) / exp 1 / sigma) by (field; lra).
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|].
  assert (Y : 0 <= INR (length others) / exp 1) by (apply Rmult_le_pos; auto; apply Rlt_le, Rinv_0_lt_compat; auto).
  rewrite <- (ln_exp (INR (length others) / exp 1)) at 2. set (y := INR (length others) / exp 1) in *.
  destruct Y as [Y|Y]; [|rewrite <- Y, Rplus_0_r, exp_0; lra].
  left. apply ln_increasing; [lra | apply exp_ineq1; lra].
Qed.

(** * Sweep *)

(** An average grows with its query. *)
Theorem average_grows sigma sigma' t ts : sigma <= sigma' -> average sigma (t :: ts) <= average sigma' (t :: ts).
Proof.
  intros S. set (l := t :: ts). assert (P := mass_pos sigma t ts). assert (P' := mass_pos sigma' t ts). fold l in P, P'.
  assert (One : forall a b, 0 <= (a - b) * (exp (sigma' * a) * exp (sigma * b) - exp (sigma * a) * exp (sigma' * b))).
  { intros a b. rewrite <- !exp_plus. destruct (Rle_lt_dec b a) as [H|H].
    - apply Rmult_le_pos; [lra|]. assert (X : sigma * a + sigma' * b <= sigma' * a + sigma * b) by nra.
      destruct X as [X|X]; [apply exp_increasing in X; lra | rewrite X; lra].
    - assert (X : sigma' * a + sigma * b <= sigma * a + sigma' * b) by nra.
      destruct X as [X|X]; [apply exp_increasing in X; nra | rewrite X; lra]. }
  assert (H : 0 <= moment sigma' l * mass sigma l - moment sigma l * mass sigma' l).
  { clear P P'. induction l as [|a l IH]; [unfold moment, mass, total; simpl; lra|].
    assert (X : 0 <= moment sigma' l * exp (sigma * a) + a * exp (sigma' * a) * mass sigma l
                     - moment sigma l * exp (sigma' * a) - a * exp (sigma * a) * mass sigma' l).
    { clear IH. induction l as [|b l IH]; [unfold moment, mass, total; simpl; lra|].
      unfold moment, mass in *. cbn [map]. rewrite !total_cons. assert (O := One b a). nra. }
    unfold moment, mass in *. cbn [map]. rewrite !total_cons. nra. }
  unfold average. apply Rmult_le_reg_r with (mass sigma l * mass sigma' l); [nra|].
  replace (moment sigma l / mass sigma l * (mass sigma l * mass sigma' l)) with (moment sigma l * mass sigma' l) by (field; lra).
  replace (moment sigma' l / mass sigma' l * (mass sigma l * mass sigma' l)) with (moment sigma' l * mass sigma l) by (field; lra).
  lra.
Qed.

(** Queries at thresholds that are 1 apart, each off by at most half of [lambda], are in their order. *)
Theorem queries_in_order lambda t b b' q q' : 1 <= lambda -> b + 1 <= b' ->
  Rabs (q - lambda * (t - b)) <= lambda / 2 -> Rabs (q' - lambda * (t - b')) <= lambda / 2 -> q' <= q.
Proof. intros L B H H'. apply Rabs_le_inv in H, H'. nra. Qed.

(** A token at least 2 above a threshold has a query of at least [3 lambda / 2] there. *)
Theorem query_above lambda t b q : 1 <= lambda -> b + 2 <= t -> Rabs (q - lambda * (t - b)) <= lambda / 2 ->
  3 / 2 * lambda <= q.
Proof. intros L B H. apply Rabs_le_inv in H. nra. Qed.

(** One block: no token falls; it gains at most [s] times the spread, and little if both queries are large. The two heads
    see the same keys, [M :: others], whichever they are. *)
Theorem sweep_block s lambda t b b' q q' M others lo :
  0 < s -> 1 <= lambda -> b + 1 <= b' ->
  Rabs (q - lambda * (t - b)) <= lambda / 2 -> Rabs (q' - lambda * (t - b')) <= lambda / 2 ->
  Forall (fun r => lo <= r <= M) (M :: others) ->
  let gain := s * (average q (M :: others) - average q' (M :: others)) in
  0 <= gain <= s * (M - lo) /\
  (b' + 2 <= t -> gain <= s * INR (length others) / (3 / 2 * lambda * exp 1)).
Proof.
  intros S L B H H' F gain. assert (O := queries_in_order _ _ _ _ _ _ L B H H').
  assert (G := average_grows _ _ M others O).
  assert (A := average_between q M others lo M F). assert (A' := average_between q' M others lo M F).
  unfold gain. split; [split; [apply Rmult_le_pos; lra | apply Rmult_le_compat_l; lra]|].
  intros T. assert (Q := query_above _ _ _ _ L T H'). assert (E := exp_pos 1).
  assert (F' : Forall (fun r => r <= M) others) by (inversion F; eapply Forall_impl; [|eassumption]; simpl; tauto).
  assert (X := average_gap_simple q' M others ltac:(lra) F').
  assert (Y : INR (length others) / (exp 1 * q') <= INR (length others) / (3 / 2 * lambda * exp 1)).
  { apply Rmult_le_compat_l; [apply pos_INR|]. apply Rinv_le; nra. }
  unfold Rdiv in *. rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.
