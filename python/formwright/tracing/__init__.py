"""Python functions read as formulas of the target language.

A function is called once with an array of formulas, which notes what is done with it. The formula is then compared with
the function, at random points and at the ends of the domain; a difference that roundings do not explain is an error.

A function takes sequences `[tokens, dims]`, or batches of them. One that takes both must give the same for both.

| file | idea |
|---|---|
| `formula` | formulas, as a graph |
| `text` | their text in the target language |
| `array`, `index` | arrays of formulas: broadcasting, reductions, parts |
| `functions` | NumPy's functions on them |
| `rounding` | how far doubles may be from a formula |
"""

from __future__ import annotations

import linecache
import os
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import numpy.typing

from formwright import _native
from formwright.errors import Declined, InputError
from formwright.tracing import formula, rounding
from formwright.tracing.array import Traced, elementwise, the_input
from formwright.tracing.formula import Formula, Untraceable
from formwright.tracing.functions import scipy_too
from formwright.tracing.text import text

__all__ = ["POINTS", "Domain", "Read", "Reading", "Untraceable", "read", "reading"]

Array = numpy.typing.NDArray[Any]
Function = Callable[[Array], Any]

# The sequences at which a formula and its function are compared, and the most numbers that are worked on at once.
POINTS = 256
AT_ONCE = 1 << 22
# The most numbers that a sequence may have.
MOST_NUMBERS = 1 << 20


class Domain(NamedTuple):
    """The numbers that every input comes from, and the words for them."""

    low: float
    high: float
    integer: bool
    words: str | None

    @staticmethod
    def of(words: str | None) -> Domain:
        """The domain that words like `[-1, 1]` and `integers 0..4` name; the unit interval without any."""
        return Domain(*_native.domain_of("x" if words is None else f"x on {words}"), words)

    def points(self, count: int, tokens: int, dims: int, seed: int) -> Array:
        """Random sequences; every fourth has ends and equal tokens."""
        draw, shape = numpy.random.default_rng(seed), (count, tokens, dims)
        if self.integer:
            whole = draw.integers(int(self.low), int(self.high) + 1, shape)
            whole[::4] = whole[::4, :1]
            return whole
        batch = draw.uniform(self.low, self.high, shape)
        batch[::8] = batch[::8, :1]
        batch[4::8] = draw.choice([self.low, self.high], batch[4::8].shape)
        return batch


class Reading(NamedTuple):
    """How a function is called: with batches `[sequence, token, coordinate]`, or with one sequence after the other."""

    function: Function
    batched: bool

    def values(self, batch: Array) -> Array:
        """The values on a batch."""
        if self.batched:
            return numpy.asarray(self.function(batch.copy()))
        return numpy.stack([numpy.asarray(self.function(x.copy())) for x in batch])


class Read(NamedTuple):
    """The text of a function's formula, and how the function is called."""

    text: str
    reading: Reading
    outputs: list[Formula]
    domain: Domain
    dims: int

    def compare(self, tokens: int, points: int = POINTS) -> None:
        """Refuses a formula that differs from its function at some of so many sequences of so many tokens."""
        # Two tokens at once are a square.
        most = max(1, AT_ONCE // (tokens**2 * self.dims))
        batch = self.domain.points(min(points, 4 * most), tokens, self.dims, seed=tokens)
        if not sum(self._compare_at(batch[start : start + most]) for start in range(0, len(batch), most)):
            raise Untraceable(f"a formula that roundings decide at every point, and cannot be compared: {self.text}")

    def _compare_at(self, batch: Array) -> int:
        """The number of values that were compared."""
        tokens = batch.shape[1]
        found = _called(self.reading, batch)
        side, *ends = _native.enclosed(self.text, batch.astype("<f8").tobytes(), tokens, self.dims)
        low, high = (numpy.frombuffer(end, "<f8").reshape(len(batch), tokens, side) for end in ends)
        if isinstance(found, Exception) or found.shape != low.shape:
            told = f"raises {found!r}" if isinstance(found, Exception) else f"has the shape {list(found.shape[1:])}"
            raise self._different(batch[0], f"the function {told}")
        error = rounding.values(self.outputs, batch).error
        decided = numpy.isfinite(low) & numpy.isfinite(high) & numpy.isfinite(error)
        for i, t, k in numpy.argwhere(decided & ~((low - error <= found) & (found <= high + error)))[:1]:
            place = f"token {t}, coordinate {k}"
            wanted = f"the function is {found[i, t, k]} at {place}, and the formula between {low[i, t, k]} and {high[i, t, k]}"
            raise self._different(batch[i], wanted)
        return int(decided.sum())

    def _different(self, x: Array, how: str) -> InputError:
        return InputError(
            f"the formula that was read is not the function at {len(x)} tokens\n  formula  {self.text}\n"
            f"  witness  X = {x.tolist()}\n  reason   {how}\n"
            "  try      x.shape[0] for the number of tokens, numpy.where for choices; or trace=False for a table"
        )


def reading(function: Function, tokens: int, dims: int, domain: Domain) -> Reading:
    """How a function is to be called. A batch of three tells functions of sequences from those of batches: in a batch,
    sequences do not meet."""
    if tokens * dims > MOST_NUMBERS:
        raise Declined(f"the function would be called with {tokens * dims} numbers\n  limit    {MOST_NUMBERS}")
    batch = domain.points(3, tokens, dims, seed=0)[[1, 2, 1]]
    batch[2] = domain.points(2, tokens, dims, seed=1)[1]
    one, many = (Reading(function, batched) for batched in (False, True))
    of_one, of_many = _called(one, batch), _called(many, batch)
    alone = [_called(many, x[None]) for x in batch] if _fits(of_many, batch) else []
    apart = bool(alone) and all(_fits(y, batch[:1]) and _same(y[0], whole) for y, whole in zip(alone, of_many))
    if _fits(of_one, batch):
        if apart and not _same(of_one, of_many):
            raise _two_ways(batch, of_one, of_many)
        return one
    return many if apart else _refuse(of_one, batch)


def _fits(y: Any, batch: Array) -> bool:
    """Whether these are values of a function on a batch."""
    return isinstance(y, numpy.ndarray) and y.dtype.kind in "biuf" and y.ndim == 3 and y.shape[:2] == batch.shape[:2] and y.size > 0


def _two_ways(batch: Array, of_one: Array, of_many: Array) -> InputError:
    at = next(k for k in range(3) if not _same(of_one[k], of_many[k]))
    return InputError(
        "the function can be read in two ways, and they differ\n"
        f"  witness  X = {batch[at].tolist()}\n  reason   as [tokens, dims] it gives {of_one[at].tolist()}, "
        f"in a batch [batch, tokens, dims] {of_many[at].tolist()}\n"
        "  try      axes counted from the end: -2 is the tokens', -1 the coordinates'; or trace=False, which takes batches"
    )


def _refuse(y: Any, batch: Array) -> Reading:
    """Raises what is wrong with the values of a function that takes neither sequences nor batches."""
    if isinstance(y, Exception):
        raise y
    if y.dtype.kind not in "biuf":
        raise InputError(f"the function returned an array of {y.dtype}, expected real numbers")
    raise InputError(
        f"the function returned the shape {list(y.shape[1:])} for {list(batch.shape[1:])}\n"
        f"  expected [{batch.shape[1]}, output_dims], or that of a batch for a batch\n"
        "  try      y[:, None] for one number a token; numpy.broadcast_to(y, x.shape) for the same at all tokens"
    )


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool(numpy.allclose(a, b, equal_nan=True))


def _called(way: Reading, batch: Array) -> Any:
    """The values, or what is raised instead."""
    try:
        with numpy.errstate(all="ignore"):
            return way.values(batch)
    except Exception as error:  # noqa: BLE001, what a function may raise is not known
        return error


def read(way: Reading, tokens: int, dims: int, domain: Domain) -> Read:
    """The formula of a function, compared with it; raises `Untraceable` with the operation that has none, and its line."""
    whole = the_input(tokens, dims, domain.integer, batch=way.batched)
    try:
        with scipy_too():
            made = way.function(whole)  # type: ignore[arg-type]
            outputs = _outputs(made, whole, way.batched)
        words = text(outputs, dims) + (f" on {domain.words}" if domain.words else "")
        _native.enclosed(words, domain.points(1, tokens, dims, seed=0).astype("<f8").tobytes(), tokens, dims)
    except InputError as error:
        raise Untraceable(f"a formula that the target language refuses: {error}") from error
    except Exception as error:  # noqa: BLE001, functions of NumPy raise what they like
        raise Untraceable(_told(error)) from error
    found = Read(words, way, outputs, domain, dims)
    found.compare(tokens)
    return found


def _outputs(made: Any, whole: Traced, batched: bool) -> list[Formula]:
    """The formulas of the output coordinates, of token 0."""
    if not isinstance(made, (Traced, numpy.ndarray)):
        raise Untraceable(f"an output of the type {type(made).__name__}, and no array")
    like = elementwise(lambda value, _: formula.as_number(value), made, (whole * 0)[..., :1])
    shape = tuple(int(side) for side in made.shape)
    if like.along != whole.along or shape != tuple(int(side) for side in like.shape):
        raise Untraceable(f"an output of the shape {shape}, in which the tokens are taken apart")
    outputs = list((like.cells[0] if batched else like.cells)[0])
    for part in outputs:
        if part.free - {0}:
            raise Untraceable("an output of two tokens at once")
    return outputs


def _told(error: Exception) -> str:
    """What has no formula, and the line of the function where it stands."""
    what = str(error) if isinstance(error, Untraceable) else f"{error} ({type(error).__name__})"
    packages = [os.path.dirname(__file__), os.path.dirname(numpy.__file__), f"{os.sep}scipy{os.sep}", "<__array_function__"]
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if not any(package in frame.filename for package in packages)]
    if not own:
        return what
    line = linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()
    place = f"{os.path.basename(own[-1].filename)}, line {own[-1].lineno}"
    return f"{what}\n  at       {place}: {line}" if line else f"{what}\n  at       {place}"
