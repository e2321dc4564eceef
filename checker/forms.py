"""Forms over wires, and what they are told with: section 7 of CERTIFICATE.md."""

from fractions import Fraction
from typing import NamedTuple

from checker import Rejected, coarse

ZERO, ONE = Fraction(0), Fraction(1)


class Form(NamedTuple):
    """offset + Σ factor · wire; wires ascending, factors not 0."""

    offset: Fraction
    terms: tuple

    @classmethod
    def of(cls, offset, terms):
        return cls(Fraction(offset), tuple(sorted((wire, factor) for wire, factor in terms.items() if factor)))

    def plus(self, other, factor=ONE):
        terms = dict(self.terms)
        for wire, value in other.terms:
            terms[wire] = terms.get(wire, ZERO) + factor * value
        return Form.of(self.offset + factor * other.offset, terms)

    def times(self, factor):
        return Form.of(self.offset * factor, {wire: value * factor for wire, value in self.terms})

    def of_wire(self, wire):
        return dict(self.terms).get(wire, ZERO)


NOUGHT = Form(ZERO, ())


def wrong_line(place, reason):
    return Rejected("line", place, reason)


def up(x):
    """x, or a little more, with short digits; x is not negative."""
    return coarse(ZERO, x, 256)[1]
