"""Functions of NumPy as people write them, which `formwright.build` reads as formulas, and some that it cannot read."""

import numpy

TRACED = []
UNTRACED = []


def traced(tokens=6, dims=1, on=None, eps="1/100"):
    """A function that becomes a certified circuit."""

    def note(function):
        TRACED.append((function, {"tokens": tokens, "dims": dims, "on": on, "eps": eps}))
        return function

    return note


def untraced(words):
    """A function that does not; the message has these words."""

    def note(function):
        UNTRACED.append((function, words))
        return function

    return note


# From textbooks and from the code of models.


@traced(dims=3, eps="1/20")
def layer_norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / numpy.sqrt(x.var(axis=-1, keepdims=True) + 1e-2)


@traced(dims=4)
def rms_norm(x):
    return x / numpy.sqrt(numpy.mean(x**2, axis=-1, keepdims=True) + 1e-2)


@traced(on="[-1, 1]")
def softmax(x):
    e = numpy.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


@traced(tokens=4, on="integers 0..3")
def causal_attention(x):
    q, k, v = x, x - 1, 2 * x
    scores = q @ k.T / numpy.sqrt(4)
    scores = numpy.where(numpy.tril(numpy.ones(scores.shape, bool)), scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ v


@traced(dims=2, on="[1/2, 1]", eps="1/20")
def cosine_similarity(x):
    norms = numpy.linalg.norm(x, axis=1) * numpy.linalg.norm(x[0])
    return (x @ x[0] / norms)[:, None]


@traced(tokens=8)
def moving_average(x):
    return numpy.convolve(x[:, 0], numpy.ones(3) / 3, mode="same")[:, None]


@traced()
def min_max_scaling(x):
    low, high = x.min(axis=0), x.max(axis=0)
    return (x - low) / numpy.maximum(high - low, 0.1)


@traced(tokens=4)
def entropy(x):
    p = numpy.exp(x) / numpy.exp(x).sum(axis=0)
    return numpy.broadcast_to(-(p * numpy.log(p)).sum(axis=0), x.shape)


@traced(tokens=8, on="integers 0..4")
def one_hot_counts(x):
    counts = (x == numpy.arange(4)).sum(axis=0)
    return numpy.broadcast_to(counts, (x.shape[0], 4))


@traced(tokens=8)
def cumulative_maximum(x):
    return numpy.maximum.accumulate(x, axis=0)


# Over all tokens.


@traced(tokens=16)
def z_score(x):
    return (x - x.mean(0)) / numpy.sqrt(x.var(0) + 0.01)


@traced(tokens=8)
def sample_deviation(x):
    return numpy.broadcast_to(numpy.sqrt(x.var(0, ddof=1) + 0.01), x.shape)


@traced(tokens=8, dims=2)
def centring(x):
    x -= numpy.mean(x, axis=0)
    return x


@traced(tokens=6)
def log_sum_exp(x):
    return numpy.log(numpy.sum(numpy.exp(x), axis=0)) + 0 * x


@traced(tokens=6, on="[1, 2]")
def geometric_mean(x):
    return numpy.ones_like(x) * numpy.exp(numpy.log(x).mean(axis=0))


@traced(tokens=6, on="[1, 2]")
def harmonic_mean(x):
    return numpy.broadcast_to(len(x) / (1 / x).sum(axis=0), x.shape)


@traced(tokens=6)
def unit_length(x):
    return x / numpy.linalg.norm(numpy.concatenate([x, 0.1 + 0 * x], axis=1))


@traced(tokens=5, on="integers 0..4")
def mean_distance(x):
    return abs(x - x.T).mean(axis=1, keepdims=True)


@traced(tokens=4, dims=2)
def attention_pooling(x):
    scores = x @ numpy.array([1.5, -0.5])
    weights = numpy.exp(scores) / numpy.exp(scores).sum()
    return 0 * x + weights @ x


@traced(tokens=6, dims=2, on="[-1, 1]")
def linear_attention(x):
    return x @ (x.T @ x) / len(x)


# Along the tokens.


@traced(tokens=8)
def cumulative_sum(x):
    return numpy.cumsum(x, axis=0)


@traced(tokens=8)
def running_mean(x):
    return x.cumsum(axis=0) / numpy.arange(1, x.shape[0] + 1)[:, None]


@traced(tokens=8)
def neighbours(x):
    n = len(x)
    near = abs(numpy.arange(n)[:, None] - numpy.arange(n)) <= 1
    return near @ x / near.sum(axis=1, keepdims=True)


@traced(tokens=8)
def differences(x):
    return x - numpy.roll(x, 1, axis=0)


@traced(tokens=8, dims=2)
def reversed_order(x):
    return x[::-1]


@traced(tokens=8)
def positional_encoding(x):
    return x + numpy.sin(numpy.arange(x.shape[0]) / 3)[:, None]


@traced(tokens=6)
def triangular_kernel(x):
    return numpy.average(x, axis=0, weights=[1, 2, 3, 3, 2, 1]) - x


# Token by token.


@traced(on="[-3, 3]")
def gelu(x):
    return 0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3)))


@traced(on="[-4, 4]")
def softplus(x):
    return numpy.log1p(numpy.exp(x))


@traced(dims=2, on="[-1, 1]")
def two_layers(x):
    hidden = numpy.maximum(x @ numpy.array([[1.0, -2.0, 0.5], [0.25, 1.0, -1.0]]) + [0.1, 0, -0.1], 0)
    return hidden @ numpy.array([[1.0], [-1.0], [2.0]])


@traced(dims=2, on="[-1, 1]")
def gated_linear_unit(x):
    a, b = x[:, :1], x[:, 1:]
    return a / (1 + numpy.exp(-b))


@traced(on="[-2, 2]")
def hard_sigmoid(x):
    return numpy.clip(x / 6 + 0.5, 0.25, 0.75)


@traced(on="[-1, 1]")
def soft_threshold(x):
    return numpy.maximum(x - 0.25, 0) - numpy.maximum(-x - 0.25, 0)


@traced(on="[-1, 1]")
def polynomial(x):
    y = 0
    for coefficient in (1, -0.5, 0, 2):
        y = y * x + coefficient
    return y


@traced()
def broken_line(x):
    return numpy.interp(x, [0.1, 0.4, 0.7], [1.0, -1.0, 0.5])


# On integers.


@traced(tokens=5, on="integers 0..4")
def sorting(x):
    return numpy.sort(x, axis=0)


@traced(tokens=5, on="integers 0..4")
def median(x):
    return numpy.median(x, axis=0) + 0 * x


@traced(tokens=5, on="integers 0..4")
def ranks(x):
    return (x[:, 0][:, None] > x[:, 0]).sum(axis=1)[:, None]


@traced(tokens=5, on="integers 0..4")
def first_largest(x):
    return numpy.broadcast_to(x.argmax(axis=0), x.shape)


@traced(tokens=6, on="integers 0..2")
def parity(x):
    return numpy.broadcast_to(x.sum(axis=0) % 2, x.shape)


@traced(tokens=6, on="integers 0..4")
def look_up(x):
    return numpy.choose(x, [0.5, -1.0, 2.0, 0.25])


@traced(tokens=5, on="integers 0..3")
def duplicates(x):
    return numpy.where((x == x.T).sum(axis=1, keepdims=True) > 1, 1, 0)


# What cannot be read.


@untraced("numpy.linalg.inv")
def inverse(x):
    return numpy.linalg.inv(numpy.eye(1) + x[:1]) + x


@untraced("numpy.fft.fft")
def spectrum(x):
    return abs(numpy.fft.fft(x, axis=0))


@untraced("a decision by the values of the array")
def branch(x):
    return x if x.sum() > 1 else -x


@untraced("an assignment to a part of an array")
def assignment(x):
    y = x * 1
    y[0] = 0
    return y


@untraced("a copy of the numbers")
def conversion(x):
    return numpy.asarray(x) * 2


@untraced("a number of Python's")
def python_number(x):
    return x * float(x.sum())


@untraced("a loop over the tokens")
def loop(x):
    return numpy.stack([2 * token for token in x])


@untraced("a choice of entries by their values")
def selection(x):
    return x + x[x > 0.5].sum()


@untraced("three tokens at once")
def triangles(x):
    near = x[:, 0] * x
    return (near @ near @ near)[:, :1]


@untraced("numpy.multiply.reduce")
def product(x):
    return x * numpy.multiply.reduce(x, axis=0)


@untraced("numpy.percentile")
def percentile(x):
    return x - numpy.percentile(x, 30, axis=0)


@untraced("numpy.arctan2")
def angle(x):
    return numpy.arctan2(x, 1 + x)


@untraced("along the tokens, of which there is one less")
def gaps(x):
    return numpy.concatenate([x[:1], numpy.diff(x, axis=0)])
