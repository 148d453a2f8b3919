"""Dictionaries in memory, written to a file for the other readers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from roster.distant.entries.columns import find_columns, not_found
from roster.errors import DataError

FILE = "names.jsonl"


def is_in_memory(names: Any) -> bool:
    """Whether `names` are names, not paths of dictionaries.

    >>> is_in_memory({"Oslo": "LOC"}), is_in_memory([("Oslo", "LOC")]), is_in_memory(["a.tsv", "b.tsv"])
    (True, True, False)
    """
    if hasattr(names, "items") or hasattr(names, "columns"):
        return True
    return not isinstance(names, str | Path) and any(not isinstance(x, str | Path) for x in names)


def write_names(names: Any, folder: Path) -> Path:
    """Write names with their types to a dictionary in `folder`, and return its path.

    Args:
        names: `{"Oslo": "LOC"}`, `{"LOC": ["Oslo", "Bergen"]}`, pairs of name and type, records or a data
            frame with a column for each, or a Series of types with the names as its index.

    Raises:
        DataError: an entry is not a name with a type; the message has its position.
    """
    path = folder / FILE
    number = -1
    with path.open("w", encoding="utf-8") as file:
        for number, (name, kind) in enumerate(_pairs(names)):
            for what, value in (("name", name), ("type", kind)):
                if not isinstance(value, str) or not value.strip():
                    raise DataError(f"names, entry {number}: expected a {what} (a string), found {value!r}")
            file.write(json.dumps({"name": name, "type": kind}, ensure_ascii=False) + "\n")
    if number < 0:
        raise DataError("names: expected names with their types, found none")
    return path


def _pairs(names: Any) -> Iterator[tuple[Any, Any]]:
    """
    >>> list(_pairs({"Oslo": "LOC"})), list(_pairs({"LOC": ["Oslo", "Bergen"]}))
    ([('Oslo', 'LOC')], [('Oslo', 'LOC'), ('Bergen', 'LOC')])
    """
    columns = getattr(names, "columns", None)
    if columns is not None:
        yield from _of_frame(names, tuple(map(str, columns)))
    elif hasattr(names, "items"):
        for key, value in names.items():
            if isinstance(value, str) or not isinstance(value, Iterable):
                yield key, value
            else:
                yield from ((name, key) for name in value)
    else:
        for number, pair in enumerate(names):
            if isinstance(pair, Mapping):
                yield _of_record(pair, number)
                continue
            if isinstance(pair, str) or not isinstance(pair, Iterable) or len(tuple(pair)) != 2:
                raise DataError(f"names, entry {number}: expected a name and its type, found {pair!r}")
            yield tuple(pair)


def _of_record(record: Mapping[Any, Any], number: int) -> tuple[Any, Any]:
    """
    >>> _of_record({"name": "Oslo", "type": "LOC"}, 0)
    ('Oslo', 'LOC')
    """
    columns = tuple(map(str, record))
    found = find_columns(columns)
    if found is None:
        raise DataError(f"names, entry {number}: expected a record with two fields: {not_found(columns)}")
    return record[columns[found.surface]], record[columns[found.kind]]


def _of_frame(frame: Any, columns: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    picked = find_columns(columns)
    if picked is None:
        raise DataError(f"expected a data frame with two columns: {not_found(columns)}")
    yield from zip(frame[columns[picked.surface]], frame[columns[picked.kind]], strict=True)
