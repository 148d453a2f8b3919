"""BOND: its soft loss against plain Python, who teaches when, and its counts of steps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from roster.accelerate import stacked_loop
from roster.accelerate.stack import Stack
from roster.config import Optimiser
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError
from roster.methods.bond import METHOD, Bond, BondObjective, soft_loss
from roster.methods.request import load_config
from roster.methods.train import train
from roster.model.decoding import bio_classes
from roster.model.heads import OneHead
from roster.training.loop import PlainModels, fit
from roster.training.losses import wmean
from roster.training.objective import Schedule, losses_of
from roster.training.task import Task

CPU = torch.device("cpu")
PER_EPOCH = 8  # 60 sentences in batches of 8


def overrides(backbone: Path, **more: Any) -> dict[str, Any]:
    return {
        "backbone.name": str(backbone), "backbone.max_length": 32, "optimiser.device": "cpu",
        "method": "bond", "optimiser.batch_size": 8, **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    return Task.build(load_config(overrides=overrides(tiny)), ("PER", "LOC"), toy, {})


def bond(task: Task, k: int = 1, **options: Any) -> BondObjective:
    config = Bond(**{"begin_step": 3, "period": 5, **options})
    return BondObjective(task.corpus, bio_classes(task.sentences, task.types), 5, config, k=k)


def plain_soft_loss(
    p: list[list[float]], logits: list[list[float]], present: list[bool], threshold: float
) -> tuple[list[float], list[bool]]:
    """The formula, word by word; only for words that are present."""
    classes = range(len(p[0]))
    f = [sum(row[c] for row, there in zip(p, present, strict=True) if there) for c in classes]
    losses, counts = [], []
    for row, z, there in zip(p, logits, present, strict=True):
        s = [row[c] ** 2 / f[c] if there and f[c] else 0.0 for c in classes]
        s = [x / sum(s) if sum(s) else 0.0 for x in s]
        norm = math.log(sum(map(math.exp, z)))
        losses.append(sum(a * (math.log(a) - (b - norm)) for a, b in zip(s, z, strict=True) if a))
        counts.append(max(s) > threshold)
    return losses, counts


@given(st.integers(1, 7), st.integers(2, 4), st.floats(0.3, 0.95), st.integers(0, 10**6))
def test_the_soft_loss_is_the_formula(words: int, classes: int, threshold: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.full(classes, 0.4), size=(2, words))
    z = generator.normal(size=(2, words, classes))
    there = generator.random((2, words)) < 0.7
    loss, counts = soft_loss(*map(torch.from_numpy, (p, z, there.astype(float))), threshold)
    for k in range(2):
        wanted = plain_soft_loss(p[k].tolist(), z[k].tolist(), there[k].tolist(), threshold)
        np.testing.assert_allclose(loss[k].numpy(), wanted[0], atol=1e-9)
        np.testing.assert_array_equal(counts[k].numpy(), wanted[1])


def test_the_student_gives_log_probabilities() -> None:
    """Not raw logits: adding a number to all of a word's logits changes nothing."""
    p, z = torch.tensor([[[0.97, 0.03], [0.1, 0.9]]]), torch.tensor([[[1.0, 0.0], [0.3, 0.2]]])
    one, _ = soft_loss(p, z, torch.ones(1, 2), 0.9)
    other, _ = soft_loss(p, z + 7, torch.ones(1, 2), 0.9)
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
    assert (one >= 0).all()


def opinionated(task: Task, seed: int = 0) -> Any:
    model = task.new_model(OneHead, seed).eval()
    with torch.no_grad():
        model.tag.weight.mul_(12)
    return model


def everything(batches: int) -> None:
    """All windows are coming."""


@pytest.mark.parametrize("labels", ["soft", "hard"])
def test_who_teaches_when(task: Task, labels: str) -> None:
    """Distant labels before `begin_step`; from it on the student of that moment, for a whole period."""
    objective = bond(task, labels=labels, threshold=0.7)
    words, present = torch.arange(20).unsqueeze(0), torch.ones(1, 20)
    present[0, 13:] = 0
    tags = torch.randn(1, 20, 5, generator=torch.Generator().manual_seed(1))
    teachers = [opinionated(task, seed) for seed in range(2)]
    said = [PlainModels(model, "float32").read(task.corpus)[0] for model in teachers]
    distant = -tags[0].log_softmax(-1).gather(1, objective.labels[:20, None])[:13].mean()

    def taught(p: Tensor) -> float:
        if labels == "hard":
            return float(-tags[0].log_softmax(-1).gather(1, p[:20].argmax(-1, keepdim=True))[:13].mean())
        losses, counts = soft_loss(p[None, :20].half().float(), tags, present, 0.7)
        assert 0 < counts.sum() < 13
        return float(wmean(losses, counts * present))

    found = []
    for step in range(14):
        objective.prepare(PlainModels(teachers[step % 2], "float32"), step, everything)
        found.append(float(losses_of(objective, [tags], words, present)))
    wanted = [float(distant)] * 3 + [taught(said[1])] * 5 + [taught(said[0])] * 5 + [taught(said[1])]
    assert found == pytest.approx(wanted, rel=1e-4)
    assert len({round(x, 3) for x in found}) == 3


def test_a_batch_that_the_teacher_is_not_sure_of(task: Task) -> None:
    """No word counts: the loss is 0, and so is its gradient, not NaN."""
    objective = bond(task, threshold=1.0)
    objective.taught.fill_(True)
    for p in (0.2, 0.0):
        objective.teacher.fill_(p)
        tags = torch.randn(1, 6, 5, requires_grad=True)
        loss = losses_of(objective, [tags], torch.arange(6).unsqueeze(0), torch.ones(1, 6))
        loss.sum().backward()
        assert loss.item() == 0
        assert tags.grad is not None
        assert tags.grad.abs().sum() == 0


class Watched(BondObjective):
    """Compares what every batch is taught with what a copy of the teacher would have said of it."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.compared, self.different = torch.zeros(2, len(self.teacher))
        self.whole = self.teacher.clone()

    def prepare(self, models: Any, step: int, upcoming: Any) -> None:
        super().prepare(models, step, upcoming)
        c = self.config
        if step >= c.begin_step and (step - c.begin_step) % c.period == 0:
            self.whole.copy_(models.read(self.corpus))

    def own(self) -> dict[str, Tensor]:
        mine = {"whole": self.whole, "compared": self.compared, "different": self.different}
        return {**super().own(), **mine}

    def observe(self, outputs: Any, words: Tensor, present: Tensor, own: Any) -> None:
        taught = present * self.taught
        own["compared"].add_(taught.sum())
        apart = (own["teacher"][words] - own["whole"][words]).abs().amax(-1)
        own["different"].add_(((apart > 2e-3) * taught).sum())


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("period", [3, 11])
def test_the_teacher_is_fixed_for_a_period(task: Task, k: int, period: int) -> None:
    """Periods shorter and longer than an epoch, and across the borders of epochs; one model, and two."""
    config = Bond(begin_step=PER_EPOCH, period=period)
    objective = Watched(task.corpus, bio_classes(task.sentences, task.types), 5, config, k=k)
    models = [task.new_model(OneHead, seed) for seed in range(k)]
    optimiser, schedule = Optimiser(batch_size=8), Schedule(3, 3e-3)
    if k == 1:
        fit(PlainModels(models[0], "float32"), objective, schedule, optimiser, 0, description="")
    else:
        stack = Stack.of(models, torch.float32, CPU)
        stacked_loop.fit(stack, objective, schedule, optimiser, list(range(k)), description="")
    assert objective.compared.tolist() == [2 * task.corpus.n_words] * k
    assert not objective.different.any()


def test_the_schedule(tiny: Path, toy: list[Sentence]) -> None:
    """Its own optimiser where nobody gives other values, and a teacher that begins before the end."""

    def task_of(**more: Any) -> Task:
        config = load_config(overrides=overrides(tiny, **{"bond.epochs": 3, "bond.begin_step": 5, **more}))
        return Task.build(config, ("PER", "LOC"), toy, {})

    one = task_of(**{"bond.learning_rate": 1e-3})
    assert METHOD.schedule(one.config) == Schedule(3, 1e-3, 0.0)
    assert (one.config.optimiser.weight_decay, one.config.optimiser.beta2) == (1e-4, 0.98)
    METHOD.check_task(task_of(**{"bond.begin_step": 23}))
    with pytest.raises(ConfigError, match=r"begin_step is 24, .* has 24 steps \(3 epochs of 8\)"):
        METHOD.check_task(task_of(**{"bond.begin_step": 24}))


def test_a_teacher_that_never_begins_leaves_no_run(tiny: Path, toy: list[Sentence], tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", toy)
    config = load_config(overrides=overrides(tiny, **{"bond.epochs": 1}))
    with pytest.raises(ConfigError, match="no teacher would ever begin"):
        train(tmp_path / "train.jsonl", tmp_path / "run", config)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("labels", ["soft", "hard"])
def test_whether_the_teacher_finds_anything(task: Task, labels: str) -> None:
    objective = BondObjective(
        task.corpus, bio_classes(task.sentences, task.types), 5, Bond(begin_step=1, period=1, labels=labels)
    )
    p = torch.zeros(1, task.corpus.n_words, 5)
    p[..., 0] = 1.0
    for entity in (False, True):
        if entity:
            p[0, 7] = torch.tensor([0.3, 0.0, 0.0, 0.7, 0.0])
        said = p if labels == "soft" else p.argmax(-1)
        objective.load_state({"teacher": said, "taught": torch.tensor(True)})
        assert objective.teaches_entities() is entity
