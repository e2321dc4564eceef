(* Linked from THEOREMS.md#lemma7. *)
(** Lemma 7: the value map, feed-forward layers.

      outside    Z ← Z - (M+1) 1_d φ(uᵀZ),                    φ(t) = 1 for t ∉ [t_l, t_r],  else 0
      clear i    Z ← Z + e_i max(-e_iᵀZ, 0)                    i = 1, …, d
      window     Z ← Z + ((A_L)_j - g_c(L)_j) φ(uᵀZ - c),      φ(t) = 1 for -½ ≤ t < ½,      else 0

    The first two send tokens with an id outside of [[t_l, t_r]] to 0. The windows replace a token by its value: one for
    each context [L] and token [j], centred at [c = uᵀg_c(L)_j]. They act one after another, so a value must not lie in a
    window: every value's id is below every centre by more than ½. That hypothesis is missing in print.

    To have it, the values are divided by a power of two, and last layers of up to four ReLUs multiply back:

      rescale    Z ← Z + (2^k - 1)(ReLU(Z) - ReLU(-Z))        two rows per layer *)

From Formwright Require Import Numbers Transformer Ids Lemma6Layers Lemma5 Columns.

(** * The construction *)

Definition outside_layer (d : nat) (N : Z) (low high M : Z) : feed_forward :=
  FeedForward [map inj (radix d N)] [0] (window (inj low) (inj high) true (0, 0) (0, 1))
    (column (repeat (- (inj M + 1)) d)) (zeros d).

Definition clear_layer (d i : nat) : feed_forward := row_unit d i (- (1)) 0 relu.

Definition zero_outside (d : nat) (N : Z) (low high M : Z) : list feed_forward :=
  outside_layer d N low high M :: map (clear_layer d) (seq 0 d).

(** The window at [c]: it adds [change]. *)
Definition value_window (d : nat) (N : Z) (c : Z) (change : vec) : feed_forward :=
  FeedForward [map inj (radix d N)] [inj (- c)] (window (- half) half false (0, 1) (0, 0)) (column change) (zeros d).

(** What is to replace a token: its id and rows behind the contextual map, and the value. *)
Definition entry := ((Z * list Z) * vec)%type.

Definition vsub (a b : vec) : vec := zip_with Qcminus a b.

Definition value_layer (d : nat) (N : Z) (e : entry) : feed_forward :=
  value_window d N (fst (fst e)) (vsub (snd e) (token d N (fst e))).

Definition rescale_rows (d : nat) (gain : Qc) (rows : list nat) : feed_forward :=
  FeedForward (flat_map (fun i => [basis d i; scale (- (1)) (basis d i)]) rows) (flat_map (fun _ => [0; 0]) rows) relu
    (map (fun r => flat_map (fun i => if Nat.eqb i r then [gain; - gain] else [0; 0]) rows) (seq 0 d)) (zeros d).

(** The rows [0, …, d-1], two by two. *)
Fixpoint pairs (from d : nat) : list (list nat) :=
  match d with
  | O => []
  | S O => [[from]]
  | S (S d) => [from; S from] :: pairs (S (S from)) d
  end.

Definition power_of_two (k : nat) : Qc := inj (2 ^ Z.of_nat k).

(** Nothing where nothing was divided. *)
Definition rescale (d k : nat) : list feed_forward :=
  match k with O => [] | _ => map (rescale_rows d (power_of_two k - 1)) (pairs 0 d) end.

(** * The first two steps *)

Lemma mul_row r x : mul [r] x = [dot r x].
Proof. reflexivity. Qed.

Lemma vadd_scale_ones m : forall d x, length x = d -> vadd x (scale m (repeat 1 d)) = map (fun t => t + m) x.
Proof.
  induction d as [|d IH]; intros [|t x] L; simpl in *; try lia; auto.
  unfold vadd, scale in *. simpl. rewrite IH by lia. f_equal. ring.
Qed.

Lemma scale_repeat m c d : scale m (repeat c d) = repeat (m * c) d.
Proof. unfold scale. induction d; simpl; auto. now rewrite IHd. Qed.

Lemma feed_outside d N low high M x : length x = d ->
  feed (outside_layer d N low high M) x =
  map (fun t => if leb (inj low) (dot (map inj (radix d N)) x) && leb (dot (map inj (radix d N)) x) (inj high)
    then t else t - (inj M + 1)) x.
Proof.
  intros L. unfold feed, outside_layer, column. cbn [W1 b1 activation W2 b2]. rewrite mul_row. cbn [vadd zip_with map].
  rewrite mul_column. set (t := dot (map inj (radix d N)) x). replace (t + 0) with t by ring.
  assert (A : apply (window (inj low) (inj high) true (0, 0) (0, 1)) t = if leb (inj low) t && leb t (inj high) then 0 else 1).
  { unfold apply, window, leb, at_line. cbn. destruct (ltb t (inj low)); cbn; [ring|].
    destruct (negb (ltb (inj high) t)); cbn; ring. }
  rewrite A. destruct (leb (inj low) t && leb t (inj high)).
  - replace (scale 0 (repeat (- (inj M + 1)) d)) with (zeros d).
    + rewrite (vadd_zeros x), vadd_zeros by auto. symmetry. apply map_id.
    + unfold zeros. rewrite scale_repeat. f_equal. ring.
  - replace (scale 1 (repeat (- (inj M + 1)) d)) with (scale (- (inj M + 1)) (repeat 1 d)) by (rewrite !scale_repeat; f_equal; ring).
    rewrite vadd_scale_ones, vadd_zeros by (rewrite ?map_length; auto). reflexivity.
Qed.

Lemma feed_clear d : forall x, length x = d -> feed_all (map (clear_layer d) (seq 0 d)) x = map (fun t => if ltb t 0 then 0 else t) x.
Proof.
  intros x L. replace (map (clear_layer d) (seq 0 d)) with (flat_map (fun i => [clear_layer d i]) (seq 0 d))
    by (generalize (seq 0 d); induction l; simpl; congruence).
  apply feed_all_rows; auto. intros i y I Ly. unfold feed_all, clear_layer. cbn [fold_left].
  rewrite feed_row_unit by auto. apply alter_ext. intros t. unfold relu, apply, at_line. cbn.
  replace (- (1) * t + 0) with (- t) by ring.
  destruct (ltb_spec (- t) 0), (ltb_spec t 0); try (exfalso; qlra); try ring.
  assert (t = 0) by qlra. subst. ring.
Qed.

(** A token with its id in the interval and no negative entry stays. *)
Lemma zero_outside_keeps d N low high M x : length x = d ->
  inj low <= dot (map inj (radix d N)) x -> dot (map inj (radix d N)) x <= inj high -> Forall (fun t => 0 <= t) x ->
  feed_all (zero_outside d N low high M) x = x.
Proof.
  intros L A B C. unfold zero_outside, feed_all. cbn [fold_left]. rewrite feed_outside by auto.
  destruct (leb_spec (inj low) (dot (map inj (radix d N)) x)); [|easy].
  destruct (leb_spec (dot (map inj (radix d N)) x) (inj high)); [|easy]. cbn [andb]. rewrite map_id.
  fold (feed_all (map (clear_layer d) (seq 0 d)) x). rewrite feed_clear by auto.
  rewrite <- (map_id x) at 2. apply map_ext_in. intros t T. rewrite Forall_forall in C. specialize (C t T).
  destruct (ltb_spec t 0); auto. qlra.
Qed.

(** A token with its id outside and no entry above [M] becomes 0. *)
Lemma zero_outside_clears d N low high M x : length x = d ->
  dot (map inj (radix d N)) x < inj low \/ inj high < dot (map inj (radix d N)) x -> Forall (fun t => t <= inj M) x ->
  feed_all (zero_outside d N low high M) x = zeros d.
Proof.
  intros L A C. unfold zero_outside, feed_all. cbn [fold_left]. rewrite feed_outside by auto.
  replace (leb (inj low) (dot (map inj (radix d N)) x) && leb (dot (map inj (radix d N)) x) (inj high)) with false.
  2: { symmetry. apply andb_false_iff. destruct A; [left | right]; apply negb_false_iff; now destruct (ltb_spec (dot (map inj (radix d N)) x) (inj low)), (ltb_spec (inj high) (dot (map inj (radix d N)) x)). }
  match goal with |- fold_left _ _ ?y = _ => fold (feed_all (map (clear_layer d) (seq 0 d)) y) end.
  rewrite feed_clear by now rewrite map_length. rewrite map_map. subst d. clear A. unfold zeros.
  induction x as [|t x IH]; simpl; auto. inversion C; subst. rewrite IH by auto. f_equal.
  destruct (ltb_spec (t - (inj M + 1)) 0) as [|H]; auto. exfalso. apply H. qlra.
Qed.

(** * The windows *)

Lemma vadd_vsub : forall x a, length a = length x -> vadd x (vsub a x) = a.
Proof.
  induction x as [|t x IH]; intros [|s a] L; simpl in *; try lia; auto.
  unfold vadd, vsub in *. simpl. rewrite IH by lia. f_equal. ring.
Qed.

Lemma scale_one x : scale 1 x = x.
Proof. unfold scale. rewrite <- (map_id x) at 2. apply map_ext. intros. ring. Qed.

Lemma scale_zero x : scale 0 x = zeros (length x).
Proof. unfold scale, zeros. induction x; simpl; auto. rewrite IHx. f_equal. ring. Qed.

Lemma length_vsub a b : length a = length b -> length (vsub a b) = length a.
Proof. unfold vsub. revert b. induction a; intros [|]; simpl; intros; auto; try lia. Qed.

Lemma window_number c t :
  apply (window (- half) half false (0, 1) (0, 0)) (t + inj (- c)) =
  if ltb t (inj c - half) then 0 else if ltb t (inj c + half) then 1 else 0.
Proof.
  rewrite apply_window, inj_opp. unfold at_line.
  destruct (ltb_spec t (inj c - half)), (ltb_spec t (inj c + half)), (leb_spec (- half) (t + - inj c)), (ltb_spec (t + - inj c) half);
    cbn; try ring; exfalso; try qlra;
    repeat match goal with H : ~ _ |- _ => apply H; clear H; qlra end.
Qed.

Lemma feed_window d N c change x : length x = d -> length change = d ->
  let t := dot (map inj (radix d N)) x in
  feed (value_window d N c change) x =
  if ltb t (inj c - half) then x else if ltb t (inj c + half) then vadd x change else x.
Proof.
  intros L LC t. unfold feed, value_window, column. cbn [W1 b1 activation W2 b2]. rewrite mul_row. fold t.
  cbn [vadd zip_with map]. rewrite mul_column, window_number.
  assert (LV : forall k a b, length a = k -> length b = k -> length (vadd a b) = k).
  { clear. unfold vadd. induction k; intros [|] [|]; simpl; intros; try lia; auto. }
  destruct (ltb t (inj c - half)); [|destruct (ltb t (inj c + half))]; rewrite ?scale_one, ?scale_zero, ?LC.
  - now rewrite (vadd_zeros x), vadd_zeros by auto.
  - now rewrite vadd_zeros by auto.
  - now rewrite (vadd_zeros x), vadd_zeros by auto.
Qed.

Section Windows.
Variables (d : nat) (N : Z) (es : list entry) (lowest : Z).
Hypothesis fit : forall e, In e es -> fits d (fst e) /\ length (snd e) = d.
Hypothesis d1 : (1 <= d)%nat.
(** All centres are at [lowest] or above. *)
Hypothesis above : forall e, In e es -> (lowest <= fst (fst e))%Z.

Lemma length_token p : fits d p -> length (token d N p) = d.
Proof. unfold fits, token. simpl. rewrite map_length. lia. Qed.

(** A token far below all windows stays. *)
Lemma below_windows : forall fs, incl fs es -> forall x, length x = d -> dot (map inj (radix d N)) x < inj lowest - half ->
  feed_all (map (value_layer d N) fs) x = x.
Proof.
  unfold feed_all. induction fs as [|e fs IH]; intros I x L B; auto. cbn [map fold_left].
  assert (E : In e es) by (apply I; simpl; auto). destruct (fit e E) as [F1 F2]. specialize (above e E).
  apply inj_le in above. unfold value_layer at 2. rewrite feed_window; auto.
  - destruct (ltb_spec (dot (map inj (radix d N)) x) (inj (fst (fst e)) - half)) as [|H]; [|exfalso; apply H; qlra].
    apply IH; auto. intros z Z. apply I. simpl. auto.
  - rewrite length_vsub; rewrite ?length_token; auto.
Qed.

(** Under the hypothesis that print lacks (every value's id is below all centres by more than ½), a token at a
    centre gets its value, in any order of the windows. *)
Theorem lemma7 e : In e es -> (forall e', In e' es -> fst (fst e') = fst (fst e) -> e' = e) ->
  dot (map inj (radix d N)) (snd e) < inj lowest - half ->
  feed_all (map (value_layer d N) es) (token d N (fst e)) = snd e.
Proof.
  intros E U B. destruct (fit e E) as [F1 F2].
  assert (G : forall fs, incl fs es ->
    feed_all (map (value_layer d N) fs) (token d N (fst e)) = snd e \/
    (feed_all (map (value_layer d N) fs) (token d N (fst e)) = token d N (fst e) /\ ~ In e fs)).
  { unfold feed_all. induction fs as [|h fs IH] using rev_ind; intros I; [right; auto|].
    rewrite map_app, fold_left_app. cbn [map fold_left].
    assert (H : In h es) by (apply I, in_or_app; simpl; auto). destruct (fit h H) as [G1 G2].
    assert (LH : length (vsub (snd h) (token d N (fst h))) = d) by (rewrite length_vsub; rewrite ?length_token; auto).
    pose proof (above h H) as A. apply inj_le in A.
    destruct IH as [IH|[IH NI]]; [intros z Z; apply I, in_or_app; auto| |]; rewrite IH; unfold value_layer;
      rewrite feed_window by (rewrite ?length_token; auto).
    - left. destruct (ltb_spec (dot (map inj (radix d N)) (snd e)) (inj (fst (fst h)) - half)) as [|X]; auto.
      exfalso. apply X. qlra.
    - rewrite id_of_token by auto. destruct (Z.lt_total (fst (fst e)) (fst (fst h))) as [C|[C|C]].
      + right. destruct (ltb_spec (inj (fst (fst e))) (inj (fst (fst h)) - half)) as [|X].
        * split; auto. intros Y. apply in_app_or in Y. destruct Y as [|[->|[]]]; auto; lia.
        * exfalso. apply X. assert (Y : (fst (fst e) + 1 <= fst (fst h))%Z) by lia. apply inj_le in Y.
          rewrite inj_plus, inj_1 in Y. qlra.
      + left. rewrite (U h H) by auto. destruct (ltb_spec (inj (fst (fst e))) (inj (fst (fst e)) - half)); [exfalso; qlra|].
        destruct (ltb_spec (inj (fst (fst e))) (inj (fst (fst e)) + half)) as [|X]; [|exfalso; apply X; qlra].
        apply vadd_vsub. now rewrite length_token.
      + right. assert (Y : (fst (fst h) + 1 <= fst (fst e))%Z) by lia. apply inj_le in Y. rewrite inj_plus, inj_1 in Y.
        destruct (ltb_spec (inj (fst (fst e))) (inj (fst (fst h)) - half)); [exfalso; qlra|].
        destruct (ltb_spec (inj (fst (fst e))) (inj (fst (fst h)) + half)); [exfalso; qlra|].
        split; auto. intros W. apply in_app_or in W. destruct W as [|[->|[]]]; auto; lia. }
  destruct (G es (incl_refl _)) as [|[_ NI]]; easy.
Qed.
End Windows.

(** * Multiplying back *)

Definition on_rows (d : nat) (w : nat -> Qc) : vec := map w (seq 0 d).

Lemma on_rows_nth d x : length x = d -> on_rows d (fun i => nth i x 0) = x.
Proof.
  intros <-. unfold on_rows. induction x as [|t x IH]; auto. cbn [length seq map nth]. f_equal.
  rewrite <- seq_shift, map_map. exact IH.
Qed.

Lemma nth_on_rows d w i : (i < d)%nat -> nth i (on_rows d w) 0 = w i.
Proof.
  intros I. unfold on_rows. rewrite (nth_indep _ 0 (w O)) by (rewrite map_length, seq_length; lia).
  rewrite map_nth, seq_nth; auto.
Qed.

Lemma vadd_map {A} (f g : A -> Qc) l : vadd (map f l) (map g l) = map (fun a => f a + g a) l.
Proof. unfold vadd. induction l; simpl; auto. now rewrite IHl. Qed.

Lemma relu_difference g t : g * apply relu (1 * t + 0) + - g * apply relu (- (1) * t + 0) = g * t.
Proof.
  replace (1 * t + 0) with t by ring. replace (- (1) * t + 0) with (- t) by ring. unfold relu, apply, at_line. cbn.
  destruct (ltb_spec t 0), (ltb_spec (- t) 0); try ring; [exfalso; qlra|].
  assert (t = 0) by qlra.
  subst. ring.
Qed.

Lemma rescale_row d gain x r : length x = d -> forall rows, (forall i, In i rows -> (i < d)%nat) -> NoDup rows ->
  dot (flat_map (fun i => if Nat.eqb i r then [gain; - gain] else [0; 0]) rows)
    (map (apply relu) (vadd (map (fun row => dot row x) (flat_map (fun i => [basis d i; scale (- (1)) (basis d i)]) rows))
      (flat_map (fun _ => [0; 0]) rows)))
  = if in_dec Nat.eq_dec r rows then gain * nth r x 0 else 0.
Proof.
  intros L. induction rows as [|i rows IH]; intros I ND; [reflexivity|]. inversion ND; subst.
  specialize (IH (fun j J => I j (or_intror J)) H2).
  assert (B : dot (basis (length x) i) x = 1 * nth i x 0).
  { rewrite <- (scale_one (basis _ i)). now apply dot_basis. }
  unfold dot, vadd, mul in *. cbn [flat_map map app zip_with]. rewrite B.
  change (sum (zip_with Qcmult (scale (- (1)) (basis (length x) i)) x)) with (dot (scale (- (1)) (basis (length x) i)) x).
  rewrite dot_basis by auto. destruct (Nat.eqb_spec i r) as [->|NE]; cbn [app zip_with]; unfold sum in *; cbn [fold_right]; rewrite IH.
  - rewrite Qcplus_assoc, relu_difference. destruct (in_dec Nat.eq_dec r rows); [easy|].
    destruct (in_dec Nat.eq_dec r (r :: rows)) as [|NI]; [ring | exfalso; apply NI; simpl; auto].
  - destruct (in_dec Nat.eq_dec r rows), (in_dec Nat.eq_dec r (i :: rows)) as [Y|Y]; simpl in Y; try ring; exfalso; intuition.
Qed.

Lemma feed_rescale_rows d gain rows w : (forall i, In i rows -> (i < d)%nat) -> NoDup rows ->
  feed (rescale_rows d gain rows) (on_rows d w) =
  on_rows d (fun r => if in_dec Nat.eq_dec r rows then (1 + gain) * w r else w r).
Proof.
  intros I ND. assert (L : length (on_rows d w) = d) by (unfold on_rows; now rewrite map_length, seq_length).
  unfold feed, rescale_rows. cbn [W1 b1 activation W2 b2]. unfold mul. rewrite map_map.
  rewrite (map_ext_in _ (fun r => if in_dec Nat.eq_dec r rows then gain * w r else 0)).
  - unfold on_rows at 1. rewrite vadd_map, vadd_zeros by now rewrite map_length, seq_length.
    unfold on_rows. apply map_ext. intros r. destruct (in_dec Nat.eq_dec r rows); ring.
  - intros r R. apply in_seq in R. rewrite rescale_row by auto. rewrite nth_on_rows by lia. reflexivity.
Qed.

Lemma nodup_parts {A} (a b : list A) : NoDup (a ++ b) -> NoDup a /\ NoDup b.
Proof.
  induction a as [|x a IH]; intros H; simpl in H; [split; auto; constructor|]. inversion H; subst.
  destruct IH; auto. split; auto. constructor; auto. intros I. apply H2, in_or_app. auto.
Qed.

Lemma feed_all_rescale d gain : forall groups w, (forall i, In i (concat groups) -> (i < d)%nat) -> NoDup (concat groups) ->
  feed_all (map (rescale_rows d gain) groups) (on_rows d w) =
  on_rows d (fun r => if in_dec Nat.eq_dec r (concat groups) then (1 + gain) * w r else w r).
Proof.
  unfold feed_all. induction groups as [|rows groups IH]; intros w I ND; [reflexivity|]. cbn [map fold_left concat] in *.
  rewrite feed_rescale_rows.
  - rewrite IH.
    + unfold on_rows. apply map_ext. intros r.
      destruct (in_dec Nat.eq_dec r rows) as [A|A], (in_dec Nat.eq_dec r (concat groups)) as [C|C],
        (in_dec Nat.eq_dec r (rows ++ concat groups)) as [E|E]; auto;
        try (exfalso; apply E, in_or_app; tauto); try (exfalso; apply in_app_or in E; tauto).
      exfalso. apply in_split in A. destruct A as (a & b & ->). rewrite <- app_assoc in ND. apply NoDup_remove_2 in ND.
      apply ND, in_or_app. right. apply in_or_app. auto.
    + intros i J. apply I, in_or_app. auto.
    + now apply nodup_parts in ND.
  - intros i J. apply I, in_or_app. auto.
  - now apply nodup_parts in ND.
Qed.

Lemma concat_pairs d : forall from, concat (pairs from d) = seq from d.
Proof.
  enough (G : forall d from, concat (pairs from d) = seq from d /\ concat (pairs from (S d)) = seq from (S d)) by (intros; apply G).
  clear d. induction d as [|d IH]; intros from; [auto|]. split; [apply IH|]. cbn [pairs concat app seq].
  now rewrite (proj1 (IH (S (S from)))).
Qed.

(** The last layers of up to four ReLUs multiply by 2^k. *)
Theorem rescale_multiplies d k x : length x = d -> feed_all (rescale d k) x = scale (power_of_two k) x.
Proof.
  intros L. unfold rescale. destruct k as [|k]; [unfold feed_all; simpl; symmetry; apply scale_one|].
  rewrite <- (on_rows_nth d x) at 1 by auto. rewrite feed_all_rescale; rewrite concat_pairs.
  - transitivity (scale (power_of_two (S k)) (on_rows d (fun i => nth i x 0))); [|now rewrite on_rows_nth].
    unfold scale, on_rows. rewrite map_map. apply map_ext_in.
    intros r R. destruct (in_dec Nat.eq_dec r (seq 0 d)); [ring | easy].
  - intros i I. apply in_seq in I. lia.
  - apply seq_NoDup.
Qed.
