"""Mutation testing of the checker: which small changes of its sources does no test notice?

    python3 crates/formwright-check/mutants.py [--sample 60] [--seed 1] [--corpus DIR] [--scratch DIR] [--file prove.rs]

Every mutant is one change of one line. It is built in a scratch copy of the crate; the crate's own tests run, and then every folder of the
corpus is checked: it holds the three files, and `verdict` with the first words of what is to be said. A mutant that takes more than a minute
is caught. Survivors are printed with their lines; some are equivalent to the original, or change a message or a limit.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FILES = ["prove", "execute", "execute/sum", "execute/forward", "execute/attention", "sweep", "certificate", "weights", "target", "number", "json"]
# What tests the workspace, or takes long.
SKIPPED = {"independence", "fuzz"}
LIMIT = 60

# What is replaced by what, outside of texts and comments.
SWAPS = [
    (r" < ", [" <= ", " > "]), (r" <= ", [" < "]), (r" > ", [" >= ", " < "]), (r" >= ", [" > "]),
    (r" == ", [" != "]), (r" != ", [" == "]),
    (r" \+ (?=&|\w|\()", [" - "]), (r"(?<=[\w)]) - (?=&|\w|\()", [" + "]), (r"(?<=[\w)]) \* (?=&|\w|\()", [" + "]),
    (r"\.min\(", [".max("]), (r"\.max\(", [".min("]), (r"\.lo\b", [".hi"]), (r"\.hi\b", [".lo"]),
    (r"\.up\(", [".down("]), (r"\.down\(", [".up("]),
    (r"\.any\(", [".all("]), (r"\.all\(", [".any("]),
    (r"\.is_none_or\(", [".is_some_and("]), (r"\.is_some_and\(", [".is_none_or("]),
    (r"saturating_add\(", ["saturating_sub("]), (r"saturating_sub\(", ["saturating_add("]),
    (r"\btrue\b", ["false"]), (r"\bfalse\b", ["true"]),
    (r" && ", [" || "]), (r"(?<=[\w)\]]) \|\| ", [" && "]),
    (r"(?<=[ (\[{&|=])-&", ["&"]), (r"(?<=[ (&|])!(?=[a-z(])", [""]),
]


def bare(line):
    """The line with its texts and its comment blanked, of the same length."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', lambda text: '"' + "_" * (len(text[0]) - 2) + '"', line)
    return re.sub(r"//.*", lambda text: " " * len(text[0]), line)


def mutants(name, lines):
    """All mutants of a file: (name, line, what, new line)."""
    unit = False
    for at, line in enumerate(lines):
        code = bare(line)
        stripped = code.strip()
        if not stripped or stripped.startswith(("use ", "#", "mod ")) or "cfg(test)" in code:
            continue

        def put(start, end, new, what=None):
            changed = line[:start] + new + line[end:]
            return name, at, what or f"{line[start:end].strip()} to {new.strip() or 'nothing'}", changed

        for pattern, others in SWAPS:
            for match in re.finditer(pattern, code):
                yield from (put(*match.span(), other) for other in others)
        for match in re.finditer(r"(?<![\w.])\d+(?=_[iu]\d|_usize|\b(?!_))", code):
            number = int(match[0])
            yield put(*match.span(), str(number + 1))
            if number:
                yield put(*match.span(), str(number - 1))
        if match := re.search(r"\bif (?!let\b)(.+?) \{", code):
            start, end = match.span(1)
            yield put(start, end, f"!({line[start:end]})", "condition negated")
        statement = re.fullmatch(r"(?!let |return|use |const |pub |type |static |break|continue)[\w*(&].*;", stripped)
        if statement and all(stripped.count(a) == stripped.count(b) for a, b in ["()", "[]", "{}"]):
            yield name, at, "statement deleted", line[: len(line) - len(line.lstrip())] + "{}"
        # Functions that answer with nothing but success.
        unit = unit or bool(re.search(r"-> (Result<\(\), \w+>|Outcome<\(\)>)", code))
        if unit and stripped.endswith("{"):
            yield name, at, "success at once", line + " return Ok(());"
            unit = False


def run(command, limit=LIMIT, **options):
    """Whether a command succeeds in time, and what it prints; None if it does not end."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, **options
    )
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None, ""


class Scratch:
    """A workspace with the checker alone."""

    def __init__(self, folder, corpus):
        self.folder, self.corpus = folder, sorted(path.parent for path in corpus.glob("*/verdict")) if corpus else []
        self.crate = folder / "crates" / HERE.name
        shutil.rmtree(self.crate, ignore_errors=True)
        # As new: cargo goes by the time of files, and the last mutant may lie there built.
        shutil.copytree(HERE, self.crate, copy_function=shutil.copyfile)
        for name in ["Cargo.lock", "rust-toolchain.toml"]:
            shutil.copy(ROOT / name, folder)
        manifest = (ROOT / "Cargo.toml").read_text()
        manifest = re.sub(r'(members = )\[[^]]*\]', rf'\1["crates/{HERE.name}"]', manifest)
        manifest = re.sub(r"^(default-members|exclude) .*\n", "", manifest, flags=re.M)
        manifest += '[profile.release]\nopt-level = 1\nincremental = true\n[profile.release.package."*"]\nopt-level = 3\n'
        (folder / "Cargo.toml").write_text(manifest)
        tests = [path.stem for path in (HERE / "tests").glob("*.rs") if path.stem not in SKIPPED]
        self.cargo = ["--release", "--offline", "--lib", "--bins"] + [part for test in tests for part in ("--test", test)]

    def outcome(self):
        """What happens to the sources as they are."""
        code, output = run(["cargo", "build", *self.cargo], cwd=self.crate)
        if code != 0:
            return "does not compile" if code else "caught by time", output
        code, output = run(["cargo", "test", "--quiet", *self.cargo], cwd=self.crate)
        if code != 0:
            return "caught by tests" if code else "caught by time", output
        for case in self.corpus:
            wanted = (case / "verdict").read_text().strip()
            code, output = run([self.folder / "target" / "release" / "fwcheck", case])
            if code is None or not output.startswith(wanted):
                return "caught by corpus", f"{case.name}: wanted {wanted}, got {output}"
        return "survived", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--scratch", type=Path, default=ROOT / "target" / "mutants")
    parser.add_argument("--file", help="mutants of this file alone")
    arguments = parser.parse_args()
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    scratch = Scratch(arguments.scratch.resolve(), arguments.corpus)
    names = [f"{name}.rs" for name in FILES if arguments.file in (None, f"{name}.rs")]
    texts = {name: (HERE / "src" / name).read_text().splitlines() for name in names}
    every = [mutant for name, lines in texts.items() for mutant in mutants(name, lines)]
    chosen = random.Random(arguments.seed).sample(every, arguments.sample) if arguments.sample else every
    print(f"{len(every)} mutants, {len(chosen)} of them tried, a corpus of {len(scratch.corpus)} artifacts")
    # What it depends on is built first, which may take longer.
    run(["cargo", "build", *scratch.cargo], limit=1200, cwd=scratch.crate)
    outcome, output = scratch.outcome()
    if outcome != "survived":
        sys.exit(f"the checker as it is: {outcome}\n{output}")
    counts = Counter()
    for name, at, what, line in chosen:
        lines = texts[name]
        path = scratch.crate / "src" / name
        path.write_text("\n".join(lines[:at] + [line] + lines[at + 1 :]) + "\n")
        outcome, _ = scratch.outcome()
        counts[outcome] += 1
        print(f"{outcome}: {name}:{at + 1}: {what}", flush=True)
        if outcome == "survived":
            print(f"    {lines[at].strip()}\n    {line.strip()}", flush=True)
        path.write_text("\n".join(lines) + "\n")
    tried = sum(counts.values()) - counts["does not compile"]
    caught = tried - counts["survived"]
    print(f"{caught} of {tried} mutants that compile are caught: {dict(counts)}")


if __name__ == "__main__":
    main()
