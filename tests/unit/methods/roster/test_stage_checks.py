"""Judgements without gold labels: when two models agree, and when a stage lost a type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.methods.roster.folds import make_folds
from roster.methods.roster.stage_checks import FEWEST, KEPT, agreement, lost_types
from roster.training.mentions import sentence_starts

TYPES = ("PER", "LOC")
CLASSES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20)


@given(CLASSES)
def test_agreement_is_the_share_of_entity_words(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    asked = [(x, y) for x, y in pairs if x or y]
    wanted = sum(x == y for x, y in asked) / len(asked) if asked else 1.0
    assert agreement(a, b) == pytest.approx(wanted)
    assert agreement(a, b) == agreement(b, a)
    assert agreement(a, a) == 1.0


def test_a_model_of_o_only_agrees_with_nobody() -> None:
    assert agreement(np.zeros(4, int), np.array([0, 0, 1, 2])) == 0.0


def corpus(n: int) -> tuple[list[Sentence], np.ndarray]:
    """One word a sentence: n people and n places with labels, n words without."""
    words = [Sentence.from_words(["Ada"], [Span(0, 1, "PER")])] * n
    words += [Sentence.from_words(["Oslo"], [Span(0, 1, "LOC")])] * n
    words += [Sentence.from_words(["so"], [])] * n
    return words, np.repeat([1, 2, 0], n)


def lost(before: np.ndarray, after: np.ndarray, sentences: list[Sentence]) -> list[str]:
    mentions = make_folds(sentences, TYPES, 0, 0).mentions
    return lost_types(before, after, mentions, sentence_starts(sentences), TYPES)


def test_what_a_stage_lost() -> None:
    n = 4 * FEWEST
    sentences, right = corpus(n)
    assert lost(right, right, sentences) == []
    nothing = np.zeros_like(right)
    assert lost(right, nothing, sentences) == ["PER", "LOC"]
    assert lost(nothing, right, sentences) == []
    half, less = right.copy(), right.copy()
    half[: round((1 - KEPT) * n)] = 0
    less[: round((1 - KEPT) * n) + 1] = 0
    assert lost(right, half, sentences) == []
    assert lost(right, less, sentences) == ["PER"]
    # As many entities as before, but no longer where the labels are.
    moved = right.copy()
    moved[:n], moved[2 * n :] = 0, 1
    assert lost(right, moved, sentences) == ["PER"]
    # The labels as before, but of what was found besides nothing is left.
    more = right.copy()
    more[2 * n :] = 1
    assert lost(more, right, sentences) == []  # half of all: not less than half
    more[n : 2 * n] = 1
    assert lost(more, right, sentences) == ["PER"]


@pytest.mark.parametrize(("n", "judged"), [(FEWEST - 1, False), (FEWEST, True)])
def test_few_entities_are_not_judged(n: int, judged: bool) -> None:
    sentences, right = corpus(n)
    assert bool(lost(right, np.zeros_like(right), sentences)) == judged
