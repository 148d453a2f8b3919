"""Prodigy's JSON lines: `text`, `tokens`, `spans` and `answer`.

Only records with the answer `accept` are read; one without an answer, as for the input of a recipe, counts as
accepted. The words are the tokens, if there are any. Of overlapping spans the longest is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from roster.corpus.formats.base import Format, Options
from roster.corpus.formats.tools import (
    ANSWERS,
    Omitted,
    first_line,
    kept_keys,
    lines_of,
    read_records,
    tool_of,
    write_lines,
)
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import tokenize

RELATIONS = "relations"


def detect(path: Path) -> bool:
    return tool_of(first_line(path)) == "prodigy"


def read(path: Path, options: Options) -> Iterator[Sentence]:
    return read_records(lines_of(path), _base, path, options)


def _base(record: Mapping[str, Any], omitted: Omitted) -> dict[str, Any] | None:
    answer = record.get("answer")
    if answer is not None and answer not in ANSWERS:
        raise ValueError(f"expected answer to be {', '.join(ANSWERS)}, found {answer!r}")
    if answer in ("reject", "ignore"):
        omitted.add(f"records with the answer {answer}")
        return None
    omitted.add(RELATIONS, len(record.get(RELATIONS) or ()))
    found = {"text": record.get("text"), "tokens": record.get("tokens"), **kept_keys(record)}
    spans = record.get("spans")
    if spans is None and answer == "accept":  # the recipes leave it out where nothing is marked
        spans = []
    return found if spans is None else {**found, "spans": spans}


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """Labelled documents have the answer `accept`, others have none. Tokens are written for all."""
    write_lines(path, sentences, _shape)


def _shape(record: dict[str, Any]) -> dict[str, Any]:
    text, spans = record["text"], record.pop("spans", None)
    phrases = [*(spans or ()), *(record.get("unknown") or ())]
    if "words" in record:
        offsets = [(start, end) for sentence in record["words"] for start, end in sentence]
    else:
        offsets = tokenize(text, [place for one in phrases for place in (one["start"], one["end"])])
    starts = {start: number for number, (start, _) in enumerate(offsets)}
    ends = {end: number for number, (_, end) in enumerate(offsets)}
    record["tokens"] = [
        {"text": text[start:end], "start": start, "end": end, "id": number, "ws": text[end : end + 1] == " "}
        for number, (start, end) in enumerate(offsets)
    ]
    if spans is not None:
        record["spans"] = [
            {**span, "token_start": starts[span["start"]], "token_end": ends[span["end"]]} for span in spans
        ]
        record["answer"] = "accept"
    return record


FORMAT = Format(
    "prodigy",
    "Prodigy's JSON lines with text, tokens, spans and answer",
    (".prodigy.jsonl",),
    detect,
    read,
    write,
)
