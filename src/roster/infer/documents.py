"""Predictions by document: one record each, as `roster predict` prints them and JSON lines hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from roster.corpus.formats.records import grouped
from roster.infer.recogniser import Found


def records(found: Iterable[Found]) -> Iterator[dict[str, Any]]:
    """The sentences of each document put together again.

    Args:
        found: what `Recogniser.find` yields.

    Yields:
        `id` (if the document has one), `text`, and `spans` with `text`, `label`, `start`, `end`, `score`.
    """
    for group in grouped(found, lambda one: one.sentence):
        first = group[0].sentence
        spans = [entity.as_dict() for one in group for entity in one.entities]
        yield {**({"id": first.doc} if first.doc else {}), "text": first.text, "spans": spans}
