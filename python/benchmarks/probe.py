"""The judgements of `formwright.runtime` on the runtimes that are here, and on planted deviations: a table of measurements/runtimes.md.

    python python/benchmarks/probe.py

Needs the package; onnxruntime and torch are judged where they are. The deviations are those of python/tests/test_runtime.py. Exits with 1 if one of them
is not found, or something that the model allows is accused.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

from formwright import runtime

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import test_runtime as planted


def row(name, precision, judgement):
    cases = sorted({witness["case"] for witness in judgement.witnesses})
    where = ", ".join(cases) if len(cases) < 5 else f"{len(cases)} cases"
    count = sum(witness["count"] for witness in judgement.witnesses)
    print(f"| {name} | {precision} | {'inside' if judgement else 'outside'} | {count:,} | {where} |", flush=True)


def runtimes():
    yield "numpy", "NumPy"
    if find_spec("onnxruntime"):
        yield "onnxruntime", "onnxruntime, CPU"
    if find_spec("torch"):
        import torch

        yield "torch", "PyTorch, CPU"
        if torch.cuda.is_available():
            for allowed in (False, True):
                torch.backends.cuda.matmul.allow_tf32 = allowed
                yield "torch:cuda", f"PyTorch, {torch.cuda.get_device_name()}, TF32 {'on' if allowed else 'off'}"


def main():
    print("| runtime | format | judgement | not allowed, of 9,120 | found by |\n|---|---|---|---|---|")
    for name, shown in runtimes():
        for precision in ("f32", "f64"):
            judgement = runtime.judge(name, precision)
            version = getattr(sys.modules.get(name.split(":")[0]), "__version__", "")
            row(shown.replace(",", f" {version},", 1) if "," in shown else f"{shown} {version}", precision, judgement)
    wrong = []
    for machines, inside in ((planted.HONEST, True), (planted.PLANTED, False)):
        for machine in machines:
            judgement = runtime.judge(machine())
            row(machine.__doc__.split("\n")[0].rstrip(".").split(": ")[0].split(";")[0], "f32", judgement)
            if bool(judgement) != inside:
                wrong.append(machine.__name__)
    print(f"\n{'wrong: ' + ', '.join(wrong) if wrong else f'{len(planted.PLANTED)} planted, {len(planted.PLANTED)} found; {len(planted.HONEST)} honest, none accused'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
