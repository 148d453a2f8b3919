"""Entries of the dictionary by trust: what the members think of all labels that an entry made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from roster.auditing.evidence import Evidence, Source
from roster.auditing.labels import DOUBTED, JudgedLabels

RIGHT, WRONG, AMBIGUOUS, OTHER_TYPE, PART = (
    "right", "wrong", "ambiguous", "wrong type", "part of a longer name",
)  # fmt: skip
MOSTLY = 0.7
"""An entry is right (or wrong) if at least this share of its labels is."""
EXAMPLES = 3


@dataclass
class Entry:
    """One entry with the labels that it made."""

    source: Source
    label: str
    certainty: list[float] = field(default_factory=list)
    instead: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Of the labels believed wrong, what is believed: type and extent; ("", "") where it is no name."""
    wrong: list[int] = field(default_factory=list)
    good: list[int] = field(default_factory=list)

    @property
    def labels(self) -> int:
        return len(self.certainty)

    @property
    def right(self) -> float:
        """The expected number of right labels."""
        return sum(self.certainty)

    @property
    def verdict(self) -> str:
        share = self.right / self.labels
        if share >= MOSTLY:
            return RIGHT
        if share > 1 - MOSTLY:
            return AMBIGUOUS
        (believed, extent), count = self._usual()
        if believed and 2 * count >= len(self.wrong):
            return PART if extent else OTHER_TYPE
        return WRONG

    @property
    def believed(self) -> tuple[str, str]:
        """Type and longer name that are believed instead; empty where there is none."""
        return self._usual()[0] if self.verdict in (PART, OTHER_TYPE) else ("", "")

    @property
    def confidence(self) -> float:
        """How sure the verdict is: less for an entry that was seen once."""
        share = self.right / self.labels
        if self.verdict == AMBIGUOUS:
            return 1 - 2 * abs(share - 0.5)
        least = share if self.verdict == RIGHT else 1 - share
        return least * self.labels / (self.labels + 0.5)

    def _usual(self) -> tuple[tuple[str, str], int]:
        if not self.instead:
            return ("", ""), 0
        return max(self.instead.items(), key=lambda item: (item[1], item[0]))


def entries(evidence: Evidence, judged: JudgedLabels) -> list[Entry]:
    """All entries that made labels, the least trusted first.

    Where nothing is known of the sources of a label, its own words count as the entry.
    """
    found: dict[tuple[Source, str], Entry] = {}
    for number, (source, label) in _made(evidence, judged):
        entry = found.setdefault((source, label), Entry(source, label))
        sure = float(judged.certainty[number])
        entry.certainty.append(sure)
        if sure >= DOUBTED:
            entry.good.append(number)
            continue
        entry.wrong.append(number)
        entry.instead[_instead(evidence, judged, number)] += 1
    return sorted(found.values(), key=lambda e: (e.right - e.labels, e.source.entry, e.label))


def _made(evidence: Evidence, judged: JudgedLabels) -> Iterator[tuple[int, tuple[Source, str]]]:
    spans = judged.spans
    for number in range(len(spans)):
        start, end = int(spans.start[number]), int(spans.end[number])
        label = evidence.types[int(spans.label[number]) - 1]
        made = evidence.sources.get(evidence.place(start, end))
        for source in dict.fromkeys(made or [Source("", evidence.name(start, end))]):
            yield number, (source, label)


def _instead(evidence: Evidence, judged: JudgedLabels, number: int) -> tuple[str, str]:
    believed = judged.believed(number)
    if believed is None:
        return "", ""
    start, end, label = believed
    same = (start, end) == (int(judged.spans.start[number]), int(judged.spans.end[number]))
    return evidence.types[label - 1], "" if same else evidence.name(start, end)


def examples(evidence: Evidence, judged: JudgedLabels, entry: Entry) -> list[tuple[str, str, str]]:
    """Some of its labels in their sentences, the doubted ones first."""
    return [_example(evidence, judged, number) for number in [*entry.wrong, *entry.good][:EXAMPLES]]


def _example(evidence: Evidence, judged: JudgedLabels, number: int) -> tuple[str, str, str]:
    return evidence.example(int(judged.spans.start[number]), int(judged.spans.end[number]))
