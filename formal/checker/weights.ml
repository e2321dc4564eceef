(* model.safetensors: section 2. *)

open Verdict

let limit = 200_000

let number data at (format : Proved.format) : Proved.dyadic option =
  let bits, fraction, width, bias =
    match format with
    | F64 -> (Z.extract (Z.of_int64 (String.get_int64_le data at)) 0 64, 52, 11, 1075)
    | F32 -> (Z.of_int (Int32.to_int (String.get_int32_le data at) land 0xffffffff), 23, 8, 150)
  in
  let low = Z.extract bits 0 fraction and exponent = Z.to_int (Z.extract bits fraction width) in
  let negative = Z.testbit bits (fraction + width) in
  if exponent = (1 lsl width) - 1 || (exponent = 0 && Z.sign low > 0) then None
  else if exponent = 0 then Some { fnum = Z.zero; fexp = Z.zero }
  else
    let m = Z.add low (Z.shift_left Z.one fraction) and e = exponent - bias in
    (* With an odd mantissa numbers are short. *)
    let zeros = Z.trailing_zeros m in
    let m = Z.shift_right m zeros in
    Some { fnum = (if negative then Z.neg m else m); fexp = Z.of_int (e + zeros) }

let product = List.fold_left (fun a b -> if a > limit then a else a * b) 1

(* The names and shapes that section 2 asks for. *)
let shapes (c : Certificate.t) =
  let first = ref 0 in
  let of_run (r : Certificate.run) =
    let name part = Printf.sprintf "%d.%s" !first part in
    let head part shape = (name ("attn." ^ part), r.blocks :: r.heads :: shape) in
    let attention =
      if r.heads = 0 then []
      else
        [ head "q" [ r.head_size; c.width ]; head "q_bias" [ r.head_size ]; head "k" [ r.head_size; c.width ];
          head "v" [ r.value_size; c.width ]; head "o" [ c.width; r.value_size ] ]
    in
    let forward =
      if r.hidden = 0 then []
      else
        [ (name "ff.w1", [ r.blocks; r.hidden; c.width ]); (name "ff.b1", [ r.blocks; r.hidden ]);
          (name "ff.w2", [ r.blocks; c.width; r.hidden ]); (name "ff.b2", [ r.blocks; c.width ]) ]
    in
    first := !first + r.blocks;
    attention @ forward
  in
  [ ("embed.weight", [ c.width; c.dims ]); ("embed.bias", [ c.width ]) ]
  @ (if c.positions > 0 then [ ("pos", [ c.positions; c.width ]) ] else [])
  @ [ ("read_out.weight", [ c.output_dims; c.width ]); ("read_out.bias", [ c.output_dims ]) ]
  @ List.concat_map of_run c.runs

(* The numbers of each tensor. *)
let read data (c : Certificate.t) =
  let file = "model.safetensors" in
  let wrong place reason = rejected "weights" (file ^ ", " ^ place) reason in
  if String.length data < 8 then wrong "header" "the file is shorter than its header says";
  let length = String.get_int64_le data 0 in
  if Int64.compare length 0L < 0 || Int64.compare length (Int64.of_int (String.length data - 8)) > 0 then
    wrong "header" "the file is shorter than its header says";
  let length = Int64.to_int length in
  within length (1 lsl 21) "bytes of the header";
  let entries =
    match Json.parse (String.sub data 8 length) with
    | Object entries -> entries
    | _ -> wrong "header" "not a JSON object"
    | exception Json.Malformed reason -> wrong "header" reason
  in
  let body = 8 + length in
  let metadata, entries = List.partition (fun (name, _) -> name = "__metadata__") entries in
  List.iter
    (function
      | _, Json.Object texts when List.for_all (function _, Json.Text _ -> true | _ -> false) texts -> ()
      | _ -> wrong "__metadata__" "not an object of texts")
    metadata;
  let wanted = shapes c in
  within (List.fold_left (fun sum (_, shape) -> min (sum + product shape) (limit + 1)) 0 wanted) limit "weights";
  List.iter (fun (name, _) -> if not (List.mem_assoc name entries) then wrong name "missing") wanted;
  List.iter (fun (name, _) -> if not (List.mem_assoc name wanted) then wrong name "not a tensor of the network") entries;
  let bytes, dtype = match c.format with Proved.F64 -> (8, "F64") | Proved.F32 -> (4, "F32") in
  let count = function Json.Number text -> Numbers.count text | _ -> None in
  let span (name, value) =
    let field fields key = match List.assoc_opt key fields with Some found -> found | None -> wrong name ("no " ^ key) in
    match value with
    | Json.Object fields when List.length fields = 3 -> (
        let shape = List.assoc name wanted in
        if field fields "dtype" <> Json.Text dtype then wrong name ("dtype is not " ^ dtype);
        (match field fields "shape" with
        | Json.List sizes when List.map count sizes = List.map Option.some shape -> ()
        | _ -> wrong name "another shape");
        match field fields "data_offsets" with
        | Json.List [ a; b ] -> (
            match (count a, count b) with
            | Some a, Some b when b - a = bytes * product shape -> (a, b, name)
            | _ -> wrong name "data_offsets that do not fit the shape")
        | _ -> wrong name "data_offsets are not two counts")
    | _ -> wrong name "not an object of dtype, shape and data_offsets"
  in
  let spans = List.sort compare (List.map span entries) in
  let last = List.fold_left (fun at (a, b, name) -> if a <> at then wrong name "a gap, or an overlap" else b) 0 spans in
  if body + last <> String.length data then wrong "data" "more or less than the tensors";
  let numbers (a, b, name) =
    let one i =
      match number data (body + a + (bytes * i)) c.format with
      | Some x -> x
      | None -> wrong name "a number that is not finite, or is below the normal range"
    in
    (name, Array.init ((b - a) / bytes) one)
  in
  let tensors = List.map numbers spans in
  fun name -> List.assoc name tensors

let network data (c : Certificate.t) : Proved.network =
  let tensor = read data c in
  let vector t at n = List.init n (fun i -> t.(at + i)) in
  let matrix t at rows columns = List.init rows (fun r -> vector t (at + (r * columns)) columns) in
  let first = ref 0 in
  let of_run (r : Certificate.run) =
    let part name = tensor (Printf.sprintf "%d.%s" !first name) in
    let heads b =
      let q = part "attn.q" and q_bias = part "attn.q_bias" and k = part "attn.k" and v = part "attn.v" and o = part "attn.o" in
      let seen = match r.connections with [] -> None | cycle -> Some (List.nth cycle (b mod List.length cycle)) in
      let head h mask : Proved.head =
        let at = (b * r.heads) + h in
        let keys = at * r.head_size * c.width and values = at * r.value_size * c.width in
        { q0 = matrix q keys r.head_size c.width; q_bias = vector q_bias (at * r.head_size) r.head_size;
          k = matrix k keys r.head_size c.width; v = matrix v values r.value_size c.width;
          o = matrix o values c.width r.value_size;
          shows = (match seen with None -> mask | Some seen -> Proved.Listed (List.map (List.map Peano.of_int) seen)) }
      in
      List.mapi head r.masks
    in
    let block b =
      let attention = if r.heads = 0 then [] else [ Proved.Attention (heads b) ] in
      let forward =
        if r.hidden = 0 then []
        else
          let at = b * r.hidden * c.width in
          [ Proved.FeedForward
              ( matrix (part "ff.w1") at r.hidden c.width, vector (part "ff.b1") (b * r.hidden) r.hidden,
                matrix (part "ff.w2") at c.width r.hidden, vector (part "ff.b2") (b * c.width) c.width ) ]
      in
      attention @ forward
    in
    let layers = List.concat (List.init r.blocks block) in
    first := !first + r.blocks;
    layers
  in
  let layers = List.concat_map of_run c.runs in
  { embed_weight = matrix (tensor "embed.weight") 0 c.width c.dims; embed_bias = vector (tensor "embed.bias") 0 c.width;
    pos = (if c.positions = 0 then [] else matrix (tensor "pos") 0 c.positions c.width); layers;
    read_out_weight = matrix (tensor "read_out.weight") 0 c.output_dims c.width;
    read_out_bias = vector (tensor "read_out.bias") 0 c.output_dims }
