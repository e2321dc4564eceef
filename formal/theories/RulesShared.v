(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** Curves of one form whose units write to the same registers: CERTIFICATE.md, section 7, *Shared units*. *)

From Formwright Require Import RulesExecution RulesSums RulesSoftmax RulesLayers RulesMeanings RulesIntegral.

(** * Shared units *)

Section Shared.

(** Registers and curves are counted. Register [r] holds curve [j] with the factor [factor r j], and [shift j] is the
    number that is added to the curve. *)
Variables (factor : nat -> nat -> R) (shift : nat -> R).

(** An order of the curves, the last one first: with each curve the register that defines it. No register of an earlier
    curve holds a later one. *)
Fixpoint ordered (order : list (nat * nat)) : Prop :=
  match order with
  | [] => True
  | (r, j) :: earlier =>
      factor r j <> 0 /\ ~ In j (map snd earlier) /\ Forall (fun q => factor (fst q) j = 0) earlier /\ ordered earlier
  end.

(** What a register is said to hold, if [computed] is computed of the curves. *)
Definition said (order : list (nat * nat)) (computed : nat -> R) (r : nat) : R :=
  total (map (fun q => factor r (snd q) * (computed (snd q) + shift (snd q))) order).

(** What is computed of a curve, by what the registers of the order hold: what is left of its register when the earlier
    curves are taken away. *)
Fixpoint made (order : list (nat * nat)) (held : nat -> R) (j : nat) : R :=
  match order with
  | [] => 0
  | (r, i) :: earlier =>
      if (j =? i)%nat
      then (held r - total (map (fun q => factor r (snd q) * (made earlier held (snd q) + shift (snd q))) earlier))
             / factor r i - shift i
      else made earlier held j
  end.

Lemma made_first r i earlier held : made ((r, i) :: earlier) held i
  = (held r - said earlier (made earlier held) r) / factor r i - shift i.
Proof. cbn [made]. rewrite Nat.eqb_refl. reflexivity. Qed.

Lemma made_rest r i earlier held j : j <> i -> made ((r, i) :: earlier) held j = made earlier held j.
Proof. intros N. cbn [made]. apply Nat.eqb_neq in N. now rewrite N. Qed.

Lemma said_same order g h r : (forall q, In q order -> g (snd q) = h (snd q)) -> said order g r = said order h r.
Proof. intros E. unfold said. f_equal. apply map_ext_in. intros q I. now rewrite E. Qed.

Lemma said_first r i earlier g s : said ((r, i) :: earlier) g s = factor s i * (g i + shift i) + said earlier g s.
Proof. unfold said. cbn [map]. now rewrite total_cons. Qed.

Lemma said_made r i earlier held s : ~ In i (map snd earlier) ->
  said earlier (made ((r, i) :: earlier) held) s = said earlier (made earlier held) s.
Proof.
  intros N. apply said_same. intros q I. apply made_rest. intros E. apply N. rewrite <- E. now apply in_map.
Qed.

Lemma said_in_order order held q : ordered order -> In q order -> said order (made order held) (fst q) = held (fst q).
Proof.
  induction order as [|[r i] earlier IH]; [intros _ []|]. cbn [ordered]. intros (C & N & F & O) I.
  rewrite said_first, said_made by exact N. destruct I as [<-|I].
  - rewrite made_first. cbn [fst]. field. exact C.
  - rewrite Forall_forall in F. rewrite (F q I), (IH O I). ring.
Qed.

(** Each register of the order holds exactly what it is said to hold. *)
Theorem shared_units_in_order order held r j : ordered order -> In (r, j) order ->
  held r = said order (made order held) r.
Proof. intros O I. symmetry. exact (said_in_order order held (r, j) O I). Qed.

(** There is nothing else that could be computed of the curves. *)
Theorem shared_units_mean_one_thing order held g : ordered order ->
  (forall r j, In (r, j) order -> held r = said order g r) ->
  forall r j, In (r, j) order -> g j = made order held j.
Proof.
  induction order as [|[r i] earlier IH]; [intros _ _ s j []|]. cbn [ordered]. intros (C & N & F & O) E.
  assert (G : forall s j, In (s, j) earlier -> g j = made earlier held j).
  { apply IH; auto. intros s j I. rewrite (E s j (or_intror I)), said_first. rewrite Forall_forall in F.
    rewrite (F (s, j) I : factor s i = 0). ring. }
  intros s j [K|I].
  - injection K as <- <-. rewrite made_first, <- (said_same earlier g) by (intros [t k] I; apply (G t k I)).
    rewrite (E r i (or_introl eq_refl)), said_first. field. exact C.
  - rewrite made_rest; [apply (G s j I)|]. intros ->. apply N. apply (in_map snd) in I. exact I.
Qed.

Lemma said_between order x g h r :
  said order (fun j => x * g j + (1 - x) * h j) r = x * said order g r + (1 - x) * said order h r.
Proof.
  unfold said. induction order as [|q l IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH. ring.
Qed.

Lemma made_between order x H K j :
  made order (fun r => x * H r + (1 - x) * K r) j = x * made order H j + (1 - x) * made order K j.
Proof.
  revert j. induction order as [|[r i] l IH]; intros j; [simpl; ring|].
  destruct (Nat.eq_dec j i) as [->|N]; [|rewrite !made_rest by exact N; apply IH].
  rewrite !made_first.
  rewrite (said_same l _ (fun j => x * made l H j + (1 - x) * made l K j)) by (intros q _; apply IH).
  rewrite said_between. unfold Rdiv. ring.
Qed.

Lemma made_same order H K j : (forall q, In q order -> H (fst q) = K (fst q)) -> made order H j = made order K j.
Proof.
  revert j. induction order as [|[r i] l IH]; intros j E; [reflexivity|].
  destruct (Nat.eq_dec j i) as [->|N]; [|rewrite !made_rest by exact N; apply IH; intros q I; apply E; now right].
  rewrite !made_first, (E (r, i) (or_introl eq_refl) : H r = K r).
  rewrite (said_same l (made l H) (made l K)); [reflexivity|]. intros q _. apply IH. intros p I. apply E. now right.
Qed.

(** What is computed of a curve is piecewise linear, as what the units add to registers is: between knots of those it
    has none, so that *Curve* bounds what it is off by. *)
Theorem shared_units_are_curves order (P : nat -> R -> R) a b t j : a < b ->
  (forall r i, In (r, i) order -> P r t = chord (P r) a b t) ->
  made order (fun r => P r t) j = chord (fun t => made order (fun r => P r t) j) a b t.
Proof.
  intros L E. set (x := (b - t) / (b - a)).
  assert (C : forall h, chord h a b t = x * h a + (1 - x) * h b) by (intros h; unfold chord, x; field; lra).
  rewrite C, <- made_between. apply made_same. intros [r i] I. cbn [fst]. rewrite (E r i I). apply C.
Qed.

(** The factor that a register of the order has in a curve. *)
Fixpoint part (order : list (nat * nat)) (j s : nat) : R :=
  match order with
  | [] => 0
  | (r, i) :: earlier =>
      if (j =? i)%nat
      then ((if (r =? s)%nat then 1 else 0) - total (map (fun q => factor r (snd q) * part earlier (snd q) s) earlier))
             / factor r i
      else part earlier j s
  end.

Lemma total_of_zeros {A} (f : A -> R) l : (forall a, In a l -> f a = 0) -> total (map f l) = 0.
Proof.
  intros Z. induction l as [|a l IH]; [reflexivity|]. cbn [map]. rewrite total_cons, Z by now left.
  rewrite IH; [ring|]. intros b I. apply Z. now right.
Qed.

Lemma part_of_others order j s : ~ In s (map fst order) -> part order j s = 0.
Proof.
  revert j. induction order as [|[r i] l IH]; intros j N; [reflexivity|]. cbn [map fst] in N. cbn [part].
  assert (Z : forall j, part l j s = 0) by (intros k; apply IH; intros I; apply N; now right).
  destruct (Nat.eqb_spec j i); [|apply Z]. destruct (Nat.eqb_spec r s) as [->|]; [exfalso; apply N; now left|].
  rewrite total_of_zeros by (intros q _; rewrite Z; ring). unfold Rdiv. ring.
Qed.

(** The factor that a register of the order has in what a register is said to hold. *)
Definition share (order : list (nat * nat)) (r s : nat) : R :=
  total (map (fun q => factor r (snd q) * part order (snd q) s) order).

Lemma said_off order part g h (d : nat -> R) l r :
  (forall j, g j = h j + total (map (fun p : nat * nat => part j (fst p) * d (fst p)) l)) ->
  said order g r = said order h r
    + total (map (fun p => total (map (fun q => factor r (snd q) * part (snd q) (fst p)) order) * d (fst p)) l).
Proof.
  intros G.
  assert (E : said order g r = said order h r
    + total (map (fun q => total (map (fun p => factor r (snd q) * part (snd q) (fst p) * d (fst p)) l)) order)).
  { unfold said. rewrite <- total_of_sum. f_equal. apply map_ext. intros q. rewrite G.
    replace (total (map (fun p => factor r (snd q) * part (snd q) (fst p) * d (fst p)) l))
      with (factor r (snd q) * total (map (fun p : nat * nat => part (snd q) (fst p) * d (fst p)) l)); [ring|].
    rewrite <- total_of_multiple. f_equal. apply map_ext. intros p. ring. }
  rewrite E. f_equal. rewrite (totals_swap (fun q p => factor r (snd q) * part (snd q) (fst p) * d (fst p))).
  f_equal. apply map_ext. intros p.
  rewrite (map_ext _ (fun q : nat * nat => d (fst p) * (factor r (snd q) * part (snd q) (fst p)))) by (intros q; ring).
  rewrite total_of_multiple. ring.
Qed.

Lemma made_off order H K j : ordered order ->
  made order K j = made order H j + total (map (fun q => part order j (fst q) * (K (fst q) - H (fst q))) order).
Proof.
  revert j. induction order as [|[r i] l IH]; intros j; [intros _; unfold total; simpl; ring|].
  cbn [ordered]. intros (C & N & F & O). rewrite Forall_forall in F.
  assert (New : ~ In r (map fst l)).
  { intros I. apply in_map_iff in I. destruct I as (q & <- & I). apply C, (F q I). }
  cbn [map fst]. rewrite total_cons. cbn [part].
  destruct (Nat.eqb_spec j i) as [->|D].
  - rewrite !made_first, Nat.eqb_refl.
    rewrite (said_off l (part l) (made l K) (made l H) (fun s => K s - H s) l) by (intros k; apply IH, O).
    rewrite (total_of_zeros (fun q => factor r (snd q) * part l (snd q) r)) by (intros q _; rewrite part_of_others by exact New; ring).
    set (w := fun p : nat * nat => total (map (fun q => factor r (snd q) * part l (snd q) (fst p)) l) * (K (fst p) - H (fst p))).
    assert (W : forall v, (forall p, In p l -> v p = - / factor r i * w p) -> total (map v l) = - / factor r i * total (map w l)).
    { intros v E. rewrite <- total_of_multiple. f_equal. now apply map_ext_in. }
    match goal with |- _ = _ + (_ + ?z) => replace z with (- / factor r i * total (map w l)) end; [unfold w; field; exact C|].
    symmetry. apply W.
    intros p I. unfold w. destruct (Nat.eqb_spec r (fst p)) as [E|_]; [exfalso; apply New; rewrite E; now apply in_map|].
    unfold Rdiv. ring.
  - rewrite !made_rest by exact D. rewrite (part_of_others l j r New), (IH j O). ring.
Qed.

Lemma total_within {A} (f g : A -> R) l : (forall a, In a l -> Rabs (f a) <= g a) ->
  Rabs (total (map f l)) <= total (map g l).
Proof.
  induction l as [|a l IH]; intros H; [unfold total; simpl; rewrite Rabs_R0; lra|]. cbn [map]. rewrite !total_cons.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [apply H; now left | apply IH; intros b I; apply H; now right].
Qed.

(** What is computed of a curve is off by what the piecewise linear function is, [e], and by what the registers of the
    order round, times the factor that each has in it. *)
Theorem shared_units order held (P : nat -> R) rounds j f e : ordered order ->
  (forall r i, In (r, i) order -> Rabs (held r - P r) <= rounds r) -> Rabs (made order P j - f) <= e ->
  Rabs (made order held j - f) <= e + total (map (fun q => Rabs (part order j (fst q)) * rounds (fst q)) order).
Proof.
  intros O H E. rewrite (made_off order P held j O).
  match goal with |- Rabs (?a + ?b - ?c) <= _ => replace (a + b - c) with ((a - c) + b) by ring end.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; auto. apply total_within. intros [r i] I. cbn [fst].
  rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos | apply (H r i I)].
Qed.

(** Any other register has lost what its units add differently, [d], and this rounding. *)
Theorem shared_units_elsewhere order held (P : nat -> R) rounds r d : ordered order ->
  (forall r i, In (r, i) order -> Rabs (held r - P r) <= rounds r) -> Rabs (held r - P r) <= rounds r ->
  Rabs (P r - said order (made order P) r) <= d ->
  Rabs (held r - said order (made order held) r)
    <= d + (rounds r + total (map (fun q => Rabs (share order r (fst q)) * rounds (fst q)) order)).
Proof.
  intros O H B D.
  rewrite (said_off order (part order) (made order held) (made order P) (fun s => held s - P s) order)
    by (intros k; apply made_off, O).
  fold (share order r).
  match goal with |- Rabs (held r - (?a + ?b)) <= _ =>
    replace (held r - (a + b)) with ((P r - a) + ((held r - P r) + - b)) by ring end.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; auto.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; auto. rewrite Rabs_Ropp.
  apply total_within. intros [s i] I. cbn [fst]. change (total (map (fun q => factor r (snd q) * part order (snd q) s) order)) with (share order r s).
  rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos | apply (H s i I)].
Qed.

(** Without an order what is computed is what is meant, and a register has lost what its units add differently, a curve
    at the computed argument [s], and its rounding. *)
Theorem shared_units_without_an_order (curves : list nat) (f : nat -> R -> R) (P : R -> R) r held rounds slope e d s t :
  let meant := fun t => total (map (fun j => factor r j * (f j t + shift j)) curves) in
  Rabs (held - P s) <= rounds -> Rabs (s - t) <= e -> 0 <= slope -> Rabs (P s - P t) <= slope * Rabs (s - t) ->
  Rabs (P t - meant t) <= d ->
  Rabs (P s - meant t) <= slope * e + d /\ Rabs (held - meant t) <= slope * e + d + rounds.
Proof.
  intros meant H E S L D.
  assert (C := curve_error P meant 1 slope e t s R1_neq_R0 E S L). rewrite Rabs_R1 in C.
  replace (P s / 1) with (P s) in C by field. replace (P t / 1) with (P t) in C by field. replace (slope / 1) with slope in C by field.
  split; [lra|]. replace (held - meant t) with ((held - P s) + (P s - meant t)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

End Shared.

(** Registers that hold two curves as 1 : 1 and as 1 : 2 have no order, and a register that also holds a later curve
    does not hold what it is said to. *)
Theorem shared_units_need_an_order :
  exists (factor : nat -> nat -> R) (shift held : nat -> R),
    factor 0%nat 0%nat = 1 /\ factor 0%nat 1%nat = 1 /\ factor 1%nat 0%nat = 1 /\ factor 1%nat 1%nat = 2 /\
    (forall r s, (r < 2)%nat -> (s < 2)%nat ->
      ~ ordered factor [(r, 0%nat); (s, 1%nat)] /\ ~ ordered factor [(r, 1%nat); (s, 0%nat)]) /\
    let order := [(1, 1); (0, 0)]%nat in held 0%nat <> said factor shift order (made factor shift order held) 0%nat.
Proof.
  exists (fun r j => match r, j with 1%nat, 1%nat => 2 | _, _ => 1 end), (fun _ => 0), (fun r => INR r).
  repeat split; try reflexivity.
  - intros (_ & _ & F & _). inversion F as [|q l E]; subst. cbn in E. destruct s as [|[|s]]; lra.
  - intros (_ & _ & F & _). inversion F as [|q l E]; subst. cbn in E. destruct s as [|[|s]]; lra.
  - cbv zeta. unfold said, total. simpl. lra.
Qed.
