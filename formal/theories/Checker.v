(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** The third checker, for claims over integers: the network is run on what is known of its numbers, at every sequence.

    [accepted_claims_are_met] and [refuted_claims_are_not_met] are what it promises. *)

From Formwright Require Import RulesExecution RulesSums CheckerNetwork CheckerNumbers CheckerSums CheckerSoftmax CheckerLayers
  CheckerClaim CheckerOutputs CheckerOverflow.
From Formwright Require CheckerTarget.
From Coq Require Import QArith Qreals.
Open Scope R_scope.

(** * The claim, at every sequence *)

(** [a <= n/d]. *)
Definition at_most (a : dyadic) (r : Q) : bool := le (mul a (of_Z (Zpos (Qden r)))) (of_Z (Qnum r)).
Definition at_least (a : dyadic) (r : Q) : bool := le (of_Z (Qnum r)) (mul a (of_Z (Zpos (Qden r)))).
Definition below (a : dyadic) (r : Q) : bool := lt (mul a (of_Z (Zpos (Qden r)))) (of_Z (Qnum r)).
Definition above (a : dyadic) (r : Q) : bool := lt (of_Z (Qnum r)) (mul a (of_Z (Zpos (Qden r)))).

Inductive judgement :=
| Holds
| NoValue  (** the target has none *)
| Overflows  (** some execution does, for certain *)
| NotFinite  (** something may overflow *)
| Off (token coordinate : nat) (output : value) (wanted : Q)  (** every output is too far away *)
| Open (token coordinate : nat) (output : value) (wanted : Q).  (** some may be *)

Definition judge_number (bound : Q) (t k : nat) (r : Q) (y : value) : judgement :=
  if at_least (lo y) (r - bound) && at_most (hi y) (r + bound) then Holds else
  if below (hi y) (r - bound) || above (lo y) (r + bound) then Off t k y r else Open t k y r.

(** The first that is not [Holds]; an [Off] rather than an [Open]. *)
Fixpoint worst (l : list judgement) : judgement :=
  match l with
  | [] => Holds
  | Holds :: l => worst l
  | Open t k y r :: l => match worst l with Off a b c d => Off a b c d | _ => Open t k y r end
  | j :: _ => j
  end.

Definition judge_outputs (bound : Q) (values : list (list Q)) (ys : list (list value)) : judgement :=
  if forallb (fun p => length (fst p) =? length (snd p))%nat (combine values ys) && (length values =? length ys)%nat then
    worst (flat_map (fun p => map (fun e => judge_number bound (fst p) (fst e) (fst (snd e)) (snd (snd e)))
      (numbered (combine (fst (snd p)) (snd (snd p))))) (numbered (combine values ys)))
  else NotFinite.

Definition judge (c : claim) (net : network) (g : CheckerTarget.target) (x : list (list Z)) : judgement :=
  match wanted c g x with
  | None => NoValue
  | Some values =>
      match outputs_of (execution c) net x with
      | None => if outputs_overflow (execution c) net x then Overflows else NotFinite
      | Some ys => judge_outputs (error_bound c) values ys
      end
  end.

(** All lists of so many elements of [l]. *)
Fixpoint lists {A} (n : nat) (l : list A) : list (list A) :=
  match n with O => [[]] | S n => flat_map (fun a => map (cons a) (lists n l)) l end.

Definition sequences (c : claim) : list (list (list Z)) :=
  let integers := map (fun i => integers_from c + Z.of_nat i)%Z (seq 0 (Z.to_nat (integers_before c - integers_from c))) in
  flat_map (fun n => lists n (lists (dims c) integers)) (seq (shortest c) (S (longest c) - shortest c)).

(** What is found, and where. *)
Inductive finding :=
| Accepted
| Refuted (x : list (list Z)) (j : judgement)
| Undecided (x : list (list Z)) (j : judgement).

Fixpoint find_in (judge : list (list Z) -> judgement) (xs : list (list (list Z))) : finding :=
  match xs with
  | [] => Accepted
  | x :: xs =>
      match judge x with
      | Holds => find_in judge xs
      | Off t k y r => Refuted x (Off t k y r)
      | NoValue => Refuted x NoValue
      | Overflows => Refuted x Overflows
      | j => match find_in judge xs with Refuted y k => Refuted y k | _ => Undecided x j end
      end
  end.

Definition check (c : claim) (net : network) (g : CheckerTarget.target) : finding := find_in (judge c net g) (sequences c).

(** * The verdicts *)

Lemma at_most_spec a r : at_most a r = true -> F2R a <= Q2R r.
Proof.
  unfold at_most. destruct (le_spec (mul a (of_Z (Z.pos (Qden r)))) (of_Z (Qnum r))) as [H|]; [|discriminate]. intros _.
  rewrite F2R_mul, !F2R_of_Z in H. assert (P : 0 < IZR (Z.pos (Qden r))) by now apply IZR_lt. unfold Q2R.
  apply Rmult_le_reg_r with (IZR (Z.pos (Qden r))); auto. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma at_least_spec a r : at_least a r = true -> Q2R r <= F2R a.
Proof.
  unfold at_least. destruct (le_spec (of_Z (Qnum r)) (mul a (of_Z (Z.pos (Qden r))))) as [H|]; [|discriminate]. intros _.
  rewrite F2R_mul, !F2R_of_Z in H. assert (P : 0 < IZR (Z.pos (Qden r))) by now apply IZR_lt. unfold Q2R.
  apply Rmult_le_reg_r with (IZR (Z.pos (Qden r))); auto. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma below_spec a r : below a r = true -> F2R a < Q2R r.
Proof.
  unfold below. destruct (lt_spec (mul a (of_Z (Z.pos (Qden r)))) (of_Z (Qnum r))) as [H|]; [|discriminate]. intros _.
  rewrite F2R_mul, !F2R_of_Z in H. assert (P : 0 < IZR (Z.pos (Qden r))) by now apply IZR_lt. unfold Q2R.
  apply Rmult_lt_reg_r with (IZR (Z.pos (Qden r))); auto. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma above_spec a r : above a r = true -> Q2R r < F2R a.
Proof.
  unfold above. destruct (lt_spec (of_Z (Qnum r)) (mul a (of_Z (Z.pos (Qden r))))) as [H|]; [|discriminate]. intros _.
  rewrite F2R_mul, !F2R_of_Z in H. assert (P : 0 < IZR (Z.pos (Qden r))) by now apply IZR_lt. unfold Q2R.
  apply Rmult_lt_reg_r with (IZR (Z.pos (Qden r))); auto. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma judge_number_holds f bound t k r y x : judge_number bound t k r y = Holds -> holds f y x -> Rabs (x - Q2R r) <= Q2R bound.
Proof.
  unfold judge_number. destruct (at_least _ _ && _) eqn:E; [|destruct (_ || _); discriminate].
  apply andb_prop in E as [A B]. apply at_least_spec in A. apply at_most_spec in B. rewrite Q2R_minus in A. rewrite Q2R_plus in B.
  intros _ (H & _). apply Rabs_le. lra.
Qed.

Lemma judge_number_off f bound t k r y x t' k' y' r' : judge_number bound t k r y = Off t' k' y' r' -> holds f y x ->
  ~ Rabs (x - Q2R r) <= Q2R bound.
Proof.
  unfold judge_number. destruct (at_least _ _ && _); [discriminate|]. destruct (_ || _) eqn:E; [|discriminate].
  intros _ (H & _) N. apply Rabs_le_inv in N. apply orb_prop in E as [E|E].
  - apply below_spec in E. rewrite Q2R_minus in E. lra.
  - apply above_spec in E. rewrite Q2R_plus in E. lra.
Qed.

Lemma worst_holds l : worst l = Holds -> Forall (eq Holds) l.
Proof.
  induction l as [|j l IH]; simpl; intros H; constructor.
  - destruct j; auto; try discriminate. destruct (worst l); discriminate.
  - apply IH. destruct j; auto; try discriminate. destruct (worst l); try discriminate.
Qed.

Lemma worst_off l t k y r : worst l = Off t k y r -> In (Off t k y r) l.
Proof.
  induction l as [|j l IH]; simpl; [discriminate|]. destruct j; auto; try discriminate.
  destruct (worst l); intros [= -> -> -> ->]; auto.
Qed.

Lemma numbered_snd {A} (l : list A) : map snd (numbered l) = l.
Proof. unfold numbered. generalize 0%nat. induction l; intros s; simpl; f_equal; auto. Qed.

Lemma same_lengths {A B} (values : list (list A)) (ys : list (list B)) :
  forallb (fun p => length (fst p) =? length (snd p))%nat (combine values ys) && (length values =? length ys)%nat = true ->
  Forall2 (fun a b => length a = length b) values ys.
Proof.
  intros H. apply andb_prop in H as [H L]. apply Nat.eqb_eq in L. revert ys H L.
  induction values as [|a values IH]; intros [|b ys] H L; try discriminate; constructor; simpl in *.
  - apply andb_prop in H as [H _]. now apply Nat.eqb_eq.
  - apply andb_prop in H as [_ H]. auto.
Qed.

Lemma judge_outputs_holds f c values ys xs : judge_outputs (error_bound c) values ys = Holds ->
  Forall2 (Forall2 (holds f)) ys xs -> near c values xs.
Proof.
  unfold judge_outputs. destruct (_ && _) eqn:L; [|discriminate]. apply same_lengths in L. intros H F.
  apply worst_holds in H. unfold near.
  assert (G : forall s, Forall (eq Holds) (flat_map (fun p => map (fun e => judge_number (error_bound c) (fst p) (fst e) (fst (snd e)) (snd (snd e)))
      (numbered (combine (fst (snd p)) (snd (snd p))))) (combine (seq s (length (combine values ys))) (combine values ys))) ->
    Forall2 (Forall2 (fun r y => Rabs (y - Q2R r) <= Q2R (error_bound c))) values xs); [|now apply (G 0%nat)].
  clear H. revert values L. induction F as [|v x ys xs H F IH]; intros values L s G; inversion L as [|r ? rs ? Lr L']; subst; constructor.
  - simpl in G. apply Forall_app in G as [G _]. clear - H Lr G. revert G. unfold numbered. generalize 0%nat.
    revert r Lr. induction H as [|y z v x Hy H IH]; intros [|q r] Lr k G; try discriminate; constructor; simpl in G; inversion G; subst.
    + now apply (judge_number_holds f _ s k _ y).
    + apply (IH r (eq_add_S _ _ Lr) (S k)). assumption.
  - simpl in G. apply Forall_app in G as [_ G]. now apply (IH rs L' (S s)).
Qed.

Lemma judge_outputs_off f c values ys xs t k y r : judge_outputs (error_bound c) values ys = Off t k y r ->
  Forall2 (Forall2 (holds f)) ys xs -> ~ near c values xs.
Proof.
  unfold judge_outputs. destruct (_ && _); [|discriminate]. intros H F N. apply worst_off in H. unfold near in N.
  apply in_flat_map in H as ([i [rs vs]] & Ip & H). simpl in H. apply in_map_iff in H as ([j [a v]] & E & Ie). simpl in E.
  assert (P : In (rs, vs) (combine values ys)).
  { rewrite <- (numbered_snd (combine values ys)). exact (in_map snd _ _ Ip). }
  assert (P' : In (a, v) (combine rs vs)).
  { rewrite <- (numbered_snd (combine rs vs)). exact (in_map snd _ _ Ie). }
  clear Ip Ie.
  assert (G : exists x, holds f v x /\ Rabs (x - Q2R a) <= Q2R (error_bound c)).
  { revert ys F P. induction N as [|rs0 xs0 values xs H0 N IH]; intros ys F P; [destruct P|].
    inversion F as [|v0 ? ys' ? Hv F']; subst. simpl in P. destruct P as [P|P]; [|now apply (IH ys')].
    injection P as -> ->. clear - H0 Hv P'. revert vs Hv P'. induction H0 as [|q x rs xs Q H IH]; intros vs Hv P'; [destruct P'|].
    inversion Hv as [|w ? ws ? Hw Hv']; subst. simpl in P'. destruct P' as [P'|P']; [|now apply (IH ws)].
    injection P' as -> ->. eauto. }
  destruct G as (x & Hx & B). exact (judge_number_off f _ _ _ _ _ _ _ _ _ _ E Hx B).
Qed.

Lemma judge_outputs_is_other bound values ys : judge_outputs bound values ys <> NoValue /\ judge_outputs bound values ys <> Overflows.
Proof.
  unfold judge_outputs. destruct (_ && _); [|split; discriminate]. set (l := flat_map _ _).
  assert (G : Forall (fun j => j <> NoValue /\ j <> Overflows) l).
  { apply Forall_flat_map, Forall_forall. intros p _. apply Forall_map, Forall_forall. intros e _. unfold judge_number.
    destruct (_ && _); [split; discriminate|]. destruct (_ || _); split; discriminate. }
  clearbody l. induction G as [|j l H G IH]; simpl; [split; discriminate|].
  destruct j; auto; try (split; discriminate). destruct (worst l); auto; split; discriminate.
Qed.

Lemma find_accepted g xs x : find_in g xs = Accepted -> In x xs -> g x = Holds.
Proof.
  induction xs as [|y xs IH]; simpl; [tauto|]. intros H [->|I].
  - destruct (g x); auto; try discriminate; destruct (find_in g xs); discriminate.
  - apply IH; auto. destruct (g y); auto; try discriminate; destruct (find_in g xs); discriminate.
Qed.

Lemma find_refuted g xs x j : find_in g xs = Refuted x j ->
  In x xs /\ g x = j /\ (j = NoValue \/ j = Overflows \/ exists t k y r, j = Off t k y r).
Proof.
  induction xs as [|y xs IH]; simpl; [discriminate|]. intros H.
  assert (L : find_in g xs = Refuted x j \/ y = x /\ g y = j /\ (j = NoValue \/ j = Overflows \/ exists t k y r, j = Off t k y r)).
  { destruct (g y) eqn:E; auto; try (injection H as <- <-; right; repeat split; auto; right; right; do 4 eexists; reflexivity);
      try (destruct (find_in g xs); try discriminate; now left). }
  destruct L as [L|(-> & G & S)]; [destruct (IH L) as (I & G & S)|]; auto.
Qed.

Lemma lists_in {A} n (l : list A) x : In x (lists n l) <-> length x = n /\ Forall (fun a => In a l) x.
Proof.
  revert x. induction n as [|n IH]; intros x; simpl.
  - split; [intros [<-|[]]; auto|]. intros [H _]. left. destruct x; [auto | discriminate].
  - rewrite in_flat_map. split.
    + intros (a & Ia & H). apply in_map_iff in H as (y & <- & Iy). apply IH in Iy as [L F]. simpl. split; auto.
    + intros [L F]. destruct x as [|a x]; [discriminate|]. inversion F; subst. exists a. split; auto.
      apply in_map. apply IH. split; auto.
Qed.

Lemma sequences_covered c x : In x (sequences c) <-> covers c x.
Proof.
  unfold sequences, covers. rewrite in_flat_map.
  assert (G : forall n, In n (map (fun i => integers_from c + Z.of_nat i)%Z (seq 0 (Z.to_nat (integers_before c - integers_from c)))) <-> (integers_from c <= n < integers_before c)%Z).
  { intros n. rewrite in_map_iff. split.
    - intros (i & <- & I). apply in_seq in I. lia.
    - intros H. exists (Z.to_nat (n - integers_from c)). split; [lia|]. apply in_seq. lia. }
  split.
  - intros (n & In & H). apply in_seq in In. apply lists_in in H as [L F]. split; [lia|].
    eapply Forall_impl; [|exact F]. intros token I. apply lists_in in I as [D I]. split; auto.
    eapply Forall_impl; [|exact I]. intros a. apply G.
  - intros [L F]. exists (length x). split; [apply in_seq; lia|]. apply lists_in. split; auto.
    eapply Forall_impl; [|exact F]. intros token [D I]. apply lists_in. split; auto.
    eapply Forall_impl; [|exact I]. intros a. apply G.
Qed.

(** If it accepts, then at every sequence of integers of the domain every execution [ieee-any-order] gives outputs
    within the bound of the target, and none overflows. *)
Theorem accepted_claims_are_met c net g : check c net g = Accepted -> met c net g.
Proof.
  intros A x X. apply sequences_covered in X. apply (find_accepted _ _ x) in A; auto. unfold judge in A.
  destruct (wanted c g x) as [values|]; [|discriminate]. exists values. split; auto. intros r Hr.
  destruct (outputs_of (execution c) net x) as [ys|] eqn:E; [|destruct (outputs_overflow (execution c) net x); discriminate].
  apply outputs_sound in E. apply E in Hr as (y & -> & Hy). exists y. split; auto. now apply (judge_outputs_holds (execution c) c values ys).
Qed.

(** If it finds a sequence at which the claim is wrong, or some execution overflows, the claim is wrong. *)
Theorem refuted_claims_are_not_met c net g x j : check c net g = Refuted x j -> ~ met c net g.
Proof.
  intros A M. apply find_refuted in A as (I & J & S). apply sequences_covered in I. apply M in I as (values & W & H).
  unfold judge in J. rewrite W in J. destruct (outputs_of (execution c) net x) as [ys|] eqn:E.
  - destruct (judge_outputs_is_other (error_bound c) values ys) as [V O]. destruct S as [S|[S|(t & k & y & r & S)]]; rewrite S in J; try contradiction.
    destruct (possible_outputs (execution c) net x) as [o Ho]. assert (Ho' := Ho). apply H in Ho as (z & -> & N).
    apply outputs_sound in E. apply E in Ho' as (z' & [= <-] & Hz). now apply (judge_outputs_off _ _ _ _ _ _ _ _ _ J Hz).
  - destruct (outputs_overflow (execution c) net x) eqn:O.
    + apply certain_overflow, H in O as (y & O & _). discriminate.
    + subst j. destruct S as [S|[S|(t & k & y & r & S)]]; discriminate.
Qed.
