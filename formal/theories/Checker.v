(** The third checker, for claims over integers: the network is run on what is known of its numbers, at every sequence.

    [accepted_claims_are_met] and [refuted_claims_are_not_met] are what it promises. *)

From Formwright Require Import RulesExecution RulesSums CheckerNetwork CheckerNumbers CheckerSums CheckerSoftmax CheckerLayers CheckerClaim.
From Formwright Require CheckerTarget.
From Coq Require Import QArith Qreals.
Open Scope R_scope.

(** * The network, on what is known *)

Section Format.
Variable f : format.

Definition answer_of (h : head) (keys values : list (list value)) (t : nat) (z : list value) : option (list value) :=
  let seen := filter (sees (shows h) t) (seq 0 (length keys)) in
  query <-- affine_of f (q h) (q_bias h) z;;
  scores <-- every (fun i => sum_up f (products_of f (nth i keys []) query)) seen;;
  p <-- shares_of f scores;;
  every (fun j => average f p (map (fun i => nth j (nth i values []) (point zero)) seen)) (seq 0 (length (v h))).

Definition answers_of (tokens : list (list value)) (h : head) : option (list (list value)) :=
  keys <-- every (linear_of f (k h)) tokens;;
  values <-- every (linear_of f (v h)) tokens;;
  every (fun p => answer_of h keys values (fst p) (snd p)) (numbered tokens).

Definition attention_of (heads : list head) (tokens : list (list value)) : option (list (list value)) :=
  given <-- every (answers_of tokens) heads;;
  let written t r := flat_map (fun p => terms f (nth r (o (fst p)) []) (nth t (snd p) [])) (combine heads given) in
  every (fun token => every (fun entry => sum_up f (scaled f one (snd entry) :: written (fst token) (fst entry)))
    (numbered (snd token))) (numbered tokens).

Definition apply_of (tokens : list (list value)) (l : layer) : option (list (list value)) :=
  match l with
  | Attention heads => attention_of heads tokens
  | FeedForward w1 b1 w2 b2 => every (feed_forward_of f w1 b1 w2 b2) tokens
  end.

Fixpoint through_of (ls : list layer) (tokens : list (list value)) : option (list (list value)) :=
  match ls with [] => Some tokens | l :: ls => tokens <-- apply_of tokens l;; through_of ls tokens end.

Definition embed_of (net : network) (p : nat * list Z) : option (list value) :=
  let position r := match nth_error (pos net) (fst p) with Some row => [nth r row (Float radix2 0 0)] | None => [] end in
  x <-- every (fun n => rounding f (of_Z n) (of_Z n)) (snd p);;
  sums_of f (embed_weight net) (map (fun b => snd b :: position (fst b)) (numbered (embed_bias net))) x.

Definition outputs_of (net : network) (sequence : list (list Z)) : option (list (list value)) :=
  tokens <-- every (embed_of net) (numbered sequence);;
  tokens <-- through_of (layers net) tokens;;
  every (affine_of f (read_out_weight net) (read_out_bias net)) tokens.

End Format.

(** * The claim, at every sequence *)

(** [a <= n/d]. *)
Definition at_most (a : dyadic) (r : Q) : bool := le (mul a (of_Z (Zpos (Qden r)))) (of_Z (Qnum r)).
Definition at_least (a : dyadic) (r : Q) : bool := le (of_Z (Qnum r)) (mul a (of_Z (Zpos (Qden r)))).
Definition below (a : dyadic) (r : Q) : bool := lt (mul a (of_Z (Zpos (Qden r)))) (of_Z (Qnum r)).
Definition above (a : dyadic) (r : Q) : bool := lt (of_Z (Qnum r)) (mul a (of_Z (Zpos (Qden r)))).

Inductive judgement :=
| Holds
| NoValue  (** the target has none *)
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
      | None => NotFinite
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
      | j => Undecided x j
      end
  end.

Definition check (c : claim) (net : network) (g : CheckerTarget.target) : finding := find_in (judge c net g) (sequences c).

(** * The outputs hold *)

Section Sound.
Variable f : format.
Notation holds := (holds f).

Lemma answer_sound h keys values ks vs t z xs ys : Forall2 (Forall2 holds) keys ks -> Forall2 (Forall2 holds) values vs ->
  Forall2 holds z xs -> answer_of f h keys values t z = Some ys -> sure (answer f h ks vs t xs) (Forall2 holds ys).
Proof.
  intros K V F E. unfold answer_of in E. apply andThen_some in E as (query & Eq & E).
  apply andThen_some in E as (scores & Es & E). apply andThen_some in E as (p & Ep & E).
  unfold answer. rewrite <- (Forall2_length_eq _ _ _ K). set (seen := filter _ _) in *.
  apply (sure_bind _ _ (Forall2 holds query)); [exact (sums_sound f _ _ _ _ _ F Eq)|]. intros qs Hq.
  apply (sure_bind _ _ (Forall2 holds scores)).
  { apply (each_sound _ _ _ _ _ _ _ Es (Forall2_refl _)). intros a b v <- G. apply (sum_up_sound f _ _ _ G).
    apply products_stand; auto. apply Forall2_nth; auto. }
  intros ss Hs. apply (sure_bind _ _ (weights f p)); [now apply (shares_are_weights f scores)|]. intros ps Hp.
  apply (each_sound _ _ _ _ _ _ _ E (Forall2_refl _)). intros a b v <- G. refine (average_sound f p _ ps _ v Hp _ _ G).
  2: { rewrite map_length. apply shares_length in Ep as [-> _]. symmetry. exact (Forall2_length_eq _ _ _ (every_some _ _ _ Es)). }
  clear - V. induction seen; simpl; constructor; auto.
  apply Forall2_nth; [|apply holds_zero]. apply Forall2_nth; auto.
Qed.

Lemma answers_sound h tokens xs ys : Forall2 (Forall2 holds) tokens xs -> answers_of f tokens h = Some ys ->
  sure (answers f xs h) (Forall2 (Forall2 holds) ys).
Proof.
  intros F E. unfold answers_of in E. apply andThen_some in E as (keys & Ek & E).
  apply andThen_some in E as (values & Ev & E). unfold answers.
  apply (sure_bind _ _ (Forall2 (Forall2 holds) keys)).
  { apply (each_sound _ _ _ _ _ _ _ Ek F). intros a b v H G. exact (sums_sound f _ _ _ _ _ H G). }
  intros ks Hk. apply (sure_bind _ _ (Forall2 (Forall2 holds) values)).
  { apply (each_sound _ _ _ _ _ _ _ Ev F). intros a b v H G. exact (sums_sound f _ _ _ _ _ H G). }
  intros vs Hv. apply (each_sound _ _ _ _ _ _ _ E (numbered_both _ _ _ F)). intros a b v [<- H] G.
  now apply (answer_sound _ keys values ks vs _ (snd a)).
Qed.

Lemma written_stand heads given gs t r : Forall2 (Forall2 (Forall2 holds)) given gs ->
  Forall2 (stands f) (flat_map (fun p => terms f (nth r (o (fst p)) []) (nth t (snd p) [])) (combine heads given))
    (flat_map (fun p => products (map F2R (nth r (o (fst p)) [])) (nth t (snd p) [])) (combine heads gs)).
Proof.
  intros F. revert heads. induction F as [|g x given gs H F IH]; intros [|h heads]; simpl; try constructor.
  apply Forall2_app; auto. apply terms_stand. apply Forall2_nth; auto.
Qed.

Lemma attention_sound heads tokens xs ys : Forall2 (Forall2 holds) tokens xs -> attention_of f heads tokens = Some ys ->
  sure (attention f heads xs) (Forall2 (Forall2 holds) ys).
Proof.
  intros F E. unfold attention_of in E. apply andThen_some in E as (given & Eg & E). unfold attention.
  apply (sure_bind _ _ (Forall2 (Forall2 (Forall2 holds)) given)).
  { apply (each_sound _ _ _ _ _ _ _ Eg (Forall2_refl _)). intros a b v <- G. now apply (answers_sound a tokens). }
  intros gs Hg. apply (each_sound _ _ _ _ _ _ _ E (numbered_both _ _ _ F)). intros a b v [<- H] G.
  apply (each_sound _ _ _ _ _ _ _ G (numbered_both _ _ _ H)). intros c d w [<- H'] G'. apply (sum_up_sound f _ _ _ G').
  constructor; [now apply itself_stands | now apply written_stand].
Qed.

Lemma through_sound ls : forall tokens xs ys, Forall2 (Forall2 holds) tokens xs -> through_of f ls tokens = Some ys ->
  sure (through f ls xs) (Forall2 (Forall2 holds) ys).
Proof.
  induction ls as [|l ls IH]; simpl; intros tokens xs ys F E.
  - injection E as <-. now apply sure_returns.
  - apply andThen_some in E as (next & En & E). apply (sure_bind _ _ (Forall2 (Forall2 holds) next)).
    + destruct l; simpl in *; [now apply (attention_sound heads tokens)|].
      apply (each_sound _ _ _ _ _ _ _ En F). intros a b v H G. now apply (feed_forward_sound f _ _ _ _ a).
    + intros ws H. now apply (IH next).
Qed.

Lemma embed_sound net p ys : embed_of f net p = Some ys -> sure (embed f net p) (Forall2 holds ys).
Proof.
  intros E. unfold embed_of in E. apply andThen_some in E as (x & Ex & E). unfold embed.
  apply (sure_bind _ _ (Forall2 holds x)).
  { apply (each_sound _ _ _ _ _ _ _ Ex (Forall2_refl _)). intros a b v <- G. apply (rounding_sound _ _ _ _ _ G).
    rewrite F2R_of_Z. lra. }
  intros xs Hx. exact (sums_sound f _ _ _ _ _ Hx E).
Qed.

Theorem outputs_sound net x ys : outputs_of f net x = Some ys -> sure (outputs f net x) (Forall2 (Forall2 holds) ys).
Proof.
  intros E. unfold outputs_of in E. apply andThen_some in E as (tokens & Et & E).
  apply andThen_some in E as (last & El & E). unfold outputs.
  apply (sure_bind _ _ (Forall2 (Forall2 holds) tokens)).
  { apply (each_sound _ _ _ _ _ _ _ Et (Forall2_refl _)). intros a b v <- G. now apply embed_sound. }
  intros xs Hx. apply (sure_bind _ _ (Forall2 (Forall2 holds) last)); [now apply (through_sound _ tokens)|].
  intros ls Hl. apply (each_sound _ _ _ _ _ _ _ E Hl). intros a b v H G. exact (sums_sound f _ _ _ _ _ H G).
Qed.

(** * Something comes out *)

Lemma possible_round_off t : possible (round_off f t).
Proof. eexists (Some _). constructor. Qed.

Lemma possible_sums rows extras z : possible (sums f rows extras z).
Proof. apply possible_each. intros p. apply possible_add_up. Qed.

Lemma possible_shares scores : possible (shares f scores).
Proof.
  apply possible_bind; [apply possible_each; intros; apply possible_round_off|]. intros d _.
  apply possible_bind.
  { apply possible_each. intros x. destruct (Req_dec x 0) as [Z|Z].
    - exists (Some 1). now apply Exp_zero.
    - eexists (Some _). apply (Exp_below _ _ _ _ (exp x)); [exact Z | | constructor].
      replace (exp x - exp x) with 0 by ring. rewrite Rabs_R0. destruct (theta_is f) as (_ & _ & T). assert (P := exp_pos x). nra. }
  intros e _. apply possible_bind; [apply possible_add_up|]. intros S _. apply possible_each. intros x.
  destruct (possible_round_off (x / S)) as [r H]. exists r. now left.
Qed.

Theorem possible_outputs net x : possible (outputs f net x).
Proof.
  apply possible_bind.
  { apply possible_each. intros p. apply possible_bind; [apply possible_each; intros; apply possible_round_off|].
    intros. apply possible_sums. }
  intros tokens _. apply possible_bind; [|intros; apply possible_each; intros; apply possible_sums].
  revert tokens. induction (layers net) as [|l ls IH]; simpl; intros tokens; [eexists; reflexivity|].
  apply possible_bind; [|intros; apply IH]. destruct l; simpl.
  - apply possible_bind; [|intros; do 2 (apply possible_each; intros); apply possible_add_up].
    apply possible_each. intros h. apply possible_bind; [apply possible_each; intros; apply possible_sums|]. intros keys _.
    apply possible_bind; [apply possible_each; intros; apply possible_sums|]. intros values _.
    apply possible_each. intros p. apply possible_bind; [apply possible_sums|]. intros query _.
    apply possible_bind; [apply possible_each; intros; apply possible_add_up|]. intros scores _.
    apply possible_bind; [apply possible_shares|]. intros w _. apply possible_each. intros. apply possible_add_up.
  - apply possible_each. intros z. apply possible_bind; [apply possible_sums|]. intros u _.
    apply possible_each. intros. apply possible_add_up.
Qed.

End Sound.

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

Lemma judge_outputs_has_value bound values ys : judge_outputs bound values ys <> NoValue.
Proof.
  unfold judge_outputs. destruct (_ && _); [|discriminate]. set (l := flat_map _ _).
  assert (G : Forall (fun j => j <> NoValue) l).
  { apply Forall_flat_map, Forall_forall. intros p _. apply Forall_map, Forall_forall. intros e _. unfold judge_number.
    destruct (_ && _); [discriminate|]. destruct (_ || _); discriminate. }
  clearbody l. induction G as [|j l H G IH]; simpl; [discriminate|]. destruct j; auto. destruct (worst l); auto; discriminate.
Qed.

Lemma find_accepted g xs x : find_in g xs = Accepted -> In x xs -> g x = Holds.
Proof.
  induction xs as [|y xs IH]; simpl; [tauto|]. intros H [->|I].
  - destruct (g x); auto; discriminate.
  - apply IH; auto. destruct (g y); auto; discriminate.
Qed.

Lemma find_refuted g xs x j : find_in g xs = Refuted x j -> In x xs /\ g x = j /\ (j = NoValue \/ exists t k y r, j = Off t k y r).
Proof.
  induction xs as [|y xs IH]; simpl; [discriminate|]. destruct (g y) eqn:E; try discriminate.
  - intros H. destruct (IH H) as (I & G & S). auto.
  - intros [= <- <-]. split; [now left|]. split; auto.
  - intros [= <- <-]. split; [now left|]. split; auto. right. do 4 eexists. reflexivity.
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

(** What is accepted holds: at every sequence of the domain, in every execution, for every output. *)
Theorem accepted_claims_are_met c net g : check c net g = Accepted -> met c net g.
Proof.
  intros A x X. apply sequences_covered in X. apply (find_accepted _ _ x) in A; auto. unfold judge in A.
  destruct (wanted c g x) as [values|]; [|discriminate]. exists values. split; auto. intros r Hr.
  destruct (outputs_of (execution c) net x) as [ys|] eqn:E; [|discriminate].
  apply outputs_sound in E. apply E in Hr as (y & -> & Hy). exists y. split; auto. now apply (judge_outputs_holds (execution c) c values ys).
Qed.

(** What is refuted is false. *)
Theorem refuted_claims_are_not_met c net g x j : check c net g = Refuted x j -> ~ met c net g.
Proof.
  intros A M. apply find_refuted in A as (I & J & S). apply sequences_covered in I. apply M in I as (values & W & H).
  unfold judge in J. rewrite W in J. destruct (outputs_of (execution c) net x) as [ys|] eqn:E.
  - destruct S as [->|(t & k & y & r & ->)].
    + now apply judge_outputs_has_value in J.
    + destruct (possible_outputs (execution c) net x) as [o Ho]. assert (Ho' := Ho). apply H in Ho as (z & -> & N).
      apply outputs_sound in E. apply E in Ho' as (z' & [= <-] & Hz). now apply (judge_outputs_off _ _ _ _ _ _ _ _ _ J Hz).
  - subst j. destruct S as [S|(t & k & y & r & S)]; discriminate.
Qed.
