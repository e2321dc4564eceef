(* Linked from THEOREMS.md#theorem3. *)
(** The contextual map of Theorem 3, with positions as repaired.

    Token 1 gets the position [n-1], token [j ≥ 2] the position [j-2], on every row and in units of the box's side. So the
    ids of token [j] lie in [[s_j, s_j + D-1]], [s_j] the position times [N (1 + N + … + N^{d-1})], and these ranges do not
    meet. The sweep visits the ranges of the tokens [2, …, n]. Token 1 has the largest id and is never shifted:

      l̃_1 = l_1,      l̃_j = l_j + D (l̃_{j-1} - l_j),

    and the last layer adds [n N D^n l̃_n] to all. *)

From Formwright Require Import Numbers Transformer Ids Lemma6Layers Lemma6 Columns.
Local Open Scope Z_scope.

(** * The construction *)

Definition position (n j : nat) : Z := match j with O => Z.of_nat n - 1 | S i => Z.of_nat i end.

(** [N (1 + N + … + N^{d-1})]. *)
Definition unit (d : nat) (N : Z) : Z := N * repunit d N.

(** [s_j], [j] from 0. *)
Definition start (n d : nat) (N : Z) (j : nat) : Z := position n j * unit d N.

(** The windows of token [j]. *)
Definition windows_of (n d : nat) (N : Z) (j : nat) : list Z :=
  map (Z.add (start n d N j)) (range (Z.to_nat (N ^ Z.of_nat d))).

Definition positional_windows (n d : nat) (N : Z) : list Z := flat_map (windows_of n d N) (seq 1 (n - 1)).

(** [n N D^n]. *)
Definition positional_scale (n d : nat) (N : Z) : Z := Z.of_nat n * N * (N ^ Z.of_nat d) ^ Z.of_nat n.

Definition positional_map (n d : nat) (N : Z) : list layer :=
  map (selective_shift d N) (positional_windows n d N) ++ [global_shift d N (positional_scale n d N)].

(** [l̃_2, …, l̃_n] from [l̃_1] and [l_2, …, l_n]. *)
Fixpoint follow (D a : Z) (ls : list Z) : list Z :=
  match ls with [] => [] | l :: rest => let b := l + D * (a - l) in b :: follow D b rest end.

(** The ids behind the sweep. *)
Definition swept (D : Z) (ls : list Z) : list Z := match ls with [] => [] | l :: rest => l :: follow D l rest end.

(** And behind the last layer. *)
Definition positional_ids (n d : nat) (N : Z) (ls : list Z) : list Z :=
  let sw := swept (N ^ Z.of_nat d) ls in map (fun l => l + positional_scale n d N * last sw 0) sw.

(** * The sweep *)

Lemma follow_last D : forall ls a, last (follow D a ls) a = recur D a ls.
Proof.
  induction ls as [|l ls IH]; intros a; [reflexivity|]. cbn [follow recur fold_left].
  rewrite last_cons. apply IH.
Qed.

Lemma length_follow D : forall ls a, length (follow D a ls) = length ls.
Proof. induction ls; intros; simpl; auto. Qed.

(** Windows that no id is in do nothing. *)
Lemma steps_miss D vs ls : (forall v, In v vs -> ~ In v ls) -> fold_left (step D) vs ls = ls.
Proof.
  revert ls. induction vs as [|v vs IH]; intros ls H; auto. cbn [fold_left].
  assert (E : step D ls v = ls).
  { unfold step. transitivity (map (fun l => l) ls); [|apply map_id]. apply map_ext_in. intros l I. destruct (Z.eqb_spec l v) as [->|]; auto.
    exfalso. apply (H v); simpl; auto. }
  rewrite E. apply IH. intros. apply H. simpl. auto.
Qed.

Section Sweep.
Variables (n d : nat) (N : Z).
Hypothesis n2 : (2 <= n)%nat.
Hypothesis d1 : (1 <= d)%nat.
Hypothesis N2 : 2 <= N.
Notation D := (N ^ Z.of_nat d).
Notation start := (start n d N).

Lemma D_le_unit : 2 <= D <= unit d N.
Proof.
  split; [now apply pow_ge_2|]. unfold unit. pose proof (repunit_pow N N2 d). pose proof (repunit_pos N N2 d d1). nia.
Qed.

(** The ids of [n] columns with their positions: one for each token, in its range. *)
Definition placed (ls : list Z) : Prop :=
  length ls = n /\ forall j, (j < n)%nat -> start j <= nth j ls 0 <= start j + D - 1.

Lemma starts_apart i j : (i < j)%nat -> (1 <= i)%nat -> start i + D <= start j.
Proof.
  intros H I. pose proof D_le_unit. unfold Theorem3Ids.start, position. destruct i as [|i], j as [|j]; try lia. nia.
Qed.

Lemma first_start j : (1 <= j < n)%nat -> start j + D <= start 0.
Proof. intros H. pose proof D_le_unit. unfold Theorem3Ids.start, position. destruct j as [|j]; try lia. nia. Qed.

Lemma start_nonneg j : 0 <= start j.
Proof. pose proof D_le_unit. unfold Theorem3Ids.start, position. destruct j; nia. Qed.

(** The windows of one token, when those before it are done. *)
Lemma one_range done l todo j : (1 <= j < n)%nat -> start j <= l <= start j + D - 1 ->
  done <> [] -> (forall x, In x done -> start 0 <= x <= last done 0) -> (forall x, In x todo -> start j + D <= x < start 0) ->
  fold_left (step D) (windows_of n d N j) (done ++ l :: todo) = done ++ (l + D * (last done 0 - l)) :: todo.
Proof.
  intros J L NE Hd Ht. pose proof D_le_unit as DU. pose proof (first_start j J) as F.
  assert (Ld : In (last done 0) done) by (clear - NE; induction done as [|a [|b r] IH]; [easy | simpl; auto | right; apply IH; easy]).
  pose proof (Hd _ Ld) as M. set (m := last done 0) in *.
  assert (W : exists vs ws, windows_of n d N j = vs ++ l :: ws /\ (forall v, In v (vs ++ ws) -> start j <= v < start j + D /\ v <> l)).
  { unfold windows_of. assert (I : In (l - start j) (range (Z.to_nat D))) by (apply in_range; lia).
    pose proof (sorted_nodup _ (range_sorted (Z.to_nat D))) as ND.
    assert (B : forall v, In v (range (Z.to_nat D)) -> 0 <= v < D) by (intros v V; apply in_range in V; lia).
    apply in_split in I. destruct I as (a & b & E). rewrite E in ND, B. rewrite E.
    exists (map (Z.add (start j)) a), (map (Z.add (start j)) b). split.
    - rewrite map_app. cbn [map]. do 2 f_equal. lia.
    - rewrite <- map_app. intros v V. apply in_map_iff in V. destruct V as (w & <- & V).
      specialize (B w ltac:(apply in_app_iff; apply in_app_iff in V; simpl; tauto)).
      apply NoDup_remove_2 in ND. split; [lia|]. intros E'. apply ND. replace (l - start j) with w by lia. auto. }
  destruct W as (vs & ws & -> & W). rewrite fold_left_app. cbn [fold_left].
  assert (Others : forall v x, start j <= v < start j + D -> In x done \/ In x todo -> x <> v).
  { intros v x V [X|X]; [specialize (Hd x X) | specialize (Ht x X)]; lia. }
  rewrite (steps_miss D vs).
  2: { intros v V. destruct (W v ltac:(apply in_or_app; auto)) as [R NEl]. intros X. apply in_app_or in X.
       destruct X as [X|[X|X]]; [apply (Others v v R); auto | auto | apply (Others v v R); auto]. }
  assert (St : step D (done ++ l :: todo) l = done ++ (l + D * (m - l)) :: todo).
  { unfold step. rewrite map_app. cbn [map]. rewrite Z.eqb_refl.
    assert (MX : zmax (done ++ l :: todo) = m).
    { apply zmax_unique; [apply in_or_app; auto|]. intros x X. apply in_app_or in X.
      destruct X as [X|[<-|X]]; [apply Hd; auto | lia | specialize (Ht x X); lia]. }
    assert (MN : zmin (done ++ l :: todo) = l).
    { apply zmin_unique; [apply in_or_app; simpl; auto|]. intros x X. apply in_app_or in X.
      destruct X as [X|[<-|X]]; [specialize (Hd x X); lia | lia | specialize (Ht x X); lia]. }
    rewrite MX, MN.
    assert (Keep : forall xs, (forall x, In x xs -> In x done \/ In x todo) ->
      map (fun x => if x =? l then x + D * (m - l) else x) xs = xs).
    { intros xs Hx. rewrite <- (map_id xs) at 2. apply map_ext_in. intros x X. destruct (Z.eqb_spec x l); auto.
      exfalso. apply (Others l x); auto. lia. }
    now rewrite !Keep by auto. }
  rewrite St. apply steps_miss. intros v V. destruct (W v ltac:(apply in_or_app; auto)) as [R NEl]. intros X. apply in_app_or in X.
  destruct X as [X|[X|X]]; [apply (Others v v R); auto | nia | apply (Others v v R); auto].
Qed.

(** With the repaired positions, the sweep of (n-1)D windows gives l̃_1 = l_1, l̃_j = l_j + D(l̃_{j-1} - l_j). *)
Theorem positional_sweep ls : placed ls -> fold_left (step D) (positional_windows n d N) ls = swept D ls.
Proof.
  intros [L P]. destruct ls as [|l0 rest]; [simpl in L; lia|]. simpl in L.
  assert (G : forall todo j done, (1 <= j)%nat -> (j + length todo = n)%nat -> done <> [] ->
    (forall x, In x done -> start 0 <= x <= last done 0) ->
    (forall i, (i < length todo)%nat -> start (j + i) <= nth i todo 0 <= start (j + i) + D - 1) ->
    fold_left (step D) (flat_map (windows_of n d N) (seq j (length todo))) (done ++ todo) = done ++ follow D (last done 0) todo).
  { induction todo as [|l todo IH]; intros j done J Lj NE Hd Ht; [reflexivity|].
    simpl length in Lj. cbn [length seq flat_map follow]. rewrite fold_left_app.
    pose proof (Ht O ltac:(simpl; lia)) as H0. rewrite Nat.add_0_r in H0. cbn [nth] in H0.
    pose proof (first_start j ltac:(lia)) as F. pose proof D_le_unit as DU.
    assert (Ld : In (last done 0) done) by (clear - NE; induction done as [|a [|b r] IH]; [easy | simpl; auto | right; apply IH; easy]).
    pose proof (Hd _ Ld) as M.
    rewrite one_range; auto; try lia.
    - set (b := l + D * (last done 0 - l)). specialize (IH (S j) (done ++ [b])).
      rewrite <- !app_assoc in IH. cbn [app] in IH. rewrite last_last in IH. apply IH; auto; try lia.
      + destruct done; discriminate.
      + intros x X. assert (last done 0 <= b) by (unfold b; nia). apply in_app_or in X.
        destruct X as [X|[<-|[]]]; [specialize (Hd x X)|]; lia.
      + intros i I. specialize (Ht (S i) ltac:(simpl; lia)). rewrite Nat.add_succ_r in Ht. exact Ht.
    - intros x X. apply In_nth with (d := 0) in X. destruct X as (i & I & <-).
      specialize (Ht (S i) ltac:(simpl; lia)). cbn [nth] in Ht.
      pose proof (starts_apart j (j + S i) ltac:(lia) J). pose proof (first_start (j + S i) ltac:(simpl in *; lia)). lia. }
  unfold positional_windows, swept. replace (n - 1)%nat with (length rest) by lia.
  apply (G rest 1%nat [l0]); auto; try lia; try discriminate.
  - intros x [<-|[]]. pose proof (P O ltac:(lia)) as H. cbn [nth last] in *. lia.
  - intros i I. apply (P (S i)). lia.
Qed.

(** * The ids *)

Lemma follow_grows ls : forall a, (forall l, In l ls -> l <= a) -> 0 <= a ->
  forall x, In x (follow D a ls) -> a <= x <= last (follow D a ls) a.
Proof.
  pose proof D_le_unit. induction ls as [|l ls IH]; intros a B A x X; [easy|]. cbn [follow] in *.
  pose proof (B l (or_introl eq_refl)). set (b := l + D * (a - l)) in *. assert (a <= b) by (unfold b; nia).
  rewrite last_cons. destruct X as [<-|X].
  - split; auto. destruct ls as [|l' ls]; [simpl; lia|]. cbn [follow]. rewrite last_cons.
    assert (Y : In (l' + D * (b - l')) (follow D b (l' :: ls))) by (simpl; auto).
    destruct (IH b ltac:(intros z Z; specialize (B z (or_intror Z)); lia) ltac:(lia) _ Y) as [Q R].
    cbn [follow] in R. rewrite last_cons in R. lia.
  - destruct (IH b ltac:(intros z Z; specialize (B z (or_intror Z)); lia) ltac:(lia) x X). lia.
Qed.

(** They increase from token to token. *)
Lemma follow_increases ls : forall a, (forall l, In l ls -> l < a) -> NoDup (a :: follow D a ls).
Proof.
  pose proof D_le_unit. induction ls as [|l ls IH]; intros a B; cbn [follow]; [repeat constructor; easy|].
  pose proof (B l (or_introl eq_refl)). set (b := l + D * (a - l)).
  assert (a < b) by (unfold b; nia).
  assert (G : forall ls a, (forall l, In l ls -> l < a) -> forall x, In x (follow D a ls) -> a < x).
  { clear - H. induction ls as [|l ls IH]; intros a B x X; [easy|]. cbn [follow] in X. pose proof (B l (or_introl eq_refl)).
    assert (a < l + D * (a - l)) by nia. destruct X as [<-|X]; auto.
    eapply Z.lt_trans; [eassumption|]. eapply IH; [|exact X]. intros z Z. specialize (B z (or_intror Z)). lia. }
  constructor.
  - intros [E|X]; [lia|]. apply G in X; [lia|]. intros z Z. specialize (B z (or_intror Z)). lia.
  - apply IH. intros z Z. specialize (B z (or_intror Z)). lia.
Qed.

Lemma placed_below ls : placed ls -> forall l, In l (tl ls) -> 0 <= l < hd 0 ls.
Proof.
  intros [L P] l I. destruct ls as [|l0 rest]; [easy|]. cbn [tl hd] in *. simpl in L.
  apply In_nth with (d := 0) in I. destruct I as (i & I & <-).
  pose proof (P (S i) ltac:(lia)) as A. pose proof (P O ltac:(lia)) as B. cbn [nth] in *.
  pose proof (first_start (S i) ltac:(lia)). pose proof (start_nonneg (S i)). lia.
Qed.

Lemma swept_between ls : placed ls -> forall x, In x (swept D ls) -> 1 <= x <= last (swept D ls) 0.
Proof.
  intros P x X. pose proof (placed_below ls P) as B. destruct P as [L P]. destruct ls as [|l0 rest]; [simpl in L; lia|].
  pose proof (P O ltac:(lia)) as H0. cbn [nth tl hd] in *. pose proof D_le_unit.
  assert (1 <= start 0) by (unfold Theorem3Ids.start, position; nia).
  cbn [swept] in *. rewrite last_cons. destruct X as [<-|X].
  - split; [lia|]. destruct (follow D l0 rest) as [|y ys] eqn:E; [simpl; lia|].
    assert (Y : In y (follow D l0 rest)) by (rewrite E; simpl; auto).
    rewrite <- E. pose proof (follow_grows rest l0 ltac:(intros z Z; specialize (B z Z); lia) ltac:(lia) y Y). lia.
  - pose proof (follow_grows rest l0 ltac:(intros z Z; specialize (B z Z); lia) ltac:(lia) x X). lia.
Qed.

(** [l̃_n < n N D^n]. *)
Lemma last_below_scale ls : placed ls -> last (swept D ls) 0 < positional_scale n d N.
Proof.
  intros P. pose proof (placed_below ls P) as B. destruct P as [L P]. destruct ls as [|l0 rest]; [simpl in L; lia|].
  pose proof (P O ltac:(lia)) as H0. cbn [nth tl hd swept] in *. rewrite last_cons. pose proof D_le_unit as DU.
  assert (A : forall ls a, (forall l, In l ls -> 0 <= l <= a) -> last (follow D a ls) a <= D ^ Z.of_nat (length ls) * a).
  { clear - DU. induction ls as [|l ls IH]; intros a B; cbn [follow length]; [change (a <= 1 * a); lia|]. rewrite last_cons.
    pose proof (B l (or_introl eq_refl)). set (b := l + D * (a - l)). assert (a <= b <= D * a) by (unfold b; nia).
    specialize (IH b ltac:(intros z Z; specialize (B z (or_intror Z)); lia)).
    rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. pose proof (Z.pow_pos_nonneg D (Z.of_nat (length ls)) ltac:(lia) ltac:(lia)). nia. }
  specialize (A rest l0 ltac:(intros z Z; specialize (B z Z); lia)). simpl in L. replace (length rest) with (n - 1)%nat in A by lia.
  unfold positional_scale. replace (D ^ Z.of_nat n) with (D * D ^ Z.of_nat (n - 1)) by
    (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  pose proof (Z.pow_pos_nonneg D (Z.of_nat (n - 1)) ltac:(lia) ltac:(lia)) as Q. set (q := D ^ Z.of_nat (n - 1)) in *.
  assert (U : unit d N <= N * (D - 1)).
  { unfold unit. pose proof (repunit_pow N N2 d). pose proof (repunit_pos N N2 d d1). nia. }
  assert (l0 < Z.of_nat n * N * D).
  { unfold Theorem3Ids.start, position in H0. assert ((Z.of_nat n - 1) * unit d N <= (Z.of_nat n - 1) * (N * (D - 1))) by
      (apply Z.mul_le_mono_nonneg_l; lia). nia. }
  assert (q * l0 < q * (Z.of_nat n * N * D)) by (apply Z.mul_lt_mono_pos_l; lia). nia.
Qed.
Lemma placed_nonempty ls : placed ls -> swept D ls <> [].
Proof. intros [L _]. destruct ls; [simpl in L; lia | discriminate]. Qed.

Lemma swept_max ls : placed ls -> zmax (swept D ls) = last (swept D ls) 0.
Proof.
  intros P. apply zmax_unique; [|intros x X; apply (swept_between ls P x X)].
  pose proof (placed_nonempty ls P) as NE. generalize dependent (swept D ls). intros l NE.
  induction l as [|a [|b r] IH]; [easy | simpl; auto | right; apply IH; easy].
Qed.

Lemma length_swept ls : length (swept D ls) = length ls.
Proof. destruct ls; simpl; auto. now rewrite length_follow. Qed.

(** The (n-1)D + 1 attention layers compute the ids l̃_j + nND^n l̃_n. *)
Theorem positional_layers P : Forall (fits d) P -> placed (map fst P) ->
  run (positional_map n d N) (map (token d N) P) = map (token d N) (shift_pairs P (positional_ids n d N (map fst P))).
Proof.
  intros Fi Pl. unfold positional_map. rewrite run_app, windows_are_steps, positional_sweep by auto.
  assert (L : length (swept D (map fst P)) = length P) by now rewrite length_swept, map_length.
  unfold run. cbn [fold_left]. rewrite global_adds_the_largest; auto.
  - rewrite fst_shift, swept_max by auto. unfold positional_ids, shift_pairs. set (m := last _ 0). clearbody m.
    generalize dependent (swept D (map fst P)). clear. intros xs. revert P.
    induction xs as [|x xs IH]; intros [|p P] L; simpl in *; try lia; auto. f_equal. apply IH. lia.
  - rewrite Forall_forall in *. intros q Q. apply (in_map snd) in Q. rewrite snd_shift in Q by auto.
    apply in_map_iff in Q. destruct Q as (r & Er & R). unfold fits. rewrite <- Er. now apply Fi.
  - intros l I. rewrite fst_shift in I by auto. pose proof (swept_between _ Pl l I). lia.
Qed.

(** * An id names the sequence and the token *)

Lemma recur_names e e' : Forall2 (fun l l' => Z.abs (l - l') < D) e e' -> forall a a',
  recur D a e = recur D a' e' -> a = a' /\ e = e'.
Proof.
  pose proof D_le_unit as DU. induction 1 as [|l l' e e' H Fo IH]; intros a a' E; [auto|]. cbn [recur fold_left] in E.
  apply IH in E. destruct E as [E ->].
  assert (X : l - l' = D * ((a' - l') - (a - l))) by lia.
  assert (l = l') by (destruct (Z.eq_dec ((a' - l') - (a - l)) 0) as [Y|Y]; [rewrite Y in X; lia | exfalso; nia]).
  subst. split; auto. nia.
Qed.

Lemma placed_near ls ls' : placed ls -> placed ls' -> Forall2 (fun l l' => Z.abs (l - l') < D) ls ls'.
Proof.
  intros [L P] [L' P']. assert (G : forall k ls ls', length ls = length ls' ->
    (forall j, (j < length ls)%nat -> start (k + j) <= nth j ls 0 <= start (k + j) + D - 1) ->
    (forall j, (j < length ls)%nat -> start (k + j) <= nth j ls' 0 <= start (k + j) + D - 1) ->
    Forall2 (fun l l' => Z.abs (l - l') < D) ls ls').
  { clear. intros k ls. revert k. induction ls as [|l ls IH]; intros k [|l' ls'] E A B; simpl in E; try lia; constructor.
    - specialize (A O ltac:(simpl; lia)). specialize (B O ltac:(simpl; lia)). cbn [nth] in *. lia.
    - apply (IH (S k)); [lia| |]; intros j J; [specialize (A (S j) ltac:(simpl; lia)) | specialize (B (S j) ltac:(simpl; lia))];
        rewrite Nat.add_succ_r in *; assumption. }
  apply (G O); [congruence | |]; intros j J; [apply P | apply P']; lia.
Qed.

Theorem last_names_the_sequence ls ls' : placed ls -> placed ls' -> last (swept D ls) 0 = last (swept D ls') 0 -> ls = ls'.
Proof.
  intros P P' E. pose proof (placed_near ls ls' P P') as F. destruct P as [L _], P' as [L' _].
  destruct ls as [|l0 r], ls' as [|l0' r']; simpl in L, L'; try lia. cbn [swept] in E. rewrite !last_cons in E.
  rewrite !follow_last in E. assert (F' : Forall2 (fun l l' => Z.abs (l - l') < D) r r') by now inversion F.
  destruct (recur_names r r' F' l0 l0' E). congruence.
Qed.

(** Such an id names the sequence and the token. *)
Theorem positional_ids_unique ls ls' i i' : placed ls -> placed ls' -> (i < n)%nat -> (i' < n)%nat ->
  nth i (positional_ids n d N ls) 0 = nth i' (positional_ids n d N ls') 0 -> ls = ls' /\ i = i'.
Proof.
  intros P P' I I' E. unfold positional_ids in E. set (Sc := positional_scale n d N) in *.
  assert (Ln : length (swept D ls) = n) by (rewrite length_swept; apply P).
  assert (Ln' : length (swept D ls') = n) by (rewrite length_swept; apply P').
  set (m := last (swept D ls) 0) in *. set (m' := last (swept D ls') 0) in *.
  assert (E1 : nth i (map (fun l => l + Sc * m) (swept D ls)) 0 = nth i (swept D ls) 0 + Sc * m).
  { rewrite (nth_indep _ 0 (0 + Sc * m)) by (rewrite map_length; lia). apply (map_nth (fun l => l + Sc * m)). }
  assert (E2 : nth i' (map (fun l => l + Sc * m') (swept D ls')) 0 = nth i' (swept D ls') 0 + Sc * m').
  { rewrite (nth_indep _ 0 (0 + Sc * m')) by (rewrite map_length; lia). apply (map_nth (fun l => l + Sc * m')). }
  rewrite E1, E2 in E. clear E1 E2.
  assert (B : 1 <= nth i (swept D ls) 0 <= m) by (apply swept_between; auto; apply nth_In; lia).
  assert (B' : 1 <= nth i' (swept D ls') 0 <= m') by (apply swept_between; auto; apply nth_In; lia).
  pose proof (last_below_scale ls P) as U. pose proof (last_below_scale ls' P') as U'. fold m Sc in U. fold m' Sc in U'.
  assert (m = m') by nia. assert (Es : ls = ls') by now apply last_names_the_sequence. split; auto. subst ls'.
  assert (ND : NoDup (swept D ls)).
  { pose proof (placed_below ls P) as Lo. destruct P as [L _]. destruct ls as [|l0 r]; [simpl in L; lia|].
    cbn [swept tl hd] in *. apply follow_increases. intros l Hl. specialize (Lo l Hl). lia. }
  apply (proj1 (NoDup_nth _ 0) ND); lia.
Qed.

(** * The lowest id *)

Lemma recur_monotone e e' : Forall2 (fun l l' => l' <= l) e e' -> forall a a', a <= a' -> recur D a e <= recur D a' e'.
Proof.
  pose proof D_le_unit as DU. induction 1 as [|l l' e e' H Fo IH]; intros a a' A; [auto|]. cbn [recur fold_left].
  apply IH. nia.
Qed.
End Sweep.
