(* Linked from THEOREMS.md#theorem3. *)
(** Theorem 3, on the grid: the network with positions (repaired), for every table.

    [g_P(X) = g(X + E)], [g] the quantiser without flags, the contextual map of [Theorem3Ids], and the value map. On every
    cell of the box [[0, N)^{dn}] the network equals the table. *)

From Formwright Require Import Numbers Transformer Ids Lemma6Layers Lemma5 Lemma6 Columns Lemma7 Contexts ValueMap Theorem3Ids
  Theorem2.

(** * The construction *)

(** [E]: token [j] gets [N] times its position, on every row. *)
Definition encoding (n d : nat) (N : Z) : sequence := map (fun j => repeat (inj (N * position n j)) d) (seq 0 n).

Fixpoint add_positions (X E : sequence) : sequence :=
  match X, E with x :: X, e :: E => vadd x e :: add_positions X E | _, _ => [] end.

(** The ids of columns, with positions. *)
Definition place (n d : nat) (N : Z) (s : list Z) : list Z :=
  map (fun p => (start n d N (fst p) + snd p)%Z) (combine (seq 0 n) s).

(** Every sequence of [n] columns, by decreasing [l̃_n]. The lowest id is that of the first column and, behind it, last
    ones. *)
Definition sequences (n d : nat) (N : Z) : family :=
  let D := (N ^ Z.of_nat d)%Z in let top s := last (swept D (place n d N s)) 0%Z in
  Family (descending top (tuples (Z.to_nat D) n))
    (fun s => positional_ids n d N (place n d N s))
    (fun s => map (fun p => tl (map (Z.add (N * position n (fst p))) (digits d N (snd p)))) (combine (seq 0 n) s))
    (positional_scale n d N * top (0%Z :: repeat (D - 1)%Z (n - 1))).

Definition theorem3_layers (n d : nat) (N : Z) (table : list (list Z) -> sequence) (B : Qc) : list layer :=
  map Feed (quantiser d (Z.of_nat n * N) None) ++ positional_map n d N ++
  map Feed (value_map d N (sequences n d N) (values_of d N table) B).

(** * The statement *)

(** [n] columns of [d] numbers of the grid. *)
Definition some_cells (n d : nat) (N : Z) (L : list (list Z)) : Prop :=
  length L = n /\ Forall (fun z => length z = d) L /\ Forall (in_grid N) L.

(** * Proof *)

Lemma nth_combine_seq {A B} (h : nat -> A -> B) n s i e e' : length s = n -> (i < n)%nat ->
  nth i (map (fun p => h (fst p) (snd p)) (combine (seq 0 n) s)) e = h i (nth i s e').
Proof.
  intros L I. rewrite (nth_indep _ e (h (fst (0%nat, e')) (snd (0%nat, e')))).
  - rewrite (map_nth (fun p => h (fst p) (snd p))), combine_nth, seq_nth by (rewrite ?seq_length; lia). reflexivity.
  - rewrite map_length, combine_length, seq_length. lia.
Qed.

Lemma length_combine_seq {A B} (h : nat * A -> B) n s : length s = n -> length (map h (combine (seq 0 n) s)) = n.
Proof. intros L. rewrite map_length, combine_length, seq_length. lia. Qed.

Lemma id_add N : forall d c z, length z = d -> id d N (map (Z.add c) z) = (id d N z + c * repunit d N)%Z.
Proof.
  induction d as [|k IH]; intros c [|a z] Lz; simpl in Lz; try lia; [cbn; lia|].
  cbn [map]. rewrite !id_cons, repunit_S, IH by lia. ring.
Qed.

Section Theorem3.
Variables (n d : nat) (N : Z) (table : list (list Z) -> sequence) (B : Qc).
Hypothesis n2 : (2 <= n)%nat.
Hypothesis d1 : (1 <= d)%nat.
Hypothesis N2 : (2 <= N)%Z.
Hypothesis is : is_table n d B (some_cells n d N) table.
Notation D := (N ^ Z.of_nat d)%Z.
Notation family := (sequences n d N).
Notation values := (values_of d N table).

Lemma D_two : (2 <= D)%Z.
Proof. now apply pow_ge_2. Qed.

Lemma in_sequences s : In s (contexts family) <-> length s = n /\ forall l, In l s -> (0 <= l < D)%Z.
Proof.
  pose proof D_two. unfold sequences. cbn [contexts]. rewrite in_descending, in_tuples, Z2Nat.id by lia. reflexivity.
Qed.

Lemma nth_place s i : length s = n -> (i < n)%nat -> nth i (place n d N s) 0%Z = (start n d N i + nth i s 0)%Z.
Proof. intros L I. unfold place. now rewrite (nth_combine_seq (fun j l => (start n d N j + l)%Z) n s i 0%Z 0%Z). Qed.

Lemma place_placed s : In s (contexts family) -> placed n d N (place n d N s).
Proof.
  intros S. apply in_sequences in S. destruct S as [L H]. split; [now apply length_combine_seq|].
  intros j J. rewrite nth_place by auto. assert (I : In (nth j s 0%Z) s) by (apply nth_In; lia). specialize (H _ I). lia.
Qed.

Lemma place_injective s s' : In s (contexts family) -> In s' (contexts family) -> place n d N s = place n d N s' -> s = s'.
Proof.
  intros S S' E. apply in_sequences in S, S'. destruct S as [L _], S' as [L' _].
  apply (nth_ext _ _ 0%Z 0%Z); [congruence|]. intros i I. rewrite L in I.
  pose proof (nth_place s i L I). pose proof (nth_place s' i L' I). rewrite E in *. lia.
Qed.

Lemma sequences_cells s : In s (contexts family) -> some_cells n d N (map (digits d N) s).
Proof.
  intros S. apply in_sequences in S. destruct S as [L H]. split; [now rewrite map_length|].
  split; apply Forall_map, Forall_forall; intros l _; [apply length_digits | now apply digits_in_grid].
Qed.

Lemma sequences_shapes s : In s (contexts family) ->
  length (after family s) = n /\ length (rows family s) = n /\ length (values s) = n /\
  Forall (fun r => length r = (d - 1)%nat) (rows family s) /\
  Forall (fun v => length v = d /\ Forall (fun t => t <= B) v) (values s).
Proof.
  intros S. pose proof (sequences_cells s S) as C. apply is in C. destruct C as [LT HT].
  apply in_sequences in S. destruct S as [L H]. cbn [sequences after rows]. repeat split; auto.
  - unfold positional_ids. rewrite map_length, length_swept. now apply length_combine_seq.
  - now apply length_combine_seq.
  - apply Forall_map, Forall_forall. intros [j l] _. cbn [fst snd]. pose proof (length_digits N d l) as Ld.
    destruct (digits d N l); simpl in *; rewrite ?map_length; lia.
Qed.

Lemma nth_after s i : In s (contexts family) -> (i < n)%nat ->
  nth i (after family s) 0%Z = nth i (positional_ids n d N (place n d N s)) 0%Z.
Proof. reflexivity. Qed.

Lemma sequences_above s x : In s (contexts family) -> In x (after family s) -> (lowest family <= x)%Z.
Proof.
  intros S X. pose proof (place_placed s S) as P. cbn [sequences after lowest] in *. pose proof D_two as D2.
  unfold positional_ids in X. apply in_map_iff in X. destruct X as (y & <- & Y).
  pose proof (swept_between n d N n2 d1 N2 _ P y Y) as By.
  set (Sc := positional_scale n d N). assert (S0 : (0 <= Sc)%Z).
  { unfold Sc, positional_scale. pose proof (Z.pow_pos_nonneg D (Z.of_nat n) ltac:(lia) ltac:(lia)). nia. }
  enough (last (swept D (place n d N (0 :: repeat (D - 1) (n - 1))%Z)) 0 <= last (swept D (place n d N s)) 0)%Z by nia.
  set (s0 := (0 :: repeat (D - 1) (n - 1))%Z).
  assert (S1 : In s0 (contexts family)).
  { apply in_sequences. unfold s0. split; [simpl; rewrite repeat_length; lia|]. intros l [<-|I]; [lia|].
    apply repeat_spec in I. lia. }
  apply in_sequences in S, S1. destruct S as [L H], S1 as [L1 H1].
  assert (Lp : length (place n d N s) = n) by now apply length_combine_seq.
  assert (Lq : length (place n d N s0) = n) by now apply length_combine_seq.
  assert (A0 : (nth 0 (place n d N s0) 0 <= nth 0 (place n d N s) 0)%Z).
  { rewrite !nth_place by (auto; lia). unfold s0. cbn [nth]. specialize (H (nth 0 s 0%Z) ltac:(apply nth_In; lia)). lia. }
  assert (Aj : forall j, (1 <= j < n)%nat -> (nth j (place n d N s) 0 <= nth j (place n d N s0) 0)%Z).
  { intros j J. rewrite !nth_place by (auto; lia). specialize (H (nth j s 0%Z) ltac:(apply nth_In; lia)).
    assert (E : nth j s0 0%Z = (D - 1)%Z).
    { unfold s0. destruct j as [|j]; [lia|]. cbn [nth]. apply (repeat_spec (n - 1)), nth_In. rewrite repeat_length. lia. }
    rewrite E. lia. }
  destruct (place n d N s0) as [|q0 q], (place n d N s) as [|p0 p]; simpl in Lp, Lq; try lia. cbn [swept nth] in *.
  rewrite !last_cons, !follow_last. apply (recur_monotone n d N n2 d1 N2); auto.
  assert (G : forall a b, length a = length b -> (forall j, (j < length a)%nat -> (nth j b 0 <= nth j a 0)%Z) ->
    Forall2 (fun l l' => (l' <= l)%Z) a b).
  { clear. induction a as [|x a IH]; intros [|y b] E J; simpl in E; try lia; constructor.
    - apply (J O). simpl. lia.
    - apply IH; [lia|]. intros j Hj. apply (J (S j)). simpl. lia. }
  apply G; [lia|]. intros j J. apply (Aj (S j)). lia.
Qed.

Lemma sequences_unique s s' i i' : In s (contexts family) -> In s' (contexts family) -> (i < n)%nat -> (i' < n)%nat ->
  nth i (after family s) 0%Z = nth i' (after family s') 0%Z -> s = s' /\ i = i'.
Proof.
  intros S S' I I' E. destruct (positional_ids_unique n d N n2 d1 N2 _ _ i i' (place_placed s S) (place_placed s' S') I I' E).
  split; auto. now apply place_injective.
Qed.

Lemma sequences_lowest : (1 <= lowest family)%Z.
Proof.
  pose proof D_two as D2. cbn [sequences lowest]. set (s0 := (0 :: repeat (D - 1) (n - 1))%Z).
  assert (S1 : In s0 (contexts family)).
  { apply in_sequences. unfold s0. split; [simpl; rewrite repeat_length; lia|]. intros l [<-|I]; [lia|].
    apply repeat_spec in I. lia. }
  pose proof (place_placed s0 S1) as P. pose proof (last_below_scale n d N n2 d1 N2 _ P) as U.
  assert (1 <= last (swept D (place n d N s0)) 0)%Z.
  { destruct (swept D (place n d N s0)) as [|y r] eqn:E; [now apply (placed_nonempty n d N n2) in P|].
    pose proof (swept_between n d N n2 d1 N2 _ P y) as W. rewrite E in W. specialize (W (or_introl eq_refl)). lia. }
  nia.
Qed.

(** Behind the quantiser. *)
Lemma floor_plus t z : floor (t + inj z) = (floor t + z)%Z.
Proof.
  pose proof (floor_low t). pose proof (floor_high t). rewrite inj_plus, inj_1 in *.
  apply floor_unique; rewrite !inj_plus, ?inj_1; qlra.
Qed.

Lemma positional_columns X : shaped n d X -> in_box N X ->
  run (map Feed (quantiser d (Z.of_nat n * N) None)) (add_positions X (encoding n d N)) =
  map (fun p => map inj (map (Z.add (N * position n (fst p))) (snd p))) (combine (seq 0 n) (cells X)).
Proof.
  intros [L H] Box. rewrite run_feed. unfold encoding, cells.
  assert (G : forall k X, (k + length X <= n)%nat -> Forall (fun x => length x = d) X -> in_box N X ->
    map (feed_all (quantiser d (Z.of_nat n * N) None))
      (add_positions X (map (fun j => repeat (inj (N * position n j)) d) (seq k (length X)))) =
    map (fun p => map inj (map (Z.add (N * position n (fst p))) (snd p))) (combine (seq k (length X)) (map (map floor) X))).
  { clear L H Box. intros k Y. revert k. induction Y as [|x Y IH]; intros k K Len Bx; [reflexivity|].
    inversion Len as [|? ? Lx LY]; subst. inversion Bx as [|? ? Hx HY]. subst. simpl length in K.
    cbn [length seq map add_positions combine fst snd]. f_equal; [|apply IH; auto; lia].
    assert (P : (0 <= position n k < Z.of_nat n)%Z) by (unfold position; destruct k; lia).
    replace (repeat (inj (N * position n k)) (length x)) with (scale (inj (N * position n k)) (repeat 1 (length x)))
      by (rewrite scale_repeat; f_equal; ring).
    rewrite vadd_scale_ones by auto. rewrite lemma5_inside; [| lia | now rewrite map_length |].
    - rewrite !map_map. apply map_ext. intros t. rewrite floor_plus. f_equal. lia.
    - apply Forall_map. eapply Forall_impl; [|exact Hx]. cbv beta. intros t [T1 T2].
      assert (A1 : inj 0 <= inj (N * position n k)) by (apply inj_le; nia).
      assert (A2 : inj (N + N * position n k) <= inj (Z.of_nat n * N)) by (apply inj_le; nia).
      rewrite inj_0 in A1. rewrite inj_plus in A2. split; qlra. }
  specialize (G O X (Nat.eq_le_incl _ _ L) H Box). unfold shaped, sequence, vec in *. rewrite L in G. exact G.
Qed.

(** **Theorem 3**: for all n ≥ 2, d ≥ 1, N ≥ 2 and every table, the network with positions that is built equals the
    table at every point of every cell of the box. *)
Theorem theorem3_on_the_box X : shaped n d X -> in_box N X ->
  run (theorem3_layers n d N table B) (add_positions X (encoding n d N)) = table (cells X).
Proof.
  intros Sh Box. unfold theorem3_layers. rewrite !run_app, positional_columns by auto. destruct Sh as [LX HX].
  set (Z := cells X) in *. pose proof D_two as D2.
  assert (LZ : length Z = n) by (unfold Z, cells; now rewrite map_length).
  assert (HZ : Forall (fun z => length z = d) Z).
  { unfold Z, cells. apply Forall_map. eapply Forall_impl; [|exact HX]. intros. now rewrite map_length. }
  assert (GZ : Forall (in_grid N) Z).
  { unfold Z, cells. apply Forall_map. eapply Forall_impl; [|exact Box]. intros x Hx. apply Forall_map.
    eapply Forall_impl; [|exact Hx]. cbv beta. intros t [P Q]. now apply floor_bounds. }
  set (s := map (id d N) Z).
  assert (S : In s (contexts family)).
  { apply in_sequences. unfold s. split; [now rewrite map_length|]. intros l I. apply in_map_iff in I.
    destruct I as (z & <- & I). rewrite Forall_forall in *. apply id_in_range; auto. }
  assert (DZ : map (digits d N) s = Z).
  { unfold s. rewrite map_map. rewrite <- (map_id Z) at 2. apply map_ext_in.
    intros z I. rewrite Forall_forall in *. apply digits_id; auto. }
  set (W := map (fun p => map (Z.add (N * position n (fst p))) (snd p)) (combine (seq 0 n) Z)).
  replace (map (fun p => map inj (map (Z.add (N * position n (fst p))) (snd p))) (combine (seq 0 n) Z)) with (map (map inj) W)
    by (unfold W; now rewrite map_map).
  assert (HW : Forall (fun z => length z = d) W).
  { unfold W. apply Forall_map, Forall_forall. intros [j z] I. apply in_combine_r in I. rewrite Forall_forall in HZ.
    cbn [fst snd]. rewrite map_length. auto. }
  assert (Ids : map (id d N) W = place n d N s).
  { unfold W, place, s. rewrite map_map. clear - HZ. generalize (seq 0 n). induction Z as [|z Z IH]; intros [|j js]; auto.
    inversion HZ; subst. cbn [combine map fst snd]. rewrite IH by auto. f_equal. rewrite id_add by auto.
    unfold start, unit. lia. }
  rewrite tokens_split with (d := d) (N := N) by auto.
  rewrite positional_layers; auto using fits_split; rewrite ids_split, Ids; [|now apply place_placed].
  rewrite run_feed, map_map. pose proof (sequences_shapes s S) as (A & R & V & _).
  cbn [sequences after rows] in A, R. unfold values_of in V. rewrite DZ in V. 
  assert (LW : length W = n) by (unfold W; now apply length_combine_seq).
  assert (RW : rows family s = map (@tl _) W).
  { unfold W. cbn [sequences rows]. rewrite map_map. unfold s. clear - GZ HZ N2. generalize (seq 0 n).
    induction Z as [|z Z IH]; intros [|j js]; auto. inversion HZ; inversion GZ; subst. cbn [combine map fst snd].
    rewrite IH, digits_id by auto. reflexivity. }
  set (F := feed_all (value_map d N family values B)).
  unfold shift_pairs. rewrite map_map. cbn [split snd].
  assert (LI : length (combine (positional_ids n d N (place n d N s)) (map (fun z => tl z) W)) = n).
  { rewrite combine_length, map_length. lia. }
  apply (nth_ext _ _ [] []); [rewrite map_length; unfold vec in *; lia|].
  intros i I. rewrite map_length in I. assert (In' : (i < n)%nat) by (unfold vec in *; lia).
  rewrite (nth_indep _ [] (F (token d N (0%Z, [])))) by (rewrite map_length; unfold vec in *; lia).
  rewrite (map_nth (fun p => F (token d N p))), combine_nth by (rewrite map_length; lia).
  change (map (fun z => tl z) W) with (map (@tl _) W). rewrite <- RW. unfold F.
  change (positional_ids n d N (place n d N s)) with (after family s).
  rewrite (value_map_looks_up n d N family values B N2 d1 sequences_lowest sequences_shapes sequences_above sequences_unique s i S In').
  unfold values_of. now rewrite DZ.
Qed.
End Theorem3.
