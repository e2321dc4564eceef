"""Checks what the theorems of theorems.txt assume, and every link to them and from them; writes theorems.md.

A line of theorems.txt is `File.name`, a theorem that may assume nothing, or `File.name reals`, one about real numbers: it
may assume the axioms of Coq's real numbers, below, and nothing else. build.sh runs this, and fails with it.

- Every rule of CERTIFICATE.md, sections 6, 7 and 10, stands in its list of theorems, with a theorem and a counterexample to a
  false variant; every entry of that list is such a rule; the theorems of a rule are those that Rules.v has under its name.
- Every link of CERTIFICATE.md, THEOREMS.md and the pages in formal/ leads to a theorem that is listed, or to a file that
  is there; every listed theorem is linked by one of the first two.
- Every file begins with the places that link to its theorems.
- theorems.md lists every theorem with its statement, which is the comment in front of it, its file, its lines and its
  axioms; `check.py --write` writes it anew.
"""

import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

FORMAL = Path(__file__).resolve().parent
ROOT = FORMAL.parent
REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
PROVED = r"^(?:Theorem|Lemma|Corollary) {}\b"
LINK = r"\[`(\w+)`\]\(formal/theories/(\w+)\.v\)"


def theorems(text):
    """Each theorem, and whether it may assume the axioms of the real numbers."""
    lines = [line.split() for line in text.splitlines()]
    return {words[0]: words[1:] == ["reals"] for words in lines}


def assumed(printed):
    """The axioms of each theorem, from what Coq prints; None where it prints something else."""
    found = {}
    for part in printed.split("theorem ")[1:]:
        name, *lines = part.splitlines()
        heads = [line.split()[0] for line in lines if line and not line[0].isspace()]
        if heads[:1] == ["Axioms:"]:
            found[name] = set(heads[1:])
        else:
            found[name] = set() if lines == ["Closed under the global context"] else None
    return found


def wrong_assumptions(listed, printed):
    found = assumed(printed)
    for name, reals in listed.items():
        axioms = found.get(name)
        if axioms is None:
            yield f"Coq does not say what {name} assumes"
        elif axioms - (REALS if reals else set()):
            yield f"{name} assumes {', '.join(sorted(axioms))}"


@cache
def source(file):
    path = FORMAL / "theories" / f"{file}.v"
    return path.read_text() if path.exists() else ""


@cache
def statement(file, name):
    """The comment in front of a theorem, and its first and last line; None where there is no such theorem."""
    text = source(file)
    found = re.search(PROVED.format(re.escape(name)), text, re.MULTILINE)
    if found is None:
        return None
    comment = re.search(r"\(\*\*((?:(?!\*\)).)*)\*\)\n\Z", text[: found.start()], re.DOTALL)
    said = " ".join(comment[1].split()) if comment else ""
    first = text.count("\n", 0, found.start()) + 1
    last = text.count("\n", 0, re.compile(r"\bQed\.").search(text, found.end()).end()) + 1
    return "" if re.match(r"\*+ ", said) else said, first, last


def rules(certificate):
    """The rules of sections 6, 7 and 10, and of each one in their list its theorems and its false variants."""
    table = certificate.partition("### The rules in Coq")[2]
    named = [
        rule
        for section in re.split("^## ", certificate, flags=re.MULTILINE)
        if section.startswith(("6.", "7.", "10."))
        for rule in re.findall(r"^- \*\*(.+?)\.?\*\*", section, re.MULTILINE)
    ]
    rows = re.findall(r"^\| ([^|]+?) \| ([^|]*) \| ([^|]*) \|$", table.partition("\n## ")[0], re.MULTILINE)
    return named, {rule: (re.findall(LINK, proved), re.findall(LINK, false)) for rule, proved, false in rows[1:]}


def wrong_rules(certificate):
    named, listed = rules(certificate)
    together = {
        name: re.findall(r"@(\w+)\.(\w+)", parts)
        for name, parts in re.findall(r"^Definition (\w+) := (.*?)\.$", source("Rules"), re.MULTILINE | re.DOTALL)
    }
    for rule in dict.fromkeys([*named, *listed]):
        if rule not in listed:
            yield f"the rule {rule} has no theorem: it is not in CERTIFICATE.md's list"
            continue
        proved, false = listed[rule]
        if rule not in named:
            yield f"CERTIFICATE.md has no rule {rule}"
        if not proved:
            yield f"the rule {rule} has no theorem"
        if not false:
            yield f"the rule {rule} has no counterexample to a false variant"
        name = re.sub(r"\W+", "_", rule.lower())
        if together.pop(name, None) != [(file, theorem) for theorem, file in proved]:
            yield f"Rules.v has other theorems for {name} than CERTIFICATE.md for {rule}"
        for theorem, file in false:
            said = re.search(PROVED.format(theorem) + r"(.*?)\bProof\.", source(file), re.MULTILINE | re.DOTALL)
            if said and "exists" not in said[1] and "<>" not in said[1]:
                yield f"{file}.{theorem} is no counterexample"
        for file in sorted({file for _, file in proved}):
            if not re.search(rf"^\(\*\* \* {re.escape(rule)}(\b|: )", source(file), re.MULTILINE):
                yield f"{file}.v has no heading {rule}"
    for name in together:
        yield f"Rules.v has {name}, which is no rule"


def pages(certificate, paper):
    """Where each theorem is linked from: rules of CERTIFICATE.md, statements of THEOREMS.md."""
    found = defaultdict(list)
    for part in re.split("^## ", paper, flags=re.MULTILINE)[1:]:
        for name, file in re.findall(LINK, part):
            found[f"{file}.{name}"].append(("THEOREMS.md", part.split()[0]))
    _, listed = rules(certificate)
    for rule, (proved, false) in listed.items():
        for name, file in proved:
            found[f"{file}.{name}"].append(("CERTIFICATE.md", rule))
        for name, file in false:
            found[f"{file}.{name}"].append(("CERTIFICATE.md", f"{rule}, a false variant"))
    for name, file in re.findall(LINK, certificate):
        found.setdefault(f"{file}.{name}", [("CERTIFICATE.md", "")])
    return found


def wrong_links(listed, found):
    for theorem in found:
        if statement(*theorem.split(".")) is None:
            yield f"a link leads to {theorem}, which is not there"
        elif theorem not in listed:
            yield f"{theorem} is linked, but not in theorems.txt"
    for theorem, reals in listed.items():
        said = statement(*theorem.split("."))
        if said is None:
            yield f"{theorem} is in theorems.txt, but not there"
        elif not said[0]:
            yield f"{theorem} has no comment that says what it states"
        if theorem not in found:
            yield f"{theorem} is in theorems.txt, but neither CERTIFICATE.md nor THEOREMS.md links to it"
        elif {page for page, _ in found[theorem]} != {"CERTIFICATE.md" if reals else "THEOREMS.md"}:
            yield f"{theorem} is linked from the wrong page"


def back_links(found):
    """The line with which each file links back to the pages that link to its theorems."""
    places = defaultdict(list)
    for theorem, links in found.items():
        file = theorem.split(".")[0]
        for page, place in links:
            target = f"THEOREMS.md#{anchor(place)}" if page == "THEOREMS.md" else "CERTIFICATE.md#the-rules-in-coq"
            if target not in places[file]:
                places[file].append(target)
    return {file: f"(* Linked from {', '.join(sorted(targets))}. *)\n" for file, targets in places.items()}


def wrong_back_links(found):
    lines = back_links(found)
    for path in sorted((FORMAL / "theories").glob("*.v")):
        first, line = path.read_text().splitlines(keepends=True)[0], lines.get(path.stem, "")
        if first.startswith("(* Linked from") and first != line or not first.startswith("(* Linked from") and line:
            yield f"{path.name} should begin with {line.strip() or 'no links'}"


def anchor(heading):
    """A heading's name in links, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def wrong_paths(page):
    """Links of a page to files, and to headings, that are not there."""
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)):
        path, _, heading = target.partition("#")
        if re.match("[a-z]+:", target):
            continue
        place = page.parent / path if path else page
        if not place.exists():
            yield f"{page.name}: a link leads to {target}, which is not there"
        elif heading and place.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", place.read_text(), re.MULTILINE)
            if heading not in map(anchor, headings):
                yield f"{page.name}: a link leads to {target}, which has no such heading"
        elif heading and not 0 < int(heading.removeprefix("L")) <= place.read_text().count("\n"):
            yield f"{page.name}: a link leads to {target}, which has no such line"


PAGE = """# All theorems

Written by `formal/check.py --write` from the sources and from what Coq prints; `formal/build.sh` fails if it is stale. A
statement is the comment in front of the theorem; the link behind it leads to the first line of what Coq checked.

*Axioms*: nothing, or some of the four that Coq's real numbers rest on: `sig_not_dec`, `sig_forall_dec`,
`functional_extensionality_dep`, `classic`. There are no others.
"""


def entry(theorem, axioms, links):
    file, name = theorem.split(".")
    said, first, last = statement(file, name)
    text = said.replace("|", "\\|")
    axioms = ", ".join(sorted(f"`{axiom.split('.')[-1]}`" for axiom in axioms)) or "none"
    back = ", ".join(
        dict.fromkeys(
            f"[{place}](../THEOREMS.md#{anchor(place)})" if page == "THEOREMS.md" else place or "section 3 or 5" for page, place in links
        )
    )
    return f"| `{name}` | {text} | [{file}.v](theories/{file}.v#L{first}), {first} to {last} | {axioms} | {back} |\n"


def page(listed, axioms, found):
    head = "\n| theorem | statement | file, lines | axioms | {} |\n|---|---|---|---|---|\n"
    groups = {
        "The paper": ("statement in THEOREMS.md", [name for name, reals in listed.items() if not reals]),
        "The rules of CERTIFICATE.md": ("rule", [name for name, reals in listed.items() if reals and not name.startswith("Checker.")]),
        "The third checker": ("rule", [name for name in listed if name.startswith("Checker.")]),
    }
    text = PAGE
    for title, (column, names) in groups.items():
        text += f"\n## {title}\n" + head.format(column) + "".join(entry(name, axioms[name] or (), found[name]) for name in names)
    return text


def main(write):
    listed = theorems((FORMAL / "theorems.txt").read_text())
    printed = (FORMAL / "build" / "assumptions.txt").read_text()
    certificate = (ROOT / "CERTIFICATE.md").read_text()
    found = pages(certificate, (ROOT / "THEOREMS.md").read_text())
    wrong = [*wrong_assumptions(listed, printed), *wrong_rules(certificate), *wrong_links(listed, found), *wrong_back_links(found)]
    if not wrong:
        text = page(listed, assumed(printed), found)
        if write:
            (FORMAL / "theorems.md").write_text(text)
        elif not (FORMAL / "theorems.md").exists() or (FORMAL / "theorems.md").read_text() != text:
            wrong.append("theorems.md is stale: formal/check.py --write")
    for place in [ROOT / "CERTIFICATE.md", ROOT / "THEOREMS.md", ROOT / "TRUST.md", *sorted(FORMAL.glob("*.md"))]:
        wrong.extend(wrong_paths(place))
    for line in wrong:
        print(f"formal/build.sh: {line}", file=sys.stderr)
    if not wrong:
        without = sum(not axioms for axioms in assumed(printed).values())
        count = len(rules(certificate)[0])
        print(f"{len(listed)} theorems, {without} without an axiom; {count} rules, each with a theorem and a counterexample")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main("--write" in sys.argv[1:])
