(* Linked from THEOREMS.md#theorem2. *)
(** Theorem 2, on the grid and everywhere: the network for equivariant tables.

    [g = g_v ∘ g_c ∘ g_q]: quantiser (Lemma 5), contextual map (Lemma 6), value map (Lemma 7), in integer units. A table
    gives a value to every sequence of [n] distinct columns of the grid. On a cell with distinct columns the network
    equals the table. On cells with equal columns, and outside of the box [[0, N)^{dn}], it is 0. *)

From Coq Require Import Sorted.
From Formwright Require Import Numbers Transformer Ids Lemma6Layers Lemma5 Lemma6 Columns Lemma6Outside Lemma7 Contexts ValueMap.

(** * The construction *)

(** The contexts: sets of [n] distinct columns, by decreasing [l̃_n]. *)
Definition sets (n d : nat) (N : Z) : family :=
  let D := (N ^ Z.of_nat d)%Z in
  Family (descending (last_id D) (increasing 0 (Z.to_nat D) n)) (context_ids n D)
    (map (fun l => tl (digits d N l))) (t_l n D).

(** The values of a context. *)
Definition values_of (d : nat) (N : Z) (table : list (list Z) -> sequence) (s : list Z) : sequence :=
  table (map (digits d N) s).

Definition theorem2_layers (n d : nat) (N : Z) (table : list (list Z) -> sequence) (B : Qc) : list layer :=
  let D := (N ^ Z.of_nat d)%Z in let F := flag_magnitude n d N in
  map Feed (quantiser d N (Some (inj F))) ++ contextual_map n d N ++
  map Feed (zero_outside d N (t_l n D) (t_r n D) (largest_entry n d N F)) ++
  map Feed (value_map d N (sets n d N) (values_of d N table) B).

(** * The statement *)

(** [n] columns of [d] numbers of the grid, all distinct. *)
Definition distinct_cells (n d : nat) (N : Z) (L : list (list Z)) : Prop :=
  length L = n /\ Forall (fun z => length z = d) L /\ is_context N L.

(** A table of values of at most [B]. *)
Definition is_table (n d : nat) (B : Qc) (domain : list (list Z) -> Prop) (table : list (list Z) -> sequence) : Prop :=
  forall L, domain L -> length (table L) = n /\ Forall (fun v => length v = d /\ Forall (fun t => t <= B) v) (table L).

Definition equivariant_table (n : nat) (domain : list (list Z) -> Prop) (table : list (list Z) -> sequence) : Prop :=
  forall p L, is_permutation n p -> domain L -> table (permute [] p L) = permute [] p (table L).

Definition shaped (n d : nat) (X : sequence) : Prop := length X = n /\ Forall (fun x => length x = d) X.

Definition in_box (N : Z) (X : sequence) : Prop := Forall (Forall (fun t => 0 <= t /\ t < inj N)) X.

(** The cell of a point. *)
Definition cells (X : sequence) : list (list Z) := map (map floor) X.

(** * Proof *)

Lemma zmax_permutation ls ls' : Permutation ls ls' -> zmax ls = zmax ls'.
Proof.
  intros P. destruct ls as [|a ls]; [apply Permutation_nil in P; now subst|]. symmetry. apply zmax_unique.
  - apply (Permutation_in _ P), zmax_in. discriminate.
  - intros l I. apply zmax_ge, (Permutation_in _ (Permutation_sym P)), I.
Qed.

Lemma mem_permutation v ls ls' : Permutation ls ls' -> mem v ls = mem v ls'.
Proof.
  intros P. apply eq_true_iff_eq. rewrite !mem_in. split; apply Permutation_in; auto. now apply Permutation_sym.
Qed.

Lemma top_permutation D ls ls' v : Permutation ls ls' -> top D ls v = top D ls' v.
Proof.
  intros P. induction v as [|v IH]; simpl; [now apply zmax_permutation|]. now rewrite IH, (mem_permutation _ _ _ P).
Qed.

Lemma shift_split d N (h : Z -> Z) X :
  shift_pairs (map (split d N) X) (map h (map (id d N) X)) = map (fun z => (h (id d N z), tl z)) X.
Proof. unfold shift_pairs. induction X as [|z X IH]; simpl; auto. now rewrite IH. Qed.

Lemma permute_places {A B} (e : A) (e' : B) n p X Y (h : A -> B) : is_permutation n p ->
  (forall i, (i < n)%nat -> h (nth i X e) = nth i Y e') -> map h (permute e p X) = permute e' p Y.
Proof.
  intros P H. unfold permute. rewrite map_map. apply map_ext_in. intros i I. apply H.
  apply (Permutation_in _ P), in_seq in I. lia.
Qed.

Lemma map_constant {A B} (c : B) (l : list A) : map (fun _ => c) l = repeat c (length l).
Proof. induction l; simpl; auto. now rewrite IHl. Qed.

Lemma floor_bounds N t : 0 <= t -> t < inj N -> (0 <= floor t < N)%Z.
Proof.
  intros P Q. pose proof (floor_low t). pose proof (floor_high t).
  assert (inj 0 < inj (floor t + 1)) by (rewrite inj_0; qlra). assert (inj (floor t) < inj N) by qlra.
  rewrite inj_lt in *. lia.
Qed.

Section Theorem2.
Variables (n d : nat) (N : Z) (table : list (list Z) -> sequence) (B : Qc).
Hypothesis n2 : (2 <= n)%nat.
Hypothesis d1 : (1 <= d)%nat.
Hypothesis N2 : (2 <= N)%Z.
Hypothesis is : is_table n d B (distinct_cells n d N) table.
Notation D := (N ^ Z.of_nat d)%Z.
Notation F := (flag_magnitude n d N).
Notation family := (sets n d N).
Notation values := (values_of d N table).

Lemma D_is_2 : (2 <= D)%Z.
Proof. now apply pow_ge_2. Qed.

Lemma flag_positive : (0 < F)%Z.
Proof.
  unfold flag_magnitude. pose proof D_is_2. pose proof (Z.pow_pos_nonneg D (Z.of_nat n) ltac:(lia) ltac:(lia)). nia.
Qed.

Lemma in_sets s : In s (contexts family) <->
  length s = n /\ StronglySorted Z.lt s /\ forall l, In l s -> (0 <= l < D)%Z.
Proof.
  pose proof D_is_2. unfold sets. cbn [contexts]. rewrite in_descending, in_increasing, Z2Nat.id by lia. reflexivity.
Qed.

Lemma sets_distinct s : In s (contexts family) -> distinct_columns n D s.
Proof. intros S. apply in_sets in S. destruct S as (L & S & H). split; auto. split; auto. now apply sorted_nodup. Qed.

Lemma sets_cells s : In s (contexts family) -> distinct_cells n d N (map (digits d N) s).
Proof.
  intros S. apply sets_distinct in S. destruct S as (L & nd & small). split; [now rewrite map_length|]. split; [|split].
  - apply Forall_forall. intros z Z. apply in_map_iff in Z. destruct Z as (l & <- & _). apply length_digits.
  - apply Forall_forall. intros z Z. apply in_map_iff in Z. destruct Z as (l & <- & _). now apply digits_in_grid.
  - apply (NoDup_map_inv (id d N)). rewrite map_map. rewrite (map_ext_in _ (fun l => l)); [now rewrite map_id|].
    intros l I. apply id_digits; auto.
Qed.

Lemma sets_shapes s : In s (contexts family) ->
  length (after family s) = n /\ length (rows family s) = n /\ length (values s) = n /\
  Forall (fun r => length r = (d - 1)%nat) (rows family s) /\
  Forall (fun v => length v = d /\ Forall (fun t => t <= B) v) (values s).
Proof.
  intros S. pose proof (sets_cells s S) as C. apply is in C. destruct C as [LT HT]. apply in_sets in S. destruct S as (L & _).
  cbn [sets after rows]. unfold context_ids. rewrite !map_length. repeat split; auto.
  apply Forall_forall. intros r R. apply in_map_iff in R. destruct R as (l & <- & _).
  pose proof (length_digits N d l). destruct (digits d N l); simpl in *; lia.
Qed.

Lemma sets_above s x : In s (contexts family) -> In x (after family s) -> (lowest family <= x)%Z.
Proof.
  intros S X. apply sets_distinct in S. apply (lemma6_3 n D D_is_2 n2 s S x X).
Qed.

Lemma sets_unique s s' i i' : In s (contexts family) -> In s' (contexts family) -> (i < n)%nat -> (i' < n)%nat ->
  nth i (after family s) 0%Z = nth i' (after family s') 0%Z -> s = s' /\ i = i'.
Proof.
  intros S S' I I' E. pose proof (sets_shapes s S) as (A & _). pose proof (sets_shapes s' S') as (A' & _).
  pose proof (sets_distinct s S) as C. pose proof (sets_distinct s' S') as C'.
  assert (X : In (nth i (after family s) 0%Z) (after family s)) by (apply nth_In; lia).
  assert (X' : In (nth i (after family s) 0%Z) (after family s')) by (rewrite E; apply nth_In; lia).
  apply in_sets in S, S'. assert (s = s').
  { apply sorted_permutation; try tauto. exact (lemma6_2 n D D_is_2 n2 s s' C C' _ X X'). }
  subst s'. split; auto. pose proof (lemma6_1 n D D_is_2 n2 s C) as ND.
  apply (proj1 (NoDup_nth _ 0%Z) ND); auto; cbn [sets after] in *; lia.
Qed.

Lemma lowest_positive : (1 <= lowest family)%Z.
Proof. apply t_l_pos; auto. Qed.

(** Behind the quantiser. *)
Lemma quantised X : shaped n d X ->
  run (map Feed (quantiser d N (Some (inj F)))) X = map (map inj) (map (map (cell N F)) X).
Proof.
  intros [L H]. rewrite run_feed, map_map. apply map_ext_in. intros x I. rewrite Forall_forall in H.
  rewrite lemma5, map_map; auto; [lia | apply flag_positive].
Qed.

Lemma cells_in_box X : in_box N X -> map (map (cell N F)) X = cells X.
Proof.
  intros H. unfold cells. apply map_ext_in. intros x I. apply map_ext_in. intros t T. unfold in_box in H.
  rewrite Forall_forall in H. specialize (H x I). rewrite Forall_forall in H. destruct (H t T) as [P Q]. unfold cell.
  destruct (leb_spec 0 t); [|easy]. now destruct (ltb_spec t (inj N)).
Qed.

Lemma cell_extended t : (0 <= cell N F t < N \/ cell N F t = - F)%Z.
Proof.
  unfold cell. destruct (leb_spec 0 t); [|auto]. destruct (ltb_spec t (inj N)); [|auto]. left. now apply floor_bounds.
Qed.

(** A token of a context goes through the first two steps of the value map as it is. *)
Lemma context_token_stays s i : In s (contexts family) -> (i < n)%nat ->
  let tok := token d N (nth i (after family s) 0%Z, nth i (rows family s) []) in
  feed_all (zero_outside d N (t_l n D) (t_r n D) (largest_entry n d N F)) tok = tok.
Proof.
  intros S I tok. pose proof (sets_shapes s S) as (A & R & _ & Fr & _). rewrite Forall_forall in Fr.
  pose proof (sets_distinct s S) as C. pose proof (lemma6_3 n D D_is_2 n2 s C) as T.
  assert (X : In (nth i (after family s) 0%Z) (context_ids n D s)) by (apply nth_In; cbn [sets after] in A; lia).
  specialize (T _ X). apply zero_outside_keeps.
  - apply length_token; auto. unfold fits. apply Fr, nth_In. lia.
  - unfold tok. rewrite id_of_token by auto. apply inj_le. unfold t_l. cbn [fst]. lia.
  - unfold tok. rewrite id_of_token by auto. apply inj_le. unfold t_r. cbn [fst]. lia.
  - unfold tok, token. cbn [fst snd]. destruct C as (L & nd & small).
    assert (E : nth i (rows family s) [] = tl (digits d N (nth i s 0%Z))).
    { cbn [sets rows]. rewrite (nth_indep _ [] (tl (digits d N 0))) by (rewrite map_length; lia).
      apply (map_nth (fun l => tl (digits d N l))). }
    assert (E' : nth i (after family s) 0%Z = (shifted D s (nth i s 0) + D ^ Z.of_nat (Datatypes.S n) * last_id D s)%Z).
    { cbn [sets after]. unfold context_ids.
      rewrite (nth_indep _ 0%Z (shifted D s 0 + D ^ Z.of_nat (Datatypes.S n) * last_id D s)%Z) by (rewrite map_length; lia).
      apply (map_nth (fun l => (shifted D s l + D ^ Z.of_nat (Datatypes.S n) * last_id D s)%Z)). }
    set (l := nth i s 0%Z) in *. assert (Il : In l s) by (apply nth_In; lia). specialize (small l Il) as Sl.
    pose proof (length_digits N d l) as Ld. pose proof (digits_in_grid N N2 d l) as G. pose proof (id_digits N N2 d l Sl) as Id.
    rewrite E, E'. destruct (digits d N l) as [|c z]; [simpl in Ld; lia|].
    rewrite id_first in Id by auto. apply Forall_cons_iff in G. destruct G as [Gc Gz]. cbn [tl]. constructor.
    + change 0 with (inj 0). apply inj_le.
      pose proof (shifted_not_below D s D_is_2 small l Il).
      destruct (lemma10 D s n D_is_2 small nd L n2) as [Lo _].
      pose proof D_is_2. pose proof (Z.pow_pos_nonneg D (Z.of_nat n - 1) ltac:(lia) ltac:(lia)).
      pose proof (Z.pow_pos_nonneg D (Z.of_nat (Datatypes.S n)) ltac:(lia) ltac:(lia)).
      assert (0 <= last_id D s)%Z by nia. assert (0 <= D ^ Z.of_nat (Datatypes.S n) * last_id D s)%Z by nia. lia.
    + apply Forall_map. eapply Forall_impl; [|eassumption]. cbv beta. intros a Ha. change 0 with (inj 0). apply inj_le. lia.
Qed.

(** **Theorem 2**: for all n ≥ 2, d ≥ 1, N ≥ 2 and every equivariant table, the network that is built equals the
    table at every point of every cell with distinct columns. *)
Theorem theorem2_on_contexts X : equivariant_table n (distinct_cells n d N) table ->
  shaped n d X -> in_box N X -> NoDup (cells X) -> run (theorem2_layers n d N table B) X = table (cells X).
Proof.
  intros Eq Sh Box nd. unfold theorem2_layers. rewrite !run_app, quantised, cells_in_box by auto. destruct Sh as [LX HX].
  set (Z := cells X) in *. pose proof D_is_2 as D2.
  assert (LZ : length Z = n) by (unfold Z, cells; now rewrite map_length).
  assert (HZ : Forall (fun z => length z = d) Z).
  { unfold Z, cells. apply Forall_map. eapply Forall_impl; [|exact HX]. intros. now rewrite map_length. }
  assert (GZ : Forall (in_grid N) Z).
  { unfold Z, cells. apply Forall_map. eapply Forall_impl; [|exact Box]. intros x Hx. apply Forall_map.
    eapply Forall_impl; [|exact Hx]. cbv beta. intros t [P Q]. now apply floor_bounds. }
  set (ls := map (id d N) Z).
  assert (small : forall l, In l ls -> (0 <= l < D)%Z).
  { intros l I. apply in_map_iff in I. destruct I as (z & <- & I). rewrite Forall_forall in *. apply id_in_range; auto. }
  assert (DZ : map (digits d N) ls = Z).
  { unfold ls. rewrite map_map, <- (map_id Z) at 1. rewrite map_id. rewrite <- (map_id Z) at 2. apply map_ext_in.
    intros z I. rewrite Forall_forall in *. apply digits_id; auto. }
  assert (ndl : NoDup ls) by (apply (NoDup_map_inv (digits d N)); now rewrite DZ).
  set (s := events D ls). pose proof (events_permutation D ls D2 small ndl) as P. fold s in P.
  assert (S : In s (contexts family)).
  { apply in_sets. split; [rewrite (Permutation_length P); unfold ls; now rewrite map_length|].
    split; [apply events_sorted|]. intros l I. apply small. now apply (Permutation_in _ P). }
  assert (PC : Permutation Z (map (digits d N) s)) by (rewrite <- DZ; now apply Permutation_map, Permutation_sym).
  destruct (permutation_places [] _ _ PC) as (p & Pp & EZ).
  assert (Ls : length s = n) by (apply in_sets in S; tauto). rewrite map_length, Ls in Pp.
  pose proof (sets_cells s S) as Cs. 
  transitivity (permute [] p (table (map (digits d N) s))); [|rewrite EZ; symmetry; exact (Eq p _ Pp Cs)].
  rewrite tokens_split with (d := d) (N := N) by auto.
  assert (LP : length (map (split d N) Z) = n) by now rewrite map_length.
  rewrite (lemma6_layers n d N (map (split d N) Z)); auto; try rewrite ids_split; auto using fits_split.
  unfold context_ids. fold ls. unfold ls at 3. rewrite shift_split, !run_feed, !map_map. rewrite EZ.
  apply permute_places with (n := n); auto. intros i I.
  assert (Ed : nth i (map (digits d N) s) [] = digits d N (nth i s 0%Z)).
  { rewrite (nth_indep _ [] (digits d N 0)) by (rewrite map_length; lia). apply map_nth. }
  assert (Il : In (nth i s 0%Z) s) by (apply nth_In; lia).
  rewrite Ed, id_digits by (auto; apply small; now apply (Permutation_in _ P)).
  assert (E : forall l, (shifted D ls l + D ^ Z.of_nat (Datatypes.S n) * last_id D ls)%Z =
    (shifted D s l + D ^ Z.of_nat (Datatypes.S n) * last_id D s)%Z).
  { intros l. unfold shifted, last_id. now rewrite !(top_permutation D ls s) by now apply Permutation_sym. }
  rewrite E.
  pose proof (context_token_stays s i S I) as St. cbv zeta in St.
  assert (E1 : nth i (after family s) 0%Z = (shifted D s (nth i s 0) + D ^ Z.of_nat (Datatypes.S n) * last_id D s)%Z).
  { cbn [sets after]. unfold context_ids.
    rewrite (nth_indep _ 0%Z (shifted D s 0 + D ^ Z.of_nat (Datatypes.S n) * last_id D s)%Z) by (rewrite map_length; lia).
    apply (map_nth (fun l => (shifted D s l + D ^ Z.of_nat (Datatypes.S n) * last_id D s)%Z)). }
  assert (E2 : nth i (rows family s) [] = tl (digits d N (nth i s 0%Z))).
  { cbn [sets rows]. rewrite (nth_indep _ [] (tl (digits d N 0))) by (rewrite map_length; lia).
    apply (map_nth (fun l => tl (digits d N l))). }
  rewrite E1, E2 in St. rewrite St, <- E1, <- E2.
  apply (value_map_looks_up n d N family values B N2 d1 lowest_positive sets_shapes sets_above sets_unique s i S I).
Qed.

(** At every other point, in a cell with equal columns or outside of the box, the network is 0. *)
Theorem theorem2_elsewhere X : shaped n d X -> ~ (in_box N X /\ NoDup (cells X)) ->
  run (theorem2_layers n d N table B) X = repeat (zeros d) n.
Proof.
  intros Sh Out. unfold theorem2_layers. rewrite !run_app, quantised by auto. destruct Sh as [LX HX].
  set (Z := map (map (cell N F)) X).
  assert (LZ : length Z = n) by (unfold Z; now rewrite map_length).
  assert (HZ : Forall (fun z => length z = d) Z).
  { unfold Z. apply Forall_map. eapply Forall_impl; [|exact HX]. intros. now rewrite map_length. }
  assert (EZ : Forall (in_extended_grid N F) Z).
  { unfold Z. apply Forall_map, Forall_forall. intros x _. apply Forall_map, Forall_forall. intros t _. apply cell_extended. }
  assert (NC : ~ is_context N Z).
  { intros [G ndZ]. apply Out. assert (Box : in_box N X).
    { unfold in_box. apply Forall_forall. intros x I. apply Forall_forall. intros t T. rewrite Forall_forall in G.
      specialize (G _ (in_map _ _ _ I)). unfold in_grid in G. rewrite Forall_forall in G.
      specialize (G _ (in_map _ _ _ T)). unfold cell in G. destruct (leb_spec 0 t), (ltb_spec t (inj N)); auto;
        cbn [andb] in G; pose proof flag_positive; lia. }
    split; auto. unfold Z in ndZ. now rewrite cells_in_box in ndZ. }
  rewrite !run_feed, !map_map.
  transitivity (map (fun _ => zeros d) (run (contextual_map n d N) (map (map inj) Z))).
  - apply map_ext_in. intros y Y.
    pose proof (lemma6_4 n d N F n2 d1 N2 eq_refl Z LZ HZ EZ NC y Y) as Far.
    destruct (entries_below_M n d N F n2 d1 N2 eq_refl Z LZ HZ EZ NC y Y) as [Ly My].
    rewrite zero_outside_clears by auto.
    apply (value_map_keeps_zero n d N family values B d1 lowest_positive sets_shapes sets_above).
  - rewrite map_constant, length_run, map_length, LZ. reflexivity.
Qed.
End Theorem2.
