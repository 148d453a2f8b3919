"""Matches that became no label, counted by reason, with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from roster.distant.compiling.lexicon import Lexicon
from roster.distant.matching.conflicts import Resolved
from roster.distant.matching.matcher import ALONE, COMMON, IN_LOWER_CASE, OTHERWISE
from roster.distant.subtokens import Array

REFUSED = {
    IN_LOWER_CASE: "lower_case",
    COMMON: "common_word",
    OTHERWISE: "other_writing",
    ALONE: "single_word",
}
PART = "part_of_longer"
KEPT = 5
"""Examples of each type and reason in one chunk: the most frequent names."""

Example = tuple[str, str, str]
"""Reason, type, entry."""


@dataclass
class RefusedMatches:
    """Counts of matches that a policy refused, or that lost a conflict with another mention."""

    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    """In conflicts, by reason and label of the mention."""
    ambiguous: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    """By name and its types."""
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By a policy, by reason and type of the entry."""
    examples: Counter[Example] = field(default_factory=Counter)
    denied: Counter[int] = field(default_factory=Counter)
    """By a patch, by the place of its `deny` among all of them."""

    def add(self, other: RefusedMatches) -> None:
        """Adds the counts of another part of the corpus."""
        self.dropped.update(other.dropped)
        self.ambiguous.update(other.ambiguous)
        self.refused.update(other.refused)
        self.examples.update(other.examples)
        self.denied.update(other.denied)

    def count_refused(self, lexicon: Lexicon, entry: Array, why: Array) -> None:
        """Counts matches of entries that the policy of their type refused."""
        if not len(entry):
            return
        values, counts = np.unique(entry.astype(np.int64) << 2 | why, return_counts=True)
        kind = lexicon.arrays["entry_kind"][values >> 2].astype(np.int64)
        group = kind << 2 | (values & 3)
        totals = np.bincount(group, counts)
        for number in np.flatnonzero(totals).tolist():
            name = REFUSED[number & 3], lexicon.kinds[number >> 2]
            self.refused[name] += int(totals[number])
        order = np.lexsort((values, -counts, group))
        group = group[order]
        first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        rank = np.arange(len(group)) - np.repeat(first, np.diff(first, append=len(group)))
        for i in order[rank < KEPT].tolist():
            about = lexicon.entry(int(values[i]) >> 2)
            self.examples[REFUSED[int(values[i]) & 3], about.kind, about.surface] += int(counts[i])

    def count_parts(self, parts: Counter[tuple[str, str]]) -> None:
        """Counts matches that are a part of a longer run of capitals, given by type and entry."""
        for (kind, _), count in parts.items():
            self.refused[PART, kind] += count
        self._keep(Counter({(PART, *key): count for key, count in parts.items()}))

    def count_dropped(self, words: Sequence[Sequence[str]], resolved: Sequence[Resolved]) -> None:
        """Counts mentions in some sentences that lost against others."""
        examples: Counter[Example] = Counter()
        for row, one in zip(words, resolved, strict=True):
            tied: dict[tuple[int, int], set[str]] = {}
            for mention, reason in one.dropped:
                self.dropped[reason.value, mention.label] += 1
                examples[reason.value, mention.label, mention.shown] += 1
                if reason in ("ambiguous", "first", "document"):
                    tied.setdefault((mention.start, mention.end), set()).add(mention.label)
            if tied or any(len(x.types) > 1 for x in one.labels):
                for label in one.labels:
                    if (label.start, label.end) in tied or len(label.types) > 1:
                        tied.setdefault((label.start, label.end), set()).update(label.types)
                for (start, end), types in tied.items():
                    self.ambiguous[" ".join(row[start:end]), tuple(sorted(types))] += 1
        self._keep(examples)

    def _keep(self, examples: Counter[Example]) -> None:
        """The most frequent of each type and reason; equally frequent ones by name."""
        kept: Counter[tuple[str, str]] = Counter()
        for key, count in sorted(examples.items(), key=lambda item: (-item[1], item[0])):
            if kept[key[:2]] < KEPT:
                kept[key[:2]] += 1
                self.examples[key] += count

    def examples_of(self, reason: str, most: int, kind: str | None = None) -> list[str]:
        """The most frequent entries that were refused for a reason; each once."""
        counts: Counter[str] = Counter()
        for (why, of, entry), count in self.examples.items():
            if why == reason and kind in (None, of):
                counts[entry] += count
        return [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]]

    def refused_by(self, kind: str) -> list[tuple[str, int]]:
        """Reasons for which matches of a type were refused, the most frequent first."""
        reasons = [(reason, count) for (reason, of), count in self.refused.items() if of == kind]
        return sorted(reasons, key=itemgetter(1), reverse=True)
