"""Functions and arrays as tables: their values on a grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy
import numpy.typing

from formwright.errors import Declined, InputError

Array = numpy.typing.NDArray[Any]

# A table's entries; its tokens, coordinates, output coordinates and cells per side.
Tabled = tuple[bytes, tuple[int, int, int, int]]

# The most cells whose centres are sampled.
MOST_CELLS = 1_000_000

# The number of sequences that a function takes at once.
AT_ONCE = 4096


class Sampled:
    """A function that a table samples, its name, whether its Lipschitz constant is stated, and why it is no formula."""

    def __init__(self, function: Callable[[Array], Array], name: str, stated: bool, reason: str | None) -> None:
        self.function, self.name, self.stated, self.reason = function, name, stated, reason
        self.tokens, self.dims, self.output_dims = 0, 0, 0

    def __call__(self, x: Array) -> Array:
        """Its values, `[batch, tokens, output_dims]`; refused if they are not numbers of that shape."""
        y = numpy.asarray(self.function(x.copy()))
        if y.dtype.kind not in "iuf":
            raise InputError(f"the function returned an array of {y.dtype}, expected real numbers")
        expected = (*x.shape[:2], self.output_dims or (y.shape[2] if y.ndim == 3 else "output_dims"))
        if y.ndim != 3 or y.shape != expected or y.shape[2] == 0:
            shape = ", ".join(map(str, expected))
            raise InputError(
                f"the function returned the shape {list(y.shape)} for {list(x.shape)}\n  expected [{shape}]\n"
                "  try      x.mean(axis=1, keepdims=True): the first axis is the batch, the second the tokens"
            )
        for i, j, k in numpy.argwhere(~numpy.isfinite(y))[:1]:
            at = x[i].tolist()
            raise InputError(f"the function returned {y[i, j, k]} at token {j}, coordinate {k}\n  witness  X = {at}")
        self.output_dims = y.shape[2]
        return y.astype("<f8")

    def told(self) -> str:
        """That it is a table, and why."""
        return f"a table of the values of {self.name}" + (f"; {self.reason}" if self.reason else "")

    def values_of(self, batch: bytes) -> bytes:
        """Its values on doubles, as bytes."""
        return self(numpy.frombuffer(batch, "<f8").reshape(-1, self.tokens, self.dims)).tobytes()


def sample(function: Sampled, options: Mapping[str, Any]) -> Array:
    """The values of a function at the centres of the cells of a grid, as a table; a centre is rounded to a double."""
    if "resolution" not in options:
        raise InputError("how fine the grid is on which a function is sampled must be said\n  try      resolution=8")
    if "eps" in options and not function.stated:
        raise InputError(
            "a tolerance is a promise about the function, of which nothing is known between the centres of cells\n"
            "  try      lipschitz=L, if you know a constant; or leave out eps: the error is measured"
        )
    tokens, dims, n = options.get("tokens", 3), options.get("dims", 1), options["resolution"]
    if min(tokens, dims) < 1 or n < 2:
        raise InputError(f"tokens={tokens}, dims={dims}, resolution={n}\n  expected at least 1, 1 and 2")
    cells = n ** (tokens * dims)
    if cells > MOST_CELLS:
        raise Declined(
            f"the function would be sampled at {cells} centres of cells\n  limit    {MOST_CELLS}\n"
            "  try      a coarser resolution, or fewer tokens or dims"
        )
    function.tokens, function.dims = tokens, dims
    values = []
    for start in range(0, cells, AT_ONCE):
        ranks = numpy.arange(start, min(start + AT_ONCE, cells))
        digits = numpy.stack(numpy.unravel_index(ranks, (n,) * (tokens * dims)), axis=-1)
        values.append(function(((2 * digits + 1) / (2 * n)).reshape(-1, tokens, dims)))
    return numpy.concatenate(values).reshape((n,) * (tokens * dims) + (tokens, function.output_dims))


def tabulated(table: Array) -> Tabled:
    """An array `[N, …, N, tokens, output_dims]` as the compiled half takes it."""
    if table.dtype.kind not in "iuf":
        raise InputError(f"the table is an array of {table.dtype}, expected real numbers")
    sides, ends = table.shape[:-2], table.shape[-2:]
    if not sides or min(table.shape) == 0 or len(set(sides)) != 1 or len(sides) % ends[0] != 0:
        raise InputError(
            f"the table has the shape {list(table.shape)}\n"
            "  expected [N, …, N, tokens, output_dims], an N for every coordinate of every token"
        )
    for place in numpy.argwhere(~numpy.isfinite(table))[:1]:
        raise InputError(f"the table's entry {place.tolist()} is {table[tuple(place)]}: not a finite number")
    return table.astype("<f8").tobytes(), (ends[0], len(sides) // ends[0], ends[1], sides[0])
