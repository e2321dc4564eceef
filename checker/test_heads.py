"""Tests of positions, masks, selections and heads with scores: for each rule what it shows, and a case for each of its hypotheses."""

import math
import random
import unittest
import unittest.mock
from fractions import Fraction as F

import checker
import curves
import heads
import meanings
from forms import Form
from normal import Atoms
from test_checker import Case, rehashed, tensors
from test_meanings import MEAN, NARROW, ROOM, ast, call, changed, folder, mean, numbers, of
from tokens import Budget, TokenTarget

GATHER, SHIFT, SUM = (folder(f"accept/meanings-{name}") for name in ("gather", "shift", "sum"))
ATTEND = folder("accept/meanings-attend")
LARGEST, PREFIX = folder("accept/meanings-largest"), folder("accept/meanings-prefix")


def less(name, a, b):
    return {"compare": [name, a, b]}


def number(value):
    return {"number": str(value)}


def over(name, e, shown=None):
    return {"aggregate": [name, e, shown]}


UP_TO_HERE = less("less-equal", "running", "index")
BEFORE = {"gather": of("sub", "index", number(1))}
FIRST = less("less", "index", number(1))


class Lines(Case):
    def test_wires_have_one_form(self):
        for files, old, new in (
            (GATHER, "wire position 2 1 0", "wire position 2 1 x"), (GATHER, "wire position 2 1 0", "wire position 2 2/2 0"), (GATHER, "wire position 2 1 0", "wire position 2  0"),
            (GATHER, "wire gather 0 1 1 1 0 1 0 1", "wire gather 0 1 1 1"), (GATHER, "wire gather 0 1 1 1 0 1 0 1", "wire gather 0 1 3 1 0 1 0 1"),
            (GATHER, "wire gather 0 1 1 1 0 1 0 1", "wire gather 0 1 1 1 0 1 0 1 1"), (SHIFT, "wire select 0 1 1 1 0 1 5 -1", "wire select 0 1 1 1 0 1 6 -1"),
            (SHIFT, "wire select 0 1 1 1 0 1 5 -1", "wire select 0 1 1 1 0 1 5 0"), (PREFIX, "wire seen * 0 * * no mean 1", "wire seen * 0 * * no min 1"),
            (PREFIX, "wire seen * 0 * * no mean 1", "wire seen * 0 * * 0 mean 1"), (PREFIX, "wire seen * 0 * * no mean 1", "wire seen * 00 * * no mean 1"),
            (PREFIX, "wire seen * 0 * * no mean 1", "wire seen * -0 * * no mean 1"), (PREFIX, "wire seen * 0 * * no mean 1", "wire seen * 1/2 * * no mean 1"),
            (PREFIX, "wire seen * 0 * * no mean 1", "wire seen * 0 * no mean 1"), (PREFIX, "wire seen * 0 * * no mean 1 0 1 0 1", "wire seen * 0 * * no mean 0 1 0 1"),
        ):
            self.rejected(changed(files, [(old, new)], bound=ROOM), "format")

    def test_wires_are_made_once_and_by_what_makes_them(self):
        for files, changes in (
            (GATHER, [("head 3 -1/2 1 3 1 0 0", "head 3 -1/2 1 3 2 0 0")]), (GATHER, [("head 3 -1/2 1 3 1 0 0", "head 3 -1/2 2 0 1 3 1 0 0")]),
            (GATHER, [("head 3 -1/2 1 3 1 0 0", "head 2 -1/2 1 2 1 0 0")]), (GATHER, [("holds 2 0 1 2 1", "holds 2 0 1 3 1")]),
            (PREFIX, [("layer 1 1\nhead 1 -1/2 1 1 1 0 0", "layer 0 1")]), (SHIFT, [("gate 6 0 2 1 1 6 1", "gate 6 0 2 1 1 6 2")]),
            (SHIFT, [("gate 6 0 2 1 1 6 1 1 0 -1/8 2 1 9/8 5 -1", "gate 5 0 2 1 1 5 1 1 0 -1/8 2 1 9/8 5 -1")]), (SUM, [("head 4 0 1 4 1 0 0", "head 5 0 1 5 1 0 0")]),
            (SUM, [("layer 2 1\nhead 4 0 1 4 1 0 0\n", "layer 1 1\n")]), (PREFIX, [("mean 1 0 1 0 1", "mean 0 0 1 0 1")]),
        ):
            self.rejected(changed(files, changes, bound=ROOM), "line")


    def test_what_a_head_writes_has_one_line(self):
        nothing = [("layer 1 1\nhead 1 -1/2 1 1 1 0 0\nholds 0 0 2 0 1 1 -1", "layer 0 0"), ("output 0 2 0 1 1 -1", "output 0 1 0 1")]
        self.rejected(changed(MEAN, nothing, target=ast("token"), bound=ROOM), "line", "makes no wire")
        twice = [("meanings 2", "meanings 3"), ("wire mean 1 0 1 0 1", "wire mean 1 0 1 0 1\nwire mean 1 0 1 0 1"), ("layer 1 1\nhead 1 -1/2 1 1 1 0 0", "layer 2 1\nhead 1 -1/2 1 1 1 0 0\nhead 2 -1/2 1 2 1 0 0")]
        self.rejected(changed(MEAN, twice, bound=ROOM), "line", "makes another one")
        self.rejected(changed(MEAN, [*twice, ("0 2 0 1 1 -1\noutputs", "0 2 0 1 2 -1\noutputs"), ("output 0 2 0 1 1 -1", "output 0 2 0 1 2 -1")], bound=ROOM), "line", "makes another one")


class Positions(Case):
    def test_there_are_as_many_numbers_as_positions(self):
        for words, obligation, why in ((" 2 1", "line", "3 positions"), (" 2 1 0 0", "line", "3 positions"), ("", "format", "one or more")):
            self.rejected(changed(GATHER, [("wire position 2 1 0", f"wire position{words}")], bound=ROOM), obligation, why)
        self.rejected(changed(MEAN, [("meanings 2", "meanings 3"), ("wire input 0", "wire input 0\nwire position 1"), ("mean 1 0 1 0 1", "mean 1 0 1 0 1"), ("head 1 -1/2 1 1", "head 2 -1/2 1 2"),
                                     ("1 1 -1\noutputs", "2 1 -1\noutputs"), ("output 0 2 0 1 1 -1", "output 0 2 0 1 2 -1")], bound=ROOM), "line", "0 positions")

    def test_what_is_embedded_is_charged_at_every_position(self):
        for place, off in ((11, 1.0), (4, 0.25), (8, -0.5)):  # the input's register
            found = numbers(GATHER[2])[0]["pos"][1][place] + off
            self.declined(changed(GATHER, weights=[("pos", place, found)], bound="bound 1/5"))
        self.accepted(changed(GATHER, weights=[("pos", 4, 0.25)], bound="bound 1/2"))
        self.declined(changed(GATHER, [("holds 1 0 1 1 1", "holds 1 1/2 1 1 1")], bound=ROOM), "is shown of the bound")


class ByPosition(Case):
    def test_scores_are_of_positions_alone(self):
        for name, place in (("0.attn.k", 0), ("0.attn.q", 0)):
            self.declined(changed(GATHER, weights=[(name, place, 0.5)], bound="bound 3/4"), "more than positions")
        self.declined(changed(SUM, weights=[("1.attn.k", 2, 0.5)], bound="bound 3/4"), "more than positions")

    def test_what_is_gathered_has_the_weight(self):
        self.accepted(GATHER)
        other = ast({"gather": {"table": ["index", ["2", "0", "1"]]}})
        self.declined(changed(GATHER, [("wire position 2 1 0", "wire position 2 0 1")], target=other, bound="bound 3/4"), "is shown of the bound")
        self.declined(changed(GATHER, weights=[("0.attn.q", 1, 8.0)], bound="bound 1/1000"), "is shown of the bound")
        self.declined(changed(GATHER, weights=[("0.attn.q_bias", 1, 0.0)], bound="bound 3/4"), "is shown of the bound")
        for mask in ("* 0 * * no", "* * 1 * no", "* * * 1 no", "-1 1 * * no"):  # hides the one that is gathered
            self.declined(changed(GATHER, [("mask * * * * no", f"mask {mask}")], bound="bound 2/5"), "is shown of the bound")

    def test_what_names_a_token_is_one_of_positions(self):
        for old, new in (("wire gather 0 1 1 1 0 1 0 1", "wire gather 0 1 0 1 0 1 0 1"), ("wire gather 0 1 1 1 0", "wire gather 0 2 0 1/2 1 1 0"), ("wire gather 0 1 1 1", "wire gather 1/2 1 1 1"),
                         ("wire gather 0 1 1 1", "wire gather 1 1 1 1"), ("wire gather 0 1 1 1", "wire gather -1 1 1 1"), ("wire gather 0 1 1 1", "wire gather 0 1 1 2")):
            self.declined(changed(GATHER, [(old, new)], bound=ROOM), "gather")

    def test_what_is_summed_is_0_at_the_first_token(self):
        self.accepted(SUM)
        self.declined(changed(SUM, [("sum 1 0 1 2 1", "sum 1 1/8 1 2 1"), ("head 4 0", "head 4 -3/8"), ("holds 4 -1/2 2", "holds 4 -7/8 2")], bound="bound 9"), "not 0 at the first token")
        self.declined(changed(SUM, [("wire select 1 1 1 -1", "wire select 0 1 1 1")], bound="bound 9"), "not 0 at the first token")

    def test_weights_of_a_sum_are_equal_but_for_the_first(self):
        for place, value in ((0, 1.0), (5, 0.5), (10, 0.25)):  # the logarithms of what the first token gets
            self.declined(changed(SUM, weights=[("pos", place, value)], bound="bound 1/100"), "is shown of the bound")
        self.declined(changed(SUM, weights=[("1.attn.v", 3, 2.0)], bound="bound 1/2"), "is shown of the bound")  # n times the form
        self.declined(changed(SUM, weights=[("1.attn.k", 1, 0.0)], bound="bound 1/2"), "is shown of the bound")
        for mask in ("* * * * no", "* -1 * * yes", "-1 0 * * no"):
            self.declined(changed(SUM, [("mask * 0 * * yes", f"mask {mask}")], bound="bound 1/10"), "is shown of the bound")
        # Scores may hide what masks show, so a sum need not see what its wire says; but what is meant are the wire's tokens.
        self.declined(changed(SUM, [("seen * 0 * * yes sum", "seen * -1 * * yes sum")],
                              target=ast(of("add", over("sum", "token", less("less", "running", "index")), {"if": [FIRST, "token", number(0)]})), bound="bound 1/10"), "is shown of the bound")
        self.accepted(changed(SUM, [("seen * 0 * * yes sum", "seen * 0 * * no sum")]))

    def test_a_number_of_tokens_is_known(self):
        text = "seen * 0 * * no sum 1 0 1 0 1"
        self.declined(changed(PREFIX, [("seen * 0 * * no mean 1 0 1 0 1", text)], bound=ROOM), "several numbers of tokens")


def attended(score, value, shown=None):
    power = call("exp", score)
    return of("div", over("sum", of("mul", power, value), shown), over("sum", power, shown))


class Softmax(Case):
    """attend(2 * x * x[i] + x, 1 - x, j <= i): the stream holds 1/2 - x, queries are 2 x[i] + 1, keys x less 1/2."""

    WIRE = "attend * 0 * * no 1 1 0 -1 1 1 1 0 2 0 1 0 1"
    SCORE = of("add", of("mul", of("mul", number(2), "token"), {"gather": "index"}), "token")
    VALUE = of("sub", number(1), "token")

    def test_the_head_sees_what_the_wire_says(self):
        self.accepted(ATTEND)
        for mask in ("* * * * no", "* * 0 * no", "* 0 * * yes"):
            self.rejected(changed(ATTEND, [("mask * 0 * * no", f"mask {mask}")], bound=ROOM), "line", "other tokens")
        all_of = [("mask * 0 * * no", "mask * * * * no"), ("attend * 0 * * no", "attend * * * * no")]
        self.accepted(changed(ATTEND, all_of, target=ast(attended(self.SCORE, self.VALUE))))
        self.differs(changed(ATTEND, all_of, bound=NARROW))

    def test_queries_keys_and_values_are_those_of_the_line(self):
        for tensor, steep in (("0.attn.q", -2.25), ("0.attn.q_bias", 2.25), ("0.attn.k", -1.25), ("0.attn.k", 1.0), ("0.attn.v", 1.25)):
            self.declined(changed(ATTEND, weights=[(tensor, 0, steep)]), "is shown of the bound")
            self.accepted(changed(ATTEND, weights=[(tensor, 0, steep)], bound="bound 2"))
        self.declined(changed(ATTEND, weights=[("0.attn.k", 0, -1.0 - 2.0**-12)]), "is shown of the bound")
        self.declined(changed(ATTEND, weights=[("0.attn.k", 0, -1.0 - 2.0**-12)], bound="bound 1/10000"), "is shown of the bound")
        self.accepted(changed(ATTEND, weights=[("0.attn.k", 0, -1.0 - 2.0**-12)], bound="bound 1/1000"))

    def test_the_line_is_what_the_target_says(self):
        for wire in ("attend * 0 * * no 1 1 0 -1 1 1 1 0 3 0 1 0 1", "attend * 0 * * no 1 1 0 -1 1 1 1 0 2 0 1 0 2", "attend * 0 * * no 2 1 0 -1 1 1 1 0 2 0 1 0 1"):
            self.differs(changed(ATTEND, [(self.WIRE, wire)], bound=NARROW))
        for score in (of("mul", number(2), self.SCORE), of("mul", self.SCORE, self.SCORE), "token"):
            self.differs(changed(ATTEND, target=ast(attended(score, self.VALUE, UP_TO_HERE)), bound=NARROW))

    def test_what_belongs_to_the_token_that_sees_changes_no_weight(self):
        rest = self.WIRE.replace("no 1 1 0 -1 1 ", "no 1 1 0 -1 2 ") + " 1/3 1 0 5 1 0"
        more = of("add", of("add", self.SCORE, of("mul", number(5), {"gather": "index"})), number("1/3"))
        self.accepted(changed(ATTEND, [(self.WIRE, rest)], target=ast(attended(more, self.VALUE, UP_TO_HERE))))
        self.differs(changed(ATTEND, [(self.WIRE, rest)], bound=NARROW))

    def test_a_score_has_as_many_products_as_the_head(self):
        two = self.WIRE.replace("no 1 1 0 -1 1 ", "no 1 1 0 -1 2 ") + " 0 1 0 1 0 1 0 1"
        more = of("add", self.SCORE, of("mul", "token", {"gather": "index"}))
        self.rejected(changed(ATTEND, [(self.WIRE, two)], target=ast(attended(more, self.VALUE, UP_TO_HERE)), bound=ROOM), "line", "another number of products")
        none = [(self.WIRE, "attend * 0 * * no 1 1 0 -1 0")]
        self.rejected(changed(ATTEND, none, target=ast(over("mean", self.VALUE, UP_TO_HERE)), bound=ROOM), "line", "another number of products")

    def test_scores_do_not_overflow(self):
        self.rejected(changed(ATTEND, weights=[("0.attn.q_bias", 0, 3e38), ("0.attn.k", 0, 2.0)], bound=ROOM), "finite")

    def test_a_line_has_its_words(self):
        for wire in ("attend * 0 * * no 1 1 0 -1 1 1 1 0 2", "attend * 0 * no 1 1 0 -1 1 1 1 0 2 0 1 0 1", "attend * 0 * * no 1 1 0 -1 1 1 1 1 2 0 1 0 1", self.WIRE + " 0 1 0 1"):
            self.rejected(changed(ATTEND, [(self.WIRE, wire)], bound=ROOM), "format")

    def test_the_mean_moves_by_no_more_than_half_of_what_scores_are_off(self):
        rng = random.Random(7)
        for _ in range(2000):
            n, e = rng.randint(1, 6), rng.random() ** 2
            scores, values = [rng.uniform(-3, 3) for _ in range(n)], [rng.random() for _ in range(n)]

            def mean_of(s):
                powers = [math.exp(x) for x in s]
                return sum(p * v for p, v in zip(powers, values, strict=True)) / sum(powers)

            off = [s + rng.choice((-e, e)) for s in scores]
            self.assertLessEqual(abs(mean_of(off) - mean_of(scores)), e / 2 * (max(values) - min(values)) + 1e-12)


class Largest(Case):
    WIRE, HEAD = "seen * * * * no max 1 0 1 0 1", "head 1 -4614169504635567719/9223372036854775808 1 1 1 0 0"

    def test_the_head_sees_what_the_wire_says(self):
        self.accepted(LARGEST)
        for mask in ("* 0 * * no", "* * 0 * no", "* * * * yes"):
            self.rejected(changed(LARGEST, [("mask * * * * no", f"mask {mask}")], bound=ROOM), "line", "other tokens")
        self.rejected(changed(LARGEST, [("seen * * * * no max", "seen * 0 * * no max")], bound=ROOM), "line", "other tokens")
        both = [("mask * * * * no", "mask * 0 * * no"), ("seen * * * * no max", "seen * 0 * * no max")]
        self.accepted(changed(LARGEST, both, target=ast(over("max", "token", UP_TO_HERE))))
        self.differs(changed(LARGEST, both, bound=NARROW))

    def test_its_number_is_positive(self):
        self.declined(changed(LARGEST, [("max 1 0 1 0 1", "max -1 0 1 0 1")], bound=ROOM), "negative")
        self.rejected(changed(LARGEST, [("max 1 0 1 0 1", "max 0 0 1 0 1")], bound=ROOM), "line")
        twice = [("0.attn.v", 0, 2.0), ("0.attn.k", 0, 2.0), ("0.attn.q_bias", 0, 512.0), ("read_out.weight", 1, 0.5)]
        self.declined(changed(LARGEST, weights=twice, bound="bound 1/10"), "is shown of the bound")

    def test_scores_are_the_value_times_what_is_positive(self):
        for weights in ([("0.attn.q_bias", 0, -1024.0)], [("0.attn.k", 0, 2.0)], [("0.attn.k", 0, -1.0)], [("0.attn.q", 0, 1.0)]):
            self.declined(changed(LARGEST, weights=weights, bound=ROOM), "scores that are not")
        self.declined(changed(LARGEST, weights=[("0.attn.q_bias", 0, 0.0)], bound="bound 1/10"), "scores that are not")
        self.declined(changed(LARGEST, [("max 1 0 1 0 1", "mean 1 0 1 0 1")], bound=ROOM), "not all 0")
        self.declined(changed(PREFIX, [("mean 1 0 1 0 1", "max 1 0 1 0 1")], bound=ROOM), "scores that are not a positive number")

    def test_another_row_of_scores(self):
        found, _ = numbers(LARGEST[2])
        for q, b, k, word in (([0.0, 0.0], 0.0, [1.0, 0.0], "accepted"), ([0.0, 0.0], 1.0, [0.0, 0.0], "accepted"), ([0.0, 0.0], 1.0, [1.0, 0.0], "declined"),
                              ([1.0, 0.0], 0.0, [1.0, 0.0], "declined"), ([0.0, 1.0], 0.0, [1.0, 0.0], "accepted")):  # the second register holds nothing yet
            more = {"0.attn.q": [[1, 1, 2, 2], found["0.attn.q"][1] + q], "0.attn.q_bias": [[1, 1, 2], found["0.attn.q_bias"][1] + [b]], "0.attn.k": [[1, 1, 2, 2], found["0.attn.k"][1] + k]}
            files = rehashed((LARGEST[0].replace(b"softmax 1 1 1 0", b"softmax 1 2 1 0"), *LARGEST[1:]), None, tensors({**found, **more}, "f32"))
            self.assertEqual(checker.check(*files).verdict, word, (q, b, k))

    def test_temperature_and_offset_are_charged(self):
        self.declined(changed(LARGEST, weights=[("0.attn.q_bias", 0, 512.0)]), "is shown of the bound")
        self.accepted(changed(LARGEST, weights=[("0.attn.q_bias", 0, 512.0)], bound="bound 1/1000"))
        self.declined(changed(LARGEST, weights=[("read_out.bias", 0, 0.5)]), "is shown of the bound")
        self.declined(changed(LARGEST, weights=[("0.attn.v", 0, 1.5), ("0.attn.k", 0, 1.5)], bound="bound 1/10"), "is shown of the bound")
        self.declined(changed(LARGEST, [("tokens 1 3", "tokens 1 8")]), "is shown of the bound")

    def test_a_value_that_reads_something_else_is_charged(self):
        plain = [("holds 0 -1/2", "holds 0 0"), (self.HEAD, "head 1 0 1 1 1 0 0"), ("holds 1 -4614169504635567719/9223372036854775808", "holds 1 0")]
        for steep, bound, word in ((1.0, "1/1000", "accepted"), (1.25, "1/10", "declined"), (1.25, "1/2", "accepted"), (0.75, "1/10", "declined")):
            weights = [("embed.bias", 0, 0.0), ("read_out.bias", 0, 0.0), ("0.attn.v", 0, steep), ("0.attn.k", 0, steep)]
            self.assertEqual(checker.check(*changed(LARGEST, plain, weights=weights, bound=f"bound {bound}")).verdict, word, (steep, bound))

    def test_scores_do_not_overflow(self):
        self.rejected(changed(LARGEST, weights=[("embed.weight", 0, 1.25), ("0.attn.q_bias", 0, 3e38)], bound=ROOM), "finite", "scores of up to")  # their difference
        for name, value in (("0.attn.q_bias", 3e38), ("0.attn.k", 3e38)):
            self.rejected(changed(LARGEST, weights=[(name, 0, value)] + [("0.attn.v", 0, value)] * (name == "0.attn.k"), target=ast(over("max", "token"), high="8"), bound=ROOM), "finite")
        self.rejected(changed(GATHER, weights=[("0.attn.q", 1, 3e38)], bound=ROOM), "finite")

    def test_a_head_with_scores_writes_what_is_named(self):
        self.declined(changed(LARGEST, [(f"layer 1 1\n{self.HEAD}\nholds 1 -4614169504635567719/9223372036854775808 1 1 1", "layer 0 0"), ("output 0 1 1 1", "output 0 1 0 1")],
                              weights=[("0.attn.o", 1, 0.0)], target=ast("token"), bound=ROOM), "nothing is said")

    def test_the_gap_of_an_average(self):
        """Σ d e^-d / Σ e^-d, one d being 0, is at most the w of w e^w = (n - 1)/e."""
        rng = random.Random(5)
        for n in (1, 2, 3, 9, 64):
            bound, most = heads.lambert((n - 1) * F(36788, 100000)), 0.0
            self.assertLessEqual(F(n - 1) * F(36787, 100000), bound * F(math.exp(bound)) * (1 + F(1, 10**9)))
            for _ in range(200):
                near = rng.uniform(0, 6)
                gaps = [0.0] + [near + rng.uniform(0, 0.1) * rng.random() for _ in range(n - 1)]
                most = max(most, sum(d * math.exp(-d) for d in gaps) / sum(math.exp(-d) for d in gaps))
            self.assertLessEqual(most, bound * (1 + F(1, 10**9)))
            self.assertGreater(most, bound * F(9, 10) - F(1, 10**9))


class Selection(Case):
    GATE = "gate 6 0 2 1 1 6 1 1 0 -1/8 2 1 9/8 5 -1"

    def test_the_condition_is_0_or_1_at_every_position(self):
        self.accepted(SHIFT)
        for new in ("select 0 1 1 2 0", "select 0 1 1 1/2 0", "select 0 1 5 1 0", "select 1 1 1 1 0", "select 0 1 0 1 0"):
            self.declined(changed(SHIFT, [("select 0 1 1 1 0", new)], bound="bound 9"), "not 0 or 1 at every position")

    def test_a_condition_that_is_the_other_one(self):
        self.declined(changed(SHIFT, [("select 0 1 1 1 0", "select 1 1 1 -1 0")], bound="bound 1/2"))
        self.declined(changed(SHIFT, [("wire position 1 0 0\nwire input", "wire position 0 1 0\nwire input")], bound="bound 1/20"))

    def test_what_it_reads_and_adds_beside_the_value_is_of_positions(self):
        for new in (self.GATE.replace("9/8 5 -1", "9/8 2 1 5 -1").replace("-1/8 2 1", "-1/8 3 1"), self.GATE.replace("6 0 2 1 1 6 1", "6 0 3 1 1 5 1 6 1")):
            self.assertNotEqual(checker.check(*changed(SHIFT, [(self.GATE, new)], bound="bound 9")).verdict, "accepted")
        self.declined(changed(SHIFT, [("select 0 1 1 1 0 1 5 -1", "select 0 1 1 1 0 1 5 -2")], bound="bound 9"), "more than the value")

    def test_what_it_adds_beside_is_of_positions(self):
        lines = [(self.GATE, self.GATE.replace("6 0 2 1 1 6 1", "6 0 3 1 1 5 1 6 1")), ("holds 5 -1/18 3 1 1 5 1/9 6 1", "holds 5 -1/18 3 1 1 5 10/9 6 1"), ("output 0 2 5 1 6 1", "output 0 2 5 2 6 1")]
        target = ast({"if": [FIRST, "token", of("mul", number(2), BEFORE)]})
        self.declined(changed(SHIFT, lines, target=target, bound="bound 1/20"), "more than the value")

    def test_units_stand_for_the_value_or_nothing(self):
        for weights in ([("0.ff.b1", 0, -0.125)], [("0.ff.b1", 0, 0.5)], [("0.ff.w1", 4, 0.5)], [("0.ff.w1", 4, -1.0)], [("pos", 4, 0.5)], [("pos", 10, 1.125)]):
            verdict = checker.check(*changed(SHIFT, weights=weights, bound="bound 1/20"))
            self.assertEqual(verdict.verdict, "declined", (weights, verdict))
        self.declined(changed(SHIFT, [(self.GATE, self.GATE.replace("6 0 2", "6 1/4 2")), ("holds 5 -1/18 3", "holds 5 7/36 3")], bound="bound 1/20"), "is shown of the bound")
        self.rejected(changed(SHIFT, weights=[("0.ff.b2", 0, 1.0)], bound=ROOM), "line")


class Means(Case):
    def test_the_head_sees_what_the_wire_says(self):
        for mask in ("* * * * no", "* -1 * * yes", "* 0 0 * no", "* 0 * * yes"):
            self.rejected(changed(PREFIX, [("mask * 0 * * no", f"mask {mask}")], bound=ROOM), "line", "other tokens")
        for mask in ("* 0 * * no", "-2 2 0 2 no"):
            self.rejected(changed(MEAN, [("mask * * * * no", f"mask {mask}")], bound=ROOM), "line", "other tokens")
        self.accepted(changed(MEAN, [("mask * * * * no", "mask * * * * yes")]))

    def test_its_scores_are_0(self):
        self.declined(changed(PREFIX, weights=[("0.attn.q_bias", 0, 1.0), ("0.attn.k", 0, 1.0)], bound=ROOM), "not all 0")
        self.accepted(changed(PREFIX, weights=[("0.attn.q_bias", 0, 1.0), ("0.attn.k", 1, 1.0)]))  # of a register that holds nothing


class TokenByToken(Case):
    def test_targets_that_are_the_same(self):
        last = of("sub", "length", number(1))
        back = [of("sub", last, "index"), of("mod", of("sub", number(-1), "index"), "length"), call("floor", of("sub", of("add", last, number("1/2")), "index")),
                {"table": ["index", ["2", "1", "0"]]}, of("sub", of("sub", {"aggregate": ["count", less("less", "running", "length"), None]}, number(1)), "index")]
        for e in back:
            self.accepted(changed(GATHER, target=ast({"gather": e})))
        self.accepted(changed(GATHER, target=ast({"gather-bound": ["a", back[0]]}, lets=[{"name": "a", "value": "token"}])))
        for e in (over("max", "token", less("equal", of("add", "running", "index"), last)), over("min", "token", less("equal", "running", back[0])), over("sum", "token", {"not": less("not-equal", "running", back[0])})):
            self.accepted(changed(GATHER, target=ast(e)))
        for e in (of("sub", over("sum", "token"), over("sum", "token", less("greater", "running", "index"))), of("mul", over("mean", "token", UP_TO_HERE), of("add", "index", number(1))),
                  over("sum", "token", {"and": [less("less", "running", number(9)), {"or": [UP_TO_HERE, less("less", "running", number(0))]}]})):
            self.accepted(changed(SUM, target=ast(e)))
        self.accepted(changed(SHIFT, target=ast({"if": [FIRST, of("mul", number(0), {"gather": number(2)}), BEFORE]})))

    def test_targets_that_differ_at_one_token_or_length(self):
        for e in ({"gather": "index"}, {"gather": number(0)}, {"gather": of("mod", "index", number(2))}, {"if": [FIRST, {"gather": number(1)}, {"gather": of("sub", number(2), "index")}]}):
            self.differs(changed(GATHER, target=ast(e), bound=NARROW))
        for shown in (less("less", "running", "index"), less("greater-equal", "running", "index"), {"or": [UP_TO_HERE, less("equal", "running", number(2))]}):
            self.assertNotEqual(checker.check(*changed(PREFIX, target=ast(over("mean", "token", shown)), bound=NARROW)).verdict, "accepted")
        for n in (1, 2, 3):
            self.declined(changed(PREFIX, target=ast({"if": [less("equal", "length", number(n)), number(1), over("mean", "token", UP_TO_HERE)]}), bound=ROOM), f"of {n}: ")
        self.differs(changed(SUM, target=ast(over("mean", "token", UP_TO_HERE)), bound=NARROW))

    def test_the_target_has_a_value_at_every_token(self):
        for e, at_first in (
            (BEFORE, False), ({"gather": of("div", "index", number(2))}, True), ({"gather": of("add", "index", number(1))}, True), ({"table": ["index", ["1", "2"]]}, True),
            (over("mean", "token", less("less", "running", "index")), False), (over("max", "token", less("greater", "running", "index")), True), (of("div", number(1), "index"), False),
            (call("log", "index"), False), (of("mod", "token", number(2)), False), ({"gather": "token"}, False), (call("floor", "token"), False),
            ({"if": [less("less", "token", number("1/2")), number(1), number(1)]}, False), ({"if": [{"or": [less("less", BEFORE, number(2)), FIRST]}, number(1), number(1)]}, False),
        ):
            zero = of("mul", number(0), e)
            self.assertEqual(checker.check(*changed(PREFIX, target=ast(of("add", over("mean", "token", UP_TO_HERE), zero)), bound=ROOM)).verdict, "declined", e)
            self.assertEqual(checker.check(*changed(SHIFT, target=ast({"if": [FIRST, zero, BEFORE]}), bound=ROOM)).verdict, "accepted" if at_first else "declined", e)
        self.accepted(changed(PREFIX, target=ast(of("add", over("mean", "token", UP_TO_HERE), of("mul", number(0), {"sort": "token"}))), bound=ROOM))
        unused = [{"name": "a", "value": BEFORE}]
        self.declined(changed(SHIFT, target=ast({"if": [FIRST, number(0), BEFORE]}, lets=unused)), "value everywhere")

    def test_only_the_branch_that_is_taken_needs_a_value(self):
        for other in (call("log", number(-1)), {"gather": number(7)}, of("div", number(1), number(0)), {"sort": "token"}):
            self.accepted(changed(SHIFT, target=ast({"if": [FIRST, number(0), {"if": [less("greater", "index", number(2)), other, BEFORE]}]})))

    def test_the_largest_of_normal_forms(self):
        c = type("C", (), {"dims": 1})
        atoms = Atoms()

        def form(e, n=3):
            return TokenTarget({"body": {"each": e}}, c, (F(0), F(1)), atoms, n, Budget()).outputs

        x, y = {"gather": number(0)}, {"gather": number(1)}
        for one, other in (
            (over("max", "token", less("less", "running", number(2))), call("max", x, y)), (call("max", x, y), of("add", x, call("relu", of("sub", y, x)))),
            (call("min", x, y), of("sub", x, call("relu", of("sub", x, y)))), (over("max", of("add", of("mul", number(2), "token"), number(1))), of("add", number(1), of("mul", number(2), over("max", "token")))),
            (over("min", "token"), {"negate": over("max", {"negate": "token"})}), (over("max", of("sub", "token", x)), of("sub", over("max", "token"), x)),
            (call("abs", of("sub", x, y)), of("sub", call("max", x, y), call("min", x, y))), (over("var", "token"), of("sub", over("mean", {"power": ["token", 2]}), {"power": [over("mean", "token"), 2]})),
            ({"aggregate": ["count", less("less", "running", "index"), None]}, "index"), ({"sort": "token"}, "token"),
        ):
            self.assertEqual(form(one, 1 if one == {"sort": "token"} else 3), form(other, 1 if one == {"sort": "token"} else 3), (one, other))
        for one, other in ((over("max", "token"), over("min", "token")), (over("max", "token"), call("max", x, y)), (over("max", of("mul", number(-1), "token")), of("mul", number(-1), over("max", "token"))),
                           (call("relu", of("sub", x, y)), call("relu", of("sub", y, x))), (over("max", "token"), over("max", "token", UP_TO_HERE))):
            self.assertNotEqual(form(one), form(other), (one, other))


class Charges(unittest.TestCase):
    def proved(self, files):
        c = checker.read_certificate(files[0])
        return c, meanings.prove_meanings(c, checker.read_tensors(files[2], c), checker.read_target(files[1], c))

    def test_errors_of_inputs_pass_through_heads(self):
        """Were inputs off by 1/8, each of what is gathered, selected, averaged, summed or the largest would be."""
        plain = meanings.Meant.rounded_input
        for files, factor in ((GATHER, 1), (LARGEST, 1), (PREFIX, 1), (SHIFT, 1), (SUM, 3)):
            loose = changed(files, bound="bound 9")
            with unittest.mock.patch.object(meanings.Meant, "rounded_input", lambda meant: curves.Profile([(F(0), F(1), F(1, 8))])):
                shown = self.proved(loose)[1].error
            self.assertGreaterEqual(shown, F(factor, 8))
            self.assertLess(self.proved(loose)[1].error, F(1, 1000))
            self.assertIs(meanings.Meant.rounded_input, plain)

    def test_what_a_value_rounds_is_charged(self):
        c, meant = self.proved(SUM)
        head, made = heads.Head(meant, c.runs[1], 1, 0, 0), c.meanings.layers[2].made[0]
        rounding, lost = head.values[0][1], meant.registers[3][1]
        self.assertGreater(rounding, 0)
        self.assertEqual(head.reading(Form.of(0, {2: F(3)}), made), rounding + 3 * lost)
        self.assertGreaterEqual(head.reading(Form.of(0, {2: F(4)}), made), rounding + 3 * lost + 1)

    def test_weights_lie_in_their_enclosures(self):
        """Of scores that are known roughly; the largest is known, or not."""
        a, rng = checker.Arithmetic(*checker.FORMATS["f64"]), random.Random(2)
        for _ in range(200):
            ends = [sorted(F(rng.randrange(-64, 65), 32) for _ in range(2)) for _ in range(rng.randrange(1, 5))]
            weights = checker.softmax(a, [checker.Num(lo, hi, -5) for lo, hi in ends])
            for _ in range(5):
                scores = [rng.choice((lo, hi, (lo + hi) / 2)) for lo, hi in ends]
                powers = [math.exp(s - max(scores)) for s in scores]
                for p, weight in zip(powers, weights, strict=True):
                    self.assertTrue(weight.lo * (1 - F(1, 10**12)) <= F(p / sum(powers)) <= weight.hi * (1 + F(1, 10**12)), (ends, scores))


class Executions(unittest.TestCase):
    def output(self, c, found, x):
        """The network in doubles, one execution of many."""
        n, first = len(x), 0
        z = [[w * t + b for w, b in zip(found["embed.weight"][1], found["embed.bias"][1], strict=True)] for t in x]
        for t in range(n if c.positions else 0):
            z[t] = [a + b for a, b in zip(z[t], found["pos"][1][t * c.width : (t + 1) * c.width], strict=True)]

        def rows(name, at, count):
            entries = found[name][1]
            return [entries[(at + k) * c.width : (at + k + 1) * c.width] for k in range(count)]

        def times(rows, z):
            return [sum(w * e for w, e in zip(row, z, strict=True)) for row in rows]

        for run in c.runs:
            if run.kind:
                added = [[0.0] * c.width for _ in x]
                for h in range(run.heads):
                    d, m = run.head_size, run.value_size
                    bias, o = found[f"{first}.attn.q_bias"][1][h * d : (h + 1) * d], found[f"{first}.attn.o"][1][h * c.width * m : (h + 1) * c.width * m]
                    queries = [[a + b for a, b in zip(times(rows(f"{first}.attn.q", h * d, d), e), bias, strict=True)] for e in z]
                    keys, values = ([times(rows(f"{first}.attn.{name}", h * size, size), e) for e in z] for name, size in (("k", d), ("v", m)))
                    for t in range(n):
                        seen = [k for k in range(n) if checker.shows(run.masks[h], t, k)]
                        scores = [sum(map(math.prod, zip(keys[k], queries[t], strict=True))) for k in seen]
                        powers = [math.exp(s - max(scores)) for s in scores]
                        for i in range(c.width):
                            added[t][i] += sum(o[i * m + j] * sum(p * values[k][j] for p, k in zip(powers, seen, strict=True)) / sum(powers) for j in range(m))
                z = [[a + b for a, b in zip(e, more, strict=True)] for e, more in zip(z, added, strict=True)]
            if run.hidden:
                units = [[max(s + b, 0.0) for s, b in zip(times(rows(f"{first}.ff.w1", 0, run.hidden), e), found[f"{first}.ff.b1"][1], strict=True)] for e in z]
                w2 = found[f"{first}.ff.w2"][1]
                z = [[a + sum(w * u for w, u in zip(w2[i * run.hidden : (i + 1) * run.hidden], unit, strict=True)) for i, a in enumerate(e)] for e, unit in zip(z, units, strict=True)]
            first += run.blocks
        return [found["read_out.bias"][1][0] + times([found["read_out.weight"][1]], e)[0] for e in z]

    def test_what_is_shown_is_never_exceeded(self):
        rng = random.Random(9)
        for name, target in (
            ("gather", lambda x: x[::-1]), ("shift", lambda x: [0.0, *x[:-1]]), ("sum", lambda x: [sum(x[: t + 1]) for t in range(len(x))]), ("larger", lambda x: [max(t, sum(x) / len(x)) for t in x]),
            ("largest", lambda x: [max(x)] * len(x)), ("prefix", lambda x: [sum(x[: t + 1]) / (t + 1) for t in range(len(x))]),
        ):
            files, most = folder(f"accept/meanings-{name}"), 0.0
            c = checker.read_certificate(files[0])
            shown = meanings.prove_meanings(c, checker.read_tensors(files[2], c), checker.read_target(files[1], c)).error
            found = numbers(files[2])[0]
            for _ in range(500):
                n = rng.randrange(c.least, c.most + 1)
                x = [rng.choice((rng.random(), 0.0, 1.0, 1 - rng.random() / 1000)) for _ in range(n)]
                most = max(most, *(abs(y - f) for y, f in zip(self.output(c, found, x), target(x), strict=True)))
            self.assertLess(F(most), shown, name)
            if name == "largest":
                self.assertGreater(F(most), shown * F(9, 10))


if __name__ == "__main__":
    unittest.main()
