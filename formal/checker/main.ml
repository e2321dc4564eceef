(* The third checker: reads the three files, and asks what is proved. *)

open Verdict

let sequences_limit = 20_000
let work_limit = 4_000_000
let steps_limit = 4_000_000

let read_file dir name limit =
  let path = Filename.concat dir name in
  if (Unix.stat path).st_kind <> Unix.S_REG then raise (Sys_error (path ^ ": not a regular file"));
  let channel = open_in_bin path in
  let length = in_channel_length channel in
  if length > limit then (
    close_in channel;
    if name = "certificate.fwc" then rejected "format" name "longer than 2^24 bytes"
    else declined (Printf.sprintf "%s is longer than the limit of %d bytes" name limit))
  else
    let data = really_input_string channel length in
    close_in channel;
    data

(* That the parts fit each other; then whether it is decided here. *)
let fits (c : Certificate.t) =
  let wrong place reason = rejected "claim" place reason in
  if c.least > c.most then wrong "tokens" "the least number is above the most";
  if c.positions > 0 && not (c.least = c.most && c.most = c.positions) then wrong "positions" "not the number of tokens";
  List.iter
    (fun (r : Certificate.run) ->
      let masks = List.sort_uniq compare r.masks in
      List.iter
        (fun mask ->
          for n = c.least to c.most do
            for t = 0 to n - 1 do
              let sees k = Proved.sees mask (Peano.of_int t) (Peano.of_int k) in
              if not (List.exists sees (List.init n Fun.id)) then wrong "mask" (Printf.sprintf "token %d of %d sees nothing" t n)
            done
          done)
        (if r.hides then masks else []);
      if r.connections <> [] && (c.least <> c.most || r.hides) then
        wrong "connections" "with masks, or with several numbers of tokens")
    c.runs;
  if c.badge <> "certified" then declined ("the badge " ^ c.badge);
  if c.assumptions > 0 then declined "an assumption";
  if c.norm <> [ "sup" ] then declined "a claim over integers in another norm than the supremum"

(* Sequences, and how much is to be done for them at least. *)
let limits (c : Certificate.t) (f : Proved.target) from before =
  let power a b = Z.pow (Z.of_int a) (min b 64)
  and capped z = if Z.fits_int z then min (Z.to_int z) Target.cap else Target.cap in
  let lengths = List.init (c.most - c.least + 1) (fun i -> c.least + i) in
  let count = capped (List.fold_left (fun sum n -> Z.add sum (power (before - from) (c.dims * n))) Z.zero lengths) in
  within count sequences_limit "sequences";
  let weights = List.fold_left (fun sum (_, shape) -> sum + Weights.product shape) 0 (Weights.shapes c) in
  let keys = List.fold_left (fun sum (r : Certificate.run) -> sum + (r.blocks * r.heads * (r.head_size + r.value_size + 4))) 0 c.runs in
  let work = Target.times count (Target.plus (Target.times c.most weights) (Target.times (c.most * c.most) keys)) in
  within work work_limit "multiplications of the network";
  within (Target.times count (Target.work f c.dims c.most)) steps_limit "operations of the target"

let show (d : Proved.dyadic) = Printf.sprintf "%.9g" (Z.to_float d.fnum *. (2. ** Z.to_float d.fexp))

let place x =
  let token t = String.concat " " (List.map Z.to_string t) in
  "at " ^ String.concat "; " (List.map token x)

let at x t k = Printf.sprintf "%s, token %d, coordinate %d" (place x) (Peano.to_int t) (Peano.to_int k)

let rational (r : Proved.q) = if Z.equal r.qden Z.one then Z.to_string r.qnum else Z.to_string r.qnum ^ "/" ^ Z.to_string r.qden

let outputs (y : Proved.value) r bound =
  Printf.sprintf "the output is %s to %s, the target %s, the bound %s" (show y.lo) (show y.hi) (rational r) (rational bound)

(* The claim of a folder, its network and its target. *)
let read dir =
  let certificate = read_file dir "certificate.fwc" Certificate.longest in
  let target = read_file dir "target.json" (1 lsl 21) in
  let model = read_file dir "model.safetensors" (1 lsl 23) in
  let c = Certificate.parse certificate in
  let same name data hash = if Sha256.of_string data <> hash then rejected "hash" name "not the file that the certificate is about" in
  same "target.json" target c.target_hash;
  same "model.safetensors" model c.model_hash;
  (* It has other tensors. *)
  if c.other_attention then declined "attention other than softmax";
  let network = Weights.network model c in
  let function_, from, before, late = Target.read target c in
  fits c;
  late ();
  limits c function_ from before;
  let rational (qnum, qden) = { Proved.qnum; qden } in
  let bound = rational c.bound in
  let claim =
    { Proved.execution = c.format; shortest = Peano.of_int c.least; longest = Peano.of_int c.most; dims = Peano.of_int c.dims;
      integers_from = Z.of_int from; integers_before = Z.of_int before; otherwise = Option.map rational c.otherwise;
      error_bound = bound }
  in
  (claim, network, function_)

let check dir =
  let claim, network, function_ = read dir in
  let bound = claim.error_bound in
  match Proved.check claim network function_ with
  | Accepted -> ()
  | Refuted (x, Off (t, k, y, r)) -> rejected "point" (at x t k) (outputs y r bound)
  | Refuted (x, Overflows) -> rejected "finite" (place x) "a sum overflows"
  | Refuted (x, _) -> rejected "point" (place x) "the target has no value"
  | Undecided (x, Open (t, k, y, r)) -> declined (at x t k ^ ": " ^ outputs y r bound)
  | Undecided (x, _) -> declined (place x ^ ": it is not shown that nothing overflows")

let accepted () = print_endline "accepted: every output is within the bound at every sequence, in every execution"

let state dir =
  let claim, network, function_ = read dir in
  print_endline (Statement.theorem claim network function_)

let () =
  let verdict answer =
    match answer () with
    | () -> ()
    | exception Rejected (obligation, place, reason) ->
        Printf.printf "rejected %s, %s: %s\n" obligation place reason;
        exit 1
    | exception Declined reason ->
        Printf.printf "declined: %s\n" reason;
        exit 2
    | exception ((Sys_error _ | Unix.Unix_error _ | Out_of_memory | Stack_overflow | End_of_file) as error) ->
        Printf.eprintf "error: %s\n" (Printexc.to_string error);
        exit 3
  in
  match Sys.argv with
  | [| _; dir |] -> verdict (fun () -> check dir; accepted ())
  | [| _; "--theorem"; dir |] -> verdict (fun () -> state dir)
  | _ ->
      prerr_endline "usage: third-checker DIR, or third-checker --theorem DIR for a theorem that Coq can check";
      exit 3
