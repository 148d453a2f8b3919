"""Classes of words to spans, and labels of spans to classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from roster.corpus.sentence import Sentence, Span
from roster.corpus.tags import decode as decode_tags


def io_classes(sentences: Iterable[Sentence], types: Sequence[str]) -> np.ndarray:
    """One class for each word: 0 for `O`, t + 1 for type t."""
    number = {name: i + 1 for i, name in enumerate(types)}
    return _classes(sentences, lambda label, first: number[label])


def bio_classes(sentences: Iterable[Sentence], types: Sequence[str]) -> np.ndarray:
    """0 for `O`, 2 t + 1 for `B-t`, 2 t + 2 for `I-t`."""
    number = {name: 2 * i + 1 for i, name in enumerate(types)}
    return _classes(sentences, lambda label, first: number[label] + (not first))


def _classes(sentences: Iterable[Sentence], number: object) -> np.ndarray:
    parts = []
    for sentence in sentences:
        row = np.zeros(len(sentence), np.int16)
        for span in sentence.spans or ():
            for i in range(span.start, span.end):
                row[i] = number(span.label, i == span.start)  # type: ignore[operator]
        parts.append(row)
    return np.concatenate(parts) if parts else np.zeros(0, np.int16)


def io_spans(classes: np.ndarray, types: Sequence[str]) -> tuple[Span, ...]:
    """Neighbouring words of one type are one span.

    >>> io_spans(np.array([1, 1, 0, 2, 1]), ["PER", "LOC"])
    (Span(start=0, end=2, label='PER'), Span(start=3, end=4, label='LOC'), Span(start=4, end=5, label='PER'))
    """
    borders = [0, *(np.flatnonzero(np.diff(classes)) + 1).tolist(), len(classes)]
    return tuple(Span(a, b, types[classes[a] - 1]) for a, b in pairwise(borders) if a < b and classes[a] > 0)


def bio_spans(classes: np.ndarray, types: Sequence[str]) -> tuple[Span, ...]:
    """A span begins at `B-t`, or at `I-t` where no span of type t is open."""
    spans: list[Span] = []
    start, open_type = 0, -1
    for i, c in enumerate([*classes.tolist(), 0]):
        t = (c - 1) // 2 if c else -1
        if open_type >= 0 and (t != open_type or c % 2):
            spans.append(Span(start, i, types[open_type]))
            open_type = -1
        if t >= 0 and open_type < 0:
            start, open_type = i, t
    return tuple(spans)


def bioes_spans(classes: np.ndarray, types: Sequence[str]) -> tuple[Span, ...]:
    """Four classes of each type: begin, inside, end, single. Any sequence of classes can be decoded.

    >>> bioes_spans(np.array([1, 2, 3, 4, 0]), ["PER"])
    (Span(start=0, end=3, label='PER'), Span(start=3, end=4, label='PER'))
    """
    tags = [f"{'BIES'[(c - 1) % 4]}-{types[(c - 1) // 4]}" if c else "O" for c in classes.tolist()]
    return decode_tags(tags)


SCHEMES = {"io": io_spans, "bio": bio_spans, "bioes": bioes_spans}
"""How the classes of words become spans, by the name of the scheme."""
PREFIXES = {"io": "I", "bio": "BI", "bioes": "BIES"}
"""The tags of a type in each scheme, in the order of its classes."""


def n_classes(scheme: str, types: int) -> int:
    """The number of classes of a scheme, `O` included.

    >>> n_classes("io", 4), n_classes("bio", 4), n_classes("bioes", 4)
    (5, 9, 17)
    """
    return 1 + types * len(PREFIXES[scheme])


def decode(
    scheme: str, p: np.ndarray, lengths: Iterable[int], types: Sequence[str]
) -> list[tuple[Span, ...]]:
    """Best class of every word, then spans sentence by sentence."""
    classes, at, spans = p.argmax(-1) if len(p) else np.zeros(0, np.int64), 0, []
    for length in lengths:
        spans.append(SCHEMES[scheme](classes[at : at + length], types))
        at += length
    return spans
