#!/usr/bin/env python3
"""A second checker of `certificate.fwc`, version 2, written from CERTIFICATE.md alone; sections below are that page's.

medians.py decides claims by the median of copies, section 6; hosts.py decides folders of stock hosts, section 10.

Usage: checker.py DIR [--json]. Exit 0 accepted, 1 rejected, 2 declined, 3 for an unreadable file or wrong usage.
Standard library only. Everything a verdict rests on is an integer or a Fraction; there is no float.

How it proves a claim: the network is run on sets. A computed number is an interval that holds it in every execution,
and a power of two that it is a multiple of. The sets are single sequences of integers, or the good parts of the cells
of a box, and the whole box for what lies between them. What a token becomes in a block depends on its numbers alone, so
it is computed once; sequences that are permutations of each other thus cost little more than one, and no rule of
symmetry is needed.
"""

import argparse
import hashlib
import json
import math
import re
import stat
import sys
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

# The limits of this checker; beyond them it declines.
SEQUENCES = 20_000  # sequences of integers, or cells
WORK = 2_000_000  # terms of sums in the network: some minutes
STEPS = 4_000_000  # operations of the target, as if none could be skipped
PIECES = 200_000  # pieces of cells on which the target is enclosed
WEIGHTS = 500_000
NUMBERS = 1_000_000  # numbers of tokens that are kept
TEXT = 1 << 21  # bytes of a certificate, a target, or a header
LONGEST = 1 << 24  # bytes of any certificate, by section 1
BLOCKS = 100_000
TOKENS = 64
MEANT = 1 << 20  # tokens, where meanings say what all lengths have in common
HIDING = 1 << 24  # pairs of tokens and lengths, for all masks that may hide some
KINKS = 12  # places at which a layer is cut into pieces
SIZE = 1 << 14  # numbers of the target are below 2^SIZE; fractions with more binary digits are rounded
DEEPEST = 256  # so many lists and objects may lie around a value of JSON

ZERO, ONE = Fraction(0), Fraction(1)
EXACT = 1 << 12  # what 0 is a multiple of: a power of two beyond both formats, as that of -EXACT is below them


class Rejected(Exception):
    """An obligation of section 6 is not met."""

    def __init__(self, obligation, place, reason):
        super().__init__(reason)
        self.obligation, self.place, self.reason = obligation, place, reason


class Declined(Exception):
    """A claim of a kind or a size that is not decided here."""


class Undefined(Exception):
    """The target has no value."""


class Unclear(Exception):
    """Enclosures do not decide whether the target has a value, or which."""


def within(found, limit, what):
    """Declines what is more than is looked at, before it is."""
    if found > limit:
        found = found if found < 10**19 else "more than 10^19"
        raise Declined(f"{found} {what}, the limit is {limit}")


@dataclass(frozen=True)
class Verdict:
    """`accepted` with the claim as its reason, `rejected` with obligation and place, or `declined`."""

    verdict: str
    obligation: str
    place: str
    reason: str


# ---------------------------------------------------------------------------------------------- 1. The text

COUNT, RATIONAL = re.compile("[0-9]{1,10}"), re.compile("(-?[0-9]{1,4096})(?:/([0-9]{1,4096}))?")


def count(word):
    return int(word) if COUNT.fullmatch(word) and int(word) < 1 << 31 else None


def limit(word):
    return word if word == "*" else count(word) if word[:1] != "-" or count(word[1:]) is None else -count(word[1:])


def integer(word):
    value = limit(word)
    return value if str(value) == word != "*" else None


def rational(word):
    match = RATIONAL.fullmatch(word)
    value = Fraction(int(match[1]), int(match[2] or 1)) if match and int(match[2] or 1) else None
    return value if value is not None and str(value) == word else None


def text(pattern):
    return lambda word: word if re.fullmatch(pattern, word) else None


WORDS = {
    "<count>": count, "<size>": lambda word: count(word) or None, "<limit>": limit, "<rational>": rational,
    "<hash>": text("[0-9a-f]{64}"), "<badge>": text("certified|measured|exact-on-grid"),
    "<over>": text("box|integers|space"), "<yes|no>": text("yes|no"),
    "<class>": text("[a-z0-9-]+"),
    "<kind>": text("softmax|average|linformer|performer|x-[a-z0-9-]+"), "<format>": text("f64|f32"),
}


class Lines:
    """The lines of a certificate, one after the other."""

    def __init__(self, data):
        if len(data) > LONGEST:
            raise Rejected("format", "certificate.fwc", "longer than 2^24 bytes")
        within(len(data), TEXT, "bytes of certificate.fwc")
        if re.search(b"[^\n -~]", data):
            raise Rejected("format", "certificate.fwc", "a byte that is neither printable ASCII nor LF")
        self.lines, self.number = data.decode("ascii").split("\n"), 0

    def wrong(self, wanted):
        found = self.lines[self.number - 1][:80] if self.number <= len(self.lines) else "the end of the file"
        return Rejected("format", f"certificate.fwc, line {self.number}", f"expected {wanted}, found `{found}`")

    def next_word(self):
        """The first word of the next line."""
        return "".join(self.lines[self.number : self.number + 1]).split(" ")[0]

    def take(self, *shapes):
        """The words of the next line, in the first shape that fits; printing them gives the same line."""
        self.number += 1
        words = self.lines[self.number - 1].split(" ") if self.number <= len(self.lines) else []
        for shape in shapes:
            values = [WORDS.get(s, text(re.escape(s)))(word) for s, word in zip(shape.split(" "), words)]
            whole = len(values) == len(words) == len(shape.split(" ")) and None not in values
            if whole and list(map(str, values)) == words:
                return values
        raise self.wrong(" or ".join(f"`{shape}`" for shape in shapes))

    def connections(self, tokens):
        """Behind the masks of a run: a cycle of layers, in each of them for every token the keys that it sees; or none."""
        if not "".join(self.lines[self.number : self.number + 1]).startswith("connections "):
            return []
        return [tuple(self.keys(tokens) for _ in range(tokens)) for _ in range(self.take("connections <size>")[1])]

    def keys(self, tokens):
        self.number += 1
        word, *words = self.lines[self.number - 1].split(" ") if self.number <= len(self.lines) else [""]
        keys = [count(word) for word in words]
        ascending = keys and None not in keys and keys == sorted(set(keys)) and keys[-1] < tokens
        if word != "sees" or not ascending or list(map(str, keys)) != words:
            raise self.wrong(f"`sees` and different tokens of {tokens}, ascending")
        return frozenset(keys)


def read_certificate(data):
    """Section 1, as written there; the fields of what is returned have the names of the lines."""
    lines, c = Lines(data), SimpleNamespace(hashes={}, assumptions=[], runs=[])
    take = lines.take
    if lines.lines[0] == "formwright-certificate 1":
        raise Declined("the certificate is of version 1, whose softmax divides once; in version 2 it may also multiply by "
                       "the rounded reciprocal of the sum; rebuild the folder")
    take("formwright-certificate 2")
    for name in ("target.json", "model.safetensors"):
        *_, c.hashes[name] = take(f"sha256 {name} <hash>")
    read_claim(lines, c)
    read_sizes(lines, c)
    _, c.width = take("width <size>")
    _, c.positions = take("positions <count>")
    _, runs = take("runs <count>")
    within(runs, BLOCKS, "runs")
    c.runs = [read_run(lines, c.most) for _ in range(runs)]
    _, c.cells = take("cells <count>")
    _, *c.margins = take("margins <rational> <rational>")
    if min(c.margins) < 0 or sum(c.margins) > 1:
        raise lines.wrong("shares of a cell")
    from meanings import read_meanings
    from medians import read_median

    c.median, c.meanings = read_median(lines, c), read_meanings(lines, c)
    take("end")
    take("")
    if lines.number != len(lines.lines):
        raise lines.wrong("nothing behind `end` and its LF")
    return c


def read_claim(lines, c):
    """From the badge to the assumptions."""
    take = lines.take
    _, c.badge = take("badge <badge>")
    _, c.over, *other = take("over <over>", "over distinct-integers <rational>")
    c.other = other[0] if other else None  # the value where tokens are equal
    _, norm, *power = take("norm sup", "norm sup lipschitz <rational>", "norm lp <rational>")
    c.lipschitz = power.pop() if power[:1] == ["lipschitz"] else None
    power = [] if norm == "sup" else power
    if c.lipschitz is not None and (c.over != "box" or c.lipschitz < 0):
        raise lines.wrong("a Lipschitz constant over a box, and not below 0")
    c.power = power[0] if power else None  # None: the supremum norm
    if power and power[0] < 1:
        raise lines.wrong("an exponent of at least 1")
    _, c.bound = take("bound <rational>")
    if c.bound < 0:
        raise lines.wrong("a bound that is not negative")
    for _ in range(take("assumptions <count>")[1]):
        lines.number += 1
        line = lines.lines[lines.number - 1] if lines.number <= len(lines.lines) else ""
        if not re.fullmatch("assume( [!-~]+)+", line):
            raise lines.wrong("`assume <words>`")
        c.assumptions.append(line[7:])


def read_sizes(lines, c):
    """From the tokens to the execution."""
    _, c.least, c.most = lines.take("tokens <size> <size>")
    _, c.dims = lines.take("dims <size>")
    _, c.output_dims = lines.take("output-dims <size>")
    *_, c.format = lines.take("execution ieee-any-order <format>")


class Run(NamedTuple):
    blocks: int
    kind: str | None  # of attention, if there is any
    heads: int
    head_size: int
    value_size: int
    size: int
    hidden: int | None  # of the feed-forward layer, if there is one
    masks: list
    connections: list  # block b sees by the layer b mod their number, if there are any


def read_run(lines, tokens):
    attention = "run <size> attention <kind> <size> <count> <size> <count>"
    _, blocks, *parts = lines.take("run <size> ff <size>", attention, f"{attention} ff <size>")
    hidden = parts[-1] if "ff" in parts else None
    kind, heads, *sizes = parts[1:6] if parts[0] == "attention" else (None, 0, 0, 0, 0)
    known = kind and not kind.startswith("x-")  # what sizes another kind has is its own business
    if known and [bool(size) for size in sizes[::2]] != [kind != "average", kind in ("linformer", "performer")]:
        raise lines.wrong(f"head-size and size to be 0 just where {kind} has none")
    masks = [tuple(lines.take("mask <limit> <limit> <limit> <limit> <yes|no>")[1:]) for _ in range(heads)]
    return Run(blocks, kind, heads, *sizes, hidden, masks, lines.connections(tokens) if kind else [])


# ---------------------------------------------------------------------------------------------- 2. The tensors


class Written(str):
    """A number of JSON that is no integer of section 1; nothing reads it."""


def json_integer(text):
    short = len(text) < 12 and text != "-0" and abs(int(text)) < 1 << 31
    return int(text) if short else Written(text)


def read_json(data, obligation, place):
    """One object without duplicate names, and Unicode text; values nested no deeper than section 4 allows."""

    def refuse(text):
        raise ValueError(f"`{text}` is no number of this format")

    def pairs(entries):
        names = set()
        for name, _ in entries:
            if name in names:
                raise ValueError(f"the name `{name[:60]}` comes twice")
            names.add(name)
        return dict(entries)

    try:
        text = data.decode("utf-8")
        check_depth(text)
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse, parse_int=json_integer, parse_float=Written)
        if re.search("\\\\u[dD][89a-fA-F]", text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for half of a surrogate pair
    except ValueError as error:
        raise Rejected(obligation, place, str(error)) from None
    if not isinstance(value, dict):
        raise Rejected(obligation, place, "not a JSON object")
    return value


def check_depth(text):
    """Before anything is read that goes as deep: how many lists and objects are open before each value."""
    depth = 0
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s"\[\]{},:]+', text, re.DOTALL):
        if token[0] in "]}":
            depth -= 1
        elif depth > DEEPEST:
            raise ValueError(f"values are nested deeper than {DEEPEST}")
        elif token[0] in "[{":
            depth += 1


def shapes(c):
    """The names and shapes that section 2 asks for."""
    yield "embed.weight", [c.width, c.dims]
    yield "embed.bias", [c.width]
    if c.positions:
        yield "pos", [c.positions, c.width]
    yield "read_out.weight", [c.output_dims, c.width]
    yield "read_out.bias", [c.output_dims]
    first = 0
    for run in c.runs:
        if run.kind:
            of = [run.blocks, run.heads]
            if run.kind != "average":
                yield f"{first}.attn.q", [*of, run.head_size, c.width]
                yield f"{first}.attn.q_bias", [*of, run.head_size]
                yield f"{first}.attn.k", [*of, run.head_size, c.width]
            if run.kind == "linformer":
                yield f"{first}.attn.e", [*of, run.size, c.most]
                yield f"{first}.attn.f", [*of, run.size, c.most]
            if run.kind == "performer":
                yield f"{first}.attn.w", [*of, run.size, run.head_size]
            yield f"{first}.attn.v", [*of, run.value_size, c.width]
            yield f"{first}.attn.o", [*of, c.width, run.value_size]
        if run.hidden is not None:
            yield f"{first}.ff.w1", [run.blocks, run.hidden, c.width]
            yield f"{first}.ff.b1", [run.blocks, run.hidden]
            yield f"{first}.ff.w2", [run.blocks, c.width, run.hidden]
            yield f"{first}.ff.b2", [run.blocks, c.width]
        first += run.blocks


def read_tensors(data, c):
    """The tensors of the network in a certificate."""
    return tensors_of(data, dict(shapes(c)), c.format)


def tensors_of(data, wanted, form, file="model.safetensors"):
    """Name to nested lists of Fractions, of these names and shapes, or a rejection."""

    def wrong(place, reason):
        return Rejected("weights", f"{file}, {place}", reason)

    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or 8 + length > len(data):
        raise wrong("header", "the file is shorter than its header says")
    within(length, TEXT, f"bytes of the header of {file}")
    header, body = read_json(data[8 : 8 + length], "weights", f"{file}, header"), data[8 + length :]
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise wrong("__metadata__", "not an object of texts")
    for name in [*wanted, *header]:
        if name not in header or name not in wanted:
            raise wrong(name, "missing" if name in wanted else "not a tensor of the network in the certificate")
    bits = int(form[1:])
    spans = []
    for name, entry in header.items():
        if not isinstance(entry, dict) or sorted(entry) != ["data_offsets", "dtype", "shape"]:
            raise wrong(name, "not an object with dtype, shape and data_offsets alone")
        whole = all(isinstance(entry[key], list) and all(type(n) is int and n >= 0 for n in entry[key])
                    for key in ("shape", "data_offsets"))
        if entry["dtype"] != f"F{bits}" or not whole or len(entry["data_offsets"]) != 2:
            raise wrong(name, f"expected dtype F{bits}, a shape and two offsets, all counts")
        if entry["shape"] != wanted[name]:
            raise wrong(name, f"expected the shape {wanted[name]}, found {entry['shape']}")
        start, end = entry["data_offsets"]
        if end - start != math.prod(wanted[name]) * bits // 8:
            raise wrong(name, f"the bytes {start} to {end} do not hold the shape {wanted[name]}")
        spans.append((start, end, name))
    at = 0
    for start, end, name in sorted(spans):
        if start != at:
            raise wrong(name, f"begins at byte {start}, where {at} is the end of the one before: a gap or an overlap")
        at = end
    if at != len(body):
        raise wrong("data", f"{len(body) - at} bytes behind the last tensor")
    within(len(body) * 8 // bits, WEIGHTS, "weights")
    tensors = {}
    for start, end, name in spans:
        try:
            numbers = [number(body[at : at + bits // 8], FORMATS[form][0]) for at in range(start, end, bits // 8)]
        except ValueError as error:
            raise wrong(name, str(error)) from None
        tensors[name] = nest(numbers, wanted[name])
    return tensors


@lru_cache(maxsize=1 << 16)
def number(data, digits):
    """The dyadic rational that the bits say."""
    bits, top = int.from_bytes(data, "little"), 8 * len(data) - 1
    fraction, exponent = bits & (1 << digits - 1) - 1, bits >> digits - 1 & (1 << top - digits + 1) - 1
    bias = (1 << top - digits) - 1
    if exponent == 2 * bias + 1:
        raise ValueError("a number that is not finite")
    if exponent == 0:
        if fraction:
            raise ValueError("a number below the normal range")
        return ZERO
    whole, shift = (1 << digits - 1) + fraction, exponent - bias - digits + 1
    whole = -whole if bits >> top else whole
    return Fraction(whole << shift) if shift >= 0 else Fraction(whole, 1 << -shift)


def nest(numbers, shape):
    if len(shape) == 1:
        return numbers
    step = math.prod(shape[1:])
    return [nest(numbers[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]


# ---------------------------------------------------------------------------------------------- 3. Computed numbers


@lru_cache(maxsize=None)
def power_of_two(exponent):
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def is_power_of_two(x):
    return x > 0 and x.numerator & x.numerator - 1 == 0 == x.denominator & x.denominator - 1


def floor_log2(x):
    """The exponent e with 2^e <= |x| < 2^(e+1), for x other than 0."""
    e = abs(x.numerator).bit_length() - x.denominator.bit_length()
    return e if abs(x) >= power_of_two(e) else e - 1


def valuation(x):
    """The largest q with x in 2^q Z, for a dyadic x."""
    n = x.numerator
    return (n & -n).bit_length() - x.denominator.bit_length() if n else EXACT


class Num(NamedTuple):
    """A computed number: in [lo, hi] and a multiple of 2^q, in every execution.

    Or a product, as a term of a sum, before it is rounded: `exact` if it is a number of the format but for `slip`, what
    is lost where it, or an operand of it, is below the normal range and becomes 0.
    """

    lo: Fraction
    hi: Fraction
    q: int
    exact: bool = True
    slip: Fraction = ZERO

    @property
    def size(self):
        return max(-self.lo, self.hi)

    @property
    def point(self):
        return self.lo == self.hi


def point(x):
    return Num(x, x, valuation(x))


NOTHING = point(ZERO)


FORMATS = {"f64": (53, -1022, 1024, -49), "f32": (24, -126, 128, -20)}


class Arithmetic:
    """Section 3's execution: what one sum, of any order, can come to. The rules are those of section 6."""

    def __init__(self, digits, least, greatest, theta):
        self.digits, self.unit = digits, power_of_two(-digits)
        self.least, self.tiny = least, power_of_two(least)  # the normal range begins here
        self.limit, self.theta = power_of_two(greatest), power_of_two(theta)
        self.work, self.powers = 0, {}

    def gamma(self, k):
        return k * self.unit / (1 - k * self.unit)

    def grid(self, x):
        """The exponent of the distance between the numbers of the format at x."""
        return max(floor_log2(x) if x else self.least, self.least) - self.digits + 1

    def nearest(self, x):
        """x rounded to nearest, ties to even."""
        step = power_of_two(self.grid(x))
        return round(x / step) * step

    def settle(self, lo, hi, q):
        """A number of the format, and multiple of 2^q, between lo and hi; both ends move inwards to such numbers."""
        if max(-lo, hi) >= self.limit:
            raise Rejected("finite", "", f"a number of up to {show(max(-lo, hi))} may overflow")
        up, down = power_of_two(max(self.grid(lo), q)), power_of_two(max(self.grid(hi), q))
        lo, hi = math.ceil(lo / up) * up, math.floor(hi / down) * down
        if lo == hi:
            return point(lo)
        least = self.grid(lo) if lo > 0 else self.grid(hi) if hi < 0 else self.least - self.digits + 1
        return Num(lo, hi, max(q, least))

    def rounded(self, lo, hi, q=-EXACT):
        """One rounding of a number in [lo, hi]: it is monotone, but results below the normal range may become 0."""
        a, b = self.nearest(lo), self.nearest(hi)
        return self.settle(min(a, ZERO) if lo < self.tiny else a, max(b, ZERO) if hi > -self.tiny else b, q)

    def exponential(self, far, near):
        """The range of a computed exp of a difference of computed numbers, from far to near, and not above 0."""
        if (far, near) not in self.powers:
            lo, hi = self.rounded(far, far).lo, min(self.rounded(near, near).hi, ZERO)
            below = exp_minus(-lo)[0] * (1 - self.theta)
            above = exp_minus(-hi)[1] * (1 + self.theta) if hi else 1 + self.theta
            self.powers[far, near] = self.rounded(below, above) if lo else point(ONE)
        return self.powers[far, near]

    def subnormal(self, x):
        """True if x may be a number below the normal range other than 0, which an execution may read as 0."""
        return x.q < self.least and x.lo < self.tiny and x.hi > -self.tiny

    def times(self, x, y):
        """The product of two computed numbers, as a term of a sum."""
        if NOTHING in (x, y):
            return NOTHING
        ends = (x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi)
        lo, hi, q = min(ends), max(ends), x.q + y.q
        slip = y.size * self.tiny if self.subnormal(x) else ZERO
        slip += (x.size + self.tiny) * self.tiny if self.subnormal(y) else ZERO
        shifted = any(factor.point and is_power_of_two(abs(factor.lo)) for factor in (x, y))
        slip += self.tiny if q < self.least and lo < self.tiny and hi > -self.tiny else ZERO
        return Num(lo, hi, q, shifted or max(-lo, hi) <= power_of_two(q + self.digits), slip)

    def total(self, terms, within=None):
        """The range of a sum of the terms, and by how much it can differ from the exact sum.

        `within` holds the exact sum, where that is known better than from the terms one by one.
        """
        terms = [term for term in terms if term.lo or term.hi]
        self.work += len(terms)
        if self.work > WORK:
            raise Declined(f"more terms of sums than the limit of {WORK}")
        if not terms:
            return NOTHING, ZERO
        k, q, size = len(terms), min(term.q for term in terms), sum(term.size for term in terms)
        lo, hi = within or (sum(term.lo for term in terms), sum(term.hi for term in terms))
        slip = sum(term.slip or (self.tiny if self.subnormal(term) else ZERO) for term in terms)
        gamma = self.gamma(k)
        if size * (1 + gamma) >= self.limit:
            raise Rejected("finite", "", f"a sum whose terms may be {show(size)} in size may overflow")
        if not slip and self.representable(terms, q):
            return self.settle(lo, hi, q), ZERO
        if not slip and (snapped := self.snapped(terms)):
            return snapped, abs(snapped.lo - sum(term.lo for term in terms))
        if k == 1 or k == 2 and all(term.exact for term in terms):
            if not slip and (k == 1 and terms[0].exact or lo == hi == 0):
                return self.settle(lo, hi, q), ZERO
            if slip:  # a single term is itself or 0
                lo, hi = (min(lo, ZERO), max(hi, ZERO)) if k == 1 else (lo - slip, hi + slip)
            error = ZERO if k == 1 and terms[0].exact else max(-lo, hi) * self.unit
            if k == 2:  # the larger term is a number of the format, no farther from the sum than the smaller one
                error = min(error, *(term.size for term in terms))
            return self.rounded(lo, hi, q), error + self.tiny + slip
        absorbed = self.absorbed(terms)
        if absorbed:
            (low, high, fine), error = absorbed
            return self.settle(max(low, lo - error), min(high, hi + error), fine), error
        error = gamma * size + (2 * k * self.tiny + slip) * (1 + gamma)
        return self.settle(lo - error, hi + error, q), error

    def representable(self, terms, q):
        """True if every partial sum of the terms, multiples of 2^q, is a number of the format."""
        if q < self.least:
            return False
        most = power_of_two(q + self.digits)
        return sum(max(term.hi, ZERO) for term in terms) <= most and sum(max(-term.lo, ZERO) for term in terms) <= most

    def snapped(self, terms):
        """The sum of known products of one sign, each so near to a number of the format that it counts as that."""
        if any(not term.point or term.lo * terms[0].lo < 0 for term in terms):
            return None
        near = [point(self.nearest(term.lo)) for term in terms]
        for x, g in zip(terms, near):
            off, step = abs(x.lo - g.lo), power_of_two(self.grid(g.lo))
            if off > step / 4 if x.size < g.size and is_power_of_two(g.size) else off >= step / 2:
                return None
        return point(sum(g.lo for g in near)) if self.representable(near, min(g.q for g in near)) else None

    def absorbed(self, terms):
        """The sum of large terms that is exact, and small ones that vanish in it; and what they can change."""
        terms = sorted(terms, key=lambda term: term.size, reverse=True)
        small, q = sum(term.size for term in terms), EXACT
        factor, more = 1 + 2 * len(terms) * self.unit, 2 * len(terms) * self.unit * self.tiny  # below the normal range
        for count, term in enumerate(terms[:-1], 1):
            small, q = small - term.size, min(q, term.q)
            if term.slip or q < self.least:
                return None
            rest = small * factor + more
            if rest < power_of_two(q - self.digits - 1):
                large = terms[:count]
                if not self.representable(large, q):
                    return None
                lo, hi = sum(term.lo for term in large), sum(term.hi for term in large)
                if lo > 0 or hi < 0:
                    return (lo, hi, q), rest
                return (lo - rest, hi + rest, min(term.q for term in terms)), 2 * rest
        return None


EXP_BITS = 1280  # enough for what is far below the least number of both formats


@lru_cache(maxsize=1 << 16)
def exp_minus(y):
    """Bounds of e^-y for y >= 0: a series at y / 2^h, squared h times, in multiples of 2^-EXP_BITS."""
    if y == 0:
        return ONE, ONE
    if y > 800:
        return ZERO, power_of_two(-min(math.floor(y * Fraction(36, 25)), 1 << 14))  # 36/25 < log2 e
    halvings = math.ceil(y).bit_length() + 8
    x = math.floor(y * power_of_two(EXP_BITS - halvings))
    one = 1 << EXP_BITS
    term, value, k = one, one, 0
    while term:
        k += 1
        term = (term * x >> EXP_BITS) // k
        value += -term if k % 2 else term
    lo, hi = value - 2 * k - 2, value + 2 * k + 2  # at most 2 lost a term, 1 for the rest and 1 for x itself
    for _ in range(halvings):
        lo, hi = lo * lo >> EXP_BITS, (hi * hi >> EXP_BITS) + 1
    return Fraction(lo, one), Fraction(min(hi, one), one)


# ---------------------------------------------------------------------------------------------- 3. The network


def sparse(rows):
    """The entries of each row that are not 0, with their places."""
    return [[(k, w) for k, w in enumerate(row) if w] for row in rows]


class Head(NamedTuple):
    q: list
    q_bias: list
    k: list
    v: list
    o: list  # a row for each coordinate of the stream
    mask: tuple
    keys: tuple | None  # of each token, if the block has connections

    def sees(self, t, k):
        return shows(self.mask, t, k) if self.keys is None else k in self.keys[t]

    @property
    def idle(self):
        """True if it has no weights."""
        return not any(self.q_bias) and not any(any(rows) for rows in (self.q, self.k, self.v, self.o))


def shows(mask, t, k):
    """True if the mask shows token k to token t."""
    low, high, start, end, first = mask
    inside = (low == "*" or low <= k - t) and (high == "*" or k - t <= high)
    return inside and (start == "*" or start <= k) and (end == "*" or k <= end) or first == "yes" and k == 0


class Network:
    """The network on sets of inputs. A token's numbers are known by an index: equal tokens are computed once."""

    def __init__(self, c, tensors):
        self.c, self.arithmetic = c, Arithmetic(*FORMATS[c.format])
        self.tokens, self.index, self.memory = [], {}, {}
        self.embed = sparse(tensors["embed.weight"])
        self.read_out = sparse(tensors["read_out.weight"])
        self.tensors = tensors
        self.blocks = []
        first = 0
        for run in c.runs:
            for b in range(run.blocks):
                heads, ff = [], None
                if run.kind:
                    q, q_bias, k, v, o = (tensors[f"{first}.attn.{name}"][b] for name in ("q", "q_bias", "k", "v", "o"))
                    keys = run.connections[b % len(run.connections)] if run.connections else None
                    heads = [Head(sparse(q[h]), q_bias[h], sparse(k[h]), sparse(v[h]), sparse(o[h]), run.masks[h], keys)
                             for h in range(run.heads)]
                if run.hidden is not None:
                    w1, b1, w2, b2 = (tensors[f"{first}.ff.{name}"][b] for name in ("w1", "b1", "w2", "b2"))
                    ff = sparse(w1), b1, sparse(w2), b2
                self.blocks.append((heads, ff))
            first += run.blocks

    def within_limits(self, symbols):
        """Declines what is more work in any case, before it is done: every token up to the first attention, and one sequence behind."""
        c, before, behind = self.c, 0, 0
        for heads, ff in self.blocks:
            attention = sum(len(rows) + sum(map(len, rows)) for head in heads for rows in (head.q, head.k, head.v, head.o))
            # The gain of a coordinate is composed of all that the units read.
            forward = sum(1 + len(row) for row in ff[0]) + sum(1 + len(ff[0][j]) for row in ff[2] for j, _ in row) if ff else 0
            if heads or behind:
                behind += attention * c.least + len(heads) * c.least**2 + forward
            else:
                before += forward
        symbols *= max(c.positions, 1)
        within(before * symbols, WORK, f"terms of sums of {symbols} tokens before the first attention")
        within(behind, WORK, f"terms of sums of one sequence of {c.least} tokens")
        within(symbols * c.width, NUMBERS, f"numbers of {symbols} tokens")

    def known(self, numbers):
        """The index of a token with these numbers."""
        if numbers not in self.index:
            self.index[numbers] = len(self.tokens)
            self.tokens.append(numbers)
        return self.index[numbers]

    def once(self, key, compute):
        if key not in self.memory:
            self.memory[key] = compute()
        return self.memory[key]

    def rows(self, key, rows, bias, t):
        return self.once(key, lambda: list(self.affine(rows, bias, self.tokens[t])))

    def affine(self, rows, bias, z, more=None):
        """rows z + bias (+ more), a sum for each row."""
        a = self.arithmetic
        for k, row in enumerate(rows):
            terms = [a.times(point(w), z[i]) for i, w in row]
            terms += [point(offset[k]) for offset in (bias, more) if offset]
            yield a.total(terms)[0]

    def run(self, sequence, wide=False):
        """The outputs, [token][coordinate], for tokens of intervals of reals; wide ones take sweeps as such."""
        tokens = [self.once(("embed", t if self.c.positions else 0, x), lambda: self.embedded(t, x))
                  for t, x in enumerate(sequence)]
        behind = 0
        for b, (heads, ff) in enumerate(self.blocks):
            if wide and b >= behind:
                behind, tokens = self.sweep(b, tokens)
            try:
                if b >= behind and not all(head.idle for head in heads):
                    tokens = [self.attend(b, heads, t, tokens) for t in range(len(tokens))]
                if ff:
                    tokens = [self.once((b, t), lambda: self.known(self.feed_forward(self.tokens[t], *ff)))
                              for t in tokens]
            except Rejected as error:
                error.place = error.place or f"block {b}"
                raise
        return [self.rows(("read", t), self.read_out, self.tensors["read_out.bias"], t) for t in tokens]

    def sweep(self, b, tokens):
        """The block behind the sweep that begins at block b, if one does, and the tokens there.

        A step has the queries λt + high and λt + low, at least 2 apart, in heads that add s times the average of the
        tokens' t, and take s times the other one. An average for a query of size Q is near the largest t, or the
        smallest: a token at distance g from that has a weight of at most exp(-gQ/2), unless g is as small as the
        roundings of scores. So t does not fall but for a small drift, and grows by no more where both queries are
        large: above `level`. From below a token can jump there once, by s times the distance of all t; then each of
        the n tokens has had its turn. All this holds of averages over some of the tokens, others in each block, if the
        two heads see the same: fewer than n keys, and no t beyond those of all. Blocks that do nothing may stand between.
        """
        steps, end = [], b
        while end < len(self.blocks):
            heads, ff = self.blocks[end]
            if not steps or ff or not all(head.idle for head in heads):
                step = as_step(heads, ff)
                if not step or step[0] != (steps or [step])[0][0]:
                    break
                steps.append(step)
            end += 1
        if not steps:
            return b, tokens
        a, n, i = self.arithmetic, len(tokens), steps[0][0]
        low, high = min(self.tokens[t][i].lo for t in tokens), max(self.tokens[t][i].hi for t in tokens)
        gain = max(s for _, s, *_ in steps)
        thresholds = [((up - down) / 2 - down) / scale for _, _, scale, up, down in steps]
        most = max(-low, high, *thresholds, ONE)
        for _ in range(100):  # most bounds all t: a guess, until what follows from it confirms it
            most *= 2
            loss = a.gamma(2 * n + 2) * most + 4 * n * a.tiny * (2 + most)
            rounding = a.gamma(4) * (1 + 2 * gain) * 2 * most + 16 * a.tiny * (1 + gain)
            drift = ZERO
            for _, s, _, up, down in steps:
                query = (up - down) / 4
                near = (Fraction(3, 4) + 12 * a.tiny * (1 + query)) / query + 8 * a.unit * most
                drift += s * ((n - 1) * (1 + 2 * a.theta) * near + 2 * n * a.tiny * most + 2 * loss) + rounding
            level = max(high, max(thresholds) + drift)
            top = level + drift
            for _ in range(n):
                top = level + gain * (top - low + drift + 2 * loss) + rounding + drift
            large = max((scale * most + abs(up) + abs(down)) * most + gain * most for _, _, scale, up, down in steps)
            if 8 * large >= a.limit:
                break
            if max(top + drift, drift - low) <= most:
                landed = a.settle(low - drift, top + drift, -EXACT)
                return end, [self.known((*self.tokens[t][:i], landed, *self.tokens[t][i + 1 :])) for t in tokens]
        return b, tokens

    def embedded(self, t, x):
        x = [self.arithmetic.rounded(lo, hi) for lo, hi in x]
        more = self.tensors["pos"][t] if self.c.positions else None
        return self.known(tuple(self.affine(self.embed, self.tensors["embed.bias"], x, more)))

    def attend(self, b, heads, t, tokens):
        seen = [tuple(sorted(z for k, z in enumerate(tokens) if head.sees(t, k))) for head in heads]
        return self.once((b, tokens[t], *seen), lambda: self.known(self.attention(b, heads, tokens[t], seen)))

    def attention(self, b, heads, own, seen):
        a, z = self.arithmetic, self.tokens[own]
        terms = [[entry] for entry in z]
        for h, (head, others) in enumerate(zip(heads, seen)):
            query = self.rows((b, h, "q", own), head.q, head.q_bias, own)
            keys = [self.rows((b, h, "k", k), head.k, None, k) for k in others]
            values = [self.rows((b, h, "v", k), head.v, None, k) for k in others]
            scores = [a.total([a.times(x, y) for x, y in zip(key, query)])[0] for key in keys]
            weights = softmax(a, scores)
            mixed = [mix(a, weights, [value[j] for value in values]) for j in range(len(head.v))]
            for i, row in enumerate(head.o):
                terms[i] += [a.times(point(w), mixed[j]) for j, w in row]
        return tuple(a.total(entry)[0] for entry in terms)

    def feed_forward(self, z, *layer):
        """The layer at z; and along each coordinate that units bend in, piece by piece between their kinks."""
        a, (found, kinks) = self.arithmetic, self.one_piece(z, *layer)
        for i, places in kinks.items():
            if len(places) > KINKS:  # as many layers' work, to gain little
                continue
            places = sorted(places)
            pieces = [self.one_piece((*z[:i], a.settle(lo, hi, z[i].q), *z[i + 1 :]), *layer)[0]
                      for lo, hi in zip(places, places[1:])]
            found = tuple(a.settle(max(x.lo, min(y.lo for y in cut)), min(x.hi, max(y.hi for y in cut)),
                                   max(x.q, min(y.q for y in cut))) for x, *cut in zip(found, *pieces))
        return found

    def one_piece(self, z, w1, b1, w2, b2):
        """z + w2 max(w1 z + b1, 0) + b2, as a function of z before intervals are put in; and kinks, by coordinate."""
        a = self.arithmetic
        units, kinks = [], {}
        for row, bias in zip(w1, b1):
            value, error = a.total([a.times(point(w), z[i]) for i, w in row] + [point(bias)])
            if value.hi <= 0:
                units.append(None)
                continue
            slope = {i: w for i, w in row if not z[i].point}
            offset = bias + sum(w * z[i].lo for i, w in row if z[i].point)
            units.append((Num(max(value.lo, ZERO), value.hi, value.q), error, slope, offset, value.lo >= 0))
            if value.lo < 0 and len(slope) == 1:
                ((i, w),) = slope.items()
                (lo, hi, q, *_), place = z[i], -offset / w
                if lo < place < hi:
                    kinks.setdefault(i, {lo, hi}).update((a.settle(lo, place, q).hi, a.settle(place, hi, q).lo))
        out = []
        for i, row in enumerate(w2):
            live = [(w, units[j]) for j, w in row if units[j]]
            a.work += sum(len(unit[2]) for _, unit in live)
            terms = [z[i], *(a.times(point(w), unit[0]) for w, unit in live), point(b2[i])]
            out.append(a.total(terms, composed(z, i, live, b2[i]) if live else None)[0])
        return tuple(out), kinks


def as_step(heads, ff):
    """Coordinate, s, λ, high and low of a step of a sweep, if the block is one: k = v = t, q = λt, o = s, -s."""
    if ff or len(heads) != 2 or any(head.mask[:4] != ("*",) * 4 for head in heads):
        return None
    first, second = sorted(heads, key=lambda head: head.q_bias, reverse=True)
    written = [(i, w) for i, row in enumerate(first.o) for _, w in row]
    if len(written) != 1 or len(first.q) != 1 or len(first.q[0]) != 1:
        return None
    ((i, s),), ((_, scale),) = written, first.q[0]
    alike = first.k == first.v == second.k == second.v == [[(i, ONE)]] and first.q == second.q == [[(i, scale)]]
    opposite = second.o == [[(k, -w) for k, w in row] for row in first.o]
    apart = first.q_bias[0] - second.q_bias[0] >= 2
    fits = s > 0 and alike and opposite and apart and is_power_of_two(scale) and first.keys == second.keys
    return (i, s, scale, first.q_bias[0], second.q_bias[0]) if fits else None


def composed(z, i, live, bias):
    """The range of z_i + Σ w max(slope z + offset, 0) + bias, but for the rounding of this last sum."""
    slope, lo, slack = {}, bias, ZERO
    if z[i].point:
        lo += z[i].lo
    else:
        slope[i] = ONE
    bends = {}  # units of unknown sign, by the functional that they read
    for w, (_, error, unit_slope, offset, positive) in live:
        slack += abs(w) * error
        if positive or not unit_slope:
            lo += w * (offset if positive else max(offset, ZERO))
            for k, s in unit_slope.items():
                slope[k] = slope.get(k, ZERO) + w * s
        else:
            lead = next(iter(unit_slope.values()))
            direction = tuple((k, s / lead) for k, s in unit_slope.items())
            bends.setdefault(direction, []).append((w, lead, offset))
    hi = lo
    for direction, kinks in bends.items():
        own = slope.get(direction[0][0], ZERO)  # what of the affine part is a multiple of the same functional
        for k, s in direction:
            slope[k] = slope.get(k, ZERO) - own * s
        start, end = reach(dict(direction), z)
        places = [start, end, *(-offset / lead for _, lead, offset in kinks if start < -offset / lead < end)]
        heights = [own * t + sum(w * max(lead * t + offset, ZERO) for w, lead, offset in kinks) for t in places]
        lo, hi = lo + min(heights), hi + max(heights)
    low, high = reach(slope, z)
    return lo + low - slack, hi + high + slack


def reach(slope, z):
    """The interval of Σ slope z."""
    ends = [(s * z[k].lo, s * z[k].hi) for k, s in slope.items()]
    return sum((min(pair) for pair in ends), ZERO), sum((max(pair) for pair in ends), ZERO)


def softmax(a, scores):
    """The weights p of section 3 for these scores; the largest exponential is exactly 1."""
    top_lo, top_hi = max(s.lo for s in scores), max(s.hi for s in scores)
    powers, haze = [], 2 * a.tiny if any(map(a.subnormal, scores)) else ZERO  # of scores that may be read as 0
    first = max(range(len(scores)), key=lambda k: scores[k].lo)
    surely = all(s.hi <= scores[first].lo for k, s in enumerate(scores) if k != first)  # the largest in every execution
    for k, s in enumerate(scores):
        if surely and k == first:
            powers.append(point(ONE))
            continue
        powers.append(a.exponential(s.lo - top_hi - haze, s.hi - top_lo + haze))
    return shares(a, powers)


def shares(a, powers):
    """The weights of exponentials, of which one is 1: divided by their sum, or times its reciprocal, rounded before."""
    whole, _ = a.total(powers)
    lo, hi = sum(e.lo for e in powers), sum(e.hi for e in powers)
    loss = a.gamma(len(powers)) + 2 * len(powers) * a.tiny  # relative, as the sum is at least 1
    weights = []
    for e in powers:  # e / Σ grows with e: the other powers are at their other ends
        if e == NOTHING:
            weights.append(NOTHING)
            continue
        least = max(e.lo / whole.hi, e.lo / (max(hi - e.hi + e.lo, ONE) * (1 + loss)))
        most = min(e.hi / max(whole.lo, ONE), e.hi / (max(lo - e.lo + e.hi, ONE) * (1 - loss)))
        # The reciprocal of the sum, which is normal, as that at the sum's ends, and as what is off by one rounding.
        lower = max(e.lo * a.nearest(1 / whole.hi), least * (1 - a.unit))
        upper = min(e.hi * a.nearest(1 / max(whole.lo, ONE)), most * (1 + a.unit))
        weights.append(a.rounded(min(least, lower), max(most, upper)))
    return weights


def mix(a, weights, values):
    """Σ p V: by its terms, and as c + Σ p (V - c) for some c, but for what the weights miss of 1 and for rounding."""
    result, _ = a.total([a.times(p, v) for p, v in zip(weights, values)])
    if result.point:
        return result
    n, most = len(values), max(v.size for v in values)
    loss = a.gamma(2 * n + 2) * most + 4 * n * a.tiny * (1 + most)
    lo, hi = result.lo, result.hi
    for c in {end for v in values for end in (v.lo, v.hi)}:  # the least and the largest give the hull
        lo = max(lo, c - loss + sum(min(p.lo * (v.lo - c), p.hi * (v.lo - c)) for p, v in zip(weights, values)))
        hi = min(hi, c + loss + sum(max(p.lo * (v.hi - c), p.hi * (v.hi - c)) for p, v in zip(weights, values)))
    return a.settle(lo, hi, result.q)


# ---------------------------------------------------------------------------------------------- 4. The target

# Enclosures are pairs of Fractions; conditions are True, False, or None where enclosures do not decide them.


def wrong_target(place, found):
    small = isinstance(found, (str, int)) or found is None
    said = repr(found)[:100] if small else f"{type(found).__name__} of {len(found)}: {', '.join(map(str, list(found)[:4]))[:100]}"
    return Rejected("target", f"target.json, {place}", f"has no meaning here: {said}")


def text_number(text):
    """A rational of section 1, or a decimal, exactly."""
    if isinstance(text, str) and not isinstance(text, Written):
        value = rational(text)
        if value is None and len(text) <= 4096 and re.fullmatch(r"-?[0-9]+\.[0-9]+", text):
            value = Fraction(text)
        if value is not None:
            return value
    raise wrong_target("a number", text)


def kept(a):
    """The same, if it is of a size that is computed with; long fractions with short ends."""
    if max(abs(a[0]), abs(a[1])) >= 1 << SIZE:
        raise Unclear(f"a number of 2^{SIZE} or more")
    long = any(max(abs(end.numerator).bit_length(), end.denominator.bit_length()) > SIZE for end in a)
    return coarse(*a) if long else a


def coarse(lo, hi, bits=192):
    """An enclosure with short ends, so that fractions do not grow."""
    return Fraction(math.floor(lo * 2**bits), 2**bits), Fraction(math.ceil(hi * 2**bits), 2**bits)


def exp_at(x):
    if x <= 0:
        return exp_minus(-x)
    lo, hi = exp_minus(x)
    if not lo:
        raise Unclear("exp of a number above 800")
    return 1 / hi, 1 / lo


BITS = 320  # of the fractions in which logarithms and waves are added up


def log_at(x):
    """Bounds of log x, from log m = 2 artanh((m - 1) / (m + 1)) for x = m 2^k, 1 <= m < 2."""
    k = floor_log2(x)
    m = x / power_of_two(k)
    near, third = artanh_at((m - 1) / (m + 1)), artanh_at(Fraction(1, 3))
    ends = k * third[0], k * third[1]
    return 2 * (near[0] + min(ends)), 2 * (near[1] + max(ends))


@lru_cache(maxsize=1 << 12)
def artanh_at(y):
    """Σ y^(2i+1)/(2i+1) for 0 <= y <= 1/3: each term loses less than 2 of the last place, and the rest is less than the last."""
    y = math.floor(y * (1 << BITS))
    square, power, value, k = y * y >> BITS, y, 0, 1
    while power:
        value, power, k = value + power // k, power * square >> BITS, k + 2
    return Fraction(value, 1 << BITS), Fraction(value + 2 * k + 4, 1 << BITS)


def wave_at(x, k):
    """Bounds of sin x (k = 1) or cos x (k = 0); from 1024 on no more than [-1, 1] is said."""
    if abs(x) >= 1024:
        return -ONE, ONE
    return waves(x)[1 - k]


@lru_cache(maxsize=1 << 12)
def waves(x):
    """Bounds of cos x and sin x for |x| < 1024: the series at x / 2^15, then cos 2y + i sin 2y = (cos y + i sin y)² as often.

    `off` bounds how far both are from the truth, in the last place: each term of the series loses less than 2 and x itself
    less than 1, and squaring doubles it, as both are at most 1 in size.
    """
    one, y = 1 << BITS, math.floor(x * (1 << BITS - 15))
    parts, term, k = [one, 0], one, 0
    while term not in (0, -1):
        k += 1
        term = (term * y >> BITS) // k
        parts[k % 2] += -term if k % 4 > 1 else term
    (cosine, sine), off = parts, 2 * k + 8
    for _ in range(15):
        cosine, sine, off = (cosine * cosine - sine * sine) >> BITS, 2 * cosine * sine >> BITS, 4 * off + 4
    return [(max(Fraction(value - off, one), -ONE), min(Fraction(value + off, one), ONE)) for value in (sine, cosine)]


def tanh_at(x):
    lo, hi = exp_at(2 * x)
    return 1 - 2 / (lo + 1), 1 - 2 / (hi + 1)


def sqrt_at(x):
    above, below = math.isqrt(x.numerator), math.isqrt(x.denominator)
    if above * above == x.numerator and below * below == x.denominator:
        return (Fraction(above, below),) * 2
    square = x.numerator * x.denominator << 384
    root = math.isqrt(square)
    return Fraction(root, x.denominator << 192), Fraction(root + (root * root != square), x.denominator << 192)


def increasing(at, known, edge=None, closed=True):
    """A function that grows: exact at some places, undefined below an edge, which belongs to it or not."""

    def enclose(a):
        if edge is not None and (a[1] < edge or a[1] == edge and not closed):
            raise Undefined(f"a logarithm or a root of {show(a[1])}")
        if edge is not None and (a[0] < edge or a[0] == edge and not closed):
            raise Unclear("a logarithm or a root of a number that may be too small")
        if a[0] == a[1]:
            lo, hi = (known[a[0]],) * 2 if a[0] in known else at(a[0])
            return (lo, hi) if lo == hi else coarse(lo, hi)
        return coarse(at(a[0])[0], at(a[1])[1])

    return enclose


def wave(k):
    def enclose(a):  # sin and cos change no faster than their argument
        if a[0] == a[1] == 0:
            return (Fraction(1 - k),) * 2
        (lo, hi), radius = wave_at((a[0] + a[1]) / 2, k), (a[1] - a[0]) / 2
        return coarse(max(lo - radius, -ONE), min(hi + radius, ONE))

    return enclose


def hull(a, b):
    return min(a[0], b[0]), max(a[1], b[1])


def largest(a, b):
    return max(a[0], b[0]), max(a[1], b[1])


def smallest(a, b):
    return min(a[0], b[0]), min(a[1], b[1])


def multiply(a, b):
    ends = a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]
    return min(ends), max(ends)


def nonzero(b, what):
    if b[0] == b[1] == 0:
        raise Undefined(f"{what} 0")
    if b[0] <= 0 <= b[1]:
        raise Unclear(f"{what} a number that may be 0")


def divide(a, b):
    nonzero(b, "a quotient by")
    return multiply(a, (1 / b[1], 1 / b[0]))


def modulo(a, b):
    nonzero(b, "a remainder modulo")
    size = max(-b[0], b[1])
    turns = math.floor(a[0] / size)
    if b[0] == b[1] and turns == math.floor(a[1] / size):
        return a[0] - turns * size, a[1] - turns * size
    return ZERO, size


def power(a, k):
    for end in a:  # a number of b binary digits is at least 2^(b-1)
        if (max(abs(end.numerator).bit_length(), end.denominator.bit_length()) - 1) * k > SIZE:
            if abs(end) >= 2:  # at least 2^(log - 1) of it is seen without computing it
                within_size = (abs(end.numerator).bit_length() - end.denominator.bit_length() - 1) * k
                if within_size > SIZE:
                    raise Unclear(f"a power of 2^{within_size} or more")
            return power_by_squares(a, k)
    ends = a[0] ** k, a[1] ** k
    return (ZERO, max(ends)) if k and k % 2 == 0 and a[0] < 0 < a[1] else (min(ends), max(ends))


def power_by_squares(a, k):
    """a^k with short ends all the way."""
    if k % 2 == 0:
        a = (max(a[0], -a[1], ZERO), max(-a[0], a[1]))
    result = ONE, ONE
    for bit in bin(k)[2:]:
        result = kept(rounded_ends(multiply(result, result)))
        if bit == "1":
            result = kept(rounded_ends(multiply(result, a)))
    return result


def rounded_ends(a, digits=256):
    """Both ends with some binary digits, outwards."""
    lo, hi = a
    down = power_of_two((floor_log2(lo) if lo else 0) - digits)
    up = power_of_two((floor_log2(hi) if hi else 0) - digits)
    return math.floor(lo / down) * down, math.ceil(hi / up) * up


def less(a, b):
    return True if a[1] < b[0] else False if a[0] >= b[1] else None


def equal(a, b):
    return True if a[0] == a[1] == b[0] == b[1] else False if a[1] < b[0] or b[1] < a[0] else None


def negation(a):
    return None if a is None else not a


FUNCTIONS = {  # by name and number of arguments
    ("exp", 1): increasing(exp_at, {0: ONE}), ("log", 1): increasing(log_at, {1: ZERO}, ZERO, closed=False),
    ("tanh", 1): increasing(tanh_at, {0: ZERO}), ("sqrt", 1): increasing(sqrt_at, {}, ZERO), ("sin", 1): wave(1), ("cos", 1): wave(0),
    ("floor", 1): lambda a: (Fraction(math.floor(a[0])), Fraction(math.floor(a[1]))),
    ("abs", 1): lambda a: (max(a[0], -a[1], ZERO), max(-a[0], a[1])), ("relu", 1): lambda a: largest(a, (ZERO, ZERO)),
    ("min", 2): smallest, ("max", 2): largest, ("clamp", 3): lambda a, low, high: smallest(largest(a, low), high),
}
OPERATIONS = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]), "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": multiply, "div": divide, "mod": modulo,
}
COMPARISONS = {
    "less": less, "greater": lambda a, b: less(b, a), "equal": equal, "not-equal": lambda a, b: negation(equal(a, b)),
    "less-equal": lambda a, b: negation(less(b, a)), "greater-equal": lambda a, b: negation(less(a, b)),
}


def aggregate(name, values):
    if name == "count":
        return Fraction(values.count(True)), Fraction(len(values) - values.count(False))
    if not values and name != "sum":
        raise Undefined(f"`{name}` of no token")
    if name in ("max", "min"):
        pick = max if name == "max" else min
        return pick(lo for lo, _ in values), pick(hi for _, hi in values)
    total = sum((lo for lo, _ in values), ZERO), sum((hi for _, hi in values), ZERO)
    if name == "sum":
        return total
    mean = total[0] / len(values), total[1] / len(values)
    return mean if name == "mean" else aggregate("mean", [power((lo - mean[1], hi - mean[0]), 2) for lo, hi in values])


def whole(a, length):
    """The index that the enclosure says, if it says one."""
    if a[0] != a[1]:
        if a[1] < 0 or a[0] > length - 1:
            raise Undefined(f"an index that is not in 0..{length}")
        raise Unclear("an index that enclosures do not decide")
    if a[0].denominator != 1 or not 0 <= a[0] < length:
        raise Undefined(f"the index {show(a[0])}, which is not in 0..{length}")
    return int(a[0])


class Place(NamedTuple):
    """The place of an evaluation: the sequence, the lets' values, the output token, the running one, the coordinate."""

    x: tuple
    lets: list
    i: int
    j: int | None
    c: int

    @property
    def token(self):
        return self.i if self.j is None else self.j

    def tokens(self):
        """The same place, with each token running."""
        return [self._replace(j=j) for j in range(len(self.x))]

    def each(self):
        """Each token as the output token."""
        return [self._replace(i=i, j=None) for i in range(len(self.x))]


class Expression:
    """The target as functions of a Place, one an output coordinate; what is not understood is rejected on the way."""

    def __init__(self, ast, c):
        fields(ast, "ast", ("body", "domain"), ("lets",))
        self.ast, self.dims, self.lets, self.names, self.steps = ast, c.dims, [], {}, []
        for let in ast.get("lets", []):
            fields(let, "a let", ("name", "value"))
            name = let["name"]
            if not isinstance(name, str) or isinstance(name, Written) or name in self.names:
                raise wrong_target("lets", name)
            value = self.number(let["value"], False)  # before its own name is known
            self.names[name] = len(self.lets)
            self.lets.append(value)
        match ast["body"]:
            case {"each": e, **more} if not more:
                self.outputs = [(self.number(e, False), k) for k in range(c.dims)] if c.dims == c.output_dims else []
                outputs = c.dims
            case {"coordinates": [*parts], **more} if not more:
                self.outputs = [(self.number(e, False), 0) for e in parts]
                outputs = len(parts)
            case body:
                raise wrong_target("body", body)
        if outputs != c.output_dims:
            raise Rejected("claim", "output-dims", f"{c.output_dims}, and the target gives {outputs}")
        match ast["domain"]:
            case {"interval": [low, high], **more} if not more:
                self.domain, self.integers = (text_number(low), text_number(high)), False
            case {"integers": [low, high], **more} if not more and type(low) is type(high) is int:
                self.domain, self.integers = (Fraction(low), Fraction(high)), True
            case domain:
                raise wrong_target("domain", domain)
        if self.domain[0] >= self.domain[1]:
            raise Rejected("target", "target.json, domain", f"empty: from {show(self.domain[0])} to {show(self.domain[1])}")

    def work(self, n):
        """Operations for a sequence of n tokens, as if none could be skipped: what is done for all tokens counts so often."""
        lets = sum(let.work(n) for let in self.lets) * self.dims
        return n * (lets + sum(output.work(n) for output, _ in self.outputs))

    def enclose(self, x):
        """[token][output coordinate] for a sequence of tokens of enclosures."""
        lets = []
        for let in self.lets:  # used or not, each needs a value
            lets.append(None)
            lets[-1] = [[let(Place(x, lets, i, None, k)) for k in range(self.dims)] for i in range(len(x))]
        return [[output(Place(x, lets, i, None, k)) for output, k in self.outputs] for i in range(len(x))]

    def number(self, e, inside):
        """The expression, inside of an aggregate or not, as a function of a Place."""

        def of(e):
            return self.number(e, inside)

        def name_of(name):
            if not isinstance(name, str) or isinstance(name, Written) or name not in self.names:
                raise wrong_target("a let before", name)
            return self.names[name]

        match e if isinstance(e, str) and not isinstance(e, Written) or isinstance(e, dict) and len(e) == 1 else None:
            case "token":
                return Step(lambda p: p.x[p.token][p.c])
            case "index":
                return Step(lambda p: (Fraction(p.i),) * 2)
            case "running" if inside:
                return Step(lambda p: (Fraction(p.j),) * 2)
            case "length":
                return Step(lambda p: (Fraction(len(p.x)),) * 2)
            case {"number": text}:
                value = text_number(text)
                return Step(lambda p: (value, value))
            case {"negate": a}:
                a = of(a)
                return Step(lambda p: OPERATIONS["sub"]((ZERO, ZERO), a(p)), a)
            case {"power": [a, k]} if type(k) is int and 0 <= k <= 4096:
                a = of(a)
                return Step(lambda p: kept(power(a(p), k)), a)
            case {"gather": a}:
                a = of(a)
                return Step(lambda p: p.x[whole(a(p), len(p.x))][p.c], a)
            case {"bound": name}:
                at = name_of(name)
                return Step(lambda p: p.lets[at][p.token][p.c])
            case {"gather-bound": [name, a]}:
                at, a = name_of(name), of(a)
                return Step(lambda p: p.lets[at][whole(a(p), len(p.x))][p.c], a)
            case {"coordinate": [a, k]} if type(k) is int and 0 <= k < self.dims:
                a = of(a)
                return Step(lambda p: a(p._replace(c=k)), a)
            case {"binary": [str(name), a, b]} if name in OPERATIONS:
                a, b = of(a), of(b)
                return Step(lambda p: kept(OPERATIONS[name](a(p), b(p))), a, b)
            case {"if": [condition, a, b]}:
                condition, a, b = self.condition(condition, inside), of(a), of(b)
                return Step(self.choice(condition, a, b), condition, a, b)
            case {"call": [str(name), [*parts]]} if (name, len(parts)) in FUNCTIONS:
                parts = [of(part) for part in parts]
                return Step(lambda p: kept(FUNCTIONS[name, len(parts)](*(part(p) for part in parts))), *parts)
            case {"aggregate": [str(name), a, shown]} if name in ("sum", "mean", "var", "max", "min", "count"):
                a = (self.condition if name == "count" else self.number)(a, True)
                shown = None if shown is None else self.condition(shown, True)
                return Step(self.over_tokens(name, a, shown), *(part for part in (a, shown) if part), often=True)
            case {"sort": ("token" | {"bound": _} | {"coordinate": ["token" | {"bound": _}, _]}) as a} if len(a) == 1 or a == "token":
                a = self.number(a, False)
                return Step(lambda p: tuple(sorted(ends)[p.token] for ends in zip(*(a(q) for q in p.each()))), a, often=True)
            case {"table": [a, [*values]]}:
                a, values = of(a), [text_number(value) for value in values]
                return Step(lambda p: (values[whole(a(p), len(values))],) * 2, a)
        raise wrong_target("a number", e)

    def condition(self, e, inside):
        match e if isinstance(e, dict) and len(e) == 1 else None:
            case {"not": a}:
                a = self.condition(a, inside)
                return Step(lambda p: negation(a(p)), a)
            case {"compare": [str(name), a, b]} if name in COMPARISONS:
                a, b = self.number(a, inside), self.number(b, inside)
                return Step(lambda p: COMPARISONS[name](a(p), b(p)), a, b)
            case {"and": [a, b]}:
                a, b = self.condition(a, inside), self.condition(b, inside)
                return Step(lambda p: False if False in (sides := (a(p), b(p))) else None if None in sides else True, a, b)
            case {"or": [a, b]}:
                a, b = self.condition(a, inside), self.condition(b, inside)
                return Step(lambda p: True if True in (sides := (a(p), b(p))) else None if None in sides else False, a, b)
        raise wrong_target("a condition", e)

    @staticmethod
    def choice(condition, a, b):
        """Only the branch that is taken needs a value; where that is not decided, nothing is said of one that has none."""

        def choose(p):
            holds = condition(p)
            if holds is not None:
                return a(p) if holds else b(p)
            try:
                return hull(a(p), b(p))
            except Undefined as error:
                raise Unclear(str(error)) from None

        return choose

    @staticmethod
    def over_tokens(name, a, shown):
        def gather(p):
            tokens = p.tokens()
            seen = [shown is None or shown(token) for token in tokens]
            if None in seen:
                raise Unclear("a filter that enclosures do not decide")
            return kept(aggregate(name, [a(token) for token, holds in zip(tokens, seen) if holds]))

        return gather


class Step:
    """A function of a Place, and how many operations it takes."""

    def __init__(self, function, *parts, often=False):
        self.function, self.parts, self.often = function, parts, often

    def __call__(self, place):
        return self.function(place)

    @lru_cache(maxsize=None)
    def work(self, n):
        return (1 + sum(part.work(n) for part in self.parts)) * (n if self.often else 1)


def fields(value, place, required, optional=()):
    """Rejects anything but an object with these names."""
    if not isinstance(value, dict) or not set(required) <= set(value) <= {*required, *optional}:
        raise wrong_target(place, sorted(value) if isinstance(value, dict) else value)
    if not isinstance(value.get("lets", []), list):
        raise wrong_target("lets", value["lets"])


class Table:
    """A function that is constant on the cubes of a grid of [0, 1]."""

    def __init__(self, table, c):
        names = "tokens", "dims", "output_dims", "resolution"
        sizes = n, dims, output_dims, resolution = [table[name] for name in names]
        if not all(type(size) is int and size > 0 for size in sizes):
            raise wrong_target("sizes", sizes)
        if (n, n, dims, output_dims) != (c.least, c.most, c.dims, c.output_dims):
            raise Rejected("claim", "tokens, dims or output-dims", "not those of the table")
        values = table["values"]
        if not isinstance(values, list) or len(values) != resolution ** min(n * dims, 64):
            raise Rejected("target", "target.json, values", "not as many entries as there are cubes")
        for entry in values:
            tokens = entry if isinstance(entry, list) else []
            if len(tokens) != n or any(not isinstance(token, list) or len(token) != output_dims for token in tokens):
                raise wrong_target("values", entry)
        self.values = [[[text_number(number) for number in token] for token in entry] for entry in values]
        self.resolution, self.domain, self.integers = resolution, (ZERO, ONE), False

    def work(self, n):
        return n

    def enclose(self, x):
        """Over the cubes that the inside of x meets: what happens on faces is nothing to an integral."""
        scaled = [(lo * self.resolution, hi * self.resolution) for token in x for lo, hi in token]
        entries = []
        for cube in product(*(range(math.floor(lo), math.ceil(hi)) for lo, hi in scaled)):
            at = 0
            for k in cube:
                at = at * self.resolution + k
            entries.append(self.values[at])
        return [[(min(column), max(column)) for column in zip(*tokens)] for tokens in zip(*entries)]


def read_target(data, c):
    within(len(data), TEXT, "bytes of target.json")
    target = read_json(data, "target", "target.json")
    match target.get("kind"):
        case "expression":
            fields(target, "the object", ("kind", "ast"), ("name", "text"))
            return Expression(target["ast"], c)
        case "table":
            sizes = "tokens", "dims", "output_dims", "resolution"
            fields(target, "the object", ("kind", *sizes, "values"), ("name", "text", "symmetry"))
            return Table(target, c)
        case kind:
            raise wrong_target("kind", kind)


# ---------------------------------------------------------------------------------------------- 5, 6. The claim


def show(x):
    """A number for people: exactly if that is short, else to six digits."""
    x = Fraction(x)
    short = x.numerator.bit_length() + x.denominator.bit_length() <= 40
    return str(x) if short else str(Context(prec=6).divide(Decimal(x.numerator), Decimal(x.denominator)))


def fits(c, target):
    """That the parts of the claim fit each other; then whether it is decided here."""

    def wrong(place, reason):
        return Rejected("claim", place, reason)

    if c.least > c.most:
        raise wrong("tokens", f"{c.least} to {c.most}")
    if c.positions and not c.least == c.most == c.positions:
        raise wrong("positions", f"{c.positions} tokens have a position, the claim is about {c.least} to {c.most}")
    if c.over in ("box", "space") and target.integers or c.over not in ("box", "space") and not target.integers:
        raise wrong("over", f"`{c.over}`, and the target is over " + ("integers" if target.integers else "an interval"))
    meant = c.over == "box" and c.power is None or hasattr(c, "host")
    within(c.most, MEANT if meant else TOKENS, "tokens")
    masks = {mask for run in c.runs for mask in run.masks if mask[:4] != ("*",) * 4}
    within(len(masks) * c.most**2, HIDING, "tokens that masks may hide")
    for n, mask in product(range(c.least, c.most + 1), masks):
        low, high, start, end, first = mask
        for t in range(0 if first == "yes" else n):
            before = max(0, t + low if low != "*" else 0, start if start != "*" else 0)
            after = min(n - 1, t + high if high != "*" else n - 1, end if end != "*" else n - 1)
            if before > after:
                raise wrong("mask " + " ".join(map(str, mask)), f"token {t} of {n} sees nothing")
    for run in c.runs:
        if run.connections and (run.kind != "softmax" or c.least < c.most or {("*",) * 4 + ("no",)} != set(run.masks)):
            raise wrong("connections", "besides masks, for several numbers of tokens, or without softmax")
    if c.badge != "certified":
        raise Declined(f"the badge `{c.badge}`")
    if c.assumptions:
        raise Declined(f"an assumption: {c.assumptions[0]}")
    if any(run.kind not in (None, "softmax") for run in c.runs):
        raise Declined("attention other than softmax")
    within(sum(run.blocks for run in c.runs), BLOCKS, "blocks")
    if c.over == "space" or c.over != "box" and c.power is not None:
        raise Declined(f"`over {c.over}` in this norm")
    if c.power is not None and (c.power.denominator != 1 or c.power > 64):
        raise Declined(f"the exponent {c.power}")
    if c.lipschitz is not None and not isinstance(target, Table):
        raise Rejected("claim", "lipschitz", "the target is no table")
    if c.lipschitz is not None and not getattr(c, "median", None):
        raise Declined("a claim about all functions with a Lipschitz constant, without copies")


def distance(y, f):
    """The largest |y - f| for y and f in their intervals."""
    return max(y.hi - f[0], f[1] - y.lo)


def nearest_distance(y, f):
    """The largest |y - g| that is left for every g in f, however narrowly f were enclosed."""
    return max((y.hi - y.lo) / 2, y.hi - f[1], f[0] - y.lo)


def prove_points(c, network, target):
    """`finite` and `point`, at each sequence of integers."""
    low, high = map(int, target.domain)
    count = sum((high - low) ** min(c.dims * n, 64) for n in range(c.least, c.most + 1))  # 2^64 is too many already
    within(count, SEQUENCES, f"sequences of {c.least} to {c.most} of {high - low}^{c.dims} tokens")
    within(count * target.work(c.most), STEPS, f"steps of the target at {count} sequences")
    network.within_limits((high - low) ** c.dims)
    tokens = [tuple((Fraction(k),) * 2 for k in token) for token in product(range(low, high), repeat=c.dims)]
    for n in range(c.least, c.most + 1):
        for x in product(tokens, repeat=n):
            place = "at " + "; ".join(" ".join(str(k) for k, _ in token) for token in x)
            try:
                y = network.run(x)
                if c.over == "integers" or len(set(x)) == n:
                    f = target.enclose(x)
                else:
                    f = [[(c.other, c.other)] * c.output_dims] * n
            except Undefined as error:
                raise Rejected("point", place, f"the target has no value: {error}") from None
            except Unclear as error:
                raise Declined(f"the target's value {place} is not decided: {error}") from None
            except Rejected as error:
                error.place = f"{place}, {error.place}"
                raise
            for t, (outputs, values) in enumerate(zip(y, f)):
                for k, (output, value) in enumerate(zip(outputs, values)):
                    if distance(output, value) > c.bound:
                        ends = [show(end) for end in (output.lo, output.hi, *value, c.bound)]
                        place, said = f"{place}, token {t}, coordinate {k}", "the output is {} to {}, the target {} to {}, the bound {}".format(*ends)
                        if nearest_distance(output, value) <= c.bound:
                            raise Declined(f"the target is not enclosed well enough, {place}: {said}")
                        raise Rejected("point", place, said)


def prove_integral(c, network, target):
    """`finite` and `integral`, over the box, cell by cell."""
    if c.least != c.most:
        raise Declined("a box of sequences of several lengths")
    if not c.cells:
        raise Declined("a box without cells")
    (low, high), n, p, size = target.domain, c.most, int(c.power), c.dims * c.most
    count = c.cells ** min(size, 64)  # 2^64 is too many already
    if size > 64:
        raise Declined(f"{size} coordinates of a sequence, the limit is 64")
    within(count, SEQUENCES, f"cells, {c.cells}^{size}")
    within(count * target.work(n), STEPS, f"steps of the target on {count} cells")
    network.within_limits(c.cells ** c.dims)
    for corner in (low, high):
        try:
            target.enclose((((corner, corner),) * c.dims,) * n)
        except Undefined as error:
            raise Rejected("target", f"where every input is {show(corner)}", f"the target has no value: {error}") from None
        except Unclear:
            pass
    side, (below, above) = (high - low) / c.cells, c.margins
    anywhere = network.run((((low, high),) * c.dims,) * n, wide=True)
    rest = 1 - (1 - below - above) ** size  # the share of a cell that is not in its good part
    ends = [(low + side * (k + below), low + side * (k + 1 - above)) for k in range(c.cells)]
    cells = [(cell, network.run(tokens_of([ends[k] for k in cell], c.dims)))
             for cell in product(range(c.cells), repeat=size)]
    allowed, volume, cut = c.bound**p, side**size, 1
    place = f"{c.cells} cells a side, margins {c.margins[0]} and {c.margins[1]}"
    while True:
        try:
            pieces = [[(low + side * k + side * j / cut, low + side * k + side * (j + 1) / cut) for j in range(cut)]
                      for k in range(c.cells)]
            parts = [cell_integral(cell, y, pieces, anywhere, rest, target, c.dims, p) for cell, y in cells]
            found, left = (sum(sums) * volume for sums in zip(*parts))
            if found <= allowed:
                return
            reason = f"at most {show(found)} is proved of the integral, which must not exceed {show(allowed)}"
            if left > allowed:  # however narrowly the target were enclosed
                raise Rejected("integral", place, reason)
        except Undefined as error:
            raise Rejected("target", place, f"the target has no value: {error}") from None
        except Unclear as error:
            reason = f"the target is not shown to have a value everywhere: {error}"
        cut *= 2
        more = f"pieces of cells, to enclose the target more narrowly; {place}: {reason}"
        within(count * cut**size, PIECES, more)
        within(count * cut**size * target.work(n), 8 * STEPS, f"steps of the target on {more}")


def tokens_of(numbers, dims):
    return tuple(tuple(numbers[at : at + dims]) for at in range(0, len(numbers), dims))


def cell_integral(cell, y, pieces, anywhere, rest, target, dims, p):
    """The integral of Σ |y - f|^p over a cell, as a share of its volume: on its good part, and on the rest of it.

    At most; and what is left of it however narrowly f were enclosed.
    """
    totals, around, count = [ZERO, ZERO], None, 0
    for piece in product(*(pieces[k] for k in cell)):
        f = target.enclose(tokens_of(piece, dims))
        totals, count = [total + more for total, more in zip(totals, apart(y, f, p))], count + 1
        around = f if around is None else [[hull(a, b) for a, b in zip(*tokens)] for tokens in zip(around, f)]
    return [total / count + rest * more for total, more in zip(totals, apart(anywhere, around, p))]


def apart(y, f, p):
    pairs = [(output, value) for outputs, values in zip(y, f) for output, value in zip(outputs, values)]
    return [sum(measure(output, value) ** p for output, value in pairs) for measure in (distance, nearest_distance)]


def check(certificate: bytes, target: bytes, weights: bytes) -> Verdict:
    """The verdict on three files, given as bytes."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))  # what is nested 256 deep is deeper for the interpreter
    try:
        c = read_certificate(certificate)
        for name, data in (("target.json", target), ("model.safetensors", weights)):
            if hashlib.sha256(data).hexdigest() != c.hashes[name]:
                raise Rejected("hash", name, "not the file that the certificate is about")
        if others := [run.kind for run in c.runs if run.kind and run.kind.startswith("x-")]:
            raise Declined(f"attention of the kind {others[0]}, of which nothing is known")  # its tensors neither
        tensors, function = read_tensors(weights, c), read_target(target, c)
        fits(c, function)
        if c.median:
            from medians import prove_median

            if c.power is not None:
                raise Declined("the median of copies, in another norm than the supremum")
            prove_median(c, Network(c, tensors), function)
        elif c.over == "box" and c.power is None:
            from meanings import prove_meanings

            prove_meanings(c, tensors, function)
        else:
            (prove_integral if c.over == "box" else prove_points)(c, Network(c, tensors), function)
    except Rejected as error:
        return Verdict("rejected", error.obligation, error.place, error.reason)
    except Declined as error:
        return Verdict("declined", "", "", str(error))
    except RecursionError:
        return Verdict("declined", "", "", "what is nested deeper than is followed here")
    return Verdict("accepted", "", "", claim(c, function))


def claim(c, target):
    """The proof, in words."""
    low, high = target.domain
    lengths = f"{c.least}" if c.least == c.most else f"{c.least} to {c.most}"
    end = f"in every execution ieee-any-order {c.format}"
    if c.over == "box" and c.power is None:
        of = "the target" if c.lipschitz is None else f"every function with the Lipschitz constant {show(c.lipschitz)} and the table's values at centres,"
        return f"every output is within {show(c.bound)} of {of} at all sequences of {lengths} tokens over [{low}, {high}]^{c.dims}, {end}"
    if c.over == "box":
        return f"the l{c.power} error over [{low}, {high}]^({c.dims}×{lengths}) is at most {show(c.bound)}, {end}"
    other = f", of {c.other} where tokens are equal," if c.over == "distinct-integers" else ""
    where = f"all sequences of {lengths} tokens of integers {low}..{high}"
    return f"every output is within {show(c.bound)} of the target{other} at {where}, {end}"


def read_file(path, limit):
    """The bytes of a regular file: others may never end. A certificate that is too long is a fault, to be found as one."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"cannot read {path}: it is no regular file")
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit and path.name != "certificate.fwc":
        raise Declined(f"{path.name} is longer than the limit of {limit} bytes")
    return data


def check_folder(folder):
    """The verdict on a folder: of a network, or of one inside of a stock host."""
    from hosts import check_host, is_host

    limits = {"target.json": TEXT, "config.json": TEXT, "model.safetensors": 8 * WEIGHTS + TEXT + 8, "inputs.safetensors": 8 * WEIGHTS + TEXT + 8}
    certificate = read_file(folder / "certificate.fwc", LONGEST)
    if not is_host(certificate):
        return check(certificate, *(read_file(folder / name, limits[name]) for name in ("target.json", "model.safetensors")))
    names = [name for name in limits if name != "inputs.safetensors" or b"\nsha256 inputs.safetensors " in certificate]
    return check_host(certificate, {name: read_file(folder / name, limits[name]) for name in names})


def main():
    parser = argparse.ArgumentParser(description="Checks certificate.fwc of a folder that formwright wrote.")
    parser.add_argument("dir", type=Path)
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.error = lambda message: (print(f"error: {message}", file=sys.stderr), sys.exit(3))
    arguments = parser.parse_args()
    try:
        verdict = check_folder(arguments.dir)
    except Declined as error:
        verdict = Verdict("declined", "", "", str(error))
    except (OSError, MemoryError) as error:
        print(f"error: {error or 'out of memory'}", file=sys.stderr)
        sys.exit(3)
    if arguments.json:
        print(json.dumps(verdict.__dict__, ensure_ascii=False))
    else:
        where = f" {verdict.obligation}, {verdict.place}:" if verdict.obligation else ":"
        print(f"{verdict.verdict}{where} {verdict.reason}")
    sys.exit({"accepted": 0, "rejected": 1, "declined": 2}[verdict.verdict])


if __name__ == "__main__":
    from checker import main  # the module that the other files know, not a second one

    main()
