"""Section 7 of CERTIFICATE.md: a claim in the supremum norm over a box, proved from what registers mean.

A *wire* is a number that every token has, meant exactly. The network computes another one in its place; `profile` bounds how
far it is off, by the value. A register holds an affine form over the numbers that are computed, up to what it has *lost*.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise
from math import isqrt
from typing import NamedTuple

from checker import FORMATS, Arithmetic, Declined, Num, Rejected, Undefined, Unclear, count, is_power_of_two, limit, point, power_of_two
from checker import rational, show, shows, sparse, valuation, within
from curves import Broken, Budget, Gap, Profile, gaps, image_over, read_curve
from forms import NOUGHT, Form, up, wrong_line
from heads import attention, hides_nothing
from normal import Atoms, Target, constant, plus, product, total as total_of
import distance
import shared
import tokens

ZERO, ONE = Fraction(0), Fraction(1)
PIECES = 128  # of a curve, at least, by which errors are told apart
PAIRS = 1 << 20  # of tokens, of all lengths together, where outputs are compared token by token
SQUARE = ("x", ("power", 2))


# ---------------------------------------------------------------------------------------------- The lines


class Wire(NamedTuple):
    kind: str
    forms: tuple = ()
    coordinate: int = 0
    curve: tuple = ()
    number: Fraction = ZERO  # the factor of a mean, the reach of teeth, where points begin
    teeth: tuple = ()  # for each argument its form and the wires of its teeth
    numbers: tuple = ()  # one for each position, or each point
    mask: tuple = ()
    of: str = ""  # mean, sum or max


class Gate(NamedTuple):
    wire: int
    form: Form
    arguments: tuple  # of (unit, form)


class Value(NamedTuple):
    wire: int
    form: Form
    head: int
    value: int


class Layer(NamedTuple):
    made: tuple
    holds: tuple  # of (register, form)


class Meanings(NamedTuple):
    wires: tuple
    layers: tuple
    outputs: tuple


class Words:
    """The words of one line, from left to right."""

    def __init__(self, lines, keyword):
        lines.number += 1
        self.lines, self.keyword = lines, keyword
        line = lines.lines[lines.number - 1] if lines.number <= len(lines.lines) else ""
        first, *self.words = line.split(" ")
        self.at = 0
        if first != keyword:
            raise lines.wrong(f"`{keyword} …`")

    def wrong(self, what):
        return self.lines.wrong(f"`{self.keyword} …` with {what}")

    def word(self):
        self.at += 1
        if self.at > len(self.words):
            raise self.wrong("more words")
        return self.words[self.at - 1]

    def count(self, below=None, what="a count"):
        word = self.word()
        value = count(word)
        if value is None or str(value) != word or below is not None and value >= below:
            raise self.wrong(what if below is None else f"{what} below {below}")
        return value

    def rational(self):
        value = rational(self.word())
        if value is None:
            raise self.wrong("a rational number")
        return value

    def mask(self):
        mask = tuple(map(limit, (self.word(), self.word(), self.word(), self.word()))) + (self.word(),)
        if None in mask or mask[4] not in ("yes", "no") or [*map(str, mask)] != self.words[self.at - 5 : self.at]:
            raise self.wrong("a mask")
        return mask

    def form(self, wires):
        """A form over so many wires."""
        offset, terms, last = self.rational(), [], -1
        for _ in range(self.count()):
            wire, factor = self.count(wires, "a wire"), self.rational()
            if wire <= last or not factor:
                raise self.wrong("a form whose wires ascend, and whose factors are not 0")
            last = wire
            terms.append((wire, factor))
        return Form(offset, tuple(terms))

    def rest(self):
        rest, self.at = self.words[self.at :], len(self.words)
        return rest

    def end(self):
        if self.at != len(self.words):
            raise self.wrong("nothing behind its end")


def read_wire(line, k, c):
    """A wire, of the k before it."""
    kind = line.word()
    match kind:
        case "input":
            return Wire(kind, coordinate=line.count(c.dims, "a coordinate"))
        case "curve":
            return Wire(kind, (line.form(k),), curve=read_curve(line.rest(), line.wrong))
        case "product":
            return Wire(kind, (line.form(k), line.form(k)))
        case "mean":
            number = line.rational()
            return Wire(kind, (line.form(k),), number=number)
        case "hub":
            token, number = line.count(c.most, "a token"), line.rational()
            return Wire(kind, (line.form(k),), coordinate=token, number=number)
        case "teeth":
            forms, reach, teeth = (line.form(k), line.form(k)), line.rational(), []
            for _ in range(line.count()):
                form = line.form(k)
                teeth.append((form, tuple(line.count(k, "a wire") for _ in range(line.count()))))
            return Wire(kind, forms, number=reach, teeth=tuple(teeth))
        case "position":
            numbers = [rational(word) for word in line.rest()]
            if None in numbers or not numbers:
                raise line.wrong("rational numbers, one or more")
            return Wire(kind, numbers=tuple(numbers))
        case "seen":
            mask, of = line.mask(), line.word()
            if of not in ("mean", "sum", "max"):
                raise line.wrong("mean, sum or max")
            number = line.rational()
            return Wire(kind, (line.form(k),), number=number, mask=mask, of=of)
        case "attend":
            mask, forms = line.mask(), [line.form(k)]
            for _ in range(line.count()):
                forms += [line.form(k), line.form(k)]
            return Wire(kind, tuple(forms), mask=mask)
        case "gather" | "select":
            return Wire(kind, (line.form(k), line.form(k)))
        case "points":
            form, first, numbers = line.form(k), line.rational(), [line.rational()]
            while line.at < len(line.words):
                numbers.append(line.rational())
            if first.denominator != 1:
                raise line.wrong("a whole number in front of the values")
            return Wire(kind, (form,), number=first, numbers=tuple(numbers))
        case "cases":
            return Wire(kind, (line.form(k),))
        case "exchange":
            return Wire(kind, (line.form(k), line.form(k), line.form(k)))
    raise line.wrong("input, curve, product, mean, hub, teeth, position, seen, attend, gather, select, points, cases or exchange")


def read_meanings(lines, c):
    """The lines of section 7, if the next one begins them: those of the sub-layers that the runs ask for."""
    following = lines.lines[lines.number] if lines.number < len(lines.lines) else ""
    if following.split(" ")[0] != "meanings":
        return None

    def number(keyword):
        line = Words(lines, keyword)
        found = line.count()
        line.end()
        return found

    def asked(keyword, wanted):
        if number(keyword) != wanted:
            raise lines.wrong(f"`{keyword} {wanted}`")

    wires = []
    for k in range(number("meanings")):
        line = Words(lines, "wire")
        wires.append(read_wire(line, k, c))
        line.end()
    kinds = [(None, None)]
    for run in c.runs:
        parts = [("head", run)] * bool(run.kind) + [("gate", run)] * (run.hidden is not None)
        kinds += parts * run.blocks
    asked("layers", len(kinds))
    layers = []
    for keyword, run in kinds:
        line = Words(lines, "layer")
        made, held = line.count(), line.count()
        line.end()
        if made and keyword is None:
            raise lines.wrong("an embedding, which makes no wire")
        layers.append(Layer(tuple(read_made(lines, keyword, run, len(wires)) for _ in range(made)), read_holds(lines, held, c, len(wires))))
    asked("outputs", c.output_dims)
    outputs = []
    for _ in range(c.output_dims):
        line = Words(lines, "output")
        outputs.append(line.form(len(wires)))
        line.end()
    return Meanings(tuple(wires), tuple(layers), tuple(outputs))


def read_made(lines, keyword, run, wires):
    line = Words(lines, keyword)
    wire, form = line.count(wires, "a wire"), line.form(wires)
    if keyword == "head":
        made = Value(wire, form, line.count(run.heads, "a head"), line.count(run.value_size, "a value"))
    else:
        made = Gate(wire, form, tuple((line.count(run.hidden, "a unit"), line.form(wires)) for _ in range(line.count())))
    line.end()
    return made


def read_holds(lines, held, c, wires):
    holds, last = [], -1
    for _ in range(held):
        line = Words(lines, "holds")
        register, form = line.count(c.width, "a register"), line.form(wires)
        line.end()
        if register <= last:
            raise lines.wrong("registers that ascend")
        last = register
        holds.append((register, form))
    return tuple(holds)


# ---------------------------------------------------------------------------------------------- What is proved


def root_above(x):
    """At least the square root of x >= 0."""
    scaled = -(-x.numerator * (1 << 256) // x.denominator)
    root = isqrt(scaled)
    return Fraction(root + (root * root < scaled), 1 << 128)


@dataclass
class Group:
    """Hidden units that read the same functional of the stream, up to sign."""

    row: tuple
    form: Form
    lost: Fraction  # what the registers that are read have lost, as the functional reads it
    units: list = field(default_factory=list)  # of (unit, sign, bias, what it loses by rounding)
    shared: bool = False  # several curves read it


class Meant:
    def __init__(self, c, tensors, meanings, domain):
        self.c, self.tensors, self.meanings, self.domain = c, tensors, meanings, domain
        self.arithmetic, self.most = Arithmetic(*FORMATS[c.format]), c.most
        self.wires, self.budget, self.pairs, self.place = meanings.wires, Budget(), 0, ""
        self.ranges, self.profiles, self.expanded, self.factors = [], {}, {}, {}
        self.sums = {}  # of positions, at every token
        self.error = ZERO  # of the outputs, as far as it is shown
        # The error that a tooth adds to its own, and the range of what it reads.
        self.own, self.read, self.hats = {}, {}, {}
        self.hubs = {}  # what a hub's wire is off by at that token
        self.toothed = {tooth for wire in self.wires for _, teeth in wire.teeth for tooth in teeth}
        for k, wire in enumerate(self.wires):
            if wire.kind == "position" and (len(wire.numbers) != c.positions or not c.positions):
                raise wrong_line(f"wire {k}", f"has {len(wire.numbers)} numbers for {c.positions} positions")
            self.ranges.append(self.range_of(wire))
            if wire.kind == "input":
                self.profiles[k] = self.rounded_input()
            if wire.kind == "position":
                self.profiles[k] = Profile([(*self.ranges[k], ZERO)])
            if wire.kind == "teeth":
                self.expanded[k] = self.teeth(k, wire)
            if wire.kind == "cases":
                self.expanded[k] = self.expand(wire.forms[0])
        self.registers = [(NOUGHT, ZERO)] * c.width

    # What a stock host adds, section 10; here nothing.

    unit_factor = ZERO  # by how much what units add may be too large or too small, relatively: r_g
    token_factor = ZERO  # the same of what heads read of other tokens: r_v
    read_factor = ZERO  # and of scores and outputs: r
    quiet = ZERO  # what a unit may cost whose activation is no max(x, 0): 3α

    def haze(self, register):
        """What a register has lost more where it is read."""
        return ZERO

    told = None  # the values of wires, where sequences of integers are told one by one

    def by_units(self, error, lo, hi):
        """An error of what units add, which lies between two numbers."""
        return error + self.unit_factor * (max(-lo, hi) + error) if self.unit_factor else error

    def before(self, register):
        """The size, as a term of a sum, of what a register holds; and how many terms that is."""
        size = self.computed(register).size
        return size, int(size != 0)

    def flushed(self, terms, weights):
        """What is below the normal range, in a sum of so many terms, and of so many weights."""
        return 4 * terms * self.arithmetic.tiny

    def row_value(self, row, bias=ZERO):
        """The value of a row of weights on the stream, and its loss by rounding."""
        return self.arithmetic.total([self.arithmetic.times(point(w), self.computed(i)) for i, w in row] + [point(bias)])

    def unit_value(self, row, bias):
        """The same of what a unit reads."""
        return self.row_value(row, bias)

    hides = False  # scores by position may hide tokens, of several numbers of tokens

    def is_placed(self, register):
        """True if what a register holds depends on the position alone."""
        return not self.moving(self.registers[register][0]).terms

    def row_at(self, row, bias, t):
        """What a row computes at one token, of registers of positions alone."""
        return self.arithmetic.total([self.arithmetic.times(point(w), self.computed_at(i, t)) for i, w in row] + [point(bias)])

    def added_by_heads(self, terms, register, place):
        """What is rounded where heads add to a register that lies there behind them."""
        return self.arithmetic.total(terms, place)[1]

    def knows(self, kind):
        """True if there is a rule for heads that make this."""
        return True

    def unproved(self, reason):
        return Declined(reason)

    # Forms: where they lie, and how far off they are.

    def expand(self, form):
        """A form over wires that registers hold: products that stand in no register are written by their teeth."""
        total = Form(form.offset, tuple(term for term in form.terms if term[0] not in self.expanded))
        for wire, factor in form.terms:
            if wire in self.expanded:
                total = total.plus(self.expanded[wire], factor)
        return total

    def moving(self, form):
        """The part of a form that is no number of the position."""
        return Form(ZERO, tuple(term for term in form.terms if self.wires[term[0]].kind != "position"))

    def at_places(self, form):
        """The number that a form has at every position, but for what moves; a single one if it has no positions."""
        fixed = tuple(term for term in form.terms if self.wires[term[0]].kind == "position")
        if not fixed:
            return [form.offset]
        if fixed not in self.sums:
            self.sums[fixed] = [sum(factor * self.wires[wire].numbers[t] for wire, factor in fixed) for t in range(self.c.positions)]
        return [form.offset + value for value in self.sums[fixed]]

    def form_at(self, form, t):
        places = self.at_places(form)
        return places[t] if len(places) > 1 else places[0]

    def between(self, form, of, places=None):
        """The range of a form if each wire lies where `of` says; all positions are those of one token."""
        ends = [tuple(sorted((factor * lo, factor * hi))) for wire, factor in self.moving(form).terms for lo, hi in [of(wire)]]
        places = self.at_places(form) if places is None else places
        return min(places) + sum(a for a, _ in ends), max(places) + sum(b for _, b in ends)

    def form_range(self, form):
        lo, hi = self.between(form, self.ranges.__getitem__)
        centred = self.centred(form)
        if centred:
            offset, inner = centred
            a, b = self.form_range(inner)
            spread = (b - a) * (self.most - 1) / self.most
            lo, hi = max(lo, offset - spread), min(hi, offset + spread)
        return lo, hi

    def centred(self, form):
        """offset and N, if the form is offset + N - mean N."""
        for wire, factor in form.terms:
            mean = self.wires[wire] if wire < len(self.wires) else None
            if mean.kind == "mean":
                inner = Form(ZERO, tuple(term for term in form.terms if term[0] != wire))
                away = inner.plus(mean.forms[0], factor * mean.number)
                if inner.terms and not away.terms:
                    return form.offset + away.offset, inner
        return None

    def off(self, form, lo=None, hi=None):
        """How far the form may be off over what is computed, where its value is from lo to hi."""
        total, whole = ZERO, None
        for wire, factor in form.terms:
            profile = self.profile(wire)
            if not profile.greatest:
                continue
            if lo is None:
                total += abs(factor) * profile.greatest
                continue
            if whole is None:
                whole = [tuple(sorted((f * a, f * b))) for w, f in form.terms for a, b in [self.ranges[w]]]
            others = [ends for (other, _), ends in zip(form.terms, whole, strict=True) if other != wire]
            rest = form.offset + sum(a for a, _ in others), form.offset + sum(b for _, b in others)
            a, b = sorted(((lo - rest[1]) / factor, (hi - rest[0]) / factor))
            total += abs(factor) * profile.most(a, b)
        return total

    def hat(self, wire):
        """The range of the number that is computed in place of a wire."""
        (lo, hi), off = self.ranges[wire], self.profile(wire).greatest
        low, high = self.hats.get(wire, (lo - off, hi + off))
        return max(low, lo - off), min(high, hi + off)

    def form_hat(self, form):
        """The same of a form."""
        lo, hi = self.between(form, self.hat)
        low, high = self.form_range(form)
        off = self.off(form)
        return max(lo, low - off), min(hi, high + off)

    def computed(self, register):
        """The range of a register's value, in any execution: a number of the format."""
        form, lost = self.registers[register]
        if form == NOUGHT and not lost:
            return point(ZERO)
        lo, hi = self.form_hat(form)
        if lo == hi and not lost:
            return point(lo)
        fine = -(1 << 12) if lost or self.moving(form).terms else min(map(valuation, self.at_places(form)))
        return Num(lo - lost, hi + lost, fine)

    def computed_at(self, register, t):
        """The same at one token, of a register that holds a number of the position."""
        form, lost = self.registers[register]
        value = self.form_at(form, t)
        return Num(value - lost, value + lost, -(1 << 12)) if lost else point(value)

    # Wires.

    def range_of(self, wire):
        match wire.kind:
            case "input":
                return self.domain
            case "curve":
                return image_over(wire.curve, *self.form_range(wire.forms[0]))
            case "mean":
                form = wire.forms[0]
                lo, hi = self.form_range(form)
                if len(form.terms) == 1:
                    ((square, factor),) = form.terms
                    squared = self.squared(square)
                    centred = squared and self.centred(squared)
                    if centred and not centred[0]:
                        a, b = self.form_range(centred[1])
                        most = form.offset + factor * (b - a) ** 2 / 4
                        lo, hi = (lo, min(hi, most)) if factor > 0 else (max(lo, most), hi)
                return tuple(sorted((wire.number * lo, wire.number * hi)))
            case "position":
                return min(wire.numbers), max(wire.numbers)
            case "hub":
                return tuple(sorted(wire.number * x for x in self.form_range(wire.forms[0])))
            case "seen":
                return self.seen_range(wire)
            case "attend":
                return self.form_range(wire.forms[0])
            case "gather":
                return self.form_range(wire.forms[1])
            case "select":
                holds = self.at_places(wire.forms[0])
                lo, hi = self.form_range(wire.forms[1]) if any(holds) else (ZERO, ZERO)
                return (lo, hi) if all(holds) else (min(lo, ZERO), max(hi, ZERO))
            case "exchange":
                (p, q), (r, s) = map(self.form_range, wire.forms[1:])
                return min(p, r), max(q, s)
            case _:
                a, b = wire.forms
                return max(pair[0] for pair in self.product_ranges(a, b)), min(pair[1] for pair in self.product_ranges(a, b))

    def seen_range(self, wire):
        lo, hi = self.form_range(wire.forms[0])
        counts = [1]
        within(self.most**2 if wire.of == "sum" else 0, PAIRS, "pairs of tokens of a sum")
        if wire.of == "sum":  # what is summed is 0 at the first token, or the wire is never made
            counts = [sum(shows(wire.mask, t, k) for k in range(1, self.most)) for t in range(self.most)]
        ends = [wire.number * count * x for count in (min(counts), max(counts)) for x in (lo, hi)]
        return min(ends), max(ends)

    def normal_at_first(self, form):
        """The normal form at the first token."""
        wires = tokens.Wires(self.wires, self.most, Atoms(), tokens.Budget())
        wires.prepare([form])
        return wires.form(form, 0)

    def squared(self, wire):
        """The form whose square the wire is."""
        wire = self.wires[wire]
        if wire.kind == "curve":
            return wire.forms[0] if wire.curve in (SQUARE, ("x", "x", "mul")) else None
        return wire.forms[0] if wire.kind in ("product", "teeth") and wire.forms[0] == wire.forms[1] else None

    def product_ranges(self, a, b):
        (p, q), (r, s) = self.form_range(a), self.form_range(b)
        ends = p * r, p * s, q * r, q * s
        yield min(ends), max(ends)
        if a == b:
            yield ZERO if p <= 0 <= q else min(p * p, q * q), max(p * p, q * q)

    def rounded_input(self):
        """A rounded number is off by half a unit of its last place."""
        a, (low, high) = self.arithmetic, self.domain
        size = max(abs(low), abs(high))
        if a.nearest(size) >= a.limit:
            raise Rejected("finite", "inputs", f"an input of {show(size)} may overflow")
        pieces, end, floor = [], size, size / 2**12
        while end > floor:
            start = end / 2 if is_power_of_two(end) else power_of_two(a.grid(end) + a.digits - 1)
            start = max(start, floor)
            pieces.append((start, end, power_of_two(a.grid(start)) / 2 + a.tiny))
            end = start
        pieces.append((ZERO, end, max(power_of_two(a.grid(end)) / 2, a.tiny) + a.tiny))
        return Profile([*pieces, *((-hi, -lo, e) for lo, hi, e in pieces)])

    # Layers.

    def prove(self):
        layers = iter(self.meanings.layers)
        self.embedding(next(layers))
        first = 0
        for run in self.c.runs:
            for b in range(run.blocks):
                for part, prove in (run.kind, self.attend), (run.hidden, self.feed_forward):
                    if part is not None:
                        self.place = f"block {first + b}, {'attention' if prove == self.attend else 'feed-forward layer'}"
                        try:
                            prove(run, first, b, next(layers))
                        except Rejected as error:
                            error.place = ", ".join(filter(None, (self.place, error.place)))
                            raise
            first += run.blocks

    def held(self, layer):
        """Every register's form behind the layer."""
        forms = [form for form, _ in self.registers]
        for register, form in layer.holds:
            forms[register] = form
        return forms

    def size(self, form):
        """The largest size of a form over what is computed."""
        return max(map(abs, self.form_hat(form)))

    def said(self, form):
        return " + ".join([show(form.offset), *(f"{show(factor)}·wire {wire}" for wire, factor in form.terms)])[:200]

    def embedding(self, layer):
        self.place = "embedding"
        inputs = {}
        for k, wire in enumerate(self.wires):
            if wire.kind == "input":
                inputs.setdefault(wire.coordinate, k)
        forms = [self.expand(form) for form in self.held(layer)]
        found = [self.embedded(register, form, inputs) for register, form in enumerate(forms)]
        self.registers = [(form, up(away + rounding)) for form, (away, rounding) in zip(forms, found, strict=True)]
        return max((rounding for _, rounding in found), default=ZERO)

    def embedded(self, register, form, inputs):
        """How far what is embedded is from the form, and what is rounded."""
        a, (low, high), away = self.arithmetic, self.domain, self.rounded_input().greatest
        read = Num(low - away, high + away, -(1 << 12), False)
        row, bias = self.tensors["embed.weight"][register], self.tensors["embed.bias"][register]
        more = {entry[register] for entry in self.tensors["pos"]} if self.c.positions else {ZERO}
        lost = max(a.total([a.times(point(w), read) for w in row] + [point(bias), point(entry)])[1] for entry in more)
        terms = {inputs[k]: w for k, w in enumerate(row) if w and k in inputs}
        if len(terms) != sum(w != 0 for w in row):
            raise wrong_line(f"register {register}", "reads a coordinate that is no wire")
        away = Form.of(bias, terms).plus(form, -ONE)
        places = self.at_places(away)
        if self.c.positions:
            places = [places[t if len(places) > 1 else 0] + entry[register] for t, entry in enumerate(self.tensors["pos"])]
        lo, hi = self.between(away, self.hat, [ZERO])
        return max(-lo, hi) + max(map(abs, places)), lost

    def attend(self, run, first, b, layer):
        self.registers = attention(self, run, first, b, layer)

    def new(self, made, *kinds):
        wire = self.wires[made.wire]
        if wire.kind not in kinds or made.wire in self.profiles:
            raise wrong_line(f"wire {made.wire}", "is made twice, or by the wrong part of a block")
        if made.form.of_wire(made.wire) != 1:
            raise wrong_line(f"wire {made.wire}", "is not once in what makes it")
        return wire

    def profile_of(self, form, lo, hi):
        """How far off a form is, by its value from lo to hi."""
        places = {lo, hi}
        for wire, factor in form.terms:
            if len(form.terms) == 1:
                places |= {form.offset + factor * x for x in self.profile(wire).places}
        places = sorted(x for x in places if lo <= x <= hi)
        if len(places) < 2:
            return Profile([(lo, hi, up(self.off(form, lo, hi)))])
        # At a place both sides count; between places nothing else does.
        return Profile([(x, y, up(self.off(form, (3 * x + y) / 4, (x + 3 * y) / 4) if len(form.terms) == 1 else self.off(form, x, y)))
                        for x, y in pairwise(places)])

    def reading(self, row):
        """The form that a row of weights reads of the stream, and its error by the losses of registers."""
        form, lost = NOUGHT, ZERO
        for register, w in row:
            held, away = self.registers[register]
            form, lost = form.plus(held, w), lost + abs(w) * (away + self.haze(register))
        return form, lost

    # Feed-forward layers.

    def feed_forward(self, run, first, b, layer):
        a = self.arithmetic
        w1, b1, w2, b2 = (self.tensors[f"{first}.ff.{name}"][b] for name in ("w1", "b1", "w2", "b2"))
        groups, unit_group, fixed = {}, {}, set()
        for unit, (row, bias) in enumerate(zip(sparse(w1), b1, strict=True)):
            _, loss = self.unit_value(row, bias)
            if not row:  # without a bias it is 0, and writes nothing
                fixed |= {unit} if bias else set()
                continue
            sign = 1 if row[0][1] > 0 else -1
            row = tuple((i, sign * w) for i, w in row)
            if row not in groups:
                groups[row] = Group(row, *self.reading(row))
            groups[row].units.append((unit, sign, bias, loss + a.tiny))  # what is below the normal range may be read as 0
            unit_group[unit] = groups[row], sign
        for group in groups.values():
            group.range = self.group_range(group)
        gates = [Made(self, gate, unit_group) for gate in layer.made]
        made = [gate.wire for gate in layer.made]
        if len(set(made)) < len(made):
            raise wrong_line("gates", "two that make one wire")
        entries = [dict(row) for row in sparse(w2)]
        together = shared.shared_groups(gates, [self.expand(form) for form in self.held(layer)])
        for group, _ in together:
            group.shared = True
        changes = [Change(self, r, form, entries[r], b2[r], list(groups.values()), fixed, gates)
                   for r, form in enumerate(self.held(layer))]
        for group, readers in together:
            shared.Shared(self, group, readers, changes, PIECES).prove()
        for gate in gates:
            if not any(gate is reader for _, readers in together for reader in readers):
                gate.prove([change for change in changes if gate.made.wire in change.factors])
        self.registers = [change.settle() for change in changes]

    def group_range(self, group):
        """The range of the functional, in any execution."""
        ends = [(w * (x.lo - e), w * (x.hi + e)) for i, w in group.row for x, e in [(self.computed(i), self.haze(i))]]
        lo, hi = sum(min(pair) for pair in ends), sum(max(pair) for pair in ends)
        low, high = self.form_hat(group.form)
        return max(lo, low - group.lost), min(hi, high + group.lost)

    # Products that stand in no register.

    def profile(self, wire):
        if wire not in self.profiles:
            if wire not in self.expanded:
                raise wrong_line(f"wire {wire}", "is used before a layer makes it")
            of_teeth = self.wires[wire].kind == "teeth"
            self.profiles[wire] = self.teeth_profile(wire) if of_teeth else Profile([(*self.ranges[wire], up(self.off(self.wires[wire].forms[0])))])
        return self.profiles[wire]

    def polynomial(self, form):
        total = constant(form.offset)
        for wire, factor in form.terms:
            total = plus(total, {((wire, 1),): factor})
        return total

    def squares(self, polynomial, forms):
        """κ for each form, with which polynomial - Σ κ form² is affine, and this rest."""
        squares = [product(self.polynomial(form), self.polynomial(form)) for form in forms]
        places = [m for m in {m for p in [polynomial, *squares] for m in p} if sum(k for _, k in m) == 2]
        factors = None
        if len(squares) == 1:
            found = [polynomial.get(m, ZERO) / squares[0][m] for m in places if m in squares[0]]
            factors = found[:1]
        elif len(squares) == 2:
            for m, n in combinations(sorted(places), 2):
                (p, q), (r, t) = ([square.get(x, ZERO) for square in squares] for x in (m, n))
                if p * t != q * r:
                    x, y = polynomial.get(m, ZERO), polynomial.get(n, ZERO)
                    factors = [(x * t - q * y) / (p * t - q * r), (p * y - x * r) / (p * t - q * r)]
                    break
        if not factors:
            return None
        rest = polynomial
        for factor, square in zip(factors, squares, strict=True):
            rest = plus(rest, square, -factor)
        if any(sum(k for _, k in m) > 1 for m in rest):
            return None
        return factors, Form.of(rest.get((), ZERO), {m[0][0]: value for m, value in rest.items() if m})

    def teeth(self, k, wire):
        """The square of u is r² - 4r² Σ T_k 4^-k, up to r² 4^-m below: the wire as a form over its teeth."""
        a, b = map(self.expand, wire.forms)
        forms, r = [self.expand(form) for form, _ in wire.teeth], wire.number
        found = self.squares(product(self.polynomial(a), self.polynomial(b)), forms)
        if found is None or found[0] != [1, -1][: len(forms)]:
            raise wrong_line(f"wire {k}", "is not the square of its argument, or of one less that of the other")
        if r <= 0 or len({len(teeth) for _, teeth in wire.teeth} | {0}) != 2:
            raise wrong_line(f"wire {k}", "has no reach, or chains of different lengths, or none")
        factors, total = found
        for factor, (form, teeth) in zip(factors, wire.teeth, strict=True):
            wanted = form.times(1 / (2 * r)).plus(Form(Fraction(1, 2), ()))
            for level, tooth in enumerate(teeth, 1):
                if not self.is_tooth(tooth, wanted):
                    raise wrong_line(f"wire {k}", f"wire {tooth} is not its tooth {level}")
                wanted = Form(ZERO, ((tooth, ONE),))
                total = total.plus(wanted, -4 * r * r * factor / 4**level)
            total = total.plus(Form(r * r * factor, ()))
            lo, hi = self.form_range(form)
            if max(-lo, hi) > r:
                raise Declined(f"wire {k}: an argument beyond its reach")
        self.factors[k] = found
        return total

    def is_tooth(self, tooth, argument):
        wire = self.wires[tooth]
        return wire.kind == "curve" and wire.curve == TENT and self.expand(wire.forms[0]) == self.expand(argument)

    def teeth_profile(self, k):
        """The square that the teeth make is of what their first one reads; each doubles what the one before is off by, and adds its own."""
        wire, (factors, _) = self.wires[k], self.factors[k]
        r, least, most, more = wire.number, ZERO, ZERO, ZERO
        for factor, (_, teeth) in zip(factors, wire.teeth, strict=True):
            far, off = factor * r * r / 4 ** len(teeth), ZERO
            least, most = least + min(far, ZERO), most + max(far, ZERO)
            for level, tooth in enumerate(teeth, 1):
                self.profile(tooth)
                off = 2 * off + self.own[tooth]
                more += 4 * r * r / 4**level * off
                if level == 1 and not all(0 <= end <= 1 for end in self.read[tooth]):
                    raise Declined(f"wire {k}: what is read may be beyond its reach")
        away = up(max(-least, most) + more)
        return product_profile(self, wire.forms, self.ranges[k], away)

    # The outputs.

    def outputs(self, target):
        c = self.c
        differences, errors = self.means_the_target(target), []
        for k, form in enumerate(self.meanings.outputs):
            row = sparse([self.tensors["read_out.weight"][k]])[0]
            bias = self.tensors["read_out.bias"][k]
            read, lost = self.reading(row)
            away = self.size(read.plus(Form(bias, ())).plus(self.expand(form), -ONE))
            value, rounding = self.row_value(row, bias)
            errors.append(self.off(form) + away + lost + rounding + self.read_factor * value.size)
        spent = distance.Spent()
        for k, place, difference in differences:
            self.error = max(self.error, errors[k] + self.distance(k, place, difference, errors[k], spent))
        for k, error in enumerate(errors):
            self.error = max(self.error, error)
            if error > c.bound:
                raise self.unproved(f"output {k}: {show(error)} is shown of the bound {show(c.bound)}")

    def distance(self, k, place, difference, error, spent):
        """How far an output's form is from the target, where outputs are so near to the form; at most what the bound leaves."""
        left = self.c.bound - error
        size, at = difference.most(self.domain, left, spent)
        if at is not None and size <= self.c.bound + error:
            # Outputs may be nearer to the target than the form is, there; they are not where it is farther away.
            beyond, place_of = difference.most(self.domain, self.c.bound + error, spent)
            size, at = (beyond, place_of) if place_of else (size, at)
        if at is None:
            return size
        said = f"output {k}, {place}: the form is {show(size)} from the target, and outputs within {show(error)} of the form"
        if size > self.c.bound + error:
            raise Rejected("point", said, f"the bound is {show(self.c.bound)}")
        raise self.unproved(f"{said}; the bound is {show(self.c.bound)}")

    def means_the_target(self, target):
        """The outputs' forms and the target have the same normal forms: of any token, or at every token of every length.
        Otherwise it is their differences that are returned."""
        if not any(self.of_single_tokens(wire) for wire in self.wires):
            try:
                self.of_any_token(target)
                return []
            except (Declined, Undefined, Unclear):
                if sum(n * n for n in range(self.c.least, self.most + 1)) > PAIRS:
                    raise
        within(sum(n * n for n in range(self.c.least, self.most + 1)), PAIRS, "pairs of tokens")
        atoms, budget, differences = Atoms(), tokens.Budget(), []
        for n in range(self.c.least, self.most + 1):
            wires = tokens.Wires(self.wires, n, atoms, budget)
            wires.prepare(self.meanings.outputs)
            wanted = tokens.TokenTarget(target, self.c, self.domain, atoms, n, budget).outputs
            for k, form in enumerate(self.meanings.outputs):
                for t in range(n):
                    apart = plus(wires.form(form, t), wanted[t][k], -ONE)
                    if apart:
                        differences.append((k, f"token {t} of {n}", distance.Difference(atoms, apart)))
        return differences

    def of_single_tokens(self, wire):
        hides = wire.kind in ("seen", "attend") and not hides_nothing(wire.mask, self.most)
        return wire.kind in ("position", "gather", "select", "exchange") or hides or wire.kind == "seen" and wire.of == "sum"

    def of_any_token(self, target):
        atoms, normal = Atoms(), []

        def normal_of(form):
            total = constant(form.offset)
            for wire, factor in form.terms:
                total = plus(total, normal[wire], factor)
            return total

        for wire in self.wires:
            polynomials = [normal_of(form) for form in wire.forms]
            match wire.kind:
                case "input":
                    normal.append(atoms.input(wire.coordinate, "i"))
                case "curve":
                    normal.append(atoms.curve(wire.curve, polynomials[0]))
                case "mean" | "seen":
                    over = atoms.largest if wire.of == "max" else atoms.mean
                    normal.append(product(constant(wire.number), over(atoms.run(polynomials[0]))))
                case "attend":
                    of, *sides = polynomials
                    rows = [product(query, atoms.run(key)) for query, key in zip(sides[::2], sides[1::2], strict=True)]
                    power = atoms.function("exp", total_of(rows))
                    weighed = atoms.mean(product(power, atoms.run(of)))
                    normal.append(atoms.binary("div", weighed, atoms.mean(power)))
                case "product" | "teeth":
                    normal.append(product(*polynomials))
                case "hub":  # at one token it is something else than at the others
                    normal.append(atoms.input(("hub", len(normal)), "i"))
        wanted = Target(target, self.c, self.domain, atoms).outputs
        for k, form in enumerate(self.meanings.outputs):
            if normal_of(form) != wanted[k]:
                raise Declined(f"output {k}: what is computed and the target have different normal forms")


TENT = (Fraction(2), "x", "relu", "mul", Fraction(4), "x", Fraction(1, 2), "sub", "relu", "mul", "sub")


class Change:
    """The sum that one register gets from a feed-forward layer."""

    def __init__(self, meant, register, form, entries, bias, groups, fixed, gates):
        self.meant, self.register, self.entries = meant, register, entries
        self.form = meant.expand(form)
        self.old, self.lost = meant.registers[register]
        self.size, self.terms = meant.before(register)
        self.groups = [group for group in groups if self.entries_of(group)]
        if bias or fixed & set(entries):
            raise wrong_line(f"register {register}", "gets a number that no gate adds")
        found, read = self.old, {register: ONE}
        self.factors, mine = {}, [gate for gate in gates if self.form.of_wire(gate.made.wire)]
        for gate in gates:
            factor = self.form.of_wire(gate.made.wire)
            if factor:
                self.factors[gate.made.wire] = factor
                found = found.plus(gate.form, factor)
        self.charged = False  # an exchange is what the register holds, and is off by what it has lost
        self.linear, self.more = {}, ZERO  # of what is not a gate's: slopes; and what it loses by rounding
        self.left = {}  # of a gate's units that clear the register, the number that they leave
        self.counts = {id(group): self.broken(group).active(*group.range)[0] for group in self.groups}
        owned = {id(group) for gate in mine for group in gate.groups}
        for group in sorted(self.groups, key=lambda group: id(group) in owned):
            owners = [gate for gate in mine if any(g is group for g in gate.groups)]
            if len(owners) > 1 and not group.shared:
                raise Declined(f"register {register}: one functional of two gates")
            broken = self.broken(group)
            clears = group.row[0][0] == register and len(group.row) == 1 and self.form.plus(found, -ONE).terms == self.old.times(-ONE).terms != ()
            # Units that are no gate's clear the register: -R(z) and R(-z), or one of them.
            if not owners and not clears:
                raise wrong_line(f"register {register}", "gets what no gate adds")
            if not owners and any(o or sign * group.row[0][1] * self.entries[unit] != -1 for unit, sign, o, _ in group.units if unit in self.entries):
                raise Declined(f"register {register}: units that read it alone, and do not clear it")
            if not clears:
                continue
            slope, scale = -1 / group.row[0][1], 1 + meant.unit_factor
            found = found.plus(group.form, slope)
            self.more += meant.unit_factor * meant.computed(register).size + scale * meant.haze(register)
            if not owners:  # else what is rounded is the gate's; here also what is left of the register
                self.size += scale * broken.sum(broken.lo, broken.hi)
                left = max(abs(value - slope * knot) for knot, value in zip(broken.knots, broken.values, strict=True))
                self.more += scale * (broken.active(broken.lo, broken.hi)[1] + left) + self.hum(group)
            self.linear[id(group)] = slope
            if owners:
                self.left[id(group)] = self.form.offset - found.offset
                found = found.plus(Form(self.left[id(group)], ()))
            for i, w in group.row:
                read[i] = read.get(i, ZERO) + slope * w
        if found != self.form:
            raise wrong_line(f"register {register}", f"is said to hold {meant.said(self.form)}, which is not {meant.said(found)}")
        self.lost = sum((abs(w) * meant.registers[i][1] for i, w in read.items()), ZERO)

    def entries_of(self, group):
        return {unit: self.entries[unit] for unit, *_ in group.units if unit in self.entries}

    def hum(self, group):
        """What units cost whose activation is no max(x, 0), active or not."""
        return self.meant.quiet * sum(map(abs, self.entries_of(group).values())) if self.meant.quiet else ZERO

    def broken(self, group):
        """The sum of the units, as a function of the functional."""
        units = [(self.entries[unit], Fraction(sign), o, loss) for unit, sign, o, loss in group.units if unit in self.entries]
        return Broken(units, ZERO, ZERO, *group.range)

    def part(self, argument, factor, offset=ZERO, less=None, ratio=ZERO):
        """The sum of an argument's units but those that clear the register, as a function of it, times the factor;
        less so much of what they add to another register; and a number."""
        group = argument.group  # where it clears the register, with what was there, less what it leaves
        lead, beta = -argument.offset / argument.slope, 1 / argument.slope  # the functional is lead + beta times the argument
        cleared, left = -self.linear.get(id(group), ZERO), self.left.get(id(group), ZERO)
        weights = self.entries_of(group)
        if less is not None:
            cleared += ratio * less.linear.get(id(group), ZERO)
            left -= ratio * less.left.get(id(group), ZERO)
            theirs = less.entries_of(group)
            weights = {unit: weights.get(unit, ZERO) - ratio * theirs.get(unit, ZERO) for unit in {*weights, *theirs}}
        units = [(weights[unit] * factor, sign * beta, sign * lead + o, loss) for unit, sign, o, loss in group.units if weights.get(unit)]
        return Broken(units, offset + factor * (cleared * lead - left), factor * cleared * beta, argument.lo, argument.hi)

    def differ(self, first, gate):
        """The register gets not just its factor of what the first one gets, which is what the wire is."""
        ratio, gamma = self.factors[gate.made.wire] / first.factors[gate.made.wire], self.meant.arithmetic.gamma
        more = ZERO
        for argument in gate.arguments:
            difference = self.part(argument, ONE, less=first, ratio=ratio)
            lo, hi = argument.lo, argument.hi
            more += max(map(abs, difference.extremes(lo, hi))) + difference.active(lo, hi)[1]
            for change, factor in (self, ONE), (first, abs(ratio)):
                more += factor * (gamma(change.others()) * change.part(argument, ONE).sum(lo, hi) + change.hum(argument.group))
        self.more += (1 + self.meant.unit_factor) * more

    def others(self, *groups):
        """How many terms the sum has besides those of the groups."""
        return self.terms + sum(count for group, count in self.counts.items() if group not in map(id, groups))

    def settle(self):
        """The register's form behind the layer, and what it has lost."""
        a = self.meant.arithmetic
        count = self.others()
        if count <= 1 and not self.groups and not self.more and not self.charged:
            return self.form, up(self.lost)
        lost = self.lost + self.more + a.gamma(count) * self.size + self.meant.flushed(count, len(self.entries))
        sizes = self.size + sum(self.broken(group).sum(*group.range) for group in self.groups)
        if 2 * sizes >= a.limit:
            raise Rejected("finite", f"register {self.register}", f"a sum whose terms may be {show(sizes)} in size may overflow")
        return self.form, ZERO if self.charged else up(lost)


class Argument:
    """The argument of a gate's units, as α + β times a group's functional, and its distance from the meant one."""

    def __init__(self, meant, form, group):
        self.form, self.group = form, group
        inner = meant.expand(form)
        shared = [wire for wire, _ in inner.terms if group.form.of_wire(wire)]
        if not shared:
            raise wrong_line("", f"a unit reads {meant.said(group.form)} for {meant.said(form)}")
        lead = max(shared, key=lambda wire: abs(inner.of_wire(wire)))
        self.slope = inner.of_wire(lead) / group.form.of_wire(lead)
        away = inner.plus(group.form, -self.slope)
        self.offset = away.offset
        away = Form(ZERO, away.terms)  # what the weights' rounding leaves
        self.lost = abs(self.slope) * group.lost + max(map(abs, meant.form_range(away))) + meant.off(away)
        self.low, self.high = meant.form_range(form)
        lo, hi = meant.form_hat(form)
        ends = sorted(self.offset + self.slope * x for x in group.range)
        # The ranges of the form over computed numbers, of the number read in its place, and of the meant values.
        self.read = max(lo, ends[0]) - self.lost, min(hi, ends[1]) + self.lost
        self.lo, self.hi = min(self.low, self.read[0]), max(self.high, self.read[1])


class Made:
    """A gate: what makes a curve or a product."""

    def __init__(self, meant, made, unit_group):
        self.meant, self.made = meant, made
        self.wire = meant.new(made, "curve", "points", "product", "select", "exchange")
        self.form = meant.expand(made.form)
        self.arguments = []
        for unit, form in made.arguments:
            if unit not in unit_group:
                raise wrong_line(f"wire {made.wire}", f"unit {unit} reads nothing")
            self.arguments.append(Argument(meant, form, unit_group[unit][0]))
        self.groups = [argument.group for argument in self.arguments]
        if not 1 <= len(self.groups) <= (2 if self.wire.kind == "product" else 1) or len({id(group) for group in self.groups}) < len(self.groups):
            raise wrong_line(f"wire {made.wire}", "is not of so many arguments, each different")
        self.rest = self.form.plus(Form(ZERO, ((made.wire, ONE),)), -ONE)

    def prove(self, changes):
        if not changes:
            raise wrong_line(f"wire {self.made.wire}", "stands in no register")
        proofs = {"curve": self.curve, "points": self.curve, "product": self.product, "select": self.select, "exchange": self.exchange}
        proofs[self.wire.kind](changes)
        for change in changes[1:]:
            change.differ(changes[0], self)

    def gaps(self, broken, argument):
        """How far P is from the curve; or at the points that the argument may be."""
        if self.wire.kind == "curve":
            return gaps(self.meant.budget, broken, self.wire.curve, argument.low, argument.high, PIECES)
        places = [(t, self.wire.numbers[int(t - self.wire.number)]) for t in sorted(self.meant.told.read[self.made.wire])]
        return [Gap(t, t, (value, value), (broken(t) - value,) * 2) for t, value in places]

    def curve(self, changes):
        """P(û)/φ is the curve at û, and a number."""
        meant, argument, first = self.meant, self.arguments[0], changes[0]
        if self.wire.forms[0] != argument.form:
            raise wrong_line(f"wire {self.made.wire}", f"is a function of {meant.said(self.wire.forms[0])}, and reads {meant.said(argument.form)}")
        if self.rest.terms:
            raise wrong_line(f"wire {self.made.wire}", "is added with more than a number")
        broken = first.part(argument, 1 / first.factors[self.made.wire], -self.rest.offset)
        others, gamma, pieces = first.others(argument.group), meant.arithmetic.gamma, []
        hum, beside = first.hum(argument.group) / abs(first.factors[self.made.wire]), self.rest.offset
        for gap in self.gaps(broken, argument):
            e = meant.off(argument.form, gap.lo, gap.hi)
            a, b = gap.lo - e - argument.lost, gap.hi + e + argument.lost
            active, charge = broken.active(a, b)
            steep = broken.steepest(a, b)
            away = steep * (argument.lost + e) + max(map(abs, gap.gap)) + charge + hum + gamma(others + active) * (broken.size(a, b) + charge)
            pieces.append((*gap.image, up(meant.by_units(away, *(x + beside for x in gap.image)))))
        meant.profiles[self.made.wire] = Profile(pieces)
        lo, hi = argument.read
        active, charge = broken.active(lo, hi)
        away = broken.steepest(lo, hi) * argument.lost + charge + hum + gamma(others + active) * (broken.size(lo, hi) + charge)
        least, most = broken.extremes(lo, hi)
        more = meant.by_units(away, least + beside, most + beside)
        meant.hats[self.made.wire] = least - more, most + more
        if self.made.wire in meant.toothed:
            away += max(max(map(abs, gap.gap)) for gap in gaps(meant.budget, broken, self.wire.curve, lo, hi))
            meant.own[self.made.wire] = up(meant.by_units(away, least + beside, most + beside))
            meant.read[self.made.wire] = lo, hi

    def select(self, changes):
        """P(û)/φ is the value and a number of the position where the condition is 1, and such a number elsewhere; û is the value and one."""
        meant, argument, first, wire = self.meant, self.arguments[0], changes[0], self.made.wire
        value = self.wire.forms[1]
        broken = first.part(argument, 1 / first.factors[wire])
        others, gamma, pieces, hats = first.others(argument.group), meant.arithmetic.gamma, [], []
        hum = first.hum(argument.group) / abs(first.factors[wire])
        for holds, d, q, (lo, hi), (low, high), read_off, rest_off in self.selected(meant.expand(self.wire.forms[0]), meant.expand(value)):
            cuts = sorted({lo, hi, *(k for k in broken.knots if lo < k < hi), *(lo + (hi - lo) * k / PIECES for k in range(1, PIECES))})
            meant.budget.spend(len(cuts))
            for p, r in pairwise(cuts) if lo < hi else [(lo, hi)]:
                e = meant.off(value, p - d, r - d) + read_off
                a, b = p - e - argument.lost, r + e + argument.lost
                active, charge = broken.active(a, b)
                steep = broken.steepest(a, b)
                ends = holds * (p - d), holds * (r - d)
                apart = max(abs(broken(x) - (end + q)) for x, end in zip((p, r), ends, strict=True))
                away = steep * (argument.lost + e) + apart + charge + hum + gamma(others + active) * (broken.size(a, b) + charge)
                pieces.append((*ends, up(meant.by_units(away, ends[0] + q, ends[1] + q) + rest_off)))
            low, high = max(low - argument.lost, argument.read[0]), min(high + argument.lost, argument.read[1])
            active, charge = broken.active(low, high)
            least, most = broken.extremes(low, high)
            away = broken.steepest(low, high) * argument.lost + charge + hum + gamma(others + active) * (broken.size(low, high) + charge)
            away = meant.by_units(away, least, most) + rest_off
            hats.append((least - away - q, most + away - q))
        meant.profiles[wire] = Profile(pieces)
        meant.hats[wire] = min(low for low, _ in hats), max(high for _, high in hats)

    def exchange(self, changes):
        """P(û)/φ is R(û - d) where the larger of two numbers is kept, and -R(d - û) elsewhere; û is the other number less the own one, and d."""
        meant, argument, wire = self.meant, self.arguments[0], self.made.wire
        side, own, other = map(meant.expand, self.wire.forms)
        kappa = self.rest.plus(own, ONE)
        if kappa.terms:
            raise wrong_line(f"wire {wire}", "is added with more than a number and less its own one")
        beside = meant.expand(argument.form).plus(other, -ONE).plus(own, ONE)
        if meant.unit_factor or meant.moving(side).terms or meant.moving(beside).terms:
            raise Declined(f"wire {wire}: an exchange by more than numbers of the position, or in a host")
        if not set(meant.at_places(side)) <= {ZERO, ONE}:
            raise wrong_line(f"wire {wire}", "is an exchange with a side that is neither 0 nor 1")
        (first, *more) = changes
        if more or len(first.form.terms) != 1:
            raise Declined(f"wire {wire}: an exchange in several registers, or with something else")
        factor = abs(first.factors[wire])
        broken = first.part(argument, 1 / first.factors[wire], -kappa.offset)
        others, gamma, worst = first.others(argument.group), meant.arithmetic.gamma, ZERO
        lo, hi = meant.form_range(other.plus(own, -ONE))
        e = meant.off(own) + meant.off(other) + argument.lost
        for larger, d in sorted({(meant.form_at(side, t), meant.form_at(beside, t)) for t in range(max(meant.c.positions, 1))}):
            a, b = max(lo + d - e, argument.lo), min(hi + d + e, argument.hi)
            places = [a, b, *(x for x in [d, *broken.knots] if a < x < b)]
            meant.budget.spend(len(places))
            apart = max(abs(broken(x) - (max(x - d, ZERO) if larger else min(x - d, ZERO))) for x in places)
            active, charge = broken.active(a, b)
            worst = max(worst, apart + charge + gamma(others + active) * (broken.size(a, b) + charge))
        _, lost = first.settle()
        first.charged = True
        away = max(meant.off(own), meant.off(other)) + argument.lost + worst + (lost + first.hum(argument.group)) / factor
        low, high = meant.ranges[wire]
        meant.profiles[wire] = Profile([(low, high, up(away))])
        meant.hats[wire] = low - away, high + away

    def selected(self, condition, value):
        """Where the condition is 1, or 0: that, d and q, the range of the argument, meant and computed, and what d and q are off by."""
        meant, form = self.meant, self.arguments[0].form
        beside = meant.expand(form).plus(value, -ONE)
        if not meant.moving(condition).terms:
            if not set(meant.at_places(condition)) <= {ZERO, ONE}:
                raise Declined(f"wire {self.made.wire}: a selection by what is not 0 or 1 at every position")
            if meant.moving(beside).terms or meant.moving(self.rest).terms:
                raise Declined(f"wire {self.made.wire}: a selection made of more than the value and numbers of the position")
            places = {tuple(meant.form_at(f, t) for f in (condition, beside, self.rest, form)) for t in range(max(meant.c.positions, 1))}
            return [(holds, d, q, meant.between(form, meant.ranges.__getitem__, [here]), meant.between(form, meant.hat, [here]), ZERO, ZERO)
                    for holds, d, q, here in sorted(places)]
        (by, factor), *more = condition.terms
        if more or meant.told is None or not {condition.offset + factor * x for x in meant.told.values[by]} <= {ZERO, ONE}:
            raise Declined(f"wire {self.made.wire}: a selection by what is not 0 or 1 at every position, or told to be")
        slopes = beside.of_wire(by) / factor, self.rest.of_wire(by) / factor
        d, q = (f.plus(condition, -slope) for f, slope in zip((beside, self.rest), slopes, strict=True))
        if d.terms or q.terms:
            raise Declined(f"wire {self.made.wire}: a selection made of more than the value, the condition and numbers")
        off, found = meant.off(condition), []
        for holds in (ZERO, ONE):
            here, more = d.offset + slopes[0] * holds, abs(slopes[0]) * off
            (lo, hi), (low, high) = meant.form_range(value), meant.form_hat(value)
            found.append((holds, here, q.offset + slopes[1] * holds, (lo + here, hi + here), (low + here - more, high + here + more), more, abs(slopes[1]) * off))
        return found

    def product(self, changes):
        """P(û)/φ of one argument, or two, is û², or û² - v̂², and a number, up to a deviation; with the affine rest that is the product."""
        meant, first = self.meant, changes[0]
        a, b = map(meant.expand, self.wire.forms)
        whole = plus(meant.polynomial(self.rest), product(meant.polynomial(a), meant.polynomial(b)))
        found = meant.squares(whole, [meant.expand(argument.form) for argument in self.arguments])
        if found is None or found[1].terms or found[0] != [1, -1][: len(self.arguments)]:
            raise wrong_line(f"wire {self.made.wire}", "is not made of the squares of its arguments")
        least, most, more, others = ZERO, ZERO, ZERO, first.others(*self.groups)
        added = abs(found[1].offset)  # at most what all units add
        active = sum(first.counts[id(group)] for group in self.groups if id(group) in first.counts)
        for kappa, argument in zip(found[0], self.arguments, strict=True):
            broken = first.part(argument, kappa / first.factors[self.made.wire], -found[1].offset if kappa > 0 else ZERO)
            lo, hi = argument.lo, argument.hi
            away = gaps(meant.budget, broken, SQUARE, lo, hi)
            ends = sorted((kappa * min(gap.gap[0] for gap in away), kappa * max(gap.gap[1] for gap in away)))
            least, most, size = least + ends[0], most + ends[1], max(abs(lo), abs(hi))
            # The square is of what is read, which is off by what is lost.
            charge = broken.active(lo, hi)[1]
            more += (argument.lost * (2 * size + argument.lost) + charge + first.hum(argument.group) / abs(first.factors[self.made.wire])
                     + meant.arithmetic.gamma(others + active) * (broken.size(lo, hi) + charge))
            added += max(map(abs, broken.extremes(lo, hi)))
        away = meant.by_units(max(-least, most) + more, -added, added)
        meant.profiles[self.made.wire] = product_profile(meant, self.wire.forms, meant.ranges[self.made.wire], away)


def product_profile(meant, forms, place, away):
    lo, hi = place
    return Profile([(max(p, lo), min(q, hi), up(e + away)) for p, q, e in product_errors(meant, *forms) if p <= hi and q >= lo])


def product_errors(meant, a, b):
    """Bounds of |âb̂ - ab| by the value of ab."""
    if a == b:
        lo, hi = meant.form_range(a)
        for k in range(256):
            p, q = lo + (hi - lo) * k / 256, lo + (hi - lo) * (k + 1) / 256
            e, size = meant.off(a, p, q), max(abs(p), abs(q))
            low = ZERO if p <= 0 <= q else min(p * p, q * q)
            yield low, size * size, e * (2 * size + e)
        return
    for (p, q), (r, t) in factor_pieces(meant, a, b):
        one, other = meant.off(a, p, q), meant.off(b, r, t)
        ends = p * r, p * t, q * r, q * t
        size, far = max(abs(p), abs(q)), max(abs(r), abs(t))
        yield min(ends), max(ends), size * other + far * one + one * other


def factor_pieces(meant, a, b):
    """The ranges of two factors together."""
    for x, y, swapped in ((a, b, False), (b, a, True)):
        coupled = list(coupling(meant, x, y))
        if coupled:
            return [(q, p) if swapped else (p, q) for p, q in coupled]
    parts = 32

    def cut(form):
        lo, hi = meant.form_range(form)
        return [(lo + (hi - lo) * k / parts, lo + (hi - lo) * (k + 1) / parts) for k in range(parts)]

    return [(p, q) for p in cut(a) for q in cut(b)]


def coupling(meant, a, b):
    """Pieces for a multiple of d and a function of mean(d²): d² <= n mean(d²), and <= (n - 1) mean(d²) if the mean of d is 0."""
    if len(b.terms) != 1:
        return
    curve = meant.wires[b.terms[0][0]]
    if curve.kind != "curve" or len(curve.forms[0].terms) != 1:
        return
    mean, outer = curve.forms[0].terms[0]
    wire = meant.wires[mean]
    if wire.kind != "mean" or len(wire.forms[0].terms) != 1:
        return
    square, inner = wire.forms[0].terms[0]
    squared = meant.squared(square)
    centred = squared and meant.centred(squared)
    if centred and not centred[0]:
        other, share = meant.centred(a), meant.most - 1
        if not other or other[0]:
            return
        a_terms, d_terms = other[1], centred[1]
    elif squared:
        share, a_terms, d_terms = meant.most, a, squared
    else:
        return
    if not d_terms.terms:
        return
    wire_of_d, factor_of_d = d_terms.terms[0]
    ratio = a_terms.of_wire(wire_of_d) / factor_of_d
    if not ratio or a_terms != d_terms.times(ratio):
        return
    scale, offset = wire.number * inner, wire.number * wire.forms[0].offset
    if not scale:
        return
    values = sorted((x - offset) / scale for x in meant.ranges[mean])  # of mean(d²)
    lo, hi = max(values[0], ZERO), values[1]
    low, high = meant.form_range(a)
    parts = 256
    for k in range(parts):
        p, q = lo + (hi - lo) * k**2 / parts**2, lo + (hi - lo) * (k + 1) ** 2 / parts**2
        size = abs(ratio) * root_above(share * q)
        ends = sorted(curve.forms[0].offset + outer * (offset + scale * x) for x in (p, q))
        image = image_over(curve.curve, *ends, parts=1)
        place = sorted(b.offset + b.terms[0][1] * x for x in image)
        yield (max(low, -size), min(high, size)), tuple(place)


def decidable(c, target):
    """Declines what no rule here is about."""
    if c.meanings is None or not hasattr(target, "ast"):
        raise Declined("a supremum, and nothing is said of what registers mean")
    if 4 * c.most >= 1 << FORMATS[c.format][0]:
        raise Declined(f"{c.most} tokens in {c.format}")


def prove_meanings(c, tensors, target):
    """`line`, `finite` and the bound, for all sequences of any of the lengths."""
    decidable(c, target)
    if any(wire.kind in ("points", "cases") for wire in c.meanings.wires):
        raise Declined("meanings by points or cases")
    try:
        meant = Meant(c, tensors, c.meanings, target.domain)
        meant.prove()
        meant.outputs(target.ast)
    except (Undefined, Unclear) as error:
        raise Declined(f"what is meant is not shown to have a value everywhere: {error}") from None
    return meant
