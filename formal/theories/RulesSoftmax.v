(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** The rules for softmax, CERTIFICATE.md, section 6 (*Softmax*, *Pairs*, *Sweep*): the weights of a head as they are
    computed, and exact averages by softmax. *)

From Formwright Require Import RulesExecution RulesSums.
From Flocq Require Import Relative.

(** * Softmax *)

Lemma total_cons x s : total (x :: s) = x + total s.
Proof. reflexivity. Qed.

Lemma two_lengths {A B} (r : A -> B -> Prop) a b : Forall2 r a b -> length a = length b.
Proof. induction 1; simpl; auto. Qed.

Section Weights.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation number := (number emin prec).
Notation fl := (fl emin prec).
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation rounded := (rounded emin prec).
Notation sum := (sum emin prec).
Notation weight := (weight emin prec).
Notation softmax := (softmax emin prec).

Let c := 1 + u.

Lemma c_pos : 1 < c.
Proof. unfold c. assert (U := u_pos prec). lra. Qed.

Lemma inv_c : 1 - u / (1 + u) = / c.
Proof. unfold c. assert (U := u_pos prec). field. lra. Qed.

Lemma rounded_nonneg t x : 0 <= t -> rounded t x -> 0 <= x.
Proof. intros H [|F]; [|lra]. rewrite <- (fl_0 emin prec). now apply (fl_le emin prec). Qed.

(** A relative error, for sums of numbers and in the normal range. *)
Lemma relative t eps : 0 <= t -> Rabs eps <= u / (1 + u) -> / c * t <= t * (1 + eps) <= c * t.
Proof.
  intros T E. rewrite <- inv_c. assert (W := u_over prec). assert (U := u_pos prec).
  apply Rabs_le_inv in E. unfold c. split; rewrite (Rmult_comm t); apply Rmult_le_compat_r; lra.
Qed.

Lemma add_between x y z : number x -> number y -> 0 <= x -> 0 <= y -> rounded (x + y) z ->
  / c * (x + y) - least_normal <= z <= c * (x + y).
Proof.
  intros Nx Ny X Y H. assert (N := least_normal_pos emin prec). assert (C := c_pos). destruct H as [|F].
  - destruct (fl_add_error emin prec x y Nx Ny) as (eps & E & ->). assert (R := relative (x + y) eps ltac:(lra) E). lra.
  - assert (I : / c <= 1) by (rewrite <- Rinv_1; apply Rinv_le; lra).
    rewrite Rabs_pos_eq in F by lra. split; nra.
Qed.

Lemma fl_normal t : least_normal <= Rabs t -> exists eps, Rabs eps <= u / (1 + u) /\ fl t = t * (1 + eps).
Proof.
  intros H. destruct (relative_error_N_FLX'_ex radix2 prec prec_pos (fun n => negb (Z.even n)) t) as (eps & E1 & E2).
  rewrite u_is_u_ro in E1. exists eps. split; auto. rewrite <- E2. now apply round_FLT_FLX.
Qed.

Lemma rounded_between t x : 0 <= t -> rounded t x -> / c * t - least_normal <= x <= c * t + least_normal.
Proof.
  intros T H. assert (N := least_normal_pos emin prec). assert (C := c_pos).
  assert (I : / c <= 1) by (rewrite <- Rinv_1; apply Rinv_le; lra).
  destruct (Rle_lt_dec least_normal t) as [L|L].
  - destruct H as [|F]; [|rewrite Rabs_pos_eq in F; lra].
    destruct (fl_normal t) as (eps & E & ->); [rewrite Rabs_pos_eq; lra|]. assert (R := relative t eps T E). lra.
  - assert (E := one_rounding_error emin prec t x H). rewrite (Rabs_pos_eq t), Rmax_right in E; try lra.
    + apply Rabs_le_inv in E. split; nra.
    + assert (V := u_half prec). assert (U := u_pos prec). nra.
Qed.

(** A sum of numbers that are not negative, relative to what it is exactly. *)
Lemma sum_between s x : sum s x -> Forall number s -> Forall (fun t => 0 <= t) s ->
  0 <= x /\ / c ^ (length s - 1) * total s - (2 * INR (length s) - 1) * least_normal <= x <= c ^ (length s - 1) * total s.
Proof.
  assert (N := least_normal_pos emin prec). assert (C := c_pos).
  assert (Step : forall a b x y z A B, (1 <= a)%nat -> (1 <= b)%nat -> 0 <= A -> 0 <= B -> number x -> number y ->
    0 <= x /\ / c ^ (a - 1) * A - (2 * INR a - 1) * least_normal <= x <= c ^ (a - 1) * A ->
    0 <= y /\ / c ^ (b - 1) * B - (2 * INR b - 1) * least_normal <= y <= c ^ (b - 1) * B ->
    rounded (x + y) z ->
    0 <= z /\ / c ^ (a + b - 1) * (A + B) - (2 * INR (a + b) - 1) * least_normal <= z <= c ^ (a + b - 1) * (A + B)).
  { intros a b x' y z A B La Lb A0 B0 Nx Ny (X & X1 & X2) (Y & Y1 & Y2) H.
    split; [now apply (rounded_nonneg (x' + y)); [lra|]|]. apply add_between in H; auto.
    assert (G : c ^ (a + b - 1) = c * c ^ (a + b - 2)) by (replace (a + b - 1)%nat with (S (a + b - 2)) by lia; reflexivity).
    assert (Ga : c ^ (a - 1) <= c ^ (a + b - 2)) by (apply Rle_pow; [lra | lia]).
    assert (Gb : c ^ (b - 1) <= c ^ (a + b - 2)) by (apply Rle_pow; [lra | lia]).
    assert (Pa : 0 < c ^ (a - 1)) by (apply pow_lt; lra). assert (Pb : 0 < c ^ (b - 1)) by (apply pow_lt; lra).
    assert (Ia := Rinv_le _ _ Pa Ga). assert (Ib := Rinv_le _ _ Pb Gb). rewrite plus_INR, G, Rinv_mult.
    assert (Ka : 1 <= INR a) by (apply (le_INR 1); auto). assert (Kb : 1 <= INR b) by (apply (le_INR 1); auto).
    set (g := c ^ (a + b - 2)) in *. set (ga := c ^ (a - 1)) in *. set (gb := c ^ (b - 1)) in *.
    assert (I0 : 0 < / c) by (apply Rinv_0_lt_compat; lra). assert (I1 : / c <= 1) by (rewrite <- Rinv_1; apply Rinv_le; lra).
    assert (/ g * A <= / ga * A) by (apply Rmult_le_compat_r; auto).
    assert (/ g * B <= / gb * B) by (apply Rmult_le_compat_r; auto).
    assert (ga * A <= g * A) by (apply Rmult_le_compat_r; auto). assert (gb * B <= g * B) by (apply Rmult_le_compat_r; auto).
    split.
    - assert (/ c * (/ g * A + / g * B - (2 * INR a - 1) * least_normal - (2 * INR b - 1) * least_normal) <= / c * (x' + y))
        by (apply Rmult_le_compat_l; lra).
      assert (/ c * ((2 * INR a - 1) * least_normal + (2 * INR b - 1) * least_normal)
              <= 1 * ((2 * INR a - 1) * least_normal + (2 * INR b - 1) * least_normal)) by (apply Rmult_le_compat_r; nra).
      lra.
    - assert (c * (x' + y) <= c * (g * A + g * B)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (One : forall t, 0 <= t -> 0 <= t /\ / c ^ 0 * t - (2 * INR 1 - 1) * least_normal <= t <= c ^ 0 * t).
  { intros t T. simpl. rewrite Rinv_1. lra. }
  induction 1 as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros F Z.
  - inversion F as [|? ? Nt _]; inversion Z as [|? ? Zt _]; subst.
    assert (E : x = t \/ x = 0 /\ Rabs t < least_normal) by (destruct H; [left; now apply (fl_id emin prec) | now right]).
    simpl length. rewrite Rabs_pos_eq in E by auto. unfold total. simpl. rewrite Rinv_1, Rplus_0_r.
    destruct E as [->|[-> E]]; lra.
  - apply Forall_app in F as [Fs Fr]. apply Forall_app in Z as [Zs Zr]. rewrite total_app, app_length.
    apply (Step _ _ x y); auto using total_nonneg; eauto using sum_not_empty, sum_number.
  - inversion F; inversion Z; subst. change (total (t :: r)) with (t + total r).
    apply (Step 1%nat (length r) t y); auto using total_nonneg; eauto using sum_not_empty, sum_number.
  - rewrite <- (total_order _ _ P), <- (Permutation_length P). apply Permutation_sym in P.
    apply IH; now apply (Permutation_Forall P).
Qed.

(** One weight, by either way. *)
Lemma weight_between S e p : 0 < S -> least_normal <= 1 / S -> 0 <= e -> weight S e p ->
  0 <= p /\ / c ^ 2 * (e / S) - least_normal <= p <= c ^ 2 * (e / S) + least_normal.
Proof.
  intros HS HN He H. assert (C := c_pos). assert (I0 : 0 < / c) by (apply Rinv_0_lt_compat; lra).
  assert (I1 : / c <= 1) by (rewrite <- Rinv_1; apply Rinv_le; lra).
  assert (N := least_normal_pos emin prec).
  assert (D : 0 <= e / S) by (apply Rmult_le_pos; auto; apply Rlt_le, Rinv_0_lt_compat; auto).
  assert (P2 : / c ^ 2 = / c * / c) by (simpl; rewrite Rmult_1_r, Rinv_mult; reflexivity).
  rewrite P2. simpl. rewrite Rmult_1_r. destruct H as [p H|r p Hr H].
  - split; [now apply (rounded_nonneg _ _ D H)|]. apply rounded_between in H; auto.
    assert (/ c * / c * (e / S) <= / c * (e / S)) by (rewrite Rmult_assoc; apply Rmult_le_compat_l; nra).
    assert (c * (e / S) <= c * c * (e / S)) by (rewrite Rmult_assoc; apply Rmult_le_compat_l; nra). lra.
  - assert (B : / c * (1 / S) <= r <= c * (1 / S)).
    { destruct Hr as [|F].
      - destruct (fl_normal (1 / S)) as (eps & E & ->); [rewrite Rabs_pos_eq; lra|]. apply relative; auto; lra.
      - rewrite Rabs_pos_eq in F; lra. }
    assert (R0 : 0 <= r) by nra. assert (T : 0 <= e * r) by nra.
    split; [now apply (rounded_nonneg _ _ T H)|]. apply rounded_between in H; auto.
    assert (/ c * (e * (/ c * (1 / S))) <= / c * (e * r)) by (apply Rmult_le_compat_l; [lra|]; apply Rmult_le_compat_l; lra).
    assert (c * (e * r) <= c * (e * (c * (1 / S)))) by (apply Rmult_le_compat_l; [lra|]; apply Rmult_le_compat_l; lra).
    unfold Rdiv in *. rewrite Rmult_1_l in *. split; nra.
Qed.

Lemma weights_between S e p : 0 < S -> least_normal <= 1 / S -> Forall (fun t => 0 <= t) e -> Forall2 (weight S) e p ->
  Forall (fun t => 0 <= t) p /\
  / c ^ 2 * (total e / S) - INR (length e) * least_normal <= total p <= c ^ 2 * (total e / S) + INR (length e) * least_normal.
Proof.
  intros HS HN Z. induction 1 as [|t q e p H F IH]; [split; auto; simpl; lra|].
  inversion Z as [|? ? Zt Ze]; subst. destruct (IH Ze) as (Pp & L & U).
  destruct (weight_between S t q HS HN Zt H) as (Q & L' & U'). split; auto.
  change (length (t :: e)) with (Datatypes.S (length e)). rewrite S_INR.
  change (total (t :: e)) with (t + total e). change (total (q :: p)) with (q + total p).
  unfold Rdiv in *. split; nra.
Qed.

(** [1 / c^k] is above [1 - k u] by a margin that pays for what is flushed. *)
Lemma inverse_power k : (2 <= k)%nat -> INR k * u < 1 -> c ^ k * (1 - INR k * u + u * u) <= 1.
Proof.
  intros K. assert (U := u_pos prec). assert (V := u_half prec). assert (C := c_pos).
  induction K as [|k K IH]; intros H.
  - simpl. unfold c. replace ((1 + u) * ((1 + u) * 1) * (1 - (1 + 1) * u + u * u)) with ((1 - u * u) * (1 - u * u)) by ring.
    assert (0 <= u * u <= 1) by nra. set (v := u * u) in *. nra.
  - rewrite S_INR in *. assert (2 <= INR k) by (apply (le_INR 2); lia). simpl. unfold c at 1.
    assert (P : 0 < c ^ k) by (apply pow_lt; lra). specialize (IH ltac:(nra)). set (g := c ^ k) in *.
    assert (0 <= g * (u * u * (INR k + 1 - u))) by (repeat apply Rmult_le_pos; lra).
    replace ((1 + u) * g * (1 - (INR k + 1) * u + u * u))
      with (g * (1 - INR k * u + u * u) - g * (u * u * (INR k + 1 - u))) by ring. lra.
Qed.

Lemma shares_of_exponentials e S p : let n := length e in
  INR (n + 1) * u < 1 -> 4 * INR n * least_normal <= u * u -> least_normal <= 1 / S -> 0 < S ->
  Forall number e -> Forall (fun t => 0 <= t) e -> 1 <= total e ->
  sum e S -> Forall2 (weight S) e p ->
  Forall (fun t => 0 <= t) p /\ Rabs (total p - 1) <= gamma u (n + 1).
Proof.
  intros n K M HN HS Ne Ze T1 H W. assert (U := u_pos prec). assert (V := u_half prec). assert (C := c_pos).
  assert (N := least_normal_pos emin prec). assert (L := sum_not_empty _ _ H). fold n in L.
  assert (K1 : 1 <= INR n) by (apply (le_INR 1); auto).
  destruct (sum_between e S H Ne Ze) as (_ & S1 & S2). fold n in S1, S2.
  destruct (weights_between S e p HS HN Ze W) as (P & L1 & L2). fold n in L1, L2. split; auto.
  assert (G := inverse_power (n + 1) ltac:(lia) K).
  assert (E : c ^ (n + 1) = c ^ (n - 1) * c ^ 2) by (rewrite <- pow_add; f_equal; lia). rewrite E in G.
  assert (G1 : 1 <= c ^ (n - 1)) by (apply pow_R1_Rle; lra). assert (G2 : 1 <= c ^ 2) by (apply pow_R1_Rle; lra).
  set (g := c ^ (n - 1)) in *. set (d := c ^ 2) in *. set (h := 1 - INR (n + 1) * u) in *.
  assert (h1 : 0 < h) by (unfold h; lra). assert (h2 : h < 1) by (unfold h; rewrite plus_INR; simpl; nra).
  set (T := total e) in *. set (m := INR n * least_normal).
  assert (M0 : 0 <= m) by (unfold m; nra). assert (M1 : 4 * m <= u * u) by (unfold m; lra).
  assert (Gam : 1 + gamma u (n + 1) = / h) by (unfold gamma; fold h; unfold h; field; fold h; lra).
  assert (Gh : / h >= 1 + (1 - h)).
  { apply Rle_ge. apply Rmult_le_reg_l with h; auto. rewrite Rinv_r by lra. nra. }
  assert (I : 1 - (1 - h) + u * u <= / (g * d)).
  { apply Rmult_le_reg_l with (g * d); [nra|]. rewrite Rinv_r by nra. replace (1 - (1 - h) + u * u) with (h + u * u) by ring.
    exact G. }
  assert (Igd : / (g * d) = / g * / d) by apply Rinv_mult.
  assert (Id : 0 < / d <= 1) by (split; [apply Rinv_0_lt_compat; lra | rewrite <- Rinv_1; apply Rinv_le; lra]).
  assert (Ig : 0 < / g <= 1) by (split; [apply Rinv_0_lt_compat; lra | rewrite <- Rinv_1; apply Rinv_le; lra]).
  apply Rabs_le. split.
  - (* T / S is at least 1 / g. *)
    assert (Q : / g <= T / S).
    { apply Rmult_le_reg_r with S; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      apply Rmult_le_reg_l with g; [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
    assert (/ d * / g <= / d * (T / S)) by (apply Rmult_le_compat_l; lra). fold m in L1. nra.
  - (* S / (T d) is at least 1 / (g d) less what is flushed. *)
    set (w := u * u / 2). assert (w0 : 0 < w) by (unfold w; nra). assert (w1 : w <= 1) by (unfold w; nra).
    assert (B : h + w <= S * / T * / d).
    { assert (Q : / g - 2 * m <= S * / T).
      { apply Rmult_le_reg_r with T; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
        assert (2 * m * 1 <= 2 * m * T) by (apply Rmult_le_compat_l; lra).
        assert ((2 * INR n - 1) * least_normal <= 2 * m) by (unfold m; lra). lra. }
      assert ((/ g - 2 * m) * / d <= S * / T * / d) by (apply Rmult_le_compat_r; lra).
      assert (2 * m * / d <= 2 * m) by nra. unfold w. nra. }
    assert (Q : d * (T / S) <= / (h + w)).
    { assert (X : d * (T / S) = / (S * / T * / d)).
      { field. lra. }
      rewrite X. apply Rinv_le; lra. }
    assert (X : / (h + w) + w / 2 <= / h).
    { apply Rmult_le_reg_l with (h * (h + w)); [nra|].
      replace (h * (h + w) * (/ (h + w) + w / 2)) with (h + h * (h + w) * w / 2) by (field; lra).
      replace (h * (h + w) * / h) with (h + w) by (field; lra).
      assert (h * (h + w) <= 1 * 2) by (apply Rmult_le_compat; lra). nra. }
    fold m in L2. assert (w / 2 = u * u / 4) by (unfold w; lra). lra.
Qed.

(** The exponentials of a head: none is negative, one is 1, and none is above 3. *)
Lemma exponentials theta m scores d e : 0 <= theta <= / 2 -> In m scores -> Forall (fun s => s <= m) scores ->
  Forall2 (fun s d => rounded (s - m) d) scores d -> Forall2 (exponential emin prec theta) d e ->
  least_normal <= / 2 -> number 1 ->
  length e = length scores /\ Forall number e /\ Forall (fun t => 0 <= t) e /\ 1 <= total e /\ total e <= 3 * INR (length e).
Proof.
  intros T M B D E LN N1. assert (V := u_half prec). assert (U := u_pos prec). assert (N := least_normal_pos emin prec).
  assert (Len : length e = length scores).
  { transitivity (length d); [symmetry|symmetry]; eauto using two_lengths. }
  assert (One : forall s x y, s <= m -> rounded (s - m) x -> exponential emin prec theta x y ->
    number y /\ 0 <= y <= 3 /\ (s = m -> y = 1)).
  { intros s x y Hs Hx Hy. assert (X : x <= 0).
    { destruct Hx; [|lra]. rewrite <- (fl_0 emin prec). apply (fl_le emin prec). lra. }
    assert (Q : 0 < exp x <= 1).
    { split; [apply exp_pos|]. destruct X as [X|X]; [|rewrite X, exp_0; lra].
      left. rewrite <- exp_0. now apply exp_increasing. }
    assert (Z : s = m -> x = 0).
    { intros ->. replace (m - m) with 0 in Hx by ring. destruct Hx; auto. apply fl_0. }
    assert (W : forall v, Rabs (v - exp x) <= theta * exp x -> 0 <= v <= 3 / 2).
    { intros v Hv. apply Rabs_le_inv in Hv. split; nra. }
    destruct Hy as [Hy|y Hy Ny Ey|v y Hy Ey Ry].
    - split; [exact N1|]. split; [lra | auto].
    - specialize (W y Ey). split; [exact Ny|]. split; [lra|]. intros H. now apply Z in H.
    - specialize (W v Ey). split; [now apply rounded_number with v|]. split; [|intros H; now apply Z in H].
      split; [apply (rounded_nonneg v); auto; lra|].
      apply rounded_between in Ry; [|lra]. unfold c in Ry. nra. }
  revert B D E. revert d e Len.
  assert (Gen : forall ss d e, Forall (fun s => s <= m) ss -> Forall2 (fun s d => rounded (s - m) d) ss d ->
    Forall2 (exponential emin prec theta) d e ->
    Forall number e /\ Forall (fun t => 0 <= t) e /\ (In m ss -> 1 <= total e) /\ total e <= 3 * INR (length e)).
  { induction ss as [|s ss IH]; intros d e B D E.
    - inversion D; subst. inversion E; subst. repeat split; auto; simpl; try tauto. unfold total. simpl. lra.
    - inversion D as [|? x ? d' Hx D']; subst. inversion E as [|? y ? e' Hy E']; subst. inversion B as [|? ? Bs B']; subst.
      destruct (One s x y Bs Hx Hy) as (Ny & Y & Y1). destruct (IH d' e' B' D' E') as (I1 & I2 & I3 & I4).
      change (total (y :: e')) with (y + total e'). change (length (y :: e')) with (S (length e')). rewrite S_INR.
      assert (P := total_nonneg _ I2).
      split; [now constructor|]. split; [constructor; auto; lra|]. split; [|lra]. intros [->|I]; [rewrite Y1 by auto; lra | specialize (I3 I); lra]. }
  intros d e Len B D E. destruct (Gen scores d e B D E) as (I1 & I2 & I3 & I4). repeat split; auto.
Qed.

(** The computed weights of [n] keys add up to 1 but for [gamma (n + 1)], and none is negative. *)
Theorem shares_near_one theta scores p : let n := length scores in
  0 <= theta <= / 2 -> number 1 ->
  INR (n + 1) * u < 1 -> 4 * INR n * least_normal <= u * u ->
  softmax theta scores p ->
  Forall (fun t => 0 <= t) p /\ Rabs (total p - 1) <= gamma u (n + 1).
Proof.
  intros n T N1 K M (m & d & e & S & Hm & B & D & E & H & W). assert (V := u_half prec). assert (U := u_pos prec).
  assert (N := least_normal_pos emin prec). assert (C := c_pos).
  assert (L1 : (1 <= n)%nat) by (unfold n; destruct scores; [destruct Hm | simpl; lia]).
  assert (K1 : 1 <= INR n) by (apply (le_INR 1); auto).
  assert (LN : 4 * least_normal <= / 4) by nra.
  destruct (exponentials theta m scores d e T Hm B D E ltac:(lra) N1) as (Len & Ne & Ze & T1 & T3). fold n in Len.
  rewrite Len in T3. rewrite <- Len in K, M, L1, K1. rewrite <- Len.
  destruct (sum_between e S H Ne Ze) as (S0 & S1 & S2).
  assert (G : c ^ (length e - 1) <= 3).
  { assert (X := grown_twice prec (length e) ltac:(rewrite plus_INR in K; simpl in K; lra)). fold c in X.
    assert (Y : c ^ (length e - 1) <= c ^ length e) by (apply Rle_pow; [lra | lia]).
    rewrite plus_INR in K. simpl in K. lra. }
  assert (S9 : S <= 9 * INR (length e)).
  { rewrite Len in *. assert (c ^ (n - 1) * total e <= 3 * (3 * INR n)) by (apply Rmult_le_compat; try lra; apply pow_le; lra).
    lra. }
  assert (SP : 0 < S).
  { assert (X := pow_R1_Rle c (length e - 1) ltac:(lra)).
    assert (I : / 3 <= / c ^ (length e - 1)) by (apply Rinv_le; lra).
    assert (/ 3 * 1 <= / c ^ (length e - 1) * total e) by (apply Rmult_le_compat; lra). nra. }
  apply (shares_of_exponentials e S p); auto.
  apply Rmult_le_reg_r with S; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r.
  assert (least_normal * S <= least_normal * (9 * INR (length e))) by (apply Rmult_le_compat_l; lra). nra.
Qed.

(** Keys of equal scores get the rounded share [fl (1/n)] each, by either way: the *uniform head*. *)
Theorem uniform_head theta scores p : let n := length scores in
  (emin + prec - 1 <= 0)%Z -> INR n <= bpow radix2 prec -> least_normal <= 1 / INR n ->
  (forall s s', In s scores -> In s' scores -> s = s') ->
  softmax theta scores p ->
  Forall (fun w => w = fl (1 / INR n)) p.
Proof.
  intros n Q Big Small Same (m & d & e & S & Hm & B & D & E & H & W). assert (N := least_normal_pos emin prec).
  assert (Ones : e = repeat 1 n).
  { assert (A : Forall (fun s => s = m) scores) by (apply Forall_forall; auto). unfold n. clear - D E A prec_pos.
    revert d e D E. induction A as [|s ss Hs A IH]; intros d e D E.
    - inversion D; subst. now inversion E.
    - inversion D as [|? x ? d' Hx D']; subst. inversion E as [|? y ? e' Hy E']; subst. simpl. f_equal; [|now apply IH with d'].
      replace (m - m) with 0 in Hx by ring.
      assert (X : x = 0) by (destruct Hx; auto; apply fl_0). destruct Hy; auto; contradiction. }
  assert (Tot : total (repeat 1 n) = INR n).
  { generalize n. clear. induction n as [|n IH]; [reflexivity|]. rewrite S_INR, <- IH. unfold total. simpl. ring. }
  assert (SE : S = INR n).
  { rewrite <- Tot, <- Ones. rewrite Ones in H |- *. apply (exact_sums emin prec 0); auto.
    - apply Forall_forall. intros t I. apply repeat_spec in I. subst. exists 1%Z. simpl. ring.
    - unfold above. rewrite Z.add_0_l. replace (map _ _) with (repeat 1 n); [now rewrite Tot|].
      generalize n. clear. induction n as [|n IH]; simpl; auto. now rewrite <- IH, Rmax_left by lra.
    - unfold below. replace (total _) with 0; [apply bpow_ge_0|].
      generalize n. clear. induction n as [|n IH]; unfold total in *; simpl; auto. rewrite <- IH, Rmax_right; lra. }
  assert (Half : forall t x, t = 1 / INR n -> rounded t x -> x = fl (1 / INR n)).
  { intros t x -> [|F]; auto. rewrite Rabs_pos_eq in F; lra. }
  assert (Again : forall t x, t = fl (1 / INR n) -> rounded t x -> x = fl (1 / INR n)).
  { intros t x -> [|F]; [apply (fl_id emin prec), (fl_number emin prec)|]. exfalso.
    assert (least_normal <= fl (1 / INR n)); [|apply Rabs_def2 in F; lra].
    rewrite <- (fl_id emin prec least_normal) at 1; [now apply (fl_le emin prec)|].
    apply generic_format_bpow. unfold FLT_exp. unfold Prec_gt_0 in prec_pos. lia. }
  assert (A : Forall (fun t => t = 1) e) by (rewrite Ones; apply Forall_forall; intros t; apply repeat_spec).
  clear - W A SE Half Again. revert A. induction W as [|t w e p Hw W IH]; intros A; auto.
  inversion A as [|? ? -> A']; subst. constructor; auto.
  destruct Hw as [w Hw|r w Hr Hw]; [now apply (Half (1 / INR n))|].
  apply (Again (1 * r)); auto. rewrite (Half _ _ eq_refl Hr). ring.
Qed.

End Weights.

(** * Softmax: the values of a head *)

(** [Σ p_k v_k] over pairs of a weight and a value. *)
Definition weighted (l : list (R * R)) : R := total (map (fun t => fst t * snd t) l).

(** Weights that add up to 1 but for [gap] leave the hull of the values by that share of its ends. *)
Theorem hull_of_values l lo hi gap :
  Forall (fun t => 0 <= fst t /\ lo <= snd t <= hi) l -> Rabs (total (map fst l) - 1) <= gap ->
  lo - gap * Rabs lo <= weighted l <= hi + gap * Rabs hi.
Proof.
  intros F G. assert (H : lo * total (map fst l) <= weighted l <= hi * total (map fst l)).
  { clear G. unfold weighted, total. induction F as [|t l [P [L U]] F IH]; simpl; [lra|].
    rewrite !Rmult_plus_distr_l.
    assert (fst t * lo <= fst t * snd t) by (now apply Rmult_le_compat_l).
    assert (fst t * snd t <= fst t * hi) by (now apply Rmult_le_compat_l). lra. }
  set (P := total (map fst l)) in *.
  assert (A : Rabs (lo * (P - 1)) <= gap * Rabs lo)
    by (rewrite Rabs_mult, Rmult_comm; apply Rmult_le_compat_r; auto; apply Rabs_pos).
  assert (B : Rabs (hi * (P - 1)) <= gap * Rabs hi)
    by (rewrite Rabs_mult, Rmult_comm; apply Rmult_le_compat_r; auto; apply Rabs_pos).
  apply Rabs_le_inv in A, B. lra.
Qed.

(** The sharper form: groups of keys around numbers [c]. *)
Theorem grouped_values (groups : list (R * list (R * R))) :
  total (map (fun g => weighted (snd g)) groups) =
  total (map (fun g => fst g * total (map fst (snd g))
                       + weighted (map (fun t => (fst t, snd t - fst g)) (snd g))) groups).
Proof.
  unfold total at 1 2. f_equal. apply map_ext. intros [c l]. simpl. unfold weighted. rewrite map_map. simpl.
  unfold total. induction l as [|t l IH]; simpl; [ring|]. rewrite IH. ring.
Qed.

(** * Pairs *)

(** Two heads that see the same, with equal values and opposite outputs: [(p, p', V)] for each key. *)
Theorem pairs (groups : list (R * list (R * R * R))) (o : R) :
  let H l := total (map (fun t => fst (fst t) * snd t) l) in
  let H' l := total (map (fun t => snd (fst t) * snd t) l) in
  let share l := total (map (fun t => fst (fst t)) l) in
  let share' l := total (map (fun t => snd (fst t)) l) in
  o * total (map (fun g => H (snd g)) groups) + - o * total (map (fun g => H' (snd g)) groups) =
  o * total (map (fun g => fst g * (share (snd g) - share' (snd g))
    + total (map (fun t => (fst (fst t) - snd (fst t)) * (snd t - fst g)) (snd g))) groups).
Proof.
  intros H H' share share'. induction groups as [|[c l] groups IH]; [unfold total; simpl; ring|].
  assert (E : H l - H' l = c * (share l - share' l)
    + total (map (fun t => (fst (fst t) - snd (fst t)) * (snd t - c)) l)).
  { unfold H, H', share, share', total. clear IH. induction l as [|[[p p'] V] l IH]; simpl; [ring|].
    simpl in IH. match goal with |- ?a + ?x - (?b + ?y) = _ => replace (a + x - (b + y)) with (a - b + (x - y)) by ring end.
    rewrite IH. ring. }
  cbn [map]. rewrite !total_cons. cbn [fst snd]. rewrite <- E, Rmult_plus_distr_l with (r1 := o) (r2 := H l - H' l), <- IH.
  ring.
Qed.
