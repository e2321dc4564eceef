"""Tests of checker.py: python3 -m unittest discover checker. Floats occur here only as the numbers of files and as references."""

import hashlib
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal, localcontext
from fractions import Fraction as F
from itertools import product
from pathlib import Path

import checker
from checker import Arithmetic, FORMATS, Network, Num, check, point

checker.PIECES = 20_000  # so that what cannot be proved is given up soon
SMALL = (3, -4, 6, -6)  # a format of three digits, in which all orders can be tried


def tensors(entries, form="f64"):
    """A safetensors file of name -> (shape, numbers)."""
    header, data = {}, b""
    for name, (shape, numbers) in entries.items():
        packed = struct.pack(f"<{len(numbers)}{'d' if form == 'f64' else 'f'}", *numbers)
        header[name] = {"dtype": form.upper(), "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


def certificate(target, weights, lines):
    head = ["formwright-certificate 2", f"sha256 target.json {hashlib.sha256(target).hexdigest()}",
            f"sha256 model.safetensors {hashlib.sha256(weights).hexdigest()}", "badge certified"]
    return "".join(line + "\n" for line in [*head, *lines, "end"]).encode()


def expression(body, domain, **more):
    return json.dumps({"kind": "expression", "ast": {"body": body, "domain": domain, **more}}).encode()


TOTAL = expression({"each": {"aggregate": ["sum", "token", None]}}, {"integers": [0, 3]})
LARGEST = expression({"each": {"aggregate": ["max", "token", None]}}, {"integers": [0, 3]})
IDENTITY = expression({"each": "token"}, {"interval": ["0", "1"]})


def integers(bound, over="integers", tokens="3 3", width=2, form="f32"):
    return [f"over {over}", "norm sup", f"bound {bound}", "assumptions 0", f"tokens {tokens}", "dims 1", "output-dims 1",
            f"execution ieee-any-order {form}", f"width {width}", "positions 0"]


def total_network():
    """sum(x) of three tokens, by equal weights."""
    zeros = {name: ([1, 1, 1, 2], [0, 0]) for name in ("0.attn.q", "0.attn.k")}
    weights = tensors({"embed.weight": ([2, 1], [1, 0]), "embed.bias": ([2], [0, 0]), "read_out.weight": ([1, 2], [0, 1]),
                       "read_out.bias": ([1], [0]), **zeros, "0.attn.q_bias": ([1, 1, 1], [0]),
                       "0.attn.v": ([1, 1, 1, 2], [3, 0]), "0.attn.o": ([1, 1, 2, 1], [0, 1])}, "f32")
    lines = [*integers("1/100000"), "runs 1", "run 1 attention softmax 1 1 1 0", "mask * * * * no", "cells 0", "margins 0 0"]
    return certificate(TOTAL, weights, lines), TOTAL, weights


def largest_network(temperature=2048.0, tokens="1 3", mask="* * * * no", target=LARGEST, bound="1/1000"):
    """max(x), by a softmax that prefers large tokens."""
    weights = tensors({"embed.weight": ([2, 1], [1, 0]), "embed.bias": ([2], [0, 0]), "read_out.weight": ([1, 2], [0, 1]),
                       "read_out.bias": ([1], [0]), "0.attn.q": ([1, 1, 1, 2], [0, 0]), "0.attn.q_bias": ([1, 1, 1], [temperature]),
                       "0.attn.k": ([1, 1, 1, 2], [1, 0]), "0.attn.v": ([1, 1, 1, 2], [1, 0]), "0.attn.o": ([1, 1, 2, 1], [0, 1])}, "f32")
    lines = [*integers(bound, tokens=tokens), "runs 1", "run 1 attention softmax 1 1 1 0", f"mask {mask}", "cells 0", "margins 0 0"]
    return certificate(target, weights, lines), target, weights


def sweep_network(s=2.0, temperature=16.0, steps=4):
    """One token after the other moves up by s times the distance of the largest from the smallest, near 0, 1, 2, …"""
    ones = [1.0] * (2 * steps)
    biases = [-temperature * (k + half) for k in range(steps) for half in (-0.5, 0.5)]
    weights = tensors({"embed.weight": ([1, 1], [1]), "embed.bias": ([1], [0]), "read_out.weight": ([1, 1], [1]), "read_out.bias": ([1], [0]),
                       "0.attn.q": ([steps, 2, 1, 1], [temperature * one for one in ones]), "0.attn.q_bias": ([steps, 2, 1], biases),
                       "0.attn.k": ([steps, 2, 1, 1], ones), "0.attn.v": ([steps, 2, 1, 1], ones),
                       "0.attn.o": ([steps, 2, 1, 1], [s, -s] * steps)}, "f32")
    lines = [*integers(0, tokens="3 3", width=1), "runs 1", f"run {steps} attention softmax 2 1 1 0", *["mask * * * * no"] * 2, "cells 0", "margins 0 0"]
    return certificate(TOTAL, weights, lines), TOTAL, weights


def steps_network(bound="27/200", power=1, last=0.125, margins="1/1099511627776 1/1048576", cells=4, target=IDENTITY):
    """x to the middle of its quarter: a ramp of 2^-24 of a cell behind each of four steps."""
    ramp = 2.0**-24
    w1, b1, w2 = [], [], []
    for k in (3.0, 2.0, 1.0, 0.0):
        w1 += [1, 1, 1]
        b1 += [-k, -(k + 1 - ramp), -(k + 1)]
        w2 += [-1, 1 / ramp, 1 - 1 / ramp]
    weights = tensors({"embed.weight": ([1, 1], [4]), "embed.bias": ([1], [0]), "read_out.weight": ([1, 1], [0.25]),
                       "read_out.bias": ([1], [last]), "0.ff.w1": ([4, 3, 1], w1), "0.ff.b1": ([4, 3], b1),
                       "0.ff.w2": ([4, 1, 3], w2), "0.ff.b2": ([4, 1], [0] * 4)})
    lines = ["over box", f"norm lp {power}", f"bound {bound}", "assumptions 0", "tokens 2 2", "dims 1", "output-dims 1",
             "execution ieee-any-order f64", "width 1", "positions 0", "runs 1", "run 4 ff 3", f"cells {cells}", f"margins {margins}"]
    return certificate(target, weights, lines), target, weights


def clip_network(limit=1.5):
    """x - 1/2 in units of 2^-30, cut to [-limit, limit]; once is not enough, as z - limit is rounded."""
    weights = tensors({"embed.weight": ([1, 1], [2.0**30]), "embed.bias": ([1], [-(2.0**29)]), "read_out.weight": ([1, 1], [1]),
                       "read_out.bias": ([1], [0]), "0.ff.w1": ([2, 2, 1], [-1, 1] * 2), "0.ff.b1": ([2, 2], [-limit] * 4),
                       "0.ff.w2": ([2, 1, 2], [1, -1] * 2), "0.ff.b2": ([2, 1], [0, 0])}, "f32")
    target = expression({"each": {"number": "0"}}, {"interval": ["0", "1"]})
    lines = ["over box", "norm lp 1", "bound 8/5", "assumptions 0", "tokens 1 1", "dims 1", "output-dims 1", "execution ieee-any-order f32",
             "width 1", "positions 0", "runs 1", "run 2 ff 2", "cells 1", "margins 1/2 1/2"]
    return certificate(target, weights, lines), target, weights


def with_lines(files, **changes):
    """The files with other lines in the certificate, by keyword, and hashes that fit."""
    lines = files[0].decode().splitlines()
    for keyword, line in changes.items():
        lines = [line if old.split(" ")[0] == keyword.replace("_", "-") else old for old in lines]
    return "".join(line + "\n" for line in lines).encode(), *files[1:]


def connected(files, *cycle):
    """The files with connections behind the masks: of each layer and token the keys that it sees."""
    lines = files[0].decode().splitlines()
    at = max(k for k, line in enumerate(lines) if line.startswith("mask ")) + 1
    sees = [" ".join(["sees", *map(str, keys)]) for layer in cycle for keys in layer]
    return "".join(line + "\n" for line in [*lines[:at], f"connections {len(cycle)}", *sees, *lines[at:]]).encode(), *files[1:]


DENSE, HUB, NEXT = [[0, 1, 2]] * 3, [[0, 1, 2], [0, 1], [0, 2]], [[1], [2], [0]]


def rehashed(files, target=None, weights=None):
    target, weights = target or files[1], weights or files[2]
    return certificate(target, weights, files[0].decode().splitlines()[4:-1]), target, weights


class Case(unittest.TestCase):
    def accepted(self, files):
        verdict = check(*files)
        self.assertEqual(verdict.verdict, "accepted", verdict)

    def rejected(self, files, obligation, words=""):
        verdict = check(*files)
        self.assertEqual((verdict.verdict, verdict.obligation), ("rejected", obligation), verdict)
        self.assertIn(words, verdict.place + ": " + verdict.reason)

    def differs(self, files):
        """Another function than the target's is computed: a point shows it, or nothing shows that it is near."""
        verdict = check(*files)
        self.assertIn((verdict.verdict, verdict.obligation), [("rejected", "point"), ("declined", "")], verdict)
        self.assertRegex(verdict.place + ": " + verdict.reason, "the form is |normal forms are not shown")

    def declined(self, files, words=""):
        verdict = check(*files)
        self.assertEqual(verdict.verdict, "declined", verdict)
        self.assertIn(words, verdict.reason)


class Claims(Case):
    def test_what_is_true_is_accepted(self):
        exact = with_lines(total_network(), bound="bound 0")  # 3 fl(1/3) k is k, and so is every sum of them
        for files in (exact, largest_network(), steps_network(), steps_network("11/100", 2), clip_network()):
            self.accepted(files)

    def test_tokens_see_what_their_layer_shows(self):
        for files in (total_network(), largest_network(tokens="3 3")):
            self.accepted(connected(files, DENSE))
            self.accepted(connected(files, DENSE, HUB))  # the one block goes by the first layer
            for cycle in (HUB,), (NEXT,), (HUB, DENSE):
                self.rejected(connected(files, *cycle), "point")

    def test_a_bound_below_the_error_is_rejected(self):
        self.rejected(with_lines(largest_network(temperature=8.0), bound="bound 0"), "point", "the bound 0")
        self.rejected(steps_network("11/100"), "integral")  # the l1 error is 1/8
        self.declined(steps_network("1249/10000"), "pieces of cells")  # so much is not told apart by so many pieces
        self.rejected(steps_network("9/100", 2), "integral")  # and the l2 error √(1/96)
        self.rejected(with_lines(steps_network(), norm="norm lp 2", bound="bound -1/2"), "format", "negative")

    def test_a_weight_that_makes_one_point_wrong_is_found(self):
        self.rejected(largest_network(temperature=4.0), "point", "at 0; 1")
        steps = steps_network()
        changed = bytearray(steps[2])
        changed[-8:] = struct.pack("<d", 0.25)  # the last step's offset
        self.rejected(rehashed(steps, weights=bytes(changed)), "integral")

    def test_equal_tokens_have_their_own_value(self):
        constant = tensors({"embed.weight": ([1, 1], [1]), "embed.bias": ([1], [0]), "read_out.weight": ([1, 1], [0]),
                            "read_out.bias": ([1], [1])}, "f32")
        target = expression({"each": {"aggregate": ["max", "token", None]}}, {"integers": [0, 2]})
        lines = [*integers(0, "distinct-integers 1", "2 2", 1), "runs 0", "cells 0", "margins 0 0"]
        files = certificate(target, constant, lines), target, constant
        self.accepted(files)
        self.rejected(with_lines(files, over="over distinct-integers 0"), "point", "at 0; 0")
        self.rejected(with_lines(files, over="over integers"), "point", "at 0; 0")

    def test_masks_are_obeyed(self):
        before = {"if": [{"compare": ["equal", "index", {"number": "0"}]}, "token", {"gather": {"binary": ["sub", "index", {"number": "1"}]}}]}
        target = expression({"each": before}, {"integers": [0, 3]})
        self.accepted(largest_network(tokens="2 2", mask="-1 -1 * * yes", target=target))
        self.rejected(largest_network(tokens="2 2", mask="* 0 * * no", target=target), "point")
        self.rejected(largest_network(tokens="2 2", mask="-1 -1 * * no", target=target), "claim", "sees nothing")

    def test_overflow_is_rejected(self):
        self.rejected(largest_network(temperature=2.0**127), "finite", "overflow")

    def test_hints_are_not_believed(self):
        for margins in ("-1 0", "1/2 2/3"):
            self.rejected(steps_network(margins=margins), "format", "shares of a cell")
        self.rejected(steps_network(margins="0 0"), "integral")
        self.rejected(steps_network(cells=3), "integral")
        self.accepted(steps_network(cells=8))

    def test_what_is_not_decided_is_declined(self):
        for change in ({"badge": "badge measured"}, {"over": "over space"}, {"norm": "norm sup"}, {"norm": "norm lp 3/2"},
                       {"norm": "norm lp 65"}, {"cells": "cells 0"}, {"cells": "cells 200"}, {"tokens": "tokens 1 2"}):
            self.declined(with_lines(steps_network(), **change))
        files = steps_network()
        self.declined((files[0].replace(b"assumptions 0\n", b"assumptions 1\nassume equivariant\n"), *files[1:]), "equivariant")

    def test_version_1_is_declined(self):
        for files in (steps_network(), largest_network()):
            for word in ("version 1", "divides once", "reciprocal", "rebuild"):
                self.declined((files[0].replace(b"certificate 2\n", b"certificate 1\n"), *files[1:]), word)
            self.rejected((files[0].replace(b"certificate 2\n", b"certificate 10\n"), *files[1:]), "format", "line 1")

    def test_parts_that_do_not_fit_are_rejected(self):
        for change in ({"over": "over integers"}, {"tokens": "tokens 3 2"}):
            self.rejected(with_lines(steps_network(), **change), "claim")
        self.rejected(with_lines(total_network(), over="over box"), "claim")


class Text(Case):
    def test_every_line_has_one_form(self):
        for files in (total_network(), steps_network(), connected(total_network(), DENSE)):
            lines = files[0].decode().splitlines()
            for at, line in enumerate(lines):
                words = line.split(" ")
                forms = [[], [line, line], [line + " "], [" " + line], [line.upper()], [line + "\r"], ["", line], [line + " 1"],
                         [line.replace(" ", "\t", 1) + "\t"]]
                forms += [[" ".join(w if k != j else "0" + w for k, w in enumerate(words))] for j in range(len(words))]
                forms += [[" ".join(w if k != j else "+" + w for k, w in enumerate(words))] for j in range(len(words))]
                for form in forms:
                    text = "".join(l + "\n" for l in [*lines[:at], *form, *lines[at + 1 :]])
                    self.rejected((text.encode(), *files[1:]), "format")

    def test_connections_name_tokens_once_and_in_order(self):
        files = connected(total_network(), HUB)
        for layer in ([[0, 1, 2], [0, 1]], [*HUB, [0]], [[0, 1, 2], [], [0, 2]], [[0, 1, 2], [1, 0], [0, 2]], [[0, 1, 2], [0, 0], [0, 2]],
                      [[0, 1, 3], [0, 1], [0, 2]], [[0, 1, 2], [0, -1], [0, 2]], [[0, 1, 2], ["00"], [0, 2]]):
            self.rejected(connected(total_network(), layer), "format")
        for line in ("connections 0", "connections 2", "connections 01", "connections", "connections 1 1"):
            self.rejected(with_lines(files, connections=line), "format")
        self.rejected(connected(total_network()), "format")
        self.rejected(connected(connected(total_network(), HUB), HUB), "format")

    def test_connections_fit_the_rest(self):
        for change in ("mask * * * * yes", "mask * 2 * * no", "tokens 2 3"):
            self.rejected(with_lines(connected(total_network(), DENSE), **{change.split(" ")[0]: change}), "claim")

    def test_the_file_ends_where_it_ends(self):
        files = steps_network()
        for text in (files[0] + b"\n", files[0] + b"end\n", files[0][:-1], files[0] + b" ", b"", b"\n", b"\xef\xbb\xbf" + files[0]):
            self.rejected((text, *files[1:]), "format")

    def test_numbers_have_one_form(self):
        for word in ("26/200", "0.13", "-0", "1/0", "13/-100", "1e9", "0/2", "١", "None"):
            self.rejected(with_lines(steps_network(), bound=f"bound {word}"), "format")
        for word in ("2147483648", "-1", "007"):
            self.rejected(with_lines(steps_network(), width=f"width {word}"), "format")
        self.rejected(with_lines(steps_network(), **{"formwright-certificate": "formwright-certificate 3"}), "format", "line 1")

    def test_sizes_are_0_only_where_there_is_none(self):
        for change in ("tokens 0 2", "dims 0", "output-dims 0", "width 0", "run 0 ff 3", "run 4 ff 0", "run 4 attention softmax 1 1 1 2 ff 3",
                       "run 4 attention softmax 0 1 1 0", "run 4 attention softmax 1 0 1 0", "run 4 attention average 1 1 1 0",
                       "run 4 attention average 1 0 0 0", "run 4 attention linformer 1 1 1 0", "run 4", "run 4 ff 3 attention softmax 1 1 1 0"):
            self.rejected(with_lines(steps_network(), **{change.split(" ")[0]: change}), "format", f"found `{change}`")

    def test_a_file_that_was_changed_is_not_the_one(self):
        files = steps_network()
        self.rejected((files[0], files[1] + b" ", files[2]), "hash", "target.json")
        self.rejected((files[0], files[1], files[2][:-1] + b"\x01"), "hash", "model.safetensors")


class Weights(Case):
    def changed(self, old, new):
        files = steps_network()
        weights = files[2][8:].replace(old, new, 1)
        length = int.from_bytes(files[2][:8], "little") + len(new) - len(old)
        return rehashed(files, weights=struct.pack("<Q", length) + weights)

    def test_the_header_is_read_strictly(self):
        entry = b'"embed.bias": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}'
        for new in (entry + b", " + entry, b'"embed.bia": ' + entry[14:], entry[:-1] + b', "more": 1}', entry.replace(b"[1]", b"[1.0]"),
                    entry.replace(b"[1]", b"[true]"), entry.replace(b"F64", b"F32"), entry.replace(b"[1]", b"[1, 1]"),
                    entry.replace(b"[8, 16]", b"[16, 24]"), entry.replace(b"[8, 16]", b"[9, 17]"), entry.replace(b"16]", b"24]"),
                    entry.replace(b"[1]", b"[NaN]"), entry.replace(b"[1]", b"[-1]"), b'"__metadata__": {"a": 1}, ' + entry,
                    b'"__metadata__": null, ' + entry, entry.replace(b"[1]", b"[01]"), entry.replace(b"[1]", b"[1e0]")):
            self.rejected(self.changed(entry, new), "weights")
        self.accepted(self.changed(entry, b'"__metadata__": {"a": "b"}, ' + entry))

    def test_the_data_is_filled_without_gap(self):
        files = steps_network()
        for weights in (files[2] + b"\0" * 8, files[2][:-8], files[2][:4], b"", b"\xff" * 16):
            self.rejected((certificate(files[1], weights, files[0].decode().splitlines()[4:-1]), files[1], weights), "weights")

    def test_numbers_are_finite(self):
        for value in (math.nan, math.inf, -math.inf):
            self.rejected(steps_network(last=value), "weights", "finite")
        self.rejected(steps_network(last=5e-324), "weights", "normal")
        self.accepted(self.changed(struct.pack("<d", 0.0), struct.pack("<d", -0.0)))

    def test_bits_are_decoded(self):
        rng = random.Random(1)
        for _ in range(500):
            x = math.ldexp(rng.uniform(-2, 2), rng.randrange(-1000, 1000))
            self.assertEqual(checker.number(struct.pack("<d", x), 53), F(x))
            y = struct.unpack("<f", struct.pack("<f", math.ldexp(rng.uniform(1, 2), rng.randrange(-126, 127))))[0]
            self.assertEqual(checker.number(struct.pack("<f", -y), 24), -F(y))


class Target(Case):
    def value(self, body, xs, domain=None, **more):
        target = expression({"each": body}, domain or {"interval": ["0", "1"]}, **more)
        c = checker.SimpleNamespace(dims=1, output_dims=1, least=len(xs), most=len(xs))
        return [token[0] for token in checker.read_target(target, c).enclose(tuple(((F(x), F(x)),) for x in xs))]

    def test_values(self):
        half = {"number": "0.5"}
        cases = [
            ({"binary": ["sub", "token", {"aggregate": ["mean", "token", None]}]}, [0, F(1, 2), 1], [F(-1, 2), 0, F(1, 2)]),
            ({"aggregate": ["var", "token", None]}, [0, 1], [F(1, 4)] * 2),
            ({"aggregate": ["sum", {"binary": ["mul", "running", "token"]}, None]}, [5, 6], [6, 6]),
            ({"aggregate": ["sum", "token", {"compare": ["less", "running", "index"]}]}, [1, 2], [0, 1]),
            ({"aggregate": ["count", {"compare": ["less", "token", {"gather": "index"}]}, None]}, [4, 6, 5], [0, 2, 1]),
            ({"binary": ["mod", {"negate": "token"}, {"number": "-3"}]}, [4, 5, 6], [2, 1, 0]),
            ({"call": ["clamp", ["token", {"number": "1/4"}, half]]}, [0, F(1, 3), 1], [F(1, 4), F(1, 3), F(1, 2)]),
            ({"call": ["sqrt", ["token"]]}, [F(9, 4), 0], [F(3, 2), 0]), ({"sort": "token"}, [3, 1, 2], [1, 2, 3]),
            ({"table": ["index", ["7", "1/3"]]}, [0, 0], [7, F(1, 3)]), ({"power": ["token", 3]}, [-2], [-8]),
            ({"number": "-00.50"}, [0], [F(-1, 2)]), ({"power": ["token", 4096]}, [1, 0], [1, 0]),
        ]
        for body, xs, values in cases:
            self.assertEqual(self.value(body, xs), [(v, v) for v in values], body)
        lets = [{"name": "b", "value": {"aggregate": ["sum", "token", {"compare": ["less-equal", "running", "index"]}]}}]
        last = {"gather-bound": ["b", {"binary": ["sub", "length", {"number": "1"}]}]}
        self.assertEqual(self.value({"binary": ["sub", last, {"bound": "b"}]}, [1, 2, 3], lets=lets), [(5, 5), (3, 3), (0, 0)])
        self.assertEqual(self.value({"aggregate": ["max", {"bound": "b"}, None]}, [1, -3, 4], lets=lets), [(2, 2)] * 3)

    def test_enclosures_hold_the_functions(self):
        rng = random.Random(2)
        with localcontext() as context:
            context.prec = 70
            for _ in range(60):
                x = F(rng.randrange(1, 10**6), rng.randrange(1, 10**5))
                d = Decimal(x.numerator) / Decimal(x.denominator)
                for at, value in ((checker.exp_minus, (-d).exp()), (checker.log_at, d.ln()), (checker.sqrt_at, d.sqrt())):
                    lo, hi = at(x)
                    self.assertTrue(lo * (1 - F(1, 10**60)) - F(1, 10**60) <= F(value) <= hi * (1 + F(1, 10**60)) + F(1, 10**60))
                    self.assertLess(hi - lo, F(1, 10**50))
                y = x % 60
                for lo, hi, value in ((*checker.wave_at(y, 1), math.sin(y)), (*checker.wave_at(y, 0), math.cos(y)), (*checker.tanh_at(y), math.tanh(y))):
                    self.assertTrue(lo - F(1, 10**12) <= F(value) <= hi + F(1, 10**12) and hi - lo < F(1, 10**40))

    def test_undefined_values_are_not_met(self):
        quotient = {"each": {"binary": ["div", {"number": "1"}, "token"]}}
        self.rejected(rehashed(total_network(), expression(quotient, {"integers": [0, 3]})), "point", "quotient")
        self.rejected(rehashed(steps_network(), expression(quotient, {"interval": ["0", "1"]})), "target", "quotient")

    def test_a_let_needs_a_value_even_where_it_is_not_used(self):
        total = json.loads(TOTAL)["ast"]["body"]
        for divisor, fails in (("index", True), ({"binary": ["add", "index", {"number": "0.50"}]}, False)):
            lets = [{"name": "b", "value": {"binary": ["div", {"number": "1"}, divisor]}}]
            files = rehashed(total_network(), expression(total, {"integers": [0, 3]}, lets=lets))
            self.rejected(files, "point", "quotient") if fails else self.accepted(files)

    def test_what_is_for_people_is_not_read(self):
        self.accepted(rehashed(total_network(), TOTAL[:-1] + b', "name": 0.5, "text": [null]}'))

    def test_what_is_not_understood_is_rejected(self):
        domain = {"integers": [0, 3]}
        bodies = [{"coordinate": [{"number": "1"}, 1]}, {"number": "-0"}, {"number": "007"}, {"number": ".5"}, {"number": "1/1"},
                  {"power": ["token", 4097]}, "running", "x", {"number": 1}, {"number": "1e3"}, {"number": "2/4"}, {"power": ["token", -1]}, {"call": ["exp", []]},
                  {"call": ["erf", ["token"]]}, {"binary": ["pow", "token", "token"]}, {"coordinate": ["token", 1]}, {"bound": "b"},
                  {"if": ["token", "token", "token"]}, {"aggregate": ["sum", "token"]}, {"negate": "token", "more": 1}, None, 3,
                  {"aggregate": ["sum", {"compare": ["less", "token", "token"]}, None]}, {"table": ["token", [1]]}]
        for body in bodies:
            self.rejected(rehashed(total_network(), expression({"each": body}, domain)), "target")
        for bad in ({"integers": [3, 3]}, {"integers": [0, "3"]}, {"interval": ["1", "0"]}, {"integers": [0, 3], "interval": ["0", "1"]}, {}):
            self.rejected(rehashed(total_network(), expression({"each": "token"}, bad)), "target")
        one = {"name": "b", "value": {"number": "1"}}
        for lets in ([{"name": "b", "value": {"bound": "b"}}], [{"name": "a", "value": {"bound": "b"}}, one], [one, one], None, [{**one, "text": ""}]):
            self.rejected(rehashed(total_network(), expression({"each": "token"}, domain, lets=lets)), "target")
        for text in (TOTAL[:-1] + b', "more": 1}', TOTAL.replace(b'"kind"', b'"kind": "table", "kind"'), b"[]", b"{", TOTAL.replace(b"3]", b"3.0]"), TOTAL.replace(b"[0,", b"[-0,"),
                     TOTAL[:-1] + b', "name": "\\ud800"}'):
            self.rejected(rehashed(total_network(), text), "target")

    def test_tables(self):
        values = [[[str(F(2 * a + 1, 8))], [str(F(2 * b + 1, 8))]] for a in range(4) for b in range(4)]
        table = {"kind": "table", "tokens": 2, "dims": 1, "output_dims": 1, "resolution": 4, "symmetry": "equivariant", "values": values}
        files = steps_network("1/1000", target=json.dumps(table).encode())
        self.accepted(files)
        wrong = json.dumps({**table, "values": [*values[:5], [["3/8"], ["1/2"]], *values[6:]]}).encode()
        self.rejected(rehashed(files, wrong), "integral")
        self.rejected(rehashed(files, json.dumps({**table, "values": values[1:]}).encode()), "target")
        self.rejected(rehashed(files, json.dumps({**table, "dims": 2}).encode()), "claim")


def outcomes(a, terms):
    """Every result of a sum of products x y, in all orders, fused or not, flushed or not; by trying."""

    def rounded(x):
        results = {a.nearest(x)}
        return results | {F(0)} if abs(x) < a.tiny else results

    def exact(x, y):
        flushed = [{v, F(0)} if abs(v) < a.tiny else {v} for v in (x, y)]
        return {u * v for u in flushed[0] for v in flushed[1]}

    memory = {}

    def results(mask):
        if mask not in memory:
            of = [k for k in range(len(terms)) if mask >> k & 1]
            found = set()
            if len(of) == 1:
                found = {r for p in exact(*terms[of[0]]) for r in rounded(p)}
            part = (mask - 1) & mask
            while part:
                left = results(part) | (exact(*terms[part.bit_length() - 1]) if part & part - 1 == 0 else set())
                found |= {r for x in left for y in results(mask ^ part) for r in rounded(x + y)}
                part = (part - 1) & mask
            memory[mask] = found
        return memory[mask]

    return results((1 << len(terms)) - 1)


class Rules(Case):
    def compare(self, a, terms):
        value, error = a.total([a.times(point(x), point(y)) for x, y in terms])
        exact = sum(x * y for x, y in terms)
        for result in outcomes(a, terms):
            self.assertTrue(value.lo <= result <= value.hi and abs(result - exact) <= error, (terms, result, value, error))
            self.assertEqual(result % checker.power_of_two(value.q) if result else 0, 0, (terms, result, value))
        return value

    def test_any_order_against_all_orders(self):
        rng, a = random.Random(3), Arithmetic(*SMALL)
        numbers = [F(m, 4) * F(2) ** e for m in range(4, 8) for e in range(-4, 2)] + [F(m, 64) for m in (1, 2, 3)]
        for _ in range(1500):
            terms = [(rng.choice(numbers) * rng.choice((1, -1)), rng.choice(numbers)) for _ in range(rng.randrange(1, 5))]
            try:
                self.compare(a, terms)
            except checker.Rejected as error:
                self.assertEqual(error.obligation, "finite")

    def test_exact_sums(self):
        a = Arithmetic(*SMALL)
        self.assertTrue(self.compare(a, [(F(4), F(1)), (F(3), F(1)), (F(-6), F(1)), (F(1), F(1))]).point)
        self.assertFalse(self.compare(a, [(F(4), F(1)), (F(3), F(1)), (F(2), F(1))]).point)

    def test_absorption(self):
        a = Arithmetic(3, -12, 6, -6)
        small = (F(1, 16), F(1, 4))
        self.assertEqual(self.compare(a, [(F(2), F(1)), (F(-1), F(1)), small]), point(F(1)))
        zero = self.compare(a, [(F(2), F(1)), (F(-2), F(1)), small, (F(1, 16), F(1, 16))])
        self.assertTrue(zero.lo <= 0 < zero.hi < F(1, 16))
        self.assertFalse(self.compare(a, [(F(2), F(1)), (F(-1), F(1)), (F(1, 4), F(1, 4))]).point)

    def test_snapping(self):
        """Products of one sign near numbers of the format: nearer from below a power of two, and not of two signs."""
        a, third = Arithmetic(5, -12, 10, -6), F(21, 64)
        self.assertEqual(self.compare(a, [(third, F(3)), (third, F(6)), (third, F(12))]), point(F(7)))
        self.assertIsNone(a.snapped([point(third * 3), point(third * -6)]))
        self.assertIsNone(a.snapped([point(1 + F(1, 32))]))
        rng, a = random.Random(8), Arithmetic(*SMALL)
        for _ in range(400):
            terms = [(F(rng.randrange(4, 8), rng.choice((4, 8))), F(rng.randrange(4, 8), rng.choice((4, 8)))) for _ in range(3)]
            self.compare(a, terms)

    def test_a_sum_of_two_is_off_by_the_smaller_at_most(self):
        a = Arithmetic(*FORMATS["f32"])
        _, error = a.total([Num(F(-(2**60)), F(2**60), 0), point(F(1))])
        self.assertTrue(1 <= error < 1 + F(1, 2**100))

    def test_multiples_are_counted(self):
        self.assertEqual(Arithmetic(*SMALL).settle(F(-3, 4), F(3, 4), 0), checker.NOTHING)

    def test_small_terms_can_grow_below_the_normal_range(self):
        """Three times 9/8 of half of the least number are three of the least number, and too many to vanish."""
        a = Arithmetic(*FORMATS["f32"])
        large, small = (F(1, 2**123), F(1)), (F(-9, 2**78), F(1, 2**75))
        self.assertGreater(len(outcomes(a, [large, small, small, small])), 1)
        self.assertFalse(self.compare(a, [large, small, small, small]).point)

    def test_one_rounding_is_monotone_and_may_flush(self):
        a = Arithmetic(*SMALL)
        self.assertEqual(a.rounded(F(9, 8), F(11, 8))[:2], (F(1), F(3, 2)))
        self.assertEqual(a.rounded(F(1, 32), F(1, 32))[:2], (F(0), F(1, 32)))
        self.assertEqual(a.total([Num(F(1), F(3, 2), -2), Num(F(-3, 2), F(-1), -2)], (F(0), F(0)))[0], checker.NOTHING)

    def test_rounding_is_that_of_the_machine(self):
        rng, a, b = random.Random(4), Arithmetic(*FORMATS["f64"]), Arithmetic(*FORMATS["f32"])
        for _ in range(500):
            x = F(rng.randrange(-(10**30), 10**30), rng.randrange(1, 10 ** rng.randrange(1, 60)))
            self.assertEqual(a.nearest(x), F(float(x)))
            exact = F(rng.randrange(1 << 53)) * F(2) ** rng.randrange(-200, 60)
            self.assertEqual(b.nearest(exact), F(struct.unpack("<f", struct.pack("<f", float(exact)))[0]))

    def test_a_layer_is_composed_before_intervals_are_put_in(self):
        files = steps_network()
        c = checker.read_certificate(files[0])
        network = Network(c, checker.read_tensors(files[2], c))
        y = network.run((((F(1, 4), F(1, 2) - F(1, 2**22)),), ((F(1, 2**50), F(1, 4) - F(1, 2**22)),)))
        self.assertEqual([token[0] for token in y], [point(F(3, 8)), point(F(1, 8))])
        z = (Num(F(-1), F(1), -20),)
        (kept,) = network.feed_forward(z, [[(0, F(1))], [(0, F(-1))]], [F(0), F(0)], [[(0, F(-1)), (1, F(1))]], [F(0)])
        self.assertLess(kept.size, F(1, 2**40))  # z - max(z, 0) + max(-z, 0), of unknown sign


# Weights of the scores 0 and x as onnxruntime 1.31.1 gives them in single precision, bit by bit, and the exponential that
# gives them if the reciprocal of the sum is rounded; no exponential does by one division.
RECIPROCAL = (
    ("bea952bd", "3f37e9fa", "3f14f97e", "3ed60d03"), ("bf7a8797", "3ec06c25", "3f3a11f7", "3e8bdc14"),
    ("bffcaee4", "3e0e38aa", "3f60c7da", "3df9c138"), ("be4d7d73", "3f517432", "3f0cccda", "3ee6664d"),
    ("c05ce387", "3d01d992", "3f78223d", "3cfbb847"), ("be83dfc2", "3f45dec1", "3f1064cc", "3edf366b"),
    ("bfb3442f", "3e7c626b", "3f4d6151", "3e4a7ac1"), ("bf8d72db", "3ea9918a", "3f404f32", "3e7ec339"),
)


class Shares(Case):
    """How exponentials become weights."""

    def test_the_reciprocal_is_allowed(self):
        a = Arithmetic(*FORMATS["f32"])
        for row in RECIPROCAL:
            x, e, first, second = (F(struct.unpack(">f", bytes.fromhex(bits))[0]) for bits in row)
            lo, hi = checker.exp_minus(-x)
            self.assertTrue(lo * (1 - a.theta) <= e <= hi * (1 + a.theta))
            self.assertNotEqual((a.nearest(1 / a.nearest(1 + e)), a.nearest(e / a.nearest(1 + e))), (first, second))
            for held, found in zip(checker.shares(a, [point(F(1)), point(e)]), (first, second)):
                self.assertTrue(held.lo <= found <= held.hi, (held, found))

    def test_weights_are_the_two_numbers_and_what_is_between(self):
        rng = random.Random(8)
        for name in FORMATS:
            a = Arithmetic(*FORMATS[name])
            for _ in range(300):
                e = a.nearest(F(rng.getrandbits(60) + 1, 2**60))
                whole = a.nearest(1 + e)
                two = a.nearest(e / whole), a.nearest(e * a.nearest(1 / whole))
                held = checker.shares(a, [point(F(1)), point(e)])[1]
                self.assertEqual((held.lo, held.hi), (min(two), max(two)))
            for n in range(1, 40):  # equal scores weigh 1/n, rounded once, whichever way
                self.assertEqual(checker.softmax(a, [point(F(7))] * n), [point(a.nearest(F(1, n)))] * n)


class Executions(Case):
    """Random executions of whole networks stay inside of what is computed for sets of inputs."""

    def execute(self, a, c, t, x, rng):
        def rounded(v):
            return F(0) if abs(v) < a.tiny and rng.random() < 0.5 else a.nearest(v)

        def add(products):
            parts = [(F(p) * F(q), True) for p, q in products if p and q]
            while len(parts) > 1:
                rng.shuffle(parts)
                (u, raw), (v, other) = parts.pop(), parts.pop()
                u = rounded(u) if raw and rng.random() < 0.5 else u  # else the product is fused into the addition
                parts.append((rounded(u + (rounded(v) if other else v)), False))
            return (rounded(parts[0][0]) if parts[0][1] else parts[0][0]) if parts else F(0)

        def affine(rows, bias, z, extra=()):
            return [add([*zip(row, z), *([(bias[k], 1)] if bias else []), *([(extra[k], 1)] if extra else [])]) for k, row in enumerate(rows)]

        places = t.get("pos", [()] * len(x))
        z = [affine(t["embed.weight"], t["embed.bias"], [rounded(v) for v in token], places[k]) for k, token in enumerate(x)]
        first = 0
        for run in c.runs:
            for b in range(run.blocks):
                if run.kind:
                    z = self.attend(a, run, t, first, b, z, add, affine, rounded, rng)
                if run.hidden is not None:
                    w1, b1, w2, b2 = (t[f"{first}.ff.{name}"][b] for name in ("w1", "b1", "w2", "b2"))
                    z = [affine(w2, b2, [max(u, 0) for u in affine(w1, b1, token)], token) for token in z]
            first += run.blocks
        return [affine(t["read_out.weight"], t["read_out.bias"], token) for token in z]

    def attend(self, a, run, t, first, b, z, add, affine, rounded, rng):
        after = []
        for at, own in enumerate(z):
            parts = [[(entry, 1)] for entry in own]
            for h in range(run.heads):
                q, bias, k, v, o = (t[f"{first}.attn.{name}"][b][h] for name in ("q", "q_bias", "k", "v", "o"))
                keys = run.connections[b % len(run.connections)][at] if run.connections else None
                seen = [other for j, other in enumerate(z) if (checker.shows(run.masks[h], at, j) if keys is None else j in keys)]
                scores = [add(zip(affine(k, None, other), affine(q, bias, own))) for other in seen]
                powers = []
                for s in scores:
                    y = max(scores) - s
                    e = checker.exp_minus(-rounded(-y))[1] * (1 + a.theta * F(rng.choice((-99, 99, rng.randrange(-99, 100))), 100)) if y else F(1)
                    powers.append(rounded(e))
                whole = add([(e, 1) for e in powers])
                by = rounded(1 / whole) if rng.random() < 0.5 else None  # a quotient, or times the rounded reciprocal
                weights = [rounded(e / whole if by is None else e * by) for e in powers]
                values = [affine(v, None, other) for other in seen]
                mixed = [add(zip(weights, column)) for column in zip(*values)]
                for i, row in enumerate(o):
                    parts[i] += zip(row, mixed)
            after.append([add(part) for part in parts])
        return after

    def test_executions_are_enclosed(self):
        rng = random.Random(5)
        hub = connected(largest_network(temperature=3.0, tokens="3 3"), HUB)
        for files in (total_network(), largest_network(temperature=3.0), largest_network(temperature=40.0), hub, steps_network(), clip_network()):
            c = checker.read_certificate(files[0])
            t = checker.read_tensors(files[2], c)
            network = Network(c, t)
            for _ in range(60):
                centres = [F(rng.randrange(0, 4096), 4096) * (1 if c.over == "box" else 2) for _ in range(c.most)]
                radius = F(rng.choice((0, 1, 1000)), 10**4)
                enclosed = network.run(tuple(((x - radius, x + radius),) for x in centres))
                for _ in range(4):
                    x = [[x + radius * F(rng.randrange(-100, 101), 100)] for x in centres]
                    for found, held in zip(self.execute(network.arithmetic, c, t, x, rng), enclosed):
                        self.assertTrue(held[0].lo <= found[0] <= held[0].hi, (x, found, held))
                        self.assertEqual(found[0] % checker.power_of_two(held[0].q) if found[0] else 0, 0)


    def test_a_sweep_is_enclosed(self):
        rng = random.Random(6)
        cycles = ((), (HUB,), (NEXT, HUB), ([[1, 2], [0, 2], [0, 1]], DENSE, HUB))
        for (s, temperature), cycle in product(((2.0, 16.0), (1.0, 4.0), (4.0, 64.0)), cycles):
            files = sweep_network(s, temperature)
            files = connected(files, *cycle) if cycle else files
            c = checker.read_certificate(files[0])
            t = checker.read_tensors(files[2], c)
            network = Network(c, t)
            box = (((F(-1), F(4)),),) * 3
            (held,), (plain,) = network.run(box, wide=True)[0], network.run(box)[0]
            self.assertLess(held.hi - held.lo, (plain.hi - plain.lo) / 4)
            largest = F(0)
            for _ in range(100):
                x = [[F(rng.choice((-1, 4, rng.randrange(-100, 400) / 100, rng.randrange(0, 4) - 0.5)))] for _ in range(3)]
                for (found,) in self.execute(network.arithmetic, c, t, x, rng):
                    self.assertTrue(held.lo <= found <= held.hi, (x, found, held))
                    largest = max(largest, found)
            self.assertLess(held.hi, 100 * largest)  # it is no idle bound

    def test_what_is_no_sweep_is_not_taken_for_one(self):
        files = sweep_network()
        c = checker.read_certificate(files[0])
        heads, ff = Network(c, checker.read_tensors(files[2], c)).blocks[0]
        self.assertTrue(checker.as_step(heads, ff))
        one, other = heads
        for changed in ([one, one], [one], [one, other._replace(v=[[(0, F(2))]])], [one, other._replace(mask=("*", 0, "*", "*", "no"))],
                        [one._replace(o=[[(0, F(-2))]]), other._replace(o=[[(0, F(2))]])], [one, other._replace(q=[[(0, F(8))]])],
                        [one, other._replace(o=[[(0, F(-1))]])], [one, other._replace(q_bias=[one.q_bias[0] - 1])],
                        [one, other._replace(keys=NEXT)], [one._replace(keys=HUB), other._replace(keys=NEXT)]):
            self.assertIsNone(checker.as_step(changed, ff))
        self.assertTrue(checker.as_step([one._replace(keys=NEXT), other._replace(keys=NEXT)], ff))

    def test_blocks_that_do_nothing_do_not_end_a_sweep(self):
        files = sweep_network()
        c = checker.read_certificate(files[0])
        network = Network(c, checker.read_tensors(files[2], c))
        box, steps = (((F(-1), F(4)),),) * 3, network.blocks
        alone = network.run(box, wide=True)
        idle = checker.Head([[]], [F(0)], [[]], [[]], [[]], *steps[0][0][0][5:])
        for between, ends in (idle, 5), (idle._replace(q_bias=[F(1)]), 1), (idle._replace(v=[[(0, F(1))]]), 1), (idle._replace(o=[[(0, F(1))]]), 1):
            other = Network(c, network.tensors)
            other.blocks = [steps[0], ([between] * 2, None), *steps[1:]]
            start = [other.embedded(t, x) for t, x in enumerate(box)]
            self.assertEqual(other.sweep(0, start)[0], ends)
            self.assertEqual(other.run(box, wide=True) == alone, ends == 5)


CORPUS = Path(__file__).resolve().parent.parent / "corpus"


class Odd(Case):
    def test_what_two_readers_might_understand_differently(self):
        names = "certificate.fwc", "target.json", "model.safetensors"
        folders = [folder for verdict in ("accept", "reject", "decline") for folder in sorted((CORPUS / verdict).glob("odd-*"))]
        self.assertGreaterEqual(len(folders), 26)
        for folder in folders:
            verdict = check(*((folder / name).read_bytes() for name in names))
            self.assertTrue(verdict.verdict.startswith(folder.parent.name), (folder.name, verdict))
            if verdict.verdict == "rejected":
                self.assertEqual(verdict.obligation, (folder / "why").read_text().split(":")[0], folder.name)

    def test_numbers_are_texts_of_one_form(self):
        for text in ("1/0", "-1/0", "0/0", "2/4", "1/1", "-0", "00", "", "-", "1/-2", " 1", "1e3", "1" * 4097, "0." + "3" * 4095):
            self.rejected(rehashed(total_network(), expression({"each": {"number": text}}, {"integers": [0, 3]})), "target")
            if "." not in text:
                self.rejected(with_lines(total_network(), bound=f"bound {text}"), "format")

    def test_depth_is_counted_around_values(self):
        for depth, empty in ((255, False), (256, True), (256, False), (257, True), (100_000, True)):
            text = TOTAL[:-1] + b', "name": ' + b"[" * depth + (b"" if empty else b"1") + b"]" * depth + b"}"
            fine = depth + (not empty) <= 256
            self.accepted(rehashed(total_network(), text)) if fine else self.rejected(rehashed(total_network(), text), "target")


def dense_network(size, last):
    """One layer of so many units on a stream as wide, each of which reads all of it, for tokens 0 to last."""
    some = [1.0 + k % 7 for k in range(size * size)]
    target = expression({"each": "token"}, {"integers": [0, last + 1]})
    weights = tensors({"embed.weight": ([size, 1], [1.0] * size), "embed.bias": ([size], [0.0] * size),
                       "read_out.weight": ([1, size], [1.0] * size), "read_out.bias": ([1], [0]), "0.ff.w1": ([1, size, size], some),
                       "0.ff.b1": ([1, size], [0.0] * size), "0.ff.w2": ([1, size, size], some), "0.ff.b2": ([1, size], [0.0] * size)}, "f32")
    lines = [*integers(0, tokens="1 1", width=size), "runs 1", f"run 1 ff {size}", "cells 0", "margins 0 0"]
    return certificate(target, weights, lines), target, weights


class Limits(Case):
    def test_work_is_bounded_before_it_is_done(self):
        self.declined(dense_network(400, 39), "terms of sums of 40 tokens before the first attention, the limit is 2000000")
        self.declined(dense_network(512, 1), "weights, the limit is 500000")
        long = b" " * checker.TEXT
        self.declined(rehashed(total_network(), TOTAL + long), f"bytes of target.json, the limit is {checker.TEXT}")
        certificate, *others = total_network()
        self.declined((certificate + long, *others), f"bytes of certificate.fwc, the limit is {checker.TEXT}")
        self.rejected((certificate + 8 * long, *others), "format", "longer than 2^24 bytes")
        many = certificate.replace(b"runs 1\n", b"runs 100001\n")
        self.declined((many, *others), "100001 runs, the limit is 100000")

    def test_numbers_of_the_target_have_a_size(self):
        def claim(body, bound="1"):
            return with_lines(rehashed(total_network(), expression({"each": body}, {"integers": [0, 3]})), bound=f"bound {bound}")

        powers = {"power": [{"power": [{"number": "3"}, 4096]}, 4096]}
        self.declined(claim(powers), "a power of 2^")
        self.declined(claim({"binary": ["mul", {"number": "0"}, powers]}), "a power of 2^")
        self.declined(claim({"call": ["exp", [{"call": ["exp", [{"number": "9"}]]}]]}), "exp of a number above 800")
        tiny = {"power": [{"power": [{"number": "1/3"}, 4096]}, 4096]}
        self.accepted(claim({"binary": ["add", tiny, {"aggregate": ["sum", "token", None]}]}))

    def test_lets_that_use_one_twice_are_evaluated_once(self):
        lets = [{"name": "a0", "value": {"aggregate": ["sum", "token", None]}}]
        for k in range(60):
            b = {"bound": f"a{k}"}
            lets.append({"name": f"a{k + 1}", "value": {"binary": ["sub", {"binary": ["add", b, b]}, b]}})
        self.accepted(rehashed(total_network(), expression({"each": {"bound": "a60"}}, {"integers": [0, 3]}, lets=lets)))

    def test_loose_enclosures_reject_nothing(self):
        def claim(body, bound):
            return with_lines(rehashed(total_network(), expression({"each": body}, {"integers": [0, 3]})), bound=f"bound {bound}")

        far = {"call": ["sin", [{"number": "100000"}]]}
        self.accepted(claim(far, "7"))
        self.declined(claim(far, "11/2"), "not enclosed well enough")
        self.rejected(claim({"binary": ["add", far, {"number": "10"}]}, "11/2"), "point")


class Command(Case):
    def run_on(self, files, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, data in zip(("certificate.fwc", "target.json", "model.safetensors"), files):
                (Path(folder) / name).write_bytes(data)
            command = [sys.executable, str(Path(checker.__file__)), folder, *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout

    def test_exit_codes(self):
        self.assertEqual(self.run_on(total_network())[0], 0)
        self.assertEqual(self.run_on(largest_network(temperature=4.0))[0], 1)
        self.assertEqual(self.run_on(with_lines(total_network(), badge="badge measured"))[0], 2)
        self.assertEqual(self.run_on(total_network()[:2])[0], 3)
        self.assertEqual(self.run_on(total_network(), "--jsn")[0], 3)
        code, text = self.run_on(total_network(), "--json")
        self.assertEqual((code, json.loads(text)["verdict"]), (0, "accepted"))

    def test_only_regular_files_are_read(self):
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)):
            for odd in ("certificate.fwc", "target.json", "model.safetensors"):
                with tempfile.TemporaryDirectory() as folder:
                    for name, data in zip(("certificate.fwc", "target.json", "model.safetensors"), total_network()):
                        make(Path(folder) / name) if name == odd else (Path(folder) / name).write_bytes(data)
                    done = subprocess.run([sys.executable, checker.__file__, folder], capture_output=True, text=True, check=False, timeout=60)
                    self.assertEqual(done.returncode, 3)
                    self.assertIn("it is no regular file", done.stderr)

    def test_checkers_that_contradict_each_other_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            for place, files in (("true", total_network()), ("false", largest_network(temperature=4.0))):
                (Path(folder) / place).mkdir()
                for name, data in zip(("certificate.fwc", "target.json", "model.safetensors"), files):
                    (Path(folder) / place / name).write_bytes(data)
            other = Path(folder) / "other"
            other.write_text("#!/bin/sh\necho accepted: whatever it is\n")
            other.chmod(0o700)
            for place, code, words in (("true", 0, "0 disagreements"), (".", 1, "1 disagreements"), ("false", 1, "rejected point, at 0; 1")):
                command = [sys.executable, str(Path(checker.__file__).with_name("agree.py")), str(other), str(Path(folder) / place)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, code, done)
                self.assertIn(words, done.stdout)


if __name__ == "__main__":
    unittest.main()
