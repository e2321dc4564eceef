"""Mutation testing of the checker: which small changes of its sources does no test notice?

    python3 crates/formwright-check/mutants.py make FOLDER [--part 0/8] [--only 17 …]
    python3 crates/formwright-check/mutants.py run FOLDER [--jobs 2] [--only 17 …]

Every mutant is one change of one line. `make` builds all of them into the same test programs: a function has a copy of its body for each of its
mutants, and the variable MUTANT says which one is meant. What does not compile is left out, and counted. Compilers take long for all of them
at once; `--part 3/8` takes every eighth, `--only` some. FOLDER then needs no compiler and no sources, so that `run` may happen elsewhere.

`run` asks the tests beside the checker and the corpus, the fast ones first; a mutant that hangs is caught. `FOLDER/outcomes.txt` has a line a
mutant; survivors are printed with their lines. Some are equivalent to the original, or change a message or a limit.
"""

import argparse
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = [
    "prove", "lib", "fast/skip",
    *[f"kernel/{name}" for name in ["sum", "softmax", "number", "number/ratio", "form", "function", "piecewise"]],
    *[f"rules/{name}" for name in ["points", "points/forward", "points/attention", "points/mixers", "sweep", "power", "lines"]],
    *[f"rules/lines/{path.stem}" for path in sorted((HERE / "src/rules/lines").glob("*.rs")) if path.stem != "told"],
    *[f"rules/lines/{name}" for name in ["normal/whole"]],
    *[f"read/{name}" for name in ["certificate", "weights", "target", "json", "folder"]],
]
# Words that say something to people, and decide nothing.
MESSAGES = {("kernel/number.rs", "fmt"), ("prove.rs", "shown"), ("prove.rs", "claim"), ("prove.rs", "fmt"), ("lib.rs", "fmt"), ("lib.rs", "name"), ("read/json.rs", "fault")}
# Comparisons with many random executions.
LONG = [
    f"rules::points::tests::{name}"
    for name in [
        "networks_do_what_they_are_said_to",
        "shares_are_what_they_are_said_to_be",
        "skipped_layers_rest",
        "sums_lie_where_they_are_said_to",
        "sweeps_carry_tokens_no_farther_than_they_are_said_to",
    ]
]
# The programs that ask, in this order, and which tests of them; other programs test the workspace, or take long.
STEPS = [
    ("all", [f"{name}::" for name in ["meanings", "heads", "hub", "attend", "shared", "distance", "gates", "whole", "kinds", "norms", "rules", "readers", "connections"]]),
    ("all", ["corpus::"]),
    ("formwright_check", [f"--skip={name}" for name in LONG]),
    ("all", ["executions::"]),
    ("formwright_check", ["--exact", *LONG]),
]
TESTS = sorted({name for name, _ in STEPS})
# Of processor time, in seconds (and twenty times as many by the clock), and of addresses, in bytes. The longest program takes 12 seconds.
LIMIT, MEMORY = 40, 16 << 30

# The replacements, outside of texts and comments.
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


def functions(lines):
    """The bodies of functions, as rustfmt leaves them: (name, first line, line behind the last)."""
    at = 0
    while at < len(lines):
        if match := re.match(r"(\s*)(pub(\([^)]*\))? )?fn (\w+)", lines[at]):
            start = next(k for k in range(at, len(lines)) if lines[k].endswith("{")) + 1
            at = next(k for k in range(start, len(lines)) if lines[k] == match[1] + "}")
            yield match[4], start, at
        at += 1


def boxed(body, opaque):
    """A body whose value is in a box, if need be, on as many lines."""
    return [f"Box::new({{ {body[0]}", *body[1:-1], f"{body[-1]} }})"] if opaque else body


def with_choices(lines, mutants):
    """The text with every mutant in it, and which of its lines belong to which mutant."""
    text, owners, done = [], {}, 0
    for _, start, end in functions(lines):
        here = [(id, at, new) for id, at, new in mutants if start - 1 <= at < end]
        text += lines[done:start]
        done = end
        if not here:
            text += lines[start:end]
            continue
        # Copies of a closure have types of their own.
        opaque = "-> impl Iterator" in text[-1]
        text[-1] = re.sub(r"-> impl (Iterator<.*>) {", r"-> Box<dyn \1 + '_> {", text[-1])
        result = re.search(r".*\) -> (.*) {$", text[-1])
        call = f"crate::apart(move || -> {result[1] if result else '()'} {{"
        text.append("match crate::mutant() {")
        for id, at, new in here:
            body = [" return Ok(());", *lines[start:end]] if at < start else [*lines[start:at], new, *lines[at + 1 : end]]
            owners |= {len(text) + k: id for k in range(len(body) + 2)}
            text += [f"{id} => {call}", *boxed(body, opaque), "}),"]
        text += ["_ => {", *boxed(lines[start:end], opaque), "}", "}"]
    return text + lines[done:], owners


def constants_as_functions(sources):
    """Constants of counts become functions, so that they can have mutants; sources maps paths to lines."""
    for path, lines in sources.items():
        if path.stem == "folder":  # where one stands in another constant
            continue
        for at, line in enumerate(lines):
            if match := re.fullmatch(r"const ([A-Z_]+): (usize|i64) = ([^;]+);", line):
                name, kind, value = match.groups()
                # Texts name the constant, which stays.
                lines[:] = [re.sub(rf"(?<!\{{)\b{name}\b(?!`|: )", f"{name.lower()}_()", line) for line in lines]
                lines[at : at + 1] = [line, f"fn {name.lower()}_() -> {kind} {{", f"    {value}", "}"]
            if match := re.fullmatch(r"    pub const (SINGLE|DOUBLE): Self = ([^;]+);", line):
                lines[at : at + 1] = [f"    pub fn {match[1]}() -> Self {{", f"        {match[2]}", "    }"]
    for lines in sources.values():
        lines[:] = [re.sub(r"(Format|Self)::(SINGLE|DOUBLE)\b(?!\()", r"\1::\2()", line) for line in lines]


def cargo(command, crate, *options):
    """Runs cargo, and reads what it says of errors and programs."""
    arguments = ["cargo", command, "--release", "--offline", "--message-format=json", *options]
    done = subprocess.run(arguments, cwd=crate, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ | {"RUSTFLAGS": "-Awarnings"})
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def make(folder, part, only, files):
    """Builds the programs with the mutants of a part, or some of them."""
    which, parts = map(int, part.split("/"))
    root, crate = HERE.parent.parent, folder / "work" / "crates" / HERE.name
    shutil.rmtree(crate, ignore_errors=True)
    shutil.copytree(HERE, crate)
    for name in ["Cargo.lock", "rust-toolchain.toml"]:
        shutil.copy(root / name, folder / "work")
    manifest = (root / "Cargo.toml").read_text()
    manifest = re.sub(r"(members = )\[[^]]*\]", rf'\1["crates/{HERE.name}"]', manifest)
    manifest = re.sub(r"^(default-members|exclude) .*\n", "", manifest, flags=re.M)
    (folder / "work" / "Cargo.toml").write_text(manifest + "[profile.release]\nopt-level = 1\n[profile.release.package.'*']\nopt-level = 3\n")
    sources = {path: path.read_text().splitlines() for path in sorted((crate / "src").rglob("*.rs"))}
    constants_as_functions(sources)
    every, ids = defaultdict(list), itertools.count(1)
    named = {}
    for name in [f"{name}.rs" for name in FILES if name.startswith(tuple(files))]:
        path = crate / "src" / name
        silent = [range(start, end) for function, start, end in functions(sources[path]) if (name, function) in MESSAGES]
        inside = [range(start - 1, end) for _, start, end in functions(sources[path])]
        for _, at, what, new in mutants(name, sources[path]):
            if any(at in part for part in inside) and not any(at in part for part in silent):
                id = next(ids)
                if id % parts != which or (only and id not in only):
                    continue
                every[path].append((id, at, new))
                named[id] = [name, at + 1, what, sources[path][at].strip(), new.strip()]
    chooser = [
        "fn mutant() -> u32 {",
        "    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();",
        '    *CHOSEN.get_or_init(|| std::env::var("MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(0))',
        "}",
        # Copies in functions of their own: the compiler takes long for large ones.
        "#[inline(never)]",
        "fn apart<R>(body: impl FnOnce() -> R) -> R {",
        "    body()",
        "}",
    ]
    dropped = set()
    while True:
        owners = {}
        for path, lines in sources.items():
            text, owners[path] = with_choices(lines, [mutant for mutant in every[path] if mutant[0] not in dropped])
            path.write_text("\n".join(text + (chooser if path.name == "lib.rs" else [])) + "\n")
        code, messages = cargo("check", crate, "--lib")
        if code == 0:
            break
        spans = [span for message in messages if (error := message.get("message")) and error["level"] == "error" for span in error["spans"]]
        wrong = {owners.get(crate / span["file_name"].split(f"{HERE.name}/")[-1], {}).get(span["line_start"] - 1) for span in spans if span["is_primary"]} - {None}
        if not wrong:
            sys.exit("\n".join(message["message"]["rendered"] for message in messages if "message" in message)[:5000])
        dropped |= wrong
        print(f"{len(named)} mutants, {len(dropped)} do not compile", flush=True)
    code, messages = cargo("test", crate, "--no-run", "--lib", "--bins", *itertools.chain(*(["--test", name] for name in TESTS if name != "formwright_check")))
    programs = {message["target"]["name"]: message["executable"] for message in messages if message.get("executable")}
    if code or not set(TESTS) <= set(programs):
        sys.exit("the tests do not build:\n" + "\n".join(message["message"]["rendered"] for message in messages if "message" in message)[:5000])
    (folder / "programs").mkdir(exist_ok=True)
    for name in TESTS:
        shutil.copy(programs[name], folder / "programs" / name)
    shutil.copytree(root / "corpus", folder / "corpus", dirs_exist_ok=True)
    (folder / "crates" / HERE.name).mkdir(parents=True, exist_ok=True)
    (folder / "mutants.json").write_text(json.dumps({"dropped": sorted(dropped), "mutants": named}, indent=0))
    print(f"{len(named)} mutants, {len(dropped)} of them do not compile")


def caught_by(folder, id, steps):
    """The first program that notices a mutant, if one does."""
    # A copy for every mutant makes frames large.
    environment = os.environ | {"MUTANT": str(id), "RUST_MIN_STACK": str(1 << 28), "CARGO_MANIFEST_DIR": str(folder / "crates" / HERE.name)}
    for name, tests in steps:
        command = ["prlimit", f"--cpu={LIMIT}", f"--as={MEMORY}", folder / "programs" / name, "--test-threads=1", "--quiet", *tests]
        try:
            code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, timeout=20 * LIMIT).returncode
        except subprocess.TimeoutExpired:
            return "time"
        if code != 0:
            return "time" if code in [-signal.SIGXCPU, -signal.SIGKILL] else name
    return None


def run(folder, jobs, only, steps):
    """Runs the tests for all mutants, or some."""
    known = json.loads((folder / "mutants.json").read_text())
    chosen = only or [int(id) for id in known["mutants"] if int(id) not in known["dropped"]]
    if by := caught_by(folder, 0, steps):
        sys.exit(f"the checker as it is: {by} fails")
    counts = Counter()
    with ThreadPoolExecutor(jobs) as pool, open(folder / "outcomes.txt", "w") as out:
        for id, by in zip(chosen, pool.map(lambda id: caught_by(folder, id, steps), chosen)):
            name, line, what, old, new = known["mutants"][str(id)]
            counts[by or "survived"] += 1
            print(id, by or "survived", file=out, flush=True)
            if by is None:
                print(f"{id} survived: {name}:{line}: {what}\n    {old}\n    {new}", flush=True)
    print(f"{len(chosen) - counts['survived']} of {len(chosen)} caught: {dict(counts)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["make", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time")
    parser.add_argument("--part", default="0/1", help="every k-th mutant: WHICH/K")
    parser.add_argument("--files", nargs="*", default=[""], help="mutants of files whose names begin so")
    parser.add_argument("--short", action="store_true", help="without comparisons with many random executions")
    parser.add_argument("--only", type=int, nargs="*", help="mutants by number")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.step == "make":
        make(arguments.folder.resolve(), arguments.part, arguments.only, arguments.files)
    else:
        run(arguments.folder.resolve(), arguments.jobs, arguments.only, STEPS[:3] if arguments.short else STEPS)


if __name__ == "__main__":
    main()
