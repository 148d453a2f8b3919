"""JSON and TOML of unknown origin: what cannot be parsed is a ValueError, never another exception.

The parsers of the standard library raise RecursionError for deep nesting. A whole number of some hundred
digits is parsed, but then fails where it is converted to a float or printed, so it is refused here.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

DIGITS = 300
"""Digits of the longest whole number: all of them fit into a float."""
TOO_DEEP = "lists or tables are nested too deep"
TOO_LONG = f"a whole number has more than {DIGITS} digits"


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(TOO_LONG)
    return int(digits)


DECODER = json.JSONDecoder(parse_int=_whole)
"""For parts of a text (`raw_decode`); it raises RecursionError, too."""


def parse_json(content: str | bytes) -> Any:
    """A JSON value.

    Args:
        content: the whole text, or its bytes in UTF-8, UTF-16 or UTF-32.

    Raises:
        ValueError: it is no JSON (`json.JSONDecodeError`, with the place), is nested too deep, has a number
            that is too long, or is in no such encoding.

    >>> parse_json(b'{"a": [1, null]}')
    {'a': [1, None]}
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ValueError: lists or tables are nested too deep
    """
    if isinstance(content, bytes):
        content = content.decode(json.detect_encoding(content))
    try:
        return DECODER.decode(content)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def parse_toml(content: str) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        ValueError: it is no TOML (`tomllib.TOMLDecodeError`), is nested too deep, or has a number that is too
            long.

    >>> parse_toml("a.b = 0x1f")
    {'a': {'b': 31}}
    >>> parse_toml("seed = 0x" + "f" * 300)
    Traceback (most recent call last):
    ValueError: a whole number has more than 300 digits
    """
    try:
        tree = tomllib.loads(content)
        _check_numbers(tree)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as error:
        if isinstance(error, tomllib.TOMLDecodeError) or "integer string" not in str(error):
            raise
        raise ValueError(TOO_LONG) from None  # int() has a limit of its own, explained to programmers
    return tree


def _check_numbers(value: Any) -> None:
    if isinstance(value, dict):
        for one in value.values():
            _check_numbers(one)
    elif isinstance(value, list):
        for one in value:
            _check_numbers(one)
    elif isinstance(value, int) and abs(value) >= 10**DIGITS:
        raise ValueError(TOO_LONG)
