"""Functions of one number, in postfix notation as in section 7 of CERTIFICATE.md: enclosures of them and of their derivatives,
and how far piecewise linear functions are from them. Enclosures are pairs of Fractions, as in checker.py.
"""

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from checker import (FUNCTIONS, OPERATIONS, Declined, coarse, count, divide, hull, largest, multiply, power, rational,
                     smallest, within)

ZERO, ONE = Fraction(0), Fraction(1)
BINARY = {"add", "sub", "mul", "div", "max", "min"}
UNARY = {"exp", "log", "sqrt", "tanh", "sin", "cos", "abs", "relu"}
PARTS = 20_000  # pieces on which the curves of a certificate are enclosed, all together
DEEPEST = 60  # how often a piece is halved


def read_curve(words, wrong):
    """The steps of a function in postfix notation: `x`, numbers, names, and powers."""
    steps, depth, words = [], 0, iter(words)
    for word in words:
        if word == "x":
            steps, depth = [*steps, "x"], depth + 1
        elif word in BINARY or word in UNARY or word == "negate":
            steps, depth, least = [*steps, word], depth - (word in BINARY), 2 if word in BINARY else 1
            if depth + (word in BINARY) < least:
                raise wrong("a function in postfix notation")
        elif word == "power":
            word = next(words, "")
            k = count(word)
            if k is None or str(k) != word or k > 1000 or depth < 1:
                raise wrong("a function in postfix notation")
            steps.append(("power", k))
        else:
            value = rational(word)
            if value is None:
                raise wrong("a function in postfix notation")
            steps, depth = [*steps, value], depth + 1
    if depth != 1:
        raise wrong("a function in postfix notation")
    return tuple(steps)


class Jet(NamedTuple):
    """The ranges of a function, its derivative and its second derivative over an interval; None where unknown."""

    value: tuple
    slope: tuple | None
    bend: tuple | None


NONE = ZERO, ZERO


def add(*parts):
    return None if None in parts else (sum(lo for lo, _ in parts), sum(hi for _, hi in parts))


def times(*parts):
    if NONE in parts:
        return NONE
    if None in parts:
        return None
    product = parts[0]
    for part in parts[1:]:
        product = multiply(product, part)
    return coarse(*product, 256)


def number(x):
    return Fraction(x), Fraction(x)


def chain(a, value, slope, bend):
    """f(a) of the value and derivatives of f at a's values."""
    return Jet(value, times(slope, a.slope), add(times(bend, a.slope, a.slope), times(slope, a.bend)))


def raised(a, k):
    value = power(a.value, k)
    slope = NONE if k == 0 else times(number(k), power(a.value, k - 1))
    bend = NONE if k < 2 else times(number(k * (k - 1)), power(a.value, k - 2))
    return chain(a, value, slope, bend)


def product(a, b):
    value = multiply(a.value, b.value)
    return Jet(value, add(times(a.slope, b.value), times(a.value, b.slope)),
               add(times(a.bend, b.value), times(number(2), a.slope, b.slope), times(a.value, b.bend)))


def minus(a):
    return Jet(*(None if part is None else (-part[1], -part[0]) for part in a))


def plus(a, b):
    return Jet(*(add(x, y) for x, y in zip(a, b, strict=True)))


def reciprocal(a):
    value = divide(number(1), a.value)
    square = times(value, value)
    return chain(a, value, times(number(-1), square), times(number(2), square, value))


def larger(a, b):
    """The larger of two functions; where neither is, its slope is one of the two, and nothing is known of its bend."""
    if a.value[0] >= b.value[1] or b.value[0] >= a.value[1]:
        return a if a.value[0] >= b.value[1] else b
    slope = None if None in (a.slope, b.slope) else hull(a.slope, b.slope)
    return Jet(largest(a.value, b.value), slope, None)


def called(name, a):
    value = None if name in ("abs", "relu") else FUNCTIONS[name, 1](a.value)
    match name:
        case "exp":
            return chain(a, value, value, value)
        case "log":
            over = divide(number(1), a.value)
            return chain(a, value, over, times(number(-1), over, over))
        case "sqrt":
            if value[0] <= 0:
                return Jet(value, None, None)
            over = divide(number(1), value)
            return chain(a, value, times(number(Fraction(1, 2)), over), times(number(Fraction(-1, 4)), over, over, over))
        case "tanh":
            squared = power(value, 2)
            slope = max(1 - squared[1], ZERO), 1 - squared[0]
            return chain(a, value, slope, times(number(-2), value, slope))
        case "sin" | "cos":
            other = FUNCTIONS["cos" if name == "sin" else "sin", 1](a.value)
            slope = other if name == "sin" else (-other[1], -other[0])
            return chain(a, value, slope, (-value[1], -value[0]))
        case "abs":
            return larger(a, minus(a))
        case "relu":
            return larger(a, Jet(NONE, NONE, NONE))
    raise AssertionError(name)


def jet(steps, t):
    """The function over the interval t."""
    stack = []
    for step in steps:
        if step == "x":
            stack.append(Jet(t, number(1), NONE))
        elif isinstance(step, Fraction):
            stack.append(Jet(number(step), NONE, NONE))
        elif step == "negate":
            stack.append(minus(stack.pop()))
        elif isinstance(step, tuple):
            stack.append(raised(stack.pop(), step[1]))
        elif step in UNARY:
            stack.append(called(step, stack.pop()))
        else:
            b, a = stack.pop(), stack.pop()
            match step:
                case "add":
                    stack.append(plus(a, b))
                case "sub":
                    stack.append(plus(a, minus(b)))
                case "mul":
                    stack.append(product(a, b))
                case "div":
                    stack.append(product(a, reciprocal(b)))
                case "max":
                    stack.append(larger(a, b))
                case "min":
                    stack.append(minus(larger(minus(a), minus(b))))
        stack[-1] = Jet(*(part if part is None else short(part) for part in stack[-1]))
    return stack.pop()


def kinks(steps):
    """The points where relu, abs, max and min of affine functions bend: good places to cut at in any case."""
    stack, found = [], []
    for step in steps:
        if step == "x":
            stack.append((ZERO, ONE))
        elif isinstance(step, Fraction):
            stack.append((step, ZERO))
        elif step == "negate":
            a = stack.pop()
            stack.append(a and (-a[0], -a[1]))
        elif isinstance(step, tuple):
            stack.append(stack.pop() if step[1] == 1 else (stack.pop(), None)[1])
        elif step in UNARY:
            a = stack.pop()
            if step in ("abs", "relu") and a and a[1]:
                found.append(-a[0] / a[1])
            stack.append(None)
        else:
            b, a = stack.pop(), stack.pop()
            if step in ("max", "min") and a and b and a[1] != b[1]:
                found.append((b[0] - a[0]) / (a[1] - b[1]))
            if a and b and step in ("add", "sub"):
                sign = 1 if step == "add" else -1
                stack.append((a[0] + sign * b[0], a[1] + sign * b[1]))
            elif a and b and step == "mul" and (not a[1] or not b[1]):
                factor, of = (a[0], b) if not a[1] else (b[0], a)
                stack.append((factor * of[0], factor * of[1]))
            else:
                stack.append(None)
    return sorted(set(found))


VALUES = {"add": OPERATIONS["add"], "sub": OPERATIONS["sub"], "mul": multiply, "div": divide, "max": largest, "min": smallest}


def at(steps, t):
    """The value alone, at one place."""
    stack = []
    for step in steps:
        if step == "x":
            value = t, t
        elif isinstance(step, Fraction):
            value = step, step
        elif step == "negate":
            lo, hi = stack.pop()
            value = -hi, -lo
        elif isinstance(step, tuple):
            value = power(stack.pop(), step[1])
        elif step in UNARY:
            value = FUNCTIONS[step, 1](stack.pop())
        else:
            b = stack.pop()
            value = VALUES[step](stack.pop(), b)
        stack.append(short(value))
    return stack.pop()


def short(value):
    """An enclosure with digits that do not grow."""
    if max(map(abs, value)) >= 1 << 4096:
        raise Declined("a number of 2^4096 or more in a curve")
    return value if value[0] == value[1] and value[0].denominator.bit_length() < 256 else coarse(*value, 256)


def image(steps, lo, hi):
    """The range of the function over lo to hi: by its ends where it does not turn, else by its middle and its slope."""
    whole = jet(steps, (lo, hi))
    if lo == hi or whole.slope is None:
        return whole.value
    if whole.slope[0] >= 0 or whole.slope[1] <= 0:
        ends = hull(at(steps, lo), at(steps, hi))
    else:
        middle, radius = at(steps, (lo + hi) / 2), (hi - lo) / 2 * max(map(abs, whole.slope))
        ends = middle[0] - radius, middle[1] + radius
    return max(whole.value[0], ends[0]), min(whole.value[1], ends[1])


def image_over(steps, lo, hi, parts=16):
    """The same, part by part."""
    if lo == hi:
        return image(steps, lo, hi)
    places = sorted({lo, hi, *(k for k in kinks(steps) if lo < k < hi), *(lo + (hi - lo) * k / parts for k in range(1, parts))})
    images = [image(steps, a, b) for a, b in pairwise(places)]
    return min(a for a, _ in images), max(b for _, b in images)


class Broken:
    """offset + slope·t + Σ w R(s t + o) from lo to hi, of units (w, s, o, loss) with s other than 0, off by up to loss each."""

    def __init__(self, units, offset, slope, lo, hi):
        value, counted, weighed, bends = offset + slope * lo, ZERO, ZERO, {}
        for w, s, o, _ in units:
            place, on = -o / s, s * lo + o
            if on > 0 or on == 0 and s > 0:
                value, slope, counted, weighed = value + w * on, slope + w * s, counted + abs(w) * on, weighed + abs(w) * s
            if lo < place < hi:
                steeper, heavier = bends.get(place, NONE)
                bends[place] = steeper + w * abs(s), heavier + abs(w * s)
        self.lo, self.hi = lo, hi
        self.knots = [lo, *sorted(bends), hi]
        self.values, self.slopes, self.counts = [value], [], [counted]
        for a, b in pairwise(self.knots):
            steeper, heavier = bends.get(a, NONE)
            slope, weighed = slope + steeper, weighed + heavier
            self.slopes.append(slope)
            self.values.append(self.values[-1] + slope * (b - a))
            self.counts.append(self.counts[-1] + weighed * (b - a))
        # A unit is 0 but where its kink lies behind, or so near that it is lost in rounding.
        rising = sorted((-o / s - loss / s, abs(w) * loss) for w, s, o, loss in units if s > 0)
        falling = sorted((o / -s + loss / -s, abs(w) * loss) for w, s, o, loss in units if s < 0)
        self.rising, self.falling = [place for place, _ in rising], [place for place, _ in falling]
        self.risen, self.fallen = [ZERO], [ZERO]
        for _, charge in rising:
            self.risen.append(self.risen[-1] + charge)
        for _, charge in falling:
            self.fallen.append(self.fallen[-1] + charge)

    def cell(self, t):
        return min(max(bisect_right(self.knots, t) - 1, 0), len(self.slopes) - 1)

    def line(self, places, t):
        """The facts at the knots, and between them."""
        k = self.cell(t)
        a, b = self.knots[k], self.knots[k + 1]
        return places[k] + (places[k + 1] - places[k]) * (t - a) / (b - a) if a < b else places[k]

    def __call__(self, t):
        k = self.cell(t)
        return self.values[k] + self.slopes[k] * (t - self.knots[k])

    def clamp(self, a, b):
        return max(a, self.lo), min(b, self.hi)

    def steepest(self, a, b):
        a, b = self.clamp(a, b)
        return max(map(abs, self.slopes[self.cell(a) : self.cell(b) + 1]))

    def size(self, a, b):
        """Σ |w| R over a to b: it is convex."""
        return max(self.line(self.counts, t) for t in self.clamp(a, b))

    def active(self, a, b):
        """How many units may be other than 0 over a to b, and what they are off by."""
        on, off = bisect_right(self.rising, b), bisect_left(self.falling, a)
        return on + len(self.falling) - off, self.risen[on] + self.fallen[-1] - self.fallen[off]

    def sum(self, a, b):
        """The same of what is computed."""
        return self.size(a, b) + self.active(a, b)[1]

    def extremes(self, a, b):
        """The least and the largest value over a to b."""
        a, b = self.clamp(a, b)
        values = [self(a), self(b), *(value for knot, value in zip(self.knots, self.values, strict=True) if a < knot < b)]
        return min(values), max(values)


class Gap(NamedTuple):
    """From lo to hi the function has this image, and lies below the piecewise linear one by this much."""

    lo: Fraction
    hi: Fraction
    image: tuple
    gap: tuple


class Budget:
    """How many pieces have been looked at: more than the limit are not."""

    def __init__(self):
        self.spent = 0

    def spend(self, pieces):
        self.spent += pieces
        within(self.spent, PARTS, "pieces of curves")


def gaps(budget, broken, steps, lo, hi, wanted=1):
    """How far a piecewise linear function is from a curve, piece by piece from lo to hi; at least so many pieces are wanted."""
    places = sorted({lo, hi, *(k for k in [*broken.knots, *kinks(steps)] if lo < k < hi)})
    known = {}

    def gap_at(t):
        if t not in known:
            (a, b), line = at(steps, t), broken(t)
            known[t] = line - b, line - a
        return known[t]

    budget.spend(len(places))
    fine = max(max(map(abs, gap_at(t))) for t in places) / (1 << 16)
    parts = max(1, -(-wanted // max(1, len(places) - 1)))
    pieces, work = [], [(a, b, 0) for a, b in pairwise(places)] or [(lo, hi, DEEPEST)]
    while work:
        a, b, depth = work.pop()
        budget.spend(parts if depth == 0 else 1)
        whole, slope = jet(steps, (a, b)), broken.slopes[broken.cell((a + b) / 2)]
        ends = hull(gap_at(a), gap_at(b))
        if whole.bend is not None and (whole.bend[0] >= 0 or whole.bend[1] <= 0):
            pieces += one_sided(steps, gap_at, a, b, slope, whole, parts if depth == 0 else 1, broken)
            continue
        lines = broken(a), broken(b)
        found = min(lines) - whole.value[1], max(lines) - whole.value[0]
        middle, radius = (a + b) / 2, (b - a) / 2
        if whole.slope is not None:
            reach = radius * max(abs(slope - whole.slope[0]), abs(slope - whole.slope[1]))
            found = max(found[0], gap_at(middle)[0] - reach), min(found[1], gap_at(middle)[1] + reach)
        if whole.bend is not None:
            bump = radius**2 / 2
            found = max(found[0], ends[0] + bump * min(whole.bend[0], ZERO)), min(found[1], ends[1] + bump * max(whole.bend[1], ZERO))
        if max(map(abs, found)) <= max(map(abs, ends)) + fine or depth >= DEEPEST:
            pieces.append(Gap(a, b, whole.value, found))
        else:
            work += [(middle, b, depth + 1), (a, middle, depth + 1)]
    return sorted(pieces)


def one_sided(steps, gap_at, a, b, slope, whole, parts, broken):
    """A piece on which the curve bends one way only: the gap is below its tangents, or above them, and on the other side of its ends.

    The tangent at the place where the gap is largest says most; the place is found by Newton's steps, and needs no proof.
    """
    sign = 1 if whole.bend[0] >= 0 else -1  # sign times the gap is concave
    top = (a + b) / 2
    for _ in range(3 if whole.bend != NONE else 0):
        here = jet(steps, (top, top))
        if here.slope is None or here.bend is None or not here.bend[0] or not here.bend[1]:
            break
        step = ((slope - here.slope[0]) / here.bend[0]).limit_denominator(1 << 60)
        top = min(max(top + step, a), b)
        top = min(max(Fraction(round(top * (1 << 80)), 1 << 80), a), b)
    here = jet(steps, (top, top))
    summit = gap_at(top)
    tilt = None if here.slope is None or whole.bend == NONE else (slope - here.slope[1], slope - here.slope[0])
    bump = max(map(abs, whole.bend)) * ((b - a) / parts) ** 2 / 8
    pieces, places = [], [a + (b - a) * k / parts for k in range(parts)] + [b]
    for p, q in pairwise(places):
        ends = gap_at(p), gap_at(q)
        inner, outer = (min(lo for lo, _ in ends), max(hi for _, hi in ends)) if sign > 0 else (-max(hi for _, hi in ends), -min(lo for lo, _ in ends))
        outer += bump
        if tilt is not None:
            height = summit[1] if sign > 0 else -summit[0]
            slant = tilt if sign > 0 else (-tilt[1], -tilt[0])
            outer = min(outer, height + max((x - top) * s for x in (p, q) for s in slant))
        values = [(broken(x) - gap_at(x)[1], broken(x) - gap_at(x)[0]) for x in (p, q)]
        turns = whole.slope is None or whole.slope[0] < 0 < whole.slope[1]
        image_of = image(steps, p, q) if turns else hull(*values)
        pieces.append(Gap(p, q, image_of, coarse(inner, outer, 256) if sign > 0 else coarse(-outer, -inner, 256)))
    return pieces


class Profile:
    """A bound of an error by the value: over intervals of values, in order, that cover all values."""

    def __init__(self, pieces):
        """Of pieces (lo, hi, error) in any order, that may lie over each other."""
        places = sorted({end for lo, hi, _ in pieces for end in (lo, hi)})
        index = {place: k for k, place in enumerate(places)}
        cells = [ZERO] * max(1, len(places) - 1)
        for lo, hi, error in pieces:
            for k in range(index[lo], max(index[hi], index[lo] + 1) if index[lo] < len(cells) else 0):
                cells[k] = max(cells[k], error)
            if lo == hi:  # a single value belongs to the cells on both sides
                for k in (index[lo] - 1, min(index[lo], len(cells) - 1)):
                    cells[max(k, 0)] = max(cells[max(k, 0)], error)
        self.places = places if len(places) > 1 else places * 2
        self.errors, self.greatest = cells, max(cells)

    def most(self, lo, hi):
        """The largest error of values from lo to hi."""
        if lo <= self.places[0] and hi >= self.places[-1]:
            return self.greatest
        first = min(max(bisect_left(self.places, lo) - 1, 0), len(self.errors) - 1)
        last = min(max(bisect_right(self.places, hi) - 1, first), len(self.errors) - 1)
        return max(self.errors[first : last + 1])

    def pieces(self):
        return [(a, b, e) for (a, b), e in zip(pairwise(self.places), self.errors, strict=True)]

    def concave(self):
        """The least concave function above: its corners."""
        points = sorted({(place, self.most(place, place)) for place in self.places})
        corners = []
        for x, y in points:
            while len(corners) > 1 and (corners[-1][1] - corners[-2][1]) * (x - corners[-2][0]) <= (y - corners[-2][1]) * (corners[-1][0] - corners[-2][0]):
                corners.pop()
            corners.append((x, y))
        return corners
