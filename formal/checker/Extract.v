(** The third checker as a program. Numbers are those of Zarith, by the mapping that comes with Coq, and two functions
    more: binary digits, and quotients rounded down, which are 0 where the divisor is. *)

From Formwright Require Import Checker.
From Coq Require Import ZArith Extraction ExtrOcamlBasic ExtrOcamlZBigInt.
From Flocq Require Import Digits.

Extraction Language OCaml.

Extract Constant digits2_pos => "Fast.digits".
Extract Constant Z.div => "Fast.quotient".

Extraction "proved.ml" Checker.check.
