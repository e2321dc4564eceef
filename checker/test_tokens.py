"""Normal forms beside the target's values at points, for random expressions: of any token, and token by token."""

import json
import random
import unittest
from fractions import Fraction as F
from types import SimpleNamespace

import checker
from checker import Declined, Undefined, Unclear
from normal import Atoms, Target
from test_meanings import ast
from tokens import Budget, TokenTarget

LENGTH = 3


class Expressions:
    """Random ones; `plain`: without positions."""

    def __init__(self, seed, plain):
        self.rng, self.plain = random.Random(seed), plain

    def number(self, depth, inside):
        pick, rng = self.rng.choice, self.rng
        leaves = ["token", "token", {"number": pick(("1/2", "-1", "2", "0"))}, "length", {"coordinate": ["token", rng.randrange(2)]}, {"gather": "index"}]
        if not self.plain:
            leaves += ["index", {"gather": self.place(inside)}, {"bound": "a"}, {"gather-bound": ["a", self.place(inside)]}, *["running"] * inside]
        if depth == 0:
            return pick(leaves)
        a, b = self.number(depth - 1, inside), self.number(depth - 1, inside)
        within = self.number(depth - 1, True)
        parts = [{"binary": [pick(("add", "sub", "mul")), a, b]}, {"binary": [pick(("add", "sub")), a, b]}, {"negate": a}, {"power": [a, rng.randrange(3)]}, {"call": [pick(("abs", "relu")), [a]]},
                 {"call": [pick(("max", "min")), [a, b]]}, {"call": ["clamp", [a, {"number": "-1/2"}, {"number": "1/2"}]]}, {"aggregate": [pick(("sum", "mean", "var", "max", "min")), within, None]},
                 {"binary": ["div", a, {"binary": ["add", {"power": [b, 2]}, {"number": "1"}]}]}]
        if not self.plain:
            shown = self.condition(depth - 1, True)
            parts += [{"aggregate": [pick(("sum", "mean", "var", "max", "min")), within, shown]}, {"aggregate": ["count", shown, pick((None, self.condition(depth - 1, True)))]},
                      {"if": [self.condition(depth - 1, inside), a, b]}, {"binary": [pick(("div", "mod")), self.place(inside), self.place(inside)]}, {"call": ["floor", [{"binary": ["div", "index", {"number": "2"}]}]]},
                      {"table": [self.place(inside), ["1", "-1/2", "0"]]}]
        return pick(parts)

    def place(self, inside):
        pick = self.rng.choice
        simple = ["index", *["running"] * inside, {"number": str(self.rng.randrange(4))}, {"binary": ["sub", {"binary": ["sub", "length", {"number": "1"}]}, "index"]}]
        return pick([*simple, {"binary": ["mod", {"binary": ["add", pick(simple), pick(simple)]}, "length"]}, {"binary": ["sub", pick(simple), {"number": "1"}]}])

    def condition(self, depth, inside):
        pick = self.rng.choice
        compare = {"compare": [pick(("less", "less-equal", "greater", "greater-equal", "equal", "not-equal")), self.place(inside), self.place(inside)]}
        if depth <= 0:
            return compare
        other = self.condition(depth - 1, inside)
        return pick([compare, {"not": other}, {"and": [compare, other]}, {"or": [compare, other]}, {"compare": ["less", {"number": "-5"}, "token"]}])


def at(atoms, a, x, i, j):
    """A polynomial at a sequence, an output token and a running one."""
    return sum((factor * product(at_atom(atoms, atom, x, i, j) ** k for atom, k in monomial) for monomial, factor in a.items()), F(0))


def product(factors):
    total = F(1)
    for factor in factors:
        total *= factor
    return total


def at_atom(atoms, atom, x, i, j):
    name, *parts = atoms.parts[atom]
    match name:
        case "input":
            return x[{"i": i, "j": j}.get(parts[1], parts[1])][parts[0]]
        case "length":
            return F(len(x))
        case "mean":
            return sum(product(at_atom(atoms, one, x, i, t) ** k for one, k in parts[0]) for t in range(len(x))) / len(x)
        case "largest running":
            return max(at(atoms, dict(parts[0]), x, i, t) for t in range(len(x)))
    values = [at(atoms, dict(part), x, i, j) for part in parts]
    return 1 / values[0] if name == "reciprocal" else max(F(0), *values)


class Random(unittest.TestCase):
    def compare(self, plain, normal):
        """How often a normal form was found."""
        found, undefined = 0, 0
        for seed in range(700):
            make, rng = Expressions(seed, plain), random.Random(seed)
            lets = [] if plain else [{"name": "a", "value": {"binary": ["add", "token", {"binary": ["mul", "index", {"coordinate": ["token", 1]}]}]}}]
            e = make.number(3, False)
            c = SimpleNamespace(dims=2, output_dims=2, least=LENGTH, most=LENGTH)
            target = checker.Expression(json.loads(ast(e, lets=lets))["ast"], c)
            atoms = Atoms()
            try:
                forms = normal(target.ast, c, target.domain, atoms)
            except (Undefined, Unclear, Declined):
                undefined += 1
                continue
            found += 1
            for _ in range(3):
                x = [[F(rng.randrange(9), 8) for _ in range(2)] for _ in range(LENGTH)]
                value = target.enclose([[(entry, entry) for entry in token] for token in x])  # it has one
                for t in range(LENGTH):
                    self.assertEqual([(at(atoms, forms(t, k), x, t, None),) * 2 for k in range(2)], value[t], e)
        self.assertGreater(found, 300)
        return undefined

    def test_token_by_token(self):
        def normal(tree, c, domain, atoms):
            outputs = TokenTarget(tree, c, domain, atoms, LENGTH, Budget()).outputs
            return lambda t, k: outputs[t][k]

        self.assertGreater(self.compare(False, normal), 60)

    def test_of_any_token(self):
        def normal(tree, c, domain, atoms):
            outputs = Target(tree, c, domain, atoms).outputs
            return lambda t, k: outputs[k]

        self.compare(True, normal)


if __name__ == "__main__":
    unittest.main()
