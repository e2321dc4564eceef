"""Formulas: what a traced array holds in each of its cells.

A formula is a node of a graph, and equal formulas are one node. Tokens are variables: 0 and 1 are the token axes of an
array, in their order, and the negative ones are bound by an aggregate, a sort or a gather. What is bound is -h, where h
is 1 + the height of what is inside: equal aggregates are equal nodes, and no renaming captures a variable.

    number c   token (v, k)   place v   length                 leaves; place v is the position of token v
    + - * / mod neg ^ exp … clamp   table                      of numbers
    < <= > >= == != and or not bool                            conditions
    band (v, w, lo, hi)                                        lo ≤ w - v ≤ hi for the positions of two tokens
    if                                                         (condition, a, b)
    aggregate (name, v)   (body [, filter])                    over all tokens v
    gather v              (body, index)                        the body where v is the token at the index
    sort (v, w)           (body)                               the w-th smallest of the body over all tokens v
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any
from weakref import WeakValueDictionary

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
CONDITIONS = (*COMPARISONS, "and", "or", "not", "bool", "band")
_WHOLE = ("+", "-", "*", "neg", "^", "mod", "max", "min", "abs", "relu", "clamp", "if", "gather", "sort")


class Untraceable(Exception):
    """An operation has no formula in the target language; the message names it."""


class Formula:
    """A node. `free` has its variables, `height` the depth of what it binds, `size` its nodes as a tree (at most 10^9)."""

    __slots__ = ("__weakref__", "args", "data", "deep", "free", "height", "integer", "op", "size", "varies")
    free: frozenset[int]
    height: int
    size: int
    deep: bool
    varies: bool

    def __init__(self, op: str, args: tuple[Formula, ...], data: Any) -> None:
        self.op, self.args, self.data = op, args, data
        bound, own = _variables(op, data)
        self.free = (frozenset[int]().union(*(arg.free for arg in args)) - bound) | own
        self.height = max((arg.height for arg in args), default=0) + len(bound)
        self.size = min(1 + sum(arg.size for arg in args), 10**9)
        # Whether something in it goes over all tokens, and whether the values of tokens are in it.
        self.deep = bool(bound) or any(arg.deep for arg in args)
        self.varies = op == "token" or any(arg.varies for arg in args)
        self.integer = _is_integer(op, args, data)

    @property
    def condition(self) -> bool:
        """Whether it is true or false, and no number."""
        return self.op in CONDITIONS


def _variables(op: str, data: Any) -> tuple[set[int], set[int]]:
    """The variables that a node binds, and those that it has of its own."""
    if op == "aggregate":
        return {data[1]}, set()
    if op == "gather":
        return {data}, set()
    if op == "sort":
        return {data[0]}, {data[1]}
    return set(), {data[0]} if op == "token" else {data} if op == "place" else set(data[:2]) if op == "band" else set()


def _is_integer(op: str, args: tuple[Formula, ...], data: Any) -> bool:
    if op == "number":
        return bool(isinstance(data, Fraction) and data.denominator == 1)
    if op == "token":
        return bool(data[2])
    if op == "table":
        return all(entry.denominator == 1 for entry in data)
    if op == "aggregate":
        return data[0] == "count" or (data[0] in ("sum", "max", "min") and args[0].integer)
    values = args[1:] if op == "if" else args
    return op in ("place", "length", "floor") or (op in _WHOLE and all(arg.integer for arg in values))


_known: WeakValueDictionary[Hashable, Formula] = WeakValueDictionary()


def node(op: str, *args: Formula, data: Any = None) -> Formula:
    """The node, once."""
    key = (op, args, data)
    found = _known.get(key)
    if found is None:
        found = _known[key] = Formula(op, args, data)
    return found


def number(value: Fraction | float | str) -> Formula:
    """A number; a float is the decimal that it is printed as. Infinite ones vanish in masks, or are refused."""
    if isinstance(value, float):
        if value != value:
            raise Untraceable("a constant that is not a number")
        return node("number", data=value if abs(value) == float("inf") else exact(value))
    return node("number", data=Fraction(value))


def exact(value: float) -> Fraction:
    """The decimal that a double is printed as."""
    return Fraction(repr(value))


ZERO, ONE = number(0), number(1)
TRUE, FALSE = node("bool", data=True), node("bool", data=False)
LENGTH = node("length")


def token(variable: int, coordinate: int, integer: bool) -> Formula:
    """A coordinate of a token."""
    return node("token", data=(variable, coordinate, integer))


def place(variable: int) -> Formula:
    """The position of a token."""
    return node("place", data=variable)


def known(formula: Formula) -> Fraction | None:
    """Its value, if it is a finite number."""
    return formula.data if formula.op == "number" and isinstance(formula.data, Fraction) else None


def infinite(formula: Formula) -> float | None:
    """Its value, if it is an infinity."""
    return formula.data if formula.op == "number" and isinstance(formula.data, float) else None


def renamed(formula: Formula, names: Mapping[int, int]) -> Formula:
    """The formula with other free variables, all at once."""
    done: dict[Formula, Formula] = {}

    def go(part: Formula) -> Formula:
        if not part.free & names.keys():
            return part
        if part not in done:
            done[part] = node(part.op, *(go(arg) for arg in part.args), data=_renamed_data(part, names))
        return done[part]

    return go(formula)


def _renamed_data(part: Formula, names: Mapping[int, int]) -> Any:
    new: Callable[[int], int] = lambda v: names.get(v, v)
    if part.op == "token":
        return (new(part.data[0]), *part.data[1:])
    if part.op == "place":
        return new(part.data)
    if part.op == "band":
        return (new(part.data[0]), new(part.data[1]), *part.data[2:])
    return (part.data[0], new(part.data[1])) if part.op == "sort" else part.data


def masked(formula: Formula) -> tuple[Formula, Formula, Formula] | None:
    """The condition, the value and the other one of a choice by positions alone: 0 or an infinity elsewhere."""
    if formula.op != "if" or formula.args[0].varies:
        return None
    condition, chosen, other = formula.args
    return (condition, chosen, other) if other is ZERO or infinite(other) is not None else None


# Numbers.


def _folded(op: str, a: Formula, b: Formula, value: Callable[[Any, Any], Fraction]) -> Formula:
    left, right = known(a), known(b)
    return node(op, a, b) if left is None or right is None else number(value(left, right))


def add(a: Formula, b: Formula) -> Formula:
    """`a + b`."""
    if _is_minus(b):
        return sub(a, negative(b))
    for one, other in ((a, b), (b, a)):
        if one is ZERO or infinite(other) is not None:
            return other
        mask = masked(one)
        if mask and infinite(mask[2]) is not None:
            return choose(mask[0], add(mask[1], other) if one is a else add(other, mask[1]), mask[2])
    return _folded("+", a, b, lambda x, y: x + y)


def sub(a: Formula, b: Formula) -> Formula:
    """`a - b`."""
    if a is b and infinite(a) is None:
        return ZERO
    if b is ZERO or infinite(a) is not None:
        return a
    if a is ZERO:
        return negative(b)
    if _is_minus(b):
        return add(a, negative(b))
    mask = masked(a)
    if mask and infinite(mask[2]) is not None:
        return choose(mask[0], sub(mask[1], b), mask[2])
    return _folded("-", a, b, lambda x, y: x - y)


def _is_minus(a: Formula) -> bool:
    """Whether it is written with a minus in front."""
    return a.op == "neg" or (known(a.args[0] if a.op == "*" else a) or 0) < 0


def negative(a: Formula) -> Formula:
    """`-a`."""
    value, limit = known(a), infinite(a)
    if limit is not None:
        return number(-limit)
    if a.op == "neg":
        return a.args[0]
    if a.op == "*" and known(a.args[0]) is not None:
        return mul(negative(a.args[0]), a.args[1])
    return node("neg", a) if value is None else number(-value)


def mul(a: Formula, b: Formula) -> Formula:
    """`a * b`."""
    for one, other in ((a, b), (b, a)):
        if one is ZERO and infinite(other) is None:
            return ZERO
        if one is ONE:
            return other
        if one.op == "neg" and infinite(other) is None:
            return negative(mul(one.args[0], other) if one is a else mul(other, one.args[0]))
        mask = masked(one)
        if mask and mask[2] is ZERO and infinite(other) is None:
            return choose(mask[0], mul(mask[1], other) if one is a else mul(other, mask[1]), ZERO)
    if a is b and known(a) is None:
        return power(a, 2)
    return _folded("*", *((b, a) if known(b) is not None else (a, b)), lambda x, y: x * y)


def div(a: Formula, b: Formula) -> Formula:
    """`a / b`."""
    if b is ZERO:
        raise Untraceable("a division by 0")
    if b is ONE:
        return a
    mask, below = masked(a), known(b)
    if mask and (mask[2] is ZERO or (below is not None and below > 0)):
        return choose(mask[0], div(mask[1], b), mask[2])
    return _folded("/", *_unshifted(a, b), lambda x, y: x / y)


def _unshifted(a: Formula, b: Formula) -> tuple[Formula, Formula]:
    """`exp(s - m)` and its sum over tokens without an `m` that all of them share: the shift of a softmax, which only
    keeps doubles from overflowing."""
    if a.op != "exp" or a.args[0].op != "-" or b.op != "aggregate" or b.data[0] != "sum":
        return a, b
    (name, bound), (scores, shift) = b.data, a.args[0].args
    same = any(renamed(b.args[0], {bound: v}) is a for v in a.free - shift.free)
    if not same or b.args[0].args[0].args[1] is not shift:
        return a, b
    alone = node("exp", b.args[0].args[0].args[0])
    return node("exp", scores), _over(name, bound, alone, *b.args[1:])


def power(a: Formula, exponent: int) -> Formula:
    """`a^exponent`, of a whole number."""
    if exponent < 0:
        return div(ONE, power(a, -exponent))
    value = known(a)
    if exponent < 2:
        return a if exponent else ONE
    if exponent > 1000:
        raise Untraceable(f"an exponent of {exponent}, above 1000")
    return node("^", a, data=exponent) if value is None else number(value**exponent)


def call(name: str, *args: Formula) -> Formula:
    """A function of the language."""
    mask = masked(args[0])
    if name == "exp" and mask and infinite(mask[2]) == float("-inf"):
        return choose(mask[0], call("exp", mask[1]), ZERO)
    if name in ("max", "min") and args[0] is args[1]:
        return args[0]
    return node(name, *args)


def table(index: Formula, entries: tuple[Fraction, ...]) -> Formula:
    """The entry at an index."""
    if not index.integer:
        raise Untraceable("an entry of a table at an index that is not known to be an integer")
    return node("table", index, data=entries)


# Conditions.


def compare(op: str, a: Formula, b: Formula) -> Formula:
    """A comparison; equality of numbers that may be no integers is two of them."""
    left, right = known(a), known(b)
    if left is not None and right is not None:
        held = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right, "==": left == right}
        return truth(held[op] if op in held else left != right)
    if op in ("==", "!=") and not (a.integer and b.integer):
        same = node("and", node("<=", a, b), node(">=", a, b))
        return same if op == "==" else negated(same)
    return node(op, a, b)


def truth(value: bool) -> Formula:
    """A condition that always or never holds."""
    return TRUE if value else FALSE


def negated(a: Formula) -> Formula:
    """`not a`."""
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
    if a.op == "bool":
        return truth(not a.data)
    if a.op == "band" and None in a.data:
        v, w, low, high = a.data
        return node("band", data=(v, w, high + 1, None) if low is None else (v, w, None, low - 1))
    if a.op in opposite:
        return node(opposite[a.op], *a.args)
    return a.args[0] if a.op == "not" else node("not", a)


def both(a: Formula, b: Formula) -> Formula:
    """`a and b`."""
    if a.op == "bool":
        return b if a.data else FALSE
    if b.op == "bool":
        return a if b.data else FALSE
    return a if a is b else node("and", a, b)


def either(a: Formula, b: Formula) -> Formula:
    """`a or b`."""
    if a.op == "bool":
        return TRUE if a.data else b
    if b.op == "bool":
        return TRUE if b.data else a
    return a if a is b else node("or", a, b)


def choose(condition: Formula, a: Formula, b: Formula) -> Formula:
    """`if condition then a else b`; of conditions as well."""
    if condition.op == "bool":
        return a if condition.data else b
    if a is b:
        return a
    if a.condition:
        return either(both(condition, a), both(negated(condition), b))
    if (a is ZERO or infinite(a) is not None) and infinite(b) is None and known(b) is None:
        return node("if", negated(condition), b, a)
    return node("if", condition, a, b)


def as_number(a: Formula) -> Formula:
    """1 where a condition holds, else 0; a number as it is."""
    return choose(a, ONE, ZERO) if a.condition else a


def as_condition(a: Formula) -> Formula:
    """A number as a condition: whether it differs from 0."""
    return a if a.condition else compare("!=", a, ZERO)


# Tokens.


def aggregate(name: str, body: Formula, variable: int) -> Formula:
    """An aggregate over all tokens, which are the variable in its body."""
    bound = -(body.height + 1)
    return _aggregate(name, renamed(body, {variable: bound}), bound)


def _over(name: str, bound: int, *parts: Formula) -> Formula:
    """The node of an aggregate, with the bound variable that its parts make it have."""
    own = -(max(part.height for part in parts) + 1)
    return node("aggregate", *(renamed(part, {bound: own}) for part in parts), data=(name, own))


def _aggregate(name: str, body: Formula, bound: int) -> Formula:
    only: Formula | None = None
    if name == "count":
        body, only = _split(body, bound)
    if name in ("sum", "mean"):
        body, divisor = _without_divisor(body, bound)
        if divisor is not None:
            return div(_aggregate(name, body, bound), divisor)
    mask = masked(body)
    neutral = {"sum": ZERO, "max": number(float("-inf")), "min": number(float("inf")), "mean": ZERO}
    if mask and mask[2] is neutral.get(name) and _filters(mask[0], bound):
        if name == "mean":
            return div(_aggregate("sum", body, bound), LENGTH)
        body, only = mask[1], mask[0]
    if name == "sum" and body.op == "if" and body.args[1] is ONE and body.args[2] is ZERO:
        return _aggregate("count", body.args[0] if only is None else both(only, body.args[0]), bound)
    if name == "sum" and body is ONE and only is not None:
        return _over("count", bound, TRUE, only)
    return _over(name, bound, body) if only is None else _over(name, bound, body, only)


def _without_divisor(body: Formula, bound: int) -> tuple[Formula, Formula | None]:
    """A body and what the other token divides all of it by."""
    if body.op == "/" and body.args[1].free and bound not in body.args[1].free:
        return body.args[0], body.args[1]
    mask = masked(body)
    if mask and mask[2] is ZERO:
        rest, divisor = _without_divisor(mask[1], bound)
        return choose(mask[0], rest, ZERO), divisor
    for one, other in (body.args, body.args[::-1]) if body.op == "*" else ():
        rest, divisor = _without_divisor(one, bound)
        if divisor is not None:
            return mul(rest, other), divisor
    return body, None


def _split(condition: Formula, bound: int) -> tuple[Formula, Formula | None]:
    """A condition as one that is counted and one that filters positions."""
    if _filters(condition, bound):
        return TRUE, condition
    if condition.op == "and" and _filters(condition.args[0], bound):
        return condition.args[1], condition.args[0]
    if condition.op == "and" and _filters(condition.args[1], bound):
        return condition.args[0], condition.args[1]
    return condition, None


def _filters(condition: Formula, bound: int) -> bool:
    """Whether the language has it as a filter of the tokens that the bound variable runs over."""
    if condition.op == "and":
        return all(_filters(part, bound) for part in condition.args)
    if condition.op == "band":
        return bound in condition.data[:2]
    compared = condition.op in COMPARISONS and condition.op != "!=" and condition.args[0] is place(bound)
    return compared and condition.args[1].integer and known(condition.args[1]) is not None


def up_to(name: str, body: Formula, variable: int) -> Formula:
    """An aggregate over the tokens up to the one that the variable is."""
    bound = -(body.height + 1)
    return _over(name, bound, renamed(body, {variable: bound}), node("band", data=(variable, bound, None, 0)))


def gather(body: Formula, variable: int, index: Formula) -> Formula:
    """The body where the variable is the token at the index."""
    if variable not in body.free:
        return body
    if not index.integer:
        raise Untraceable("a token at an index that is not known to be an integer")
    if body is place(variable):
        return index
    bound = -(body.height + 1)
    return node("gather", renamed(body, {variable: bound}), index, data=bound)


def ordered(body: Formula, variable: int) -> Formula:
    """The values of the body over all tokens in ascending order; the variable is the place there."""
    bound = -(body.height + 1)
    return node("sort", renamed(body, {variable: bound}), data=(bound, variable))
