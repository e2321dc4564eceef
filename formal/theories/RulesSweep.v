(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
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

(** * Largest *)

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

(** * Sweep: all of it *)

Section Whole.

(** [t k i] is the number of token [i] before block [k]. Roundings move a token by at most [rho] a block. *)
Variables (tokens : list nat) (t : nat -> nat -> R) (blocks : nat).
Variables (level s gain rho low high : R).

Let fall := INR blocks * rho.
Let rise := INR blocks * (gain + rho).

Hypothesis rho_pos : 0 <= rho.
Hypothesis gain_pos : 0 <= gain.
Hypothesis s_pos : 0 <= s.

(** All begin in [-low, high]. *)
Hypothesis begins : forall i, In i tokens -> - low <= t 0 i <= high.

(** No token falls, but for roundings. *)
Hypothesis no_fall : forall k i, (k < blocks)%nat -> In i tokens -> t k i - rho <= t (S k) i.

(** Above [level] it gains little. *)
Hypothesis little : forall k i, (k < blocks)%nat -> In i tokens -> level <= t k i -> t (S k) i <= t k i + gain + rho.

(** Anywhere it gains at most [s] times the distance of some two tokens. *)
Hypothesis spread : forall k i, (k < blocks)%nat -> In i tokens ->
  exists j l, In j tokens /\ In l tokens /\ t (S k) i <= t k i + s * (t k j - t k l) + rho.

(** The bound after [n] tokens have landed. *)
Fixpoint most (n : nat) : R :=
  match n with
  | O => Rmax high (level + fall) + rise
  | S n => Rmax (most n) (level + s * (most n + low + fall) + rho + rise)
  end.

Lemma fall_pos : 0 <= fall.
Proof. apply Rmult_le_pos; auto. apply pos_INR. Qed.

Lemma rise_pos : 0 <= rise.
Proof. apply Rmult_le_pos; [apply pos_INR | lra]. Qed.

Lemma most_grows n m : (n <= m)%nat -> most n <= most m.
Proof. induction 1; [lra|]. eapply Rle_trans; [apply IHle|]. apply Rmax_l. Qed.

Lemma falls_little k m i : (k <= m)%nat -> (m <= blocks)%nat -> In i tokens -> t k i - INR (m - k) * rho <= t m i.
Proof.
  intros K M I. induction K as [|m K IH]; [rewrite Nat.sub_diag; simpl; lra|].
  specialize (IH ltac:(lia)). assert (F := no_fall m i ltac:(lia) I).
  replace (S m - k)%nat with (S (m - k)) by lia. rewrite S_INR. lra.
Qed.

Lemma share_of_blocks n r : (n <= blocks)%nat -> 0 <= r -> INR n * r <= INR blocks * r.
Proof. intros H R. apply Rmult_le_compat_r; auto. now apply le_INR. Qed.

Lemma stays_above_low k i : (k <= blocks)%nat -> In i tokens -> - (low + fall) <= t k i.
Proof.
  intros K I. assert (F := falls_little 0 k i ltac:(lia) K I). assert (B := begins i I).
  assert (S := share_of_blocks (k - 0) rho ltac:(lia) rho_pos). unfold fall. lra.
Qed.

(** While a token stays above the level it gains little in all. *)
Lemma rises_little k m i : (k <= m)%nat -> (m <= blocks)%nat -> In i tokens ->
  (forall b, (k <= b < m)%nat -> level <= t b i) -> t m i <= t k i + INR (m - k) * (gain + rho).
Proof.
  intros K M I. induction K as [|m K IH]; intros A; [rewrite Nat.sub_diag; simpl; lra|].
  specialize (IH ltac:(lia) ltac:(intros; apply A; lia)).
  assert (L := little m i ltac:(lia) I (A m ltac:(lia))).
  replace (S m - k)%nat with (S (m - k)) by lia. rewrite S_INR. lra.
Qed.

(** The last block before [k] at which a token is below the level, if there is one. *)
Lemma last_below i : forall k,
  (forall b, (b < k)%nat -> level <= t b i) \/
  exists b, (b < k)%nat /\ t b i < level /\ forall c, (b < c < k)%nat -> level <= t c i.
Proof.
  induction k as [|k [A|(b & B & L & A)]].
  - left. intros. lia.
  - destruct (Rle_lt_dec level (t k i)) as [H|H].
    + left. intros b Hb. destruct (Nat.eq_dec b k) as [->|]; auto. apply A. lia.
    + right. exists k. repeat split; auto. intros. lia.
  - right. destruct (Rle_lt_dec level (t k i)) as [H|H].
    + exists b. repeat split; auto. intros c Hc. destruct (Nat.eq_dec c k) as [->|]; auto. apply A. lia.
    + exists k. repeat split; auto. intros. lia.
Qed.

(** The tokens that have landed before block [k]: from [k] on they stay above the level. *)
Definition landed (k i : nat) : Prop := forall b, (k <= b <= blocks)%nat -> level <= t b i.

Lemma landed_dec k i : {landed k i} + {~ landed k i}.
Proof.
  assert (D : forall n, {forall b, (k <= b < n)%nat -> level <= t b i} + {~ forall b, (k <= b < n)%nat -> level <= t b i}).
  { induction n as [|n [A|A]]; [left; intros; lia | |].
    - destruct (le_lt_dec k n) as [K|K]; [|left; intros; lia]. destruct (Rle_lt_dec level (t n i)) as [H|H].
      + left. intros b B. destruct (Nat.eq_dec b n) as [->|]; auto. apply A. lia.
      + right. intros X. specialize (X n ltac:(lia)). lra.
    - right. intros X. apply A. intros. apply X. lia. }
  destruct (D (S blocks)) as [A|A]; [left | right]; intros X.
  - intros B. apply A. lia.
  - apply A. intros. apply X. lia.
Qed.

Definition count (k : nat) : nat := length (filter (fun i => if landed_dec k i then true else false) tokens).

Lemma count_most k : (count k <= length tokens)%nat.
Proof.
  unfold count. clear begins no_fall little spread. induction tokens as [|i l IH]; simpl; auto. destruct (landed_dec k i); simpl; lia.
Qed.

(** Who has landed stays so; a token that lands is one more. *)
Lemma count_more k m i : (k < m)%nat -> In i tokens -> ~ landed k i -> landed m i -> (count k < count m)%nat.
Proof.
  intros K I N L. unfold count. clear begins no_fall little spread.
  assert (Mono : forall l, (length (filter (fun i => if landed_dec k i then true else false) l)
    <= length (filter (fun i => if landed_dec m i then true else false) l))%nat).
  { induction l as [|j l IH]; simpl; auto. destruct (landed_dec k j) as [A|A], (landed_dec m j) as [B|B]; simpl; try lia.
    exfalso. apply B. intros b Hb. apply A. lia. }
  induction tokens as [|j l IH]; [destruct I|]. assert (Ml := Mono l). simpl. destruct I as [->|I].
  - destruct (landed_dec k i); [contradiction|]. destruct (landed_dec m i); [simpl; lia | contradiction].
  - specialize (IH I). destruct (landed_dec k j) as [A|A], (landed_dec m j) as [B|B]; simpl; try lia.
    exfalso. apply B. intros b Hb. apply A. lia.
Qed.

(** No token ever exceeds the bound after all have landed. *)
Lemma sweep_by_count k : (k <= blocks)%nat -> forall i, In i tokens -> t k i <= most (count k).
Proof.
  induction k as [k IH] using lt_wf_ind. intros K i I. assert (F := fall_pos). assert (G := rise_pos).
  destruct (landed_dec k i) as [L|L].
  - destruct (last_below i k) as [A|(b & B & Lb & A)].
    + (* Never below the level. *)
      assert (H := rises_little 0 k i ltac:(lia) K I ltac:(intros; apply A; lia)). assert (H0 := begins i I).
      assert (S := share_of_blocks (k - 0) (gain + rho) ltac:(lia) ltac:(lra)).
      eapply Rle_trans; [|apply (most_grows 0); lia]. simpl. assert (M := Rmax_l high (level + fall)). unfold rise. lra.
    + (* It landed after block [b]. *)
      destruct (spread b i ltac:(lia) I) as (j & l & Ij & Il & S).
      assert (Nb : ~ landed b i) by (intros X; specialize (X b ltac:(lia)); lra).
      assert (C := count_more b k i B I Nb L).
      assert (J := IH b B ltac:(lia) j Ij). assert (W := stays_above_low b l ltac:(lia) Il).
      assert (H := rises_little (Datatypes.S b) k i ltac:(lia) K I ltac:(intros; apply A; lia)).
      assert (Q := share_of_blocks (k - Datatypes.S b) (gain + rho) ltac:(lia) ltac:(lra)).
      eapply Rle_trans; [|apply (most_grows (Datatypes.S (count b))); lia]. simpl.
      eapply Rle_trans; [|apply Rmax_r].
      assert (s * (t b j - t b l) <= s * (most (count b) + low + fall)) by (apply Rmult_le_compat_l; lra).
      unfold rise. lra.
  - (* It is to fall below the level yet, so it is not far above. *)
    assert (H : t k i <= level + fall).
    { destruct (Rle_lt_dec (t k i) (level + fall)) as [|H]; auto. exfalso. apply L. intros b [B1 B2].
      assert (X := falls_little k b i B1 B2 I). assert (S := share_of_blocks (b - k) rho ltac:(lia) rho_pos).
      unfold fall in *. lra. }
    eapply Rle_trans; [|apply (most_grows 0); lia]. simpl. assert (M := Rmax_r high (level + fall)). lra.
Qed.

(** After any number of blocks no token is above a bound that is known before: each lands once. *)
Theorem sweep_stays_below k i : (k <= blocks)%nat -> In i tokens -> - (low + fall) <= t k i <= most (length tokens).
Proof.
  intros K I. split; [now apply stays_above_low|].
  eapply Rle_trans; [now apply sweep_by_count|]. apply most_grows, count_most.
Qed.

End Whole.
