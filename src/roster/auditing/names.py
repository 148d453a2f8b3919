"""Names found in the text that no label names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from roster.auditing.entries import EXAMPLES
from roster.auditing.evidence import Evidence
from roster.auditing.labels import JudgedLabels
from roster.auditing.spans import Spans, certainty, overlapping

ONCE = 1.0
"""So many occurrences without any certainty are added to a name's own: one occurrence is weak evidence."""


@dataclass(frozen=True)
class Name:
    """A name with its occurrences (first word, word after the last), and the sum of their certainty."""

    name: str
    label: str
    places: tuple[tuple[int, int], ...]
    certainty: float

    @property
    def count(self) -> int:
        return len(self.places)

    @property
    def confidence(self) -> float:
        """The certainty of an occurrence, on average, and less where there are few."""
        return self.certainty / (self.count + ONCE)


def missing_names(evidence: Evidence, judged: JudgedLabels) -> list[Name]:
    """Names that the members predict where there is no label, the surest first.

    Every member learned that these words are no name, but for O words left out of its loss: a prediction
    against that is evidence. A name whose words are labelled with this type anywhere is not missing.
    """
    found, sure = _outside(evidence, judged)
    known = {(evidence.name(start, end), label) for start, end, label in _triples(judged.spans)}
    places: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    total: dict[tuple[str, int], float] = defaultdict(float)
    for (start, end, label), certain in zip(_triples(found), sure.tolist(), strict=True):
        key = evidence.name(start, end), label
        if key not in known:
            places[key].append((start, end))
            total[key] += certain
    names = [
        Name(name, evidence.types[label - 1], tuple(where), total[name, label])
        for (name, label), where in places.items()
    ]
    return sorted(names, key=lambda one: (-one.confidence, one.name, one.label))


def _outside(evidence: Evidence, judged: JudgedLabels) -> tuple[Spans, np.ndarray]:
    """The predictions that share no word with a label, and how sure the members are of them."""
    free = overlapping(judged.instead, judged.spans) < 0
    found = judged.instead[free]
    return found, certainty(evidence.opinions.mean(), found, evidence.starts)


def _triples(spans: Spans) -> Iterator[tuple[int, int, int]]:
    yield from zip(spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True)


def examples(evidence: Evidence, name: Name) -> list[tuple[str, str, str]]:
    """Some of its occurrences in their sentences."""
    return [evidence.example(start, end) for start, end in name.places[:EXAMPLES]]
