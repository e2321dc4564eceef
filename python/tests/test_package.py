"""The package from outside: results against numpy, verdicts and errors against the command line's words."""

import doctest
import json
import pickle
import re
import resource
import subprocess
import sys
import warnings
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest

import formwright

CENTRES = (numpy.stack(numpy.meshgrid(*[numpy.arange(4)] * 2, indexing="ij"), -1).reshape(-1, 2, 1) + 0.5) / 4


def mixed(x):
    """Not equivariant; on the unit box its outputs change by at most 5/2 times the largest change of an input."""
    return x * x.mean(axis=1, keepdims=True) + x[:, :1] / 2


def test_the_docstrings_say_what_happens():
    found = doctest.testmod(formwright, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= 10 and found.failed == 0


def test_a_network_is_the_target_at_every_centre():
    network = formwright.build("x - mean(x)", tokens=2, resolution=4, positional=True)
    numpy.testing.assert_array_equal(network(CENTRES), CENTRES - CENTRES.mean(axis=1, keepdims=True))
    numpy.testing.assert_array_equal(network(CENTRES[3]), network(CENTRES)[3])


@pytest.mark.parametrize("construction, precision", [("yun", "f64"), ("sum-code", "f32")])
def test_a_table_is_looked_up_in_every_cell(construction, precision):
    table = numpy.random.default_rng(8).integers(-8, 8, (4, 4, 2, 1)) / 8.0
    if construction == "sum-code":
        table = (table + table.transpose(1, 0, 2, 3)[:, :, ::-1]) / 2
    positional = construction == "yun"
    network = formwright.build(table, construction=construction, positional=positional, precision=precision)
    numpy.testing.assert_allclose(network(CENTRES), table.reshape(-1, 2, 1), rtol=0, atol=1e-4)
    assert network(CENTRES).dtype == {"f32": numpy.float32, "f64": numpy.float64}[precision]


def test_strides_and_single_precision_do_not_matter():
    network = formwright.build("z-score", tokens=6, eps=0.1)
    x = numpy.random.default_rng(0).uniform(0, 1, (6, 5, 1)).astype(numpy.float32)
    assert not x.T.flags.c_contiguous
    numpy.testing.assert_array_equal(network(x.transpose(1, 0, 2)), network(x.transpose(1, 0, 2).astype(float).copy()))
    (expected,) = network(x[::2].transpose(1, 0, 2)[:1])
    numpy.testing.assert_array_equal(network(x[::2, 0]), expected)
    target = (x - x.mean(0)) / numpy.sqrt(x.var(0) + 0.01)
    assert numpy.abs(network(x.transpose(1, 0, 2)) - target.transpose(1, 0, 2)).max() <= network.error["bound"]


def test_a_function_is_bounded_under_its_assumption():
    network = formwright.build(mixed, trace=False, tokens=2, resolution=4, positional=True, lipschitz=2.5)
    error = network.error
    # Two entries that change by at most 5/2 on half a cell: L/(2N) · (tokens · outputs)^(1/2).
    assert error["bound"] == pytest.approx(2.5 / 8 * 2**0.5, rel=1e-9) and error["bound"] >= 2.5 / 8 * 2**0.5
    assert error["badge"] == "certified" and "at most 5/2 times" in error["assumptions"][0]
    assert error["measured"]["value"] <= error["bound"]
    numpy.testing.assert_array_equal(network(CENTRES), mixed(CENTRES))
    # The same error, by plain random points.
    x = numpy.random.default_rng(1).uniform(0, 1, (20000, 2, 1))
    found = ((network(x) - mixed(x)) ** 2).sum(axis=(1, 2)).mean() ** 0.5
    assert found == pytest.approx(error["measured"]["value"], rel=0.1)


def test_where_theorem_2_gives_0_a_function_may_exceed_its_samples():
    square = lambda x: x * x
    error = formwright.build(square, trace=False, tokens=2, resolution=4, construction="yun", lipschitz=2).error
    bounds = {term["name"]: term["bound"] for term in error["terms"]}
    # Four of sixteen cells have equal columns; there either of two entries is at most its sample and L/(2N) more.
    samples = ((numpy.arange(4) + 0.5) / 4) ** 2
    assert bounds["duplicates"] == pytest.approx((2 * ((samples + 2 / 8) ** 2).sum() / 16) ** 0.5, rel=1e-9)
    assert bounds["piecewise constant"] == pytest.approx((2 * (2 / 8) ** 2 * 12 / 16) ** 0.5, rel=1e-9)


def test_the_checker_declines_what_rests_on_an_assumption(tmp_path):
    formwright.build(mixed, trace=False, tokens=2, resolution=4, positional=True, lipschitz=2.5, precision="f64", out=tmp_path / "f")
    verdict = formwright.check(tmp_path / "f")
    assert (verdict.verdict, verdict.obligation, verdict.accepted) == ("declined", "scope", False)
    assert "assumption" in verdict.reason and str(verdict) == verdict.text
    with pytest.raises(TypeError, match="one of three"):
        bool(verdict)
    again = formwright.load(tmp_path / "f")
    assert "the function that is meant" in again.claim and again.error["measured"] is None


def test_a_function_of_which_nothing_is_stated_is_measured():
    network = formwright.build(mixed, trace=False, tokens=2, resolution=4, positional=True)
    assert network.error["badge"] == "measured" and network.error["bound"] is None
    assert network.claim.startswith("measured: l2 error about")
    assert network.error["table"]["badge"] == "exact-on-grid"


def test_a_folder_comes_back_as_it_was(tmp_path):
    network = formwright.build("sort(x) on integers 0..4", tokens=3, out=tmp_path / "sorted")
    assert network.error["checked"] == "accepted" and formwright.check(tmp_path / "sorted").accepted
    again = formwright.load(tmp_path / "sorted")
    assert again.summary == network.summary
    x = numpy.random.default_rng(2).integers(0, 4, (50, 3, 1))
    numpy.testing.assert_array_equal(again(x), network(x))
    assert numpy.abs(network(x) - numpy.sort(x, axis=1)).max() <= network.error["bound"]
    formwright.export(tmp_path / "sorted", tmp_path / "sorted.onnx")
    with pytest.raises(formwright.InputError, match="exists, and nothing is overwritten"):
        formwright.export(network, tmp_path / "sorted.onnx")


def test_a_trace_has_every_stage_and_names(tmp_path):
    network = formwright.build("x - mean(x)", tokens=2, resolution=4, precision="f64", norm="l2")
    trace = network.trace(CENTRES)
    assert list(trace) == ["embed", *(stage.name for stage in network.stages)]
    assert {state.shape for state in trace.values()} == {(16, 2, len(network.coordinates))}
    assert trace["embed"].ravel().tolist() == (4 * CENTRES).ravel().tolist()
    for name, state in network.trace(CENTRES[5]).items():
        numpy.testing.assert_array_equal(state, trace[name][5])


@pytest.mark.parametrize("target, tokens", [("sort(x) on integers 0..4", 5), ("x - mean(x)", 4)])
def test_registers_hold_what_is_said_of_them(target, tokens):
    network = formwright.build(target, tokens=tokens, construction="circuit")
    draw = numpy.random.default_rng(3)
    x = draw.integers(0, 4, (40, tokens, 1)).astype(float) if "integers" in target else draw.random((40, tokens, 1))
    # The formulas of these targets are Python, but for a few words, and rational: fractions are exact.
    words = {"mean": each(numpy.mean), "sum": each(numpy.sum)}
    atoms = {"x": numpy.vectorize(Fraction, otypes=[object])(x[..., 0]), "i": numpy.broadcast_to(numpy.arange(tokens), x.shape[:2])}
    for name, formula in network.atoms.items():
        condition = re.fullmatch(r"if (.*) then 1 else 0", formula)
        formula = f"({condition[1]}) * 1" if condition else formula
        atoms |= {name: atoms[name] if name in atoms else eval(formula, words | atoms)}
    trace, names = network.trace(x), [coordinate.name for coordinate in network.coordinates]
    assert list(network.meanings) == list(trace)
    for stage, held in network.meanings.items():
        for name, found in zip(names, numpy.moveaxis(trace[stage], -1, 0)):
            meaning = sum((factor * atoms[atom] for atom, factor in held[name].terms.items()), held[name].offset)
            off = abs(numpy.vectorize(Fraction, otypes=[object])(found) - meaning)
            assert off.max() <= Fraction(held[name].error), (stage, name, held[name])
    assert formwright.build("x - mean(x)", tokens=2, resolution=4).meanings == {}


def each(aggregate):
    return lambda t: numpy.broadcast_to(aggregate(t, axis=1, keepdims=True), t.shape)


def test_a_card_is_shown_and_escaped():
    html = formwright.build("x - mean(x)", tokens=2, resolution=4)._repr_html_()
    assert "exact-on-grid" in html and "lemma" not in html and "quantise" in html
    assert "<script" not in formwright.build("x # <script>", tokens=2, resolution=2)._repr_html_()


# An error says what is wrong, and where.

@pytest.mark.parametrize("x, words", [
    (numpy.zeros((2, 1), bool), "array of bool"),
    (numpy.zeros((2, 1), complex), "array of complex128"),
    (numpy.array([["a"], ["b"]]), "expected real numbers"),
    (numpy.zeros(2), r"shape \[2\]"),
    (numpy.zeros((3, 1)), r"shape \[3, 1\]\n  expected \[tokens: 2, coordinates: 1\]"),
    (numpy.zeros((5, 2, 2)), r"shape \[5, 2, 2\]"),
    ([[[0.0], [0.5]], [[0.25], [numpy.nan]]], "sequence 1, token 1, coordinate 0 is nan: not a finite number"),
    ([[0.0], [numpy.inf]], "sequence 0, token 1, coordinate 0 is inf"),
])  # fmt: skip
def test_inputs_that_are_none(x, words):
    network = formwright.build("x - mean(x)", tokens=2, resolution=4)
    with pytest.raises(formwright.InputError, match=words):
        network(x)
    with pytest.raises(formwright.InputError, match=words):
        network.trace(x)


@pytest.mark.parametrize("function, words", [
    (lambda x: x[:, 0], r"returned the shape \[16, 1\] for \[16, 2, 1\]\n  expected \[16, 2, output_dims\]"),
    (lambda x: x[:1], "returned the shape"),
    (lambda x: x.astype(str), "expected real numbers"),
    (lambda x: x * 1j, "array of complex128"),
    (lambda x: numpy.where(x > 0.5, numpy.nan, x), r"returned nan at token 1, coordinate 0\n  witness  X = \[\[0.125\], \[0.625\]\]"),
])  # fmt: skip
def test_functions_that_are_none(function, words, tmp_path):
    with pytest.raises(formwright.InputError, match=words):
        formwright.build(function, trace=False, tokens=2, resolution=4, out=tmp_path / "none")
    assert not list(tmp_path.iterdir())


def test_what_a_function_raises_is_raised(tmp_path):
    calls = []

    def once(x):
        calls.append(len(x))
        if len(calls) > 1:
            raise RuntimeError("mine")
        return x

    # Once to sample, then to measure.
    with pytest.raises(RuntimeError, match="^mine$"):
        formwright.build(once, trace=False, tokens=2, resolution=4, out=tmp_path / "none")
    assert not list(tmp_path.iterdir()) and calls[0] == 16


def test_requests_that_are_none(tmp_path):
    with pytest.raises(formwright.InputError, match="there is no folder"):
        formwright.load(tmp_path / "nowhere")
    with pytest.raises(formwright.InputError, match="there is no folder"):
        formwright.check(tmp_path / "nowhere")
    with pytest.raises(formwright.InputError, match="there is no target 'nothing'"):
        formwright.build("nothing")
    with pytest.raises(formwright.InputError, match="construction= is 'circus'(.|\n)*try      construction='circuit'"):
        formwright.build("x", construction="circus")
    with pytest.raises(formwright.Declined, match="positional=True"):
        formwright.build("reverse", tokens=2, resolution=4)
    with pytest.raises(formwright.Rejected, match="not met"):
        formwright.build("x * mean(x)", tokens=2, resolution=2, eps="1/1000", norm="l2", construction="yun")
    with pytest.raises(TypeError, match="no option 'epsilon'"):
        formwright.build("x", epsilon=1)
    with pytest.raises(formwright.InputError, match="the table has the shape"):
        formwright.build(numpy.zeros((4, 3, 2, 1)))
    with pytest.raises(formwright.InputError, match=r"entry \[1, 0, 0\] is nan"):
        formwright.build(numpy.array([0.0, numpy.nan]).reshape(2, 1, 1))
    with pytest.raises(formwright.InputError, match="resolution=8"):
        formwright.build(mixed, trace=False)
    with pytest.raises(formwright.InputError, match="lipschitz=L"):
        formwright.build(mixed, trace=False, resolution=4, eps=0.1)
    with pytest.raises(formwright.Declined, match="sampled at 1000000000 centres"):
        formwright.build(mixed, trace=False, tokens=9, resolution=10)
    with pytest.raises(formwright.InputError, match="not a model's folder"):
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "notes").touch()
        formwright.build("x", out=tmp_path / "mine")
    with pytest.raises(formwright.Declined, match="exact model is not exported"):
        formwright.export(formwright.build("x", tokens=2, resolution=2), tmp_path / "x.onnx")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine", "notes"]


SNAPSHOTS = Path(__file__).parents[2] / "crates" / "formwright-cli" / "tests" / "snapshots"


def on_a_command_line(text):
    """A message with its options as the command line writes them: `norm='l2'`, `tokens=3`, `positional=True`, `eps=`."""
    written = re.sub(r"\b(force|pack|positional)=True", r"--\1", text)
    written = re.sub(r"\b([a-z_]+)='([^']*)'", r"--\1 \2", written)
    written = re.sub(r"\b([a-z_]+)=(\d+|[A-Z])\b", r"--\1 \2", written)
    return re.sub(r"\b([a-z_]+)=(?=\W|$)", r"--\1", written).replace("as_printed", "as-printed")


@pytest.mark.parametrize("snapshot, kind, target, options", [
    ("eps_zero", formwright.InputError, "x", {"eps": 0, "norm": "l2"}),
    ("broken_expression", formwright.InputError, "x - mean(x", {"resolution": 4}),
    ("lipschitz_without_norm", formwright.InputError, "x", {"resolution": 4, "lipschitz": 1}),
    ("not_equivariant", formwright.Declined, "sort", {"resolution": 4}),
    ("circuit_with_resolution", formwright.Declined, "x", {"construction": "circuit", "resolution": 4}),
    ("circuit_everywhere", formwright.Declined, "x", {"construction": "circuit", "domain": "all"}),
])  # fmt: skip
def test_exceptions_have_the_words_of_the_command_line(snapshot, kind, target, options):
    text = (SNAPSHOTS / f"all__cli__{snapshot}.snap").read_text().split("---\n", 2)[2]
    with pytest.raises(kind) as raised:
        formwright.build(target, **options)
    assert "--" not in str(raised.value)
    assert f"error: {on_a_command_line(str(raised.value))}".split() == text.split()


def test_mixers_are_judged():
    windows = formwright.contextual("attention:2", set="distinct", definition="permutation")
    assert not windows and windows.margin is None and windows.sequences == 24
    assert [token["value"] for token in windows.counterexample["tokens"]] == ["11020", "11020"]
    projected = formwright.contextual("bproj:5", positional=True, seeds=20)
    margins = [Fraction(margin) for margin in projected.told["draws"]["margins"]]
    assert projected and projected.margin == min(margins) and len(margins) == 20
    means = formwright.contextual("average", set=numpy.array([[[0.5], [1.5]], [[0.5], [1.25]]]), definition="columns")
    assert means and str(means).startswith("exact-on-grid: average is contextual (columns)")
    halves = formwright.contextual("sepconv:3", set=[[[Fraction(1, 3)], [0]], [[0], [Fraction(1, 3)]]])
    assert halves.counterexample["tokens"][0]["sequence"] == [["1/3"], ["0"]]


@pytest.mark.parametrize("snapshot, kind, mixer, options", [
    ("mixer_unknown", formwright.InputError, "atention", {}),
    ("mixer_of_a_pattern_without_chain", formwright.Declined, "sparse:hub", {"tokens": 4}),
    ("contextual_too_many_sequences", formwright.Declined, "attention", {"tokens": 9, "resolution": 8}),
])  # fmt: skip
def test_mixers_that_are_none(snapshot, kind, mixer, options):
    text = (SNAPSHOTS / f"all__cli__{snapshot}.snap").read_text().split("---\n", 2)[2]
    with pytest.raises(kind) as raised:
        formwright.contextual(mixer, **options)
    assert "--" not in str(raised.value)
    assert f"error: {on_a_command_line(str(raised.value))}".split() == text.split()
    with pytest.raises(formwright.InputError, match="sequence 1 has 1 tokens"):
        formwright.contextual("average", set=numpy.array([[[0], [1]], [[0]]], dtype=object))
    with pytest.raises(formwright.InputError, match="sequence 0, token 1, coordinate 0 is 'NaN': not a finite number"):
        formwright.contextual("average", set=numpy.array([[[0], [numpy.nan]]]))


INTERRUPTED = """
import os, signal, threading, formwright
# A shell that starts something in the background has it ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt():
    # This thread runs while the other works: the interpreter's lock is not held.
    threading.Event().wait(0.5)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    formwright.plan("softmax", all=True, tokens=3, dims=2, eps="1/1000", norm="l2")
except KeyboardInterrupt:
    print(formwright.build("x", tokens=2, resolution=2).claim)
"""


def test_an_interrupt_is_heard():
    # In a process of its own: what is abandoned works on until the process ends.
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert done.stdout.startswith("exact-on-grid") and done.stderr == ""


def test_a_short_call_does_not_wait_for_another_thread():
    network = formwright.build("x - mean(x)", tokens=4, construction="circuit")
    x = numpy.array([[0.1], [0.9], [0.5], [0.25]])
    network(x)
    waits = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    for _ in range(1000):
        network(x)
    # A caller that waits for a thread gives up the processor, every time.
    assert resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - waits < 500


def test_long_and_short_calls_give_the_same():
    network = formwright.build("x * mean(x)", tokens=4, construction="circuit")
    batch = numpy.random.default_rng(1).random((50_000, 4, 1))
    whole = network(batch)
    assert all((network(batch[k]) == whole[k]).all() for k in range(0, len(batch), 997))


def test_what_is_too_large_is_declined():
    with pytest.raises(formwright.Declined, match="would have 1000000000 numbers"):
        formwright.build("x - mean(x)", tokens=10**9)
    with pytest.raises(formwright.Declined, match="would draw 6000000000 numbers"):
        formwright.build("x - mean(x)", tokens=3, construction="circuit", attention="linformer:1000000000")
    with pytest.raises(formwright.Declined, match="1000000 coordinates"):
        formwright.plan("x", dims=10**6)


def test_plan_tells_what_build_takes():
    told = formwright.plan("x * mean(x)", tokens=2, eps=0.1, norm="l2")
    network = formwright.build("x * mean(x)", tokens=2, eps=0.1, norm="l2")
    assert network.summary["construction"] == told["chosen"]["construction"]
    assert told["left_out"] and all(row["reason"] for row in told["left_out"])
    everything = formwright.plan("x * mean(x)", all=True, tokens=2, eps=0.1, norm="l2")
    assert everything["chosen"] == told["chosen"] and everything["left_out"] == []
    assert json.dumps(everything).count("meets_tolerance") > 10


def test_every_format_is_written_once(tmp_path):
    network = formwright.build("sort(x) on integers 0..3", tokens=3)
    formwright.export(network, tmp_path / "lens", "transformerlens", rotate=1)
    assert formwright.check(tmp_path / "lens").accepted
    formwright.export(network, tmp_path / "vnnlib", "vnnlib", cells=3)
    unsat = (tmp_path / "vnnlib" / "expected.csv").read_text().count(",unsat")
    assert unsat == 3
    formwright.export(network, tmp_path / "model.onnx", stages=True)
    formwright.export(network, tmp_path / "bert", "hf", host="bert", vocabulary=["ace", "king", "queen"])
    told = json.loads((tmp_path / "bert" / "formwright.json").read_text())
    assert told["vocabulary"] == ["ace", "king", "queen"] and told["claim"]["checked"] == "accepted"
    assert formwright.check(tmp_path / "bert").accepted
    before = sorted(path.name for path in tmp_path.iterdir())
    for path, format in (("lens", "transformerlens"), ("vnnlib", "vnnlib"), ("model.onnx", "onnx")):
        with pytest.raises(formwright.InputError, match="exists"):
            formwright.export(network, tmp_path / path, format)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"format": "keras"}, "there is no format 'keras'"),
        ({"format": "onnx", "rotate": 0}, "rotate is an option of the format 'transformerlens'"),
        ({"format": "vnnlib", "stages": True}, "stages is an option of the format 'onnx'"),
        ({"format": "transformerlens"}, "integers"),
        ({"format": "hf"}, "needs the class"),
        ({"format": "hf", "host": "brt"}, "'brt' is no host"),
        ({"format": "hf", "host": "gpt2"}, "sees all tokens"),
        ({"format": "hf", "host": "bert", "vocabulary": ["a"]}, "there is no vocabulary"),
        ({"format": "vnnlib", "host": "bert"}, "host is an option of the formats 'hf' and 'onnx'"),
        ({"format": "onnx", "host": "bert", "stages": True}, "stages is about the network by itself"),
        ({"format": "onnx", "host": "brt"}, "'brt' is no host"),
    ],
)
def test_exports_that_are_none(options, words, tmp_path):
    network = formwright.build("x - mean(x)", tokens=2, construction="circuit", eps="1/10")
    with pytest.raises(formwright.Error, match=words):
        formwright.export(network, tmp_path / "new", **options)
    assert not any(tmp_path.iterdir())


def test_a_stock_transformer_is_loaded_or_what_is_missing_is_named():
    network = formwright.build("sort(x) on integers 0..3", tokens=3)
    if find_spec("transformers") is None or find_spec("torch") is None:
        with pytest.raises(ImportError) as missing:
            network.to_transformers("bert")
        words = "to_transformers needs transformers, which is not installed: pip install transformers torch"
        assert str(missing.value) == words or find_spec("transformers") is not None
        return
    import torch

    with pytest.raises(formwright.InputError, match="host='bert'"):
        network.to_transformers()
    model = formwright.build("sort(x) on integers 0..3", tokens=3, host="bert").to_transformers()
    ids = torch.cartesian_prod(*[torch.arange(3)] * 3)
    with torch.no_grad():
        logits = model(input_ids=ids).logits
    assert (logits.argmax(-1) == ids.sort(-1).values).all()


def test_a_host_is_asked_for_once(tmp_path):
    network = formwright.build("max(x) on integers 2..6", tokens=3, host="bert", out=tmp_path / "model")
    assert network.host == "bert" and network.summary["host"]["bound"] <= 0.01
    assert f", in bert {formwright._upward(network.summary['host']['bound'])}" in network.claim
    again = formwright.load(tmp_path / "model")
    assert again.host == "bert" and again.summary["host"] == network.summary["host"]
    formwright.export(again, tmp_path / "hf", "hf")
    manifest = json.loads((tmp_path / "hf" / "formwright.json").read_text())
    assert (manifest["host"], manifest["claim"]["bound"]) == ("bert", network.summary["host"]["bound"])
    formwright.export(again, tmp_path / "host.onnx", host="bert")
    assert b"LayerNormalization" in (tmp_path / "host.onnx").read_bytes()
    formwright.export(again, tmp_path / "t5", "hf", host="t5")
    assert json.loads((tmp_path / "t5" / "formwright.json").read_text())["host"] == "t5"
    assert formwright.build("x - mean(x)", tokens=3).host is None
    rows = formwright.plan("x - mean(x)", tokens=3, host="bert")
    assert [row["host"] for row in rows["hosts"] if row["why_not"]] == ["gpt2", "opt", "llama"]


@pytest.mark.parametrize(
    "host, words",
    [
        ("brt", "'brt' is no host\n  known    bert, gpt2, t5, opt, llama, modernbert\n  try      host='bert'"),
        ("gpt2", "block 0, head 0 sees all tokens\n  host     in gpt2 every head sees the tokens up to its own\n  try      host='bert'"),
    ],
)
def test_a_host_that_does_not_fit_is_refused_with_one_that_does(host, words):
    with pytest.raises(formwright.Error) as refused:
        formwright.build("x - mean(x)", tokens=3, construction="circuit", host=host)
    assert str(refused.value) == words


def test_the_report_is_the_folders(tmp_path):
    network = formwright.build("x - mean(x)", tokens=2, resolution=4, out=tmp_path / "model")
    assert (tmp_path / "model" / "report.html").read_text() == network.report()


PARITY = sorted(Path(__file__).with_name("parity").iterdir())


@pytest.mark.parametrize("case", PARITY, ids=lambda case: case.name)
def test_what_pytorch_was_compared_with_is_what_we_compute(case):
    expected, network = numpy.load(case / "expected.npz"), formwright.load(case)
    assert (network(expected["x"]) == expected["y"]).all()
    traced = len(expected["stage.embed"])
    for name, state in network.trace(expected["x"][:traced]).items():
        assert (state == expected[f"stage.{name}"]).all()
    for name, (lower, upper) in network.enclosure(expected["x"]).items():
        kept = slice(None if name == "output" else traced)
        found = expected["y" if name == "output" else f"stage.{name}"]
        assert (lower[kept] == expected[f"lower.{name}"]).all() and (upper[kept] == expected[f"upper.{name}"]).all()
        assert ((lower[kept] <= found) & (found <= upper[kept])).all()


def test_an_enclosure_has_the_shape_of_a_trace_and_an_exact_network_none():
    network = formwright.build("x * mean(x)", tokens=3, construction="circuit")
    x = numpy.random.default_rng(0).uniform(0, 1, (4, 3, 1))
    ends, trace = network.enclosure(x), network.trace(x)
    assert list(ends) == [*trace, "output"] and ends["output"][0].shape == (4, 3, 1)
    for name, state in {**trace, "output": network(x)}.items():
        lower, upper = ends[name]
        assert lower.shape == state.shape and ((lower <= state) & (state <= upper)).all()
        assert all((one[0] == many[1]).all() for one, many in zip(network.enclosure(x[1:2])[name], ends[name]))
    with pytest.raises(formwright.Declined, match="an exact network has one execution"):
        formwright.build("x - mean(x)", tokens=2, resolution=4).enclosure(x[:, :2])


# A folder that holds another model is kept.

def test_another_model_is_replaced_by_force_only(tmp_path):
    folder = tmp_path / "model"
    network = formwright.build("x - mean(x)", tokens=2, resolution=4, out=folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    network.save(folder)
    formwright.build("x - mean(x)", tokens=2, resolution=4, out=folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    for other in [{"tokens": 3}, {"resolution": 3}]:
        with pytest.raises(formwright.InputError, match=r"holds another model, .*\n  there    x - mean\(x\), by yun in exact"):
            formwright.build("x - mean(x)", **{"tokens": 2, "resolution": 4, **other}, out=folder)
    with pytest.raises(formwright.InputError, match="force=True"):
        formwright.build("x * max(x)", tokens=2, resolution=4, out=folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    formwright.build("x * max(x)", tokens=2, resolution=4).save(folder, force=True)
    assert formwright.load(folder).summary["target"]["name"] == "x * max(x)"
    formwright.build("x - mean(x)", tokens=2, resolution=4, out=folder, force=True)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_threads_may_write_at_once(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    network = formwright.build("x - mean(x)", tokens=2, resolution=4)
    with ThreadPoolExecutor(8) as threads:
        errors = [written.exception() for written in [threads.submit(network.save, tmp_path / "model") for _ in range(16)]]
    # A second writer may be refused; the folder is whole, and nothing is left beside it.
    assert None in errors and all(error is None or isinstance(error, formwright.InputError) for error in errors)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert formwright.load(tmp_path / "model").summary == network.summary


# Options of another kind are refused in words of Python.

@pytest.mark.parametrize("options, words", [
    ({"tokens": "3"}, "tokens is '3'\n  expected a whole number\n  try      tokens=3"),
    ({"tokens": 4.0}, "tokens is 4.0\n  expected a whole number\n  try      tokens=4"),
    ({"tokens": True}, "tokens is True\n  expected a whole number"),
    ({"tokens": -1}, "tokens is -1\n  expected a whole number"),
    ({"tokens": 10**30}, f"tokens is {10**30}\n  expected a whole number"),
    ({"dims": "a"}, "dims is 'a'\n  expected a whole number"),
    ({"resolution": 2.5}, "resolution is 2.5\n  expected a whole number"),
    ({"hidden": b"4"}, "hidden is b'4'\n  expected a whole number"),
    ({"positional": 1}, "positional is 1\n  expected True or False"),
    ({"pack": "yes"}, "pack is 'yes'\n  expected True or False"),
    ({"norm": 2}, "norm is 2\n  expected a text"),
    ({"attention": ["softmax"]}, "attention is ['softmax']\n  expected a text"),
    ({"assume": 3}, "assume is 3\n  expected a text or a list of texts"),
    ({"eps": [1]}, "eps is [1]\n  expected a number"),
    ({"eps": False}, "eps is False\n  expected a number"),
    ({"eps": float("nan")}, "eps= is 'nan'"),
    ({"tokens": 0}, "tokens= is 0, but at least 1 is needed"),
])  # fmt: skip
def test_options_of_another_kind(options, words):
    for ask in (formwright.build, formwright.plan):
        with pytest.raises(formwright.InputError) as refused:
            ask("x - mean(x)", **options)
        assert str(refused.value).startswith(words)
        assert not any(leak in str(refused.value) for leak in ("usize", "u64", "invalid type", "line 1 column"))


def test_what_is_not_said_may_be_none_and_numbers_may_be_numpys():
    network = formwright.build("x - mean(x)", tokens=numpy.int64(2), eps=None, norm=None, positional=numpy.bool_(False))
    assert network.summary["tokens"] == 2
    assert formwright.build("x - mean(x)", tokens=1, eps=numpy.float64(0.5))([[0.25]]).tolist() == [[0.0]]
    with pytest.raises(formwright.InputError, match="tokens is '2'"):
        formwright.build(mixed, trace=False, tokens="2", resolution=4)
    with pytest.raises(formwright.InputError, match="tokens is '2'"):
        formwright.contextual("average", tokens="2")
    with pytest.raises(formwright.InputError, match="mixer is 3"):
        formwright.contextual(3)


# Outside of the domain something is computed, and nothing is claimed.

def test_what_lies_outside_of_the_domain_is_warned_of():
    circuit = formwright.build("x - mean(x)", tokens=2)
    cells = formwright.build("x - mean(x)", tokens=2, resolution=4)
    integers = formwright.build("sort(x) on integers 0..4", tokens=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        circuit([[0.0], [1.0]])
        circuit.trace([[[0.0], [1.0]]])
        cells([[0.0], [numpy.nextafter(1, 0)]])
        integers([[0], [3]])
        circuit.enclosure([[0.0], [2.0]])
    for network, x, words in [
        (circuit, [[[0.5], [1]], [[0.5], [numpy.nextafter(1, 2)]]], "sequence 1, token 1, coordinate 0 is 1.0000000000000002: outside of the domain, where nothing is claimed"),
        (circuit, [[[-1], [1]], [[0.5], [7]], [[0], [2]]], "sequence 0, token 0, coordinate 0 is -1.0: outside of the domain, where nothing is claimed (and in 2 more)"),
        (cells, [[0.5], [1.0]], "sequence 0, token 1, coordinate 0 is 1.0: outside of the box"),
        (integers, [[0.5], [1.0]], "sequence 0, token 0, coordinate 0 is 0.5: outside of the domain, where nothing is claimed"),
        (integers, [[4], [1]], "sequence 0, token 0, coordinate 0 is 4.0: outside of the domain, where nothing is claimed"),
    ]:  # fmt: skip
        for call in (network, network.trace):
            with pytest.warns(formwright.DomainWarning) as told:
                call(x)
            assert [str(warning.message) for warning in told] == [words]
            assert told[0].filename == __file__


def test_pytorch_is_imported_when_it_is_asked_for():
    code = """
import sys, types, formwright
assert "torch" not in sys.modules and "formwright.torch" not in sys.modules
sys.modules["torch"] = None
try:
    formwright.torch
except ImportError as error:
    assert "needs PyTorch" in str(error), error
else:
    raise AssertionError("there is no PyTorch")
torch, nn = types.ModuleType("torch"), types.ModuleType("torch.nn")
nn.Module, torch.nn, torch.Tensor, torch.float32, torch.float64 = object, nn, object, "f32", "f64"
sys.modules |= {"torch": torch, "torch.nn": nn}
assert formwright.torch.load.__module__ == "formwright.torch"
try:
    formwright.tensorflow
except AttributeError as error:
    assert "no attribute 'tensorflow'" in str(error)
else:
    raise AssertionError("there is no such thing")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("target, options", [("z-score", {"tokens": 4}), ("sort(x) on integers 0..4", {"tokens": 3}), ("x - mean(x)", {"tokens": 2, "resolution": 4})])
def test_a_pickled_network_is_the_same_network(target, options):
    network = formwright.build(target, **options)
    again = pickle.loads(pickle.dumps(network))
    x = numpy.arange(options["tokens"], dtype=float)[:, None] % 4 / (1 if "integers" in target else 4)
    numpy.testing.assert_array_equal(again(x), network(x))
    assert (again.claim, again.size, again.coordinates) == (network.claim, network.size, network.coordinates)


def test_a_pickle_of_edited_files_claims_nothing():
    network = formwright.build("x * mean(x)", tokens=2)
    restore, (files, sampled) = network.__reduce__()
    weights = bytearray(files["model.safetensors"])
    weights[-3] ^= 1
    edited = restore({**files, "model.safetensors": bytes(weights)}, sampled)
    assert network.claim.startswith("certified") and edited.claim == "no claim"


def test_gates_are_those_of_the_summary_and_other_models_have_none():
    network = formwright.build("z-score", tokens=4, trade="width")
    assert [gate.name for gate in network.gates] == [gate["name"] for gate in network.summary["circuit"]]
    assert sum(gate.heads for gate in network.gates) == 2 and all(low <= high for low, high in (gate.range for gate in network.gates))
    assert sum(gate.share for gate in network.gates) <= network.error["bound"]
    assert formwright.build("x - mean(x)", tokens=2, resolution=4).gates == []


def test_a_plan_is_a_dictionary_and_a_table():
    plan = formwright.plan("x * mean(x)", tokens=2, eps="1/10", norm="l2", all=True)
    assert plan["chosen"]["construction"] == "circuit" and json.loads(json.dumps(plan)) == plan
    lines = str(plan).splitlines()
    assert len(lines) == 1 + len(plan["candidates"]) and len({len(row) for row in plan.rows()}) == 1
    assert plan._repr_html_().count("<tr>") == len(lines)
