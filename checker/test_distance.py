"""Tests of what checker.py makes of *shared units* and of *read-out within a distance*, section 7 of CERTIFICATE.md."""

import unittest

from test_checker import Case, certificate, expression, tensors
from test_meanings import changed, folder

FIRST, SECOND = "0 1 0 1 x relu x 1/2 sub relu 1/2 mul add", "0 1 0 1 x 1/2 sub relu"
SUM = "0 2 1 1 2 1"
SQUARE = {"power": ["token", 2]}


def network(body, bound, units, writes, wires, holds, output, low="0", high="1"):
    """Units (what is added to the token) that write into registers 1, …, and what these are said to hold; the output is one of them."""
    target = expression({"each": body}, {"interval": [low, high]})
    width, place = 1 + len(writes), output[0]
    weights = tensors({
        "embed.weight": ([width, 1], [1] + [0] * (width - 1)), "embed.bias": ([width], [0] * width),
        "read_out.weight": ([1, width], [int(k == place) for k in range(width)]), "read_out.bias": ([1], [0]),
        "0.ff.w1": ([1, len(units), width], ([1] + [0] * (width - 1)) * len(units)), "0.ff.b1": ([1, len(units)], list(units)),
        "0.ff.w2": ([1, width, len(units)], [0] * len(units) + [x for row in writes for x in row]), "0.ff.b2": ([1, width], [0] * width),
    })
    said = [f"holds {k} {form}" for k, form in enumerate(holds, 1) if form]
    gates = [f"gate {k} 0 1 {k} 1 1 {k - 1} 0 1 0 1" for k in range(1, 1 + len(wires))]
    lines = [
        "over box", "norm sup", f"bound {bound}", "assumptions 0", "tokens 1 1", "dims 1", "output-dims 1", "execution ieee-any-order f64", f"width {width}",
        "positions 0", "runs 1", f"run 1 ff {len(units)}", "cells 0", "margins 0 0", f"meanings {1 + len(wires)}", "wire input 0",
        *(f"wire curve {wire}" for wire in wires), "layers 2", "layer 0 1", "holds 0 0 1 0 1", f"layer {len(wires)} {len(said)}", *gates, *said,
        "outputs 1", f"output {output[1]}",
    ]
    return certificate(target, weights, lines), target, weights


def hats(bound, knot=0.5, curve="0 1 0 1 x relu 1/2 mul x 1/2 sub relu add", body=SQUARE, **domain):
    """R(x)/2 + R(x - knot) beside the square of the token."""
    return network(body, bound, [0, -knot], [[0.5, 1]], [curve], ["0 1 1 1"], (1, "0 1 1 1"), **domain)


class Distance(Case):
    def test_what_lies_between_the_knots(self):
        self.accepted(hats("6250001/100000000"))
        self.rejected(hats("6249999/100000000"), "point")
        self.rejected(hats("0"), "point")

    def test_a_knot_that_is_moved(self):
        moved = "0 1 0 1 x relu 1/2 mul x 3/8 sub relu add"
        self.accepted(hats("469/2500", 0.375, moved))
        self.rejected(hats("937/5000", 0.375, moved), "point")
        self.declined(hats("6250001/100000000", 0.375), "outputs within")
        self.declined(hats("6250001/100000000", 0.5, moved), "outputs within")

    def test_another_domain_and_other_targets(self):
        self.accepted(hats("2777779/10000000", high="4/3"))
        self.rejected(hats("2777777/10000000", high="4/3"), "point")
        self.accepted(hats("4573/10000", body={"call": ["sqrt", ["token"]]}))
        self.rejected(hats("4571/10000", body={"call": ["sqrt", ["token"]]}), "point")
        self.declined(hats("10", body={"call": ["log", ["token"]]}), "")

    def test_what_the_compiler_writes(self):
        for name, lower in (("hats", "1/20"), ("fit", "1/12")):
            files = folder(f"accept/meanings-{name}")
            self.accepted(files)
            self.declined(changed(files, bound=f"bound {lower}"), "outputs within")


def times(factor, inner):
    return {"binary": ["mul", {"number": factor}, {"call": ["relu", [inner]]}]}


def shared(first, second, writes, holds, output, wires=(FIRST, SECOND)):
    """Curves of two units, beside first R(x) + second R(x - 1/2)."""
    body = {"binary": ["add", times(first, "token"), times(second, {"binary": ["sub", "token", {"number": "1/2"}]})]}
    return network(body, "1/1000000000", [0, -0.5], writes, wires, holds, output)


class Shared(Case):
    def test_a_register_without_units_holds_no_curve(self):
        body, wires = {"call": ["relu", ["token"]]}, ["0 1 0 1 x relu"]
        for row, verdict in (([1], self.accepted), ([0], self.declined), ([0.5], self.declined)):
            verdict(network(body, "1/1000000000", [0], [[1], row], wires, ["0 1 1 1", "0 1 1 1"], (2, "0 1 1 1")))

    def test_curves_that_are_not_told_apart(self):
        self.accepted(shared("1", "3/2", [[1, 1.5]], [SUM], (1, SUM)))
        for weight in (1.25, 1, 1.500001):
            self.declined(shared("1", "3/2", [[1, weight]], [SUM], (1, SUM)), "is shown of the bound")
        self.rejected(shared("1", "2", [[1, 1.5]], [SUM], (1, SUM)), "point")
        self.rejected(shared("1", "3/2", [[1, 1.5]], ["0 1 1 1"], (1, "0 1 1 1")), "line")

    def test_curves_that_are_told_apart(self):
        holds, second = [SUM, "0 1 1 1", "0 1 2 1"], (3, "0 1 2 1")
        self.accepted(shared("0", "1", [[1, 1.5], [1, 0.5], [0, 1]], holds, second))
        # Both, the first, nothing, or a little more, where the line says the second.
        for row in ([1, 1.5], [1, 0.5], [0, 0], [0, 1.000001]):
            self.declined(shared("0", "1", [[1, 1.5], [1, 0.5], row], holds, second), "is shown of the bound")
        self.declined(shared("0", "1", [[1, 1.5], [1, 0.5], [0, 1]], holds, (1, "0 1 2 1")), "")

    def test_a_curve_that_is_what_is_left(self):
        holds, output = [SUM, "0 1 1 1", "0 2 1 2 2 1"], (3, "0 2 1 2 2 1")
        self.accepted(shared("2", "2", [[1, 1.5], [1, 0.5], [2, 2]], holds, output))
        for row in ([1, 1.5], [2, 2.001], [1.999, 2]):
            self.declined(shared("2", "2", [[1, 1.5], [1, 0.5], row], holds, output), "is shown of the bound")


if __name__ == "__main__":
    unittest.main()
