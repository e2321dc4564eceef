"""Reference prototype, in exact rationals, of the modified Transformers of Yun et al. 2020 (arXiv 1912.10077).

Every network is a list of layers given by their weights, and is evaluated layer by layer: no closed form is used to
compute a state.  Closed forms appear only in `check`, as assertions.  Standard library only.

Regenerate (deterministic, a few seconds):    python3 yun_oracle.py > expected.json

Conventions.  n tokens, d dims, N = resolution, D = N^d.  A state Z is [token][coordinate] in integer units (real value
times N); an input X is embedded as Z = N X (+ N E for Theorem 3) and the read-out is Z/N.  u = (1, N, ..., N^(d-1)) and
the id of a column z is u.z.  Numbers are written as str(Fraction): "p/q" in lowest terms, or "p" for an integer.
"""
import itertools
import json
import math
import random
from collections import namedtuple
from fractions import Fraction as Q

HALF = Q(1, 2)

FF = namedtuple("FF", "w1 b1 phi w2")              # Z <- Z + w2 phi(w1^T Z + b1), one hidden unit
Attention = namedtuple("Attention", "heads")       # Z <- Z + sum of heads
Head = namedtuple("Head", "WK WQ bQ WV WO")        # head size m = 1: rows W_K, W_Q, W_V, number b_Q, column W_O


def dot(a, b):
    """a.b"""
    return sum(x * y for x, y in zip(a, b))


def hardmax(scores):
    """1/k on each of the k largest scores, 0 elsewhere."""
    top = max(scores)
    ties = scores.count(top)
    return [Q(1, ties) if s == top else Q(0) for s in scores]


def apply(layer, Z):
    """One layer.  FF: z_j + w2 phi(w1.z_j + b1).  Attention: z_j + sum_heads W_O sum_k p_kj (W_V z_k), where
    p_.j = hardmax over keys k of (W_K z_k)(W_Q z_j + b_Q)."""
    out = [list(z) for z in Z]
    if isinstance(layer, FF):
        for j, z in enumerate(Z):
            h = layer.phi(dot(layer.w1, z) + layer.b1)
            out[j] = [x + w * h for x, w in zip(z, layer.w2)]
        return out
    for head in layer.heads:
        keys = [dot(head.WK, z) for z in Z]
        vals = [dot(head.WV, z) for z in Z]
        for j, z in enumerate(Z):
            query = dot(head.WQ, z) + head.bQ
            mixed = dot(hardmax([k * query for k in keys]), vals)
            out[j] = [x + w * mixed for x, w in zip(out[j], head.WO)]
    return out


def run(layers, Z):
    """Composition of a list of layers."""
    for layer in layers:
        Z = apply(layer, Z)
    return Z


def basis(d, i, scale=1):
    """scale * e_i"""
    return [scale if k == i else 0 for k in range(d)]


def radix(d, N):
    """u = (1, N, ..., N^(d-1))"""
    return [N ** k for k in range(d)]


def quantiser(d, N, steps, flag=None):
    """Lemma 5.  Per row: [flag layer phi(t) = -t - F outside [0, N)], then phi(t - k), phi(t) = -t on
    [0, 1) else 0, for k = 0..steps-1."""
    step, layers = (lambda t: -t if 0 <= t < 1 else 0), []
    for i in range(d):
        if flag is not None:
            layers.append(FF(basis(d, i), 0, lambda t: -t - flag if t < 0 or t >= N else 0, basis(d, i)))
        layers += [FF(basis(d, i), -k, step, basis(d, i)) for k in range(steps)]
    return layers


def shifts(d, N, window_values):
    """Lemma 6.  For each v: heads with b_Q = -(v - 1/2) and -(v + 1/2), W_O = +D e1 and -D e1."""
    u, D = radix(d, N), N ** d
    return [Attention([Head(u, u, -(v - HALF), u, basis(d, 0, D)), Head(u, u, -(v + HALF), u, basis(d, 0, -D))])
            for v in window_values]


def global_shift(d, N, scale):
    """Lemma 6, last layer: W_K = W_Q = W_V = u, b_Q = 0, W_O = scale e1; second head zero."""
    u, zero = radix(d, N), [0] * d
    return [Attention([Head(u, u, 0, u, basis(d, 0, scale)), Head(zero, zero, 0, zero, zero)])]


def entry_bound(n, d, N):
    """M = (D^(n+1) + 1) a_(n-1), a_0 = D-1, a_(i+1) = D-1 + D (a_i + f), f = F (D-1)/(N-1), F = N^(nd+1)."""
    D = N ** d
    f = N ** (n * d + 1) * (D - 1) // (N - 1)
    a = D - 1
    for _ in range(n - 1):
        a = D - 1 + D * (a + f)
    return (D ** (n + 1) + 1) * a


def zeroing(n, d, N):
    """Lemma 7, steps 1 and 2: Z - (M+1) 1 1{u.Z not in [t_l, t_r]}, then row by row t + max(-t, 0)."""
    D = N ** d
    tl, tr = D ** (2 * n) * (D - 1), D ** (2 * n + 1) * (D - 1)
    outside = FF(radix(d, N), 0, lambda t: 0 if tl <= t <= tr else 1, [-(entry_bound(n, d, N) + 1)] * d)
    return [outside] + [FF(basis(d, i), 0, lambda t: max(-t, 0), basis(d, i)) for i in range(d)]


def values(d, N, table):
    """Lemma 7, step 3.  table: (g_c column, target column); Z + (target - column) 1{-1/2 <= u.Z - c < 1/2},
    c = u.column, in decreasing order of c."""
    u = radix(d, N)
    table = sorted(table, key=lambda row: -dot(u, row[0]))
    assert len({dot(u, column) for column, _ in table}) == len(table), "two windows share a centre"
    return [FF(u, -dot(u, column), lambda t: 1 if -HALF <= t < HALF else 0, [a - g for a, g in zip(target, column)])
            for column, target in table]


def per_coordinate(g):
    """Lift a map on sequences of numbers to [token][coordinate], coordinate by coordinate."""
    return lambda X: [list(z) for z in zip(*(g(list(row)) for row in zip(*X)))]


TARGETS = {
    "centring": per_coordinate(lambda x: [t - sum(x) / Q(len(x)) for t in x]),
    "maximum": per_coordinate(lambda x: [max(x)] * len(x)),
    "square-times-mean": per_coordinate(lambda x: [t * t * sum(x) / Q(len(x)) for t in x]),
    "sort": per_coordinate(sorted),
    "reverse": per_coordinate(lambda x: x[::-1]),
    "prefix-sum": per_coordinate(lambda x: list(itertools.accumulate(x))),
}


class Network:
    """Stages of layers, plus the positions E (one number per token, on every row; the embedding adds N E)."""

    def __init__(self, theorem, as_printed, n, d, N, target):
        self.theorem, self.as_printed, self.n, self.d, self.N, self.target = theorem, as_printed, n, d, N, target
        self.f, self.D = TARGETS[target], N ** d
        D, sigma = self.D, N * (self.D - 1) // (N - 1)          # sigma = id of the position 1 on every row
        columns = [c[::-1] for c in itertools.product(range(N), repeat=d)]          # in increasing order of id
        if theorem == 2:
            flag = Q(N) ** (1 - n * d) if as_printed == "flag-sign" else N ** (n * d + 1)
            self.E = [0] * n
            quantise, sweep, scale = quantiser(d, N, N, flag), range(D), D ** (n + 1)
            contexts = list(itertools.combinations(columns, n))
        else:
            printed = as_printed == "theorem3-positions"
            self.E = list(range(n)) if printed else [n - 1] + list(range(n - 1))
            swept = range(n) if printed else range(n - 1)       # positions whose ranges are swept
            quantise = quantiser(d, N, n * N)
            sweep = [p * sigma + v for p in swept for v in range(D)]
            scale = n * N * D ** (n + 1 if printed else n)
            contexts = list(itertools.product(columns, repeat=n))
        self.stages = {"quantise": quantise, "shifts": shifts(d, N, sweep), "global": global_shift(d, N, scale)}
        if theorem == 2:
            self.stages["zero"] = zeroing(n, d, N)
        table = []
        for L in contexts:
            Z = run(self.stages["shifts"] + self.stages["global"], self.shifted(L))
            table += zip(Z, self.wanted(L))
        self.stages["values"] = values(d, N, table)
        assert [len(layers) for layers in self.stages.values()] == (
            [d * (N + 1), D, 1, 1 + d, n * math.comb(D, n)] if theorem == 2
            else [n * d * N, len(swept) * D, 1, n * D ** n])

    def shifted(self, Z):
        """Z + N E"""
        return [[x + self.N * e for x in z] for z, e in zip(Z, self.E)]

    def wanted(self, L):
        """N f(C_L), C_L = (L + 1/2)/N"""
        return [[self.N * y for y in z] for z in self.f([[(x + HALF) / self.N for x in z] for z in L])]

    def trace(self, X):
        """States after every stage."""
        Z, after = self.shifted([[self.N * x for x in z] for z in X]), {}
        for name, layers in self.stages.items():
            after[name] = Z = run(layers, Z)
        return after


def check(net, X, after):
    """The claims of Lemmas 5-7 and Theorems 2, 3 on one run."""
    n, d, N, D = net.n, net.d, net.N, net.D
    u = radix(d, N)
    ids = [dot(u, z) for z in after["global"]]
    printed_flag = net.as_printed == "flag-sign"
    if net.theorem == 2:
        assert max(x for z in after["global"] for x in z) <= entry_bound(n, d, N)
    if any(not 0 <= x < 1 for z in X for x in z):
        if net.theorem == 2 and not printed_flag:
            assert all(x == 0 for z in after["values"] for x in z), "0 outside the box"
        if printed_flag and (n, d, N) == (2, 1, 4) and X == [[-1], [HALF]]:
            assert ids == [Q("1864.75"), 1885]
        return
    L = [[math.floor(N * x) for x in z] for z in X]
    assert after["quantise"] == net.shifted(L)
    l = [dot(u, z) for z in after["quantise"]]
    if net.theorem == 2 and len(set(l)) < n:
        assert all(x == 0 for z in after["values"] for x in z), "0 on duplicates"
        return
    assert after["values"] == net.wanted(L), "f at the cube centre"
    if net.theorem == 2:        # ~l_j = l_j + sum_{k<j} D^k (l_(j-k) - l_(j-k+1)) + D^j (l_n - l_1), l sorted
        s = sorted(l)
        tilde = {s[j]: s[j] + sum(D ** k * (s[j - k] - s[j - k + 1]) for k in range(1, j + 1))
                 + D ** (j + 1) * (s[-1] - s[0]) for j in range(n)}
        assert ids == [tilde[x] + D ** (n + 1) * tilde[s[-1]] for x in l]
    elif net.as_printed is None:                        # ~l_1 = l_1, ~l_i = l_i + D (~l_(i-1) - l_i)
        tilde = list(itertools.accumulate(l, lambda t, x: x + D * (t - x)))
        assert ids == [t + n * N * D ** n * tilde[-1] for t in tilde]
    elif (n, d) == (2, 1) and l == [D - 1, D]:          # the re-hit
        assert after["shifts"] == [[2 * D - 1 + D * (D - 1) ** 2], [D * D]]


OUTSIDE = [Q(-1), Q(1), Q(7, 3), Q(10 ** 6), Q(-1, 10 ** 9), Q(-3, 7)]


def inputs(net, few):
    """Cube centres (all if at most 81, else 40, half of them with distinct columns), 15 points of the box (cell edges,
    repeated tokens), then 15 (Theorem 2) or 5 (Theorem 3) points with coordinates outside the box."""
    n, d, N = net.n, net.d, net.N
    rng = random.Random(f"{net.theorem} {net.as_printed} {n} {d} {N} {net.target}")
    columns = list(itertools.product(range(N), repeat=d))
    lattice = list(itertools.product(columns, repeat=n))
    if len(lattice) > 81 or few:
        count = 8 if few else 40
        lattice = [rng.sample(columns, n) if k % 2 else rng.choices(columns, k=n) for k in range(count)]
    result = [[[(x + HALF) / N for x in z] for z in L] for L in lattice]

    def coordinate():
        """A cell edge, or a rational with a random denominator, in [0, 1)."""
        q = rng.choice([N, N, 7, 30, 1000])
        return Q(rng.randrange(q), q)

    def boxed(k):
        """A point of the box; every fourth one repeats a token."""
        X = [[coordinate() for _ in range(d)] for _ in range(n)]
        if k % 4 == 3:
            X[rng.randrange(1, n)] = list(X[0])
        return X

    result += [boxed(k) for k in range(6 if few else 15)]
    for k in range(15 if net.theorem == 2 else 5):
        X = boxed(k)
        for _ in range(1 + k % 3):
            X[rng.randrange(n)][rng.randrange(d)] = OUTSIDE[(k + rng.randrange(2)) % len(OUTSIDE)]
        if k == 0 and net.theorem == 3:                 # for d = 1: id -1/2, a tie at the first threshold
            X = [[coordinate() if e else Q(-1, 2 * N) for _ in range(d)] for e in net.E]
        if k == 0 and net.as_printed == "flag-sign":
            X = [[Q(-1)], [HALF]]
        result.append(X)
    return result


EQUIVARIANT = ["centring", "maximum", "square-times-mean"]
CASES = {                                               # (theorem, as_printed, n, d, N): targets
    (2, None, 2, 1, 4): EQUIVARIANT, (2, None, 3, 1, 4): EQUIVARIANT, (2, None, 2, 2, 2): EQUIVARIANT[::2],
    (2, None, 3, 2, 2): ["centring"], (2, None, 4, 1, 5): ["square-times-mean"],
    (2, None, 2, 3, 2): ["maximum"], (2, None, 2, 1, 9): ["centring"],
    (3, None, 2, 1, 2): list(TARGETS), (3, None, 2, 1, 4): ["sort", "reverse", "prefix-sum"],
    (3, None, 3, 1, 3): ["sort", "maximum", "prefix-sum"], (3, None, 2, 2, 2): ["reverse"],
    (3, None, 4, 1, 2): ["square-times-mean"], (3, None, 3, 2, 2): ["centring"],
    (3, "theorem3-positions", 2, 1, 4): ["reverse"], (3, "theorem3-positions", 3, 1, 3): ["sort"],
    (3, "theorem3-positions", 2, 2, 2): ["prefix-sum"], (2, "flag-sign", 2, 1, 4): ["centring"],
}


def text(Z):
    """[token][coordinate] as strings"""
    return [[str(Q(x)) for x in z] for z in Z]


def main():
    """Print all cases as JSON, one run per line."""
    cases = []
    for theorem, as_printed, n, d, N, target in [(*key, target) for key in CASES for target in CASES[key]]:
        net = Network(theorem, as_printed, n, d, N, target)
        runs = []
        for X in inputs(net, few=(theorem, n, d, N) == (3, 3, 2, 2)):
            after = net.trace(X)
            check(net, X, after)
            output = [[x / Q(N) for x in z] for z in after["values"]]
            runs.append({"input": text(X), "after": {k: text(Z) for k, Z in after.items()}, "output": text(output)})
        head = {"theorem": theorem, "as_printed": as_printed, "tokens": n, "dims": d, "resolution": N, "target": target}
        lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in runs)
        cases.append(json.dumps(head)[:-1] + ', "runs": [\n' + lines + "\n]}")
    print("[" + ",\n".join(cases) + "]")


if __name__ == "__main__":
    main()
