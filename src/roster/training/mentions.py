"""Labelled mentions of names as flat arrays, and which of them a model finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roster.corpus.sentence import Sentence

Name = tuple[str, ...]


@dataclass(frozen=True)
class Mentions:
    """All labelled mentions in word order: first word, word after the last, class, number of the name."""

    start: np.ndarray
    end: np.ndarray
    label: np.ndarray
    name: np.ndarray

    def __len__(self) -> int:
        return len(self.start)


def label_mentions(
    sentences: Sequence[Sentence], types: Sequence[str], names: dict[Name, int], fixed: Sequence[bool] | None
) -> tuple[Mentions, np.ndarray]:
    """The labelled mentions of sentences that are not `fixed`, and a mask of the words of fixed ones.

    The distinct names are numbered into `names`.
    """
    number = {name: i + 1 for i, name in enumerate(types)}
    rows, at = [], 0
    sure = np.zeros(sum(map(len, sentences)), bool)
    for i, sentence in enumerate(sentences):
        if fixed is not None and fixed[i]:
            sure[at : at + len(sentence)] = True
        else:
            for span in sentence.spans or ():
                if span.label not in number:  # of several types, which is no class
                    continue
                surface = sentence.words[span.start : span.end]
                name = names.setdefault(surface, len(names))
                rows.append((at + span.start, at + span.end, number[span.label], name))
        at += len(sentence)
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return Mentions(*columns), sure


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
