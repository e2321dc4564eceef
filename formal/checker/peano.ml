(* Coq's natural numbers. *)

let of_int n =
  let rec go found n = if n = 0 then found else go (Proved.S found) (n - 1) in
  go Proved.O n

let to_int n =
  let rec go found = function Proved.O -> found | Proved.S n -> go (found + 1) n in
  go 0 n
