"""Tests of medians.py: verdicts of the corpus, lines that are not believed, and each rule against brute force."""

import random
import unittest
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import medians
from checker import Arithmetic, FORMATS, Rejected, check

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
NAMES = "certificate.fwc", "target.json", "model.safetensors"


def files(folder):
    return [(CORPUS / folder / name).read_bytes() for name in NAMES]


class Corpus(unittest.TestCase):
    def test_verdicts_are_those_of_the_corpus(self):
        folders = [folder for verdict in ("accept", "reject", "decline") for folder in sorted((CORPUS / verdict).glob("median*"))]
        self.assertGreaterEqual(len(folders), 20)
        for folder in folders:
            verdict = check(*files(folder))
            self.assertTrue(verdict.verdict.startswith(folder.parent.name), (folder.name, verdict))
            if verdict.verdict == "rejected":
                self.assertEqual(verdict.obligation, (folder / "why").read_text().split(":")[0], (folder.name, verdict))

    def test_no_line_of_a_copy_is_believed(self):
        certificate, target, weights = files("accept/median")
        for old, new in ((b"grid 3/10 7", b"grid 1/5 7"), (b"grid 3/10 7", b"grid 2/5 7"), (b"grid 1/2 11", b"grid 1/2 10"),
                         (b"grid 1/2 11", b"grid 1/2 15"), (b"grid 9/10 19", b"grid 1 19"), (b"median 8 5", b"median 6 5"),
                         (b"margins 1/10 1/10", b"margins 1/12 1/12"), (b"margins 1/10 1/10", b"margins 1/9 1/9"), (b"cells 2", b"cells 3")):
            self.assertIn(old, certificate)
            verdict = check(certificate.replace(old, new, 1), target, weights)
            self.assertEqual(verdict.verdict, "rejected", (old, new, verdict))

    def test_lines_have_one_form(self):
        certificate, target, weights = files("accept/median")
        for old, new in ((b"grid 3/10 7", b"grid 6/20 7"), (b"grid 3/10 7", b"grid 3/10 07"), (b"grid 3/10 7", b"grid 3/10"),
                         (b"grid 3/10 7", b"grid 3/10 7 7"), (b"grid 3/10 7\n", b""), (b"median 8 5", b"median 8 6"),
                         (b"median 8 5", b"median 8 2147483647"), (b"norm sup", b"norm sup lipschitz -1"), (b"norm sup", b"norm sup lipschitz"),
                         (b"over box", b"over integers"), (b"over box", b"over space")):
            verdict = check(certificate.replace(old, new, 1), target, weights)
            self.assertEqual((verdict.verdict, verdict.obligation), ("rejected", "format"), (old, new, verdict)) \
                if b"space" not in new else self.assertNotEqual(verdict.verdict, "accepted")


class Walls(unittest.TestCase):
    def test_what_is_near_walls_of_two_grids_is_found(self):
        generator, seen = random.Random(5), set()
        for _ in range(120):
            count, margin = generator.choice((3, 5)), F(generator.randint(1, 6), 60)
            shifts = [F(generator.randint(0, 30), 30) for _ in range(count)]
            if generator.random() < 0.5:  # near the only way there is
                shifts = [(2 * k + 1) * F(1, 2 * count) + F(generator.randint(-1, 1), 120) for k in range(count)]
            # Numbers of a cell that are near walls of several grids, on a grid that is finer than all of this.
            near = [[any(abs(F(x, 480) - (k - shift)) < margin for k in range(3)) for shift in shifts] for x in range(0, 481, 2)]
            meet = any(sum(own) > 1 for own in near)
            inside = all(margin <= shift <= 1 - margin for shift in shifts)
            try:
                medians.check_walls(shifts, margin)
                fine = True
            except Rejected:
                fine = False
            self.assertEqual(fine, inside and not meet, (shifts, margin))
            seen.add(fine)
        self.assertEqual(seen, {True, False})


def comparators(pairs, outputs, limit=None):
    """Blocks that compare registers of 3 wires, behind a clamp to [-limit, limit]."""
    blocks = []
    if limit:
        w1 = [[(r, s)] for r in range(3) for s in (F(1), F(-1))]
        blocks.append(([], (w1, [F(-limit)] * 6, [[(2 * r, F(-1)), (2 * r + 1, F(1))] for r in range(3)], [F(0)] * 3)))
    for a, b in pairs:
        gain = {a: [(0, F(-1))], b: [(0, F(1))]}
        blocks.append(([], ([[(a, F(1)), (b, F(-1))]], [F(0)], [gain.get(r, []) for r in range(3)], [F(0)] * 3)))
    tensors = {"read_out.bias": [F(0)] * len(outputs)}
    return SimpleNamespace(arithmetic=Arithmetic(*FORMATS["f32"]), blocks=blocks, read_out=[[(r, F(1))] for r in outputs], tensors=tensors)


def lost(network, size=F(8)):
    """What the output may be off from the median of three copies."""
    truths = [sum(1 << choice for choice in range(8) if choice >> j & 1) for j in range(3)]
    wires = {j: medians.Wire(0, truths[j], size, (F(-1), F(1))) for j in range(3)}
    return medians.read_outs(SimpleNamespace(output_dims=1), network, medians.prove_comparators(network, 0, wires, None), 3)[0]


class Comparators(unittest.TestCase):
    def test_what_sorts_is_accepted_and_what_does_not_is_not(self):
        every = [(a, b) for a in range(3) for b in range(3) if a != b]
        counted = {True: 0, False: 0}
        for pairs in product(every, repeat=3):
            def run(numbers):
                numbers = list(numbers)
                for a, b in pairs:
                    numbers[a], numbers[b] = min(numbers[a], numbers[b]), max(numbers[a], numbers[b])
                return numbers

            for output in range(3):
                right = all(run(numbers)[output] == sorted(numbers)[1] for numbers in product((1, 2, 3, 4), repeat=3))
                try:
                    lost(comparators(pairs, [output]))
                    found = True
                except Rejected as error:
                    self.assertEqual(error.obligation, "median")
                    found = False
                self.assertEqual(found, right, (pairs, output))
                counted[right] += 1
        self.assertGreater(min(counted.values()), 5)

    def test_garbage_costs_digits_unless_it_is_clamped(self):
        pairs = [(0, 1), (1, 2), (0, 1)]
        bare, clamped = lost(comparators(pairs, [1]), F(10**6)), lost(comparators(pairs, [1], 2), F(10**6))
        self.assertGreater(bare, F(1, 10))
        self.assertLess(clamped, F(1, 100))
        with self.assertRaises(Rejected):
            lost(comparators(pairs, [1], F(1, 2)))  # it changes what copies are


class Tables(unittest.TestCase):
    def test_cubes_that_touch_are_enough(self):
        generator, seen = random.Random(7), set()
        for _ in range(200):
            n, values = 3, [F(generator.randint(0, 4), 4) for _ in range(9)]
            table = SimpleNamespace(resolution=n, values=[[[value]] for value in values])
            constant = F(generator.randint(1, 12), 4)
            cubes = list(product(range(n), repeat=2))
            right = all(abs(values[i] - values[j]) <= constant * max(map(abs, (a[0] - b[0], a[1] - b[1]))) / n
                        for i, a in enumerate(cubes) for j, b in enumerate(cubes))
            try:
                medians.constant(SimpleNamespace(lipschitz=constant, dims=1, most=2), table)
                found = True
            except Rejected:
                found = False
            self.assertEqual(found, right, (values, constant))
            seen.add(found)
        self.assertEqual(seen, {True, False})


if __name__ == "__main__":
    unittest.main()
