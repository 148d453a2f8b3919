"""Tensors on disk: safetensors, written whole or not at all, and refused when damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from roster.errors import ModelError
from roster.files import atomic


def save_tensors(
    path: str | Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any] | None = None
) -> None:
    """`facts` (anything JSON can hold) travel in the file's header."""
    from safetensors.torch import save

    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic(path, "wb") as file:
        file.write(save(ready, metadata={"facts": json.dumps(facts or {})}))


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
