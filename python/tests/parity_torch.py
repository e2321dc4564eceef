"""PyTorch against formwright's own evaluators: every folder that parity_make.py wrote, at every stage.

    python python/tests/parity_torch.py target/device/parity [cuda]

Needs PyTorch and numpy, nothing of formwright but `torch.py`. Every state and every output must lie in its enclosure, between the ends that every correct
execution keeps; a lattice network's stages before the last are exact in any order, and must agree bit by bit. Outputs may differ by twice the
stated rounding. Prints a table, with how much of an enclosure was used, from its middle, and what lies outside; then it fails.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path

import numpy
import torch

spec = importlib.util.spec_from_file_location("folder", Path(__file__).parents[1] / "formwright" / "torch.py")
folder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(folder)


def seconds(run) -> float:
    """The fastest of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def used(found: torch.Tensor, lower: numpy.ndarray, upper: numpy.ndarray, place: str) -> float:
    """The largest share of half an enclosure's width by which a number is off its middle."""
    numbers = found.cpu().numpy().astype(float)
    outside = numpy.argwhere(~((lower <= numbers) & (numbers <= upper)))
    for first in map(tuple, outside[:1]):
        raise AssertionError(f"{place}: {len(outside)} of {numbers.size} outside, {numbers[first]!r} at {first} of [{lower[first]!r}, {upper[first]!r}]")
    half = (upper - lower) / 2
    half[~numpy.isfinite(half)] = 0
    return float((numpy.abs(numbers - lower - half)[half > 0] / half[half > 0]).max(initial=0))


def compare(case: Path, device: str) -> str:
    allowed, expected = json.loads((case / "case.json").read_text()), numpy.load(case / "expected.npz")
    start = time.perf_counter()
    model = folder.load(case).to(device).eval()
    loading = time.perf_counter() - start
    kind = model.embed.weight.dtype
    x = torch.from_numpy(expected["x"]).to(device)
    with torch.no_grad():
        y = torch.cat([model(part) for part in x.split(1000)])
        off = numpy.abs(y.cpu().numpy().astype(float) - expected["y"]).max()
        assert off <= 2 * allowed["rounding"], f"{case.name}: outputs {off:.2e} apart, allowed {2 * allowed['rounding']:.2e}"
        trace = model.trace(x[: allowed["traced"]])
        assert [f"stage.{name}" for name in trace] == [name for name in expected if name.startswith("stage.")], case.name
        for name in allowed["exact"]:
            assert (trace[name].cpu().numpy() == expected[f"stage.{name}"]).all(), f"{case.name}, {name}: not equal, bit by bit"
        ends = {name: (expected[f"lower.{name}"], expected[f"upper.{name}"]) for name in [*trace, "output"]}
        shares = {name: used(state, *ends[name], f"{case.name}, {name}") for name, state in {**trace, "output": y}.items()}
        running = seconds(lambda: model(x[:1000]))
    # A copy that is given the state of the other is the other.
    other = folder.load(case).to(device)
    other.load_state_dict({name: torch.zeros_like(entry) for name, entry in model.state_dict().items()})
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert torch.equal(other(x[:10]), model(x[:10])), case.name
    in_outputs, in_states = shares.pop("output"), max(shares.values())
    row = [case.name, str(kind).removeprefix("torch."), allowed["blocks"], allowed["points"], f"{off:.1e}", f"{2 * allowed['rounding']:.1e}"]
    return "| " + " | ".join(map(str, [*row, f"{in_outputs:.2f}", f"{in_states:.2f}", f"{loading:.3f}", f"{running:.4f}"])) + " |"


def main() -> None:
    place, device = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name() if device == 'cuda' else 'CPU'}\n")
    print("| case | precision | blocks | points | outputs apart | allowed | enclosure used, outputs | states | load s | run 1000 s |\n|" + "---|" * 10)
    failures = []
    for case in sorted(place.iterdir()):
        try:
            print(compare(case, device), flush=True)
        except AssertionError as failure:
            failures.append(str(failure))
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
