"""doccano's JSON lines: `text` and `label` (older: `labels`) with [start, end, type], or with relations
`entities` with `start_offset`, `end_offset` and `label`.

Relations are not read. Of overlapping spans the longest is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from roster.corpus.formats.base import Format, Options
from roster.corpus.formats.tools import (
    Omitted,
    first_line,
    kept_keys,
    lines_of,
    read_records,
    tool_of,
    write_lines,
)
from roster.corpus.sentence import Sentence

LABELS = ("label", "labels", "entities")


def detect(path: Path) -> bool:
    return tool_of(first_line(path)) == "doccano"


def read(path: Path, options: Options) -> Iterator[Sentence]:
    return read_records(lines_of(path), _base, path, options)


def _base(record: Mapping[str, Any], omitted: Omitted) -> dict[str, Any]:
    omitted.add("relations", len(record.get("relations") or ()))
    found = {"text": record.get("text"), **kept_keys(record)}
    key = next((key for key in LABELS if record.get(key) is not None), None)
    if key is None:
        return found
    if isinstance(record[key], list) and any(isinstance(one, str) for one in record[key]):
        raise ValueError(
            f"expected {key} to hold [start, end, type] for each span, found labels of the whole text; "
            "export a project of the kind sequence labelling"
        )
    return {**found, key: record[key]}


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    write_lines(path, sentences, _shape)


def _shape(record: dict[str, Any]) -> dict[str, Any]:
    spans = record.pop("spans", None)
    if spans is not None:
        record["label"] = [[span["start"], span["end"], span["label"]] for span in spans]
    return record


FORMAT = Format(
    "doccano", "doccano's JSON lines with text and label", (".doccano.jsonl",), detect, read, write
)
