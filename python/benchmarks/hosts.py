"""Networks inside of stock Transformers, loaded by `transformers`: measured errors against certified ones, and what
norms and activations do.

    python python/benchmarks/hosts.py FORMWRIGHT [cuda]

FORMWRIGHT is the command-line program. Needs torch, transformers, safetensors. It prints the tables of
measurements/hosts.md, and exits with 1 if an error is above its bound, a label is wrong, or a norm or an activation is
outside of the model (HOSTS.md).

networks     every folder is what `formwright export --format hf` wrote, loaded by
             AutoModelForTokenClassification.from_pretrained; 20,000 random sequences and corners of the box, against
             the target in float64; on integers every sequence, or 20,000 random ones, and labels
norms        LayerNorm of mirrored vectors with a pin: how far half-differences are from what they were, relatively,
             in units of u
activations  the largest |computed - exact|/|x| for |x| < 16, where the model allows 2^-20 (2^-49); and whether x and 0
             are what is left beyond
"""

import itertools
import json
import math
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification

POINTS = 20_000


def running(x):
    """1, 2, 3, …, for means of the tokens so far."""
    return torch.arange(1, x.shape[1] + 1, dtype=x.dtype, device=x.device)[:, None]


def deviations(x):
    return x - x.mean(1, keepdim=True)


def z_score(x):
    return deviations(x) / torch.sqrt(deviations(x).square().mean(1, keepdim=True) + 0.01)


def prefix(x):
    return x.cumsum(1) / running(x)


# Target, tokens, options, hosts, the function in float64.
TARGETS = [
    ("mean-centring", 16, [], "bert", deviations),
    ("z-score", 16, ["--trade", "width"], "bert", z_score),
    ("z-score", 16, ["--trade", "depth"], "bert", z_score),
    ("z-score", 16, ["--trade", "width", "--precision", "f64"], "bert", z_score),
    ("z-score", 16, ["--trade", "depth", "--precision", "f64"], "bert", z_score),
    ("times-mean", 8, ["--trade", "width"], "bert", lambda x: x * x.mean(1, keepdim=True)),
    ("variance", 8, ["--trade", "width"], "bert", lambda x: deviations(x).square().mean(1, keepdim=True).expand_as(x)),
    ("max-broadcast", 8, [], "bert", lambda x: x.amax(1, keepdim=True).expand_as(x)),
    ("softmax", 4, ["--trade", "width"], "bert", lambda x: x.softmax(1)),
    ("reverse", 8, [], "bert", lambda x: x.flip(1)),
    ("prefix-mean", 8, [], "gpt2", prefix),
    ("(x - mean(x, j <= i)) * mean(x, j <= i)", 8, ["--trade", "width"], "gpt2", lambda x: (x - prefix(x)) * prefix(x)),
    ("sort-integers", 8, [], "bert", lambda x: x.sort(1).values),
    ("sort(x) on integers 0..4", 5, [], "bert", lambda x: x.sort(1).values),
    ("modular-sum", 4, [], "bert", lambda x: x.sum(1, keepdim=True).remainder(5).expand_as(x)),
    ("max(x, j <= i) on integers 0..4", 5, [], "gpt2", lambda x: x.cummax(1).values),
]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr}")
    return done.stdout


def sequences(manifest, low, high, tokens, dims):
    """Points of the box; on integers the numbers of the words."""
    torch.manual_seed(20200226)
    if manifest["vocabulary"]:
        count = len(manifest["vocabulary"])
        if count**tokens <= POINTS:
            return torch.tensor(list(itertools.product(range(count), repeat=tokens)))
        return torch.randint(0, count, (POINTS, tokens))
    x = torch.rand(POINTS, tokens, dims, dtype=torch.float64)
    x[::4] = x[::4].round()
    return low + (high - low) * x


def network(formwright, folder, target, tokens, options, host, exact, device):
    """A row of the table, and whether all is well."""
    number = len(list(folder.iterdir()))
    model, out = folder / f"model{number}", folder / f"host{number}"
    run(formwright, "build", target, "--tokens", tokens, *options, "-o", model)
    summary = json.loads(run(formwright, "inspect", model, "--json"))
    run(formwright, "export", model, "--format", "hf", "--host", host, "-o", out)
    manifest = json.loads((out / "formwright.json").read_text())
    stock, info = AutoModelForTokenClassification.from_pretrained(out, output_loading_info=True)
    assert not any(info.values()) and stock.config._attn_implementation == "eager", info
    stock = stock.eval().to(device)
    low, high = (float(Fraction(str(x))) for x in summary["box"])
    x = sequences(manifest, low, high, tokens, summary["dims"])
    logits = []
    with torch.no_grad():
        for part in x.split(2048):
            if manifest["vocabulary"]:
                y = stock(input_ids=part.to(device)).logits
            else:
                inputs = {name: tensor.to(device) for name, tensor in load_file(out / "inputs.safetensors").items()}
                vectors = part.to(device, stock.dtype) @ inputs["weight"].T + inputs["bias"]
                y = stock(inputs_embeds=vectors).logits
            logits.append(y.double().cpu())
    y = torch.cat(logits)
    claim = manifest["claim"]
    name = " ".join([target, *options])
    if manifest["classes"]:
        values = torch.tensor([float(word) for word in manifest["vocabulary"]], dtype=torch.float64)[x]
        wanted = exact(values)
        found = torch.tensor(manifest["classes"], dtype=torch.float64)[y.argmax(-1)]
        right = (found == wanted).all(-1).sum().item()
        measured, good = f"{right:,} of {len(x):,} right", right == len(x)
    else:
        error = (y - exact(x)).abs().max().item()
        measured, good = f"{error:.2e}", error <= claim["bound"]
    parameters = sum(p.numel() for p in stock.parameters())
    blocks, width = stock.config.num_hidden_layers, stock.config.hidden_size
    share = claim["host_term"] / 0.5 if manifest["classes"] else claim["host_term"] / 0.01
    pin, scale = (int(math.log2(x)) for x in (manifest["pin"]["value"], manifest["scale"]))
    row = [
        host, f"`{name}`", tokens, blocks, width, f"{parameters:,}", f"2^{pin}, 2^{scale}", f"{claim['plain']:.3e}",
        f"{claim['bound']:.3e}", f"{claim['host_term']:.1e}", f"{100 * share:.2g} %", measured,
    ]  # fmt: skip
    print(f"| {' | '.join(map(str, row))} |", flush=True)
    return good


def norms(dtype, device):
    """Half-differences behind LayerNorm."""
    torch.manual_seed(1)
    unit = torch.finfo(dtype).eps / 2
    good = True
    for width in (2, 8, 32, 128, 512):
        half = width // 2
        pin = 2.0 ** (12 if dtype == torch.float32 else 26)
        gain = pin / math.sqrt(half)  # C √(2/D)
        z = torch.randn(20_000, half, dtype=torch.float64).to(dtype).double()
        z[:, -1] = pin
        v = torch.cat([z, -z], 1).to(device, dtype)
        g = torch.full((width,), gain, dtype=dtype, device=device)
        h = torch.nn.functional.layer_norm(v, (width,), g, torch.zeros_like(g), 1e-12).double().cpu()
        read = (h[:, :half] - h[:, half:]) / 2
        factor = pin / torch.sqrt((z * z).sum(1, keepdim=True))
        worst = (read / (z * factor) - 1).abs().max().item() / unit
        allowed = (width + 32) / 2 + 8 + 3
        good &= worst <= allowed
        print(f"| norm, D = {width} | {dtype} | {worst:.2f} u | {allowed:.0f} u | |")
    return good


def activations(dtype, device):
    """GELU by erf and by tanh."""
    from transformers.activations import ACT2FN

    good = True
    few = dtype == torch.float64
    allowed = 2.0**-49 if few else 2.0**-20
    for name in ("gelu", "gelu_new"):
        worst = 0.0
        function = ACT2FN[name]
        if few:
            import mpmath

            mpmath.mp.prec = 120
            torch.manual_seed(1)
            parts = [16 * (2 * torch.rand(4000, dtype=dtype) - 1), torch.randn(4000, dtype=dtype)]
            x = torch.cat([*parts, 1e-3 * torch.randn(500, dtype=dtype)])
            y = function(x.to(device)).cpu()
            for a, b in zip(x.tolist(), y.tolist()):
                a = mpmath.mpf(a)
                tail = mpmath.sqrt(2 / mpmath.pi) * (a + mpmath.mpf("0.044715") * a**3)
                exact = a * mpmath.ncdf(a) if name == "gelu" else a * (1 + mpmath.tanh(tail)) / 2
                worst = max(worst, abs(float((b - exact) / a)))
        else:
            # Every fourth number of each binade.
            mantissas = 1 + torch.arange(0, 1 << 23, 4, dtype=torch.float64) / (1 << 23)
            for exponent, sign in itertools.product(range(-24, 4), (1.0, -1.0)):
                x = (sign * 2.0**exponent * mantissas).to(device)
                if name == "gelu":
                    exact = 0.5 * x * torch.special.erfc(-x * math.sqrt(0.5))
                else:
                    exact = x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
                y = function(x.to(dtype)).double()
                worst = max(worst, ((y - exact) / x).abs().max().item())
        beyond = 16 * 2.0 ** torch.arange(0, 36.0, 1 / 4096, dtype=torch.float64).to(device, dtype)
        saturates = bool((function(beyond) == beyond).all() and (function(-beyond).abs() <= 2.0**-100).all())
        good &= saturates and worst <= allowed
        beyond = "x and 0 from 16 on" if saturates else "does not saturate"
        print(f"| {name} | {dtype} | {worst:.2e} | {allowed:.2e} | {beyond} |")
    return good


def main():
    formwright, device = Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "cpu"
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, {device}\n")
    transformers.utils.logging.disable_progress_bar()
    good = True
    head = "host | target | tokens | blocks | width | parameters | C, s | network | in the host | host term | share | measured"
    print(f"| {head} |\n{'|---' * 12}|")
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            good &= network(formwright, Path(folder), *target, device)
    print("\n| what | format | measured | allowed | |\n|---|---|---|---|---|")
    for dtype in (torch.float32, torch.float64):
        good &= norms(dtype, device)
        good &= activations(dtype, device)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
