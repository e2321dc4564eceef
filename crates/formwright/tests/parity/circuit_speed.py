"""Our evaluator beside onnxruntime on one exported circuit: the z-score, tokens a second against the length of the sequence.

    target/parity-venv/bin/python crates/formwright/tests/parity/circuit_speed.py

`tests/measured/circuit_speed.rs` compiles the circuit, times our evaluator, measures what the machine can do and writes the file; then onnxruntime runs
it on the same inputs, on the same machine in the same minute, on one thread and on two. Every time is the fastest of several. numpy's matrix
product says how many operations a second the machine has when it uses all its instructions, which our default build (SSE2) does not.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy
import onnxruntime

SECONDS = 0.7


def fastest(run):
    times = []
    while len(times) < 3 or sum(times) < SECONDS:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def main():
    root = Path(__file__).parents[4]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = ["cargo", "test", "--release", "--quiet", "--package", "formwright", "--lib", "--"]
        command += ["--ignored", "measured::circuit_speed"]
        subprocess.run(command, cwd=root, env={**os.environ, "MEASURE": name}, check=True, stdout=subprocess.DEVNULL)
        ours = json.loads((folder / "engine.json").read_text())
        square = numpy.random.default_rng(0).random((1024, 1024), numpy.float32)
        matrices = 2 * 1024**3 / fastest(lambda: square @ square) / 1e9
        peak, copy = ours["multiply_and_add"], ours["copy"]
        print(
            f"onnxruntime {onnxruntime.__version__}; z-score made for {ours['made_for']} tokens, f32: {ours['blocks']} blocks, width {ours['width']},"
            f" hidden {ours['hidden']}, {ours['parameters']} parameters\n\nMultiply and add, as our program is built: {peak[0]:.1f} (one thread) and"
            f" {peak[1]:.1f} Gop/s (two); a matrix product in numpy, one thread: {matrices:.1f} Gop/s; copy: {copy[0]:.1f} and {copy[1]:.1f} GB/s\n"
        )
        columns = ["n", "sequences", "threads", "operations a token", "in plain formulas", "formwright, tokens/s", "Gop/s", "of multiply and add"]
        row([*columns, "onnxruntime, tokens/s", "ours / onnxruntime"])
        print("|" + "---|" * (len(columns) + 2))
        sessions = {threads: session(folder / "model.onnx", threads) for threads in (1, 2)}
        for run in ours["runs"]:
            tokens, sequences = run["tokens"], run["sequences"]
            case = json.loads((folder / f"{tokens}-{sequences}.json").read_text())
            x = numpy.array(case["inputs"], numpy.float32).reshape(sequences, tokens, 1)
            expected = numpy.array(case["outputs"]).reshape(sequences, tokens, 1)
            for threads, own in zip((1, 2), run["seconds"], strict=True):
                (found,) = sessions[threads].run(["y"], {"x": x})
                # Rounding in another order; the certified error is a hundred times as much.
                assert numpy.abs(found - expected).max() <= 1e-4, f"{tokens} tokens: outputs differ"
                theirs = fastest(lambda: sessions[threads].run(["y"], {"x": x}))
                needed, plain = run["operations"]
                rate = tokens * sequences / own
                achieved = rate * needed / 1e9
                cells = [tokens, sequences, threads, f"{needed:,.0f}", f"{plain:,.0f}", f"{rate:,.0f}", f"{achieved:.1f}"]
                row([*cells, f"{achieved / peak[threads - 1]:.0%}", f"{tokens * sequences / theirs:,.0f}", f"{theirs / own:.1f}"])


if __name__ == "__main__":
    main()
