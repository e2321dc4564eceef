#!/usr/bin/env python3
"""Compares the third checker with fwcheck: mutants.py FWCHECK N [DIR…], after formal/build.sh.

Looks at each folder of the corpus (or of DIR) as it is; and at N copies of each one of corpus/accept (or of DIR) with a
claim over integers, every one with one change, as checker/agree.py makes them: in every fifth copy one weight is instead
near the largest number of the format, so that something may overflow. Prints how often each pair of verdicts came, and
what both said where one accepts and the other rejects; exit 1 if that happens, or if a checker gives no verdict.
"""

import hashlib
import random
import re
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
THIRD = ROOT / "formal" / "build" / "third-checker"
sys.path.insert(0, str(ROOT / "checker"))

from agree import mutant, verdict  # noqa: E402


def large(folder, chance, to):
    """Writes the files of a folder with one weight near the largest number, hashed anew."""
    text = (folder / "certificate.fwc").read_text()
    weights = bytearray((folder / "model.safetensors").read_bytes())
    start = 8 + struct.unpack("<Q", weights[:8])[0]
    size, code, most = (8, "<d", 1024) if "ieee-any-order f64" in text else (4, "<f", 128)
    number = (2 - 2.0 ** (1 - chance.choice([1, 2, 20]))) * 2.0 ** (most - 1 - chance.choice([0, 0, 1, 2, 3, 5, 10]))
    at = start + size * chance.randrange((len(weights) - start) // size)
    struct.pack_into(code, weights, at, chance.choice([number, -number]))
    text = re.sub(r"sha256 model.safetensors \w+", f"sha256 model.safetensors {hashlib.sha256(weights).hexdigest()}", text)
    (to / "target.json").write_bytes((folder / "target.json").read_bytes())
    (to / "model.safetensors").write_bytes(weights)
    (to / "certificate.fwc").write_text(text)


def whole(places):
    """Folders with a certificate."""
    return sorted({file.parent for place in places for file in Path(place).rglob("certificate.fwc")})


def changed(places, mutants):
    """Changed copies of folders with a claim over integers."""
    for folder in whole(places):
        if not re.search("^over (distinct-)?integers", (folder / "certificate.fwc").read_text(), re.MULTILINE):
            continue
        chance = random.Random(f"third {folder.name}")
        for count in range(mutants):
            with tempfile.TemporaryDirectory(prefix=f"{folder.name}-{count}-") as scratch:
                (large if count % 5 == 4 else mutant)(folder, chance, Path(scratch))
                yield Path(scratch)


def compare(fwcheck, folders, title):
    """The faults: one accepts what the other rejects, or gives no verdict, or there is nothing to compare."""
    pairs, faults = Counter(), 0
    for folder in folders:
        one, other = verdict(fwcheck, folder), verdict(THIRD, folder)
        pairs[one[0], other[0]] += 1
        if "error" in (one[0], other[0]) or {one[0], other[0]} == {"accepted", "rejected"}:
            faults += 1
            print(f"{folder}\n  fwcheck: {one[1]}\n  third:   {other[1]}", flush=True)
    print(f"{'fwcheck':10} {'third':10} {title}")
    for (one, other), count in sorted(pairs.items()):
        print(f"{one:10} {other:10} {count:7}")
    print(f"{faults} disagreements")
    return faults or not pairs


def main(fwcheck, mutants, *places):
    faults = compare(fwcheck, whole(places or [ROOT / "corpus"]), "folders")
    faults += compare(fwcheck, changed(places or [ROOT / "corpus" / "accept"], int(mutants)), "changed copies")
    sys.exit(bool(faults))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} FWCHECK N [DIR…]")
    main(*sys.argv[1:])
