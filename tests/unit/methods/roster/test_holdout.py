"""What a model finds of its labels and of held-out names: by hand, and through the decoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.methods.roster.folds import NONE, Folds, make_folds
from roster.methods.roster.holdout import (
    Estimate,
    held_out_recall,
    shares_by_name,
)
from roster.model.decoding import io_spans
from roster.training.mentions import Mentions, TypeCount, count_by_type, found_mentions, sentence_starts

TYPES = ("PER", "LOC")


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Sentence], np.ndarray]:
    """Labelled sentences, and a class for every word: often that of its label."""
    sentences, classes = [], []
    for _ in range(draw(st.integers(1, 5))):
        words: list[str] = []
        spans = []
        for size, label in draw(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), max_size=5)):
            start = len(words)
            words += [draw(st.sampled_from("xyz")) for _ in range(size)]
            if label:
                spans.append(Span(start, len(words), TYPES[label - 1]))
            right = draw(st.booleans())
            classes += [label if right else draw(st.integers(0, 2)) for _ in range(size)]
        sentences.append(Sentence.from_words(words, spans))
    return sentences, np.array(classes, np.int64)


def decoded(classes: np.ndarray, sentences: Sequence[Sentence]) -> list[set[Span]]:
    """As a model predicts: one sentence after the other, through the decoder."""
    ends = np.cumsum([0, *map(len, sentences)])
    return [
        set(io_spans(classes[end - len(s) : end], TYPES)) for s, end in zip(sentences, ends[1:], strict=True)
    ]


@given(corpora())
def test_found_mentions_are_those_that_the_decoder_finds(
    corpus: tuple[list[Sentence], np.ndarray],
) -> None:
    sentences, classes = corpus
    mentions = make_folds(sentences, TYPES, 0, 0).mentions
    found = found_mentions(classes, mentions, sentence_starts(sentences))
    wanted = [
        span in spans
        for s, spans in zip(sentences, decoded(classes, sentences), strict=True)
        for span in s.spans or ()
    ]
    assert found.tolist() == wanted


@given(corpora())
def test_counts_by_type_are_those_of_the_decoder(corpus: tuple[list[Sentence], np.ndarray]) -> None:
    sentences, classes = corpus
    mentions = make_folds(sentences, TYPES, 0, 0).mentions
    counts = count_by_type(classes, mentions, sentence_starts(sentences), TYPES)
    predicted = decoded(classes, sentences)
    assert list(counts) == list(TYPES)
    for label, count in counts.items():
        labels = [[x for x in s.spans or () if x.label == label] for s in sentences]
        assert count == TypeCount(
            sum(map(len, labels)),
            sum(x in spans for mine, spans in zip(labels, predicted, strict=True) for x in mine),
            sum(x.label == label for spans in predicted for x in spans),
        )


def test_a_border_between_sentences_ends_an_entity() -> None:
    """Two sentences of one word each, both entities of one type: two entities, and both are found."""
    sentences = [Sentence.from_words([word], [Span(0, 1, "PER")]) for word in ("Ada", "Bo")]
    starts = sentence_starts(sentences)
    assert starts.tolist() == [True, True, True]
    mentions = make_folds(sentences, TYPES, 0, 0).mentions
    classes = np.array([1, 1])
    assert found_mentions(classes, mentions, starts).tolist() == [True, True]
    assert count_by_type(classes, mentions, starts, TYPES) == {
        "PER": TypeCount(2, 2, 2),
        "LOC": TypeCount(0, 0, 0),
    }
    assert TypeCount(2, 1, 3).as_dict() == {"labels": 2, "labels_found": 1, "found": 3}


def test_empty_sentences_and_no_labels() -> None:
    sentences = [Sentence.from_words([]), Sentence.from_words(["a"], []), Sentence.from_words([])]
    starts = sentence_starts(sentences)
    mentions = make_folds(sentences, TYPES, 0, 0).mentions
    assert found_mentions(np.array([0]), mentions, starts).tolist() == []
    assert count_by_type(np.array([2]), mentions, starts, TYPES)["LOC"] == TypeCount(0, 0, 1)


def by_hand() -> tuple[Folds, np.ndarray]:
    """Six mentions of a word each: names 0 0 1 2 2 3 of classes 1 1 1 2 2 2; folds 0, 1, 1 and none."""
    at = np.arange(6)
    mentions = Mentions(at, at + 1, np.array([1, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 2, 2, 3]))
    of_name = np.array([0, 1, 1, NONE])
    return Folds(5, mentions, of_name, of_name[mentions.name]), np.ones(7, bool)


def test_held_out_recall_by_hand() -> None:
    folds, starts = by_hand()
    # Member 0 is asked for name 0 (half found); member 1 for names 1 (found) and 2 (not found).
    members = [np.array([1, 0, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 1, 2])]
    found = held_out_recall(members, folds, starts)
    assert found is not None
    assert (found.value, found.names) == (pytest.approx(0.5), 3)
    assert found.error == pytest.approx(np.std([0.5, 1, 0]) / np.sqrt(3))
    people, places = (held_out_recall(members, folds, starts, label) for label in (1, 2))
    assert people == Estimate(0.75, pytest.approx(0.25 / np.sqrt(2)), 2)  # type: ignore[arg-type]
    assert places == Estimate(0.0, 0.0, 1)
    # What a member finds of names that it learned counts nothing.
    members[0][2:], members[1][:2] = [1, 2, 2, 2], [1, 1]
    assert held_out_recall(members, folds, starts) == found


def test_no_held_out_names_no_recall() -> None:
    folds, starts = by_hand()
    assert held_out_recall([], folds, starts) is None
    none = Folds(5, folds.mentions, np.full(4, NONE), np.full(6, NONE))
    assert held_out_recall([np.ones(6, int)], none, starts) is None
    assert Estimate.of(np.zeros(0)) is None


def test_shares_by_name() -> None:
    folds, _ = by_hand()
    found = np.array([True, False, True, True, True, False])
    every = np.ones(6, bool)
    assert shares_by_name(found, folds.mentions, every).tolist() == [0.5, 1.0, 1.0, 0.0]
    assert shares_by_name(found, folds.mentions, folds.mentions.label == 2).tolist() == [1.0, 0.0]
    assert shares_by_name(found, folds.mentions, ~every).tolist() == []
    assert Estimate(1 / 3, 0.12345, 7).as_dict() == {"value": 0.3333, "error": 0.1235, "names": 7}
