"""What a model finds in its own training text: of the labels it learned, and of the names held out of it.

The second is a signal of quality that needs no gold label: a member that memorises its labels scores high on
the first and low on the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roster.corpus.sentence import Sentence
from roster.learn.folds import Folds, Mentions


@dataclass(frozen=True)
class Estimate:
    """A mean over distinct names with its standard error."""

    value: float
    error: float
    names: int

    @classmethod
    def of(cls, shares: np.ndarray) -> Estimate | None:
        """From one share for each name; None without a name.

        >>> Estimate.of(np.array([1.0, 0.0, 1.0, 0.0]))
        Estimate(value=0.5, error=0.25, names=4)
        """
        if not len(shares):
            return None
        return cls(float(shares.mean()), float(shares.std()) / math.sqrt(len(shares)), len(shares))

    def as_dict(self) -> dict[str, float]:
        return {"value": round(self.value, 4), "error": round(self.error, 4), "names": self.names}


def sentence_starts(sentences: Sequence[Sentence]) -> np.ndarray:
    """[words + 1]: whether a sentence begins at this word; the end of the last one counts as a start."""
    starts = np.zeros(sum(map(len, sentences)) + 1, bool)
    starts[np.cumsum([0, *map(len, sentences)])] = True
    return starts


def found_mentions(classes: np.ndarray, mentions: Mentions, starts: np.ndarray) -> np.ndarray:
    """[mentions]: which were predicted with exactly their span and type, from the class of every word.

    >>> m = Mentions(*(np.array([x]) for x in (1, 3, 2, 0)))      # words 1 and 2 are of class 2
    >>> starts = np.array([True, False, False, False, True])
    >>> [bool(found_mentions(np.array(c), m, starts)[0]) for c in ([0, 2, 2, 0], [2, 2, 2, 0], [0, 2, 0, 0])]
    [True, False, False]
    """
    if not len(mentions):
        return np.zeros(0, bool)
    changes = np.concatenate([[0], np.cumsum(classes[1:] != classes[:-1]), [0]])
    first, last, end = mentions.start, mentions.end - 1, mentions.end
    inside = (classes[first] == mentions.label) & (changes[first] == changes[last])
    padded = np.append(classes, -1)
    left = starts[first] | (padded[first - 1] != mentions.label)
    right = starts[end] | (padded[end] != mentions.label)
    return inside & left & right


def shares_by_name(found: np.ndarray, mentions: Mentions, which: np.ndarray) -> np.ndarray:
    """Of every name with mentions among `which` the share of them that was found."""
    names = mentions.name[which]
    if not len(names):
        return np.zeros(0)
    count = np.bincount(names)
    hits = np.bincount(names, weights=found[which])
    return hits[count > 0] / count[count > 0]


def held_out_recall(
    members: Sequence[np.ndarray], folds: Folds, starts: np.ndarray, label: int | None = None
) -> Estimate | None:
    """Hold-out recall over the names of all members' folds, or those of one type; averaged by name.

    `members` are the classes [words] that each member predicts, from member 0 on.
    """
    shares = []
    for member, classes in enumerate(members):
        which = folds.held_out_mentions(member)
        if label is not None:
            which = which & (folds.mentions.label == label)
        found = found_mentions(classes, folds.mentions, starts)
        shares.append(shares_by_name(found, folds.mentions, which))
    return Estimate.of(np.concatenate(shares)) if shares else None


@dataclass(frozen=True)
class TypeCount:
    """Of one type: labels in the training text, how many of them a model finds, and all that it finds
    there."""

    labels: int
    labels_found: int
    found: int

    def as_dict(self) -> dict[str, int]:
        return {"labels": self.labels, "labels_found": self.labels_found, "found": self.found}


def count_by_type(
    classes: np.ndarray, mentions: Mentions, starts: np.ndarray, types: Sequence[str]
) -> dict[str, TypeCount]:
    """What the classes of all training words make of the labels there."""
    hits = found_mentions(classes, mentions, starts)
    begins = (classes > 0) & (starts[:-1] | (classes != np.concatenate([[-1], classes[:-1]])))
    size = len(types) + 1
    labels = np.bincount(mentions.label, minlength=size)
    found = np.bincount(mentions.label[hits], minlength=size)
    predicted = np.bincount(classes[begins], minlength=size)
    return {
        name: TypeCount(int(labels[i]), int(found[i]), int(predicted[i])) for i, name in enumerate(types, 1)
    }
