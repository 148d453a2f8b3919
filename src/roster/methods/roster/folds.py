"""Folds over the distinct names in the labels: each member learns without the names of its fold.

A member never saw the labels of its own fold, so what it predicts there is evidence: of how well the
training generalises to names that no dictionary lists (hold-out recall), and of whether a label is right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from roster.corpus.sentence import Sentence
from roster.training.mentions import Mentions, Name, label_mentions
from roster.training.objective import derive_seed

FOLDS = 5
"""At least so many folds: a member goes without a fifth of the names, or less where there are more
members."""
FEWEST_NAMES = 20
"""A type with fewer distinct names than this is not folded: a fold would teach a member too little of it."""
NONE = -1


@dataclass(frozen=True)
class Folds:
    """`of_name` [names] and `of_word` [words] hold the fold that a name or a word is held out of, or -1.

    Unlabelled occurrences of a name belong to its fold too: whether they are entities is what the fold asks.
    """

    count: int
    mentions: Mentions
    of_name: np.ndarray
    of_word: np.ndarray

    def held_out(self, member: int) -> np.ndarray:
        """[words]: which words are in no loss of this member."""
        return self.of_word == member

    def held_out_mentions(self, member: int) -> np.ndarray:
        """[mentions]: which labels this member never saw."""
        return self.of_name[self.mentions.name] == member


def make_folds(
    sentences: Sequence[Sentence],
    types: Sequence[str],
    members: int,
    seed: int,
    fixed: Sequence[bool] | None = None,
) -> Folds:
    """Draws the folds of so many members; of none, every name is held out of nobody. Sentences that are
    `fixed` (gold ones) are not held out either.

    >>> from roster.corpus.sentence import Span
    >>> one = [Sentence.from_words([f"A{i}", "ran"], [Span(0, 1, "PER")]) for i in range(40)]
    >>> folds = make_folds(one, ["PER"], 5, seed=1)
    >>> np.bincount(folds.of_name).tolist(), int((folds.of_word[1::2] == NONE).all())
    ([8, 8, 8, 8, 8], 1)
    """
    count = max(FOLDS, members)
    names: dict[Name, int] = {}
    mentions, sure = label_mentions(sentences, types, names, fixed)
    of_name = _draw(mentions, len(names), count, seed) if members else np.full(len(names), NONE, np.int16)
    of_word = np.full(sum(map(len, sentences)), NONE, np.int16)
    if not members:
        return Folds(count, mentions, of_name, of_word)
    for first, last, number in _occurrences(sentences, names):
        of_word[first:last] = of_name[number]
    for first, last, number in zip(mentions.start, mentions.end, mentions.name, strict=True):
        of_word[first:last] = of_name[number]
    of_word[sure] = NONE
    return Folds(count, mentions, of_name, of_word)


def _draw(mentions: Mentions, names: int, count: int, seed: int) -> np.ndarray:
    """A fold for every name, the names of each type dealt out evenly; a name of several types has one
    fold."""
    of_name = np.full(names, NONE, np.int16)
    generator = np.random.default_rng(derive_seed(seed, "folds"))
    for label in np.unique(mentions.label):
        mine = np.unique(mentions.name[mentions.label == label])
        if len(mine) < FEWEST_NAMES:
            continue
        new = mine[of_name[mine] == NONE]
        of_name[generator.permutation(new)] = (np.arange(len(new)) + generator.integers(count)) % count
    return of_name


def _occurrences(sentences: Sequence[Sentence], names: dict[Name, int]) -> Iterator[tuple[int, int, int]]:
    """Wherever the words of a name stand, from left to right the longest: first word, end, number."""
    sizes: dict[str, set[int]] = defaultdict(set)
    for name in names:
        sizes[name[0]].add(len(name))
    longest_first = {word: sorted(found, reverse=True) for word, found in sizes.items()}
    at = 0
    for sentence in sentences:
        words = sentence.words
        free = 0
        for i, word in enumerate(words):
            for size in longest_first.get(word, ()) if i >= free else ():
                number = names.get(words[i : i + size])
                if number is not None:
                    yield at + i, at + i + size, number
                    free = i + size
                    break
        at += len(words)
