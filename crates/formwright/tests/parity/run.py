"""The outputs of onnxruntime.

    python run.py FOLDER

Every folder in FOLDER is a case: `model.onnx` and `inputs.bin`, a batch [batch, tokens, dims] of little-endian doubles whose sides stand in
`inputs.json`. The model must pass ONNX's own checker; then it runs on one thread and on two, with graph optimisations and without (a large
batch in the most different two of the four). `outputs.json` gets the model's properties and, for each way of running, the sides of every output by its
name; `outputs.bin` gets their numbers, in that order, as doubles: no digit is lost on the way.
"""

import json
import sys
from pathlib import Path

import numpy
import onnx
import onnxruntime

OPTIMISATIONS = {
    "plain": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "optimised": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
LARGE = 1000
TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64}


def session(path: Path, optimisation: str, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = OPTIMISATIONS[optimisation]
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(case: Path) -> None:
    path = case / "model.onnx"
    onnx.checker.check_model(onnx.load(path), full_check=True)
    shape = json.loads((case / "inputs.json").read_text())
    inputs = numpy.fromfile(case / "inputs.bin", "<f8").reshape(shape)
    ways = [(optimisation, threads) for optimisation in OPTIMISATIONS for threads in (1, 2)]
    if len(inputs) >= LARGE:
        ways = [ways[0], ways[-1]]
    properties, runs = {}, []
    with (case / "outputs.bin").open("wb") as numbers:
        for optimisation, threads in ways:
            model = session(path, optimisation, threads)
            properties = model.get_modelmeta().custom_metadata_map
            (entry,) = model.get_inputs()
            names = [output.name for output in model.get_outputs()]
            # The numbers of words have no coordinates.
            given = inputs[..., 0] if entry.type == "tensor(int64)" else inputs
            outputs = model.run(names, {entry.name: given.astype(TYPES[entry.type])})
            assert all(numpy.isfinite(output).all() for output in outputs), "a number that is not finite"
            for output in outputs:
                output.astype("<f8").tofile(numbers)
            sides = [(name, output.shape) for name, output in zip(names, outputs, strict=True)]
            runs.append((f"{optimisation}, {threads} threads", sides))
    (case / "outputs.json").write_text(json.dumps({"properties": properties, "runs": runs}))


if __name__ == "__main__":
    for case in sorted(Path(sys.argv[1]).iterdir()):
        try:
            run(case)
        except Exception as error:
            raise RuntimeError(f"case {case.name}") from error
