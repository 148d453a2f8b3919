"""Distributions in numpy against those of the torch models."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from roster.infer.logits import probabilities
from roster.methods.roster.head import joint

LOGITS = arrays(
    np.float32, st.tuples(st.integers(0, 5), st.integers(2, 6)), elements=st.floats(-300, 300, width=32)
)


@given(LOGITS)
def test_two_heads(logits: np.ndarray) -> None:
    found = probabilities("two-heads", logits)
    assert found.dtype == np.float32
    t = torch.from_numpy(logits)
    np.testing.assert_allclose(found, joint(t[:, 0], t[:, 1:]).numpy(), atol=1e-6)


@given(LOGITS)
def test_one_head(logits: np.ndarray) -> None:
    np.testing.assert_allclose(
        probabilities("one-head", logits), torch.from_numpy(logits).softmax(-1).numpy(), atol=1e-6
    )
