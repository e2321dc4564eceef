(** The lists of contexts: increasing lists for Theorem 2, all lists for Theorem 3, by decreasing key. *)

From Coq Require Import Sorted.
From Formwright Require Import Numbers Transformer Ids.
Local Open Scope Z_scope.

(** The increasing lists of [k] numbers of [[low, low + count)], in lexicographic order. *)
Fixpoint increasing (low : Z) (count k : nat) : list (list Z) :=
  match count, k with
  | _, O => [[]]
  | O, S _ => []
  | S c, S j => map (cons low) (increasing (low + 1) c j) ++ increasing (low + 1) c k
  end.

(** All lists of [k] numbers of [[0, count)], in lexicographic order. *)
Fixpoint tuples (count k : nat) : list (list Z) :=
  match k with
  | O => [[]]
  | S j => flat_map (fun a => map (cons a) (tuples count j)) (range count)
  end.

Fixpoint insert (key : list Z -> Z) (x : list Z) (l : list (list Z)) : list (list Z) :=
  match l with
  | [] => [x]
  | y :: rest => if key y <? key x then x :: l else y :: insert key x rest
  end.

(** The same lists, by decreasing key. *)
Definition descending (key : list Z -> Z) (l : list (list Z)) : list (list Z) := fold_right (insert key) [] l.

Fixpoint binomial (n k : nat) : nat :=
  match n, k with
  | _, O => 1
  | O, S _ => 0
  | S m, S j => binomial m j + binomial m k
  end.

Lemma in_insert key x l s : In s (insert key x l) <-> s = x \/ In s l.
Proof.
  induction l as [|y l IH]; simpl; [intuition congruence|]. destruct (key y <? key x); simpl; [intuition congruence|].
  rewrite IH. intuition congruence.
Qed.

Lemma in_descending key l s : In s (descending key l) <-> In s l.
Proof.
  unfold descending. induction l as [|x l IH]; simpl; [reflexivity|]. rewrite in_insert, IH. intuition congruence.
Qed.

Lemma length_descending key l : length (descending key l) = length l.
Proof.
  assert (A : forall x l, length (insert key x l) = S (length l)).
  { induction l0; simpl; auto. destruct (_ <? _); simpl; auto. }
  unfold descending. induction l; simpl; auto. now rewrite A, IHl.
Qed.

(** The list is in order. *)
Lemma descending_sorted key l : StronglySorted (fun a b => key b <= key a) (descending key l).
Proof.
  unfold descending. induction l as [|x l IH]; simpl; [constructor|]. generalize dependent (fold_right (insert key) [] l).
  induction l0 as [|y l0 J]; intros S; simpl; [repeat constructor|]. inversion S; subst.
  destruct (Z.ltb_spec (key y) (key x)).
  - constructor; auto. constructor; [lia|]. eapply Forall_impl; [|eassumption]. cbv beta. intros. lia.
  - constructor; auto. apply Forall_forall. intros z Z. apply in_insert in Z. destruct Z as [->|Z]; auto.
    rewrite Forall_forall in H2. auto.
Qed.

Lemma in_increasing : forall count low k s, In s (increasing low count k) <->
  length s = k /\ StronglySorted Z.lt s /\ forall l, In l s -> low <= l < low + Z.of_nat count.
Proof.
  induction count as [|c IH]; intros low k s.
  - destruct k; simpl; split.
    + intros [<-|[]]. repeat split; [constructor | easy | easy].
    + intros (L & _). destruct s; auto; easy.
    + easy.
    + intros (L & _ & B). destruct s as [|x s]; [easy|]. specialize (B x (or_introl eq_refl)). lia.
  - destruct k as [|j]; simpl increasing.
    + split; [intros [<-|[]]; repeat split; [constructor | easy | easy]|]. intros (L & _). destruct s; simpl; auto; easy.
    + rewrite in_app_iff, in_map_iff, IH. split.
      * intros [(t & <- & T)|(L & S & B)].
        -- apply IH in T. destruct T as (L & S & B). split; [simpl; lia|]. split.
           ++ constructor; auto. apply Forall_forall. intros x X. specialize (B x X). lia.
           ++ intros l [<-|I]; [lia|]. specialize (B l I). lia.
        -- split; auto. split; auto. intros l I. specialize (B l I). lia.
      * intros (L & S & B). destruct s as [|x s]; [easy|]. inversion S; subst. rewrite Forall_forall in H2.
        pose proof (B x (or_introl eq_refl)) as Bx. destruct (Z.eq_dec x low) as [->|NE].
        -- left. exists s. split; auto. apply IH. split; [simpl in L; lia|]. split; auto.
           intros l I. specialize (H2 l I). specialize (B l (or_intror I)). lia.
        -- right. split; auto. split; auto. intros l [<-|I]; [lia|]. specialize (H2 l I). specialize (B l (or_intror I)). lia.
Qed.

Lemma length_increasing : forall count low k, length (increasing low count k) = binomial count k.
Proof.
  induction count as [|c IH]; intros low [|j]; simpl; auto. now rewrite app_length, map_length, !IH.
Qed.

Lemma in_tuples count : forall k s, In s (tuples count k) <->
  length s = k /\ forall l, In l s -> 0 <= l < Z.of_nat count.
Proof.
  induction k as [|k IH]; intros s; simpl.
  - split; [intros [<-|[]]; easy|]. intros (L & _). destruct s; auto; easy.
  - rewrite in_flat_map. split.
    + intros (a & A & M). apply in_map_iff in M. destruct M as (t & <- & T). apply IH in T. apply in_range in A.
      destruct T as [L B]. split; [simpl; lia|]. intros l [<-|I]; auto.
    + intros (L & B). destruct s as [|x s]; [easy|]. exists x. split; [apply in_range, B; simpl; auto|].
      apply in_map, IH. split; [simpl in L; lia|]. intros l I. apply B. simpl. auto.
Qed.

Lemma length_flat_map {A B} (f : A -> list B) c l : (forall a, In a l -> length (f a) = c) ->
  length (flat_map f l) = (length l * c)%nat.
Proof.
  induction l as [|a l IH]; intros H; simpl; auto. rewrite app_length, H, IH; simpl; auto. intros. apply H. simpl. auto.
Qed.

Lemma length_tuples count : forall k, length (tuples count k) = (count ^ k)%nat.
Proof.
  induction k as [|k IH]; simpl; auto. rewrite (length_flat_map _ (length (tuples count k))).
  - unfold range. now rewrite map_length, seq_length, IH.
  - intros. apply map_length.
Qed.

(** Two sorted lists with the same members are equal. *)
Lemma sorted_permutation : forall a b, StronglySorted Z.lt a -> StronglySorted Z.lt b -> Permutation a b -> a = b.
Proof.
  induction a as [|x a IH]; intros b Sa Sb P; [now apply Permutation_nil in P|].
  destruct b as [|y b]; [now apply Permutation_sym, Permutation_nil in P|].
  inversion Sa; inversion Sb; subst. rewrite Forall_forall in *.
  assert (x = y).
  { assert (X : In x (y :: b)) by (apply (Permutation_in _ P); simpl; auto).
    assert (Y : In y (x :: a)) by (apply (Permutation_in _ (Permutation_sym P)); simpl; auto).
    destruct X as [|X], Y as [|Y]; auto. specialize (H2 y Y). specialize (H6 x X). lia. }
  subst. f_equal. apply IH; auto. eapply Permutation_cons_inv; eauto.
Qed.

(** A permutation, as a list of places. *)
Lemma permutation_places {A} (e : A) X Y : Permutation X Y ->
  exists p, is_permutation (length Y) p /\ X = permute e p Y.
Proof.
  intros P. apply Permutation_sym in P. apply (Permutation_nth Y X e) in P. cbv zeta in P.
  destruct P as (L & g & Bd & Inj & Nth). exists (map g (seq 0 (length Y))). split.
  - unfold is_permutation. apply NoDup_Permutation_bis.
    + assert (H : forall l, NoDup l -> (forall i, In i l -> (i < length Y)%nat) -> NoDup (map g l)).
      { induction l as [|i l IH]; intros ND B; simpl; constructor; inversion ND; subst.
        - intros C. apply in_map_iff in C. destruct C as (j & E & J). apply Inj in E; [subst; easy| |]; apply B; simpl; auto.
        - apply IH; auto. intros. apply B. simpl. auto. }
      apply H; [apply seq_NoDup|]. intros i I. apply in_seq in I. lia.
    + now rewrite map_length.
    + intros j J. apply in_map_iff in J. destruct J as (i & <- & I). apply in_seq in I. apply in_seq.
      specialize (Bd i ltac:(lia)). lia.
  - unfold permute. rewrite map_map. apply (nth_ext _ _ e e); [now rewrite map_length, seq_length|].
    intros i I. rewrite L in I. rewrite (Nth i I).
    transitivity (nth i (map (fun i => nth (g i) Y e) (seq 0 (length Y))) (nth (g O) Y e)).
    + now rewrite (map_nth (fun i => nth (g i) Y e)), seq_nth by lia.
    + apply nth_indep. rewrite map_length, seq_length. lia.
Qed.
