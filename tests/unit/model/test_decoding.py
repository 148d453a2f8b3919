"""Classes to spans as the tag codecs have it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus import tags
from roster.corpus.sentence import Sentence, Span
from roster.model.decoding import bio_classes, bio_spans, decode, io_classes, io_spans

TYPES = ("PER", "LOC", "ORG")


@given(st.lists(st.integers(0, 3), max_size=20))
def test_io(classes: list[int]) -> None:
    written = ["O" if c == 0 else f"I-{TYPES[c - 1]}" for c in classes]
    assert io_spans(np.array(classes, np.int64), TYPES) == tags.decode(written)


@given(st.lists(st.integers(0, 6), max_size=20))
def test_bio(classes: list[int]) -> None:
    names = ["O", *(f"{prefix}-{t}" for t in TYPES for prefix in "BI")]
    assert bio_spans(np.array(classes, np.int64), TYPES) == tags.decode([names[c] for c in classes])


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    n, spans, at = draw(st.integers(0, 8)), [], 0
    while at < n and draw(st.booleans()):
        start = draw(st.integers(at, n - 1))
        at = draw(st.integers(start + 1, n))
        spans.append(Span(start, at, draw(st.sampled_from(TYPES))))
    return Sentence.from_words(["w"] * n, spans)


@given(st.lists(sentences(), max_size=4))
def test_classes_are_the_tags(corpus: list[Sentence]) -> None:
    io = [t for s in corpus for t in tags.encode(s.spans or (), len(s), "IO")]
    bio = [t for s in corpus for t in tags.encode(s.spans or (), len(s), "BIO")]
    names = ["O", *(f"{prefix}-{t}" for t in TYPES for prefix in "BI")]
    assert ["O" if c == 0 else f"I-{TYPES[c - 1]}" for c in io_classes(corpus, TYPES)] == io
    assert [names[c] for c in bio_classes(corpus, TYPES)] == bio


@given(st.lists(sentences(), max_size=4), st.sampled_from(["io", "bio"]))
def test_there_and_back(corpus: list[Sentence], scheme: str) -> None:
    """Certain distributions over a corpus decode to its spans, sentence by sentence."""
    classes = (io_classes if scheme == "io" else bio_classes)(corpus, TYPES)
    p = np.eye(7)[classes]
    spans = decode(scheme, p, map(len, corpus), TYPES)
    assert spans == [tags.decode(tags.encode(s.spans or (), len(s), scheme.upper())) for s in corpus]


def test_best_class_wins() -> None:
    p = np.array([[0.4, 0.35, 0.25], [0.3, 0.3, 0.4], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3]])
    assert decode("io", p, [2, 2], ("A", "B")) == [
        (Span(1, 2, "B"),),
        (Span(0, 1, "B"), Span(1, 2, "A")),
    ]
    assert decode("io", np.zeros((0, 1)), [0, 0], ("A",)) == [(), ()]


def test_unlabelled_sentences_are_all_o() -> None:
    assert io_classes([Sentence.from_words(["a", "b"])], TYPES).tolist() == [0, 0]
    assert io_classes([], TYPES).tolist() == []


def test_a_label_that_is_no_type() -> None:
    with pytest.raises(KeyError):
        io_classes([Sentence.from_words(["a"], [Span(0, 1, "X")])], TYPES)
