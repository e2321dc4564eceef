(* The numbers of section 1, and of the function of section 4, each in the one form that it has. *)

let is_digits text = text <> "" && String.for_all (fun c -> '0' <= c && c <= '9') text
let plain text = is_digits text && (text = "0" || text.[0] <> '0')

let count text =
  if plain text && String.length text <= 10 then
    let n = int_of_string text in
    if n < 1 lsl 31 then Some n else None
  else None

let integer text =
  if text <> "" && text.[0] = '-' then
    match count (String.sub text 1 (String.length text - 1)) with Some n when n > 0 -> Some (-n) | _ -> None
  else count text

let longest = 4096

let whole text =
  let bare = if text <> "" && text.[0] = '-' then String.sub text 1 (String.length text - 1) else text in
  if plain bare && String.length bare <= longest && text <> "-0" then Some (Z.of_string text) else None

(* An integer, or a quotient in lowest terms. *)
let rational text =
  match String.split_on_char '/' text with
  | [ num ] -> Option.map (fun n -> (n, Z.one)) (whole num)
  | [ num; den ] -> (
      match (whole num, whole den) with
      | Some n, Some d when Z.gt d Z.one && Z.equal (Z.gcd n d) Z.one -> Some (n, d)
      | _ -> None)
  | _ -> None

(* The same, or a decimal. *)
let exact text =
  match (rational text, String.index_opt text '.') with
  | Some r, _ -> Some r
  | None, None -> None
  | None, Some dot ->
      let bare = if text.[0] = '-' then 1 else 0 in
      let above = String.sub text bare (max 0 (dot - bare)) in
      let below = String.sub text (dot + 1) (String.length text - dot - 1) in
      if String.length text <= longest && is_digits above && is_digits below then
        let n = Z.of_string (above ^ below) and d = Z.pow (Z.of_int 10) (String.length below) in
        let g = Z.gcd n d in
        Some (Z.div (if bare = 1 then Z.neg n else n) g, Z.div d g)
      else None
