"""A compiler from functions to Transformers, with proofs.

>>> import formwright
>>> network = formwright.build("x - mean(x)", tokens=2, resolution=4)
>>> network([[0.1], [0.9]])
array([[-0.375],
       [ 0.375]])
>>> print(network.claim)
exact-on-grid: equal to the target at the centres of the 12 cells with pairwise distinct columns; 0 on cells with equal columns and outside of the box

`build` compiles a target, `plan` compares the constructions, `load` reads a folder, `check` runs the checker, `export`
writes other formats, `contextual` decides whether a token mixer tells contexts apart; `formwright.torch` runs a folder
in PyTorch, `formwright.distributed` checks one on a Ray cluster, `formwright.runtime` judges a runtime's arithmetic. Long work can be interrupted (Ctrl-C): it is
abandoned, and nothing is written.
"""

from __future__ import annotations

import json
import operator
import tempfile
import warnings
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Union

import numpy
import numpy.typing

from formwright import _native
from formwright._callable import Sampled, Tabled, sample, tabulated
from formwright.errors import Declined, DomainWarning, Error, InputError, Rejected, TableWarning
from formwright.tracing import POINTS, Domain, Read, Reading, Untraceable, read, reading

if TYPE_CHECKING:
    from typing_extensions import Unpack

    Number = Union[int, float, str, Decimal, Fraction]

__all__ = [
    "Contextual", "Coordinate", "Declined", "DomainWarning", "Error", "Gate", "InputError", "Meaning", "Network", "Options", "Plan",
    "Rejected", "Stage", "TableWarning", "Verdict",
    "build", "check", "contextual", "export", "load", "plan",
]  # fmt: skip

# Modules that are imported on first use, with the package that they need, and what it is called.
_MODULES = {"torch": ("torch", "PyTorch"), "distributed": ("ray", "Ray"), "runtime": ("numpy", "NumPy")}


def __getattr__(name: str) -> ModuleType:
    """Imports modules on first use; `formwright.torch` and `formwright.distributed` need a package more."""
    if name not in _MODULES:
        raise AttributeError(f"module 'formwright' has no attribute {name!r}")
    package, called = _MODULES[name]
    try:
        return import_module(f"formwright.{name}")
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        needed = f"formwright.{name} needs {called}, which is not installed: pip install {package}"
        raise ImportError(needed) from error


Array = numpy.typing.NDArray[Any]
Function = Callable[[Array], Array]
Target = Union[str, PathLike[str], Array, Function]
Folder = Union[str, PathLike[str]]


class Options(TypedDict, total=False):
    """The options of `build` and `plan`; the names and the defaults are those of `formwright build --help`."""

    tokens: int
    dims: int
    resolution: int
    eps: Number
    norm: str
    construction: str
    precision: str
    attention: str
    positional: bool
    lipschitz: Number
    assume: Sequence[str]
    domain: str
    trade: str
    code: str
    values: str
    basis: str
    pack: bool
    hidden: int
    temperature: str
    as_printed: Sequence[str]
    host: str


class Stage(NamedTuple):
    """A stage of a network."""

    name: str
    statement: str
    layers: int
    meaning: str


class Coordinate(NamedTuple):
    """A coordinate of the residual stream."""

    name: str
    meaning: str


class Gate(NamedTuple):
    """A gate of a circuit: its formula over inputs and other gates, the block that computes it (its last one), how many
    hidden units and heads it takes there, its least and largest value, and its share of the certified error."""

    name: str
    formula: str
    kind: str
    block: int
    units: int
    heads: int
    range: tuple[float, float]
    share: float


class Plan(dict[str, Any]):
    """The constructions for a target, the smallest that serves first: what `formwright plan --json` prints, as a
    dictionary; printed, it is a table."""

    def rows(self) -> list[tuple[str, ...]]:
        """A row for each construction that was looked at, below a row of headings."""
        rows: list[tuple[str, ...]] = [("construction", "precision", "N", "blocks", "parameters", "bytes", "certified", "meets")]
        for row in self["candidates"]:
            name = " ".join(
                [row["construction"], *(["--positional"] if row["positional"] else []), *([f"--trade {row['trade']}"] if row.get("trade") else [])]
            )
            size, bound = row.get("size") or {}, (row.get("error") or {}).get("bound")
            counts = [row.get("resolution"), size.get("blocks"), size.get("parameters"), row.get("bytes")]
            numbers = ["" if count is None else str(count) for count in counts]
            rows.append((name, row["precision"], *numbers, "" if bound is None else _upward(bound), "yes" if row["meets_tolerance"] else "no"))
        return rows

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        from html import escape

        head, *rows = (["".join(f"<td>{escape(text)}</td>" for text in row) for row in self.rows()])
        return f"<table><thead><tr>{head}</tr></thead><tbody>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</tbody></table>"


class Meaning(NamedTuple):
    """The content of a coordinate of a circuit: `offset + Σ factor · atom`, within `error`."""

    offset: Fraction
    terms: dict[str, Fraction]
    error: float


class Verdict(NamedTuple):
    """The verdict of the checker: `accepted`, `rejected` or `declined`, with the obligation and the reason if it does not
    accept."""

    verdict: str
    obligation: str | None
    reason: str | None
    text: str

    @property
    def accepted(self) -> bool:
        """True if the claim is proved."""
        return self.verdict == "accepted"

    def __bool__(self) -> bool:
        raise TypeError("a verdict is one of three: ask .accepted, or compare .verdict")

    def __str__(self) -> str:
        return self.text


class Contextual(NamedTuple):
    """The verdict on a mixer's contextual mapping, by a definition: true if it computes one. `margin` is the least
    distance of two numbers that must differ, None where no two must; `counterexample` is two tokens that share a
    number, None where there are none; `told` is the output of `formwright contextual --json`."""

    verdict: str
    definition: str
    margin: Fraction | None
    counterexample: dict[str, Any] | None
    sequences: int
    text: str
    told: dict[str, Any]

    @property
    def contextual(self) -> bool:
        """True if the mapping is contextual."""
        return self.verdict == "contextual"

    def __bool__(self) -> bool:
        return self.contextual

    def __str__(self) -> str:
        return self.text


def build(
    target: Target,
    *,
    out: Folder | None = None,
    check: bool = True,
    force: bool = False,
    trace: bool = True,
    on: str | None = None,
    **options: Unpack[Options],
) -> Network:
    """Compiles a target, and writes its folder if `out` names one, after running the checker (`check`). A folder that
    holds another model is replaced only with `force`.

    A target is a built-in name, an expression, a file, a table or a function. A table is an array `[N, …, N, tokens,
    output_dims]` with a side of N cells for every coordinate of every token.

    A function of NumPy takes a sequence `[tokens, dims]` to one of `[tokens, output_dims]`, or a batch of them to a
    batch. It is read as a formula, `network.target`, which is compared with it at random points, and compiled like any
    expression. `on` is its domain: `"[-1, 1]"`, `"integers 0..4"`; [0, 1] without it. The claim is about the formula in
    real numbers, with its constants as they are printed (0.01 is one hundredth); what the function itself loses by
    computing in doubles is not in it.

    A function that has no formula is sampled at the centres of the cells of a grid (`resolution`), with a
    `TableWarning` that names the operation and its line; with `trace=False` no formula is tried, and the function takes
    batches on the unit box. With `lipschitz=L` the bound is then about the function, under the assumption that each of
    its outputs changes by at most L times the largest change of an input; without it, its error is measured.

    >>> network = build("sort(x) on integers 0..4", tokens=3)
    >>> network([[3.0], [0.0], [2.0]]).round(3).tolist()
    [[0.0], [2.0], [3.0]]
    >>> build("sort(x) + y", tokens=3)
    Traceback (most recent call last):
    formwright.errors.InputError: unknown name `y`...
    >>> scores = build(lambda x: (x - x.mean(0)) / numpy.sqrt(x.var(0) + 0.01), tokens=16)
    >>> print(scores.target)
    (x - mean(x)) / sqrt(var(x) + 0.01)
    >>> scores.error["badge"], scores.error["norm"]
    ('certified', 'sup')
    >>> table = build(lambda x: x * x.mean(axis=1, keepdims=True), tokens=2, resolution=8, positional=True, lipschitz=2, trace=False)
    >>> table.error["badge"], table.error["assumptions"]
    ('certified', ['the table holds the values, at the centres of its cells, of the function that is meant, of which every output entry changes by at most 2 times the largest change of an input'])
    """
    if out is not None:
        _native.check_place(out)
    given = _given(target, _checked(options), trace, on)
    keep = None if force else out
    try:
        native = _native.Native.build(given.name, given.content, given.written(), keep)
    except Declined as reason:
        given = given.as_table(reason)
        native = _native.Native.build(given.name, given.content, given.written(), keep)
    network = Network(native, given.sampled)
    if given.read is not None:
        _compare_all(given.read, network)
    if out is not None:
        network.save(out, check=check, force=force)
    return network


def plan(
    target: Target, *, all: bool = False, trace: bool = True, on: str | None = None, **options: Unpack[Options]
) -> Plan:
    """The sizes and certified errors of the constructions, as `formwright plan --json` prints them; printed, a table.

    A construction that cannot be the smallest that serves is left out, with the reason, unless `all` is set.

    >>> rows = plan("x * mean(x)", tokens=2, eps="1/10", norm="l2")
    >>> rows["chosen"]["construction"], rows["chosen"]["precision"]
    ('circuit', 'f32')
    >>> rows["left_out"][0]["construction"], rows["left_out"][0]["precision"]
    ('circuit', 'f64')
    >>> print(rows)
    construction           precision  N  blocks  parameters  bytes  certified  meets
    circuit --trade width  f32           1       38          152    8.8405e-2  yes
    circuit --trade depth  f32           3       130         520    5.7105e-3  yes
    """
    given = _given(target, _checked(options), trace, on)
    return Plan(json.loads(_native.plan_of(given.name, given.content, given.written(), all)))


def load(dir: Folder) -> Network:
    """Reads a folder that `build` wrote."""
    return Network(_native.Native.read(dir), None)


def check(model: Network | Folder) -> Verdict:
    """The verdict of the independent checker on the claim of a float network or of a folder.

    >>> verdict = check(build("sort(x) on integers 0..3", tokens=2))
    >>> verdict.accepted
    True
    """
    if not isinstance(model, Network):
        return Verdict(*_native.check_folder(model))
    said = model._native.check()
    if said is None:
        raise _native.no_certificate()
    return Verdict(*said)


def contextual(
    mixer: str,
    *,
    definition: str = "paper",
    set: str | numpy.typing.ArrayLike | None = None,
    tokens: int | None = None,
    dims: int | None = None,
    resolution: int | None = None,
    positional: bool = False,
    seeds: int | None = None,
) -> Contextual:
    """Decides whether a token mixer computes a contextual mapping on a finite set of sequences: exactly, with the
    margin or a counterexample.

    The mixers, the definitions and the sets are those of `formwright contextual --help`; a set may also be an array
    `[sequences, tokens, dims]`, whose numbers are taken as they are printed.

    >>> print(contextual("attention", positional=True))
    exact-on-grid: attention is contextual (paper), margin 15
    >>> means = contextual("average", set=[[[0], [1], [5]], [[0], [2], [4]]])
    >>> means.verdict, [token["token"] for token in means.counterexample["tokens"]]
    ('not-contextual', [0, 0])
    >>> contextual("ff-average", definition="columns").margin
    Fraction(4, 1)
    """
    texts, flags = {"mixer": mixer, "definition": definition}, {"positional": positional}
    counts = {"tokens": tokens, "dims": dims, "resolution": resolution, "seeds": seeds}
    options: dict[str, Any] = {name: _option(name, "str", value) for name, value in texts.items()}
    options |= {name: _option(name, "bool", value) for name, value in flags.items()}
    options |= {name: _option(name, "int", value) for name, value in counts.items() if value is not None}
    if set is None or isinstance(set, str):
        options["set"] = set
    else:
        options["sequences"] = numpy.asarray(set).tolist()
    document, text = _native.contextual_of(json.dumps(options, default=str))
    told: dict[str, Any] = json.loads(document)
    margin = None if told.get("margin") is None else Fraction(told["margin"])
    return Contextual(
        told["verdict"], told["definition"], margin, told.get("counterexample"), int(told["sequences"]), text, told
    )


def export(
    model: Network | Folder,
    path: Folder,
    format: str = "onnx",
    *,
    stages: bool = False,
    rotate: int | None = None,
    cells: int | None = None,
    host: str | None = None,
    vocabulary: Sequence[str] | None = None,
) -> None:
    """Writes a float network for other programs, to a path that does not exist yet.

    `onnx` is a file; with `stages` the residual stream is an output as well, with `host` it is the blocks of a stock class
    that the network is put into. `transformerlens` is a folder that
    TransformerLens loads, with the ground truth; `rotate` is the seed of another basis, in which the checker proves the
    error anew. `vnnlib` is a folder of at most `cells` instances for verifiers. `hf` is a folder that Hugging Face's
    `transformers` loads: the network inside of `host`, a stock class (`bert`, `gpt2`, …; without it the one that it was
    built for), and for a target on integers a word for each (`vocabulary`).

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "lens"
    >>> export(build("sort(x) on integers 0..3", tokens=3), folder, "transformerlens")
    >>> sorted(file.name for file in folder.iterdir())
    ['circuit.json', 'config.json', 'state_dict.safetensors']
    """
    formats: dict[str, dict[str, Any]] = {
        "onnx": {"stages": stages},
        "transformerlens": {"rotate": rotate},
        "vnnlib": {"cells": cells},
        "hf": {"vocabulary": vocabulary},
    }
    if format not in formats:
        raise InputError(f"there is no format '{format}'\n  known    {', '.join(formats)}")
    for other, options in formats.items():
        for option, value in options.items():
            if other != format and value is not None and value is not False:
                raise InputError(f"{option} is an option of the format '{other}'\n  try      format='{other}'")
    if host is not None and format not in ("hf", "onnx"):
        raise InputError("host is an option of the formats 'hf' and 'onnx'\n  try      format='hf'")
    if host is not None and stages:
        raise InputError("stages is about the network by itself\n  try      leave out host")
    rotate = None if rotate is None else _option("rotate", "int", rotate)
    cells = None if cells is None else _option("cells", "int", cells)
    network = model if isinstance(model, Network) else load(model)
    if format == "hf" and host is None:
        host = network.host
        if host is None:
            raise InputError("the format 'hf' needs the class that the network is put into\n  try      host='bert'")
    if format == "onnx":
        network._native.onnx(path, stages, None if host is None else str(host))
    elif format == "transformerlens":
        network._native.transformerlens(path, rotate)
    elif format == "hf":
        network._native.hf(path, str(host), None if vocabulary is None else [str(word) for word in vocabulary])
    else:
        network._native.vnnlib(path, cells)


class Network:
    """A compiled network: call it on arrays `[tokens, dims]` or `[batch, tokens, dims]`."""

    def __init__(self, native: _native.Native, sampled: Sampled | None) -> None:
        self._native = native
        self._sampled = sampled
        self._domain = native.domain()
        self._measured: dict[str, Any] = {} if sampled is None else json.loads(native.measured_against(sampled.values_of))

    @property
    def summary(self) -> dict[str, Any]:
        """The output of `formwright inspect --json`."""
        document: dict[str, Any] = json.loads(self._native.summary())
        return document

    @property
    def target(self) -> str:
        """The text of the target that the claim is about; of a table, only that it is one, and for a function why."""
        told: str | None = self.summary["target"]["expression"]
        return told or (self._sampled.told() if self._sampled else "a table")

    @property
    def error(self) -> dict[str, Any]:
        """The claim about the error, with its badge. For a function without `lipschitz` it is the measurement; `table`
        then has the claim about the table of its samples."""
        told: dict[str, Any] = self.summary["error"]
        if self._sampled is None:
            return told
        if self._sampled.stated:
            return {**told, "measured": self._measured}
        measured = self._measured
        nothing: dict[str, Any] = {"bound": None, "terms": [], "assumptions": [], "checked": "not-run", "domain": "the unit box"}
        return {**told, **nothing, "badge": "measured", "norm": measured["norm"], "measured": measured, "table": told}

    @property
    def claim(self) -> str:
        """The claim in one line, beginning with its badge."""
        error = self.error
        if error["badge"] is None:
            return "no claim"
        if error["badge"] == "measured" and error["bound"] is None:
            found = error["measured"]
            low, high = found["confidence"]["low"], found["confidence"]["high"]
            points = f"{found['points']} quasi-random points, seed {found['seed']}"
            return f"measured: {error['norm']} error about {found['value']:.4e} (95 %: {low:.4e} to {high:.4e}; {points})"
        if error["badge"] == "exact-on-grid":
            text = f"exact-on-grid: equal to the target at {error['domain']}"
        else:
            text = f"{error['badge']}: {error['norm']} error on {error['domain']} at most {_upward(error['bound'])}"
        host = self.summary.get("host")
        if host is not None and host["bound"] is not None:
            text += f", in {host['class']} {_upward(host['bound'])}"
        return "; ".join([text, *(f"assuming that {words}" for words in error["assumptions"])])

    @property
    def size(self) -> dict[str, int]:
        """Counts of blocks, layers and parameters."""
        return {name: int(count) for name, count in self.summary["size"].items()}

    @property
    def stages(self) -> list[Stage]:
        """The stages, in order."""
        names = ("name", "statement", "layers", "meaning")
        return [Stage(*(stage[name] for name in names)) for stage in self.summary["stages"]]

    @property
    def gates(self) -> list[Gate]:
        """Of a circuit, the gates in the order in which they are computed; of other models none.

        >>> [(gate.name, gate.formula, gate.units, gate.heads) for gate in build("x * mean(x)", tokens=2, eps="1/10").gates]
        [('g1', 'mean(x)', 0, 1), ('g2', '(x) * (g1)', 4, 0)]
        """
        known = self.summary.get("circuit") or []
        return [Gate._make(tuple(gate[name]) if name == "range" else gate[name] for name in Gate._fields) for gate in known]

    @property
    def coordinates(self) -> list[Coordinate]:
        """The coordinates of the residual stream, in the order of the last axis of a trace."""
        return [Coordinate(*entry) for entry in self._native.coordinates()]

    @property
    def meanings(self) -> dict[str, dict[str, Meaning]]:
        """For a circuit, the content of each coordinate after the embedding and after each stage, by the names of a
        trace; `atoms` has the meanings of the names in it. The numbers of a trace are within `error` of it. For other
        models only words are known, in `coordinates`, and this is empty.

        >>> network = build("x - mean(x)", tokens=3, construction="circuit")
        >>> for stage, held in network.meanings.items():
        ...     print(stage, held["r0"].offset, {atom: str(factor) for atom, factor in held["r0"].terms.items()})
        embed -1/2 {'x': '1'}
        attend-0 0 {'x': '1', 'g1': '-1'}
        >>> network.atoms
        {'x': 'x', 'g1': 'mean(x)'}
        """
        known = self._known()
        stages: dict[str, dict[str, Meaning]] = {}
        names = ["embed", *(stage.name for stage in self.stages)] if known["coordinates"] else []
        for stage in names:
            before = next(reversed(stages.values()), {})
            stages[stage] = dict(before)
            for coordinate in known["coordinates"]:
                for held in coordinate["held"]:
                    if held["from"] == stage:
                        terms = {term["atom"]: Fraction(term["factor"]) for term in held["terms"]}
                        stages[stage][coordinate["name"]] = Meaning(Fraction(held["offset"]), terms, held["error"])
        return stages

    @property
    def atoms(self) -> dict[str, str | list[Fraction]]:
        """For a circuit, the meanings of the names in `meanings`: formulas of the target language over earlier names, or
        a number for each position."""
        atoms = self._known()["atoms"]
        return {atom["name"]: atom["formula"] if "formula" in atom else [Fraction(value) for value in atom["values"]] for atom in atoms}

    def _known(self) -> dict[str, Any]:
        known = self._native.meanings()
        return {"coordinates": [], "atoms": []} if known is None else json.loads(known)

    def __call__(self, x: numpy.typing.ArrayLike) -> Array:
        """The outputs, in the network's own arithmetic; those of an exact network are rounded to doubles. An input
        outside of the domain is answered, with a `DomainWarning`."""
        batch, tokens = self._batch(x)
        self._warn(batch)
        outputs = self._array(self._native.run(batch.tobytes(), tokens), (*batch.shape[:2], self._native.shape()[3]))
        return outputs if numpy.ndim(x) == 3 else outputs[0]

    def trace(self, x: numpy.typing.ArrayLike) -> dict[str, Array]:
        """The residual stream after the embedding and after each stage; `coordinates` names the last axis.

        >>> network = build("x - mean(x)", tokens=2, resolution=4)
        >>> list(network.trace([[0.1], [0.9]]))
        ['embed', 'quantise', 'shifts', 'global', 'zero', 'values']
        """
        batch, tokens = self._batch(x)
        self._warn(batch)
        shape = (*batch.shape[:2], len(self.coordinates))
        states = {name: self._array(state, shape) for name, state in self._native.trace(batch.tobytes(), tokens)}
        return states if numpy.ndim(x) == 3 else {name: state[0] for name, state in states.items()}

    def enclosure(self, x: numpy.typing.ArrayLike) -> dict[str, tuple[Array, Array]]:
        """Bounds on *every* execution of a float network: sums in any order, fused or not, `exp` within its error. They are
        lower and upper ends of the residual stream after the embedding and after each stage, as in `trace`, and of the
        `output`, in doubles.

        >>> network = build("x * mean(x)", tokens=3, construction="circuit")
        >>> x = [[0.1], [0.9], [0.5]]
        >>> lower, upper = network.enclosure(x)["output"]
        >>> bool((lower <= network(x)).all() and (network(x) <= upper).all()), float((upper - lower).max()) < 1e-5
        (True, True)
        """
        batch, tokens = self._batch(x)
        ends = {}
        for name, *sides in self._native.enclosure(batch.tobytes(), tokens):
            shape = (*batch.shape[:2], self._native.shape()[3] if name == "output" else len(self.coordinates))
            lower, upper = (numpy.frombuffer(side, "<f8").reshape(shape) for side in sides)
            ends[name] = (lower, upper) if numpy.ndim(x) == 3 else (lower[0], upper[0])
        return ends

    def report(self) -> str:
        """One self-contained HTML page, the `report.html` of the folder; for a function, it is about the table of its
        samples.

        >>> page = build("x - mean(x)", tokens=2, resolution=4).report()
        >>> page.startswith("<!DOCTYPE html>"), "exact-on-grid" in page
        (True, True)
        """
        return self._native.report()

    @property
    def host(self) -> str | None:
        """The stock class that it was built for (`build(…, host="bert")`), in which it meets its tolerance; `host` in the
        summary has the bound there.

        >>> network = build("x - mean(x)", tokens=3, host="bert")
        >>> network.host, network.summary["host"]["bound"] <= 1 / 100
        ('bert', True)
        """
        told: dict[str, Any] | None = self.summary.get("host")
        return None if told is None else str(told["class"])

    def to_transformers(self, host: str | None = None, *, vocabulary: Sequence[str] | None = None) -> Any:
        """The network inside of a stock class of Hugging Face's `transformers` (`bert`, `t5`, `modernbert`, `gpt2`,
        `llama`), loaded by `AutoModelForTokenClassification`, or by `AutoModelForCausalLM` (`opt`); without `host` the
        one that it was built for. `export(network, path, "hf", host=host)` writes the same to a folder, with its tokenizer, its inputs' map and
        its claim."""
        try:
            transformers = import_module("transformers")
        except ModuleNotFoundError as error:
            if error.name != "transformers":
                raise
            needed = "to_transformers needs transformers, which is not installed: pip install transformers torch"
            raise ImportError(needed) from error
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "host"
            export(self, path, "hf", host=host, vocabulary=vocabulary)
            loader = json.loads((path / "formwright.json").read_text())["loader"]
            return getattr(transformers, loader).from_pretrained(path).eval()

    def save(self, dir: Folder, *, check: bool = True, force: bool = False) -> None:
        """Writes the folder, after running the checker (`check`); a rejected model is not written. A folder that holds
        another model is replaced only with `force`."""
        self._native.write(dir, check, force)

    def __reduce__(self) -> tuple[Any, ...]:
        """A network is pickled as the files of its folder; one of a function that was sampled with that function."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self._native.write(path, False, False)
            files = {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.suffix != ".html"}
        return _unpickled, (files, self._sampled)

    def _batch(self, x: numpy.typing.ArrayLike) -> tuple[Array, int]:
        found = numpy.asarray(x)
        if found.dtype.kind not in "iuf":
            raise InputError(f"the input is an array of {found.dtype}, expected real numbers\n  try      x.astype(float)")
        least, most, dims, _ = self._native.shape()
        if found.ndim not in (2, 3) or found.shape[-1] != dims or not least <= found.shape[-2] <= most:
            length = str(least) if least == most else f"{least} to {most}"
            expected = f"[tokens: {length}, coordinates: {dims}], or that with a batch in front"
            raise InputError(f"the input has the shape {list(found.shape)}\n  expected {expected}")
        batch = numpy.ascontiguousarray(found, "<f8").reshape(-1, *found.shape[-2:])
        for place in numpy.argwhere(~numpy.isfinite(batch))[:1]:
            i, j, k = place
            raise InputError(f"sequence {i}, token {j}, coordinate {k} is {batch[i, j, k]}: not a finite number")
        return batch, found.shape[-2]

    def _warn(self, batch: Array) -> None:
        """Warns the caller of the network of the first number outside of the domain."""
        low, high, integers, words = self._domain
        outside = (batch < low) | (batch > high)
        if integers:
            outside |= batch != numpy.floor(batch)
        if outside.any():
            i, j, k = numpy.argwhere(outside)[0]
            more = int(outside.any(axis=(1, 2)).sum()) - 1
            also = f" (and in {more} more)" if more else ""
            place = f"sequence {i}, token {j}, coordinate {k} is {batch[i, j, k]}"
            warnings.warn(f"{place}: {words}{also}", DomainWarning, stacklevel=3)

    def _array(self, data: bytes, shape: tuple[int, ...]) -> Array:
        kind = numpy.float32 if self._native.precision() == "f32" else numpy.float64
        return numpy.frombuffer(data, "<f8").reshape(shape).astype(kind)

    def __repr__(self) -> str:
        told = self.summary
        what = f"{told['construction']}, {told['precision']}, {told['tokens']} tokens, {told['size']['parameters']} parameters"
        return f"<formwright.Network {told['target']['name']}: {what}; {self.claim}>"

    def _repr_html_(self) -> str:
        from html import escape

        told = self.summary
        rows = [(stage.name, str(stage.layers), stage.meaning) for stage in self.stages]
        stages = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        size = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self.size.items())
        head = f"{told['target']['name']} by {told['construction']}, {told['precision']}, {told['tokens']} tokens"
        return (
            f"<div><b>{escape(head)}</b><p>{escape(self.claim)}</p>"
            f"<table><tr><th>stage</th><th>layers</th><th>what it does</th></tr>{stages}</table><p>{escape(size)}</p></div>"
        )


def _unpickled(files: dict[str, bytes], sampled: Sampled | None) -> Network:
    """The network of these files, which are checked as any folder is that is read."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        return Network(_native.Native.read(folder), sampled)


def _upward(bound: float) -> str:
    """A bound in five digits, rounded up."""
    return f"{Context(prec=5, rounding=ROUND_CEILING).create_decimal(bound):.4e}"


def _checked(options: Options) -> Options:
    """The options, each converted to its kind; those that are None are left out."""
    kinds = Options.__annotations__
    unknown = set(options) - set(kinds)
    if unknown:
        raise TypeError(f"there is no option {sorted(unknown)[0]!r}; known are {', '.join(kinds)}")
    # Annotations are texts here, or forward references to them.
    kind = {name: str(getattr(kinds[name], "__forward_arg__", kinds[name])) for name in kinds}
    said = {name: value for name, value in options.items() if value is not None}
    checked: Any = {name: _option(name, kind[name], value) for name, value in said.items()}
    typed: Options = checked
    return typed


def _option(name: str, kind: str, value: object) -> Any:
    """The value of an option, checked against its kind."""
    boolean = isinstance(value, (bool, numpy.bool_))
    if kind == "int":
        try:
            count = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            count = -1
        if boolean or not 0 <= count < 2**63:
            example = int(float(value)) if isinstance(value, (str, float)) and _is_whole(value) else 3
            raise InputError(f"{name} is {value!r}\n  expected a whole number\n  try      {name}={example}")
        return count
    if kind == "bool":
        if not boolean:
            raise InputError(f"{name} is {value!r}\n  expected True or False")
        return bool(value)
    if kind == "Number":
        if boolean or not isinstance(value, (int, float, str, Decimal, Fraction, numpy.integer, numpy.floating)):
            raise InputError(f"{name} is {value!r}\n  expected a number\n  try      {name}='1/10'")
        return str(value)
    if kind == "Sequence[str]":
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, (list, tuple, set, frozenset)) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{name} is {value!r}\n  expected a text or a list of texts")
        return list(texts)
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}\n  expected a text")
    return value


def _is_whole(value: str | float) -> bool:
    """True if this is a whole number of another type."""
    try:
        return 0 <= float(value) < 2**31 and float(value).is_integer()
    except ValueError:
        return False


class _Given(NamedTuple):
    """A target as the compiled half takes it: a name with a text or a table, options, and what a table samples."""

    name: str
    content: str | Tabled | None
    options: Options
    sampled: Sampled | None = None
    read: Read | None = None

    def written(self) -> str:
        """The options as the compiled half reads them."""
        written: dict[str, Any] = dict(self.options)
        # A constant that is stated for a function implies that its bound is wanted.
        if (self.sampled or self.read) and "lipschitz" in written and "eps" not in written:
            written.setdefault("norm", "l2")
        return json.dumps(written)

    def as_table(self, reason: Declined) -> _Given:
        """The function as a table instead, if it may be one; else the reason is raised."""
        if self.read is None or self.read.domain.words is not None or "resolution" not in self.options:
            raise reason
        return _tabulated(self.read.reading, self.name, self.options, f"its formula is declined: {reason}", 4)


def _given(target: Target, options: Options, trace: bool, on: str | None) -> _Given:
    """The target, read."""
    if on is not None and (not trace or not callable(target)):
        raise InputError("`on` is the domain of a function that is read as a formula\n  try      'x on [-1, 1]' in an expression")
    if isinstance(target, (str, PathLike)):
        return _Given(fspath(target), None, options)
    if isinstance(target, numpy.ndarray):
        return _Given("table", tabulated(target), options)
    if callable(target):
        return _traced(target, options, on) if trace else _sampled(target, str(getattr(target, "__name__", "function")), options)
    raise InputError(f"a target is a text, a table or a function, not {type(target).__name__}")


def _traced(function: Function, options: Options, on: str | None) -> _Given:
    """A function as a formula, or as a table if it has none."""
    tokens, dims = options.get("tokens", 3), options.get("dims", 1)
    if min(tokens, dims) < 1:
        raise InputError(f"tokens={tokens}, dims={dims}\n  expected at least 1 and 1")
    domain = Domain.of(on)
    way = reading(function, tokens, dims, domain)
    name = str(getattr(function, "__name__", "function"))
    try:
        found = read(way, tokens, dims, domain)
    except Untraceable as reason:
        if "resolution" not in options or on is not None:
            told = f"the function has no formula: {reason}\n  try      resolution=8, for a table of its values on the unit box"
            raise InputError(told) from reason
        return _tabulated(way, name, options, f"it has no formula: {reason}", 5)
    return _Given(found.text if name == "<lambda>" else name, found.text, {**options, "tokens": tokens, "dims": dims}, read=found)


def _tabulated(way: Reading, name: str, options: Options, reason: str, depth: int) -> _Given:
    """A function as a table, with a warning for the caller, so many calls away."""
    warnings.warn(f"{name} is read as a table: {reason}", TableWarning, stacklevel=depth)
    return _sampled(way.values, name, options, reason)


def _sampled(function: Function, name: str, options: Options, reason: str | None = None) -> _Given:
    """A function of batches as a table."""
    sampled = Sampled(function, name, options.get("lipschitz") is not None, reason)
    return _Given(name, tabulated(sample(sampled, options)), options, sampled)


def _compare_all(found: Read, network: Network) -> None:
    """Compares the formula with the function for all the other numbers of tokens that the network takes."""
    least, most, _, _ = network._native.shape()
    for tokens in range(least, most):
        try:
            found.compare(tokens, -(-POINTS // (most - least)))
        except Untraceable as reason:
            raise InputError(f"at {tokens} tokens it is {reason}") from reason
