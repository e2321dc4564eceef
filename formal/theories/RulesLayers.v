(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** Feed-forward layers, before they are rounded: CERTIFICATE.md, section 6, *Layers*. *)

From Formwright Require Import RulesExecution RulesSoftmax.

(** * Layers *)

Definition relu (x : R) : R := Rmax x 0.

(** A hidden unit that reads one functional [t]: it adds [gain * relu (slope * t + offset)]. *)
Record unit := Unit { gain : R; slope : R; offset : R }.

Definition reads (v : unit) (t : R) : R := slope v * t + offset v.
Definition adds (v : unit) (t : R) : R := gain v * relu (reads v t).

(** An affine function and units. *)
Definition piecewise (m k : R) (units : list unit) (t : R) : R := m * t + k + total (map (fun v => adds v t) units).

Lemma relu_pos x : 0 <= x -> relu x = x.
Proof. apply Rmax_left. Qed.

Lemma relu_neg x : x <= 0 -> relu x = 0.
Proof. apply Rmax_right. Qed.

(** Where the signs are known the layer is an affine map. *)
Theorem known_signs m k (units : list (unit * bool)) t :
  Forall (fun v : unit * bool => if snd v then 0 <= reads (fst v) t else reads (fst v) t <= 0) units ->
  let on := filter snd units in
  piecewise m k (map fst units) t =
    (m + total (map (fun v => gain (fst v) * slope (fst v)) on)) * t
    + (k + total (map (fun v => gain (fst v) * offset (fst v)) on)).
Proof.
  intros F on. unfold piecewise, on. rewrite map_map.
  induction F as [|[v b] l H F IH]; [unfold total; simpl; ring|]. simpl filter. simpl map. simpl in H.
  rewrite total_cons. destruct b; simpl map; unfold adds at 1.
  - rewrite !total_cons, relu_pos by auto. simpl. unfold reads. lra.
  - rewrite relu_neg by auto. lra.
Qed.

(** Among the numbers of a list there is one nearest to [t] from below, if there is one below at all. *)
Lemma nearest_below l t : Exists (fun p => p <= t) l -> exists p, In p l /\ p <= t /\ Forall (fun q => q <= t -> q <= p) l.
Proof.
  induction l as [|a l IH]; intros E; [inversion E|].
  destruct (Exists_dec (fun p => p <= t) l (fun p => Rle_dec p t)) as [L|L].
  - destruct (IH L) as (p & I & P & F). destruct (Rle_dec a t) as [A|A].
    + destruct (Rle_dec a p) as [B|B].
      * exists p. repeat split; simpl; auto.
      * exists a. repeat split; simpl; auto. constructor; [lra|]. eapply Forall_impl; [|apply F]. simpl. intros q Hq X.
        specialize (Hq X). lra.
    + exists p. repeat split; simpl; auto. constructor; auto. intros. contradiction.
  - exists a. inversion E as [? ? A|]; subst; [|contradiction]. repeat split; simpl; auto. constructor; [lra|].
    apply Forall_forall. intros q I X. exfalso. apply L. apply Exists_exists. eauto.
Qed.

Lemma nearest_above l t : Exists (fun p => t <= p) l -> exists p, In p l /\ t <= p /\ Forall (fun q => t <= q -> p <= q) l.
Proof.
  intros E. destruct (nearest_below (map Ropp l) (- t)) as (p & I & P & F).
  - apply Exists_exists in E as (q & I & Q). apply Exists_exists. exists (- q). split; [now apply in_map | lra].
  - apply in_map_iff in I as (q & <- & I). exists q. repeat split; auto; [lra|]. apply Forall_forall. intros r Ir R.
    rewrite Forall_forall in F. specialize (F (- r) (in_map Ropp l r Ir)). lra.
Qed.

Definition kink (v : unit) : R := - offset v / slope v.

Lemma at_kink v : slope v <> 0 -> reads v (kink v) = 0.
Proof. intros H. unfold reads, kink. field. auto. Qed.

(** On [lo, hi] a piecewise linear function of [t] is largest at an end, or at a kink between them; it is smallest at one
    too. *)
Theorem extremes m k units lo hi t : lo <= t <= hi ->
  let places := lo :: hi :: filter (fun p => if Rle_dec lo p then if Rle_dec p hi then true else false else false)
                              (map kink (filter (fun v => if Req_EM_T (slope v) 0 then false else true) units)) in
  let f := piecewise m k units in
  exists p r, In p places /\ In r places /\ lo <= p <= hi /\ lo <= r <= hi /\ Rmin (f p) (f r) <= f t <= Rmax (f p) (f r).
Proof.
  intros T places f.
  assert (Range : forall p, In p places -> lo <= p <= hi).
  { intros p [<-|[<-|I]]; [lra | lra|]. apply filter_In in I as [_ I].
    destruct (Rle_dec lo p); [|discriminate]. destruct (Rle_dec p hi); [lra | discriminate]. }
  destruct (nearest_below places t) as (p & Ip & Pt & Fp); [left; lra|].
  destruct (nearest_above places t) as (r & Ir & Rt & Fr); [right; left; lra|].
  exists p, r. repeat (split; [auto; apply Range; auto|]).
  rewrite Forall_forall in Fp, Fr.
  destruct (Req_dec p r) as [E|E].
  { replace t with p by lra. rewrite <- E. unfold Rmin, Rmax. destruct (Rle_dec (f p) (f p)); lra. }
  assert (PR : p < r) by lra.
  (* No unit changes its sign between p and r, so f is affine there. *)
  assert (U : Forall (fun v => (r - p) * adds v t = (r - t) * adds v p + (t - p) * adds v r) units).
  { apply Forall_forall. intros v Iv. unfold adds.
    assert (S : (0 <= reads v p /\ 0 <= reads v r) \/ (reads v p <= 0 /\ reads v r <= 0)).
    { destruct (Rle_dec 0 (reads v p)) as [A|A], (Rle_dec 0 (reads v r)) as [B|B]; try (left; lra); try (right; lra).
      all: destruct (Rle_dec (reads v p) 0) as [A'|A'], (Rle_dec (reads v r) 0) as [B'|B']; try (right; lra); exfalso.
      all: assert (Z : slope v <> 0) by (intros Z; unfold reads in *; rewrite Z in *; lra).
      all: assert (K := at_kink v Z).
      all: assert (PK : p < kink v < r) by (unfold reads in *; destruct (Rtotal_order (slope v) 0) as [W|[W|W]]; [split; nra | contradiction | split; nra]).
      all: assert (IK : In (kink v) places) by
        (right; right; apply filter_In; split;
         [apply in_map, filter_In; split; auto; destruct (Req_EM_T (slope v) 0); [contradiction | reflexivity]
         | assert (RP := Range _ Ip); assert (RR := Range _ Ir);
           destruct (Rle_dec lo (kink v)); [|lra]; destruct (Rle_dec (kink v) hi); [reflexivity | lra]]).
      all: destruct (Rle_dec (kink v) t) as [Q|Q]; [specialize (Fp _ IK Q); lra|].
      all: assert (Q' : t <= kink v) by lra; specialize (Fr _ IK Q'); lra. }
    assert (L : (r - p) * reads v t = (r - t) * reads v p + (t - p) * reads v r) by (unfold reads; ring).
    destruct S as [[A B]|[A B]].
    - assert (0 <= reads v t) by (assert (0 <= (r - p) * reads v t) by (rewrite L; nra); nra).
      rewrite !relu_pos by auto.
      replace ((r - p) * (gain v * reads v t)) with (gain v * ((r - p) * reads v t)) by ring. rewrite L. ring.
    - assert (reads v t <= 0) by (assert ((r - p) * reads v t <= 0) by (rewrite L; nra); nra).
      rewrite !relu_neg by auto. ring. }
  assert (FT : (r - p) * f t = (r - t) * f p + (t - p) * f r).
  { unfold f, piecewise.
    assert (X : (r - p) * total (map (fun v => adds v t) units)
                = (r - t) * total (map (fun v => adds v p) units) + (t - p) * total (map (fun v => adds v r) units)).
    { clear - U. induction U as [|v l H U IH]; [unfold total; simpl; ring|]. cbn [map]. rewrite !total_cons. lra. }
    set (a := total (map (fun v => adds v t) units)) in *. set (b := total (map (fun v => adds v p) units)) in *.
    set (c := total (map (fun v => adds v r) units)) in *. lra. }
  assert (Mn := Rmin_l (f p) (f r)). assert (Mn' := Rmin_r (f p) (f r)).
  assert (Mx := Rmax_l (f p) (f r)). assert (Mx' := Rmax_r (f p) (f r)).
  split; apply Rmult_le_reg_l with (r - p); try lra; rewrite FT; nra.
Qed.

(** The ends alone are not enough: two units make the distance from 0. *)
Theorem extremes_need_kinks :
  exists units, let f := piecewise 0 0 units in f 0 < f (-1) /\ f 0 < f 1.
Proof.
  exists [Unit 1 1 0; Unit 1 (-1) 0]. unfold piecewise, adds, reads, total. simpl. unfold relu.
  rewrite (Rmax_left (1 * 0 + 0)), (Rmax_left (-1 * 0 + 0)), (Rmax_right (1 * -1 + 0)), (Rmax_left (-1 * -1 + 0)),
    (Rmax_left (1 * 1 + 0)), (Rmax_right (-1 * 1 + 0)); lra.
Qed.
