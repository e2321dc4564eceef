"""Networks inside of stock Transformers, loaded by `transformers`: measured errors against certified ones, and what
norms and activations do.

    python python/benchmarks/hosts.py --formwright PROGRAM [--device cuda] [--pack DIR] [--only WORD]
    python python/benchmarks/hosts.py --packed DIR [--device cuda]

Needs torch, transformers, safetensors, mpmath. PROGRAM is the command-line program, `--packed` takes what an earlier run
left in `--pack`, on a machine without formwright. It prints the tables of measurements/hosts.md, and exits with 1 if
an error is above its bound, a label is wrong, a target of the catalogue is left out, or a norm or an activation is
outside of the model (HOSTS.md).

networks     every target of the catalogue in every class, as `formwright export --format hf` wrote it, loaded by
             from_pretrained; random sequences and corners of the box, against the target in float64; on integers
             every sequence, or random ones, and labels. Where the host takes more than 1 % of the tolerance, in
             double precision as well, if the class has it
norms        norms of mirrored vectors with a pin: how far half-differences are from what they were, relatively, in
             units of u
activations  the largest |computed - exact|/|x| where the model has a bound of it, 2^-20 (2^-49); and whether x and 0
             are what is left beyond
"""

import argparse
import importlib.util
import itertools
import json
import math
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file

POINTS = 20_000
ALL_UP_TO = 1_000_000
NAMES = {torch.float32: "f32", torch.float64: "f64"}
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


def addition(x):
    """The digits of a + b, from the last to the first, behind each other; zeros beyond the sum."""
    half = x.shape[1] // 2
    ten = 10 ** torch.arange(x.shape[1], dtype=torch.float64, device=x.device)[:, None]
    total = (x[:, :half] * ten[:half] + x[:, half : 2 * half] * ten[:half]).sum(1, keepdim=True)
    return (total / ten).floor() % 10


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
    ("z-score", 16, ["--trade", "width"], lambda x: deviations(x) / torch.sqrt(variance(x) + 0.01)),
    ("z-score", 16, ["--trade", "depth"], lambda x: deviations(x) / torch.sqrt(variance(x) + 0.01)),
    ("softmax", 4, [], lambda x: x.softmax(1)),
    ("log-sum-exp", 8, [], lambda x: x.logsumexp(1, keepdim=True)),
    ("attention-pooling", 4, [], lambda x: ((2 * x).softmax(1) * x).sum(1, keepdim=True)),
    ("l2-normalise", 8, [], lambda x: x / torch.sqrt(x.square().sum(1, keepdim=True) + 0.01)),
    ("power-mean", 8, [], lambda x: (mean(x**3) + 0.01) ** (1 / 3)),
    ("rank", 4, [], lambda x: pairs(x, lambda y, x: (y < x).double()).mean(1)),
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
    ("addition", 4, [], addition),
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


def build(formwright, place, number, hosts, more):
    """Writes a network and its hosts, and what is known of them; the classes that double precision would serve."""
    target, tokens, options, _ = TARGETS[number]
    options = [*options, *more]
    why = run(
        formwright, "build", target, "--tokens", tokens, "--construction", "circuit", *options, "--no-check", "-o", place / "network"
    )[1]  # fmt: skip
    name = " ".join([target, *options])
    if why:
        place.mkdir()
        about = {"name": name, "declined": dict.fromkeys(hosts, why)}
        (place / "about.json").write_text(json.dumps(about))
        return []
    summary = json.loads(run(formwright, "inspect", place / "network", "--json")[0])
    low, high = (float(Fraction(str(x))) for x in summary["box"])
    about = {"name": name, "target": number, "tokens": tokens, "box": [low, high], "dims": summary["dims"], "declined": {}}
    for host in hosts:
        out = place / host
        why = run(formwright, "export", place / "network", "--format", "hf", "--host", host, "-o", out)[1]
        if why:
            about["declined"][host] = why
    (place / "about.json").write_text(json.dumps(about))
    print(f"{name}: {len(hosts) - len(about['declined'])} hosts", file=sys.stderr, flush=True)
    return [host for host in hosts if host not in about["declined"] and Case(place, host, "cpu").share() > 0.01]


def build_all(formwright, folder, only):
    """Writes all networks that there are."""
    known = {target["name"] for target in json.loads(run(formwright, "targets", "--json")[0])["targets"]}
    left_out = known - {target for target, *_ in TARGETS}
    if left_out and not only:
        raise SystemExit(f"left out: {', '.join(sorted(left_out))}")
    for number, (target, *_) in enumerate(TARGETS):
        if only in target:
            dear = build(formwright, folder / f"{number:02}", number, HOSTS, [])
            if dear:
                build(formwright, folder / f"{number:02}d", number, dear, ["--precision", "f64"])


def sequences(manifest, tokens, low, high, dims, points):
    """Points of the box; on integers the numbers of the words, all sequences if they are not too many."""
    torch.manual_seed(20200226)
    if manifest["vocabulary"]:
        count = len(manifest["vocabulary"])
        if count**tokens <= ALL_UP_TO:
            return torch.cartesian_prod(*[torch.arange(count)] * tokens).reshape(-1, tokens)
        return torch.randint(0, count, (points, tokens))
    x = torch.rand(points, tokens, dims, dtype=torch.float64)
    x[::4] = x[::4].round()
    return low + (high - low) * x


class Case:
    """A host with the sequences with which it is measured: of all lengths, most of them of the largest."""

    def __init__(self, place, host, device):
        self.folder, self.host, self.device = place / host, host, torch.device(device)
        self.about = json.loads((place / "about.json").read_text())
        self.manifest = json.loads((self.folder / "formwright.json").read_text())
        self.claim, self.classes = self.manifest["claim"], self.manifest["classes"]
        least, most = self.claim["tokens"]["min"], self.claim["tokens"]["max"]
        self.x = []
        for tokens in range(least, most + 1):
            points = POINTS if tokens == most else POINTS // 10
            self.x.append(sequences(self.manifest, tokens, *self.about["box"], self.about["dims"], points))
        self.numbers = self.x
        if self.manifest["vocabulary"]:
            values = torch.tensor([float(word) for word in self.manifest["vocabulary"]], dtype=torch.float64)
            self.numbers = [values[x][..., None] for x in self.x]
        exact = TARGETS[self.about["target"]][3]
        self.wanted = [by_parts(lambda x: exact(x).double().expand(len(x), x.shape[1], -1), x) for x in self.numbers]

    def share(self):
        """What the host takes of the tolerance, 1/100, or of the 1/2 within which rounding is exact."""
        whole = all((y == y.round()).all() for y in self.wanted)
        return self.claim["host_term"] / (0.5 if whole else 0.01)

    def load(self, **how):
        loader = getattr(transformers, self.manifest["loader"])
        stock, info = loader.from_pretrained(self.folder, output_loading_info=True, **how)
        assert not any(info.values()), info
        return stock.eval().to(self.device)

    def outputs(self, stock, batch=2048):
        """The logits of every length, in float64; of next tokens those that are outputs."""
        inputs = {}
        if not self.manifest["vocabulary"]:
            inputs = load_file(self.folder / "inputs.safetensors")
            inputs = {name: tensor.to(self.device, stock.dtype) for name, tensor in inputs.items()}

        def logits(x):
            x = x.to(self.device)
            if not inputs:
                return stock(input_ids=x).logits.double().cpu()
            return stock(inputs_embeds=x.to(stock.dtype) @ inputs["weight"].T + inputs["bias"]).logits.double().cpu()

        with torch.no_grad():
            return [by_parts(logits, x, batch)[..., : len(stock.config.id2label)] for x in self.x]

    def values(self, y):
        """The outputs: of logits 2vy - v², y, as the first and the last tell it."""
        if not self.classes or len(self.classes) == 1:
            return y
        v = torch.tensor(self.classes, dtype=torch.float64)
        low, high = v.argmin(), v.argmax()
        told = [y[..., high] - y[..., low] + v[high] ** 2 - v[low] ** 2 for y in y]
        return [(y / (2 * (v[high] - v[low])))[..., None] for y in told]

    def apart(self, y, others):
        """How far outputs are from others, at most."""
        return max((a - b).abs().max().item() for a, b in zip(self.values(y), others))

    def told(self, y):
        """What was measured, and whether it is inside of the claim."""
        if self.classes:
            classes = torch.tensor(self.classes, dtype=torch.float64)
            right = [(classes[y.argmax(-1, keepdim=True)] == z).flatten(1).all(-1) for y, z in zip(y, self.wanted)]
            right, count = sum(x.sum().item() for x in right), sum(len(x) for x in right)
            return f"{right:,} of {count:,} right", right == count
        error = max((y - z).abs().max().item() for y, z in zip(y, self.wanted))
        return f"{error:.2e}", error <= self.claim["bound"]


def by_parts(f, x, size=2048):
    return torch.cat([f(part) for part in x.split(size)])


def networks_of(folder):
    """The places of all networks, in order."""
    return sorted(path.parent for path in folder.glob("*/about.json"))


def by_itself(place):
    """The network by itself, in float64: its weights are those of the folder."""
    source = Path(__file__).parents[1] / "formwright" / "torch.py"
    spec = importlib.util.spec_from_file_location("formwright_torch", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(place / "network").double().eval()


def row(case, network):
    """A row of the table, and whether all is well."""
    stock = case.load()
    assert stock.config._attn_implementation == "eager"
    y = case.outputs(stock)
    measured, good = case.told(y)
    with torch.no_grad():
        apart = case.apart(y, [by_parts(network, x) for x in case.numbers])
    claim, config = case.claim, stock.config
    parameters = sum(p.numel() for p in stock.parameters())
    pin, scale = (int(math.log2(x)) for x in (case.manifest["pin"]["value"], case.manifest["scale"]))
    cells = [
        f"`{case.about['name']}`", case.about["tokens"], config.num_hidden_layers, config.hidden_size, f"{parameters:,}",
        f"2^{pin}, 2^{scale}", f"{claim['plain']:.3e}", f"{claim['bound']:.3e}", f"{claim['host_term']:.1e}",
        f"{100 * case.share():.2g} %", f"{apart:.1e}", measured,
    ]  # fmt: skip
    print(f"{case.host}: {cells[0]} {measured}{'' if good else ' WRONG'}", file=sys.stderr, flush=True)
    return f"| {' | '.join(map(str, cells))} |", good


def alike(why):
    """Why something is declined, without numbers and names."""
    why = re.sub(r"block \d+, head \d+", "a head", why)
    why = re.sub(r"register \d+", "a register", why)
    return re.sub(rf"\b({'|'.join(HOSTS)})\b", "the class", why)


def networks(folder, device):
    """The tables of networks, and whether all is well."""
    good, rows, overview, reasons = True, {host: [] for host in HOSTS}, [], {}
    for place in networks_of(folder):
        about = json.loads((place / "about.json").read_text())
        cells = []
        hosts = [host for host in HOSTS if (place / host).exists()]
        network = by_itself(place) if hosts else None
        for host in HOSTS:
            if host in hosts:
                case = Case(place, host, device)
                line, well = row(case, network)
                good &= well
                rows[host].append(line)
                cells.append(f"{100 * case.share():.2g} %")
            elif host in about["declined"]:
                why = reasons.setdefault(alike(about["declined"][host]), len(reasons))
                cells.append(f"({chr(ord('a') + why)})")
            else:
                cells.append("")
        overview.append(f"| `{about['name']}` | {' | '.join(cells)} |")
    print(f"| target | {' | '.join(HOSTS)} |\n{'|---' * 7}|")
    print("\n".join(overview))
    print("\n| | declined |\n|---|---|")
    for why, at in reasons.items():
        print(f"| ({chr(ord('a') + at)}) | {why} |")
    head = "target | tokens | blocks | width | parameters | C, s | network | in the host | host term | share | apart | measured"
    for host, lines in rows.items():
        print(f"\n### {host}: {len(lines)} networks\n\n| {head} |\n{'|---' * 12}|")
        print("\n".join(lines))
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
            print(f"| {kind}, D = {width} | {NAMES[dtype]} | {worst:.2f} u | {allowed:.0f} u | |")
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
        print(f"| {name} | {NAMES[dtype]} | {worst:.2e} | {allowed:.2e} | {beyond} |", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--formwright", type=Path)
    what.add_argument("--packed", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        folder = asked.packed or asked.pack or Path(folder)
        if asked.formwright:
            folder.mkdir(parents=True, exist_ok=True)
            build_all(asked.formwright.resolve(), folder, asked.only)
        print(f"transformers {transformers.__version__}, torch {torch.__version__}, {asked.device}\n")
        good &= networks(folder, asked.device)
    if not asked.only:
        print("\n| what | format | measured | allowed | |\n|---|---|---|---|---|")
        for dtype in (torch.float32, torch.float64):
            good &= norms(dtype, asked.device)
            good &= activations(dtype, asked.device)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
