"""Evidence from capitals that a span is a name."""

from __future__ import annotations

import numpy as np

from roster.distant.subtokens import HAS_CAPITAL, HAS_CASE, HAS_UNCASED, ONLY_CAPITALS, Array

ACRONYM = 4
"""Capitals up to this many letters may be an acronym: `IT` is not the film `It`."""


class CaseEvidence:
    """Properties of the case of spans, for many spans at once."""

    def __init__(self, case: Array, letters: Array, informative: Array, common: Array):
        cased, capital = (case & HAS_CASE) > 0, (case & HAS_CAPITAL) > 0
        self._end = capital | ~cased
        self._cased = running_sums(cased)
        self._capital = running_sums(capital)
        self._evidence = running_sums(capital & (informative | ~common))
        self._uncased = running_sums((case & HAS_UNCASED) > 0)
        self._lower = running_sums(cased & ((case & ONLY_CAPITALS) == 0))
        self._words = running_sums(letters > 0)
        self._short = running_sums((letters > 0) & (letters <= ACRONYM))

    def shown(self, start: Array, end: Array) -> Array:
        """Whether there is a capital that a common word would not have, or a script without capitals."""
        alone = any_in(self._uncased, start, end) & ~any_in(self._cased, start, end)
        return any_in(self._evidence, start, end) | alone

    def capitals(self, start: Array, end: Array) -> Array:
        """Whether a span has any capital."""
        return any_in(self._capital, start, end)

    def words(self, start: Array, end: Array) -> Array:
        """The number of words of a span, without punctuation."""
        return np.asarray(self._words[end] - self._words[start])

    def capital_ends(self, start: Array, end: Array) -> Array:
        """Whether the first and the last word have a capital, as far as they could."""
        return np.asarray(self._end[start] & self._end[end - 1])

    def only_capitals(self, start: Array, end: Array) -> Array:
        return any_in(self._cased, start, end) & ~any_in(self._lower, start, end)

    def one_short_word(self, start: Array, end: Array) -> Array:
        """Whether it may be an acronym."""
        one = self._words[end] - self._words[start] == 1
        return np.asarray(one & (self._short[end] - self._short[start] == 1))


def running_sums(flags: Array) -> Array:
    sums = np.zeros(len(flags) + 1, np.int32)
    np.cumsum(flags, out=sums[1:])
    return sums


def any_in(sums: Array, start: Array, end: Array) -> Array:
    """Whether each span contains a flag, given the `running_sums` of the flags."""
    return np.asarray(sums[end] > sums[start])
