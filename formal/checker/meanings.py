#!/usr/bin/env python3
"""Asks the third checker about lines of section 7 of CERTIFICATE.md, which it reads and does not use.

A claim over integers is accepted with lines of that form; with any fault of form in them it is rejected, for `format`.
The lines of the corpus, which are about boxes, are read to their end as well. With a line `host` (section 10) it is
declined. build.sh runs it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FORMAL = Path(__file__).resolve().parents[1]
CORPUS = FORMAL.parent / "corpus"
# Three tokens with positions, one head with one value, six hidden units, two registers.
FOLDER = CORPUS / "accept" / "circuit-mod"

# Every kind of wire; nothing here need be true.
LINES = """\
meanings 14
wire input 0
wire position 0 1 -2/3
wire curve 0 1 0 1 x 1/2 mul abs negate power 1000 exp 3 max
wire product 1 1 0 2 0 2 1 1 2 -1/2
wire mean 1/3 0 1 0 1
wire seen * 0 -1 * yes sum 3 0 1 0 1
wire gather 0 1 1 1 5 0
wire select 0 1 1 1 0 0
wire points 0 1 0 1 -1 0 1/2 1
wire cases 0 2 7 1 8 1
wire curve 1/2 1 0 1/2 2 x relu mul 4 x 1/2 sub relu mul sub
wire teeth 0 1 0 1 0 1 0 1 1 1 0 1 0 1 1 10
wire attend * 0 * * no 0 1 0 1 2 1 0 0 1 1 1/2 0 1 0 2 1 0
wire exchange 0 1 1 1 0 0 -1 1 0 1
layers 3
layer 0 2
holds 0 0 1 0 1
holds 1 0 0
layer 1 1
head 4 0 1 4 1 0 0
holds 1 0 1 4 1
layer 1 1
gate 3 0 1 3 1 2 5 0 1 0 1 0 1/2 0
holds 0 0 1 3 1
outputs 1
output 0 2 2 1 3 1
"""

# What stands in the lines above, and what is put in its place.
REJECTED = {
    "more wires than lines": ("meanings 14", "meanings 15"),
    "more lines than wires": ("meanings 14", "meanings 13"),
    "more wires than any file has": ("meanings 14", "meanings 2147483647"),
    "a count of 2^31": ("meanings 14", "meanings 2147483648"),
    "no count of wires": ("meanings 14", "meanings"),
    "another word than meanings": ("meanings 14", "meanings-14"),
    "two spaces": ("wire input 0", "wire  input 0"),
    "a space at the end": ("wire input 0", "wire input 0 "),
    "an empty line": ("wire input 0\n", "wire input 0\n\n"),
    "a carriage return": ("wire input 0", "wire input 0\r"),
    "an unknown kind of wire": ("wire input 0", "wire output 0"),
    "a coordinate that is not there": ("wire input 0", "wire input 1"),
    "a leading zero": ("wire input 0", "wire input 00"),
    "a position without numbers": ("wire position 0 1 -2/3", "wire position"),
    "not in lowest terms": ("-2/3", "-4/6"),
    "a denominator of 1": ("-2/3", "-2/1"),
    "a decimal": ("-2/3", "-0.5"),
    "minus 0": ("-2/3", "-0"),
    "an unknown word of a function": ("1/2 mul abs", "1/2 times abs"),
    "a function without an argument": ("x 1/2 mul abs", "1/2 mul abs"),
    "a function that leaves two numbers": ("x 1/2 mul abs", "x 1/2 abs"),
    "a function without words": ("1 0 1/2 2 x relu mul 4 x 1/2 sub relu mul sub", "1 0 1/2"),
    "a power above 1,000": ("power 1000", "power 1001"),
    "a power that is no count": ("power 1000", "power -1"),
    "a wire itself": ("0 2 0 2 1 1 2 -1/2", "0 2 0 2 1 1 3 -1/2"),
    "a later wire": ("wire mean 1/3 0 1 0 1", "wire mean 1/3 0 1 5 1"),
    "a factor of 0": ("wire mean 1/3 0 1 0 1", "wire mean 1/3 0 1 0 0"),
    "a wire twice": ("0 2 1 1 2 -1/2", "0 2 2 1 2 -1/2"),
    "wires that descend": ("0 2 1 1 2 -1/2", "0 2 2 1 1 -1/2"),
    "fewer terms than their count": ("wire mean 1/3 0 1 0 1", "wire mean 1/3 0 2 0 1"),
    "more terms than their count": ("wire mean 1/3 0 1 0 1", "wire mean 1/3 0 0 0 1"),
    "an unknown sum": ("yes sum 3", "yes min 3"),
    "a mask of three limits": ("seen * 0 -1 * yes", "seen * 0 -1 yes"),
    "a mask with a fraction": ("seen * 0 -1 * yes", "seen * 0 1/2 * yes"),
    "a mask without its last word": ("seen * 0 -1 * yes", "seen * 0 -1 *"),
    "one form of two": ("wire gather 0 1 1 1 5 0", "wire gather 0 1 1 1"),
    "three forms": ("wire select 0 1 1 1 0 0", "wire select 0 1 1 1 0 0 0 0"),
    "two forms of three": ("wire exchange 0 1 1 1 0 0 -1 1 0 1", "wire exchange 0 1 1 1 0 0"),
    "points that begin at a fraction": ("0 1 0 1 -1 0 1/2 1", "0 1 0 1 -1/2 0 1/2 1"),
    "points without numbers": ("0 1 0 1 -1 0 1/2 1", "0 1 0 1 -1"),
    "cases of two forms": ("wire cases 0 2 7 1 8 1", "wire cases 0 2 7 1 8 1 0 0"),
    "a score of a query without a key": ("2 1 0 0 1 1 1/2 0 1 0 2 1 0", "2 1 0 0 1 1 1/2 0 1 0 2"),
    "a score of more products than its count": ("no 0 1 0 1 2 1 0", "no 0 1 0 1 1 1 0"),
    "a score of fewer products than its count": ("no 0 1 0 1 2 1 0", "no 0 1 0 1 3 1 0"),
    "a softmax without a mask": ("wire attend * 0 * * no 0", "wire attend 0"),
    "a tooth that is not there": ("1 0 1 0 1 1 10", "1 0 1 0 1 1 11"),
    "fewer teeth than their count": ("1 0 1 0 1 1 10", "1 0 1 0 1 2 10"),
    "a sub-layer too few": ("layers 3", "layers 2"),
    "a sub-layer too many": ("layers 3", "layers 4"),
    "an embedding that makes a wire": ("layer 0 2", "layer 1 2"),
    "a layer with one count": ("layer 0 2", "layer 0"),
    "more registers than lines": ("layer 0 2", "layer 0 3"),
    "fewer registers than lines": ("layer 0 2", "layer 0 1"),
    "registers that descend": ("holds 0 0 1 0 1\nholds 1 0 0", "holds 1 0 1 0 1\nholds 0 0 0"),
    "a register twice": ("holds 1 0 0", "holds 0 0 0"),
    "a register that is not there": ("holds 1 0 0", "holds 2 0 0"),
    "a gate for attention": ("head 4 0 1 4 1 0 0", "gate 4 0 1 4 1 1 0 0 0"),
    "a head for hidden units": ("gate 3 0 1 3 1 2 5 0 1 0 1 0 1/2 0", "head 3 0 1 3 1 0 0"),
    "a head that is not there": ("head 4 0 1 4 1 0 0", "head 4 0 1 4 1 1 0"),
    "a value that is not there": ("head 4 0 1 4 1 0 0", "head 4 0 1 4 1 0 1"),
    "a made wire that is not there": ("head 4 0 1 4 1 0 0", "head 14 0 1 4 1 0 0"),
    "a unit that is not there": ("gate 3 0 1 3 1 2 5", "gate 3 0 1 3 1 2 6"),
    "an argument without its form": ("gate 3 0 1 3 1 2 5 0 1 0 1 0 1/2 0", "gate 3 0 1 3 1 2 5 0 1 0 1 0"),
    "another number of outputs": ("outputs 1", "outputs 2"),
    "no outputs": ("outputs 1\noutput 0 2 2 1 3 1\n", ""),
    "an output that is missing": ("output 0 2 2 1 3 1\n", ""),
    "an output twice": ("output 0 2 2 1 3 1\n", "output 0 2 2 1 3 1\noutput 0 2 2 1 3 1\n"),
    "a wire that is not there in an output": ("output 0 2 2 1 3 1", "output 0 2 2 1 14 1"),
}

# Where the page leaves room, or another checker reads less: nothing is said.
DECLINED = {
    "fewer positions than the network has": ("wire position 0 1 -2/3", "wire position 0 1"),
    "a gate of three arguments": ("gate 3 0 1 3 1 2 5 0 1 0 1 0 1/2 0", "gate 3 0 1 3 1 3 5 0 0 0 0 0 1 0 0"),
    "teeth of three arguments": ("0 1 0 1 1 1 0 1 0 1 1 10", "0 1 0 1 1 3 0 0 0 0 0 0 0 0 0"),
    "a long number in a function": ("4 x 1/2 sub", f"{10**1000} x 1/2 sub"),
}

# What stands in front of the hashes: of a host, and what is none.
HOSTS = {
    "host bert\n": "declined: the certificate of a host",
    "host gpt2\n": "declined: the certificate of a host",
    "host of-another-class-9\n": "declined: the certificate of a host",
    "host Bert\n": "rejected format, ",
    "host \n": "rejected format, ",
    "host\n": "rejected format, ",
    "host bert 2\n": "rejected format, ",
    "hosts bert\n": "rejected format, ",
}


def say(folder, certificate):
    with tempfile.TemporaryDirectory() as scratch:
        for name in "target.json", "model.safetensors":
            shutil.copy(folder / name, scratch)
        Path(scratch, "certificate.fwc").write_text(certificate, newline="")
        command = [FORMAL / "build" / "third-checker", scratch]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main():
    wrong, cases, text = 0, [("lines of every kind", LINES, "accepted")], (FOLDER / "certificate.fwc").read_text()
    for changes, verdict in (REJECTED, "rejected format, "), (DECLINED, "declined: "):
        for name, (old, new) in changes.items():
            assert LINES.count(old) == 1, f"{name}: {old!r} must stand in the lines once"
            cases.append((name, LINES.replace(old, new), verdict))
    for name, lines, verdict in cases:
        # Its own lines make room for these.
        said = say(FOLDER, text.partition("\nmeanings ")[0].removesuffix("\nend\n") + f"\n{lines}end\n")
        if not said.startswith(verdict):
            wrong += 1
            print(f"formal/checker/meanings.py: {name}: {said}, and not {verdict}", file=sys.stderr)
    for line, verdict in HOSTS.items():
        for at, wanted in ("sha256 target.json", verdict), ("badge ", "rejected format, "):
            said = say(FOLDER, text.replace(at, line + at, 1))
            if not said.startswith(wanted):
                wrong += 1
                print(f"formal/checker/meanings.py: {line.strip()} in front of {at}: {said}, and not {wanted}", file=sys.stderr)
    # A certificate that says integers where the target says box is rejected for that once it has been read.
    count = 0
    for file in sorted(CORPUS.glob("accept/*/certificate.fwc")):
        text = file.read_text()
        if "\nover box\n" not in text or "\nmeanings " not in text:
            continue
        count += 1
        said = say(file.parent, text.replace("\nover box\n", "\nover integers\n"))
        if not re.match("rejected claim, over|declined: attention other than softmax", said):
            wrong += 1
            print(f"formal/checker/meanings.py: {file.parent.name}: {said}", file=sys.stderr)
    print(f"meanings: {len(REJECTED)} faults of form rejected, {len(DECLINED)} declined, {count} of the corpus read, {len(HOSTS)} lines `host`")
    sys.exit(bool(wrong or not count))


if __name__ == "__main__":
    main()
