"""The structure of a fast tokenizer, as `tokenizer.json` holds it."""

from __future__ import annotations

import json
import os
from typing import Any

from roster.errors import ModelError
from roster.files import fingerprint


def structure_of(tokenizer: Any) -> dict[str, Any]:
    """What `tokenizer.json` would hold, without the cutting and filling up that the last call asked for."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{type(tokenizer).__name__} is not a fast tokenizer, which this needs")
    try:
        structure: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    except Exception as error:  # the tokenizers library knows only this one
        raise ModelError(f"the tokenizer has parts that cannot be saved ({error})") from None
    return structure | {"truncation": None, "padding": None}


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Changes when the tokenizer gives other numbers to a text, or other names to its special tokens."""
    return fingerprint(structure_of(tokenizer), tokenizer.special_tokens_map)


def plain_backend(tokenizer: Any) -> Any:
    """A copy that gives all sub-words of a text: nothing cut, nothing filled up, no text a special token."""
    from tokenizers import Tokenizer

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # or it warns in every process that is forked
    backend = Tokenizer.from_str(json.dumps(structure_of(tokenizer)))
    backend.encode_special_tokens = True
    return backend
