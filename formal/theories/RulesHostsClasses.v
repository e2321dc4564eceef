(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** What other classes of stock hosts do, and heads that hide tokens: CERTIFICATE.md, section 10, *Norm without a mean*, *Quiet
    squares*, *Gated units*, *Parts at rest*, *Scores by position in a host*, other activations in *Units in a host*, and streams
    with norms of their own in *Norm before the layers*. *)

From Formwright Require Import RulesExecution RulesSums RulesSumsFalse RulesSoftmax RulesLayers RulesIntegral RulesHosts RulesHostsReading.

(** * Norm without a mean *)

Section Root.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation gamma := (gamma u).
Notation phi := (phi emin prec).

Definition mean_square_of (v : list R) (w : R) : Prop :=
  Rabs (w - squares v / INR (length v)) <= gamma (length v + 4) * (squares v / INR (length v)) + 12 * least_normal.

(** The rest of it takes no mean away. *)
Definition root_norm (eps : R) (j : nat) (token : list place) : Prop :=
  let v := coordinates (map entered token) in
  exists w i, mean_square_of v w /\ inverse_root emin prec eps w i /\
    Forall (fun p => rest_of emin prec j (fst (gains p)) 0 i (fst (entered p)) (fst (normed p)) /\
                     rest_of emin prec j (snd (gains p)) 0 i (snd (entered p)) (snd (normed p))) token.

Section Norm.
Variables (C eps O tau : R) (j : nat) (pin : place) (registers : list place).
Let token := pin :: registers.
Let D := (2 * length token)%nat.

Definition root_X := total (map (fun p => most p * most p) registers).
Definition root_scale := C * sqrt (2 / INR D).
Definition root_eta := tau + gamma j * (1 + tau).
Definition root_M := O + 32 * Rmax root_scale (/ root_scale) * least_normal / u.
Definition root_q := (2 * root_X + INR D * (O * O) + INR D * (eps * (1 + / 2 ^ 20))) / (2 * (C * C)).
Definition root_nu := gamma (D + 4) * (1 + root_q) + 4 * phi D / (C * C).
Definition root_r := (1 + root_q / 2) * (1 + root_nu / 2 + root_nu * root_nu) * (1 + gamma 8) - 1.
Definition root_zeta := root_eta * (1 + root_M / C).

(** What is known of a token in front of it: the pin is [C], and [O] bounds all middles. *)
Definition root_known : Prop :=
  0 < C /\ half_difference (entered pin) = C /\ 0 <= eps /\ 0 <= tau /\ (2 <= j)%nat /\ INR (D + 32) * u < / 2 /\ INR j * u < 1 /\
  (forall p, In p registers -> Rabs (half_difference (entered p)) <= most p) /\
  (forall p, In p token -> Rabs (half_sum (entered p)) <= O) /\
  (forall p, In p token -> Rabs (fst (gains p) / root_scale - 1) <= tau /\ Rabs (snd (gains p) / root_scale - 1) <= tau).

(** Readers read the stream with one factor for all of a token, within [root_r] of 1. *)
Theorem norm_without_a_mean : root_known -> root_nu <= / 4 -> root_zeta <= / 4 -> root_r <= / 4 -> root_norm eps j token ->
  exists f, readable C f root_r root_eta root_zeta root_M (normed pin)
    (map (fun p => {| value := half_difference (entered p); limit := most p; pair := normed p |}) registers).
Proof.
  intros (HC & HP & Heps & Htau & Hj & HD & Hju & HZ & HO & HG) N4 Z4 R4 (w & i & HV & (e & He & HA & Hi) & HF).
  set (lam := least_normal) in *. assert (Hl : 0 < lam) by apply least_normal_pos. assert (U := u_pos prec).
  set (N := INR D) in *. set (X := root_X) in *.
  assert (N2 : 2 <= N).
  { unfold N, D. rewrite mult_INR. unfold token. cbn [length]. rewrite (S_INR (length registers)). assert (K := pos_INR (length registers)). simpl. lra. }
  set (v := coordinates (map entered token)) in *.
  assert (Lv : length v = D) by (unfold v; now rewrite coordinates_length, map_length).
  unfold mean_square_of in HV. rewrite Lv in HV. fold N lam in HV.
  assert (O0 : 0 <= O) by (eapply Rle_trans; [apply Rabs_pos | apply (HO pin); now left]).
  assert (HX : 0 <= X) by (apply total_nonneg, Forall_map, Forall_forall; intros; apply square_nonneg).
  assert (CC : 0 < C * C) by (apply Rmult_lt_0_compat; lra).
  set (Q := 2 * (C * C) + 2 * X + N * (O * O)).
  assert (SQ : 2 * (C * C) <= squares v <= Q).
  { unfold v. rewrite squares_pairs. unfold token. cbn [map]. rewrite total_cons, HP.
    assert (T0 : 0 <= total (map (fun x => 2 * (half_difference x * half_difference x + half_sum x * half_sum x)) (map entered registers))).
    { apply total_nonneg, Forall_map, Forall_map, Forall_forall. intros p _. cbn.
      assert (Q1 := square_nonneg (half_difference (entered p))). assert (Q2 := square_nonneg (half_sum (entered p))). lra. }
    assert (B := squares_of_places 1 O registers ltac:(lra)). fold root_X in B. fold X in B.
    assert (B' : total (map (fun x => 2 * (half_difference x * half_difference x + half_sum x * half_sum x)) (map entered registers))
      <= 1 * 1 * (2 * X + INR (2 * length registers) * (O * O))).
    { apply B. intros p I. rewrite !Rmult_1_l. split; [now apply HZ | apply HO; now right]. }
    assert (EN : N = INR (2 * length registers) + 2) by (unfold N, D, token; cbn [length]; rewrite !mult_INR, (S_INR (length registers)); simpl; ring).
    set (o := half_sum (entered pin)). assert (o * o <= O * O) by (apply square_le, HO; now left).
    assert (o0 := square_nonneg o). unfold Q. rewrite EN. split; lra. }
  assert (K8 : INR 8 * u < / 2). { rewrite plus_INR in HD. fold N in HD. simpl (INR 32) in HD. simpl (INR 8).
    assert (34 * u <= (N + 32) * u) by (apply Rmult_le_compat_r; lra). lra. }
  assert (G8 : 0 <= gamma 8 <= 1).
  { split; [assert (T := gamma_pos prec 8); assert (0 <= INR 8 * u) by (simpl; lra); lra|]. unfold RulesSums.gamma.
    apply Rmult_le_reg_r with (1 - INR 8 * u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (GD : 0 <= gamma (D + 4)).
  { assert (INR (D + 4) * u <= INR (D + 32) * u) by (apply Rmult_le_compat_r; [lra | apply le_INR; lia]).
    assert (T := gamma_pos prec (D + 4)). assert (0 <= INR (D + 4) * u) by (apply Rmult_le_pos; [apply pos_INR | lra]). lra. }
  assert (Gj : 2 * u <= gamma j).
  { assert (T := gamma_pos prec j Hju). assert (2 * u <= INR j * u) by (apply Rmult_le_compat_r; [lra | apply (le_INR 2); auto]). lra. }
  assert (Sc : 0 < root_scale) by (apply Rmult_lt_0_compat; [lra | apply sqrt_lt_R0; fold N; apply Rdiv_lt_0_compat; lra]).
  assert (Sc2 : root_scale * root_scale = 2 * (C * C) / N).
  { unfold root_scale. fold N. replace (C * sqrt (2 / N) * (C * sqrt (2 / N))) with (C * C * (sqrt (2 / N) * sqrt (2 / N))) by ring.
    rewrite sqrt_sqrt by (apply Rlt_le, Rdiv_lt_0_compat; lra). field. lra. }
  set (T := 2 * (C * C)) in *. assert (T0 : 0 < T) by (unfold T; lra).
  set (x := (w + e) * N / T - 1).
  assert (Ex : w + e = root_scale * root_scale * (1 + x)) by (rewrite Sc2; unfold x; fold T; field; split; lra).
  set (E' := eps * (1 + / 2 ^ 20)) in *.
  assert (E0 : 0 <= E') by (unfold E'; apply Rmult_le_pos; [lra|]; assert (0 < / 2 ^ 20) by (apply Rinv_0_lt_compat; lra); lra).
  assert (Phi : 16 * N * lam <= 4 * phi D - 32 * lam) by (unfold RulesHosts.phi; fold N lam; lra).
  assert (Eq : root_q * T = Q - T + N * E') by (unfold root_q, Q, T; fold X N; unfold E'; field; lra).
  assert (NE : 0 <= N * E') by (apply Rmult_le_pos; lra).
  assert (Hq : 0 <= root_q).
  { assert (0 <= N * (O * O)) by (apply Rmult_le_pos; [lra | apply square_nonneg]).
    apply Rmult_le_reg_r with T; auto. rewrite Rmult_0_l, Eq. unfold Q. lra. }
  assert (NN : root_nu * T = gamma (D + 4) * (1 + root_q) * T + 8 * phi D).
  { unfold root_nu. fold N. unfold T. field. lra. }
  assert (W1 : Rabs (w * N - squares v) <= gamma (D + 4) * squares v + 12 * N * lam).
  { replace (w * N - squares v) with ((w - squares v / N) * N) by (field; lra). rewrite Rabs_mult, (Rabs_pos_eq N) by lra.
    replace (gamma (D + 4) * squares v + 12 * N * lam) with ((gamma (D + 4) * (squares v / N) + 12 * lam) * N) by (field; lra).
    apply Rmult_le_compat_r; [lra | exact HV]. }
  assert (GQ : gamma (D + 4) * squares v <= gamma (D + 4) * (1 + root_q) * T).
  { rewrite Rmult_assoc. apply Rmult_le_compat_l; auto. rewrite Rmult_plus_distr_r, Eq. lra. }
  assert (Wx : - root_nu <= x <= root_q + root_nu).
  { apply Rabs_le_inv in W1. assert (X1 : x * T = (w + e) * N - T) by (unfold x; field; lra).
    assert (Ne : 0 <= N * e <= N * E' + 2 * N * lam).
    { split; [apply Rmult_le_pos; lra|]. replace (N * E' + 2 * N * lam) with (N * (E' + 2 * lam)) by ring. apply Rmult_le_compat_l; lra. }
    assert (Nl : 0 < N * lam) by (apply Rmult_lt_0_compat; lra).
    split; apply Rmult_le_reg_r with T; auto.
    - replace (- root_nu * T) with (- (root_nu * T)) by ring. rewrite X1, NN, Rmult_plus_distr_r. lra.
    - rewrite Rmult_plus_distr_r, Eq, X1, NN, Rmult_plus_distr_r. lra. }
  assert (Hnu : 0 <= root_nu).
  { unfold root_nu. apply Rplus_le_le_0_compat; [apply Rmult_le_pos; lra|]. apply Rmult_le_pos; [unfold RulesHosts.phi; fold N lam; apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra] | apply Rlt_le, Rinv_0_lt_compat; lra]. }
  assert (Sr : sqrt (w + e) = root_scale * sqrt (1 + x)).
  { rewrite Ex, sqrt_mult by (try apply Rle_0_sqr; lra). rewrite sqrt_square; [reflexivity | lra]. }
  assert (Sx : 0 < sqrt (1 + x)) by (apply sqrt_lt_R0; lra).
  set (f := root_scale * i).
  assert (Hf : Rabs (f - / sqrt (1 + x)) <= gamma 8 * / sqrt (1 + x)).
  { rewrite Sr in Hi. replace (f - / sqrt (1 + x)) with (root_scale * (i - / (root_scale * sqrt (1 + x)))) by (unfold f; field; lra).
    rewrite Rabs_mult, (Rabs_pos_eq root_scale) by lra.
    apply Rle_trans with (root_scale * (gamma 8 * / (root_scale * sqrt (1 + x)))); [apply Rmult_le_compat_l; lra|]. right. field. lra. }
  assert (F1 : Rabs (f - 1) <= root_r) by (unfold root_r; apply inverse_root_near with x; auto; lra).
  assert (F34 : 3 / 4 <= f) by (apply Rabs_le_inv in F1; lra).
  assert (Hi0 : 0 < i). { apply Rmult_lt_reg_l with root_scale; auto. rewrite Rmult_0_r. unfold f in F34. lra. }
  assert (Ei : i = f / root_scale) by (unfold f; field; lra).
  set (big := Rmax root_scale (/ root_scale)).
  assert (Big : 1 <= big /\ root_scale <= big /\ / root_scale <= big).
  { unfold big. split; [|split; [apply Rmax_l | apply Rmax_r]]. destruct (Rle_lt_dec 1 root_scale); [eapply Rle_trans; [|apply Rmax_l]; lra|].
    eapply Rle_trans; [|apply Rmax_r]. rewrite <- Rinv_1. apply Rinv_le; lra. }
  assert (EM : root_M = O + 32 * big * lam / u) by reflexivity.
  assert (FM : 0 <= 32 * big * lam / u) by (apply Rmult_le_pos; [repeat apply Rmult_le_pos; lra | apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (Eta : 2 * u <= root_eta /\ tau <= root_eta).
  { unfold root_eta. assert (0 <= gamma j * tau) by (apply Rmult_le_pos; lra). lra. }
  assert (Tau4 : tau <= / 4).
  { unfold root_zeta in Z4. assert (0 <= root_M / C) by (apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat; lra]).
    assert (0 <= root_eta * (root_M / C)) by (apply Rmult_le_pos; lra). lra. }
  assert (One : forall g z y a, Rabs (g / root_scale - 1) <= tau -> Rabs a <= z + O ->
    rest_of emin prec j g 0 i a y -> exists er, Rabs er <= root_eta * (z + root_M) /\ y = f * (a + er)).
  { intros g z y a Hg Ha Hr. exists (y / f - a). split; [|field; lra].
    set (t := g / root_scale - 1) in *. assert (Eg : g = root_scale * (1 + t)) by (unfold t; field; lra).
    assert (Ht := Hg). apply Rabs_le_inv in Ht. assert (G0 : 0 < g) by (rewrite Eg; apply Rmult_lt_0_compat; lra).
    unfold rest_of in Hr. fold lam in Hr. rewrite Rminus_0_r, Rabs_R0, Rplus_0_r in Hr.
    assert (Egi : g * i = f * (1 + t)) by (rewrite Eg, Ei; field; lra).
    replace (g * a * i) with (g * i * a) in Hr by ring. rewrite Egi in Hr.
    assert (Mx : Rmax 1 (Rmax g i) <= f * (5 / 3 * big)).
    { assert (B1 : 3 / 4 * big <= f * big) by (apply Rmult_le_compat_r; lra).
      apply Rmax_lub; [lra|]. apply Rmax_lub.
      - rewrite Eg. assert (root_scale * (1 + t) <= big * (5 / 4)) by (apply Rmult_le_compat; lra). lra.
      - rewrite Ei. unfold Rdiv. apply Rmult_le_compat_l; [lra|]. lra. }
    replace (y / f - a) with ((y - f * (1 + t) * a) / f + t * a) by (field; lra).
    assert (A0 := Rabs_pos a).
    assert (P1 : Rabs ((y - f * (1 + t) * a) / f) <= gamma j * (1 + tau) * Rabs a + 16 * lam * (5 / 3 * big)).
    { unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq f) by lra. apply Rmult_le_reg_r with f; [lra|].
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. eapply Rle_trans; [apply Hr|].
      assert (gamma j * (f * (1 + t) * Rabs a) <= gamma j * (f * (1 + tau) * Rabs a)).
      { apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; auto. apply Rmult_le_compat_l; lra. }
      assert (16 * lam * Rmax 1 (Rmax g i) <= 16 * lam * (f * (5 / 3 * big))) by (apply Rmult_le_compat_l; lra). lra. }
    assert (P2 : Rabs (t * a) <= tau * Rabs a) by (rewrite Rabs_mult; apply Rmult_le_compat_r; lra).
    eapply Rle_trans; [apply Rabs_triang|].
    assert (P3 : root_eta * Rabs a <= root_eta * (z + O)) by (apply Rmult_le_compat_l; lra).
    assert (P4 : 64 * big * lam <= root_eta * (32 * big * lam / u)).
    { apply Rle_trans with (2 * u * (32 * big * lam / u)); [right; field; lra | apply Rmult_le_compat_r; lra]. }
    assert (0 <= big * lam) by (apply Rmult_le_pos; lra).
    assert (Eeta : root_eta * Rabs a = tau * Rabs a + gamma j * (1 + tau) * Rabs a) by (unfold root_eta; ring).
    replace (z + root_M) with (z + O + 32 * big * lam / u) by (rewrite EM; ring). rewrite (Rmult_plus_distr_l root_eta). lra. }
  assert (Part : forall p Z, In p token -> Rabs (half_difference (entered p)) <= Z ->
    Rabs (half_difference (normed p) / f - half_difference (entered p)) <= root_eta * (Z + root_M) /\
    Rabs (fst (normed p)) <= f * ((1 + root_eta) * (Z + root_M)) /\ Rabs (snd (normed p)) <= f * ((1 + root_eta) * (Z + root_M))).
  { intros p Z Ip Hz. rewrite Forall_forall in HF. destruct (HF p Ip) as [F2 F3]. destruct (HG p Ip) as [g1 g2]. assert (Op := HO p Ip).
    assert (E1 : fst (entered p) = half_sum (entered p) + half_difference (entered p)) by (unfold half_sum, half_difference; lra).
    assert (E2 : snd (entered p) = half_sum (entered p) - half_difference (entered p)) by (unfold half_sum, half_difference; lra).
    apply Rabs_le_inv in Hz, Op.
    destruct (One (fst (gains p)) Z (fst (normed p)) (fst (entered p)) g1) as (e1 & B1 & A1); auto; [apply Rabs_le; lra|].
    destruct (One (snd (gains p)) Z (snd (normed p)) (snd (entered p)) g2) as (e2 & B2 & A2); auto; [apply Rabs_le; lra|].
    assert (M0 : O <= root_M) by (rewrite EM; lra).
    split; [|split].
    - replace (half_difference (normed p) / f - half_difference (entered p)) with ((e1 - e2) / 2) by (unfold half_difference; rewrite A1, A2; field; lra).
      apply Rabs_le. apply Rabs_le_inv in B1, B2. lra.
    - rewrite A1, Rabs_mult, (Rabs_pos_eq f) by lra. apply Rmult_le_compat_l; [lra|]. apply Rabs_le. apply Rabs_le_inv in B1. lra.
    - rewrite A2, Rabs_mult, (Rabs_pos_eq f) by lra. apply Rmult_le_compat_l; [lra|]. apply Rabs_le. apply Rabs_le_inv in B2. lra. }
  exists f. split; [lra|]. split; [exact F1|]. split.
  - destruct (Part pin C (or_introl eq_refl)) as (A & B & B'); [rewrite HP, Rabs_pos_eq; lra|].
    rewrite HP in A. split; [|split; auto]. eapply Rle_trans; [apply A|]. unfold root_zeta. right. field. lra.
  - apply Forall_map, Forall_forall. intros p Ip. cbn. apply Part; [now right | now apply HZ].
Qed.

End Norm.

(** * Quiet squares *)

Lemma rounded_nonneg x y : 0 <= x -> rounded emin prec x y -> 0 <= y.
Proof. intros H [|_]; [rewrite <- (fl_0 emin prec); now apply (fl_le emin prec) | lra]. Qed.

Lemma sum_nonneg s x : sum emin prec s x -> Forall (fun t => 0 <= t) s -> 0 <= x.
Proof.
  induction 1 as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros F.
  - inversion F; subst. now apply rounded_nonneg with t.
  - apply Forall_app in F as [F1 F2]. apply rounded_nonneg with (x + y); auto. specialize (IHx F1). specialize (IHy F2). lra.
  - inversion F; subst. apply rounded_nonneg with (t + y); auto. specialize (IHy ltac:(auto)). lra.
  - apply IH. apply Permutation_Forall with r; auto. now apply Permutation_sym.
Qed.

(** To add less than half of the next spacing to a power of two, or to twice that, changes nothing. *)
Lemma rounded_quiet k (two : bool) w z : (emin + prec - 1 <= k)%Z -> 0 <= w < bpow radix2 (k - prec) ->
  let b := if two then bpow radix2 (k + 1) else bpow radix2 k in rounded emin prec (b + w) z -> z = b.
Proof.
  intros K W b H. assert (Pp : (0 < prec)%Z) by exact prec_pos. set (h := if two then (k + 1)%Z else k).
  assert (Eb : b = bpow radix2 h) by (unfold b, h; now destruct two). assert (Kh : (k <= h)%Z) by (unfold h; destruct two; lia).
  assert (B0 := bpow_gt_0 radix2 h). assert (Nb : number emin prec b).
  { rewrite Eb. apply generic_format_bpow. unfold FLT_exp. lia. }
  destruct H as [|F].
  - apply Rle_antisym.
    + apply round_N_le_midp; auto with typeclass_instances. rewrite succ_eq_pos by lra.
      rewrite Eb, ulp_bpow. assert (E : bpow radix2 (k - prec) <= / 2 * bpow radix2 (FLT_exp emin prec (h + 1))).
      { change (/ 2) with (bpow radix2 (-1)). rewrite <- bpow_plus. apply bpow_le. unfold FLT_exp. lia. }
      lra.
    + rewrite <- (fl_id emin prec b) at 1 by exact Nb. apply (fl_le emin prec). lra.
  - exfalso. rewrite Rabs_pos_eq in F by lra. unfold RulesExecution.least_normal in F.
    assert (bpow radix2 (emin + prec - 1) <= b) by (rewrite Eb; apply bpow_le; lia). lra.
Qed.

(** A sum of one or two pins' squares and small ones, which are the second parts of its terms. *)
Definition pins (l : list (bool * R)) : nat := length (filter (fun t : bool * R => fst t) l).
Definition term_of (k : Z) (t : bool * R) : R := if fst t then bpow radix2 k else snd t.
Definition others (l : list (bool * R)) : R := total (map (fun t : bool * R => if fst t then 0 else snd t) l).

Lemma others_nonneg l : Forall (fun t : bool * R => 0 <= snd t) l -> 0 <= others l.
Proof. intros H. apply total_nonneg, Forall_map. eapply Forall_impl; [|apply H]. intros [[|] x] A; simpl in *; lra. Qed.

Lemma others_app l r : others (l ++ r) = others l + others r.
Proof. unfold others. now rewrite map_app, total_app. Qed.

Lemma pins_app l r : pins (l ++ r) = (pins l + pins r)%nat.
Proof. unfold pins. now rewrite filter_app, app_length. Qed.

Lemma no_pins k l : pins l = 0%nat -> map (term_of k) l = map (fun t : bool * R => if fst t then 0 else snd t) l.
Proof.
  unfold pins. induction l as [|[[|] x] l IH]; intros H; [reflexivity | discriminate H |]. cbn [map fst snd]. f_equal. apply IH. exact H.
Qed.

Lemma pins_permuted l r : Permutation l r -> pins l = pins r /\ others l = others r.
Proof.
  intros P. split.
  - unfold pins. apply Permutation_length. induction P; simpl; auto.
    + destruct (fst x); auto.
    + destruct (fst x), (fst y); auto using perm_swap.
    + now apply Permutation_trans with (filter (fun t : bool * R => fst t) l').
  - unfold others. apply total_order. now apply Permutation_map.
Qed.

(** All squares but the pins' come to less than half of the spacing behind a pin's: the sum is that of the pins, in any order. *)
Theorem quiet_squares k n l x : (emin + prec - 1 <= k)%Z -> INR n * u < 1 -> (length l <= n)%nat ->
  Forall (fun t : bool * R => 0 <= snd t) l -> (1 <= pins l <= 2)%nat ->
  others l * (1 + gamma n) + 4 * INR n * least_normal < bpow radix2 (k - prec) ->
  sum emin prec (map (term_of k) l) x -> x = INR (pins l) * bpow radix2 k.
Proof.
  intros K Nu. assert (U := u_pos prec). assert (Lam := least_normal_pos emin prec). assert (Bk := bpow_gt_0 radix2 k).
  assert (D : bpow radix2 (k + 1) = 2 * bpow radix2 k) by (rewrite (bpow_double (k + 1)); do 2 f_equal; lia).
  assert (Gn : forall m, (m <= n)%nat -> 0 <= gamma m <= gamma n).
  { intros m Hm. apply le_INR in Hm. assert (P := pos_INR m). assert (INR m * u <= INR n * u) by (apply Rmult_le_compat_r; lra).
    assert (M0 : 0 <= INR m * u) by (apply Rmult_le_pos; lra). unfold RulesSums.gamma. split.
    - apply Rmult_le_pos; auto. apply Rlt_le, Rinv_0_lt_compat. lra.
    - unfold Rdiv. apply Rmult_le_compat; auto; [apply Rlt_le, Rinv_0_lt_compat; lra | apply Rinv_le; lra]. }
  (* without a pin *)
  assert (Low : forall l x, (length l <= n)%nat -> Forall (fun t : bool * R => 0 <= snd t) l -> pins l = 0%nat ->
    others l * (1 + gamma n) + 4 * INR n * least_normal < bpow radix2 (k - prec) ->
    sum emin prec (map (term_of k) l) x -> 0 <= x < bpow radix2 (k - prec)).
  { intros l0 y L F P S H. rewrite (no_pins k) in H by exact P.
    assert (Pos : Forall (fun t => 0 <= t) (map (fun t : bool * R => if fst t then 0 else snd t) l0)).
    { apply Forall_map. eapply Forall_impl; [|apply F]. intros [[|] z] A; simpl in *; lra. }
    split; [now apply sum_nonneg with (map (fun t : bool * R => if fst t then 0 else snd t) l0)|].
    assert (B := any_sum emin prec (map (fun t : bool * R => if fst t then 0 else snd t) l0) y). rewrite map_length in B. apply le_INR in L as L'.
    assert (Lu : INR (length l0) * u <= INR n * u) by (apply Rmult_le_compat_r; lra).
    specialize (B ltac:(lra) H).
    assert (Sz : size (map (fun t : bool * R => if fst t then 0 else snd t) l0) = others l0).
    { unfold size, others. f_equal. rewrite map_map. apply map_ext_in. intros t I. rewrite Forall_forall in Pos.
      apply Rabs_pos_eq, Pos. now apply (in_map (fun t : bool * R => if fst t then 0 else snd t)). }
    rewrite Sz in B. fold (others l0) in B. assert (O0 := others_nonneg l0 F). apply Rabs_le_inv in B. destruct (Gn _ L) as [G0 G1].
    assert (gamma (length l0) * others l0 <= gamma n * others l0) by (apply Rmult_le_compat_r; auto).
    assert (INR (length l0) * least_normal <= INR n * least_normal) by (apply Rmult_le_compat_r; lra). lra. }
  intros L F P S H. revert L F P S. remember (map (term_of k) l) as s eqn:E. revert l E.
  induction H as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; intros l E L F Pn S.
  - destruct l as [|[[|] v] [|? ?]]; try discriminate E; simpl in Pn; unfold pins in Pn; simpl in Pn; [|lia].
    injection E as ->. unfold term_of in H. simpl in H. replace (INR (pins [(true, v)])) with 1 by reflexivity. rewrite Rmult_1_l.
    assert (W : 0 <= 0 < bpow radix2 (k - prec)) by (split; [lra | apply bpow_gt_0]).
    apply (rounded_quiet k false 0 x K W). cbn. now rewrite Rplus_0_r.
  - symmetry in E. apply map_eq_app in E as (l1 & l2 & -> & <- & <-). rewrite app_length in L. apply Forall_app in F as [F1 F2].
    rewrite pins_app in *. rewrite others_app in S. assert (A1 := others_nonneg l1 F1). assert (A2 := others_nonneg l2 F2).
    assert (Gp : 0 <= gamma n) by (apply (Gn n); lia).
    assert (S1 : others l1 * (1 + gamma n) <= (others l1 + others l2) * (1 + gamma n)) by (apply Rmult_le_compat_r; lra).
    assert (S2 : others l2 * (1 + gamma n) <= (others l1 + others l2) * (1 + gamma n)) by (apply Rmult_le_compat_r; lra).
    destruct (pins l1) as [|p1] eqn:P1, (pins l2) as [|p2] eqn:P2; [lia | | |].
    + assert (X := Low l1 x ltac:(lia) F1 P1 ltac:(lra) Hx). rewrite (IHy l2 eq_refl ltac:(lia) F2 ltac:(lia) ltac:(lra)) in H. rewrite P2 in *. simpl plus in *.
      rewrite Rplus_comm in H. destruct p2 as [|[|p2]]; [| |lia].
      * replace (INR 1 * bpow radix2 k) with (bpow radix2 k) in * by (simpl; ring). now apply (rounded_quiet k false x z K X).
      * replace (INR 2 * bpow radix2 k) with (bpow radix2 (k + 1)) in * by (rewrite D; simpl; ring). now apply (rounded_quiet k true x z K X).
    + assert (X := Low l2 y ltac:(lia) F2 P2 ltac:(lra) Hy). rewrite (IHx l1 eq_refl ltac:(lia) F1 ltac:(lia) ltac:(lra)) in H. rewrite P1 in *.
      replace (Datatypes.S p1 + 0)%nat with (Datatypes.S p1) by lia. destruct p1 as [|[|p1]]; [| |lia].
      * replace (INR 1 * bpow radix2 k) with (bpow radix2 k) in * by (simpl; ring). now apply (rounded_quiet k false y z K X).
      * replace (INR 2 * bpow radix2 k) with (bpow radix2 (k + 1)) in * by (rewrite D; simpl; ring). now apply (rounded_quiet k true y z K X).
    + assert (p1 = 0%nat) by lia. assert (p2 = 0%nat) by lia. subst p1 p2.
      rewrite (IHx l1 eq_refl ltac:(lia) F1 ltac:(lia) ltac:(lra)), (IHy l2 eq_refl ltac:(lia) F2 ltac:(lia) ltac:(lra)), P1, P2 in H.
      assert (W : 0 <= 0 < bpow radix2 (k - prec)) by (split; [lra | apply bpow_gt_0]).
      replace (INR (1 + 1) * bpow radix2 k) with (bpow radix2 (k + 1)) by (rewrite D; simpl; ring).
      apply (rounded_quiet k true 0 z K W). cbn. rewrite Rplus_0_r, D. replace (2 * bpow radix2 k) with (INR 1 * bpow radix2 k + INR 1 * bpow radix2 k) by (simpl; ring). exact H.
  - destruct l as [|[b v] l]; try discriminate E. injection E as -> ->. simpl in L. inversion F as [|? ? Fv Fl]; subst. simpl in Fv.
    change ((b, v) :: l) with ([(b, v)] ++ l) in *. rewrite pins_app in *. rewrite others_app in S. assert (A2 := others_nonneg l Fl).
    assert (A1 : 0 <= others [(b, v)]) by (apply others_nonneg; constructor; auto; constructor).
    assert (Gp : 0 <= gamma n) by (apply (Gn n); lia).
    assert (S2 : others l * (1 + gamma n) <= (others [(b, v)] + others l) * (1 + gamma n)) by (apply Rmult_le_compat_r; lra).
    assert (S1 : others [(b, v)] * 1 <= (others [(b, v)] + others l) * (1 + gamma n)) by (apply Rmult_le_compat; lra).
    assert (Nl : 0 <= INR n * least_normal) by (apply Rmult_le_pos; [apply pos_INR | lra]).
    destruct b; unfold term_of in H; simpl fst in H; simpl snd in H; cbv iota in H.
    + change (pins [(true, v)]) with 1%nat in *. destruct (pins l) as [|p] eqn:P2.
      * assert (X := Low l y ltac:(lia) Fl P2 ltac:(lra) Hy). replace (INR (1 + 0) * bpow radix2 k) with (bpow radix2 k) by (simpl; ring). now apply (rounded_quiet k false y z K X).
      * assert (p = 0%nat) by lia. subst p. rewrite (IHy l eq_refl ltac:(lia) Fl ltac:(lia) ltac:(lra)), P2 in H.
        assert (W : 0 <= 0 < bpow radix2 (k - prec)) by (split; [lra | apply bpow_gt_0]).
        replace (INR (1 + 1) * bpow radix2 k) with (bpow radix2 (k + 1)) by (rewrite D; simpl; ring).
        apply (rounded_quiet k true 0 z K W). cbn. rewrite Rplus_0_r, D. replace (2 * bpow radix2 k) with (bpow radix2 k + INR 1 * bpow radix2 k) by (simpl; ring). exact H.
    + change (pins [(false, v)]) with 0%nat in *. assert (X : 0 <= v < bpow radix2 (k - prec)).
      { split; auto. unfold others at 1 in S1. simpl in S1. unfold total in S1. simpl in S1. lra. }
      rewrite (IHy l eq_refl ltac:(lia) Fl ltac:(lia) ltac:(lra)) in H. rewrite Rplus_comm in H. destruct (pins l) as [|[|[|p]]]; [lia | | | lia].
      * replace (INR (0 + 1) * bpow radix2 k) with (bpow radix2 k) by (simpl; ring). replace (INR 1 * bpow radix2 k) with (bpow radix2 k) in H by (simpl; ring).
        now apply (rounded_quiet k false v z K X).
      * replace (INR (0 + 2) * bpow radix2 k) with (bpow radix2 (k + 1)) by (rewrite D; simpl; ring). replace (INR 2 * bpow radix2 k) with (bpow radix2 (k + 1)) in H by (rewrite D; simpl; ring).
        now apply (rounded_quiet k true v z K X).
  - subst. apply Permutation_map_inv in P as (l' & -> & P). destruct (pins_permuted _ _ P) as [EP EO].
    rewrite EP in Pn |- *. rewrite EO in S. apply IH; auto.
    + now rewrite <- (Permutation_length P).
    + now apply Permutation_Forall with l.
Qed.

(** So is what stands under the root: to add [eps] to a power of two changes nothing, and an inverse root within [gamma 4] of
    that of a square is a factor near 1. *)
Theorem quiet_roots k w z : (emin + prec - 1 <= k)%Z -> 0 <= w < bpow radix2 (k - prec) -> rounded emin prec (bpow radix2 k + w) z ->
  z = bpow radix2 k /\ forall scale i, 0 < scale -> scale * scale = bpow radix2 k -> Rabs (i - / sqrt z) <= gamma 4 * / sqrt z ->
    Rabs (scale * i - 1) <= gamma 4.
Proof.
  intros K W H. assert (E : z = bpow radix2 k) by now apply (rounded_quiet k false w z K W). split; auto.
  intros scale i S SS Hi. rewrite E, <- SS, sqrt_square in Hi by lra.
  replace (scale * i - 1) with (scale * (i - / scale)) by (field; lra). rewrite Rabs_mult, (Rabs_pos_eq scale) by lra.
  apply Rle_trans with (scale * (gamma 4 * / scale)); [apply Rmult_le_compat_l; lra | right; field; lra].
Qed.

(** * Norm before the layers: a stream with norms of its own *)

(** What is read with the factor [f] is added to a stream whose pin is [P]. *)
Theorem added_to_a_normed_stream C P f r r0 : 0 < C -> 0 <= r -> 0 <= r0 < 1 -> Rabs (f - 1) <= r -> Rabs (P / C - 1) <= r0 ->
  Rabs (f * (C / P) - 1) <= (1 + r) / (1 - r0) - 1.
Proof.
  intros HC Hr R0 F H. apply Rabs_le_inv in F, H. set (p := P / C) in *.
  assert (P0 : P <> 0). { intros E. unfold p in H. rewrite E in H. unfold Rdiv in H. rewrite Rmult_0_l in H. lra. }
  replace (C / P) with (/ p) by (unfold p; field; lra).
  assert (I1 : / p <= / (1 - r0)) by (apply Rinv_le; lra). assert (I2 : / (1 + r0) <= / p) by (apply Rinv_le; lra).
  assert (J : 0 < / (1 + r0)) by (apply Rinv_0_lt_compat; lra). assert (J' : 1 <= / (1 - r0)) by (rewrite <- Rinv_1 at 1; apply Rinv_le; lra).
  assert (Up : f * / p <= (1 + r) / (1 - r0)).
  { unfold Rdiv. destruct (Rle_lt_dec 0 f); [apply Rmult_le_compat; lra|]. assert (0 <= - f * / p) by (apply Rmult_le_pos; lra).
    assert (0 <= (1 + r) * / (1 - r0)) by (apply Rmult_le_pos; lra). lra. }
  assert (Lo : 2 - (1 + r) / (1 - r0) <= f * / p).
  { assert (Low : (1 - r) * / p <= f * / p) by (apply Rmult_le_compat_r; lra).
    assert (E : (1 + r) / (1 - r0) = / (1 - r0) + r * / (1 - r0)) by (unfold Rdiv; ring). rewrite E.
    assert (rp : r * / p <= r * / (1 - r0)) by (apply Rmult_le_compat_l; lra).
    assert (S : 2 <= / (1 + r0) + / (1 - r0)).
    { apply Rmult_le_reg_r with ((1 + r0) * (1 - r0)); [apply Rmult_lt_0_compat; lra|].
      replace ((/ (1 + r0) + / (1 - r0)) * ((1 + r0) * (1 - r0))) with 2 by (field; lra). nra. }
    lra. }
  apply Rabs_le. lra.
Qed.

(** * Units in a host: other activations *)

(** SiLU as it is computed: near the exact one below 64, and beyond what the linear parts are. *)
Inductive silu_computed (silu : R -> R) (near x : R) : R -> Prop :=
| Silu_near y : Rabs x < 64 -> Rabs (y - silu x) <= near * Rabs x -> silu_computed silu near x y
| Silu_above : 64 <= x -> silu_computed silu near x x
| Silu_below y : x <= -64 -> Rabs y <= / 2 ^ 80 -> silu_computed silu near x y.

(** What is computed is within 1393/5000 of [max x 0], if the exact SiLU is within 2785/10000 of it. *)
Theorem silu_near_relu silu near x y : (forall x, Rabs (silu x - relu x) <= 2785 / 10000) -> 0 <= near <= / 2 ^ 20 ->
  silu_computed silu near x y -> Rabs (y - relu x) <= 1393 / 5000.
Proof.
  intros G N [y' X Y|X|y' X Y].
  - specialize (G x). assert (near * Rabs x <= / 2 ^ 20 * 64) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
    replace (y' - relu x) with ((y' - silu x) + (silu x - relu x)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (/ 2 ^ 20 * 64 <= 1 / 10000) by (simpl; lra). lra.
  - unfold relu. rewrite Rmax_left by lra. rewrite Rminus_eq_0, Rabs_R0. lra.
  - unfold relu. rewrite Rmax_right by lra. rewrite Rminus_0_r. eapply Rle_trans; [exact Y|].
    apply Rle_trans with (/ 2 ^ 10); [apply Rinv_le; [lra|]; apply Rle_pow; [lra | lia] | lra].
Qed.

(** Units with an activation that is within [omega] of [max x 0]: a ReLU is within 0. *)
Theorem units_of_any_activation omega s f r x y : 0 <= omega -> 1 <= s -> 0 < f -> Rabs (f - 1) <= r -> r < 1 ->
  Rabs (y - relu (s * (f * x))) <= omega ->
  let alpha := omega / (s * (1 - r)) in Rabs (y / s - f * relu x) <= alpha /\ Rabs (y / s / f - relu x) <= alpha.
Proof.
  intros O0 Hs Hf Hr R1 H alpha. rewrite !relu_factor in H by lra. apply Rabs_le_inv in Hr. assert (R0 : 0 <= r) by lra.
  assert (A : Rabs (y / s - f * relu x) <= omega / s).
  { replace (y / s - f * relu x) with ((y - s * (f * relu x)) / s) by (field; lra). unfold Rdiv at 1.
    rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq s) by lra. apply Rmult_le_compat_r; auto. apply Rlt_le, Rinv_0_lt_compat. lra. }
  assert (S0 : 0 <= omega / s) by (apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (E : alpha * (1 - r) = omega / s) by (unfold alpha; field; lra).
  assert (A0 : 0 <= alpha) by (unfold alpha; apply Rmult_le_pos; [lra|]; apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; lra).
  split; [nra|]. replace (y / s / f - relu x) with ((y / s - f * relu x) / f) by (field; lra). unfold Rdiv at 1.
  rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq f) by lra. apply Rmult_le_reg_r with f; auto.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. assert (alpha * (1 - r) <= alpha * f) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** * Gated units *)

(** A unit [y] that is multiplied by what reads 1, with one rounding [d], and perhaps flushed, [e]: it gives the square of the
    factor times what it would give, and its own error, which is one of reading. *)
Theorem gated_units omega s f r k0 kappa0 x y d e : 0 <= omega -> 1 <= s -> 0 < f -> Rabs (f - 1) <= r ->
  0 <= kappa0 -> kappa0 + u * (1 + kappa0) < 1 -> Rabs k0 <= kappa0 -> Rabs d <= u -> Rabs (y - relu (s * (f * x))) <= omega ->
  let kappa := kappa0 + u * (1 + kappa0) in
  let z := y * (f * (1 + k0)) * (1 + d) + e in
  exists k, Rabs k <= kappa /\ (1 + k) * relu x = relu ((1 + k) * x) /\
    Rabs (z / s - f * f * relu ((1 + k) * x)) <= f * ((1 + kappa) * omega / s) + Rabs e / s.
Proof.
  intros O0 Hs Hf Hr K0 K1 Hk Hd H kappa z. assert (U := u_pos prec). set (k := (1 + k0) * (1 + d) - 1).
  assert (Bk : Rabs k <= kappa).
  { unfold k, kappa. replace ((1 + k0) * (1 + d) - 1) with (k0 + d * (1 + k0)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    rewrite Rabs_mult. assert (Rabs (1 + k0) <= 1 + kappa0) by (apply Rabs_le; apply Rabs_le_inv in Hk; lra).
    assert (Rabs d * Rabs (1 + k0) <= u * (1 + kappa0)) by (apply Rmult_le_compat; auto using Rabs_pos). lra. }
  exists k. split; auto. apply Rabs_le_inv in Bk as Bk'. fold kappa in K1. assert (K2 : 0 <= 1 + k) by lra.
  split; [now rewrite relu_factor|]. rewrite relu_factor by lra. rewrite !relu_factor in H by lra.
  replace (z / s - f * f * ((1 + k) * relu x)) with (f * ((1 + k) * ((y - s * (f * relu x)) / s)) + e / s) by (unfold z, k; field; lra).
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat.
  - rewrite !Rabs_mult, (Rabs_pos_eq f), (Rabs_pos_eq (1 + k)) by lra. apply Rmult_le_compat_l; [lra|].
    unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq s) by lra. rewrite Rmult_assoc.
    assert (I : 0 < / s) by (apply Rinv_0_lt_compat; lra). apply Rmult_le_compat; try lra.
    + apply Rmult_le_pos; [apply Rabs_pos | lra].
    + apply Rmult_le_compat_r; lra.
  - unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq s) by lra. apply Rle_refl.
Qed.

(** The two factors together, in units of the pin. *)
Theorem gated_factors a f ra r : Rabs (a - 1) <= ra -> Rabs (f - 1) <= r -> Rabs (a * f - 1) <= (1 + ra) * (1 + r) - 1.
Proof.
  intros A F. replace (a * f - 1) with ((a - 1) * (f - 1) + (a - 1) + (f - 1)) by ring.
  assert (P : Rabs ((a - 1) * (f - 1)) <= ra * r) by (rewrite Rabs_mult; apply Rmult_le_compat; auto using Rabs_pos).
  assert (T1 := Rabs_triang ((a - 1) * (f - 1) + (a - 1)) (f - 1)). assert (T2 := Rabs_triang ((a - 1) * (f - 1)) (a - 1)). lra.
Qed.

(** * Parts at rest *)

(** A frequency that is less than half of the least number above 0 is 0 as it is computed, and so is every angle. *)
Theorem frequencies_at_rest theta factor x : 0 < theta <= 1 -> bpow radix2 (2 - emin) <= factor ->
  rounded emin prec (theta / factor) x -> x = 0 /\ forall position, x * position = 0.
Proof.
  intros T F H. assert (B := bpow_gt_0 radix2 (2 - emin)).
  assert (Q : 0 <= theta / factor <= bpow radix2 (emin - 2)).
  { split; [apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat; lra]|].
    apply Rle_trans with (1 * / bpow radix2 (2 - emin)); [unfold Rdiv; apply Rmult_le_compat; try lra; [apply Rlt_le, Rinv_0_lt_compat; lra | apply Rinv_le; lra]|].
    rewrite Rmult_1_l, <- bpow_opp. apply bpow_le. lia. }
  assert (X : x = 0); [|split; auto; intros; rewrite X; ring].
  destruct H as [|_]; auto. apply Rle_antisym; [|rewrite <- (fl_0 emin prec); now apply (fl_le emin prec)].
  apply round_N_le_midp; auto with typeclass_instances; [apply generic_format_0|]. rewrite succ_0, ulp_FLT_0 by exact prec_pos.
  assert (D := bpow_double emin). assert (E : bpow radix2 (emin - 2) < bpow radix2 (emin - 1)) by (apply bpow_lt; lia).
  lra.
Qed.

(** By an angle of 0 nothing is rotated, a product with 1 is what it was, and so is a sum with 0. *)
Theorem nothing_changes a b : number emin prec a -> a = 0 \/ least_normal <= Rabs a ->
  a * cos 0 - b * sin 0 = a /\ b * cos 0 + a * sin 0 = b /\
  (forall x, sum emin prec [1 * a] x -> x = a) /\ forall x, rounded emin prec (a + 0) x -> x = a.
Proof.
  intros N B. rewrite cos_0, sin_0. split; [ring|]. split; [ring|]. split.
  - intros x H. apply (sum_single emin prec) in H. rewrite Rmult_1_l in H. now apply (rounded_exact emin prec).
  - intros x H. rewrite Rplus_0_r in H. now apply (rounded_exact emin prec).
Qed.

End Root.

(** * Scores by position in a host *)

(** A query [q] and a key [k] with the factors of their tokens: how far their product is from what is meant. *)
Theorem placed_scores f g r q Q a k K b : Rabs (f - 1) <= r -> Rabs (g - 1) <= r -> Rabs (q - Q) <= a -> Rabs (k - K) <= b ->
  Rabs (f * q * (g * k) - Q * K) <= (1 + r) * (1 + r) * (Rabs Q * b + a * (Rabs K + b)) + (2 * r + r * r) * Rabs (Q * K).
Proof.
  intros F G HQ HK. assert (R : 0 <= r) by (eapply Rle_trans; [apply Rabs_pos | exact F]).
  assert (A : 0 <= a) by (eapply Rle_trans; [apply Rabs_pos | exact HQ]). assert (B : 0 <= b) by (eapply Rle_trans; [apply Rabs_pos | exact HK]).
  replace (f * q * (g * k) - Q * K) with (f * g * (Q * (k - K) + (q - Q) * (K + (k - K))) + (f * g - 1) * (Q * K)) by ring.
  assert (One : forall x, Rabs (x - 1) <= r -> Rabs x <= 1 + r) by (intros x H; apply Rabs_le; apply Rabs_le_inv in H; lra).
  assert (Fg : Rabs (f * g) <= (1 + r) * (1 + r)) by (rewrite Rabs_mult; apply Rmult_le_compat; auto using Rabs_pos).
  assert (Fg1 : Rabs (f * g - 1) <= 2 * r + r * r).
  { replace (f * g - 1) with ((f - 1) * (g - 1) + ((f - 1) + (g - 1))) by ring.
    assert (P : Rabs ((f - 1) * (g - 1)) <= r * r) by (rewrite Rabs_mult; apply Rmult_le_compat; auto using Rabs_pos).
    apply Rabs_le. apply Rabs_le_inv in P, F, G. lra. }
  assert (In : Rabs (Q * (k - K) + (q - Q) * (K + (k - K))) <= Rabs Q * b + a * (Rabs K + b)).
  { eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult. apply Rplus_le_compat.
    - apply Rmult_le_compat_l; auto using Rabs_pos.
    - apply Rmult_le_compat; auto using Rabs_pos. eapply Rle_trans; [apply Rabs_triang | lra]. }
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat.
  - rewrite Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos.
  - rewrite Rabs_mult. apply Rmult_le_compat_r; auto using Rabs_pos.
Qed.

(** What is left of a token whose score is [G] below the largest, and the weights that a mean of fewer tokens has. *)
Theorem hidden_tokens s m S G : s <= m - G -> 1 <= S ->
  exp (s - m) / S <= exp (- G) /\ forall n, (1 <= n)%nat -> total (repeat (/ INR n) n) = 1.
Proof.
  intros H HS. split.
  - assert (E : exp (s - m) <= exp (- G)).
    { destruct (Req_dec (s - m) (- G)) as [->|N]; [lra|]. apply Rlt_le, exp_increasing. lra. }
    assert (P := exp_pos (s - m)). apply Rle_trans with (exp (s - m)); auto. unfold Rdiv. rewrite <- (Rmult_1_r (exp (s - m))) at 2.
    apply Rmult_le_compat_l; [lra|]. rewrite <- Rinv_1. apply Rinv_le; lra.
  - intros n Hn. assert (N : INR n <> 0) by (apply not_0_INR; lia).
    assert (T : forall c k, total (repeat c k) = INR k * c).
    { intros c k. induction k as [|k IH]; [unfold total; simpl; ring|]. cbn [repeat]. rewrite total_cons, IH, S_INR. ring. }
    rewrite T. field. exact N.
Qed.

(** * Without a hypothesis *)

(** With scores that do not tell two tokens apart nothing is hidden: the mean is not the value of one of them. *)
Theorem hidden_tokens_need_scores : exists s t v w, s - t = 0 /\ v <> w /\
  exp s / (exp s + exp t) * v + exp t / (exp s + exp t) * w <> v.
Proof.
  exists 0, 0, 0, 1. split; [lra|]. split; [lra|]. rewrite exp_0. lra.
Qed.

(** A root of a mean square counts all registers: here one is 7, and nothing is said of it. *)
Theorem norm_without_a_mean_needs_every_register : exists pin register, root_norm (-1074) 53 0 2 [pin; register] /\
  half_difference (entered pin) = 1 /\ most register = 0 /\
  ~ exists f e, Rabs (f - 1) <= / 4 /\ Rabs e <= / 4 /\ half_difference (normed pin) = f * (1 * (1 + e)).
Proof.
  exists small_pin, large_register. split.
  - destruct norm_of_example as (m & w & i & Hm & Hw & Hi & HF).
    assert (U : 0 < u 53 < / 1000).
    { split; [apply u_pos|]. unfold u. apply Rle_lt_trans with (bpow radix2 (-10)); [apply bpow_le; lia | simpl; lra]. }
    assert (Lam := least_normal_pos (-1074) 53). assert (G := gain_size).
    assert (Gam : forall k, (k <= 100)%nat -> 0 <= gamma (u 53) k).
    { intros k K. apply le_INR in K. replace (INR 100) with 100 in K by (simpl; ring). assert (Q := pos_INR k). unfold gamma.
      apply Rmult_le_pos; [nra|]. apply Rlt_le, Rinv_0_lt_compat. nra. }
    assert (Ro : forall x y g, 0 < g -> y = g * (x - 0) * / 5 -> rest_of (-1074) 53 2 g 0 (/ 5) x y).
    { intros x y g Hg ->. unfold rest_of. replace (_ - _) with 0 by ring. rewrite Rabs_R0. apply Rplus_le_le_0_compat.
      - apply Rmult_le_pos; [apply Gam; lia|]. apply Rmult_le_pos; [nra|]. assert (Q := Rabs_pos x). lra.
      - apply Rmult_le_pos; [lra|]. eapply Rle_trans; [|apply Rmax_l]. lra. }
    exists 25, (/ 5). split; [|split].
    + unfold mean_square_of. replace (25 - _) with 0 by (unfold squares, total; simpl; field). rewrite Rabs_R0.
      apply Rplus_le_le_0_compat; [|lra]. apply Rmult_le_pos; [apply Gam; simpl; lia|]. apply Rmult_le_pos; [apply squares_nonneg | simpl; lra].
    + exists 0. split.
      { split; [apply Rle_refl|]. rewrite Rmult_0_l, Rplus_0_l. apply Rmult_le_pos; [lra | now apply Rlt_le]. }
      split; [lra|]. replace (25 + 0) with (5 * 5) by ring. rewrite sqrt_square by lra.
      rewrite Rminus_eq_0, Rabs_R0. apply Rmult_le_pos; [apply Gam; lia | lra].
    + constructor; [|constructor; [|constructor]]; cbn [fst snd entered gains normed small_pin large_register]; split; apply Ro; try lra; field.
  - split; [unfold half_difference; cbn; lra|]. split; [reflexivity|].
    intros (f & e & F & E & H). unfold half_difference in H. cbn in H. assert (G := gain_size).
    apply Rabs_le_inv in F, E. assert (/ 2 < f * (1 + e)) by nra. lra.
Qed.

(** A square that is not small beside the pins' is heard: here it is 4 units in the last place of 1. *)
Theorem quiet_squares_need_small_ones : exists w x, 0 < w <= bpow radix2 (-50) /\ sum64 [1; 1; w] x /\ x <> 1 + 1.
Proof.
  exists (bpow radix2 (-50)), (2 + bpow radix2 (-50)). assert (B := bpow_gt_0 radix2 (-50)). split; [lra|]. split; [|lra].
  assert (N1 : number64 (1 + bpow radix2 (-50))).
  { replace (1 + bpow radix2 (-50)) with (IZR (2 ^ 50 + 1) * bpow radix2 (-50)); [apply number64_of; lia|].
    rewrite plus_IZR, (IZR_Zpower radix2) by lia. rewrite Rmult_plus_distr_r, <- bpow_plus. change (bpow radix2 (50 + -50)) with (1). ring. }
  assert (N2 : number64 (2 + bpow radix2 (-50))).
  { replace (2 + bpow radix2 (-50)) with (IZR (2 ^ 51 + 1) * bpow radix2 (-50)); [apply number64_of; lia|].
    rewrite plus_IZR, (IZR_Zpower radix2) by lia. rewrite Rmult_plus_distr_r, <- bpow_plus. change (bpow radix2 (51 + -50)) with (bpow radix2 1). change (bpow radix2 1) with 2. ring. }
  apply Sum_fused with (1 + bpow radix2 (-50)).
  - apply Sum_fused with (bpow radix2 (-50)); [|now apply itself]. constructor. apply itself. apply number64_power. lia.
  - replace (1 + (1 + bpow radix2 (-50))) with (2 + bpow radix2 (-50)) by ring. now apply itself.
Qed.

(** With one factor alone a gated unit is not what was meant: it has the square. *)
Theorem gated_units_have_both_factors : exists f r x, 0 < f /\ Rabs (f - 1) <= r /\ ~ Rabs (f * f * relu x - relu x) <= r * relu x.
Proof.
  exists (5 / 4), (/ 4), 1. split; [lra|]. split; [apply Rabs_le; lra|]. unfold relu. rewrite Rmax_left by lra. intros H. apply Rabs_le_inv in H. lra.
Qed.

(** By an angle that is not 0 something is rotated. *)
Theorem rotations_need_no_angle : exists a b phi, phi <> 0 /\ a * cos phi - b * sin phi <> a.
Proof. exists 1, 0, PI. split; [apply PI_neq0 | rewrite cos_PI, sin_PI; lra]. Qed.
