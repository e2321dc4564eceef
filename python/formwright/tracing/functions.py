"""NumPy's functions on traced arrays, a row each: what is not here has no formula."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import reduce
from importlib import import_module
from itertools import pairwise
from math import prod
from typing import Any

import numpy

from formwright.tracing import formula as f
from formwright.tracing.array import Axes, Length, Traced, aligned, elementwise, lifted, mapped
from formwright.tracing.formula import Formula, Untraceable
from formwright.tracing.index import gathered

TWO = f.number(2)


def _called(name: str) -> Callable[[Formula], Formula]:
    return lambda a: f.call(name, a)


# Functions of numbers.


def _remainder(a: Formula, b: Formula) -> Formula:
    return f.node("mod", a, b) if a.integer and b.integer else f.sub(a, f.mul(b, _floor(f.div(a, b))))


def _floor(a: Formula) -> Formula:
    return a if a.integer else f.call("floor", a)


def _power(a: Formula, b: Formula) -> Formula:
    exponent = f.known(b)
    if exponent is None:
        return f.call("exp", f.mul(b, f.call("log", a)))
    if exponent.denominator == 2 and abs(exponent) < 1000:
        root = f.call("sqrt", a)
        whole = (abs(exponent) - Fraction(1, 2)).numerator
        up = root if whole == 0 else f.mul(f.power(a, whole), root)
        return up if exponent > 0 else f.div(f.ONE, up)
    return f.power(a, int(exponent)) if exponent.denominator == 1 else f.call("exp", f.mul(b, f.call("log", a)))


def _largest(a: Formula, b: Formula) -> Formula:
    return f.call("relu", a) if b is f.ZERO else f.call("relu", b) if a is f.ZERO else f.call("max", a, b)


def _smallest(a: Formula, b: Formula) -> Formula:
    return f.call("min", a, b)


def _sign(a: Formula) -> Formula:
    return f.choose(f.compare(">", a, f.ZERO), f.ONE, f.choose(f.compare("<", a, f.ZERO), f.number(-1), f.ZERO))


def _heaviside(a: Formula, at_0: Formula) -> Formula:
    return f.choose(f.compare("<", a, f.ZERO), f.ZERO, f.choose(f.compare(">", a, f.ZERO), f.ONE, at_0))


def _hyperbolic(a: Formula, combine: Callable[[Formula, Formula], Formula]) -> Formula:
    return f.div(combine(f.call("exp", a), f.call("exp", f.negative(a))), TWO)


def _expit(a: Formula) -> Formula:
    return f.div(f.ONE, f.add(f.ONE, f.call("exp", f.negative(a))))


def _log_of(base: int) -> Callable[[Formula], Formula]:
    return lambda a: f.div(f.call("log", a), f.call("log", f.number(base)))


def _clipped(a: Formula, low: Formula, high: Formula) -> Formula:
    return f.call("clamp", a, low, high)


def _is_finite(a: Formula) -> Formula:
    mask = f.masked(a)
    if mask and f.infinite(mask[2]) is not None:
        return mask[0]
    return f.truth(f.infinite(a) is None)


_NUMBERS: dict[str, Callable[..., Formula]] = {
    "add": f.add,
    "subtract": f.sub,
    "multiply": f.mul,
    "divide": f.div,
    "floor_divide": lambda a, b: _floor(f.div(a, b)),
    "remainder": _remainder,
    "power": _power,
    "float_power": _power,
    "square": lambda a: f.power(a, 2),
    "sqrt": _called("sqrt"),
    "reciprocal": lambda a: f.div(f.ONE, a),
    "negative": f.negative,
    "positive": lambda a: a,
    "conjugate": lambda a: a,
    "absolute": _called("abs"),
    "fabs": _called("abs"),
    "sign": _sign,
    "heaviside": _heaviside,
    "exp": _called("exp"),
    "exp2": lambda a: f.call("exp", f.mul(a, f.call("log", TWO))),
    "expm1": lambda a: f.sub(f.call("exp", a), f.ONE),
    "log": _called("log"),
    "log2": _log_of(2),
    "log10": _log_of(10),
    "log1p": lambda a: f.call("log", f.add(f.ONE, a)),
    "logaddexp": lambda a, b: f.call("log", f.add(f.call("exp", a), f.call("exp", b))),
    "sin": _called("sin"),
    "cos": _called("cos"),
    "tan": lambda a: f.div(f.call("sin", a), f.call("cos", a)),
    "tanh": _called("tanh"),
    "sinh": lambda a: _hyperbolic(a, f.sub),
    "cosh": lambda a: _hyperbolic(a, f.add),
    "hypot": lambda a, b: f.call("sqrt", f.add(f.power(a, 2), f.power(b, 2))),
    "maximum": _largest,
    "fmax": _largest,
    "minimum": _smallest,
    "fmin": _smallest,
    "clip": _clipped,
    "floor": _floor,
    "ceil": lambda a: a if a.integer else f.negative(_floor(f.negative(a))),
    "trunc": lambda a: f.choose(f.compare("<", a, f.ZERO), f.negative(_floor(f.negative(a))), _floor(a)),
    "less": lambda a, b: f.compare("<", a, b),
    "less_equal": lambda a, b: f.compare("<=", a, b),
    "greater": lambda a, b: f.compare(">", a, b),
    "greater_equal": lambda a, b: f.compare(">=", a, b),
    "equal": lambda a, b: f.compare("==", a, b),
    "not_equal": lambda a, b: f.compare("!=", a, b),
    "isfinite": _is_finite,
    "isnan": lambda a: f.FALSE,
    "isinf": lambda a: f.negated(_is_finite(a)),
    # Of scipy.special.
    "expit": _expit,
    "log_expit": lambda a: f.negative(f.call("log", f.add(f.ONE, f.call("exp", f.negative(a))))),
}
_CONDITIONS: dict[str, Callable[..., Formula]] = {
    "logical_and": f.both,
    "logical_or": f.either,
    "logical_not": f.negated,
    "logical_xor": lambda a, b: f.either(f.both(a, f.negated(b)), f.both(f.negated(a), b)),
}
_BITWISE = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor", "invert": "logical_not"}
_FOLDS = {"add": "sum", "maximum": "max", "minimum": "min", "logical_or": "any", "logical_and": "all", "fmax": "max", "fmin": "min"}


def call_ufunc(ufunc: numpy.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A universal function, or its reduction or accumulation."""
    name = ufunc.__name__
    out = options.pop("out", None)
    if method == "reduce":
        made = _reduced(name, *inputs, **options)
    elif method == "accumulate":
        made = _accumulated(name, *inputs, **options)
    elif method == "__call__" and not options:
        made = _applied(name, inputs)
    else:
        raise Untraceable(f"numpy.{name}.{method}" if method != "__call__" else f"numpy.{name} with {', '.join(options)}")
    if out is None or out[0] is None:
        return made
    if not isinstance(out[0], Traced):
        raise Untraceable(f"numpy.{name} into an array of numbers")
    return out[0].assigned(made)


def _applied(name: str, inputs: tuple[Any, ...]) -> Any:
    if name in _STRUCTURAL:
        return _STRUCTURAL[name](*inputs)
    # Of conditions, bitwise functions are the logical ones.
    if name in _BITWISE and all(array.condition for array in aligned(*inputs)):
        name = _BITWISE[name]
    if name in _CONDITIONS:
        return elementwise(lambda *args: _CONDITIONS[name](*map(f.as_condition, args)), *inputs)
    if name not in _NUMBERS:
        raise Untraceable(f"{_module(name)}.{name}")
    return elementwise(lambda *args: _NUMBERS[name](*map(f.as_number, args)), *inputs)


def _module(name: str) -> str:
    return "numpy" if hasattr(numpy, name) else "scipy.special"


def _reduced(name: str, a: Traced, axis: Axes = 0, dtype: Any = None, keepdims: bool = False) -> Traced:
    if name not in _FOLDS:
        raise Untraceable(f"numpy.{name}.reduce")
    return _folded(_FOLDS[name], a, axis, keepdims)


def _accumulated(name: str, a: Traced, axis: int = 0, dtype: Any = None) -> Traced:
    if name not in ("add", "maximum", "minimum"):
        raise Untraceable(f"numpy.{name}.accumulate")
    axis, numbers = a.axis(axis), _as_numbers(a)
    if a.along[axis]:
        variable = a.token_axes.index(axis)
        return a.made(mapped(lambda body: f.up_to(_FOLDS[name], body, variable), numbers.cells), a.along)
    columns = list(numpy.moveaxis(numbers.cells, axis, 0))
    for place in range(1, len(columns)):
        columns[place] = mapped(_NUMBERS[name], columns[place - 1], columns[place])
    return a.made(numpy.stack(columns, axis), a.along)


def _as_numbers(a: Traced) -> Traced:
    return a.made(mapped(f.as_number, a.cells), a.along)


# Functions of arrays.


def _folded(name: str, a: Any, axis: Axes, keepdims: bool) -> Traced:
    wanted = f.as_condition if name in ("any", "all") else f.as_number
    return elementwise(wanted, a).folded(name, axis, keepdims)


def _sum(a: Any, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return _folded("sum", a, axis, keepdims)


def _max(a: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    return _folded("max", a, axis, keepdims)


def _min(a: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    return _folded("min", a, axis, keepdims)


def _any(a: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    return _folded("any", a, axis, keepdims)


def _all(a: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    return _folded("all", a, axis, keepdims)


def _spread_of_values(a: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    return _max(a, axis, keepdims) - _min(a, axis, keepdims)


def _count(a: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    return _sum(elementwise(f.as_condition, a), axis, keepdims=keepdims)


def _size(a: Traced, axes: Sequence[int]) -> Any:
    """The number of entries along axes, of which the tokens' are `n`."""
    return reduce(lambda product, axis: product * a.shape[axis], axes, 1)


def _mean(a: Any, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Any:
    axes, result = a.axes(axis), _as_numbers(a)
    cells = [at for at in axes if not a.along[at]]
    if cells:
        result = result.folded("sum", cells, True) / _size(a, cells)
    for at in set(axes) - set(cells):
        result = _pooled("mean", result, at)
    return result if keepdims else result.without(axes)


def _pooled(name: str, a: Traced, axis: int) -> Traced:
    """`mean` or `var` over the tokens of an axis, in an axis of size 1."""
    variable = a.token_axes.index(axis)
    over = lambda body: f.renamed(f.aggregate(name, body, variable), {1 - variable: 0})
    return a.made(mapped(over, a.cells), [one and at != axis for at, one in enumerate(a.along)])


def _var(a: Any, axis: Axes = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    axes = a.axes(axis)
    if len(axes) == 1 and a.along[axes[0]]:
        spread = _pooled("var", _as_numbers(a), axes[0])
    else:
        spread = _mean((a - _mean(a, axis, keepdims=True)) ** 2, axis, keepdims=True)
    if ddof:
        spread = spread * _size(a, axes) / (_size(a, axes) - ddof)
    return spread if keepdims else spread.without(axes)


def _std(a: Any, axis: Axes = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    return numpy.sqrt(_var(a, axis, dtype, ddof, keepdims))


def _average(a: Any, axis: Axes = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return _mean(a, axis, keepdims=keepdims)
    if numpy.ndim(weights) == 1 and isinstance(axis, int):
        shape = [1] * numpy.ndim(a)
        shape[axis] = -1
        weights = weights.reshape(shape) if isinstance(weights, Traced) else numpy.reshape(weights, shape)
    whole = weights + a * 0
    return numpy.sum(a * weights, axis=axis, keepdims=keepdims) / numpy.sum(whole, axis=axis, keepdims=keepdims)


def _cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return _accumulated("add", *_flat(a, axis))


def _flat(a: Any, axis: int | None) -> tuple[Any, int]:
    return (a.reshaped([-1]), 0) if axis is None else (a, axis)


def _sorted(a: Any, axis: int | None = -1, kind: Any = None, stable: Any = None) -> Any:
    a, axis = _flat(a, axis)
    axis = a.axis(axis)
    if not a.along[axis]:
        return _sorted_cells(a, axis)
    variable = a.token_axes.index(axis)
    return a.made(mapped(lambda body: f.ordered(body, variable), _as_numbers(a).cells), a.along)


def _sorted_cells(a: Any, axis: int) -> Any:
    """A network of comparators, each of which puts two neighbours in order."""
    columns = list(numpy.moveaxis(_as_numbers(a).cells, axis, 0))
    for end in range(len(columns) - 1, 0, -1):
        for k in range(end):
            pair = columns[k], columns[k + 1]
            columns[k], columns[k + 1] = mapped(_smallest, *pair), mapped(_largest, *pair)
    return a.made(numpy.stack(columns, axis), a.along)


def _median(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    flat, at = _flat(a, axis)
    at = flat.axis(at)
    count = flat.shape[at]
    ordered = numpy.moveaxis(_sorted(flat, at), at, 0)
    if flat.along[at]:
        # Below and above the middle; the same where the number of tokens is odd.
        index = Traced(mapped(lambda half: f.call("floor", half), (count / 2).cells), (), int(count))
        middle = ordered[index] if count % 2 else (ordered[index] + ordered[index - 1]) / 2
    else:
        middle = ordered[count // 2] if count % 2 else (ordered[count // 2 - 1] + ordered[count // 2]) / 2
    return numpy.expand_dims(middle, at) if keepdims and axis is not None else middle


def _first_of(name: str, a: Any, axis: int | None, keepdims: bool) -> Any:
    """The first place with the largest, or smallest, value."""
    a, axis = _flat(a, axis)
    axis, numbers = a.axis(axis), _as_numbers(a)
    best = numbers.folded(name, axis, True)
    here = elementwise(lambda x, y: f.compare("==", x, y), numbers, best)
    if not a.along[axis]:
        places = numpy.arange(a.shape[axis]).reshape([-1 if at == axis else 1 for at in range(a.ndim)])
        last = int(a.shape[axis])
        return numpy.min(numpy.where(here, places, last), axis=axis, keepdims=keepdims)
    variable = a.token_axes.index(axis)
    places = a.made(mapped(lambda same: f.choose(same, f.place(variable), f.LENGTH), here.cells), a.along)
    return places.folded("min", axis, keepdims)


def _argmax(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _first_of("max", a, axis, keepdims)


def _argmin(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return _first_of("min", a, axis, keepdims)


def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise Untraceable("numpy.where with one argument, which says where and not what")

    def chosen(c: Formula, a: Formula, b: Formula) -> Formula:
        same = a.condition and b.condition
        return f.choose(f.as_condition(c), *((a, b) if same else (f.as_number(a), f.as_number(b))))

    return elementwise(chosen, condition, *choices)


def _select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Any:
    pairs = list(zip(conditions, choices))
    return reduce(lambda rest, pair: _where(pair[0], pair[1], rest), reversed(pairs), default)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None and high is not None:
        return elementwise(lambda *args: _clipped(*map(f.as_number, args)), a, low, high)
    return numpy.maximum(a, low) if low is not None else numpy.minimum(a, high) if high is not None else a


def _concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    if axis is None:
        raise Untraceable("numpy.concatenate without an axis")
    known = next(array for array in arrays if isinstance(array, Traced))
    axis = known.axis(axis)
    if known.along[axis]:
        raise Untraceable("numpy.concatenate along the tokens, of which there are as many in the output as in the input")
    # What the axes but this one have in common, as an array of zeros.
    zeros = [numpy.sum(array, axis=axis, keepdims=True) * 0 for array in arrays]
    common = reduce(lambda a, b: a + b, zeros)
    spread = [elementwise(lambda a, _: f.as_number(a), array, common) for array in arrays]
    return spread[0].made(numpy.concatenate([array.cells for array in spread], axis), spread[0].along)


def _stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    return _concatenate([numpy.expand_dims(array, axis) for array in arrays], axis)


def _side_by_side(arrays: Sequence[Any]) -> Any:
    """`hstack` and `column_stack`: rows of numbers become columns."""
    rows = all(numpy.ndim(array) == 1 for array in arrays)
    return _stack(arrays, 1) if rows else _concatenate([array[:, None] if numpy.ndim(array) == 1 else array for array in arrays], 1)


def _expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    for at in [axis] if isinstance(axis, int) else axis:
        a = a.expanded(at)
    return a


def _squeeze(a: Any, axis: Axes = None) -> Any:
    ones = [at for at in range(a.ndim) if a.cells.shape[at] == 1 and not a.along[at]]
    return a.without(ones if axis is None else a.axes(axis))


def _transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    return a.transposed([a.axis(axis) for axis in (reversed(range(a.ndim)) if axes is None else axes)])


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return a.transposed(order)


def _moveaxis(a: Any, source: int, destination: int) -> Any:
    order = [axis for axis in range(a.ndim) if axis != a.axis(source)]
    order.insert(a.axis(destination), a.axis(source))
    return a.transposed(order)


def _reshape(a: Any, shape: Any, order: str = "C") -> Any:
    if order != "C":
        raise Untraceable(f"numpy.reshape in the order {order}")
    return a.reshaped([shape] if isinstance(shape, int) else list(shape))


def _broadcast_to(a: Any, shape: Any) -> Any:
    whole = [shape] if isinstance(shape, int) else list(shape)
    # The tokens of the shape are those of the array, or the only axis that may be theirs.
    own = [at + len(whole) - a.ndim for at in a.token_axes]
    sizes = [at for at, side in enumerate(whole) if isinstance(side, Length) or at in own]
    cells = numpy.broadcast_to(a.cells, [1 if at in sizes else side for at, side in enumerate(whole)])
    return Traced(cells, tuple(at in sizes for at in range(len(whole))), a.tokens)


def _roll(a: Any, shift: int, axis: int | None = None) -> Any:
    if axis is None and prod(a.shape) != a.tokens:
        raise Untraceable("numpy.roll without an axis, which moves entries from one token to another")
    axis = a.token_axes[0] if axis is None else a.axis(axis)
    if not a.along[axis]:
        return a.made(numpy.roll(a.cells, shift, axis), a.along)
    back = f.sub(f.place(a.token_axes.index(axis)), f.number(shift))
    return gathered(a, axis, f.node("mod", back, f.LENGTH))


def _flip(a: Any, axis: Axes = None) -> Any:
    turned = a.axes(axis)
    return a[tuple(slice(None, None, -1) if at in turned else slice(None) for at in range(a.ndim))]


def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    return elementwise(lambda _, value: value, a, fill_value)


def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    axis = a.axis(axis)
    if a.along[axis]:
        raise Untraceable("numpy.diff along the tokens, of which there is one less; x - numpy.roll(x, 1, axis) keeps all")
    for _ in range(n):
        a = a[(slice(None),) * axis + (slice(1, None),)] - a[(slice(None),) * axis + (slice(None, -1),)]
    return a


def _triangle(a: Any, k: int, lower: bool) -> Any:
    rows, columns = (numpy.arange(int(side)) for side in a.shape[-2:])
    kept = rows[:, None] + k >= columns if lower else rows[:, None] + k <= columns
    return _where(kept, a, 0)


def _matmul(a: Any, b: Any) -> Any:
    row, column = numpy.ndim(a) == 1, numpy.ndim(b) == 1
    a, b = _square(a, b, 0 if column else -2), _square(b, a, -1)
    left = a[None, :] if row else a
    right = b[:, None] if column else b
    whole = numpy.sum(left[..., :, :, None] * right[..., None, :, :], axis=-2)
    ones = ([-2] if row else []) + ([-1] if column else [])
    return whole.without(whole.axes(ones)) if ones else whole


def _square(matrix: Any, of: Any, axis: int) -> Any:
    """A matrix of numbers for two tokens each, if that is what the other factor is summed over."""
    if isinstance(matrix, Traced) or not of.along[axis] or numpy.shape(matrix) != (of.tokens, of.tokens):
        return matrix
    return lifted(numpy.asarray(matrix), (True, True), of.tokens)


def _dot(a: Any, b: Any) -> Any:
    if numpy.ndim(a) == 0 or numpy.ndim(b) == 0:
        return a * b
    if numpy.ndim(b) > 2:
        raise Untraceable("numpy.dot with more than two axes; numpy.matmul or numpy.einsum says which belong together")
    return _matmul(a, b)


def _inner(a: Any, b: Any) -> Any:
    return numpy.sum(a * b, axis=-1) if numpy.ndim(a) == numpy.ndim(b) == 1 else _matmul(a, numpy.swapaxes(b, -1, -2))


def _outer(a: Any, b: Any) -> Any:
    return a[:, None] * b[None, :]


def _einsum(subscripts: str, *operands: Any) -> Any:
    """Products of all operands, summed over what the output does not have, operand after operand."""
    given, _, output = subscripts.replace(" ", "").partition("->")
    terms = given.split(",")
    if "->" not in subscripts:
        output = "".join(letter for letter in sorted(set(given) - {","}) if given.count(letter) == 1)
    if "." in subscripts or any(len(set(term)) < len(term) for term in terms):
        raise Untraceable(f"numpy.einsum of '{subscripts}': an ellipsis, or a letter twice in one operand")
    letters, result = terms[0], operands[0]
    for place in range(len(terms)):
        if place:
            letters, result = _multiplied(letters, result, terms[place], operands[place])
        needed = output + "".join(terms[place + 1 :])
        summed = tuple(at for at, letter in enumerate(letters) if letter not in needed)
        if summed:
            result = numpy.sum(result, axis=summed)
            letters = "".join(letter for letter in letters if letter in needed)
    return numpy.transpose(result, [letters.index(letter) for letter in output])


def _multiplied(left: str, a: Any, right: str, b: Any) -> tuple[str, Any]:
    """The product of two operands, and the letters of its axes."""
    letters = left + "".join(letter for letter in right if letter not in left)
    sides = []
    for own, operand in ((left, a), (right, b)):
        turned = numpy.transpose(operand, [own.index(letter) for letter in letters if letter in own])
        sides.append(turned[tuple(slice(None) if letter in own else None for letter in letters)])
    return letters, sides[0] * sides[1]


def _norm(x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Any:
    row = isinstance(axis, int) or x.ndim == 1
    if ord is None or (ord == 2 and row):
        return numpy.sqrt(numpy.sum(x**2, axis=axis, keepdims=keepdims))
    if ord in (1, numpy.inf) and row:
        return (_sum if ord == 1 else _max)(abs(x), axis, keepdims=keepdims)
    raise Untraceable(f"numpy.linalg.norm of order {ord}")


def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    at = a.axis(axis or 0)
    return a[(slice(None),) * at + (indices,)]


def _choose(a: Any, choices: Sequence[Any]) -> Any:
    """The entry of a table at each index; choices that are arrays are told apart one by one."""
    if not any(numpy.ndim(choice) for choice in choices):
        entries = tuple(f.exact(float(choice)) for choice in choices)
        return elementwise(lambda index: f.table(f.as_number(index), entries), a)
    return _select([a == place for place in range(len(choices) - 1)], choices, choices[-1])


def _interp(x: Any, xp: Any, fp: Any) -> Any:
    """A broken line: it is level outside, and each knot changes its slope by a ReLU."""
    knots, values = ([f.exact(float(value)) for value in side] for side in (xp, fp))
    slopes = [(b - a) / (v - u) for (u, v), (a, b) in zip(pairwise(knots), pairwise(values))]
    changes = [b - a for a, b in pairwise([Fraction(0), *slopes, Fraction(0)])]

    def line(at: Formula) -> Formula:
        bends = [f.mul(f.number(change), f.call("relu", f.sub(at, f.number(knot)))) for knot, change in zip(knots, changes)]
        return reduce(f.add, bends, f.number(values[0]))

    return elementwise(line, x)


def _digitized(bins: Any, x: Any, side: str) -> Any:
    """The number of bins that are below, or not above."""
    op = ">" if side == "left" else ">="
    edges = [f.number(float(edge)) for edge in bins]
    return elementwise(lambda at: reduce(f.add, [f.as_number(f.compare(op, at, edge)) for edge in edges], f.ZERO), x)


def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    if isinstance(a, Traced):
        raise Untraceable("numpy.searchsorted in values of the array; (a[:, None] < v).sum(0) counts them")
    return _digitized(a, v, side)


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    return _digitized(bins, x, "left" if right else "right")


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """A window that slides over the tokens, with zeros outside."""
    if mode != "same" or not isinstance(a, Traced) or isinstance(v, Traced) or len(v) > len(a):
        raise Untraceable("numpy.convolve other than mode='same' of a row of tokens with a shorter row of numbers")
    ahead = (len(v) - 1) // 2

    def window(body: Formula) -> Formula:
        terms = [f.mul(f.number(float(weight)), _shifted(body, ahead - k)) for k, weight in enumerate(v)]
        return reduce(f.add, terms)

    return a.made(mapped(window, _as_numbers(a).cells), a.along)


def _shifted(body: Formula, by: int) -> Formula:
    """The token so many places ahead, and 0 outside."""
    if by == 0:
        return body
    inside = f.add(f.place(0), f.number(by))
    there = f.compare("<", inside, f.LENGTH) if by > 0 else f.compare(">=", f.place(0), f.number(-by))
    return f.choose(there, f.gather(body, 0, inside), f.ZERO)


def _astype(a: Any, dtype: Any, copy: bool = True) -> Any:
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return elementwise(f.as_condition, a)
    if kind in "iu" and a.dtype.kind == "f":
        return numpy.trunc(a)
    if kind not in "iuf":
        raise Untraceable(f"an array of {numpy.dtype(dtype)}")
    return _as_numbers(a)


_STRUCTURAL: dict[str, Callable[..., Any]] = {
    "matmul": _matmul,
    "vecdot": lambda a, b: numpy.sum(a * b, axis=-1),
    "matvec": lambda a, b: numpy.sum(a * b[..., None, :], axis=-1),
    "vecmat": lambda a, b: numpy.sum(a[..., :, None] * b, axis=-2),
}

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    numpy.sum: _sum, numpy.mean: _mean, numpy.var: _var, numpy.std: _std, numpy.max: _max, numpy.amax: _max,
    numpy.min: _min, numpy.amin: _min, numpy.ptp: _spread_of_values, numpy.any: _any, numpy.all: _all,
    numpy.count_nonzero: _count, numpy.average: _average, numpy.cumsum: _cumsum, numpy.sort: _sorted,
    numpy.median: _median, numpy.argmax: _argmax, numpy.argmin: _argmin, numpy.where: _where, numpy.select: _select,
    numpy.clip: _clip, numpy.concatenate: _concatenate, numpy.stack: _stack, numpy.hstack: _side_by_side,
    numpy.column_stack: _side_by_side, numpy.expand_dims: _expand_dims, numpy.squeeze: _squeeze,
    numpy.transpose: _transpose, numpy.swapaxes: _swapaxes, numpy.moveaxis: _moveaxis, numpy.reshape: _reshape,
    numpy.broadcast_to: _broadcast_to, numpy.roll: _roll, numpy.flip: _flip, numpy.flipud: lambda a: _flip(a, 0),
    numpy.fliplr: lambda a: _flip(a, 1), numpy.full_like: _full_like, numpy.zeros_like: lambda a, dtype=None: _full_like(a, 0),
    numpy.ones_like: lambda a, dtype=None: _full_like(a, 1), numpy.diff: _diff, numpy.dot: _dot, numpy.inner: _inner,
    numpy.outer: _outer, numpy.einsum: _einsum, numpy.linalg.norm: _norm, numpy.take: _take, numpy.choose: _choose, numpy.interp: _interp,
    numpy.tril: lambda m, k=0: _triangle(m, k, True), numpy.triu: lambda m, k=0: _triangle(m, k, False),
    numpy.searchsorted: _searchsorted, numpy.digitize: _digitize, numpy.convolve: _convolve,
    numpy.copy: lambda a: a.copied(), numpy.shape: lambda a: a.shape, numpy.ndim: lambda a: a.ndim,
    numpy.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
}  # fmt: skip

METHODS: dict[str, Callable[..., Any]] = {
    "sum": _sum, "mean": _mean, "var": _var, "std": _std, "max": _max, "min": _min, "any": _any, "all": _all,
    "cumsum": _cumsum, "argmax": _argmax, "argmin": _argmin, "clip": _clip, "squeeze": _squeeze, "dot": _dot,
    "swapaxes": _swapaxes, "astype": _astype, "copy": lambda a: a.copied(), "take": _take,
    "transpose": lambda a, *axes: _transpose(a, _unpacked(axes) or None),
    "reshape": lambda a, *shape: a.reshaped(_unpacked(shape)),
    "ravel": lambda a: a.reshaped([-1]), "flatten": lambda a: a.reshaped([-1]).copied(),
}  # fmt: skip


def _unpacked(shape: tuple[Any, ...]) -> list[int]:
    return list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)


def call_function(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of NumPy that is no universal function."""
    name = f"{function.__module__}.{function.__name__}"
    if function not in FUNCTIONS:
        raise Untraceable(name)
    try:
        inspect.signature(FUNCTIONS[function]).bind(*args, **options)
    except TypeError as error:
        raise Untraceable(f"{name} with such arguments: {error}") from error
    return FUNCTIONS[function](*args, **options)


# scipy.special.softmax asks for a namespace, and then for functions that are NumPy's.


class _Namespace:
    """NumPy, except that a traced array is an array already."""

    @staticmethod
    def asarray(x: Any) -> Any:
        return x

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)


@contextmanager
def scipy_too() -> Iterator[None]:
    """Lets functions of scipy.special that are written in NumPy's see traced arrays."""
    name = "scipy.special._logsumexp"
    module = sys.modules.get(name) and import_module(name)
    asked = getattr(module, "array_namespace", None)
    if module is None or asked is None:
        yield
        return
    def answered(*arrays: Any) -> Any:
        if not isinstance(arrays[0], Traced):
            return asked(*arrays)
        asking = sys._getframe(1).f_code.co_name
        if asking != "softmax":
            raise Untraceable(f"scipy.special.{asking}; numpy.log(numpy.exp(x).sum(axis)) is the logarithm of a sum")
        return _Namespace()

    module.array_namespace = answered  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.array_namespace = asked  # type: ignore[attr-defined]
