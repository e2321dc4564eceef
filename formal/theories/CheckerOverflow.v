(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** What overflows for certain: some execution comes to [2^most] or more, whatever the numbers are that are known in part.

    A part of the terms of a sum, those that are positive for certain or those that are negative, may be added first. *)

From Formwright Require Import RulesExecution RulesSums CheckerNetwork CheckerNumbers CheckerSums CheckerSoftmax CheckerLayers
  CheckerOutputs.

(** * Overflow *)

Section Format.
Variable f : format.

(** Terms that are not negative come to [2^most], less what their sum is off by. *)
Definition heavy (ts : list term) : bool :=
  ((0 <? length ts)%nat && (Z.of_nat (length ts) <=? 2 ^ 20)%Z
   && le (add (power_of_two (most f)) (any_error f ts)) (add_all from ts))%bool.

Definition positive_terms (ts : list term) : list term := filter (fun t => lt zero (from t)) ts.
Definition turned (t : term) : term := Term (opp (to t)) (opp (from t)) (unit t) (exact t).

Definition sum_overflows (ts : list term) : bool := heavy (positive_terms ts) || heavy (positive_terms (map turned ts)).

Definition sums_overflow (rows : matrix) (extras : list vector) (z : list value) : bool :=
  existsb (fun p => sum_overflows (terms f (fst p) z ++ map (known f) (snd p))) (combine rows extras).
Definition linear_overflows (rows : matrix) : list value -> bool := sums_overflow rows (map (fun _ => []) rows).
Definition affine_overflows (rows : matrix) (bias : vector) : list value -> bool := sums_overflow rows (map (fun b => [b]) bias).

(** If [a] is known, what is behind it. *)
Definition behind_it {A} (a : option A) (g : A -> bool) : bool := match a with Some a => g a | None => false end.

Definition answer_overflows (h : head) (keys : list (list value)) (t : nat) (z : list value) : bool :=
  let seen := filter (sees (shows h) t) (seq 0 (length keys)) in
  affine_overflows (q h) (q_bias h) z
  || behind_it (affine_of f (q h) (q_bias h) z)
       (fun query => existsb (fun i => sum_overflows (products_of f (nth i keys []) query)) seen).

Definition answers_overflow (tokens : list (list value)) (h : head) : bool :=
  existsb (linear_overflows (k h)) tokens
  || behind_it (every (linear_of f (k h)) tokens) (fun keys =>
       existsb (linear_overflows (v h)) tokens
       || behind_it (every (linear_of f (v h)) tokens) (fun _ =>
            existsb (fun p => answer_overflows h keys (fst p) (snd p)) (numbered tokens))).

Definition attention_overflows (heads : list head) (tokens : list (list value)) : bool :=
  existsb (answers_overflow tokens) heads
  || behind_it (every (answers_of f tokens) heads) (fun given =>
       let written t r := flat_map (fun p => terms f (nth r (o (fst p)) []) (nth t (snd p) [])) (combine heads given) in
       existsb (fun token => existsb (fun entry => sum_overflows (scaled f one (snd entry) :: written (fst token) (fst entry)))
         (numbered (snd token))) (numbered tokens)).

Definition feed_forward_overflows (w1 : matrix) (b1 : vector) (w2 : matrix) (b2 : vector) (z : list value) : bool :=
  affine_overflows w1 b1 z
  || behind_it (affine_of f w1 b1 z) (fun u =>
       existsb (fun p => sum_overflows (scaled f one (fst p) :: terms f (fst (snd p)) (map positive u) ++ [known f (snd (snd p))]))
         (combine z (combine w2 b2))).

Definition layer_overflows (tokens : list (list value)) (l : layer) : bool :=
  match l with
  | Attention heads => attention_overflows heads tokens
  | FeedForward w1 b1 w2 b2 => existsb (feed_forward_overflows w1 b1 w2 b2) tokens
  end.

Fixpoint through_overflows (ls : list layer) (tokens : list (list value)) : bool :=
  match ls with
  | [] => false
  | l :: ls => layer_overflows tokens l || behind_it (apply_of f tokens l) (through_overflows ls)
  end.

(** An integer whose size is [2^most] or more. *)
Definition input_overflows (n : Z) : bool := le (power_of_two (most f)) (absolute (of_Z n)).

Definition embed_overflows (net : network) (p : nat * list Z) : bool :=
  let position r := match nth_error (pos net) (fst p) with Some row => [nth r row (Float radix2 0 0)] | None => [] end in
  existsb input_overflows (snd p)
  || behind_it (every (fun n => rounding f (of_Z n) (of_Z n)) (snd p))
       (sums_overflow (embed_weight net) (map (fun b => snd b :: position (fst b)) (numbered (embed_bias net)))).

Definition outputs_overflow (net : network) (sequence : list (list Z)) : bool :=
  existsb (embed_overflows net) (numbered sequence)
  || behind_it (every (embed_of f net) (numbered sequence)) (fun tokens =>
       through_overflows (layers net) tokens
       || behind_it (through_of f (layers net) tokens)
            (existsb (affine_overflows (read_out_weight net) (read_out_bias net)))).

(** * It does *)

Notation holds := (holds f).
Notation stands := (stands f).

Lemma bind_now {A B} (m : outcomes A) (g : A -> outcomes B) : m None -> bind m g None.
Proof. intros H. now left. Qed.

Lemma bind_later {A B} (m : outcomes A) (g : A -> outcomes B) P :
  possible m -> sure m P -> (forall a, P a -> g a None) -> bind m g None.
Proof. intros [r H] S G. destruct (S r H) as (a & -> & Pa). right. eauto. Qed.

Lemma each_overflows {A B} (g : A -> outcomes B) l : (forall a, possible (g a)) -> (exists a, In a l /\ g a None) -> each g l None.
Proof.
  intros P. induction l as [|a l IH]; intros (b & I & H); [destruct I|]. simpl. destruct I as [->|I]; [now apply bind_now|].
  destruct (P a) as [[c|] Hc]; [|now apply bind_now]. right. exists c. split; auto. apply bind_now. apply IH. eauto.
Qed.

Lemma exists_related {A B} (Rel : A -> B -> Prop) (g : A -> bool) l m : Forall2 Rel l m -> existsb g l = true ->
  exists a b, In b m /\ Rel a b /\ g a = true.
Proof.
  intros F E. apply existsb_exists in E as (a & I & G). induction F as [|x y l m H F IH]; [destruct I|].
  destruct I as [->|I]; [exists a, y; simpl; auto|]. destruct (IH I) as (c & d & J & K). exists c, d. simpl. tauto.
Qed.

Lemma heavy_spec ts rs : heavy ts = true -> Forall2 stands ts rs -> exists x, sum (emin f) (prec f) rs x /\ huge f <= x.
Proof.
  unfold heavy. intros H F. apply andb_prop in H as [H B]. apply andb_prop in H as [N L].
  apply Nat.ltb_lt in N. apply Z.leb_le in L.
  destruct (le_spec (add (power_of_two (most f)) (any_error f ts)) (add_all from ts)) as [C|]; [|discriminate].
  rewrite F2R_add, F2R_power_of_two in C. assert (T := total_stands f _ _ F). fold (huge f) in C.
  assert (Len : length ts = length rs) by (clear - F; induction F; simpl; auto).
  assert (S : exists x, sum (emin f) (prec f) rs x).
  { destruct rs as [|r rs]; [simpl in Len; lia|]. clear. revert r. induction rs as [|s rs IH]; intros r; [eexists; constructor; constructor|].
    destruct (IH s) as [x H]. exists (fl (emin f) (prec f) (fl (emin f) (prec f) r + x)).
    apply (Sum_add _ _ [r] (s :: rs) (fl (emin f) (prec f) r) x); auto; repeat constructor. }
  destruct S as [x S]. exists x. split; auto. assert (D := any_off f _ _ _ L F S). apply Rabs_le_inv in D. unfold huge in *. lra.
Qed.

Lemma positive_part ts rs : Forall2 stands ts rs -> exists part rest,
  Permutation (part ++ rest) rs /\ Forall2 stands (positive_terms ts) part.
Proof.
  unfold positive_terms. induction 1 as [|t r ts rs H F (part & rest & P & G)]; [exists [], []; split; constructor|]. simpl.
  destruct (lt zero (from t)).
  - exists (r :: part), rest. split; [simpl; now constructor | now constructor].
  - exists part, (r :: rest). split; auto. rewrite <- P. symmetry. apply Permutation_middle.
Qed.

Lemma turned_stands t r : stands t r -> stands (turned t) (- r).
Proof.
  intros (B & M & E). split; [simpl; rewrite !F2R_opp; lra|]. split; [now apply multiple_opp|]. simpl. intros X.
  destruct (E X) as [N L]. split; [now apply number_opp|]. rewrite Rabs_Ropp. destruct L; [left; lra | now right].
Qed.

Lemma sum_overflows_spec ts rs : sum_overflows ts = true -> Forall2 stands ts rs -> add_up f rs None.
Proof.
  unfold sum_overflows. intros H F. right. apply orb_prop in H as [H|H].
  - destruct (positive_part _ _ F) as (part & rest & P & G). destruct (heavy_spec _ _ H G) as (x & S & B).
    exists part, rest, x. repeat split; auto. eapply Rle_trans; [apply B | apply Rle_abs].
  - assert (F' : Forall2 stands (map turned ts) (map Ropp rs)).
    { clear H. induction F; simpl; constructor; auto. now apply turned_stands. }
    destruct (positive_part _ _ F') as (part & rest & P & G). destruct (heavy_spec _ _ H G) as (x & S & B).
    exists (map Ropp part), (map Ropp rest), (- x). split; [|split].
    + rewrite <- map_app, P, map_map. rewrite (map_ext _ (fun r => r)) by (intros; ring). now rewrite map_id.
    + now apply sum_opp.
    + rewrite Rabs_Ropp. eapply Rle_trans; [apply B | apply Rle_abs].
Qed.

Lemma sums_overflow_spec rows extras z xs : Forall2 holds z xs -> sums_overflow rows extras z = true -> sums f rows extras xs None.
Proof.
  intros F H. unfold sums. apply each_overflows; [intros; apply possible_add_up|].
  apply existsb_exists in H as (p & I & H). exists p. split; auto. apply (sum_overflows_spec _ _ H).
  apply Forall2_app; [now apply terms_stand | apply known_stand].
Qed.

Lemma behind_it_spec {A} (a : option A) g : behind_it a g = true -> exists b, a = Some b /\ g b = true.
Proof. destruct a; simpl; [eauto | discriminate]. Qed.

Lemma possible_answer h keys values t z : possible (answer f h keys values t z).
Proof.
  apply possible_bind; [apply possible_sums|]. intros query _.
  apply possible_bind; [apply possible_each; intros; apply possible_add_up|]. intros scores _.
  apply possible_bind; [apply possible_shares|]. intros w _. apply possible_each. intros. apply possible_add_up.
Qed.

Lemma possible_answers tokens h : possible (answers f tokens h).
Proof.
  apply possible_bind; [apply possible_each; intros; apply possible_sums|]. intros keys _.
  apply possible_bind; [apply possible_each; intros; apply possible_sums|]. intros values _.
  apply possible_each. intros. apply possible_answer.
Qed.

Lemma possible_feed_forward w1 b1 w2 b2 z : possible (feed_forward f w1 b1 w2 b2 z).
Proof. apply possible_bind; [apply possible_sums|]. intros u _. apply possible_each. intros. apply possible_add_up. Qed.

Lemma possible_attention heads tokens : possible (attention f heads tokens).
Proof.
  apply possible_bind; [apply possible_each; intros; apply possible_answers|].
  intros given _. do 2 (apply possible_each; intros). apply possible_add_up.
Qed.

Lemma possible_apply tokens l : possible (apply f tokens l).
Proof. destruct l; [apply possible_attention | apply possible_each; intros; apply possible_feed_forward]. Qed.

Lemma possible_through ls : forall tokens, possible (through f ls tokens).
Proof.
  induction ls as [|l ls IH]; intros tokens; [now exists (Some tokens)|].
  apply possible_bind; [apply possible_apply | intros; apply IH].
Qed.

Lemma possible_embed net p : possible (embed f net p).
Proof. apply possible_bind; [apply possible_each; intros; apply possible_round_off | intros; apply possible_sums]. Qed.

Lemma answer_overflows_spec h keys ks vs t z xs : Forall2 (Forall2 holds) keys ks -> Forall2 holds z xs ->
  answer_overflows h keys t z = true -> answer f h ks vs t xs None.
Proof.
  intros K F H. unfold answer_overflows in H. unfold answer. rewrite <- (Forall2_length_eq _ _ _ K).
  set (seen := filter _ _) in *. apply orb_prop in H as [H|H].
  - apply bind_now. exact (sums_overflow_spec _ _ _ _ F H).
  - apply behind_it_spec in H as (query & E & H).
    apply (bind_later _ _ (Forall2 holds query)); [apply possible_sums | exact (sums_sound f _ _ _ _ _ F E) |].
    intros qs Hq. apply bind_now. apply each_overflows; [intros; apply possible_add_up|].
    apply existsb_exists in H as (i & I & H). exists i. split; auto. apply (sum_overflows_spec _ _ H).
    apply products_stand; auto. apply Forall2_nth; auto.
Qed.

Lemma answers_overflow_spec h tokens xs : Forall2 (Forall2 holds) tokens xs -> answers_overflow tokens h = true ->
  answers f xs h None.
Proof.
  intros F H. unfold answers_overflow in H. unfold answers. apply orb_prop in H as [H|H].
  { apply bind_now. apply each_overflows; [intros; apply possible_sums|].
    apply (exists_related _ _ _ _ F) in H as (z & x & I & Hz & H). exists x. split; auto. exact (sums_overflow_spec _ _ _ _ Hz H). }
  apply behind_it_spec in H as (keys & Ek & H). apply (bind_later _ _ (Forall2 (Forall2 holds) keys)).
  { apply possible_each. intros. apply possible_sums. }
  { apply (each_sound _ _ _ _ _ _ _ Ek F). intros a b v Hab G. exact (sums_sound f _ _ _ _ _ Hab G). }
  intros ks Hk. apply orb_prop in H as [H|H].
  { apply bind_now. apply each_overflows; [intros; apply possible_sums|].
    apply (exists_related _ _ _ _ F) in H as (z & x & I & Hz & H). exists x. split; auto. exact (sums_overflow_spec _ _ _ _ Hz H). }
  apply behind_it_spec in H as (values & Ev & H). apply (bind_later _ _ (Forall2 (Forall2 holds) values)).
  { apply possible_each. intros. apply possible_sums. }
  { apply (each_sound _ _ _ _ _ _ _ Ev F). intros a b v Hab G. exact (sums_sound f _ _ _ _ _ Hab G). }
  intros vs Hv. apply each_overflows; [intros; apply possible_answer|].
  apply (exists_related _ _ _ _ (numbered_both _ _ _ F)) in H as (z & x & I & [E Hz] & H).
  exists x. split; auto. rewrite E in H. now apply (answer_overflows_spec h keys ks vs _ (snd z)).
Qed.

Lemma attention_overflows_spec heads tokens xs : Forall2 (Forall2 holds) tokens xs -> attention_overflows heads tokens = true ->
  attention f heads xs None.
Proof.
  intros F H. unfold attention_overflows in H. unfold attention. apply orb_prop in H as [H|H].
  { apply bind_now. apply each_overflows; [intros; apply possible_answers|].
    apply existsb_exists in H as (h & I & H). exists h. split; auto. now apply (answers_overflow_spec h tokens). }
  apply behind_it_spec in H as (given & Eg & H). apply (bind_later _ _ (Forall2 (Forall2 (Forall2 holds)) given)).
  { apply possible_each. intros. apply possible_answers. }
  { apply (each_sound _ _ _ _ _ _ _ Eg (Forall2_refl _)). intros a b v <- G. now apply (answers_sound f a tokens). }
  intros gs Hg. apply each_overflows; [intros; apply possible_each; intros; apply possible_add_up|].
  apply (exists_related _ _ _ _ (numbered_both _ _ _ F)) in H as (z & x & I & [E Hz] & H).
  exists x. split; auto. apply each_overflows; [intros; apply possible_add_up|].
  apply (exists_related _ _ _ _ (numbered_both _ _ _ Hz)) in H as (c & d & J & [E' Hc] & H).
  exists d. split; auto. apply (sum_overflows_spec _ _ H). rewrite E, E'.
  constructor; [now apply itself_stands | now apply written_stand].
Qed.

Lemma positives_hold us ys : Forall2 holds us ys -> Forall2 holds (map positive us) (map (fun x => Rmax x 0) ys).
Proof. induction 1; simpl; constructor; auto. now apply positive_holds. Qed.

Lemma feed_forward_overflows_spec w1 b1 w2 b2 z xs : Forall2 holds z xs -> feed_forward_overflows w1 b1 w2 b2 z = true ->
  feed_forward f w1 b1 w2 b2 xs None.
Proof.
  intros F H. unfold feed_forward_overflows in H. unfold feed_forward. apply orb_prop in H as [H|H].
  { apply bind_now. exact (sums_overflow_spec _ _ _ _ F H). }
  apply behind_it_spec in H as (u & E & H).
  apply (bind_later _ _ (Forall2 holds u)); [apply possible_sums | exact (sums_sound f _ _ _ _ _ F E) |].
  intros us Hu. apply each_overflows; [intros; apply possible_add_up|].
  assert (G : Forall2 (fun p q => holds (fst p) (fst q) /\ snd p = snd q) (combine z (combine w2 b2)) (combine xs (combine w2 b2))).
  { generalize (combine w2 b2). clear - F. induction F as [|a b z xs H F IH]; intros [|c l]; simpl; constructor; auto. }
  apply (exists_related _ _ _ _ G) in H as (p & q & I & [Hp E'] & H). exists q. split; auto.
  apply (sum_overflows_spec _ _ H). rewrite E'. constructor; [now apply itself_stands|].
  apply Forall2_app; [apply terms_stand; now apply positives_hold | exact (known_stand f [snd (snd q)])].
Qed.

Lemma layer_overflows_spec tokens xs l : Forall2 (Forall2 holds) tokens xs -> layer_overflows tokens l = true -> apply f xs l None.
Proof.
  intros F H. destruct l as [heads|w1 b1 w2 b2]; simpl in *; [now apply (attention_overflows_spec heads tokens)|].
  apply each_overflows; [intros; apply possible_feed_forward|].
  apply (exists_related _ _ _ _ F) in H as (z & x & I & Hz & H). exists x. split; auto.
  now apply (feed_forward_overflows_spec w1 b1 w2 b2 z).
Qed.

Lemma apply_sound tokens xs l ys : Forall2 (Forall2 holds) tokens xs -> apply_of f tokens l = Some ys ->
  sure (apply f xs l) (Forall2 (Forall2 holds) ys).
Proof.
  intros F E. destruct l; simpl in *; [now apply (attention_sound f heads tokens)|].
  apply (each_sound _ _ _ _ _ _ _ E F). intros a b v H G. now apply (feed_forward_sound f _ _ _ _ a).
Qed.

Lemma through_overflows_spec ls : forall tokens xs, Forall2 (Forall2 holds) tokens xs -> through_overflows ls tokens = true ->
  through f ls xs None.
Proof.
  induction ls as [|l ls IH]; simpl; intros tokens xs F H; [discriminate|]. apply orb_prop in H as [H|H].
  { apply bind_now. now apply (layer_overflows_spec tokens). }
  apply behind_it_spec in H as (next & E & H). apply (bind_later _ _ (Forall2 (Forall2 holds) next)).
  - apply possible_apply.
  - now apply (apply_sound tokens).
  - intros ys Hy. now apply (IH next).
Qed.

Lemma huge_number : number (emin f) (prec f) (huge f).
Proof. apply generic_format_bpow. unfold FLT_exp, emin. destruct f; simpl; lia. Qed.

Lemma input_overflows_spec n : input_overflows n = true -> round_off f (IZR n) None.
Proof.
  unfold input_overflows. intros H. destruct (le_spec (power_of_two (most f)) (absolute (of_Z n))) as [L|]; [|discriminate].
  rewrite F2R_power_of_two, F2R_absolute, F2R_of_Z in L. fold (huge f) in L.
  exists (fl (emin f) (prec f) (IZR n)). split; [constructor|].
  unfold fl. apply abs_round_ge_generic; auto with typeclass_instances. apply huge_number.
Qed.

Lemma embed_overflows_spec net p : embed_overflows net p = true -> embed f net p None.
Proof.
  unfold embed_overflows, embed. intros H. apply orb_prop in H as [H|H].
  - apply bind_now. apply each_overflows; [intros; apply possible_round_off|].
    apply existsb_exists in H as (n & I & H). exists n. split; auto. now apply input_overflows_spec.
  - apply behind_it_spec in H as (x & E & H). apply (bind_later _ _ (Forall2 holds x)).
    + apply possible_each. intros. apply possible_round_off.
    + apply (each_sound _ _ _ _ _ _ _ E (Forall2_refl _)). intros a b v <- G. apply (rounding_sound _ _ _ _ _ G).
      rewrite F2R_of_Z. lra.
    + intros xs Hx. exact (sums_overflow_spec _ _ _ _ Hx H).
Qed.

(** What it says overflows does, in some execution. *)
Theorem certain_overflow net x : outputs_overflow net x = true -> outputs f net x None.
Proof.
  unfold outputs_overflow, outputs. intros H. apply orb_prop in H as [H|H].
  { apply bind_now. apply each_overflows; [intros; apply possible_embed|].
    apply existsb_exists in H as (p & I & H). exists p. split; auto. now apply embed_overflows_spec. }
  apply behind_it_spec in H as (tokens & Et & H). apply (bind_later _ _ (Forall2 (Forall2 holds) tokens)).
  { apply possible_each. intros. apply possible_embed. }
  { apply (each_sound _ _ _ _ _ _ _ Et (Forall2_refl _)). intros a b v <- G. now apply embed_sound. }
  intros xs Hx. apply orb_prop in H as [H|H].
  { apply bind_now. now apply (through_overflows_spec _ tokens). }
  apply behind_it_spec in H as (last & El & H). apply (bind_later _ _ (Forall2 (Forall2 holds) last)).
  { apply possible_through. }
  { now apply (through_sound f _ tokens). }
  intros ys Hy. apply each_overflows; [intros; apply possible_sums|].
  apply (exists_related _ _ _ _ Hy) in H as (z & y & I & Hz & H). exists y. split; auto. exact (sums_overflow_spec _ _ _ _ Hz H).
Qed.

End Format.
