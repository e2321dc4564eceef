(* certificate.fwc: section 1. What is not about integers is declined as soon as that is read. *)

open Verdict

type run = {
  blocks : int;
  heads : int;  (* 0: no attention *)
  head_size : int;
  value_size : int;
  hidden : int;  (* 0: no feed-forward layer *)
  masks : Proved.mask0 list;
  hides : bool;  (* whether some mask is not `* * * * no` *)
  connections : int list list list;  (* layer, token, the tokens that it sees *)
}

type t = {
  target_hash : string;
  model_hash : string;
  badge : string;
  otherwise : (Z.t * Z.t) option;
  norm : string list;
  bound : Z.t * Z.t;
  assumptions : int;
  least : int;
  most : int;
  dims : int;
  output_dims : int;
  format : Proved.format;
  width : int;
  positions : int;
  other_attention : bool;
  runs : run list;
}

let longest = 1 lsl 24
let tokens_limit = 64

(* A kind of attention that only its compiler knows. *)
let is_elsewhere kind =
  let letter c = ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c = '-' in
  String.length kind > 2 && String.starts_with ~prefix:"x-" kind && String.for_all letter kind

(* The class of a host. *)
let is_class kind =
  kind <> "" && String.for_all (fun c -> ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c = '-') kind

let parse data =
  let file = "certificate.fwc" in
  if String.length data > longest then rejected "format" file "longer than 2^24 bytes";
  within (String.length data) (1 lsl 21) "bytes of certificate.fwc";
  if not (String.for_all (fun c -> c = '\n' || (' ' <= c && c <= '~')) data) then
    rejected "format" file "a byte that is neither printable ASCII nor LF";
  let lines = Lines.of_string file data in
  let line () = Lines.line lines in
  let wrong wanted = Lines.wrong lines wanted in
  let advance () = Lines.advance lines in
  let next value = advance (); value in
  let words () = String.split_on_char ' ' (line ()) in
  let or_wrong wanted = function Some value -> value | None -> wrong wanted in
  let size text = match Numbers.count text with Some 0 | None -> None | found -> found in
  (* A line of a name and one value. *)
  let field name read =
    match words () with
    | [ first; word ] when first = name -> next (or_wrong (Printf.sprintf "`%s` and a value" name) (read word))
    | _ -> wrong (Printf.sprintf "`%s` and a value" name)
  in
  let one_of list word = if List.mem word list then Some word else None in
  let hash name =
    let ok text = String.length text = 64 && String.for_all (fun c -> ('0' <= c && c <= '9') || ('a' <= c && c <= 'f')) text in
    match words () with [ "sha256"; file; text ] when file = name && ok text -> next text | _ -> wrong ("`sha256 " ^ name ^ " <hash>`")
  in
  if line () = "formwright-certificate 1" then declined "the certificate is of version 1; rebuild the folder";
  if line () <> "formwright-certificate 2" then wrong "`formwright-certificate 2`";
  advance ();
  (match words () with
  | [ "host"; kind ] when is_class kind -> declined "the certificate of a host (section 10)"
  | _ -> ());
  let target_hash = hash "target.json" in
  let model_hash = hash "model.safetensors" in
  let badge = field "badge" (one_of [ "certified"; "measured"; "exact-on-grid" ]) in
  let otherwise =
    match words () with
    | [ "over"; "integers" ] -> next None
    | [ "over"; "distinct-integers"; r ] -> next (Some (or_wrong "a rational" (Numbers.rational r)))
    | [ "over"; ("box" | "space") ] -> declined "a claim that is not over integers"
    | _ -> wrong "`over` and a kind of claim"
  in
  let norm =
    match words () with
    | [ "norm"; "sup" ] -> next [ "sup" ]
    | [ "norm"; "lp"; p ] -> (
        match Numbers.rational p with Some (n, d) when Z.geq n d -> next [ "lp"; p ] | _ -> wrong "an exponent of at least 1")
    | _ -> wrong "`norm sup` or `norm lp <p>`"
  in
  let nonnegative text = match Numbers.rational text with Some (n, _) as found when Z.sign n >= 0 -> found | _ -> None in
  let bound = field "bound" nonnegative in
  let assumptions = field "assumptions" Numbers.count in
  for _ = 1 to assumptions do
    match words () with
    | "assume" :: (_ :: _ as rest) when not (List.mem "" rest) -> advance ()
    | _ -> wrong "`assume <words>`"
  done;
  let least, most =
    match words () with
    | [ "tokens"; a; b ] -> (
        match (size a, size b) with Some a, Some b -> next (a, b) | _ -> wrong "`tokens <least> <most>`")
    | _ -> wrong "`tokens <least> <most>`"
  in
  let dims = field "dims" size in
  let output_dims = field "output-dims" size in
  let format =
    match words () with
    | [ "execution"; "ieee-any-order"; "f64" ] -> next Proved.F64
    | [ "execution"; "ieee-any-order"; "f32" ] -> next Proved.F32
    | _ -> wrong "`execution ieee-any-order f64` or `f32`"
  in
  let width = field "width" size in
  let positions = field "positions" Numbers.count in
  let runs = field "runs" Numbers.count in
  within runs 100_000 "runs";
  let other_attention = ref false in
  let limit text = if text = "*" then Some None else Option.map (fun n -> Some (Z.of_int n)) (Numbers.integer text) in
  let mask () =
    match words () with
    | [ "mask"; a; b; c; d; (("yes" | "no") as first) ] -> (
        match (limit a, limit b, limit c, limit d) with
        | Some a, Some b, Some c, Some d -> next (Proved.Window (a, b, c, d, first = "yes"))
        | _ -> wrong "`mask <low> <high> <from> <to> <yes|no>`")
    | _ -> wrong "`mask <low> <high> <from> <to> <yes|no>`"
  in
  let sees () =
    let rec ascending = function a :: (b :: _ as rest) -> a < b && ascending rest | _ -> true in
    match words () with
    | "sees" :: (_ :: _ as keys) ->
        let found = List.map (fun key -> or_wrong "a token" (Numbers.count key)) keys in
        if ascending found && List.for_all (fun k -> k < most) found then next found else wrong "tokens, ascending"
    | _ -> wrong "`sees` and tokens"
  in
  let run () =
    let blocks, attention, hidden =
      match words () with
      | [ "run"; blocks; "ff"; hidden ] -> (size blocks, None, size hidden)
      | [ "run"; blocks; "attention"; kind; heads; head_size; value_size; extra ] ->
          (size blocks, Some (kind, heads, head_size, value_size, extra), Some 0)
      | [ "run"; blocks; "attention"; kind; heads; head_size; value_size; extra; "ff"; hidden ] ->
          (size blocks, Some (kind, heads, head_size, value_size, extra), size hidden)
      | _ -> (None, None, None)
    in
    let blocks = or_wrong "a run" blocks and hidden = or_wrong "a run" hidden in
    let heads, head_size, value_size =
      match attention with
      | None -> (0, 0, 0)
      | Some (kind, heads, head_size, value_size, extra) -> (
          if is_elsewhere kind then declined ("attention of the kind " ^ kind);
          if not (List.mem kind [ "softmax"; "average"; "linformer"; "performer" ]) then wrong "a kind of attention";
          if kind <> "softmax" then other_attention := true;
          let some_size = kind <> "average" and some_extra = kind = "linformer" || kind = "performer" in
          match (size heads, Numbers.count head_size, size value_size, Numbers.count extra) with
          | Some heads, Some head_size, Some value_size, Some extra
            when head_size > 0 = some_size && extra > 0 = some_extra -> (heads, head_size, value_size)
          | _ -> wrong "the sizes of a run")
    in
    advance ();
    let masks = List.init heads (fun _ -> mask ()) in
    let connections =
      match words () with
      | [ "connections"; p ] when heads > 0 ->
          let p = next (or_wrong "a count that is not 0" (size p)) in
          within (p * most) 100_000 "lines of connections";
          List.init p (fun _ -> List.init most (fun _ -> sees ()))
      | _ -> []
    in
    let hides = List.exists (fun mask -> mask <> Proved.Window (None, None, None, None, false)) masks in
    { blocks; heads; head_size; value_size; hidden; masks; hides; connections }
  in
  within most tokens_limit "tokens";
  let runs = List.init runs (fun _ -> run ()) in
  ignore (field "cells" Numbers.count);
  (match words () with
  | [ "margins"; a; b ] -> (
      match (nonnegative a, nonnegative b) with
      | Some (a, b), Some (c, d) when Z.leq (Z.add (Z.mul a d) (Z.mul c b)) (Z.mul b d) -> advance ()
      | _ -> wrong "two shares of a cell")
  | _ -> wrong "`margins <rational> <rational>`");
  if List.hd (words ()) = "meanings" then (
    let parts r = (if r.heads > 0 then [ Meanings.Heads (r.heads, r.value_size) ] else [])
                  @ if r.hidden > 0 then [ Meanings.Units r.hidden ] else [] in
    let all = List.map (fun r -> (r.blocks, parts r)) runs in
    let count = List.fold_left (fun sum (blocks, parts) -> sum + (blocks * List.length parts)) 0 all in
    within count 1_000_000 "sub-layers";
    let sublayers = List.concat_map (fun (blocks, parts) -> List.concat (List.init blocks (fun _ -> parts))) all in
    Meanings.skip lines { dims; output_dims; width; positions; sublayers });
  if line () <> "end" then wrong "`end`";
  advance ();
  if not (Lines.is_last lines) || line () <> "" then wrong "nothing behind `end` and its LF";
  { target_hash; model_hash; badge; otherwise; norm; bound; assumptions; least; most; dims; output_dims; format; width;
    positions; other_attention = !other_attention; runs }
