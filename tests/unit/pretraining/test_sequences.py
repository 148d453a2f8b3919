"""Packed rows: every pass shows the text once, in an order that the seed and the step decide."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.errors import DataError
from roster.pretraining.sequences import PackedSequences

CPU = torch.device("cpu")


def sequences(total: int, length: int, batch: int, seed: int = 1, first: int = 0) -> PackedSequences:
    tokens = np.arange(first, first + total, dtype="<u2" if first + total <= 1 << 16 else "<u4")
    return PackedSequences(tokens, length, (7,), (8, 9), batch, seed, CPU)


@settings(max_examples=60)
@given(
    total=st.integers(5, 900), batch=st.integers(1, 9), length=st.integers(8, 20), seed=st.integers(0, 99),
    epoch=st.integers(0, 3),
)  # fmt: skip
def test_a_pass_shows_the_text_once(total: int, batch: int, length: int, seed: int, epoch: int) -> None:
    room = length - 3
    if total < room:
        with pytest.raises(DataError):
            sequences(total, length, batch, seed)
        return
    found = sequences(total, length, batch, seed)
    steps = range(epoch * found.steps, (epoch + 1) * found.steps)
    rows = torch.cat([found.take(found.starts(step)) for step in steps])
    assert rows.shape == (found.steps * batch, length)
    assert rows.dtype == torch.long
    assert (rows[:, 0] == 7).all()
    assert (rows[:, -2:] == torch.tensor([8, 9])).all()
    inner = rows[:, 1:-2]
    assert (inner.diff(dim=1) == 1).all()  # each row is a piece of the text
    firsts = inner[:, 0].unique().tolist()
    assert len({first % room for first in firsts}) == 1
    if found.rows < batch:
        assert found.steps == 1
        assert len(firsts) == found.rows
        counts = inner[:, 0].unique(return_counts=True)[1]
        assert counts.max() - counts.min() <= 1
    else:
        assert len(firsts) == len(rows)  # nothing is shown twice
        assert found.rows - len(rows) < batch  # what does not fill the last batch
    assert total - found.rows * room < 2 * room or found.rows == 1


def test_passes_differ_in_order_and_in_cuts() -> None:
    found = sequences(2000, 23, 5)
    passes = []
    for epoch in range(6):
        starts = [found.starts(epoch * found.steps + i) for i in range(found.steps)]
        passes.append(np.concatenate(starts).tolist())
    assert len({tuple(one) for one in passes}) == 6
    assert len({one[0] % 20 for one in passes}) > 2
    assert all(sorted(one) != one for one in passes)


def test_a_step_follows_from_the_seed_and_its_number() -> None:
    one, other = sequences(2000, 23, 5), sequences(2000, 23, 5)
    steps = [0, 40, 3, 19, 41, 0, 500]
    before = [one.starts(step).tolist() for step in steps]
    assert [other.starts(step).tolist() for step in reversed(steps)] == before[::-1]
    assert before[0] == before[5]
    assert sequences(2000, 23, 5, seed=2).starts(0).tolist() != before[0]


def test_batches_go_on_from_any_step() -> None:
    found = sequences(300, 23, 4)
    whole = list(islice(found.batches(0), 12))
    for first in (1, 5, 11):
        for i, rows in enumerate(islice(found.batches(first), 12 - first)):
            assert torch.equal(rows, whole[first + i])
    assert torch.equal(whole[7], found.take(found.starts(7)))


def test_wide_vocabularies() -> None:
    found = sequences(500, 23, 2, first=1 << 17)
    assert found.tokens.dtype == np.dtype("<u4")
    assert int(found.take(found.starts(0))[:, 1:-2].min()) >= 1 << 17


def test_too_little_text() -> None:
    assert sequences(20, 23, 4).rows == 1
    with pytest.raises(DataError, match=r"19 sub-words, fewer than one sequence of 23; use more text"):
        sequences(19, 23, 4)
