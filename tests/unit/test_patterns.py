"""Our regular expressions mean the same in every Python that we support.

Possessive repeats of a group, and atomic groups, match wrongly in Python 3.11 before 3.11.5, which Debian 12
has; those of a single class are right everywhere.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from re import _constants as names
from re import _parser as parser
from typing import Any

import pytest

import roster
from roster.corpus.rules import ENGLISH
from roster.corpus.tokenizer import _pattern

SINGLE = (names.LITERAL, names.NOT_LITERAL, names.IN, names.ANY, names.CATEGORY)


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    yield "words of a text", _pattern(ENGLISH)
    for package in ("corpus", "distant"):
        for module in pkgutil.walk_packages([f"{roster.__path__[0]}/{package}"], f"roster.{package}."):
            for name, value in vars(import_module(module.name)).items():
                if isinstance(value, re.Pattern):
                    yield f"{module.name}.{name}", value


def misread(tree: Any) -> Iterator[str]:
    """What an old Python would get wrong in a parsed expression."""
    for operation, argument in tree:
        if operation is names.ATOMIC_GROUP:
            yield "an atomic group"
        if operation is names.POSSESSIVE_REPEAT:
            repeated = argument[2]
            if len(repeated) != 1 or repeated[0][0] not in SINGLE:
                yield f"a possessive repeat of {repeated}"
        for part in _parts(argument):
            yield from misread(part)


def _parts(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for one in argument:
            yield from _parts(one)


@pytest.mark.parametrize(("name", "pattern"), list(patterns()), ids=lambda value: str(value)[:60])
def test_every_python_reads_them_alike(name: str, pattern: re.Pattern[Any]) -> None:
    assert not list(misread(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))), name


@pytest.mark.parametrize("bad", ["(?:ab)*+", "(?>a)", "x(?:a|(?:bc)++)", "(?=(?:ab)?+)"])
def test_what_is_misread_is_seen(bad: str) -> None:
    assert list(misread(parser.parse(bad)))


@pytest.mark.parametrize("good", ["[ab]*+c", "a++", r"\w?+", "(?:ab)*"])
def test_what_is_not_misread_is_left(good: str) -> None:
    assert not list(misread(parser.parse(good)))
