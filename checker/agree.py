#!/usr/bin/env python3
"""Runs both checkers on folders: agree.py FWCHECK DIR…, where a DIR is a folder with a certificate, or holds some.

Prints how often each pair of verdicts came, and what both said where one accepts and the other rejects; exit 1 if that
happens, or if a checker gives no verdict. One that declines decides less than the other; that is counted, and no fault.
"""

import subprocess
import sys
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


def main(fwcheck, *places):
    pairs, faults = Counter(), 0
    for folder in sorted({file.parent for place in places for file in Path(place).rglob("certificate.fwc")}):
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
