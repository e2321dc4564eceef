(** What is known of what heads and layers give: averages, and feed-forward layers composed before intervals are put in. *)

From Formwright Require Import RulesExecution RulesSums RulesSoftmax CheckerNetwork CheckerNumbers CheckerSums CheckerSoftmax.

Section Format.
Variable f : format.
Notation holds := (holds f).
Notation stands := (stands f).

(** * Rows *)

Definition terms (row : vector) (z : list value) : list term := map (fun p => scaled f (fst p) (snd p)) (combine row z).

Definition sums_of (rows : matrix) (extras : list vector) (z : list value) : option (list value) :=
  every (fun p => sum_up f (terms (fst p) z ++ map (known f) (snd p))) (combine rows extras).

Definition linear_of (rows : matrix) : list value -> option (list value) := sums_of rows (map (fun _ => []) rows).
Definition affine_of (rows : matrix) (bias : vector) : list value -> option (list value) := sums_of rows (map (fun b => [b]) bias).

Definition products_of (a b : list value) : list term := map (fun p => product f (fst p) (snd p)) (combine a b).

(** * Averages *)

(** [γ_(n+1)] at most. *)
Definition gap (n : nat) : dyadic := let t := Dyadic (Z.of_nat (S n)) (- prec f) in mul t (add one (add t t)).

(** A sum of values by the weights of softmax: near their hull, too. *)
Definition average (p values : list value) : option value :=
  let ts := products_of p values in
  let low := fold_right dmin (lo (hd (point zero) values)) (map lo values) in
  let high := fold_right dmax (hi (hd (point zero) values)) (map hi values) in
  let l := sub low (mul (gap (length p)) (absolute low)) in
  let h := add high (mul (gap (length p)) (absolute high)) in
  r <-- total_in f ts (dmax (add_all from ts) l) (dmin (add_all to ts) h);; Some (fst r).

(** * Feed-forward layers *)

Definition positive (x : value) : value := make (dmax (lo x) zero) (dmax (hi x) zero) (fine x).

(** What is known of the argument of a unit: it, its row and numbers, and how far it may be from what they say. *)
Record hidden := Hidden { argument : value; reads : vector; offsets : vector; off : dyadic }.

Definition hidden_of (z : list value) (p : vector * vector) : option hidden :=
  let ts := terms (fst p) z ++ map (known f) (snd p) in
  r <-- total_in f ts (add_all from ts) (add_all to ts);; Some (Hidden (fst r) (fst p) (snd p) (snd r)).

Definition sum_of (l : vector) : dyadic := fold_right add zero l.

(** [w a + b], as long as [b]. *)
Fixpoint axpy (w : dyadic) (a b : vector) : vector :=
  match a, b with x :: a, y :: b => add (mul w x) y :: axpy w a b | [], _ => b | _, [] => [] end.

(** An affine map, and an interval that is added to it. *)
Record affine_map := Affine { slopes : vector; least_rest : dyadic; most_rest : dyadic }.

(** A unit with a known sign is affine, but for its roundings; another adds what it may be. *)
Definition with_unit (a : affine_map) (w : dyadic) (h : hidden) : affine_map :=
  if le zero (lo (argument h)) then
    let c := mul w (sum_of (offsets h)) in
    let e := mul (absolute w) (off h) in
    Affine (axpy w (reads h) (slopes a)) (add (least_rest a) (sub c e)) (add (most_rest a) (add c e))
  else
    let t := scaled f w (positive (argument h)) in
    Affine (slopes a) (add (least_rest a) (from t)) (add (most_rest a) (to t)).

Definition with_units (row : vector) (units : list hidden) (a : affine_map) : affine_map :=
  fold_left (fun a p => with_unit a (fst p) (snd p)) (combine row units) a.

Definition basis (r n : nat) : vector := map (fun i => if (i =? r)%nat then one else zero) (seq 0 n).

(** Coordinate [r] behind the layer, from the row of [w2] and [b2]. *)
Definition behind (z : list value) (units : list hidden) (p : nat * (value * (vector * dyadic))) : option value :=
  let '(r, (x, (row, b))) := p in
  let ts := scaled f one x :: terms row (map (fun h => positive (argument h)) units) ++ [known f b] in
  let a := with_units row units (Affine (basis r (length z)) b b) in
  let map_terms := terms (slopes a) z in
  let l := add (add_all from map_terms) (least_rest a) in
  let h := add (add_all to map_terms) (most_rest a) in
  y <-- total_in f ts (dmax (add_all from ts) l) (dmin (add_all to ts) h);; Some (fst y).

Definition feed_forward_of (w1 : matrix) (b1 : vector) (w2 : matrix) (b2 : vector) (z : list value) : option (list value) :=
  units <-- every (hidden_of z) (combine w1 (map (fun b => [b]) b1));;
  every (behind z units) (numbered (combine z (combine w2 b2))).

(** * They hold *)

Lemma terms_stand row z xs : Forall2 holds z xs -> Forall2 stands (terms row z) (products (map F2R row) xs).
Proof.
  intros F. unfold terms, products. revert row. induction F as [|v x z xs H F IH]; intros [|w row]; simpl; constructor; auto.
  now apply scaled_stands.
Qed.

Lemma products_stand a b xs ys : Forall2 holds a xs -> Forall2 holds b ys -> Forall2 stands (products_of a b) (products xs ys).
Proof.
  intros F G. unfold products_of, products. revert b ys G. induction F as [|v x a xs H F IH]; intros b ys G.
  - destruct G; constructor.
  - destruct G; simpl; constructor; auto. now apply product_stands.
Qed.

Lemma known_stand l : Forall2 stands (map (known f) l) (map F2R l).
Proof. induction l; simpl; constructor; auto. apply known_stands. Qed.

Lemma Forall2_refl {A} (l : list A) : Forall2 eq l l.
Proof. induction l; constructor; auto. Qed.

Lemma sums_sound rows extras z xs ys : Forall2 holds z xs -> sums_of rows extras z = Some ys ->
  sure (sums f rows extras xs) (Forall2 holds ys).
Proof.
  intros F E. apply (each_sound _ _ _ _ _ _ _ E (Forall2_refl _)). intros a b v <- G. apply (sum_up_sound f _ _ _ G).
  apply Forall2_app; [now apply terms_stand | apply known_stand].
Qed.

Lemma positive_holds x r : holds x r -> holds (positive x) (Rmax r 0).
Proof.
  intros (B & M & N). apply holds_make.
  - rewrite !F2R_dmax, F2R_zero. split; apply Rle_max_compat_r; lra.
  - unfold Rmax. destruct (Rle_dec r 0); auto. apply multiple_0.
  - unfold Rmax. destruct (Rle_dec r 0); auto. apply number_0.
Qed.

(** * Averages hold *)

(** The weights of a head: none is negative, and they add up to 1 but for [γ_(n+1)]. *)
Definition weights (p : list value) (ps : list R) : Prop :=
  Forall2 holds p ps /\ Forall (fun w => 0 <= w) ps /\ Rabs (total ps - 1) <= gamma (u (prec f)) (length p + 1).

Lemma each_some {A B} (g : A -> outcomes B) l bs : each g l (Some bs) -> Forall2 (fun a b => g a (Some b)) l bs.
Proof.
  revert bs. induction l as [|a l IH]; simpl; intros bs H; [injection H as ->; constructor|].
  destruct H as [[_ E]|(b & Hb & [[_ E]|(cs & Hc & E)])]; try discriminate. injection E as ->. constructor; auto.
Qed.

Lemma shares_are_softmax xs ps : shares f xs (Some ps) -> softmax (emin f) (prec f) (theta f) xs ps.
Proof.
  intros [[_ E]|(d & Hd & [[_ E]|(e & He & [[_ E]|(S & HS & Hp)])])]; try discriminate.
  apply each_some in Hd, He, Hp. assert (Ne := sum_not_empty _ _ HS).
  assert (L : length xs = length e) by (transitivity (length d); [exact (Forall2_length_eq _ _ _ Hd) | exact (Forall2_length_eq _ _ _ He)]).
  exists (largest xs), d, e, S. split; [|split; [|split; [|split; [|split]]]]; auto.
  - destruct xs as [|x xs]; [simpl in L; lia|]. apply largest_in.
  - apply Forall_forall. apply largest_above.
  - clear - Hp. induction Hp as [|x p e ps [H|H] _ IH]; constructor; auto.
    + now apply By_division.
    + destruct H as [[_ E]|(r & Hr & H)]; [discriminate|]. now apply (By_reciprocal _ _ _ _ r).
Qed.

Lemma many n : (Z.of_nat n <= 2 ^ 20)%Z -> 4 * INR n * least_normal (emin f) (prec f) <= u (prec f) * u (prec f).
Proof.
  intros H. rewrite INR_IZR_INZ. apply IZR_le in H. change (IZR (2 ^ 20)) with (bpow radix2 20) in H.
  rewrite (least_normal_is f). unfold u. rewrite <- bpow_plus.
  apply Rle_trans with (bpow radix2 2 * bpow radix2 20 * bpow radix2 (least f)).
  - apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply Rmult_le_compat_l; [simpl; lra | exact H].
  - rewrite <- !bpow_plus. apply bpow_le. destruct f; simpl; lia.
Qed.

Lemma shares_length scores ps : shares_of f scores = Some ps ->
  length ps = length scores /\ (Z.of_nat (length scores) <= 2 ^ 20)%Z.
Proof.
  intros E. unfold shares_of in E. apply andThen_some in E as (d & Ed & E). apply andThen_some in E as (e & Ee & E).
  apply andThen_some in E as (S & ES & E). apply every_some, Forall2_length_eq in Ed, Ee, E.
  assert (Ln : length (numbered scores) = length scores) by (unfold numbered; rewrite combine_length, seq_length; lia).
  unfold sum_up, total_in in ES. rewrite map_length in ES. destruct (0 <? length e)%nat; [|discriminate].
  destruct (Z.leb_spec (Z.of_nat (length e)) (2 ^ 20)); [|discriminate]. lia.
Qed.

Theorem shares_are_weights scores xs ps : Forall2 holds scores xs -> shares_of f scores = Some ps -> sure (shares f xs) (weights ps).
Proof.
  intros F E r Hr. destruct (shares_length _ _ E) as [L1 L2]. destruct (shares_sound f _ _ _ F E r Hr) as (q & -> & Hq). exists q. split; auto. split; auto.
  apply shares_are_softmax in Hr. assert (L3 := Forall2_length_eq _ _ _ F). rewrite L1, L3. rewrite L3 in L2.
  assert (T := theta_is f). assert (U := u_pos (prec f)).
  assert (K : INR (length xs + 1) * u (prec f) < 1).
  { assert (K := few f _ L2). assert (V := u_half (prec f)). rewrite plus_INR. simpl (INR 1). lra. }
  apply (shares_near_one (emin f) (prec f) (theta f) xs q); auto.
  - split; [lra|]. destruct f; unfold theta; [apply (bpow_le radix2 _ (-1)) | apply (bpow_le radix2 _ (-1))]; lia.
  - apply (number_one f).
  - now apply many.
Qed.

Lemma fold_dmin_below d l a : In a (d :: l) -> F2R (fold_right dmin d l) <= F2R a.
Proof.
  induction l as [|x l IH]; simpl; intros [<-|I]; try tauto; try lra.
  - rewrite F2R_dmin. eapply Rle_trans; [apply Rmin_r | apply IH; now left].
  - rewrite F2R_dmin. destruct I as [->|I]; [apply Rmin_l|]. eapply Rle_trans; [apply Rmin_r | apply IH; now right].
Qed.

Lemma gap_spec n : (Z.of_nat n <= 2 ^ 20)%Z -> gamma (u (prec f)) (n + 1) <= F2R (gap n).
Proof.
  intros H. unfold gap. rewrite F2R_mul, !F2R_add, F2R_one.
  assert (K : F2R (Dyadic (Z.of_nat (S n)) (- prec f)) = INR (n + 1) * u (prec f)).
  { unfold F2R. cbn [Fnum Fexp]. now rewrite Nat.add_1_r, <- INR_IZR_INZ. }
  rewrite K. set (t := INR (n + 1) * u (prec f)). replace (1 + (t + t)) with (1 + 2 * t) by ring. unfold t.
  assert (E : INR (n + 1) * u (prec f) <= / 8).
  { assert (G := few f _ H). assert (V : u (prec f) <= bpow radix2 (- 4)) by (apply bpow_le; destruct f; simpl; lia).
    change (bpow radix2 (- 4)) with (/ 16) in V. rewrite plus_INR. simpl (INR 1). lra. }
  assert (U := u_pos (prec f)). assert (P := pos_INR (n + 1)). fold t in E |- *.
  unfold gamma. fold t. assert (0 <= t) by (unfold t; nra). apply Rmult_le_reg_r with (1 - t); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Theorem average_sound p values ps vs v : weights p ps -> Forall2 holds values vs -> length p = length values ->
  average p values = Some v -> sure (add_up f (products ps vs)) (holds v).
Proof.
  intros (F & P & G) H L E. unfold average in E. apply andThen_some in E as (r & E & V). injection V as <-.
  set (low := fold_right dmin _ _) in *. set (high := fold_right dmax _ _) in *. set (ts := products_of p values) in *.
  assert (T := products_stand _ _ _ _ F H). fold ts in T.
  assert (Few : (Z.of_nat (length p) <= 2 ^ 20)%Z).
  { unfold total_in in E. destruct (0 <? length ts)%nat; [|discriminate].
    destruct (Z.leb_spec (Z.of_nat (length ts)) (2 ^ 20)) as [B|]; [|discriminate].
    unfold ts, products_of in B. rewrite map_length, combine_length in B. lia. }
  assert (B : F2R low - F2R (gap (length p)) * Rabs (F2R low) <= total (products ps vs)
    <= F2R high + F2R (gap (length p)) * Rabs (F2R high)).
  { assert (Eq : total (products ps vs) = weighted (combine ps vs)) by reflexivity. rewrite Eq.
    apply hull_of_values.
    - apply Forall_forall. intros [w x] I. simpl. split.
      + rewrite Forall_forall in P. apply P. now apply in_combine_l in I.
      + apply in_combine_r in I. apply In_nth_error in I as [i I].
        destruct (Forall2_nth_error_l _ _ _ _ _ H I) as (y & Y & (Hy & _)). apply nth_error_In in Y.
        assert (A := fold_dmin_below (lo (hd (point zero) values)) (map lo values) (lo y) (or_intror (in_map lo _ _ Y))).
        assert (C := fold_dmax_above (hi (hd (point zero) values)) (map hi values) (hi y) (or_intror (in_map hi _ _ Y))).
        fold low in A. fold high in C. lra.
    - replace (map fst (combine ps vs)) with ps.
      + eapply Rle_trans; [exact G | now apply gap_spec].
      + assert (Len : length ps = length vs) by (rewrite <- (Forall2_length_eq _ _ _ F), <- (Forall2_length_eq _ _ _ H); auto).
        clear - Len. revert vs Len. induction ps as [|w ps IH]; intros [|x vs] Len; simpl; try discriminate; auto.
        f_equal. apply IH. simpl in Len. lia. }
  assert (S := total_stands f _ _ T).
  apply (sure_weaker _ (fun x => holds (fst r) x /\ Rabs (x - total (products ps vs)) <= F2R (snd r))); [tauto|].
  apply (total_in_sound f _ _ _ _ _ E T). rewrite F2R_dmax, F2R_dmin, F2R_sub, F2R_add, !F2R_mul, !F2R_absolute.
  split; [apply Rmax_lub | apply Rmin_glb]; lra.
Qed.

(** * Feed-forward layers hold *)

Notation dot row xs := (total (products (map (@F2R radix2) row) xs)).

Lemma dot_cons w row x xs : dot (w :: row) (x :: xs) = F2R w * x + dot row xs.
Proof. reflexivity. Qed.

Lemma products_cons a l x xs : total (products (a :: l) (x :: xs)) = a * x + total (products l xs).
Proof. reflexivity. Qed.

Lemma dot_nil xs : dot [] xs = 0.
Proof. reflexivity. Qed.

Lemma axpy_spec w a b xs : length b = length xs -> length (axpy w a b) = length xs /\ dot (axpy w a b) xs = F2R w * dot a xs + dot b xs.
Proof.
  revert b xs. induction a as [|x a IH]; intros b xs L.
  - simpl axpy. split; auto. rewrite dot_nil. ring.
  - destruct b as [|y b], xs as [|r xs]; try discriminate; simpl axpy.
    + split; auto. unfold products. simpl. unfold total. simpl. ring.
    + destruct (IH b xs) as [I1 I2]; [simpl in L; lia|]. split; [simpl; lia|]. rewrite !dot_cons, I2, F2R_add, F2R_mul. ring.
Qed.

Lemma basis_spec r xs x : nth_error xs r = Some x -> length (basis r (length xs)) = length xs /\ dot (basis r (length xs)) xs = x.
Proof.
  intros H. unfold basis. split; [now rewrite map_length, seq_length|].
  assert (Zeros : forall ys s, (r < s)%nat -> dot (map (fun i => if (i =? r)%nat then one else zero) (seq s (length ys))) ys = 0).
  { induction ys as [|y ys IH]; intros s L; [reflexivity|]. cbn [length seq map]. rewrite products_cons, IH by lia.
    destruct (Nat.eqb_spec s r); [lia|]. rewrite F2R_zero. ring. }
  assert (G : forall s i, r = (s + i)%nat -> nth_error xs i = Some x ->
    dot (map (fun i => if (i =? r)%nat then one else zero) (seq s (length xs))) xs = x); [|now apply (G 0%nat r)].
  clear H. induction xs as [|y ys IH]; intros s [|i] E H; try discriminate; cbn [length seq map]; rewrite products_cons.
  - injection H as ->. rewrite Nat.add_0_r in E. subst s. rewrite Nat.eqb_refl, F2R_one, Zeros by lia. ring.
  - destruct (Nat.eqb_spec s r); [lia|]. rewrite F2R_zero, (IH (S s) i) by (auto; lia). ring.
Qed.

(** The argument of a unit, [x], where the stream is [xs]. *)
Definition is_unit (xs : list R) (h : hidden) (x : R) : Prop :=
  holds (argument h) x /\ Rabs (x - (dot (reads h) xs + total (map F2R (offsets h)))) <= F2R (off h).

Lemma hidden_sound z xs p h : Forall2 holds z xs -> hidden_of z p = Some h ->
  sure (add_up f (products (map F2R (fst p)) xs ++ map F2R (snd p))) (is_unit xs h).
Proof.
  intros F E. unfold hidden_of in E. apply andThen_some in E as (r & E & V). injection V as <-.
  assert (T : Forall2 stands (terms (fst p) z ++ map (known f) (snd p)) (products (map F2R (fst p)) xs ++ map F2R (snd p))).
  { apply Forall2_app; [now apply terms_stand | apply known_stand]. }
  apply (sure_weaker _ (fun x => holds (fst r) x /\ Rabs (x - total (products (map F2R (fst p)) xs ++ map F2R (snd p))) <= F2R (snd r))).
  - intros x [H D]. rewrite total_app in D. split; auto.
  - apply (total_in_sound f _ _ _ _ _ E T). exact (total_stands f _ _ T).
Qed.

Lemma sum_of_spec l : F2R (sum_of l) = total (map F2R l).
Proof. unfold sum_of, total. induction l as [|a l IH]; simpl; [apply F2R_zero|]. now rewrite F2R_add, IH. Qed.

(** What an affine map with its rest may be. *)
Definition within_map (xs : list R) (a : affine_map) (y : R) : Prop :=
  length (slopes a) = length xs /\ F2R (least_rest a) <= y - dot (slopes a) xs <= F2R (most_rest a).

Lemma with_unit_spec xs a w h x y : is_unit xs h x -> within_map xs a y -> within_map xs (with_unit a w h) (y + F2R w * Rmax x 0).
Proof.
  intros [H D] [L B]. unfold with_unit. destruct (le_spec zero (lo (argument h))) as [P|P].
  - destruct (axpy_spec w (reads h) (slopes a) xs L) as [A1 A2]. split; auto. cbn [slopes least_rest most_rest].
    rewrite A2, !F2R_add, F2R_sub, !F2R_mul, F2R_absolute, sum_of_spec. destruct H as (H & _). rewrite F2R_zero in P.
    rewrite Rmax_left by lra. set (t := dot (reads h) xs + total (map F2R (offsets h))) in *.
    assert (E : Rabs (F2R w * (x - t)) <= Rabs (F2R w) * F2R (off h)).
    { rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos | exact D]. }
    apply Rabs_le_inv in E. unfold t in E. lra.
  - apply positive_holds in H. apply (scaled_stands f w) in H as (H & _). split; auto. cbn [slopes least_rest most_rest].
    rewrite !F2R_add. lra.
Qed.

Lemma with_units_spec xs row units us : Forall2 (is_unit xs) units us -> forall a y, within_map xs a y ->
  within_map xs (with_units row units a) (y + dot row (map (fun x => Rmax x 0) us)).
Proof.
  intros F. unfold with_units. revert row. induction F as [|h x units us H F IH]; intros [|w row] a y W.
  1, 2, 3: unfold products, total; simpl; rewrite Rplus_0_r; exact W.
  cbn [combine fold_left map fst snd]. rewrite products_cons, <- Rplus_assoc. apply IH. now apply with_unit_spec.
Qed.

Lemma behind_sound z xs units us r x y row b v : Forall2 holds z xs -> Forall2 (is_unit xs) units us ->
  nth_error xs r = Some y -> holds x y -> behind z units (r, (x, (row, b))) = Some v ->
  sure (add_up f (y :: products (map F2R row) (map (fun x => Rmax x 0) us) ++ [F2R b])) (holds v).
Proof.
  intros F G N H E. unfold behind in E. apply andThen_some in E as (w & E & V). injection V as <-.
  set (ts := _ :: _) in *. set (a := with_units _ _ _) in *. set (ys := y :: _).
  assert (T : Forall2 stands ts ys).
  { constructor; [now apply itself_stands|]. apply Forall2_app; [|apply (known_stand [b])]. apply terms_stand.
    clear - G. induction G as [|h u units us [H _] G IH]; simpl; constructor; auto. now apply positive_holds. }
  assert (W : within_map xs a (total ys)).
  { destruct (basis_spec r xs y N) as [B1 B2].
    assert (W0 : within_map xs (Affine (basis r (length z)) b b) (y + F2R b)).
    { rewrite (Forall2_length_eq _ _ _ F). split; auto. cbn [slopes least_rest most_rest]. rewrite B2. lra. }
    apply (with_units_spec xs row units us G) in W0. fold a in W0.
    replace (total ys) with (y + F2R b + dot row (map (fun x => Rmax x 0) us)); auto.
    unfold ys. rewrite total_cons, total_app. change (total [F2R b]) with (F2R b + 0). ring. }
  destruct W as [_ W]. assert (M := total_stands f _ _ (terms_stand (slopes a) z xs F)). assert (S := total_stands f _ _ T).
  apply (sure_weaker _ (fun x => holds (fst w) x /\ Rabs (x - total ys) <= F2R (snd w))); [tauto|].
  apply (total_in_sound f _ _ _ _ _ E T). rewrite F2R_dmax, F2R_dmin, !F2R_add.
  split; [apply Rmax_lub | apply Rmin_glb]; lra.
Qed.

Lemma Forall2_weaker {A B} (P Q : A -> B -> Prop) l m : (forall a b, P a b -> Q a b) -> Forall2 P l m -> Forall2 Q l m.
Proof. intros H. induction 1; constructor; auto. Qed.

Theorem feed_forward_sound w1 b1 w2 b2 z xs ys : Forall2 holds z xs -> feed_forward_of w1 b1 w2 b2 z = Some ys ->
  sure (feed_forward f w1 b1 w2 b2 xs) (Forall2 holds ys).
Proof.
  intros F E. unfold feed_forward_of in E. apply andThen_some in E as (units & Eu & E). unfold feed_forward.
  apply (sure_bind _ _ (Forall2 (is_unit xs) units)).
  { apply (each_sound _ _ _ _ _ _ _ Eu (Forall2_refl _)). intros a b v <- G. now apply (hidden_sound z xs a). }
  intros us Hu.
  assert (G : Forall2 (fun p x => nth_error xs (fst p) = Some (fst x) /\ holds (fst (snd p)) (fst x) /\ snd (snd p) = snd x)
    (numbered (combine z (combine w2 b2))) (combine xs (combine w2 b2))).
  { assert (C : Forall2 (fun p p' => holds (fst p) (fst p') /\ snd p = snd p') (combine z (combine w2 b2)) (combine xs (combine w2 b2))).
    { clear - F. generalize (combine w2 b2). induction F; intros [|w rest]; simpl; constructor; auto. }
    apply numbered_related in C. revert C. apply Forall2_weaker. intros p x (_ & B & H & Eq). split; auto.
    clear - B. revert B. generalize (fst p). generalize (combine w2 b2). induction xs as [|y l IH]; intros [|c rest] [|i] B; try discriminate.
    - simpl in *. now injection B as <-.
    - simpl in *. now apply (IH rest). }
  apply (each_sound _ _ _ _ _ _ _ E G). intros [r [x [row b]]] [y [row' b']] v (N & H & Eq) B.
  simpl in N, H, Eq |- *. injection Eq as <- <-. now apply (behind_sound z xs units us r x y row b v).
Qed.

End Format.
