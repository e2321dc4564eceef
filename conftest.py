"""Pages are tested in a folder of their own. Where `transformers` is not installed, its pipeline is stood in for by BERT's
blocks in NumPy, read from the same files: what the pages show is then not told by PyTorch, but by those weights."""

import json
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest


def safetensors(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    kinds = {"F32": "<f4", "F64": "<f8"}
    read = {}
    for name, known in header.items():
        if name != "__metadata__":
            start, end = known["data_offsets"]
            read[name] = numpy.frombuffer(rest[start:end], kinds[known["dtype"]]).reshape(known["shape"])
    return read


def pipeline(task, folder):
    assert task == "token-classification"
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text())
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    weights = safetensors(folder / "model.safetensors")
    assert config["architectures"] == ["BertForTokenClassification"] and config["hidden_act"] == "gelu"

    def dense(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        x = (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + config["layer_norm_eps"])
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def gelu(x):
        return numpy.array([value / 2 * (1 + math.erf(value / math.sqrt(2))) for value in x.ravel()], x.dtype).reshape(x.shape)

    def heads(x):
        return x.reshape(len(x), config["num_attention_heads"], -1).transpose(1, 0, 2)

    def run(sentence):
        start = "bert.embeddings."
        x = weights[start + "word_embeddings.weight"][[words[word] for word in sentence.split()]]
        x = x + weights[start + "token_type_embeddings.weight"][0] + weights[start + "position_embeddings.weight"][: len(x)]
        x = norm(start + "LayerNorm", x)
        for number in range(config["num_hidden_layers"]):
            layer = f"bert.encoder.layer.{number}."
            q, k, v = (heads(dense(f"{layer}attention.self.{name}", x)) for name in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / numpy.sqrt(q.dtype.type(q.shape[-1]))
            shares = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed = (shares / shares.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(x.shape[0], -1)
            x = norm(f"{layer}attention.output.LayerNorm", dense(f"{layer}attention.output.dense", mixed) + x)
            x = norm(f"{layer}output.LayerNorm", dense(f"{layer}output.dense", gelu(dense(f"{layer}intermediate.dense", x))) + x)
        return [{"entity": config["id2label"][str(label)]} for label in dense("classifier", x).argmax(-1)]

    return run


@pytest.fixture(autouse=True)
def page(request, monkeypatch, tmp_path):
    if request.node.path.suffix == ".md":
        monkeypatch.chdir(tmp_path)
        if find_spec("transformers") is None or find_spec("torch") is None:
            monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(pipeline=pipeline))
