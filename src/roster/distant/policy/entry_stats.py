"""How a dictionary writes the entries of each type: flags of entries, and counts of types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roster.distant.policy.filters import LIVE, SHORT, STOP_WORD, Filter, filter_names
from roster.distant.policy.policies import AUTO, STOP_WORDS
from roster.distant.subtokens import (
    ALL_CAPITALS,
    HAS_CAPITAL,
    HAS_CASE,
    MARK,
    Array,
    Subtokens,
    Unicode,
    to_subtokens,
)

LOWER, TINY, ACRONYM, PHRASE = 2, 4, 8, 16
"""Flags of an entry, besides ALLOWED: no capital; one word of two letters; one short word in capitals or in
mixed case; several words."""
TINY_LETTERS, ACRONYM_LETTERS = 2, 4

STOP_SHARE, SHORT_SHARE, FEW = 1 / 3, 1 / 2, 5
"""A type of which a larger share is stop-words or short names, and as many entries, keeps such names."""


@dataclass(frozen=True)
class EntryStats:
    """Counts over the entries of one type; those of case and length are over entries that can match."""

    entries: int = 0
    cased: int = 0
    """Entries with a letter that has a case."""
    lower: int = 0
    """Of these, entries without a capital."""
    phrases: int = 0
    """Entries of several words."""
    acronyms: int = 0
    short: int = 0
    """Entries with fewer letters than `min_length`."""
    stop_entries: int = 0
    """Entries of stop-words only."""
    stop_words: int = 0
    """Bundled stop-words that are entries, other than as acronyms."""

    @property
    def lower_share(self) -> float:
        return self.lower / self.cased if self.cased else 0.0

    @property
    def keeps_stop_words(self) -> bool:
        """Whether stop-words are what the type is about: days of the week, pronouns."""
        return self.stop_entries >= max(FEW, STOP_SHARE * self.entries)

    @property
    def keeps_short(self) -> bool:
        """Whether most names of the type are short: chemical elements, grades."""
        return self.short >= max(FEW, SHORT_SHARE * self.entries)


def entry_flags(subtokens: Subtokens) -> Array:
    """The flags of entries, except ALLOWED."""
    n, owner = len(subtokens), subtokens.owner
    word = subtokens.kind != MARK
    words = np.bincount(owner[word], minlength=n)
    letters = np.bincount(owner[word], subtokens.length[word], minlength=n)
    cased = _any(subtokens, (subtokens.case & HAS_CASE) > 0)
    capital = _any(subtokens, (subtokens.case & HAS_CAPITAL) > 0)
    inner = _any(subtokens, subtokens.shape >= ALL_CAPITALS)  # capitals other than at the beginning
    flags = np.where(cased & ~capital, LOWER, 0)
    flags |= np.where((words == 1) & (letters <= TINY_LETTERS) & cased, TINY, 0)
    flags |= np.where((words == 1) & (letters <= ACRONYM_LETTERS) & inner, ACRONYM, 0)
    flags |= np.where(words > 1, PHRASE, 0)
    return flags.astype(np.uint8)


class EntryStatsCounter:
    """Counts entries by type, batch by batch."""

    def __init__(self, form: Unicode):
        self._stop_keys = np.sort(to_subtokens(sorted(STOP_WORDS["english"]), form).key)
        self._counts = np.zeros((0, 7), np.int64)
        self._listed: dict[int, set[int]] = {}

    def add(self, subtokens: Subtokens, kind: Array, flags: Array, reason: Array) -> None:
        """Counts a batch; `reason` is why an entry can match nothing, from `filter_names`."""
        n = len(subtokens)
        size = max(len(self._counts), int(kind.max(initial=0)) + 1)
        live = reason == LIVE
        columns = (
            np.ones(n, bool),
            live & _any(subtokens, (subtokens.case & HAS_CASE) > 0),
            live & ((flags & LOWER) > 0),
            live & ((flags & PHRASE) > 0),
            live & ((flags & ACRONYM) > 0),
            reason == SHORT,
            reason == STOP_WORD,
        )
        counts = np.stack([np.bincount(kind[column], minlength=size) for column in columns], axis=1)
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        alone = (flags & (PHRASE | ACRONYM)) == 0
        at = np.flatnonzero(alone[subtokens.owner] & np.isin(subtokens.key, self._stop_keys))
        for number, key in zip(kind[subtokens.owner[at]].tolist(), subtokens.key[at].tolist(), strict=True):
            self._listed.setdefault(number, set()).add(key)

    def result(self, kinds: int) -> list[EntryStats]:
        """The counts of each type, of which there are `kinds`."""
        rows: list[list[int]] = self._counts.tolist() + [[0] * 7] * (kinds - len(self._counts))
        listed = [len(self._listed.get(number, ())) for number in range(kinds)]
        return [EntryStats(*(*row, count)) for row, count in zip(rows, listed, strict=True)]


def filter_again(
    subtokens: Subtokens, kind: Array, filters: Sequence[Filter], entry_stats: Sequence[EntryStats]
) -> tuple[Array, Array, Array, Array]:
    """As `filter_names`, for entries that `deferred` gave: some types keep stop-words or short names."""
    for rule, counts in zip(filters, entry_stats, strict=True):
        if AUTO in rule.policy.stop_words and counts.keeps_stop_words:
            rule.keep_stop_words()
        if not rule.policy.min_length and counts.keeps_short:
            rule.keep_short()
    return filter_names(subtokens, kind, filters)


def deferred(reason: Array, kind: Array, filters: Sequence[Filter]) -> Array:
    """The entries that were left out by a limit that is `auto`, and so depend on the counts of their type."""
    stops = np.array([AUTO in f.policy.stop_words for f in filters], bool)
    short = np.array([not f.policy.min_length for f in filters], bool)
    return np.flatnonzero(((reason == STOP_WORD) & stops[kind]) | ((reason == SHORT) & short[kind]))


def _any(subtokens: Subtokens, which: Array) -> Array:
    return np.asarray(np.bincount(subtokens.owner[which], minlength=len(subtokens)) > 0)
