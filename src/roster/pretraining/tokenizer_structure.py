"""The structure of a fast tokenizer, as `tokenizer.json` holds it."""

from __future__ import annotations

import json
import os
from typing import Any

from roster.errors import ModelError
from roster.files import fingerprint


def structure_of(tokenizer: Any) -> dict[str, Any]:
    """Return the content of `tokenizer.json`, without truncation and padding.

    Raises:
        ModelError: the tokenizer is not a fast one, or cannot be saved.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{type(tokenizer).__name__} is not a fast tokenizer")
    try:
        structure: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    except Exception as error:  # the tokenizers library raises no other type
        raise ModelError(f"the tokenizer cannot be saved ({error})") from None
    return structure | {"truncation": None, "padding": None}


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Return a fingerprint of the ids that a tokenizer assigns, and of its special tokens."""
    return fingerprint(structure_of(tokenizer), tokenizer.special_tokens_map)


def plain_backend(tokenizer: Any) -> Any:
    """Return a copy of the backend without truncation and padding, and without special tokens in texts."""
    from tokenizers import Tokenizer

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # otherwise it warns in every forked process
    backend = Tokenizer.from_str(json.dumps(structure_of(tokenizer)))
    backend.encode_special_tokens = True
    return backend
