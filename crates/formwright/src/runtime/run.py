"""The answers of a runtime to the probe beside this file, as answers.npy.

    python run.py              onnxruntime on a CPU
    python run.py PROVIDER     another of onnxruntime's, such as CUDAExecutionProvider
    python run.py torch [cuda] PyTorch, by formwright.torch
    formwright runtime --answers answers.npy

For another runtime load probe.onnx there: x [batch, 32, 4] to y [batch, 32, 15].
"""

import json
import sys
from pathlib import Path

import numpy

here = Path(__file__).parent
x = numpy.load(here / "inputs.npy")
if sys.argv[1:2] == ["torch"]:
    import torch

    from formwright.torch import Transformer, read_safetensors

    device = sys.argv[2] if len(sys.argv) > 2 else "cpu"
    shape = json.loads((here / "probe.json").read_text())["network"]
    model = Transformer(shape, read_safetensors(here / "probe.safetensors")).to(device)
    y = model(torch.from_numpy(x).to(device)).detach().cpu().numpy()
else:
    import onnxruntime

    session = onnxruntime.InferenceSession(here / "probe.onnx", providers=sys.argv[1:2] or ["CPUExecutionProvider"])
    y = session.run(["y"], {"x": x})[0]
numpy.save("answers.npy", y)
