"""Names of projects and files that clients give. No name of a client becomes a path unchecked."""

from __future__ import annotations

import re
import unicodedata

from roster.errors import ConfigError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{device}{n}" for device in ("com", "lpt") for n in range(1, 10))]
)
"""Devices on Windows."""
LONGEST = 120


def check_name(name: str) -> str:
    """The name of a project, which is the name of its folder.

    Raises:
        ConfigError: it is not made of letters, digits, - and _.

    >>> check_name("press-2024")
    'press-2024'
    >>> check_name("../etc")
    Traceback (most recent call last):
    roster.errors.ConfigError: expected 1 to 64 letters (A to Z), digits, - and _; the first no - or _
    """
    if not NAME.fullmatch(name):
        raise ConfigError("expected 1 to 64 letters (A to Z), digits, - and _; the first no - or _")
    if name.lower() in RESERVED:
        raise ConfigError(f"{name} cannot be the name of a folder on all systems; choose another")
    return name


def display_name(given: str) -> str:
    """The name of a client's file, to be shown and never opened: one line, no folder, not long.

    >>> display_name("C:\\\\texts\\\\news.txt"), display_name("../../a\\x00b.txt"), display_name("  ")
    ('news.txt', 'ab.txt', 'file')
    """
    last = re.split(r"[/\\]", given)[-1]
    shown = "".join(
        c for c in last if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")
    )
    shown = shown.strip().strip(".") or "file"
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 21]}…{shown[-20:]}"


def suffix_of(name: str, known: frozenset[str]) -> str:
    """The suffix of a file name where it is a known one, in lower case and without `.gz`; else nothing.

    >>> suffix_of("names.TSV.gz", frozenset([".tsv"])), suffix_of("a.exe", frozenset([".tsv"]))
    ('.tsv', '')
    """
    lower = name.lower().removesuffix(".gz")
    return next((suffix for suffix in sorted(known, key=len, reverse=True) if lower.endswith(suffix)), "")
