"""Ground truth for an attribution method: does ablation find the heads and hidden units that compute the answer?

    python examples/ground_truth.py

A circuit that sorts is compiled and exported for TransformerLens, with the truth about it: circuit.json names what every head and hidden unit computes. The method under test sets the
output of one part after the other to zero and counts the answers that change, over all sequences. Parts that the truth does not name are there to fill blocks up, so a
good method blames none of them, and misses few of the others. Then the same in a rotated basis, where looking at single coordinates would find nothing.
"""

import itertools
import json
import tempfile
from pathlib import Path

import numpy

import formwright

TARGET, TOKENS = "sort(x) on integers 0..4", 4
TYPES = {"F32": numpy.float32, "F64": numpy.float64}


def load(folder):
    """Configuration, weights and ground truth."""
    data = (folder / "state_dict.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    state = {
        name: numpy.frombuffer(data[8 + size :][slice(*entry["data_offsets"])], TYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in json.loads(data[8 : 8 + size]).items()
    }
    return json.loads((folder / "config.json").read_text()), state, json.loads((folder / "circuit.json").read_text())


def answers(config, state, ids, ablated=None):
    """The largest logit of every token; `ablated` is (layer, "head" or "unit", number)."""

    def linear(name, x):
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def keep(layer, kind, count):
        kept = numpy.ones(count, bool)
        if ablated and ablated[:2] == (layer, kind):
            kept[ablated[2]] = False
        return kept

    heads, size = config["n_heads"], config["d_head"]
    x = state["tok_embed.weight"][ids] + state["pos.weight"][: ids.shape[1]]
    for layer in range(config["n_layers"]):
        q, k, v = (linear(f"layers.{layer}.attn.{name}", x).reshape(*x.shape[:2], heads, size) for name in "qkv")
        scores = numpy.einsum("bqhd,bkhd->bhqk", q, k) / numpy.sqrt(size)
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = numpy.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), v)
        mixed = mixed * keep(layer, "head", heads)[:, None]
        x = x + linear(f"layers.{layer}.attn.o", mixed.reshape(*x.shape[:2], heads * size))
        hidden = numpy.maximum(linear(f"layers.{layer}.mlp.fc_in", x), 0) * keep(layer, "unit", config["d_mlp"])
        x = x + linear(f"layers.{layer}.mlp.fc_out", hidden)
    return (x @ state["head.weight"].T).argmax(-1)


def attribution(folder):
    """The meaning of each part by the truth, and the share of answers that change without it."""
    config, state, circuit = load(folder)
    ids = numpy.array(list(itertools.product(range(config["d_vocab"]), repeat=TOKENS)))
    whole = answers(config, state, ids)
    values = numpy.array([logit["value"] for logit in circuit["logits"]])
    assert (values[whole] == numpy.sort(ids, axis=1)).all(), "it does not sort"
    truth = {}
    for layer in circuit["layers"]:
        for kind in ("head", "unit"):
            truth |= {(layer["layer"], kind, part[kind]): part["computes"] for part in layer[f"{kind}s"]}
    counts = (("head", config["n_heads"]), ("unit", config["d_mlp"]))
    parts = [(layer, kind, i) for layer in range(config["n_layers"]) for kind, count in counts for i in range(count)]
    return [(part, truth.get(part), (answers(config, state, ids, part) != whole).mean()) for part in parts]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network = formwright.build(TARGET, tokens=TOKENS)
        formwright.export(network, folder / "plain", "transformerlens")
        formwright.export(network, folder / "rotated", "transformerlens", rotate=7)
        plain, rotated = attribution(folder / "plain"), attribution(folder / "rotated")
    print(f"{TARGET}, all sequences of {TOKENS}\n")
    print("layer  part    answers that change  rotated  in truth it computes")
    for ((layer, kind, number), computes, damage), (_, _, turned) in sorted(zip(plain, rotated), key=lambda pair: -pair[0][2]):
        print(f"{layer:5}  {kind} {number}  {damage:19.1%}  {turned:7.1%}  {told(computes)}")
    named = [damage for _, computes, damage in plain if computes]
    filling = [damage for _, computes, damage in plain if computes is None]
    # The answers that change where logits are equal may depend on the machine; the parts that are found and blamed do not.
    found, blamed = (sum(damage > 0 for damage in parts) for parts in (named, filling))
    print(f"\nof {len(named)} parts that compute something ablation finds {found};")
    print(f"of {len(filling)} that fill blocks up it blames {blamed}")
    assert (len(named), found, len(filling), blamed) == (10, 9, 6, 0)


def told(computes):
    if computes is None:
        return "nothing: it fills the block up"
    return ", ".join(computes) or "nothing: it empties a register"


if __name__ == "__main__":
    main()
