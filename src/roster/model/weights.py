"""Tensors on disk: safetensors, written whole or not at all, and refused when damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from roster.errors import ModelError
from roster.files import atomic

DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
    torch.bool: "BOOL",
}  # fmt: skip


def save_tensors(
    path: str | Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any] | None = None
) -> None:
    """`facts` (anything JSON can hold) travel in the file's header.

    Tensor by tensor: a checkpoint of several models and their moments is larger than the memory there may be.
    """
    header: dict[str, Any] = {"__metadata__": {"facts": json.dumps(facts or {})}}
    end = 0
    tensors = dict(sorted(tensors.items(), key=lambda pair: -pair[1].element_size()))  # all lie aligned
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        shape, dtype = list(tensor.shape), DTYPES[tensor.dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    told = json.dumps(header, separators=(",", ":")).encode()
    told += b" " * (-len(told) % 8)
    with atomic(path, "wb") as file:
        file.write(len(told).to_bytes(8, "little") + told)
        for tensor in tensors.values():
            flat = tensor.detach().cpu().contiguous().flatten()
            file.write(flat.view(torch.uint8).numpy().data)


def load_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get("facts", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118
    except FileNotFoundError:
        raise ModelError(f"{path} is missing") from None
    except (SafetensorError, ValueError, OSError) as error:
        raise ModelError(f"{path} is damaged or incomplete: {error}") from None
