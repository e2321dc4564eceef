(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** Claims in [lp] over a box: CERTIFICATE.md, section 6, *Box* and *Without a grid*.

    The integral is any function of functions that are not negative which is at most that of a sum of multiples of boxes
    that is nowhere smaller, and which gives such sums their volume: [RulesIntegral.v] has one. So nothing is asked
    of how smooth an error is, nor of which execution there is at which point. *)

From Formwright Require Import RulesExecution RulesSoftmax.

(** * Boxes *)

(** One interval for each coordinate. *)
Definition box := list (R * R).

Definition volume (b : box) : R := fold_right (fun i v => (snd i - fst i) * v) 1 b.

Fixpoint indicator (b : box) (x : list R) : R :=
  match b, x with
  | [], [] => 1
  | i :: b, t :: x => if Rle_dec (fst i) t then if Rle_dec t (snd i) then indicator b x else 0 else 0
  | _, _ => 0
  end.

(** A sum of multiples of boxes. *)
Definition steps (s : list (R * box)) (x : list R) : R := total (map (fun t => fst t * indicator (snd t) x) s).
Definition area (s : list (R * box)) : R := total (map (fun t => fst t * volume (snd t)) s).

Definition ordered (b : box) : Prop := Forall (fun i => fst i <= snd i) b.

Definition integrates (integral : (list R -> R) -> R) : Prop :=
  (forall g s, Forall (fun t => ordered (snd t)) s -> (forall x, 0 <= g x <= steps s x) -> integral g <= area s) /\
  (forall s, Forall (fun t => ordered (snd t)) s -> (forall x, 0 <= steps s x) -> integral (steps s) = area s).

Lemma indicator_01 b : forall x, indicator b x = 0 \/ indicator b x = 1.
Proof.
  induction b as [|i b IH]; intros [|t x]; simpl; auto. destruct (Rle_dec (fst i) t), (Rle_dec t (snd i)); auto.
Qed.

(** The part of a cell that is [below] and [above] away from its ends, in sides of the cell. *)
Definition good (below above : R) (i : R * R) : R * R :=
  (fst i + below * (snd i - fst i), snd i - above * (snd i - fst i)).

Lemma good_inside below above c : 0 <= below -> 0 <= above -> ordered c ->
  forall x, indicator (map (good below above) c) x <= indicator c x.
Proof.
  intros B A. induction 1 as [|i c S F IH]; intros [|t x]; simpl; try lra.
  assert (0 <= below * (snd i - fst i)) by (apply Rmult_le_pos; lra).
  assert (0 <= above * (snd i - fst i)) by (apply Rmult_le_pos; lra).
  assert (Z := indicator_01 c x). specialize (IH x).
  repeat destruct (Rle_dec _ _); simpl in *; try lra; destruct Z as [Z|Z]; rewrite ?Z in *; lra.
Qed.

Lemma good_volume below above c : volume (map (good below above) c) = (1 - below - above) ^ length c * volume c.
Proof. induction c as [|i c IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma volume_pos c : ordered c -> 0 <= volume c.
Proof. induction 1; simpl; [lra | apply Rmult_le_pos; lra]. Qed.

Lemma good_ordered below above c : below + above <= 1 -> ordered c -> ordered (map (good below above) c).
Proof. intros BA. induction 1; simpl; constructor; auto. simpl. nra. Qed.

(** * Box *)

(** A cell of the grid, what the function is at most on its good part, and what it is at most on the rest. *)
Record cell := Cell { sides : box; most_good : R; most_rest : R }.

(** An integral over the cells of a box is at most the shares of their good parts and of the rest, times what the
    function is at most there; every cell has the share [(1 - below - above)^k] that is good. *)
Theorem box_of_cells integral k below above (cells : list cell) g :
  integrates integral -> 0 <= below -> 0 <= above -> below + above <= 1 ->
  Forall (fun c => length (sides c) = k /\ ordered (sides c)
                   /\ 0 <= most_good c /\ 0 <= most_rest c) cells ->
  (forall x, 0 <= g x) ->
  (forall x, g x <= 0 \/ exists c, In c cells /\ indicator (sides c) x = 1 /\
    (indicator (map (good below above) (sides c)) x = 1 /\ g x <= most_good c \/
     indicator (map (good below above) (sides c)) x = 0 /\ g x <= most_rest c)) ->
  let share := (1 - below - above) ^ k in
  integral g <= total (map (fun c => volume (sides c) * (share * most_good c + (1 - share) * most_rest c)) cells).
Proof.
  intros [Mono _] B A BA F Pos P share.
  set (inner c := map (good below above) (sides c)).
  set (s := flat_map (fun c => [(most_rest c, sides c); (most_good c - most_rest c, inner c)]) cells).
  assert (E : area s = total (map (fun c => volume (sides c) * (share * most_good c + (1 - share) * most_rest c)) cells)).
  { unfold s, area, inner. clear P s. induction F as [|c l (L & _) F IH]; [reflexivity|].
    cbn [flat_map app map fst snd]. rewrite !total_cons, IH, good_volume, L. unfold share. ring. }
  rewrite <- E. apply Mono.
  - unfold s. apply Forall_flat_map. eapply Forall_impl; [|apply F]. intros c (L & S & _). repeat constructor; simpl; auto.
    unfold inner. now apply good_ordered.
  - intros x. split; [apply Pos|].
    assert (T : forall c, In c cells -> 0 <= most_rest c * indicator (sides c) x + (most_good c - most_rest c) * indicator (inner c) x).
    { intros c I. rewrite Forall_forall in F. destruct (F c I) as (_ & S & G & R).
      assert (W := good_inside below above (sides c) B A S x). fold (inner c) in W.
      destruct (indicator_01 (sides c) x) as [U|U], (indicator_01 (inner c) x) as [V|V]; rewrite U, V in *; lra. }
    assert (One : forall l, (forall c, In c l -> In c cells) ->
      steps (flat_map (fun c => [(most_rest c, sides c); (most_good c - most_rest c, inner c)]) l) x
      = total (map (fun c => most_rest c * indicator (sides c) x + (most_good c - most_rest c) * indicator (inner c) x) l)).
    { induction l as [|c l IH]; intros H; [reflexivity|]. unfold steps in *. cbn [flat_map app map fst snd].
      rewrite !total_cons, IH by (intros; apply H; now right). ring. }
    unfold s. rewrite One by auto.
    assert (Some : forall c, In c cells -> most_rest c * indicator (sides c) x + (most_good c - most_rest c) * indicator (inner c) x
      <= total (map (fun c => most_rest c * indicator (sides c) x + (most_good c - most_rest c) * indicator (inner c) x) cells)).
    { clear - T. induction cells as [|d l IH]; intros c I; [destruct I|]. cbn [map]. rewrite total_cons.
      assert (Z : 0 <= total (map (fun c => most_rest c * indicator (sides c) x + (most_good c - most_rest c) * indicator (inner c) x) l)).
      { apply total_nonneg, Forall_map, Forall_forall. intros e J. apply T. now right. }
      destruct I as [->|I]; [lra|]. specialize (IH ltac:(intros; apply T; now right) c I).
      specialize (T d (or_introl eq_refl)). lra. }
    destruct (P x) as [N|(c & I & U & G)].
    + assert (Z : 0 <= total (map (fun c => most_rest c * indicator (sides c) x + (most_good c - most_rest c) * indicator (inner c) x) cells)).
      { apply total_nonneg, Forall_map, Forall_forall. auto. }
      lra.
    + specialize (Some c I). rewrite U in Some. unfold inner in Some at 1. destruct G as [[V G]|[V G]]; rewrite V in Some; lra.
Qed.

(** The cells of a grid fill the box: [N^k] of them, each with the [k]-th power of a side for its volume. *)
Theorem cells_fill_the_box k N low high : (0 < N)%nat ->
  INR N ^ k * volume (repeat (0, (high - low) / INR N) k) = volume (repeat (low, high) k).
Proof.
  intros P. apply lt_0_INR in P. induction k as [|k IH]; simpl; [ring|]. rewrite <- IH. field. lra.
Qed.

(** The powers that integrals are of: 0 for 0, where [Rpower] is not. *)
Definition power (x p : R) : R := if Rle_dec x 0 then 0 else Rpower x p.

(** They grow. *)
Theorem power_grows x y p : 0 <= p -> x <= y -> power x p <= power y p.
Proof.
  intros P L. unfold power. destruct (Rle_dec x 0), (Rle_dec y 0); try lra.
  - apply Rlt_le, exp_pos.
  - apply Rle_Rpower_l; lra.
Qed.

(** The rest counts: with the good parts alone the bound is wrong, for every integral. *)
Theorem box_needs_the_rest integral : integrates integral ->
  exists below above c g, 0 <= below /\ 0 <= above /\ below + above <= 1 /\
    (forall x, 0 <= g x) /\ (forall x, indicator (map (good below above) c) x = 1 -> g x <= 0) /\
    volume c * ((1 - below - above) ^ length c * 0) < integral g.
Proof.
  intros [_ Simple]. exists (/ 4), (/ 4), [(0, 1)], (steps [(1, [(0, 1)]); (-1, map (good (/ 4) (/ 4)) [(0, 1)])]).
  assert (O : ordered [(0, 1)]) by (repeat constructor; simpl; lra).
  assert (P : forall x, 0 <= steps [(1, [(0, 1)]); (-1, map (good (/ 4) (/ 4)) [(0, 1)])] x).
  { intros x. unfold steps, total. cbn [map fold_right fst snd].
    assert (W := good_inside (/ 4) (/ 4) [(0, 1)] ltac:(lra) ltac:(lra) O x). cbn [map] in W. lra. }
  split; [lra|]. split; [lra|]. split; [lra|]. split; [exact P|]. split.
  - intros x H. unfold steps, total. cbn [map fold_right fst snd]. cbn [map] in H. rewrite H.
    destruct (indicator_01 [(0, 1)] x) as [Z|Z]; rewrite Z; lra.
  - rewrite Simple; auto.
    + unfold area, total, volume, good. simpl. lra.
    + apply Forall_cons; [exact O|]. apply Forall_cons; [|apply Forall_nil].
      apply (good_ordered (/ 4) (/ 4) [(0, 1)]); auto. lra.
Qed.

(** The share is a power: margins are cut off in every coordinate. *)
Theorem box_needs_every_coordinate :
  exists below above c, volume (map (good below above) c) <> (1 - below - above) * volume c.
Proof. exists (/ 4), (/ 4), [(0, 1); (0, 1)]. unfold volume, good. simpl. lra. Qed.

(** * Without a grid *)

Lemma power_inverse e p : 0 <= e -> 0 < p -> power (power e p) (/ p) = e.
Proof.
  intros E P. unfold power at 2. destruct (Rle_dec e 0) as [Z|Z].
  - unfold power. destruct (Rle_dec 0 0); lra.
  - unfold power. assert (X : 0 < Rpower e p) by apply exp_pos. destruct (Rle_dec (Rpower e p) 0); [lra|].
    rewrite Rpower_mult, Rinv_r, Rpower_1; lra.
Qed.

Lemma power_product x y p : 0 <= x -> 0 <= y -> power (x * y) p = power x p * power y p.
Proof.
  intros X Y. unfold power. destruct X as [X|<-]; [destruct Y as [Y|<-]|].
  - assert (0 < x * y) by now apply Rmult_lt_0_compat.
    destruct (Rle_dec (x * y) 0), (Rle_dec x 0), (Rle_dec y 0); try lra. symmetry. now apply Rpower_mult_distr.
  - rewrite Rmult_0_r. destruct (Rle_dec 0 0); lra.
  - rewrite Rmult_0_l. destruct (Rle_dec 0 0); lra.
Qed.

Lemma power_pos x p : 0 <= power x p.
Proof. unfold power. destruct (Rle_dec x 0); [lra | apply Rlt_le, exp_pos]. Qed.

(** Outputs that are off by at most [e] at every point of the box are off by at most [e (outputs * volume)^(1/p)] in
    lp. *)
Theorem without_a_grid integral (off : list R -> list R) b outputs e p :
  integrates integral -> 0 < p -> 0 <= e -> ordered b ->
  (forall x, indicator b x = 1 -> length (off x) = outputs /\ Forall (fun t => Rabs t <= e) (off x)) ->
  (forall x, indicator b x = 0 -> Forall (fun t => t = 0) (off x)) ->
  power (integral (fun x => total (map (fun t => power (Rabs t) p) (off x)))) (/ p)
  <= e * power (INR outputs * volume b) (/ p).
Proof.
  intros [Mono _] P E S Inside Outside. assert (V := volume_pos b S).
  assert (I : integral (fun x => total (map (fun t => power (Rabs t) p) (off x))) <= power e p * (INR outputs * volume b)).
  { replace (power e p * (INR outputs * volume b)) with (area [(INR outputs * power e p, b)])
      by (unfold area, total; simpl; ring).
    apply Mono; [repeat constructor; auto|]. intros x.
    split; [apply total_nonneg, Forall_map, Forall_forall; intros; apply power_pos|].
    unfold steps, total at 2. cbn [map fold_right fst snd].
    destruct (indicator_01 b x) as [Z|Z]; rewrite Z.
    - rewrite Rmult_0_r, Rplus_0_r. apply Req_le. specialize (Outside x Z).
      induction Outside as [|t l -> F IH]; [reflexivity|]. cbn [map]. rewrite total_cons, IH, Rabs_R0. unfold power.
      destruct (Rle_dec 0 0); lra.
    - destruct (Inside x Z) as [L F]. rewrite <- L. clear - F P. induction F as [|t l T F IH]; [unfold total; simpl; lra|].
      cbn [map length]. rewrite total_cons, S_INR. assert (G := power_grows (Rabs t) e p ltac:(lra) T). lra. }
  apply Rle_trans with (power (power e p * (INR outputs * volume b)) (/ p)).
  - apply power_grows; auto. apply Rlt_le, Rinv_0_lt_compat; auto.
  - rewrite power_product by (try apply power_pos; apply Rmult_le_pos; auto using pos_INR).
    rewrite power_inverse by auto. lra.
Qed.

(** The points of a part of the box are not enough. *)
Theorem without_a_grid_needs_every_point integral : integrates integral ->
  exists b part (off : list R -> R), (forall x, indicator part x = 1 -> off x = 0) /\ (forall x, 0 <= off x) /\
    (forall x, indicator part x <= indicator b x) /\ 0 * (1 * volume b) < integral off.
Proof.
  intros [_ Simple]. exists [(0, 1)], [(0, / 2)], (steps [(1, [(0, 1)]); (-1, [(0, / 2)])]).
  assert (B : forall x, indicator [(0, / 2)] x <= indicator [(0, 1)] x).
  { intros [|t [|? ?]]; simpl; repeat destruct (Rle_dec _ _); simpl in *; lra. }
  assert (P : forall x, 0 <= steps [(1, [(0, 1)]); (-1, [(0, / 2)])] x).
  { intros x. unfold steps, total. cbn [map fold_right fst snd]. specialize (B x). lra. }
  split; [|split; [exact P | split; [exact B|]]].
  - intros x H. unfold steps, total. cbn [map fold_right fst snd]. specialize (B x). rewrite H in *.
    destruct (indicator_01 [(0, 1)] x) as [Z|Z]; rewrite Z in *; lra.
  - rewrite Simple; auto; [unfold area, total, volume; simpl; lra|].
    repeat constructor; simpl; lra.
Qed.
