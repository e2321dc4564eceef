"""Checks that instances say what is expected of them: an own reader of the part of VNN-LIB that they use, and onnxruntime.

    python vnnlib.py FOLDER

FOLDER holds network.onnx, instances.csv, expected.csv and vnnlib/, and perhaps plain.onnx with plain.csv, which is asked in the same way, and may use matrices,
sums and ReLUs only. At the centre of each box, at its corners (64 of them, if there are more) and at 32 random points
the outputs of the network must not satisfy an instance that is expected to be unsat, and satisfy one that is expected to be sat. Numbers are read as fractions: the ends of a
box must be numbers of the network's format, and outputs are compared exactly.
"""

import csv
import itertools
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy
import onnx
import onnxruntime

TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64}


def expressions(text):
    """Nested lists."""
    stack = [[]]
    for word in re.findall(r"[()]|[^\s()]+", re.sub(r";.*", "", text)):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    (parsed,) = stack
    return parsed


def holds(condition, values):
    operator, *rest = condition
    if operator in ("and", "or"):
        return (all if operator == "and" else any)(holds(part, values) for part in rest)
    name, number = rest
    return values[name] <= Fraction(number) if operator == "<=" else values[name] >= Fraction(number)


def read(path):
    """The ends of the box, and what the outputs must satisfy."""
    ends, conditions, names = {}, [], []
    for statement in expressions(path.read_text()):
        if statement[0] == "declare-const":
            assert statement[2] == "Real", statement
            names.append(statement[1])
            continue
        assert statement[0] == "assert", statement
        operator, name, *number = statement[1]
        if isinstance(name, str) and name.startswith("X_"):
            assert ends.setdefault((name, operator), Fraction(*number)) == Fraction(*number), f"{name} twice"
        else:
            conditions.append(statement[1])
    inputs = [name for name in names if name.startswith("X_")]
    assert inputs == [f"X_{i}" for i in range(len(inputs))], "inputs in order"
    return [(ends[name, ">="], ends[name, "<="]) for name in inputs], conditions


def points(box, kind, random):
    low, high = (numpy.array([float(end) for end in ends], kind) for ends in zip(*box))
    exact = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(low, high)]
    assert exact == box, "the ends of a box are no numbers of the format"
    assert (low <= high).all(), "an empty box"
    corners = list(itertools.islice(itertools.product((0, 1), repeat=len(box)), 64))
    shares = numpy.array([[0.5] * len(box), *corners, *random.uniform(0, 1, (32, len(box)))], kind)
    return numpy.clip(low + shares * (high - low), low, high)


def ask(folder, network, instances):
    session = onnxruntime.InferenceSession(folder / network, providers=["CPUExecutionProvider"])
    (entry,) = session.get_inputs()
    with (folder / instances).open() as file:
        listed = [(network, name) for network, name, seconds in csv.reader(file) if float(seconds) > 0]
    expected = dict(list(csv.reader((folder / "expected.csv").open()))[1:])
    assert [name for _, name in listed] == list(expected) and {network for network, _ in listed} == {network}
    random = numpy.random.default_rng(0)
    for name, answer in expected.items():
        box, conditions = read(folder / name)
        x = points(box, TYPES[entry.type], random)
        # A plain network is for one sequence at a time.
        batches = [x.reshape(len(x), *entry.shape[1:])] if network == "network.onnx" else [row.reshape(1, -1) for row in x]
        outputs = numpy.concatenate([session.run(["y"], {"x": batch})[0] for batch in batches])
        for x, y in zip(x, outputs):
            values = {f"Y_{i}": Fraction(float(y)) for i, y in enumerate(y.ravel())}
            found = "sat" if all(holds(condition, values) for condition in conditions) else "unsat"
            assert found == answer, f"{name}: {found} at {x.tolist()}, expected {answer}; outputs {y.ravel().tolist()}"
    return len(expected)


def main(folder):
    counts = [ask(folder, "network.onnx", "instances.csv")]
    if (folder / "plain.onnx").exists():
        graph = onnx.load(folder / "plain.onnx").graph
        assert {node.op_type for node in graph.node} <= {"MatMul", "Add", "Relu"}, "a plain network"
        sides = [side.dim_value for side in graph.input[0].type.tensor_type.shape.dim]
        assert sides[0] == 1 and all(sides), f"its shape is {sides}"
        counts.append(ask(folder, "plain.onnx", "plain.csv"))
    print(*counts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
