"""Dictionaries of names: `surface<TAB>type` lines."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from roster.corpus.formats.textfile import read_lines
from roster.corpus.tokenizer import tokenize
from roster.errors import DataError

Names = dict[tuple[str, ...], tuple[str, ...]]


def read_dictionary(path: str | PathLike[str]) -> Names:
    """Names as word tuples, each with its types in alphabetical order.

    A first line `surface<TAB>type` is a header. Blank lines are passed over; further columns are not read.
    """
    path = Path(path)
    found: dict[tuple[str, ...], set[str]] = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        surface, tab, rest = line.partition("\t")
        kind = rest.split("\t")[0].strip()
        if number == 1 and (surface.strip().lower(), kind.lower()) == ("surface", "type"):
            continue
        words = tuple(surface[a:b] for a, b in tokenize(surface))
        if not tab or not kind or not words:
            raise DataError("expected a name, a tab and its type", path=path, line=number)
        found.setdefault(words, set()).add(kind)
    if not found:
        raise DataError("the dictionary is empty; expected lines of a name, a tab and its type", path=path)
    return {words: tuple(sorted(types)) for words, types in found.items()}
