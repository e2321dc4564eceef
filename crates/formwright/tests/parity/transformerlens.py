"""The outputs of TransformerLens, written anew in numpy from its documentation.

    python transformerlens.py FOLDER

Every folder in FOLDER is an export: config.json, state_dict.safetensors, circuit.json. All sequences of n_ctx tokens are run, the last token fastest, and
`logits.bin` gets their logits as little-endian doubles, `states.bin` the residual stream: hook_resid_pre of block 0, then hook_resid_mid and
hook_resid_post of every block, [place, sequence, token, d_model]. Blocks are x + attention(x), then x + mlp(x); scores are divided by sqrt(d_head), no norms.
"""

import itertools
import json
import math
import sys
from pathlib import Path

import numpy

TYPES = {"F32": numpy.float32, "F64": numpy.float64}


def tensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, data = json.loads(data[8 : 8 + size]), data[8 + size :]
    return {
        name: numpy.frombuffer(data[slice(*entry["data_offsets"])], TYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
    }


def linear(state, name, x):
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def attention(config, state, at, x):
    heads, size = config["n_heads"], config["d_head"]
    q, k, v = (linear(state, f"{at}.{name}", x).reshape(*x.shape[:2], heads, size) for name in "qkv")
    scores = numpy.einsum("bqhd,bkhd->bhqk", q, k) / x.dtype.type(math.sqrt(size))
    if config["attention_dir"] == "causal":
        future = numpy.triu(numpy.ones(scores.shape[-2:], bool), 1)
        scores = numpy.where(future, -numpy.inf, scores)
    e = numpy.exp(scores - scores.max(-1, keepdims=True))
    mixed = numpy.einsum("bhqk,bkhd->bqhd", e / e.sum(-1, keepdims=True), v)
    return linear(state, f"{at}.o", mixed.reshape(*x.shape[:2], heads * size))


def forward(config, state, ids):
    assert config["act_fn"] == "relu" and config["normalization_type"] is None
    x = state["tok_embed.weight"][ids] + state["pos.weight"][: ids.shape[1]]
    states = [x]
    for layer in range(config["n_layers"]):
        x = x + attention(config, state, f"layers.{layer}.attn", x)
        states.append(x)
        hidden = numpy.maximum(linear(state, f"layers.{layer}.mlp.fc_in", x), 0)
        x = x + linear(state, f"layers.{layer}.mlp.fc_out", hidden)
        states.append(x)
    return x @ state["head.weight"].T, numpy.array(states)


def shapes(config):
    """The tensors that the loader expects, by name."""
    width, hidden, joined = config["d_model"], config["d_mlp"], config["n_heads"] * config["d_head"]
    yield "tok_embed.weight", (config["d_vocab"], width)
    yield "pos.weight", (config["n_ctx"], width)
    yield "head.weight", (config["d_vocab_out"], width)
    for layer in range(config["n_layers"]):
        parts = [("attn.q", joined, width), ("attn.k", joined, width), ("attn.v", joined, width), ("attn.o", width, joined)]
        for name, rows, columns in [*parts, ("mlp.fc_in", hidden, width), ("mlp.fc_out", width, hidden)]:
            yield f"layers.{layer}.{name}.weight", (rows, columns)
            yield f"layers.{layer}.{name}.bias", (rows,)


def run(case):
    config, state = json.loads((case / "config.json").read_text()), tensors(case / "state_dict.safetensors")
    assert {name: tensor.shape for name, tensor in state.items()} == dict(shapes(config)), "names or shapes"
    ids = numpy.array(list(itertools.product(range(config["d_vocab"]), repeat=config["n_ctx"])))
    for name, numbers in zip(["logits", "states"], forward(config, state, ids)):
        numbers.astype("<f8").tofile(case / f"{name}.bin")


if __name__ == "__main__":
    for case in sorted(Path(sys.argv[1]).iterdir()):
        run(case)
