"""Ties, breaks and spans against their definition, gap by gap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_tokenizer
from roster.corpus.sentence import Sentence, Span
from roster.methods.autoner.labels import (
    BREAK,
    TIE,
    UNKNOWN,
    allowed_types,
    gap_labels,
    spans_between,
    tie_labels,
)

TYPES = ("A", "B", "C")


@st.composite
def labelled(draw: st.DrawFn) -> Sentence:
    """Names, some of several types, and phrases of unknown type; none share a word."""
    n, at = draw(st.integers(0, 9)), 0
    spans, unknown = [], []
    while at < n and draw(st.booleans()):
        start = draw(st.integers(at, n - 1))
        at = draw(st.integers(start + 1, n))
        label = draw(st.sampled_from(["", "A", "B", "C", "A,C", "twice"]))
        if label == "twice":
            spans += [Span(start, at, "A"), Span(start, at, "B")]
        elif label:
            spans.append(Span(start, at, label))
        else:
            unknown.append(Span(start, at, ""))
    return Sentence.from_words(["w"] * n).with_spans(spans, unknown)


def gap_of(sentence: Sentence, gap: int, phrases: bool) -> int:
    """The definition, of one gap: 0 is before the first word."""
    if gap in (0, len(sentence)):
        return BREAK
    for span in sentence.spans or ():
        if gap in (span.start, span.end):
            return BREAK
        if span.start < gap < span.end:
            return TIE
    if phrases and any(phrase.start <= gap <= phrase.end for phrase in sentence.unknown):
        return UNKNOWN
    return BREAK


def spans_of(sentence: Sentence, phrases: bool) -> list[tuple[int, int, set[str]]]:
    """The definition, of one sentence: from every break to the next, with nothing unknown in between."""
    gaps = [gap_of(sentence, gap, phrases) for gap in range(len(sentence) + 1)]
    found = []
    for start in range(len(sentence)):
        for end in range(start + 1, len(sentence) + 1):
            if gaps[start] == gaps[end] == BREAK and all(gap == TIE for gap in gaps[start + 1 : end]):
                labels = [x.label for x in sentence.spans or () if (x.start, x.end) == (start, end)]
                found.append((start, end, {name for label in labels for name in label.split(",")}))
    return found


@given(st.lists(labelled(), max_size=5), st.booleans())
def test_gaps_and_spans_are_their_definition(corpus: list[Sentence], phrases: bool) -> None:
    gaps = gap_labels(corpus, phrases=phrases)
    assert gaps.tolist() == [gap_of(s, i, phrases) for s in corpus for i in range(len(s))]
    starts, ends = spans_between(gaps)
    allowed = allowed_types(corpus, TYPES, starts, ends, len(gaps))
    found = [
        (a, b, {TYPES[t - 1] for t in np.flatnonzero(allowed[b - 1]) if t})
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    expected, at = [], 0
    for sentence in corpus:
        expected += [(a + at, b + at, types) for a, b, types in spans_of(sentence, phrases)]
        at += len(sentence)
    assert found == expected
    # None is allowed exactly where no type is.
    assert all(allowed[b - 1, 0] != bool(types) for _, b, types in found)


@given(labelled())
def test_every_name_is_a_span_and_no_phrase_is(sentence: Sentence) -> None:
    found = {(a, b) for a, b, _ in spans_of(sentence, True)}
    assert {(x.start, x.end) for x in sentence.spans or ()} <= found
    starts, ends = spans_between(gap_labels([sentence]))
    for phrase in sentence.unknown:
        inside = [b - 1 for a, b in zip(starts, ends, strict=True) if a < phrase.end and b > phrase.start]
        # Between two known breaks a phrase is a span like any other; only the ends of a sentence and the
        # edges of names are such breaks.
        edges = {0, len(sentence), *(e for x in sentence.spans or () for e in (x.start, x.end))}
        known = phrase.end - phrase.start == 1 and {phrase.start, phrase.end} <= edges
        assert bool(inside) == known


def test_names_that_cross_are_unknown() -> None:
    crossing = Sentence.from_words(list("abcdefg"), [Span(0, 3, "A"), Span(2, 5, "B")])
    gaps = gap_labels([crossing])
    assert gaps.tolist() == [BREAK, TIE, UNKNOWN, UNKNOWN, TIE, BREAK, BREAK]
    assert [x.tolist() for x in spans_between(gaps)] == [[5, 6], [6, 7]]


def test_what_lies_in_two_windows_is_not_learned(tiny: Path) -> None:
    words = ["Anna", "Berg", "went", "to", "Rome", "then"] * 4
    spans = [Span(i, i + 2, "A") for i in range(0, 24, 6)]
    sentence = Sentence.from_words(words, spans)
    encoded = WordEncoder(load_tokenizer(str(tiny)), 12).encode([sentence.words, ["Anna"]])
    assert encoded.n_windows > 3
    other = Sentence.from_words(["Anna"], [Span(0, 1, "B")])
    labels = tie_labels([sentence, other], TYPES, encoded)
    window = np.repeat(np.arange(encoded.n_windows), np.diff(encoded.word_starts))
    first = {int(np.flatnonzero(window == i)[0]) for i in range(encoded.n_windows)}
    cut = [span for span in spans if span.start + 1 in first]
    assert cut
    assert len(cut) < len(spans)
    for span in spans:
        if span in cut:
            assert labels.gaps[span.start + 1] == UNKNOWN
            assert labels.lengths[span.end - 1] == 0
        else:
            assert labels.gaps[span.start + 1] == TIE
            assert labels.lengths[span.end - 1] == 2
    assert all(labels.gaps[i] == UNKNOWN for i in first)
    inside = [i for i in range(24) if i not in first and i % 6 != 1]
    assert all(labels.gaps[i] == BREAK for i in inside)
    assert all(labels.lengths[i] == 1 for i in range(24) if i % 6 > 1)
    assert labels.lengths[24] == 1
    assert labels.allowed[24].tolist() == [False, False, True, False]
