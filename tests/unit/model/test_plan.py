"""Batches of windows of similar length, for one worker and for several."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roster.model.plan import FEW, plan, plan_for

LENGTHS = st.lists(st.integers(1, 60), max_size=80).map(np.array)


@given(LENGTHS, st.integers(1, 400), st.integers(1, 9))
def test_every_window_is_in_one_batch_of_limited_size(lengths: np.ndarray, tokens: int, workers: int) -> None:
    batches = plan_for(lengths, tokens, workers)
    assert sorted(int(row) for rows in batches for row in rows) == [*range(len(lengths))]
    for rows in batches:
        assert len(rows) == 1 or len(rows) * lengths[rows].max() <= tokens


def test_a_window_longer_than_a_batch_does_not_widen_the_others() -> None:
    batches = plan_for(np.array([60, 2, 2, 2]), 4, 3)
    assert [rows.tolist() for rows in batches] == [[0], [1, 2], [3]]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=80).map(np.array), st.integers(2, 9))
def test_few_windows_are_shared_among_the_workers(lengths: np.ndarray, workers: int) -> None:
    """No more rounds than before, and no batch is much larger than its share."""
    before, batches = plan(lengths, 384), plan_for(lengths, 384, workers)
    rounds = -(-len(before) // workers)
    assert len(batches) <= max(rounds * workers, len(before))
    if len(before) <= FEW * workers:
        share = lengths.sum() / (rounds * workers)
        assert max(len(rows) * lengths[rows].max() for rows in batches) <= max(2 * share + 60, 60)


def test_many_windows_and_one_worker_are_planned_as_usual() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 2000)
    for workers, some in ((1, lengths[:30]), (2, lengths)):
        assert all(
            np.array_equal(a, b) for a, b in zip(plan(some, 384), plan_for(some, 384, workers), strict=True)
        )
