"""A compiled folder in PyTorch, at every cell centre: ids after the contextual map, and outputs, against exact arithmetic.

    python pytorch.py cuda DIR [DIR ...]

The tensors mean what plain matrix products make of them; nothing of formwright is used. Ids are compared with the recurrence of Lemma 6
in Python's integers, outputs with an evaluation of the same tensors by plain loops over one sequence at a time.
"""

import itertools
import json
import struct
import sys

import torch
from torch.nn.functional import linear

torch.backends.cuda.matmul.allow_tf32 = False


def load(folder):
    data = open(f"{folder}/model.safetensors", "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        kind = {"F32": torch.float32, "F64": torch.float64}[entry["dtype"]]
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(data[start:end]), dtype=kind).reshape(entry["shape"])
    return tensors, json.load(open(f"{folder}/model.json"))


def visible(attention, tokens):
    """Which keys the queries of each head see, [heads, tokens, tokens]."""
    everything = {"relative": [None, None], "absolute": [None, None], "first": False}
    within = lambda x, low, high: (low is None or low <= x) and (high is None or x <= high)
    sees = lambda mask, i, j: (
        within(j - i, *mask["relative"]) and within(j, *mask["absolute"]) or mask["first"] and j == 0
    )
    masks = attention.get("masks", [everything] * attention["heads"])
    return torch.tensor([[[sees(mask, i, j) for j in range(tokens)] for i in range(tokens)] for mask in masks])


def run(tensors, runs, x):
    """The output, and the state after each stage, for a batch [batch, tokens, dims]."""
    z = linear(x, tensors["embed.weight"], tensors["embed.bias"])
    if "pos" in tensors:
        z = z + tensors["pos"]
    states, first = {}, 0
    for part in runs:
        for block in range(part["blocks"]):
            if "attention" in part:
                q, bias, k, v, o = (tensors[f"{first}.attn.{name}"][block] for name in ("q", "q_bias", "k", "v", "o"))
                read = lambda w: torch.einsum("btw,hmw->bhtm", z, w)
                scores = (read(q) + bias[None, :, None, :]) @ read(k).transpose(-1, -2)
                seen = visible(part["attention"], z.shape[1]).to(scores.device)
                scores = scores.masked_fill(~seen, -torch.inf)
                z = z + torch.einsum("bhtm,hwm->btw", torch.softmax(scores, -1) @ read(v), o)
                states[part["attention"]["stage"]] = z
            if "feed_forward" in part:
                w1, b1, w2, b2 = (tensors[f"{first}.ff.{name}"][block] for name in ("w1", "b1", "w2", "b2"))
                z = z + linear(torch.relu(linear(z, w1, b1)), w2, b2)
                states[part["feed_forward"]["stage"]] = z
        first += part["blocks"]
    return linear(z, tensors["read_out.weight"], tensors["read_out.bias"]), states


def contextual(point, n, d, resolution, positional):
    """The state after the contextual map, in integers."""
    columns, powers = resolution**d, [resolution**row for row in range(d)]
    place = [n - 1] + list(range(n - 1)) if positional else [0] * n
    z = [[k + place[j] * resolution for k in point[j * d : (j + 1) * d]] for j in range(n)]
    ids = lambda: [sum(a * b for a, b in zip(powers, token)) for token in z]
    starts = [j * resolution * sum(powers) for j in range(n - 1)] if positional else [0]
    for window in (start + v for start in starts for v in range(columns)):
        seen = ids()
        for token, here in zip(z, seen):
            token[0] += columns * (max(seen) - min(seen)) if here == window else 0
    largest = max(ids())
    for token in z:
        token[0] += (n * resolution * columns**n if positional else columns ** (n + 1)) * largest
    return z


device, folders = sys.argv[1], sys.argv[2:]
print(torch.__version__, torch.cuda.get_device_name() if device == "cuda" else device)
for folder in folders:
    tensors, model = load(folder)
    n, d, resolution, positional = (model[key] for key in ("tokens", "dims", "resolution", "positional"))
    points = list(itertools.product(range(resolution), repeat=n * d))
    low, high = (int(end.split('/')[0]) / int((end + '/1').split('/')[1]) for end in model["box"])
    kind = tensors["embed.weight"].dtype
    x = low + (high - low) * (torch.tensor(points, dtype=torch.float64).reshape(-1, n, d) + 0.5) / resolution
    runs = model["network"]["runs"]
    moved = {name: tensor.to(device) for name, tensor in tensors.items()}
    y, states = run(moved, runs, x.to(device, kind))
    stage = [stage["name"] for stage in model["network"]["stages"]].index("global")
    found = states[stage].cpu().double()
    distinct = [positional or len({p[j * d : (j + 1) * d] for j in range(n)}) == n for p in points]
    exact = torch.tensor([contextual(p, n, d, resolution, positional) for p in points], dtype=torch.float64)
    equal = sum(bool((a == b).all()) for a, b, served in zip(found, exact, distinct) if served)
    slow = torch.cat([run(tensors, runs, one[None].to(kind))[0] for one in x])
    off = float((y.cpu().double() - slow.double()).abs().max())
    print(f"{folder}: {model['precision']}, {model['size']['blocks']} blocks, ids equal at {equal} of {sum(distinct)} points, outputs within {off:.1e}")
