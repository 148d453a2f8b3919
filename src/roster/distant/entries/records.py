"""Dictionaries of records with named fields: CSV with a header, and JSON lines."""

from __future__ import annotations

import csv
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from roster.distant.entries.batch import EntryBatch, Kinds, gather, problem
from roster.distant.entries.blocks import LONGEST_LINE, Block, Broken
from roster.distant.entries.columns import find_columns, not_found
from roster.errors import DataError, json_problem
from roster.parsing import parse_json

DELIMITERS = (",", ";")

_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def read_csv(blocks: Iterable[Block], path: Path, broken: Broken) -> Iterator[EntryBatch]:
    """CSV with a header; quoted cells may have commas, quotes and line ends."""
    return gather(_csv_entries(blocks, path, broken))


def delimiter_of(line: str) -> str | None:
    """The delimiter of the column names in `line`; None if it has no name and type.

    >>> delimiter_of('id;"Name";type'), delimiter_of("Name, type"), delimiter_of("Oslo, Norway")
    (';', ',', None)
    """
    return next((d for d in DELIMITERS if find_columns(_cells(line, d))), None)


def _cells(line: str, delimiter: str) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader([line], delimiter=delimiter), ()))
    except csv.Error:
        return ()


def _csv_entries(blocks: Iterable[Block], path: Path, broken: Broken) -> Iterator[tuple[int, str, str]]:
    lines = (line for block in blocks for line in block.lines(broken))
    number, first = next(lines, (1, ""))
    delimiter = delimiter_of(first) or DELIMITERS[0]
    names = _cells(first, delimiter)
    columns, kinds = find_columns(names), Kinds()
    if columns is None:
        message = f"expected a first line that names the columns: {not_found(names)}"
        raise DataError(message, path=path, line=number)
    for number, row in _rows(lines, delimiter, path, broken):
        wrong: str | None
        if len(row) <= max(columns):
            wrong = f"expected {len(names)} cells, as the first line names them; found {len(row)}"
        elif any(cell.strip() for cell in row[len(names) :]):
            wrong = (
                f"expected {len(names)} cells, as the first line names them; found {len(row)}; "
                f"put a cell with a {delimiter!r} inside in double quotes"
            )
        else:
            surface, kind = row[columns.surface].strip(), kinds[row[columns.kind]]
            wrong = problem(surface, (kind,))
        if not wrong:
            yield number, surface, kind
        elif any(cell.strip() for cell in row):
            broken(DataError(wrong, path=path, line=number))


def _rows(
    lines: Iterator[tuple[int, str]], delimiter: str, path: Path, broken: Broken
) -> Iterator[tuple[int, list[str]]]:
    """The records, each with the line it begins on.

    A quote that is not closed takes the lines after it, up to a limit. So after a broken record reading
    continues at its second line.
    """
    again: deque[tuple[int, str]] = deque()
    taken: list[tuple[int, str]] = []

    def feed() -> Iterator[str]:
        size = 0
        while item := again.popleft() if again else next(lines, None):
            size = size + len(item[1]) + 1 if taken else 0
            taken.append(item)
            if size > LONGEST_LINE:
                raise csv.Error("record too long")
            yield item[1] + "\n"

    reader = csv.reader(feed(), delimiter=delimiter, strict=True)
    while True:
        taken.clear()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            wrong = _csv_problem(str(error), several_lines=len(taken) > 1)
            broken(DataError(wrong, path=path, line=taken[0][0]))
            again.extendleft(reversed(taken[1:]))
            reader = csv.reader(feed(), delimiter=delimiter, strict=True)
        else:
            yield taken[0][0], row


def _csv_problem(error: str, *, several_lines: bool) -> str:
    """Error messages for those of the csv module."""
    if several_lines or "end of data" in error:
        return "a quote that opens on this line is not closed"
    if "expected after" in error:
        return "text after a closing quote; write a double quote inside a quoted cell twice"
    if "new-line" in error:
        return "a carriage return inside the line; end lines with a line feed"
    return f"not CSV: {error}"


def read_jsonl(blocks: Iterable[Block], path: Path, broken: Broken) -> Iterator[EntryBatch]:
    """A JSON object on each line, with a name and a type or a list of types; other keys are ignored."""
    return gather(_json_entries(blocks, path, broken))


def _json_entries(blocks: Iterable[Block], path: Path, broken: Broken) -> Iterator[tuple[int, str, str]]:
    kinds = Kinds()
    for block in blocks:
        for number, line in block.lines(broken):
            if not line or line.isspace():
                continue
            try:
                surface, types = _json_entry(line)
            except ValueError as error:
                broken(DataError(str(error), path=path, line=number))
                continue
            for kind in types:
                yield number, surface, kinds[kind]


def _json_entry(line: str) -> tuple[str, list[str]]:
    """The name and the types; a ValueError has the error message for the line."""
    try:
        record = parse_json(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {json_problem(error)} at column {error.colno}") from error
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValueError("expected a JSON object on each line, with a name and its type")
    columns = find_columns(tuple(record))
    if columns is None:
        raise ValueError(f"expected two keys: {not_found(list(record))}")
    values = list(record.values())
    surface, types = values[columns.surface], values[columns.kind]
    types = [types] if isinstance(types, str) else types
    if not isinstance(surface, str):
        raise ValueError("expected a string for the name")
    if not isinstance(types, list) or not all(isinstance(kind, str) for kind in types):
        raise ValueError("expected a string or a list of strings for the type")
    surface, types = surface.strip(), [kind.strip() for kind in types]
    if wrong := problem(surface, types):
        raise ValueError(wrong)
    if "\\u" in line and any(map(_NO_TEXT.search, (surface, *types))):
        raise ValueError("a zero character or half of a surrogate pair in the name or its type")
    return surface, types
