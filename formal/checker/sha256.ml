(* SHA-256, FIPS 180-4, in hexadecimal. *)

let primes count =
  let rec go found n =
    if List.length found = count then List.rev found
    else if List.for_all (fun p -> n mod p <> 0) found then go (n :: found) (n + 1)
    else go found (n + 1)
  in
  go [] 2

(* The first 32 binary digits of the fraction of the k-th root of a prime. *)
let fraction k prime =
  let scaled = Z.shift_left (Z.of_int prime) (32 * k) in
  Z.to_int (Z.logand (Z.root scaled k) (Z.of_string "0xffffffff"))

let start = Array.of_list (List.map (fraction 2) (primes 8))
let rounds = Array.of_list (List.map (fraction 3) (primes 64))
let word x = x land 0xffffffff
let turn x k = word ((x lsr k) lor (x lsl (32 - k)))

let of_string text =
  let length = String.length text in
  let zeros = (119 - (length mod 64)) mod 64 in
  let bits = Bytes.create 8 in
  Bytes.set_int64_be bits 0 (Int64.of_int (8 * length));
  let data = Bytes.of_string (text ^ "\x80" ^ String.make zeros '\000' ^ Bytes.to_string bits) in
  let state = Array.copy start in
  let w = Array.make 64 0 in
  for block = 0 to (Bytes.length data / 64) - 1 do
    for t = 0 to 63 do
      w.(t) <-
        (if t < 16 then word (Int32.to_int (Bytes.get_int32_be data ((64 * block) + (4 * t))))
         else
           let a = w.(t - 15) and b = w.(t - 2) in
           let near = turn a 7 lxor turn a 18 lxor (a lsr 3) and far = turn b 17 lxor turn b 19 lxor (b lsr 10) in
           word (w.(t - 16) + near + w.(t - 7) + far))
    done;
    let s = Array.copy state in
    for t = 0 to 63 do
      let e = s.(4) and a = s.(0) in
      let choice = (e land s.(5)) lxor (lnot e land s.(6)) in
      let first = s.(7) + (turn e 6 lxor turn e 11 lxor turn e 25) + word choice + rounds.(t) + w.(t) in
      let most = (a land s.(1)) lxor (a land s.(2)) lxor (s.(1) land s.(2)) in
      let second = (turn a 2 lxor turn a 13 lxor turn a 22) + most in
      Array.blit s 0 s 1 7;
      s.(4) <- word (s.(4) + first);
      s.(0) <- word (first + second)
    done;
    Array.iteri (fun i x -> state.(i) <- word (state.(i) + x)) s
  done;
  String.concat "" (List.map (Printf.sprintf "%08x") (Array.to_list state))
