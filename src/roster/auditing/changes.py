"""What a row of the audit would change in the dictionaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roster.distant.compiling.compiler import ALLOW_LIST
from roster.distant.entries.patch import Change, patch_line

Row = Mapping[str, Any]


def changes_of(row: Row) -> tuple[Change, ...]:
    """The changes that a row suggests; none for an entry that is right and for a type.

    A name of a dictionary is removed, or gets another type. What a pattern or a knowledge base gives can only
    be denied. A name that a patch cannot hold, because it has nothing but control characters, is left out.

    >>> row = {"kind": "entry", "verdict": "wrong", "entry": "Come", "label": "LOC", "source": "a.tsv"}
    >>> [str(change) for change in changes_of({**row, "line": 7})]
    ['remove Come LOC']
    >>> [str(change) for change in changes_of({"kind": "name", "name": "Ballymun", "label": "LOC"})]
    ['add Ballymun LOC']
    """
    return tuple(change for change in dict.fromkeys(_changes(row)) if patch_line(change).split("\t")[1])


def is_proposed(row: Row) -> bool:
    """Whether the changes of a row are in the patch, at least for a person to decide.

    Not those of a single label, because they change all labels of its entry, nor those of an ambiguous name.
    """
    return row["kind"] == "name" or (row["kind"] == "entry" and row["verdict"] not in ("right", "ambiguous"))


def is_default(row: Row) -> bool:
    """Whether the changes of a row are made if its confidence is high enough, without a person's choice.

    Names are added and entries removed. Another type and a longer name are right too seldom on most texts
    (docs/results.md). Nothing is changed where the run has learned too little (`held_back`).
    """
    sure = row["kind"] == "name" or (row["kind"] == "entry" and row["verdict"] == "wrong")
    return sure and not row.get("held_back")


def _changes(row: Row) -> Iterator[Change]:
    match row["kind"]:
        case "name":
            yield Change("add", row["name"], row["label"])
        case "entry" if row["verdict"] in ("wrong", "ambiguous"):
            yield from _removed(row, row["label"], row["entry"])
        case "entry" if row["verdict"] == "wrong type":
            yield from _retyped(row, row["label"], row.get("believed") or "")
        case "entry" if row["verdict"] == "part of a longer name" and row.get("longer"):
            yield Change("add", row["longer"], row.get("believed") or row["label"])
        case "label":
            text, believed = row["text"], row.get("believed") or ""
            longer = row.get("believed_text") or text
            if believed and longer != text:
                yield Change("add", longer, believed)
                return
            for source in row.get("sources") or ():
                for label in row["given"].split(","):
                    if not believed:
                        yield from _removed(source, label, text)
                    elif label != believed:
                        yield from _retyped(source, label, believed)


def _removed(entry: Row, label: str, text: str) -> Iterator[Change]:
    yield Change("remove", entry["entry"], label) if _in_dictionary(entry) else Change("deny", text)


def _retyped(entry: Row, label: str, believed: str) -> Iterator[Change]:
    if believed and believed != label and _in_dictionary(entry):
        yield Change("retype", entry["entry"], label, believed)


def _in_dictionary(entry: Row) -> bool:
    """Whether a dictionary made the label; also where nothing is known of its source."""
    return bool(entry.get("line")) or entry.get("source") in (ALLOW_LIST, "", None)
