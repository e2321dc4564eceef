(* Linked from CERTIFICATE.md#the-rules-in-coq. *)
(** What a head gives depends on what it sees as on a multiset: the heart of *Symmetry*, CERTIFICATE.md, section 6. *)

From Formwright Require Import RulesExecution RulesSums RulesSumsFalse RulesSoftmax.

(** * Symmetry *)

Section Head.
Variables (emin prec : Z) (theta : R).
Context {prec_pos : Prec_gt_0 prec}.
Notation rounded := (rounded emin prec).
Notation sum := (sum emin prec).
Notation weight := (weight emin prec).
Notation exponential := (exponential emin prec theta).
Notation softmax := (softmax emin prec theta).

(** A result of a head that sees keys with these scores and values. *)
Definition head (keys : list (R * R)) (x : R) : Prop :=
  exists p, softmax (map fst keys) p /\ sum (map (fun t => fst t * snd t) (combine p (map snd keys))) x.

(** What a head computes for one key: its score and value, the distance, the exponential, the weight. *)
Record row := Row { score : R; value : R; distance : R; power : R; share : R }.

Definition good (m S : R) (r : row) : Prop :=
  score r <= m /\ rounded (score r - m) (distance r) /\ exponential (distance r) (power r) /\ weight S (power r) (share r).

Definition key (r : row) : R * R := (score r, value r).
Definition product (r : row) : R := share r * value r.

Lemma head_by_rows keys x :
  head keys x <->
  exists m S rows, keys = map key rows /\ In m (map score rows) /\ Forall (good m S) rows /\
    sum (map power rows) S /\ sum (map product rows) x.
Proof.
  split.
  - intros (p & (m & d & e & S & Im & B & D & E & HS & W) & H). exists m, S.
    assert (A : exists rows, keys = map key rows /\ e = map power rows /\ p = map share rows /\ Forall (good m S) rows).
    { clear Im HS H. revert d e p B D E W. induction keys as [|[s v] keys IH]; intros d e p B D E W.
      - inversion D; subst. inversion E; subst. inversion W; subst. exists []. repeat split; auto.
      - inversion D as [|? a ? d' Ha D']; subst. inversion E as [|? b ? e' Hb E']; subst.
        inversion W as [|? c ? p' Hc W']; subst. inversion B as [|? ? Bs B']; subst.
        destruct (IH d' e' p' B' D' E' W') as (rows & -> & -> & -> & G). exists (Row s v a b c :: rows).
        repeat split; auto. constructor; auto. repeat split; auto. }
    destruct A as (rows & -> & -> & -> & G). exists rows.
    assert (Scores : map fst (map key rows) = map score rows) by (rewrite map_map; reflexivity).
    assert (Products : map (fun t => fst t * snd t) (combine (map share rows) (map snd (map key rows))) = map product rows).
    { clear. induction rows as [|r rows IH]; simpl; [auto | now rewrite IH]. }
    rewrite Scores in Im. rewrite Products in H. repeat split; auto.
  - intros (m & S & rows & -> & Im & G & HS & H). exists (map share rows). split.
    + exists m, (map distance rows), (map power rows), S. rewrite map_map. simpl. split; [exact Im|].
      assert (Forall (fun s => s <= m) (map score rows) /\
              Forall2 (fun s d => rounded (s - m) d) (map score rows) (map distance rows) /\
              Forall2 exponential (map distance rows) (map power rows) /\
              Forall2 (weight S) (map power rows) (map share rows)) as (G1 & G2 & G3 & G4).
      { clear Im HS H. induction G as [|r rows (A & B & C & D) G IH]; simpl; [repeat split; auto|].
        destruct IH as (I1 & I2 & I3 & I4). repeat split; constructor; auto. }
      repeat split; auto.
    + replace (map _ (combine _ _)) with (map product rows); auto.
      clear. induction rows as [|r rows IH]; simpl; [auto | now rewrite IH].
Qed.

(** What a head may give depends on what it sees as on a multiset. *)
Theorem head_of_a_multiset keys keys' x : Permutation keys keys' -> head keys x -> head keys' x.
Proof.
  intros P H. apply head_by_rows in H as (m & S & rows & -> & Im & G & HS & H).
  apply Permutation_sym in P. apply Permutation_map_inv in P as (rows' & -> & P).
  apply head_by_rows. exists m, S, rows'. split; auto. split; [|split; [|split]].
  - apply Permutation_in with (map score rows); auto. now apply Permutation_map.
  - now apply Permutation_Forall with rows.
  - apply Sum_order with (map power rows); auto. now apply Permutation_map.
  - apply Sum_order with (map product rows); auto. now apply Permutation_map.
Qed.

End Head.

(** A head that sees other keys, as one with a mask does for other tokens, gives something else. *)
Theorem symmetry_needs_the_same_keys : exists keys keys' x, head (-1074) 53 0 keys x /\ ~ head (-1074) 53 0 keys' x.
Proof.
  assert (N2 : number64 2) by now apply (number64_int 2).
  assert (One : rounded64 1 1) by apply itself, number64_1.
  exists [(0, 1)], [(0, 2)], 1. split.
  - exists [1]. split.
    + exists 0, [0], [1], 1. simpl. repeat split; auto.
      * constructor; [apply Rle_refl | constructor].
      * constructor; auto. replace (0 - 0) with 0 by ring. apply itself, number_0.
      * constructor; [now apply Exp_zero | constructor].
      * now constructor.
      * constructor; auto. apply By_division. now replace (1 / 1) with 1 by field.
    + simpl. constructor. now replace (1 * 1) with 1 by ring.
  - intros (p & W & H).
    assert (U := W). apply (uniform_head (-1074) 53) in U; [|lia| | |].
    + simpl in U. destruct W as (m & d & e & S & _ & _ & D & E & _ & W). apply two_lengths in D, E, W.
      simpl in D. rewrite <- D in E. rewrite <- E in W. destruct p as [|w [|? ?]]; try discriminate W.
      inversion U as [|? ? Hw _]; subst. replace (1 / 1) with 1 in H by field. simpl in H.
      rewrite (fl_id (-1074) 53 1 number64_1) in H. replace (1 / 1) with 1 in H by field.
      rewrite ?(fl_id (-1074) 53 1 number64_1) in H. apply sum_single in H. replace (1 * 2) with 2 in H by ring.
      apply rounded_exact in H; auto; [lra|]. right. rewrite Rabs_pos_eq by lra.
      apply Rle_trans with (bpow radix2 0); [apply bpow_le; lia | simpl; lra].
    + apply (bpow_le radix2 0). lia.
    + simpl. replace (1 / 1) with 1 by field. apply (bpow_le radix2 _ 0). lia.
    + intros s s' [<-|[]] [<-|[]]. reflexivity.
Qed.
