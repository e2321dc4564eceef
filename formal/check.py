"""Checks what the theorems of theorems.txt assume, and that every link to a theorem leads to one. build.sh runs it.

A line of theorems.txt is `File.name`, a theorem that may assume nothing, or `File.name reals`, one about real numbers: it
may assume the axioms of Coq's real numbers, below, and nothing else.
"""

import re
import sys
from pathlib import Path

FORMAL = Path(__file__).resolve().parent
CERTIFICATE = FORMAL.parent / "CERTIFICATE.md"
REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}


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


def proved(file, name):
    """Whether the file states a theorem of this name."""
    source = FORMAL / "theories" / file
    statement = rf"^(Theorem|Lemma|Corollary) {re.escape(name)}\b"
    return source.exists() and re.search(statement, source.read_text(), re.MULTILINE) is not None


def wrong_links(listed, certificate, readme):
    """Links to what is not a listed theorem, and listed theorems that nothing links to."""
    linked = set()
    rows = re.findall(r"^\| `(\w+)` \| `(\w+\.v)` \|", readme, re.MULTILINE)
    for name, file in rows + re.findall(r"\[`(\w+)`\]\(formal/theories/([^)]+)\)", certificate):
        theorem = f"{file.removesuffix('.v')}.{name}"
        linked.add(theorem)
        if not proved(file, name):
            yield f"a link leads to {theorem}, which is not there"
        elif theorem not in listed:
            yield f"{theorem} is linked, but not in theorems.txt"
    for theorem in listed.keys() - linked:
        yield f"{theorem} is in theorems.txt, but neither CERTIFICATE.md nor README.md links to it"

    # Rules have the same names in both places.
    for rule, cells in re.findall(r"^\| (\w[\w ]*?) \| (.*formal/theories/.*) \|$", certificate, re.MULTILINE):
        if f"**{rule}" not in certificate:
            yield f"CERTIFICATE.md has no rule {rule}"
        for file in set(re.findall(r"formal/theories/(\w+\.v)", cells)):
            source = FORMAL / "theories" / file
            if source.exists() and not re.search(rf"^\(\*\* \* {rule}\b", source.read_text(), re.MULTILINE):
                yield f"{file} has no heading {rule}"


def main():
    listed = theorems((FORMAL / "theorems.txt").read_text())
    printed = (FORMAL / "build" / "assumptions.txt").read_text()
    wrong = [*wrong_assumptions(listed, printed), *wrong_links(listed, CERTIFICATE.read_text(), (FORMAL / "README.md").read_text())]
    for line in wrong:
        print(f"formal/build.sh: {line}", file=sys.stderr)
    for name, axioms in assumed(printed).items():
        print(f"{name}: {'the axioms of the real numbers' if axioms else 'assumes nothing'}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
