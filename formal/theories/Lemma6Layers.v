(* Linked from THEOREMS.md#lemma6. *)
(** The attention layers of Lemma 6, and what they do to the ids of the tokens.

    The head [ψ(Z; b)] reads ids by [u = (1, N, …, N^{d-1})] and adds to the first row the largest id where a token's
    own id is above [b], and the smallest where it is below. The layer of the window [v] has two such heads,
    [D ψ(·; v-½)] and [-D ψ(·; v+½)]. Proved here: on tokens of whole numbers it is [Ids.step]. *)

From Formwright Require Import Numbers Transformer Ids.

(** * The construction *)

(** [1, N, …, N^{d-1}]. *)
Definition radix (d : nat) (N : Z) : list Z := map (fun i => N ^ Z.of_nat i)%Z (seq 0 d).

(** [c e_1], of [d] rows. *)
Definition first (d : nat) (c : Qc) : vec := match d with O => [] | S k => c :: zeros k end.

(** [c ψ(·; b)]. *)
Definition psi (d : nat) (N : Z) (b c : Qc) : head :=
  let u := map inj (radix d N) in Head [u] [- b] [u] [u] (map (fun e => [e]) (first d c)).

(** The layer of the window [v]. *)
Definition selective_shift (d : nat) (N : Z) (v : Z) : layer :=
  let D := inj (N ^ Z.of_nat d) in Attention [psi d N (inj v - half) D; psi d N (inj v + half) (- D)].

(** The windows [0, …, D-1]. *)
Definition selective_shifts (d : nat) (N : Z) : list layer :=
  map (selective_shift d N) (range (Z.to_nat (N ^ Z.of_nat d))).

(** The last layer, one head: [S ψ(·; 0)]. *)
Definition global_shift (d : nat) (N S : Z) : layer := Attention [psi d N 0 (inj S)].

(** With [S = D^{n+1}]. *)
Definition contextual_map (n d : nat) (N : Z) : list layer :=
  selective_shifts d N ++ [global_shift d N ((N ^ Z.of_nat d) ^ Z.of_nat (S n))].

(** * Hardmax *)

Lemma qmax_cases x y : (qmax x y = x /\ y <= x) \/ (qmax x y = y /\ x <= y).
Proof. unfold qmax. destruct (Qclt_le_dec x y); [right | left]; split; auto. qlra. Qed.

Lemma fold_qmax a l : (forall s, In s (a :: l) -> s <= fold_right qmax a l) /\ In (fold_right qmax a l) (a :: l).
Proof.
  induction l as [|x l [A B]]; [simpl; split; auto; intros s [->|[]]; qlra|]. cbn [fold_right].
  destruct (qmax_cases x (fold_right qmax a l)) as [[-> H]|[-> H]]; split; try (simpl in *; tauto).
  - intros s [->|[->|I]]; [|qlra|]; [specialize (A s (or_introl eq_refl)) | specialize (A s (or_intror I))]; qlra.
  - intros s [->|[->|I]]; auto; apply A; simpl; auto.
Qed.

Lemma largest_ge l s : In s l -> s <= largest l.
Proof. destruct l as [|a l]; [easy|]. apply fold_qmax. Qed.

Lemma largest_in l : l <> [] -> In (largest l) l.
Proof. destruct l as [|a l]; [easy|]. intros _. apply (fold_qmax a l). Qed.

(** If all keys that win have the value [c], the head gives [c]. *)
Lemma hardmax_mean {A} (f g : A -> Qc) c X : X <> [] ->
  (forall y, In y X -> f y = largest (map f X) -> g y = c) ->
  sum (map (fun y => hardmax (map f X) (f y) * g y) X) = c.
Proof.
  intros NE W. set (scores := map f X) in *. set (k := ties scores).
  assert (K : k <> O).
  { unfold k, ties. assert (I : In (largest scores) (filter (is_largest scores) scores)).
    { apply filter_In. split; [apply largest_in; unfold scores; now destruct X|].
      unfold is_largest. now destruct (Qc_eq_dec (largest scores) (largest scores)). }
    destruct (filter _ _); easy. }
  assert (G : forall Y, incl Y X -> sum (map (fun y => hardmax scores (f y) * g y) Y) =
    inj (Z.of_nat (length (filter (is_largest scores) (map f Y)))) * / inj (Z.of_nat k) * c).
  { induction Y as [|y Y IH]; intros I; [simpl; rewrite inj_0; ring|].
    specialize (IH (fun z Hz => I z (or_intror Hz))). cbn [map sum fold_right filter]. unfold sum in IH. rewrite IH.
    unfold hardmax, is_largest at 1 3. destruct (Qc_eq_dec (f y) (largest scores)) as [E|].
    - rewrite (W y) by (auto; apply I; simpl; auto). cbn [length]. rewrite Nat2Z.inj_succ, <- Z.add_1_r, inj_plus, inj_1.
      unfold is_largest, k. ring.
    - unfold is_largest. ring. }
  rewrite (G X) by apply incl_refl. fold scores. fold (ties scores). fold k. field.
  rewrite <- inj_0. intros E. apply inj_eq in E. lia.
Qed.

(** * Tokens of whole numbers, by their id and their other rows *)

Definition zdot (a b : list Z) : Z := fold_right Z.add 0%Z (map (fun p => fst p * snd p)%Z (combine a b)).

Lemma dot_inj a : forall b, dot (map inj a) (map inj b) = inj (zdot a b).
Proof.
  unfold dot, zdot. induction a as [|x a IH]; intros [|y b]; simpl; auto.
  now rewrite inj_plus, inj_mult, <- IH.
Qed.

(** The token with the id [l] and the rows [rest] below the first. *)
Definition token (d : nat) (N : Z) (p : Z * list Z) : vec :=
  inj (fst p - zdot (tl (radix d N)) (snd p)) :: map inj (snd p).

Lemma vadd_zeros v : forall k, length v = k -> vadd v (zeros k) = v.
Proof. induction v; intros [|k] L; simpl in *; try lia; auto. unfold vadd in *. simpl. rewrite IHv by lia. f_equal. ring. Qed.

Lemma scale_zeros m k : scale m (zeros k) = zeros k.
Proof. unfold scale, zeros. induction k; simpl; auto. rewrite IHk. f_equal. ring. Qed.

(** The same rows with new ids. *)
Definition shift_pairs (P : list (Z * list Z)) (ids : list Z) : list (Z * list Z) := combine ids (map snd P).

Lemma fst_shift P ids : length ids = length P -> map fst (shift_pairs P ids) = ids.
Proof. unfold shift_pairs. revert ids. induction P; intros [|i ids] L; simpl in *; try lia; auto. rewrite IHP; auto. Qed.
Lemma snd_shift P ids : length ids = length P -> map snd (shift_pairs P ids) = map snd P.
Proof. unfold shift_pairs. revert ids. induction P; intros [|i ids] L; simpl in *; try lia; auto. rewrite IHP; auto. Qed.

Section Layers.
Variables (d : nat) (N : Z).
Notation u := (map inj (radix d N)).
Hypothesis d1 : (1 <= d)%nat.

Definition fits (p : Z * list Z) : Prop := length (snd p) = (d - 1)%nat.

Lemma id_of_token p : dot u (token d N p) = inj (fst p).
Proof.
  unfold token. destruct d as [|k]; [lia|]. cbn [radix seq map tl]. rewrite Z.pow_0_r.
  unfold dot. cbn [zip_with sum fold_right]. fold (sum (zip_with Qcmult (map inj (map (fun i => N ^ Z.of_nat i)%Z (seq 1 k))) (map inj (snd p)))).
  fold (dot (map inj (map (fun i => N ^ Z.of_nat i)%Z (seq 1 k))) (map inj (snd p))). rewrite dot_inj, inj_minus, inj_1. ring.
Qed.

Lemma mul_column (v : vec) m : mul (map (fun e => [e]) v) [m] = scale m v.
Proof. unfold mul, scale. rewrite map_map. apply map_ext. intros. unfold dot. simpl. ring. Qed.

(** A head gives [c] times the mean of the winning ids, in the first row. *)
Lemma attend_psi b c X x :
  let s y := dot u y * (dot u x - b) in
  attend (psi d N b c) X x = scale (sum (map (fun y => hardmax (map s X) (s y) * dot u y) X)) (first d c).
Proof.
  intros s. unfold attend.
  assert (S : forall y, score (psi d N b c) x y = s y).
  { intros y. unfold score, s. cbn [psi WK WQ bQ mul map vadd zip_with]. unfold dot at 1. simpl. ring. }
  rewrite (map_ext _ _ S). unfold psi at 3. cbn [WO]. rewrite <- mul_column. f_equal.
  cbn [psi WV length mul map].
  rewrite (map_ext _ (fun y => scale (hardmax (map s X) (s y)) [dot u y])) by (intros; now rewrite S).
  generalize (hardmax (map s X)). intros w. unfold vsum, sum. induction X as [|y Y IH]; [reflexivity|].
  cbn [map fold_right]. rewrite IH. reflexivity.
Qed.

Lemma psi_above (P : list (Z * list Z)) p b c : In p P -> b < inj (fst p) ->
  attend (psi d N b c) (map (token d N) P) (token d N p) = scale (inj (zmax (map fst P))) (first d c).
Proof.
  intros I H. rewrite attend_psi. f_equal. apply hardmax_mean; [destruct P; easy|].
  intros y Y E. apply in_map_iff in Y. destruct Y as (q & <- & Q). rewrite !id_of_token in *.
  assert (M : In (zmax (map fst P)) (map fst P)) by (apply zmax_in; destruct P; easy).
  apply inj_eq, Z.le_antisymm; [apply zmax_ge; now apply in_map|].
  apply in_map_iff in M. destruct M as (r & <- & R). apply inj_le.
  assert (L : inj (fst r) * (inj (fst p) - b) <= inj (fst q) * (inj (fst p) - b)).
  { rewrite E. apply largest_ge, in_map_iff. exists (token d N r). rewrite !id_of_token. split; auto. now apply in_map. }
  eapply Qcmult_lt_0_le_reg_r; [|exact L]. qlra.
Qed.

Lemma psi_below (P : list (Z * list Z)) p b c : In p P -> inj (fst p) < b ->
  attend (psi d N b c) (map (token d N) P) (token d N p) = scale (inj (zmin (map fst P))) (first d c).
Proof.
  intros I H. rewrite attend_psi. f_equal. apply hardmax_mean; [destruct P; easy|].
  intros y Y E. apply in_map_iff in Y. destruct Y as (q & <- & Q). rewrite !id_of_token in *.
  assert (M : In (zmin (map fst P)) (map fst P)) by (apply zmin_in; destruct P; easy).
  apply inj_eq, Z.le_antisymm; [|apply zmin_le; now apply in_map].
  apply in_map_iff in M. destruct M as (r & <- & R). apply inj_le.
  assert (L : inj (fst r) * (inj (fst p) - b) <= inj (fst q) * (inj (fst p) - b)).
  { rewrite E. apply largest_ge, in_map_iff. exists (token d N r). rewrite !id_of_token. split; auto. now apply in_map. }
  apply (Qcmult_lt_0_le_reg_r _ _ (b - inj (fst p))); [qlra|].
  replace (inj (fst q) * (b - inj (fst p))) with (- (inj (fst q) * (inj (fst p) - b))) by ring.
  replace (inj (fst r) * (b - inj (fst p))) with (- (inj (fst r) * (inj (fst p) - b))) by ring. qlra.
Qed.

(** Adding to the first row adds to the id. *)
Lemma shift_token l rest m c : length rest = (d - 1)%nat ->
  vadd (token d N (l, rest)) (scale (inj m) (first d (inj c))) = token d N (l + c * m, rest)%Z.
Proof.
  intros F. destruct d as [|k]; [lia|]. unfold token. cbn [first fst snd scale map]. fold (scale (inj m) (zeros k)).
  rewrite scale_zeros. unfold vadd. cbn [zip_with]. fold (vadd (map inj rest) (zeros k)). rewrite vadd_zeros.
  - f_equal. rewrite !inj_minus, inj_plus, inj_mult. ring.
  - rewrite map_length. lia.
Qed.

(** One window is one step of the ids. *)
Lemma window_is_step P v : Forall fits P ->
  run_layer (selective_shift d N v) (map (token d N) P) =
  map (token d N) (shift_pairs P (step (N ^ Z.of_nat d) (map fst P) v)).
Proof.
  intros F. unfold run_layer, selective_shift, attention, shift_pairs, step. set (D := (N ^ Z.of_nat d)%Z).
  set (mx := zmax (map fst P)). set (mn := zmin (map fst P)).
  assert (E : forall Q : list (Z * list Z), combine (map (fun l => if (l =? v)%Z then (l + D * (mx - mn))%Z else l) (map fst Q)) (map snd Q)
    = map (fun p => (if (fst p =? v)%Z then (fst p + D * (mx - mn))%Z else fst p, snd p)) Q).
  { induction Q as [|q Q IH]; simpl; auto. now rewrite IH. }
  rewrite E, !map_map. apply map_ext_in. intros p I. rewrite Forall_forall in F. specialize (F p I).
  cbn [map fold_left]. rewrite <- inj_opp. destruct p as [l rest]. unfold fits in F. cbn [fst snd] in *.
  destruct (Z.eqb_spec l v) as [->|NE].
  - rewrite psi_above, psi_below by (auto; cbn [fst]; qlra). fold mx mn. rewrite !shift_token by auto.
    f_equal. f_equal. lia.
  - destruct (Z.lt_ge_cases l v) as [H|H].
    + assert (inj l <= inj (v - 1)) by (apply inj_le; lia). rewrite inj_minus, inj_1 in *.
      rewrite !psi_below by (auto; cbn [fst]; qlra). fold mn. rewrite !shift_token by auto. f_equal. f_equal. lia.
    + assert (inj (v + 1) <= inj l) by (apply inj_le; lia). rewrite inj_plus, inj_1 in *.
      rewrite !psi_above by (auto; cbn [fst]; qlra). fold mx. rewrite !shift_token by auto. f_equal. f_equal. lia.
Qed.

Lemma length_sweep D vs : forall ls, length (fold_left (step D) vs ls) = length ls.
Proof. induction vs; intros; simpl; auto. rewrite IHvs. unfold step. apply map_length. Qed.

(** The layers of some windows, one after another. *)
Theorem windows_are_steps vs : forall P, Forall fits P ->
  run (map (selective_shift d N) vs) (map (token d N) P) =
  map (token d N) (shift_pairs P (fold_left (step (N ^ Z.of_nat d)) vs (map fst P))).
Proof.
  set (D := (N ^ Z.of_nat d)%Z). induction vs as [|v vs IH]; intros P F.
  - simpl. unfold run. simpl. f_equal. unfold shift_pairs. clear. induction P as [|[l r] P IH]; simpl; auto. now rewrite <- IH.
  - unfold run in *. cbn [map fold_left]. rewrite window_is_step by auto. fold D. rewrite IH.
    + f_equal. rewrite fst_shift by (unfold step; now rewrite !map_length). unfold shift_pairs at 1.
      rewrite snd_shift by (unfold step; now rewrite !map_length). reflexivity.
    + rewrite Forall_forall in *. intros q Q. apply (in_map snd) in Q.
      rewrite snd_shift in Q by (unfold step; now rewrite !map_length).
      apply in_map_iff in Q. destruct Q as (r & E & R). unfold fits. rewrite <- E. now apply F.
Qed.

(** The D attention layers of Lemma 6, on tokens of whole numbers, sweep the ids, and change the first row only. *)
Theorem shifts_are_the_sweep P : Forall fits P ->
  run (selective_shifts d N) (map (token d N) P) =
  map (token d N) (shift_pairs P (sweep (N ^ Z.of_nat d) (map fst P))).
Proof. apply windows_are_steps. Qed.

(** The last attention layer adds D^{n+1} times the largest id, where all ids are positive. *)
Theorem global_adds_the_largest S P : Forall fits P -> (forall l, In l (map fst P) -> 0 < l)%Z ->
  run_layer (global_shift d N S) (map (token d N) P) =
  map (fun p => token d N (fst p + S * zmax (map fst P), snd p)%Z) P.
Proof.
  intros F Pos. unfold run_layer, global_shift, attention. rewrite map_map. apply map_ext_in.
  intros p I. cbn [map fold_left]. rewrite Forall_forall in F. specialize (F p I).
  rewrite psi_above; auto.
  - destruct p as [l rest]. now rewrite shift_token.
  - rewrite <- inj_0. apply inj_lt, Pos. now apply in_map.
Qed.
End Layers.
