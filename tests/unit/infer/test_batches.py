"""Batches in numpy: every window once, none too large, every word where it is looked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roster.backbone.alignment import Encoded
from roster.infer.batches import padded, words_of
from roster.model.plan import plan

WINDOW = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(5, 99), min_size=n, max_size=n), st.sets(st.integers(0, n - 1), min_size=1)
    )
)


def encoded(windows: list[tuple[list[int], set[int]]]) -> Encoded:
    def running(lengths: list[int]) -> np.ndarray:
        return np.cumsum([0, *lengths])

    n = sum(len(places) for _, places in windows)
    return Encoded(
        ids=np.array([i for ids, _ in windows for i in ids], np.int32),
        starts=running([len(ids) for ids, _ in windows]),
        positions=np.array([p for _, places in windows for p in sorted(places)], np.int32),
        words=np.arange(n),
        word_starts=running([len(places) for _, places in windows]),
        n_words=n,
    )


@given(windows=st.lists(WINDOW, min_size=1, max_size=12), tokens=st.integers(1, 40))
def test_every_word_is_read_once(windows: list[tuple[list[int], set[int]]], tokens: int) -> None:
    e = encoded(windows)
    seen = np.zeros(e.n_words, int)
    for rows in plan(e.lengths, tokens):
        batch = padded(e, rows, 0)
        assert batch.ids.size <= max(tokens, e.lengths[rows].max())
        assert batch.ids.dtype == batch.mask.dtype == batch.at.dtype == np.int64
        for r, row in enumerate(rows):
            ids = windows[row][0]
            assert batch.ids[r].tolist() == ids + [0] * (batch.ids.shape[1] - len(ids))
            assert batch.mask[r].tolist() == [1] * len(ids) + [0] * (batch.ids.shape[1] - len(ids))
        numbers = words_of(e, rows)
        seen[numbers] += 1
        first = [windows[row][0][p] for row in rows for p in sorted(windows[row][1])]
        assert batch.ids.reshape(-1)[batch.at].tolist() == first
        assert [e.ids[e.starts[row] + p] for row in rows for p in sorted(windows[row][1])] == first
        assert len(numbers) == len(first)
    assert (seen == 1).all()


def test_no_windows() -> None:
    assert plan(np.zeros(0, int), 512) == []


def test_like_lengths_meet() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 500)
    batches = plan(lengths, 512)
    cells = sum(lengths[rows].max() * len(rows) for rows in batches)
    assert cells < 1.05 * lengths.sum()
