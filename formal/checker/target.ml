(* target.json: section 4. An expression is typed as it is read; one whose values need not be rational is declined. *)

open Verdict

let wrong place = rejected "target" "target.json" place

(* The largest degree in the inputs: beyond, numbers are too long. *)
let degrees = 4096

type read = { dims : int; lets : (string * int) list  (* with the number of each *); irrational : string option ref }

let number_of = function
  | Json.Text text -> (
      match Numbers.exact text with
      | Some (qnum, qden) -> { Proved.qnum; qden }
      | None -> wrong "a text that is not a number")
  | _ -> wrong "a number that is not a text"

let integer_of = function
  | Json.Number text -> ( match Numbers.integer text with Some n -> n | None -> wrong ("no integer: " ^ text))
  | _ -> wrong "an integer is missing"

let count_of value = match integer_of value with n when n >= 0 -> n | _ -> wrong "a count is negative"

let operation = function
  | "add" -> Proved.Add
  | "sub" -> Proved.Sub
  | "mul" -> Proved.Mul
  | "div" -> Proved.Div
  | "mod" -> Proved.Mod
  | name -> wrong ("no operation: " ^ name)

let comparison = function
  | "less" -> Proved.Less
  | "less-equal" -> Proved.LessEqual
  | "greater" -> Proved.Greater
  | "greater-equal" -> Proved.GreaterEqual
  | "equal" -> Proved.Equal
  | "not-equal" -> Proved.NotEqual
  | name -> wrong ("no comparison: " ^ name)

let rec number (r : read) running (e : Json.t) : Proved.expression =
  let of_ = number r running in
  let bound name = match List.assoc_opt name r.lets with Some b -> Peano.of_int b | None -> wrong ("no let before: " ^ name) in
  match e with
  | Text "token" -> Token
  | Text "index" -> Index
  | Text "running" -> if running then Running else wrong "`running` outside an aggregate"
  | Text "length" -> Length
  | Object [ ("number", x) ] -> Number (number_of x)
  | Object [ ("negate", a) ] -> Negate (of_ a)
  | Object [ ("power", List [ a; k ]) ] ->
      let a = of_ a and k = count_of k in
      if k > 4096 then wrong "an exponent above 4096";
      Power (a, Z.of_int k)
  | Object [ ("gather", a) ] -> Gather (of_ a)
  | Object [ ("bound", Text name) ] -> Bound (bound name)
  | Object [ ("gather-bound", List [ Text name; a ]) ] ->
      let b = bound name in
      GatherBound (b, of_ a)
  | Object [ ("coordinate", List [ a; k ]) ] ->
      let a = of_ a and k = count_of k in
      if k >= r.dims then wrong "a coordinate that there is not";
      Coordinate (a, Peano.of_int k)
  | Object [ ("binary", List [ Text f; a; b ]) ] ->
      let f = operation f in
      let a = of_ a in
      Binary (f, a, of_ b)
  | Object [ ("if", List [ c; a; b ]) ] ->
      let c = condition r running c in
      let a = of_ a in
      If (c, a, of_ b)
  | Object [ ("call", List [ Text f; List parts ]) ] -> (
      match (f, List.map of_ parts) with
      | "abs", [ a ] -> Absolute a
      | "relu", [ a ] -> Relu a
      | "floor", [ a ] -> Floor a
      | "min", [ a; b ] -> Min (a, b)
      | "max", [ a; b ] -> Max (a, b)
      | "clamp", [ a; l; h ] -> Clamp (a, l, h)
      | (("exp" | "log" | "sqrt" | "tanh" | "sin" | "cos") as f), [ a ] ->
          r.irrational := Some f;
          a
      | _ -> wrong ("no function of so many arguments: " ^ f))
  | Object [ ("aggregate", List [ Text "count"; c; filter ]) ] ->
      let c = condition r true c in
      Count (c, shown r filter)
  | Object [ ("aggregate", List [ Text f; a; filter ]) ] ->
      let f =
        match f with
        | "sum" -> Proved.Sum
        | "mean" -> Proved.Mean
        | "var" -> Proved.Var
        | "max" -> Proved.Largest
        | "min" -> Proved.Least
        | _ -> wrong ("no aggregate: " ^ f)
      in
      let a = number r true a in
      Aggregate (f, a, shown r filter)
  | Object [ ("sort", (Text "token" | Object [ ("bound", _) ] as a)) ] -> Sort (number r false a)
  | Object [ ("sort", (Object [ ("coordinate", List [ (Text "token" | Object [ ("bound", _) ]); _ ]) ] as a)) ] ->
      Sort (number r false a)
  | Object [ ("table", List [ a; List entries ]) ] ->
      let a = of_ a in
      Table (a, List.map number_of entries)
  | _ -> wrong "no number where one must be"

and shown r = function Json.Null -> Always | filter -> condition r true filter

and condition r running (e : Json.t) : Proved.condition =
  match e with
  | Object [ ("compare", List [ Text f; a; b ]) ] ->
      let f = comparison f in
      let a = number r running a in
      Compare (f, a, number r running b)
  | Object [ ("and", List [ a; b ]) ] ->
      let a = condition r running a in
      And (a, condition r running b)
  | Object [ ("or", List [ a; b ]) ] ->
      let a = condition r running a in
      Or (a, condition r running b)
  | Object [ ("not", a) ] -> Not (condition r running a)
  | _ -> wrong "no condition where one must be"

(* How long numbers grow, and how often something is computed: [(length, steps)] of an expression, from those of lets. *)
let cap = 1_000_000_000
let times a b = if a > 0 && b > cap / a then cap else a * b
let plus a b = min cap (a + b)

let rec cost tokens lets (e : Proved.expression) =
  let of_ = cost tokens lets in
  let both a b =
    let la, sa = of_ a and lb, sb = of_ b in
    (plus la lb, plus 1 (plus sa sb))
  in
  let larger a b =
    let la, sa = of_ a and lb, sb = of_ b in
    (max la lb, plus 1 (plus sa sb))
  in
  let step (l, s) = (l, plus 1 s) in
  match e with
  | Token | Index | Running | Length | Number _ -> (1, 1)
  | Negate a | Gather a | Coordinate (a, _) | Absolute a | Relu a | Floor a -> step (of_ a)
  | Power (a, k) ->
      let l, s = of_ a in
      (times l (max 1 (Z.to_int k)), plus 1 s)
  | Bound b -> (List.nth lets (Peano.to_int b), 1)
  | GatherBound (b, a) -> (List.nth lets (Peano.to_int b), plus 1 (snd (of_ a)))
  | Binary ((Mul | Div | Mod), a, b) -> both a b
  | Binary ((Add | Sub), a, b) | Min (a, b) | Max (a, b) -> larger a b
  | If (c, a, b) ->
      let l, s = larger a b in
      (l, plus s (cost_of_condition tokens lets c))
  | Clamp (a, b, c) ->
      let l, s = larger a b and l', s' = of_ c in
      (max l l', plus s s')
  | Aggregate (f, a, c) ->
      let l, s = of_ a in
      let l = match f with Var -> times l 2 | _ -> l in
      (l, times tokens (plus s (cost_of_condition tokens lets c)))
  | Count (a, c) -> (1, times tokens (plus (cost_of_condition tokens lets a) (cost_of_condition tokens lets c)))
  | Sort a ->
      let l, s = of_ a in
      (l, times tokens (plus tokens s))
  | Table (a, entries) -> (1, plus (List.length entries) (snd (of_ a)))

and cost_of_condition tokens lets = function
  | Always -> 1
  | Compare (_, a, b) ->
      let l, s = cost tokens lets a and l', s' = cost tokens lets b in
      plus (max l l') (plus s s')
  | And (a, b) | Or (a, b) -> plus (cost_of_condition tokens lets a) (cost_of_condition tokens lets b)
  | Not a -> plus 1 (cost_of_condition tokens lets a)

(* Operations for one sequence of so many tokens; declines what has too long numbers. *)
let work (f : Proved.target) dims tokens =
  let check (l, s) = within l degrees "as the degree of the target in its inputs"; (l, s) in
  let lets, steps =
    List.fold_left
      (fun (lets, steps) e ->
        let l, s = check (cost tokens lets e) in
        (lets @ [ l ], plus steps (times dims s)))
      ([], 0) f.lets
  in
  times tokens (List.fold_left (fun steps (e, _) -> plus steps (snd (check (cost tokens lets e)))) steps f.body)

let fields place required optional = function
  | Json.Object entries ->
      List.iter (fun name -> if not (List.mem_assoc name entries) then wrong (place ^ " has no " ^ name)) required;
      List.iter
        (fun (name, _) -> if not (List.mem name required || List.mem name optional) then wrong (place ^ " has an unknown field"))
        entries;
      fun name -> List.assoc_opt name entries
  | _ -> wrong (place ^ " is not an object")

(* The function, the ends of its domain, and what declines functions that are not evaluated, once all else fits. *)
let read data (c : Certificate.t) =
  within (String.length data) (1 lsl 21) "bytes of target.json";
  let value = match Json.parse data with value -> value | exception Json.Malformed reason -> wrong reason in
  (match value with
  | Object entries -> (
      match List.assoc_opt "kind" entries with
      | Some (Text "table") -> rejected "claim" "over" "the function of a table is over an interval, the claim over integers"
      | Some (Text "expression") -> ()
      | _ -> wrong "no kind of function")
  | _ -> wrong "not a JSON object");
  let field = fields "the object" [ "kind"; "ast" ] [ "name"; "text" ] value in
  let ast = fields "ast" [ "body"; "domain" ] [ "lets" ] (Option.get (field "ast")) in
  let r = { dims = c.dims; lets = []; irrational = ref None } in
  let lets = match ast "lets" with None -> [] | Some (List lets) -> lets | Some _ -> wrong "lets are not a list" in
  let r, bodies =
    List.fold_left
      (fun ((r : read), found) entry ->
        let field = fields "a let" [ "name"; "value" ] [] entry in
        let name = match field "name" with Some (Text name) -> name | _ -> wrong "a let without a name" in
        if List.mem_assoc name r.lets then wrong "two lets of one name";
        let value = number r false (Option.get (field "value")) in
        ({ r with lets = (name, List.length found) :: r.lets }, found @ [ value ]))
      (r, []) lets
  in
  let body, outputs =
    match ast "body" with
    | Some (Object [ ("each", e) ]) ->
        let e = number r false e in
        (List.init c.dims (fun k -> (e, Peano.of_int k)), c.dims)
    | Some (Object [ ("coordinates", List parts) ]) -> (List.map (fun e -> (number r false e, Proved.O)) parts, List.length parts)
    | _ -> wrong "no body"
  in
  let domain =
    match ast "domain" with
    | Some (Object [ ("integers", List [ a; b ]) ]) ->
        let a = integer_of a and b = integer_of b in
        if a >= b then wrong "an empty domain";
        Some (a, b)
    | Some (Object [ ("interval", List [ a; b ]) ]) ->
        let a = number_of a and b = number_of b in
        if Z.geq (Z.mul a.qnum b.qden) (Z.mul b.qnum a.qden) then wrong "an empty domain";
        None
    | _ -> wrong "no domain"
  in
  if outputs <> c.output_dims then
    rejected "claim" "output-dims" (Printf.sprintf "%d, and the target gives %d" c.output_dims outputs);
  let from, before =
    match domain with
    | Some ends -> ends
    | None -> rejected "claim" "over" "the target is over an interval, the claim over integers"
  in
  let function_ = { Proved.lets = bodies; body } in
  let late () = match !(r.irrational) with Some f -> declined (Printf.sprintf "`%s`, whose values are not rational" f) | None -> () in
  (function_, from, before, late)
