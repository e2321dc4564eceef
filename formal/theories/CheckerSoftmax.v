(** What is known of the weights of a head. *)

From Formwright Require Import RulesExecution RulesSums CheckerNetwork CheckerNumbers CheckerSums.
From Formwright Require CheckerTarget.

Notation every := CheckerTarget.every.
Notation "x <-- a ;; b" := (CheckerTarget.andThen a (fun x => b)) (at level 100, a at next level, b at level 200, right associativity).

(** * Lists *)

Lemma andThen_some {A B} (a : option A) (g : A -> option B) b : CheckerTarget.andThen a g = Some b -> exists x, a = Some x /\ g x = Some b.
Proof. destruct a; simpl; [eauto | discriminate]. Qed.

Lemma every_some {A B} (g : A -> option B) l bs : every g l = Some bs -> Forall2 (fun a b => g a = Some b) l bs.
Proof.
  revert bs. induction l as [|a l IH]; simpl; intros bs H; [injection H as <-; constructor|].
  apply andThen_some in H as (b & Hb & H). apply andThen_some in H as (cs & Hc & H). injection H as <-. constructor; auto.
Qed.

Lemma each_sound {A B C V} (g : A -> option V) (h : B -> outcomes C) (Rel : A -> B -> Prop) (P : V -> C -> Prop) l l' vs :
  every g l = Some vs -> Forall2 Rel l l' -> (forall a b v, Rel a b -> g a = Some v -> sure (h b) (P v)) ->
  sure (each h l') (Forall2 P vs).
Proof.
  intros E F H. apply every_some in E. revert vs E. induction F as [|a b l l' Hab F IH]; intros vs E.
  - inversion E; subst. apply sure_returns. constructor.
  - inversion E as [|? v ? ws Hv E']; subst. simpl. apply (sure_bind _ _ (P v)); [now apply (H a)|]. intros c Hc.
    apply (sure_bind _ _ (Forall2 P ws)); auto. intros cs Hcs. apply sure_returns. now constructor.
Qed.

Lemma numbered_related {A B} (P : A -> B -> Prop) vs xs : Forall2 P vs xs ->
  Forall2 (fun p x => nth_error vs (fst p) = Some (snd p) /\ nth_error xs (fst p) = Some x /\ P (snd p) x) (numbered vs) xs.
Proof.
  intros F. assert (G : forall pre pre', length pre = length pre' ->
    Forall2 (fun p x => nth_error (pre ++ vs) (fst p) = Some (snd p) /\ nth_error (pre' ++ xs) (fst p) = Some x /\ P (snd p) x)
      (combine (seq (length pre) (length vs)) vs) xs); [|now apply (G [] [])].
  induction F as [|v x vs xs H F IH]; intros pre pre' E; simpl; constructor.
  - simpl. rewrite !nth_error_app2 by lia. rewrite E, Nat.sub_diag. simpl. auto.
  - specialize (IH (pre ++ [v]) (pre' ++ [x])). rewrite !app_length in IH. simpl in IH. rewrite Nat.add_1_r, <- !app_assoc in IH.
    apply IH. lia.
Qed.

Lemma numbered_both {A B} (P : A -> B -> Prop) vs xs : Forall2 P vs xs ->
  Forall2 (fun p p' => fst p = fst p' /\ P (snd p) (snd p')) (numbered vs) (numbered xs).
Proof.
  intros F. unfold numbered. generalize 0%nat. induction F; intros s; simpl; constructor; auto.
Qed.

Lemma Forall2_nth {A B} (P : A -> B -> Prop) a b da db i : Forall2 P a b -> P da db -> P (nth i a da) (nth i b db).
Proof. intros F D. revert i. induction F; intros [|i]; simpl; auto. Qed.

Lemma Forall2_length_eq {A B} (P : A -> B -> Prop) a b : Forall2 P a b -> length a = length b.
Proof. induction 1; simpl; auto. Qed.

(** * The largest score *)

Lemma largest_in s scores : In (largest (s :: scores)) (s :: scores).
Proof.
  unfold largest. simpl hd. assert (G : forall l, fold_right Rmax s l = s \/ In (fold_right Rmax s l) l).
  { induction l as [|x l IH]; simpl; auto. set (m := fold_right Rmax s l) in *.
    assert (E : Rmax x m = x \/ Rmax x m = m) by (unfold Rmax; destruct (Rle_dec x m); auto).
    destruct E as [->| ->]; auto. destruct IH; auto. }
  destruct (G (s :: scores)) as [E|I]; auto. rewrite E. now left.
Qed.

Lemma largest_above scores s : In s scores -> s <= largest scores.
Proof.
  unfold largest. generalize (hd 0 scores). intros d. induction scores as [|x l IH]; simpl; [tauto|].
  intros [->|I]; [apply Rmax_l|]. eapply Rle_trans; [now apply IH | apply Rmax_r].
Qed.

(** * Exponentials *)

(** [exp (-x)] lies between [1 - x] and [1 - x + x²]; squared so often, those of [x = y / 2^halvings] bound [exp (-y)]. *)
Definition halvings : nat := 80.

Fixpoint squared (rounding : dyadic -> dyadic) (n : nat) (a : dyadic) : dyadic :=
  match n with O => a | S n => squared rounding n (rounding (mul a a)) end.

(** Beyond this the exponential is below both formats. *)
Definition far : dyadic := power_of_two 11.

Definition exp_low (y : dyadic) : dyadic :=
  if lt far y then zero else squared (down digits) halvings (down digits (dmax zero (sub one (mul y (power_of_two (- Z.of_nat halvings)))))).

Definition exp_high (y : dyadic) : dyadic :=
  let x := mul (dmin far y) (power_of_two (- Z.of_nat halvings)) in
  squared (up digits) halvings (up digits (add (sub one x) (mul x x))).

Lemma down_nonneg d a : 0 <= F2R a -> 0 <= F2R (down d a).
Proof.
  intros H. unfold down. set (k := (_ - d)%Z). destruct (Z.leb_spec k 0); auto.
  destruct a as [m e]. apply ge_0_F2R in H. apply F2R_ge_0. simpl. apply Z.div_pos; auto. apply two_to_pos. lia.
Qed.

Lemma exp_double y : exp (2 * y) = exp y * exp y.
Proof. replace (2 * y) with (y + y) by ring. apply exp_plus. Qed.

Lemma squared_down n : forall a y, 0 <= F2R a <= exp y -> 0 <= F2R (squared (down digits) n a) <= exp (2 ^ n * y).
Proof.
  induction n as [|n IH]; intros a y H; simpl; [now rewrite Rmult_1_l|].
  rewrite (Rmult_comm 2), Rmult_assoc. apply IH. rewrite exp_double.
  assert (D := down_spec digits (mul a a)). rewrite F2R_mul in D. split; [apply down_nonneg; rewrite F2R_mul; nra|].
  assert (0 < exp y) by apply exp_pos. nra.
Qed.

Lemma squared_up n : forall a y, exp y <= F2R a -> exp (2 ^ n * y) <= F2R (squared (up digits) n a).
Proof.
  induction n as [|n IH]; intros a y H; simpl; [now rewrite Rmult_1_l|].
  rewrite (Rmult_comm 2), Rmult_assoc. apply IH. rewrite exp_double.
  assert (U := up_spec digits (mul a a)). rewrite F2R_mul in U. assert (0 < exp y) by apply exp_pos. nra.
Qed.

Lemma halved (y : dyadic) : 2 ^ halvings * - F2R (mul y (power_of_two (- Z.of_nat halvings))) = - F2R y.
Proof.
  rewrite F2R_mul, F2R_power_of_two. replace (2 ^ halvings) with (bpow radix2 (Z.of_nat halvings)).
  - rewrite bpow_opp. assert (B := bpow_gt_0 radix2 (Z.of_nat halvings)). field. lra.
  - rewrite <- (IZR_Zpower radix2) by lia. rewrite <- pow_IZR. reflexivity.
Qed.

Lemma exp_low_spec y : 0 <= F2R y -> 0 <= F2R (exp_low y) <= exp (- F2R y).
Proof.
  intros H. unfold exp_low. destruct (lt far y).
  - rewrite F2R_zero. assert (0 < exp (- F2R y)) by apply exp_pos. lra.
  - rewrite <- halved. apply squared_down. set (x := mul y _).
    assert (D := down_spec digits (dmax zero (sub one x))). rewrite F2R_dmax, F2R_zero, F2R_sub, F2R_one in D.
    split; [apply down_nonneg; rewrite F2R_dmax, F2R_zero; apply Rmax_l|].
    eapply Rle_trans; [exact D|]. apply Rmax_lub; [left; apply exp_pos|].
    assert (E := exp_ineq1_le (- F2R x)). lra.
Qed.

Lemma exp_high_spec y : 0 <= F2R y -> exp (- F2R y) <= F2R (exp_high y).
Proof.
  intros H. unfold exp_high. set (z := dmin far y).
  assert (Z : 0 <= F2R z <= F2R y).
  { unfold z. rewrite F2R_dmin. unfold far. rewrite F2R_power_of_two. assert (B := bpow_gt_0 radix2 11).
    split; [apply Rmin_glb; lra | apply Rmin_r]. }
  apply Rle_trans with (exp (- F2R z)).
  { destruct (Req_dec (F2R z) (F2R y)) as [->|N]; [lra|]. left. apply exp_increasing. lra. }
  rewrite <- halved. apply squared_up. set (x := mul z _).
  eapply Rle_trans; [|apply up_spec]. rewrite F2R_add, F2R_sub, F2R_mul, F2R_one.
  assert (X : 0 <= F2R x).
  { unfold x. rewrite F2R_mul, F2R_power_of_two. apply Rmult_le_pos; [lra | apply bpow_ge_0]. }
  assert (E := exp_ineq1_le (F2R x)). rewrite exp_Ropp. apply Rmult_le_reg_l with (exp (F2R x)); [apply exp_pos|].
  rewrite Rinv_r by (apply Rgt_not_eq, exp_pos). set (t := F2R x) in *.
  apply Rle_trans with ((1 + t) * (1 - t + t * t)); [|apply Rmult_le_compat_r; [nra | exact E]].
  replace ((1 + t) * (1 - t + t * t)) with (1 + t * (t * t)) by ring. assert (0 <= t * (t * t)) by (apply Rmult_le_pos; nra). lra.
Qed.

Section Format.
Variable f : format.

Notation holds := (holds f).
Notation number := (number (emin f) (prec f)).
Notation rounded := (rounded (emin f) (prec f)).

(** * One rounding *)

(** A number of [l, h], rounded; nothing where it may overflow. *)
Definition rounding (l h : dyadic) : option value :=
  let (a, b) := round_ends f l h in
  if lt (dmax (absolute a) (absolute b)) (power_of_two (most f)) then Some (make a b (emin f)) else None.

Lemma rounded_fl x : number x -> rounded x x.
Proof. intros N. rewrite <- (fl_id (emin f) (prec f) x N) at 2. constructor. Qed.

Lemma rounding_spec l h v x : rounding l h = Some v ->
  F2R (fst (round_ends f l h)) <= x <= F2R (snd (round_ends f l h)) -> number x -> holds v x /\ Rabs x < huge f.
Proof.
  unfold rounding. destruct (round_ends f l h) as [a b]. simpl. destruct (lt_spec (dmax (absolute a) (absolute b)) (power_of_two (most f))) as [L|]; [|discriminate].
  intros [= <-] B N. rewrite F2R_dmax, !F2R_absolute, F2R_power_of_two in L. split.
  - apply holds_make; auto. now apply (number_multiple (emin f) (prec f)).
  - unfold huge. eapply Rle_lt_trans; [|exact L]. apply RmaxAbs; lra.
Qed.

Lemma rounding_computed l h v (P : R -> Prop) : rounding l h = Some v ->
  (forall x, P x -> exists t, F2R l <= t <= F2R h /\ rounded t x) -> sure (computed f P) (holds v).
Proof.
  intros E H. assert (G : forall x, P x -> holds v x /\ Rabs x < huge f).
  { intros x Px. destruct (H x Px) as (t & B & Rt). apply (rounding_spec _ _ _ _ E).
    - now apply round_ends_spec with t.
    - now apply (rounded_number (emin f) (prec f) t). }
  intros [x|] Hx; simpl in Hx.
  - exists x. split; auto. now apply G.
  - destruct Hx as (x & Px & X). apply G in Px. lra.
Qed.

Lemma rounding_sound l h v t : rounding l h = Some v -> F2R l <= t <= F2R h -> sure (round_off f t) (holds v).
Proof. intros E B. apply (rounding_computed _ _ _ _ E). eauto. Qed.

Definition hull (x y : value) : value := make (dmin (lo x) (lo y)) (dmax (hi x) (hi y)) (Z.min (fine x) (fine y)).

Lemma holds_hull x y r : holds x r \/ holds y r -> holds (hull x y) r.
Proof.
  assert (G : forall x y, holds x r -> F2R (dmin (lo x) (lo y)) <= r <= F2R (dmax (hi x) (hi y)) /\ F2R (dmin (lo y) (lo x)) <= r <= F2R (dmax (hi y) (hi x))).
  { intros a b (B & _). rewrite !F2R_dmin, !F2R_dmax.
    assert (A1 := Rmin_l (F2R (lo a)) (F2R (lo b))). assert (A2 := Rmin_r (F2R (lo b)) (F2R (lo a))).
    assert (A3 := Rmax_l (F2R (hi a)) (F2R (hi b))). assert (A4 := Rmax_r (F2R (hi b)) (F2R (hi a))). lra. }
  intros [H|H]; apply holds_make.
  1, 4: destruct (G _ (if true then y else x) H); destruct (G _ (if true then x else y) H); auto.
  1, 3: destruct H as (_ & M & _); eapply multiple_le; [|exact M]; lia.
  all: apply H.
Qed.

(** * Weights *)

(** The distance of a score, with its place, to the largest: 0 where it is that. *)
Definition distance (scores : list value) (p : nat * value) : option value :=
  let (i, s) := p in
  if forallb (fun r => (fst r =? i)%nat || le (hi (snd r)) (lo s)) (numbered scores) then Some (point zero) else
    let top_low := fold_right dmax (lo s) (map lo scores) in
    let top_high := fold_right dmax (hi s) (map hi scores) in
    rounding (sub (lo s) top_high) (dmin (sub (hi s) top_low) zero).

Definition theta_low : dyadic := sub one (power_of_two (match f with F32 => -20 | F64 => -49 end)).
Definition theta_high : dyadic := add one (power_of_two (match f with F32 => -20 | F64 => -49 end)).

Definition exponential_of (d : value) : option value :=
  if is_zero (lo d) && is_zero (hi d) then Some (point one) else
  if le (hi d) zero then rounding (mul (exp_low (opp (lo d))) theta_low) (mul (exp_high (opp (hi d))) theta_high) else None.

Definition share_of (S e : value) : option value :=
  if lt zero (lo S) && le zero (lo e) then
    a <-- rounding (quotient_down digits (lo e) (hi S)) (quotient_up digits (hi e) (lo S));;
    r <-- rounding (quotient_down digits one (hi S)) (quotient_up digits one (lo S));;
    if le zero (lo r) then
      b <-- rounding (mul (lo e) (lo r)) (mul (hi e) (hi r));; Some (hull a b)
    else None
  else None.

Definition shares_of (scores : list value) : option (list value) :=
  d <-- every (distance scores) (numbered scores);;
  e <-- every exponential_of d;;
  S <-- sum_up f (map (scaled f one) e);;
  every (share_of S) e.

(** * They hold *)

Lemma number_one : number 1.
Proof. apply (holds_one f). Qed.

Lemma fold_dmax_above d l a : In a (d :: l) -> F2R a <= F2R (fold_right dmax d l).
Proof.
  induction l as [|x l IH]; simpl; intros [<-|I]; try tauto; try lra.
  - rewrite F2R_dmax. eapply Rle_trans; [apply IH; now left | apply Rmax_r].
  - rewrite F2R_dmax. destruct I as [->|I]; [apply Rmax_l|]. eapply Rle_trans; [apply IH; now right | apply Rmax_r].
Qed.

Lemma fold_dmax_below d l b : F2R d <= b -> Forall (fun a => F2R a <= b) l -> F2R (fold_right dmax d l) <= b.
Proof. intros D. induction 1; simpl; auto. rewrite F2R_dmax. now apply Rmax_lub. Qed.

Lemma In_nth_error_some {A} (l : list A) n a : nth_error l n = Some a -> In a l.
Proof. apply nth_error_In. Qed.

Lemma Forall2_nth_error {A B} (P : A -> B -> Prop) a b i x y : Forall2 P a b -> nth_error a i = Some x -> nth_error b i = Some y -> P x y.
Proof. intros F. revert i. induction F; intros [|i]; simpl; try discriminate; [congruence | eauto]. Qed.

Lemma Forall2_nth_error_l {A B} (P : A -> B -> Prop) a b i y : Forall2 P a b -> nth_error b i = Some y -> exists x, nth_error a i = Some x /\ P x y.
Proof. intros F. revert i. induction F; intros [|i]; simpl; try discriminate; [intros [= <-]; eauto | auto]. Qed.

Lemma numbered_in {A} (l : list A) i a : nth_error l i = Some a -> In (i, a) (numbered l).
Proof.
  intros H. unfold numbered. assert (G : forall s, In ((s + i)%nat, a) (combine (seq s (length l)) l)); [|apply (G 0%nat)].
  revert i H. induction l as [|b l IH]; intros [|i] H s; simpl in *; try discriminate.
  - injection H as ->. left. f_equal. lia.
  - right. replace (s + S i)%nat with (S s + i)%nat by lia. now apply IH.
Qed.

Lemma distance_sound scores xs p x v : Forall2 holds scores xs ->
  nth_error scores (fst p) = Some (snd p) -> nth_error xs (fst p) = Some x -> holds (snd p) x ->
  distance scores p = Some v -> sure (round_off f (x - largest xs)) (holds v).
Proof.
  destruct p as [i s]. simpl. intros F Si Xi H. destruct (forallb _ _) eqn:A.
  - intros [= <-]. assert (E : x = largest xs).
    { assert (Ix : In x xs) by now apply nth_error_In in Xi. assert (U := largest_above _ _ Ix).
      destruct xs as [|x0 xs0]; [destruct Ix|]. assert (I := largest_in x0 xs0). set (m := largest (x0 :: xs0)) in *.
      apply In_nth_error in I as [j I]. destruct (Forall2_nth_error_l _ _ _ _ _ F I) as (w & W & Hw).
      rewrite forallb_forall in A. specialize (A _ (numbered_in _ _ _ W)). simpl in A. apply orb_prop in A as [A|A].
      - apply Nat.eqb_eq in A. subst j. congruence.
      - destruct (le_spec (hi w) (lo s)) as [L|]; [|discriminate]. destruct H as (H & _), Hw as (Hw & _). lra. }
    rewrite E. replace (largest xs - largest xs) with 0 by ring.
    intros [y|] Y; simpl in Y.
    + exists y. split; auto. destruct Y; [rewrite fl_0|]; apply holds_zero.
    + destruct Y as (y & Y & Z). assert (Y0 : y = 0) by (destruct Y; auto; apply fl_0).
      rewrite Y0, Rabs_R0 in Z. assert (B := bpow_gt_0 radix2 (most f)). unfold huge in Z. lra.
  - clear A. intros E. apply (rounding_sound _ _ _ _ E).
    assert (Ix : In x xs) by now apply nth_error_In in Xi. assert (U := largest_above _ _ Ix).
    assert (Hi : largest xs <= F2R (fold_right dmax (hi s) (map hi scores))).
    { destruct xs as [|x0 xs0]; [destruct Ix|]. assert (I := largest_in x0 xs0).
      apply In_nth_error in I as [j I]. destruct (Forall2_nth_error_l _ _ _ _ _ F I) as (w & W & (Hw & _)).
      assert (F2R (hi w) <= F2R (fold_right dmax (hi s) (map hi scores))); [|lra].
      apply fold_dmax_above. right. apply in_map. now apply nth_error_In in W. }
    assert (Lo : F2R (fold_right dmax (lo s) (map lo scores)) <= largest xs).
    { destruct H as (H & _). apply fold_dmax_below; [lra|]. clear - F.
      assert (G : Forall (fun x => x <= largest xs) xs) by (apply Forall_forall; apply largest_above).
      revert G. generalize (largest xs). intros m G. induction F as [|v x vs xs (B & _) F IH]; simpl; constructor; inversion G; subst; auto. lra. }
    destruct H as (H & _). rewrite F2R_sub, F2R_dmin, F2R_sub, F2R_zero. split; [lra|]. apply Rmin_glb; lra.
Qed.

Lemma theta_is : F2R theta_low = 1 - theta f /\ F2R theta_high = 1 + theta f /\ 0 < theta f < 1.
Proof.
  unfold theta_low, theta_high. rewrite F2R_sub, F2R_add, F2R_one, !F2R_power_of_two.
  split; [now destruct f|]. split; [now destruct f|].
  destruct f; unfold theta; (split; [apply bpow_gt_0 | apply (bpow_lt radix2 _ 0); lia]).
Qed.

Lemma exponential_sound d v x : holds d x -> exponential_of d = Some v ->
  sure (computed f (exponential (emin f) (prec f) (theta f) x)) (holds v).
Proof.
  unfold exponential_of. intros (H & _). destruct theta_is as (T1 & T2 & T3).
  destruct (is_zero_spec (lo d)) as [A|A], (is_zero_spec (hi d)) as [B|B]; simpl.
  { intros [= <-]. assert (X : x = 0) by lra. subst x. assert (G : forall e, exponential (emin f) (prec f) (theta f) 0 e -> e = 1).
    { intros e E. inversion E; auto; contradiction. }
    intros [e|] E; simpl in E.
    - exists e. split; auto. rewrite (G e E). apply holds_one.
    - destruct E as (e & E & Z). rewrite (G e E), Rabs_R1 in Z. exfalso. assert (1 < huge f); [|lra].
      apply (bpow_lt radix2 0). destruct f; simpl; lia. }
  all: destruct (le_spec (hi d) zero) as [N|]; [|discriminate]; intros E; apply (rounding_computed _ _ _ _ E); clear E.
  all: rewrite F2R_zero in N.
  all: assert (L := exp_low_spec (opp (lo d)) ltac:(rewrite F2R_opp; lra)); assert (U := exp_high_spec (opp (hi d)) ltac:(rewrite F2R_opp; lra)).
  all: rewrite F2R_opp, Ropp_involutive in L, U.
  all: assert (M : exp (F2R (lo d)) <= exp x <= exp (F2R (hi d))) by
    (split; (match goal with |- exp ?a <= exp ?b => destruct (Req_dec a b) as [->|]; [lra|]; left; apply exp_increasing; lra end)).
  all: assert (P := exp_pos x); rewrite !F2R_mul, T1, T2.
  all: assert (V : forall e, Rabs (e - exp x) <= theta f * exp x -> F2R (exp_low (opp (lo d))) * (1 - theta f) <= e <= F2R (exp_high (opp (hi d))) * (1 + theta f)) by
    (intros e Ee; apply Rabs_le_inv in Ee; split; nra).
  all: intros e [Z|e' Z Ne Ee|w e' Z Ew Re].
  all: try (exists e'; split; [now apply V | now apply rounded_fl]).
  all: try (exists w; split; [now apply V | exact Re]).
  all: exists 1; split; [apply V; rewrite Z, exp_0, Rminus_diag_eq, Rabs_R0 by auto; lra | apply rounded_fl, number_one].
Qed.

Lemma share_sound S e v x y : holds S x -> holds e y -> share_of S e = Some v -> sure (share f x y) (holds v).
Proof.
  unfold share_of. intros (HS & _) (He & _). destruct (lt_spec zero (lo S)) as [PS|]; [|discriminate].
  destruct (le_spec zero (lo e)) as [Pe|]; [|discriminate]. simpl. rewrite F2R_zero in *. intros E.
  apply andThen_some in E as (a & Ea & E). apply andThen_some in E as (r & Er & E).
  destruct (le_spec zero (lo r)) as [Pr|]; [|discriminate]. apply andThen_some in E as (b & Eb & E). injection E as <-.
  assert (I : 0 < / F2R (hi S) <= / x /\ / x <= / F2R (lo S)).
  { repeat split; [apply Rinv_0_lt_compat; lra | apply Rinv_le; lra | apply Rinv_le; lra]. }
  apply sure_either.
  - apply (sure_weaker _ (holds a)); [intros z Hz; apply holds_hull; auto|]. apply (rounding_sound _ _ _ _ Ea).
    assert (D := quotient_down_spec digits (lo e) (hi S) ltac:(lra)). assert (U := quotient_up_spec digits (hi e) (lo S) PS).
    unfold Rdiv in *. split; [eapply Rle_trans; [exact D|] | eapply Rle_trans; [|exact U]]; apply Rmult_le_compat; lra.
  - apply (sure_bind _ _ (holds r)).
    + apply (rounding_sound _ _ _ _ Er).
      assert (D := quotient_down_spec digits one (hi S) ltac:(lra)). assert (U := quotient_up_spec digits one (lo S) PS).
      rewrite F2R_one in *. unfold Rdiv in *. lra.
    + intros z (Hz & _). apply (sure_weaker _ (holds b)); [intros w Hw; apply holds_hull; auto|].
      apply (rounding_sound _ _ _ _ Eb). rewrite !F2R_mul. rewrite F2R_zero in *. split; apply Rmult_le_compat; lra.
Qed.

Lemma itself_stands v x : holds v x -> stands f (scaled f one v) x.
Proof. intros H. apply (scaled_stands f one) in H. rewrite F2R_one, Rmult_1_l in H. exact H. Qed.

Theorem shares_sound scores xs ps : Forall2 holds scores xs -> shares_of scores = Some ps -> sure (shares f xs) (Forall2 holds ps).
Proof.
  intros F E. unfold shares_of in E. apply andThen_some in E as (d & Ed & E). apply andThen_some in E as (e & Ee & E).
  apply andThen_some in E as (S & ES & E). unfold shares.
  apply (sure_bind _ _ (Forall2 holds d)).
  { apply (each_sound _ _ _ _ _ _ _ Ed (numbered_related _ _ _ F)). intros p x v (A & B & C) D. now apply (distance_sound scores xs p x v). }
  intros ds Hd. apply (sure_bind _ _ (Forall2 holds e)).
  { apply (each_sound _ _ _ _ _ _ _ Ee Hd). intros a b v H G. now apply (exponential_sound a). }
  intros es He. apply (sure_bind _ _ (holds S)).
  { apply (sum_up_sound f _ _ _ ES). clear - He. induction He; simpl; constructor; auto. now apply itself_stands. }
  intros s Hs. apply (each_sound _ _ _ _ _ _ _ E He). intros a b v H G. now apply (share_sound S a).
Qed.

End Format.
