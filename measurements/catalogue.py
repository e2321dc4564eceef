"""Builds and checks every target of the catalogue as a circuit, by default options, and lists what is not accepted.

    cargo build --release && python measurements/catalogue.py [--tokens 1,2,3,4] [--integers] [--bin target/release]

On a box: f32 and f64, by width and by depth. With --integers: the targets on integers and the examples of
measurements/check.md, each as it is built by itself. A row is target, tokens, options, seconds of build and check, verdict.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

EXAMPLES = {
    "sort(x) on integers 0..10": 10,
    "sum(x, j <= i) on integers 0..10": 64,
    "x[n - 1 - i] on integers 0..16": 64,
    "x mod 7 on integers 0..1000": 64,
    "if x == 3 then 1 else 0 on integers 0..100": 64,
    "count(x == x[i]) on integers 0..16": 64,
}
LIMIT = 300  # seconds for a build or a check


def timed(command):
    """The exit code, or none, the output, and the seconds that a command takes."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        code, text = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, text = None, f"stopped after {LIMIT} s"
    return code, text.strip(), time.monotonic() - start


def judge(folder, target, tokens, options):
    """A row of the table."""
    command = [folder / "formwright", "build", target, "--tokens", str(tokens), "--construction", "circuit", "--no-check"]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "built"
        code, text, build = timed([*command, *options, "-o", out])
        if code != 0:
            reason = next((line for line in text.splitlines() if line.startswith("error")), text)
            return "not built", (target, tokens, " ".join(options), f"{build:.2f}", "", reason)
        _, verdict, check = timed([folder / "fwcheck", out])
    word = verdict.splitlines()[-1] if verdict else "nothing was said"
    return word.split(":")[0], (target, tokens, " ".join(options), f"{build:.2f}", f"{check:.2f}", word)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", default="1,2,3,4,8,16,64,512")
    parser.add_argument("--integers", action="store_true")
    parser.add_argument("--bin", type=Path, default=Path("target/release"))
    asked = parser.parse_args()
    targets = json.loads(subprocess.check_output([asked.bin / "formwright", "targets", "--json"]))["targets"]
    whole = {target["name"]: "on integers" in target["expression"] for target in targets}
    sizes = [int(tokens) for tokens in asked.tokens.split(",")]
    if asked.integers:
        jobs = [(name, tokens, ()) for name in whole if whole[name] for tokens in sizes]
        jobs += [(text, tokens, ()) for text, tokens in EXAMPLES.items()]
    else:
        formats = [("--precision", p, "--trade", t) for p in ("f32", "f64") for t in ("width", "depth")]
        jobs = [(name, tokens, options) for tokens in sizes for name in whole if not whole[name] for options in formats]
    counts = Counter()
    for job in jobs:
        verdict, row = judge(asked.bin, *job)
        counts[verdict] += 1
        print(" | ".join(map(str, row)), flush=True)
    print(dict(counts), file=sys.stderr)


if __name__ == "__main__":
    main()
