"""Predictions by document: one record each, as `roster predict` prints them and JSON lines hold them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from roster.corpus.formats.records import continues
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.files import atomic
from roster.infer.recogniser import Found


def records(found: Iterable[Found]) -> Iterator[dict[str, Any]]:
    """The sentences of each document put together again. Of these only the entities are kept.

    Args:
        found: what `Recogniser.find` yields.

    Yields:
        `id` (if the document has one), `text`, and `spans` with `text`, `label`, `start`, `end`, `score`.
    """
    last: Sentence | None = None
    spans: list[dict[str, Any]] = []
    for one in found:
        if last is not None and not continues(last, one.sentence):
            yield _record(last, spans)
            spans = []
        last = one.sentence
        spans += [entity.as_dict() for entity in one.entities]
    if last is not None:
        yield _record(last, spans)


def _record(sentence: Sentence, spans: list[dict[str, Any]]) -> dict[str, Any]:
    """The record of the document of a sentence."""
    return {**({"id": sentence.doc} if sentence.doc else {}), "text": sentence.text, "spans": spans}


def write_found(found: Iterable[Found], path: str | Path, format: str) -> None:
    """Writes predictions: JSON lines have the records of `records`, other formats have no scores."""
    if format != "jsonl":
        write(path, (one.sentence for one in found), format)
        return
    with atomic(path) as file:
        for record in records(found):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
