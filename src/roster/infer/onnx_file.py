"""Whether an ONNX file keeps weights in other files, without the package onnx, which takes long to import.

ONNX Runtime would read them from wherever the file says. `roster export` writes one file. Of the protocol
buffer only the path from the model to its tensors is followed; everything else is skipped by its length.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from roster.errors import ModelError

TENSOR = "tensor"
EXTERNAL = 13
"""The field `external_data` of a tensor."""
# For each kind of message the fields that lead to tensors, as in onnx.proto.
FIELDS: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: TENSOR, 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: TENSOR, 6: "graph", 10: TENSOR, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: TENSOR, 2: TENSOR},
    TENSOR: {},
}
DEEPEST = 64
"""Messages inside each other."""


def check_one_file(path: Path) -> None:
    """
    Raises:
        ModelError: the model has weights in other files, or is no ONNX file.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            outside = _has_external(data, 0, len(data), "model", 0)
    except (OSError, ValueError, IndexError) as error:
        raise ModelError(f"{path} is damaged, or no ONNX file ({error})") from None
    if outside:
        raise ModelError(
            f"{path} keeps weights in other files, which could be any on this machine; roster reads models "
            "that are one file"
        )


def _has_external(data: Any, start: int, end: int, kind: str, depth: int) -> bool:
    if depth > DEEPEST:
        raise ValueError("messages are nested too deep")
    for field, first, last in _fields(data, start, end):
        if kind == TENSOR and field == EXTERNAL:
            return True
        inner = FIELDS[kind].get(field)
        if inner is not None and _has_external(data, first, last, inner, depth + 1):
            return True
    return False


def _fields(data: Any, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of each field of a message that has a length; others are skipped."""
    while at < end:
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                _, at = _varint(data, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(data, at)
                if at + size > end:
                    raise ValueError("a field is longer than its message")
                yield tag >> 3, at, at + size
                at += size
            case 5:
                at += 4
            case kind:
                raise ValueError(f"a field of the unknown type {kind}")
    if at > end:
        raise ValueError("a field is longer than its message")


def _varint(data: Any, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a number is too long")
