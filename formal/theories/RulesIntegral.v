(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** That there is an integral, as *Box* and *Without a grid* of CERTIFICATE.md, section 6, ask for: what they say is about
    something. It is the upper integral: the greatest number below the volume of every sum of multiples of boxes that is
    nowhere smaller.

    All that is to be shown is that a sum of multiples of boxes which is nowhere negative has no negative volume. *)

From Formwright Require Import RulesExecution RulesSoftmax RulesBox.
From Coq Require Import Bool.

(** * Box: intervals *)

Definition covers (i : R * R) (t : R) : R := if Rle_dec (fst i) t then if Rle_dec t (snd i) then 1 else 0 else 0.

Lemma total_of_sum {A} (f g : A -> R) l : total (map (fun a => f a + g a) l) = total (map f l) + total (map g l).
Proof. induction l as [|a l IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH. ring. Qed.

Lemma total_of_multiple {A} (f : A -> R) c l : total (map (fun a => c * f a) l) = c * total (map f l).
Proof. induction l as [|a l IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons, IH. ring. Qed.

Lemma totals_swap {A B} (f : A -> B -> R) l m :
  total (map (fun a => total (map (f a) m)) l) = total (map (fun b => total (map (fun a => f a b) l)) m).
Proof.
  induction l as [|a l IH]; cbn [map].
  - change (total []) with 0. induction m as [|b m IH]; [reflexivity|]. cbn [map]. rewrite total_cons, <- IH. change (total []) with 0. ring.
  - rewrite total_cons, IH, <- total_of_sum. reflexivity.
Qed.

(** How many whole numbers from [-m] on, [n] of them, are between [a] and [b]. *)
Lemma count_whole a b m n : (- m <= a)%Z ->
  total (map (fun i => if ((a <=? Z.of_nat i - m) && (Z.of_nat i - m <=? b))%Z%bool then 1 else 0) (seq 0 n))
  = IZR (Z.max 0 (Z.min b (Z.of_nat n - m - 1) - a + 1)).
Proof.
  intros A. induction n as [|n IH].
  - simpl. replace (Z.max 0 _) with 0%Z by lia. reflexivity.
  - rewrite seq_S, map_app, total_app, IH. cbn [map]. rewrite total_cons. change (total []) with 0. rewrite Nat.add_0_l, Rplus_0_r.
    destruct (Z.leb_spec a (Z.of_nat n - m)), (Z.leb_spec (Z.of_nat n - m) b); cbn [andb].
    1: rewrite <- plus_IZR; f_equal; lia. all: rewrite Rplus_0_r; f_equal; lia.
Qed.

(** Of the points [j / N] an interval covers [N] times its length, but for one. *)
Lemma covered_points i N m n : fst i <= snd i -> 0 < N ->
  (- m <= Zceil (N * fst i))%Z -> (Zfloor (N * snd i) <= Z.of_nat n - m - 1)%Z ->
  Rabs (total (map (fun k => covers i (IZR (Z.of_nat k - m) / N)) (seq 0 n)) - N * (snd i - fst i)) <= 1.
Proof.
  intros L P Lo Hi.
  rewrite (map_ext _ (fun k => if ((Zceil (N * fst i) <=? Z.of_nat k - m) && (Z.of_nat k - m <=? Zfloor (N * snd i)))%Z%bool then 1 else 0)).
  - rewrite count_whole by auto. replace (Z.min (Zfloor (N * snd i)) (Z.of_nat n - m - 1)) with (Zfloor (N * snd i)) by lia.
    assert (F1 := Zfloor_lb (N * snd i)). assert (F2 := Zfloor_ub (N * snd i)). assert (C1 := Zceil_ub (N * fst i)).
    assert (C2 := Zceil_lb (N * fst i)). assert (N * fst i <= N * snd i) by (apply Rmult_le_compat_l; lra).
    set (a := Zceil (N * fst i)) in *. set (b := Zfloor (N * snd i)) in *.
    assert (E : IZR (b - a + 1) = IZR b - IZR a + 1) by (rewrite plus_IZR, minus_IZR; ring).
    apply Rabs_le. destruct (Z.max_spec 0 (b - a + 1)) as [[Z ->]|[Z ->]].
    + lra.
    + apply IZR_le in Z. lra.
  - intros k. unfold covers. set (j := (Z.of_nat k - m)%Z).
    assert (Q : forall x, x <= IZR j / N <-> N * x <= IZR j).
    { intros x. split; intros H.
      - apply (Rmult_le_compat_l N) in H; [|lra]. replace (N * (IZR j / N)) with (IZR j) in H by (field; lra). exact H.
      - apply Rmult_le_reg_l with N; auto. replace (N * (IZR j / N)) with (IZR j) by (field; lra). exact H. }
    assert (Q' : forall x, IZR j / N <= x <-> IZR j <= N * x).
    { intros x. split; intros H.
      - apply (Rmult_le_compat_l N) in H; [|lra]. replace (N * (IZR j / N)) with (IZR j) in H by (field; lra). exact H.
      - apply Rmult_le_reg_l with N; auto. replace (N * (IZR j / N)) with (IZR j) by (field; lra). exact H. }
    destruct (Rle_dec (fst i) (IZR j / N)) as [A|A]; rewrite Q in A.
    + rewrite (proj2 (Z.leb_le _ _) (Zceil_glb _ _ A)). destruct (Rle_dec (IZR j / N) (snd i)) as [B|B]; rewrite Q' in B.
      * now rewrite (proj2 (Z.leb_le _ _) (Zfloor_lub _ _ B)).
      * destruct (Z.leb_spec j (Zfloor (N * snd i))) as [C|C]; [|reflexivity]. exfalso. apply B.
        apply IZR_le in C. assert (F := Zfloor_lb (N * snd i)). lra.
    + destruct (Z.leb_spec (Zceil (N * fst i)) j) as [C|C]; [|reflexivity]. exfalso. apply A.
      apply IZR_le in C. assert (F := Zceil_ub (N * fst i)). lra.
Qed.

Lemma enough_points (s : list (R * (R * R))) N : exists m, (0 <= m)%Z /\
  Forall (fun t => (- m <= Zceil (N * fst (snd t)))%Z /\ (Zfloor (N * snd (snd t)) <= m)%Z) s.
Proof.
  induction s as [|t s (m & P & F)]; [exists 0%Z; split; [lia | constructor]|].
  exists (Z.max m (Z.max (- Zceil (N * fst (snd t))) (Zfloor (N * snd (snd t))))). split; [lia|]. constructor; [lia|].
  eapply Forall_impl; [|apply F]. simpl. intros. lia.
Qed.

(** Multiples of intervals whose sum is nowhere negative. *)
Lemma intervals_positive (s : list (R * (R * R))) : Forall (fun t => fst (snd t) <= snd (snd t)) s ->
  (forall t, 0 <= total (map (fun r => fst r * covers (snd r) t) s)) ->
  0 <= total (map (fun r => fst r * (snd (snd r) - fst (snd r))) s).
Proof.
  intros O P. set (A := total (map (fun r => fst r * (snd (snd r) - fst (snd r))) s)).
  destruct (Rle_lt_dec 0 A) as [|Neg]; auto. exfalso. set (C := total (map (fun r => Rabs (fst r)) s)).
  assert (C0 : 0 <= C) by (apply total_nonneg, Forall_map, Forall_forall; intros; apply Rabs_pos).
  set (N := (C + 1) / - A). assert (N0 : 0 < N) by (apply Rdiv_lt_0_compat; lra).
  destruct (enough_points s N) as (m & M & F). set (n := Z.to_nat (2 * m + 1)).
  assert (B : forall r, Rabs r <= 1 -> forall c, c * r <= Rabs c).
  { intros r H c. eapply Rle_trans; [apply Rle_abs|]. rewrite Rabs_mult. assert (X := Rabs_pos c). nra. }
  assert (Sum : 0 <= total (map (fun k => total (map (fun r => fst r * covers (snd r) (IZR (Z.of_nat k - m) / N)) s)) (seq 0 n))).
  { apply total_nonneg, Forall_map, Forall_forall. intros. apply P. }
  rewrite totals_swap in Sum.
  assert (NA : N * A = - (C + 1)) by (unfold N; field; lra). clearbody N.
  assert (Up : forall l, Forall (fun t => fst (snd t) <= snd (snd t)) l ->
    Forall (fun t => (- m <= Zceil (N * fst (snd t)))%Z /\ (Zfloor (N * snd (snd t)) <= m)%Z) l ->
    total (map (fun r => total (map (fun k => fst r * covers (snd r) (IZR (Z.of_nat k - m) / N)) (seq 0 n))) l)
    <= N * total (map (fun r => fst r * (snd (snd r) - fst (snd r))) l) + total (map (fun r => Rabs (fst r)) l)).
  { induction l as [|r l IH]; intros Ol Fl; [unfold total; simpl; lra|].
    inversion Ol as [|? ? Or O']; inversion Fl as [|? ? [F1 F2] F']; subst. cbn [map]. rewrite !total_cons, total_of_multiple.
    assert (K := covered_points (snd r) N m n Or N0 F1 ltac:(unfold n; lia)). apply (B _) with (c := fst r) in K.
    specialize (IH O' F'). lra. }
  specialize (Up s O F). fold A C in Up. lra.
Qed.

(** * Box: sums of boxes *)

Lemma area_app s r : area (s ++ r) = area s + area r.
Proof. unfold area. now rewrite map_app, total_app. Qed.

Lemma steps_app s r x : steps (s ++ r) x = steps s x + steps r x.
Proof. unfold steps. now rewrite map_app, total_app. Qed.

(** All boxes of one dimension. *)
Lemma boxes_positive k : forall s : list (R * box), Forall (fun t => ordered (snd t) /\ length (snd t) = k) s ->
  (forall x, length x = k -> 0 <= steps s x) -> 0 <= area s.
Proof.
  induction k as [|k IH]; intros s F P.
  - specialize (P [] eq_refl). unfold steps, area in *. erewrite map_ext_in; [exact P|]. intros [c b] I. simpl.
    rewrite Forall_forall in F. destruct (F _ I) as [_ L]. simpl in L. now destruct b.
  - set (first := fun t : R * box => hd (0, 0) (snd t)). set (rest := fun t : R * box => tl (snd t)).
    assert (E : forall t, In t s -> snd t = first t :: rest t /\ fst (first t) <= snd (first t) /\ ordered (rest t) /\ length (rest t) = k).
    { intros [c [|i b]] I; rewrite Forall_forall in F; destruct (F _ I) as [O L]; simpl in *; [discriminate|].
      inversion O; subst. auto. }
    assert (H := intervals_positive (map (fun t => (fst t * volume (rest t), first t)) s)). rewrite !map_map in H. simpl in H.
    assert (G : area s = total (map (fun t => fst t * volume (rest t) * (snd (first t) - fst (first t))) s)).
    { unfold area. f_equal. apply map_ext_in. intros t I. destruct (E t I) as [-> _]. simpl. ring. }
    rewrite G. apply H; clear H G.
    + apply Forall_map, Forall_forall. intros t I. simpl. now apply E.
    + intros y. specialize (IH (map (fun t => (fst t * covers (first t) y, rest t)) s)). unfold area, steps in IH.
      rewrite map_map in IH. simpl in IH. rewrite map_map. simpl.
      rewrite (map_ext _ (fun t => fst t * covers (first t) y * volume (rest t))) by (intros; ring).
      apply IH.
      * apply Forall_map, Forall_forall. intros t I. simpl. destruct (E t I) as (_ & _ & O & L). auto.
      * intros x L. specialize (P (y :: x) ltac:(simpl; congruence)). unfold steps in P. rewrite map_map. simpl.
        erewrite map_ext_in; [exact P|]. intros t I. simpl. destruct (E t I) as [-> _]. simpl. unfold covers.
        destruct (Rle_dec (fst (first t)) y); [|ring]. destruct (Rle_dec y (snd (first t))); ring.
Qed.

Lemma indicator_other b : forall x, length b <> length x -> indicator b x = 0.
Proof.
  induction b as [|i b IH]; intros [|t x] N; simpl in *; auto; [congruence|].
  destruct (Rle_dec (fst i) t), (Rle_dec t (snd i)); auto.
Qed.

(** A sum of multiples of boxes that is nowhere negative has no negative volume. *)
Theorem volumes_are_positive (s : list (R * box)) : Forall (fun t => ordered (snd t)) s -> (forall x, 0 <= steps s x) -> 0 <= area s.
Proof.
  assert (G : forall K (s : list (R * box)), Forall (fun t => ordered (snd t) /\ (length (snd t) < K)%nat) s ->
    (forall x, 0 <= steps s x) -> 0 <= area s).
  { induction K as [|K IH]; intros r F P.
    - destruct r as [|t r]; [unfold area, total; simpl; lra|]. inversion F as [|? ? [_ L] _]. lia.
    - set (g := fun t : R * box => Nat.eqb (length (snd t)) K).
      assert (A : area r = area (filter g r) + area (filter (fun t => negb (g t)) r)).
      { clear. induction r as [|t r IH]; [unfold area, total; simpl; ring|].
        change (t :: r) with ([t] ++ r). rewrite area_app, IH, !filter_app, !area_app. simpl. destruct (g t); simpl;
          change (area []) with 0; ring. }
      assert (S : forall x, steps r x = steps (filter g r) x + steps (filter (fun t => negb (g t)) r) x).
      { intros x. clear. induction r as [|t r IH]; [unfold steps, total; simpl; ring|].
        change (t :: r) with ([t] ++ r). rewrite steps_app, IH, !filter_app, !steps_app. simpl. destruct (g t); simpl;
          change (steps [] x) with 0; ring. }
      assert (Zero : forall h x, Forall (fun t : R * box => length (snd t) <> length x) h -> steps h x = 0).
      { intros h x Fh. unfold steps. induction Fh as [|t h N Fh IHh]; [reflexivity|]. cbn [map]. rewrite total_cons, IHh.
        rewrite indicator_other by auto. ring. }
      rewrite Forall_forall in F.
      assert (A1 : 0 <= area (filter g r)).
      { apply (boxes_positive K).
        - apply Forall_forall. intros t I. apply filter_In in I as [I E]. apply Nat.eqb_eq in E. split; auto. now apply F.
        - intros x L. specialize (P x). rewrite S, (Zero (filter (fun t => negb (g t)) r)) in P; [lra|].
          apply Forall_forall. intros t I. apply filter_In in I as [_ E]. unfold g in E.
          destruct (Nat.eqb_spec (length (snd t)) K); [discriminate | congruence]. }
      assert (A2 : 0 <= area (filter (fun t => negb (g t)) r)).
      { apply IH.
        - apply Forall_forall. intros t I. apply filter_In in I as [I E]. destruct (F t I) as [O L]. split; auto.
          unfold g in E. destruct (Nat.eqb_spec (length (snd t)) K); [discriminate | lia].
        - intros x. destruct (Nat.eq_dec (length x) K) as [E|E].
          + rewrite Zero; [lra|]. apply Forall_forall. intros t I. apply filter_In in I as [_ H]. unfold g in H.
            destruct (Nat.eqb_spec (length (snd t)) K); [discriminate | congruence].
          + specialize (P x). rewrite S, (Zero (filter g r)) in P; [lra|]. apply Forall_forall. intros t I.
            apply filter_In in I as [_ H]. apply Nat.eqb_eq in H. congruence. }
      lra. }
  intros O P. assert (exists K, Forall (fun t => ordered (snd t) /\ (length (snd t) < K)%nat) s) as [K F].
  { clear P. induction O as [|t r H O (K & IH)]; [exists 0%nat; constructor|].
    exists (Nat.max K (S (length (snd t)))). constructor; [split; auto; lia|].
    eapply Forall_impl; [|apply IH]. intros a [Oa La]. split; auto. lia. }
  now apply (G K).
Qed.

Lemma areas_grow s r : Forall (fun t => ordered (snd t)) s -> Forall (fun t => ordered (snd t)) r ->
  (forall x, steps s x <= steps r x) -> area s <= area r.
Proof.
  intros S T H. set (minus := map (fun t : R * box => (- fst t, snd t)) s).
  assert (A : area minus = - area s).
  { unfold area, minus. rewrite map_map. simpl. rewrite (map_ext _ (fun t => -1 * (fst t * volume (snd t)))) by (intros; ring).
    rewrite total_of_multiple. ring. }
  assert (B : forall x, steps minus x = - steps s x).
  { intros x. unfold steps, minus. rewrite map_map. simpl.
    rewrite (map_ext _ (fun t => -1 * (fst t * indicator (snd t) x))) by (intros; ring). rewrite total_of_multiple. ring. }
  assert (P : 0 <= area (r ++ minus)).
  { apply volumes_are_positive.
    - apply Forall_app. split; auto. unfold minus. apply Forall_map. eapply Forall_impl; [|apply S]. auto.
    - intros x. rewrite steps_app, B. specialize (H x). lra. }
  rewrite area_app, A in P. lra.
Qed.

(** * Box: the upper integral *)

(** Numbers that are not negative and below the volume of whatever is nowhere smaller than [g]; squeezed into [0, 1], so that
    there is always a greatest. *)
Definition squeezed (g : list R -> R) (y : R) : Prop :=
  exists v, 0 <= v /\ y = v / (1 + v) /\
    forall s, Forall (fun t => ordered (snd t)) s -> (forall x, g x <= steps s x) -> v <= area s \/ area s < 0.

Lemma squeeze_bounded g : bound (squeezed g).
Proof.
  exists 1. intros y (v & P & -> & _). apply Rmult_le_reg_r with (1 + v); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma squeeze_not_empty g : exists y, squeezed g y.
Proof.
  exists 0, 0. split; [lra|]. split; [unfold Rdiv; ring|]. intros s _ _. destruct (Rle_lt_dec 0 (area s)); auto.
Qed.

Definition upper_integral (g : list R -> R) : R :=
  let y := proj1_sig (completeness (squeezed g) (squeeze_bounded g) (squeeze_not_empty g)) in y / (1 - y).

Lemma squeeze_grows v w : 0 <= v -> v <= w -> v / (1 + v) <= w / (1 + w).
Proof.
  intros V W. apply Rmult_le_reg_r with ((1 + v) * (1 + w)); [apply Rmult_lt_0_compat; lra|].
  replace (v / (1 + v) * ((1 + v) * (1 + w))) with (v * (1 + w)) by (field; lra).
  replace (w / (1 + w) * ((1 + v) * (1 + w))) with (w * (1 + v)) by (field; lra). lra.
Qed.

Lemma stretch v : 0 <= v -> v / (1 + v) / (1 - v / (1 + v)) = v.
Proof. intros V. field. split; [|lra]. replace (1 + v - v) with 1 by ring. lra. Qed.

(** There is an integral of which *Box* and *Without a grid* speak. *)
Theorem there_is_an_integral : integrates upper_integral.
Proof.
  assert (Below : forall g s, Forall (fun t => ordered (snd t)) s -> (forall x, 0 <= g x <= steps s x) -> upper_integral g <= area s).
  { intros g s O H. unfold upper_integral.
    destruct (completeness (squeezed g) (squeeze_bounded g) (squeeze_not_empty g)) as [y [U L]]. simpl.
    assert (A : 0 <= area s) by (apply volumes_are_positive; auto; intros x; specialize (H x); lra).
    assert (Y : y <= area s / (1 + area s)).
    { apply L. intros z (v & V & -> & B). destruct (B s O ltac:(intros x; apply H)) as [C|C]; [|lra].
      now apply squeeze_grows. }
    assert (Y1 : area s / (1 + area s) < 1).
    { apply Rmult_lt_reg_r with (1 + area s); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    apply Rmult_le_reg_r with (1 - y); [lra|]. replace (y / (1 - y) * (1 - y)) with y by (field; lra).
    apply (Rmult_le_compat_r (1 + area s)) in Y; [|lra].
    replace (area s / (1 + area s) * (1 + area s)) with (area s) in Y by (field; lra). lra. }
  split; [exact Below|]. intros s O P. apply Rle_antisym; [apply Below; auto; intros x; split; [apply P | lra]|].
  assert (A : 0 <= area s) by now apply volumes_are_positive.
  unfold upper_integral. destruct (completeness (squeezed (steps s)) (squeeze_bounded (steps s)) (squeeze_not_empty (steps s)))
    as [y [U L]]. simpl.
  assert (Y : area s / (1 + area s) <= y).
  { apply U. exists (area s). split; auto. split; auto. intros r Or H. left. now apply areas_grow. }
  assert (Y1 : y <= area s / (1 + area s)).
  { apply L. intros z (v & V & -> & B). destruct (B s O ltac:(intros; lra)) as [C|C]; [|lra]. now apply squeeze_grows. }
  replace y with (area s / (1 + area s)) by lra. rewrite stretch by auto. lra.
Qed.
