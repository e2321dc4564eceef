#!/usr/bin/env python3
"""Runs the third checker on the corpus: what it accepts must lie in accept/, what it rejects in reject/.

What it declines, and why, must be what corpus.txt lists; `corpus.py --write` writes that list. Of hosts it accepts none,
and they stand in no list. build.sh runs it.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

FORMAL = Path(__file__).resolve().parents[1]
CORPUS, LISTED = FORMAL.parent / "corpus", FORMAL / "checker" / "corpus.txt"
FOLDERS = {0: ("accepted", "accept"), 1: ("rejected", "reject"), 2: ("declined", None)}


def main(write):
    declined, counts, wrong = [], Counter(), 0
    for folder in sorted(file.parent for file in CORPUS.rglob("certificate.fwc")):
        done = subprocess.run([FORMAL / "build" / "third-checker", folder], capture_output=True, text=True, check=False)
        word, home = FOLDERS.get(done.returncode, ("an error", ""))
        name, said = folder.relative_to(CORPUS).as_posix(), done.stdout.strip()
        host = name.startswith("hosts/")
        if not said.startswith(word) or home not in (None, folder.parent.name) or (host and word == "accepted"):
            wrong += 1
            print(f"formal/checker/corpus.py: {name}: {said or done.stderr.strip()}", file=sys.stderr)
        counts["hosts" if host else folder.parent.name, word] += 1
        if word == "declined" and not host:
            declined.append(f"{name}: {said.removeprefix('declined: ')}\n")
    if write:
        LISTED.write_text("".join(declined))
    elif LISTED.read_text() != "".join(declined):
        wrong += 1
        print("formal/checker/corpus.py: corpus.txt lists other verdicts; see `corpus.py --write`", file=sys.stderr)
    print("the third checker: " + ", ".join(f"{count} of {home}/ {word}" for (home, word), count in sorted(counts.items())))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main("--write" in sys.argv[1:])
