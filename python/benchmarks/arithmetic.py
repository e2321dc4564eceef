"""The results of runtimes for exp, softmax, long sums and quotients, against the execution model `ieee-any-order`: the tables of measurements/runtimes.md.

    python python/benchmarks/arithmetic.py

Needs numpy; onnxruntime (with onnx) and torch are measured where they are, torch on the GPU as well if there is one. About a minute. Nothing of formwright
is used. Exits with 1 if something is outside of the model; fused attention is shown, and not asked to be in it.

exp       the largest relative error over a million arguments whose exponential is normal; the reference has 64 binary digits
softmax   rows whose scores are 0, x and, at all other places, -1e4, of which nothing is left: there are only two exponentials, 1 and e, and one sum,
          fl(1 + e), in any order. Every float e within θ of exp(x) is tried: whether e / sum, or e · fl(1 / sum), gives both weights, bit by bit.
          And the same scores with a number added to all of them, exactly: what subtracts the largest score first gives the same bits
averages  of values with the weights of 0 and x, in the same way: whether weights are formed and rounded first, or the sum is divided (fused attention)
sums      of 100,000 terms, against the exact sum (math.fsum): how far off, in units of u Σ|t|; the model allows n - 1
quotients a million, against the correctly rounded ones
"""

import math
import sys
from importlib.util import find_spec

import numpy as np

FORMATS = {"f32": (np.float32, np.int32, 24, -126, -20), "f64": (np.float64, np.int64, 53, -1022, -49)}
LENGTHS = (2, 7, 64, 1000, 5000)
EXACT = np.longdouble


class NumPy:
    """The formulas, as they are written."""

    def __init__(self, dtype):
        self.name, self.dtype = f"NumPy {np.__version__}", dtype

    def exp(self, x):
        return np.exp(x)

    def softmax(self, x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def sums(self, x):
        return {"sum": x.sum(-1), "product with ones": x @ np.ones(x.shape[-1], self.dtype)}

    def divide(self, x, y):
        return x / y


class Onnxruntime:
    def __init__(self, dtype):
        import onnx
        import onnxruntime

        self.name, self.dtype = f"onnxruntime {onnxruntime.__version__}, CPU", dtype
        self.onnx, self.run = onnx.helper, onnxruntime
        self.type = {np.float32: onnx.TensorProto.FLOAT, np.float64: onnx.TensorProto.DOUBLE}[dtype]

    def call(self, operator, *inputs, **attributes):
        names = [f"x{k}" for k in range(len(inputs))]
        value = lambda name: self.onnx.make_tensor_value_info(name, self.type, None)
        node = self.onnx.make_node(operator, names, ["y"], **attributes)
        graph = self.onnx.make_graph([node], "one", [value(name) for name in names], [value("y")])
        model = self.onnx.make_model(graph, opset_imports=[self.onnx.make_opsetid("", 21)], ir_version=10)
        session = self.run.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, dict(zip(names, inputs)))[0]

    def exp(self, x):
        return self.call("Exp", x)

    def softmax(self, x):
        return self.call("Softmax", x, axis=-1)

    def sums(self, x):
        axes = np.array([1], np.int64)
        # The axes are integers: they go into the graph as a constant.
        node = [
            self.onnx.make_node("Constant", [], ["axes"], value_ints=axes.tolist()),
            self.onnx.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0),
        ]
        value = lambda name: self.onnx.make_tensor_value_info(name, self.type, None)
        graph = self.onnx.make_graph(node, "sum", [value("x")], [value("y")])
        model = self.onnx.make_model(graph, opset_imports=[self.onnx.make_opsetid("", 21)], ir_version=10)
        session = self.run.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        ones = np.ones((x.shape[-1], 1), self.dtype)
        return {"sum": session.run(None, {"x": x})[0], "product with ones": self.call("MatMul", x, ones)[:, 0]}

    def divide(self, x, y):
        return self.call("Div", x, y)


class Torch:
    """The calls of `formwright.torch`: torch.softmax over scores, and products of matrices. TF32 is off, as is PyTorch's default."""

    def __init__(self, dtype, device):
        import torch

        self.torch, self.dtype, self.device = torch, dtype, device
        place = torch.cuda.get_device_name() if device == "cuda" else "CPU"
        self.name = f"PyTorch {torch.__version__}, {place}"

    def put(self, x):
        return self.torch.from_numpy(np.ascontiguousarray(x)).to(self.device)

    def exp(self, x):
        return self.put(x).exp().cpu().numpy()

    def softmax(self, x):
        return self.put(x).softmax(-1).cpu().numpy()

    def sums(self, x):
        x = self.put(x)
        ones = self.torch.ones(x.shape[-1], 1, dtype=x.dtype, device=self.device)
        return {"sum": x.sum(-1).cpu().numpy(), "product with ones": (x @ ones)[:, 0].cpu().numpy()}

    def divide(self, x, y):
        return (self.put(x) / self.put(y)).cpu().numpy()

    def attend(self, x, v):
        return (self.put(x).softmax(-1)[:, None] @ self.put(v))[:, 0].cpu().numpy()


class Fused(Torch):
    """torch.nn.functional.scaled_dot_product_attention as PyTorch chooses to run it; its weights, by values that are unit vectors."""

    def __init__(self, dtype, device):
        super().__init__(dtype, device)
        self.name += ", scaled_dot_product_attention"

    def softmax(self, x):
        rows, n = x.shape
        width = 8 if n <= 8 else 64
        if n > width:
            return None
        v = np.zeros((rows, n, width), self.dtype)
        v[:, np.arange(n), np.arange(n)] = 1
        return self.attend(x, v)[:, :n]

    def attend(self, x, v):
        rows, n, width = v.shape
        q, k = np.zeros((rows, 1, 1, width), self.dtype), np.zeros((rows, 1, n, width), self.dtype)
        q[..., 0], k[:, 0, :, 0] = 1, x
        attend = self.torch.nn.functional.scaled_dot_product_attention
        return attend(self.put(q), self.put(k), self.put(v[:, None]), scale=1.0).cpu().numpy()[:, 0, 0]


class Unfused(Fused):
    """The same by PyTorch's backend MATH, which is in the model."""

    def __init__(self, dtype, device):
        super().__init__(dtype, device)
        self.name += ", MATH"

    def attend(self, x, v):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.MATH):
            return super().attend(x, v)


def power(x):
    """As a power of two."""
    return "0" if x == 0 else f"2^{math.log2(x):.1f}"


def of_exp(runtime, name):
    dtype, _, digits, least, theta = FORMATS[name]
    rng = np.random.default_rng(1)
    deepest = math.log(2.0) * least
    x = np.concatenate([-rng.random(500_000) * -deepest, -(2.0 ** (rng.random(500_000) * 60 - 52))]).astype(dtype)
    x = x[x > deepest]
    exact = np.exp(x.astype(EXACT))
    worst = float(np.max(np.abs(runtime.exp(x).astype(EXACT) - exact) / exact))
    below = (deepest * (1 + rng.random(1000) * 0.02)).astype(dtype)
    found = runtime.exp(below)
    unit = 2.0 ** (least - digits + 1)
    exact = np.exp(below.astype(EXACT)) / EXACT(unit)
    off = np.abs(found.astype(EXACT) / EXACT(unit) - exact)
    # A number that is kept may be rounded once more.
    allowed = not found.any() or (off <= exact * EXACT(2.0**theta) + EXACT(0.5)).all()
    small = "flushed" if not found.any() else f"kept, within {float(off.max()):.2f} units"
    zero = runtime.exp(np.array([0.0, -0.0], dtype))
    far = runtime.exp(np.array([-1e4, -np.inf], dtype))
    sound = worst <= 2.0**theta and (zero == 1).all() and (far == 0).all() and bool(allowed)
    return [power(worst), "1" if (zero == 1).all() else str(zero), small, power(2.0**theta)], sound


def of_softmax(runtime, name, pairs=4000):
    dtype, integer, _, _, theta = FORMATS[name]
    rng = np.random.default_rng(2)
    counts, worst, shifted, rows = np.zeros(4, int), 0.0, 0, 0
    for n in LENGTHS:
        many = pairs if n <= 64 else 1000
        grain = 2.0**-11
        x = (-(rng.integers(1, int(12 / grain), many) * grain)).astype(dtype)
        scores = np.full((many, n), -1e4, dtype)
        first = rng.integers(0, n, many)
        second = (first + rng.integers(1, n, many)) % n
        every = np.arange(many)
        scores[every, first], scores[every, second] = 0, x
        p = runtime.softmax(scores)
        if p is None:
            continue
        found = p[every, first], p[every, second]
        exact = np.exp(x.astype(EXACT))
        middle = exact.astype(dtype)
        divided, multiplied = np.zeros(many, bool), np.zeros(many, bool)
        near = np.full(many, np.inf)
        one = dtype(1)
        for k in range(-17, 18):
            e = (middle.view(integer) + integer(k)).view(dtype)
            off = (np.abs(e.astype(EXACT) - exact) / exact).astype(float)
            total = one + e
            inverse = one / total
            top = (inverse == found[0]) & (off <= 2.0**theta)
            by_division, by_product = top & (e / total == found[1]), top & (e * inverse == found[1])
            divided |= by_division
            multiplied |= by_product
            near = np.where(by_division | by_product, np.minimum(near, off), near)
        counts += [divided.sum(), multiplied.sum(), (multiplied & ~divided).sum(), (~multiplied & ~divided).sum()]
        worst = max(worst, float(np.max(near[np.isfinite(near)], initial=0.0)))
        moved = runtime.softmax((scores + dtype(1000)).astype(dtype))
        # -1e4 + 1000 is far below as well; 1000 + x is exact, for x is a multiple of 2^-11 above -12.
        shifted += int((moved != p).any(-1).sum())
        rows += many
    equal = all(
        (runtime.softmax(np.full((1, n), 3.7, dtype)) == dtype(1) / dtype(n)).all()
        for n in range(1, 65)
        if runtime.softmax(np.zeros((1, n), dtype)) is not None
    )
    way = "division" if counts[0] == rows else "reciprocal" if counts[1] == rows else "either" if not counts[3] else "neither"
    cells = [way, f"{rows:,}", *(f"{count:,}" for count in counts), power(worst), f"{shifted:,}", "yes" if equal else "no"]
    return cells, counts[3] == 0 and shifted == 0 and equal


def of_values(runtime, name, many=4000):
    """The average of two keys: weights are formed first, or the sum of values is divided. In `f32`, whose fused sums doubles have."""
    if name != "f32":
        return None
    rng = np.random.default_rng(5)
    one, wide = np.float32(1), np.float64
    x = -rng.random(many).astype(np.float32) * np.float32(4)
    v = (1 + rng.random((many, 2, 8))).astype(np.float32)
    found = runtime.attend(np.stack([np.zeros_like(x), x], -1), v)
    middle = np.exp(x.astype(EXACT)).astype(np.float32)
    first, behind = np.zeros(many, bool), np.zeros(many, bool)

    def sums(a, b):
        """a v_0 + b v_1, rounded once, or a product before."""
        p, q = a[:, None].astype(wide) * v[:, 0], b[:, None].astype(wide) * v[:, 1]
        near = lambda t: t.astype(np.float32).astype(wide)
        return [(s + t).astype(np.float32) for s, t in ((near(p), near(q)), (p, near(q)), (near(p), q))]

    def given(candidates):
        """True if each value of a row is one of its candidates."""
        return np.logical_or.reduce([found == candidate for candidate in candidates]).all(-1)

    for k in range(-17, 18):
        e = (middle.view(np.int32) + np.int32(k)).view(np.float32)
        total = one + e
        inverse = one / total
        first |= given(sums(inverse, e / total)) | given(sums(inverse, e * inverse))
        whole = sums(np.ones_like(e), e)
        behind |= given([s / total[:, None] for s in whole]) | given([s * inverse[:, None] for s in whole])
    return [f"{first.sum():,}", f"{(behind & ~first).sum():,}", f"{(~behind & ~first).sum():,}"], first.all()


def of_sums(runtime, name, terms=100_000):
    dtype, _, digits, _, _ = FORMATS[name]
    rng = np.random.default_rng(3)
    x = np.stack([rng.random(terms), rng.standard_normal(terms), np.exp(rng.standard_normal(terms) * 8)]).astype(dtype)
    exact, size = [math.fsum(row.tolist()) for row in x], [math.fsum(np.abs(row).tolist()) for row in x]
    cells, sound = [], True
    for found in runtime.sums(x).values():
        off = max(abs(math.fsum([float(s), -e])) / (a * 2.0**-digits) for s, e, a in zip(found, exact, size))
        cells.append(f"{off:.1f}")
        sound &= off <= terms - 1
    # 2^(p-1) and ones below it: exact in any order.
    whole = np.ones((1, terms), dtype)
    whole[0, terms // 3] = 2.0 ** (digits - 1)
    wanted = 2.0 ** (digits - 1) + terms - 1
    exact_sums = all(float(found[0]) == wanted for found in runtime.sums(whole).values())
    return [*cells, "exact" if exact_sums else "off"], sound and exact_sums


def of_quotients(runtime, name):
    dtype = FORMATS[name][0]
    rng = np.random.default_rng(4)
    x, y = ((1 + rng.random(1_000_000)).astype(dtype) * dtype(2) ** rng.integers(-20, 20, 1_000_000).astype(dtype) for _ in "xy")
    # Doubles have more than twice the digits of singles; of doubles the processor's own quotients are taken for right.
    wanted = (x.astype(np.float64) / y.astype(np.float64)).astype(dtype)
    wrong = int((runtime.divide(x, y) != wanted).sum())
    return [f"{wrong:,}"], wrong == 0


def runtimes(dtype):
    yield NumPy(dtype)
    if find_spec("onnxruntime") and find_spec("onnx"):
        yield Onnxruntime(dtype)
    if not find_spec("torch"):
        return
    import torch

    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        yield Torch(dtype, device)
        yield Fused(dtype, device)
        yield Unfused(dtype, device)


def table(title, columns, measure, fused=False):
    """Prints the rows of all runtimes; those of the model that are outside of it."""
    print(f"\n**{title}**\n\n| runtime | format | {' | '.join(columns)} | in the model |\n|---|---|{'---|' * (len(columns) + 1)}", flush=True)
    outside = []
    for name, (dtype, *_) in FORMATS.items():
        for runtime in runtimes(dtype):
            if isinstance(runtime, Fused) and not fused or measure == of_values and not isinstance(runtime, Torch):
                continue
            measured = measure(runtime, name)
            if not measured:
                continue
            cells, sound = measured
            print(f"| {runtime.name} | {name} | {' | '.join(cells)} | {'yes' if sound else 'no'} |", flush=True)
            if not sound and type(runtime) is not Fused:
                outside.append(f"{title}: {runtime.name}, {name}")
    return outside


def main():
    if np.finfo(EXACT).nmant < 63:
        sys.exit("there are no numbers of 64 binary digits here to compare with")
    np.seterr(all="ignore")
    found = table("exp", ["relative error", "exp(0)", "below the normal range", "θ of the model"], of_exp)
    columns = ["way", "rows", "by division", "by the reciprocal", "by it alone", "by neither", "error of exp in it", "rows that a shift changes", "1/n for equal scores"]
    found += table("softmax", columns, of_softmax, fused=True)
    if find_spec("torch"):
        columns = ["weights first", "divided behind the sum", "neither"]
        found += table("averages of two keys, of 4,000 with eight values each", columns, of_values, fused=True)
    found += table("sums of 100,000 terms, in units of u Σ|t| (99,999 are allowed)", ["sum", "product with ones", "whole numbers"], of_sums)
    found += table("quotients, of a million", ["not rounded correctly"], of_quotients)
    print("\n" + ("\n".join(["outside of the model:", *found]) if found else "All of them are in the model (fused attention is not asked to be)."))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
