"""Networks inside of stock Transformers on another machine: what stays inside of the claim, and what leaves it.

    python python/benchmarks/hosts.py FORMWRIGHT --pack PACK      where formwright is
    python measurements/hosts_gpu.py PACK [DEVICE]                where torch and transformers are; DEVICE is cuda

Needs torch, transformers, safetensors, and nothing of formwright. Every folder of PACK is a host as exported, with
points.safetensors: inputs `x` and the target's values `y` in float64. A row is a host, its bound, and for every way to
run it the largest error, or how many sequences have the right label at every token; what leaves the claim is marked
with `!`. Only eager attention in the format of the weights is claimed; it exits with 1 if that leaves its claim.

eager      as config.json asks: the format of the weights, eager attention, no TF32
sdpa       scaled_dot_product_attention, whatever kernel PyTorch takes
flash, …   sdpa, by one kernel
tf32       eager, with products of matrices in TF32
float64    eager, weights and inputs widened
bfloat16   eager, weights and inputs rounded
"""

import contextlib
import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {"math": SDPBackend.MATH, "efficient": SDPBackend.EFFICIENT_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
# Name, attention, format (None: that of the weights), kernel, TF32.
WAYS = [
    ("eager", "eager", None, None, False),
    ("sdpa", "sdpa", None, None, False),
    *((name, "sdpa", None, backend, False) for name, backend in BACKENDS.items()),
    ("tf32", "eager", None, None, True),
    ("float64", "eager", torch.float64, None, False),
    ("bfloat16", "eager", torch.bfloat16, None, False),
]


def outputs(stock, folder, vocabulary, x):
    """The logits of a host, in float64; of next tokens those that are outputs."""
    device, dtype, logits = stock.device, stock.dtype, []
    inputs = {} if vocabulary else load_file(folder / "inputs.safetensors")
    inputs = {name: tensor.to(device, dtype) for name, tensor in inputs.items()}
    with torch.no_grad():
        for part in x.split(1024):
            if vocabulary:
                y = stock(input_ids=part.to(device)).logits
            else:
                vectors = part.to(device, dtype) @ inputs["weight"].T + inputs["bias"]
                y = stock(inputs_embeds=vectors).logits
            logits.append(y.double().cpu())
    return torch.cat(logits)[..., : len(stock.config.id2label)]


def told(manifest, y, wanted):
    """What was measured, and whether it is inside of the claim."""
    if manifest["classes"]:
        found = torch.tensor(manifest["classes"], dtype=torch.float64)[y.argmax(-1, keepdim=True)]
        right = (found == wanted).flatten(1).all(-1).sum().item()
        return f"{right} of {len(wanted)}", right == len(wanted)
    error = (y - wanted).abs().max().item()
    return f"{error:.2e}", error <= manifest["claim"]["bound"]


def measured(folder, manifest, device, attention, dtype, kernel, tf32):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    loader = getattr(transformers, manifest["loader"])
    stock = loader.from_pretrained(folder, attn_implementation=attention, dtype=dtype or "auto").eval().to(device)
    points = load_file(folder / "points.safetensors")
    with sdpa_kernel(kernel) if kernel else contextlib.nullcontext():
        return told(manifest, outputs(stock, folder, manifest["vocabulary"], points["x"]), points["y"])


def main():
    pack, device = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "cuda"
    transformers.utils.logging.disable_progress_bar()
    name = torch.cuda.get_device_name() if device == "cuda" else device
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, {name}\n")
    ways = [way for way in WAYS if device == "cuda" or way[0] not in ("efficient", "flash", "tf32")]
    print(f"| host | target | bound | {' | '.join(way[0] for way in ways)} |\n{'|---' * (3 + len(ways))}|")
    good, left = True, {way[0]: 0 for way in ways}
    folders = sorted(path for path in pack.iterdir() if (path / "formwright.json").exists())
    for folder in folders:
        manifest = json.loads((folder / "formwright.json").read_text())
        cells = []
        for way, *how in ways:
            try:
                cell, inside = measured(folder, manifest, device, *how)
                left[way] += not inside
                good &= inside or way != "eager"
                cells.append(cell if inside else f"{cell} !")
            except (RuntimeError, ValueError) as error:
                cells.append(f"does not run: {str(error).splitlines()[0][:40]}")
        target = (folder / "name").read_text()
        bound = f"{manifest['claim']['bound']:.3e}"
        print(f"| {manifest['host']} | `{target}` | {bound} | {' | '.join(cells)} |", flush=True)
    print("\n" + ", ".join(f"{way}: {count} of {len(folders)} leave the claim" for way, count in left.items()))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
