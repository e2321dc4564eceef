#!/usr/bin/env python3
"""Runs both checkers on folders: agree.py FWCHECK [--mutants N] DIR…, where a DIR is a folder with a certificate, or holds some.

With `--mutants` each folder is looked at N times more, every time with one number, bit, word or line changed, or with a narrow
tent of three hidden units more (by a seed that is the same each time), and hashed anew; of a stock host a number with its mirror,
a gain, a setting, or a line. Bounds that are proved by meanings are doubled in every second of them: they leave so little room
that hardly a changed weight would be accepted otherwise.

Prints how often each pair of verdicts came, and what both said where one accepts and the other rejects; exit 1 if that
happens, or if a checker gives no verdict. One that declines decides less than the other; that is counted, and no fault.
"""

import hashlib
import json
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from fractions import Fraction
from pathlib import Path

import checker
from hosts import is_host

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


def too_long(*_):
    raise TimeoutError


def second(folder):
    """The same of checker.py, in this process: starting one takes longer than most verdicts."""
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS)
    try:
        found = checker.check_folder(folder)
    except checker.Declined as error:
        return "declined", f"declined: {error}"
    except TimeoutError:
        return "declined", f"declined: more than {SECONDS} seconds"
    except Exception:
        return "error", traceback.format_exc()
    finally:
        signal.alarm(0)
    return found.verdict, f"{found.verdict} {found.obligation}, {found.place}: {found.reason}"


def mutant(folder, chance, to):
    """Writes the files of a folder with one change, hashed anew."""
    text = (folder / "certificate.fwc").read_text()
    target, weights = (folder / "target.json").read_bytes(), bytearray((folder / "model.safetensors").read_bytes())
    layers = re.findall(r"^run (\d+) (?:.* )?ff (\d+)$", text, re.MULTILINE) if "\nmeanings " in text else []
    kind = chance.choice(["weight", "weight", "bit", "target", "line", *["line", "word", "needle"] * bool(layers)])
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
    elif kind == "line":
        lines = text.split("\n")
        place = chance.randrange(3, len(lines) - 1)
        numbers = list(re.finditer(r"(?<= )-?\d+(/\d+)?(?= |$)", lines[place]))
        if numbers:
            found = chance.choice(numbers)
            lines[place] = lines[place][:found.start()] + str(other(Fraction(found[0]), chance)) + lines[place][found.end():]
        text = "\n".join(lines)
    elif kind == "word":
        lines = text.split("\n")
        places = [k for k, line in enumerate(lines) if re.match("(wire|mask|gate|head|holds|output) ", line)]
        place, other_place = chance.choice(places), chance.choice(places)
        words = lines[place].split(" ")
        k = chance.randrange(1, len(words))
        words[k] = chance.choice(WORDS.get(words[k], [words[k], "*"]))
        lines[place] = " ".join(words)
        if chance.random() < 0.3:
            lines[place], lines[other_place] = lines[other_place], lines[place]
        text = "\n".join(lines)
    else:
        text, weights = needle(text, weights, chance)
    if layers and chance.random() < 0.5:
        text = re.sub(r"(?<=\nbound )\S+", lambda found: str(2 * Fraction(found[0])), text)
    for name, data in ("target.json", target), ("model.safetensors", bytes(weights)):
        text = re.sub(f"sha256 {name} \\w+", f"sha256 {name} {hashlib.sha256(data).hexdigest()}", text)
        (to / name).write_bytes(data)
    (to / "certificate.fwc").write_text(text)


def host_mutant(folder, chance, to):
    """The same of a stock host."""
    text = (folder / "certificate.fwc").read_text()
    files = {name: (folder / name).read_bytes() for name in re.findall(r"^sha256 (\S+)", text, re.MULTILINE)}
    kind = chance.choice(["pair", "pair", "pair", "gain", "gain", "number", "setting", "line", "line"])
    if kind == "line":
        lines = text.split("\n")
        place = chance.randrange(len(files) + 2, len(lines) - 1)
        numbers = list(re.finditer(r"(?<= )-?\d+(/\d+)?(?= |$)", lines[place]))
        if numbers:
            found = chance.choice(numbers)
            lines[place] = lines[place][: found.start()] + str(other(Fraction(found[0]), chance)) + lines[place][found.end() :]
        text = "\n".join(lines)
    elif kind == "setting":
        config = json.loads(files["config.json"])
        name = chance.choice(sorted(config))
        config[name] = config[name] * chance.choice([2, 1e6]) if isinstance(config[name], float) else chance.choice([0, 1, 1e-3, "gelu", None, True])
        files["config.json"] = json.dumps(config).encode()
    else:
        size = max(re.findall(r'"(?:hidden_size|n_embd)": (\d+)', files["config.json"].decode()), key=int)
        name = chance.choice([name for name in files if name.endswith(".safetensors")] if kind == "pair" else ["model.safetensors"])
        files[name] = host_numbers(files[name], kind, int(size), chance)
    if chance.random() < 0.5:
        text = re.sub(r"(?<=\nbound )\S+", lambda found: str(2 * Fraction(found[0])), text)
    for name, data in files.items():
        text = re.sub(f"sha256 {name} \\w+", f"sha256 {name} {hashlib.sha256(data).hexdigest()}", text)
        (to / name).write_bytes(data)
    (to / "certificate.fwc").write_text(text)


def host_numbers(data, kind, size, chance):
    """One number changed; with its mirror, or that of a norm."""
    data, (length,) = bytearray(data), struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    entries = {name: entry for name, entry in header.items() if kind != "gain" or re.search(r"(LayerNorm|ln_[12f])\.weight$", name)}
    entry = entries[chance.choice(sorted(entries))]
    width, code = (8, "<d") if entry["dtype"] == "F64" else (4, "<f")
    start, end = (8 + length + offset for offset in entry["data_offsets"])
    numbers, rows = [x for (x,) in struct.iter_unpack(code, data[start:end])], entry["shape"][0]
    columns = len(numbers) // rows
    alive = [k for k, x in enumerate(numbers) if x]
    at = chance.choice(alive) if alive and chance.random() < 0.8 else chance.randrange(len(numbers))
    row, column, half = at // columns, at % columns, size // 2
    found = numbers[at]
    numbers[at] = chance.choice([found * (1 + chance.choice([-1, 1]) * 2.0 ** -chance.randrange(2, 24)), found + chance.choice([1, -1, 1e-3, 1e-6]), -found, 0.0])
    if kind == "pair":  # the axis along which this number has its negative, if it has
        if columns == size and (not found or numbers[row * columns + (column + half) % size] == -found):
            numbers[row * columns + (column + half) % size] = -numbers[at]
        elif rows == size:
            numbers[(row + half) % size * columns + column] = -numbers[at]
    data[start:end] = struct.pack(f"<{len(numbers)}{code[1]}", *numbers)
    return bytes(data)


LIMITS, AGGREGATES = ["*", "0", "1", "-1", "2"], ["mean", "sum", "max"]
WORDS = {**dict.fromkeys(LIMITS, LIMITS), **dict.fromkeys(AGGREGATES, AGGREGATES), "yes": ["no"], "no": ["yes"], "gather": ["select"], "select": ["gather"],
         "curve": ["product"], "add": ["sub"], "relu": ["abs"]}


def other(number, chance):
    """A number in place of this one."""
    if number.denominator == 1 and chance.random() < 0.5:
        return number + chance.choice([-1, 1])
    return chance.choice([-number, 2 * number, number * (1 + Fraction(1, 10**6)), number + Fraction(1, 10**9), number - 1])


def needle(text, weights, chance):
    """Three units more in one feed-forward layer: a narrow tent of what a unit reads, in one register."""
    length = struct.unpack("<Q", weights[:8])[0]
    header, body = json.loads(weights[8 : 8 + length]), weights[8 + length :]
    code = "d" if "ieee-any-order f64" in text else "f"
    tensors = {name: [entry["shape"], [x for (x,) in struct.iter_unpack(f"<{code}", body[slice(*entry["data_offsets"])])], entry["dtype"]]
               for name, entry in header.items()}
    block = chance.choice([name[: -len("ff.w1")] for name in tensors if name.endswith("ff.w1") and tensors[name][0][0] == 1])
    (_, hidden, width), w1 = tensors[f"{block}ff.w1"][:2]
    b1, w2 = tensors[f"{block}ff.b1"][1], tensors[f"{block}ff.w2"][1]
    unit, register = chance.randrange(hidden), chance.randrange(width)
    where, narrow, high = chance.uniform(-1, 1), chance.choice([1e-6, 1e-4, 1e-2]), chance.choice([1e-4, 1e-2, 1.0])
    steep = [high / narrow * factor for factor in (1, -2, 1)]
    tensors[f"{block}ff.w1"][:2] = [1, hidden + 3, width], w1 + 3 * w1[unit * width : (unit + 1) * width]
    tensors[f"{block}ff.b1"][:2] = [1, hidden + 3], [*b1, where + narrow, where, where - narrow]
    rows = [w2[row * hidden : (row + 1) * hidden] + (steep if row == register else [0.0] * 3) for row in range(width)]
    tensors[f"{block}ff.w2"][:2] = [1, width, hidden + 3], [x for row in rows for x in row]
    data = b""
    for name, (shape, numbers, kind) in tensors.items():
        packed = struct.pack(f"<{len(numbers)}{code}", *numbers)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    head, lines, first = json.dumps(header).encode(), text.split("\n"), 0
    for place, line in enumerate(lines):
        if line.startswith("run "):
            if f"{first}." == block:
                lines[place] = re.sub(r"ff \d+$", f"ff {hidden + 3}", line)
            first += int(line.split(" ")[1])
    return "\n".join(lines), bytearray(struct.pack("<Q", len(head)) + head + data)


def cases(places, mutants):
    """Folders, and changed copies of them."""
    for folder in sorted({file.parent for place in places for file in Path(place).rglob("certificate.fwc")}):
        yield folder
        chance = random.Random(folder.name)
        for count in range(mutants):
            with tempfile.TemporaryDirectory(prefix=f"{folder.name}-{count}-") as scratch:
                (host_mutant if is_host((folder / "certificate.fwc").read_bytes()) else mutant)(folder, chance, Path(scratch))
                yield Path(scratch)


def main(fwcheck, *places):
    mutants, pairs, faults = 0, Counter(), 0
    if places[0] == "--mutants":
        mutants, places = int(places[1]), places[2:]
    for folder in cases(places, mutants):
        one, other = verdict(fwcheck, folder), second(folder)
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
