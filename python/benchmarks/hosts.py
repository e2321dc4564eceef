"""Networks inside of stock Transformers, loaded by `transformers`: measured errors against certified ones, and what
norms and activations do.

    python python/benchmarks/hosts.py FORMWRIGHT [--device cuda] [--pack DIR] [--only WORD]

FORMWRIGHT is the command-line program. Needs torch, transformers, safetensors, mpmath. It prints the tables of
measurements/hosts.md, and exits with 1 if an error is above its bound, a label is wrong, or a norm or an activation is
outside of the model (HOSTS.md). With --pack the folders are kept, with points and what is wanted there, for
measurements/hosts_gpu.py.

networks     every target of the catalogue in every class, as `formwright export --format hf` wrote it, loaded by
             from_pretrained; random sequences and corners of the box, against the target in float64; on integers
             every sequence, or random ones, and labels
norms        norms of mirrored vectors with a pin: how far half-differences are from what they were, relatively, in
             units of u
activations  the largest |computed - exact|/|x| where the model has a bound of it, 2^-20 (2^-49); and whether x and 0
             are what is left beyond
"""

import argparse
import itertools
import json
import math
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file

POINTS = 20_000
PACKED = 2_000
HOSTS = ["bert", "t5", "modernbert", "gpt2", "opt", "llama"]


def mean(x):
    return x.mean(1, keepdim=True)


def deviations(x):
    return x - mean(x)


def variance(x):
    return deviations(x).square().mean(1, keepdim=True)


def running(x):
    """1, 2, 3, …, for means of the tokens so far."""
    return torch.arange(1, x.shape[1] + 1, dtype=x.dtype, device=x.device)[:, None]


def prefix(x):
    return x.cumsum(1) / running(x)


def pairs(x, f):
    """f of every token and every other, [batch, other, token, dims]."""
    return f(x[:, :, None], x[:, None, :])


def previous(x):
    return torch.cat([x[:, :1], x[:, :-1]], 1)


def shifted(x):
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)


def moving(x):
    around = [[y for y in (t - 1, t, t + 1) if 0 <= y < x.shape[1]] for t in range(x.shape[1])]
    return torch.stack([x[:, at].mean(1) for at in around], 1)


def earlier_or_equal(x):
    """How many tokens are smaller, or equal and earlier."""
    before = torch.ones(x.shape[1], x.shape[1]).triu(1)[None, :, :, None]
    return pairs(x, lambda y, x: (y < x) + (y == x) * before).sum(1)


def most_frequent(x):
    counts = pairs(x, lambda y, x: (y == x).double()).sum(1)
    return torch.where(counts == counts.amax(1, keepdim=True), x, 10.0).amin(1, keepdim=True)


def brackets(x):
    depth = (2 * x - 1).cumsum(1)
    return ((depth.amin(1, keepdim=True) >= 0) & (depth[:, -1:] == 0)).double()


# Target, tokens, options, the function in float64, for one token or all.
TARGETS = [
    ("identity", 8, [], lambda x: x),
    ("complement", 8, [], lambda x: 1 - x),
    ("square", 8, [], lambda x: x**2),
    ("mean-centring", 16, [], deviations),
    ("max-broadcast", 8, [], lambda x: x.amax(1, keepdim=True)),
    ("range-broadcast", 8, [], lambda x: x.amax(1, keepdim=True) - x.amin(1, keepdim=True)),
    ("pairwise-means", 8, [], lambda x: (x + mean(x)) / 2),
    ("distance", 3, [], lambda x: pairs(x, lambda y, x: (y - x).abs()).mean(1)),
    ("times-mean", 8, [], lambda x: x * mean(x)),
    ("gap-to-max", 8, [], lambda x: (x.amax(1, keepdim=True) - x) ** 2),
    ("variance", 8, [], variance),
    ("z-score", 16, [], lambda x: deviations(x) / torch.sqrt(variance(x) + 0.01)),
    ("z-score", 16, ["--trade", "depth"], lambda x: deviations(x) / torch.sqrt(variance(x) + 0.01)),
    ("z-score", 16, ["--precision", "f64"], lambda x: deviations(x) / torch.sqrt(variance(x) + 0.01)),
    ("softmax", 4, [], lambda x: x.softmax(1)),
    ("log-sum-exp", 8, [], lambda x: x.logsumexp(1, keepdim=True)),
    ("attention-pooling", 4, [], lambda x: ((2 * x).softmax(1) * x).sum(1, keepdim=True)),
    ("l2-normalise", 8, [], lambda x: x / torch.sqrt(x.square().sum(1, keepdim=True) + 0.01)),
    ("power-mean", 8, [], lambda x: (mean(x**3) + 0.01) ** (1 / 3)),
    ("sort", 3, [], lambda x: x.sort(1).values),
    ("reverse", 8, [], lambda x: x.flip(1)),
    ("shift", 8, [], shifted),
    ("rotate", 8, [], lambda x: x.roll(1, 1)),
    ("difference", 8, [], lambda x: x - shifted(x)),
    ("prefix-sum", 8, [], lambda x: x.cumsum(1)),
    ("prefix-mean", 8, [], prefix),
    ("first", 8, [], lambda x: x[:, :1]),
    ("previous-token", 8, [], previous),
    ("moving-average", 8, [], moving),
    ("(x - mean(x, j <= i)) * mean(x, j <= i)", 8, [], lambda x: (x - prefix(x)) * prefix(x)),
    ("(x - mean(x, j <= i)) * mean(x, j <= i)", 8, ["--precision", "f64"], lambda x: (x - prefix(x)) * prefix(x)),
    ("max(x, j <= i)", 8, [], lambda x: x.cummax(1).values),
    ("histogram", 4, [], lambda x: pairs(x, lambda y, x: (y == x).double()).sum(1)),
    ("count-less", 4, [], lambda x: pairs(x, lambda y, x: (y < x).double()).sum(1)),
    ("most-frequent", 4, [], most_frequent),
    ("pair-balance", 16, [], lambda x: 2 * mean(x) - 1),
    ("parity", 16, [], lambda x: x.sum(1, keepdim=True) % 2),
    ("modular-sum", 6, [], lambda x: x.sum(1, keepdim=True) % 5),
    ("sort-integers", 5, [], lambda x: x.sort(1).values),
    ("sort-integers", 8, [], lambda x: x.sort(1).values),
    ("sorted-place", 4, [], earlier_or_equal),
    ("median", 4, [], lambda x: x.sort(1).values[:, x.shape[1] // 2, None]),
    ("fraction-of-ones", 7, [], lambda x: prefix((x == 1).double())),
    ("dyck-1", 16, [], brackets),
    ("max(x, j <= i) on integers 0..5", 6, [], lambda x: x.cummax(1).values),
    ("sum(x, j <= i) mod 5 on integers 0..5", 6, [], lambda x: x.cumsum(1) % 5),
    ("count(x == 1, j <= i) on integers 0..4", 7, [], lambda x: (x == 1).double().cumsum(1)),
]


def run(*command):
    """What a command prints; what it declines, as the first line of why."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode == 2:
        return None, done.stderr.splitlines()[0].split(": ", 1)[-1]
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr}")
    return done.stdout, None


def sequences(manifest, low, high, tokens, dims):
    """Points of the box; on integers the numbers of the words."""
    torch.manual_seed(20200226)
    if manifest["vocabulary"]:
        count = len(manifest["vocabulary"])
        if count**tokens <= 100_000:
            return torch.tensor(list(itertools.product(range(count), repeat=tokens)))
        return torch.randint(0, count, (POINTS, tokens))
    x = torch.rand(POINTS, tokens, dims, dtype=torch.float64)
    x[::4] = x[::4].round()
    return low + (high - low) * x


def outputs(stock, folder, manifest, x):
    """The logits of a host, in float64; of next tokens those that are outputs."""
    device, logits = stock.device, []
    vocabulary = manifest["vocabulary"]
    with torch.no_grad():
        for part in x.split(2048):
            if vocabulary:
                y = stock(input_ids=part.to(device)).logits
            else:
                inputs = {name: tensor.to(device) for name, tensor in load_file(folder / "inputs.safetensors").items()}
                vectors = part.to(device, stock.dtype) @ inputs["weight"].T + inputs["bias"]
                y = stock(inputs_embeds=vectors).logits
            logits.append(y.double().cpu())
    return torch.cat(logits)[..., : len(stock.config.id2label)]


def network(out, name, tokens, summary, exact, device, pack):
    """A row of the table, and whether all is well."""
    manifest = json.loads((out / "formwright.json").read_text())
    stock, info = getattr(transformers, manifest["loader"]).from_pretrained(out, output_loading_info=True)
    assert not any(info.values()) and stock.config._attn_implementation == "eager", info
    stock = stock.eval().to(device)
    low, high = (float(Fraction(str(x))) for x in summary["box"])
    x = sequences(manifest, low, high, tokens, summary["dims"])
    y = outputs(stock, out, manifest, x)
    claim = manifest["claim"]
    numbers = x
    if manifest["vocabulary"]:
        numbers = torch.tensor([float(word) for word in manifest["vocabulary"]], dtype=torch.float64)[x][..., None]
    wanted = exact(numbers).double().expand(len(x), tokens, -1)
    if manifest["classes"]:
        found = torch.tensor(manifest["classes"], dtype=torch.float64)[y.argmax(-1, keepdim=True)]
        right = (found == wanted).all(-1).all(-1).sum().item()
        measured, good = f"{right:,} of {len(x):,} right", right == len(x)
    else:
        error = (y - wanted).abs().max().item()
        measured, good = f"{error:.2e}", error <= claim["bound"]
    parameters = sum(p.numel() for p in stock.parameters())
    blocks, width = stock.config.num_hidden_layers, stock.config.hidden_size
    share = claim["host_term"] / (0.5 if manifest["vocabulary"] else 0.01)
    pin, scale = (int(math.log2(x)) for x in (manifest["pin"]["value"], manifest["scale"]))
    row = [
        manifest["host"], f"`{name}`", tokens, blocks, width, f"{parameters:,}", f"2^{pin}, 2^{scale}",
        f"{claim['plain']:.3e}", f"{claim['bound']:.3e}", f"{claim['host_term']:.1e}", f"{100 * share:.2g} %", measured,
    ]  # fmt: skip
    print(f"| {' | '.join(map(str, row))} |", flush=True)
    if pack:
        some = torch.randperm(len(x))[:PACKED]
        save_file({"x": x[some].contiguous(), "y": wanted[some].contiguous()}, out / "points.safetensors")
        place = pack / f"{manifest['host']}-{len(list(pack.iterdir()))}"
        shutil.copytree(out, place)
        (place / "name").write_text(name)
    return good


def networks(formwright, folder, device, pack, only):
    """The table of networks, and whether all is well; what is declined, behind it."""
    good, declined = True, {}
    for number, (target, tokens, options, exact) in enumerate(TARGETS):
        name = " ".join([target, *options])
        if only not in name:
            continue
        model = folder / f"model{number}"
        _, why = run(
            formwright, "build", target, "--tokens", tokens, "--construction", "circuit", *options, "--no-check", "-o", model
        )
        if why:
            declined.setdefault(why, []).append((name, "any"))
            continue
        summary = json.loads(run(formwright, "inspect", model, "--json")[0])
        for host in HOSTS:
            out = folder / f"host{number}-{host}"
            _, why = run(formwright, "export", model, "--format", "hf", "--host", host, "-o", out)
            if why:
                declined.setdefault(why, []).append((name, host))
            else:
                good &= network(out, name, tokens, summary, exact, device, pack)
    print("\n| declined | of |\n|---|---|")
    for why, places in declined.items():
        print(f"| {why} | {', '.join(f'`{name}` in {host}' for name, host in places)} |")
    return good


def norms(dtype, device):
    """Half-differences behind norms."""
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

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
        centred = torch.nn.functional.layer_norm(v, (width,), g, torch.zeros_like(g), 1e-12)
        kinds = [("LayerNorm", centred, (width + 32) / 2 + 8 + 3)]
        if dtype == torch.float32:
            root = LlamaRMSNorm(width, 1e-12).to(device)
            root.weight.data = g
            kinds.append(("RMSNorm", root(v).detach(), (width + 4) / 2 + 8 + 3))
        for kind, h, allowed in kinds:
            h = h.double().cpu()
            read = (h[:, :half] - h[:, half:]) / 2
            factor = pin / torch.sqrt((z * z).sum(1, keepdim=True))
            worst = (read / (z * factor) - 1).abs().max().item() / unit
            good &= worst <= allowed
            print(f"| {kind}, D = {width} | {dtype} | {worst:.2f} u | {allowed:.0f} u | |")
    return good


def exactly(name, x):
    """An activation, in float64."""
    if name == "gelu":
        return 0.5 * x * torch.special.erfc(-x * math.sqrt(0.5))
    if name == "silu":
        return x * torch.sigmoid(x)
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def in_many_digits(name, a):
    import mpmath

    mpmath.mp.prec = 160
    a = mpmath.mpf(a)
    if name == "gelu":
        return a * mpmath.ncdf(a)
    if name == "silu":
        return a / (1 + mpmath.exp(-a))
    return a * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (a + mpmath.mpf("0.044715") * a**3))) / 2


def activations(dtype, device):
    """GELU by erf and by tanh, and SiLU."""
    from transformers.activations import ACT2FN

    good = True
    few = dtype == torch.float64
    allowed = 2.0**-49 if few else 2.0**-20
    for name, end in (("gelu", 16), ("gelu_new", 16), ("silu", 64)):
        worst = 0.0
        function = ACT2FN[name]
        if few:
            torch.manual_seed(1)
            parts = [end * (2 * torch.rand(4000, dtype=dtype) - 1), torch.randn(4000, dtype=dtype)]
            x = torch.cat([*parts, 1e-3 * torch.randn(500, dtype=dtype)])
            y = function(x.to(device)).cpu()
            for a, b in zip(x.tolist(), y.tolist()):
                worst = max(worst, abs(float((b - in_many_digits(name, a)) / a)))
        else:
            # Every fourth number of each binade.
            mantissas = 1 + torch.arange(0, 1 << 23, 4, dtype=torch.float64) / (1 << 23)
            for exponent, sign in itertools.product(range(-24, int(math.log2(end))), (1.0, -1.0)):
                x = (sign * 2.0**exponent * mantissas).to(device)
                y = function(x.to(dtype)).double()
                worst = max(worst, ((y - exactly(name, x)) / x).abs().max().item())
        beyond = end * 2.0 ** torch.arange(0, 34.0, 1 / 4096, dtype=torch.float64).to(device, dtype)
        saturates = bool((function(beyond) == beyond).all() and (function(-beyond).abs() <= 2.0**-80).all())
        good &= saturates and worst <= allowed
        beyond = f"x and 0 from {end} on" if saturates else "does not saturate"
        print(f"| {name} | {dtype} | {worst:.2e} | {allowed:.2e} | {beyond} |", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("formwright", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    if asked.pack:
        asked.pack.mkdir(parents=True)
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, {asked.device}\n")
    transformers.utils.logging.disable_progress_bar()
    head = "host | target | tokens | blocks | width | parameters | C, s | network | in the host | host term | share | measured"
    print(f"| {head} |\n{'|---' * 12}|")
    with tempfile.TemporaryDirectory() as folder:
        good = networks(asked.formwright.resolve(), Path(folder), asked.device, asked.pack, asked.only)
    if not asked.only:
        print("\n| what | format | measured | allowed | |\n|---|---|---|---|---|")
        for dtype in (torch.float32, torch.float64):
            good &= norms(dtype, asked.device)
            good &= activations(dtype, asked.device)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
