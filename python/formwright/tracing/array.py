"""The array that a function is called with to see what it does: every cell holds a formula.

An axis is the axis of the tokens, along which cells are formulas of a variable, or has cells of its own. `cells` has
the size 1 along the former, so that NumPy's rules of broadcasting are those of object arrays. An array has at most two
token axes: a third would let three tokens meet, which nothing in the target language does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import prod
from typing import Any, Union

import numpy
import numpy.typing
from numpy.lib.mixins import NDArrayOperatorsMixin

from formwright.tracing import formula as f
from formwright.tracing.formula import Formula, Untraceable

Cells = numpy.typing.NDArray[Any]
Axes = Union[int, Sequence[int], None]


class Length(int):
    """A number of tokens, as `x.shape` has it: an int, and a formula of `n` in arithmetic with numbers and arrays."""

    formula: Formula
    tokens: int

    @staticmethod
    def of(tokens: int, value: int | None = None, formula: Formula = f.LENGTH) -> Length:
        """The number of tokens, or a number that is computed from it, with its formula."""
        length = Length(tokens if value is None else value)
        length.tokens, length.formula = tokens, formula
        return length

    def traced(self) -> Traced:
        """An array without axes."""
        return Traced(_cell(self.formula), (), self.tokens)

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        # Beside an array of numbers it is one, so that `numpy.arange(n) / n` is an array of numbers.
        plain = any(isinstance(value, numpy.ndarray) and value.ndim > 0 for value in inputs)
        told = [(int(value) if plain else value.traced()) if isinstance(value, Length) else value for value in inputs]
        return getattr(ufunc, method)(*told, **options)


def _arithmetic(name: str, formula: Callable[[Formula, Formula], Formula]) -> None:
    """Gives lengths an operator: with whole numbers the result is a length, with others an array."""
    whole = getattr(int, name)

    def operator(self: Length, other: Any) -> Any:
        value = whole(self, other) if isinstance(other, int) else NotImplemented
        if isinstance(value, int):
            other_formula = other.formula if isinstance(other, Length) else f.number(other)
            return Length.of(self.tokens, value, formula(self.formula, other_formula))
        mine, theirs = self.traced(), other.traced() if isinstance(other, Length) else other
        return elementwise(formula, mine, theirs) if isinstance(other, (int, float, numpy.number)) else NotImplemented

    setattr(Length, name, operator)


for _name, _formula in {"add": f.add, "sub": f.sub, "mul": f.mul, "truediv": f.div}.items():
    _arithmetic(f"__{_name}__", _formula)
    _arithmetic(f"__r{_name}__", lambda a, b, formula=_formula: formula(b, a))  # type: ignore[misc]
_arithmetic("__floordiv__", lambda a, b: f.call("floor", f.div(a, b)))
_arithmetic("__mod__", lambda a, b: f.node("mod", a, b))


class Traced(NDArrayOperatorsMixin):
    """An array of formulas."""

    def __init__(self, cells: Cells, along: tuple[bool, ...], tokens: int) -> None:
        self.cells, self.along, self.tokens = cells, along, tokens
        # Whether another array shows the same cells: then changing one in place would change the other.
        self.shared = False

    # What NumPy asks.

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from formwright.tracing.functions import call_ufunc

        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        from formwright.tracing.functions import call_function

        return call_function(function, args, options)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("a copy of the numbers out of the array (numpy.asarray, an index of a table); numpy.choose is a table")

    def __getattr__(self, name: str) -> Any:
        from formwright.tracing.functions import METHODS

        if name in METHODS:
            return lambda *args, **options: METHODS[name](self, *args, **options)
        raise AttributeError(f"the attribute `.{name}` of an array")

    def __bool__(self) -> bool:
        return bool(self._of_length("a decision by the values of the array (`if`, `while`, `and`, `or`); numpy.where makes one"))

    def __float__(self) -> float:
        return float(self._of_length("a number of Python's made of values of the array"))

    def _of_length(self, otherwise: str) -> Any:
        """The value of a formula of `n` alone, which is known for this number of tokens."""
        from formwright.tracing.rounding import values

        formula: Formula = self.cells.flat[0]
        if self.size != 1 or formula.free or formula.deep:
            raise Untraceable(otherwise)
        return values([formula], numpy.zeros((1, self.tokens, 1))).value.flat[0]

    def __int__(self) -> int:
        return int(float(self))

    def __complex__(self) -> complex:
        return complex(float(self))

    def __len__(self) -> int:
        if not self.along:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Traced]:
        if self.along and self.along[0]:
            raise Untraceable("a loop over the tokens; arithmetic with the whole array takes them all at once")
        return (self[k] for k in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise Untraceable("an assignment to a part of an array; numpy.where makes a new one")

    # What it looks like.

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return tuple(Length.of(self.tokens) if along else size for along, size in zip(self.along, self.cells.shape))

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.along)

    @property
    def size(self) -> int:
        """The number of its entries."""
        return prod(self.shape)

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Booleans for conditions, integers for what is known to be some, doubles for all else."""
        parts = list(self.cells.flat)
        return numpy.dtype(bool if self.condition else int if parts and all(part.integer for part in parts) else float)

    @property
    def condition(self) -> bool:
        """Whether its entries are true or false."""
        return any(part.condition for part in self.cells.flat)

    @property
    def T(self) -> Traced:
        """Its axes in the opposite order."""
        return self.transposed(tuple(reversed(range(self.ndim))))

    # What all operations are made of.

    @property
    def token_axes(self) -> list[int]:
        """The axes along which the tokens are."""
        return [axis for axis, along in enumerate(self.along) if along]

    def made(self, cells: Cells, along: Sequence[bool]) -> Traced:
        """An array of the same sequences."""
        return Traced(cells, tuple(along), self.tokens)

    def seen(self, cells: Cells, along: Sequence[bool]) -> Traced:
        """Another look at the same cells."""
        view = self.made(cells, along)
        self.shared = view.shared = True
        return view

    def renamed(self, names: dict[int, int]) -> Traced:
        """The same with other variables."""
        changed = {old: new for old, new in names.items() if old != new}
        return self if not changed else self.made(mapped(lambda part: f.renamed(part, changed), self.cells), self.along)

    def axis(self, axis: Any) -> int:
        """An axis counted from the front."""
        counted = axis.__index__()
        if not -self.ndim <= counted < self.ndim:
            raise numpy.exceptions.AxisError(counted, self.ndim)
        return int(counted % self.ndim)

    def axes(self, axes: Axes) -> list[int]:
        """The axes counted from the front; None for all."""
        named = range(self.ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else [axes]
        return sorted({self.axis(axis) for axis in named})

    def transposed(self, order: Sequence[int]) -> Traced:
        """Its axes in this order."""
        before = self.token_axes
        after = [axis for axis in order if self.along[axis]]
        names = {before.index(axis): new for new, axis in enumerate(after)}
        turned = self.renamed(names)
        return self.seen(turned.cells.transpose(order), [self.along[axis] for axis in order])

    def reshaped(self, shape: Sequence[int]) -> Traced:
        """The same entries in another shape, with the tokens along axes of their own."""
        whole = [int(side) for side in shape]
        if -1 in whole:
            whole[whole.index(-1)] = self.size // -prod(whole)
        parts = _parts(self.shape, self.token_axes)
        for axes in combinations(range(len(whole)), len(self.token_axes)):
            if all(whole[axis] == self.tokens for axis in axes) and _parts(whole, axes) == parts:
                sizes = [1 if axis in axes else side for axis, side in enumerate(whole)]
                return self.seen(self.cells.reshape(sizes), [axis in axes for axis in range(len(whole))])
        raise Untraceable(f"a shape {tuple(whole)} that takes the tokens apart")

    def expanded(self, axis: int) -> Traced:
        """The same with an axis of size 1 more."""
        at = axis % (self.ndim + 1)
        return self.seen(numpy.expand_dims(self.cells, at), [*self.along[:at], False, *self.along[at:]])

    def copied(self) -> Traced:
        """The same entries in an array of their own."""
        return self.made(self.cells, self.along)

    def assigned(self, value: Any) -> Traced:
        """Itself, with other entries."""
        if self.shared:
            raise Untraceable("a change in place of an array of which there is another view, such as a transpose or a part")
        new = elementwise(lambda old, new: new, self, value)
        if new.along != self.along or new.cells.shape != self.cells.shape:
            raise ValueError("an array in place of one of another shape")
        self.cells = new.cells
        return self

    # Reductions.

    def folded(self, name: str, axes: Axes, keepdims: bool) -> Traced:
        """`sum`, `max`, `min`, `any` or `all` over axes."""
        counted, result = self.axes(axes), self
        # The values of a token first, then the tokens.
        for axis in sorted(counted, key=lambda axis: self.along[axis]):
            result = _over_tokens(result, name, axis) if result.along[axis] else _over_cells(result, name, axis)
        return result if keepdims else result.without(counted)

    def without(self, axes: Sequence[int]) -> Traced:
        """The same without these axes of size 1."""
        kept = [axis for axis in range(self.ndim) if axis not in axes]
        return self.made(self.cells.reshape([self.cells.shape[axis] for axis in kept]), [self.along[axis] for axis in kept])

    # Parts.

    def __getitem__(self, key: Any) -> Traced:
        from formwright.tracing.index import part

        return part(self, key)


def mapped(function: Callable[..., Formula], *cells: Cells) -> Cells:
    """A function of formulas, cell by cell."""
    made = numpy.frompyfunc(function, len(cells), 1)(*cells)
    return made if isinstance(made, numpy.ndarray) else _cell(made)


def _cell(formula: Formula) -> Cells:
    cells = numpy.empty((), dtype=object)
    cells[()] = formula
    return cells


def the_input(tokens: int, dims: int, integer: bool, *, batch: bool) -> Traced:
    """The array that a function is called with, after an axis of one sequence for `batch`."""
    cells = numpy.empty((1, dims), dtype=object)
    cells[0] = [f.token(0, k, integer) for k in range(dims)]
    whole = Traced(cells, (True, False), tokens)
    return whole.expanded(0).copied() if batch else whole


def elementwise(function: Callable[..., Formula], *operands: Any) -> Traced:
    """A function of formulas, entry by entry, by the rules of broadcasting."""
    arrays = aligned(*operands)
    along = tuple(any(sides) for sides in zip(*(array.along for array in arrays)))
    return arrays[0].made(mapped(function, *(array.cells for array in arrays)), along)


def aligned(*operands: Any) -> list[Traced]:
    """The operands with as many axes each, and with the same variable along each of them."""
    traced = [operand.traced() if isinstance(operand, Length) else operand for operand in operands]
    arrays = [operand if isinstance(operand, Traced) else _constant(operand) for operand in traced]
    shapes = [tuple(int(side) for side in array.shape) for array in arrays]
    whole = numpy.broadcast_shapes(*shapes)
    ends = [array.along if isinstance(array, Traced) else (False,) * array.ndim for array in arrays]
    padded = [(False,) * (len(whole) - len(along)) + along for along in ends]
    along = tuple(any(sides) for sides in zip(*padded))
    if sum(along) > 2:
        raise Untraceable("three tokens at once: an array with three axes of tokens")
    # An array that is a formula of `n` alone is of any number of tokens.
    tokens = max(array.tokens for array in arrays if isinstance(array, Traced))
    if any(one and side != tokens for one, side in zip(along, whole)):
        raise Untraceable("more values along the axis of the tokens than there are tokens")
    return [
        _spread(array, own, along, tokens) if isinstance(array, Traced) else lifted(array, along, tokens)
        for array, own in zip(arrays, padded)
    ]


def _constant(value: Any) -> Cells:
    found = numpy.asarray(value)
    # An int may be larger than those of arrays.
    if found.dtype.kind not in "biuf" and not isinstance(value, int):
        raise Untraceable(f"an array of {found.dtype} among the operands")
    return found


def _spread(array: Traced, own: tuple[bool, ...], along: tuple[bool, ...], tokens: int) -> Traced:
    """The array with axes in front, and with the variables of a whole that has the tokens along more axes."""
    cells = array.cells.reshape((1,) * (len(own) - array.ndim) + array.cells.shape)
    if any(one and not mine and size != 1 for one, mine, size in zip(along, own, cells.shape)):
        raise Untraceable("an axis with a value for each place, beside the axis of the tokens")
    new = [axis for axis, one in enumerate(along) if one]
    names = {old: new.index(axis) for old, axis in enumerate(axis for axis, one in enumerate(own) if one)}
    return Traced(cells, own, tokens).renamed(names)


def lifted(constant: Cells, along: tuple[bool, ...], tokens: int) -> Traced:
    """An array of numbers, with formulas of the positions along the axes of the tokens."""
    values = constant.reshape((1,) * (len(along) - constant.ndim) + constant.shape)
    axes = [axis for axis, one in enumerate(along) if one]
    varying = [axis for axis in axes if values.shape[axis] > 1]
    cells = numpy.empty([1 if axis in varying else side for axis, side in enumerate(values.shape)], dtype=object)
    for spot in numpy.ndindex(*cells.shape):
        chosen = tuple(slice(None) if axis in varying else at for axis, at in enumerate(spot))
        cells[spot] = _of_positions(values[chosen], [axes.index(axis) for axis in varying])
    return Traced(cells, along, tokens)


def _constant_formula(value: Any) -> Formula:
    """A number or a truth as a formula."""
    if isinstance(value, (bool, numpy.bool_)):
        return f.truth(bool(value))
    return f.number(Fraction(int(value))) if isinstance(value, (int, numpy.integer)) else f.number(float(value))


def _of_positions(values: Any, variables: list[int]) -> Formula:
    """The formula that has these values at the positions of one token, or of two."""
    values = numpy.asarray(values)
    if values.ndim == 0 or (values == values.flat[0]).all():
        return _constant_formula(values.flat[0])
    if values.ndim == 2:
        return _of_two(values, variables)
    (v,), n = variables, len(values)
    if values.dtype.kind == "b":
        turns = numpy.flatnonzero(values[1:] != values[:-1])
        if len(turns) == 1:
            return f.compare("<=" if values[0] else ">", f.place(v), f.number(int(turns[0])))
        return f.compare("==", f.table(f.place(v), tuple(Fraction(int(value)) for value in values)), f.ONE)
    if len(set(values.tolist())) == 2 and not numpy.isfinite(values).all():
        first = values[0]
        return f.choose(_of_positions(values == first, [v]), _constant_formula(first), _constant_formula(values[values != first][0]))
    entries = tuple(_entry(value) for value in values)
    step = entries[1] - entries[0]
    if all(entries[k] == entries[0] + k * step for k in range(n)):
        return f.add(f.mul(f.number(step), f.place(v)), f.number(entries[0]))
    return f.table(f.place(v), entries)


def _entry(value: Any) -> Fraction:
    exact = f.known(_constant_formula(value))
    if exact is None:
        raise Untraceable(f"{value} as an entry of a table")
    return exact


def _of_two(values: Cells, variables: list[int]) -> Formula:
    """As `_of_positions`, for two tokens: bands, and tables of the distance or of both."""
    (v, w), n = variables, len(values)
    if (values == values[:1]).all():
        return _of_positions(values[0], [w])
    if (values == values[:, :1]).all():
        return _of_positions(values[:, 0], [v])
    kinds = numpy.unique(values)
    if len(kinds) == 2:
        # What a mask leaves out is 0, false or infinite.
        for chosen, other in sorted((kinds, kinds[::-1]), key=lambda pair: pair[1] != 0 and bool(numpy.isfinite(pair[1]))):
            band = _band(values == chosen, v, w)
            if band is not None:
                return band if values.dtype.kind == "b" and chosen else f.choose(band, _constant_formula(chosen), _constant_formula(other))
    if values.dtype.kind == "b":
        return f.compare("==", _of_two(values.astype(int), variables), f.ONE)
    by_distance = [numpy.unique(numpy.diagonal(values, distance)) for distance in range(1 - n, n)]
    if all(len(found) == 1 for found in by_distance):
        index = f.add(f.sub(f.place(w), f.place(v)), f.number(n - 1))
        return f.table(index, tuple(_entry(found[0]) for found in by_distance))
    return f.table(f.add(f.mul(f.number(n), f.place(v)), f.place(w)), tuple(_entry(value) for value in values.flat))


def _band(chosen: Cells, v: int, w: int) -> Formula | None:
    """The condition `low ≤ w - v ≤ high` that holds where it should, if there is one."""
    n = len(chosen)
    rows, columns = numpy.nonzero(chosen)
    low, high = int((columns - rows).min()), int((columns - rows).max())
    distance = numpy.arange(n) - numpy.arange(n)[:, None]
    if not (chosen == ((low <= distance) & (distance <= high))).all():
        return None
    return f.node("band", data=(v, w, None if low == 1 - n else low, None if high == n - 1 else high))


def _over_cells(array: Traced, name: str, axis: int) -> Traced:
    fold = {"sum": f.add, "max": lambda a, b: f.call("max", a, b), "min": lambda a, b: f.call("min", a, b)}
    fold |= {"any": f.either, "all": f.both}
    columns = numpy.moveaxis(array.cells, axis, 0)
    if len(columns) == 0:
        raise Untraceable(f"a {name} over an axis without entries")
    cells = reduce(lambda a, b: mapped(fold[name], a, b), columns)
    return array.made(numpy.expand_dims(cells, axis), array.along)


def _over_tokens(array: Traced, name: str, axis: int) -> Traced:
    variable = array.token_axes.index(axis)
    other = {1 - variable: 0}

    def over(body: Formula) -> Formula:
        if name == "any":
            return f.compare(">", over_numbers("count", body), f.ZERO)
        if name == "all":
            return f.compare("==", over_numbers("count", f.negated(body)), f.ZERO)
        return over_numbers(name, body)

    def over_numbers(name: str, body: Formula) -> Formula:
        return f.renamed(f.aggregate(name, body, variable), other)

    along = [one and at != axis for at, one in enumerate(array.along)]
    return array.made(mapped(over, array.cells), along)


def _parts(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """The number of entries before, between and behind axes."""
    ends = [-1, *axes, len(shape)]
    return [prod(int(side) for side in shape[start + 1 : end]) for start, end in zip(ends, ends[1:])]
