"""benchmarks/arithmetic.py finds NumPy in the execution model, and what is not in it outside."""

import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import arithmetic  # noqa: E402

pytestmark = pytest.mark.skipif(numpy.finfo(arithmetic.EXACT).nmant < 63, reason="no longer numbers to compare with")
MEASURES = [arithmetic.of_exp, arithmetic.of_softmax, arithmetic.of_sums, arithmetic.of_quotients]


class Reciprocal(arithmetic.NumPy):
    def softmax(self, x):
        e = numpy.exp(x - x.max(-1, keepdims=True))
        return e * (self.dtype(1) / e.sum(-1, keepdims=True))


class Wrong(arithmetic.NumPy):
    """Everything a little off."""

    def exp(self, x):
        return numpy.exp(x) * self.dtype(1 + 2.0 ** (-19 if self.dtype == numpy.float32 else -48))

    def softmax(self, x):
        e = numpy.exp2(x * self.dtype(1.4426950408889634) - x.max(-1, keepdims=True) * self.dtype(1.4426950408889634))
        return e / e.sum(-1, keepdims=True)

    def sums(self, x):
        return {"sum": x.astype(numpy.float16).sum(-1)}

    def divide(self, x, y):
        return x * (self.dtype(1) / y)


@pytest.mark.parametrize("name", arithmetic.FORMATS)
@pytest.mark.parametrize("measure", MEASURES)
def test_numpy_is_in_the_model(measure, name):
    numpy.seterr(all="ignore")
    dtype = arithmetic.FORMATS[name][0]
    assert measure(arithmetic.NumPy(dtype), name)[1]
    assert not measure(Wrong(dtype), name)[1]


@pytest.mark.parametrize("name", arithmetic.FORMATS)
def test_the_ways_of_softmax_are_told_apart(name):
    dtype = arithmetic.FORMATS[name][0]
    (divided, *_), sound = arithmetic.of_softmax(arithmetic.NumPy(dtype), name)
    (multiplied, _, _, _, alone, *_), also = arithmetic.of_softmax(Reciprocal(dtype), name)
    assert (divided, multiplied, sound, also) == ("division", "reciprocal", True, True) and int(alone) > 100
