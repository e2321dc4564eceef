"""Normal forms token by token: of wires and of the target, at every token of a sequence of n. Section 7 of CERTIFICATE.md.

Every input of every token is a thing of its own, so nothing runs: positions, indices and conditions are numbers, and what
an aggregate is over is a list. A polynomial is as in normal.py.
"""

import math
from fractions import Fraction

from checker import COMPARISONS, Declined, Undefined, Unclear, aggregate, kept, modulo, negation, shows, text_number, whole, within
from normal import Target, constant, is_constant, plus, product, total

ZERO, ONE = Fraction(0), Fraction(1)
TERMS = 1 << 22  # of all normal forms of a claim
BITS = 1 << 20  # zeros and ones of lines that have met, all together


class Budget:
    """How many terms have been written down: more than the limit are not."""

    def __init__(self):
        self.spent = 0

    def spend(self, polynomial):
        self.spent += len(polynomial) + 1
        within(self.spent, TERMS, "terms of normal forms, token by token")
        return polynomial


class Wires:
    """The values of the wires at the tokens of a sequence of n."""

    def __init__(self, wires, n, atoms, budget):
        self.wires, self.n, self.atoms, self.budget = wires, n, atoms, budget
        self.known, self.networks = {}, {}

    def prepare(self, forms):
        """All that the forms are made of, wire after wire, at every token: nothing then goes deep."""
        needed, work = set(), [wire for form in forms for wire, _ in form.terms]
        while work:
            k = work.pop()
            if k not in needed:
                needed.add(k)
                work += [wire for form in self.wires[k].forms for wire, _ in form.terms]
        for k in sorted(needed):
            for t in range(self.n):
                self.wire(k, t)

    def form(self, form, t):
        found = constant(form.offset)
        for wire, factor in form.terms:
            found = plus(found, self.wire(wire, t), factor)
        return self.budget.spend(found)

    def wire(self, k, t):
        if (k, t) not in self.known:
            self.known[k, t] = self.budget.spend(self.made(k, self.wires[k], t))
        return self.known[k, t]

    def made(self, k, wire, t):
        match wire.kind:
            case "input":
                return self.atoms.atom(("input", wire.coordinate, t), ())
            case "position":
                return constant(wire.numbers[t])
            case "curve":
                return self.atoms.curve(wire.curve, self.form(wire.forms[0], t))
            case "product" | "teeth":
                return product(self.form(wire.forms[0], t), self.form(wire.forms[1], t))
            case "mean":
                return product(constant(wire.number / self.n), self.added(wire, range(self.n)))
            case "hub":
                if t != wire.coordinate:
                    return product(constant(wire.number), self.form(wire.forms[0], t))
                return product(constant(wire.number / self.n), self.added(wire, range(self.n)))
            case "seen":
                shown = [j for j in range(self.n) if shows(wire.mask, t, j)]
                if wire.of == "max" and wire.number > 0 and shown:
                    return product(constant(wire.number), self.atoms.largest_of([self.form(wire.forms[0], j) for j in shown]))
                if wire.of != "max" and (shown or wire.of == "sum"):
                    return product(constant(wire.number / (len(shown) if wire.of == "mean" else 1)), self.added(wire, shown))
            case "attend":
                shown = [j for j in range(self.n) if shows(wire.mask, t, j)]
                powers = [self.atoms.function("exp", self.score(wire, t, j)) for j in shown]
                weighed = [product(power, self.form(wire.forms[0], j)) for power, j in zip(powers, shown, strict=True)]
                if shown:
                    return self.atoms.binary("div", total(weighed), total(powers))
            case "gather":
                place = number_of(self.form(wire.forms[0], t))
                if place is not None and place.denominator == 1 and 0 <= place < self.n:
                    return self.form(wire.forms[1], int(place))
            case "select":
                holds = number_of(self.form(wire.forms[0], t))
                if holds in (ZERO, ONE):
                    return self.form(wire.forms[1], t) if holds else {}
            case "exchange":
                return self.exchanged(k, wire)[t]
        raise Declined(f"wire {k} has no value at token {t} of {self.n}")

    def exchanged(self, k, wire):
        """Behind a round of comparators: what is sorted, if they are shown to sort; else numbers of which nothing is known."""
        if k not in self.networks:
            _, own, other = wire.forms
            ends = self.ends(k, wire)
            before = own.terms[0][0] if own.offset == 0 and len(own.terms) == 1 and own.terms[0][1] == 1 else None
            if before in self.networks:
                numbers, blocks, _ = self.networks[before]
            else:
                numbers, blocks = [self.form(own, t) for t in range(self.n)], [((t,), {(False,), (True,)}) for t in range(self.n)]
            blocks = blocks and exchanged(blocks, ends)
            found = None
            if blocks and len(blocks) == 1 and all(list(bits) == sorted(bits) for bits in blocks[0][1]):
                found = [self.atoms.sorted(numbers, t) for t in range(self.n)]
            found = found or [self.atoms.atom(("exchanged", k, t, self.n), ()) for t in range(self.n)]
            self.networks[k] = numbers, blocks, found
        return self.networks[k][2]

    def ends(self, k, wire):
        """For each token its partner, whose own number is its other one, and whether it keeps the larger one."""
        side, own, other = wire.forms
        gather = self.wires[other.terms[0][0]] if len(other.terms) == 1 else None
        if gather is None or gather.kind != "gather":
            raise Declined(f"wire {k}: an exchange with what is gathered nowhere")
        ends = []
        for t in range(self.n):
            partner, larger = number_of(self.form(gather.forms[0], t)), number_of(self.form(side, t))
            if partner not in range(self.n) or larger not in (ZERO, ONE) or self.form(own, int(partner)) != self.form(other, t):
                raise Declined(f"wire {k}: an exchange with what is not a partner's own number")
            ends.append((int(partner), bool(larger)))
        for t, (partner, larger) in enumerate(ends):
            if ends[partner][0] != t or partner != t and ends[partner][1] == larger:
                raise Declined(f"wire {k}: tokens {t} and {partner} do not keep what the other one does not")
        return ends

    def score(self, wire, t, j):
        pairs = zip(wire.forms[1::2], wire.forms[2::2], strict=True)
        return total(product(self.form(query, t), self.form(key, j)) for query, key in pairs)

    def added(self, wire, tokens):
        return total(self.form(wire.forms[0], j) for j in tokens)


def exchanged(blocks, ends):
    """Lines that have met, with all zeros and ones that they may hold together, behind a round; None if they are too many."""
    joined = []
    for lines, held in blocks:
        for block in [block for block in joined if any(ends[line][0] in block[0] for line in lines)]:
            joined.remove(block)
            if len(held) * len(block[1]) * (len(lines) + len(block[0])) > BITS:
                return None
            lines, held = lines + block[0], {a + b for a in held for b in block[1]}
        joined.append((lines, held))
    found = []
    for lines, held in joined:
        order = sorted(range(len(lines)), key=lines.__getitem__)
        lines, at = tuple(lines[k] for k in order), {lines[k]: k for k in order}
        moves = [(at[line], at[ends[line][0]], ends[line][1]) for line in lines]
        found.append((lines, {tuple(a or b if larger else a and b for x, y, larger in moves for a, b in [(bits[x], bits[y])]) for bits in held}))
    return found


def number_of(a):
    """The number that a polynomial is, if it is one."""
    return a.get((), ZERO) if is_constant(a) else None


class TokenTarget(Target):
    """The target at the tokens of a sequence of n; `whose` is the output token and the running one, or None outside of aggregates."""

    def __init__(self, ast, c, domain, atoms, n, budget):
        self.atoms, self.domain, self.n, self.budget, self.lengths = atoms, domain, n, budget, (n, n)
        self.lets = {let["name"]: let["value"] for let in ast.get("lets", [])}
        self.memory, self.uses = {}, {}
        for name in self.lets:  # used or not, each needs a value
            for t in range(n):
                for k in range(c.dims):
                    self.value(self.lets[name], k, (t, None))
        body = ast["body"]
        parts = [(body["each"], k) for k in range(c.dims)] if "each" in body else [(e, 0) for e in body["coordinates"]]
        self.outputs = [[self.value(e, k, (t, None))[0] for e, k in parts] for t in range(n)]

    def used(self, e):
        """The tokens that a value depends on: output (i), running, output outside of aggregates (t)."""
        if id(e) not in self.uses:
            name, parts = (e, None) if isinstance(e, str) else next(iter(e.items()))
            match name:
                case "token" | "running" | "sort" | "bound":
                    found = {"t"}
                case "index":
                    found = {"i"}
                case "aggregate":
                    found = {"i"} & self.used(parts[1]) | ({"i"} & self.used(parts[2]) if parts[2] else set())
                case "gather-bound":
                    found = self.used(parts[1])
                case "length" | "number":
                    found = set()
                case _:
                    parts = [*parts[1]] if name == "call" else parts[:1] if name in ("power", "coordinate", "table") else parts
                    parts = parts if isinstance(parts, list) else [parts]
                    found = set().union(*(self.used(part) for part in parts if name not in ("binary", "compare") or part is not parts[0]))
            self.uses[id(e)] = found
        return self.uses[id(e)]

    def value(self, e, c, whose):
        """The normal form at coordinate c, and where it lies."""
        i, j = whose
        uses = self.used(e)
        place = id(e) if isinstance(e, dict) else e, c, i if "i" in uses else None, (i if j is None else j) if "t" in uses else None
        if place not in self.memory:
            found, ends = self.found(e, c, whose)
            number = number_of(found)
            self.memory[place] = self.budget.spend(found), ends if number is None else (number, number)
        return self.memory[place]

    def found(self, e, c, whose):
        i, j = whose
        t = i if j is None else j
        name, parts = (e, None) if isinstance(e, str) else next(iter(e.items()))
        match name:
            case "token":
                return self.input(c, t)
            case "index" | "running" | "length":
                return self.number({"index": i, "running": j, "length": self.n}[name])
            case "gather":
                return self.input(c, self.index(parts, c, whose, self.n))
            case "bound":
                return self.value(self.lets[parts], c, (t, None))
            case "gather-bound":
                return self.value(self.lets[parts[0]], c, (self.index(parts[1], c, whose, self.n), None))
            case "if":
                return self.value(parts[1] if self.holds(parts[0], c, whose) else parts[2], c, whose)
            case "table":
                return self.number(text_number(parts[1][self.index(parts[0], c, whose, len(parts[1]))]))
            case "call" if parts[0] == "floor":
                return self.number(math.floor(self.known(parts[1][0], c, whose)))
            case "binary" if parts[0] == "mod":
                a, b = (self.known(part, c, whose) for part in parts[1:])
                return self.number(modulo((a, a), (b, b))[0])
            case "sort" if self.n == 1:
                return self.value(parts, c, (0, None))
            case "sort":
                found = [self.value(parts, c, (k, None)) for k in range(self.n)]
                return self.atoms.sorted([a for a, _ in found], t), (min(lo for _, (lo, _) in found), max(hi for _, (_, hi) in found))
            case "aggregate":
                return self.over_tokens(*parts, c, i)
        return super().value(e, c, whose)

    def number(self, value):
        value = Fraction(value)
        return constant(value), (value, value)

    def input(self, c, t):
        return self.atoms.atom(("input", c, t), ()), self.domain

    def known(self, e, c, whose):
        """The number that the positions alone make it."""
        number = number_of(self.value(e, c, whose)[0])
        if number is None:
            raise Declined("an index, a condition or a word that positions do not decide")
        return number

    def index(self, e, c, whose, length):
        return whole((self.known(e, c, whose),) * 2, length)

    def holds(self, e, c, whose):
        ((name, parts),) = e.items()
        match name:
            case "not":
                return negation(self.holds(parts, c, whose))
            case "and" | "or":  # both sides need a value
                sides = [self.holds(part, c, whose) for part in parts]
                return all(sides) if name == "and" else any(sides)
        (a, one), (b, other) = (self.value(part, c, whose) for part in parts[1:])
        away = number_of(plus(a, b, -ONE))
        found = COMPARISONS[parts[0]](one, other) if away is None else COMPARISONS[parts[0]]((away, away), (ZERO, ZERO))
        if found is None:
            raise Declined("an index, a condition or a word that positions do not decide")
        return found

    def over_tokens(self, name, e, shown, c, i):
        tokens = [(i, j) for j in range(self.n) if shown is None or self.holds(shown, c, (i, j))]
        if name == "count":
            return self.number(sum(self.holds(e, c, whose) for whose in tokens))
        values = [self.value(e, c, whose) for whose in tokens]
        place, count = kept(aggregate(name, [place for _, place in values])), len(values)
        polynomials = [a for a, _ in values]
        match name:
            case "max":
                return self.atoms.largest_of(polynomials), place
            case "min":
                return self.atoms.least_of(polynomials), place
            case "sum":
                return total(polynomials), place
        mean = product(constant(Fraction(1, count)), total(polynomials))
        if name == "mean":
            return mean, place
        squares = total([product(a, a) for a in polynomials])
        return plus(product(constant(Fraction(1, count)), squares), product(mean, mean), -ONE), place
