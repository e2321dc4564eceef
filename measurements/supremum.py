"""Twelve continuous functions without a formula, in the supremum norm: writes measurements/supremum.md.

    pip install . scipy && python measurements/supremum.py
"""

import datetime
import itertools
import platform
import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy

import formwright

POINTS = 2_000

# By name: the function of a batch [points, tokens, dims], tokens, dims, by how much its values differ. All change by at
# most the largest change of an input.
CASES = {
    "the larger": (lambda x: x.max(axis=1, keepdims=True) + 0 * x, 2, 1, 1),
    "half the distance": (lambda x: abs(x - x[:, ::-1]) / 2, 2, 1, 1 / 2),
    "sorted": (lambda x: numpy.sort(x, axis=1), 2, 1, 1),
    "half the product": (lambda x: x * x[:, ::-1] / 2, 2, 1, 1 / 2),
    "a tent of the mean": (lambda x: numpy.minimum(x.mean(axis=1), 1 - x.mean(axis=1))[:, None] + 0 * x, 2, 1, 1 / 2),
    "a wave, and a neighbour": (lambda x: numpy.sin(3 * x) / 4 + x[:, ::-1] / 4, 2, 1, 1 / 2),
    "the middle": (lambda x: numpy.median(x, axis=1, keepdims=True) + 0 * x, 3, 1, 1),
    "half the range": (lambda x: (x.max(axis=1, keepdims=True) - x.min(axis=1, keepdims=True)) / 2 + 0 * x, 3, 1, 1 / 2),
    "half the mean square": (lambda x: (x**2).mean(axis=1, keepdims=True) / 2 + 0 * x, 3, 1, 1 / 2),
    "the largest of four": (lambda x: x.max(axis=1, keepdims=True) + 0 * x, 4, 1, 1),
    "the mean of four": (lambda x: x.mean(axis=1, keepdims=True) + 0 * x, 4, 1, 1),
    "across coordinates": (lambda x: numpy.maximum(x[:, :, :1], x[:, ::-1, 1:]), 2, 2, 1),
}


def table(function, tokens, dims, samples):
    """The values at the centres: an array of all cells, of their tokens, of coordinates."""
    centres = (numpy.arange(samples) + 0.5) / samples
    points = numpy.array(list(itertools.product(centres, repeat=tokens * dims))).reshape(-1, tokens, dims)
    values = function(points)
    return values.reshape(*(samples,) * (tokens * dims), tokens, values.shape[2])


def walls(network, tokens, dims):
    """Coordinates at walls of all grids, on the ramps before them, and a margin beside them."""
    cells, copies = network.summary["cells"], 2 * tokens * dims + 1
    ramp, margin = float(Fraction(network.summary["lowering"]["step_ramp"])), 1 / (2 * copies)
    at = [(k - (2 * j + 1) * margin) / cells for k in range(cells + 2) for j in range(copies)]
    near = [w + by / cells for w in at for by in (0, -ramp / 2, -ramp, margin, -margin)]
    return numpy.array([x for x in [*near, 0, 1] if 0 <= x <= 1])


def points(network, tokens, dims):
    """Points of which every coordinate is at a wall, or next to one."""
    random = numpy.random.default_rng(26)
    x = random.choice(walls(network, tokens, dims), (POINTS, tokens, dims))
    return x.astype(network.summary["precision"].replace("f", "float")).astype(float)


def built(given, precision, asked, **options):
    """With the value map of fewer units that is precise enough."""
    options |= {"norm": "sup", "lipschitz": 1, "eps": asked, "precision": precision, "positional": True, "construction": "median"}
    reasons = []
    for values in "one-block", "staircase":
        try:
            return formwright.build(given, values=values, **options)
        except (formwright.Rejected, formwright.Declined) as reason:
            reasons.append(reason)
    raise min(reasons, key=least)


def least(reason):
    """How near a network comes that is not near enough."""
    found = re.search(r"eps='([^']+)'", str(reason))
    return float(found[1]) if found else float("inf")


def checked_by_walls(network, function, tokens, dims):
    """What is certified, and the largest error that is found: no more than that."""
    x, bound = points(network, tokens, dims), network.error["bound"]
    found = abs(network(x) - function(x)).max()
    assert found <= bound, (found, bound)
    return [f"{bound:.3e}", f"{found:.2e}"]


def rows():
    for name, (function, tokens, dims, spread) in CASES.items():
        inputs = tokens * dims
        asked, samples = ("1/100", 128) if inputs == 2 else (f"1/{round(8 / spread)}", 16 if spread == 1 else 32)
        options = {"tokens": tokens, "dims": dims, "trace": False}
        network = built(function, "f64", asked, resolution=samples, **options)
        table_of = built(table(function, tokens, dims, samples), "f64", asked)
        x = points(network, tokens, dims)[:50]
        assert table_of.error["bound"] == network.error["bound"] and (table_of(x) == network(x)).all(), name
        size = network.size
        row = [name, tokens, dims, samples, f"{spread / 2:g}", asked, network.summary["cells"], size["blocks"], f"{size['parameters']:,}"]
        row += checked_by_walls(network, function, tokens, dims)
        try:
            row += checked_by_walls(built(function, "f32", asked, resolution=samples, **options), function, tokens, dims)
        except (formwright.Rejected, formwright.Declined) as reason:
            row += [f"{least(reason):.3e} at best", ""]
        cells = 16 if inputs < 4 else 6
        one = formwright.build(function, norm="l2", lipschitz=1, precision="f64", positional=True, construction="sum-code",
                               resolution=cells, **options)
        row += [cells, one.size["blocks"], f"{one.size['parameters']:,}", f"{one.error['bound']:.2e}"]
        print(row, flush=True)
        yield row


def main():
    warnings.simplefilter("ignore")
    columns = ["function", "n", "d", "samples a side", "best constant", "asked", "cells", "blocks", "parameters", "f64", "found",
               "f32", "found", "L²: cells", "blocks", "parameters", "certified"]
    lines = [f"| {' | '.join(map(str, row))} |" for row in [columns, ["---"] * len(columns), *rows()]]
    text = f"""# Functions without a formula, in the supremum norm

{datetime.date.today()}, {platform.machine()}, two cores, shared. `python measurements/supremum.py` writes this page.

Each function is known by its values at the centres of so many cells a side, and by its Lipschitz constant, 1:
`formwright.build(f, norm="sup", lipschitz=1, trace=False)`, which samples it, and a table of these values give the same
network. Certified is the distance from *every* function with these values and this constant, at every point of
the box. *asked* is 1/100 for two inputs, and a quarter of the error of the best constant for three and four. *found* is
the largest error against the function itself at {POINTS:,} points of which every coordinate is at a wall of a grid, on the
ramp before it, or a margin beside it. All have positions, and values by interpolation, or by a staircase where that is
not precise enough. Single precision says how near it comes, where it does not come as near as asked. The last columns
are one grid, a sum of codes, which is certified in L² and knows nothing of the supremum norm.

""" + "\n".join(lines) + "\n"
    (Path(__file__).parent / "supremum.md").write_text(text)


if __name__ == "__main__":
    main()
