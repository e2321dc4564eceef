"""Normal forms: polynomials over inputs, means, the largest of normal forms, reciprocals and functions of normal forms, as in
section 7 of CERTIFICATE.md.

A polynomial is a dict from monomials, sorted tuples of (atom, exponent), to factors other than 0. An atom is a number that
`Atoms` knows: two atoms are one if and only if what they are made of has the same normal form.
"""

from fractions import Fraction
from functools import cmp_to_key

from checker import FUNCTIONS, OPERATIONS, Declined, kept, multiply, power, text_number, within
from curves import BINARY, UNARY

ZERO, ONE = Fraction(0), Fraction(1)
MONOMIALS = 2_000  # of a polynomial
BITS = 1 << 14  # of its factors
OUTPUT, RUNNING = "i", "j"  # whose number it is: of the output token, or of the running one


def constant(value):
    return {(): Fraction(value)} if value else {}


def plus(a, b, factor=ONE):
    """a + factor b"""
    total = dict(a)
    for monomial, value in b.items():
        value = total.get(monomial, ZERO) + factor * value
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    within(len(total), MONOMIALS, "terms of a polynomial")
    return total


def total(polynomials):
    found = {}
    for a in polynomials:
        for monomial, value in a.items():
            found[monomial] = found.get(monomial, ZERO) + value
        within(len(found), MONOMIALS, "terms of a polynomial")
    return {monomial: value for monomial, value in found.items() if value}


def product(a, b):
    within(len(a) * len(b), MONOMIALS, "terms of a product of polynomials")
    total = {}
    for one, x in a.items():
        for other, y in b.items():
            exponents = dict(one)
            for atom, k in other:
                exponents[atom] = exponents.get(atom, 0) + k
            monomial = tuple(sorted(exponents.items()))
            total[monomial] = total.get(monomial, ZERO) + x * y
    within(max((value.numerator.bit_length() for value in total.values()), default=0), BITS, "binary digits of a factor")
    return {monomial: value for monomial, value in total.items() if value}


def raised(a, k):
    result = constant(1)
    for _ in range(k):
        result = product(result, a)
    return result


def is_constant(a):
    return not a or set(a) == {()}


def key(a):
    return tuple(sorted(a.items()))


def over(a, factor):
    return {monomial: value / factor for monomial, value in a.items()}


def lead(a):
    """The factor of one monomial, the same one for all multiples of a."""
    return a[min(a)]


def order(a, b):
    """An order of polynomials that stays when all are added to, or multiplied by a positive number."""
    away = plus(a, b, -ONE)
    return (lead(away) > 0) - (lead(away) < 0) if away else 0


class Atoms:
    def __init__(self):
        self.numbers, self.parts, self.whose = {}, [], []

    def atom(self, parts, whose):
        """The polynomial of one atom; `whose` are the tokens that it depends on."""
        if parts not in self.numbers:
            self.numbers[parts] = len(self.parts)
            self.parts.append(parts)
            self.whose.append(frozenset(whose))
        return {((self.numbers[parts], 1),): ONE}

    def depends(self, *polynomials):
        return frozenset().union(*(self.whose[atom] for a in polynomials for monomial in a for atom, _ in monomial))

    def input(self, c, whose):
        return self.atom(("input", c, whose), {whose})

    def exponential(self, a):
        """exp(a + k log b) = b^k exp(a), where log b has a value."""
        rest, found = {}, constant(1)
        for monomial, value in a.items():
            atom, k = monomial[0] if len(monomial) == 1 else (None, 0)
            if k == 1 and self.parts[atom][0] == "log" and value.denominator == 1 and abs(value) <= 16:
                inner = dict(self.parts[atom][1])
                found = product(found, raised(inner if value > 0 else self.reciprocal(inner), abs(int(value))))
            else:
                rest[monomial] = value
        return product(found, self.atom(("exp", key(rest)), self.depends(rest))) if rest else found

    def function(self, name, *arguments):
        if name == "exp":
            return self.exponential(*arguments)
        a, *others = arguments
        match name:
            case "relu":
                return self.positive(a)
            case "abs":
                return plus(plus({}, a, -ONE), self.positive(a), 2 * ONE)
            case "max":
                return self.largest_of([a, *others])
            case "min":
                return self.least_of([a, *others])
        return self.atom((name, key(a)), self.depends(a))

    def positive(self, a):
        """R(a), of what R(s y) = s R(y) for s > 0 and R(-y) = R(y) - y make of it."""
        if is_constant(a):
            return constant(max(a.get((), ZERO), ZERO))
        size, monic = abs(lead(a)), over(a, lead(a))
        found = self.atom(("relu", key(monic)), self.depends(monic))
        return product(constant(size), found if lead(a) > 0 else plus(found, monic, -ONE))

    def largest_of(self, polynomials):
        """Of two it is b + R(a - b); of more, b + s times the largest of 0 and what is left of the others."""
        best = {}
        for a in polynomials:  # of those that differ by a number alone, the largest
            rest = key({monomial: value for monomial, value in a.items() if monomial})
            best[rest] = max(a, best.get(rest, a), key=lambda b: b.get((), ZERO))
        least, *others = sorted(best.values(), key=cmp_to_key(order))
        others = [plus(a, least, -ONE) for a in others]
        if len(others) < 2:
            return plus(least, self.positive(others[0])) if others else least
        size = lead(others[0])
        found = self.atom(("largest", *(key(over(a, size)) for a in others)), self.depends(*others))
        return plus(least, found, size)

    def sorted(self, polynomials, place):
        """The one at a place in ascending order; of numbers, the number."""
        if all(map(is_constant, polynomials)) or all(a == polynomials[0] for a in polynomials):
            return sorted(polynomials, key=lambda a: a.get((), ZERO))[place]
        return self.atom(("sorted", place, *sorted(map(key, polynomials))), self.depends(*polynomials))

    def least_of(self, polynomials):
        return plus({}, self.largest_of([plus({}, a, -ONE) for a in polynomials]), -ONE)

    def largest(self, a):
        """Over the running token: what does not depend on it stands outside, and so does a positive factor."""
        inside = {monomial: value for monomial, value in a.items() if any(RUNNING in self.whose[atom] for atom, _ in monomial)}
        if not inside:
            return a
        size = abs(lead(inside))
        found = self.atom(("largest running", key(over(inside, size))), self.depends(inside) - {RUNNING})
        return plus({monomial: value for monomial, value in a.items() if monomial not in inside}, found, size)

    def reciprocal(self, a):
        if not a:
            raise Declined("a reciprocal of 0")
        if is_constant(a):
            return constant(1 / a[()])
        monic = over(a, lead(a))
        return product(constant(1 / lead(a)), self.atom(("reciprocal", key(monic)), self.depends(monic)))

    def mean(self, a):
        """Over the running token: what does not depend on it stands outside."""
        total = {}
        for monomial, value in a.items():
            inside = tuple(part for part in monomial if RUNNING in self.whose[part[0]])
            outside = tuple(part for part in monomial if RUNNING not in self.whose[part[0]])
            mean = self.atom(("mean", inside), self.depends({inside: ONE}) - {RUNNING}) if inside else constant(1)
            total = plus(total, product({outside: value}, mean))
        return total

    def run(self, a):
        """The same of the running token instead of the output token."""
        total = {}
        for monomial, value in a.items():
            term = constant(value)
            for atom, k in monomial:
                term = product(term, raised(self.running(atom), k))
            total = plus(total, term)
        return total

    def running(self, atom):
        name, *parts = self.parts[atom]
        if OUTPUT not in self.whose[atom]:
            return {((atom, 1),): ONE}
        if RUNNING in self.whose[atom] or name in ("mean", "largest running"):
            raise Declined("an expression of two tokens")
        if name == "input":
            return self.input(parts[0], RUNNING)
        arguments = [self.run(dict(part)) for part in parts]
        match name:
            case "reciprocal":
                return self.reciprocal(*arguments)
            case "largest":
                return self.largest_of([{}, *arguments])
        return self.function(name, *arguments)

    def curve(self, steps, a):
        """A function in postfix notation, of a polynomial."""
        stack = []
        for step in steps:
            if step == "x":
                stack.append(a)
            elif isinstance(step, Fraction):
                stack.append(constant(step))
            elif step == "negate":
                stack.append(plus({}, stack.pop(), -ONE))
            elif isinstance(step, tuple):
                stack.append(raised(stack.pop(), step[1]))
            elif step in UNARY:
                stack.append(self.function(step, stack.pop()))
            elif step in BINARY:
                b, first = stack.pop(), stack.pop()
                stack.append(self.binary(step, first, b))
        return stack.pop()

    def binary(self, name, a, b):
        match name:
            case "add":
                return plus(a, b)
            case "sub":
                return plus(a, b, -ONE)
            case "mul":
                return product(a, b)
            case "div":
                return product(a, self.reciprocal(b))
            case "max" | "min":
                return self.function(name, a, b)
        raise Declined(f"no rule for `{name}` in the target")


def is_sum(e):
    """A sum over all tokens."""
    return isinstance(e, dict) and "aggregate" in e and e["aggregate"][0] == "sum" and e["aggregate"][2] is None


class Target:
    """The target's outputs as normal forms, and proofs by ranges that every part of it has a value."""

    def __init__(self, ast, c, domain, atoms):
        self.atoms, self.domain, self.lengths = atoms, domain, (c.least, c.most)
        self.lets = {let["name"]: let["value"] for let in ast.get("lets", [])}
        self.memory = {}
        for name in self.lets:  # used or not, each needs a value
            for k in range(c.dims):
                self.let(name, k)
        body = ast["body"]
        parts = [(body["each"], k) for k in range(c.dims)] if "each" in body else [(e, 0) for e in body["coordinates"]]
        self.outputs = [self.value(e, k, OUTPUT)[0] for e, k in parts]

    def let(self, name, k):
        if (name, k) not in self.memory:
            self.memory[name, k] = self.value(self.lets[name], k, OUTPUT)
        return self.memory[name, k]

    def value(self, e, c, whose):
        """The normal form at coordinate c of the token, and where it lies."""
        name, parts = (e, None) if isinstance(e, str) else next(iter(e.items()))
        match name:
            case "token":
                return self.atoms.input(c, whose), self.domain
            case "length":
                if self.lengths[0] == self.lengths[1]:
                    return constant(self.lengths[0]), (Fraction(self.lengths[0]),) * 2
                return self.atoms.atom(("length",), ()), tuple(map(Fraction, self.lengths))
            case "number":
                value = text_number(parts)
                return constant(value), (value, value)
            case "negate":
                a, (lo, hi) = self.value(parts, c, whose)
                return plus({}, a, -ONE), (-hi, -lo)
            case "power":
                a, place = self.value(parts[0], c, whose)
                return raised(a, parts[1]), kept(power(place, parts[1]))
            case "gather" if parts == "index":
                return self.atoms.input(c, OUTPUT), self.domain
            case "bound":
                a, place = self.let(parts, c)
                return self.atoms.run(a) if whose == RUNNING else a, place
            case "gather-bound" if parts[1] == "index":
                return self.let(parts[0], c)
            case "coordinate":
                return self.value(parts[0], parts[1], whose)
            case "binary" if parts[0] == "div" and self.lengths[0] < self.lengths[1] and all(is_sum(part) for part in parts[1:]):
                # Of two sums over all tokens it is the quotient of their means, whatever their number.
                (_, one), (_, other) = (self.value(part, c, whose) for part in parts[1:])
                a, b = (self.atoms.mean(self.value(part["aggregate"][1], c, RUNNING)[0]) for part in parts[1:])
                return self.atoms.binary("div", a, b), kept(OPERATIONS["div"](one, other))
            case "binary" if parts[0] != "mod":
                (a, one), (b, other) = self.value(parts[1], c, whose), self.value(parts[2], c, whose)
                square = parts[0] == "mul" and a == b
                return self.atoms.binary(parts[0], a, b), kept(power(one, 2) if square else OPERATIONS[parts[0]](one, other))
            case "call" if parts[0] != "floor":
                found = [self.value(part, c, whose) for part in parts[1]]
                place = kept(FUNCTIONS[parts[0], len(found)](*(place for _, place in found)))
                polynomials = [a for a, _ in found]
                if parts[0] == "clamp":
                    return self.atoms.function("min", self.atoms.function("max", *polynomials[:2]), polynomials[2]), place
                return self.atoms.function(parts[0], *polynomials), place
            case "aggregate" if parts[0] != "count" and parts[2] is None:
                return self.aggregate(parts[0], *self.value(parts[1], c, RUNNING))
        raise Declined(f"no rule for `{name}` in the target")

    def aggregate(self, name, a, place):
        if name == "max":
            return self.atoms.largest(a), place
        if name == "min":
            return plus({}, self.atoms.largest(plus({}, a, -ONE)), -ONE), place
        mean = self.atoms.mean(a)
        match name:
            case "mean":
                return mean, place
            case "sum":
                length = self.value("length", 0, OUTPUT)
                return product(length[0], mean), multiply(length[1], place)
            case "var":
                square = self.atoms.mean(product(a, a))
                return plus(square, product(mean, mean), -ONE), (ZERO, (place[1] - place[0]) ** 2 / 4)
        raise AssertionError(name)
