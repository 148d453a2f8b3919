"""The losses against plain numpy, finite differences, and the models of transformers themselves."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM

from roster.errors import ConfigError, ModelError
from roster.pretraining.masked_lm import SplitMaskedLM
from roster.pretraining.masking import IGNORED
from roster.pretraining.objective import (
    PARTS,
    LossWeights,
    PretrainingObjective,
    distance,
    divergence,
    layer_pairs,
    relation_loss,
)
from roster.pretraining.pruning import prune
from roster.pretraining.settings import PretrainingSettings


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return (p * np.log(p / q)).sum(-1)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def relations(x: np.ndarray, heads: int) -> np.ndarray:
    """[rows, heads, length, length], by loops."""
    rows, length, width = x.shape
    part = width // heads
    found = np.zeros((rows, heads, length, length))
    for row in range(rows):
        for head in range(heads):
            one = x[row, :, head * part : (head + 1) * part]
            found[row, head] = softmax(one @ one.T / np.sqrt(part))
    return found


def test_divergence() -> None:
    wanted, logits = numbers(6, 11, seed=1), numbers(6, 11, seed=2)
    counts = torch.tensor([True, False, True, True, False, True])
    each = kl(softmax(wanted.numpy()), softmax(logits.numpy()))
    assert float(divergence(wanted, logits, counts)) == pytest.approx(each[counts.numpy()].mean())
    assert float(divergence(wanted, wanted, counts)) == pytest.approx(0, abs=1e-12)
    assert float(divergence(wanted, logits, torch.zeros(6, dtype=torch.bool))) == 0
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: divergence(wanted, x, counts), (logits,))


def test_distance() -> None:
    mine, theirs = numbers(2, 5, 8, seed=1), numbers(2, 5, 8, seed=2)
    a, b = mine.numpy(), theirs.numpy()
    cosine = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    assert float(distance(mine, theirs)) == pytest.approx(1 - cosine.mean(), abs=1e-6)
    assert float(distance(3 * mine, mine)) == pytest.approx(0, abs=1e-6)
    slope(lambda x: distance(x, theirs), mine)


def test_relation_loss() -> None:
    mine, theirs = numbers(2, 5, 8, seed=1), numbers(2, 5, 12, seed=2)
    expected = kl(relations(theirs.numpy(), 4), relations(mine.numpy(), 4)).mean()
    assert float(relation_loss(mine, theirs, 4)) == pytest.approx(expected, rel=1e-5)
    assert float(relation_loss(mine, mine, 2)) == pytest.approx(0, abs=1e-7)
    slope(lambda x: relation_loss(x, theirs, 4), mine)


def slope(loss: Callable[[Tensor], Tensor], at: Tensor) -> None:
    """The gradient against central differences; the losses compute in float32, hence the wide step."""
    x = at.clone().requires_grad_()
    loss(x).backward()
    assert x.grad is not None
    direction = numbers(*at.shape, seed=9)
    step = 1e-2
    measured = float(loss(at + step * direction) - loss(at - step * direction)) / (2 * step)
    assert float((x.grad * direction).sum()) == pytest.approx(measured, rel=0.02, abs=1e-4)


@pytest.fixture
def pair(backbones: dict[str, Path]) -> tuple[Any, Any]:
    """A teacher, and a student of one layer and half its width."""
    teacher = AutoModelForMaskedLM.from_pretrained(backbones["roberta"], dtype=torch.float32).eval()
    torch.manual_seed(3)
    return prune(teacher, [1], 16, 2, 32).eval(), teacher


def batch() -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(4)
    ids = torch.randint(5, 300, (8, 10), generator=draw)
    places = torch.tensor([[1, 5, 7]] * 8)
    targets = torch.randint(5, 300, (8, 3), generator=draw)
    targets[2, 1] = IGNORED
    return ids, places, targets


def numpy_losses(
    student: Any, teacher: Any, objective: PretrainingObjective, every: bool
) -> dict[str, float]:
    ids, places, targets = batch()
    with torch.no_grad():
        mine, theirs = (m(input_ids=ids, output_hidden_states=True) for m in (student, teacher))
        asked = [(r, int(p), int(t)) for r in range(8) for p, t in zip(places[r], targets[r], strict=True)]
        asked = [one for one in asked if one[2] != IGNORED]
        p, q = (np.array([softmax(m.logits[r, at].numpy()) for r, at, _ in asked]) for m in (theirs, mine))
        found = {
            "guess": -np.mean([np.log(q[i, t]) for i, (_, _, t) in enumerate(asked)]),
            "imitate": kl(p, q).mean(),
        }
        compared = [(0, 0), (1, 2)] if every else [(1, 2)]
        hidden = []
        for project, (i, j) in zip(objective.maps, compared, strict=True):
            a, b = project(mine.hidden_states[i]).numpy(), theirs.hidden_states[j].numpy()
            cosine = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
            hidden.append(1 - cosine.mean())
        found["hidden"] = np.mean(hidden)
        parts = []
        last = [m.roberta.encoder.layer[-1].attention.self for m in (student, teacher)]
        for name in ("query", "key", "value"):
            a = getattr(last[0], name)(mine.hidden_states[0][:2]).numpy()
            b = getattr(last[1], name)(theirs.hidden_states[1][:2]).numpy()
            parts.append(kl(relations(b, 2), relations(a, 2)).mean())
        found["relations"] = np.mean(parts)
    return {name: float(value) for name, value in found.items()}


@pytest.mark.parametrize("every", [False, True])
def test_the_whole_loss(every: bool, pair: tuple[Any, Any]) -> None:
    student, teacher = pair
    weights = LossWeights(0.5, 2.0, 3.0, 0.7)
    objective = PretrainingObjective(
        SplitMaskedLM(copy.deepcopy(student)), SplitMaskedLM(copy.deepcopy(teacher)), weights, every
    )
    found = dict(zip(PARTS, objective(*batch()).tolist(), strict=True))
    expected = numpy_losses(student, teacher, objective, every)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-4), name
    whole = 0.5 * found["guess"] + 2 * found["imitate"] + 3 * found["hidden"] + 0.7 * found["relations"]
    assert found["loss"] == pytest.approx(whole, rel=1e-5)


@pytest.mark.parametrize("alone", ["guess", "imitate", "hidden", "relations"])
def test_each_loss_alone(alone: str, pair: tuple[Any, Any]) -> None:
    student, teacher = (SplitMaskedLM(model) for model in pair)
    weights = LossWeights(**{name: float(name == alone) for name in PARTS[1:]})
    found = dict(
        zip(PARTS, PretrainingObjective(student, teacher, weights, False)(*batch()).tolist(), strict=True)
    )
    assert found["loss"] == found[alone] > 0
    assert [name for name in PARTS[1:] if found[name]] == [alone]


def test_the_teacher_is_left_alone(pair: tuple[Any, Any]) -> None:
    student, teacher = (SplitMaskedLM(model) for model in pair)
    before = copy.deepcopy(teacher.state_dict())
    objective = PretrainingObjective(student, teacher, LossWeights(1, 1, 1, 1), True)
    objective.train()
    assert not teacher.encoder.training
    objective(*batch())[0].backward()
    assert all(p.grad is None for p in teacher.parameters())
    assert all(p.grad is not None for p in objective.maps.parameters())
    mine = {id(p) for p in objective.parameters()}
    assert not mine & {id(p) for p in teacher.parameters()}
    assert {name.split(".")[0] for name in objective.state_dict()} == {"student", "maps"}
    assert all(torch.equal(value, before[name]) for name, value in teacher.state_dict().items())


def test_nothing_to_guess_is_no_loss(pair: tuple[Any, Any]) -> None:
    """A part of a batch may be all unknown characters; it must not end in NaN."""
    student, teacher = (SplitMaskedLM(model) for model in pair)
    objective = PretrainingObjective(student, teacher, LossWeights(1, 1, 1, 0), False)
    ids, places, targets = batch()
    losses = objective(ids, places, torch.full_like(targets, IGNORED))
    assert losses[1:3].tolist() == [0, 0]
    losses[0].backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in objective.parameters())


def test_layer_pairs(backbones: dict[str, Path]) -> None:
    class Of:
        def __init__(self, layers: int):
            self.config = type("Config", (), {"num_hidden_layers": layers})

    def pairs(mine: int, theirs: int, every: bool = True) -> list[tuple[int, int]]:
        return layer_pairs(Of(mine), Of(theirs), every)  # type: ignore[arg-type]

    assert pairs(3, 12, False) == [(-1, -1)]
    assert pairs(3, 12) == [(0, 0), (1, 4), (2, 8), (3, 12)]
    assert pairs(6, 6) == [(i, i) for i in range(7)]
    assert pairs(4, 2) == [(0, 0), (2, 1), (4, 2)]


def test_weights_of_settings() -> None:
    assert LossWeights.of(PretrainingSettings(guess=0.5, imitate=3)) == LossWeights(0.5, 0, 0, 0)
    assert LossWeights.of(PretrainingSettings(teacher="x", relations=2, hidden=0.1)) == LossWeights(
        1, 1, 0.1, 2
    )


def test_relations_that_cannot_be_compared(pair: tuple[Any, Any], backbones: dict[str, Path]) -> None:
    """Said when the objective is made, not after the text was read."""
    _, teacher = pair
    other = AutoModelForMaskedLM.from_pretrained(backbones["deberta-v2"], dtype=torch.float32)
    with pytest.raises(ModelError, match="set 'relations' to 0"):
        PretrainingObjective(
            SplitMaskedLM(copy.deepcopy(teacher)), SplitMaskedLM(other), LossWeights(relations=1), False
        )
    config = copy.deepcopy(teacher.config)
    config.hidden_size, config.num_attention_heads = 30, 3
    student = type(teacher)(config)
    with pytest.raises(ConfigError, match=r"'relations'.* \(3\) .*\(32\)"):
        PretrainingObjective(SplitMaskedLM(student), SplitMaskedLM(teacher), LossWeights(relations=1), False)
