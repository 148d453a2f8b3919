"""The training loop: its length, its rate, and going on from any step as if nothing had happened."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM

from roster.pretraining.evaluation import evaluate, validation_batches
from roster.pretraining.folder import PretrainingFolder
from roster.pretraining.loop import (
    EVALUATIONS,
    Budget,
    Progress,
    Trainer,
    budget,
    groups,
)
from roster.pretraining.masked_lm import SplitMaskedLM, set_dropout
from roster.pretraining.masking import IGNORED, masker
from roster.pretraining.objective import LossWeights, PretrainingObjective
from roster.pretraining.pruning import prune
from roster.pretraining.sequences import PackedSequences
from roster.pretraining.settings import PretrainingSettings

CPU = torch.device("cpu")
Tick = Callable[[Progress, float], None]


def test_budget() -> None:
    assert budget(PretrainingSettings(steps=7), 100) == Budget(steps=7)
    assert budget(PretrainingSettings(minutes=0.5), 100) == Budget(seconds=30)
    assert budget(PretrainingSettings(epochs=2.5), 100) == Budget(steps=250)
    assert budget(PretrainingSettings(epochs=0.001), 100) == Budget(steps=1)
    assert Budget(steps=8).share(Progress(step=2, seconds=99)) == 0.25
    assert Budget(seconds=8).share(Progress(step=99, seconds=2)) == 0.25
    assert Budget(seconds=8).share(Progress(seconds=20)) == 1


Make = Callable[..., Trainer]


@pytest.fixture
def make(backbones: dict[str, Path], tokenizers: dict[str, Any], token_ids: Any) -> Make:
    """A trainer: `make(teacher=False, weights=LossWeights(), **settings)`."""
    tokens = token_ids("bpe", 60, 3)

    def build(
        teacher: bool = False, weights: LossWeights | None = None, every: bool = False, **given: Any
    ) -> Trainer:
        values = {"length": 16, "batch": 4, "steps": 6, "rate": 1e-2, "precision": "float32", "checkpoint": 0}
        settings = PretrainingSettings(**{**values, **given})
        torch.manual_seed(5)
        large = AutoModelForMaskedLM.from_pretrained(backbones["roberta"], dtype=torch.float32)
        student = SplitMaskedLM(prune(large, [1], 16, 1, 32) if teacher else large)
        taught = SplitMaskedLM(copy.deepcopy(large).eval().requires_grad_(False)) if teacher else None
        set_dropout(student, settings.dropout)
        objective = PretrainingObjective(student, taught, weights or LossWeights(), every)
        rows = PackedSequences(tokens, settings.length, (2,), (3,), settings.batch, settings.seed, CPU)
        draw = masker(tokenizers["bpe"], settings.mask, settings.names, CPU)
        return Trainer(objective, draw, rows, settings, budget(settings, rows.steps))

    return build


def run(
    trainer: Trainer,
    save: Callable[[], None] = lambda: None,
    scores: Callable[[], dict[str, float]] = dict,
    tick: Tick = lambda progress, share: None,
) -> list[dict[str, float]]:
    @contextmanager
    def progress_bar() -> Iterator[Tick]:
        yield tick

    points: list[dict[str, float]] = []
    trainer.run(evaluate=scores, save=save, report=points.append, progress_bar=progress_bar)
    return points


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in trainer.objective.named_parameters()}


CASES: dict[str, dict[str, Any]] = {
    "alone": {},
    "dropout": {"dropout": 0.3},
    "in parts": {"at_once": 2, "dropout": 0.1},
    "teacher": {"teacher": True, "weights": LossWeights(1, 1, 1, 1), "every": True, "dropout": 0.2},
    "states alone": {"teacher": True, "weights": LossWeights(0, 0, 1, 0)},  # the head is not trained
}


@pytest.mark.parametrize("case", CASES)
def test_going_on_from_any_step(case: str, make: Make, tmp_path: Path) -> None:
    unbroken, saved = make(**CASES[case]), []
    folder = PretrainingFolder(tmp_path)

    def save() -> None:
        folder.save_checkpoint(unbroken.tensors(), asdict(unbroken.progress))
        found = folder.load_checkpoint()
        assert found is not None
        saved.append(found)

    run(unbroken, save)
    assert [facts["step"] for _, facts in saved] == [1, 2, 3, 4, 5]
    expected = weights(unbroken)
    assert any(not torch.equal(value, make(**CASES[case]).objective.get_parameter(name))
               for name, value in expected.items())  # fmt: skip
    for tensors, facts in saved:
        again = make(**CASES[case])
        with torch.no_grad():
            for p in again.objective.parameters():  # nothing of the start may be needed
                p.fill_(0.1)
        torch.rand(facts["step"])
        again.restore(tensors, Progress(**facts))
        run(again)
        assert again.progress.step == 6
        for name, value in weights(again).items():
            assert torch.equal(value, expected[name]), (facts["step"], name)
        for one, other in zip(again.progress.curve, unbroken.progress.curve, strict=True):
            assert (one["step"], one["tokens"], one["loss"]) == (
                other["step"],
                other["tokens"],
                other["loss"],
            )


def test_two_runs_are_the_same(make: Make) -> None:
    one, other, third = make(dropout=0.2), make(dropout=0.2), make(dropout=0.2, seed=4)
    for trainer in (one, other, third):
        run(trainer)
    found = [torch.cat([p.flatten() for p in weights(trainer).values()]) for trainer in (one, other, third)]
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_parts_of_a_batch(make: Make) -> None:
    """The same masks; every row asks as much, so the mean over parts is the mean over the batch."""
    found = []
    for at_once in (0, 4, 2, 1):
        trainer = make(at_once=at_once, warmup=0, clip=1e9)
        losses = trainer.step(next(trainer.rows.batches(0)))
        found.append((losses, {k: v for k, v in trainer.tensors().items() if k.startswith("exp_avg.")}))
    for losses, moments in found[1:]:
        torch.testing.assert_close(losses, found[0][0])
        for name, value in moments.items():
            torch.testing.assert_close(value, found[0][1][name], atol=1e-6, rtol=1e-4)


def test_the_rate_of_every_step(make: Make) -> None:
    trainer, rates = make(steps=20, warmup=0.25, rate=1e-3), []
    run(trainer, tick=lambda p, share: rates.append(trainer.optimiser.param_groups[1]["lr"]))
    assert rates == pytest.approx(1e-3 * np.interp(np.arange(20) / 20, [0, 0.25, 1], [0, 1, 0]))


def test_the_gradient_is_clipped(make: Make) -> None:
    trainer = make(clip=1e-3, warmup=0)
    trainer.step(next(trainer.rows.batches(0)))
    moments = [value for name, value in trainer.tensors().items() if name.startswith("exp_avg.")]
    norm = torch.cat([m.flatten() for m in moments]).norm() / (1 - 0.9)
    assert float(norm) == pytest.approx(1e-3, rel=1e-2)


def test_decay_on_matrices_only(make: Make) -> None:
    trainer = make()
    first, second = groups(trainer.objective, 0.3)
    assert (first["weight_decay"], second["weight_decay"]) == (0.3, 0)
    names = {id(p): name for name, p in trainer.objective.named_parameters()}
    decayed, others = ({names.pop(id(p)) for p in group["params"]} for group in (first, second))
    assert not names
    plain = {name for name in (*decayed, *others) if name.endswith("bias") or "norm" in name.lower()}
    assert others == plain
    assert "student.encoder.embeddings.word_embeddings.weight" in decayed


def test_masks_by_turns(make: Make) -> None:
    """Mixed: sub-words, then names; each the masks that this kind alone would have at the step."""
    ids = next(make().rows.batches(0))
    mixed, plain, names = (make(masking=kind) for kind in ("mixed", "random", "names"))
    for step, like in ((0, plain), (1, names), (6, plain), (7, names)):
        assert torch.equal(mixed.masked(ids, step).ids, like.masked(ids, step).ids)
    assert not torch.equal(plain.masked(ids, 1).ids, names.masked(ids, 1).ids)
    assert not torch.equal(plain.masked(ids, 1).ids, plain.masked(ids, 2).ids)


@pytest.mark.parametrize(
    ("steps", "expected"), [(3, [0, 1, 2, 3]), (20, [*range(21)]), (60, [*range(0, 61, 3)])]
)
def test_validation(steps: int, expected: list[int], make: Make) -> None:
    trainer = make(steps=steps, batch=1)
    points = run(trainer, scores=lambda: {"valid_loss": 1.5})
    assert [point["step"] for point in points] == expected
    assert len(expected) <= EVALUATIONS + 1  # and what it begins with
    assert "guess" not in points[0]
    assert all("guess" in point for point in points[1:])
    assert points == trainer.progress.curve
    assert all(point["valid_loss"] == 1.5 and point["tokens"] == 16 * point["step"] for point in points)
    assert points[-1]["share"] == 1


def test_the_loss_of_a_point_is_the_mean_since_the_last(make: Make) -> None:
    trainer, each = make(steps=40), []
    step = trainer.step

    def listening(ids: Tensor) -> Tensor:
        each.append(step(ids))
        return each[-1]

    trainer.step = listening  # type: ignore[method-assign]
    points = run(trainer)
    assert [p["guess"] for p in points] == pytest.approx(
        [float((a + b)[1]) / 2 for a, b in zip(each[::2], each[1::2], strict=True)]
    )
    assert points[-1]["guess"] < points[0]["guess"] - 0.3  # it learns


def test_a_budget_of_seconds(make: Make) -> None:
    """Looks and checkpoints do not count."""
    trainer = make(steps=0, minutes=0.4 / 60)
    began = time.monotonic()
    points = run(trainer, scores=lambda: time.sleep(0.02) or {})  # type: ignore[func-returns-value]
    elapsed = time.monotonic() - began
    assert 0.4 <= trainer.progress.seconds < 10
    assert elapsed >= trainer.progress.seconds + 0.02 * len(points) * 0.9
    assert trainer.progress.step > 2
    assert points[-1]["share"] == 1
    rates = trainer.optimiser.param_groups[0]["lr"] / 1e-2
    assert 0 <= rates < 0.2


def test_validation_batches(tokenizers: dict[str, Any], token_ids: Any, learned: Any) -> None:
    tokens = token_ids("bpe", 60, 4)
    draw = masker(tokenizers["bpe"], 0.2, 2, CPU)

    def make(batch: int = 512) -> list[Any]:
        return validation_batches(PackedSequences(tokens, 24, (2,), (3,), batch, 9, CPU), draw, 9)

    one = make()
    torch.rand(7)
    again = make()
    for first, second in zip(one, again, strict=True):
        for name in ("ids", "places", "targets"):
            assert torch.equal(getattr(first, name), getattr(second, name))
    rows = len(tokens) // 22 - 1
    assert rows > 1
    assert sum(len(masked.ids) for masked in one) == rows  # each row once
    model = SplitMaskedLM(copy.deepcopy(learned))
    found = evaluate(model, one, "float32")
    assert evaluate(model, again, "float32") == found
    total, right, asked = 0.0, 0, 0
    for masked in one:
        with torch.no_grad():
            p = learned(input_ids=masked.ids).logits.softmax(-1)
        for row in range(len(masked.ids)):
            for place, target in zip(masked.places[row].tolist(), masked.targets[row].tolist(), strict=True):
                if target != IGNORED:
                    total -= float(p[row, place, target].log())
                    right += int(p[row, place].argmax()) == target
                    asked += 1
    assert found["valid_loss"] == pytest.approx(total / asked, rel=1e-4)
    assert found["valid_accuracy"] == right / asked > 0.2


def test_validation_changes_nothing(make: Make, tokenizers: dict[str, Any], token_ids: Any) -> None:
    one, other = make(dropout=0.2), make(dropout=0.2)
    rows = PackedSequences(token_ids("bpe", 30, 4), 16, (2,), (3,), 8, 1, CPU)
    apart = validation_batches(rows, one.masker, 1)
    run(one)
    points = run(other, scores=lambda: evaluate(other.objective.student, apart, "float32"))
    assert {"valid_loss", "valid_accuracy"} <= points[0].keys()
    assert other.objective.training
    for name, value in weights(one).items():
        assert torch.equal(value, weights(other)[name])
