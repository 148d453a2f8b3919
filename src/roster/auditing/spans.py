"""Spans of the training text as flat arrays: what a distribution predicts, and how sure it is of a span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spans:
    """First word, word after the last, and class of each span, in word order."""

    start: np.ndarray
    end: np.ndarray
    label: np.ndarray

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, which: np.ndarray) -> Spans:
        return Spans(self.start[which], self.end[which], self.label[which])


def predicted(p: np.ndarray, starts: np.ndarray) -> Spans:
    """Runs of words of one class, not across sentences.

    `p` [words, classes] are distributions, `starts` [words + 1] marks where sentences begin.

    >>> p = np.eye(3)[[0, 1, 1, 2, 1, 1]]
    >>> spans = predicted(p, np.array([True, False, False, False, False, True, True]))
    >>> list(zip(spans.start.tolist(), spans.end.tolist(), spans.label.tolist()))
    [(1, 3, 1), (3, 4, 2), (4, 5, 1), (5, 6, 1)]
    """
    classes = p.argmax(-1)
    changes = starts[:-1] | np.append(True, classes[1:] != classes[:-1])
    begins = np.flatnonzero(changes)
    ends = np.append(begins[1:], len(classes)).astype(begins.dtype)
    entity = classes[begins] > 0
    return Spans(begins[entity], ends[entity], classes[begins][entity])


def means(values: np.ndarray, spans: Spans) -> np.ndarray:
    """Mean of `values` [words] over the words of each span.

    >>> spans = Spans(np.array([0, 1]), np.array([1, 3]), np.array([1, 2]))
    >>> means(np.array([0.1, 0.2, 0.6]), spans).tolist()
    [0.1, 0.4]
    """
    words, first = _words(spans)
    sums = np.add.reduceat(values[words], first) if len(spans) else np.zeros(0)
    return sums / np.maximum(1, spans.end - spans.start)


def certainty(p: np.ndarray, spans: Spans, starts: np.ndarray) -> np.ndarray:
    """[spans]: how sure `p` is that a span has this class and these ends, from 0 to 1.

    The least margin of its words (0.5 where two classes are equally likely), times the probabilities that the
    words beside it are not of the same class.
    """
    if not len(spans):
        return np.zeros(0)
    words, first = _words(spans)
    labels = np.repeat(spans.label, spans.end - spans.start)
    least = np.minimum.reduceat(_margins(p[words], labels), first)
    left, right = _beside(p, spans, starts)
    return least * (1 - left) * (1 - right)


def _margins(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The probability of each label less that of the most likely other class, scaled to 0 to 1."""
    rows = np.arange(len(p))
    own = p[rows, labels]
    others = p.copy()
    others[rows, labels] = -1.0
    return (own - others.max(-1) + 1) / 2


def _words(spans: Spans) -> tuple[np.ndarray, np.ndarray]:
    """The words of all spans, one span after the other, and where each span begins among them."""
    sizes = spans.end - spans.start
    first = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) - np.repeat(first - spans.start, sizes), first


def _beside(p: np.ndarray, spans: Spans, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probability of the span's class of the word before and after it; 0 beyond the sentence."""
    before, after = np.maximum(0, spans.start - 1), np.minimum(len(p) - 1, spans.end)
    left = np.where(starts[spans.start], 0.0, p[before, spans.label])
    right = np.where(starts[spans.end], 0.0, p[after, spans.label])
    return left, right


def overlapping(spans: Spans, others: Spans) -> np.ndarray:
    """[spans]: the first of the `others` (none overlaps another) that shares a word with a span, or -1.

    >>> one = Spans(np.array([0, 4]), np.array([2, 5]), np.array([1, 1]))
    >>> overlapping(one, Spans(np.array([1]), np.array([3]), np.array([1]))).tolist()
    [0, -1]
    """
    if not len(others):
        return np.full(len(spans), -1)
    first = np.searchsorted(others.end, spans.start, side="right")
    found = np.minimum(first, len(others) - 1)
    meets = (first < len(others)) & (others.start[found] < spans.end)
    return np.where(meets, found, -1)
