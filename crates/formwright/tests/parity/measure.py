"""How large a deep ONNX model is, how long onnxruntime takes to load it and to run it: three ways to write the same blocks.

    target/parity-venv/bin/python crates/formwright/tests/parity/measure.py [BLOCKS …]

Feed-forward blocks z + w2 relu(w1 z + b1) + b2 of width 1 with 4 hidden units, in f32, on 1 and on 1024 sequences of 2 tokens, one thread.
`scan` is what the export writes; `loop` gathers the block's weights by the number of the iteration; `unrolled` has every block in the graph.
10,000 blocks, the largest default, take a minute and a half.
"""

import sys
import time

import numpy
import onnxruntime
from onnx import TensorProto, checker, helper, numpy_helper

WIDTH, HIDDEN, TOKENS, BATCHES = 1, 4, 2, (1, 1024)
FLOAT, SECONDS = TensorProto.FLOAT, 1.0
SHAPES = {"w1": (WIDTH, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, WIDTH), "b2": (WIDTH,)}


def state(name):
    return helper.make_tensor_value_info(name, FLOAT, ["batch", TOKENS, WIDTH])


def block(z, out, weights, at=""):
    """The nodes of one block; names begin with `at`."""
    w1, b1, w2, b2 = weights
    return [
        helper.make_node("MatMul", [z, w1], [at + "linear"]),
        helper.make_node("Add", [at + "linear", b1], [at + "hidden"]),
        helper.make_node("Relu", [at + "hidden"], [at + "relu"]),
        helper.make_node("MatMul", [at + "relu", w2], [at + "change"]),
        helper.make_node("Add", [at + "change", b2], [at + "update"]),
        helper.make_node("Add", [z, at + "update"], [out]),
    ]


def scan(stacked):
    slices = [f"{name}.block" for name in stacked]
    inputs = [state("z")]
    inputs += [helper.make_tensor_value_info(s, FLOAT, SHAPES[name]) for s, name in zip(slices, stacked)]
    body = helper.make_graph(block("z", "z.next", slices), "block", inputs, [state("z.next")])
    return [helper.make_node("Scan", ["x", *stacked], ["y"], body=body, num_scan_inputs=len(stacked))], stacked


def loop(stacked):
    slices = [f"{name}.block" for name in stacked]
    nodes = [helper.make_node("Gather", [name, "i"], [s], axis=0) for s, name in zip(slices, stacked)]
    nodes += block("z", "z.next", slices)
    nodes.append(helper.make_node("Identity", ["go"], ["go.next"]))
    scalar = helper.make_tensor_value_info
    inputs = [scalar("i", TensorProto.INT64, []), scalar("go", TensorProto.BOOL, []), state("z")]
    body = helper.make_graph(nodes, "block", inputs, [scalar("go.next", TensorProto.BOOL, []), state("z.next")])
    count = numpy.array(len(stacked["w1"]), numpy.int64)
    return [helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)], {**stacked, "count": count}


def unrolled(stacked):
    blocks = len(stacked["w1"])
    nodes, initialisers = [], {}
    for i in range(blocks):
        weights = {f"{i}.{name}": stacked[name][i] for name in stacked}
        initialisers.update(weights)
        out = "y" if i + 1 == blocks else f"{i}.out"
        nodes += block("x" if i == 0 else f"{i - 1}.out", out, list(weights), f"{i}.")
    return nodes, initialisers


def model(nodes, initialisers):
    tensors = [numpy_helper.from_array(array, name) for name, array in initialisers.items()]
    graph = helper.make_graph(nodes, "measure", [state("x")], [state("y")], tensors)
    written = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    checker.check_model(written, full_check=True)
    return written.SerializeToString()


def load(data, optimise):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session, time.perf_counter() - start


def run(session, x):
    """The fastest of several runs, and what comes out."""
    times, (y,) = [], session.run(["y"], {"x": x})
    while len(times) < 3 or sum(times) < SECONDS:
        start = time.perf_counter()
        session.run(["y"], {"x": x})
        times.append(time.perf_counter() - start)
    return min(times), y


def main():
    random = numpy.random.default_rng(0)
    batches = [random.uniform(-1, 1, (batch, TOKENS, WIDTH)).astype(numpy.float32) for batch in BATCHES]
    print(f"onnxruntime {onnxruntime.__version__}, width {WIDTH}, hidden {HIDDEN}, {TOKENS} tokens, f32, one thread; us a block for a batch")
    headings = "".join(f" {f'of {batch}':>9}" for batch in BATCHES)
    print(f"{'blocks':>7} {'form':<9} {'optimised':<9} {'bytes':>9} {'load s':>9}{headings}")
    for blocks in [int(count) for count in sys.argv[1:]] or [100, 1000, 10000]:
        stacked = {
            name: (random.uniform(-1, 1, (blocks, *shape)) / blocks).astype(numpy.float32)
            for name, shape in SHAPES.items()
        }
        expected = None
        for form in (scan, loop, unrolled):
            data = model(*form(stacked))
            for optimise in (True, False):
                session, loading = load(data, optimise)
                runs = [run(session, x) for x in batches]
                outputs = numpy.concatenate([y for _, y in runs])
                expected = outputs if expected is None else expected
                numpy.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-6, err_msg="the forms differ")
                times = "".join(f" {1e6 * seconds / blocks:>9.2f}" for seconds, _ in runs)
                answer = "yes" if optimise else "no"
                print(f"{blocks:>7} {form.__name__:<9} {answer:<9} {len(data):>9} {loading:>9.3f}{times}", flush=True)


if __name__ == "__main__":
    main()
