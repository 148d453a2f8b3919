"""The fast loop on a CPU: the plain loop's arithmetic, models in step, and the same run after a crash.

What only a GPU has (captured steps, kernels) is in tests/unit/model/stack/test_kernels.py and, when there is
one, in the last test here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from roster.backbone.loading import load_masked_lm
from roster.config import Augmentation, Bond, NoiseRobust, Optimiser, SelfTraining, load_config
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, RosterError
from roster.learn import fast, loop
from roster.learn.augmentation import make_augmenter
from roster.learn.autoner import TieOrBreakObjective
from roster.learn.bond import BondObjective
from roster.learn.engine import FastEngine, PlainEngine, choose_engine, members_at_once
from roster.learn.ensemble import DistillationObjective
from roster.learn.fine_tune import CrossEntropyObjective
from roster.learn.loop import Checkpoint, Objective, PlainModels, Schedule
from roster.learn.masking import input_mask
from roster.learn.noise_robust import NoiseRobustObjective
from roster.learn.self_training import SelfTrainingObjective
from roster.learn.static import StaticCorpus
from roster.learn.task import Task
from roster.learn.ties import tie_labels
from roster.learn.train import train
from roster.model.decoding import bio_classes, io_classes
from roster.model.stack.adamw import StackedAdamW
from roster.model.stack.models import Stack

CPU = torch.device("cpu")
OPTIMISER = Optimiser(batch_size=8)
SEEDS = (11, 12, 13)


def overrides(backbone: Path, **more: Any) -> dict[str, Any]:
    return {"backbone.name": str(backbone), "backbone.max_length": 32, "optimiser.device": "cpu", **more}


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    config = load_config(overrides=overrides(tiny, **{"optimiser.engine": "fast"}))
    return Task.build(config, ("PER", "LOC"), toy, {})


def targets(task: Task) -> np.ndarray:
    return np.random.default_rng(0).dirichlet([1.0] * 3, size=task.corpus.n_words).astype(np.float32)


def noise_robust(task: Task, k: int = 3, **options: Any) -> NoiseRobustObjective:
    config = NoiseRobust(update_every=5, tau=0.4, mask_inputs=0.2, **options)
    labels = io_classes(task.sentences, task.types)
    mask = input_mask(config.mask_inputs, task.encoder, task.corpus.device)
    return NoiseRobustObjective(task.corpus, labels, config, list(range(k)), mask)


def self_training(task: Task) -> SelfTrainingObjective:
    augment = make_augmenter(
        Augmentation(mask=0.6, top_k=50),
        load_masked_lm(task.config.backbone.name),
        task.corpus,
        [s.words for s in task.sentences],
        task.encoder,
        5,
        "float32",
    )
    return SelfTrainingObjective(
        task.corpus, targets(task), SelfTraining(update_every=5, threshold=0.4), augment
    )


def bond(task: Task, labels: str, k: int = 2) -> BondObjective:
    config = Bond(begin_step=5, period=6, labels=labels, threshold=0.4)
    return BondObjective(task.corpus, bio_classes(task.sentences, task.types), 5, config, k=k)


OBJECTIVES: dict[str, tuple[str, int, Callable[[Task], Objective]]] = {
    "noise-robust": ("two-heads", 3, noise_robust),
    "noise-robust, plain first": ("two-heads", 3, lambda task: noise_robust(task, plain=0.5)),
    "distillation": ("two-heads", 1, lambda task: DistillationObjective(task.corpus, targets(task))),
    "self-training": ("two-heads", 1, self_training),
    "cross entropy": (
        "one-head",
        1,
        lambda task: CrossEntropyObjective(task.corpus, bio_classes(task.sentences, task.types)),
    ),
    "bond, soft": ("one-head", 2, lambda task: bond(task, "soft")),
    "bond, hard": ("one-head", 2, lambda task: bond(task, "hard")),
    "ties": (
        "autoner",
        1,
        lambda task: TieOrBreakObjective(
            task.corpus, tie_labels(task.sentences, task.types, task.corpus.encoded)
        ),
    ),
}


def stack_of(task: Task, kind: str, k: int) -> Stack:
    return Stack.of([task.new_model(kind, seed) for seed in SEEDS[:k]], torch.float32, CPU)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_two_runs_and_a_resumed_one_are_bit_identical(
    name: str, task: Task, stopped: Callable[[Callable[..., Any]], Checkpoint]
) -> None:
    kind, k, make = OBJECTIVES[name]

    def fitted(**options: Any) -> list[dict[str, Tensor]]:
        stack = stack_of(task, kind, k)
        fast.fit(
            stack, make(task), Schedule(3, 3e-3, 5e-3), OPTIMISER, SEEDS[:k], description=name, **options
        )
        return [stack.state_dict(i) for i in range(k)]

    def same(a: list[dict[str, Tensor]], b: list[dict[str, Tensor]]) -> bool:
        return all(torch.equal(x[n], y[n]) for x, y in zip(a, b, strict=True) for n in x)

    whole = fitted()
    assert same(whole, fitted())
    assert not same(whole, [stack_of(task, kind, k).state_dict(i) for i in range(k)])
    assert same(whole, fitted(resume=stopped(fitted)))


def without_dropout(task: Task, kind: str, seed: int) -> Any:
    model = task.new_model(kind, seed)
    model.dropout.p = 0.0
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        setattr(model.encoder.config, name, 0.0)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    for layer in model.encoder.encoder.layer:
        layer.attention.self.dropout = nn.Dropout(0.0)
    return model.train()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_step_is_the_plain_loops_step(name: str, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch through both loops, from the same weights: the same loss, and the same weights after it."""
    kind, _, make = OBJECTIVES[name]
    if name.startswith("noise-robust"):
        # The loops draw their masks in shapes of their own.
        config = NoiseRobust(mask_inputs=0.0, plain=0.5 * name.endswith("plain first"))
        labels = io_classes(task.sentences, task.types)

        def make(task: Task) -> Objective:
            return NoiseRobustObjective(task.corpus, labels, config, [3], input_mask(0.0, task.encoder, CPU))

    if name.startswith("bond"):  # a step that a teacher teaches

        def make(task: Task) -> Objective:
            objective = bond(task, name.removeprefix("bond, "), k=1)
            p = np.random.default_rng(1).dirichlet([0.3] * 5, size=(1, task.corpus.n_words))
            said = torch.from_numpy(p if name == "bond, soft" else p.argmax(-1))
            objective.load_state({"teacher": said, "taught": torch.tensor(True)})
            return objective

    rows = np.array([3, 17, 20, 41, 58])
    schedule, optimiser = Schedule(1, 2e-3, 4e-3), Optimiser(60, warmup=0.0, clip=0.7, precision="float32")

    plain = without_dropout(task, kind, 5)
    stack = Stack.of([without_dropout(task, kind, 5)], torch.float32, CPU)
    monkeypatch.setattr(type(task.corpus), "training_plan", lambda *_: [rows])
    told = loop.fit(PlainModels(plain, "float32"), make(task), schedule, optimiser, 0, description="")

    objective = make(task)
    objective.start_epoch(stack, 0)
    objective.prepare(stack, 0, lambda batches: None)
    adam = StackedAdamW(stack.parameters, lambda group: [schedule.peak(group.head)], 0.01, 0.7)
    static = StaticCorpus(task.corpus, 32, len(objective.inputs()))
    static.fill(objective.inputs())
    step = fast.Step(stack, objective, adam, static, 1, 8)
    step.start_epoch(np.append(rows, [task.corpus.encoded.n_windows] * 3).reshape(1, 1, 8))
    step(32)
    assert step.seen.item() == pytest.approx(told["losses"][0], rel=1e-4, abs=2e-5)
    for key, tensor in stack.state_dict(0).items():
        if not key.endswith("key.bias"):  # whose gradient is rounding alone
            torch.testing.assert_close(tensor, plain.state_dict()[key], rtol=1e-3, atol=3e-5)


def test_members_learn_as_if_alone(task: Task) -> None:
    stack = stack_of(task, "one-head", 2)
    objective = OBJECTIVES["cross entropy"][2](task)
    facts = fast.fit(stack, objective, Schedule(8, 5e-3), OPTIMISER, SEEDS[:2], description="")
    assert len(facts) == 2
    for one in facts:
        assert one["steps"] == 64
        assert one["losses"][-1] < 0.5 * one["losses"][0]
    assert facts[0]["losses"] != facts[1]["losses"]


def test_a_loss_that_is_no_number(task: Task) -> None:
    class Broken(Objective):
        def loss(self, outputs: Any, words: Tensor, present: Tensor) -> Tensor:
            loss: Tensor = outputs[0].sum((1, 2)) * float("nan")
            return loss

    with pytest.raises(RosterError, match="no longer a number in epoch 1"):
        fast.fit(
            stack_of(task, "one-head", 1),
            Broken(task.corpus),
            Schedule(2, 1e-3),
            OPTIMISER,
            [0],
            description="",
        )


def test_which_engine(backbones: dict[str, Path], tiny: Path, toy: list[Sentence]) -> None:
    said: list[str] = []

    def engine(name: str, backbone: str, **more: Any) -> Any:
        config = load_config(overrides=overrides(backbones[backbone], **{"optimiser.engine": name, **more}))
        return Task.build(config, ("PER", "LOC"), toy, {}, said.append).engine

    assert isinstance(engine("auto", "bert"), PlainEngine)  # no GPU was asked for
    assert isinstance(engine("plain", "bert"), PlainEngine)
    found = engine("fast", "bert")
    assert isinstance(found, FastEngine)
    assert found.at_once == 5
    assert engine("fast", "bert", **{"ensemble.at_once": 2}).at_once == 2
    assert engine("fast", "bert", **{"ensemble.enabled": False}).at_once == 1
    with pytest.raises(ConfigError, match=r"fast engine cannot train .*modernbert.*use auto or plain"):
        engine("fast", "modernbert")
    with pytest.raises(ConfigError, match=r"augmentation\.masked_lm"):
        engine("fast", "bert", **{"augmentation.masked_lm": str(tiny)})
    # Who augments nothing asks no other model.
    for more in [{"method": "fine-tune"}, {"method": "bond"}, {"method": "autoner"},
                 {"self_training.enabled": False}, {"augmentation.enabled": False}]:  # fmt: skip
        assert isinstance(engine("fast", "bert", **{"augmentation.masked_lm": str(tiny), **more}), FastEngine)
    # Where a GPU is asked for, `auto` says why it is not fast.
    config = load_config(overrides=overrides(backbones["modernbert"]))
    from roster.backbone.loading import load_encoder

    encoder = load_encoder(str(backbones["modernbert"]))
    assert isinstance(choose_engine(config, torch.device("cuda"), encoder, said.append), PlainEngine)
    assert "modernbert" in said[-1]


@pytest.mark.parametrize(
    ("more", "last"),
    [
        ({}, "fast"),
        ({"augmentation.by": "names"}, "plain"),
        ({"augmentation.by": "names", "augmentation.enabled": False}, "fast"),
        ({"augmentation.by": "names", "optimiser.engine": "plain"}, "plain"),
    ],
)
def test_which_engine_for_self_training(
    more: dict[str, Any], last: str, tiny: Path, toy: list[Sentence]
) -> None:
    """Both engines are chosen before anything is trained; names keep no other stage from the fast one."""
    config = load_config(overrides=overrides(tiny, **{"optimiser.engine": "fast", **more}))
    task = Task.build(config, ("PER", "LOC"), toy, {})
    assert (task.engine.name, task.self_training_engine.name) == (config.optimiser.engine, last)


def test_members_that_fit_into_memory(tiny: Path, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(overrides=overrides(tiny))
    counts = []
    for free in (0, 10**7, 2 * 10**7, 4 * 10**7, 10**9):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, free))
        counts.append(members_at_once(config, torch.device("cuda"), task.pretrained))
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert 1 < counts[-1] == 5


RUN = {
    "noise_robust.epochs": 2, "noise_robust.update_every": 5, "ensemble.models": 3, "ensemble.epochs": 1,
    "self_training.epochs": 1, "self_training.update_every": 5, "optimiser.batch_size": 8,
}  # fmt: skip


@pytest.mark.parametrize("at_once", [0, 2])
def test_a_whole_run(at_once: int, tiny: Path, toy: list[Sentence], tmp_path: Path) -> None:
    """All stages with the fast engine, the model saved and read again, finished stages not repeated."""
    from roster.corpus.io import write
    from roster.infer.recogniser import load

    write(tmp_path / "train.jsonl", toy)
    config = load_config(
        overrides=overrides(tiny, **RUN, **{"optimiser.engine": "fast", "ensemble.at_once": at_once})
    )
    said: list[str] = []
    results = train(tmp_path / "train.jsonl", tmp_path / "run", config, log=said.append)
    assert list(results["stages"]) == [
        *(f"member-{i}" for i in range(3)), "mean-of-members", "ensemble", "self-training", "model",
    ]  # fmt: skip
    assert results["stages"]["member-0"].get("at_once") == (at_once or 3)
    assert results["stages"]["member-2"].get("at_once") == (None if at_once else 3)
    assert "fast engine" in said[0]
    load(tmp_path / "run", "cpu")("Anna Berg went to Paris .")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", OBJECTIVES)
def test_captured_steps_learn_as_the_cpu_does(name: str, tiny: Path, toy: list[Sentence]) -> None:
    """Without dropout the captured bf16 steps of a GPU lose about as the float32 steps of a CPU do."""
    kind, k, make = OBJECTIVES[name]
    losses = []
    for device in ("cpu", "cuda"):
        config = load_config(
            overrides={**overrides(tiny), "optimiser.device": device, "optimiser.engine": "fast"}
        )
        task = Task.build(config, ("PER", "LOC"), toy, {})
        models = [without_dropout(task, kind, seed) for seed in SEEDS[:k]]
        stack = task.engine.take(models)
        told = task.engine.fit(stack, make(task), Schedule(3, 2e-3), SEEDS[:k], description=name)
        losses.append([one["losses"] for one in told])
    np.testing.assert_allclose(losses[0], losses[1], rtol=0.15)
