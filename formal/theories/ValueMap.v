(* Linked from THEOREMS.md#lemma7. *)
(** The value map for a family of contexts, with the power of two that Lemma 7 needs.

    A context is named by the ids of its columns, [n] numbers. Behind the contextual map its tokens have the ids [after]
    and, below the first row, the entries [rows]. *)

From Formwright Require Import Numbers Transformer Ids Lemma6Layers Lemma5 Columns Lemma7.

Record family := Family {
  contexts : list (list Z);
  after : list Z -> list Z;
  rows : list Z -> list (list Z);
  lowest : Z (* no id of a context is smaller *)
}.

(** * The construction *)

(** The smallest [k] with [reach / 2^k < limit]. *)
Fixpoint halvings (fuel : nat) (reach limit : Qc) : nat :=
  match fuel with O => O | S f => if ltb reach limit then O else S (halvings f (reach * half) limit) end.

Definition exponent (reach limit : Qc) : nat := halvings (S (Z.to_nat (Z.log2_up (floor reach + 1)))) reach limit.

(** For values of at most [B]: their ids are at most [B (1 + N + … + N^{d-1})]. *)
Definition value_exponent (d : nat) (N : Z) (lowest : Z) (B : Qc) : nat :=
  exponent (B * inj (repunit d N)) (inj lowest - half).

(** The last token first: ids increase from token to token. *)
Definition entries (F : family) (values : list Z -> sequence) (k : nat) (s : list Z) : list entry :=
  rev (combine (combine (after F s) (rows F s)) (map (scale (/ power_of_two k)) (values s))).

Definition value_map (d : nat) (N : Z) (F : family) (values : list Z -> sequence) (B : Qc) : list feed_forward :=
  let k := value_exponent d N (lowest F) B in
  map (value_layer d N) (flat_map (entries F values k) (contexts F)) ++ rescale d k.

(** * The power of two *)

Lemma two : inj 2 = 1 + 1.
Proof. now apply Qc_is_canon. Qed.

Lemma halves : half + half = 1.
Proof. now apply Qc_is_canon. Qed.

Lemma power_of_two_S k : power_of_two (S k) = inj 2 * power_of_two k.
Proof. unfold power_of_two. now rewrite Nat2Z.inj_succ, Z.pow_succ_r, inj_mult by lia. Qed.

Lemma power_of_two_pos k : 0 < power_of_two k.
Proof. unfold power_of_two. rewrite <- inj_0. apply inj_lt. apply Z.pow_pos_nonneg; lia. Qed.

Lemma halvings_enough : forall fuel reach limit, reach < power_of_two fuel * limit ->
  reach < power_of_two (halvings fuel reach limit) * limit.
Proof.
  induction fuel as [|fuel IH]; intros reach limit H; auto. cbn [halvings].
  destruct (ltb_spec reach limit) as [L|L].
  - change (power_of_two 0) with 1. replace (1 * limit) with limit by ring. auto.
  - rewrite power_of_two_S in *. specialize (IH (reach * half) limit).
    assert (D : forall y, reach < inj 2 * y * limit <-> reach * half < y * limit).
    { intros y. rewrite two. replace ((1 + 1) * y * limit) with (y * limit + y * limit) by ring.
      assert (E : reach * half + reach * half = reach).
      { replace (reach * half + reach * half) with (reach * (half + half)) by ring. rewrite halves. ring. }
      generalize dependent (reach * half). generalize (y * limit). intros z h E. split; intros; qlra. }
    apply D, IH, D, H.
Qed.

Lemma exponent_enough reach limit : half <= limit -> reach < power_of_two (exponent reach limit) * limit.
Proof.
  intros L. apply halvings_enough. rewrite power_of_two_S. set (f := floor reach).
  pose proof (floor_high reach) as H. fold f in H.
  assert (P : inj (f + 1) <= power_of_two (Z.to_nat (Z.log2_up (f + 1)))).
  { unfold power_of_two. apply inj_le. rewrite Z2Nat.id by apply Z.log2_up_nonneg.
    destruct (Z.le_gt_cases (f + 1) 1) as [C|C].
    - pose proof (Z.pow_pos_nonneg 2 (Z.log2_up (f + 1)) ltac:(lia) (Z.log2_up_nonneg _)). lia.
    - apply Z.log2_up_spec. lia. }
  set (p := power_of_two _) in *. assert (0 < p) by apply power_of_two_pos.
  assert (p * half <= p * limit) by (apply mult_pos_le; qlra).
  replace (inj 2 * p * limit) with (inj 2 * (p * limit)) by ring.
  assert (p * half + p * half = p) by (rewrite <- Qcmult_plus_distr_r, halves; ring).
  rewrite two. replace ((1 + 1) * (p * limit)) with (p * limit + p * limit) by ring. qlra.
Qed.

(** * The ids of values *)

Lemma dot_scale u c : forall a, dot u (scale c a) = c * dot u a.
Proof.
  unfold dot, scale, sum. induction u as [|x u IH]; intros [|y a]; cbn [map zip_with fold_right]; try ring. rewrite IH. ring.
Qed.

Lemma dot_bounded B : forall R a, length a = length R -> (forall r, In r R -> (0 <= r)%Z) -> Forall (fun t => t <= B) a ->
  dot (map inj R) a <= B * inj (fold_right Z.add 0%Z R).
Proof.
  unfold dot, sum. induction R as [|r R IH]; intros [|t a] L P H; simpl in L; try lia; cbn [map zip_with fold_right].
  - change (inj 0) with 0. replace (B * 0) with 0 by ring. apply Qcle_refl.
  - inversion H; subst. specialize (IH a ltac:(lia) ltac:(intros; apply P; simpl; auto) H3).
    rewrite inj_plus. assert (0 <= inj r) by (rewrite <- inj_0; apply inj_le, P; simpl; auto).
    pose proof (mult_pos_le t B (inj r) H0 H2). replace (B * (inj r + inj (fold_right Z.add 0%Z R)))
      with (inj r * B + B * inj (fold_right Z.add 0%Z R)) by ring. qlra.
Qed.

Lemma radix_nonneg d N r : (2 <= N)%Z -> In r (radix d N) -> (0 <= r)%Z.
Proof. intros N2 I. unfold radix in I. apply in_map_iff in I. destruct I as (i & <- & _). apply Z.pow_nonneg. lia. Qed.

Lemma scaled_value d N lowest B v : (2 <= N)%Z -> (1 <= lowest)%Z -> length v = d -> Forall (fun t => t <= B) v ->
  dot (map inj (radix d N)) (scale (/ power_of_two (value_exponent d N lowest B)) v) < inj lowest - half.
Proof.
  intros N2 L1 Lv H. rewrite dot_scale. unfold value_exponent.
  assert (Lim : half <= inj lowest - half).
  { apply inj_le in L1. rewrite inj_1 in L1. pose proof halves. qlra. }
  pose proof (exponent_enough (B * inj (repunit d N)) _ Lim) as E. set (p := power_of_two _) in *.
  assert (P : 0 < p) by apply power_of_two_pos.
  pose proof (dot_bounded B (radix d N) v) as DB. fold (repunit d N) in DB.
  specialize (DB ltac:(unfold radix; now rewrite map_length, seq_length, Lv) (fun r => radix_nonneg d N r N2) H).
  set (t := dot _ _) in *. set (lim := inj lowest - half) in *.
  assert (t < p * lim) by qlra.
  destruct (Qclt_le_dec (/ p * t) lim) as [|C]; auto. exfalso.
  apply (mult_pos_le _ _ p) in C; [|qlra]. replace (p * (/ p * t)) with t in C; [qlra|].
  field. intros Z. rewrite Z in P. discriminate.
Qed.

Lemma unscale c v : c <> 0 -> scale c (scale (/ c) v) = v.
Proof.
  intros C. unfold scale. rewrite map_map. rewrite <- (map_id v) at 2. apply map_ext. intros. field. auto.
Qed.

(** * The value map looks up the value *)

Section LooksUp.
Variables (n d : nat) (N : Z) (F : family) (values : list Z -> sequence) (B : Qc).
Hypothesis N2 : (2 <= N)%Z.
Hypothesis d1 : (1 <= d)%nat.
Hypothesis lowest1 : (1 <= lowest F)%Z.
Hypothesis shapes : forall s, In s (contexts F) ->
  length (after F s) = n /\ length (rows F s) = n /\ length (values s) = n /\
  Forall (fun r => length r = (d - 1)%nat) (rows F s) /\
  Forall (fun v => length v = d /\ Forall (fun t => t <= B) v) (values s).
Hypothesis above : forall s x, In s (contexts F) -> In x (after F s) -> (lowest F <= x)%Z.
(** An id names the context and the token. *)
Hypothesis unique : forall s s' i i', In s (contexts F) -> In s' (contexts F) -> (i < n)%nat -> (i' < n)%nat ->
  nth i (after F s) 0%Z = nth i' (after F s') 0%Z -> s = s' /\ i = i'.

Notation k := (value_exponent d N (lowest F) B).
Notation es := (flat_map (entries F values k) (contexts F)).

Definition entry_of (s : list Z) (i : nat) : entry :=
  ((nth i (after F s) 0%Z, nth i (rows F s) []), scale (/ power_of_two k) (nth i (values s) [])).

Lemma in_entries e : In e es -> exists s i, In s (contexts F) /\ (i < n)%nat /\ e = entry_of s i.
Proof.
  intros I. apply in_flat_map in I. destruct I as (s & S & I). unfold entries in I. apply in_rev in I.
  destruct (shapes s S) as (A & R & V & _). apply In_nth with (d := ((0%Z, []), scale (/ power_of_two k) [])) in I.
  destruct I as (i & L & E). rewrite combine_length, combine_length, map_length, A, R, V in L.
  exists s, i. split; auto. split; [lia|]. rewrite <- E, combine_nth, combine_nth, map_nth; auto;
    rewrite ?combine_length, ?map_length; lia.
Qed.

Lemma entry_in s i : In s (contexts F) -> (i < n)%nat -> In (entry_of s i) es.
Proof.
  intros S I. apply in_flat_map. exists s. split; auto. unfold entries. rewrite <- in_rev.
  destruct (shapes s S) as (A & R & V & _).
  assert (E : nth i (combine (combine (after F s) (rows F s)) (map (scale (/ power_of_two k)) (values s)))
    ((0%Z, []), scale (/ power_of_two k) []) = entry_of s i).
  { rewrite combine_nth, combine_nth, map_nth; auto; rewrite ?combine_length, ?map_length; lia. }
  rewrite <- E. apply nth_In. rewrite combine_length, combine_length, map_length. lia.
Qed.

Lemma entry_fits e : In e es -> fits d (fst e) /\ length (snd e) = d.
Proof.
  intros E. apply in_entries in E. destruct E as (s & i & S & I & ->). destruct (shapes s S) as (A & R & V & Fr & Fv).
  rewrite Forall_forall in Fr, Fv. split.
  - apply Fr. cbn [entry_of fst snd]. apply nth_In. lia.
  - cbn [entry_of snd]. unfold scale. rewrite map_length. apply Fv, nth_In. lia.
Qed.

(** The value map with the power of two chosen as the product chooses it: the hypothesis of Lemma 7 holds, and every
    token of a context gets its value. *)
Theorem value_map_looks_up s i : In s (contexts F) -> (i < n)%nat ->
  feed_all (value_map d N F values B) (token d N (nth i (after F s) 0%Z, nth i (rows F s) [])) = nth i (values s) [].
Proof.
  intros S I. unfold value_map, feed_all. rewrite fold_left_app. change (nth i (after F s) 0%Z, nth i (rows F s) []) with (fst (entry_of s i)).
  fold (feed_all (map (value_layer d N) es) (token d N (fst (entry_of s i)))).
  destruct (shapes s S) as (A & R & V & Fr & Fv). rewrite Forall_forall in Fv.
  destruct (Fv (nth i (values s) [])) as [Lv Bv]; [apply nth_In; lia|].
  rewrite (lemma7 d N es (lowest F)); auto using entry_fits, entry_in.
  - cbn [entry_of snd]. fold (feed_all (rescale d k) (scale (/ power_of_two k) (nth i (values s) []))).
    rewrite rescale_multiplies by (unfold scale; now rewrite map_length). apply unscale.
    pose proof (power_of_two_pos k) as P. intros Z. rewrite Z in P. discriminate.
  - intros e E. apply in_entries in E. destruct E as (s' & i' & S' & I' & ->). apply above with s'; auto. apply nth_In.
    destruct (shapes s' S') as (A' & _). cbn [entry_of fst]. lia.
  - intros e E. apply in_entries in E. destruct E as (s' & i' & S' & I' & ->). cbn [entry_of fst]. intros H.
    apply unique in H; auto. destruct H as [-> ->]. reflexivity.
  - cbn [entry_of snd]. now apply scaled_value.
Qed.

(** A token at 0 stays there. *)
Theorem value_map_keeps_zero : feed_all (value_map d N F values B) (zeros d) = zeros d.
Proof.
  assert (Lz : length (zeros d) = d) by apply repeat_length.
  unfold value_map, feed_all. rewrite fold_left_app. fold (feed_all (map (value_layer d N) es) (zeros d)).
  rewrite (below_windows d N es (lowest F)); auto using incl_refl, entry_fits.
  - fold (feed_all (rescale d k) (zeros d)). rewrite rescale_multiplies by auto. apply scale_zeros.
  - intros e E. apply in_entries in E. destruct E as (s' & i' & S' & I' & ->). apply above with s'; auto. apply nth_In.
    destruct (shapes s' S') as (A' & _). cbn [entry_of fst]. lia.
  - replace (dot (map inj (radix d N)) (zeros d)) with 0.
    + apply inj_le in lowest1. rewrite inj_1 in lowest1. apply Qclt_le_trans with (y := 1 - half); [reflexivity | qlra].
    + symmetry. rewrite <- (scale_zeros 0 d), dot_scale. ring.
Qed.
End LooksUp.
