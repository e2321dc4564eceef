(** Exact arithmetic with dyadic numbers, and what is rounded outwards. *)

From Coq Require Export Bool.
From Formwright Require Import RulesExecution CheckerNetwork.

Notation Dyadic := (Float radix2).

Definition zero : dyadic := Dyadic 0 0.
Definition one : dyadic := Dyadic 1 0.
Definition power_of_two (e : Z) : dyadic := Dyadic 1 e.
Definition of_Z (n : Z) : dyadic := Dyadic n 0.

(** [2^k] for [k >= 0]. *)
Definition two_to (k : Z) : Z := Z.of_N (N.shiftl 1 (Z.to_N k)).

Definition aligned (a : dyadic) (e : Z) : Z := Fnum a * two_to (Fexp a - e).
Definition add (a b : dyadic) : dyadic := let e := Z.min (Fexp a) (Fexp b) in Dyadic (aligned a e + aligned b e) e.
Definition opp (a : dyadic) : dyadic := Dyadic (- Fnum a) (Fexp a).
Definition sub (a b : dyadic) : dyadic := add a (opp b).
Definition mul (a b : dyadic) : dyadic := Dyadic (Fnum a * Fnum b) (Fexp a + Fexp b).
Definition absolute (a : dyadic) : dyadic := Dyadic (Z.abs (Fnum a)) (Fexp a).
Definition le (a b : dyadic) : bool := (0 <=? Fnum (sub b a))%Z.
Definition lt (a b : dyadic) : bool := (0 <? Fnum (sub b a))%Z.
Definition dmin (a b : dyadic) : dyadic := if le a b then a else b.
Definition dmax (a b : dyadic) : dyadic := if le a b then b else a.
Definition is_zero (a : dyadic) : bool := (Fnum a =? 0)%Z.
Definition same (a b : dyadic) : bool := is_zero (sub a b).

(** With an odd mantissa. *)
Fixpoint odd (p : positive) (e : Z) : positive * Z := match p with xO p => odd p (Z.succ e) | _ => (p, e) end.
Definition stripped (a : dyadic) : dyadic :=
  match Fnum a with
  | Z0 => zero
  | Zpos p => let (p, e) := odd p (Fexp a) in Dyadic (Zpos p) e
  | Zneg p => let (p, e) := odd p (Fexp a) in Dyadic (Zneg p) e
  end.

(** At most, and at least, with [digits] binary digits. *)
Definition down (digits : Z) (a : dyadic) : dyadic :=
  let k := (Zdigits2 (Fnum a) - digits)%Z in
  if (k <=? 0)%Z then a else Dyadic (Fnum a / two_to k) (Fexp a + k).
Definition up (digits : Z) (a : dyadic) : dyadic := opp (down digits (opp a)).

(** Bounds of [a / b] with [digits] binary digits and more, for [b > 0]. *)
Definition quotient_down (digits : Z) (a b : dyadic) : dyadic :=
  let s := Z.max 0 (digits + Zdigits2 (Fnum b) - Zdigits2 (Fnum a)) in
  Dyadic (Fnum a * two_to s / Fnum b) (Fexp a - s - Fexp b).
Definition quotient_up (digits : Z) (a b : dyadic) : dyadic := opp (quotient_down digits (opp a) b).

(** [fl], exactly. *)
Definition nearest (f : format) (a : dyadic) : dyadic :=
  let (m, e) := a in
  let x := Z.max (Zdigits2 m + e - prec f) (emin f) in
  if ((m =? 0)%Z || (x <=? e)%Z)%bool then a else
    let s := two_to (x - e) in
    let n := (m / s)%Z in
    match Z.compare (2 * (m - n * s)) s with
    | Lt => Dyadic n x
    | Gt => Dyadic (n + 1) x
    | Eq => Dyadic (if Z.even n then n else n + 1)%Z x
    end.

(** * What they are *)

Lemma two_to_spec k : (0 <= k)%Z -> IZR (two_to k) = bpow radix2 k.
Proof.
  intros H. rewrite <- (IZR_Zpower radix2) by auto. f_equal. unfold two_to. rewrite N.shiftl_1_l, N2Z.inj_pow.
  rewrite Z2N.id by auto. reflexivity.
Qed.

Lemma two_to_pos k : (0 <= k)%Z -> (0 < two_to k)%Z.
Proof. intros H. apply lt_IZR. rewrite two_to_spec by auto. apply bpow_gt_0. Qed.

Lemma aligned_spec a e : (e <= Fexp a)%Z -> IZR (aligned a e) * bpow radix2 e = F2R a.
Proof.
  intros H. unfold aligned, F2R. rewrite mult_IZR, two_to_spec, Rmult_assoc, <- bpow_plus by lia. do 2 f_equal. lia.
Qed.

Lemma F2R_opp a : F2R (opp a) = - F2R a.
Proof. unfold opp, F2R. simpl. rewrite opp_IZR. ring. Qed.

Lemma F2R_add a b : F2R (add a b) = F2R a + F2R b.
Proof.
  unfold add. set (e := Z.min _ _). rewrite <- (aligned_spec a e), <- (aligned_spec b e) by (unfold e; lia).
  unfold F2R. simpl. rewrite plus_IZR. ring.
Qed.

Lemma F2R_sub a b : F2R (sub a b) = F2R a - F2R b.
Proof. unfold sub. rewrite F2R_add, F2R_opp. ring. Qed.

Lemma F2R_mul a b : F2R (mul a b) = F2R a * F2R b.
Proof. unfold mul, F2R. simpl. rewrite mult_IZR, bpow_plus. ring. Qed.

Lemma F2R_absolute a : F2R (absolute a) = Rabs (F2R a).
Proof.
  unfold absolute, F2R. simpl. rewrite Rabs_mult, abs_IZR. f_equal. symmetry. apply Rabs_pos_eq, bpow_ge_0.
Qed.

Lemma F2R_zero : F2R zero = 0.
Proof. apply F2R_0. Qed.

Lemma F2R_one : F2R one = 1.
Proof. unfold F2R, one. simpl. ring. Qed.

Lemma F2R_of_Z n : F2R (of_Z n) = IZR n.
Proof. unfold F2R, of_Z. simpl. ring. Qed.

Lemma F2R_power_of_two e : F2R (power_of_two e) = bpow radix2 e.
Proof. unfold F2R, power_of_two. simpl. ring. Qed.

Lemma le_spec a b : reflect (F2R a <= F2R b) (le a b).
Proof.
  unfold le. apply iff_reflect. rewrite Z.leb_le. assert (S := F2R_sub b a). split; intros H.
  - destruct (sub b a) as [m e]. simpl. apply (ge_0_F2R radix2 m e). lra.
  - assert (0 <= F2R (sub b a)) by now apply F2R_ge_0. lra.
Qed.

Lemma lt_spec a b : reflect (F2R a < F2R b) (lt a b).
Proof.
  unfold lt. apply iff_reflect. rewrite Z.ltb_lt. assert (S := F2R_sub b a). split; intros H.
  - destruct (sub b a) as [m e]. simpl. apply (gt_0_F2R radix2 m e). lra.
  - assert (0 < F2R (sub b a)) by now apply F2R_gt_0. lra.
Qed.

Lemma is_zero_spec a : reflect (F2R a = 0) (is_zero a).
Proof.
  unfold is_zero. apply iff_reflect. rewrite Z.eqb_eq. split; intros H.
  - now apply (eq_0_F2R radix2 (Fnum a) (Fexp a)).
  - destruct a as [m e]. simpl in H. rewrite H. apply F2R_0.
Qed.

Lemma same_spec a b : reflect (F2R a = F2R b) (same a b).
Proof.
  unfold same. destruct (is_zero_spec (sub a b)) as [H|H]; constructor; rewrite F2R_sub in H; lra.
Qed.

Lemma F2R_dmin a b : F2R (dmin a b) = Rmin (F2R a) (F2R b).
Proof. unfold dmin, Rmin. destruct (le_spec a b), (Rle_dec (F2R a) (F2R b)); tauto. Qed.

Lemma F2R_dmax a b : F2R (dmax a b) = Rmax (F2R a) (F2R b).
Proof. unfold dmax, Rmax. destruct (le_spec a b), (Rle_dec (F2R a) (F2R b)); tauto. Qed.

Lemma odd_spec p e : let (r, x) := odd p e in IZR (Zpos r) * bpow radix2 x = IZR (Zpos p) * bpow radix2 e.
Proof.
  revert e. induction p as [p IH|p IH|]; intros e; cbn [odd]; auto.
  specialize (IH (Z.succ e)). destruct (odd p (Z.succ e)). rewrite IH. unfold Z.succ. rewrite bpow_plus.
  rewrite (Pos2Z.inj_xO p), mult_IZR. change (bpow radix2 1) with 2. ring.
Qed.

Lemma F2R_stripped a : F2R (stripped a) = F2R a.
Proof.
  unfold stripped. destruct a as [m e]. simpl. destruct m as [|p|p].
  - now rewrite F2R_zero, F2R_0.
  - assert (H := odd_spec p e). destruct (odd p e). exact H.
  - assert (H := odd_spec p e). destruct (odd p e). unfold F2R. simpl.
    change (Zneg p) with (- Zpos p)%Z. change (Zneg p0) with (- Zpos p0)%Z. rewrite !opp_IZR. lra.
Qed.

Lemma div_below a s : (0 < s)%Z -> IZR (a / s) <= IZR a / IZR s < IZR (a / s) + 1.
Proof.
  intros H. rewrite <- (Zfloor_div a s) by lia. split; [apply Zfloor_lb | apply Zfloor_ub].
Qed.

Lemma down_spec d a : F2R (down d a) <= F2R a.
Proof.
  unfold down. set (k := (_ - d)%Z). destruct (Z.leb_spec k 0) as [H|H]; [lra|]. unfold F2R. simpl.
  assert (P := two_to_pos k ltac:(lia)). assert (D := div_below (Fnum a) _ P). rewrite two_to_spec in D by lia.
  rewrite Z.add_comm, bpow_plus, <- Rmult_assoc. apply Rmult_le_compat_r; [apply bpow_ge_0|].
  apply Rle_trans with (IZR (Fnum a) / bpow radix2 k * bpow radix2 k).
  - apply Rmult_le_compat_r; [apply bpow_ge_0 | lra].
  - right. field. apply Rgt_not_eq, bpow_gt_0.
Qed.

Lemma up_spec d a : F2R a <= F2R (up d a).
Proof. unfold up. rewrite F2R_opp. assert (H := down_spec d (opp a)). rewrite F2R_opp in H. lra. Qed.

Lemma quotient_down_spec d a b : 0 < F2R b -> F2R (quotient_down d a b) <= F2R a / F2R b.
Proof.
  intros H. unfold quotient_down. set (s := Z.max _ _). assert (S : (0 <= s)%Z) by (unfold s; lia).
  destruct a as [m e], b as [n x]. apply gt_0_F2R in H. unfold F2R. simpl.
  assert (D := div_below (m * two_to s) n H). rewrite mult_IZR, two_to_spec in D by auto.
  assert (N : 0 < IZR n) by now apply (IZR_lt 0).
  replace (IZR m * bpow radix2 e / (IZR n * bpow radix2 x))
    with (IZR m * bpow radix2 s / IZR n * bpow radix2 (e - s - x)).
  - apply Rmult_le_compat_r; [apply bpow_ge_0 | lra].
  - unfold Z.sub. rewrite !bpow_plus, !bpow_opp. assert (A := bpow_gt_0 radix2 s). assert (B := bpow_gt_0 radix2 x).
    field. lra.
Qed.

Lemma quotient_up_spec d a b : 0 < F2R b -> F2R a / F2R b <= F2R (quotient_up d a b).
Proof.
  intros H. unfold quotient_up. rewrite F2R_opp. assert (Q := quotient_down_spec d (opp a) b H).
  rewrite F2R_opp in Q. unfold Rdiv in *. lra.
Qed.

(** * Rounding *)

Lemma prec_positive f : Prec_gt_0 (prec f).
Proof. now destruct f. Qed.
Global Existing Instance prec_positive.

Lemma nearest_spec f a : F2R (nearest f a) = fl (emin f) (prec f) (F2R a).
Proof.
  unfold nearest. destruct a as [m e].
  destruct (Z.eqb_spec m 0) as [->|M]; [simpl; rewrite F2R_0; symmetry; apply fl_0|]. simpl orb.
  set (x := Z.max _ _).
  assert (C : cexp radix2 (FLT_exp (emin f) (prec f)) (F2R (Dyadic m e)) = x).
  { unfold cexp, FLT_exp. rewrite mag_F2R_Zdigits by auto. unfold x. now rewrite Zdigits2_Zdigits. }
  destruct (Z.leb_spec x e) as [L|L].
  - symmetry. apply fl_id. apply generic_format_F2R. intros _. rewrite C. exact L.
  - assert (P := two_to_pos (x - e) ltac:(lia)). assert (E := two_to_spec (x - e) ltac:(lia)).
    set (s := two_to (x - e)) in *. unfold fl, round. rewrite C.
    assert (SM : scaled_mantissa radix2 (FLT_exp (emin f) (prec f)) (F2R (Dyadic m e)) = IZR m / IZR s).
    { unfold scaled_mantissa. rewrite C, E. unfold F2R. simpl. unfold Z.sub. rewrite bpow_plus, !bpow_opp.
      assert (A := bpow_gt_0 radix2 x). assert (B := bpow_gt_0 radix2 e). field. lra. }
    rewrite SM.
    assert (N : Znearest (fun n => negb (Z.even n)) (IZR m / IZR s) =
      (let n := m / s in
       match Z.compare (2 * (m - n * s)) s with Lt => n | Gt => n + 1 | Eq => if Z.even n then n else n + 1 end)%Z).
    { unfold Znearest. rewrite Zfloor_div by lia. cbv zeta. set (n := (m / s)%Z).
      assert (S : 0 < IZR s) by now apply (IZR_lt 0).
      assert (D : (IZR m / IZR s - IZR n - / 2) * (2 * IZR s) = IZR (2 * (m - n * s) - s)).
      { rewrite !minus_IZR, !mult_IZR, minus_IZR, mult_IZR. field. lra. }
      assert (Up : IZR n <> IZR m / IZR s -> Zceil (IZR m / IZR s) = (n + 1)%Z).
      { intros H. rewrite Zceil_floor_neq; rewrite Zfloor_div by lia; fold n; auto. }
      destruct (Z.compare_spec (2 * (m - n * s)) s) as [K|K|K].
      - assert (Z0 : IZR m / IZR s - IZR n = / 2).
        { replace (2 * (m - n * s) - s)%Z with 0%Z in D by lia. apply Rmult_integral in D. destruct D; lra. }
        rewrite Rcompare_Eq by auto. rewrite Up by lra. now destruct (Z.even n).
      - assert (IZR (2 * (m - n * s) - s) < 0) by (apply IZR_lt; lia). rewrite Rcompare_Lt; [reflexivity|].
        assert (IZR m / IZR s - IZR n - / 2 < 0) by nra. lra.
      - assert (0 < IZR (2 * (m - n * s) - s)) by (apply IZR_lt; lia).
        assert (0 < IZR m / IZR s - IZR n - / 2) by nra. rewrite Rcompare_Gt by lra. apply Up. lra. }
    change (Znearest (fun n => negb (Z.even n))) with ZnearestE in N. rewrite N. cbv zeta.
    now destruct (Z.compare (2 * (m - m / s * s)) s).
Qed.

(** * Multiples *)

Lemma multiple_F2R (a : dyadic) : multiple (Fexp a) (F2R a).
Proof. now exists (Fnum a). Qed.

Lemma multiple_mul p r x y : multiple p x -> multiple r y -> multiple (p + r) (x * y).
Proof. intros [n ->] [m ->]. exists (n * m)%Z. rewrite mult_IZR, bpow_plus. ring. Qed.
