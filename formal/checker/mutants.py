#!/usr/bin/env python3
"""Compares the third checker with fwcheck: mutants.py FWCHECK N [DIR…], after formal/build.sh.

Each folder of corpus/accept (or of DIR) with a claim over integers is looked at as it is, and N times more, every time with
one change, as checker/agree.py makes them. Prints how often each pair of verdicts came, and what both said where one
accepts and the other rejects; exit 1 if that happens, or if a checker gives no verdict.
"""

import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
THIRD = ROOT / "formal" / "build" / "third-checker"
sys.path.insert(0, str(ROOT / "checker"))

from agree import mutant, verdict  # noqa: E402


def folders(places, mutants):
    """Folders with a claim over integers, and changed copies of them."""
    for folder in sorted({file.parent for place in places for file in Path(place).rglob("certificate.fwc")}):
        if not re.search("^over (distinct-)?integers", (folder / "certificate.fwc").read_text(), re.MULTILINE):
            continue
        yield folder
        chance = random.Random(f"third {folder.name}")
        for count in range(mutants):
            with tempfile.TemporaryDirectory(prefix=f"{folder.name}-{count}-") as scratch:
                mutant(folder, chance, Path(scratch))
                yield Path(scratch)


def main(fwcheck, mutants, *places):
    pairs, faults = Counter(), 0
    for folder in folders(places or [ROOT / "corpus" / "accept"], int(mutants)):
        one, other = verdict(fwcheck, folder), verdict(THIRD, folder)
        pairs[one[0], other[0]] += 1
        if "error" in (one[0], other[0]) or {one[0], other[0]} == {"accepted", "rejected"}:
            faults += 1
            print(f"{folder}\n  fwcheck: {one[1]}\n  third:   {other[1]}", flush=True)
    print(f"{'fwcheck':10} {'third':10} folders")
    for (one, other), count in sorted(pairs.items()):
        print(f"{one:10} {other:10} {count:7}")
    print(f"{faults} disagreements")
    sys.exit(1 if faults or not pairs else 0)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} FWCHECK N [DIR…]")
    main(*sys.argv[1:])
