"""Curves of one argument whose gates share hidden units: *shared units*, section 7 of CERTIFICATE.md.

What a register gets of such units is said to be the sum of its curves, with their factors. A register that holds one curve
besides those that are known tells what is computed of it: its units less what stands for the others.
"""

from fractions import Fraction

from checker import Declined
from curves import Broken, Profile, gaps, image_over
from forms import up, wrong_line

ZERO, ONE = Fraction(0), Fraction(1)


def shared_groups(gates, forms):
    """The groups of which some register holds several gates, all of them curves and none a tooth, with these gates."""
    found = []
    for group in {id(group): group for gate in gates for group in gate.groups}.values():
        readers = [gate for gate in gates if any(other is group for other in gate.groups)]
        held = any(sum(1 for gate in readers if form.of_wire(gate.made.wire)) > 1 for form in forms)
        if held and all(gate.wire.kind == "curve" and gate.made.wire not in gate.meant.toothed for gate in readers):
            found.append((group, readers))
    return found


class Shared:
    """The curves that read one group of units."""

    def __init__(self, meant, group, gates, changes, pieces):
        self.meant, self.group, self.gates, self.pieces = meant, group, gates, pieces
        self.argument = gates[0].arguments[0]
        for gate in gates:
            if gate.wire.forms[0] != gate.arguments[0].form or gate.arguments[0].form != self.argument.form:
                raise Declined(f"wire {gate.made.wire}: units that are shared, and read several things")
            if gate.rest.terms:
                raise wrong_line(f"wire {gate.made.wire}", "is added with more than a number")
            if not any(gate.made.wire in change.factors for change in changes):
                raise wrong_line(f"wire {gate.made.wire}", "stands in no register")
        self.changes = [change for change in changes if any(gate.made.wire in change.factors for gate in gates)]

    def held(self, change):
        return [gate for gate in self.gates if gate.made.wire in change.factors]

    def combined(self, parts, offset=ZERO):
        """The sum of what registers get, each times a number, as a function of the argument; and a number."""
        group, argument = self.group, self.argument
        lead, beta = -argument.offset / argument.slope, 1 / argument.slope
        weights, cleared = {}, ZERO
        for change, factor in parts.items():
            cleared -= factor * change.linear.get(id(group), ZERO)
            offset -= factor * change.left.get(id(group), ZERO)
            for unit, weight in change.entries_of(group).items():
                weights[unit] = weights.get(unit, ZERO) + factor * weight
        units = [(weights[unit], sign * beta, sign * lead + o, loss) for unit, sign, o, loss in group.units if weights.get(unit)]
        return Broken(units, offset + cleared * lead, cleared * beta, argument.lo, argument.hi)

    def rounded(self, parts, lo, hi):
        """What the sums of these registers round."""
        gamma, total = self.meant.arithmetic.gamma, ZERO
        for change, factor in parts.items():
            own = self.combined({change: ONE})
            active, charge = own.active(lo, hi)
            total += abs(factor) * (gamma(change.others(self.group) + active) * (own.size(lo, hi) + charge) + change.hum(self.group))
        return total

    def prove(self):
        order = self.told_apart()
        if order is None:
            return self.as_meant()
        known = {}
        for gate, change in order:
            factor = change.factors[gate.made.wire]
            known[gate.made.wire] = {one: value / factor for one, value in self.rest(change, known).items()}
            self.curve(gate, known[gate.made.wire])
        for change in self.changes:
            if not any(change is other for _, other in order):
                parts, argument = self.rest(change, known), self.argument
                broken = self.combined(parts)
                lo, hi = argument.lo, argument.hi
                more = max(map(abs, broken.extremes(lo, hi))) + broken.active(lo, hi)[1] + self.rounded(parts, lo, hi)
                change.more += (1 + self.meant.unit_factor) * more
        return None

    def told_apart(self):
        """An order of the curves, and for each a register that holds it and, of the others, only earlier ones."""
        order, done = [], set()
        while len(done) < len(self.gates):
            found = [(open_ones[0], change) for change in self.changes
                     for open_ones in [[gate for gate in self.held(change) if gate.made.wire not in done]] if len(open_ones) == 1]
            if not found:
                return None
            order.append(min(found, key=lambda pair: pair[1].terms))
            done.add(order[-1][0].made.wire)
        return order

    def rest(self, change, known):
        """The register, less what stands for the curves that are known: registers with their factors."""
        parts = {change: ONE}
        for gate in self.held(change):
            for other, value in known.get(gate.made.wire, {}).items():
                parts[other] = parts.get(other, ZERO) - change.factors[gate.made.wire] * value
        return parts

    def curve(self, gate, parts):
        meant, argument = self.meant, self.argument
        broken, pieces, beside = self.combined(parts, -gate.rest.offset), [], gate.rest.offset
        for gap in gaps(meant.budget, broken, gate.wire.curve, argument.low, argument.high, self.pieces):
            e = meant.off(argument.form, gap.lo, gap.hi)
            a, b = gap.lo - e - argument.lost, gap.hi + e + argument.lost
            away = broken.steepest(a, b) * (e + argument.lost) + max(map(abs, gap.gap)) + broken.active(a, b)[1] + self.rounded(parts, a, b)
            pieces.append((*gap.image, up(meant.by_units(away, *(x + beside for x in gap.image)))))
        meant.profiles[gate.made.wire] = Profile(pieces)
        lo, hi = argument.read
        away = broken.steepest(lo, hi) * argument.lost + broken.active(lo, hi)[1] + self.rounded(parts, lo, hi)
        least, most = broken.extremes(lo, hi)
        away = meant.by_units(away, least + beside, most + beside)
        meant.hats[gate.made.wire] = least - away, most + away

    def as_meant(self):
        """Curves that are not told apart: what is computed is what is meant, and registers have lost the rest."""
        meant, argument = self.meant, self.argument
        for gate in self.gates:
            image = image_over(gate.wire.curve, argument.low, argument.high)
            meant.profiles[gate.made.wire] = Profile([(*image, ZERO)])
            meant.hats[gate.made.wire] = image
        for change in self.changes:
            steps, offset = (ZERO,), ZERO
            for gate in self.held(change):
                factor = change.factors[gate.made.wire]
                steps += (*gate.wire.curve, factor, "mul", "add")
                offset -= factor * gate.rest.offset
            parts, worst = {change: ONE}, ZERO
            broken = self.combined(parts, offset)
            for gap in gaps(meant.budget, broken, steps, argument.low, argument.high):
                e = meant.off(argument.form, gap.lo, gap.hi)
                a, b = gap.lo - e - argument.lost, gap.hi + e + argument.lost
                away = broken.steepest(a, b) * (e + argument.lost) + max(map(abs, gap.gap)) + broken.active(a, b)[1]
                worst = max(worst, away + self.rounded(parts, a, b))
            least, most = broken.extremes(argument.lo, argument.hi)
            change.more += meant.by_units(worst, least - offset, most - offset)
