"""From entities to an answer: which of them are wanted, and the unit of their offsets. Pure functions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from roster.infer.recogniser import Entity
from roster.serving.failures import RequestError
from roster.serving.schemas import PredictRequest, shown


def check_types(request: PredictRequest, known: Collection[str]) -> None:
    """Checks the types that a request names.

    Raises:
        RequestError: 422 for one that the model does not have.
    """
    named = [(f"types[{i}]", label) for i, label in enumerate(request.types or ())]
    named += [(shown(f"thresholds.{label}"), label) for label in request.thresholds or ()]
    for where, label in named:
        if label not in known:
            message = f"{where}: unknown type {shown(label)!r}; the model has {', '.join(known)}"
            raise RequestError(422, message, where)


def wanted(
    entities: Iterable[Entity],
    threshold: float,
    thresholds: Mapping[str, float],
    types: Collection[str] | None,
) -> list[Entity]:
    """The entities of some types (None: all) with at least the score of their type's threshold.

    >>> found = [Entity("Oslo", "LOC", 0, 4, 0.6), Entity("Anna", "PER", 5, 9, 0.6)]
    >>> [entity.label for entity in wanted(found, 0.5, {"LOC": 0.7}, None)]
    ['PER']
    """
    return [
        entity
        for entity in entities
        if entity.score >= thresholds.get(entity.label, threshold)
        and (types is None or entity.label in types)
    ]


def utf16_offset(text: str) -> Callable[[int], int]:
    """A function from offsets in code points to offsets in UTF-16 code units, as JavaScript counts.

    >>> offset = utf16_offset("😀 Oslo")
    >>> offset(0), offset(1), offset(2)
    (0, 2, 3)
    """
    if text.isascii():
        return lambda offset: offset
    pairs = [i for i, c in enumerate(text) if c > "\uffff"]
    return lambda offset: offset + bisect_left(pairs, offset)


def span_of(entity: Entity, offset: Callable[[int], int] | None) -> dict[str, Any]:
    """One entity of an answer; `offset` converts its borders."""
    found = entity.as_dict()
    if offset is not None:
        found.update(start=offset(entity.start), end=offset(entity.end))
    return found


def results(request: PredictRequest, found: Iterable[list[Entity]]) -> list[dict[str, Any]]:
    """One result for each text of a request.

    Args:
        request: the request, with its thresholds, types and offsets.
        found: all entities of each text.
    """
    answers = []
    for text, entities in zip(request.all_texts, found, strict=True):
        offset = utf16_offset(text) if request.offsets == "utf16" else None
        chosen = wanted(entities, request.threshold, request.thresholds or {}, request.types)
        answers.append({"spans": [span_of(entity, offset) for entity in chosen]})
    return answers
