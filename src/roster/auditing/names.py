"""Names found in the text that no label names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from roster.auditing.entries import EXAMPLES
from roster.auditing.evidence import Evidence
from roster.auditing.labels import JudgedLabels
from roster.auditing.occurrences import Claim, agreement, shrunk
from roster.auditing.spans import Spans, overlapping


@dataclass(frozen=True)
class Name:
    """A name and where it is found (first word, word after the last)."""

    name: str
    label: str
    places: tuple[tuple[int, int], ...]
    occurrences: int
    """How often its words stand in the text, in any case."""
    agreed: float
    """The share of them at which the member that agrees least finds the name."""
    certainty: float
    """The mean certainty of the members over the occurrences."""

    @property
    def count(self) -> int:
        return len(self.places)

    @property
    def confidence(self) -> float:
        """Less where the words are no name elsewhere in the text, where a member disagrees, and for few of
        them."""
        return shrunk(self.agreed * self.certainty, self.occurrences)


def missing_names(evidence: Evidence, judged: JudgedLabels) -> list[Name]:
    """Names that the members predict where there is no label, the surest first.

    Every member learned that these words are no name, but for O words left out of its loss: a prediction
    against that is evidence. A name whose words are labelled with this type anywhere is not missing.
    """
    found = judged.instead[overlapping(judged.instead, judged.spans) < 0]
    known = {(evidence.name(start, end), label) for start, end, label in _triples(judged.spans)}
    places: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for start, end, label in _triples(found):
        key = evidence.name(start, end), label
        if key not in known:
            places[key].append((start, end))
    asked = agreement(
        [_claim(evidence, label, where[0]) for (_, label), where in places.items()],
        evidence.opinions,
        evidence.starts,
    )
    names = [
        Name(
            name,
            evidence.types[label - 1],
            tuple(where),
            int(asked.count[n]),
            float(asked.least[n]),
            float(asked.certainty[n]),
        )
        for n, ((name, label), where) in enumerate(places.items())
    ]
    return sorted(names, key=lambda one: (-one.confidence, one.name, one.label))


def _claim(evidence: Evidence, label: int, place: tuple[int, int]) -> Claim:
    key = evidence.index.key(*place)
    return Claim([(evidence.index.find(key), len(key))], label)


def _triples(spans: Spans) -> Iterator[tuple[int, int, int]]:
    yield from zip(spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True)


def examples(evidence: Evidence, name: Name) -> list[tuple[str, str, str]]:
    """Some of its occurrences in their sentences."""
    return [evidence.example(start, end) for start, end in name.places[:EXAMPLES]]
