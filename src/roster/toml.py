"""Plain values as TOML, which the standard library reads and does not write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: Any) -> str:
    """A value as TOML, on one line.

    Raises:
        TypeError: TOML has no such value.

    >>> print(toml_value({"IN": ["mg", "ml"], "least": 0.5, "any case": True}))
    { IN = ["mg", "ml"], least = 0.5, "any case" = true }
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's; only DEL is allowed there and not here.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml_value(one)}" for key, one in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    raise TypeError(f"TOML has no {type(value).__name__}")


def toml_key(key: str) -> str:
    """A key as TOML.

    >>> toml_key("names"), toml_key("ORG.*")
    ('names', '"ORG.*"')
    """
    return key if BARE.fullmatch(key) else toml_value(key)
