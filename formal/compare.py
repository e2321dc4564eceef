#!/usr/bin/env python3
"""Compares the layers that Coq builds with those that formwright builds, number by number.

    formal/build.sh && formal/compare.py path/to/formwright

Coq computes the layers of `theorem2_layers` and `theorem3_layers` for the triples below and prints them. `formwright build`
writes the network of the same target, and `formwright inspect --layers` lists its layers.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(__file__).resolve().parent / "build"

# The stored value of a cell is N times the target at its centre: c + 1/2 for the identity. A table, and what bounds it.
IDENTITY = ("(map (map (fun c => inj c + half)))", "inj {N}")
TIMES_40 = ("(map (map (fun c => inj 40 * (inj c + half))))", "inj 40 * inj {N}")
REVERSE = ("(fun L => rev (map (map (fun c => inj c + half)) L))", "inj {N}")
CENTRED = (
    "(fun L => let mean := sum (map (fun z => inj (hd 0%Z z)) L) / inj {n} in map (map (fun c => inj c - mean)) L)",
    "inj {N}",
)

# n, d, N, theorem, target, table
CASES = [
    (2, 1, 2, 2, "identity", IDENTITY),
    (2, 1, 4, 2, "mean-centring", CENTRED),
    (2, 1, 2, 2, "40*x", TIMES_40),
    (2, 2, 2, 2, "identity", IDENTITY),
    (2, 2, 3, 2, "identity", IDENTITY),
    (2, 3, 2, 2, "5000*x", ("(map (map (fun c => inj 5000 * (inj c + half))))", "inj 5000 * inj {N}")),
    (3, 1, 4, 2, "mean-centring", CENTRED),
    (3, 2, 2, 2, "identity", IDENTITY),
    (4, 1, 5, 2, "identity", IDENTITY),
    (2, 1, 2, 3, "40*x", TIMES_40),
    (2, 1, 4, 3, "reverse", REVERSE),
    (2, 2, 2, 3, "reverse", REVERSE),
    (3, 1, 2, 3, "reverse", REVERSE),
    (3, 1, 3, 3, "identity", IDENTITY),
]


def from_coq(folder, n, d, N, theorem, table):
    """The layers as Coq prints them."""
    values, bound = (text.format(n=n, N=N) for text in table)
    source = f"""From Coq Require Import String.
From Formwright Require Import Numbers Transformer Theorem2 Theorem3 Json.
Open Scope string_scope. Open Scope Qc_scope.
Set Printing Width 1000000. Set Printing Depth 1000000.
Redirect "layers" Eval vm_compute in map json_layer (theorem{theorem}_layers {n} {d} {N} {values} ({bound})).
"""
    (folder / "layers.v").write_text(source)
    subprocess.run(["coqc", "-q", "-Q", BUILD / "theories", "Formwright", "layers.v"], cwd=folder, check=True)
    printed = re.findall(r'"([^"]*)"', (folder / "layers.out").read_text())
    return [json.loads(line.replace("'", '"')) for line in printed]


def from_product(folder, formwright, n, d, N, theorem, target):
    """The layers as formwright lists them."""
    sizes = ["--tokens", str(n), "--dims", str(d), "--resolution", str(N)]
    positional = ["--positional"] if theorem == 3 else []
    build = [formwright, "build", target, *sizes, *positional, "-o", folder / "model"]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    listed = subprocess.run([formwright, "inspect", folder / "model", "--layers"], check=True, stdout=subprocess.PIPE)
    return [json.loads(line)["layer"] for line in listed.stdout.decode().splitlines()]


def main():
    formwright = pathlib.Path(sys.argv[1]).resolve()
    differences = 0
    for n, d, N, theorem, target, table in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            mine = from_coq(folder, n, d, N, theorem, table)
            theirs = from_product(folder, formwright, n, d, N, theorem, target)
        equal = mine == theirs
        differences += not equal
        verdict = "equal" if equal else "DIFFERENT"
        print(f"Theorem {theorem}, n = {n}, d = {d}, N = {N}, {target}: {len(mine)} and {len(theirs)} layers, {verdict}")
    sys.exit(differences > 0)


if __name__ == "__main__":
    main()
