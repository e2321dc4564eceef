"""A compiled folder as a PyTorch module: this file, PyTorch and nothing else.

    model = formwright.torch.load("folder")                 # or: import this file by itself
    y = model(x)                                            # [batch, tokens, dims] to [batch, tokens, output_dims]
    model.stages["quantise"].register_forward_hook(hook)    # the hook sees the residual stream, [batch, tokens, width]
    model.coordinates                                       # the meaning of its last axis, by name

The certificate holds for sums in any order, in the folder's own precision, with scores rounded before their maximum is
subtracted and weights formed before values are multiplied. So every step is written out: a fused attention is another
network. On a GPU leave TF32 off (`torch.backends.cuda.matmul.allow_tf32`), as it is by default. Weights are read from
`model.safetensors`; nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

KINDS = {"F32": torch.float32, "F64": torch.float64}


def load(folder: str | os.PathLike[str]) -> Transformer:
    """The module of a folder that `formwright build -o` wrote, with a float model."""
    file = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
    if file.get("format") != "formwright-model" or file.get("version") != 1:
        raise ValueError(f"{folder} holds no model that this version reads")
    if "network" not in file:
        raise ValueError(f"{folder} holds an exact model, which has no floats: build it with precision='f64', or 'f32'")
    return Transformer(file["network"], read_safetensors(Path(folder) / "model.safetensors"))


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file: the length of a header, the header, the numbers."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            if not 8 + length <= start <= end <= len(data):
                raise ValueError(f"{path}: {name} lies outside of the file")
            numbers = torch.frombuffer(bytearray(data[start:end]), dtype=KINDS[entry["dtype"]])
            tensors[name] = numbers.reshape(entry["shape"])
    return tensors


class Affine(nn.Module):
    """weight · z + bias"""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)

    def forward(self, z: Tensor) -> Tensor:
        return z @ self.weight.mT + self.bias


class Stacked(nn.Module):
    """Sub-layers of one shape: every tensor has a leading axis, the block."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            self.register_parameter(name, nn.Parameter(tensor))

    def of(self, block: int) -> dict[str, Tensor]:
        """The tensors of a block."""
        return {name: tensor[block] for name, tensor in self.named_parameters()}


class Attention(Stacked):
    """The contribution of the heads to the residual stream, by the kind of attention."""

    def __init__(self, shape: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super().__init__(tensors)
        kind = shape.get("kind", "softmax")
        self.kind: str = kind if isinstance(kind, str) else next(iter(kind))
        self.masks: list[dict[str, Any]] | None = shape.get("masks")
        self.connections: list[list[list[int]]] = shape.get("connections", [])

    def forward(self, z: Tensor, block: int) -> Tensor:
        w = self.of(block)
        heads = z.unsqueeze(1)  # [batch, 1, tokens, width], for [heads, size, width]
        values = heads @ w["v"].mT  # [batch, heads, tokens, value_size]
        if self.kind == "average":
            mixed = values.sum(dim=2, keepdim=True) / z.shape[1]
        else:
            queries, keys = heads @ w["q"].mT + w["q_bias"].unsqueeze(-2), heads @ w["k"].mT
            if self.kind == "softmax":
                mixed = weights(queries @ keys.mT, self.seen(z, block)) @ values
            elif self.kind == "linformer":
                mixed = weights(queries @ (w["e"] @ keys).mT, None) @ (w["f"] @ values)
            elif self.kind == "performer":
                summary = features(keys, w["w"]).mT @ values
                mixed = features(queries, w["w"]) @ summary / w["w"].shape[1]
            else:
                raise ValueError(f"attention of the kind {self.kind} is not known")
        return (mixed @ w["o"].mT).sum(dim=1)

    def seen(self, z: Tensor, block: int) -> Tensor | None:
        """The keys that the queries of each head see, [heads, tokens, tokens]; all if there are neither masks nor connections."""
        key = torch.arange(z.shape[1], device=z.device)
        if self.connections:
            layer = self.connections[block % len(self.connections)]
            return torch.stack([torch.isin(key, torch.tensor(keys, device=z.device)) for keys in layer])
        return None if self.masks is None else torch.stack([sees(mask, key) for mask in self.masks])


def sees(mask: dict[str, Any], key: Tensor) -> Tensor:
    """True if the query of a row sees the key of a column."""
    far = 2**62

    def within(x: Tensor, low: int | None, high: int | None) -> Tensor:
        return (x >= (-far if low is None else low)) & (x <= (far if high is None else high))

    near = within(key[None, :] - key[:, None], *mask["relative"])
    return near & within(key[None, :], *mask["absolute"]) | within(key[None, :], 0, 0 if mask["first"] else -1)


def weights(scores: Tensor, seen: Tensor | None) -> Tensor:
    """e_k / Σ e with e_k = exp(s_k − max s); a key that is not seen has the weight 0."""
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)


def features(x: Tensor, w: Tensor) -> Tensor:
    """A Performer's features, exp(w x − ‖x‖² / 2)."""
    return torch.exp(x @ w.mT - (x * x).sum(dim=-1, keepdim=True) * 0.5)


class FeedForward(Stacked):
    """w2 · max(w1 z + b1, 0) + b2"""

    def forward(self, z: Tensor, block: int) -> Tensor:
        w = self.of(block)
        return torch.relu(z @ w["w1"].mT + w["b1"]) @ w["w2"].mT + w["b2"]


class Blocks(nn.Module):
    """Consecutive blocks of one shape: attention, then feed-forward, each added to the residual stream."""

    def __init__(self, blocks: int, attention: Attention | None, feed_forward: FeedForward | None) -> None:
        super().__init__()
        self.blocks, self.attention, self.feed_forward = blocks, attention, feed_forward

    def forward(self, z: Tensor) -> Tensor:
        for block in range(self.blocks):
            if self.attention is not None:
                z = z + self.attention(z, block)
            if self.feed_forward is not None:
                z = z + self.feed_forward(z, block)
        return z


class Stages(nn.Module):
    """Stages by name, in order. PyTorch's own dictionary of modules has a method `values`, which is also a stage's name."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        for name in names:
            self.add_module(name, nn.Sequential())

    def __getitem__(self, name: str) -> nn.Module:
        return dict(self.named_children())[name]


class Transformer(nn.Module):
    """A compiled network: `embed`, `stages` by name, `read_out`."""

    def __init__(self, shape: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super().__init__()
        tokens = shape["tokens"]
        self.lengths: tuple[int, int] = tuple(shape.get("lengths", (tokens, tokens)))
        self.dims: int = shape["dims"]
        self.coordinates = [(entry["name"], entry["meaning"]) for entry in shape["coordinates"]]
        self.meanings = {stage["name"]: stage["meaning"] for stage in shape["stages"]}
        self.embed = Affine(tensors["embed.weight"], tensors["embed.bias"])
        self.pos = nn.Parameter(tensors["pos"]) if shape["positions"] else None
        self.stages = Stages(list(self.meanings))
        for stage, part in parts(shape["runs"], tensors):
            inner = self.stages[list(self.meanings)[stage]]
            inner.add_module(str(len(list(inner.children()))), part)
        self.read_out = Affine(tensors["read_out.weight"], tensors["read_out.bias"])

    def forward(self, x: Tensor) -> Tensor:
        """The outputs of a batch, [batch, tokens, dims], which is first rounded to the network's precision."""
        least, most = self.lengths
        if x.ndim != 3 or x.shape[2] != self.dims or not least <= x.shape[1] <= most:
            raise ValueError(f"the input has the shape {list(x.shape)}, expected [batch, {least} to {most}, {self.dims}]")
        z = self.embed(x.to(self.embed.weight.dtype))
        if self.pos is not None:
            z = z + self.pos
        for stage in self.stages.children():
            z = stage(z)
        y: Tensor = self.read_out(z)
        return y

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """The residual stream after the embedding, with positions, and after each stage."""
        states: dict[str, Tensor] = {}
        first = next(self.stages.children(), self.read_out)
        hooks = [first.register_forward_pre_hook(lambda _, z: states.__setitem__("embed", z[0]))]
        for name, stage in self.stages.named_children():
            hooks.append(stage.register_forward_hook(lambda _, __, z, name=name: states.__setitem__(name, z)))
        try:
            self(x)
        finally:
            for hook in hooks:
                hook.remove()
        return states


def parts(runs: list[dict[str, Any]], tensors: dict[str, Tensor]) -> Iterator[tuple[int, Blocks]]:
    """The blocks of every run with the stage that they belong to; a block of two stages is two parts."""
    first = 0
    for run in runs:
        attention, feed_forward = run.get("attention"), run.get("feed_forward")
        heads = Attention(attention, named(f"{first}.attn.", tensors)) if attention else None
        units = FeedForward(named(f"{first}.ff.", tensors)) if feed_forward else None
        stages = [part["stage"] for part in (attention, feed_forward) if part]
        if len(set(stages)) == 2:
            yield stages[0], Blocks(run["blocks"], heads, None)
            yield stages[1], Blocks(run["blocks"], None, units)
        else:
            yield stages[0], Blocks(run["blocks"], heads, units)
        first += run["blocks"]


def named(start: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names have this prefix, by the rest of their names."""
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
