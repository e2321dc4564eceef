"""Certificates of stock hosts: section 10 of CERTIFICATE.md. A folder that `from_pretrained` reads, its settings and tensors, and
the network that is inside of it: registers are half the differences of mirrored coordinates. norms.py has the rules.
"""

import hashlib
import re
from fractions import Fraction
from itertools import chain, product
from math import ceil, floor
from types import SimpleNamespace
from typing import NamedTuple

from checker import (STEPS, TEXT, WEIGHTS, Declined, Lines, Rejected, Run, Undefined, Unclear, Verdict, Written, fits, integer,
                     is_power_of_two, read_claim, read_json, read_sizes, read_target, show, tensors_of, within)
from meanings import decidable, read_meanings
from norms import Housed
from told import Told

ZERO, ONE = Fraction(0), Fraction(1)
NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")


def is_host(certificate):
    """True if the second line says so."""
    second = certificate[: 1 << 12].split(b"\n")[1:2]
    return bool(second) and second[0].split(b" ")[0] == b"host"


# ---------------------------------------------------------------------------------------------- The text


def read_head(lines):
    """The lines before the meanings, whose form depends on the settings."""
    c, take = SimpleNamespace(hashes={}, assumptions=[], labels=None, runs=[], positions=0), lines.take
    take("formwright-certificate 2")
    _, c.host = take("host <class>")
    for name in ("target.json", "config.json", "model.safetensors"):
        *_, c.hashes[name] = take(f"sha256 {name} <hash>")
    if lines.next_word() == "sha256":
        *_, c.hashes["inputs.safetensors"] = take("sha256 inputs.safetensors <hash>")
    read_claim(lines, c)
    if c.over in ("box", "integers") and ("inputs.safetensors" in c.hashes) != (c.over == "box"):
        raise lines.wrong("the hash of inputs.safetensors over a box, and only there")
    read_sizes(lines, c)
    _, c.scale = take("scale <rational>")
    if c.scale < 1 or not is_power_of_two(c.scale):
        raise lines.wrong("a power of two, at least 1")
    if lines.next_word() == "labels":
        c.labels = read_labels(lines, c)
    return c


def read_labels(lines, c):
    lines.number += 1
    words = lines.lines[lines.number - 1].split(" ")[1:]
    labels = [integer(word) for word in words]
    if None in labels or not labels or len(set(labels)) < len(labels) or c.over != "integers" or c.output_dims != 1:
        raise lines.wrong("over integers, with one output: `labels` and integers, one or more, no two alike")
    return labels


# ---------------------------------------------------------------------------------------------- Settings


class Stock(NamedTuple):
    """A class: the names of its settings, those that have one value, and whether its norms stand before its layers."""

    architecture: str
    size: str
    blocks: str
    heads: str
    hidden: str
    positions: str
    eps: str
    fixed: dict
    before: bool
    mask: tuple


EXPONENTS = 400  # of numbers in config.json

STOCK = {
    "bert": Stock("BertForTokenClassification", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                  "max_position_embeddings", "layer_norm_eps",
                  {"hidden_act": "gelu", "type_vocab_size": 1, "is_decoder": False, "pad_token_id": None, "hidden_dropout_prob": 0,
                   "attention_probs_dropout_prob": 0, "classifier_dropout": 0}, False, ("*", "*", "*", "*", "no")),
    "gpt2": Stock("GPT2ForTokenClassification", "n_embd", "n_layer", "n_head", "n_inner", "n_positions", "layer_norm_epsilon",
                  {"activation_function": "gelu_new", "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False,
                   "reorder_and_upcast_attn": False, "use_cache": False, "bos_token_id": None, "eos_token_id": None, "resid_pdrop": 0,
                   "embd_pdrop": 0, "attn_pdrop": 0, "classifier_dropout": 0}, True, ("*", 0, "*", "*", "no")),
}


def wrong_setting(name, reason):
    return Rejected("config", f"config.json, {name}", reason)


def exact(value):
    """The number that a number of JSON is, or None."""
    if type(value) is int:
        return Fraction(value)
    match = NUMBER.fullmatch(value) if isinstance(value, Written) else None
    if not match or len(value) > 1000 or abs(int(match[4] or 0)) > EXPONENTS:
        return None
    whole = Fraction(int(match[2] + (match[3] or "")), 10 ** len(match[3] or ""))
    if match[1] and not match[3] and not whole:
        return None  # -0 is no integer of section 1
    return (-whole if match[1] else whole) * Fraction(10) ** int(match[4] or 0)


def alike(found, wanted):
    """True if a value of JSON is the one that is asked for; numbers are equal as numbers, and texts are no numbers."""
    if wanted is None or isinstance(wanted, bool):
        return found is wanted
    if isinstance(wanted, int):
        return exact(found) == wanted
    if isinstance(wanted, str):
        return type(found) is str and found == wanted
    return isinstance(found, list) and len(found) == len(wanted) and all(map(alike, found, wanted))


def read_settings(data, c):
    """D, B, A, F, N, V, L and eps of config.json."""
    within(len(data), TEXT, "bytes of config.json")
    stock, config = STOCK[c.host], read_json(data, "config", "config.json")
    fixed = {"model_type": c.host, "architectures": [stock.architecture], "attn_implementation": "eager",
             "dtype": {"f32": "float32", "f64": "float64"}[c.format], **stock.fixed}
    sizes = stock.size, stock.blocks, stock.heads, stock.hidden, "vocab_size", stock.positions
    wanted = {*fixed, *sizes, stock.eps, "id2label", "label2id"}
    for name in sorted(wanted ^ set(config)):
        raise wrong_setting(name, "missing" if name in wanted else "not a setting of this format")
    for name, value in fixed.items():
        if not alike(config[name], value):
            raise wrong_setting(name, f"expected {value!r}, found {str(config[name])[:80]!r}")
    size, blocks, heads, hidden, vocabulary, positions = (whole_setting(config, name) for name in sizes)
    if positions != c.most:
        raise wrong_setting(stock.positions, f"expected {c.most}, found {positions}")
    eps = exact(config[stock.eps])
    if eps is None or eps < 0:
        raise wrong_setting(stock.eps, "expected a number that is not negative")
    outputs = len(c.labels) if c.labels else c.output_dims
    check_labels(config, outputs)
    check_shape(stock, size, heads)
    return SimpleNamespace(size=size, blocks=blocks, heads=heads, hidden=hidden, vocabulary=vocabulary, outputs=outputs, eps=eps, tokens=c.most)


def whole_setting(config, name):
    value = config[name]
    if type(value) is not int or not 1 <= value < 1 << 31:
        raise wrong_setting(name, "expected a count, at least 1")
    return value


def check_labels(config, outputs):
    texts, back = config["id2label"], config["label2id"]
    if not isinstance(texts, dict) or len(texts) != outputs or any(type(texts.get(str(k))) is not str for k in range(outputs)):
        raise wrong_setting("id2label", f"expected a text for each of {outputs} outputs")
    if not isinstance(back, dict) or len(back) != outputs or any(not alike(back.get(texts[str(k)]), k) for k in range(outputs)):
        raise wrong_setting("label2id", "expected the way back from each text of id2label")


def check_shape(stock, size, heads):
    if size % heads or size % 2:
        raise wrong_setting(stock.heads, f"{heads} heads do not share {size} coordinates, of which there are as many mirrors")
    if not is_power_of_four(size // 2) or not is_power_of_four(size // heads):
        raise Declined(f"{size} coordinates and heads of {size // heads}: not 2·4^k and 4^j")


def is_power_of_four(n):
    return n & n - 1 == 0 and n.bit_length() % 2 == 1


# ---------------------------------------------------------------------------------------------- Tensors


class Block(NamedTuple):
    """The maps of a block, each with a row for what it makes, and a column for what it reads."""

    query: list
    key: list
    value: list
    out: list
    w1: list
    w2: list


class Stream(NamedTuple):
    """All tensors of a host, whatever the class."""

    words: list
    positions: list
    still: dict  # what must be 0: name -> numbers
    gains: list  # of the norms, in their order
    blocks: list
    classifier: list


def turned(matrix):
    return [list(column) for column in zip(*matrix)]


def read_bert(s, tensors):
    size, hidden = s.size, s.hidden
    shapes = {"bert.embeddings.word_embeddings.weight": [s.vocabulary, size], "bert.embeddings.position_embeddings.weight": [s.tokens, size],
              "bert.embeddings.token_type_embeddings.weight": [1, size], "classifier.weight": [s.outputs, size], "classifier.bias": [s.outputs]}
    parts = {"attention.self.query": [size, size], "attention.self.key": [size, size], "attention.self.value": [size, size],
             "attention.output.dense": [size, size], "intermediate.dense": [hidden, size], "output.dense": [size, hidden]}
    norms = ["bert.embeddings.LayerNorm"]
    for b in range(s.blocks):
        at = f"bert.encoder.layer.{b}"
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
        for name, shape in parts.items():
            shapes |= {f"{at}.{name}.weight": shape, f"{at}.{name}.bias": shape[:1]}
    shapes |= {f"{norm}.{name}": [size] for norm in norms for name in ("weight", "bias")}
    found = tensors(shapes)
    blocks = [Block(*(found[f"bert.encoder.layer.{b}.{name}.weight"] for name in parts)) for b in range(s.blocks)]
    still = {name: numbers for name, numbers in found.items() if name.endswith(".bias")}
    kinds = "bert.embeddings.token_type_embeddings.weight"
    return Stream(found["bert.embeddings.word_embeddings.weight"], found["bert.embeddings.position_embeddings.weight"],
                  {**still, kinds: found[kinds][0]}, [found[f"{norm}.weight"] for norm in norms], blocks, found["classifier.weight"])


def read_gpt2(s, tensors):
    size, hidden = s.size, s.hidden
    shapes = {"transformer.wte.weight": [s.vocabulary, size], "transformer.wpe.weight": [s.tokens, size],
              "classifier.weight": [s.outputs, size], "classifier.bias": [s.outputs]}
    parts = {"attn.c_attn": [size, 3 * size], "attn.c_proj": [size, size], "mlp.c_fc": [size, hidden], "mlp.c_proj": [hidden, size]}
    norms = []
    for b in range(s.blocks):
        at = f"transformer.h.{b}"
        norms += [f"{at}.ln_1", f"{at}.ln_2"]
        for name, shape in parts.items():
            shapes |= {f"{at}.{name}.weight": shape, f"{at}.{name}.bias": shape[1:]}
    norms.append("transformer.ln_f")
    shapes |= {f"{norm}.{name}": [size] for norm in norms for name in ("weight", "bias")}
    found, blocks = tensors(shapes), []
    for b in range(s.blocks):
        scores, out, w1, w2 = (turned(found[f"transformer.h.{b}.{name}.weight"]) for name in parts)
        blocks.append(Block(scores[:size], scores[size : 2 * size], scores[2 * size :], out, w1, w2))
    still = {name: numbers for name, numbers in found.items() if name.endswith(".bias")}
    return Stream(found["transformer.wte.weight"], found["transformer.wpe.weight"], still,
                  [found[f"{norm}.weight"] for norm in norms], blocks, found["classifier.weight"])


READ = {"bert": read_bert, "gpt2": read_gpt2}


# ---------------------------------------------------------------------------------------------- Mirror and pin


def check_mirror(stream, inputs, h, over_integers):
    """The second half of what reads and writes is the negative of the first, and nothing else is added."""

    def wrong(place):
        return Rejected("mirror", place, "the second half is not the negative of the first")

    for name, numbers in stream.still.items():
        if any(numbers):
            raise Rejected("mirror", name, "not 0")
    rows = {"classifier": stream.classifier, "positions": stream.positions}
    rows |= {"words": stream.words} if over_integers else {"inputs.weight": turned(inputs["weight"]), "inputs.bias": [inputs["bias"]]}
    for b, block in enumerate(stream.blocks):
        rows |= {f"block {b}, {name}": getattr(block, name) for name in ("query", "key", "value", "w1")}
        rows |= {f"block {b}, {name}": turned(getattr(block, name)) for name in ("out", "w2")}
    for place, matrix in rows.items():
        for k, row in enumerate(matrix):
            if any(row[h + p] != -row[p] for p in range(h)):
                raise wrong(f"{place}, {k}")


def check_pin(stream, inputs, h, over_integers):
    """C: one and the same for all tokens, and nothing writes it."""
    pins = {row[h - 1] for row in stream.words} if over_integers else {inputs["bias"][h - 1]}
    if len(pins) > 1 or min(pins) <= 0:
        raise Rejected("pin", "words" if over_integers else "inputs.safetensors, bias", "not one and the same positive number")
    quiet = {"positions": stream.positions} | ({} if over_integers else {"inputs.weight": turned(inputs["weight"])})
    for b, block in enumerate(stream.blocks):
        quiet |= {f"block {b}, key": block.key, f"block {b}, value": block.value}
        quiet |= {f"block {b}, {name}": turned(getattr(block, name)) for name in ("out", "w2")}
    for place, rows in quiet.items():
        if any(row[h - 1] for row in rows):
            raise Rejected("pin", place, "not 0 at the pin")
    return pins.pop()


# ---------------------------------------------------------------------------------------------- The network in a host


class Host(NamedTuple):
    before: bool  # norms stand before the layers
    size: int  # D
    pin: Fraction  # C
    eps: Fraction
    gains: list
    tensors: dict  # of section 2
    words: list | None  # over integers: what registers hold of each id
    ids: list | None  # and the token that it is
    empty: frozenset  # registers into which nothing is embedded


def reads(rows, pin, factor=ONE):
    """Weights and biases of rows that read the stream, as rows of section 3."""
    w = len(rows[0]) // 2 - 1
    return [[2 * x * factor for x in row[:w]] for row in rows], [2 * pin * row[w] * factor for row in rows]


def extract(c, s, stream, inputs, ids):
    """The network of section 3 in the host, and what c says of it."""
    h, over_integers = s.size // 2, c.over == "integers"
    check_mirror(stream, inputs, h, over_integers)
    pin, w, d = check_pin(stream, inputs, h, over_integers), h - 1, s.size // s.heads
    root = Fraction(1, 1 << d.bit_length() // 2)  # 1/√d
    positions = [row[:w] for row in stream.positions]
    c.positions = c.most if any(map(any, positions)) else 0
    if c.positions and c.least != c.most:
        raise Declined(f"positions that are not 0, and {c.least} to {c.most} tokens")
    tensors = {"pos": positions} if c.positions else {}
    tensors["read_out.weight"], tensors["read_out.bias"] = reads(stream.classifier, pin)
    for name in ("attn.q", "attn.q_bias", "attn.k", "attn.v", "attn.o", "ff.w1", "ff.b1", "ff.w2", "ff.b2"):
        tensors[f"0.{name}"] = []
    heads = [slice(a * d, (a + 1) * d) for a in range(s.heads)]
    for block in stream.blocks:
        query, bias = reads(block.query, pin, root)
        w1, b1 = reads(block.w1, pin, 1 / c.scale)
        cut = {"q": query, "q_bias": bias, "k": reads(block.key, pin)[0], "v": reads(block.value, pin)[0]}
        for name, rows in cut.items():
            tensors[f"0.attn.{name}"].append([rows[head] for head in heads])
        tensors["0.attn.o"].append([[row[head] for row in block.out[:w]] for head in heads])
        for name, value in ("w1", w1), ("b1", b1), ("w2", [[x * c.scale for x in row] for row in block.w2[:w]]), ("b2", [ZERO] * w):
            tensors[f"0.ff.{name}"].append(value)
    embedded = stream.words if over_integers else [*turned(inputs["weight"]), inputs["bias"]]
    empty = frozenset(p for p in range(w) if not any(row[p] for row in chain(embedded, stream.positions)))
    words = [row[:w] for row in stream.words] if over_integers else None
    if not over_integers:
        tensors["embed.weight"], tensors["embed.bias"] = inputs["weight"][:w], inputs["bias"][:w]
    return Host(STOCK[c.host].before, s.size, pin, s.eps, stream.gains, tensors, words, ids, empty)


# ---------------------------------------------------------------------------------------------- The claim


def whole(e, lets):
    """True if an expression is a whole number wherever its tokens are."""
    name, parts = (e, None) if isinstance(e, str) else next(iter(e.items()))
    match name:
        case "token" | "index" | "running" | "length" | "gather" | "sort":
            return name != "sort" or whole(parts, lets)
        case "number":
            return "/" not in parts and not parts.partition(".")[2].strip("0")
        case "bound" | "gather-bound":
            return lets[parts if name == "bound" else parts[0]]
        case "power" | "coordinate":
            return whole(parts[0], lets)
        case "negate":
            return whole(parts, lets)
        case "binary":
            return parts[0] != "div" and all(whole(part, lets) for part in parts[1:])
        case "if":
            return all(whole(part, lets) for part in parts[1:])
        case "call":
            return parts[0] == "floor" or parts[0] in ("abs", "relu", "min", "max", "clamp") and all(whole(part, lets) for part in parts[1])
        case "aggregate":
            return parts[0] == "count" or parts[0] in ("sum", "min", "max") and whole(parts[1], lets)
        case "table":
            return all(whole({"number": value}, lets) for value in parts[1])
    return False


def check_values(c, target, told, place):
    """That the target is whole, and that every integer that it may be is a label; it lies where the output's form does."""
    labels = set(c.labels)
    if told:
        if not told.targets <= labels:
            raise Declined(f"the target may be what is no label: {show(next(iter(told.targets - labels)) or 0)}")
        return
    lets = {}
    for let in target.ast.get("lets", []):
        lets[let["name"]] = whole(let["value"], lets)
    (e,) = target.ast["body"].values()
    if not whole(e[0] if isinstance(e, list) else e, lets):
        raise Declined("the target is not shown to be a whole number everywhere")
    domain, steps = (target.domain[0], target.domain[1] - 1), 0
    for n in range(c.least, c.most + 1):
        steps += target.work(n)
        within(steps, STEPS, "steps of the target, for all numbers of tokens")
        for t, ((lo, hi),) in enumerate(target.enclose(((domain,) * c.dims,) * n)):
            missing = next((k for k in range(ceil(max(lo, place[0])), floor(min(hi, place[1])) + 1) if k not in labels), None)
            if missing is not None:
                raise Declined(f"the target may be {missing} at token {t} of {n}, which is no label")


def tokens_of_ids(c, s, target):
    """The tokens, in the order of their ids."""
    low, high = map(int, target.domain)
    if s.vocabulary != (high - low) ** min(c.dims, 64):
        raise wrong_setting("vocab_size", f"{s.vocabulary}, and there are {high - low}^{c.dims} tokens")
    return list(product(range(low, high), repeat=c.dims))


def read_certificate(certificate, files):
    """All of the certificate; its meanings are those of as many layers as config.json says."""
    lines = Lines(certificate)
    c = read_head(lines)
    for name, wanted in c.hashes.items():
        if hashlib.sha256(files[name]).hexdigest() != wanted:
            raise Rejected("hash", name, "not the file that the certificate is about")
    if c.host not in STOCK:
        raise Declined(f"the class `{c.host}`, of which nothing is known")
    if c.over not in ("box", "integers") or c.power is not None or c.lipschitz is not None:
        raise Declined(f"`over {c.over}` in this norm")
    s, mask = read_settings(files["config.json"], c), STOCK[c.host].mask
    within(s.vocabulary * s.size + s.blocks * s.size * (4 * s.size + 2 * s.hidden), WEIGHTS, "weights")
    c.width, d = s.size // 2 - 1, s.size // s.heads
    c.runs = [Run(s.blocks, "softmax", s.heads, d, d, 0, s.hidden, [mask] * s.heads, [])]
    c.meanings = read_meanings(lines, c)
    lines.take("end")
    lines.take("")
    if lines.number != len(lines.lines):
        raise lines.wrong("nothing behind `end` and its LF")
    return c, s


def read_host(c, s, target, files):
    """The network in the host, and where its inputs lie."""
    stream = READ[c.host](s, lambda shapes: tensors_of(files["model.safetensors"], shapes, c.format))
    inputs, ids, domain = None, None, target.domain
    if c.over == "integers":
        ids, domain = tokens_of_ids(c, s, target), (domain[0], domain[1] - 1)
    elif s.vocabulary != 1:
        raise wrong_setting("vocab_size", "over a box there is one row of words, which is not used")
    else:
        inputs = tensors_of(files["inputs.safetensors"], {"weight": [s.size, c.dims], "bias": [s.size]}, c.format, "inputs.safetensors")
    return extract(c, s, stream, inputs, ids), domain


def check_host(certificate, files):
    """The verdict on a certificate and the files that it names, as bytes."""
    try:
        c, s = read_certificate(certificate, files)
        target = read_target(files["target.json"], c)
        fits(c, target)
        host, domain = read_host(c, s, target, files)
        decidable(c, target)
        told = Told(c, target) if c.over == "integers" and any(wire.kind in ("points", "cases") for wire in c.meanings.wires) else None
        housed = Housed(c, host, c.meanings, domain, told)
        if c.labels:
            check_values(c, target, told, housed.form_range(c.meanings.outputs[0]))
        housed.prove(target.ast)
    except Rejected as error:
        return Verdict("rejected", error.obligation, error.place, error.reason)
    except Declined as error:
        return Verdict("declined", "", "", str(error))
    except (Undefined, Unclear) as error:
        return Verdict("declined", "", "", f"what is meant is not shown to have a value everywhere: {error}")
    except RecursionError:
        return Verdict("declined", "", "", "what is nested deeper than is followed here")
    return Verdict("accepted", "", "", claim(c, target))


def claim(c, target):
    low, high = map(show, target.domain)
    lengths = f"{c.least}" if c.least == c.most else f"{c.least} to {c.most}"
    where = f"[{low}, {high}]^{c.dims}" if c.over == "box" else f"integers {low}..{high}"
    said = "the largest output is that of the target's label" if c.labels else f"every output is within {show(c.bound)} of the target"
    return f"{said} at all sequences of {lengths} tokens over {where}, in {c.host}, in every execution ieee-any-order {c.format}"
