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
    """A class: the names of its settings, those that have one value, and how it computes."""

    architecture: str
    sizes: dict  # of settings: name -> D, B, A, d, F or N
    eps: object  # the setting, or the number itself
    fixed: dict
    order: str  # where norms stand: before the layers, behind them, or at the ends
    causal: bool
    distance: Fraction  # of the activation from max(x, 0), as it is computed
    centred: bool = True  # norms take a mean away
    gated: bool = False
    scaled: bool = True  # scores are divided by the root of d
    rotated: bool = False
    double: bool = True
    scores: bool = False  # an output for each word

    @property
    def mask(self):
        return ("*", 0 if self.causal else "*", "*", "*", "no")


EXPONENTS = 400  # of numbers in config.json
GELU, SILU, RELU = Fraction(43, 250), Fraction(1393, 5000), Fraction(0)
AT_REST = {"rope_type": "linear", "rope_theta": 10000, "factor": 10**300}


def these(value, names):
    return dict.fromkeys(names.split(), value)


STOCK = {
    "bert": Stock("BertForTokenClassification", {"hidden_size": "D", "num_hidden_layers": "B", "num_attention_heads": "A", "intermediate_size": "F", "max_position_embeddings": "N"},
                  "layer_norm_eps", {"hidden_act": "gelu", "type_vocab_size": 1, "is_decoder": False, "pad_token_id": None,
                                     **these(0, "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout")},
                  "behind", False, GELU),
    "gpt2": Stock("GPT2ForTokenClassification", {"n_embd": "D", "n_layer": "B", "n_head": "A", "n_inner": "F", "n_positions": "N"}, "layer_norm_epsilon",
                  {"activation_function": "gelu_new", "scale_attn_weights": True, **these(False, "scale_attn_by_inverse_layer_idx reorder_and_upcast_attn use_cache"),
                   **these(None, "bos_token_id eos_token_id"), **these(0, "resid_pdrop embd_pdrop attn_pdrop classifier_dropout")}, "before", True, GELU),
    "t5": Stock("T5ForTokenClassification", {"d_model": "D", "num_layers": "B", "num_heads": "A", "d_kv": "d", "d_ff": "F"}, "layer_norm_epsilon",
                {"feed_forward_proj": "relu", "relative_attention_num_buckets": 32, **these(False, "is_encoder_decoder use_cache"),
                 **these(None, "pad_token_id eos_token_id"), **these(0, "dropout_rate classifier_dropout")},
                "before", False, RELU, centred=False, scaled=False, double=False),
    "opt": Stock("OPTForCausalLM", {"hidden_size": "D", "word_embed_proj_dim": "D", "num_hidden_layers": "B", "num_attention_heads": "A", "ffn_dim": "F",
                                    "max_position_embeddings": "N"}, Fraction(1, 10**5),
                 {"activation_function": "relu", **these(True, "do_layer_norm_before enable_bias layer_norm_elementwise_affine"),
                  **these(False, "tie_word_embeddings use_cache"), **these(None, "pad_token_id bos_token_id eos_token_id"),
                  **these(0, "dropout attention_dropout layerdrop")}, "before", True, RELU, double=False, scores=True),
    "llama": Stock("LlamaForTokenClassification", {"hidden_size": "D", "num_hidden_layers": "B", "num_attention_heads": "A", "num_key_value_heads": "A", "head_dim": "d",
                                                   "intermediate_size": "F", "max_position_embeddings": "N"}, "rms_norm_eps",
                   {"hidden_act": "silu", "rope_parameters": AT_REST, **these(False, "attention_bias mlp_bias tie_word_embeddings use_cache"),
                    **these(None, "pad_token_id bos_token_id eos_token_id"), **these(0, "attention_dropout classifier_dropout")},
                   "before", True, SILU, centred=False, gated=True, rotated=True, double=False),
    "modernbert": Stock("ModernBertForTokenClassification", {"hidden_size": "D", "num_hidden_layers": "B", "num_attention_heads": "A", "intermediate_size": "F",
                                                             "max_position_embeddings": "N"}, "norm_eps",
                        {"hidden_activation": "gelu", "classifier_activation": "linear", "rope_parameters": {"full_attention": AT_REST, "sliding_attention": AT_REST},
                         **these(False, "norm_bias attention_bias mlp_bias classifier_bias"),
                         **these(None, "pad_token_id bos_token_id eos_token_id cls_token_id sep_token_id"),
                         **these(0, "attention_dropout embedding_dropout mlp_dropout classifier_dropout")},
                        "ends", False, GELU, gated=True, rotated=True, double=False),
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
    if isinstance(wanted, dict):
        return isinstance(found, dict) and set(found) == set(wanted) and all(alike(found[name], value) for name, value in wanted.items())
    return isinstance(found, list) and len(found) == len(wanted) and all(map(alike, found, wanted))


def read_settings(data, c):
    """D, B, A, F, V, L, eps and the number of tokens, of config.json."""
    within(len(data), TEXT, "bytes of config.json")
    stock, config = STOCK[c.host], read_json(data, "config", "config.json")
    if c.format == "f64" and not stock.double:
        raise wrong_setting("dtype", f"{c.host} computes in single precision, whatever its weights are")
    fixed = {"model_type": c.host, "architectures": [stock.architecture], "attn_implementation": "eager",
             "dtype": {"f32": "float32", "f64": "float64"}[c.format], **stock.fixed}
    own = {"vocab_size", "id2label", "label2id", *({stock.eps} if isinstance(stock.eps, str) else ()), *({"layer_types"} if stock.order == "ends" else ())}
    wanted = {*fixed, *stock.sizes, *own}
    for name in sorted(wanted ^ set(config)):
        raise wrong_setting(name, "missing" if name in wanted else "not a setting of this format")
    for name, value in fixed.items():
        if not alike(config[name], value):
            raise wrong_setting(name, f"expected {value!r}, found {str(config[name])[:80]!r}")
    known = read_side(config, stock.sizes)
    if known.setdefault("N", c.most) != c.most:
        raise wrong_setting(next(name for name, side in stock.sizes.items() if side == "N"), f"expected {c.most}, found {known['N']}")
    if "layer_types" in own and not alike(config["layer_types"], ["full_attention"] * known["B"]):
        raise wrong_setting("layer_types", f"expected full attention for each of {known['B']} blocks")
    eps = exact(config[stock.eps]) if isinstance(stock.eps, str) else stock.eps
    if eps is None or eps < 0:
        raise wrong_setting(stock.eps, "expected a number that is not negative")
    outputs = len(c.labels) if c.labels else c.output_dims
    check_labels(config, outputs)
    check_shape(stock, known)
    return SimpleNamespace(size=known["D"], blocks=known["B"], heads=known["A"], hidden=known["F"], vocabulary=whole_setting(config, "vocab_size"), outputs=outputs,
                           eps=eps, tokens=c.most)


def read_side(config, sizes):
    """Sizes by their letters; what two settings say is the same."""
    known = {}
    for name, side in sizes.items():
        value = whole_setting(config, name)
        if known.setdefault(side, value) != value:
            raise wrong_setting(name, f"another setting says {known[side]}, this one {value}")
    return known


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


def check_shape(stock, known):
    size, heads, name = known["D"], known["A"], next(name for name, side in stock.sizes.items() if side == "A")
    if size % heads or size % 2:
        raise wrong_setting(name, f"{heads} heads do not share {size} coordinates, of which there are as many mirrors")
    d = size // heads
    if known.get("d", d) != d:
        raise wrong_setting(name, f"{heads} heads of {known['d']} are not {size} coordinates")
    if stock.rotated and d < 4:
        raise wrong_setting(name, f"heads of {d}, of which rotations make more")
    if not is_power_of_four(size // 2) or not is_power_of_four(d):
        raise Declined(f"{size} coordinates and heads of {d}: not 2·4^k and 4^j")


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
    factors: list  # G, or nothing
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


class Names(NamedTuple):
    """The names of a class's tensors."""

    words: str
    block: str  # with {b}
    heads: str  # of queries, keys, values, or of all in one
    out: str
    w1: str
    w2: str
    norms: str  # of a block, two
    outputs: str
    factors: str = ""
    positions: str = ""
    first: str = ""  # the norm behind the embedding
    last: str = ""  # those at the end
    zeros: str = ""
    dense: str = ""  # the identity
    biased: bool = False
    turned: bool = False  # weights of a block are [in, out]
    before: int = 0  # rows of positions before the first


NAMES = {
    "bert": Names("bert.embeddings.word_embeddings", "bert.encoder.layer.{b}.", "attention.self.query attention.self.key attention.self.value", "attention.output.dense",
                  "intermediate.dense", "output.dense", "attention.output.LayerNorm output.LayerNorm", "classifier", positions="bert.embeddings.position_embeddings",
                  first="bert.embeddings.LayerNorm", zeros="bert.embeddings.token_type_embeddings", biased=True),
    "gpt2": Names("transformer.wte", "transformer.h.{b}.", "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj", "ln_1 ln_2", "classifier", positions="transformer.wpe",
                  last="transformer.ln_f", biased=True, turned=True),
    "opt": Names("model.decoder.embed_tokens", "model.decoder.layers.{b}.", "self_attn.q_proj self_attn.k_proj self_attn.v_proj", "self_attn.out_proj", "fc1", "fc2",
                 "self_attn_layer_norm final_layer_norm", "lm_head", positions="model.decoder.embed_positions", last="model.decoder.final_layer_norm", biased=True, before=2),
    "t5": Names("transformer.shared", "transformer.encoder.block.{b}.", "layer.0.SelfAttention.q layer.0.SelfAttention.k layer.0.SelfAttention.v", "layer.0.SelfAttention.o",
                "layer.1.DenseReluDense.wi", "layer.1.DenseReluDense.wo", "layer.0.layer_norm layer.1.layer_norm", "classifier",
                last="transformer.encoder.final_layer_norm", zeros="transformer.encoder.block.0.layer.0.SelfAttention.relative_attention_bias"),
    "llama": Names("model.embed_tokens", "model.layers.{b}.", "self_attn.q_proj self_attn.k_proj self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.down_proj",
                   "input_layernorm post_attention_layernorm", "score", factors="mlp.up_proj", last="model.norm"),
    "modernbert": Names("model.embeddings.tok_embeddings", "model.layers.{b}.", "attn.Wqkv", "attn.Wo", "mlp.Wi", "mlp.Wo", "attn_norm mlp_norm", "classifier",
                        factors="mlp.Wi", first="model.embeddings.norm", last="model.final_norm head.norm", dense="head.dense"),
}


def read_stream(c, s, tensors):
    """Takes all tensors, and stacks or cuts those that are several maps."""
    names, stock, D, F = NAMES[c.host], STOCK[c.host], s.size, s.hidden
    heads = names.heads.split()
    shapes = {names.words: [s.vocabulary, D], names.outputs: [s.vocabulary if stock.scores else s.outputs, D]}
    if names.positions:
        shapes[names.positions] = [s.tokens + names.before, D]
    if names.zeros:
        shapes[names.zeros] = [1, D] if c.host == "bert" else [32, s.heads]
    parts = {name: [3 * D // len(heads), D] for name in heads} | {names.out: [D, D], names.w1: [2 * F if names.factors == names.w1 else F, D], names.w2: [D, F]}
    parts |= {names.factors: [F, D]} if names.factors and names.factors != names.w1 else {}
    norms = names.first.split()
    biases = {} if stock.scores else {f"{names.outputs}.bias": [s.outputs]}
    for b in range(s.blocks):
        at = names.block.format(b=b)
        norms += [at + name for name in names.norms.split()][b == 0 and stock.order == "ends" :]
        for name, shape in parts.items():
            shapes[at + name] = shape[::-1] if names.turned else shape
            biases |= {f"{at}{name}.bias": shape[:1]} if names.biased else {}
    norms += names.last.split()
    shapes |= {norm: [D] for norm in norms}
    biases |= {f"{norm}.bias": [D] for norm in norms} if names.biased else {}
    shapes |= {names.dense: [D, D]} if names.dense else {}
    found = tensors({f"{name}.weight": shape for name, shape in shapes.items()} | biases)
    if names.dense and any(x != (i == j) for i, row in enumerate(found[f"{names.dense}.weight"]) for j, x in enumerate(row)):
        raise Rejected("identity", names.dense, "not 1 where row and column are alike, and 0 elsewhere")
    blocks = []
    for b in range(s.blocks):
        matrices = {name: found[f"{names.block.format(b=b)}{name}.weight"] for name in parts}
        matrices = {name: turned(rows) for name, rows in matrices.items()} if names.turned else matrices
        scores, w1 = sum((matrices[name] for name in heads), []), matrices[names.w1]
        factors = w1[F:] if names.factors == names.w1 else matrices.get(names.factors, [])
        blocks.append(Block(scores[:D], scores[D : 2 * D], scores[2 * D :], matrices[names.out], w1[:F], factors, matrices[names.w2]))
    still = {name: found[name] for name in biases}
    if names.zeros:
        still[names.zeros] = [x for row in found[f"{names.zeros}.weight"] for x in row]
    positions = found[f"{names.positions}.weight"][names.before :] if names.positions else []
    return Stream(found[f"{names.words}.weight"], positions, still, [found[f"{norm}.weight"] for norm in norms], blocks, found[f"{names.outputs}.weight"][: s.outputs])


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
        rows |= {f"block {b}, {name}": getattr(block, name) for name in ("query", "key", "value", "w1", "factors")}
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


def check_factors(stream, pin, h):
    """What activated numbers are multiplied by is 1, read from the pin; it may be 0 where nothing is activated."""
    for b, block in enumerate(stream.blocks):
        for unit, (row, reads) in enumerate(zip(block.factors, block.w1)):
            if any(row[: h - 1]):
                raise Rejected("gate", f"block {b}, unit {unit}", "what multiplies it reads more than the pin")
            if 2 * pin * row[h - 1] != 1 and (row[h - 1] or any(reads)):
                raise Rejected("gate", f"block {b}, unit {unit}", f"what multiplies it is {show(2 * pin * row[h - 1])}, not 1")


# ---------------------------------------------------------------------------------------------- The network in a host


class Host(NamedTuple):
    order: str  # norms stand before the layers, behind them, or at the ends
    centred: bool
    gated: bool
    distance: Fraction  # of the activation from max(x, 0)
    size: int  # D
    pin: Fraction  # C
    eps: Fraction
    gains: list
    tensors: dict  # of section 2
    words: list | None  # over integers: what registers hold of each id
    ids: list | None  # and the token that it is
    empty: frozenset  # registers into which nothing is embedded
    placed: frozenset  # and those into which positions alone are


def reads(rows, pin, factor=ONE):
    """Weights and biases of rows that read the stream, as rows of section 3."""
    w = len(rows[0]) // 2 - 1
    return [[2 * x * factor for x in row[:w]] for row in rows], [2 * pin * row[w] * factor for row in rows]


def extract(c, s, stream, inputs, ids):
    """The network of section 3 in the host, and what c says of it."""
    h, over_integers = s.size // 2, c.over == "integers"
    check_mirror(stream, inputs, h, over_integers)
    pin, w, d = check_pin(stream, inputs, h, over_integers), h - 1, s.size // s.heads
    check_factors(stream, pin, h)
    stock = STOCK[c.host]
    root = Fraction(1, 1 << d.bit_length() // 2) if stock.scaled else ONE  # 1/√d
    positions = [row[:w] for row in stream.positions]
    c.positions = c.most if any(map(any, positions)) else 0
    if c.least != c.most and any(wire.kind == "position" for wire in (c.meanings.wires if c.meanings else ())):
        raise Declined(f"wires for positions, and {c.least} to {c.most} tokens")
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
    placed = frozenset(p for p in range(w) if c.positions and not any(row[p] for row in embedded))
    words = [row[:w] for row in stream.words] if over_integers else None
    if not over_integers:
        tensors["embed.weight"], tensors["embed.bias"] = inputs["weight"][:w], inputs["bias"][:w]
    return Host(stock.order, stock.centred, stock.gated, stock.distance, s.size, pin, s.eps, stream.gains, tensors, words, ids, empty, placed)


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


def check_vocabulary(c, s, tokens):
    """V is the number of tokens; where outputs are scores of words, there is one for each of them, too."""
    wanted = max(tokens, s.outputs) if STOCK[c.host].scores else tokens
    if s.vocabulary != wanted:
        raise wrong_setting("vocab_size", f"expected {wanted}, found {s.vocabulary}")
    if STOCK[c.host].scores and c.labels and s.outputs != wanted:
        raise wrong_setting("vocab_size", f"{s.outputs} labels, and scores of {wanted} words")


def tokens_of_ids(c, s, target):
    """The tokens, in the order of their ids."""
    low, high = map(int, target.domain)
    check_vocabulary(c, s, (high - low) ** min(c.dims, 64))
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
    stream = read_stream(c, s, lambda shapes: tensors_of(files["model.safetensors"], shapes, c.format))
    inputs, ids, domain = None, None, target.domain
    if c.over == "integers":
        ids, domain = tokens_of_ids(c, s, target), (domain[0], domain[1] - 1)
        stream = stream._replace(words=stream.words[: len(ids)])  # other rows are not used
    else:
        check_vocabulary(c, s, 1)
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
