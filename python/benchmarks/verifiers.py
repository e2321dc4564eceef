"""Verifiers of others on our instances, against the answers that are known: the tables of measurements/verifiers.md.

    python python/benchmarks/verifiers.py FORMWRIGHT marabou|neuralsat

FORMWRIGHT is the program. Marabou is `pip install maraboupy`, NeuralSAT `pip install neuralsat` (with PyTorch); each in a virtual environment of its own, since
they want different versions of the same packages. Every instance has 60 seconds. Exits with 1 if an answer is wrong; that a verifier gives up is shown.
"""

import csv
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

SECONDS = 60
MODELS = [
    ("x - mean(x)", 3, "1/100"), ("abs(x - mean(x))", 3, "1/100"), ("max(x, 1/2)", 3, "1/100"), ("x^2", 2, "1/10"), ("x^2", 3, "1/100"),
    ("x * mean(x)", 2, "1/10"), ("x * mean(x)", 3, "1/20"), ("var(x)", 2, "1/10"), ("var(x)", 3, "1/50"), ("exp(-x) * mean(x)", 2, "1/10"),
    ("tanh(4 * x - 2 * mean(x))", 3, "1/10"), ("1 / (1 + x^2)", 2, "1/50"),
]  # fmt: skip


class Marabou:
    def __init__(self):
        warnings.simplefilter("ignore")
        from maraboupy import Marabou as own

        self.own, self.name = own, f"Marabou (maraboupy {version('maraboupy')})"
        self.options = own.createOptions(verbosity=0, timeoutInSeconds=SECONDS)

    def __call__(self, network, instance):
        asked = self.own.read_onnx(str(network))
        return asked.solve(filename="", verbose=False, propertyFilename=str(instance), options=self.options)[0]


class NeuralSat:
    def __init__(self):
        import src

        self.program, self.name = Path(src.__file__).parent / "main.py", f"NeuralSAT {version('neuralsat')}"

    def __call__(self, network, instance):
        with tempfile.TemporaryDirectory() as folder:
            # It takes away a file that is there, and writes another one.
            found = Path(folder) / "answer.txt"
            options = ["--device", "cpu", "--timeout", str(SECONDS), "--verbosity", "0", "--result_file", found]
            asked = [sys.executable, "-W", "ignore", self.program, "--net", network, "--spec", instance, *options]
            subprocess.run(asked, capture_output=True, timeout=4 * SECONDS)
            return found.read_text().split(",")[0].split("\n")[0] if found.exists() else "nothing"


VERIFIERS = {"marabou": Marabou, "neuralsat": NeuralSat}


def main(program, asked, cells):
    verifier = VERIFIERS[asked]()
    print(f"{verifier.name}, {SECONDS} s an instance\n")
    print("| target | tokens | tolerance | units | proved | violations found | other answers | seconds, median and most |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    wrong, all_answers = [], Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, (target, tokens, eps) in enumerate(MODELS):
            model, case = f"{folder}/m{number}", Path(f"{folder}/v{number}")
            build = [program, "build", target, "--tokens", str(tokens), "--eps", eps, "--construction", "circuit", "-o", model, "-q"]
            subprocess.run(build, check=True, capture_output=True)
            subprocess.run([program, "export", model, "--format", "vnnlib", "--cells", str(cells), "-o", case, "-q"], check=True, capture_output=True)
            expected = dict(list(csv.reader((case / "expected.csv").open()))[1:])
            answers, times = Counter(), []
            for instance, right in expected.items():
                start = time.monotonic()
                answer = verifier(case / "plain.onnx", case / instance)
                times.append(time.monotonic() - start)
                decided = answer in ("sat", "unsat")
                answers[answer if decided and answer == right else f"{answer} for {right}"] += 1
                if decided and answer != right:
                    wrong.append(f"{target}, {instance}: {answer}, expected {right}")
            units = relus(case / "plain.onnx")
            other = ", ".join(f"{count} {what}" for what, count in answers.items() if what not in ("sat", "unsat"))
            proved = f"{answers['unsat']} of {sum(right == 'unsat' for right in expected.values())}"
            found = f"{answers['sat']} of {sum(right == 'sat' for right in expected.values())}"
            median = sorted(times)[len(times) // 2]
            print(f"| `{target}` | {tokens} | {eps} | {units} | {proved} | {found} | {other} | {median:.2f}, {max(times):.2f} |", flush=True)
            all_answers += answers
    print(f"\n{dict(all_answers)}; wrong: {wrong or 'none'}")
    sys.exit(1 if wrong else 0)


def relus(network):
    """The ReLUs of a network: the biases before them."""
    import onnx

    graph = onnx.load(network).graph
    read = {name for node in graph.node if node.op_type == "Relu" for name in node.input}
    biases = {name for node in graph.node if node.output[0] in read for name in node.input}
    return sum(tensor.dims[0] for tensor in graph.initializer if tensor.name in biases)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 8)
