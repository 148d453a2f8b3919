"""The noise-robust objective: models in step, each for itself, and cross entropy at first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from roster.config import NoiseRobust, Optimiser, load_config
from roster.corpus.sentence import Sentence
from roster.learn.loop import PlainModels, Schedule, fit
from roster.learn.masking import input_mask
from roster.learn.noise_robust import NoiseRobustObjective
from roster.learn.task import Task
from roster.model.decoding import io_classes
from roster.model.reading import read_probabilities

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    overrides = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    return Task.build(load_config(overrides=overrides), ("PER", "LOC"), toy, {})


def objective_of(task: Task, seeds: tuple[int, ...] = (3,), **options: Any) -> NoiseRobustObjective:
    config = NoiseRobust(**{"update_every": 5, "remove_labels": False, "drop_o": 0.0, **options})
    labels = io_classes(task.sentences, task.types)
    return NoiseRobustObjective(task.corpus, labels, config, seeds, input_mask(0.0, task.encoder, CPU))


def everything(batches: int) -> None:
    """All windows are coming."""


class Says:
    """Models that give every word the distributions they are made of."""

    def __init__(self, p: Tensor):
        self.p, self.k = p, len(p)

    def read(self, corpus: Any) -> Tensor:
        return self.p


def test_models_in_step_are_as_models_alone(task: Task) -> None:
    """Each leaves out O words of its own, and removes labels by its own reading: its loss is what it would be
    of one model."""
    n, options = task.corpus.n_words, {"remove_labels": True, "drop_o": 0.5, "tau": 0.3}
    generator = torch.Generator().manual_seed(0)
    words = torch.stack([torch.randperm(n, generator=generator)[:50] for _ in range(3)])
    b, z = torch.randn(3, 50, generator=generator), torch.randn(3, 50, 2, generator=generator)
    p = torch.from_numpy(np.random.default_rng(0).dirichlet([0.5] * 3, size=(3, n)).astype(np.float32))
    together = objective_of(task, (0, 1, 2), **options)
    together.prepare(Says(p), 5, everything)  # type: ignore[arg-type]
    losses = []
    for member in range(3):
        alone, one = objective_of(task, (member,), **options), slice(member, member + 1)
        alone.prepare(Says(p[one]), 5, everything)  # type: ignore[arg-type]
        losses.append(alone.loss([(b[one], z[one])], words[one], torch.ones(1, 50)))
    found = together.loss([(b, z)], words, torch.ones(3, 50))
    torch.testing.assert_close(found, torch.cat(losses))
    assert len({round(x, 3) for x in found.tolist()}) == 3


def test_cross_entropy_at_first(task: Task) -> None:
    """In the plain epochs nothing is removed and every label counts in full; then all is as without them."""
    options: dict[str, Any] = {"remove_labels": True, "q": 0.6, "tau": 0.4}
    objective, robust = objective_of(task, plain_epochs=2, **options), objective_of(task, **options)
    plain = objective_of(task, q=0.0)
    model = task.new_model("two-heads", 0).eval()
    with torch.no_grad():
        model.entity_head.weight.mul_(30)
    words = torch.arange(40).unsqueeze(0)
    b, z = torch.randn(1, 40), torch.randn(1, 40, 2)
    present = torch.ones(1, 40)
    for epoch in range(3):
        for one in (objective, robust):
            one.start_epoch(PlainModels(model, "float32"), epoch)
            one.prepare(PlainModels(model, "float32"), 5 * (epoch + 1), everything)
        same = plain if epoch < 2 else robust
        assert torch.equal(objective.w_e, same.w_e)
        assert torch.equal(objective.loss([(b, z)], words, present), same.loss([(b, z)], words, present))
    assert not torch.equal(robust.w_e, plain.w_e)


def test_few_labels_are_learned_with_cross_entropy_at_first(toy: list[Sentence], tiny: Path) -> None:
    """A dictionary of two names. GCE alone gives their labels up."""
    few = [s.with_spans([x for x in s.spans or () if s.span_text(x) in ("Oslo", "Rome")]) for s in toy]
    overrides = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    task = Task.build(load_config(overrides=overrides), ("LOC",), few, {})
    labelled = torch.from_numpy(io_classes(few, task.types) > 0)
    assert 0.05 < labelled.float().mean() < 0.1

    def found(**options: Any) -> tuple[float, float]:
        model = task.new_model("two-heads", 1)
        objective = objective_of(task, epochs=16, **options)
        fit(PlainModels(model, "float32"), objective, Schedule(16, 5e-3), Optimiser(8), 0, description="")
        e = read_probabilities(model, task.corpus)[:, 0] < 0.5
        return float(e[labelled].float().mean()), float(e[~labelled].float().mean())

    assert found() == (0.0, 0.0)
    recall, wrong = found(plain_epochs=8)
    assert recall > 0.9
    assert wrong < 0.05
