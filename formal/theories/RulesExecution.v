(** The execution [ieee-any-order] of CERTIFICATE.md, section 3: what a sum may come to, and the weights of a head.

    Numbers are real numbers. The format is Flocq's FLT: multiples of [2^emin] with at most [prec] binary digits. There is
    no greatest number; that nothing overflows is an obligation of its own, [finite].

    A *result* is a relation, since an execution is one of many: [sum terms x] says that [x] is one of the numbers that
    the sum of the terms may come to. *)

From Coq Require Export Reals List Permutation ZArith Lia Lra.
From Flocq Require Export Core.
From Flocq Require Import Plus_error Relative.
Export ListNotations.
Open Scope R_scope.

(** * Exact sums *)

Definition total : list R -> R := fold_right Rplus 0.

(** The sum of the sizes. *)
Definition size (s : list R) : R := total (map Rabs s).

(** What the positive terms add up to, and the size of what the negative ones do. *)
Definition above (s : list R) : R := total (map (fun x => Rmax x 0) s).
Definition below (s : list R) : R := total (map (fun x => Rmax (- x) 0) s).

(** [x] is a multiple of [2^q]. *)
Definition multiple (q : Z) (x : R) : Prop := exists n : Z, x = IZR n * bpow radix2 q.

Section Execution.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.

(** * One operation *)

(** The numbers of the format. *)
Definition number (x : R) : Prop := generic_format radix2 (FLT_exp emin prec) x.

(** Rounding to nearest, ties to even. *)
Definition fl (x : R) : R := round radix2 (FLT_exp emin prec) ZnearestE x.

Definition u : R := bpow radix2 (- prec).

(** The least normal number, [2^-1022] in [f64]. *)
Definition least_normal : R := bpow radix2 (emin + prec - 1).

(** A result is rounded, and 0 may stand for one below the normal range. Whether it is below is asked before rounding:
    processors differ, and this allows for both. *)
Inductive rounded (x : R) : R -> Prop :=
| Rounded : rounded x (fl x)
| Flushed : Rabs x < least_normal -> rounded x 0.

(** * Sums *)

(** One or more terms, in any order and association. A term is the exact product of two numbers, or a number (times 1).
    It is rounded first, or else it is fused: it enters an addition as it is, beside a number. *)
Inductive sum : list R -> R -> Prop :=
| Sum_term t x : rounded t x -> sum [t] x
| Sum_add s r x y z : sum s x -> sum r y -> rounded (x + y) z -> sum (s ++ r) z
| Sum_fused t r y z : sum r y -> rounded (t + y) z -> sum (t :: r) z
| Sum_order s r x : Permutation s r -> sum s x -> sum r x.

(** * Softmax *)

(** [exp] of a computed number [d]: off by a factor between [1 - theta] and [1 + theta], perhaps rounded, or flushed. *)
Inductive exponential (theta d : R) : R -> Prop :=
| Exp_zero : d = 0 -> exponential theta d 1
| Exp_near e : d <> 0 -> number e -> Rabs (e - exp d) <= theta * exp d -> exponential theta d e
| Exp_below v e : d <> 0 -> Rabs (v - exp d) <= theta * exp d -> rounded v e -> exponential theta d e.

(** One weight from an exponential [e] and the sum [S] of all: by division, or by the rounded reciprocal. *)
Inductive weight (S e : R) : R -> Prop :=
| By_division p : rounded (e / S) p -> weight S e p
| By_reciprocal r p : rounded (1 / S) r -> rounded (e * r) p -> weight S e p.

(** The weights [p] that a head may give to keys with the computed [scores], of which [m] is the largest. *)
Definition softmax (theta : R) (scores : list R) (p : list R) : Prop :=
  exists m d e S,
    In m scores /\ Forall (fun s => s <= m) scores /\
    Forall2 (fun s d => rounded (s - m) d) scores d /\
    Forall2 (exponential theta) d e /\
    sum e S /\
    Forall2 (weight S) e p.

(** * First facts *)

Lemma fl_number x : number (fl x).
Proof. apply generic_format_round; auto with typeclass_instances. Qed.

Lemma fl_id x : number x -> fl x = x.
Proof. intros H. apply round_generic; auto with typeclass_instances. Qed.

Lemma fl_le x y : x <= y -> fl x <= fl y.
Proof. intros H. apply round_le; auto with typeclass_instances. Qed.

Lemma fl_opp x : fl (- x) = - fl x.
Proof. apply round_NE_opp. Qed.

Lemma fl_0 : fl 0 = 0.
Proof. apply round_0; auto with typeclass_instances. Qed.

Lemma number_0 : number 0.
Proof. apply generic_format_0. Qed.

Lemma number_opp x : number x -> number (- x).
Proof. apply generic_format_opp. Qed.

Lemma rounded_number x y : rounded x y -> number y.
Proof. intros [|_]; [apply fl_number | apply number_0]. Qed.

Lemma rounded_opp x y : rounded x y -> rounded (- x) (- y).
Proof.
  intros [|H].
  - rewrite <- fl_opp. constructor.
  - rewrite Ropp_0. constructor. now rewrite Rabs_Ropp.
Qed.

Lemma sum_number s x : sum s x -> number x.
Proof. induction 1; eauto using rounded_number. Qed.

Lemma sum_not_empty s x : sum s x -> (1 <= length s)%nat.
Proof.
  induction 1; simpl; try lia.
  - rewrite app_length. lia.
  - now rewrite <- (Permutation_length H).
Qed.

Lemma sum_opp s x : sum s x -> sum (map Ropp s) (- x).
Proof.
  induction 1 as [t x H|s r x y z Hx IHx Hy IHy H|t r y z Hy IHy H|s r x P H IH]; simpl.
  - constructor. now apply rounded_opp.
  - rewrite map_app. apply Sum_add with (- x) (- y); auto.
    replace (- x + - y) with (- (x + y)) by ring. now apply rounded_opp.
  - apply Sum_fused with (- y); auto. replace (- t + - y) with (- (t + y)) by ring. now apply rounded_opp.
  - apply Sum_order with (map Ropp s); auto. now apply Permutation_map.
Qed.

Lemma u_pos : 0 < u.
Proof. apply bpow_gt_0. Qed.

Lemma u_half : u <= / 2.
Proof.
  unfold u. change (/ 2) with (bpow radix2 (- (1))). apply bpow_le. unfold Prec_gt_0 in prec_pos. lia.
Qed.

Lemma u_is_u_ro : u_ro radix2 prec = u.
Proof. unfold u_ro, u. rewrite bpow_plus. simpl (bpow radix2 1). lra. Qed.

Lemma least_normal_pos : 0 < least_normal.
Proof. apply bpow_gt_0. Qed.

(** The error of a rounding: relative, and half of the least number. *)
Lemma fl_error x : exists eps eta, Rabs eps <= u / (1 + u) /\ Rabs eta <= u * least_normal /\ fl x = x * (1 + eps) + eta.
Proof.
  destruct (relative_error_N_FLT'_ex radix2 emin prec prec_pos (fun n => negb (Z.even n)) x)
    as (eps & eta & H1 & H2 & _ & H3).
  rewrite u_is_u_ro in H1. exists eps, eta. repeat split; auto.
  replace (u * least_normal) with (/ 2 * bpow radix2 emin); auto.
  unfold u, least_normal. rewrite <- bpow_plus. replace (- prec + (emin + prec - 1))%Z with (emin + -1)%Z by ring.
  rewrite bpow_plus. simpl (bpow radix2 (-1)). lra.
Qed.

(** Adding two numbers loses nothing below the normal range. *)
Lemma fl_add_error x y : number x -> number y ->
  exists eps, Rabs eps <= u / (1 + u) /\ fl (x + y) = (x + y) * (1 + eps).
Proof. intros Hx Hy. rewrite <- u_is_u_ro. apply FLT_plus_error_N_ex; auto. Qed.

Lemma u_over : 0 < u / (1 + u) <= u.
Proof.
  assert (H := u_pos). split; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_le_reg_r with (1 + u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

End Execution.

Arguments sum_not_empty {emin prec} s x.

(** * Facts about exact sums and multiples *)

Lemma total_app a b : total (a ++ b) = total a + total b.
Proof. unfold total. induction a; simpl; lra. Qed.

Lemma total_order a b : Permutation a b -> total a = total b.
Proof. unfold total. induction 1; simpl; lra. Qed.

Lemma size_app a b : size (a ++ b) = size a + size b.
Proof. unfold size. now rewrite map_app, total_app. Qed.

Lemma size_order a b : Permutation a b -> size a = size b.
Proof. intros H. now apply total_order, Permutation_map. Qed.

Lemma above_app a b : above (a ++ b) = above a + above b.
Proof. unfold above. now rewrite map_app, total_app. Qed.

Lemma below_app a b : below (a ++ b) = below a + below b.
Proof. unfold below. now rewrite map_app, total_app. Qed.

Lemma above_order a b : Permutation a b -> above a = above b.
Proof. intros H. now apply total_order, Permutation_map. Qed.

Lemma below_order a b : Permutation a b -> below a = below b.
Proof. intros H. now apply total_order, Permutation_map. Qed.

Lemma total_nonneg s : Forall (fun x => 0 <= x) s -> 0 <= total s.
Proof. induction 1; unfold total in *; simpl; lra. Qed.

Lemma size_nonneg s : 0 <= size s.
Proof. apply total_nonneg. apply Forall_map. apply Forall_forall. intros. apply Rabs_pos. Qed.

Lemma above_nonneg s : 0 <= above s.
Proof. apply total_nonneg. apply Forall_map. apply Forall_forall. intros. apply Rmax_r. Qed.

Lemma below_nonneg s : 0 <= below s.
Proof. apply total_nonneg. apply Forall_map. apply Forall_forall. intros. apply Rmax_r. Qed.

Lemma total_above_below s : total s = above s - below s.
Proof.
  unfold above, below. induction s as [|x s IH]; unfold total in *; simpl; [lra|].
  rewrite IH. unfold Rmax. destruct (Rle_dec x 0), (Rle_dec (- x) 0); lra.
Qed.

Lemma total_size s : Rabs (total s) <= size s.
Proof.
  unfold size. induction s as [|x s IH]; unfold total in *; simpl.
  - rewrite Rabs_R0. lra.
  - eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma multiple_0 q : multiple q 0.
Proof. exists 0%Z. lra. Qed.

Lemma multiple_add q x y : multiple q x -> multiple q y -> multiple q (x + y).
Proof. intros [n ->] [m ->]. exists (n + m)%Z. rewrite plus_IZR. lra. Qed.

Lemma multiple_opp q x : multiple q x -> multiple q (- x).
Proof. intros [n ->]. exists (- n)%Z. rewrite opp_IZR. lra. Qed.

Lemma multiple_total q s : Forall (multiple q) s -> multiple q (total s).
Proof. induction 1; [apply multiple_0 | now apply multiple_add]. Qed.

(** What is a multiple of [2^p] is one of every smaller power. *)
Lemma multiple_le p q x : (q <= p)%Z -> multiple p x -> multiple q x.
Proof.
  intros H [n ->]. exists (n * 2 ^ (p - q))%Z. rewrite mult_IZR.
  rewrite (IZR_Zpower radix2) by lia. rewrite Rmult_assoc, <- bpow_plus. do 2 f_equal. lia.
Qed.

(** A multiple of [2^q] that is not 0 is at least [2^q] in size. *)
Lemma multiple_least q x : multiple q x -> x <> 0 -> bpow radix2 q <= Rabs x.
Proof.
  intros [n ->] H. rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 q)) by apply bpow_ge_0.
  rewrite <- (Rmult_1_l (bpow radix2 q)) at 1. apply Rmult_le_compat_r; [apply bpow_ge_0|].
  rewrite <- abs_IZR. apply (IZR_le 1). assert (n <> 0%Z) by (intros ->; apply H; lra). lia.
Qed.

Section Multiples.
Variables (emin prec : Z).
Context {prec_pos : Prec_gt_0 prec}.
Notation number := (number emin prec).
Notation fl := (fl emin prec).

Lemma multiple_number q x : multiple q x -> Rabs x <= bpow radix2 (q + prec) -> (emin <= q)%Z -> number x.
Proof.
  intros [n ->] H Hq. unfold Prec_gt_0 in prec_pos.
  assert (Hn : (Z.abs n <= 2 ^ prec)%Z).
  { apply le_IZR. rewrite abs_IZR. rewrite (IZR_Zpower radix2) by lia.
    rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 q)), Z.add_comm, bpow_plus in H by apply bpow_ge_0.
    apply Rmult_le_reg_r in H; auto. apply bpow_gt_0. }
  destruct (Z.eq_dec (Z.abs n) (2 ^ prec)) as [E|E].
  - assert (F : generic_format radix2 (FLT_exp emin prec) (IZR (Z.abs n) * bpow radix2 q)).
    { rewrite E, (IZR_Zpower radix2), <- bpow_plus by lia.
      apply generic_format_bpow. unfold FLT_exp. lia. }
    destruct (Z.abs_spec n) as [[_ A]|[_ A]]; rewrite A in F; auto.
    rewrite opp_IZR in F. apply generic_format_opp in F.
    replace (IZR n * bpow radix2 q) with (- (- IZR n * bpow radix2 q)) by ring. apply F.
  - apply generic_format_FLT. exists (Float radix2 n q); auto.
    change (Z.abs n < 2 ^ prec)%Z. lia.
Qed.

(** A number is a multiple of [2^emin]. *)
Lemma number_multiple x : number x -> multiple emin x.
Proof.
  intros H. unfold number, RulesExecution.number, generic_format in H. rewrite H.
  apply multiple_le with (cexp radix2 (FLT_exp emin prec) x).
  - unfold cexp, FLT_exp. lia.
  - eexists. reflexivity.
Qed.

(** Rounding a multiple of [2^q] gives a multiple of [2^q]. *)
Lemma multiple_fl q x : multiple q x -> multiple q (fl x).
Proof.
  intros H. unfold fl, RulesExecution.fl.
  destruct (Z_le_dec q (cexp radix2 (FLT_exp emin prec) x)) as [L|L].
  - apply multiple_le with (cexp radix2 (FLT_exp emin prec) x); auto.
    eexists. unfold round, F2R. simpl. reflexivity.
  - rewrite round_generic; auto with typeclass_instances.
    assert (L' : (cexp radix2 (FLT_exp emin prec) x <= q)%Z) by lia.
    destruct (multiple_le _ _ _ L' H) as [n E].
    apply generic_format_F2R' with (Float radix2 n (cexp radix2 (FLT_exp emin prec) x)); auto.
    intros _. simpl. lia.
Qed.

End Multiples.
