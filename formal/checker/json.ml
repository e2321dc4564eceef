(* JSON, RFC 8259, as section 4 has it: UTF-8, no name twice, no half of a surrogate pair, at most 256 lists and objects
   around a value. Numbers stay texts. *)

type t = Null | Bool of bool | Number of string | Text of string | List of t list | Object of (string * t) list

exception Malformed of string

let deepest = 256
let malformed what = raise (Malformed what)

(* Whether a text is UTF-8: no character is written too long, or is half of a surrogate pair, or above 10FFFF. *)
let utf_8 data =
  let length = String.length data in
  let byte i = if i < length then Char.code data.[i] else 0 in
  let follows i = byte i land 0xc0 = 0x80 in
  let rec valid i =
    if i >= length then true
    else
      let a = byte i and b = byte (i + 1) in
      if a < 0x80 then valid (i + 1)
      else if 0xc2 <= a && a < 0xe0 then follows (i + 1) && valid (i + 2)
      else if 0xe0 <= a && a < 0xf0 then
        follows (i + 1) && follows (i + 2) && (a > 0xe0 || b >= 0xa0) && (a <> 0xed || b < 0xa0) && valid (i + 3)
      else
        0xf0 <= a && a < 0xf5 && follows (i + 1) && follows (i + 2) && follows (i + 3)
        && (a > 0xf0 || b >= 0x90) && (a < 0xf4 || b < 0x90) && valid (i + 4)
  in
  valid 0

let parse data =
  let length = String.length data and at = ref 0 in
  let peek () = if !at < length then data.[!at] else '\000' in
  let skip () = while !at < length && String.contains " \t\n\r" data.[!at] do incr at done in
  let take c = if !at < length && data.[!at] = c then incr at else malformed (Printf.sprintf "`%c` is missing at byte %d" c !at) in
  let word text value =
    let n = String.length text in
    if !at + n <= length && String.sub data !at n = text then (at := !at + n; value)
    else malformed (Printf.sprintf "no value at byte %d" !at)
  in
  let hex () =
    let digit c =
      match c with
      | '0' .. '9' -> Char.code c - 48
      | 'a' .. 'f' -> Char.code c - 87
      | 'A' .. 'F' -> Char.code c - 55
      | _ -> malformed "an escape that is cut off"
    in
    let value = ref 0 in
    for _ = 1 to 4 do
      value := (16 * !value) + digit (peek ());
      incr at
    done;
    !value
  in
  let text () =
    take '"';
    let found = Buffer.create 16 in
    let rec go () =
      if !at >= length then malformed "a text that does not end";
      match data.[!at] with
      | '"' -> incr at
      | '\\' ->
          at := !at + 2;
          (match if !at <= length then data.[!at - 1] else '\000' with
          | ('"' | '\\' | '/') as c -> Buffer.add_char found c
          | 'b' -> Buffer.add_char found '\b'
          | 'f' -> Buffer.add_char found '\012'
          | 'n' -> Buffer.add_char found '\n'
          | 'r' -> Buffer.add_char found '\r'
          | 't' -> Buffer.add_char found '\t'
          | 'u' ->
              let first = hex () in
              if 0xdc00 <= first && first < 0xe000 then malformed "half of a surrogate pair";
              if 0xd800 <= first && first < 0xdc00 then (
                take '\\';
                take 'u';
                let second = hex () in
                if second < 0xdc00 || 0xe000 <= second then malformed "half of a surrogate pair";
                Buffer.add_utf_8_uchar found (Uchar.of_int (0x10000 + ((first - 0xd800) lsl 10) + (second - 0xdc00))))
              else Buffer.add_utf_8_uchar found (Uchar.of_int first)
          | _ -> malformed "an escape that there is not");
          go ()
      | c when c < ' ' -> malformed "a control character in a text"
      | c -> Buffer.add_char found c; incr at; go ()
    in
    go ();
    Buffer.contents found
  in
  let number () =
    let start = !at in
    let digits () =
      let from = !at in
      while '0' <= peek () && peek () <= '9' do incr at done;
      if !at = from then malformed "a number without digits"
    in
    if peek () = '-' then incr at;
    if peek () = '0' then incr at else digits ();
    if peek () = '.' then (incr at; digits ());
    if peek () = 'e' || peek () = 'E' then (
      incr at;
      if peek () = '+' || peek () = '-' then incr at;
      digits ());
    Number (String.sub data start (!at - start))
  in
  (* What stands between a comma and the next, up to `last`. *)
  let rec entries last entry found =
    let found = entry () :: found in
    skip ();
    if peek () = ',' then (incr at; skip (); entries last entry found) else (take last; List.rev found)
  in
  let rec value depth =
    if depth > deepest then malformed (Printf.sprintf "values are nested deeper than %d" deepest);
    skip ();
    match peek () with
    | '{' ->
        incr at; skip ();
        if peek () = '}' then (incr at; Object [])
        else
          let entry () =
            skip ();
            let name = text () in
            skip (); take ':';
            (name, value (depth + 1))
          in
          let found = entries '}' entry [] in
          let names = List.sort_uniq compare (List.map fst found) in
          if List.length names <> List.length found then malformed "a name that comes twice";
          Object found
    | '[' ->
        incr at; skip ();
        if peek () = ']' then (incr at; List []) else List (entries ']' (fun () -> value (depth + 1)) [])
    | '"' -> Text (text ())
    | 't' -> word "true" (Bool true)
    | 'f' -> word "false" (Bool false)
    | 'n' -> word "null" Null
    | _ -> number ()
  in
  if not (utf_8 data) then malformed "bytes that are not UTF-8";
  let found = value 0 in
  skip ();
  if !at < length then malformed (Printf.sprintf "more behind the value, at byte %d" !at);
  found
