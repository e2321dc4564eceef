#!/usr/bin/env python3
"""Runs both checkers on folders: agree.py FWCHECK [--mutants N] DIR…, where a DIR is a folder with a certificate, or holds some.

With `--mutants` each folder is looked at N times more, every time with one number, bit or line changed (by a seed that is the
same each time), and hashed anew.

Prints how often each pair of verdicts came, and what both said where one accepts and the other rejects; exit 1 if that
happens, or if a checker gives no verdict. One that declines decides less than the other; that is counted, and no fault.
"""

import hashlib
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

SECONDS = 60  # for a folder; a checker that takes longer has declined
VERDICTS = {0: "accepted", 1: "rejected", 2: "declined"}


def verdict(*command):
    """The verdict and what was said; both are `error` where a checker crashes, or contradicts its own exit code."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "declined", f"declined: more than {SECONDS} seconds"
    word = VERDICTS.get(done.returncode, "error")
    said = (done.stdout + done.stderr).strip()
    return word if word == "error" or said.startswith(word) else "error", said


def mutant(folder, chance, to):
    """Writes the files of a folder with one change, hashed anew."""
    text = (folder / "certificate.fwc").read_text()
    target, weights = (folder / "target.json").read_bytes(), bytearray((folder / "model.safetensors").read_bytes())
    kind = chance.choice(["weight", "weight", "bit", "target", "line"])
    start = 8 + struct.unpack("<Q", weights[:8])[0]
    size, code = (8, "<d") if "ieee-any-order f64" in text else (4, "<f")
    at = start + size * chance.randrange((len(weights) - start) // size)
    if kind == "weight":
        (number,) = struct.unpack_from(code, weights, at)
        struct.pack_into(code, weights, at, chance.choice([number + 1, number - 1, -number, 0.0, number * 1.001]))
    elif kind == "bit":
        weights[at + chance.randrange(size)] ^= 1 << chance.randrange(8)
    elif kind == "target":
        digits = list(re.finditer(rb"(?<![\w.])\d+(?![\w.])", target))
        if digits:
            found = chance.choice(digits)
            target = target[:found.start()] + str(int(found[0]) + chance.choice([-1, 1])).encode() + target[found.end():]
    else:
        lines = text.split("\n")
        place = chance.randrange(3, len(lines) - 1)
        lines[place] = re.sub(r"\d+$", lambda found: str(int(found[0]) + chance.choice([-1, 1])), lines[place])
        text = "\n".join(lines)
    for name, data in ("target.json", target), ("model.safetensors", bytes(weights)):
        text = re.sub(f"sha256 {name} \\w+", f"sha256 {name} {hashlib.sha256(data).hexdigest()}", text)
        (to / name).write_bytes(data)
    (to / "certificate.fwc").write_text(text)


def cases(places, mutants):
    """Folders, and changed copies of them."""
    for folder in sorted({file.parent for place in places for file in Path(place).rglob("certificate.fwc")}):
        yield folder
        chance = random.Random(folder.name)
        for count in range(mutants):
            with tempfile.TemporaryDirectory(prefix=f"{folder.name}-{count}-") as scratch:
                mutant(folder, chance, Path(scratch))
                yield Path(scratch)


def main(fwcheck, *places):
    mutants, pairs, faults = 0, Counter(), 0
    if places[0] == "--mutants":
        mutants, places = int(places[1]), places[2:]
    for folder in cases(places, mutants):
        one, other = verdict(fwcheck, folder), verdict(sys.executable, Path(__file__).with_name("checker.py"), folder)
        pairs[one[0], other[0]] += 1
        if "error" in (one[0], other[0]) or {one[0], other[0]} == {"accepted", "rejected"}:
            faults += 1
            print(f"{folder}\n  fwcheck:    {one[1]}\n  checker.py: {other[1]}", flush=True)
    print(f"{'fwcheck':10} {'checker.py':10} folders")
    for (one, other), count in sorted(pairs.items()):
        print(f"{one:10} {other:10} {count:7}")
    print(f"{faults} disagreements")
    sys.exit(1 if faults or not pairs else 0)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} FWCHECK DIR…")
    main(*sys.argv[1:])
