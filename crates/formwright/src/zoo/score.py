"""Which units matter, and which compute the same? Scores answers for the models of a zoo; needs NumPy.

    python score.py ZOO                        an example: every unit is taken out, and what changes is looked at
    python score.py ZOO --method weights       another: what units read, and whether they write
    python score.py ZOO --write answers.json   writes what the example answers
    python score.py ZOO --answers FILE         scores answers of yours

Answers are `{model: [{"alive": [true, …], "group": [0, …]}, …]}`: for every feed-forward layer of a model, in order, a
truth value and a group for each hidden unit. A unit is *alive* if it computes gates, or empties a register; one that
writes nothing is idle. Units of a layer are in one *group* if they compute the same gates. `manifest.json` has the truth. Scores are
F1: of the idle units, and of the pairs of living units in one group. Models in stock hosts are left out.
"""

import argparse
import json
import struct
import sys
from pathlib import Path

import numpy as np

SAMPLES = 256
KINDS = {"F32": "<f4", "F64": "<f8"}


def tensors_of(data):
    (length,) = struct.unpack("<Q", data[:8])
    entries = json.loads(data[8 : 8 + length])
    entries.pop("__metadata__", None)
    cut = lambda entry: data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]]
    return {name: np.frombuffer(cut(entry), KINDS[entry["dtype"]]).reshape(entry["shape"]) for name, entry in entries.items()}


class Model:
    """A model of a zoo: the ground truth in `manifest`, and the network."""

    def __init__(self, folder):
        self.manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        self.network = self.manifest["network"]
        self.tensors = tensors_of((folder / "model.safetensors").read_bytes())

    def inputs(self, seed=0):
        """Random inputs of the domain, of the largest number of tokens that the claim is about."""
        domain, shape = self.manifest["domain"], (SAMPLES, self.manifest["claim"]["tokens"][1], self.network["dims"])
        random = np.random.default_rng(seed)
        if domain["integers"]:
            x = random.integers(round(domain["low"]), round(domain["high"]), shape)
        else:
            x = random.uniform(domain["low"], domain["high"], shape)
        return x.astype(self.tensors["embed.weight"].dtype)

    def __call__(self, x, without=None):
        """The outputs; `without` is a layer of units, counted from 0, and the unit that is taken out of it."""
        w = self.tensors
        z = x @ w["embed.weight"].T + w["embed.bias"] + w.get("pos", 0)
        first, layer = 0, 0
        for run in self.network["runs"]:
            for block in range(run["blocks"]):
                part = lambda kind: {name.split(".")[2]: w[name][block] for name in w if name.startswith(f"{first}.{kind}.")}
                if run.get("attention"):
                    z = z + attention(run["attention"], part("attn"), z)
                if run.get("feed_forward"):
                    f = part("ff")
                    units = np.maximum(z @ f["w1"].T + f["b1"], 0)
                    if without and without[0] == layer:
                        units[..., without[1]] = 0
                    z = z + units @ f["w2"].T + f["b2"]
                    layer += 1
            first += run["blocks"]
        return z @ w["read_out.weight"].T + w["read_out.bias"]

    def truth(self):
        """The units of every feed-forward layer: which are alive, and their groups."""
        columns = iter([w2 for first in sorted(int(name.split(".")[0]) for name in self.tensors if name.endswith(".ff.w2")) for w2 in self.tensors[f"{first}.ff.w2"]])
        for layer in self.manifest["layers"]:
            if "units" in layer:
                gates = [tuple(unit["gates"]) for unit in layer["units"]]
                names, writes = sorted(set(gates)), (next(columns) != 0).any(0)
                alive = [bool(write) and not unit["idle"] for unit, write in zip(layer["units"], writes)]
                yield {"alive": alive, "group": [names.index(gate) for gate in gates]}


def seen(mask, n):
    """The keys that a query of a head sees, [query, key]."""
    far = 2**62
    within = lambda x, ends: (x >= (-far if ends[0] is None else ends[0])) & (x <= (far if ends[1] is None else ends[1]))
    query, key = np.arange(n)[:, None], np.arange(n)[None, :]
    return within(key - query, mask["relative"]) & within(key, mask["absolute"]) | (mask["first"] & (key == 0))


def attention(shape, w, z):
    """What the heads add, [batch, tokens, width]."""
    kind = shape.get("kind", "softmax")
    kind, total = kind if isinstance(kind, str) else next(iter(kind)), 0
    for head in range(shape["heads"]):
        v = z @ w["v"][head].T
        if kind == "average":
            mixed = np.broadcast_to(v.mean(1, keepdims=True), v.shape)
        else:
            q, k = z @ w["q"][head].T + w["q_bias"][head], z @ w["k"][head].T
            if kind == "softmax":
                hidden = None if not shape.get("masks") else ~seen(shape["masks"][head], z.shape[1])
                mixed = softmax(q @ k.swapaxes(1, 2), hidden) @ v
            elif kind == "linformer":
                mixed = softmax(q @ (w["e"][head] @ k).swapaxes(1, 2)) @ (w["f"][head] @ v)
            elif kind == "performer":
                features = lambda y: np.exp(y @ w["w"][head].T - (y * y).sum(-1, keepdims=True) / 2)
                mixed = features(q) @ (features(k).swapaxes(1, 2) @ v) / len(w["w"][head])
            else:
                raise ValueError(f"attention of the kind {kind} is not known")
        total = total + mixed @ w["o"][head].T
    return total


def softmax(scores, hidden=None):
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def ablation(model):
    """An example: a unit is alive if the outputs change without it; units are in one group if they change in proportion."""
    x = model.inputs()
    whole = model(x)
    for layer, units in enumerate(len(layer["units"]) for layer in model.manifest["layers"] if "units" in layer):
        effects = np.stack([(model(x, (layer, unit)) - whole).ravel() for unit in range(units)])
        sizes = np.linalg.norm(effects, axis=1)
        ways = effects / np.where(sizes > 0, sizes, 1)[:, None]
        group = [int(np.argmax(np.abs(ways[: unit + 1] @ ways[unit]) > 0.99)) if sizes[unit] > 0 else unit for unit in range(units)]
        yield {"alive": (sizes > 0).tolist(), "group": group}


def weights(model):
    """Another example: a unit is alive if it writes; units are in one group if they read the same, up to sign and scale."""
    first = 0
    for run in model.network["runs"]:
        for block in range(run["blocks"]):
            if run.get("feed_forward"):
                rows, columns = model.tensors[f"{first}.ff.w1"][block].astype(float), model.tensors[f"{first}.ff.w2"][block]
                sizes = np.linalg.norm(rows, axis=1)
                ways = rows / np.where(sizes > 0, sizes, 1)[:, None]
                group = [int(np.argmax(np.abs(ways[: unit + 1] @ ways[unit]) > 1 - 1e-6)) if sizes[unit] > 0 else unit for unit in range(len(rows))]
                yield {"alive": (columns != 0).any(0).tolist(), "group": group}
        first += run["blocks"]


METHODS = {"ablation": ablation, "weights": weights}


def pairs(layer, alive):
    units = [unit for unit, living in enumerate(alive) if living]
    return {(a, b) for a in units for b in units if a < b and layer["group"][a] == layer["group"][b]}


def counts(truth, answers):
    """Right, answered and true ones: of idle units, and of pairs."""
    idle, same = np.zeros(3, int), np.zeros(3, int)
    if len(truth) != len(answers):
        raise ValueError(f"{len(answers)} layers, expected {len(truth)}")
    for true, answer in zip(truth, answers):
        for key in ("alive", "group"):
            if len(answer[key]) != len(true[key]):
                raise ValueError(f"'{key}' of {len(answer[key])} units, expected {len(true[key])}")
        dead = [{unit for unit, living in enumerate(layer["alive"]) if not living} for layer in (true, answer)]
        idle += [len(dead[0] & dead[1]), len(dead[1]), len(dead[0])]
        known = [pairs(layer, true["alive"]) for layer in (true, answer)]
        same += [len(known[0] & known[1]), len(known[1]), len(known[0])]
    return idle, same


def f1(found):
    right, answered, true = found
    return 1.0 if not answered + true else 2 * right / (answered + true)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--answers", type=Path, help="the answers to score; without them the example's")
    parser.add_argument("--method", choices=METHODS, default="ablation", help="the example")
    parser.add_argument("--write", type=Path, help="where to write the example's answers")
    parser.add_argument("--only", default="", help="models whose names contain this")
    asked = parser.parse_args()
    given = json.loads(asked.answers.read_text()) if asked.answers else None
    folders = sorted(path.parent for path in asked.zoo.glob("*/manifest.json") if asked.only in path.parent.name)
    if not folders:
        sys.exit(f"there is no model in {asked.zoo}")
    written, all_idle, all_same = {}, np.zeros(3, int), np.zeros(3, int)
    for folder in folders:
        model = Model(folder)
        if given is not None and folder.name not in given:
            continue
        answers = given[folder.name] if given is not None else list(METHODS[asked.method](model))
        try:
            idle, same = counts(list(model.truth()), answers)
        except ValueError as error:
            sys.exit(f"{folder.name}: {error}")
        written[folder.name] = answers
        all_idle, all_same = all_idle + idle, all_same + same
        print(f"{folder.name}: idle units {f1(idle):.3f}, groups {f1(same):.3f}")
    print(f"{len(written)} models: idle units {f1(all_idle):.3f}, groups {f1(all_same):.3f}")
    if asked.write:
        asked.write.write_text(json.dumps(written) + "\n")


if __name__ == "__main__":
    main()
