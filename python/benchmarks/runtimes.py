"""The same networks in formwright's own evaluator, onnxruntime and PyTorch: size, time to load, time to run, ratios.

    python python/benchmarks/runtimes.py FOLDER [--threads 1]

Needs formwright and numpy; onnxruntime and torch where they are to be compared. The networks are built into FOLDER if they are not there. A time is
the least of several runs after one that is not counted; a ratio is against our evaluator in the same run. Outputs are compared first.
"""

import argparse
import importlib.util
import os
import time
from pathlib import Path

import numpy

import formwright

TARGET = {"target": "x - mean(x)", "tokens": 2, "precision": "f64", "construction": "yun"}
# Wide blocks hold few digits of ids: packed networks have coarse grids.
NETWORKS = {
    "literal, N = 63": {"resolution": 63},
    "literal, N = 8": {"resolution": 8},
    "hidden 4, N = 8": {"resolution": 8, "hidden": 4},
    "packed, N = 8": {"resolution": 8, "pack": True},
}
BATCHES = [1, 1024]


def seconds(run, budget=2.0):
    """The least time of a call, among as many as fit into a budget, and at least three."""
    run()
    times = []
    while len(times) < 3 or (sum(times) < budget and len(times) < 1000):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def formwright_runs(folder, _threads):
    return formwright.load(folder)


def onnxruntime_runs(folder, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(folder.with_suffix(".onnx")), options, ["CPUExecutionProvider"])
    return lambda x: session.run(None, {session.get_inputs()[0].name: x})[0]


def torch_runs(folder, threads):
    import torch

    import formwright.torch

    torch.set_num_threads(threads)
    module = formwright.torch.load(folder)

    def run(x):
        with torch.no_grad():
            return module(torch.from_numpy(x)).numpy()

    return run


RUNTIMES = {"formwright": formwright_runs, "onnxruntime": onnxruntime_runs, "torch": torch_runs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)
    known = [name for name in RUNTIMES if importlib.util.find_spec(name)]
    versions = [f"{name} {getattr(__import__(name), '__version__', '')}".strip() for name in known]
    print(f"{', '.join(versions)}; {arguments.threads} thread(s)\n")
    print("| network | blocks | tensors, MB | ONNX, MB | runtime | load, s | batch 1, ms | ratio | batch 1024, ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, options in NETWORKS.items():
        folder = arguments.folder / "-".join(name.replace(",", "").replace("=", "").split())
        if not folder.exists():
            network = formwright.build(**TARGET, **options, out=folder, check=False)
            formwright.export(network, folder.with_suffix(".onnx"))
        blocks = formwright.load(folder).size["blocks"]
        sizes = [path.stat().st_size / 1e6 for path in (folder / "model.safetensors", folder.with_suffix(".onnx"))]
        # Centres of cells, where executions agree.
        cells = numpy.random.default_rng(0).integers(0, options["resolution"], (max(BATCHES), TARGET["tokens"], 1))
        points, own, wanted = (cells + 0.5) / options["resolution"], {}, None
        for runtime in known:
            start = time.perf_counter()
            run = RUNTIMES[runtime](folder, arguments.threads)
            first = run(points)
            loaded = time.perf_counter() - start
            wanted = first if wanted is None else wanted
            assert numpy.abs(first - wanted).max() < 1e-4, f"{runtime} says something else"
            row = []
            for batch in BATCHES:
                taken = seconds(lambda: run(points[:batch]))
                own.setdefault(batch, taken)
                row += [f"{taken * 1e3:.3g}", f"{taken / own[batch]:.3g}"]
            shown = f"{name} | {blocks} | {sizes[0]:.3g} | {sizes[1]:.3g}" if runtime == known[0] else " | | | "
            print(f"| {shown} | {runtime} | {loaded:.3g} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
