(* Linked from THEOREMS.md#lemma5. *)
(** Lemma 5: the quantiser, feed-forward layers with one hidden unit.

    For each row [i] of [d]: first a flag, then a step for each cell [k = 0, …, steps - 1].

      flag    Z ← Z + e_i φ(e_iᵀZ),      φ(t) = -t - F   for t < 0 or t ≥ steps,   else 0
      step k  Z ← Z + e_i φ(e_iᵀZ - k),  φ(t) = -t       for 0 ≤ t < 1,            else 0

    An entry in [[k, k+1)] becomes [k], an entry outside of [[0, steps)] becomes [-F]. Theorem 2 has [steps = N] and
    [F = N^{nd+1}]; Theorem 3 has [steps = nN] and no flag. *)

From Formwright Require Import Numbers Transformer Ids Lemma6Layers.

(** * The construction *)

(** [e_i], of [d] rows. *)
Fixpoint basis (d i : nat) : vec :=
  match d, i with
  | O, _ => []
  | S d, O => 1 :: zeros d
  | S d, S i => 0 :: basis d i
  end.

Definition column (v : vec) : matrix := map (fun e => [e]) v.

(** [Z ← Z + e_i φ(a e_iᵀZ + b)]. *)
Definition row_unit (d i : nat) (a b : Qc) (phi : piecewise) : feed_forward :=
  FeedForward [scale a (basis d i)] [b] phi (column (basis d i)) (zeros d).

(** [inside] on [[low, high)], or on [[low, high]] if closed, and [outside] elsewhere. *)
Definition window (low high : Qc) (closed : bool) (inside outside : line) : piecewise :=
  Piecewise low high closed outside inside outside.

Definition flag_phi (steps : Z) (F : Qc) : piecewise := window 0 (inj steps) false (0, 0) (- (1), - F).
Definition step_phi : piecewise := window 0 1 false (- (1), 0) (0, 0).

Definition flag_layer (d : nat) (steps : Z) (F : Qc) (i : nat) : feed_forward := row_unit d i 1 0 (flag_phi steps F).
Definition step_layer (d i : nat) (k : Z) : feed_forward := row_unit d i 1 (inj (- k)) step_phi.

(** The layers of a row; [flag] is [F], or nothing. *)
Definition quantise_row (d : nat) (steps : Z) (flag : option Qc) (i : nat) : list feed_forward :=
  match flag with Some F => [flag_layer d steps F i] | None => [] end
  ++ map (step_layer d i) (range (Z.to_nat steps)).

Definition quantiser (d : nat) (steps : Z) (flag : option Qc) : list feed_forward :=
  flat_map (quantise_row d steps flag) (seq 0 d).

(** [F = N^{nd+1}]. *)
Definition flag_magnitude (n d : nat) (N : Z) : Z := (N * (N ^ Z.of_nat d) ^ Z.of_nat n)%Z.

(** * A layer that touches one row *)

Fixpoint alter (i : nat) (f : Qc -> Qc) (x : vec) : vec :=
  match x, i with
  | [], _ => []
  | a :: x, O => f a :: x
  | a :: x, S i => a :: alter i f x
  end.

Lemma length_alter f x : forall i, length (alter i f x) = length x.
Proof. induction x; intros [|i]; simpl; auto. Qed.

Lemma alter_alter f g x : forall i, alter i g (alter i f x) = alter i (fun t => g (f t)) x.
Proof. induction x; intros [|i]; simpl; auto. now rewrite IHx. Qed.

Lemma alter_ext f g x : (forall t, f t = g t) -> forall i, alter i f x = alter i g x.
Proof. intros E. induction x; intros [|i]; simpl; auto; [now rewrite E | now rewrite IHx]. Qed.

Lemma alter_id x : forall i, alter i (fun t => t) x = x.
Proof. induction x; intros [|i]; simpl; auto. now rewrite IHx. Qed.

Lemma dot_zeros x : forall k, dot (zeros k) x = 0.
Proof. unfold dot. induction x; intros [|k]; simpl; auto. rewrite IHx. ring. Qed.

Lemma dot_basis a : forall d i x, length x = d -> dot (scale a (basis d i)) x = a * nth i x 0.
Proof.
  induction d as [|d IH]; intros i [|t x] L; simpl in L; try lia.
  - destruct i; cbn; ring.
  - destruct i as [|i]; unfold dot, scale; cbn [basis map zip_with sum fold_right nth].
    + fold (scale a (zeros d)). rewrite scale_zeros. fold (dot (zeros d) x). unfold sum. fold (sum (zip_with Qcmult (zeros d) x)).
      fold (dot (zeros d) x). rewrite dot_zeros. ring.
    + fold (sum (zip_with Qcmult (map (Qcmult a) (basis d i)) x)). fold (scale a (basis d i)).
      fold (dot (scale a (basis d i)) x). rewrite IH by lia. ring.
Qed.

Lemma vadd_basis m : forall d i x, length x = d -> (i < d)%nat -> vadd x (scale m (basis d i)) = alter i (fun t => t + m) x.
Proof.
  induction d as [|d IH]; intros i [|t x] L I; simpl in L; try lia.
  unfold vadd, scale. destruct i as [|i]; cbn [basis map zip_with alter].
  - fold (scale m (zeros d)). rewrite scale_zeros. fold (vadd x (zeros d)). rewrite vadd_zeros by lia. f_equal. ring.
  - fold (scale m (basis d i)). fold (vadd x (scale m (basis d i))). rewrite IH by lia. f_equal. ring.
Qed.

Lemma alter_nth i f x : alter i (fun t => t + f (nth i x 0)) x = alter i (fun t => t + f t) x.
Proof. revert i. induction x; intros [|i]; simpl; auto. now rewrite IHx. Qed.

Lemma feed_row_unit d i a b phi x : length x = d -> (i < d)%nat ->
  feed (row_unit d i a b phi) x = alter i (fun t => t + apply phi (a * t + b)) x.
Proof.
  intros L I. unfold feed, row_unit, column. cbn [W1 b1 activation W2 b2].
  change (mul [scale a (basis d i)] x) with [dot (scale a (basis d i)) x]. rewrite dot_basis by auto.
  cbn [vadd zip_with map]. rewrite mul_column, vadd_basis, vadd_zeros by (rewrite ?length_alter; auto).
  apply (alter_nth i (fun t => apply phi (a * t + b))).
Qed.

(** Layers that touch row [i] only, one after another. *)
Lemma feed_all_row d i (fs : list feed_forward) (g : feed_forward -> Qc -> Qc) :
  (forall f, In f fs -> forall x, length x = d -> feed f x = alter i (g f) x) ->
  forall x, length x = d -> feed_all fs x = alter i (fun t => fold_left (fun t f => g f t) fs t) x.
Proof.
  unfold feed_all. induction fs as [|f fs IH]; intros A x L; cbn [fold_left]; [symmetry; apply alter_id|].
  rewrite A by (simpl; auto). rewrite IH by (rewrite ?length_alter; auto; intros; apply A; simpl; auto).
  now rewrite alter_alter.
Qed.

(** Rows one after another, each in the same way. *)
Lemma feed_all_rows d (rows : nat -> list feed_forward) (h : Qc -> Qc) :
  (forall i x, (i < d)%nat -> length x = d -> feed_all (rows i) x = alter i h x) ->
  forall x, length x = d -> feed_all (flat_map rows (seq 0 d)) x = map h x.
Proof.
  intros R. assert (A : forall a pre x, alter (length pre) h (pre ++ a :: x) = pre ++ h a :: x).
  { induction pre; intros; simpl; auto. now rewrite IHpre. }
  assert (G : forall x pre, (length pre + length x = d)%nat ->
    feed_all (flat_map rows (seq (length pre) (length x))) (pre ++ x) = pre ++ map h x).
  { induction x as [|a x IH]; intros pre L; [reflexivity|]. cbn [length seq flat_map map].
    unfold feed_all. rewrite fold_left_app. fold (feed_all (rows (length pre)) (pre ++ a :: x)).
    simpl length in L. rewrite R by (rewrite ?app_length; simpl; lia). rewrite A.
    specialize (IH (pre ++ [h a])). rewrite app_length, <- !app_assoc in IH. simpl in IH.
    rewrite Nat.add_1_r in IH. apply IH. lia. }
  intros x L. specialize (G x [] ltac:(simpl; lia)). rewrite L in G. exact G.
Qed.

(** * What happens to a number *)

Lemma apply_window low high inside outside t :
  apply (window low high false inside outside) t = at_line (if leb low t && ltb t high then inside else outside) t.
Proof.
  unfold apply, window, leb. cbn. destruct (ltb t low); cbn; auto. now destruct (ltb t high).
Qed.

(** The cell of a number, or the flag. *)
Definition cell (steps : Z) (F : Z) (t : Qc) : Z := if leb 0 t && ltb t (inj steps) then floor t else (- F)%Z.

Lemma flag_number steps F t :
  t + apply (flag_phi steps F) (1 * t + 0) = if leb 0 t && ltb t (inj steps) then t else - F.
Proof.
  unfold flag_phi. rewrite apply_window. replace (1 * t + 0) with t by ring.
  destruct (leb 0 t && ltb t (inj steps)); unfold at_line; cbn; ring.
Qed.

Lemma step_number k t : t + apply step_phi (1 * t + inj (- k)) = if Z.eq_dec (floor t) k then inj k else t.
Proof.
  replace (1 * t + inj (- k)) with (t - inj k) by (rewrite inj_opp; ring).
  unfold step_phi. rewrite apply_window. pose proof (floor_low t) as A. pose proof (floor_high t) as B.
  destruct (Z.eq_dec (floor t) k) as [<-|NE].
  - rewrite inj_plus, inj_1 in B. destruct (leb_spec 0 (t - inj (floor t))) as [|C]; [|exfalso; apply C; qlra].
    destruct (ltb_spec (t - inj (floor t)) 1) as [|C]; [|exfalso; apply C; qlra]. unfold at_line. cbn. ring.
  - destruct (leb_spec 0 (t - inj k)) as [C|C]; [|unfold at_line; cbn; ring].
    destruct (ltb_spec (t - inj k) 1) as [E|E]; [|unfold at_line; cbn; ring].
    exfalso. apply NE. apply floor_unique; rewrite ?inj_plus, ?inj_1; qlra.
Qed.

Lemma steps_number t : forall K,
  fold_left (fun t k => t + apply step_phi (1 * t + inj (- k))) (range K) t
  = if leb 0 t && ltb t (inj (Z.of_nat K)) then inj (floor t) else t.
Proof.
  assert (FI : forall z, floor (inj z) = z) by (intros; apply floor_unique; [qlra | apply inj_lt; lia]).
  pose proof (floor_low t) as A. pose proof (floor_high t) as B.
  induction K as [|K IH].
  - change (inj (Z.of_nat 0)) with 0. destruct (leb_spec 0 t), (ltb_spec t 0); simpl; auto. exfalso. qlra.
  - rewrite range_S, fold_left_app, IH. cbn [fold_left]. rewrite step_number.
    rewrite Nat2Z.inj_succ, <- Z.add_1_r, inj_plus, inj_1.
    destruct (leb_spec 0 t) as [T|T]; cbn [andb].
    + destruct (ltb_spec t (inj (Z.of_nat K))) as [U|U].
      * rewrite FI. destruct (ltb_spec t (inj (Z.of_nat K) + 1)) as [|V]; [|exfalso; apply V; qlra].
        destruct (Z.eq_dec (floor t) (Z.of_nat K)); congruence.
      * destruct (Z.eq_dec (floor t) (Z.of_nat K)) as [E|E].
        -- rewrite E, inj_plus, inj_1 in B. destruct (ltb_spec t (inj (Z.of_nat K) + 1)); [congruence | easy].
        -- destruct (ltb_spec t (inj (Z.of_nat K) + 1)) as [V|V]; auto. exfalso. apply E, floor_unique.
           ++ destruct (Qclt_le_dec t (inj (Z.of_nat K))); easy.
           ++ now rewrite inj_plus, inj_1.
    + destruct (Z.eq_dec (floor t) (Z.of_nat K)) as [E|E]; auto. exfalso. apply T. rewrite E in A.
      assert (inj 0 <= inj (Z.of_nat K)) by (apply inj_le; lia). rewrite inj_0 in *. qlra.
Qed.

(** * Lemma 5 *)

Lemma quantise_row_is d steps flag i x : (0 <= steps)%Z -> (i < d)%nat -> length x = d ->
  feed_all (quantise_row d steps flag i) x =
  alter i (fun t => let t := match flag with Some F => if leb 0 t && ltb t (inj steps) then t else - F | None => t end in
    if leb 0 t && ltb t (inj steps) then inj (floor t) else t) x.
Proof.
  intros S I L.
  assert (G : forall x, length x = d -> feed_all (map (step_layer d i) (range (Z.to_nat steps))) x =
    alter i (fun t => if leb 0 t && ltb t (inj steps) then inj (floor t) else t) x).
  { clear x L. intros x L. pose proof (fun t => steps_number t (Z.to_nat steps)) as SN.
    rewrite Z2Nat.id in SN by auto. rewrite <- (alter_ext _ _ x SN). clear SN.
    generalize (range (Z.to_nat steps)). intros ks. revert x L.
    induction ks as [|k ks IH]; intros x L; cbn [map fold_left]; [symmetry; apply alter_id|].
    unfold feed_all in *. cbn [fold_left]. unfold step_layer at 2. rewrite feed_row_unit by auto.
    rewrite IH by now rewrite length_alter. apply alter_alter. }
  unfold quantise_row. destruct flag as [F|]; [|now rewrite G].
  unfold feed_all. rewrite fold_left_app. cbn [fold_left]. unfold flag_layer. rewrite feed_row_unit by auto.
  fold (feed_all (map (step_layer d i) (range (Z.to_nat steps)))
    (alter i (fun t => t + apply (flag_phi steps F) (1 * t + 0)) x)).
  rewrite G by now rewrite length_alter. rewrite alter_alter. apply alter_ext. intros t. now rewrite flag_number.
Qed.

(** The d(N+1) layers send every entry to the lower end of its cell, and what is outside of [0, N) to -F. *)
Theorem lemma5 d steps F x : (0 <= steps)%Z -> (0 < F)%Z -> length x = d ->
  feed_all (quantiser d steps (Some (inj F))) x = map (fun t => inj (cell steps F t)) x.
Proof.
  intros S P L. unfold quantiser. apply feed_all_rows; auto. intros i y I Ly.
  rewrite quantise_row_is by auto. apply alter_ext. intros t. cbv zeta. unfold cell.
  destruct (leb 0 t && ltb t (inj steps)) eqn:E; [now rewrite E|]. rewrite <- inj_opp.
  destruct (leb_spec 0 (inj (- F))) as [C|]; auto. exfalso. rewrite <- inj_0, inj_le in C. lia.
Qed.

(** Without the flag, inside of the box, the layers of Lemma 5 do the same. *)
Theorem lemma5_inside d steps x : (0 <= steps)%Z -> length x = d -> Forall (fun t => 0 <= t /\ t < inj steps) x ->
  feed_all (quantiser d steps None) x = map (fun t => inj (floor t)) x.
Proof.
  intros S L B. unfold quantiser.
  rewrite (feed_all_rows d _ (fun t => if leb 0 t && ltb t (inj steps) then inj (floor t) else t)); auto.
  - apply map_ext_in. intros t T. rewrite Forall_forall in B. destruct (B t T) as [X Y].
    destruct (leb_spec 0 t); [|easy]. now destruct (ltb_spec t (inj steps)).
  - intros i y I Ly. now rewrite quantise_row_is by auto.
Qed.
