"""`formwright.runtime`: deviations that are planted are found, each by a witness, and what the model allows is not
accused. The probe is computed here by an interpreter of its own: every operation is one of NumPy on `f32` numbers, and
can be replaced by another."""

import json
import subprocess
import sys
from fractions import Fraction

import numpy
import pytest

from formwright import runtime

f32, f64 = numpy.float32, numpy.float64
TINY = f32(2.0**-126)


def cut(digits):
    """Rounds to nearest with fewer digits: an f32 whose last digits are 0."""
    def rounded(x):
        step = numpy.uint32(1 << (24 - digits))
        bits = numpy.asarray(x, f32).view(numpy.uint32)
        half = (step >> numpy.uint32(1)) - numpy.uint32(1) + ((bits // step) & numpy.uint32(1))
        return ((bits + half) // step * step).view(f32)
    return rounded


def to_f16(x):
    with numpy.errstate(over="ignore"):
        return numpy.asarray(x).astype(numpy.float16).astype(f32)


def towards_zero(x):
    """Of a double: the f32 next to it, towards 0."""
    near = numpy.asarray(x, f64).astype(f32)
    return numpy.where(numpy.abs(near.astype(f64)) > numpy.abs(x), numpy.nextafter(near, f32(0)), near)


def scaled_to_bytes(w):
    """Weights of 8 bits, with a scale for each tensor."""
    scale = numpy.abs(w).max() / 127
    return (numpy.round(w / scale) * scale).astype(f32) if scale else w


class Machine:
    """The operations of the probe; a deviation replaces one."""

    kind = f32

    def weight(self, w):
        return w

    def factor(self, x):
        return x

    def times(self, a, b):
        return a * b

    def plus(self, a, b):
        return a + b

    def order(self, terms):
        return range(terms)

    def sum(self, terms):
        """Over the last axis, one after the other."""
        total = numpy.zeros(terms.shape[:-1], self.kind)
        for k in self.order(terms.shape[-1]):
            total = self.plus(total, terms[..., k])
        return total

    def dot(self, a, b):
        """Over the last axis of both."""
        return self.sum(self.times(self.factor(a), self.factor(b)))

    def apply(self, w, x):
        return self.dot(self.weight(w)[None, None], x[:, :, None, :])

    def exp(self, x):
        return numpy.exp(x.astype(f64)).astype(f32)

    def hidden(self, scores, seen):
        return numpy.where(seen, scores, f32(-numpy.inf))

    def largest(self, scores):
        return scores.max(-1, keepdims=True)

    def over(self, e, total):
        return e / total

    def average(self, e, v):
        """e: [batch, query, key]; v: [batch, key, value]."""
        p = self.over(e, self.sum(e)[..., None])
        return self.dot(p[:, :, None, :], v.swapaxes(1, 2)[:, None])

    def relu(self, x):
        return numpy.maximum(x, 0)

    def bias(self, x, b):
        return self.plus(x, self.weight(b)) if numpy.any(b) else x

    def attend(self, probe, z, head):
        w = {name: probe.tensors[f"0.attn.{name}"][0, head].astype(self.kind) for name in ("q", "q_bias", "k", "v", "o")}
        mask = probe.network["runs"][0]["attention"]["masks"][head]
        at = numpy.arange(z.shape[1])
        apart, key = at[None, :] - at[:, None], at[None, :] + 0 * at[:, None]
        low, high = (numpy.inf if x is None else x for x in (mask["relative"][0], mask["relative"][1]))
        seen = (apart >= (-numpy.inf if mask["relative"][0] is None else low)) & (apart <= high)
        seen &= key <= (numpy.inf if mask["absolute"][1] is None else mask["absolute"][1])
        q, k, v = self.bias(self.apply(w["q"], z), w["q_bias"]), self.apply(w["k"], z), self.apply(w["v"], z)
        scores = self.hidden(self.dot(q[:, :, None], k[:, None]), seen)
        e = self.exp(self.plus(scores, -self.largest(scores)))
        return self.apply(w["o"], self.average(e, v))

    def __call__(self, probe):
        w = {name: tensor.astype(self.kind) for name, tensor in probe.tensors.items()}
        with numpy.errstate(all="ignore"):
            z = self.apply(w["embed.weight"], probe.inputs.astype(self.kind))
            heads = [self.attend(probe, z, head) for head in range(3)]
            for head in heads:
                z = self.plus(z, head)
            units = self.relu(self.apply(w["0.ff.w1"][0], z))
            z = self.plus(z, self.apply(w["0.ff.w2"][0], units))
            return self.apply(w["read_out.weight"], z)


class Tf32(Machine):
    """Factors of products have 11 digits, as on tensor cores."""
    factor = staticmethod(cut(11))


class Bfloat16Weights(Machine):
    """Weights are stored in bfloat16."""
    weight = staticmethod(cut(8))


class EightBits(Machine):
    """Weights of 8 bits."""
    weight = staticmethod(scaled_to_bytes)


class HalfSums(Machine):
    """Sums are kept in f16."""
    def plus(self, a, b):
        return to_f16(a + b)


class Bfloat16Sums(Machine):
    """Sums are kept in bfloat16."""
    def plus(self, a, b):
        return cut(8)(a + b)


class Truncated(Machine):
    """Sums are cut off, not rounded to nearest."""
    def plus(self, a, b):
        return towards_zero(a.astype(f64) + b.astype(f64))


class Double(Machine):
    """All is computed in doubles, and nothing rounded on the way."""
    kind = f64

    def exp(self, x):
        return numpy.exp(x)

    def hidden(self, scores, seen):
        return numpy.where(seen, scores, -numpy.inf)


class RoughExp(Machine):
    """exp is off by 2^-18."""
    def exp(self, x):
        e = super().exp(x)
        return numpy.where(x == 0, e, e * f32(1 + 2.0**-18))


class ExpOfTwo(Machine):
    """exp(s - m) as 2^(s log₂e - m log₂e), both products rounded."""
    def attend(self, probe, z, head):
        self.scale = f32(numpy.log2(numpy.e))
        return super().attend(probe, z, head)

    def hidden(self, scores, seen):
        return super().hidden(scores * self.scale, seen)

    def exp(self, x):
        return numpy.exp2(x.astype(f64)).astype(f32)


class ExpOfZero(Machine):
    """exp(0) is a digit below 1."""
    def exp(self, x):
        e = super().exp(x)
        return numpy.where(x == 0, numpy.nextafter(f32(1), f32(0)), e)


class NoLargest(Machine):
    """The largest score is not subtracted."""
    def largest(self, scores):
        return numpy.zeros_like(scores[..., :1])


class RoughDivision(Machine):
    """Quotients from a table of reciprocals with 12 digits."""
    def over(self, e, total):
        return e * cut(12)(f32(1) / total)


class NewtonDivision(Machine):
    """The same after one step of Newton: most quotients are off in the last digit or two."""
    def over(self, e, total):
        r = cut(12)(f32(1) / total)
        return e * (r * (f32(2) - total * r))


class DividesBehind(Machine):
    """Fused attention: the weighted sum is divided."""
    def average(self, e, v):
        return self.dot(e[:, :, None, :], v.swapaxes(1, 2)[:, None]) / self.sum(e)[..., None]


class FlushesNormal(Machine):
    """Everything below 2^-100 is 0."""
    def times(self, a, b):
        x = a * b
        return numpy.where(numpy.abs(x) < f32(2.0**-100), f32(0), x)


class MovesDown(Machine):
    """Hidden scores are 10,000 less, and not away."""
    def hidden(self, scores, seen):
        return numpy.where(seen, scores, scores - f32(10_000))


class Leaks(Machine):
    """max(x, 0) lets a little through."""
    def relu(self, x):
        return numpy.where(x > 0, x, x * f32(0.01))


class Gelu(Machine):
    """GELU for max(x, 0)."""
    def relu(self, x):
        return (x * (0.5 + 0.5 * numpy.tanh(0.7978845608 * (x + 0.044715 * x**3)))).astype(f32)


PLANTED = [
    Tf32, Bfloat16Weights, EightBits, HalfSums, Bfloat16Sums, Truncated, Double, RoughExp, ExpOfTwo, ExpOfZero, NoLargest, RoughDivision,
    NewtonDivision, DividesBehind, FlushesNormal, MovesDown, Leaks, Gelu,
]  # fmt: skip


class Flushes(Machine):
    """All results below the normal range are 0."""
    def flushed(self, x):
        return numpy.where(numpy.abs(x) < TINY, f32(0), x)

    def times(self, a, b):
        return self.flushed(a * b)

    def plus(self, a, b):
        return self.flushed(a + b)

    def exp(self, x):
        return self.flushed(super().exp(x))

    def over(self, e, total):
        return self.flushed(e / total)


class Reciprocal(Machine):
    """Weights are products with the rounded reciprocal."""
    def over(self, e, total):
        return e * (f32(1) / total)


class Backwards(Machine):
    """Sums from the last term to the first."""
    def order(self, terms):
        return range(terms - 1, -1, -1)


class Pairwise(Machine):
    """Sums of halves."""
    def sum(self, terms):
        n = terms.shape[-1]
        return terms[..., 0] if n == 1 else self.plus(self.sum(terms[..., : n // 2]), self.sum(terms[..., n // 2 :]))


class Fused(Machine):
    """Products are added without being rounded: of two f32 a double has all digits, and it is added once, exactly
    rounded (the sum of doubles is corrected where it lies half way)."""
    def dot(self, a, b):
        a, b = numpy.broadcast_arrays(self.factor(a), self.factor(b))
        total = numpy.zeros(a.shape[:-1], f32)
        for k in range(a.shape[-1]):
            product = a[..., k].astype(f64) * b[..., k].astype(f64)
            total = fused(total.astype(f64), product)
        return total


def fused(x, y):
    """x + y as one f32: the rounding of the double is made odd, so that the second rounding is right."""
    s = x + y
    rest = y - (s - x) + (x - (s - (s - x)))
    bits = s.view(numpy.int64)
    odd = numpy.where((rest != 0) & numpy.isfinite(rest) & (bits & 1 == 0), numpy.where((rest > 0) == (s > 0), bits + 1, bits - 1), bits)
    return odd.view(f64).astype(f32)


class ExpWithin(Machine):
    """exp is off by 2^-20.1, up and down."""
    def exp(self, x):
        e = super().exp(x)
        sign = numpy.where(x.view(numpy.uint32) % 2 == 0, 1, -1)
        return numpy.where(x == 0, e, (e.astype(f64) * (1 + sign * 2.0**-20.1)).astype(f32))


HONEST = [Machine, Flushes, Reciprocal, Backwards, Pairwise, Fused, ExpWithin]


@pytest.fixture(scope="module")
def probe():
    return runtime.probe()


def first(judgement):
    return {(witness["case"], witness["output"]) for witness in judgement.witnesses}


@pytest.mark.parametrize("machine", PLANTED)
def test_a_planted_deviation_is_found(machine):
    judgement = runtime.judge(machine())
    assert not judgement and judgement.witnesses, machine.__doc__
    for witness in judgement.witnesses:
        low, high = witness["allowed"]
        assert isinstance(witness["found"], str) or not low <= witness["found"] <= high


@pytest.mark.parametrize("machine", HONEST)
def test_what_the_model_allows_is_not_accused(machine):
    judgement = runtime.judge(machine())
    assert judgement, judgement.text


def test_the_planted_ones_are_told_apart_by_where_they_are_found():
    """A witness is where the deviation is: each case finds what it is for."""
    found = {machine: first(runtime.judge(machine())) for machine in PLANTED}
    assert ("exponentials", "two.a") in found[RoughExp] and {case for case, _ in found[RoughExp]} == {"exponentials", "large scores"}
    assert {case for case, _ in found[DividesBehind]} == {"equal scores"}
    assert {case for case, _ in found[MovesDown]} == {"growing scores"}
    assert {output for _, output in found[Leaks]} == {"negative", "powers", "cancelled", "ones"}
    assert ("half way", "kept") in found[Double] and ("small numbers", "small") in found[FlushesNormal]


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("name", ["numpy", "onnxruntime", "torch"])
def test_runtimes_that_are_here_are_inside(name, precision):
    if name != "numpy":
        pytest.importorskip(name)
    judgement = runtime.judge(name, precision)
    assert judgement, judgement.text


def test_the_allowed_numbers_hold_the_exact_ones(probe):
    """Sums and products of the inputs, exactly, lie within a unit of what is allowed."""
    document = json.loads(probe.files["probe.json"])
    checked = 0
    for case in document["cases"]:
        for (a, b, *_), allowed in zip(case["input"], case["allowed"]):
            for output, exact in ((0, Fraction(a) * (1 + Fraction(1, 2**23))), (1, Fraction(a) + Fraction(b)), (14, Fraction(a))):
                low, high = allowed[output] if isinstance(allowed[output], list) else (allowed[output],) * 2
                slack = abs(exact) / 2**24 + Fraction(1, 2**126)
                assert Fraction(low) - slack <= exact <= Fraction(high) + slack
                checked += 1
    assert checked > 1000


def test_the_probe_is_small_and_its_files_tell_the_rest(probe):
    assert len(probe.onnx) < 32_000 and probe.inputs.dtype == f32 and probe.inputs.shape[1:] == (32, 4)
    assert {"probe.onnx", "inputs.npy", "probe.json", "probe.safetensors", "run.py"} == set(probe.files)


def test_the_command_says_what_is_wrong_in_its_exit_code(tmp_path):
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "formwright.runtime", *arguments], capture_output=True, text=True, cwd=tmp_path)

    good = run("numpy")
    assert good.returncode == 0 and good.stdout.startswith("inside of ieee-any-order f32")
    unknown = run("abacus")
    assert unknown.returncode == 3 and unknown.stderr.startswith("error: 'abacus' is no runtime that is known")


def test_answers_of_another_shape_are_refused():
    with pytest.raises(Exception, match="numbers, expected"):
        runtime.judge(lambda probe: probe.inputs)
