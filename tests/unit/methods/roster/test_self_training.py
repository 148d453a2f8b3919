"""Soft labels and the self-training loss against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.methods.roster.self_training import self_training_loss, soft_labels


def plain_soft_labels(r: list[list[float]], entity: list[bool]) -> list[list[float]]:
    """Eq. 7 as it stands in the paper."""
    types = range(len(r[0]))
    f = [sum(row[t] for row, chosen in zip(r, entity, strict=True) if chosen) for t in types]
    found = []
    for row, chosen in zip(r, entity, strict=True):
        s = [row[t] ** 2 / f[t] if f[t] and chosen else 0.0 for t in types]
        found.append([x / sum(s) if sum(s) else 0.0 for x in s])
    return found


@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 10**6))
def test_soft_labels_are_the_formula(words: int, types: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    r = generator.dirichlet(np.full(types, 0.5), size=words)
    entity = generator.random(words) < 0.6
    found = soft_labels(torch.from_numpy(r), torch.from_numpy(entity))
    np.testing.assert_allclose(found.numpy(), plain_soft_labels(r.tolist(), entity.tolist()), atol=1e-9)
    np.testing.assert_allclose(found.sum(-1).numpy(), entity, atol=1e-9)


def test_by_hand() -> None:
    r = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    s = soft_labels(r, torch.tensor([True, True, False]))
    # f = (1.5, 0.5): 0.81/1.5 : 0.01/0.5 = 0.54 : 0.02, and 0.36/1.5 : 0.16/0.5 = 0.24 : 0.32
    torch.testing.assert_close(s, torch.tensor([[54 / 56, 2 / 56], [24 / 56, 32 / 56], [0.0, 0.0]]))


def test_a_type_that_no_word_has() -> None:
    s = soft_labels(torch.tensor([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]]), torch.tensor([True, True]))
    assert torch.isfinite(s).all()
    assert s[:, 2].tolist() == [0, 0]
    torch.testing.assert_close(s.sum(-1), torch.ones(2))


def test_a_single_word_keeps_its_prediction() -> None:
    r = torch.tensor([[0.7, 0.2, 0.1]])
    torch.testing.assert_close(soft_labels(r, torch.tensor([True])), r)


def test_no_word_at_all_is_an_entity() -> None:
    assert soft_labels(torch.full((3, 2), 0.5), torch.zeros(3, dtype=torch.bool)).abs().sum() == 0


def plain_kl(s: list[float], z: list[float]) -> float:
    norm = math.log(sum(map(math.exp, z)))
    return sum(a * (math.log(a) - (b - norm)) for a, b in zip(s, z, strict=True) if a)


def plain_bce(target: float, b: float) -> float:
    p = 1 / (1 + math.exp(-b))
    return -target * math.log(p) - (1 - target) * math.log(1 - p)


B = [0.3, -1.0, 2.0]
Z = [[1.0, 0.0], [0.2, 0.1], [-1.0, 1.0]]
S = [[0.9, 0.1], [0.0, 0.0], [0.3, 0.7]]  # the second word has no type target
E = [0.8, 0.1, 1.0]
AUGMENTED = [[2.0, 0.5], [0.0, 3.0], [0.5, 0.0]]  # the third has another best type than Z


def loss(augmented: list[list[float]] | None, agreement: bool) -> float:
    b, z, s, e = (torch.tensor(x, dtype=torch.float64) for x in (B, Z, S, E))
    other = None if augmented is None else torch.tensor(augmented, dtype=torch.float64)
    return self_training_loss(b, z, s, e, other, agreement, torch.ones_like(b)).item()


def test_the_loss_by_hand() -> None:
    base = (plain_kl(S[0], Z[0]) + plain_kl(S[2], Z[2])) / 2 + sum(map(plain_bce, E, B)) / 3
    assert loss(None, True) == pytest.approx(base)
    both = (plain_kl(S[0], AUGMENTED[0]) + plain_kl(S[2], AUGMENTED[2])) / 2
    assert loss(AUGMENTED, False) == pytest.approx(base + both)
    assert loss(AUGMENTED, True) == pytest.approx(base + plain_kl(S[0], AUGMENTED[0]))
    nowhere = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    assert loss(nowhere, True) == pytest.approx(base)


def test_without_targets_only_the_entity_head_learns() -> None:
    b, z = torch.tensor(B, requires_grad=True), torch.tensor(Z, requires_grad=True)
    found = self_training_loss(
        b, z, torch.zeros(3, 2), torch.tensor(E), torch.tensor(AUGMENTED), True, torch.ones(3)
    )
    found.backward()
    assert found.item() == pytest.approx(sum(map(plain_bce, E, B)) / 3)
    assert z.grad is not None
    assert b.grad is not None
    assert z.grad.abs().sum() == 0
    assert torch.isfinite(b.grad).all()
