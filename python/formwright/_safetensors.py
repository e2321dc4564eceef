"""The tensors of a safetensors file, for NumPy: the length of a header, the header, the numbers."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy
import numpy.typing

KINDS = {"F32": "<f4", "F64": "<f8"}


def tensors_of(data: bytes) -> dict[str, numpy.typing.NDArray[Any]]:
    """The tensors by name; they share the file's bytes, and cannot be written to."""
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            if not 8 + length <= start <= end <= len(data):
                raise ValueError(f"{name} lies outside of the file")
            tensors[name] = numpy.frombuffer(data[start:end], dtype=KINDS[entry["dtype"]]).reshape(entry["shape"])
    return tensors
