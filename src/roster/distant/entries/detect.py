"""Detection of the format of a dictionary from its first lines and its file name."""

from __future__ import annotations

import re

from roster.distant.entries.blocks import Block
from roster.distant.entries.records import delimiter_of
from roster.distant.entries.tables import header
from roster.errors import DataError

SAMPLE_LINES = 200
FAR_FEWER = 4
FEWEST_FOR_AUTONER = 8
SHORT_FILE = 20
_COMMON = """
per pers person loc location place org organization organisation misc miscellaneous
gpe norp fac facility product event work_of_art law language date time percent money quantity ordinal
cardinal city country state region company institution team brand artist author book film movie song
gene protein dna rna disease chemical drug species organism cell cell_line cell_type tissue anatomy
symptom treatment test problem
"""
COMMON_TYPES = frozenset(_COMMON.split())
"""Types of well-known data sets in lower case; a column with no other values has the types."""

_JSON = re.compile(r'\s*\{\s*"')
_TYPE_NAMES = re.compile(r"[^\W\d][\w.:/-]{0,39}(\s*,\s*[^\W\d][\w.:/-]{0,39})*")
_BY_NAME = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv"}


def format_of(block: Block) -> str:
    """The format of a file that begins with `block`.

    In this order:

    1. the first line begins like a JSON object: `jsonl`;
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

    A column with well-known types only has the types. Else, if column 1 has far fewer different values than
    column 2 and they look like types, the type is in column 1. For other short files see `_of_short_table`.
    In a longer file the type is in column 2 unless more than half of its values differ. Everything else is an
    error.
    """
    cells = [(row[0].strip(), row[1].strip()) for row in rows]
    # A line with an empty cell is broken: the reader reports it, and detection skips it.
    full = [row for row in cells if all(row)]
    first, second = map(list, zip(*(full or cells), strict=True))
    one, two = len(set(first)), len(set(second))
    format: str | None
    if _are_common_types(first) != _are_common_types(second):
        format = "autoner" if _are_common_types(first) else "tsv"
    elif len(rows) >= FEWEST_FOR_AUTONER and one * FAR_FEWER <= two:
        format = "autoner" if _look_like_types(first) else None
    elif len(rows) < SHORT_FILE:
        format = _of_short_table(first, second)
    else:
        format = "tsv" if two * 2 <= len(rows) else None
    if format:
        return format
    sample = "line 1" if len(rows) == 1 else f"the first {len(rows)} lines"
    raise DataError(
        f"cannot tell which column holds the type: in {sample} column 1 has {one} "
        f"different values, column 2 has {two}; say --dictionary-format tsv for name<TAB>type, autoner "
        "for type<TAB>name, or name the columns in a first line (surface<TAB>type)",
        path=block.path,
    )


def _of_short_table(first: list[str], second: list[str]) -> str | None:
    """The format of a table of few lines, from its two columns; None if it cannot be determined.

    Three criteria for the column of the types: it has fewer different values than the other column, it alone
    is all capitals, it alone has a well-known type. The majority decides. `autoner` requires the first of
    them, because capitals in column 1 are often acronyms. If no criterion holds, the format is `tsv` if
    column 2 has single words only and column 1 does not.

    >>> _of_short_table(["Ada", "Bo"], ["Cat", "Cat"]), _of_short_table(["Cat", "Cat"], ["Ada", "Bo"])
    ('tsv', 'autoner')
    >>> _of_short_table(["Ada", "Bo"], ["CAT", "DOG"]), _of_short_table(["Ada", "Bo"], ["Cat", "Dog"])
    ('tsv', None)
    """
    one, two = len(set(first)), len(set(second))
    if two * FAR_FEWER <= one:
        return "tsv"
    ballots = [(one < two, two < one)]
    ballots += [(test(first), test(second)) for test in (_are_capitals, _have_common_types)]
    # Each pair has one vote: for column 2, for column 1 (-1), or for neither.
    votes = sum(right - left for left, right in ballots)
    if votes > 0:
        return "tsv"
    if votes < 0:
        return "autoner" if one < two and _look_like_types(first) else None
    undecided = not any(left != right for left, right in ballots)
    return "tsv" if undecided and _look_like_types(second) and not _look_like_types(first) else None


def _look_like_types(values: list[str]) -> bool:
    return all(map(_TYPE_NAMES.fullmatch, values))


def _are_capitals(values: list[str]) -> bool:
    return _look_like_types(values) and all(part.isupper() for part in _top_types(values))


def _are_common_types(values: list[str]) -> bool:
    return all(map(_is_common, _top_types(values)))


def _have_common_types(values: list[str]) -> bool:
    return any(map(_is_common, _top_types(values)))


def _is_common(kind: str) -> bool:
    return kind.casefold().replace("-", "_") in COMMON_TYPES


def _top_types(values: list[str]) -> set[str]:
    """The types in a column, without what follows a dot, colon or slash (`ORG` of `ORG.company`)."""
    return {re.split(r"[.:/]", kind.strip())[0] for value in set(values) for kind in value.split(",")}
