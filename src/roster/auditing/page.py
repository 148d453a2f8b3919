"""The page of an audit: tables of labels, entries, names and types, in one HTML file without external parts.

The rows are written as they come, in chunks of columns, each a script element that holds JSON and is not run.
The page (`page.js`) reads the chunks of a table when it is opened, and makes elements for visible rows only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from roster.auditing.changes import changes_of, is_default
from roster.auditing.patch import SURE
from roster.distant.entries.patch import patch_line
from roster.files import atomic
from roster.pages.document import data, document, text

COLUMNS: dict[str, tuple[str, ...]] = {
    "label": (
        *("sentence", "start", "end", "left", "text", "right", "given", "believed", "believed_text"),
        *("confidence", "held_out", "members", "removed", "sources"),
    ),
    "entry": (
        *("entry", "label", "source", "line", "verdict", "believed", "longer"),
        *("labels", "right", "wrong", "confidence", "examples"),
    ),
    "name": ("name", "label", "count", "confidence", "examples"),
    "type": ("label", "labels", "precision", "recall"),
}
"""What the page reads of each kind of row."""
CHUNK_ROWS = 2000
DIGITS = 4
PLACE = "<!-- rows -->"


def write_page(file: Path, rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> None:
    """Writes the page, with the rows in the order in which they come.

    Args:
        file: the HTML file.
        rows: each with its `kind`, a key of `COLUMNS`, and the columns of this kind; a column may be absent.
        facts: `run`, `data`, `made` and `command` as text, `notes` as a list of texts; others are shown too.

    Raises:
        ValueError: for a row of another kind.
        RosterError: if the file cannot be written. What was there before is kept.
    """
    body = _part("page.html").replace("<!-- facts -->", _facts(facts))
    page = document(
        "Label audit",
        body + PLACE,
        _part("page.css"),
        f"const SURE = {SURE};\n{_part('page.js')}",
        sealed=True,
    )
    before, after = page.split(PLACE)
    with atomic(file) as out:
        out.write(before)
        for chunk in _chunks(rows):
            out.write(chunk)
        out.write(after)


def _part(name: str) -> str:
    return (resources.files("roster.auditing") / name).read_text("utf-8")


def _chunks(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Script elements with some thousand rows of one kind each; the rows of a kind keep their order."""
    waiting: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in COLUMNS}
    for row in rows:
        if row.get("kind") not in COLUMNS:
            raise ValueError(f"a row of the kind {row.get('kind')!r}; expected {', '.join(COLUMNS)}")
        some = waiting[row["kind"]]
        some.append(row)
        if len(some) == CHUNK_ROWS:
            yield _chunk(row["kind"], some)
            some.clear()
    for kind, some in waiting.items():
        if some:
            yield _chunk(kind, some)


def _chunk(kind: str, rows: Sequence[Mapping[str, Any]]) -> str:
    columns = {name: shared([_plain(row.get(name)) for row in rows]) for name in COLUMNS[kind]}
    changes = [[patch_line(change) for change in changes_of(row)] for row in rows]
    columns["changes"] = shared(changes)
    columns["default"] = shared(
        [int(bool(of_row) and is_default(row)) for row, of_row in zip(rows, changes, strict=True)]
    )
    element = f'<script type="application/json" class="rows" data-kind="{kind}" data-rows="{len(rows)}">'
    return f"{element}{data(columns)}</script>\n"


def shared(values: Sequence[Any]) -> Any:
    """The values, or the different ones with the place of each value among them if that is much shorter.

    >>> shared(["LOC", "LOC", "PER", "LOC"])
    {'of': ['LOC', 'PER'], 'at': [0, 0, 1, 0]}
    >>> shared(["Oslo", "Rome"]), shared([0.5, 0.5])
    (['Oslo', 'Rome'], [0.5, 0.5])
    """
    if not any(isinstance(value, str | list) for value in values):
        return list(values)  # numbers are as short as places
    keys = [value if isinstance(value, str) else (json.dumps(value),) for value in values]
    places: dict[str | tuple[str], int] = {}
    at = [places.setdefault(key, len(places)) for key in keys]
    if 2 * len(places) > len(values):
        return list(values)
    of: list[Any] = [None] * len(places)
    for place, value in zip(at, values, strict=True):
        of[place] = value
    return {"of": of, "at": at}


def _plain(value: Any) -> Any:
    """The value as JSON has it: numbers rounded, and null where there is none (NaN).

    >>> _plain({"value": 0.123456, "low": float("nan"), "n": 3})
    {'value': 0.1235, 'low': None, 'n': 3}
    """
    match value:
        case None | str() | bool():
            return value
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case int() | Integral():
            return int(value)
        case float() | Real():
            return round(float(value), DIGITS) if math.isfinite(value) else None
    return str(value)


def _facts(facts: Mapping[str, Any]) -> str:
    """Where the audit comes from, as HTML."""
    lines = [f"{name} {text(facts[name])}" for name in ("run", "data", "made") if facts.get(name)]
    others = {name: facts[name] for name in facts if name not in ("run", "data", "made", "command", "notes")}
    more = [f"<p>Made by <code>{text(facts['command'])}</code></p>"] if facts.get("command") else []
    more += [f"<p>{text(name)}: {text(value)}</p>" for name, value in others.items()]
    if facts.get("notes"):
        more.append(f"<ul>{''.join(f'<li>{text(note)}</li>' for note in facts['notes'])}</ul>")
    details = f"<details><summary>How this was made</summary>{''.join(more)}</details>" if more else ""
    return f'<span id="facts" class="dim">{" · ".join(lines)}</span>\n{details}'
