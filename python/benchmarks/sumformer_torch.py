"""A training step of the Sumformers of Figure 1 in PyTorch: what `cargo bench -p formwright-lab` measures for ours.

    python sumformer_torch.py [--device cpu|cuda] [--steps N]

Four tokens of one coordinate, 128 sequences a step, perceptrons of five hidden layers of 50, Adam; on the CPU one thread.
"""

import argparse
import time

import torch
from torch import nn

TOKENS, BATCH, SAMPLES, HIDDEN, LAYERS = 4, 128, 2048, 50, 5


def perceptron(inputs: int, outputs: int) -> nn.Sequential:
    sizes = [inputs] + [HIDDEN] * LAYERS + [outputs]
    layers: list[nn.Module] = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Sumformer(nn.Module):
    def __init__(self, learned: bool) -> None:
        super().__init__()
        self.phi = perceptron(1, TOKENS) if learned else None
        self.psi = perceptron(1 + TOKENS, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.phi(x) if self.phi is not None else torch.cat([x**k for k in range(1, TOKENS + 1)], 2)
        sums = features.sum(1, keepdim=True).expand(-1, TOKENS, -1)
        return self.psi(torch.cat([x, sums], 2))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    for name, learned in [("polynomial", False), ("mlp", True)]:
        model = Sumformer(learned).to(arguments.device)
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
        x = torch.rand(SAMPLES, TOKENS, 1, device=arguments.device)
        y = x * x.mean(1, keepdim=True)
        start = 0.0
        for step in range(arguments.steps + 100):
            if step == 100:
                if arguments.device == "cuda":
                    torch.cuda.synchronize()
                start = time.perf_counter()
            places = torch.randperm(SAMPLES, device=arguments.device)[:BATCH]
            loss = (model(x[places]) - y[places]).square().mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        if arguments.device == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        print(f"step/{name} torch {torch.__version__} {arguments.device}: {seconds / arguments.steps * 1e6:.0f} us")


if __name__ == "__main__":
    main()
