"""Guessing the format of a dictionary from its first lines and its name."""

from __future__ import annotations

import re

from roster.distant.entries.blocks import Block
from roster.distant.entries.records import delimiter_of
from roster.distant.entries.tables import header
from roster.errors import DataError

SAMPLE_LINES = 200
FAR_FEWER = 4
FEWEST_FOR_AUTONER = 8
FEWEST_FOR_DOUBT = 20

_JSON = re.compile(r'\s*\{\s*"')
_TYPE_NAMES = re.compile(r"[^\W\d][\w.:/-]{0,39}(\s*,\s*[^\W\d][\w.:/-]{0,39})*")
_BY_NAME = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv"}


def format_of(block: Block) -> str:
    """The format of a file that begins with `block`.

    In this order:

    1. the first line begins as a JSON object does: `jsonl`;
    2. the first line names the columns of the name and the type: `tsv` between tabs, `csv` between commas or
       semicolons;
    3. the file is called `.jsonl`, `.ndjson` or `.json`: `jsonl`; `.csv`, without a tab in line 1: `csv`;
    4. a line has a tab: `tsv` or `autoner`, see `_which_column`;
    5. the file is called `.tsv`: `tsv`; anything else: `phrases`.
    """
    lines = block.raw.decode("utf-8", errors="replace").split("\n", SAMPLE_LINES)[:SAMPLE_LINES]
    lines = [line for line in lines if line.strip()]
    by_name = _by_name(block)
    if _JSON.match(lines[0]):
        return "jsonl"
    if header(block)[0]:
        return "tsv"
    if delimiter_of(lines[0]):
        return "csv"
    if by_name == "jsonl" or (by_name == "csv" and "\t" not in lines[0]):
        return by_name
    rows = [line.split("\t", 2) for line in lines if "\t" in line]
    if rows:
        return _which_column(rows, block)
    return by_name or "phrases"


def _by_name(block: Block) -> str | None:
    name = block.path.name.lower().removesuffix(".gz")
    return next((format for ending, format in _BY_NAME.items() if name.endswith(ending)), None)


def _which_column(rows: list[list[str]], block: Block) -> str:
    """`tsv` (name, type) or `autoner` (type, name) for a table without a header.

    A few lines say little, and are `tsv`. Where column 1 has far fewer different values than column 2 the
    type is in column 1, if its values look like names of types; if they do not, we cannot tell. Nor can we
    where column 2 has more different values than half the lines: those are hardly types.
    """
    first, second = len({row[0] for row in rows}), len({row[1] for row in rows})
    if len(rows) >= FEWEST_FOR_AUTONER and first * FAR_FEWER <= second:
        if all(_TYPE_NAMES.fullmatch(row[0].strip()) for row in rows):
            return "autoner"
    elif len(rows) < FEWEST_FOR_DOUBT or second * 2 <= len(rows):
        return "tsv"
    raise DataError(
        f"cannot tell which column holds the type: in the first {len(rows)} lines column 1 has {first} "
        f"different values, column 2 has {second}; say --dictionary-format tsv for name<TAB>type, autoner "
        "for type<TAB>name, or name the columns in a first line (surface<TAB>type)",
        path=block.path,
    )
