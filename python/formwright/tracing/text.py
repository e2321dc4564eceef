"""The text of formulas in the target language.

Inside of an aggregate `x` and `j` are the running token, `x[i]` and `i` the output token. What is looked up at a token
of its own accord, such as an aggregate at the running token, is bound to a name first; so is what is needed twice.
"""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from itertools import count
from string import ascii_lowercase

from formwright.tracing.formula import COMPARISONS, Formula, Untraceable, infinite, known, renamed

# The ranks of the grammar, weakest first.
_IF, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _MINUS, _POWER, _ATOM = range(10)
_RANKS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "mod": _PRODUCT, "and": _AND, "or": _OR}

# The most characters that a text may have.
MOST_CHARACTERS = 1 << 16

# What is no larger is written again where it is needed again, rather than bound to a name.
_SMALL = 3

Said = tuple[str, int]


def text(outputs: list[Formula], dims: int) -> str:
    """The text whose output coordinates are these formulas of token 0."""
    if len(outputs) == dims:
        each = [_Writer([formula], dims, own).target() for own, formula in enumerate(outputs)]
        if len(set(each)) == 1:
            return each[0]
    return _Writer(outputs, dims, None).target()


class _Writer:
    """Writes formulas; `own` is the coordinate that `x` without an index is."""

    def __init__(self, outputs: list[Formula], dims: int, own: int | None) -> None:
        self.outputs, self.dims, self.own = outputs, dims, own
        self.uses = _uses(outputs)
        self.names: dict[Formula, str] = {}
        self.lines: list[str] = []
        self.written: dict[tuple[Formula, int | None], Said] = {}
        self.free = (name for round in count() for letter in ascii_lowercase if letter not in "ijnx" for name in [f"{letter}{round or ''}"])

    def target(self) -> str:
        """The whole text; with an own coordinate, of the one output."""
        said = [self.loose(formula) for formula in self.outputs]
        body = said[0] if self.own is not None or (self.dims == len(said) == 1) else f"[{', '.join(said)}]"
        return "".join(f"{line}; " for line in self.lines) + body

    def loose(self, formula: Formula, run: int | None = None) -> str:
        return self.say(formula, run)[0]

    def tight(self, formula: Formula, run: int | None, rank: int) -> str:
        said, found = self.say(formula, run)
        return said if found >= rank else f"({said})"

    def say(self, formula: Formula, run: int | None) -> Said:
        """The text and its rank, where `run` is the running token."""
        key = (formula, run)
        if key not in self.written:
            said = self.named(formula, run) if self.is_bound(formula, run) else self.plain(formula, run)
            if len(said[0]) > MOST_CHARACTERS:
                raise Untraceable(f"a formula of more than {MOST_CHARACTERS} characters")
            self.written[key] = said
        return self.written[key]

    def is_bound(self, formula: Formula, run: int | None) -> bool:
        if len(formula.free) > 1 or formula.condition or formula.op in ("number", "token", "place", "length"):
            return False
        of_run = run is not None and run in formula.free
        if (formula.op == "aggregate" and of_run) or (formula.op == "sort" and run is not None):
            return True
        return self.uses[_canonical(formula)] > 1 and (formula.deep or formula.size > _SMALL)

    def named(self, formula: Formula, run: int | None) -> Said:
        """A reference to the formula's name, which is bound if it is new."""
        name = self.bind(_canonical(formula))
        return (f"{name}[i]" if run is not None and formula.free and run not in formula.free else name), _ATOM

    def bind(self, formula: Formula) -> str:
        if formula not in self.names:
            said = self.plain(formula, None)[0]
            name = next(self.free)
            self.lines.append(f"let {name} = {said}")
            self.names[formula] = name
        return self.names[formula]

    def plain(self, formula: Formula, run: int | None) -> Said:
        """The text of a formula that has no name."""
        op, args = formula.op, formula.args
        if op == "number":
            return _number(formula)
        if op == "bool":
            return "0 <= 0" if formula.data else "0 < 0", _COMPARE
        if op == "length":
            return "n", _ATOM
        if op == "place":
            return "j" if formula.data == run else "i", _ATOM
        if op == "token":
            at = "x" if run is None or formula.data[0] == run else "x[i]"
            return self.coordinate(at, formula.data[1]), _ATOM
        if op == "band":
            return self.band(formula, run)
        if op == "aggregate":
            return self.aggregate(formula, run), _ATOM
        if op == "gather":
            return self.gather(formula, run), _ATOM
        if op == "sort":
            return f"sort({self.sequence(args[0], formula.data[0])})", _ATOM
        if op == "if":
            return f"if {self.loose(args[0], run)} then {self.loose(args[1], run)} else {self.loose(args[2], run)}", _IF
        if op == "table":
            entries = ", ".join(_fraction(entry)[0] for entry in formula.data)
            return f"table({self.loose(args[0], run)}; {entries})", _ATOM
        if op == "neg":
            return f"-{self.tight(args[0], run, _MINUS)}", _MINUS
        if op == "not":
            return f"not {self.tight(args[0], run, _NOT)}", _NOT
        if op == "^":
            return f"{self.tight(args[0], run, _ATOM)}^{formula.data}", _POWER
        if op in COMPARISONS:
            return f"{self.tight(args[0], run, _SUM)} {op} {self.tight(args[1], run, _SUM)}", _COMPARE
        if op in _RANKS:
            rank = _RANKS[op]
            return f"{self.tight(args[0], run, rank)} {op} {self.tight(args[1], run, rank + 1)}", rank
        return f"{op}({', '.join(self.loose(arg, run) for arg in args)})", _ATOM

    def coordinate(self, at: str, k: int) -> str:
        return at if self.own == k or self.dims == 1 else f"{at}.{k}"

    def band(self, formula: Formula, run: int | None) -> Said:
        """A band as comparisons of `j` with `i`."""
        if run is None:
            raise Untraceable("a mask of two positions outside of a sum over one of them")
        v, _, low, high = formula.data
        if v == run:
            low, high = (None if high is None else -high), (None if low is None else -low)
        sides = []
        if low is not None and low == high:
            sides = [f"j == i{_shift(low)}"]
        else:
            sides += [] if low is None else [f"j >= i{_shift(low)}"]
            sides += [] if high is None else [f"j <= i{_shift(high)}"]
        return " and ".join(sides), _AND if len(sides) > 1 else _COMPARE

    def aggregate(self, formula: Formula, run: int | None) -> str:
        name, bound = formula.data
        if len(formula.free) > 1 or (run is not None and run in formula.free):
            raise Untraceable("three tokens at once: a sum over tokens inside of a sum, of both their tokens and a third")
        return f"{name}({', '.join(self.loose(arg, bound) for arg in formula.args)})"

    def gather(self, formula: Formula, run: int | None) -> str:
        body, index = formula.args
        at = self.loose(index, run)
        if body.op == "token":
            return self.coordinate(f"x[{at}]", body.data[1])
        return f"{self.sequence(body, formula.data)}[{at}]"

    def sequence(self, body: Formula, bound: int) -> str:
        """`x`, a coordinate of it, or a bound name: what can be gathered and sorted."""
        if body.op == "token":
            return self.coordinate("x", body.data[1])
        if body.free - {bound}:
            raise Untraceable("three tokens at once: what two tokens make of each other, sorted or taken at an index")
        return self.bind(renamed(body, {bound: 0}))


def _canonical(formula: Formula) -> Formula:
    """The formula at token 0, if it is of one token."""
    return renamed(formula, {v: 0 for v in formula.free}) if len(formula.free) == 1 else formula


def _uses(outputs: list[Formula]) -> Counter[Formula]:
    """How often each formula is needed, whichever token it is of."""
    uses: Counter[Formula] = Counter()
    left = list(outputs)
    while left:
        key = _canonical(left.pop())
        uses[key] += 1
        if uses[key] == 1:
            left += key.args
    return uses


def _shift(by: int) -> str:
    return "" if by == 0 else f" + {by}" if by > 0 else f" - {-by}"


def _number(formula: Formula) -> Said:
    value = known(formula)
    if value is None:
        raise Untraceable(f"{infinite(formula)}, other than as what a mask leaves out")
    return _fraction(value)


def _fraction(value: Fraction) -> Said:
    """A decimal where there is one, a fraction otherwise."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return f"{value.numerator}/{value.denominator}", _PRODUCT
    exact = Context(prec=max(value.numerator.bit_length() + value.denominator.bit_length(), 1))
    digits = str(exact.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return digits.lower().replace("e+", "e"), _MINUS if value < 0 else _ATOM
