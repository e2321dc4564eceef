(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** The network, run on what is known of its numbers: what it gives holds, whatever the execution. *)

From Formwright Require Import RulesExecution RulesSums CheckerNetwork CheckerNumbers CheckerSums CheckerSoftmax CheckerLayers.

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

(** Every network has an execution at every sequence, if only one that overflows: no claim is met for want of any. *)
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
