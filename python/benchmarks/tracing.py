"""Functions of NumPy that are read as formulas: bounds against errors that a random search finds, and messages.

    python python/benchmarks/tracing.py

Needs formwright. It prints the tables of measurements/tracing.md, and exits with 1 if a function does not become a
circuit that the checker accepts or declines, if an error is above its bound, or if a function is read that has no
formula.

search    20,000 random sequences of the domain, a quarter with ends of it or equal tokens; on intervals then 40 rounds
          from the 50 worst, each of which moves every number by a random step that halves every fourth round
"""

import sys
from pathlib import Path

import numpy

import formwright
from formwright.tracing import Domain

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from numpy_functions import TRACED, UNTRACED  # noqa: E402


def errors(network, function, batch):
    wanted = numpy.stack([function(x.copy()) for x in batch])
    return abs(network(batch) - wanted).max(axis=(1, 2))


def searched(network, function, domain, tokens, dims):
    """The largest error that a random search finds."""
    batch = domain.points(20_000, tokens, dims, seed=1)
    found = errors(network, function, batch)
    if domain.integer:
        return found.max()
    draw, worst = numpy.random.default_rng(2), numpy.argsort(found)[-50:]
    best, most = batch[worst], found[worst]
    for turn in range(40):
        step = (domain.high - domain.low) * 2.0 ** -(turn // 4 + 2)
        moved = numpy.clip(best + draw.uniform(-step, step, best.shape), domain.low, domain.high)
        value = errors(network, function, moved)
        best[value > most], most = moved[value > most], numpy.maximum(value, most)
    return most.max()


def main():
    good = True
    print("| function | formula | tokens | dims | certified | measured | parameters | checker |\n|---|---|---|---|---|---|---|---|")
    for function, options in TRACED:
        network = formwright.build(function, **options)
        verdict = formwright.check(network)
        measured = searched(network, function, Domain.of(options["on"]), options["tokens"], options["dims"])
        bound = network.error["bound"]
        circuit = network.summary["construction"] == "circuit" and network.error["badge"] == "certified"
        good &= bool(measured <= bound) and circuit and verdict.verdict != "rejected"
        formula = network.target.replace("|", "\\|")
        cells = [function.__name__, f"`{formula}`", options["tokens"], options["dims"], f"{bound:.3e}", f"{measured:.2e}"]
        print("| " + " | ".join(map(str, [*cells, f"{network.size['parameters']:,}", verdict.verdict])) + " |", flush=True)
    print("\n| function | message |\n|---|---|")
    for function, _ in UNTRACED:
        try:
            formwright.build(function, tokens=4)
            good = False
        except formwright.InputError as reason:
            told, line = str(reason).removeprefix("the function has no formula: ").splitlines()[:2]
            print(f"| `{line.split(': ', 1)[1]}` | {told.strip()} |")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
