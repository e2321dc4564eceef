(* Linked from THEOREMS.md#lemma6, THEOREMS.md#lemma7. *)
(** Lemma 6, property 4: behind the contextual map, the tokens of every other sequence of the extended grid, with equal
    columns or with flags, have ids outside of [[t_l, t_r]].

    Also proved: none of their entries is above [M], the number that Lemma 7 needs. *)

From Coq Require Import Sorted.
From Formwright Require Import Numbers Transformer Ids Lemma6Layers Lemma6 Columns.
Local Open Scope Z_scope.

Definition t_l (n : nat) (D : Z) : Z := D ^ (2 * Z.of_nat n) * (D - 1).
Definition t_r (n : nat) (D : Z) : Z := D ^ (2 * Z.of_nat n + 1) * (D - 1).

(** The columns are distinct and free of flags. *)
Definition is_context (N : Z) (X : list (list Z)) : Prop := Forall (in_grid N) X /\ NoDup X.

(** [a_0 = D-1], [a_{i+1} = D-1 + D(a_i + f)]: how far [i] shifts can take an id, if none is below [-f]. *)
Fixpoint reach (D f : Z) (i : nat) : Z := match i with O => D - 1 | S i => D - 1 + D * (reach D f i + f) end.

(** [M = (D^{n+1} + 1) a_{n-1}], with [f = F (D-1)/(N-1)]. *)
Definition largest_entry (n d : nat) (N F : Z) : Z :=
  let D := N ^ Z.of_nat d in (D ^ Z.of_nat (S n) + 1) * reach D (F * repunit d N) (n - 1).

(** * The last layer, where ids may be negative *)

Definition global_id (S : Z) (ls : list Z) (l : Z) : Z :=
  l + S * (if l <? 0 then zmin ls else if l =? 0 then 0 else zmax ls).

Lemma psi_at_zero d N P p b c : (1 <= d)%nat -> In p P -> (forall l, In l (map fst P) -> l = 0) ->
  attend (psi d N b c) (map (token d N) P) (token d N p) = scale 0 (first d c).
Proof.
  intros d1 I Z. rewrite attend_psi. f_equal. apply hardmax_mean; [destruct P; easy|].
  intros y Y _. apply in_map_iff in Y. destruct Y as (q & <- & Q). rewrite id_of_token by auto.
  rewrite (Z (fst q)); auto using in_map.
Qed.

Lemma global_any d N S P : (1 <= d)%nat -> Forall (fits d) P ->
  (In 0 (map fst P) -> forall l, In l (map fst P) -> l = 0) ->
  run_layer (global_shift d N S) (map (token d N) P) =
  map (fun p => token d N (global_id S (map fst P) (fst p), snd p)) P.
Proof.
  intros d1 F Zero. unfold run_layer, global_shift, attention. rewrite map_map. apply map_ext_in.
  intros p I. cbn [map fold_left]. rewrite Forall_forall in F. specialize (F p I). destruct p as [l rest].
  unfold global_id. cbn [fst snd] in *. destruct (Z.ltb_spec l 0) as [H|H].
  - rewrite psi_below, shift_token by (auto; apply (inj_lt l 0); lia). reflexivity.
  - destruct (Z.eqb_spec l 0) as [->|NZ].
    + rewrite psi_at_zero; auto; [|apply Zero; apply (in_map fst) in I; exact I].
      change 0%Qc with (inj 0). now rewrite shift_token.
    + rewrite psi_above, shift_token by (auto; apply (inj_lt 0 l); lia). reflexivity.
Qed.

(** * The sweep, where a column has a flag *)

Section Flagged.
Variables (D f K : Z) (ls : list Z).
Hypothesis D2 : 2 <= D.
Hypothesis K1 : 1 <= K.
Hypothesis small : forall l, In l ls -> - f <= l < D.
Hypothesis flagged : exists l, In l ls /\ l <= - K.

Lemma reach_grows i j : (i <= j)%nat -> reach D f i <= reach D f j.
Proof.
  assert (0 <= f). { destruct flagged as (l & I & H). apply small in I. lia. }
  assert (A : forall i, D - 1 <= reach D f i) by (induction i0; simpl; nia).
  induction 1; [lia|]. simpl. specialize (A m). nia.
Qed.

Lemma flagged_zmin : - f <= zmin ls <= - K.
Proof.
  destruct flagged as (l & I & H). pose proof (zmin_le _ _ I). assert (NE : ls <> []) by now destruct ls.
  apply zmin_in, small in NE. lia.
Qed.

(** Negative ids stay. The others are shifted once, far up. *)
Lemma flagged_sweep v : Z.of_nat v <= D -> exists g, fold_left (step D) (range v) ls = map g ls /\
  forall l, In l ls -> (l < 0 \/ Z.of_nat v <= l -> g l = l) /\
    (0 <= l < Z.of_nat v -> D * K <= g l <= reach D f (length (filter (fun w => mem w ls) (range v)))).
Proof.
  pose proof flagged_zmin as MN. destruct flagged as (m & Im & Hm). set (mn := zmin ls) in *.
  induction v as [|v IH]; intros V.
  { exists (fun l => l). split; [simpl; now rewrite map_id|]. intros; split; auto; lia. }
  destruct IH as (g & E & G); [lia|]. rewrite range_S, fold_left_app, E, filter_app, app_length. cbn [fold_left filter].
  set (c := length (filter (fun w => mem w ls) (range v))) in *.
  pose proof (reach_grows 0 c ltac:(lia)) as R0. cbn [reach] in R0.
  assert (Low : forall l, In l ls -> l < 0 -> g l = l) by (intros; apply G; auto).
  assert (High : forall l, In l ls -> Z.of_nat v <= l -> g l = l) by (intros; apply G; auto).
  assert (Mid : forall l, In l ls -> 0 <= l < Z.of_nat v -> D * K <= g l <= reach D f c) by (intros; apply G; auto).
  assert (DK : D <= D * K) by nia.
  assert (Hit : forall l, In l ls -> g l = Z.of_nat v -> l = Z.of_nat v).
  { intros l I H. destruct (Z.lt_ge_cases l 0); [rewrite Low in H; auto; lia|].
    destruct (Z.lt_ge_cases l (Z.of_nat v)); [specialize (Mid l I ltac:(lia)); lia|]. rewrite High in H; auto; lia. }
  assert (Top : forall l, In l ls -> g l <= reach D f c).
  { intros l I. pose proof (small _ I). destruct (Z.lt_ge_cases l 0); [rewrite Low; auto; lia|].
    destruct (Z.lt_ge_cases l (Z.of_nat v)); [apply Mid; auto|]. rewrite High; auto; lia. }
  assert (Min : zmin (map g ls) = mn).
  { assert (NE : ls <> []) by now destruct ls. apply zmin_unique.
    - apply in_map_iff. exists mn. split; [|now apply zmin_in]. apply Low; [now apply zmin_in | lia].
    - intros x X. apply in_map_iff in X. destruct X as (l & <- & I). pose proof (zmin_le _ _ I). fold mn in H.
      destruct (Z.lt_ge_cases l 0); [rewrite Low; auto|].
      destruct (Z.lt_ge_cases l (Z.of_nat v)); [specialize (Mid l I ltac:(lia)); lia|]. rewrite High; auto. }
  destruct (mem (Z.of_nat v) ls) eqn:M; cbn [length].
  - apply mem_in in M. set (mx := zmax (map g ls)).
    assert (MX : Z.of_nat v <= mx <= reach D f c).
    { unfold mx. split; [apply zmax_ge, in_map_iff; exists (Z.of_nat v); split; auto; apply High; auto; lia|].
      assert (NE : map g ls <> []) by now destruct ls. apply zmax_in, in_map_iff in NE. destruct NE as (l & <- & I). auto. }
    exists (fun l => if l =? Z.of_nat v then Z.of_nat v + D * (mx - mn) else g l). split.
    + unfold step. rewrite Min, map_map. fold mx. apply map_ext_in. intros l I.
      destruct (Z.eqb_spec (g l) (Z.of_nat v)) as [H|H], (Z.eqb_spec l (Z.of_nat v)) as [->|H']; auto; try lia.
      * exfalso. auto.
      * exfalso. apply H, High; auto; lia.
    + intros l I. rewrite Nat.add_1_r. cbn [reach]. split; intros H; destruct (Z.eqb_spec l (Z.of_nat v)) as [->|]; try lia.
      * destruct H; [now apply Low | apply High; auto; lia].
      * nia.
      * specialize (Mid l I ltac:(lia)). pose proof (reach_grows c (S c) ltac:(lia)). cbn [reach] in *. lia.
  - apply mem_not in M. exists g. split.
    + unfold step. rewrite map_map. apply map_ext_in. intros l I.
      destruct (Z.eqb_spec (g l) (Z.of_nat v)) as [H|H]; auto. apply Hit in H; auto. subst. easy.
    + intros l I. rewrite Nat.add_0_r. split; intros H.
      * destruct H; [now apply Low | apply High; auto; lia].
      * apply Mid; auto. assert (l <> Z.of_nat v) by congruence. lia.
Qed.

Lemma events_below : (length (filter (fun w => mem w ls) (range (Z.to_nat D))) <= length ls - 1)%nat.
Proof.
  destruct flagged as (m & Im & Hm). set (e := filter _ _).
  assert (A : incl (m :: e) ls).
  { intros x [<-|X]; auto. apply filter_In in X. now apply mem_in. }
  assert (B : NoDup (m :: e)).
  { constructor.
    - intros X. apply filter_In in X. destruct X as [X _]. apply in_range in X. lia.
    - apply sorted_nodup, sorted_filter, range_sorted. }
  pose proof (NoDup_incl_length B A). simpl in H. lia.
Qed.

Lemma flagged_sweep_ends : exists g, sweep D ls = map g ls /\ zmin (sweep D ls) = zmin ls /\
  forall l, In l ls -> (l < 0 -> g l = l) /\ (0 <= l -> D * K <= g l <= reach D f (length ls - 1)).
Proof.
  destruct (flagged_sweep (Z.to_nat D) ltac:(lia)) as (g & E & G). exists g. unfold sweep.
  rewrite Z2Nat.id in G by lia. pose proof flagged_zmin as MN. destruct flagged as (m & Im & Hm).
  assert (A : forall l, In l ls -> 0 <= l -> D * K <= g l <= reach D f (length ls - 1)).
  { intros l I H. pose proof (small _ I). destruct (G l I) as [_ B]. specialize (B ltac:(lia)).
    pose proof (reach_grows _ _ events_below). lia. }
  split; auto. split.
  - rewrite E. assert (NE : ls <> []) by now destruct ls. apply zmin_unique.
    + apply in_map_iff. exists (zmin ls). pose proof (zmin_in _ NE) as I. split; auto. apply (G _ I). lia.
    + intros x X. apply in_map_iff in X. destruct X as (l & <- & I). pose proof (zmin_le _ _ I).
      destruct (Z.lt_ge_cases l 0); [rewrite (proj1 (G l I)); auto|]. specialize (A l I ltac:(lia)). nia.
  - intros l I. split; [intros; apply (G l I); auto | auto].
Qed.
End Flagged.

(** * Property 4 *)

Lemma category2 D p m : 2 <= D -> D <= p -> m <= (D - 1) * (p - D + 1) ->
  (D * (D * p) + 1) * m < D * p * (D * p) * (D - 1).
Proof.
  intros D2 Dp M. set (q := D * (D * p)). assert (q1 : p <= q) by (unfold q; nia).
  assert (A : (q + 1) * m <= (q + 1) * ((D - 1) * (p - D + 1))) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (B : (q + 1) * (p - D + 1) < q * p).
  { assert (q * 1 <= q * (D - 1)) by (apply Z.mul_le_mono_nonneg_l; lia).
    replace ((q + 1) * (p - D + 1)) with (q * p - q * (D - 1) + (p - D + 1)) by ring. lia. }
  apply (Z.mul_lt_mono_pos_l (D - 1)) in B; [|lia].
  replace (D * p * (D * p) * (D - 1)) with ((D - 1) * (q * p)) by (unfold q; ring).
  replace ((q + 1) * ((D - 1) * (p - D + 1))) with ((D - 1) * ((q + 1) * (p - D + 1))) in A by ring. lia.
Qed.

Section Property4.
Variables (n d : nat) (N F : Z).
Hypothesis n2 : (2 <= n)%nat.
Hypothesis d1 : (1 <= d)%nat.
Hypothesis N2 : 2 <= N.
Notation D := (N ^ Z.of_nat d).
Notation f := (F * repunit d N).
Hypothesis F_is : F = N * D ^ Z.of_nat n.

Lemma D2 : 2 <= D.
Proof. now apply pow_ge_2. Qed.

Lemma F_large : 2 * D ^ Z.of_nat n <= F.
Proof. rewrite F_is. pose proof D2. assert (1 <= D ^ Z.of_nat n) by (apply (Z.pow_le_mono_r D 0); lia). nia. Qed.

Lemma D_le_Dn : D * D <= D ^ Z.of_nat n.
Proof. pose proof D2. rewrite <- Z.pow_2_r. apply Z.pow_le_mono_r; lia. Qed.

Lemma reach_large : D ^ Z.of_nat n <= reach D f (n - 1).
Proof.
  pose proof D2. pose proof F_large. pose proof D_le_Dn. pose proof (repunit_pos N N2 d d1).
  assert (Ff : F <= f) by nia. generalize dependent f. intros f Ff.
  assert (A : forall i, D - 1 <= reach D f i) by (induction i; simpl; nia).
  destruct (n - 1)%nat as [|i] eqn:E; [lia|]. simpl. specialize (A i). nia.
Qed.

(** What the map makes of the ids [ls]: [final]. Outside of the interval, and nowhere far above. *)
Definition stays_out (ls : list Z) : Prop :=
  exists final, length final = length ls /\
    (forall P, Forall (fits d) P -> map fst P = ls ->
      run (contextual_map n d N) (map (token d N) P) = map (token d N) (shift_pairs P final)) /\
    (forall l x, In (l, x) (combine ls final) ->
      (x < t_l n D \/ t_r n D < x) /\ (l < 0 -> x <= l) /\ (0 <= l -> x <= (D ^ Z.of_nat (S n) + 1) * reach D f (n - 1))).

(** The map, from a closed form of the sweep and of the last layer. *)
Lemma map_from_ids ls g h : sweep D ls = map g ls ->
  (In 0 (map g ls) -> forall l, In l (map g ls) -> l = 0) ->
  (forall l, In l ls -> global_id (D ^ Z.of_nat (S n)) (map g ls) (g l) = h l) ->
  forall P, Forall (fits d) P -> map fst P = ls ->
  run (contextual_map n d N) (map (token d N) P) = map (token d N) (shift_pairs P (map h ls)).
Proof.
  intros Sw Zero H P Fi E. unfold contextual_map. rewrite run_app, shifts_are_the_sweep, E, Sw by auto.
  assert (L : length (map g ls) = length P) by (rewrite <- E, !map_length; auto).
  unfold run. cbn [fold_left]. rewrite global_any; auto.
  - rewrite fst_shift by auto. unfold shift_pairs. revert H. generalize (global_id (D ^ Z.of_nat (S n)) (map g ls)).
    intros G H. clear - H E. revert P E. induction ls as [|l rest IH]; intros [|[l' r] P] E; simpl in *; try easy.
    inversion E; subst. f_equal; [f_equal; f_equal; auto|]. apply IH; auto.
  - rewrite Forall_forall in *. intros q Q. apply (in_map snd) in Q. rewrite snd_shift in Q by auto.
    apply in_map_iff in Q. destruct Q as (r & Er & R). unfold fits. rewrite <- Er. now apply Fi.
  - now rewrite fst_shift.
Qed.

Lemma in_combine_map (h : Z -> Z) ls l x : In (l, x) (combine ls (map h ls)) -> In l ls /\ x = h l.
Proof. induction ls; simpl; [easy|]. intros [E|I]; [inversion E; auto|]. destruct (IHls I). auto. Qed.

Lemma t_l_pos : 1 <= t_l n D.
Proof. unfold t_l. pose proof D2. assert (1 <= D ^ (2 * Z.of_nat n)) by (apply (Z.pow_le_mono_r D 0); lia). nia. Qed.

(** Category 2: equal columns. *)
Lemma equal_columns_stay_out ls : length ls = n -> (forall l, In l ls -> 0 <= l < D) -> ~ NoDup ls -> stays_out ls.
Proof.
  intros L small dup. pose proof D2 as D2. assert (some : ls <> []) by (intros ->; simpl in L; lia).
  pose proof (sweep_closed_form D ls D2 small some) as Sw. set (m := last_id D ls).
  set (Sc := D ^ Z.of_nat (S n)).
  assert (B : forall l, In l ls -> l <= shifted D ls l <= m).
  { intros l I. split; [now apply shifted_not_below|]. pose proof (small _ I). apply top_le; auto. lia. }
  assert (Mx : zmax (map (shifted D ls) ls) = m) by (rewrite <- Sw; now apply last_id_is_largest).
  assert (S1 : 1 <= Sc) by (unfold Sc; apply (Z.pow_le_mono_r D 0); lia).
  assert (few : m < D ^ (Z.of_nat n - 1) * (D - 1) - (D - 1) * (D - 1) + 1).
  { pose proof (upper D ls D2 small some) as U. fold m in U.
    assert (C : (length (events D ls) <= n - 1)%nat).
    { destruct (Nat.le_gt_cases (length (events D ls)) (n - 1)); auto. exfalso. apply dup.
      apply (NoDup_incl_NoDup (l := events D ls)); [apply sorted_nodup, events_sorted| lia|].
      intros x X. now apply (in_events D ls) in X. }
    assert (D ^ Z.of_nat (length (events D ls)) <= D ^ (Z.of_nat n - 1)) by (apply Z.pow_le_mono_r; lia). nia. }
  exists (map (fun l => shifted D ls l + Sc * m) ls). split; [now rewrite map_length|]. split.
  - apply (map_from_ids ls (shifted D ls)); auto.
    + intros Z. apply in_map_iff in Z. destruct Z as (l0 & E0 & I0). pose proof (B _ I0). pose proof (small _ I0).
      assert (l0 = 0) by lia. subst l0.
      assert (M0 : zmax ls = 0).
      { pose proof (zmax_ge _ _ I0). destruct (Z.eq_dec (zmax ls) 0); auto.
        pose proof (shifted_beyond D ls D2 small 0 I0 ltac:(lia)). lia. }
      intros x X. apply in_map_iff in X. destruct X as (l & <- & I). pose proof (zmax_ge _ _ I). pose proof (small _ I).
      assert (l = 0) by lia. now subst.
    + intros l I. unfold global_id. rewrite Mx. fold Sc. pose proof (B _ I). pose proof (small _ I).
      destruct (Z.ltb_spec (shifted D ls l) 0); [lia|]. destruct (Z.eqb_spec (shifted D ls l) 0) as [E|]; [|auto].
      assert (l = 0) by lia. subst. assert (M0 : zmax ls = 0).
      { pose proof (zmax_ge _ _ I). destruct (Z.eq_dec (zmax ls) 0); auto.
        pose proof (shifted_beyond D ls D2 small 0 I ltac:(lia)). lia. }
      enough (m = 0) by lia. unfold m. rewrite <- (last_id_is_largest D ls D2 small some), Sw.
      apply zmax_unique; [apply in_map_iff; exists 0; auto|]. intros x X. apply in_map_iff in X.
      destruct X as (l' & <- & I'). pose proof (zmax_ge _ _ I'). pose proof (small _ I'). assert (l' = 0) by lia. subst. lia.
  - intros l x X. apply in_combine_map in X. destruct X as [I ->]. pose proof (B _ I). pose proof (small _ I).
    assert (x_is : shifted D ls l + Sc * m <= (Sc + 1) * m) by lia.
    pose proof reach_large. set (p := D ^ (Z.of_nat n - 1)) in *.
    assert (P : D ^ Z.of_nat n = D * p) by (unfold p; rewrite <- Z.pow_succ_r by lia; f_equal; lia).
    assert (Dp : D <= p) by (unfold p; rewrite <- (Z.pow_1_r D) at 1; apply Z.pow_le_mono_r; lia).
    assert (Sc_is : Sc = D * (D * p)) by (unfold Sc; rewrite pow_S, P; auto).
    split; [left|split; [lia|intros _]].
    + unfold t_l. replace (D ^ (2 * Z.of_nat n)) with (D * p * (D * p)) by (rewrite <- P, <- Z.pow_add_r by lia; f_equal; lia).
      pose proof (category2 D p m D2 Dp ltac:(lia)). rewrite Sc_is in *. lia.
    + assert (0 <= (D - 1) * (D - 1)) by (apply Z.mul_nonneg_nonneg; lia). assert (m <= reach D f (n - 1)) by lia.
      assert ((Sc + 1) * m <= (Sc + 1) * reach D f (n - 1)) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
Qed.

(** Category 3: flags. *)
Lemma flags_stay_out ls : length ls = n -> (forall l, In l ls -> - f <= l < D) ->
  (exists l, In l ls /\ l <= - F + D - 1) -> stays_out ls.
Proof.
  intros L small flag. pose proof D2 as D2. pose proof F_large as FL. pose proof D_le_Dn as DD. pose proof t_l_pos as TL.
  set (K := F - D + 1). assert (K1 : D ^ Z.of_nat n <= K) by nia.
  assert (flag' : exists l, In l ls /\ l <= - K) by (destruct flag as (l & I & H); exists l; split; auto; lia).
  destruct (flagged_sweep_ends D f K ls D2 ltac:(lia) small flag') as (g & Sw & Mn & G). rewrite L in G.
  pose proof (flagged_zmin D f K ls small flag') as MN.
  set (Sc := D ^ Z.of_nat (S n)). assert (S1 : 1 <= Sc) by (unfold Sc; apply (Z.pow_le_mono_r D 0); lia).
  assert (Sc_is : Sc = D * D ^ Z.of_nat n) by apply pow_S.
  set (mx := zmax (map g ls)).
  assert (MX : forall l, In l ls -> 0 <= l -> D * K <= mx <= reach D f (n - 1)).
  { intros l I H. destruct (G l I) as [_ A]. specialize (A H).
    split; [unfold mx; pose proof (zmax_ge (map g ls) (g l) (in_map g _ _ I)); lia|].
    assert (NE : map g ls <> []) by now destruct ls. apply zmax_in, in_map_iff in NE. fold mx in NE.
    destruct NE as (w & <- & W). destruct (G w W) as [B C]. destruct (Z.lt_ge_cases w 0); [rewrite B by auto; nia | apply C; auto]. }
  exists (map (fun l => if l <? 0 then l + Sc * zmin ls else g l + Sc * mx) ls).
  split; [now rewrite map_length|]. split.
  - apply (map_from_ids ls g); auto.
    + intros Z. exfalso. apply in_map_iff in Z. destruct Z as (l & E & I). destruct (G l I) as [A B].
      destruct (Z.lt_ge_cases l 0); [rewrite A in E by auto; lia | specialize (B ltac:(lia)); nia].
    + intros l I. unfold global_id. fold Sc mx. rewrite <- Sw at 1. rewrite Mn. destruct (G l I) as [A B].
      destruct (Z.ltb_spec l 0) as [H|H]; [rewrite A by auto; destruct (Z.ltb_spec l 0); auto; lia|].
      specialize (B H). destruct (Z.ltb_spec (g l) 0); [nia|]. destruct (Z.eqb_spec (g l) 0); [nia|auto].
  - intros l x X. apply in_combine_map in X. destruct X as [I ->]. destruct (G l I) as [A B].
    destruct (Z.ltb_spec l 0) as [H|H].
    + assert (Sc * zmin ls <= 0) by nia. split; [left; lia | split; [lia | intros; lia]].
    + specialize (B H). specialize (MX l I H). split; [right|split; [lia|nia]].
      unfold t_r. replace (D ^ (2 * Z.of_nat n + 1)) with (D * (D ^ Z.of_nat n * D ^ Z.of_nat n))
        by (rewrite <- Z.pow_add_r, <- Z.pow_succ_r by lia; f_equal; lia).
      set (q := D ^ Z.of_nat n) in *. assert (Q1 : 1 <= q) by nia.
      assert (D * q <= D * K) by (apply Z.mul_le_mono_nonneg_l; lia). assert (Sc * (D * q) <= Sc * mx) by (apply Z.mul_le_mono_nonneg_l; lia).
      assert (Sc * (D * q) = D * (D * (q * q))) by (rewrite Sc_is; ring).
      assert (0 < D * (q * q)) by (repeat apply Z.mul_pos_pos; lia). assert (0 <= D * K) by (apply Z.mul_nonneg_nonneg; lia).
      set (w := D * (q * q)) in *. replace (w * (D - 1)) with (D * w - w) by ring. lia.
Qed.

Lemma columns_of_ids X : length X = n -> Forall (fun z => length z = d) X -> Forall (in_extended_grid N F) X ->
  ~ is_context N X -> stays_out (map (id d N) X).
Proof.
  intros L Len Ext NC. pose proof F_large. pose proof D_le_Dn. pose proof D2. assert (F0 : 0 <= F) by nia.
  rewrite Forall_forall in Len, Ext.
  destruct (Forall_dec (in_grid N)) with (l := X) as [G|G].
  { intros z. unfold in_grid. apply Forall_dec. intros c.
    destruct (Z_le_dec 0 c), (Z_lt_dec c N); [left | right | right | right]; lia. }
  - apply equal_columns_stay_out; [now rewrite map_length| |].
    + intros l I. apply in_map_iff in I. destruct I as (z & <- & Z). rewrite Forall_forall in G. apply id_in_range; auto.
    + intros nd. apply NC. split; auto. now apply NoDup_map_inv in nd.
  - apply flags_stay_out; [now rewrite map_length| |].
    + intros l I. apply in_map_iff in I. destruct I as (z & <- & Z). pose proof (id_below N F N2 F0 d z (Len _ Z) (Ext _ Z)).
      pose proof (id_above N F N2 F0 d z (Len _ Z) (Ext _ Z)). lia.
    + apply neg_Forall_Exists_neg in G.
      2: { intros z. unfold in_grid. apply Forall_dec. intros c.
        destruct (Z_le_dec 0 c), (Z_lt_dec c N); [left | right | right | right]; lia. }
      apply Exists_exists in G. destruct G as (z & Z & NG). exists (id d N z). split; [now apply in_map|].
      destruct (extended_cases N F z (Ext _ Z)); [easy|]. apply (flagged_id N F N2 F0); auto.
Qed.

(** Property 4: behind the D + 1 layers, the ids of every other sequence of the extended grid, with equal columns or
    with flags, are outside of [t_l, t_r]. *)
Theorem lemma6_4 X : length X = n -> Forall (fun z => length z = d) X -> Forall (in_extended_grid N F) X ->
  ~ is_context N X ->
  forall y, In y (run (contextual_map n d N) (map (map inj) X)) ->
  (dot (map inj (radix d N)) y < inj (t_l n D) \/ inj (t_r n D) < dot (map inj (radix d N)) y)%Qc.
Proof.
  intros L Len Ext NC y Y. destruct (columns_of_ids X L Len Ext NC) as (final & LF & R & B).
  rewrite tokens_split with (d := d) (N := N) in Y by auto.
  rewrite R in Y by (auto using fits_split, ids_split). apply in_map_iff in Y. destruct Y as ([x r] & <- & I).
  unfold shift_pairs in I. rewrite id_of_token by auto. cbn [fst].
  assert (exists l, In (l, x) (combine (map (id d N) X) final)) as (l & C).
  { clear - I. revert final I. induction X as [|z X IH]; intros [|a final] I; simpl in *; try easy.
    destruct I as [E|I]; [inversion E; subst; eauto|]. destruct (IH final I) as (l & C). eauto. }
  destruct (B l x C) as [[H|H] _]; [left | right]; now apply inj_lt.
Qed.

(** No entry of such a sequence is above the product's M. *)
Theorem entries_below_M X : length X = n -> Forall (fun z => length z = d) X -> Forall (in_extended_grid N F) X ->
  ~ is_context N X ->
  forall y, In y (run (contextual_map n d N) (map (map inj) X)) ->
  length y = d /\ Forall (fun t => (t <= inj (largest_entry n d N F))%Qc) y.
Proof.
  intros L Len Ext NC y Y. destruct (columns_of_ids X L Len Ext NC) as (final & LF & R & B).
  rewrite tokens_split with (d := d) (N := N) in Y by auto.
  rewrite R in Y by (auto using fits_split, ids_split). apply in_map_iff in Y. destruct Y as ([x r] & <- & I).
  pose proof F_large. pose proof D_le_Dn. pose proof D2. pose proof reach_large.
  assert (F0 : 0 <= F) by nia. assert (S1 : 1 <= D ^ Z.of_nat (S n)) by (apply (Z.pow_le_mono_r D 0); lia).
  assert (exists z, In z X /\ r = tl z /\ In (id d N z, x) (combine (map (id d N) X) final)) as (z & Z & -> & C).
  { unfold shift_pairs in I. clear - I. revert final I. induction X as [|z X IH]; intros [|a final] I; simpl in *; try easy.
    destruct I as [E|I]; [inversion E; subst; exists z; auto|]. destruct (IH final I) as (w & A & E & C). exists w. auto. }
  rewrite Forall_forall in Len, Ext. specialize (Len z Z). specialize (Ext z Z). destruct (B _ _ C) as (_ & Neg & Pos).
  assert (M : D <= largest_entry n d N F) by (unfold largest_entry; nia).
  assert (N <= D). { destruct d; [lia|]. rewrite pow_S. pose proof (pow_pos N N2 n0). nia. }
  unfold token. cbn [fst snd]. split; [destruct z; simpl in *; rewrite ?map_length; lia|]. constructor.
  - apply inj_le. destruct z as [|c z]; [simpl in Len; lia|]. cbn [tl].
    pose proof (id_first d N c z d1) as E.
    destruct (Z.lt_ge_cases (id d N (c :: z)) 0) as [H'|H'].
    + specialize (Neg H'). inversion Ext; subst. lia.
    + specialize (Pos H'). fold (largest_entry n d N F) in Pos.
      enough (c <= id d N (c :: z)) by (unfold largest_entry in *; lia).
      destruct (extended_cases N F _ Ext) as [G|G]; [exact (first_le_id N N2 d _ Len G)|].
      exfalso. pose proof (flagged_id N F N2 F0 d _ Len Ext G). nia.
  - destruct z as [|c z]; [constructor|]. cbn [tl]. apply Forall_map. inversion Ext; subst.
    eapply Forall_impl; [|eassumption]. cbv beta. intros c' C'. apply inj_le. lia.
Qed.
End Property4.
