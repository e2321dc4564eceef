"""Claims over integers, sequence by sequence: what every wire is meant to be, at every token of every sequence, exactly.

So `points` and conditions need no rules for whole numbers: what they read is told. Of few sequences alone.
"""

from fractions import Fraction
from itertools import product

from checker import SEQUENCES, Declined, shows, within
from curves import at

TERMS = 4_000_000  # of forms, at all tokens of all sequences


class Told:
    """The values that wires take, those that `points` read, those of the target; and the first place where an output's form is another."""

    def __init__(self, c, target):
        self.wires, self.outputs = c.meanings.wires, c.meanings.outputs
        low, high = map(int, target.domain)
        lengths = range(c.least, c.most + 1)
        count = sum((high - low) ** min(c.dims * n, 64) for n in lengths)
        within(count, SEQUENCES, f"sequences of {c.least} to {c.most} of {high - low}^{c.dims} tokens")
        terms = sum(1 + len(form.terms) for wire in self.wires for form in wire.forms)
        pairs = c.most if any(wire.kind == "seen" for wire in self.wires) else 1
        within(count * c.most * (terms * pairs + target.work(1)), TERMS, f"terms of forms at {count} sequences")
        self.values, self.read = [set() for _ in self.wires], [set() for _ in self.wires]
        self.targets, self.apart = set(), None
        tokens = list(product(map(Fraction, range(low, high)), repeat=c.dims))
        for n in lengths:
            for x in product(tokens, repeat=n):
                self.tell(x, target)

    def tell(self, x, target):
        known = []
        for k, wire in enumerate(self.wires):
            known.append(self.wire(k, wire, x, known))
            self.values[k].update(known[k])
        wanted = target.enclose(tuple(tuple((entry, entry) for entry in token) for token in x))
        for t, outputs in enumerate(wanted):
            for k, (form, (lo, hi)) in enumerate(zip(self.outputs, outputs, strict=True)):
                value = form_at(form, known, t)
                self.targets.add(lo if lo == hi else None)
                if value != lo or value != hi:
                    place = f"output {k}, token {t}, at " + "; ".join(" ".join(map(str, token)) for token in x)
                    found = max(abs(value - lo), abs(value - hi)), max(value - hi, lo - value), place, value
                    self.apart = max(self.apart or found, found)

    def wire(self, k, wire, x, known):
        """The values at every token."""
        n, forms = len(x), [[form_at(form, known, t) for t in range(len(x))] for form in wire.forms]
        match wire.kind:
            case "input":
                return [token[wire.coordinate] for token in x]
            case "position" if len(wire.numbers) == n:
                return list(wire.numbers)
            case "product" | "teeth":
                return [a * b for a, b in zip(*forms, strict=True)]
            case "mean":
                return [wire.number * sum(forms[0]) / n] * n
            case "cases":
                return forms[0]
            case "select" if set(forms[0]) <= {0, 1}:
                return [value if holds else Fraction(0) for holds, value in zip(*forms, strict=True)]
            case "points":
                self.read[k].update(forms[0])
                return [self.point(k, wire, value) for value in forms[0]]
            case "curve":
                return [exactly(k, at(wire.curve, value)) for value in forms[0]]
            case "seen":
                return [self.seen(k, wire, [value for j, value in enumerate(forms[0]) if shows(wire.mask, t, j)]) for t in range(n)]
        raise Declined(f"wire {k}: `{wire.kind}` is not told")

    @staticmethod
    def seen(k, wire, values):
        if wire.of != "sum" and not values:
            raise Declined(f"wire {k} is of no token")
        return wire.number * {"sum": sum, "max": max, "mean": lambda values: sum(values) / len(values)}[wire.of](values)

    @staticmethod
    def point(k, wire, value):
        place = value - wire.number
        if place.denominator != 1 or not 0 <= place < len(wire.numbers):
            raise Declined(f"wire {k} has no value at {value}")
        return wire.numbers[int(place)]


def exactly(k, ends):
    if ends[0] != ends[1]:
        raise Declined(f"wire {k} is not known exactly")
    return ends[0]


def form_at(form, known, t):
    return form.offset + sum(factor * known[wire][t] for wire, factor in form.terms)
