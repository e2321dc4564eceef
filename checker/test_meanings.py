"""Tests of what checker.py makes of section 7 of CERTIFICATE.md. Floats are the numbers of files and references."""

import json
import math
import random
import struct
import unittest
from fractions import Fraction as F
from itertools import pairwise

import checker
import curves
import meanings
from curves import Broken, Budget, Profile, gaps, image_over, read_curve
from normal import Atoms, Target
from test_checker import CORPUS, Case, certificate, expression, rehashed, tensors

NAMES = "certificate.fwc", "target.json", "model.safetensors"


def folder(name):
    return tuple((CORPUS / name / file).read_bytes() for file in NAMES)


MEAN, PRODUCT = folder("accept/meanings-mean"), folder("accept/meanings-product")
ROOM = "bound 1"
NARROW = "bound 1/100"


def numbers(weights):
    """name -> [shape, numbers] of a safetensors file, and its format."""
    length = struct.unpack("<Q", weights[:8])[0]
    header, body, found = json.loads(weights[8 : 8 + length]), weights[8 + length :], {}
    for name, entry in header.items():
        code = "<d" if entry["dtype"] == "F64" else "<f"
        found[name] = [entry["shape"], [x for (x,) in struct.iter_unpack(code, body[slice(*entry["data_offsets"])])]]
    return found, entry["dtype"].lower()


def changed(files, lines=(), weights=None, target=None, bound=None):
    """The files with these lines for those, these numbers (name, place, value), another target; hashed anew."""
    text = files[0].decode()
    for old, new in lines:
        assert old in text, old
        text = text.replace(old, new, 1)
    if bound:
        text = "".join(f"{bound}\n" if line.startswith("bound ") else f"{line}\n" for line in text.splitlines())
    found, form = numbers(files[2])
    for name, place, value in weights or ():
        found[name][1][place] = value
    return rehashed((text.encode(), *files[1:]), target, tensors(found, form))


def ast(body, low="0", high="1", **more):
    return expression({"each": body}, {"interval": [low, high]}, **more)


def of(name, *parts):
    return {"binary": [name, *parts]}


def mean(e):
    return {"aggregate": ["mean", e, None]}


def call(name, *parts):
    return {"call": [name, list(parts)]}


CENTRED = of("sub", "token", mean("token"))


def nothing(e):
    """The target of MEAN, and 0 times another expression."""
    return ast(of("add", CENTRED, of("mul", {"number": "0"}, e)))


TENT = "2 x relu mul 4 x 1/2 sub relu mul sub"


def teeth_network():
    """x² on [-9/10, 9/10] as 1 - T_1 - T_2 / 4, up to 1/16."""
    target = ast({"power": ["token", 2]}, low="-9/10", high="9/10")
    weights = tensors({
        "embed.weight": ([2, 1], [1, 0]), "embed.bias": ([2], [0, 0]), "read_out.weight": ([1, 2], [1, 0]), "read_out.bias": ([1], [1]),
        "0.ff.w1": ([2, 4, 2], [0.5, 0, 0.5, 0, 1, 0, -1, 0, 0, 1, 0, 1, 0, 1, 0, -1]), "0.ff.b1": ([2, 4], [0.5, 0, 0, 0, 0, -0.5, 0, 0]),
        "0.ff.w2": ([2, 2, 4], [-2, 4, -1, 1, 2, -4, 0, 0, -0.5, 1, 0, 0, 2, -4, -1, 1]), "0.ff.b2": ([2, 2], [0, 0, 0, 0]),
    })
    lines = [
        "over box", "norm sup", "bound 1000001/16000000", "assumptions 0", "tokens 1 2", "dims 1", "output-dims 1", "execution ieee-any-order f64", "width 2", "positions 0",
        "runs 1", "run 2 ff 4", "cells 0", "margins 0 0", "meanings 4", "wire input 0", f"wire curve 1/2 1 0 1/2 {TENT}", f"wire curve 0 1 1 1 {TENT}",
        "wire teeth 0 1 0 1 0 1 0 1 1 1 0 1 0 1 2 1 2", "layers 3", "layer 0 1", "holds 0 0 1 0 1", "layer 1 2", "gate 1 0 1 1 1 1 0 1/2 1 0 1/2", "holds 0 0 1 1 -1",
        "holds 1 0 1 1 1", "layer 1 2", "gate 2 0 1 2 1 1 0 0 1 1 1", "holds 0 0 2 1 -1 2 -1/4", "holds 1 0 1 2 1", "outputs 1", "output 0 1 3 1",
    ]
    return certificate(target, weights, lines), target, weights


class Teeth(Case):
    def test_a_square_of_teeth(self):
        files = teeth_network()
        self.accepted(files)
        self.declined(changed(files, bound="bound 1/17"), "is shown of the bound")
        self.declined(changed(files, weights=[("0.ff.b1", 0, 0.625)]), "is shown of the bound")
        self.declined(changed(files, [("0 1 0 1 1 1 0", "0 1 0 1 3/4 1 0"), (f"1/2 1 0 1/2 {TENT}", f"1/2 1 0 2/3 {TENT}"), ("1/2 1 0 1/2\n", "1/2 1 0 2/3\n")],
                              bound=ROOM), "beyond its reach")

    def test_what_are_no_teeth(self):
        teeth = "wire teeth 0 1 0 1 0 1 0 1 1 1 0 1 0 1 2 1 2"
        for old, new in (
            (teeth, teeth.replace(" 2 1 2", " 2 1 1")), (teeth, teeth.replace(" 2 1 2", " 2 2 1")), (teeth, teeth[:-5] + "0"), (teeth, teeth.replace("1 1 1 0", "1 2 1 0")),
            (teeth, teeth.replace("0 1 0 1 0 1 0 1 1 1", "0 1 0 1 0 1 0 1 -1 1")), (teeth, teeth.replace("teeth 0 1 0 1", "teeth 0 1 0 2")),
            (teeth, "wire teeth 0 1 0 1 0 1 0 1 1 0"), (f"0 1 1 1 {TENT}", f"0 1 1 1 {TENT} 2 mul"), ("gate 1", "gate 3"), ("output 0 1 3 1", "output 0 1 2 1"),
        ):
            verdict = checker.check(*changed(teeth_network(), [(old, new)], bound=ROOM))
            self.assertNotEqual(verdict.verdict, "accepted", (old, new))
            self.assertIn(verdict.obligation, ("line",) if "teeth" in new else ("line", ""), (new, verdict))

    def test_what_makes_a_wire_has_it_once(self):
        files = teeth_network()
        for old, new in (("gate 2 0 1 2 1", "gate 2 0 1 2 2"), ("gate 2 0 1 2 1", "gate 2 0 2 1 1/8 2 1"), ("gate 2 0 1 2 1 1 0 0 1 1 1", "gate 2 0 1 2 1 1 0 0 1 1 -1"),
                         ("gate 2 0 1 2 1", "gate 1 0 1 1 1"), ("holds 1 0 1 2 1", "holds 1 0 2 0 1/8 2 1")):
            self.rejected(changed(files, [(old, new)], bound=ROOM), "line")
        # A register has lost all that it gets instead of its multiple of the wire; this one is read no more.
        self.accepted(changed(files, [("holds 1 0 1 2 1", "holds 1 0 2 1 1 2 1")]))
        self.accepted(changed(files, [("gate 2 0 1 2 1 1 0 0", "gate 2 0 1 2 1 1 1 0")]))  # any unit with that row tells what is read


def taken_network(weights=(1, 3), left="-1/2", row=1.0):
    """2|x + 1/2| on [-1, 1], by two units that take x away from the register as well, but for -1/2."""
    target = ast(of("mul", {"number": "2"}, call("abs", of("add", "token", {"number": "1/2"}))), low="-1")
    first, second = (weights if row > 0 else weights[::-1])
    tensor = tensors({
        "embed.weight": ([1, 1], [1]), "embed.bias": ([1], [0]), "read_out.weight": ([1, 1], [1]), "read_out.bias": ([1], [0.5]),
        "0.ff.w1": ([1, 2, 1], [row, -row]), "0.ff.b1": ([1, 2], [row / 2, -row / 2]),
        "0.ff.w2": ([1, 1, 2], [first / abs(row), second / abs(row)]), "0.ff.b2": ([1, 1], [0]),
    })
    lines = [
        "over box", "norm sup", "bound 1/1000000000", "assumptions 0", "tokens 1 2", "dims 1", "output-dims 1", "execution ieee-any-order f64", "width 1", "positions 0",
        "runs 1", "run 1 ff 2", "cells 0", "margins 0 0", "meanings 2", "wire input 0", "wire curve 0 1 0 1 x 1/2 add abs 2 mul", "layers 2", "layer 0 1", "holds 0 0 1 0 1",
        "layer 1 1", "gate 1 0 1 1 1 1 0 0 1 0 1", f"holds 0 {left} 1 1 1", "outputs 1", "output 0 1 1 1",
    ]
    return certificate(target, tensor, lines), target, tensor


class Clearing(Case):
    """Units 2 and 3 of the first layer of teeth: -R(x) and R(-x)."""

    def test_units_that_clear_write_what_they_read(self):
        for weights in ([("0.ff.w1", 4, 2.0)], [("0.ff.w1", 4, 1.0 + 2.0**-40)], [("0.ff.b1", 2, 2.0**-40)], [("0.ff.b1", 3, -1.0)], [("0.ff.w2", 2, -0.5)], [("0.ff.w2", 2, 1.0)], [("0.ff.w2", 3, 1.0 + 2.0**-40)],
                        [("0.ff.w1", 5, 1.0)]):
            self.assertIn(checker.check(*changed(teeth_network(), weights=weights, bound=ROOM)).reason, ("register 0: units that read it alone, and do not clear it", "gets what no gate adds"), weights)
        self.accepted(changed(teeth_network(), weights=[("0.ff.w1", 4, 2.0), ("0.ff.w2", 2, -0.5), ("0.ff.w1", 6, -2.0), ("0.ff.w2", 3, 0.5)]))

    def test_what_one_of_them_leaves_is_lost(self):
        for place in (2, 3):
            self.declined(changed(teeth_network(), weights=[("0.ff.w2", place, 0.0)], bound="bound 1/2"), "is shown of the bound")

    def test_a_register_is_cleared_whole(self):
        self.declined(changed(teeth_network(), weights=[("0.ff.w2", 2, 0.0), ("0.ff.w2", 3, 0.0)], bound="bound 1/2"), "is shown of the bound")
        self.rejected(changed(teeth_network(), [("holds 0 0 1 1 -1", "holds 0 0 2 0 1 1 -1")], bound=ROOM), "line")


    def test_a_gate_takes_away_what_it_reads_but_for_a_number(self):
        self.accepted(taken_network())
        self.accepted(taken_network(row=-2.0))  # by whatever it reads it
        for weights, left in (([2, 2], "-1/2"), ([1.5, 2.5], "-1/2"), ([1, 3], "-3/4"), ([1, 3], "0"), ([1, 3 + 2.0**-20], "-1/2")):
            self.declined(taken_network(weights, left), "is shown of the bound")
        self.accepted(changed(taken_network([1, 3 + 2.0**-20]), bound="bound 1/1000"))
        nobody = [("layer 1 1\ngate 1 0 1 1 1 1 0 0 1 0 1\nholds 0 -1/2 1 1 1", "layer 0 1\nholds 0 -1/2 0")]
        self.declined(changed(taken_network(), nobody, bound=ROOM), "do not clear it")


class Corpus(Case):
    OPEN = "meanings-distance-open"  # where a quotient by a number that may be 0 has a value on no box of this checker's

    def test_verdicts_are_those_of_the_corpus(self):
        found = [place for verdict in ("accept", "reject", "decline") for place in sorted((CORPUS / verdict).glob("meanings-*"))]
        self.assertGreaterEqual(len(found), 13)
        for place in found:
            verdict = checker.check(*((place / name).read_bytes() for name in NAMES))
            wanted = "decline" if place.name == self.OPEN else place.parent.name
            self.assertTrue(verdict.verdict.startswith(wanted), (place.name, verdict))
            if verdict.verdict == "rejected":
                self.assertEqual(verdict.obligation, (place / "why").read_text().split(":")[0], place.name)


class Lines(Case):
    def test_lines_have_one_form(self):
        for old, new in (
            ("meanings 2", "meanings 02"), ("wire input 0", "wire input 1"), ("wire mean 1 0 1 0 1", "wire mean 1 0 1 1 1"),
            ("wire mean 1 0 1 0 1", "wire mean 1 0 1 0 0"), ("wire mean 1 0 1 0 1", "wire mean 1 0 2 0 1 0 1"), ("wire mean 1 0 1 0 1", "wire mean 1 0 1 0"),
            ("wire mean 1 0 1 0 1", "wire mean 1 0 1 0 1 1"), ("wire mean 1 0 1 0 1", "wire mean 2/2 0 1 0 1"), ("layers 2", "layers 3"),
            ("layer 0 1\nholds 0 -1/2", "layer 1 1\nhead 1 -1/2 1 1 1 0 0\nholds 0 -1/2"), ("layer 1 1", "layer 0 2"), ("head 1", "gate 1"), ("1 1 0 0\n", "1 1 1 0\n"),
            ("1 1 0 0\n", "1 1 0 1\n"), ("head 1", "head 2"), ("holds 0 0", "holds 1 0"), ("outputs 1", "outputs 2"), ("output 0 2 0 1 1 -1", "output 0 2 1 -1 0 1"),
        ):
            self.rejected(changed(MEAN, [(old, new)]), "format")

    def test_curves_leave_one_number(self):
        for words in ("x 1", "", "add", "x add", "x 1 power", "x power 1001", "x power 02", "x power -1", "x power", "x floor", "2/4", "x x x mul", "1 x sub sub"):
            with self.assertRaises(ZeroDivisionError):
                read_curve(words.split(), lambda what: ZeroDivisionError(what))
        self.assertEqual(curves.at(read_curve("x 1 sub power 2 negate 3 div x relu add".split(), str), F(-2)), (F(-3), F(-3)))

    def test_what_registers_hold_follows_from_the_weights(self):
        gate = "gate 2 1/4 3 0 -1/2 1 -1/2 2 1 2 0 -1/2 2 0 1/2 1 1/2 6 0 2 0 1/2 1 -1/2"
        for old, new in (
            ("holds 0 0 2 0 1 1 -1", "holds 0 0 2 0 1 1 -1000001/1000000"), ("holds 0 0 2 0 1 1 -1", "holds 0 1/1000000000 2 0 1 1 -1"),
            ("head 1 -1/2 1 1 1 0 0", "head 0 -1/2 1 0 1 0 0"), ("head 1 -1/2 1 1 1 0 0", "head 1 -1/2 1 0 1 0 0"),
            ("holds 0 -1/2 1 0 1", "holds 0 -1/2 2 0 1 1 1"), ("layer 1 1\nhead 1 -1/2 1 1 1 0 0\nholds 0 0 2 0 1 1 -1", "layer 0 0"),
            ("wire mean 1", "wire mean 0"), ("layer 1 1\nhead 1 -1/2 1 1 1 0 0", "layer 2 1\nhead 1 -1/2 1 1 1 0 0\nhead 1 -1/2 1 1 1 0 0"),
        ):
            self.rejected(changed(MEAN, [(old, new)], bound=ROOM), "line")
        for old, new in (
            ("1/2 1 1/2 6 0", "1/2 1 1/4 6 0"), (gate, gate.replace("1/4", "1/5")), (gate, gate.replace("2 1 2 0", "2 2 2 0")), (gate, gate.replace(" 6 0 2", " 0 0 2")),
            ("holds 0 -1/2 1 2 2", "holds 0 -1/4 1 2 2"), ("holds 0 -1/2 1 2 2", "holds 0 -1/2 2 0 1/8 2 2"), ("layer 1 1\n" + gate, "layer 0 1"),
            ("layer 1 1\n" + gate, "layer 2 1\n" + gate + "\n" + gate), ("1 -1/2 2 1 2 0", "1 -1/2 1 2 0"),
        ):
            self.rejected(changed(PRODUCT, [(old, new)], bound=ROOM), "format" if new == "1 -1/2 1 2 0" else "line")

    def test_weights_that_no_line_tells_of(self):
        self.rejected(changed(PRODUCT, weights=[("0.ff.b2", 0, 2.0**-40)], bound=ROOM), "line")
        self.rejected(changed(PRODUCT, weights=[("0.ff.w2", 12, 2.0**-40)], bound=ROOM), "line")
        self.rejected(changed(PRODUCT, weights=[("0.attn.o", 0, 0.0)], bound=ROOM), "line")
        self.rejected(changed(MEAN, weights=[("0.attn.o", 0, 0.0)], bound=ROOM), "line")
        self.rejected(changed(MEAN, weights=[("0.attn.v", 0, 3e38), ("0.attn.o", 0, 3e38)], bound=ROOM), "finite")
        self.rejected(changed(MEAN, weights=[("0.attn.k", 0, 3e38)], target=ast(CENTRED, high="4"), bound=ROOM), "finite")

    def test_other_weights_are_charged(self):
        for name, place in (("embed.weight", 0), ("embed.bias", 0), ("0.attn.v", 0), ("0.attn.o", 0), ("read_out.weight", 0), ("read_out.bias", 0)):
            for off, bound in ((2.0**-20, "bound 1/10000"), (0.25, "bound 2")):
                value = numbers(MEAN[2])[0][name][1][place] + off
                self.accepted(changed(MEAN, weights=[(name, place, value)], bound=bound))
                self.declined(changed(MEAN, weights=[(name, place, value)], bound=f"bound {F(off) / 2}"), "is shown of the bound")


class Scope(Case):
    def test_what_has_no_rule_is_declined(self):
        self.declined(changed(MEAN, weights=[("0.attn.q", 0, 1e-3), ("0.attn.k", 0, 1e-3)]), "scores")
        self.accepted(changed(MEAN, weights=[("0.attn.q", 0, 1.0)]))
        self.declined(changed(MEAN, [("tokens 1 3", "tokens 1 1048577")]), "the limit is 1048576")

    def test_the_target_has_a_value_everywhere(self):
        third = of("sub", "token", {"number": "1/3"})
        for e in (call("log", "token"), call("sqrt", third), of("div", "token", "token"), mean(call("log", "token")), of("div", "token", third)):
            self.declined(changed(MEAN, target=nothing(e)), "value everywhere")
        for e in (call("floor", "token"), of("mod", "token", {"number": "2"}), {"gather": "token"}):
            self.declined(changed(MEAN, target=nothing(e)), "positions do not decide")
            self.declined(changed(MEAN, [("tokens 1 3", "tokens 1 4096")], target=nothing(e)), "no rule")
        self.declined(changed(MEAN, target=nothing({"gather": {"number": "5"}})), "value everywhere")
        for e in ("index", {"aggregate": ["max", "token", None]}, {"gather": {"number": "0"}}, {"sort": "token"}):
            self.accepted(changed(MEAN, target=nothing(e)))
        self.declined(changed(MEAN, target=ast(CENTRED, lets=[{"name": "a", "value": call("log", "token")}])), "value everywhere")
        self.accepted(changed(MEAN, target=nothing(call("exp", "token"))))

    def test_other_targets(self):
        total = {"aggregate": ["sum", "token", None]}
        for body in ("token", of("add", "token", mean("token")), of("sub", "token", of("div", total, {"number": "3"}))):
            self.differs(changed(MEAN, target=ast(body), bound=NARROW))
        self.accepted(changed(MEAN, [("tokens 1 3", "tokens 3 3")], target=ast(of("sub", "token", of("div", total, {"number": "3"})))))

    def test_a_wire_stands_for_one_gate_alone(self):
        gate = "gate 2 1/4 3 0 -1/2 1 -1/2 2 1 2 0 -1/2 2 0 1/2 1 1/2 6 0 2 0 1/2 1 -1/2"
        wire = "wire product 0 1 0 1 0 1 1 1\n"
        twice = [("meanings 3", "meanings 4"), (wire, 2 * wire), ("layer 1 1\n" + gate, "layer 2 1\n" + gate + "\n" + gate.replace("gate 2", "gate 3").replace(" 2 1 2 0", " 3 1 2 0")),
                 ("holds 0 -1/2 1 2 2", "holds 0 0 4 0 -1 1 -1 2 2 3 2")]
        self.declined(changed(PRODUCT, twice, bound="bound 2"), "two gates")

    def test_needles(self):
        """A tent of three units of any width, as high as the bound, in what a gate reads."""
        rng = random.Random(3)
        for _ in range(12):
            found, form = numbers(PRODUCT[2])
            narrow, high, where = rng.choice([1e-6, 1e-4, 1e-2]), rng.choice([0.02, 1.0]), rng.uniform(-0.2, 0.2)
            row = rng.choice([[0.5, 0.0], [0.5, 1.0]])
            (w1, b1, w2) = (found[f"0.ff.{name}"] for name in ("w1", "b1", "w2"))
            w1[:] = [1, 15, 2], w1[1] + 3 * row
            b1[:] = [1, 15], [*b1[1], where + narrow, where, where - narrow]
            w2[:] = [1, 2, 15], w2[1][:12] + [high / narrow * k for k in (1, -2, 1)] + [0.0] * 15
            text = PRODUCT[0].replace(b"ff 12", b"ff 15")
            self.declined(rehashed((text, *PRODUCT[1:]), None, tensors(found, form)), "is shown of the bound")


class Enclosures(unittest.TestCase):
    CURVES = ("x exp", "x 1 add log", "x 1/9 add sqrt", "x 3 mul tanh", "x 9 mul sin", "1 x power 2 1/10 add div", "x 1/3 sub abs x mul", "x relu 2 mul x 1/2 sub relu 4 mul sub",
              "x 1/4 max 3/4 min cos", "x power 3 x sub negate exp")

    def value(self, words, t):
        stack = []
        for word in words.split():
            match word:
                case "x":
                    stack.append(t)
                case "add" | "sub" | "mul" | "div" | "max" | "min":
                    b, a = stack.pop(), stack.pop()
                    stack.append({"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b, "max": lambda: max(a, b), "min": lambda: min(a, b)}[word]())
                case "negate" | "relu" | "abs":
                    a = stack.pop()
                    stack.append({"negate": -a, "relu": max(a, 0.0), "abs": abs(a)}[word])
                case "power":
                    stack.append("power")
                case "exp" | "log" | "sqrt" | "tanh" | "sin" | "cos":
                    stack.append(getattr(math, word)(stack.pop()))
                case _:
                    stack.append(float(F(word)))
                    if stack[-2:-1] == ["power"]:
                        *_, a, _, k = stack
                        stack[-3:] = [a**k]
        return stack[0]

    def test_curves_lie_in_their_enclosures(self):
        rng = random.Random(1)
        for words in self.CURVES:
            steps = read_curve(words.split(), str)
            for _ in range(40):
                a, b = sorted(F(rng.randrange(1001), 1000) for _ in range(2))
                t = a + (b - a) * F(rng.randrange(101), 100)
                lo, hi = image_over(steps, a, b)
                self.assertTrue(lo - F(1, 10**12) <= F(self.value(words, float(t))) <= hi + F(1, 10**12), words)
                exact = curves.at(steps, t)
                self.assertLess(abs(exact[0] - F(self.value(words, float(t)))), F(1, 10**12))
                whole, h = curves.jet(steps, (a, b)), F(1, 10**4)
                if a + h <= t <= b - h and whole.slope and whole.bend:
                    values = [F(self.value(words, float(x))) for x in (t - h, t, t + h)]
                    self.assertTrue(whole.slope[0] - F(1, 10**6) <= (values[2] - values[0]) / (2 * h) <= whole.slope[1] + F(1, 10**6), words)
                    self.assertTrue(whole.bend[0] - F(1, 10**4) <= (values[2] - 2 * values[1] + values[0]) / h**2 <= whole.bend[1] + F(1, 10**4), words)

    def test_gaps_are_enclosed_and_tight(self):
        rng = random.Random(2)
        for words in self.CURVES:
            steps = read_curve(words.split(), str)
            knots = sorted({F(0), *(F(rng.randrange(1, 64), 64) for _ in range(9))})
            units = [(F(rng.randrange(-99, 100), 50), F(rng.choice((1, -1))), F(0), F(0)) for _ in knots]
            units = [(w, s, -s * k, loss) for (w, s, _, loss), k in zip(units, knots, strict=True)]
            broken = Broken(units, F(1, 3), F(rng.randrange(-9, 9), 7), F(-1, 9), F(10, 9))
            found, seen = gaps(Budget(), broken, steps, F(0), F(1), 64), 0.0
            self.assertEqual((found[0].lo, found[-1].hi), (0, 1))
            self.assertTrue(all(a.hi == b.lo for a, b in pairwise(found)))
            for gap in found:
                for k in range(5):
                    t = gap.lo + (gap.hi - gap.lo) * k / 4
                    away = broken(t) - F(self.value(words, float(t)))
                    self.assertTrue(gap.gap[0] - F(1, 10**12) <= away <= gap.gap[1] + F(1, 10**12), words)
                    seen = max(seen, abs(float(away)))
            self.assertLess(max(max(map(abs, gap.gap)) for gap in found), seen * 1.02 + 1e-9, words)

    def test_piecewise_linear_functions(self):
        rng = random.Random(4)
        for _ in range(50):
            units = [(F(rng.randrange(-9, 10)), F(rng.choice((-2, -1, 1, 3))), F(rng.randrange(-6, 7), 2), F(1, 64)) for _ in range(6)]
            broken = Broken(units, F(1, 2), F(-1, 3), F(-3), F(3))
            for _ in range(20):
                t = F(rng.randrange(-96, 97), 32)
                values = [w * max(s * t + o, 0) for w, s, o, _ in units]
                self.assertEqual(broken(t), F(1, 2) - t / 3 + sum(values))
                self.assertEqual(broken.size(t, t), sum(map(abs, values)))
                on, charge = broken.active(t, t)
                self.assertEqual(on, sum(s * t + o >= -F(1, 64) for _, s, o, _ in units))
                self.assertEqual(charge, sum(abs(w) / 64 for w, s, o, _ in units if s * t + o >= -F(1, 64)))
                self.assertTrue(broken.extremes(F(-3), t)[0] <= broken(t) <= broken.extremes(t, F(3))[1])

    def test_profiles(self):
        profile = Profile([(F(0), F(2), F(1)), (F(1), F(3), F(5)), (F(3), F(4), F(2))])
        self.assertEqual([profile.most(F(a), F(b)) for a, b in ((0, F(1, 2)), (0, 1), (F(5, 2), F(5, 2)), (3, 3), (F(7, 2), 4), (-1, 9))], [1, 5, 5, 5, 2, 5])
        corners = profile.concave()
        for (x, y), (z, w) in pairwise(corners):
            for k in range(9):
                t = x + (z - x) * k / 8
                self.assertGreaterEqual(y + (w - y) * k / 8, profile.most(t, t))


class NormalForms(unittest.TestCase):
    def form(self, e, least=3, most=3):
        return self.target.__class__(json.loads(ast(e))["ast"], type("C", (), {"dims": 1, "least": least, "most": most}), (F(1, 9), F(1)), self.atoms).outputs[0]

    def setUp(self):
        self.atoms = Atoms()
        self.target = Target(json.loads(ast("token"))["ast"], type("C", (), {"dims": 1, "least": 3, "most": 3}), (F(1, 9), F(1)), self.atoms)

    def test_equal_expressions(self):
        x, here = "token", {"gather": "index"}
        exponential = call("exp", x)
        total = {"aggregate": ["sum", exponential, None]}
        for one, other in (
            ({"aggregate": ["var", x, None]}, mean({"power": [of("sub", x, mean(x)), 2]})), (mean(of("mul", x, here)), of("mul", x, mean(x))),
            (mean(of("mul", x, mean(x))), {"power": [mean(x), 2]}), ({"aggregate": ["sum", x, None]}, of("mul", "length", mean(x))),
            (of("div", exponential, total), call("exp", of("sub", x, call("log", total)))), (of("div", x, {"number": "3"}), of("mul", {"number": "1/3"}, x)),
            (call("relu", x), call("max", x, {"number": "0"})), (call("clamp", x, {"number": "0"}, {"number": "1"}), call("min", {"number": "1"}, call("max", {"number": "0"}, x))),
        ):
            self.assertEqual(self.form(one), self.form(other))

    def test_other_expressions(self):
        x, here = "token", {"gather": "index"}
        for one, other in (
            (mean(of("mul", x, x)), {"power": [mean(x), 2]}), (mean(call("exp", x)), call("exp", mean(x))), (mean(of("mul", x, here)), mean(of("mul", x, x))),
            (call("max", x, mean(x)), call("min", x, mean(x))), (of("div", {"number": "1"}, x), x), (call("exp", call("exp", x)), call("exp", x)),
        ):
            self.assertNotEqual(self.form(one), self.form(other))
        total = {"aggregate": ["sum", x, None]}
        self.assertNotEqual(self.form(total, 1, 3), self.form(of("mul", {"number": "3"}, mean(x)), 1, 3))


class Executions(unittest.TestCase):
    def test_what_is_shown_is_never_exceeded_and_nearly_reached(self):
        """The network in doubles, one execution of many, beside x·mean(x)."""
        c = checker.read_certificate(PRODUCT[0])
        target = checker.read_target(PRODUCT[1], c)
        shown = meanings.prove_meanings(c, checker.read_tensors(PRODUCT[2], c), target).error
        found = {name: entry[1] for name, entry in numbers(PRODUCT[2])[0].items()}
        rng, most = random.Random(7), 0.0
        for _ in range(3000):
            x = [rng.choice((rng.random(), 0.0, 1.0)) for _ in range(rng.randrange(1, 4))]
            z = [[t - 0.5, 0.0] for t in x]
            middle = sum(t for t, _ in z) / len(x)
            for (first, second), t in zip(([t + middle, second - middle] for t, second in z), x, strict=True):
                units = [max(found["0.ff.w1"][2 * k] * first + found["0.ff.w1"][2 * k + 1] * second + b, 0.0) for k, b in enumerate(found["0.ff.b1"])]
                y = found["read_out.bias"][0] + found["read_out.weight"][0] * (first + sum(w * h for w, h in zip(found["0.ff.w2"], units)))
                most = max(most, abs(y - t * sum(x) / len(x)))
        self.assertLess(F(most), shown)
        self.assertGreater(F(most), shown * F(9, 10))


if __name__ == "__main__":
    unittest.main()
