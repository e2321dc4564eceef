"""How far two normal forms over the inputs of a sequence are from each other: *read-out within a distance*, section 7 of
CERTIFICATE.md. Boxes of inputs are cut until their corners, and what slopes and second derivatives allow in between, say enough.
"""

from collections import deque
from fractions import Fraction
from itertools import product as corners_of

from checker import Declined, hull, show, within
from curves import NONE, UNARY, Jet, called, larger, number, plus, raised, reciprocal, short
from curves import product as times_jet

ZERO = Fraction(0)
INPUTS = 10  # of a difference
TRIES = 256  # boxes on which a place is looked for where it is larger
WORK = 1 << 20  # factors and terms, times the corners and sides of boxes


class Difference:
    """A polynomial over atoms, as in normal.py, to be enclosed on boxes of the inputs that it depends on."""

    def __init__(self, atoms, polynomial):
        self.atoms, self.polynomial = atoms, polynomial
        needed, work = set(), [polynomial]
        while work:
            for monomial in work.pop():
                for atom, _ in monomial:
                    if atom not in needed:
                        needed.add(atom)
                        work += [dict(part) for part in self.parts(atom)]
        self.needed = sorted(needed)  # arguments come before what is made of them
        self.inputs = [atom for atom in self.needed if atoms.parts[atom][0] == "input"]
        within(len(self.inputs), INPUTS, "inputs of a difference")
        self.made = {atom: [tuple(part) for part in self.parts(atom)] for atom in self.needed}
        polynomials = [polynomial.items(), *(part for parts in self.made.values() for part in parts)]
        self.cost = len(self.needed) + sum(1 + len(monomial) for part in polynomials for monomial, _ in part)
        self.kinks = {atom: set() for atom in self.inputs}
        for atom in self.needed:
            if atoms.parts[atom][0] in ("relu", "abs"):
                self.find_kink(dict(atoms.parts[atom][1]))

    def parts(self, atom):
        name, *parts = self.atoms.parts[atom]
        if name == "input":
            return []
        if name not in UNARY | {"reciprocal", "largest"}:
            raise Declined(f"no rule for `{name}` on boxes")
        return parts

    def find_kink(self, a):
        """Where a polynomial is 0, if it is linear in one input, or in the positive part of what is."""
        terms = [(monomial, value) for monomial, value in a.items() if monomial]
        if len(terms) != 1 or len(terms[0][0]) != 1 or terms[0][0][0][1] != 1:
            return
        (((atom, _),), factor), = terms
        value = -a.get((), ZERO) / factor
        if atom in self.kinks:
            self.kinks[atom].add(value)
        elif self.atoms.parts[atom][0] == "relu" and value >= 0:
            inner = dict(self.atoms.parts[atom][1])
            inner[()] = inner.get((), ZERO) - value
            self.find_kink(inner)

    def on(self, box, along=None):
        """What is known of it over a box, with slopes and second derivatives along one input."""
        jets = {}
        for atom in self.needed:
            name = self.atoms.parts[atom][0]
            sums = [self.summed(part, jets) for part in self.made[atom]]
            if name == "input":
                jet = Jet(box[atom], number(1) if atom == along else NONE, NONE)
            elif name == "reciprocal":
                jet = reciprocal(sums[0])
            elif name == "largest":
                jet = Jet(NONE, NONE, NONE)
                for other in sums:
                    jet = larger(jet, other)
            else:
                jet = called(name, sums[0])
                if sums[0].slope == NONE:  # what is the same for all stays so
                    jet = Jet(jet.value, NONE, NONE)
            jets[atom] = Jet(*(part if part is None else short(part) for part in jet))
        return self.summed(self.polynomial.items(), jets)

    def summed(self, terms, jets):
        total = Jet(NONE, NONE, NONE)
        for monomial, value in terms:
            term = Jet(number(value), NONE, NONE)
            for atom, k in monomial:
                factor = jets[atom] if k == 1 else raised(jets[atom], k)
                if factor.value == NONE and factor.slope == NONE:
                    break
                term = times_jet(term, factor)
            else:
                total = plus(total, term)
        return Jet(*(part if part is None else short(part) for part in total))

    def most(self, domain, goal, budget):
        """A bound on its size that is not above the goal, or a place at which it is larger: (bound, None) or (size, place)."""
        box_is_first = True
        worst, boxes, tries = ZERO, deque([{atom: domain for atom in self.inputs}]), None
        while boxes:
            box = boxes.pop() if tries is None else boxes.popleft()
            budget.spend(self.cost * ((1 << len(box)) + len(box)))
            ends = None
            for corner in corners_of(*(sorted(set(side)) for side in box.values())):
                at = dict(zip(box, corner, strict=True))
                value = self.on({atom: (x, x) for atom, x in at.items()}).value
                least = max(value[0], -value[1])
                if least > goal:
                    return least, at
                ends = value if ends is None else hull(ends, value)
            bound, atom = self.bound(box, ends)
            # What is unknown of a box shrinks with the square of its sides: if that takes too many, a place where the
            # difference is larger is looked for on a few.
            if box_is_first and (goal <= 0 or (bound / goal) ** len(box) * self.cost**2 > (16 * WORK) ** 2):
                tries = TRIES
            box_is_first, tries = False, None if tries is None else tries - 1
            if tries == 0:
                raise Declined(f"two normal forms are not shown to be within {show(goal)} of each other on boxes of any use")
            if bound <= goal:
                worst = max(worst, bound)
            else:
                boxes += self.cut(box, atom)
        return worst, None

    def bound(self, box, ends):
        """On a box whose corners have values between the ends; and the input that costs most."""
        above, below, plain, dearest = ends[1], -ends[0], None, (ZERO, None)
        for atom, (lo, hi) in box.items():
            jet, width = self.on(box, atom), hi - lo
            plain = max(map(abs, jet.value))
            if jet.slope is None:
                above = below = None
                dearest = max(dearest, (Fraction(1 << 4096) * width, atom), key=lambda pair: pair[0])
                continue
            up = down = width * (jet.slope[1] - jet.slope[0]) / 4
            if jet.bend is not None:
                up = min(up, width**2 * max(-jet.bend[0], ZERO) / 8)
                down = min(down, width**2 * max(jet.bend[1], ZERO) / 8)
            above, below = (None, None) if above is None else (above + up, below + down)
            if max(up, down) > dearest[0] or dearest[1] is None:
                dearest = max(up, down), atom
        bounds = [max(map(abs, ends))] if plain is None else [plain]
        if above is not None:
            bounds.append(max(above, below, ZERO))
        return min(bounds), dearest[1]

    def cut(self, box, atom):
        """At the kink next to the middle of a side, or in the middle."""
        lo, hi = box[atom]
        middle = (lo + hi) / 2
        inside = [kink for kink in self.kinks[atom] if lo < kink < hi]
        place = min(inside, key=lambda kink: abs(kink - middle)) if inside else middle
        return [{**box, atom: side} for side in ((lo, place), (place, hi))]


class Spent:
    """The work of all differences of a claim."""

    def __init__(self):
        self.work = 0

    def spend(self, work):
        self.work += work
        within(self.work, WORK, "steps to show that two normal forms are near each other")
