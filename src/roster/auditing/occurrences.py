"""Where the words of a name stand in the text, in any case, and which members agree with a claim on them.

A claim on a name is about every place where it stands: a patch changes the labels of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from roster.auditing.opinions import Opinions
from roster.auditing.spans import Spans, certainty
from roster.corpus.sentence import Sentence

AGREES = 0.5
"""A member agrees with a name if its certainty of it is at least this."""
ONCE = 0.5
"""So many occurrences at which nobody agrees are added: a name that is found once is weak evidence."""


@dataclass(frozen=True)
class WordIndex:
    """The words of a text as numbers, equal for words that differ in case only."""

    sentences: Sequence[Sentence]

    @cached_property
    def words(self) -> np.ndarray:
        numbers: dict[str, int] = {}
        folded = (word.casefold() for sentence in self.sentences for word in sentence.words)
        return np.array([numbers.setdefault(word, len(numbers)) for word in folded], np.int64)

    @cached_property
    def sentence(self) -> np.ndarray:
        """[words]: the number of the sentence."""
        return np.repeat(np.arange(len(self.sentences)), [len(one) for one in self.sentences])

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        """The places of the words by number, and where those of each number begin."""
        begins = np.cumsum([0, *np.bincount(self.words).tolist()])
        return np.argsort(self.words, kind="stable"), begins

    def key(self, start: int, end: int) -> tuple[int, ...]:
        """The words of a span: equal for spans with the same words."""
        return tuple(self.words[start:end].tolist())

    def find(self, key: tuple[int, ...]) -> np.ndarray:
        """First words of all places, in one sentence each, where these words stand."""
        order, begins = self._order
        at = order[begins[key[0]] : begins[key[0] + 1]]
        last = len(key) - 1
        at = at[at + last < len(self.words)]
        for offset, word in enumerate(key[1:], 1):
            at = at[self.words[at + offset] == word]
        return at[self.sentence[at] == self.sentence[at + last]]


@dataclass(frozen=True)
class Claim:
    """That names of this class stand at some places: (first words, number of words)."""

    places: Sequence[tuple[np.ndarray, int]]
    label: int


@dataclass(frozen=True)
class Agreement:
    """Of each claim: the number of places, and the share of them at which the members agree; for the member
    that agrees least, and for the one that agrees most. `certainty` is the mean over places and members."""

    count: np.ndarray
    least: np.ndarray
    most: np.ndarray
    certainty: np.ndarray


def agreement(claims: Sequence[Claim], opinions: Opinions, starts: np.ndarray) -> Agreement:
    """What the members think of claims, one by one."""
    parts = [(n, c.label, at, size) for n, c in enumerate(claims) for at, size in c.places if len(at)]
    count = np.zeros(len(claims), np.int64)
    if not parts:
        return Agreement(count, np.zeros(len(claims)), np.zeros(len(claims)), np.zeros(len(claims)))
    sizes = [len(at) for _, _, at, _ in parts]
    claim, label, words = (np.repeat([part[i] for part in parts], sizes) for i in (0, 1, 3))
    first = np.concatenate([at for _, _, at, _ in parts])
    spans = Spans(first, first + words, label)
    count = np.bincount(claim, minlength=len(claims))
    shares, total = [], np.zeros(len(claims))
    for p in opinions.members:
        sure = certainty(p.astype(np.float32), spans, starts)
        shares.append(_mean(sure >= AGREES, claim, count))
        total += _mean(sure, claim, count)
    return Agreement(count, np.min(shares, 0), np.max(shares, 0), total / len(opinions.members))


def _mean(values: np.ndarray, claim: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.bincount(claim, weights=values, minlength=len(count)) / np.maximum(1, count)


def shrunk(share: float, count: int) -> float:
    """A share of some occurrences as a confidence, less where there are few.

    >>> shrunk(1.0, 1), shrunk(1.0, 0)
    (0.6666666666666666, 0.0)
    """
    return float(share * count / (count + ONCE))
