(* What reading may end in, besides a claim. *)

exception Rejected of string * string * string (* the obligation, the place, the reason *)
exception Declined of string

let rejected obligation place reason = raise (Rejected (obligation, place, reason))
let declined reason = raise (Declined reason)

(* Declines what is more than is looked at, before it is. *)
let within found limit what = if found > limit then declined (Printf.sprintf "%d %s, the limit is %d" found what limit)
