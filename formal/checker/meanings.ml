(* The lines of section 7: read, so that a file that is not of their form is rejected, and then forgotten. The claim is
   decided from the weights alone, so nothing that these lines say is used. *)

open Verdict

(* What of a network the lines may name. *)
type sublayer = Heads of int * int (* heads, values *) | Units of int
type network = { dims : int; output_dims : int; width : int; positions : int; sublayers : sublayer list }

let times n read = for _ = 1 to n do read () done

(* A form over so many wires, which ascend; no factor is 0. *)
let form t wires =
  ignore (Lines.rational t);
  let from = ref 0 in
  times (Lines.count t) (fun () ->
      let wire = Lines.below t wires "a wire" in
      if wire < !from then Lines.wrong t "wires that ascend";
      from := wire + 1;
      if Z.sign (fst (Lines.rational t)) = 0 then Lines.wrong t "a factor other than 0")

(* One rational or more, to the end of the line. *)
let rec rationals t = ignore (Lines.rational t); if t.Lines.left = [] then 1 else 1 + rationals t

(* Another checker may not read a constant of a function that is longer. *)
let constant_digits = 2048

(* A function in postfix notation, to the end of the line: it leaves one number. *)
let curve t =
  let depth = ref 0 in
  while t.Lines.left <> [] do
    let takes =
      match Lines.word t with
      | "x" -> 0
      | "add" | "sub" | "mul" | "div" | "max" | "min" -> 2
      | "negate" | "exp" | "log" | "sqrt" | "tanh" | "sin" | "cos" | "abs" | "relu" -> 1
      | "power" -> ignore (Lines.below t 1001 "an exponent"); 1
      | number -> (
          match Numbers.rational number with
          | Some (n, d) ->
              within (max (Z.numbits n) (Z.numbits d)) constant_digits "binary digits of a curve's number";
              0
          | None -> Lines.wrong t "a word of a function")
    in
    if !depth < takes then Lines.wrong t "arguments before a word of a function";
    depth := !depth - takes + 1
  done;
  if !depth <> 1 then Lines.wrong t "a function that leaves one number"

let mask t =
  let limit text = if text = "*" then Some 0 else Numbers.integer text in
  times 4 (fun () -> ignore (Lines.read t "an integer or *" limit));
  ignore (Lines.read t "yes or no" (function "yes" | "no" -> Some () | _ -> None))

(* A wire, made of those before it. *)
let wire t (n : network) before =
  let form () = form t before in
  match Lines.word t with
  | "input" -> ignore (Lines.below t n.dims "a coordinate")
  | "curve" -> form (); curve t
  | "product" | "gather" | "select" -> form (); form ()
  | "exchange" -> form (); form (); form ()
  | "mean" -> ignore (Lines.rational t); form ()
  | "hub" -> ignore (Lines.count t); ignore (Lines.rational t); form ()
  | "position" ->
      (* The page does not say whether another number of them is a fault of form. *)
      let found = rationals t in
      if found <> n.positions then
        declined (Printf.sprintf "a wire of %d positions, and there are %d" found n.positions)
  | "seen" ->
      mask t;
      ignore (Lines.read t "mean, sum or max" (function "mean" | "sum" | "max" -> Some () | _ -> None));
      ignore (Lines.rational t);
      form ()
  | "attend" -> mask t; form (); times (Lines.count t) (fun () -> form (); form ())
  | "points" -> form (); ignore (Lines.read t "an integer" Numbers.integer); ignore (rationals t)
  | "cases" -> form ()
  | "teeth" ->
      form ();
      form ();
      ignore (Lines.rational t);
      let arguments = Lines.count t in
      (* A product has two at most, and other checkers read fewer than 64 teeth. *)
      within arguments 2 "arguments of a product by teeth";
      times arguments (fun () ->
          form ();
          let teeth = Lines.count t in
          within teeth 63 "teeth of an argument";
          times teeth (fun () -> ignore (Lines.below t before "a wire")))
  | _ -> Lines.wrong t "a kind of wire"

let one_line t name read = Lines.enter t name; read (); Lines.leave t

let number t name =
  Lines.enter t name;
  let n = Lines.count t in
  Lines.leave t;
  n

(* A line of a name and a count that is known. *)
let known t name n =
  Lines.enter t name;
  if Lines.count t <> n then Lines.wrong t (Printf.sprintf "`%s %d`" name n);
  Lines.leave t

(* What a sub-layer makes; the embedding makes nothing. *)
let made t sublayer wires =
  let wire () = ignore (Lines.below t wires "a wire"); form t wires in
  match sublayer with
  | None -> Lines.wrong t "an embedding that makes no wire"
  | Some (Heads (heads, values)) ->
      one_line t "head" (fun () ->
          wire ();
          ignore (Lines.below t heads "a head");
          ignore (Lines.below t values "a value"))
  | Some (Units hidden) ->
      one_line t "gate" (fun () ->
          wire ();
          let arguments = Lines.count t in
          within arguments 2 "arguments of a gate";
          times arguments (fun () -> ignore (Lines.below t hidden "a unit"); form t wires))

let layer t (n : network) wires sublayer =
  Lines.enter t "layer";
  let makes = Lines.count t in
  let holds = Lines.count t in
  if makes > 0 && sublayer = None then Lines.wrong t "an embedding that makes no wire";
  Lines.leave t;
  times makes (fun () -> made t sublayer wires);
  let from = ref 0 in
  times holds (fun () ->
      one_line t "holds" (fun () ->
          let register = Lines.below t n.width "a register" in
          if register < !from then Lines.wrong t "registers that ascend";
          from := register + 1;
          form t wires))

(* Reads the lines from `meanings` to the last `output`. *)
let skip t (n : network) =
  let wires = number t "meanings" in
  for before = 0 to wires - 1 do
    one_line t "wire" (fun () -> wire t n before)
  done;
  known t "layers" (1 + List.length n.sublayers);
  List.iter (layer t n wires) (None :: List.map Option.some n.sublayers);
  known t "outputs" n.output_dims;
  times n.output_dims (fun () -> one_line t "output" (fun () -> form t wires))
