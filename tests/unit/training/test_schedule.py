"""The learning-rate schedule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.training.objective import rate
from roster.training.schedule import warmup_decay


@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.5])
def test_shares(warmup: float) -> None:
    shares = np.linspace(0, 1, 101)
    found = np.array([warmup_decay(share, warmup) for share in shares])
    expected = np.interp(shares, [0, warmup, 1], [0, 1, 0]) if warmup else 1 - shares
    assert found == pytest.approx(expected)


def test_only_warmup() -> None:
    assert [warmup_decay(x, 1.0) for x in (0, 0.5, 1)] == [0, 0.5, 1]


@given(total=st.integers(1, 5000), warmup=st.floats(0, 1), data=st.data())
def test_steps(total: int, warmup: float, data: st.DataObject) -> None:
    """The same numbers as `rate`: a step of the warm-up counts as done, a later one does not."""
    step = data.draw(st.integers(0, total - 1))
    rise = math.ceil(warmup * total)
    assert rate(step, total, warmup) == warmup_decay(step + 1 if step < rise else step, rise, total)
