"""Functions read as formulas: NumPy itself judges what the networks compute, and wrong formulas are refused."""

import inspect
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy
import pytest
from numpy_functions import TRACED, UNTRACED

import formwright
from formwright.tracing import Domain, Reading, functions, read, rounding
from formwright.tracing import formula as f


def name(case):
    return case[0].__name__


def formula_of(function, tokens=4, dims=1, on=None, batched=False):
    return read(Reading(function, batched), tokens, dims, Domain.of(on)).text


@pytest.mark.parametrize("case", TRACED, ids=name)
def test_a_function_becomes_a_circuit_that_computes_it(case):
    function, options = case
    with warnings.catch_warnings():
        warnings.simplefilter("error", formwright.TableWarning)
        network = formwright.build(function, **options)
    error = network.error
    assert (network.summary["construction"], error["badge"], error["norm"]) == ("circuit", "certified", "sup")
    # Other points than those that the formula was compared at.
    batch = Domain.of(options["on"]).points(200, options["tokens"], options["dims"], seed=99)
    wanted = numpy.stack([function(x.copy()) for x in batch])
    assert abs(network(batch) - wanted).max() <= error["bound"] + 1e-12 <= float(Fraction(options["eps"])) + 1e-12


@pytest.mark.parametrize("case", UNTRACED, ids=name)
def test_what_has_no_formula_is_named_with_its_line(case):
    function, words = case
    with pytest.raises(formwright.InputError) as raised:
        formwright.build(function, tokens=4)
    told = str(raised.value)
    assert told.startswith("the function has no formula: ") and words in told
    source = [line.strip() for line in inspect.getsource(function).splitlines()]
    (place,) = [line.split(": ", 1) for line in told.splitlines() if line.startswith("  at ")]
    assert place[0].startswith("  at       numpy_functions.py, line ") and place[1] in source
    assert told.endswith("try      resolution=8, for a table of its values on the unit box")


def test_there_are_as_many_as_the_page_says():
    assert len(TRACED) >= 40 and len(UNTRACED) >= 10


@pytest.mark.parametrize("function, on, text", [
    (lambda x: (x - x.mean(0)) / numpy.sqrt(x.var(0) + 0.01), None, "(x - mean(x)) / sqrt(var(x) + 0.01)"),
    (lambda x: numpy.maximum.accumulate(x), None, "max(x, j <= i)"),
    (lambda x: x[::-1], None, "x[n - 1 - i]"),
    (lambda x: numpy.roll(x, 1, 0), None, "x[(i - 1) mod n]"),
    (lambda x: numpy.tril(numpy.ones((4, 4))) @ x, None, "sum(x, j <= i)"),
    (lambda x: numpy.triu(numpy.ones((4, 4)), 1) @ x, None, "sum(x, j >= i + 1)"),
    (lambda x: numpy.eye(4) @ x, None, "sum(x, j == i)"),
    (lambda x: (x[:, 0][:, None] > x[:, 0]).sum(1)[:, None], "integers 0..3", "count(x[i] > x) on integers 0..3"),
    (lambda x: (x[:, 0] > x[:, 0][:, None]).sum(0)[:, None], "integers 0..3", "count(x[i] > x) on integers 0..3"),
    (lambda x: x / x.shape[0] + numpy.sum(x) / (x.shape[0] - 1), None, "x / n + sum(x) / (n - 1)"),
    (lambda x: numpy.exp(x - x.max()) / numpy.exp(x - x.max()).sum(), None, "exp(x) / sum(exp(x))"),
    (lambda x: ((x - x.mean(0)) ** 2).mean(0) + 0 * x, None, "mean((x - mean(x))^2)"),
    (lambda x: numpy.sort(x - x.mean(0), axis=0), None, "let a = x - mean(x); sort(a)"),
    (lambda x: x**-2, "[1, 2]", "1 / x^2 on [1, 2]"),
    (lambda x: x**0.5 + x**1.5, None, "sqrt(x) + x * sqrt(x)"),
    (lambda x: 2 * -x - -3, None, "-2 * x + 3"),
    (lambda x: (x == 2) * 1, None, "if x <= 2 and x >= 2 then 1 else 0"),
    (lambda x: x % 3 + x // 2, "integers -4..5", "x mod 3 + floor(x / 2) on integers -4..5"),
])  # fmt: skip
def test_the_formula_is_what_one_would_write(function, on, text):
    assert formula_of(function, on=on) == text


def test_coordinates_are_told_apart_only_where_they_differ():
    weights = numpy.array([[1.0, -2.0], [0.5, 0.0]])
    assert formula_of(lambda x: x @ weights, dims=2) == "[x.0 + 0.5 * x.1, -2 * x.0]"
    assert formula_of(lambda x: x - x.mean(0), dims=3) == "x - mean(x)"
    assert formula_of(lambda x: x - x[:, :1], dims=2) == "[0, x.1 - x.0]"
    assert formula_of(lambda x: x.sum(axis=1, keepdims=True), dims=2) == "[x.0 + x.1]"
    assert formula_of(lambda x: numpy.stack([x, x**2], axis=1)[:, :, 0]) == "[x, x^2]"


def test_what_is_used_twice_is_written_once():
    def squared(x):
        y = x
        for _ in range(40):
            y = y * y - y
        return y

    assert len(formula_of(squared)) < 2000


@pytest.mark.parametrize("constant, text", [
    (0.1, "0.1 * x"), (1 / 3, "0.3333333333333333 * x"), (numpy.float32(0.1), "0.10000000149011612 * x"),
    (1e-7, "1e-7 * x"), (2**70, "1180591620717411303424 * x"), (numpy.pi, "3.141592653589793 * x"), (True, "x"), (0, "0"),
])  # fmt: skip
def test_a_constant_is_the_number_that_is_printed(constant, text):
    assert formula_of(lambda x: constant * x) == text


def test_a_wrong_formula_is_refused_with_the_point(monkeypatch):
    monkeypatch.setitem(functions._NUMBERS, "tanh", lambda a: f.call("sin", a))
    with pytest.raises(formwright.InputError, match=r"formula  sin\(x\)\n  witness  X = (.|\n)*the function is"):
        formwright.build(numpy.tanh, tokens=2)


@pytest.mark.parametrize("off", [1e-13, -1e-13])
def test_a_formula_that_is_off_by_little_is_refused(monkeypatch, off):
    monkeypatch.setitem(functions._NUMBERS, "tanh", lambda a: f.add(f.call("tanh", a), f.number(off)))
    with pytest.raises(formwright.InputError, match="the formula that was read is not the function"):
        formwright.build(numpy.tanh, tokens=2)


def test_functions_that_change_are_refused():
    draw = numpy.random.default_rng(0)
    with pytest.raises(formwright.InputError, match="is not the function"):
        formwright.build(lambda x: x + draw.random(), tokens=2)
    # A function that looks at what it is called with.
    with pytest.raises(formwright.InputError, match="is not the function"):
        formwright.build(lambda x: x if isinstance(x, numpy.ndarray) else 2 * x, tokens=2)


def test_a_number_of_tokens_is_compared_at_all_that_are_claimed():
    with pytest.raises(formwright.InputError, match=r"at 1 tokens\n  formula  x / 5(.|\n)*x.shape\[0\]"):
        formwright.build(lambda x: x / len(x), tokens=5)
    assert formwright.build(lambda x: x / x.shape[0], tokens=5).target == "x / n"


def test_a_change_in_place_is_seen_through_no_view():
    def careless(x):
        y = x.T
        y -= 1
        return x

    with pytest.raises(formwright.InputError, match="a change in place of an array of which there is another view"):
        formwright.build(careless, tokens=3)

    def own(x):
        y = x * 2
        y += x.sum(0)
        return y

    assert formula_of(own) == "2 * x + sum(x)"


# How a function is called.


def test_sequences_and_batches_are_told_apart():
    by_sequence = formwright.build(lambda x: x - x.mean(0), tokens=3)
    by_batch = formwright.build(lambda x: x - x.mean(axis=1, keepdims=True)[:, :, :1], tokens=3)
    by_either = formwright.build(lambda x: x - x.mean(axis=-2, keepdims=True), tokens=3)
    assert by_sequence.target == by_batch.target == by_either.target == "x - mean(x)"
    with pytest.raises(formwright.InputError, match=r"read in two ways(.|\n)*witness(.|\n)*axis|axes counted from the end"):
        formwright.build(lambda x: x - x.mean(axis=1, keepdims=True), tokens=3)


@pytest.mark.parametrize("function, words", [
    (lambda x: x.mean(0), r"returned the shape \[1\] for \[3, 1\]\n  expected \[3, output_dims\]"),
    (lambda x: x[1:], r"returned the shape \[2, 1\]"),
    (lambda x: 3.0, r"returned the shape \[\]"),
    (lambda x: x.astype(str), "expected real numbers"),
    (lambda x: numpy.where(x > 2, 1, numpy.nan) * x, "a constant that is not a number"),
])  # fmt: skip
def test_outputs_that_are_none(function, words):
    with pytest.raises(formwright.InputError, match=words):
        formwright.build(function, tokens=3)


def test_what_a_function_raises_is_raised():
    def mine(x):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="^mine$"):
        formwright.build(mine, tokens=2)


def test_domains_are_said_in_the_words_of_the_language():
    network = formwright.build(lambda x: x**2, tokens=2, on="[-1/2, 2]")
    assert network.target == "x^2 on [-0.5, 2]" and network.error["domain"].startswith("[-1/2, 2]")
    with pytest.raises(formwright.InputError, match=r"the domain \[1, 0\] is empty"):
        formwright.build(lambda x: x, on="[1, 0]")
    with pytest.raises(formwright.InputError, match="`on` is the domain of a function"):
        formwright.build("x", on="[0, 2]")


# Tables.


def inverse(x):
    return numpy.linalg.inv(numpy.eye(len(x)) + x @ x.T) @ x


def test_a_function_without_formula_is_a_table_and_says_why(tmp_path):
    with pytest.warns(formwright.TableWarning, match="inverse is read as a table: it has no formula: numpy.linalg.inv\n  at ") as told:
        network = formwright.build(inverse, tokens=2, resolution=4, positional=True, out=tmp_path / "table")
    assert told[0].filename == __file__
    assert network.target.startswith("a table of the values of inverse; it has no formula: numpy.linalg.inv")
    assert network.claim.startswith("measured: ") and formwright.load(tmp_path / "table").target == "a table"
    centre = numpy.array([[0.125], [0.875]])
    numpy.testing.assert_array_equal(network(centre), inverse(centre))


def test_a_formula_that_is_declined_is_a_table_where_one_was_asked_for():
    with pytest.warns(formwright.TableWarning, match=r"its formula is declined: the range of sin on \[0, 3\] is not rational"):
        network = formwright.build(lambda x: numpy.sin(3 * x), tokens=2, resolution=4)
    assert network.target.startswith("a table of the values of sin(3 * x); its formula is declined")
    with pytest.raises(formwright.Declined, match="a step has no continuous approximation"):
        formwright.build(lambda x: numpy.where(x > 0.5, 1, 0), tokens=2)


def test_a_folder_knows_the_formula(tmp_path):
    network = formwright.build(TRACED[0][0], **TRACED[0][1], out=tmp_path / "norm")
    again = formwright.load(tmp_path / "norm")
    assert again.target == network.target and "sqrt" in again.target and "layer_norm" in repr(again)
    assert formwright.check(tmp_path / "norm").accepted


def test_plans_read_formulas():
    rows = formwright.plan(lambda x: x * x.mean(0), tokens=2, eps="1/10", norm="l2")
    assert rows["chosen"] == formwright.plan("x * mean(x)", tokens=2, eps="1/10", norm="l2")["chosen"]


# scipy.special, where it is installed.


def test_softmax_of_scipy():
    special = pytest.importorskip("scipy.special")
    assert formula_of(lambda x: special.softmax(x, axis=0)) == "exp(x) / sum(exp(x))"
    assert formula_of(special.expit) == "1 / (1 + exp(-x))"
    assert special.softmax([0.0, 0.0]).tolist() == [0.5, 0.5]
    with pytest.raises(formwright.InputError, match=r"scipy.special.logsumexp; numpy.log\((.|\n)*test_tracing.py, line"):
        formwright.build(lambda x: x - special.logsumexp(x, axis=0), tokens=3)


def test_tracing_needs_no_scipy():
    program = "import sys; sys.modules['scipy'] = None; import formwright; print(formwright.build(lambda x: x - x.mean(0), tokens=2).target)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("x - mean(x)\n", "")


# Programs that nobody wrote.

UNARY = [
    numpy.exp, numpy.tanh, numpy.sin, numpy.cos, numpy.square, numpy.negative, numpy.absolute, numpy.floor, numpy.sign,
    lambda a: numpy.sqrt(abs(a) + 0.5), lambda a: numpy.log(abs(a) + 0.5), lambda a: a / (1.5 + abs(a)),
    lambda a: numpy.clip(a, -0.5, 0.75), lambda a: a[::-1], lambda a: numpy.roll(a, -1, axis=0), lambda a: a[0],
    lambda a: numpy.cumsum(a, axis=0), lambda a: numpy.maximum.accumulate(a, axis=0), lambda a: numpy.sort(a, axis=0),
    lambda a: a - a.mean(axis=0), lambda a: a.max(axis=0), lambda a: a.var(axis=0), lambda a: (a > a.mean()).sum(axis=0),
    lambda a: a[:, ::-1], lambda a: numpy.sort(a, axis=1), lambda a: numpy.median(a, axis=0), lambda a: a.argmax(axis=0),
    lambda a: a * numpy.arange(3)[:, None], lambda a: numpy.tri(3) @ a, lambda a: a[[2, 0, 1]], lambda a: a @ a.T @ a,
    lambda a: numpy.where(abs(numpy.arange(3)[:, None] - numpy.arange(3)) < 2, a @ a.T, 0) @ a, lambda a: a.all(axis=0) + a,
    lambda a: numpy.einsum("nd,md->n", a, a)[:, None], lambda a: numpy.diff(a, axis=1), lambda a: a.std(axis=1, keepdims=True),
]  # fmt: skip
BINARY = [
    numpy.add, numpy.subtract, numpy.multiply, numpy.maximum, numpy.minimum, lambda a, b: numpy.where(a < b, a, 1 - b),
    lambda a, b: a / (1.5 + b * b), lambda a, b: numpy.logical_and(a > 0, b < 1) * a, lambda a, b: numpy.hypot(a, b),
]  # fmt: skip


def program(seed):
    """A function of three tokens of two coordinates."""

    def run(x):
        draw, known = numpy.random.default_rng(seed), [x]
        for _ in range(5):
            a, b = (known[draw.integers(len(known))] for _ in range(2))
            if draw.random() < 0.6:
                made = UNARY[draw.integers(len(UNARY))](a)
            else:
                made = BINARY[draw.integers(len(BINARY))](a, b)
            known.append(x * 0 + made)
        return known[-1]

    return run


@pytest.mark.parametrize("on", [None, "integers -1..3"])
def test_formulas_of_random_programs_are_the_programs(on):
    read_ones, domain = 0, Domain.of(on)
    for seed in range(150):
        try:
            found = read(Reading(program(seed), False), 3, 2, domain)
        except f.Untraceable as reason:
            # Three tokens may meet, numbers may leave the integers, and largest values of doubles may be equal by rounding.
            known = ("three tokens", "refuses", "integer", "roundings decide")
            assert any(words in str(reason) for words in known), (seed, reason)
            continue
        read_ones += 1
        # The doubles of the formula itself are as near as they are said to be.
        batch = domain.points(20, 3, 2, seed=seed)
        near = rounding.values(found.outputs, batch)
        side, *ends = formwright._native.enclosed(found.text, batch.astype("<f8").tobytes(), 3, 2)
        low, high = (numpy.frombuffer(end, "<f8").reshape(near.value.shape) for end in ends)
        known = numpy.isfinite(near.error) & numpy.isfinite(low)
        assert ((low - near.error <= near.value) & (near.value <= high + near.error))[known].all(), seed
    assert read_ones > 100
