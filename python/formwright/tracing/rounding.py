"""The roundings of a function: how far doubles may be from its formula.

A formula is evaluated in doubles, operation by operation as the function was seen to do it, and beside each value v
stands e with |w - v| ≤ e, both for the value w of real numbers and for any w that doubles give in another order:

    a + b   e_a + e_b + r          a · b   |a| e_b + |b| e_a + e_a e_b + r          a / b   (e_a + |v| e_b) / (|b| - e_b) + r

where r = 0 if the result is exact and ulp(v) · 4 if not, which is the accuracy that NumPy states for its functions. A
comparison closer than its errors is undecided; so is all that rests on it, with e = ∞.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import numpy.typing

from formwright.tracing.formula import COMPARISONS, Formula

Array = numpy.typing.NDArray[Any]


class Near(NamedTuple):
    """Values and the errors beside them; for conditions, truth and where it is undecided, as 0 or ∞."""

    value: Array
    error: Array


def values(outputs: list[Formula], batch: Array) -> Near:
    """The values of formulas of token 0 at sequences `[sequence][token][coordinate]`, one coordinate each."""
    with numpy.errstate(all="ignore"):
        running = _Running(batch, max(formula.height for formula in outputs))
        found = [running.of(formula) for formula in outputs]
    shape = batch.shape[:2]
    spread = [[numpy.broadcast_to(side.reshape(side.shape[:2]), shape) for side in near] for near in found]
    return Near(*(numpy.stack(side, -1) for side in zip(*spread)))


class _Running:
    """An axis for the sequences, one for token 0, and one for each token that is bound, by its height."""

    def __init__(self, batch: Array, height: int) -> None:
        self.batch, self.ndim, self.tokens = batch, 2 + height, batch.shape[1]
        self.known: dict[Formula, Near] = {}

    def axis(self, variable: int) -> int:
        return 1 - variable

    def along(self, numbers: Array, variable: int) -> Array:
        """Numbers `[sequence][token]` along the axis of a variable."""
        shape = [1] * self.ndim
        shape[0], shape[self.axis(variable)] = numbers.shape
        return numbers.reshape(shape)

    def of(self, formula: Formula) -> Near:
        if formula not in self.known:
            self.known[formula] = self.evaluated(formula)
        return self.known[formula]

    def evaluated(self, formula: Formula) -> Near:
        op, data = formula.op, formula.data
        if op == "number":
            value = float(data)
            return _constant(value, self.ndim, 0.0 if value == data else float(numpy.spacing(abs(value))))
        if op in ("length", "bool"):
            return _constant(self.tokens if op == "length" else data, self.ndim)
        if op == "token":
            return _exactly(self.along(self.batch[:, :, data[1]].astype(float), data[0]))
        if op == "place":
            return _exactly(self.along(numpy.arange(float(self.tokens))[None], data))
        if op == "band":
            return self.band(*data)
        parts = [self.of(arg) for arg in formula.args]
        if op == "aggregate":
            return self.aggregate(data[0], self.axis(data[1]), *parts)
        if op == "gather":
            return self.gather(self.axis(data), *parts)
        if op == "sort":
            return self.sort(self.axis(data[0]), self.axis(data[1]), *parts)
        if op == "table":
            return self.table(numpy.array([float(entry) for entry in data]), *parts)
        if op == "^":
            return _power(parts[0], data)
        return _compared(op, *parts) if op in COMPARISONS else _OPERATIONS[op](*parts)

    def band(self, v: int, w: int, low: int | None, high: int | None) -> Near:
        distance = self.of_place(w) - self.of_place(v)
        truth = (distance >= (-numpy.inf if low is None else low)) & (distance <= (numpy.inf if high is None else high))
        return _exactly(truth)

    def of_place(self, variable: int) -> Array:
        return self.along(numpy.arange(float(self.tokens))[None], variable)

    def aggregate(self, name: str, axis: int, body: Near, only: Near | None = None) -> Near:
        shape = list(numpy.broadcast_shapes(body.value.shape, only.value.shape if only else ()))
        shape[axis] = self.tokens
        value, error = (numpy.broadcast_to(side, shape) for side in body)
        seen = numpy.broadcast_to(only.value if only else True, shape)
        over: Callable[[Array, float], Array] = lambda side, neutral: numpy.where(seen, side, neutral)
        count = seen.sum(axis, keepdims=True)
        if name == "count":
            return Near((value & seen).sum(axis, keepdims=True).astype(float), over(error, 0).sum(axis, keepdims=True))
        if name in ("max", "min"):
            worst = -numpy.inf if name == "max" else numpy.inf
            best = getattr(over(value, worst), name)(axis, keepdims=True)
            return Near(best, over(error, 0).max(axis, keepdims=True))
        total = over(value, 0).sum(axis, keepdims=True)
        summed = Near(total, over(error, 0).sum(axis, keepdims=True) + _of_a_sum(over(value, 0), axis))
        if name == "sum":
            return summed
        mean = _divided(summed, _exactly(count.astype(float)))
        if name == "mean":
            return mean
        away = _subtracted(Near(value, error), mean)
        return self.aggregate("mean", axis, _power(away, 2), only)

    def gather(self, axis: int, body: Near, index: Near) -> Near:
        place = numpy.clip(numpy.nan_to_num(index.value), 0, self.tokens - 1).astype(int)
        shape = list(numpy.broadcast_shapes(body.value.shape, place.shape))
        shape[axis] = self.tokens
        at = list(numpy.broadcast_shapes(body.value.shape, place.shape))
        at[axis] = 1
        taken = [numpy.take_along_axis(numpy.broadcast_to(side, shape), numpy.broadcast_to(place, at), axis) for side in body]
        wrong = (index.error >= 0.5) | (index.value < -0.5) | (index.value > self.tokens - 0.5)
        return Near(taken[0], numpy.where(wrong, numpy.inf, taken[1]))

    def sort(self, axis: int, to: int, body: Near) -> Near:
        shape = list(body.value.shape)
        shape[axis] = self.tokens
        value, error = (numpy.broadcast_to(side, shape) for side in body)
        return Near(numpy.sort(value, axis).swapaxes(axis, to), error.max(axis, keepdims=True).swapaxes(axis, to))

    def table(self, entries: Array, index: Near) -> Near:
        place = numpy.clip(numpy.nan_to_num(index.value), 0, len(entries) - 1).astype(int)
        wrong = (index.error >= 0.5) | (index.value < -0.5) | (index.value > len(entries) - 0.5)
        return Near(entries[place], numpy.where(wrong, numpy.inf, numpy.spacing(abs(entries))[place]))


def _constant(value: float, ndim: int, error: float = 0.0) -> Near:
    return Near(numpy.full((1,) * ndim, value), numpy.full((1,) * ndim, error))


def _exactly(value: Array) -> Near:
    return Near(value, numpy.zeros(value.shape))


def _rounded(value: Array, error: Array, exact: Array | bool = False) -> Near:
    lost = numpy.where(exact, 0.0, 4 * numpy.spacing(abs(value)))
    # What is no number is no bound either.
    return Near(value, numpy.nan_to_num(error + lost, nan=numpy.inf, posinf=numpy.inf))


def _split(a: Array) -> tuple[Array, Array]:
    """Dekker's halves of the digits."""
    high = (2.0**27 + 1) * a
    high = high - (high - a)
    return high, a - high


def _lost(a: Array, b: Array, product: Array) -> Array:
    """What a product has lost, by Dekker."""
    (a1, a2), (b1, b2) = _split(a), _split(b)
    lost: Array = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    return lost


def _added(a: Near, b: Near) -> Near:
    value = a.value + b.value
    other = value - a.value
    lost = (a.value - (value - other)) + (b.value - other)
    return _rounded(value, a.error + b.error, lost == 0)


def _subtracted(a: Near, b: Near) -> Near:
    return _added(a, Near(-b.value, b.error))


def _multiplied(a: Near, b: Near) -> Near:
    value = a.value * b.value
    error = abs(a.value) * b.error + abs(b.value) * a.error + a.error * b.error
    return _rounded(value, error, _lost(a.value, b.value, value) == 0)


def _divided(a: Near, b: Near) -> Near:
    value = a.value / b.value
    room = abs(b.value) - b.error
    error = numpy.where(room > 0, (a.error + abs(value) * b.error) / room, numpy.inf)
    product = value * b.value
    return _rounded(value, error, (product == a.value) & (_lost(value, b.value, product) == 0))


def _power(a: Near, exponent: int) -> Near:
    result = a
    for _ in range(exponent - 1):
        result = _multiplied(result, a)
    return result


def _of_a_sum(values: Array, axis: int) -> Array:
    """The roundings of a sum in any order; whole numbers of moderate size have none."""
    most = abs(values).sum(axis, keepdims=True)
    whole = (values == numpy.floor(values)).all(axis, keepdims=True) & (most < 2.0**53)
    return numpy.where(whole, 0.0, values.shape[axis] * numpy.spacing(most))


def _steady(function: Callable[..., Array]) -> Callable[..., Near]:
    """A function that moves by no more than its arguments, and rounds nothing."""
    return lambda *parts: Near(function(*(part.value for part in parts)), numpy.maximum.reduce(numpy.broadcast_arrays(*(part.error for part in parts))))


def _exp(a: Near) -> Near:
    value = numpy.exp(a.value)
    return _rounded(value, value * numpy.expm1(a.error))


def _log(a: Near) -> Near:
    room = a.value - a.error
    return _rounded(numpy.log(a.value), numpy.where(room > 0, a.error / room, numpy.inf))


def _sqrt(a: Near) -> Near:
    value = numpy.sqrt(a.value)
    return _rounded(value, numpy.minimum(numpy.sqrt(a.error), a.error / value), value * value == a.value)


def _wave(function: Callable[[Array], Array]) -> Callable[[Near], Near]:
    """A function whose slope is at most 1."""
    return lambda a: _rounded(function(a.value), a.error)


def _floor(a: Near) -> Near:
    value = numpy.floor(a.value)
    same = (numpy.floor(a.value - a.error) == value) & (numpy.floor(a.value + a.error) == value)
    return Near(value, numpy.where(same, 0.0, numpy.inf))


def _mod(a: Near, b: Near) -> Near:
    return Near(numpy.mod(a.value, b.value), numpy.where(a.error + b.error > 0, numpy.inf, 0.0))


def _compared(op: str, a: Near, b: Near) -> Near:
    functions = dict(zip(COMPARISONS, (numpy.less, numpy.less_equal, numpy.greater, numpy.greater_equal, numpy.equal, numpy.not_equal)))
    close = (abs(a.value - b.value) <= a.error + b.error) & (a.error + b.error > 0)
    return Near(functions[op](a.value, b.value), numpy.where(close, numpy.inf, 0.0))


def _both(a: Near, b: Near) -> Near:
    known = (~a.value & (a.error == 0)) | (~b.value & (b.error == 0))
    return Near(a.value & b.value, numpy.where(known, 0.0, a.error + b.error))


def _not(a: Near) -> Near:
    return Near(~a.value, a.error)


def _if(condition: Near, a: Near, b: Near) -> Near:
    value, error = (numpy.where(condition.value, *sides) for sides in zip(a, b))
    return Near(value, error + condition.error)


_OPERATIONS: dict[str, Callable[..., Near]] = {
    "+": _added,
    "-": _subtracted,
    "*": _multiplied,
    "/": _divided,
    "mod": _mod,
    "neg": lambda a: Near(-a.value, a.error),
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "tanh": _wave(numpy.tanh),
    "sin": _wave(numpy.sin),
    "cos": _wave(numpy.cos),
    "floor": _floor,
    "abs": _steady(numpy.abs),
    "relu": _steady(lambda a: numpy.maximum(a, 0)),
    "max": _steady(numpy.maximum),
    "min": _steady(numpy.minimum),
    "clamp": _steady(lambda a, low, high: numpy.minimum(numpy.maximum(a, low), high)),
    "and": _both,
    "or": lambda a, b: _not(_both(_not(a), _not(b))),
    "not": _not,
    "if": _if,
}
