"""Folders and what formwright's own evaluators compute for them, to be compared elsewhere with PyTorch.

    python python/tests/parity_make.py target/device/parity

Every family, both precisions, every kind of attention, masks, connections, positions, and a literal network of 4,000 layers. `expected.npz` of a
case holds inputs, outputs `y`, and `stage.NAME`, the residual stream after every stage for the first of them; and, for either, `lower.NAME` and
`upper.NAME`, between which every correct execution stays (`Network.enclosure`; the outputs' name is `output`). `case.json` has what is stated of
rounding, and which stages are exact in any order.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy

import formwright

# All points of a lattice up to so many; else so many random ones.
MOST_POINTS, RANDOM_POINTS = 100_000, 10_000

# Numbers of residual streams that are kept.
TRACED = 100_000

LATTICE = {"norm": "l2", "tokens": 2}
CASES = {
    **{
        f"yun-{precision}": ("x - mean(x)", {**LATTICE, "resolution": 6, "construction": "yun", "precision": precision})
        for precision in ("f32", "f64")
    },
    "yun-positional": ("reverse", {**LATTICE, "resolution": 9, "positional": True, "precision": "f64"}),
    "yun-sparse": (
        "x[n-1-i] / 2 + max(x) / 3",
        {**LATTICE, "tokens": 4, "resolution": 2, "construction": "yun", "precision": "f64", "attention": "sparse:strided:2"},
    ),
    "yun-two-coordinates": ("x - mean(x)", {**LATTICE, "dims": 2, "resolution": 4, "construction": "yun", "precision": "f64"}),
    "yun-packed": ("x * mean(x)", {**LATTICE, "resolution": 9, "positional": True, "precision": "f64", "pack": True}),
    "yun-4000": ("x * mean(x)", {**LATTICE, "resolution": 62, "construction": "yun", "precision": "f64"}),
    **{
        f"{construction}-{attention.replace(':', '-')}-{precision}": (
            "x * mean(x)",
            {**LATTICE, "resolution": 5, "construction": construction, "precision": precision, "attention": attention},
        )
        for construction in ("sum-code", "sumformer-discrete")
        for attention in ("softmax", "average", "linformer:1")
        for precision in ("f32", "f64")
    },
    **{
        f"circuit-{attention.replace(':', '-')}-{precision}": (
            "z-score",
            {"tokens": 8, "precision": precision, "attention": attention, "construction": "circuit"},
        )
        for attention in ("softmax", "average", "linformer:1", "performer:1")
        for precision in ("f32", "f64")
    },
    "circuit-masks": ("moving-average", {"tokens": 6}),
    "circuit-prefix": ("prefix-mean", {"tokens": 6}),
    "circuit-integers": ("sort(x) on integers 0..4", {"tokens": 5}),
    "sumformer": ("x * mean(x)", {"tokens": 6, "construction": "sumformer"}),
}


def points(network: formwright.Network) -> numpy.ndarray:
    """Centres of cells, served ones where only those are; or random points of the box."""
    told = network.summary
    shape, low, high = (told["tokens"], told["dims"]), *(float.fromhex(hex_of(end)) for end in told["box"])
    integers = " on integers " in (told["target"]["expression"] or "")
    if told["resolution"] is None and not integers:
        return numpy.random.default_rng(8).uniform(low, high, (RANDOM_POINTS, *shape))
    cells = told["resolution"] or round(high - low)
    if cells ** (shape[0] * shape[1]) > MOST_POINTS:
        ranks = numpy.random.default_rng(8).integers(0, cells, (RANDOM_POINTS, *shape))
    else:
        ranks = numpy.array(list(itertools.product(range(cells), repeat=shape[0] * shape[1]))).reshape(-1, *shape)
    if told["construction"] == "yun" and not told["positional"]:
        ranks = numpy.array([x for x in ranks if len({tuple(token) for token in x}) == shape[0]])
    return low + (high - low) * (ranks + 0.5) / cells


def hex_of(end: str) -> str:
    """An end of the box, a fraction, as Python reads floats."""
    numerator, _, denominator = end.partition("/")
    return (int(numerator) / int(denominator or 1)).hex()


def rounding(network: formwright.Network) -> float:
    """How far an execution may be from exact arithmetic at these points, in an output: the stated term, taken out of its norm."""
    told = network.summary
    (stated,) = [term["bound"] for term in told["error"]["terms"] if term["name"] == "rounding"]
    # Over the unit box the L^2 norm of a constant r is r · (entries)^(1/2).
    return stated / (told["tokens"] * told["output_dims"]) ** 0.5 if told["error"]["norm"] == "l2" else stated


def main(out: Path) -> None:
    out.mkdir(parents=True)
    for name, (target, options) in CASES.items():
        network = formwright.build(target, out=out / name, check=False, **options)
        x = points(network)
        keep = max(1, min(len(x), TRACED // (x.shape[1] * len(network.coordinates) * (len(network.stages) + 1))))
        kept = {f"stage.{stage}": state for stage, state in network.trace(x[:keep]).items()}
        enclosure = network.enclosure(x)
        for stage, (lower, upper) in enclosure.items():
            rows = slice(None if stage == "output" else keep)
            kept |= {f"lower.{stage}": lower[rows], f"upper.{stage}": upper[rows]}
        numpy.savez_compressed(out / name / "expected.npz", x=x, y=network(x), **kept)
        told = network.summary
        lattice = told["construction"] in ("yun", "sum-code", "sumformer-discrete")
        kind = told["attention"].split(":")[0]
        exact = [stage.name for stage in network.stages][:-1] if lattice and kind in ("softmax", "sparse") else []
        case = {"rounding": rounding(network), "exact": exact, "blocks": network.size["blocks"], "points": len(x), "traced": keep}
        (out / name / "case.json").write_text(json.dumps(case))
        print(name, case, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
