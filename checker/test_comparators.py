"""Sorting by comparators: the rules *Exchange* and *Comparators* of CERTIFICATE.md, section 7."""

import sys
import unittest
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import tokens
from checker import check
from test_checker import Case
from test_meanings import ROOM, changed, folder

SORT = folder("accept/meanings-sort")
LAST = "wire exchange 0 1 1 1 0 1 8 1 0 1 9 1"
GATE = "gate 10 0 2 8 -1 10 1 1 0 0 3 1 9/8 8 -1 9 1"


def transposition(n):
    def end(turn, t):
        partner = t - 1 if (t + turn) % 2 else t + 1
        return partner if 0 <= partner < n else t, bool((t + turn) % 2)

    return [[end(turn, t) for t in range(n)] for turn in range(n)]


def merges(n):
    """Sorted blocks, backwards against each other, and distances that halve."""
    rounds, block = [], 2
    while block < 2 * n:
        distances = [block - 1]
        while (block >> len(distances)) > 1:
            distances.append(block >> (len(distances) + 1))
        rounds += [[(t ^ d if t ^ d < n else t, t ^ d < t) for t in range(n)] for d in distances if d]
        block *= 2
    return rounds


def sorts(n, rounds):
    blocks = [((t,), {(False,), (True,)}) for t in range(n)]
    for ends in rounds:
        blocks = blocks and tokens.exchanged(blocks, ends)
    return bool(blocks) and len(blocks) == 1 and all(list(bits) == sorted(bits) for bits in blocks[0][1])


def by_force(n, rounds):
    for bits in product((False, True), repeat=n):
        for ends in rounds:
            bits = [bits[t] | bits[partner] if larger else bits[t] & bits[partner] for t, (partner, larger) in enumerate(ends)]
        if sorted(bits) != list(bits):
            return False
    return True


class Networks(unittest.TestCase):
    def test_networks_that_sort_are_shown_to(self):
        for n in range(2, 9):
            self.assertTrue(sorts(n, transposition(n)), n)
        for n in (*range(2, 18), 32, 64):
            self.assertTrue(sorts(n, merges(n)), n)

    def test_a_network_without_a_comparator_is_judged_as_brute_force_does(self):
        spared = set()
        for n in (3, 4, 6):
            whole = merges(n)
            for turn, ends in enumerate(whole):
                for t, (partner, _) in enumerate(ends):
                    if partner > t:
                        less = [list(ends) for ends in whole]
                        less[turn][t], less[turn][partner] = (t, False), (partner, False)
                        self.assertEqual(sorts(n, less), by_force(n, less), (n, turn, t))
                        spared.add(sorts(n, less))
        self.assertIn(False, spared)

    def test_a_comparator_that_is_turned_round_is_seen(self):
        for n in (2, 3, 4, 5, 8):
            for turn in range(len(merges(n))):
                turned = [list(ends) for ends in merges(n)]
                partner = turned[turn][0][0]
                for t in {0, partner}:
                    turned[turn][t] = turned[turn][t][0], not turned[turn][t][1]
                self.assertEqual(sorts(n, turned), by_force(n, turned), (n, turn))

    def test_what_holds_too_much_is_not_shown_to_sort(self):
        self.assertFalse(sorts(64, transposition(64)))


class Folders(Case):
    def test_a_sort_is_accepted(self):
        self.accepted(SORT)

    def test_an_exchange_is_of_three_forms(self):
        for wrong in (LAST + " 0", LAST[:-6], LAST.replace("exchange", "exchanges")):
            self.rejected(changed(SORT, [(LAST, wrong)]), "format")

    def test_lines_say_what_the_weights_do(self):
        for lines in (
            [(LAST, LAST.replace("0 1 1 1", "0 1 1 2", 1))],
            [(GATE, GATE.replace("0 2 8 -1 10 1", "0 1 10 1"))],
            [(GATE, GATE.replace("0 2 8 -1 10 1", "0 2 8 -2 10 1"))],
            [("holds 0 -1/2 1 10 1", "holds 0 -1/2 1 8 1")],
        ):
            self.rejected(changed(SORT, lines, bound=ROOM), "line")

    def test_what_is_no_network_that_sorts_is_declined(self):
        for lines in (
            [(LAST, LAST.replace("0 1 1 1", "1 1 1 -1", 1))],  # the other number
            [(LAST, LAST.replace("0 1 8 1 0 1 9 1", "0 1 8 1 0 1 7 1"))],  # another round's number
            [("output 0 1 10 1", "output 0 1 8 1")],  # a round less
        ):
            self.assertEqual(self.verdict(changed(SORT, lines, bound=ROOM)), "declined", lines)

    def test_weights_are_charged(self):
        for name, place, value in (("0.ff.b1", 0, -1.0), ("0.ff.w2", 0, 0.5), ("pos", 4, 0.5), ("0.attn.q_bias", 1, -1.0), ("1.attn.v", 0, 0.5)):
            self.assertNotEqual(self.verdict(changed(SORT, weights=[(name, place, value)])), "accepted", name)

    def verdict(self, files):
        return check(*files).verdict


if __name__ == "__main__":
    unittest.main()
