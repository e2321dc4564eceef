"""Our evaluator beside onnxruntime, on the same compiled networks: size, time to load, time to run.

    target/parity-venv/bin/python crates/formwright/tests/parity/compare.py

`tests/measured/engine_speed.rs` compiles the networks, times our evaluator and writes the files; then onnxruntime runs them, on the same machine in
the same minute, one thread each. Every time is the fastest of several. The outputs must agree within twice the rounding that is stated.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy
import onnxruntime

from measure import SECONDS, load


def fastest(session, x):
    times = []
    while len(times) < 3 or sum(times) < SECONDS:
        start = time.perf_counter()
        session.run(["y"], {"x": x})
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    root = Path(__file__).parents[4]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = ["cargo", "test", "--release", "--quiet", "--package", "formwright", "--lib", "--"]
        command += ["--ignored", "measured::engine_speed"]
        environment = {**os.environ, "RAYON_NUM_THREADS": "1", "MEASURE": name}
        subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
        ours = json.loads((folder / "engine.json").read_text())
        print(f"onnxruntime {onnxruntime.__version__} and formwright, f64, 2 tokens, width 1, one thread; us a block for a batch\n")
        batches = [f"of {batch}" for batch in ours["batches"]]
        columns = ["blocks", "layers", "runs in", "bytes", "load s", *batches, *[f"ratio, {batch}" for batch in batches]]
        print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
        for network in ours["networks"]:
            case, blocks = folder / network["name"], network["blocks"]
            inputs = numpy.array(json.loads((case / "inputs.json").read_text()))
            expected = numpy.array(json.loads((case / "outputs.json").read_text()))
            head = [f"{blocks:.0f}", network["layers"]]
            own = [f"{t:.3f}" for t in network["us_a_block"]]
            print("| " + " | ".join([*head, "formwright", "", f"{network['ready_s']:.4f}", *own, "", ""]) + " |", flush=True)
            for optimise in (True, False):
                session, loading = load(case / "model.onnx", optimise)
                (found,) = session.run(["y"], {"x": inputs})
                apart = numpy.abs(found - expected)
                # On a ramp two executions may differ as much as the target's range; no point of this batch lies on one.
                assert apart.max() <= 2 * network["rounding"], f"outputs {apart.max():.1e} apart"
                times = [1e6 * fastest(session, inputs[:batch]) / blocks for batch in ours["batches"]]
                ratios = [f"{t / o:.1f}" for t, o in zip(times, network["us_a_block"])]
                way = "onnxruntime" if optimise else "onnxruntime, not optimised"
                size = str((case / "model.onnx").stat().st_size)
                row = [*head, way, size, f"{loading:.4f}", *[f"{t:.3f}" for t in times], *ratios]
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
