(** What is known of a computed number, and of a sum in any order: the rules of [RulesSums] as functions. *)

From Formwright Require Import RulesExecution RulesSums CheckerNetwork CheckerNumbers.
From Flocq Require Import Mult_error.

(** * All outcomes *)

(** Nothing overflows, and whatever comes out is as [P] says. *)
Definition sure {A} (m : outcomes A) (P : A -> Prop) : Prop := forall r, m r -> exists a, r = Some a /\ P a.

(** Something comes out, if only an overflow. *)
Definition possible {A} (m : outcomes A) : Prop := exists r, m r.

Lemma sure_returns {A} (a : A) (P : A -> Prop) : P a -> sure (returns a) P.
Proof. intros H r ->. eauto. Qed.

Lemma sure_bind {A B} (m : outcomes A) (f : A -> outcomes B) P Q :
  sure m P -> (forall a, P a -> sure (f a) Q) -> sure (bind m f) Q.
Proof.
  intros H G r [[N ->]|(a & Ha & Hr)].
  - apply H in N as (a & E & _). discriminate.
  - apply H in Ha as (b & E & Pb). injection E as <-. now apply (G a).
Qed.

Lemma sure_weaker {A} (m : outcomes A) (P Q : A -> Prop) : (forall a, P a -> Q a) -> sure m P -> sure m Q.
Proof. intros I H r Hr. apply H in Hr as (a & -> & Pa). eauto. Qed.

Lemma sure_either {A} (m n : outcomes A) P : sure m P -> sure n P -> sure (either m n) P.
Proof. intros H G r [Hr|Hr]; auto. Qed.

Lemma sure_each {A B} (f : A -> outcomes B) P l :
  Forall (fun a => sure (f a) (P a)) l -> sure (each f l) (fun bs => Forall2 P l bs).
Proof.
  induction 1 as [|a l H F IH]; simpl; [now apply sure_returns|].
  apply (sure_bind _ _ (P a)); auto. intros b Hb. apply (sure_bind _ _ (Forall2 P l)); auto. intros bs Hbs.
  apply sure_returns. now constructor.
Qed.

Lemma possible_bind {A B} (m : outcomes A) (f : A -> outcomes B) :
  possible m -> (forall a, m (Some a) -> possible (f a)) -> possible (bind m f).
Proof.
  intros [[a|] H] G.
  - destruct (G a H) as [r Hr]. exists r. right. eauto.
  - exists None. now left.
Qed.

Lemma possible_each {A B} (f : A -> outcomes B) l : (forall a, possible (f a)) -> possible (each f l).
Proof.
  intros H. induction l as [|a l IH]; simpl; [now exists (Some [])|].
  apply possible_bind; auto. intros b _. apply possible_bind; auto. intros bs _. now exists (Some (b :: bs)).
Qed.

(** * Computed numbers, and terms of sums *)

(** A computed number: in [lo, hi], and a multiple of [2^fine]. *)
Record value := Value { lo : dyadic; hi : dyadic; fine : Z }.

(** A term of a sum; [exact]: it is a number of the format, and not below the normal range. *)
Record term := Term { from : dyadic; to : dyadic; unit : Z; exact : bool }.

(** What 0 is a multiple of: any power of two. *)
Definition quantum (a : dyadic) : Z := if is_zero a then 4096 else Fexp (stripped a).

Definition point (a : dyadic) : value := Value (stripped a) (stripped a) (quantum a).

(** Digits that are kept of the ends of intervals. *)
Definition digits : Z := 160.

Definition make (l h : dyadic) (q : Z) : value := if same l h then point l else Value (down digits l) (up digits h) q.

Definition size_of (t : term) : dyadic := dmax (absolute (from t)) (absolute (to t)).

Definition add_all (g : term -> dyadic) (ts : list term) : dyadic := fold_right (fun t s => add (g t) s) zero ts.
Definition finest (ts : list term) : Z := fold_right (fun t q => Z.min (unit t) q) 4096%Z ts.
Definition up_part (t : term) : dyadic := dmax (to t) zero.
Definition down_part (t : term) : dyadic := dmax (opp (from t)) zero.

Section Format.
Variable f : format.

Let tiny : dyadic := power_of_two (least f).

Definition fits (a : dyadic) (q : Z) : bool := le a (power_of_two (q + prec f)).

Definition make_term (l h : dyadic) (q : Z) (shifted : bool) : term :=
  Term l h q (((least f <=? q)%Z && (shifted || fits (dmax (absolute l) (absolute h)) q))
              || (shifted && (le tiny l || le h (opp tiny)))).

(** The product of a number with a computed one. A power of two only shifts it. *)
Definition scaled (w : dyadic) (x : value) : term :=
  let (l, h) := if le zero w then (mul w (lo x), mul w (hi x)) else (mul w (hi x), mul w (lo x)) in
  make_term l h (quantum w + fine x) (Z.abs (Fnum (stripped w)) =? 1)%Z.

Definition product (x y : value) : term :=
  if same (lo x) (hi x) then scaled (lo x) y else
  if same (lo y) (hi y) then scaled (lo y) x else
    let (a, b) := (mul (lo x) (lo y), mul (lo x) (hi y)) in
    let (c, d) := (mul (hi x) (lo y), mul (hi x) (hi y)) in
    make_term (dmin (dmin a b) (dmin c d)) (dmax (dmax a b) (dmax c d)) (fine x + fine y) false.

Definition known (a : dyadic) : term := make_term a a (quantum a) false.

(** * One sum *)

(** The rule *exact sums*. *)
Definition is_exact (ts : list term) : bool :=
  let q := finest ts in (least f <=? q)%Z && fits (add_all up_part ts) q && fits (add_all down_part ts) q.

(** The rule *one rounding*. *)
Definition round_ends (l h : dyadic) : dyadic * dyadic :=
  let (a, b) := (nearest f l, nearest f h) in
  if le tiny l || le h (opp tiny) then (a, b) else (dmin a zero, dmax b zero).

(** The rule *any sum*, with [γ_k <= ku(1 + 2ku)]. *)
Definition any_error (ts : list term) : dyadic :=
  let k := Z.of_nat (length ts) in
  let ku := Dyadic k (- prec f) in
  up digits (add (mul (mul ku (add one (add ku ku))) (add_all size_of ts)) (mul (of_Z (4 * k)) tiny)).

(** The rule *absorption*: terms of the size of [t] and larger ones are exact, and the others vanish. *)
Definition absorbed_from (ts : list term) (t : term) : option (value * dyadic) :=
  let large s := le (size_of t) (size_of s) in
  let exacts := filter large ts in
  let q := finest exacts in
  let k := Z.of_nat (length ts) in
  let ku := Dyadic k (- prec f) in
  let small := add (mul (add_all size_of (filter (fun s => negb (large s)) ts)) (add one (add ku ku))) (mul (of_Z (4 * k)) tiny) in
  let (l, h) := (add_all from exacts, add_all to exacts) in
  if lt small (power_of_two (q - prec f - 1)) && fits (add_all up_part exacts) q && fits (add_all down_part exacts) q then
    Some (if lt zero l || lt h zero then (make l h q, small)
          else (make (sub l small) (add h small) (finest ts), add small small))
  else None.

Fixpoint first {A B} (g : A -> option B) (l : list A) : option B :=
  match l with [] => None | a :: l => match g a with Some b => Some b | None => first g l end end.

(** What a sum of terms that are not 0 comes to, and how far it may be from the exact sum, which is in [l, h]. *)
Definition total_of (ts : list term) (l h : dyadic) : value * dyadic :=
  let q := Z.max (finest ts) (emin f) in
  let rounded_once :=
    let (a, b) := round_ends l h in
    (make a b q, add (mul (power_of_two (- prec f)) (dmax (absolute l) (absolute h))) tiny) in
  if is_exact ts then (make l h q, zero) else
  match ts with
  | [] => (point zero, zero)
  | [t] => if exact t then (make l h q, zero) else rounded_once
  | _ =>
      if (length ts =? 2)%nat && forallb exact ts then rounded_once else
      match first (absorbed_from ts) ts with
      | Some (x, e) => (make (dmax (lo x) (sub l e)) (dmin (hi x) (add h e)) (fine x), e)
      | None => let e := any_error ts in (make (sub l e) (add h e) q, e)
      end
  end.

(** The same of any terms; nothing where it may overflow, or comes within a factor of four of it: no claim lives there, and
    the first two checkers say so too. *)
Definition total_in (ts : list term) (l h : dyadic) : option (value * dyadic) :=
  if ((0 <? length ts)%nat && (Z.of_nat (length ts) <=? 2 ^ 20)%Z
      && lt (add (add_all size_of ts) (any_error ts)) (power_of_two (most f - 2)))%bool
  then Some (total_of (filter (fun t => negb (is_zero (from t) && is_zero (to t))) ts) l h)
  else None.

Definition sum_up (ts : list term) : option value :=
  match total_in ts (add_all from ts) (add_all to ts) with Some (x, _) => Some x | None => None end.

(** * They hold *)

Notation number := (number (emin f) (prec f)).
Notation sum := (sum (emin f) (prec f)).
Notation rounded := (rounded (emin f) (prec f)).
Notation least_normal := (least_normal (emin f) (prec f)).

Definition holds (v : value) (x : R) : Prop := F2R (lo v) <= x <= F2R (hi v) /\ multiple (fine v) x /\ number x.

Definition stands (t : term) (r : R) : Prop :=
  F2R (from t) <= r <= F2R (to t) /\ multiple (unit t) r /\
  (exact t = true -> number r /\ (r = 0 \/ least_normal <= Rabs r)).

Lemma least_normal_is : least_normal = bpow radix2 (least f).
Proof. unfold RulesExecution.least_normal, emin. f_equal. lia. Qed.

Lemma multiple_quantum a : multiple (quantum a) (F2R a).
Proof.
  unfold quantum. destruct (is_zero_spec a) as [->|_]; [apply multiple_0|].
  rewrite <- F2R_stripped. apply multiple_F2R.
Qed.

Lemma holds_point a : number (F2R a) -> holds (point a) (F2R a).
Proof.
  intros N. unfold holds, point. simpl. rewrite F2R_stripped. split; [lra|]. split; auto. apply multiple_quantum.
Qed.

Lemma holds_zero : holds (point zero) 0.
Proof. rewrite <- F2R_zero. apply holds_point. rewrite F2R_zero. apply number_0. Qed.

Lemma holds_one : holds (point one) 1.
Proof.
  rewrite <- F2R_one. apply holds_point. rewrite F2R_one. apply (multiple_number (emin f) (prec f) 0).
  - exists 1%Z. simpl. ring.
  - rewrite Rabs_R1. apply (bpow_le radix2 0). destruct f; vm_compute; discriminate.
  - destruct f; vm_compute; discriminate.
Qed.

Lemma holds_make l h q x : F2R l <= x <= F2R h -> multiple q x -> number x -> holds (make l h q) x.
Proof.
  intros H M N. unfold make. destruct (same_spec l h) as [E|E].
  - replace x with (F2R l) in * by lra. now apply holds_point.
  - unfold holds. simpl. assert (D := down_spec digits l). assert (U := up_spec digits h). split; [lra | auto].
Qed.

Lemma normal_multiple q x : (least f <= q)%Z -> multiple q x -> x = 0 \/ least_normal <= Rabs x.
Proof. intros H. apply multiple_normal. unfold emin. lia. Qed.

Lemma fits_spec a q : fits a q = true -> F2R a <= bpow radix2 (q + prec f).
Proof. unfold fits. destruct (le_spec a (power_of_two (q + prec f))); [now rewrite F2R_power_of_two in * | discriminate]. Qed.

(** A number times a power of two, if it stays in the normal range. *)
Lemma shifted_number w x : Z.abs (Fnum (stripped w)) = 1%Z -> number x -> F2R w * x = 0 \/ least_normal <= Rabs (F2R w * x) ->
  number (F2R w * x).
Proof.
  intros W N L. rewrite <- (F2R_stripped w) in *. set (s := stripped w) in *.
  assert (B : number (x * bpow radix2 (Fexp s))).
  { destruct (Req_dec x 0) as [->|X]; [rewrite Rmult_0_l; apply number_0|].
    assert (A : Rabs (F2R s * x) = Rabs (x * bpow radix2 (Fexp s))).
    { unfold F2R. rewrite !Rabs_mult, <- abs_IZR, W. simpl (IZR 1). ring. }
    apply mult_bpow_exact_FLT; auto.
    rewrite A in L.
    assert (Z : x * bpow radix2 (Fexp s) <> 0) by (apply Rmult_integral_contrapositive; split; auto; apply Rgt_not_eq, bpow_gt_0).
    destruct L as [L|L].
    { exfalso. assert (Z' := Rabs_no_R0 _ Z). rewrite <- A, L, Rabs_R0 in Z'. contradiction. }
    assert (G := mag_ge_bpow radix2 _ _ L). rewrite mag_mult_bpow in G by auto. unfold Prec_gt_0, emin in *. lia. }
  unfold F2R. destruct (Z.abs_spec (Fnum s)) as [[_ E]|[_ E]]; rewrite W in E.
  - rewrite <- E. replace (IZR 1 * bpow radix2 (Fexp s) * x) with (x * bpow radix2 (Fexp s)) by (simpl; ring). exact B.
  - replace (Fnum s) with (- 1)%Z by lia.
    replace (IZR (-1) * bpow radix2 (Fexp s) * x) with (- (x * bpow radix2 (Fexp s))) by (simpl; ring).
    now apply number_opp.
Qed.

Lemma make_term_stands l h q shifted r : F2R l <= r <= F2R h -> multiple q r ->
  (shifted = true -> r = 0 \/ least_normal <= Rabs r -> number r) -> stands (make_term l h q shifted) r.
Proof.
  intros H M S. unfold stands, make_term. simpl. split; auto. split; auto. intros E. apply orb_prop in E as [E|E].
  - apply andb_prop in E as [Q E]. apply Z.leb_le in Q. assert (L := normal_multiple _ _ Q M). split; auto.
    apply orb_prop in E as [E|E]; [auto|]. apply fits_spec in E. rewrite F2R_dmax, !F2R_absolute in E.
    apply (multiple_number (emin f) (prec f) q); auto.
    + eapply Rle_trans; [apply RmaxAbs; apply H|]. exact E.
    + unfold emin. assert (P := prec_positive f). unfold Prec_gt_0 in P. lia.
  - apply andb_prop in E as [E L]. assert (G : least_normal <= Rabs r); [|auto].
    destruct (le_spec tiny l) as [A|A], (le_spec h (opp tiny)) as [B|B]; try discriminate.
    all: unfold tiny in *; rewrite ?F2R_opp, F2R_power_of_two, <- least_normal_is in *; assert (N := least_normal_pos (emin f) (prec f)).
    1, 2: rewrite Rabs_pos_eq; lra. rewrite Rabs_left; lra.
Qed.

Lemma scaled_stands w v x : holds v x -> stands (scaled w v) (F2R w * x).
Proof.
  intros (B & M & N). unfold scaled.
  assert (I : F2R (fst (if le zero w then (mul w (lo v), mul w (hi v)) else (mul w (hi v), mul w (lo v)))) <= F2R w * x
    <= F2R (snd (if le zero w then (mul w (lo v), mul w (hi v)) else (mul w (hi v), mul w (lo v))))).
  { destruct (le_spec zero w) as [L|L]; simpl; rewrite !F2R_mul; rewrite F2R_zero in L; split; nra. }
  destruct (if le zero w then _ else _) as [l h]. simpl in I.
  assert (Q := multiple_mul _ _ _ _ (multiple_quantum w) M).
  apply make_term_stands; auto. intros S L. apply Z.eqb_eq in S. now apply shifted_number.
Qed.

Lemma four_least p q r s : let m := Rmin (Rmin p q) (Rmin r s) in m <= p /\ m <= q /\ m <= r /\ m <= s.
Proof. unfold Rmin. repeat destruct (Rle_dec _ _); lra. Qed.

Lemma four_largest p q r s : let m := Rmax (Rmax p q) (Rmax r s) in p <= m /\ q <= m /\ r <= m /\ s <= m.
Proof. unfold Rmax. repeat destruct (Rle_dec _ _); lra. Qed.

Lemma product_stands a b x y : holds a x -> holds b y -> stands (product a b) (x * y).
Proof.
  intros Hx Hy. unfold product. destruct (same_spec (lo a) (hi a)) as [E|_].
  { destruct Hx as (B & _). replace x with (F2R (lo a)) by lra. now apply scaled_stands. }
  destruct (same_spec (lo b) (hi b)) as [E|_].
  { destruct Hy as (B & _). replace y with (F2R (lo b)) by lra. rewrite Rmult_comm. now apply scaled_stands. }
  destruct Hx as (Bx & Mx & _), Hy as (By & My & _).
  apply make_term_stands; [|now apply multiple_mul|discriminate].
  rewrite !F2R_dmin, !F2R_dmax, !F2R_mul.
  set (a1 := F2R (lo a)) in *. set (a2 := F2R (hi a)) in *. set (b1 := F2R (lo b)) in *. set (b2 := F2R (hi b)) in *.
  assert (P : forall m, (m <= a1 * b1 -> m <= a1 * b2 -> m <= a2 * b1 -> m <= a2 * b2 -> m <= x * y)).
  { intros m H1 H2 H3 H4. assert (a1 * y <= x * y \/ a2 * y <= x * y) as [H|H] by (destruct (Rle_dec 0 y); [left|right]; nra).
    - eapply Rle_trans; [|exact H]. destruct (Rle_dec 0 a1); nra.
    - eapply Rle_trans; [|exact H]. destruct (Rle_dec 0 a2); nra. }
  assert (Q : forall m, (a1 * b1 <= m -> a1 * b2 <= m -> a2 * b1 <= m -> a2 * b2 <= m -> x * y <= m)).
  { intros m H1 H2 H3 H4. assert (x * y <= a1 * y \/ x * y <= a2 * y) as [H|H] by (destruct (Rle_dec 0 y); [right|left]; nra).
    - eapply Rle_trans; [exact H|]. destruct (Rle_dec 0 a1); nra.
    - eapply Rle_trans; [exact H|]. destruct (Rle_dec 0 a2); nra. }
  destruct (four_least (a1 * b1) (a1 * b2) (a2 * b1) (a2 * b2)) as (L1 & L2 & L3 & L4).
  destruct (four_largest (a1 * b1) (a1 * b2) (a2 * b1) (a2 * b2)) as (G1 & G2 & G3 & G4). split; auto.
Qed.

Lemma known_stands a : stands (known a) (F2R a).
Proof. apply make_term_stands; [lra | apply multiple_quantum | discriminate]. Qed.

(** * Sums of terms *)

Lemma size_stands ts rs : Forall2 stands ts rs -> size rs <= F2R (add_all size_of ts).
Proof.
  unfold size, total, add_all. induction 1 as [|t r ts rs (B & _) F IH]; simpl; [rewrite F2R_zero; lra|].
  rewrite F2R_add. unfold size_of at 1. rewrite F2R_dmax, !F2R_absolute. assert (H := RmaxAbs _ _ _ (proj1 B) (proj2 B)). lra.
Qed.

Lemma above_stands ts rs : Forall2 stands ts rs -> above rs <= F2R (add_all up_part ts).
Proof.
  unfold above, total, add_all. induction 1 as [|t r ts rs (B & _) F IH]; simpl; [rewrite F2R_zero; lra|].
  rewrite F2R_add. unfold up_part at 1. rewrite F2R_dmax, F2R_zero.
  assert (Rmax r 0 <= Rmax (F2R (to t)) 0) by (apply Rle_max_compat_r; lra). lra.
Qed.

Lemma below_stands ts rs : Forall2 stands ts rs -> below rs <= F2R (add_all down_part ts).
Proof.
  unfold below, total, add_all. induction 1 as [|t r ts rs (B & _) F IH]; simpl; [rewrite F2R_zero; lra|].
  rewrite F2R_add. unfold down_part at 1. rewrite F2R_dmax, F2R_zero, F2R_opp.
  assert (Rmax (- r) 0 <= Rmax (- F2R (from t)) 0) by (apply Rle_max_compat_r; lra). lra.
Qed.

Lemma total_stands ts rs : Forall2 stands ts rs -> F2R (add_all from ts) <= total rs <= F2R (add_all to ts).
Proof.
  unfold total, add_all. induction 1 as [|t r ts rs (B & _) F IH]; simpl; [rewrite F2R_zero; lra|].
  rewrite !F2R_add. lra.
Qed.

Lemma finest_stands ts rs : Forall2 stands ts rs -> Forall (multiple (finest ts)) rs.
Proof.
  assert (G : forall q ts rs, (q <= finest ts)%Z -> Forall2 stands ts rs -> Forall (multiple q) rs).
  { intros q us vs H F. revert H. induction F as [|t r us vs (_ & M & _) F IH]; simpl; intros H; constructor.
    - apply multiple_le with (unit t); auto. lia.
    - apply IH. lia. }
  intros F. now apply (G (finest ts) ts).
Qed.

(** The terms that are not 0. *)
Lemma without_zeros ts rs : Forall2 stands ts rs ->
  exists zs rs', Forall (eq 0) zs /\ Permutation rs (zs ++ rs') /\
    Forall2 stands (filter (fun t => negb (is_zero (from t) && is_zero (to t))) ts) rs'.
Proof.
  induction 1 as [|t r ts rs H F (zs & rs' & Z & P & G)]; simpl; [exists [], []; auto|].
  destruct (is_zero_spec (from t)) as [A|A], (is_zero_spec (to t)) as [B|B]; simpl.
  { exists (r :: zs), rs'. split; [|split; auto; now apply perm_skip]. constructor; auto. destruct H as (H & _). lra. }
  all: exists zs, (r :: rs'); split; auto; split; [|now constructor]; rewrite P; apply Permutation_middle.
Qed.

Lemma sum_drop zs s x : Forall (eq 0) zs -> sum (zs ++ s) x -> s = [] /\ x = 0 \/ sum s x.
Proof.
  induction 1 as [|z zs <- Z IH]; simpl; intros H; auto.
  destruct (zs ++ s) as [|a l] eqn:E.
  - apply app_eq_nil in E as [_ ->]. left. split; auto. apply sum_single in H; auto with typeclass_instances.
    destruct H; auto. apply fl_0.
  - apply IH. apply zeros_do_not_count in H; auto with typeclass_instances. discriminate.
Qed.

Lemma total_zeros zs : Forall (eq 0) zs -> total zs = 0.
Proof. unfold total. induction 1; simpl; lra. Qed.

Lemma u_is : u (prec f) = bpow radix2 (- prec f).
Proof. reflexivity. Qed.

(** [k] times [u] is small. *)
Lemma few n : (Z.of_nat n <= 2 ^ 20)%Z -> INR n * u (prec f) <= / 16.
Proof.
  intros H. rewrite INR_IZR_INZ. apply IZR_le in H. assert (U := u_pos (prec f)).
  assert (V : u (prec f) <= bpow radix2 (- 24)) by (apply bpow_le; destruct f; simpl; lia).
  assert (0 <= IZR (Z.of_nat n)) by (apply IZR_le; lia).
  change (bpow radix2 (-24)) with (/ 16777216) in V. change (IZR (2 ^ 20)) with 1048576 in H. nra.
Qed.

Lemma gamma_below n m : (n <= m)%nat -> INR m * u (prec f) <= / 16 ->
  gamma (u (prec f)) n <= INR m * u (prec f) * (1 + 2 * (INR m * u (prec f))).
Proof.
  intros L H. unfold gamma. assert (U := u_pos (prec f)). apply le_INR in L. assert (P := pos_INR n).
  set (s := INR n * u (prec f)). set (t := INR m * u (prec f)) in *.
  assert (S : 0 <= s <= t) by (unfold s, t; nra).
  apply Rle_trans with (s * (1 + 2 * s)); [|nra].
  apply Rmult_le_reg_r with (1 - s); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Lemma any_error_spec ts n s : (Z.of_nat (length ts) <= 2 ^ 20)%Z -> (n <= length ts)%nat -> 0 <= s <= F2R (add_all size_of ts) ->
  gamma (u (prec f)) n * s + 4 * INR n * least_normal <= F2R (any_error ts).
Proof.
  intros F L S. unfold any_error. eapply Rle_trans; [|apply up_spec]. rewrite F2R_add, !F2R_mul, !F2R_add, F2R_one.
  unfold tiny. rewrite F2R_power_of_two, <- least_normal_is, F2R_of_Z.
  assert (K : F2R (Dyadic (Z.of_nat (length ts)) (- prec f)) = INR (length ts) * u (prec f)).
  { unfold F2R. simpl. now rewrite <- INR_IZR_INZ. }
  rewrite K. apply few in F. assert (G := gamma_below n (length ts) L F). assert (U := u_pos (prec f)).
  assert (N := least_normal_pos (emin f) (prec f)). assert (P := pos_INR n). apply le_INR in L.
  rewrite mult_IZR, <- INR_IZR_INZ. apply Rplus_le_compat; [|nra].
  apply Rle_trans with (INR (length ts) * u (prec f) * (1 + 2 * (INR (length ts) * u (prec f))) * s); [|].
  - apply Rmult_le_compat_r; lra.
  - set (t := INR (length ts) * u (prec f)) in *. replace (1 + (t + t)) with (1 + 2 * t) by ring.
    apply Rmult_le_compat_l; [|lra]. assert (0 <= t) by (unfold t; nra). nra.
Qed.

Lemma any_off ts rs x : (Z.of_nat (length ts) <= 2 ^ 20)%Z -> Forall2 stands ts rs -> sum rs x ->
  Rabs (x - total rs) <= F2R (any_error ts).
Proof.
  intros L F H. assert (K := few _ L). assert (E : length ts = length rs) by (clear - F; induction F; simpl; auto).
  rewrite E in K. apply any_sum in H; auto with typeclass_instances; [|cbv zeta; lra]. eapply Rle_trans; [exact H|].
  apply any_error_spec; auto; [lia|]. split; [apply size_nonneg | now apply size_stands].
Qed.

(** No part of the terms comes to [2^most]. *)
Lemma no_overflow ts rs part rest x : (Z.of_nat (length ts) <= 2 ^ 20)%Z -> Forall2 stands ts rs ->
  F2R (add_all size_of ts) + F2R (any_error ts) < huge f -> Permutation (part ++ rest) rs -> sum part x -> Rabs x < huge f.
Proof.
  intros L F B P H. assert (E : length ts = length rs) by (clear - F; induction F; simpl; auto).
  assert (Le : (length part <= length ts)%nat) by (rewrite E, <- (Permutation_length P), app_length; lia).
  assert (K := few _ L). assert (U := u_pos (prec f)). assert (Le' := le_INR _ _ Le).
  apply any_sum in H; auto with typeclass_instances; [|cbv zeta; nra]. assert (S : size part <= size rs).
  { rewrite <- (size_order _ _ P), size_app. assert (X := size_nonneg rest). lra. }
  assert (S' := size_stands _ _ F). assert (T := total_size part).
  assert (A := any_error_spec ts (length part) (size part) L Le ltac:(split; [apply size_nonneg | lra])).
  assert (X := Rabs_triang (x - total part) (total part)). replace (x - total part + total part) with x in X by ring. lra.
Qed.

Lemma round_ends_spec l h t x : F2R l <= t <= F2R h -> rounded t x ->
  F2R (fst (round_ends l h)) <= x <= F2R (snd (round_ends l h)).
Proof.
  intros B H. unfold round_ends. apply (one_rounding_interval _ _ _ _ _ _ B) in H. rewrite <- !nearest_spec in H.
  destruct (le_spec tiny l) as [L|L], (le_spec h (opp tiny)) as [G|G]; simpl; rewrite ?F2R_dmin, ?F2R_dmax, ?F2R_zero.
  all: unfold tiny in *; rewrite ?F2R_opp, F2R_power_of_two, <- least_normal_is in *.
  all: destruct H as [H|[-> H]]; try (apply Rabs_def2 in H; lra); try lra.
  - assert (X := Rmin_l (F2R (nearest f l)) 0). assert (Y := Rmax_l (F2R (nearest f h)) 0). lra.
  - assert (X := Rmin_r (F2R (nearest f l)) 0). assert (Y := Rmax_r (F2R (nearest f h)) 0). lra.
Qed.

Lemma rounded_off_by l h t x : F2R l <= t <= F2R h -> rounded t x ->
  Rabs (x - t) <= F2R (add (mul (power_of_two (- prec f)) (dmax (absolute l) (absolute h))) tiny).
Proof.
  intros B H. apply one_rounding_error in H; auto with typeclass_instances. eapply Rle_trans; [exact H|].
  rewrite F2R_add, F2R_mul, F2R_dmax, !F2R_absolute. unfold tiny. rewrite !F2R_power_of_two, <- least_normal_is, u_is.
  assert (M := RmaxAbs _ _ _ (proj1 B) (proj2 B)). assert (P := bpow_gt_0 radix2 (- prec f)).
  assert (N := least_normal_pos (emin f) (prec f)). assert (0 <= Rabs t) by apply Rabs_pos. apply Rmax_lub; nra.
Qed.

(** Exact parts and small parts, as [absorption] has them. *)
Definition split (large : term -> bool) (ts : list term) (rs : list R) : list (R * R) :=
  map (fun p => if large (fst p) then (snd p, 0) else (0, snd p)) (combine ts rs).

Lemma split_spec large ts rs : Forall2 stands ts rs ->
  map both (split large ts rs) = rs /\ length (split large ts rs) = length ts /\
  exists es, Forall2 stands (filter large ts) es /\
    total (map fst (split large ts rs)) = total es /\ above (map fst (split large ts rs)) = above es /\
    below (map fst (split large ts rs)) = below es /\
    (forall q, Forall (multiple q) es -> Forall (multiple q) (map fst (split large ts rs))) /\
  exists ss, Forall2 stands (filter (fun t => negb (large t)) ts) ss /\
    size (map snd (split large ts rs)) = size ss /\ total rs = total es + total ss.
Proof.
  unfold split, total, above, below, size, both. induction 1 as [|t r ts rs H F (I1 & I2 & es & I3 & I4 & I5 & I6 & I7 & ss & I8 & I9 & I10)].
  - split; [reflexivity|]. split; [reflexivity|]. exists []. split; [constructor|]. do 3 (split; [reflexivity|]).
    split; [constructor|]. exists []. split; [constructor|]. split; [reflexivity|]. simpl. ring.
  - simpl. destruct (large t); simpl; rewrite I1, I2; (split; [f_equal; ring|]); (split; [reflexivity|]).
    + exists (r :: es). simpl. split; [now constructor|]. rewrite I4, I5, I6. do 3 (split; [reflexivity|]). split.
      * intros q M. inversion M; subst. constructor; auto.
      * exists ss. simpl. split; auto. rewrite I9, I10, Rabs_R0. split; ring.
    + exists es. simpl. split; auto. rewrite I4, I5, I6, Ropp_0, Rmax_left by lra. do 3 (split; [ring|]). split.
      * intros q M. constructor; auto. apply multiple_0.
      * exists (r :: ss). simpl. split; [now constructor|]. rewrite I9, I10. split; ring.
Qed.

Lemma absorbed_from_spec ts t r rs x : (Z.of_nat (length ts) <= 2 ^ 20)%Z -> absorbed_from ts t = Some r ->
  Forall2 stands ts rs -> sum rs x -> holds (fst r) x /\ Rabs (x - total rs) <= F2R (snd r).
Proof.
  unfold absorbed_from. set (large := fun s => le (size_of t) (size_of s)). set (exacts := filter large ts).
  set (q := finest exacts). set (ku := Dyadic _ _). set (small := add (mul _ _) _).
  intros L E F H. destruct (lt_spec small (power_of_two (q - prec f - 1))) as [B|B]; [|discriminate].
  destruct (fits (add_all up_part exacts) q) eqn:Up; [|discriminate].
  destruct (fits (add_all down_part exacts) q) eqn:Dn; [|discriminate]. simpl in E. injection E as <-.
  apply fits_spec in Up, Dn. rewrite F2R_power_of_two in B.
  destruct (split_spec large ts rs F) as (S1 & S2 & es & S3 & S4 & S5 & S6 & S7 & ss & S8 & S9 & S10).
  fold exacts in S3. assert (Ab := above_stands _ _ S3). assert (Be := below_stands _ _ S3).
  assert (To := total_stands _ _ S3). assert (Fi := finest_stands _ _ S3). fold q in Fi. apply S7 in Fi.
  assert (K := few _ L). assert (U := u_pos (prec f)). assert (N := least_normal_pos (emin f) (prec f)).
  assert (Si := size_stands _ _ S8).
  assert (KU : F2R ku = INR (length ts) * u (prec f)) by (unfold ku, F2R; simpl; now rewrite <- INR_IZR_INZ).
  assert (P := pos_INR (length ts)).
  assert (Sm : size ss * (1 + 2 * (INR (length ts) * u (prec f))) + 4 * INR (length ts) * least_normal <= F2R small).
  { unfold small. rewrite F2R_add, !F2R_mul, !F2R_add, F2R_one, KU, F2R_of_Z, mult_IZR, <- INR_IZR_INZ.
    unfold tiny. rewrite F2R_power_of_two, <- least_normal_is.
    apply Rplus_le_compat_r. replace (1 + (INR (length ts) * u (prec f) + INR (length ts) * u (prec f)))
      with (1 + 2 * (INR (length ts) * u (prec f))) by ring.
    apply Rmult_le_compat_r; [|exact Si]. assert (0 <= INR (length ts) * u (prec f)) by (apply Rmult_le_pos; lra). lra. }
  assert (S0 : size ss <= F2R small).
  { assert (Z0 := size_nonneg ss). assert (0 <= INR (length ts) * u (prec f)) by (apply Rmult_le_pos; lra).
    assert (0 <= size ss * (2 * (INR (length ts) * u (prec f)))) by (apply Rmult_le_pos; lra).
    assert (0 <= INR (length ts) * least_normal) by (apply Rmult_le_pos; lra). lra. }
  assert (A := absorption (emin f) (prec f) q (split large ts rs) x). cbv zeta in A. rewrite S1, S2, S9, S4, S5, S6 in A.
  destruct A as [A1 A2]; auto; try lra.
  assert (M := multiples_stay_multiples _ _ _ _ _ (finest_stands _ _ F) H).
  assert (Nx := sum_number _ _ _ _ H). assert (T := total_size ss). rewrite S10.
  destruct (lt_spec zero (add_all from exacts)) as [Z|Z]; [|destruct (lt_spec (add_all to exacts) zero) as [Z'|Z']]; simpl.
  1, 2: rewrite F2R_zero in *; assert (Ex : x = total es) by (apply A1; lra); split;
    [apply holds_make; auto; [lra|]; rewrite Ex, <- S4; now apply multiple_total
    | rewrite Ex; replace (total es - (total es + total ss)) with (- total ss) by ring; rewrite Rabs_Ropp; lra].
  assert (D : Rabs (x - total es) <= F2R small).
  { destruct (Req_dec (total es) 0) as [E|E].
    - rewrite E, Rminus_0_r. specialize (A2 E). lra.
    - rewrite A1 by auto. replace (total es - total es) with 0 by ring. rewrite Rabs_R0.
      assert (Z0 := size_nonneg ss). lra. }
  split.
  - apply holds_make; auto. rewrite F2R_sub, F2R_add. apply Rabs_le_inv in D. lra.
  - rewrite F2R_add. replace (x - (total es + total ss)) with (x - total es + - total ss) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra.
Qed.

Lemma first_spec {A B} (g : A -> option B) l b : first g l = Some b -> exists a, g a = Some b.
Proof. induction l as [|a l IH]; simpl; [discriminate|]. destruct (g a) eqn:E; auto. intros [= <-]. eauto. Qed.

Lemma total_of_spec ts rs l h x : (Z.of_nat (length ts) <= 2 ^ 20)%Z -> Forall2 stands ts rs ->
  F2R l <= total rs <= F2R h -> sum rs x -> holds (fst (total_of ts l h)) x /\ Rabs (x - total rs) <= F2R (snd (total_of ts l h)).
Proof.
  intros L F T H. assert (Nx := sum_number _ _ _ _ H).
  assert (M : multiple (Z.max (finest ts) (emin f)) x).
  { destruct (Z.max_spec (finest ts) (emin f)) as [[_ ->]|[_ ->]].
    - now apply (number_multiple (emin f) (prec f)).
    - exact (multiples_stay_multiples _ _ _ _ _ (finest_stands _ _ F) H). }
  assert (Same : Rabs (x - x) <= F2R zero) by (replace (x - x) with 0 by ring; rewrite Rabs_R0, F2R_zero; lra).
  unfold total_of. destruct (is_exact ts) eqn:E.
  { apply andb_prop in E as [E Dn]. apply andb_prop in E as [Q Up]. apply fits_spec in Up, Dn. apply Z.leb_le in Q.
    assert (X : x = total rs).
    { apply (exact_sums (emin f) (prec f) (finest ts)); auto.
      - unfold emin. lia.
      - now apply finest_stands.
      - eapply Rle_trans; [exact (above_stands _ _ F) | exact Up].
      - eapply Rle_trans; [exact (below_stands _ _ F) | exact Dn]. }
    simpl. rewrite <- X in *. split; auto. now apply holds_make. }
  clear E. assert (Once : forall t, rounded t x -> total rs = t ->
    let r := (let (a, b) := round_ends l h in (make a b (Z.max (finest ts) (emin f)), add (mul (power_of_two (- prec f)) (dmax (absolute l) (absolute h))) tiny)) in
    holds (fst r) x /\ Rabs (x - total rs) <= F2R (snd r)).
  { intros t R <-. assert (X := round_ends_spec _ _ _ _ T R). assert (Y := rounded_off_by _ _ _ _ T R).
    destruct (round_ends l h) as [a b]. simpl in *. split; auto. now apply holds_make. }
  destruct ts as [|t ts]; [inversion F; subst; apply sum_not_empty in H; simpl in H; lia|].
  destruct ts as [|s ts].
  { inversion F as [|? r ? ? (_ & _ & X) F']; subst. inversion F'; subst.
    assert (Tr : total [r] = r) by (unfold total; simpl; ring).
    assert (R := H). apply sum_single in R; auto with typeclass_instances.
    destruct (exact t); [|now apply (Once r)]. destruct (X eq_refl) as [Nr Zr].
    apply (rounded_exact _ _ _ _ Nr Zr) in R. subst x. cbn [fst snd]. rewrite Tr in *. split; auto. now apply holds_make. }
  destruct (_ && _) eqn:E.
  { apply andb_prop in E as [E X]. apply Nat.eqb_eq in E. destruct ts; [|discriminate].
    inversion F as [|? a ? ? (_ & _ & Xa) F']; subst. inversion F' as [|? b ? ? (_ & _ & Xb) F'']; subst. inversion F''; subst.
    simpl in X. apply andb_prop in X as [X1 X2]. rewrite andb_true_r in X2. destruct (Xa X1), (Xb X2).
    apply (Once (a + b)); [now apply (two_terms_round_once (emin f) (prec f)) | unfold total; simpl; ring]. }
  destruct (first _ _) as [[y e]|] eqn:Fi.
  - apply first_spec in Fi as (a & Fi). destruct (absorbed_from_spec _ _ _ _ _ L Fi F H) as [(B & My & _) D]. split; auto.
    simpl in *. apply holds_make; auto. rewrite F2R_dmax, F2R_dmin, F2R_sub, F2R_add. apply Rabs_le_inv in D.
    split; [apply Rmax_lub | apply Rmin_glb]; lra.
  - assert (D := any_off _ _ _ L F H). cbv zeta. simpl fst. simpl snd. split; auto. apply holds_make; auto.
    rewrite F2R_sub, F2R_add. apply Rabs_le_inv in D. lra.
Qed.

Lemma filter_length_le {A} (g : A -> bool) l : (length (filter g l) <= length l)%nat.
Proof. induction l as [|a l IH]; simpl; [lia|]. destruct (g a); simpl; lia. Qed.

Theorem total_in_sound ts rs l h r : total_in ts l h = Some r -> Forall2 stands ts rs -> F2R l <= total rs <= F2R h ->
  sure (add_up f rs) (fun x => holds (fst r) x /\ Rabs (x - total rs) <= F2R (snd r)).
Proof.
  unfold total_in. intros E F T. destruct (0 <? length ts)%nat eqn:Ne; [|discriminate].
  destruct (Z.leb_spec (Z.of_nat (length ts)) (2 ^ 20)) as [L|]; [|discriminate].
  destruct (lt_spec (add (add_all size_of ts) (any_error ts)) (power_of_two (most f - 2))) as [B|]; [|discriminate].
  simpl in E. injection E as <-. rewrite F2R_add, F2R_power_of_two in B.
  assert (Q : bpow radix2 (most f - 2) <= huge f) by (apply bpow_le; lia).
  assert (Len : length ts = length rs) by (clear - F; induction F; simpl; auto).
  intros [x|] H.
  2: { exfalso. destruct H as [->|(part & rest & x & P & S & X)].
    - rewrite Len in Ne. discriminate.
    - assert (Y := no_overflow _ _ _ _ _ L F (Rlt_le_trans _ _ _ B Q) P S). lra. }
  exists x. split; auto. destruct (without_zeros _ _ F) as (zs & rs' & Z & P & G).
  assert (T' : total rs = total rs') by (rewrite (total_order _ _ P), total_app, (total_zeros _ Z); ring).
  rewrite T' in *. simpl in H. apply (Sum_order _ _ _ (zs ++ rs')) in H; auto. apply (sum_drop _ _ _ Z) in H as [[-> ->]|H].
  - inversion G. unfold total_of. simpl. split; [|unfold total; simpl; rewrite Rminus_0_r, Rabs_R0].
    + unfold total in T. simpl in T. destruct (is_exact []); [|apply holds_zero]. apply holds_make; auto; [apply multiple_0 | apply number_0].
    + destruct (is_exact []); simpl; rewrite F2R_zero; lra.
  - apply total_of_spec; auto. assert (X := filter_length_le (fun t => negb (is_zero (from t) && is_zero (to t))) ts). lia.
Qed.

Theorem sum_up_sound ts rs x : sum_up ts = Some x -> Forall2 stands ts rs -> sure (add_up f rs) (holds x).
Proof.
  unfold sum_up. intros E F. destruct (total_in _ _ _) as [[y e]|] eqn:T; [|discriminate]. injection E as ->.
  apply (total_in_sound _ rs) in T; auto; [|now apply total_stands].
  apply (sure_weaker _ _ _ (fun a => proj1 (A := holds x a) (B := _)) T).
Qed.

Lemma possible_add_up terms : possible (add_up f terms).
Proof.
  destruct terms as [|t terms]; [exists None; now left|].
  assert (exists x, sum (t :: terms) x) as [x H]; [|now exists (Some x)].
  revert t. induction terms as [|s terms IH]; intros t.
  - eexists. constructor. constructor.
  - destruct (IH s) as [x H]. exists (fl (emin f) (prec f) (fl (emin f) (prec f) t + x)).
    apply (Sum_add _ _ [t] (s :: terms) (fl (emin f) (prec f) t) x); auto; repeat constructor.
Qed.

Lemma possible_computed (P : R -> Prop) x : P x -> possible (computed f P).
Proof. intros H. now exists (Some x). Qed.

End Format.
