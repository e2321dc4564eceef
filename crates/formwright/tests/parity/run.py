"""What onnxruntime computes.

    python run.py FOLDER

Every folder in FOLDER is a case: `model.onnx` and `inputs.json`, a batch [batch][tokens][dims]. The model must pass ONNX's own checker;
then it runs on one thread and on two, with graph optimisations and without. `outputs.json` gets the model's properties and, for each
way of running, every output by its name.
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
TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64}


def session(path: Path, optimisation: str, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = OPTIMISATIONS[optimisation]
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(case: Path) -> None:
    path = case / "model.onnx"
    onnx.checker.check_model(onnx.load(path), full_check=True)
    inputs = json.loads((case / "inputs.json").read_text())
    properties, runs = {}, {}
    for optimisation in OPTIMISATIONS:
        for threads in (1, 2):
            model = session(path, optimisation, threads)
            properties = model.get_modelmeta().custom_metadata_map
            (entry,) = model.get_inputs()
            names = [output.name for output in model.get_outputs()]
            outputs = model.run(names, {entry.name: numpy.array(inputs, TYPES[entry.type])})
            runs[f"{optimisation}, {threads} threads"] = {
                name: output.astype(numpy.float64).tolist() for name, output in zip(names, outputs, strict=True)
            }
    written = {"properties": properties, "runs": runs}
    (case / "outputs.json").write_text(json.dumps(written, allow_nan=False))


if __name__ == "__main__":
    for case in sorted(Path(sys.argv[1]).iterdir()):
        try:
            run(case)
        except Exception as error:
            raise RuntimeError(f"case {case.name}") from error
