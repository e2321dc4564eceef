(** Layers as text, in the form of [formwright inspect DIR --layers], with ' in the place of the quotation mark. *)

From Coq Require Import DecimalString String.
From Formwright Require Import Numbers Transformer.
Local Open Scope string_scope.

Definition json_Z (z : Z) : string := NilZero.string_of_int (Z.to_int z).

Definition json_number (x : Qc) : string :=
  let n := json_Z (Qnum (this x)) in
  "'" ++ (if (QDen (this x) =? 1)%Z then n else n ++ "/" ++ json_Z (QDen (this x))) ++ "'".

Definition json_list {A} (f : A -> string) (l : list A) : string := "[" ++ String.concat "," (map f l) ++ "]".

Definition json_vec : vec -> string := json_list json_number.
Definition json_matrix : matrix -> string := json_list json_vec.

Definition json_line (l : line) : string :=
  "{'slope':" ++ json_number (fst l) ++ ",'intercept':" ++ json_number (snd l) ++ "}".

Definition json_break (at_ : Qc) (closed : bool) : string :=
  "{'at':" ++ json_number at_ ++ ",'belongs':" ++ (if closed then "'left'" else "'right'") ++ "}".

(** ReLU by its name, which is a function of two pieces. *)
Definition is_relu (p : piecewise) : bool :=
  (if Qc_eq_dec (c1 p) (c2 p) then true else false) && (if Qc_eq_dec (fst (above p)) 1 then true else false).

Definition json_piecewise (p : piecewise) : string :=
  if is_relu p then "'relu'"
  else "{'piecewise':{'pieces':" ++ json_list json_line [below p; middle p; above p]
    ++ ",'breaks':[" ++ json_break (c1 p) false ++ "," ++ json_break (c2 p) (closed p) ++ "]}}".

Definition json_head (h : head) : string :=
  "{'q':" ++ json_matrix (WQ h) ++ ",'q_bias':" ++ json_vec (bQ h) ++ ",'k':" ++ json_matrix (WK h)
  ++ ",'v':" ++ json_matrix (WV h) ++ ",'o':" ++ json_matrix (WO h) ++ "}".

Definition json_layer (l : layer) : string :=
  match l with
  | Attention heads => "{'kind':'attention','normaliser':'hardmax','heads':" ++ json_list json_head heads ++ "}"
  | Feed f => "{'kind':'feed-forward','w1':" ++ json_matrix (W1 f) ++ ",'b1':" ++ json_vec (b1 f)
      ++ ",'activations':" ++ json_list (fun _ => json_piecewise (activation f)) (W1 f)
      ++ ",'w2':" ++ json_matrix (W2 f) ++ ",'b2':" ++ json_vec (b2 f) ++ "}"
  end.
