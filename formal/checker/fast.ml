(* What Extract.v puts in place of functions of Coq. *)

let digits p = Z.of_int (Z.numbits p)
let quotient a b = if Z.equal b Z.zero then Z.zero else Z.fdiv a b
