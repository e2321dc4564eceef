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
flash16    sdpa by flash attention, which has no other format, weights and inputs rounded to bfloat16
"""

import contextlib
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "benchmarks"))
from hosts import HOSTS, Case, networks_of  # noqa: E402

# Name, attention, format (None: that of the weights), kernel, TF32.
WAYS = [
    ("eager", "eager", None, None, False),
    ("tf32", "eager", None, None, True),
    ("sdpa", "sdpa", None, None, False),
    ("math", "sdpa", None, SDPBackend.MATH, False),
    ("efficient", "sdpa", None, SDPBackend.EFFICIENT_ATTENTION, False),
    ("float64", "eager", torch.float64, None, False),
    ("bfloat16", "eager", torch.bfloat16, None, False),
    ("flash16", "sdpa", torch.bfloat16, SDPBackend.FLASH_ATTENTION, False),
]
CUDA_ONLY = ("tf32", "efficient", "flash16")


def outputs(case, loaded, attention, dtype, kernel, tf32):
    """The logits of a host, run in this way; models are kept by attention and format."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    if (attention, dtype) not in loaded:
        loaded[attention, dtype] = case.load(attn_implementation=attention, dtype=dtype or "auto")
    stock = loaded[attention, dtype]
    assert stock.config._attn_implementation == attention
    with sdpa_kernel(kernel) if kernel else contextlib.nullcontext():
        return case.outputs(stock, 20_000)


def measured(place, host, device):
    """A row of the table: how many ways stay inside, and why others do not run."""
    torch.set_num_threads(2)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    case, cells, inside, refused = Case(place, host, device), [], {}, {}
    eager, loaded = None, {}
    for way, *how in ways(device):
        try:
            y = outputs(case, loaded, *how)
        except (RuntimeError, ValueError) as error:
            refused[way] = str(error).splitlines()[0][:100]
            cells.append("–")
            continue
        told, inside[way] = case.told(y)
        if eager is not None:
            told = f"{case.apart(y, eager):.1e}" + (f", {told}" if case.classes and not inside[way] else "")
        eager = eager or case.values(y)
        cells.append(told if inside[way] else f"{told} !")
    bound = "labels" if case.classes else f"{case.claim['bound']:.2e}"
    return f"| {host} | `{case.about['name']}` | {bound} | {' | '.join(cells)} |", host, inside, refused


def ways(device):
    return [way for way in WAYS if device == "cuda" or way[0] not in CUDA_ONLY]


def main():
    pack, device = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "cuda"
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    name = torch.cuda.get_device_name() if device == "cuda" else device
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, {name}\n", flush=True)
    places = [place for place in networks_of(pack) if word in (place / "about.json").read_text()]
    cases = [(place, host, device) for place in places for host in HOSTS if (place / host).exists()]
    lines, counts, refused = [], {}, {}
    with ProcessPoolExecutor(8 if device == "cuda" else 1, get_context("spawn")) as workers:
        for line, host, inside, why in workers.map(measured, *zip(*cases)):
            lines.append(line)
            for way, good in inside.items():
                counts.setdefault((host, way), []).append(good)
            for way, reason in why.items():
                refused.setdefault(reason, set()).add(f"{way} in {host}")
            print(line, file=sys.stderr, flush=True)
    names = [way[0] for way in ways(device)]
    print(f"| inside of the claim | {' | '.join(names)} |\n{'|---' * (1 + len(names))}|")
    for host in HOSTS:
        cells = [counts.get((host, way), []) for way in names]
        print(f"| {host} | {' | '.join(f'{sum(cell)} of {len(cell)}' if cell else '–' for cell in cells)} |")
    for reason, where in refused.items():
        print(f"\n- does not run, {', '.join(sorted(where))}: {reason}")
    print(f"\n| host | target | bound | {' | '.join(names)} |\n{'|---' * (3 + len(names))}|")
    print("\n".join(lines))
    sys.exit(0 if all(all(good) for (_, way), good in counts.items() if way == "eager") else 1)


if __name__ == "__main__":
    main()
