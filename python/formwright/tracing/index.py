"""Parts of traced arrays: `x[key]`, where tokens are taken at positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from formwright.tracing import formula as f
from formwright.tracing.array import Traced, lifted, mapped
from formwright.tracing.formula import Formula, Untraceable


def part(array: Traced, key: Any) -> Traced:
    """`array[key]`."""
    steps = _steps(array, key if isinstance(key, tuple) else (key,))
    if sum(isinstance(step, (numpy.ndarray, Traced)) for step in steps) > 1:
        raise Untraceable("a part of an array by two arrays of indices")
    result, axis, dropped = array, 0, []
    for step in steps:
        if step is None:
            result = result.expanded(axis)
        elif result.along[axis]:
            result = taken(result, axis, step)
        else:
            chosen = slice(step, step + 1 or None) if isinstance(step, int) else step
            if isinstance(step, int) and not -result.cells.shape[axis] <= step < result.cells.shape[axis]:
                raise IndexError(f"index {step} is out of bounds for axis {axis} with size {result.cells.shape[axis]}")
            if isinstance(step, Traced):
                raise Untraceable("a coordinate at an index that depends on the values; numpy.choose takes entries of a table")
            result = result.seen(result.cells[(slice(None),) * axis + (chosen,)], result.along)
        if isinstance(step, int) or (isinstance(step, Traced) and step.ndim == 0):
            dropped.append(axis)
        axis += 1
    return result.without(dropped)


def _steps(array: Traced, keys: Sequence[Any]) -> list[Any]:
    """A step for each axis, with None for a new one."""
    steps = [_step(key) for key in keys]
    if not any(step is Ellipsis for step in steps):
        steps.append(Ellipsis)
    at = next(place for place, step in enumerate(steps) if step is Ellipsis)
    missing = array.ndim - sum(step is not None for step in steps) + 1
    if missing < 0:
        raise IndexError(f"too many indices for an array with {array.ndim} axes")
    return steps[:at] + [slice(None)] * missing + steps[at + 1 :]


def _step(key: Any) -> Any:
    """A key as None, an ellipsis, an int, a slice, a row of integers or a traced array."""
    if key is None or key is Ellipsis or isinstance(key, slice):
        return key
    if isinstance(key, Traced):
        if key.condition:
            raise Untraceable("a choice of entries by their values, of which nobody knows how many; numpy.where keeps all")
        return key
    if isinstance(key, (int, numpy.integer)) and not isinstance(key, bool):
        return int(key)
    row = numpy.asarray(key)
    if row.dtype.kind == "b":
        row = numpy.flatnonzero(row)
    if row.ndim != 1 or row.dtype.kind not in "iu":
        raise Untraceable("a part of an array by indices that are no row of integers")
    return row


def taken(array: Traced, axis: int, step: Any) -> Traced:
    """The tokens of an axis at an index, a slice, a row of positions or a formula."""
    n, variable = array.tokens, array.token_axes.index(axis)
    if isinstance(step, Traced):
        return _at_values(array, axis, step)
    chosen = range(n)[step] if isinstance(step, slice) else numpy.arange(n)[step]
    if isinstance(step, int):
        return _at(array, axis, _position(step))
    if list(chosen) == list(range(n)):
        return array
    if list(chosen) == list(range(n))[::-1]:
        last = f.sub(f.LENGTH, f.ONE)
        return gathered(array, axis, f.sub(last, f.place(variable)))
    if len(chosen) == n:
        return gathered(array, axis, f.renamed(lifted(numpy.array(chosen), (True,), n).cells[0], {0: variable}))
    parts = [_at(array, axis, _position(int(k))) for k in chosen]
    if not parts:
        raise Untraceable("a part without tokens")
    return parts[0].made(numpy.concatenate([part.cells for part in parts], axis), parts[0].along)


def _position(k: int) -> Formula:
    return f.number(k) if k >= 0 else f.sub(f.LENGTH, f.number(-k))


def _at_values(array: Traced, axis: int, index: Traced) -> Traced:
    """The token at an index that is computed: one for each token, or one for all."""
    if index.along not in ((), (True,)):
        raise Untraceable("tokens at an array of indices that is no row of one for each token")
    formula = index.cells.flat[0]
    if index.along == ():
        return _at(array, axis, formula)
    return gathered(array, axis, f.renamed(formula, {0: array.token_axes.index(axis)}))


def gathered(array: Traced, axis: int, index: Formula) -> Traced:
    """For each token of an axis, the one at an index."""
    variable = array.token_axes.index(axis)
    return array.made(mapped(lambda body: f.gather(body, variable, index), array.cells), array.along)


def _at(array: Traced, axis: int, index: Formula) -> Traced:
    """The token of an axis at an index, in an axis of size 1."""
    variable = array.token_axes.index(axis)
    over = lambda body: f.renamed(f.gather(body, variable, index), {1 - variable: 0})
    along = [one and at != axis for at, one in enumerate(array.along)]
    return array.made(mapped(over, array.cells), along)
