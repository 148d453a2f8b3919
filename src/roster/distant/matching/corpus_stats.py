"""Counts of how a text writes the names of a dictionary, taken over its first part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roster.distant.matching.case_evidence import any_in, running_sums
from roster.distant.matching.matcher import Matcher
from roster.distant.matching.text_arrays import TextArrays
from roster.distant.matching.word_table import INSIDE
from roster.distant.policy.decision import CaseCounts, CorpusStats, TextCase
from roster.distant.policy.entry_stats import ACRONYM, LOWER, PHRASE
from roster.distant.subtokens import CAPITALISED, HAS_CAPITAL, HAS_CASE, Array, flat_ranges


class CorpusStatsCounter:
    """Counts occurrences of the entries of one lexicon, in lower case and with capitals.

    Args:
        matcher: of the lexicon.
    """

    def __init__(self, matcher: Matcher):
        self._matcher = matcher
        size = len(matcher.lexicon)
        self._lower, self._capital = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self._cased = self._capitals = 0

    def add(self, sentences: Sequence[Sequence[str]]) -> None:
        """Counts over some sentences, each a row of words; at most `MAX_CHUNK` words."""
        text = self._matcher.arrays_of(sentences)
        cased, capital = (text.case & HAS_CASE) > 0, (text.case & HAS_CAPITAL) > 0
        word = cased & (text.letters > 1)  # "i" and initials are not informative
        self._cased += int(word.sum())
        self._capitals += int((word & capital).sum())
        start, end, entry = self._entries(text)
        has_case, has_capital = running_sums(cased), running_sums(capital)
        # Acronyms and single letters have capitals in names and in terms: hepatitis B, 5-FU.
        informative = running_sums((text.shape == CAPITALISED) & (text.letters > 1) & text.informative)
        lower = any_in(has_case, start, end) & ~any_in(has_capital, start, end)
        self._lower += np.bincount(entry[lower], minlength=len(self._lower)).astype(np.int32)
        shown = any_in(informative, start, end)
        self._capital += np.bincount(entry[shown], minlength=len(self._capital)).astype(np.int32)

    def text_case(self) -> TextCase:
        """How many words have a capital."""
        return TextCase(self._cased, self._capitals)

    def result(self) -> list[CorpusStats]:
        """The counts of each type of the lexicon."""
        arrays = self._matcher.lexicon.arrays
        # An acronym in lower case is another word.
        seen = np.flatnonzero((self._lower + self._capital > 0) & (arrays["entry_flags"] & ACRONYM == 0))
        kind, flags = arrays["entry_kind"][seen], arrays["entry_flags"][seen]
        lower, capital = self._lower[seen], self._capital[seen]
        size = len(self._matcher.lexicon.kinds)
        case_counts: list[list[CaseCounts]] = []
        for listed_lower in (True, False):
            for phrase in (False, True):
                these = ((flags & LOWER > 0) == listed_lower) & ((flags & PHRASE > 0) == phrase)
                small = np.bincount(kind[these & (lower > capital)], minlength=size).tolist()
                large = np.bincount(kind[these & (capital > lower)], minlength=size).tolist()
                case_counts.append([CaseCounts(*counts) for counts in zip(small, large, strict=True)])
        listed = np.where(flags & LOWER > 0, lower, 0)
        lower_matches = np.bincount(kind, listed, minlength=size).astype(int).tolist()
        capital_matches = np.bincount(kind, capital, minlength=size).astype(int).tolist()
        columns = (*case_counts, lower_matches, capital_matches)
        return [CorpusStats(*row) for row in zip(*columns, strict=True)]

    def _entries(self, text: TextArrays) -> tuple[Array, Array, Array]:
        """Every entry in the text in any case: first subtoken, last subtoken + 1, entry."""
        arrays = self._matcher.lexicon.arrays
        start, end, name = self._matcher.hits(text.number)
        keep = (text.before[start] < INSIDE) & (text.after[end - 1] < INSIDE)
        start, end, name = start[keep], end[keep], name[keep]
        first = arrays["name_starts"][name].astype(np.int64)
        count = arrays["name_starts"][name + 1] - first
        form, _ = flat_ranges(first, count)
        return np.repeat(start, count), np.repeat(end, count), arrays["form_entry"][form]
