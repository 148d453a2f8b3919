"""Entries of the dictionary by trust: what the members think of all labels that an entry made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from roster.auditing.evidence import Evidence
from roster.auditing.labels import DOUBTED, JudgedLabels
from roster.auditing.occurrences import Claim, agreement, shrunk
from roster.auditing.trust import share
from roster.corpus.provenance import Source

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
    trust: list[float] = field(default_factory=list)
    """Of each label the probability that it is right, by all signals."""
    occurrences: int = 0
    """How often the words of the claim (the entry's, or those of the longer name) stand in the text, in any
    case."""
    agreed: float = 0.0
    """The share of them at which the member that agrees least with the verdict agrees."""

    @property
    def labels(self) -> int:
        return len(self.certainty)

    @property
    def right(self) -> float:
        """The expected number of right labels."""
        return sum(self.certainty)

    @property
    def verdict(self) -> str:
        right = self.right / self.labels
        if right >= MOSTLY:
            return RIGHT
        if right > 1 - MOSTLY:
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
    def doubt(self) -> float:
        """The probability that a label of it is wrong, by all signals."""
        return 1 - sum(self.trust) / self.labels

    @property
    def confidence(self) -> float:
        """How sure the verdict is: the share of the occurrences at which all members agree with it, less for
        few."""
        if self.verdict == AMBIGUOUS:
            return 1 - 2 * abs(self.right / self.labels - 0.5)
        return shrunk(self.agreed, self.occurrences)

    def _usual(self) -> tuple[tuple[str, str], int]:
        if not self.instead:
            return ("", ""), 0
        return max(self.instead.items(), key=lambda item: (item[1], item[0]))


def entries(evidence: Evidence, judged: JudgedLabels) -> list[Entry]:
    """All entries that made labels, the least trusted first.

    Where nothing is known of the sources of a label, its own words count as the entry.
    """
    found: dict[tuple[Source, str], Entry] = {}
    trusted = share(judged.trust)
    for number, (source, label) in _made(evidence, judged):
        entry = found.setdefault((source, label), Entry(source, label))
        sure = float(judged.certainty[number])
        entry.certainty.append(sure)
        entry.trust.append(float(trusted[number]))
        if sure >= DOUBTED:
            entry.good.append(number)
            continue
        entry.wrong.append(number)
        entry.instead[_instead(evidence, judged, number)] += 1
    listed = list(found.values())
    _ask_members(evidence, judged, listed)
    return sorted(listed, key=lambda e: (e.right - e.labels, e.source.entry, e.label))


def _ask_members(evidence: Evidence, judged: JudgedLabels, listed: list[Entry]) -> None:
    """Notes how far the members agree with the verdict on each entry."""
    claims = [_claim(evidence, judged, entry) for entry in listed]
    found = agreement(claims, evidence.opinions, evidence.starts)
    for number, entry in enumerate(listed):
        entry.occurrences = int(found.count[number])
        against = entry.verdict == WRONG
        entry.agreed = float(1 - found.most[number] if against else found.least[number])


def _claim(evidence: Evidence, judged: JudgedLabels, entry: Entry) -> Claim:
    """The words that the verdict is about, and the class that they have, or do not have if it is `wrong`."""
    index, (believed, longer) = evidence.index, entry.believed
    label = evidence.types.index(believed or entry.label) + 1
    if longer:
        start, end, _ = next(
            one for one in map(judged.believed, entry.wrong) if one and evidence.name(*one[:2]) == longer
        )
        keys = {index.key(start, end)}
    else:
        spans, numbers = judged.spans, np.array([*entry.good, *entry.wrong])
        pairs = zip(spans.start[numbers].tolist(), spans.end[numbers].tolist(), strict=True)
        keys = {index.key(start, end) for start, end in pairs}
    return Claim([(index.find(key), len(key)) for key in sorted(keys)], label)


def _made(evidence: Evidence, judged: JudgedLabels) -> Iterator[tuple[int, tuple[Source, str]]]:
    spans = judged.spans
    for number in range(len(spans)):
        start, end = int(spans.start[number]), int(spans.end[number])
        label = evidence.types[int(spans.label[number]) - 1]
        for source in evidence.made(start, end):
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
