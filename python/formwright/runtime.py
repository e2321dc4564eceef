"""Is a runtime inside of the execution model `ieee-any-order`, which all claims are about?

    judge("onnxruntime")                                # or "numpy", "torch", "torch:cuda", a provider of onnxruntime
    judge(lambda probe: run_elsewhere(probe.onnx, probe.inputs))
    python -m formwright.runtime torch:cuda --precision f64

The probe is a network of some thousand weights, with inputs; every answer has an interval of what the model allows
(CERTIFICATE.md, section 3), and most intervals are one number. An answer outside of its interval is a witness: nothing
that the model allows gives it. Answers that are all inside prove nothing of other inputs.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Union

import numpy
import numpy.typing

from formwright import _native
from formwright._safetensors import tensors_of

Array = numpy.typing.NDArray[Any]


class Probe(NamedTuple):
    """The probe of a format: an ONNX model, its inputs `[cases, 32, 4]`, the shape and the tensors of the network, and
    all of its files by name."""

    precision: str
    onnx: bytes
    inputs: Array
    network: dict[str, Any]
    tensors: dict[str, Array]
    files: dict[str, bytes]


class Judgement(NamedTuple):
    """Whether all answers are allowed, the same in words, and the witnesses against it, each with its case, its input,
    what came out and what is allowed."""

    inside: bool
    text: str
    witnesses: list[dict[str, Any]]

    def __bool__(self) -> bool:
        return self.inside

    def __str__(self) -> str:
        return self.text


Runtime = Union[str, Callable[[Probe], Array]]


def probe(precision: str = "f32") -> Probe:
    """The probe of a format."""
    files = dict(_native.probe_files(precision))
    inputs = numpy.load(io.BytesIO(files["inputs.npy"]))
    network = json.loads(files["probe.json"])["network"]
    return Probe(precision, files["probe.onnx"], inputs, network, tensors_of(files["probe.safetensors"]), files)


def judge(runtime: Runtime, precision: str = "f32") -> Judgement:
    """Runs the probe and judges the answers. A runtime is a name, or a function from the probe to its outputs."""
    asked = probe(precision)
    answers = (answer(runtime) if isinstance(runtime, str) else runtime)(asked)
    flat = numpy.ascontiguousarray(numpy.asarray(answers), dtype="<f8")
    inside, text, found = _native.probe_judged(precision, flat.tobytes())
    return Judgement(inside, text, json.loads(found)["witnesses"])


def answer(name: str) -> Callable[[Probe], Array]:
    """The function that runs the probe in a runtime of this name."""
    kind, _, where = name.partition(":")
    if kind == "numpy" and not where:
        return by_numpy
    if kind == "onnxruntime":
        return lambda asked: by_onnxruntime(asked, where or "CPUExecutionProvider")
    if kind == "torch":
        return lambda asked: by_torch(asked, where or "cpu")
    raise ValueError(f"'{name}' is no runtime that is known: numpy, onnxruntime[:PROVIDER], torch[:DEVICE], or a function")


def by_numpy(asked: Probe) -> Array:
    """The formulas, as NumPy computes them."""
    w = asked.tensors
    z = asked.inputs @ w["embed.weight"].T + w["embed.bias"]
    (run,) = asked.network["runs"]
    place = numpy.arange(z.shape[1])
    heads = []
    for head, mask in enumerate(run["attention"]["masks"]):
        q, k, v, o = (w[f"0.attn.{name}"][0, head] for name in "qkvo")
        scores = (z @ q.T + w["0.attn.q_bias"][0, head]) @ (z @ k.T).swapaxes(1, 2)
        (low, high), (first, last) = mask["relative"], mask["absolute"]
        apart = place[None, :] - place[:, None]
        seen = numpy.ones_like(apart, bool)
        for position, least, most in ((apart, low, high), (place[None, :], first, last)):
            seen &= (position >= least if least is not None else True) & (position <= most if most is not None else True)
        scores = numpy.where(seen, scores, -numpy.inf)
        e = numpy.exp(scores - scores.max(-1, keepdims=True))
        heads.append(e / e.sum(-1, keepdims=True) @ (z @ v.T) @ o.T)
    for head in heads:
        z = z + head
    units = numpy.maximum(z @ w["0.ff.w1"][0].T + w["0.ff.b1"][0], 0)
    z = z + (units @ w["0.ff.w2"][0].T + w["0.ff.b2"][0])
    return numpy.asarray(z @ w["read_out.weight"].T + w["read_out.bias"])


def by_onnxruntime(asked: Probe, provider: str) -> Array:
    """The ONNX file in onnxruntime."""
    onnxruntime = import_module("onnxruntime")
    session = onnxruntime.InferenceSession(asked.onnx, providers=[provider])
    return numpy.asarray(session.run(["y"], {"x": asked.inputs})[0])


def by_torch(asked: Probe, device: str) -> Array:
    """The network in PyTorch, by `formwright.torch`."""
    torch, network = import_module("torch"), import_module("formwright.torch")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probe.safetensors"
        file.write_bytes(asked.files[file.name])
        model = network.Transformer(asked.network, network.read_safetensors(file)).to(device)
    return numpy.asarray(model(torch.from_numpy(asked.inputs).to(device)).detach().cpu().numpy())


def main() -> int:
    """Prints the judgement on a runtime; 1 if something is outside of the model."""
    parser = argparse.ArgumentParser(prog="python -m formwright.runtime", description="Judges the arithmetic of a runtime.")
    parser.add_argument("runtime", help="numpy, onnxruntime[:PROVIDER] or torch[:DEVICE]")
    parser.add_argument("--precision", choices=["f32", "f64"], default="f32")
    asked = parser.parse_args()
    try:
        judgement = judge(asked.runtime, asked.precision)
    except (ValueError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    print(judgement)
    return 0 if judgement else 1


if __name__ == "__main__":
    sys.exit(main())
