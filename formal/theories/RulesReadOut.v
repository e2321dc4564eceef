(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** What an output is: CERTIFICATE.md, section 7, *Read-out*, *Read-out over integers*, *Read-out by masks* and *Read-out,
    token by token*. *)

From Formwright Require Import RulesExecution RulesSums RulesSoftmax RulesLayers RulesMeanings.
From Coq Require Import Sorting.Sorted.

(** * Read-out *)

(** A wire in the form of an output: its factor, what is meant, what is computed, and its error. *)
Record wire := Wire { times : R; meant : R; found : R; error : R }.

(** A register that the read-out reads: the weight, its form over what is computed, what it holds, what it has lost. *)
Record register := Register { reads : R; form : R; holds : R; lost : R }.

Section ReadOut.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation u := (u prec).
Notation least_normal := (least_normal emin prec).
Notation sum := (sum emin prec).

(** An output is off from the target by what wires are off by, what registers have lost, and what is rounded. *)
Theorem read_out wires registers offset bias target y :
  let terms := bias :: map (fun r => reads r * holds r) registers in
  let k := length terms in
  target = offset + total (map (fun w => times w * meant w) wires) ->
  bias + total (map (fun r => reads r * form r) registers) = offset + total (map (fun w => times w * found w) wires) ->
  Forall (fun w => Rabs (found w - meant w) <= error w) wires ->
  Forall (fun r => Rabs (holds r - form r) <= lost r) registers ->
  INR k * u < 1 -> sum terms y ->
  Rabs (y - target) <= total (map (fun w => Rabs (times w) * error w) wires)
    + total (map (fun r => Rabs (reads r) * lost r) registers) + (gamma u k * size terms + 4 * INR k * least_normal).
Proof.
  intros terms k T L W G K H. apply (any_sum emin prec) in H; auto. fold k in H. subst target.
  assert (A : Rabs (total (map (fun w => times w * found w) wires) - total (map (fun w => times w * meant w) wires))
              <= total (map (fun w => Rabs (times w) * error w) wires)).
  { clear - W. induction W as [|w l E W IH]; [unfold total; simpl; rewrite Rminus_0_r, Rabs_R0; lra|].
    cbn [map]. rewrite !total_cons.
    match goal with |- Rabs (?a + ?x - (?b + ?y)) <= _ => replace (a + x - (b + y)) with (times w * (found w - meant w) + (x - y)) by ring end.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult. apply Rplus_le_compat; auto.
    apply Rmult_le_compat_l; auto using Rabs_pos. }
  assert (B : Rabs (total (map (fun r => reads r * holds r) registers) - total (map (fun r => reads r * form r) registers))
              <= total (map (fun r => Rabs (reads r) * lost r) registers)).
  { clear - G. induction G as [|r l E G IH]; [unfold total; simpl; rewrite Rminus_0_r, Rabs_R0; lra|].
    cbn [map]. rewrite !total_cons.
    match goal with |- Rabs (?a + ?x - (?b + ?y)) <= _ => replace (a + x - (b + y)) with (reads r * (holds r - form r) + (x - y)) by ring end.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult. apply Rplus_le_compat; auto.
    apply Rmult_le_compat_l; auto using Rabs_pos. }
  assert (TT : total terms = bias + total (map (fun r => reads r * holds r) registers)) by reflexivity.
  rewrite TT in H. set (a := total (map (fun w => times w * found w) wires)) in *.
  set (b := total (map (fun w => times w * meant w) wires)) in *. set (c := total (map (fun r => reads r * holds r) registers)) in *.
  set (d := total (map (fun r => reads r * form r) registers)) in *.
  replace (y - (offset + b)) with ((y - (bias + c)) + (c - d) + (a - b)) by lra.
  eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. lra.
Qed.

End ReadOut.

(** What wires are off by counts. *)
Theorem read_out_needs_the_errors :
  exists wires y, y = total (map (fun w => times w * found w) wires) /\
    y <> total (map (fun w => times w * meant w) wires).
Proof. exists [Wire 1 0 1 1], 1. unfold total. simpl. lra. Qed.

(** ** Equal normal forms *)

Definition largest (x : R) (l : list R) : R := fold_right Rmax x l.

Lemma length_pos {A} (x : A) l : 0 < INR (length (x :: l)).
Proof. apply lt_0_INR. simpl. lia. Qed.

(** Means are linear; what does not depend on the running token stands outside. *)
Theorem mean_is_linear {A} (f g : A -> R) a b c x l :
  mean (map (fun t => a * f t + b * g t + c) (x :: l)) = a * mean (map f (x :: l)) + b * mean (map g (x :: l)) + c.
Proof.
  unfold mean. rewrite !map_length. assert (N := length_pos x l).
  assert (H : total (map (fun t => a * f t + b * g t + c) (x :: l))
              = a * total (map f (x :: l)) + b * total (map g (x :: l)) + c * INR (length (x :: l))).
  { generalize (x :: l). clear. induction l as [|t l IH]; [unfold total; simpl; ring|].
    cbn [map length]. rewrite S_INR, !total_cons, IH. ring. }
  rewrite H. field. lra.
Qed.

(** A sum is as many means as there are numbers. *)
Theorem sum_by_mean x l : total (x :: l) = INR (length (x :: l)) * mean (x :: l).
Proof. unfold mean. assert (N := length_pos x l). field. lra. Qed.

(** The quotient of two sums over all tokens is that of their means. *)
Theorem quotient_of_sums x l y r : length (x :: l) = length (y :: r) ->
  total (x :: l) / total (y :: r) = mean (x :: l) / mean (y :: r).
Proof.
  intros E. rewrite (sum_by_mean x l), (sum_by_mean y r), <- E. assert (N := length_pos x l).
  set (n := INR (length (x :: l))) in *. unfold Rdiv. rewrite Rinv_mult.
  replace (n * mean (x :: l) * (/ n * / mean (y :: r))) with (n * / n * (mean (x :: l) * / mean (y :: r))) by ring.
  rewrite Rinv_r by lra. ring.
Qed.

(** [attend]: scores and values. *)
Theorem attend_by_means (t : R * R) l : let keys := t :: l in
  total (map (fun t => exp (fst t) * snd t) keys) / total (map (fun t => exp (fst t)) keys)
  = mean (map (fun t => exp (fst t) * snd t) keys) / mean (map (fun t => exp (fst t)) keys).
Proof. intros keys. unfold keys. cbn [map]. apply quotient_of_sums. simpl. now rewrite !map_length. Qed.

(** A factor that is not negative, and a number, stand outside of a largest. *)
Theorem largest_of_multiples a c x l : 0 <= a -> largest (a * x + c) (map (fun t => a * t + c) l) = a * largest x l + c.
Proof.
  intros P. unfold largest. induction l as [|t l IH]; simpl; [reflexivity|]. rewrite IH.
  set (m := fold_right Rmax x l). destruct (Rle_dec t m) as [K|K].
  - assert (a * t <= a * m) by now apply Rmult_le_compat_l. rewrite (Rmax_right t m) by auto. apply Rmax_right. lra.
  - assert (a * m <= a * t) by (apply Rmult_le_compat_l; lra). rewrite (Rmax_left t m) by lra. apply Rmax_left. lra.
Qed.

(** The least is the negative of the largest negative. *)
Theorem least_by_largest x l : fold_right Rmin x l = - largest (- x) (map Ropp l).
Proof.
  unfold largest. induction l as [|t l IH]; simpl; [ring|]. rewrite IH. unfold Rmin, Rmax.
  destruct (Rle_dec t _), (Rle_dec (- t) _); lra.
Qed.

(** The larger and the smaller of two numbers, and the size, by [relu]. *)
Theorem extremes_by_relu a b : Rmax a b = b + relu (a - b) /\ Rmin a b = a - relu (a - b) /\ Rabs a = 2 * relu a - a.
Proof.
  unfold relu, Rmax, Rmin, Rabs. destruct (Rle_dec a b), (Rle_dec (a - b) 0), (Rle_dec a 0), (Rcase_abs a); lra.
Qed.

(** [exp(a + k log b)] is [b^k exp(a)]. *)
Theorem exponential_of_logarithm a b k : 0 < b -> exp (a + INR k * ln b) = b ^ k * exp a.
Proof.
  intros P. rewrite exp_plus. induction k as [|k IH]; [simpl; rewrite Rmult_0_l, exp_0; ring|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, exp_ln by auto. simpl.
  replace (exp a * (exp (INR k * ln b) * b)) with (b * (exp a * exp (INR k * ln b))) by ring. rewrite IH. ring.
Qed.

(** The factor of a largest must not be negative. *)
Theorem largest_needs_a_positive_factor : exists a x l, largest (a * x) (map (Rmult a) l) <> a * largest x l.
Proof.
  exists (-1), 0, [1]. unfold largest. simpl. rewrite (Rmax_right (-1 * 1)), (Rmax_left 1 0) by lra. lra.
Qed.

(** Where [log] has no value the identity is false: every part must have one. *)
Theorem logarithms_need_a_value : exists b, b < 0 /\ exp (0 + INR 1 * ln b) <> b ^ 1 * exp 0.
Proof. exists (-1). split; [lra|]. assert (P := exp_pos (0 + INR 1 * ln (-1))). rewrite exp_0. simpl in *. lra. Qed.

(** * Read-out over integers *)

(** The second difference of [f] at [k]. *)
Definition bend (f : nat -> R) (k : nat) : R := f (S k) - 2 * f k + f (k - 1)%nat.

Definition hinges (f : nat -> R) (p : nat) (t : R) : R :=
  f 0%nat + (f 1%nat - f 0%nat) * t + total (map (fun k => bend f k * relu (t - INR k)) (seq 1 p)).

Lemma hinges_more f p t : hinges f (S p) t = hinges f p t + bend f (S p) * relu (t - INR (S p)).
Proof.
  unfold hinges. rewrite seq_S, map_app, total_app. cbn [map]. rewrite total_cons.
  replace (1 + p)%nat with (S p) by lia. change (total []) with 0. ring.
Qed.

(** Beyond its last hinge it is a line. *)
Lemma hinges_line f p : hinges f p (INR (S (S p))) = 2 * hinges f p (INR (S p)) - hinges f p (INR p).
Proof.
  unfold hinges.
  assert (H : forall l, Forall (fun k => (k <= p)%nat) l ->
    total (map (fun k => bend f k * relu (INR (S (S p)) - INR k)) l)
    = 2 * total (map (fun k => bend f k * relu (INR (S p) - INR k)) l) - total (map (fun k => bend f k * relu (INR p - INR k)) l)).
  { induction 1 as [|k l K F IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH. apply le_INR in K.
    rewrite !S_INR, !relu_pos by lra. ring. }
  rewrite H; [rewrite !S_INR; ring|]. apply Forall_forall. intros k I. apply in_seq in I. lia.
Qed.

Lemma hinges_points f p : forall m, (m <= S p)%nat -> hinges f p (INR m) = f m.
Proof.
  induction p as [|p IH]; intros m M.
  - unfold hinges, total. simpl. assert (m = 0 \/ m = 1)%nat as [->| ->] by lia; simpl; ring.
  - rewrite hinges_more. destruct (Nat.eq_dec m (S (S p))) as [->|N].
    + rewrite hinges_line, !IH by lia. rewrite relu_pos by (rewrite !S_INR; lra). rewrite !S_INR. unfold bend.
      replace (S p - 1)%nat with p by lia. ring.
    + rewrite IH by lia. rewrite relu_neg; [ring|]. assert (K : (m <= S p)%nat) by lia. apply le_INR in K. lra.
Qed.

(** A function of a base that takes the whole values [lo ... lo + n] and no others is a line and hinges. *)
Theorem read_out_over_integers (f : Z -> R) lo n T : (lo <= T <= lo + Z.of_nat n)%Z ->
  f T = f lo + (f (lo + 1)%Z - f lo) * (IZR T - IZR lo)
    + total (map (fun k => let K := (lo + Z.of_nat k)%Z in (f (K + 1)%Z - 2 * f K + f (K - 1)%Z) * relu (IZR T - IZR K))
                 (seq 1 (n - 1))).
Proof.
  intros B. set (g := fun k => f (lo + Z.of_nat k)%Z).
  assert (H := hinges_points g (n - 1) (Z.to_nat (T - lo)) ltac:(lia)). unfold hinges in H.
  assert (E : INR (Z.to_nat (T - lo)) = IZR T - IZR lo) by (rewrite INR_IZR_INZ, Z2Nat.id by lia; apply minus_IZR).
  rewrite E in H. assert (G0 : g 0%nat = f lo) by (unfold g; f_equal; lia).
  assert (G1 : g 1%nat = f (lo + 1)%Z) by (unfold g; f_equal; lia).
  assert (GT : g (Z.to_nat (T - lo)) = f T) by (unfold g; f_equal; lia). rewrite G0, G1, GT in H. rewrite <- H.
  f_equal. f_equal. apply map_ext_in. intros k I. apply in_seq in I. cbv zeta. unfold bend, g.
  replace (lo + Z.of_nat k + 1)%Z with (lo + Z.of_nat (S k))%Z by lia.
  replace (lo + Z.of_nat k - 1)%Z with (lo + Z.of_nat (k - 1))%Z by lia.
  rewrite plus_IZR, <- INR_IZR_INZ. do 2 f_equal. lra.
Qed.

(** Conditions are 0 or 1; both branches have a value. *)
Definition condition (b : bool) : R := if b then 1 else 0.

(** A branch by a condition that is 0 or 1, and two conditions that both hold. *)
Theorem conditions_are_numbers (c c' : bool) (a b : R) :
  (if c then a else b) = b + condition c * (a - b) /\ condition (c && c')%bool = condition c * condition c'.
Proof. destruct c, c'; simpl; split; ring. Qed.

(** A gather is the sum of what is at each place, where the index is that place. *)
Theorem gather_by_places (x : list R) i : (i < length x)%nat ->
  nth i x 0 = total (map (fun p => condition (Nat.eqb i p) * nth p x 0) (seq 0 (length x))).
Proof.
  intros H. assert (G : forall n s, total (map (fun p => condition (Nat.eqb i p) * nth p x 0) (seq s n))
                        = if (Nat.leb s i && Nat.ltb i (s + n))%bool then nth i x 0 else 0).
  { induction n as [|n IH]; intros s; cbn [seq map].
    - change (total []) with 0. destruct (Nat.leb_spec s i), (Nat.ltb_spec i (s + 0)); simpl; auto; lia.
    - rewrite total_cons, IH. destruct (Nat.eqb_spec i s) as [->|N]; unfold condition.
      + destruct (Nat.leb_spec (S s) s), (Nat.leb_spec s s), (Nat.ltb_spec s (s + S n)); simpl; try lia; ring.
      + destruct (Nat.leb_spec (S s) i), (Nat.leb_spec s i), (Nat.ltb_spec i (S s + n)), (Nat.ltb_spec i (s + S n)); simpl; try lia; ring. }
  rewrite G. destruct (Nat.leb_spec 0 i), (Nat.ltb_spec i (0 + length x)); simpl; auto; lia.
Qed.

(** Sorting by counts. *)
Definition at_most (k : Z) (l : list Z) : nat := length (filter (fun t => Z.leb t k) l).

Lemma at_most_order k l r : Permutation l r -> at_most k l = at_most k r.
Proof.
  unfold at_most. induction 1 as [|t l r P IH|s t l|]; simpl; auto; [|now destruct (s <=? k)%Z, (t <=? k)%Z | congruence].
  destruct (t <=? k)%Z; simpl; auto.
Qed.

Lemma sorted_at_most k s : StronglySorted Z.le s -> forall i, (i < length s)%nat -> (at_most k s <= i)%nat <-> (k < nth i s 0)%Z.
Proof.
  unfold at_most. induction 1 as [|a s S IH F]; intros i I; simpl in I; [lia|]. simpl.
  assert (None : (k < a)%Z -> filter (fun t => Z.leb t k) s = []).
  { intros K. clear - F K. induction F as [|b s B F IHF]; simpl; auto. destruct (Z.leb_spec b k); auto; lia. }
  destruct (Z.leb_spec a k) as [A|A]; simpl.
  - destruct i as [|i]; [split; lia|]. rewrite <- (IH i) by lia. split; lia.
  - rewrite None by lia. simpl. destruct i as [|i]; [split; lia|]. rewrite Forall_forall in F.
    assert (J : (i < length s)%nat) by lia. specialize (F _ (nth_In s 0%Z J)). split; lia.
Qed.

Definition total_Z (l : list Z) : Z := fold_right Z.add 0%Z l.

Lemma count_up v n : forall lo, (lo <= v <= lo + Z.of_nat n)%Z ->
  total_Z (map (fun c => if Z.ltb (lo + Z.of_nat c) v then 1%Z else 0%Z) (seq 0 n)) = (v - lo)%Z.
Proof.
  induction n as [|n IH]; intros lo B; simpl; [lia|].
  rewrite <- seq_shift, map_map. destruct (Z.ltb_spec (lo + 0) v) as [L|L].
  - specialize (IH (lo + 1)%Z ltac:(lia)). transitivity (1 + (v - (lo + 1)))%Z; [|lia]. f_equal. rewrite <- IH.
    f_equal. apply map_ext. intros c. replace (lo + Z.of_nat (S c))%Z with (lo + 1 + Z.of_nat c)%Z by lia. reflexivity.
  - assert (E : v = lo) by lia. subst. rewrite Z.sub_diag. clear. generalize (seq 0 n). intros l. rewrite Z.add_0_l.
    induction l as [|c l IH]; [reflexivity|]. cbn [map total_Z fold_right]. unfold total_Z in IH. rewrite IH.
    destruct (Z.ltb_spec (lo + Z.of_nat (S c)) lo); lia.
Qed.

(** Sorting by counts: the i-th smallest is [lo] and as many ones as there are values at or below which there are no
    more than i. *)
Theorem sorting_by_counts x sorted lo n i : Permutation x sorted -> StronglySorted Z.le sorted ->
  Forall (fun t => (lo <= t <= lo + Z.of_nat n)%Z) x -> (i < length x)%nat ->
  nth i sorted 0%Z =
  (lo + total_Z (map (fun c => if Nat.leb (at_most (lo + Z.of_nat c) x) i then 1 else 0) (seq 0 n)))%Z.
Proof.
  intros P S F I. rewrite (Permutation_length P) in I. assert (R := nth_In sorted 0%Z I).
  assert (B : (lo <= nth i sorted 0 <= lo + Z.of_nat n)%Z).
  { apply Permutation_sym in P. apply (Permutation_in _ P) in R. rewrite Forall_forall in F. now apply F. }
  assert (C := count_up (nth i sorted 0%Z) n lo B).
  assert (E : map (fun c => if Nat.leb (at_most (lo + Z.of_nat c) x) i then 1%Z else 0%Z) (seq 0 n)
              = map (fun c => if Z.ltb (lo + Z.of_nat c) (nth i sorted 0%Z) then 1%Z else 0%Z) (seq 0 n)).
  { apply map_ext. intros c. rewrite (at_most_order _ _ _ P). assert (A := sorted_at_most (lo + Z.of_nat c) sorted S i I).
    destruct (Nat.leb_spec (at_most (lo + Z.of_nat c) sorted) i), (Z.ltb_spec (lo + Z.of_nat c) (nth i sorted 0%Z)); auto; lia. }
  rewrite E. lia.
Qed.

(** Beyond the values of its base it is another function. *)
Theorem read_out_over_integers_needs_its_range :
  exists (f : Z -> R) lo n T, (lo + Z.of_nat n < T)%Z /\
    f T <> f lo + (f (lo + 1)%Z - f lo) * (IZR T - IZR lo)
      + total (map (fun k => let K := (lo + Z.of_nat k)%Z in (f (K + 1)%Z - 2 * f K + f (K - 1)%Z) * relu (IZR T - IZR K))
                   (seq 1 (n - 1))).
Proof. exists (fun k => IZR (k * k)), 0%Z, 1%nat, 2%Z. split; [lia|]. unfold total. simpl. lra. Qed.

(** What is above the range is not counted. *)
Theorem sorting_needs_its_range :
  exists x lo n, StronglySorted Z.le x /\
    nth 0 x 0%Z <> (lo + total_Z (map (fun c => if Nat.leb (at_most (lo + Z.of_nat c) x) 0 then 1 else 0) (seq 0 n)))%Z.
Proof. exists [5%Z], 0%Z, 1%nat. split; [repeat constructor|]. vm_compute. discriminate. Qed.

(** * Read-out by masks *)

(** What a filter says of [v], which is [j - i] or [j]. *)
Inductive limit := AtMost (r : R) | AtLeast (r : R) | Below (r : R) | Above (r : R) | Equal (r : R).

Definition says (l : limit) (v : Z) : Prop :=
  match l with AtMost r => IZR v <= r | AtLeast r => r <= IZR v | Below r => IZR v < r | Above r => r < IZR v | Equal r => IZR v = r end.

(** The least and the largest whole number that it allows, if there is one. *)
Definition least_of (l : limit) : option Z :=
  match l with AtLeast r | Equal r => Some (Zceil r) | Above r => Some (Zfloor r + 1)%Z | _ => None end.
Definition most_of (l : limit) : option Z :=
  match l with AtMost r | Equal r => Some (Zfloor r) | Below r => Some (Zceil r - 1)%Z | _ => None end.

Definition from_below (b : option Z) (v : Z) : Prop := match b with Some m => (m <= v)%Z | None => True end.
Definition from_above (b : option Z) (v : Z) : Prop := match b with Some m => (v <= m)%Z | None => True end.

Lemma limit_by_bounds l v : says l v <-> from_below (least_of l) v /\ from_above (most_of l) v.
Proof.
  assert (Up : forall r, (v <= Zfloor r)%Z <-> IZR v <= r).
  { intros r. split; [intros H; apply IZR_le in H; assert (L := Zfloor_lb r); lra | apply Zfloor_lub]. }
  assert (Lo : forall r, (Zceil r <= v)%Z <-> r <= IZR v).
  { intros r. split; [intros H; apply IZR_le in H; assert (L := Zceil_ub r); lra | apply Zceil_glb]. }
  destruct l as [r|r|r|r|r]; simpl; rewrite ?Up, ?Lo; try tauto.
  - assert (L := Lo r). split; [intros H; split; auto; assert (~ (Zceil r <= v)%Z) by (rewrite L; lra); lia|].
    intros [_ H]. assert (~ r <= IZR v) by (rewrite <- L; lia). lra.
  - assert (U := Up r). split; [intros H; split; auto; assert (~ (v <= Zfloor r)%Z) by (rewrite U; lra); lia|].
    intros [H _]. assert (~ IZR v <= r) by (rewrite <- U; lia). lra.
  - lra.
Qed.

Definition later (a b : option Z) : option Z :=
  match a, b with Some m, Some n => Some (Z.max m n) | Some m, None => Some m | None, b => b end.
Definition sooner (a b : option Z) : option Z :=
  match a, b with Some m, Some n => Some (Z.min m n) | Some m, None => Some m | None, b => b end.

(** Filters of which all hold, on [j - i] and on [j]. *)
Definition lowest (ls : list limit) : option Z := fold_right (fun l => later (least_of l)) None ls.
Definition highest (ls : list limit) : option Z := fold_right (fun l => sooner (most_of l)) None ls.

Lemma all_by_bounds ls v : Forall (fun l => says l v) ls <-> from_below (lowest ls) v /\ from_above (highest ls) v.
Proof.
  induction ls as [|l ls IH]; simpl; [split; auto|].
  assert (A : forall a b, from_below (later a b) v <-> from_below a v /\ from_below b v) by (intros [m|] [n|]; simpl; lia).
  assert (B : forall a b, from_above (sooner a b) v <-> from_above a v /\ from_above b v) by (intros [m|] [n|]; simpl; lia).
  rewrite A, B. rewrite Forall_cons_iff, IH, limit_by_bounds. tauto.
Qed.

(** The mask [low high from to no]: a limit may be [*]. *)
Definition shows (low high from to : option Z) (i j : Z) : Prop :=
  from_below low (j - i) /\ from_above high (j - i) /\ from_below from j /\ from_above to j.

(** Filters that say of [j - i], or of [j], that it is at most, at least, below, above or equal to numbers let
    through what a mask shows. *)
Theorem read_out_by_masks relative absolute i j :
  Forall (fun l => says l (j - i)) relative /\ Forall (fun l => says l j) absolute <->
  shows (lowest relative) (highest relative) (lowest absolute) (highest absolute) i j.
Proof. unfold shows. rewrite !all_by_bounds. tauto. Qed.

(** Every token sees something if the limits say so for the first token of the fewest and for the last one of the most. *)
Theorem masks_show_something least most low high from to : (1 <= least)%Z ->
  (forall a, low = Some a -> (a <= 0)%Z) -> (forall b, high = Some b -> (0 <= b)%Z) ->
  (forall a b, low = Some a -> high = Some b -> (a <= b)%Z) ->
  (forall b, to = Some b -> (0 <= b)%Z) ->
  (forall a, from = Some a -> (a <= least - 1)%Z) ->
  (forall a b, low = Some a -> to = Some b -> (most - 1 + a <= b)%Z) ->
  (forall a b, from = Some a -> high = Some b -> (a <= b)%Z) ->
  (forall a b, from = Some a -> to = Some b -> (a <= b)%Z) ->
  forall n i, (least <= n <= most)%Z -> (0 <= i < n)%Z -> exists j, (0 <= j < n)%Z /\ shows low high from to i j.
Proof.
  intros L1 Low High LH T F LT FH FT n i N I. unfold shows, from_below, from_above in *.
  exists (Z.max (Z.max 0 (match low with Some a => i + a | None => 0 end)) (match from with Some c => c | None => 0 end)).
  destruct low as [a|], high as [b|], from as [c|], to as [d|];
    repeat match goal with
           | H : forall a b, Some ?x = Some a -> Some ?y = Some b -> _ |- _ => specialize (H x y eq_refl eq_refl)
           | H : forall a, Some ?x = Some a -> _ |- _ => specialize (H x eq_refl)
           end; lia.
Qed.

(** The fewest tokens are not enough: a limit [to] is hardest for the last token of the most. *)
Theorem masks_need_the_most_tokens :
  exists low to, (exists j, (0 <= j < 1)%Z /\ shows (Some low) None None (Some to) 0 j) /\
    ~ exists j, (0 <= j < 2)%Z /\ shows (Some low) None None (Some to) 1 j.
Proof.
  exists 0%Z, 0%Z. unfold shows, from_below, from_above. split; [exists 0%Z; lia|]. intros (j & J & H). lia.
Qed.

(** * Read-out, token by token *)

(** Places: the token that has the output, the running one, numbers. *)
Inductive place := Index | Running | Number (z : Z) | Plus (p q : place).

Fixpoint where_is (i j : Z) (p : place) : Z :=
  match p with Index => i | Running => j | Number z => z | Plus p q => where_is i j p + where_is i j q end.

(** Expressions: inputs at places, and sums over the tokens of which one place is at most another. *)
Inductive expr :=
| At (p : place) | Const (r : R) | Add (a b : expr) | Mul (a b : expr)
| If (p q : place) (a b : expr) | Sum (p q : place) (a : expr).

(** The value, if there is one: [x] are [n] inputs. *)
Definition both {A} (f : A -> A -> A) (a b : option A) : option A :=
  match a, b with Some a, Some b => Some (f a b) | _, _ => None end.

Definition tokens (n : nat) : list Z := map Z.of_nat (seq 0 n).

Fixpoint value (n : nat) (x : Z -> R) (i j : Z) (e : expr) : option R :=
  match e with
  | At p => let k := where_is i j p in if ((0 <=? k)%Z && (k <? Z.of_nat n)%Z)%bool then Some (x k) else None
  | Const r => Some r
  | Add a b => both Rplus (value n x i j a) (value n x i j b)
  | Mul a b => both Rmult (value n x i j a) (value n x i j b)
  | If p q a b => if (where_is i j p <=? where_is i j q)%Z then value n x i j a else value n x i j b
  | Sum p q a =>
      fold_right (fun k s => if (where_is i k p <=? where_is i k q)%Z then both Rplus (value n x i k a) s else s)
        (Some 0) (tokens n)
  end.

(** What it is for a number of tokens and a token: a polynomial in the inputs, each a thing of its own. *)
Inductive poly := Input (k : Z) | Value (r : R) | Sums (a b : poly) | Products (a b : poly).

Fixpoint told (n : nat) (i j : Z) (e : expr) : option poly :=
  match e with
  | At p => let k := where_is i j p in if ((0 <=? k)%Z && (k <? Z.of_nat n)%Z)%bool then Some (Input k) else None
  | Const r => Some (Value r)
  | Add a b => both Sums (told n i j a) (told n i j b)
  | Mul a b => both Products (told n i j a) (told n i j b)
  | If p q a b => if (where_is i j p <=? where_is i j q)%Z then told n i j a else told n i j b
  | Sum p q a =>
      fold_right (fun k s => if (where_is i k p <=? where_is i k q)%Z then both Sums (told n i k a) s else s)
        (Some (Value 0)) (tokens n)
  end.

Fixpoint at_inputs (x : Z -> R) (p : poly) : R :=
  match p with
  | Input k => x k | Value r => r
  | Sums a b => at_inputs x a + at_inputs x b | Products a b => at_inputs x a * at_inputs x b
  end.

Lemma told_value n x e : forall i j, value n x i j e = option_map (at_inputs x) (told n i j e).
Proof.
  induction e as [p|r|a IHa b IHb|a IHa b IHb|p q a IHa b IHb|p q a IHa]; intros i j; simpl.
  - now destruct ((0 <=? where_is i j p)%Z && (where_is i j p <? Z.of_nat n)%Z)%bool.
  - reflexivity.
  - rewrite IHa, IHb. now destruct (told n i j a), (told n i j b).
  - rewrite IHa, IHb. now destruct (told n i j a), (told n i j b).
  - now destruct (where_is i j p <=? where_is i j q)%Z.
  - induction (tokens n) as [|k l IH]; [reflexivity|]. simpl. rewrite IH.
    destruct (where_is i k p <=? where_is i k q)%Z; [|reflexivity]. rewrite IHa.
    match goal with |- context [both Sums _ ?s] => destruct (told n i k a), s end; reflexivity.
Qed.

(** If for every number of tokens and every token two expressions are one polynomial in the inputs, they agree at
    every sequence, and have a value, whatever an untaken branch has. *)
Theorem read_out_token_by_token least most e f :
  (forall n i, (least <= n <= most)%nat -> (0 <= i < Z.of_nat n)%Z ->
    exists p q, told n i i e = Some p /\ told n i i f = Some q /\ forall x, at_inputs x p = at_inputs x q) ->
  forall n x i, (least <= n <= most)%nat -> (0 <= i < Z.of_nat n)%Z ->
    exists r, value n x i i e = Some r /\ value n x i i f = Some r.
Proof.
  intros H n x i N I. destruct (H n i N I) as (p & q & P & Q & E). exists (at_inputs x p).
  rewrite !told_value, P, Q. simpl. now rewrite E.
Qed.

(** One number of tokens is not enough. *)
Theorem token_by_token_needs_every_length :
  exists e f, (forall x i, (0 <= i < 1)%Z -> value 1 x i i e = value 1 x i i f) /\
    exists x, value 2 x 0 0 e <> value 2 x 0 0 f.
Proof.
  exists (Sum (Number 0) (Number 0) (At Running)), (At (Number 0)). split.
  - intros x i I. assert (i = 0%Z) as -> by lia. unfold tokens. simpl. f_equal. ring.
  - exists (fun _ => 1). unfold tokens. simpl. intros E. injection E as E. lra.
Qed.

(** One token is not enough. *)
Theorem token_by_token_needs_every_token :
  exists e f x, value 2 x 0 0 e = value 2 x 0 0 f /\ value 2 x 1 1 e <> value 2 x 1 1 f.
Proof.
  exists (At Index), (At (Number 0)), (fun k => IZR k). split; [reflexivity|]. simpl. intros E. injection E as E. lra.
Qed.
