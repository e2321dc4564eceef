"""A function that has no formula: a spline through data, from scipy, under a stated Lipschitz constant and without one.

    python examples/function_from_scipy.py      (needs scipy)
"""

import numpy
from scipy.interpolate import CubicSpline

import formwright

spline = CubicSpline([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.5, 0.25, 0.75, 1.0])


def bent(x: numpy.ndarray) -> numpy.ndarray:
    """Every token through the spline, less the mean of all of them."""
    y = spline(x)
    return y - y.mean(axis=-2, keepdims=True)


def main() -> None:
    # We know of the spline, and formwright does not: its slope, at the points where it can be largest.
    slope = spline.derivative()
    steepest = max(abs(slope(numpy.concatenate([[0, 1], slope.derivative().roots(extrapolate=False)]))))
    # A token changes by its own slope, and by the mean of all of them.
    stated = formwright.build(bent, tokens=2, resolution=16, construction="sum-code", lipschitz=round(2 * steepest + 0.01, 2), trace=False)
    measured = formwright.build(bent, tokens=2, resolution=16, construction="sum-code", trace=False)
    print(stated.claim)
    print(measured.claim)
    assert stated.error["measured"]["value"] <= stated.error["bound"]


if __name__ == "__main__":
    main()
