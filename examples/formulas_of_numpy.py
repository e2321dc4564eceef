"""Functions of NumPy as certified circuits: no table, no training, and the formula that was read to look at.

    python examples/formulas_of_numpy.py
"""

import numpy

import formwright


def standardised(x: numpy.ndarray) -> numpy.ndarray:
    """Every token less the mean of all of them, in units of their deviation."""
    return (x - x.mean(axis=0)) / numpy.sqrt(x.var(axis=0) + 0.01)


def causal_attention(x: numpy.ndarray) -> numpy.ndarray:
    """Every token looks at those before it and at itself, by the softmax of products."""
    queries, keys, values = x, x - 1, 2 * x
    scores = queries @ keys.T / 2
    scores = numpy.where(numpy.tri(len(x), dtype=bool), scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ values


def spectrum(x: numpy.ndarray) -> numpy.ndarray:
    """What the target language has no words for."""
    return abs(numpy.fft.fft(x, axis=0))


def main() -> None:
    for function, tokens, on in ((standardised, 16, "[0, 1]"), (causal_attention, 4, "integers 0..3")):
        network = formwright.build(function, tokens=tokens, on=on)
        print(f"{function.__name__} is read as {network.target}")
        print(f"  {network.size['parameters']} parameters; {network.claim}")
        x = numpy.random.default_rng(0).integers(0, 2, (tokens, 1))
        assert abs(network(x) - function(x)).max() <= network.error["bound"]
    try:
        formwright.build(spectrum, tokens=4)
    except formwright.InputError as reason:
        print(reason)


if __name__ == "__main__":
    main()
