"""Networks inside of stock Transformers on another machine: what stays inside of the claim, and what leaves it.

    python python/benchmarks/hosts.py --formwright PROGRAM --pack PACK      where formwright is
    python measurements/hosts_gpu.py PACK [DEVICE] [WORD]                   where torch and transformers are; cuda

Needs torch, transformers, safetensors, and nothing of formwright but these two files and python/formwright/torch.py. It
prints the tables of measurements/hosts_gpu.md: how many hosts of a class stay inside of their claims, by every way to
run them; and for every host the largest error of eager attention, and how far outputs are from those in any other way.
What leaves the claim is marked with `!`. Only eager attention in the format of the weights is claimed; it exits with 1
if that leaves its claim.

eager      as config.json asks: the format of the weights, eager attention, no TF32
sdpa       scaled_dot_product_attention, whatever kernel PyTorch takes
math, …    sdpa, by one kernel
tf32       eager, with products of matrices in TF32
float64    eager, weights and inputs widened
bfloat16   eager, weights and inputs rounded
"""

import contextlib
import sys
import time
from pathlib import Path

import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "benchmarks"))
from hosts import HOSTS, Case, networks_of  # noqa: E402

BACKENDS = {"math": SDPBackend.MATH, "efficient": SDPBackend.EFFICIENT_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
# Name, attention, format (None: that of the weights), kernel, TF32.
WAYS = [
    ("eager", "eager", None, None, False),
    ("tf32", "eager", None, None, True),
    ("sdpa", "sdpa", None, None, False),
    *((name, "sdpa", None, backend, False) for name, backend in BACKENDS.items()),
    ("float64", "eager", torch.float64, None, False),
    ("bfloat16", "eager", torch.bfloat16, None, False),
]
CUDA_ONLY = ("tf32", "efficient", "flash")


def outputs(case, loaded, attention, dtype, kernel, tf32):
    """The logits of a host, run in this way; models are kept by attention and format."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    if (attention, dtype) not in loaded:
        loaded[attention, dtype] = case.load(attn_implementation=attention, dtype=dtype or "auto")
    stock = loaded[attention, dtype]
    assert stock.config._attn_implementation == attention
    with sdpa_kernel(kernel) if kernel else contextlib.nullcontext():
        return case.outputs(stock, 20_000)


def row(case, ways, inside, refused):
    """A row of the table; the ways that stay inside are counted."""
    eager, cells, loaded = None, [], {}
    for way, *how in ways:
        try:
            y = outputs(case, loaded, *how)
        except (RuntimeError, ValueError) as error:
            refused.setdefault(str(error).splitlines()[0][:100], set()).add((case.host, way))
            cells.append("–")
            continue
        measured, good = case.told(y)
        inside[case.host, way][0] += good
        inside[case.host, way][1] += 1
        if eager is None:
            eager = y
            cells.append(measured if good else f"{measured} !")
            continue
        apart = case.apart(y, case.values(eager))
        cells.append(f"{apart:.1e}{'' if good else f', {measured} !' if case.classes else ' !'}")
    bound = f"{case.claim['bound']:.2e}" if not case.classes else "labels"
    return f"| {case.host} | `{case.about['name']}` | {bound} | {' | '.join(cells)} |"


def main():
    pack, device = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "cuda"
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    name = torch.cuda.get_device_name() if device == "cuda" else device
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, {name}\n", flush=True)
    ways = [way for way in WAYS if device == "cuda" or way[0] not in CUDA_ONLY]
    names = [way[0] for way in ways]
    inside = {(host, way): [0, 0] for host in HOSTS for way in names}
    refused, lines, begun = {}, [], time.monotonic()
    for place in networks_of(pack):
        for host in HOSTS:
            if (place / host).exists():
                case = Case(place, host, device)
                if word in case.about["name"]:
                    lines.append(row(case, ways, inside, refused))
                    print(f"{time.monotonic() - begun:.0f} s {lines[-1]}", file=sys.stderr, flush=True)
    print(f"| inside of the claim | {' | '.join(names)} |\n{'|---' * (1 + len(names))}|")
    for host in HOSTS:
        cells = [f"{good} of {run}" if run else "–" for good, run in (inside[host, way] for way in names)]
        print(f"| {host} | {' | '.join(cells)} |")
    for why, places in refused.items():
        print(f"\n- does not run ({len(places)} of classes and ways: {', '.join(sorted({way for _, way in places}))}): {why}")
    print(f"\n| host | target | bound | {' | '.join(names)} |\n{'|---' * (3 + len(names))}|")
    print("\n".join(lines))
    sys.exit(0 if all(inside[host, "eager"][0] == inside[host, "eager"][1] for host in HOSTS) else 1)


if __name__ == "__main__":
    main()
