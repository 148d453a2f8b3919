"""Spans as flat arrays, beside loops over words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.auditing.spans import Spans, certainty, means, overlapping, predicted


@st.composite
def texts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Distributions of some words, and where their sentences begin."""
    words = draw(st.integers(1, 12))
    rows = draw(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=words, max_size=words))
    starts = [True, *draw(st.lists(st.booleans(), min_size=words - 1, max_size=words - 1)), True]
    p = np.array(rows, np.float64)
    return p / p.sum(1, keepdims=True), np.array(starts)


def by_hand(p: np.ndarray, starts: np.ndarray) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for i, label in enumerate(p.argmax(1).tolist()):
        if label and found and found[-1][1] == i and found[-1][2] == label and not starts[i]:
            found[-1] = (found[-1][0], i + 1, label)
        elif label:
            found.append((i, i + 1, label))
    return found


def triples(spans: Spans) -> list[tuple[int, int, int]]:
    return list(zip(spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True))


@given(texts())
def test_predicted_spans_are_runs_of_a_class(text: tuple[np.ndarray, np.ndarray]) -> None:
    assert triples(predicted(*text)) == by_hand(*text)


@given(texts())
def test_certainty_is_that_of_words_and_borders(text: tuple[np.ndarray, np.ndarray]) -> None:
    p, starts = text
    spans = predicted(p, starts)
    first = p[:, 0].copy()
    for (start, end, label), sure, mean in zip(
        triples(spans), certainty(p, spans, starts), means(first, spans), strict=True
    ):
        assert mean == pytest.approx(sum(first[start:end]) / (end - start))
        margins = [p[i, label] - max(p[i, c] for c in range(3) if c != label) for i in range(start, end)]
        inside = (min(margins) + 1) / 2
        left = 0 if starts[start] else p[start - 1, label]
        right = 0 if starts[end] else p[end, label]
        assert sure == pytest.approx(inside * (1 - left) * (1 - right))


@given(texts(), texts())
def test_overlapping_is_the_first_that_shares_a_word(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> None:
    spans, others = predicted(*one), predicted(*other)
    for (start, end, _), met in zip(triples(spans), overlapping(spans, others).tolist(), strict=True):
        shared = [i for i, (a, b, _) in enumerate(triples(others)) if a < end and start < b]
        assert met == (shared[0] if shared else -1)


def test_no_span() -> None:
    none = predicted(np.array([[0.9, 0.1]]), np.array([True, True]))
    assert len(none) == 0
    assert certainty(np.array([[0.9, 0.1]]), none, np.array([True, True])).shape == (0,)
