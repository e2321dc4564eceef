"""The same target under five constructions: what each costs, and what is proved of it.

    python examples/five_constructions.py
"""

import numpy

import formwright

TARGET = "x * mean(x)"
TOLERANCE: formwright.Options = {"tokens": 2, "eps": "1/10", "norm": "l2"}
CONSTRUCTIONS = ["circuit", "sumformer", "sum-code", "sumformer-discrete", "yun"]


def main() -> None:
    x = numpy.random.default_rng(0).uniform(0, 1, (1000, 2, 1))
    print(f"{'construction':20} {'precision':10} {'blocks':>6} {'parameters':>10}  {'certified':>9}  {'here':>9}")
    for construction in CONSTRUCTIONS:
        network = formwright.build(TARGET, construction=construction, **TOLERANCE)
        off = (network(x) - x * x.mean(axis=1, keepdims=True)) ** 2
        here, size = off.sum(axis=(1, 2)).mean() ** 0.5, network.size
        assert here <= network.error["bound"] <= 0.1
        row = f"{construction:20} {network.summary['precision']:10} {size['blocks']:>6} {size['parameters']:>10}"
        print(f"{row}  {network.error['bound']:9.3e}  {here:9.3e}")


if __name__ == "__main__":
    main()
