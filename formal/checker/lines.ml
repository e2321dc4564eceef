(* The lines of a text, and the words of the line that is being read. *)

open Verdict

type t = { file : string; lines : string array; mutable at : int; mutable left : string list }

let of_string file data = { file; lines = Array.of_list (String.split_on_char '\n' data); at = 0; left = [] }
let line t = if t.at < Array.length t.lines then t.lines.(t.at) else ""
let wrong t wanted = rejected "format" (Printf.sprintf "%s, line %d" t.file (t.at + 1)) ("expected " ^ wanted)
let is_last t = t.at + 1 = Array.length t.lines
let advance t = t.at <- t.at + 1

(* Goes on to the words behind the first one, which must be this. *)
let enter t name =
  match String.split_on_char ' ' (line t) with
  | first :: rest when first = name -> t.left <- rest
  | _ -> wrong t (Printf.sprintf "`%s ...`" name)

let word t =
  match t.left with
  | [] -> wrong t "more words"
  | first :: rest ->
      t.left <- rest;
      first

let read t wanted reader = match reader (word t) with Some value -> value | None -> wrong t wanted
let count t = read t "a count" Numbers.count
let rational t = read t "a rational in lowest terms" Numbers.rational

let below t limit what =
  let n = count t in
  if n < limit then n else wrong t (Printf.sprintf "%s below %d" what limit)

(* The line must end here. *)
let leave t = if t.left = [] then advance t else wrong t "the end of the line"
