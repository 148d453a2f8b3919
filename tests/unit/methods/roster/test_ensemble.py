"""The mean of the members, and the loss that teaches it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.methods.roster.ensemble import distillation_loss, mean_distribution


@given(st.integers(1, 7), st.integers(0, 5), st.integers(0, 10**6))
def test_mean_of_float16_members(k: int, words: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    members = [generator.dirichlet([1.0] * 4, size=words).astype(np.float16) for _ in range(k)]
    found = mean_distribution(iter(members))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.mean([m.astype(np.float64) for m in members], axis=0), atol=1e-6)
    assert all(m.dtype == np.float16 for m in members)


def test_the_members_are_not_changed() -> None:
    first = np.ones((1, 2), np.float32)
    mean_distribution([first, np.zeros((1, 2), np.float32)])
    assert first.tolist() == [[1, 1]]


def test_no_member() -> None:
    with pytest.raises(ValueError, match="at least one"):
        mean_distribution([])


LOGIT = st.floats(-6, 6)
SHARE = st.floats(0, 1)


WORDS = st.lists(st.tuples(LOGIT, st.tuples(LOGIT, LOGIT), SHARE, SHARE), min_size=1, max_size=6)


@given(WORDS)
def test_joint_loss_is_the_kl_divergence_of_whole_distributions(words: list[Any]) -> None:
    """Against a sum over O and all types; the entropy of the mean is no part of the loss."""
    total = 0.0
    for b, z, e, share in words:
        p = 1 / (1 + math.exp(-b))
        norm = math.log(sum(map(math.exp, z)))
        target = [1 - e, e * share, e * (1 - share)]
        log_model = [math.log(1 - p), *(math.log(p) + x - norm for x in z)]
        divergence = sum(y * (math.log(y) - m) for y, m in zip(target, log_model, strict=True) if y > 0)
        entity_entropy = -sum(x * math.log(x) for x in (e, 1 - e) if x > 0)
        total += divergence + entity_entropy
    b, z, e, share = (torch.tensor(column, dtype=torch.float64) for column in zip(*words, strict=True))
    types = torch.stack([share, 1 - share], -1)
    found = distillation_loss(b, z, e, types, torch.ones_like(b), joint=True)
    assert found.item() == pytest.approx(total / len(words), rel=1e-6, abs=1e-9)


@given(WORDS)
def test_distillation_loss_word_by_word(words: list[Any]) -> None:
    total_kl = total_bce = 0.0
    for b, z, e, share in words:
        log_norm = math.log(sum(math.exp(x) for x in z))
        for target, logit in zip((share, 1 - share), z, strict=True):
            if target > 0:
                total_kl += target * (math.log(target) - (logit - log_norm))
        p = 1 / (1 + math.exp(-b))
        total_bce -= e * math.log(p) + (1 - e) * math.log(1 - p)
    b, z, e, share = (torch.tensor(column, dtype=torch.float64) for column in zip(*words, strict=True))
    found = distillation_loss(b, z, e, torch.stack([share, 1 - share], -1), torch.ones_like(b))
    assert found.item() == pytest.approx((total_kl + total_bce) / len(words), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("joint", [False, True])
def test_nothing_is_left_to_learn_at_the_target(joint: bool) -> None:
    """The gradient is 0 where the model already gives the mean distribution."""
    b, z = torch.randn(5, requires_grad=True), torch.randn(5, 3, requires_grad=True)
    distillation_loss(b, z, b.detach().sigmoid(), z.detach().softmax(-1), torch.ones(5), joint).backward()
    assert b.grad is not None
    assert z.grad is not None
    assert b.grad.abs().max() < 1e-6
    assert z.grad.abs().max() < 1e-6
