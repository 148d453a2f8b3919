"""AutoNER's labels: of every gap between two words whether it ties them, and what lies between two breaks.

All of a corpus at once. Gap i is the one before word i, counted through the corpus as words are everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roster.backbone.alignment import Encoded
from roster.corpus.sentence import Sentence, type_set

BREAK, TIE, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class TieLabels:
    """What is learned, by word.

    `gaps`: the label of the gap before the word. `lengths`: of the span that ends with the word, 0 where
    none does. `allowed` [words, 1 + types]: the types that this span may have; class 0 is None.
    """

    gaps: np.ndarray
    lengths: np.ndarray
    allowed: np.ndarray


def tie_labels(
    sentences: Sequence[Sentence], types: Sequence[str], encoded: Encoded, *, phrases: bool = True
) -> TieLabels:
    """The labels of a corpus, as far as the words of one window can be learned together.

    A model has no common state of words in two windows: the gap between them is as good as unknown, and a
    span across it teaches nothing. The gap before a window's first word has no word to its left.
    """
    gaps = gap_labels(sentences, phrases=phrases)
    starts, ends = spans_between(gaps)
    window = np.empty(len(gaps), np.int64)
    window[encoded.words] = np.repeat(np.arange(encoded.n_windows), np.diff(encoded.word_starts))
    whole = window[starts] == window[ends - 1]
    lengths = np.zeros(len(gaps), np.int64)
    lengths[ends[whole] - 1] = (ends - starts)[whole]
    first = np.diff(window, prepend=-1) != 0
    return TieLabels(
        np.where(first, UNKNOWN, gaps), lengths, allowed_types(sentences, types, starts, ends, len(gaps))
    )


def gap_labels(sentences: Sequence[Sentence], *, phrases: bool = True) -> np.ndarray:
    """[words]: a gap inside a name is a Tie; its edges are Breaks. Inside a phrase of unknown type and at
    its edges, it is unknown. Everything else is a Break, and so are both ends of a sentence.

    The edges of a name are Breaks also where a phrase begins there. Of two names that cross each other one is
    wrong: a gap inside the one and at the edge of the other is unknown.

    >>> from roster.corpus.sentence import Span
    >>> s = Sentence.from_words("we saw New York near Red Hook".split(), [Span(2, 4, "LOC")])
    >>> gap_labels([s.with_spans(s.spans, [Span(5, 7, "")])]).tolist()
    [0, 0, 0, 1, 0, 2, 2]
    """
    found = np.full(sum(map(len, sentences)), BREAK, np.int8)
    at = 0
    for sentence in sentences:
        spans, n = sentence.spans or (), len(sentence)
        if spans or sentence.unknown:
            row = np.full(n + 1, BREAK, np.int8)
            for phrase in sentence.unknown if phrases else ():
                row[phrase.start : phrase.end + 1] = UNKNOWN
            inside, edge = np.zeros(n + 1, bool), np.zeros(n + 1, bool)
            for span in spans:
                inside[span.start + 1 : span.end] = True
                edge[[span.start, span.end]] = True
            row[inside], row[edge] = TIE, BREAK
            row[inside & edge] = UNKNOWN
            row[0] = BREAK
            found[at : at + n] = row[:n]
        at += n
    return found


def spans_between(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First words and ends of all spans from one Break to the next with no unknown gap in between.

    A sentence ends where the next one begins, which is a Break.

    >>> spans_between(np.array([BREAK, TIE, BREAK, UNKNOWN, BREAK]))
    (array([0, 4]), array([2, 5]))
    """
    starts = np.flatnonzero(gaps == BREAK)
    ends = np.append(starts[1:], len(gaps))[: len(starts)]
    unknown = np.concatenate([[0], np.cumsum(gaps == UNKNOWN)])
    known = unknown[ends] == unknown[starts]
    return starts[known], ends[known]


def allowed_types(
    sentences: Sequence[Sentence], types: Sequence[str], starts: np.ndarray, ends: np.ndarray, words: int
) -> np.ndarray:
    """[words, 1 + types] at the last word of each span: the types of the names on exactly its words, else
    None. Several names on the same words are a set of types, as is one name with several (`LOC,PER`)."""
    number = {name: i + 1 for i, name in enumerate(types)}
    end_of = np.zeros(words, np.int64)
    end_of[starts] = ends
    found = np.zeros((words, 1 + len(types)), bool)
    found[:, 0] = True
    at = 0
    for sentence in sentences:
        for span in sentence.spans or ():
            if end_of[at + span.start] == at + span.end:
                row = found[at + span.end - 1]
                row[0] = False
                row[[number[name] for name in type_set(span.label)]] = True
        at += len(sentence)
    return found
