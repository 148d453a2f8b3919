"""Tensors on disk: safetensors, written whole or not at all, and refused when damaged."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from roster.errors import ModelError
from roster.files import atomic
from roster.parsing import parse_json

DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
    torch.bool: "BOOL",
}  # fmt: skip
EMPTY = "0" * 8
"""What stands in the header for the checksum while it is computed."""
SUM_AT = 8 + len('{"__metadata__":{"crc32":"')
"""Where the checksum stands in a file."""
CHUNK = 2**20


def save_tensors(
    path: str | Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any] | None = None
) -> None:
    """`facts` (anything JSON can hold) travel in the file's header, with a CRC-32 of the whole file.

    Tensor by tensor: a checkpoint of several models and their moments is larger than the memory there may be.
    """
    header: dict[str, Any] = {"__metadata__": {"crc32": EMPTY, "facts": json.dumps(facts or {})}}
    end = 0
    tensors = dict(sorted(tensors.items(), key=lambda pair: -pair[1].element_size()))  # all lie aligned
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        shape, dtype = list(tensor.shape), DTYPES[tensor.dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    told = json.dumps(header, separators=(",", ":")).encode()
    told += b" " * (-len(told) % 8)
    with atomic(path, "wb") as file:
        told = len(told).to_bytes(8, "little") + told
        file.write(told)
        total = zlib.crc32(told)
        for tensor in tensors.values():
            flat = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data
            file.write(flat)
            total = zlib.crc32(flat, total)
        file.seek(SUM_AT)
        file.write(f"{total:08x}".encode())


def load_tensors(path: str | Path, *, verify: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the facts of a file.

    Parameters:
        path: the file.
        verify: compare its checksum first. A model folder has checksums of its own.

    Raises:
        ModelError: the file is missing or damaged.
    """
    from safetensors import SafetensorError, safe_open

    try:
        if verify:
            verify_tensors(path)
        with safe_open(os.fspath(path), framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, _facts(file)  # noqa: SIM118
    except FileNotFoundError:
        raise ModelError(f"{path} is missing") from None
    except (SafetensorError, ValueError, OSError) as error:
        raise ModelError(f"{path} is damaged or incomplete: {error}") from None


def read_facts(path: str | Path) -> dict[str, Any]:
    """The facts of a file, without its tensors.

    Raises:
        ModelError: the file is missing or damaged.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), framework="pt") as file:
            return _facts(file)
    except FileNotFoundError:
        raise ModelError(f"{path} is missing") from None
    except (SafetensorError, ValueError, OSError) as error:
        raise ModelError(f"{path} is damaged or incomplete: {error}") from None


def verify_tensors(path: str | Path) -> None:
    """Compare the checksum of a file that `save_tensors` wrote.

    Raises:
        ModelError: the file is missing or damaged.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(SUM_AT + len(EMPTY))
            told = start[SUM_AT:]
            total = zlib.crc32(start[:SUM_AT] + EMPTY.encode())
            while part := file.read(CHUNK):
                total = zlib.crc32(part, total)
    except FileNotFoundError:
        raise ModelError(f"{path} is missing") from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    if told != f"{total:08x}".encode():
        raise ModelError(f"{path} is damaged or incomplete: its checksum is not that of its content")


def _facts(file: Any) -> dict[str, Any]:
    found = parse_json((file.metadata() or {}).get("facts", "{}"))
    return found if isinstance(found, dict) else {}
