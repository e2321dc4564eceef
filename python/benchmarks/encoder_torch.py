"""The encoder of the lab in PyTorch: the same model, batch, precision and training steps; tokens per second, eager and compiled.

    python python/benchmarks/encoder_torch.py [--mixer attention] [--precision f32|bf16] [--compile]

Beside `cargo run --release -p formwright-lab --example throughput` with `--features cuda` or `libtorch`, which takes the same sizes and prints the same line. Needs torch and nothing else.
bf16 is mixed precision: weights and optimiser in f32, activations by autocast. f32 products are not TF32, as is PyTorch's default, unless --tf32 is there.
"""

import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, _tokens):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return self.output(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))


class Average(nn.Module):
    def __init__(self, width, _heads, _tokens):
        super().__init__()
        self.output = nn.Linear(width, width)

    def forward(self, x):
        return self.output(x.mean(1, keepdim=True)).expand_as(x)


class BProj(nn.Module):
    def __init__(self, width, _heads, tokens):
        super().__init__()
        self.mix = nn.Parameter(0.02 * torch.randn(tokens, tokens))
        self.output = nn.Linear(width, width)

    def forward(self, x):
        return self.output(self.mix @ x)


class SepConv(nn.Module):
    """Filters of a length, each for a group of neighbouring dimensions, zeros beyond the ends."""

    def __init__(self, width, _heads, _tokens, filters=16, length=128):
        super().__init__()
        self.input = nn.Linear(width, 2 * width)
        self.filters = nn.Parameter(0.02 * torch.randn(filters, 1, length))
        self.output = nn.Linear(width, width)

    def forward(self, x):
        b, n, d = x.shape
        f, _, k = self.filters.shape
        x = F.glu(self.input(x)).view(b, n, f, d // f).permute(0, 3, 2, 1).reshape(b * d // f, f, n)
        x = F.conv1d(F.pad(x, (k // 2, k - 1 - k // 2)), self.filters.to(x.dtype), groups=f)
        return self.output(x.view(b, d // f, f, n).permute(0, 3, 2, 1).reshape(b, n, d))


MIXERS = {"attention": Attention, "average": Average, "bproj": BProj, "sepconv": SepConv}


class Layer(nn.Module):
    def __init__(self, mixer, width, heads, hidden, tokens):
        super().__init__()
        self.mixer = MIXERS[mixer](width, heads, tokens)
        self.wide, self.narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def forward(self, x):
        x = self.norms[0](x + self.mixer(x))
        return self.norms[1](x + self.narrow(F.gelu(self.wide(x))))


class Masked(nn.Module):
    """The encoder, norms behind the sub-layers, and the masked-LM head, whose matrix is the table of words."""

    def __init__(self, a):
        super().__init__()
        self.words, self.positions = nn.Embedding(a.vocabulary, a.width), nn.Embedding(a.tokens, a.width)
        self.norm, self.head_norm = (nn.LayerNorm(a.width, eps=1e-12) for _ in range(2))
        self.layers = nn.ModuleList(Layer(a.mixer, a.width, a.heads, a.hidden, a.tokens) for _ in range(a.layers))
        self.transform = nn.Linear(a.width, a.width)
        self.bias = nn.Parameter(torch.zeros(a.vocabulary))
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.trunc_normal_(module.weight, std=0.02, a=-0.04, b=0.04)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, ids, places, labels):
        x = self.norm(self.words(ids) + self.positions.weight)
        for layer in self.layers:
            x = layer(x)
        x = x.gather(1, places[:, :, None].expand(-1, -1, x.shape[2])).flatten(0, 1)
        x = self.head_norm(F.gelu(self.transform(x)))
        return F.cross_entropy(F.linear(x, self.words.weight, self.bias).float(), labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mixer", choices=MIXERS, default="attention")
    sizes = {"layers": 12, "width": 512, "heads": 8, "hidden": 2048, "vocabulary": 16384, "tokens": 128, "batch": 128}
    for name, default in {**sizes, "steps": 20, "warm-up": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    a = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = a.tf32
    torch.manual_seed(1)
    model = Masked(a).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device == "cuda")
    asked = -(-a.tokens * 15 // 100)
    ids = torch.randint(a.vocabulary, (a.batch, a.tokens), device=device)
    places = torch.randint(a.tokens, (a.batch, asked), device=device)
    labels = torch.randint(a.vocabulary, (a.batch * asked,), device=device)
    forward = torch.compile(model) if a.compile else model
    spent = [0.0, 0.0, 0.0]

    def synchronised():
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def step(pause):
        times = [pause()]
        with torch.autocast(device, torch.bfloat16, enabled=a.precision == "bf16"):
            loss = forward(ids, places, labels)
        times.append(pause())
        loss.backward()
        times.append(pause())
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(pause())
        for part in range(3):
            spent[part] += times[part + 1] - times[part]
        return loss

    for index in range(a.warm_up + a.steps):
        if index == a.warm_up:
            spent[:] = [0.0, 0.0, 0.0]
        step(synchronised)
    parts = [1e3 * part / a.steps for part in spent]
    start = synchronised()
    for _ in range(a.steps):
        loss = step(time.perf_counter)
    seconds = (synchronised() - start) / a.steps
    named = a.precision + (", TF32" if a.tf32 else "") + (", compiled" if a.compile else "")
    parameters = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    print(
        f"torch {torch.__version__} {named}: {a.mixer}*{a.layers} of width {a.width}, {parameters:.1f} M parameters, {a.batch} × {a.tokens} tokens: "
        f"{a.batch * a.tokens / seconds / 1e3:.1f} k tokens/s; {1e3 * seconds:.1f} ms a step, in parts forward {parts[0]:.1f}, backward {parts[1]:.1f}, "
        f"update {parts[2]:.1f}; loss {loss.item():.3f}"
    )
    if device == "cuda":
        print(f"at most {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
