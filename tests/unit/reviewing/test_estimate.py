"""Estimates and intervals against the truth, and against closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from roster.reviewing.design import order, stratify, turns
from roster.reviewing.estimate import Frame, effective_size, estimate, t_quantile, weights, wilson
from roster.reviewing.expectation import Expectation


def drawn(text: Any, times: int, n: int) -> tuple[Frame, list[np.ndarray]]:
    expected = text.expected
    names = expected.predicted.sum(1)
    stratum = stratify(expected.spread, names + 1, names)
    turn = turns(stratum, expected.spread, names + 1)
    return Frame(expected, stratum), [order(stratum, turn, seed)[:n] for seed in range(times)]


def test_all_sentences_give_the_truth(text: Any) -> None:
    frame, (rows,) = drawn(text, 1, 1200)
    found = estimate(frame, rows, text.right[rows], text.gold[rows])
    for one, true in (
        (found.precision, text.right.sum() / text.expected.predicted.sum()),
        (found.recall, text.right.sum() / text.gold.sum()),
        (found.f1, text.f1),
    ):
        assert one is not None
        np.testing.assert_allclose([one.value, one.low, one.high], true, atol=1e-9)


@pytest.mark.parametrize("n", [40, 150])
def test_intervals_hold(text: Any, n: int) -> None:
    """Unbiased, and 95 % intervals hold the truth 92 to 98 % of 600 times (three standard errors are 2.7
    %)."""
    frame, samples = drawn(text, 600, n)
    found = [estimate(frame, rows, text.right[rows], text.gold[rows]).f1 for rows in samples]
    values = np.array([(one.value, one.low, one.high) for one in found if one])
    error = values[:, 0].std() / math.sqrt(len(values))
    assert abs(values[:, 0].mean() - text.f1) < 4 * error + 0.004
    held = ((values[:, 1] <= text.f1) & (text.f1 <= values[:, 2])).mean()
    assert 0.92 <= held <= 0.98


def test_more_confidence_is_wider(text: Any) -> None:
    frame, (rows,) = drawn(text, 1, 60)
    margins = []
    for confidence in (0.8, 0.95, 0.99):
        one = estimate(frame, rows, text.right[rows], text.gold[rows], confidence).f1
        assert one is not None
        margins.append(one.margin)
    assert margins == sorted(margins)


def test_nonsense_expectations_cost_width_and_not_validity(text: Any) -> None:
    """The model's expectation replaced by noise: still unbiased."""
    g = np.random.default_rng(1)
    e = text.expected
    random = [g.random(part.shape) for part in (e.right, e.gold, e.controls)]
    noise = Expectation(e.predicted, *random, g.random(len(e)) + 0.1)
    names = e.predicted.sum(1)
    stratum = stratify(noise.spread, names + 1, names)
    turn = turns(stratum, noise.spread, names + 1)
    frame = Frame(noise, stratum)
    found = []
    for seed in range(300):
        rows = order(stratum, turn, seed)[:150]
        one = estimate(frame, rows, text.right[rows], text.gold[rows]).f1
        assert one is not None
        found.append((one.value, one.low <= text.f1 <= one.high))
    values, held = np.array(found, float).T
    assert abs(values.mean() - text.f1) < 4 * values.std() / math.sqrt(300) + 0.005
    assert held.mean() > 0.9


def test_no_error_among_few_is_no_proof(text: Any) -> None:
    """All names right, none missed: the upper end is 1, the lower one that of a share of so many names."""
    frame, (rows,) = drawn(text, 1, 40)
    names = text.expected.predicted[rows].sum(1)
    one = estimate(frame, rows, names, names).f1
    assert one is not None
    assert one.high == 1
    assert 0.8 < one.low < 1 - 2 / names.sum()


def test_a_text_without_names() -> None:
    zero = np.zeros((50, 1))
    expected = Expectation(zero, zero, zero, np.zeros((50, 3)), np.ones(50))
    found = estimate(Frame(expected, np.zeros(50, int)), np.arange(20), np.zeros(20), np.zeros(20))
    assert (found.precision, found.recall, found.f1) == (None, None, None)


def test_names_that_are_all_missed(text: Any) -> None:
    frame, (rows,) = drawn(text, 1, 100)
    found = estimate(frame, rows, np.zeros(100), text.gold[rows])
    assert found.recall is not None
    assert found.recall.low == 0 < found.recall.high < 0.3


def test_one_type_of_one_is_all(text: Any) -> None:
    frame, (rows,) = drawn(text, 1, 80)
    right, gold = text.right[rows], text.gold[rows]
    assert estimate(frame, rows, right, gold, kind=0) == estimate(frame, rows, right, gold)


def test_weights_stand_for_all_sentences(text: Any) -> None:
    frame, (rows,) = drawn(text, 1, 100)
    w = weights(frame, rows)
    assert w.sum() == pytest.approx(len(frame))
    for h, size in enumerate(frame.sizes):
        assert w[frame.stratum[rows] == h].sum() == pytest.approx(size)


@pytest.mark.parametrize(("df", "confidence", "table"), [
    (3, 0.95, 3.182), (5, 0.95, 2.571), (10, 0.9, 1.812), (30, 0.99, 2.750), (1e9, 0.95, 1.960),
])  # fmt: skip
def test_quantiles_of_t(df: float, confidence: float, table: float) -> None:
    assert t_quantile(df, confidence) == pytest.approx(table, abs=0.02)


def test_wilson_solves_its_equation() -> None:
    """The ends are the shares that are z standard errors (of their own) from the value."""
    n, value = 40.0, 0.9
    one = wilson(value, value * (1 - value) / n, 1e9, 1e9, 0.95)
    z = t_quantile(1e9, 0.95)
    for end in (one.low, one.high):
        assert abs(value - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), rel=1e-6)


def test_effective_size() -> None:
    names = np.array([1.0, 2.0, 3.0])
    assert effective_size(np.full(3, 7.0), names, 0) == pytest.approx(6)
    assert effective_size(np.array([1.0, 10.0, 1.0]), names, 0) < 6
    assert effective_size(np.ones(3), names, 1.0) == math.inf
