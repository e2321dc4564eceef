(* A claim as a theorem for Coq, which then runs the checker by itself. *)

let list show l = "[" ^ String.concat "; " (List.map show l) ^ "]"
let z n = "(" ^ Z.to_string n ^ ")%Z"
let nat n = string_of_int (Peano.to_int n) ^ "%nat"
let q (r : Proved.q) = Printf.sprintf "(%s # %s)%%Q" (Z.to_string r.qnum) (Z.to_string r.qden)
let option show = function None -> "None" | Some x -> "(Some " ^ show x ^ ")"
let dyadic (d : Proved.dyadic) = Printf.sprintf "D %s %s" (z d.fnum) (z d.fexp)
let vector = list dyadic
let matrix = list vector

let mask = function
  | Proved.Window (a, b, c, d, first) ->
      Printf.sprintf "(Window %s %s %s %s %b)" (option z a) (option z b) (option z c) (option z d) first
  | Proved.Listed seen -> "(Listed " ^ list (list nat) seen ^ ")"

let head (h : Proved.head) =
  Printf.sprintf "Head %s %s %s %s %s %s" (matrix h.q0) (vector h.q_bias) (matrix h.k) (matrix h.v) (matrix h.o) (mask h.shows)

let layer = function
  | Proved.Attention heads -> "Attention " ^ list head heads
  | Proved.FeedForward (w1, b1, w2, b2) ->
      Printf.sprintf "FeedForward %s %s %s %s" (matrix w1) (vector b1) (matrix w2) (vector b2)

let network (n : Proved.network) =
  Printf.sprintf "Network %s %s %s\n  %s\n  %s %s" (matrix n.embed_weight) (vector n.embed_bias) (matrix n.pos)
    (list layer n.layers) (matrix n.read_out_weight) (vector n.read_out_bias)

let operation = function Proved.Add -> "Add" | Sub -> "Sub" | Mul -> "Mul" | Div -> "Div" | Mod -> "Mod"
let fold = function Proved.Sum -> "Sum" | Mean -> "Mean" | Var -> "Var" | Largest -> "Largest" | Least -> "Least"

let comparison = function
  | Proved.Less -> "Less"
  | LessEqual -> "LessEqual"
  | Greater -> "Greater"
  | GreaterEqual -> "GreaterEqual"
  | Equal -> "Equal"
  | NotEqual -> "NotEqual"

let applied name parts = "(CheckerTarget." ^ String.concat " " (name :: parts) ^ ")"

let rec expression (e : Proved.expression) =
  let call name parts = applied name (List.map expression parts) in
  match e with
  | Token -> applied "Token" []
  | Index -> applied "Index" []
  | Running -> applied "Running" []
  | Length -> applied "Length" []
  | Number x -> applied "Number" [ q x ]
  | Negate a -> call "Negate" [ a ]
  | Power (a, k) -> applied "Power" [ expression a; Z.to_string k ^ "%N" ]
  | Gather a -> call "Gather" [ a ]
  | Bound b -> applied "Bound" [ nat b ]
  | GatherBound (b, a) -> applied "GatherBound" [ nat b; expression a ]
  | Coordinate (a, k) -> applied "Coordinate" [ expression a; nat k ]
  | Binary (f, a, b) -> applied "Binary" [ "CheckerTarget." ^ operation f; expression a; expression b ]
  | If (c, a, b) -> applied "If" [ condition c; expression a; expression b ]
  | Absolute a -> call "Absolute" [ a ]
  | Relu a -> call "Relu" [ a ]
  | Floor a -> call "Floor" [ a ]
  | Min (a, b) -> call "Min" [ a; b ]
  | Max (a, b) -> call "Max" [ a; b ]
  | Clamp (a, l, h) -> call "Clamp" [ a; l; h ]
  | Aggregate (f, a, c) -> applied "Aggregate" [ "CheckerTarget." ^ fold f; expression a; condition c ]
  | Count (a, c) -> applied "Count" [ condition a; condition c ]
  | Sort a -> call "Sort" [ a ]
  | Table (a, entries) -> applied "Table" [ expression a; list q entries ]

and condition = function
  | Always -> applied "Always" []
  | Compare (f, a, b) -> applied "Compare" [ "CheckerTarget." ^ comparison f; expression a; expression b ]
  | And (a, b) -> applied "And" [ condition a; condition b ]
  | Or (a, b) -> applied "Or" [ condition a; condition b ]
  | Not a -> applied "Not" [ condition a ]

let target (f : Proved.target) =
  Printf.sprintf "CheckerTarget.Target %s\n  %s" (list expression f.lets)
    (list (fun (e, k) -> Printf.sprintf "(%s, %s)" (expression e) (nat k)) f.body)

let claim (c : Proved.claim) =
  Printf.sprintf "Claim %s %s %s %s %s %s %s %s" (match c.execution with F32 -> "F32" | F64 -> "F64") (nat c.shortest)
    (nat c.longest) (nat c.dims) (z c.integers_from) (z c.integers_before) (option q c.otherwise) (q c.error_bound)

let theorem c n f =
  String.concat "\n"
    [ "(** A claim that Coq checks by itself. *)"; "";
      "From Formwright Require Import RulesExecution CheckerNetwork CheckerClaim Checker."; "From Formwright Require CheckerTarget.";
      "From Coq Require Import QArith."; ""; "Local Notation D := (Float radix2)."; "";
      "Definition the_network : network := " ^ network n ^ "."; "";
      "Definition the_target : CheckerTarget.target := " ^ target f ^ "."; "";
      "Definition the_claim : claim := " ^ claim c ^ "."; ""; "Theorem it_is_met : met the_claim the_network the_target.";
      "Proof. apply accepted_claims_are_met. vm_cast_no_check (eq_refl Accepted). Qed."; ""; "Print Assumptions it_is_met." ]
