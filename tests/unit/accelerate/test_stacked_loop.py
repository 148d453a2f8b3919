"""The fast loop on a CPU: the plain loop's arithmetic, models in step, and the same run after a crash.

What only a GPU has (captured steps, kernels) is in tests/unit/model/stack/test_kernels.py and, when there is
one, in the last test here.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from roster.accelerate import stacked_loop
from roster.accelerate.adamw import StackedAdamW
from roster.accelerate.captured_step import CapturedStep
from roster.accelerate.engine import FastEngine, PlainEngine, choose_engine, members_at_once
from roster.accelerate.fixed_shapes import FixedShapes
from roster.accelerate.stack import Stack
from roster.config import Config, Optimiser
from roster.corpus.dataset import Dataset
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, RosterError
from roster.methods.bond import BondObjective
from roster.methods.fine_tune import CrossEntropyObjective
from roster.methods.registry import get
from roster.methods.request import load_config
from roster.methods.roster.algorithm import keeps_lengths
from roster.methods.roster.head import TwoHeads
from roster.methods.roster.noise_robust import NoiseRobustObjective
from roster.methods.roster.self_training import SelfTrainingObjective, VariableLengthSelfTraining
from roster.methods.train import train
from roster.model.bert_layout import encoder_weights, shape_of
from roster.model.decoding import bio_classes
from roster.model.heads import OneHead, WordStates
from roster.training import loop
from roster.training.engine import TrainingEngine
from roster.training.loop import PlainModels
from roster.training.objective import Checkpoint, Objective, Schedule
from roster.training.task import Task
from tests.unit.objectives import CASES, capturable_objectives, cross_entropy, noise_robust

CPU = torch.device("cpu")
OPTIMISER = Optimiser(batch_size=8)
SEEDS = (11, 12, 13)


def overrides(backbone: Path, **more: Any) -> dict[str, Any]:
    return {"backbone.name": str(backbone), "backbone.max_length": 32, "optimiser.device": "cpu", **more}


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    config = load_config(overrides=overrides(tiny, **{"optimiser.engine": "fast"}))
    return Task.build(config, ("PER", "LOC"), toy, {})


def stack_of(task: Task, head: type[WordStates], k: int) -> Stack:
    return Stack.of([task.new_model(head, seed) for seed in SEEDS[:k]], torch.float32, CPU)


def test_every_capturable_objective_is_compared() -> None:
    """An objective that declares itself capturable needs a case in tests/unit/objectives.py."""
    assert capturable_objectives() == {case.objective for case in CASES.values()}


@pytest.mark.parametrize("name", CASES)
def test_two_runs_and_a_resumed_one_are_bit_identical(
    name: str, task: Task, stopped: Callable[[Callable[..., Any]], Checkpoint]
) -> None:
    case, k = CASES[name], CASES[name].models

    def fitted(**options: Any) -> list[dict[str, Tensor]]:
        stack, objective = stack_of(task, case.head, k), case.make(task, k)
        schedule = Schedule(3, 3e-3, 5e-3)
        stacked_loop.fit(stack, objective, schedule, OPTIMISER, SEEDS[:k], description=name, **options)
        return [stack.state_dict(i) for i in range(k)]

    def same(a: list[dict[str, Tensor]], b: list[dict[str, Tensor]]) -> bool:
        return all(torch.equal(x[n], y[n]) for x, y in zip(a, b, strict=True) for n in x)

    whole = fitted()
    assert same(whole, fitted())
    assert not same(whole, [stack_of(task, case.head, k).state_dict(i) for i in range(k)])
    assert same(whole, fitted(resume=stopped(fitted)))


def without_dropout(task: Task, head: type[WordStates], seed: int) -> Any:
    model: Any = task.new_model(head, seed)
    model.dropout.p = 0.0
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        setattr(model.encoder.config, name, 0.0)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    for layer in model.encoder.encoder.layer:
        layer.attention.self.dropout = nn.Dropout(0.0)
    return model.train()


@pytest.mark.parametrize("name", CASES)
def test_a_step_is_the_plain_loops_step(name: str, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch through both loops, from the same weights: the same loss, and the same weights after it."""
    case = CASES[name]

    def make() -> Objective:
        if case.objective is NoiseRobustObjective:  # the loops draw their masks in shapes of their own
            return noise_robust(task, 1, mask_inputs=0.0, plain=0.5 * name.endswith("plain first"))
        objective = case.make(task, 1)
        if isinstance(objective, BondObjective):  # a step that a teacher teaches
            p = np.random.default_rng(1).dirichlet([0.3] * 5, size=(1, task.corpus.n_words))
            teacher = torch.from_numpy(p if objective.config.labels == "soft" else p.argmax(-1))
            objective.load_state({"teacher": teacher, "taught": torch.tensor(True)})
        return objective

    rows = np.array([3, 17, 20, 41, 58])
    schedule, optimiser = Schedule(1, 2e-3, 4e-3), Optimiser(60, warmup=0.0, clip=0.7, precision="float32")

    plain = without_dropout(task, case.head, 5)
    stack = Stack.of([without_dropout(task, case.head, 5)], torch.float32, CPU)
    monkeypatch.setattr(type(task.corpus), "training_plan", lambda *_: [rows])
    told = loop.fit(PlainModels(plain, "float32"), make(), schedule, optimiser, 0, description="")

    objective = make()
    objective.start_epoch(stack, 0)
    objective.prepare(stack, 0, lambda batches: None)
    adam = StackedAdamW(stack.parameters, lambda group: [schedule.peak(group.head)], 0.01, 0.7)
    shapes = FixedShapes(task.corpus, 32, len(objective.inputs()))
    shapes.fill(objective.inputs())
    step = CapturedStep(stack, objective, adam, shapes, 1, 8)
    step.start_epoch(np.append(rows, [task.corpus.encoded.n_windows] * 3).reshape(1, 1, 8))
    step(32)
    assert step.sum_of_losses.item() == pytest.approx(told["losses"][0], rel=1e-4, abs=2e-5)
    for key, tensor in stack.state_dict(0).items():
        # A gradient that is rounding alone makes a step of rounding alone: that of the biases of keys, and of
        # an entity head that is its own teacher.
        if not (key.endswith("key.bias") or (key.startswith("entity_head") and name.endswith("alone"))):
            torch.testing.assert_close(tensor, plain.state_dict()[key], rtol=1e-3, atol=3e-5)


def test_members_learn_as_if_alone(task: Task) -> None:
    stack = stack_of(task, OneHead, 2)
    objective = cross_entropy(task)
    facts = stacked_loop.fit(stack, objective, Schedule(8, 5e-3), OPTIMISER, SEEDS[:2], description="")
    assert len(facts) == 2
    for one in facts:
        assert one["steps"] == 64
        assert one["losses"][-1] < 0.5 * one["losses"][0]
    assert facts[0]["losses"] != facts[1]["losses"]


def test_a_loss_that_is_no_number(task: Task) -> None:
    class Broken(Objective):
        def loss(self, outputs: Any, words: Tensor, present: Tensor, own: Any) -> Tensor:
            loss: Tensor = outputs[0].sum() * float("nan")
            return loss

    with pytest.raises(RosterError, match="no longer a number in epoch 1"):
        stacked_loop.fit(
            stack_of(task, OneHead, 1),
            Broken(task.corpus),
            Schedule(2, 1e-3),
            OPTIMISER,
            [0],
            description="",
        )


def built(config: Config, toy: list[Sentence], log: Callable[[str], None] = print) -> Task:
    """A task as `roster.methods.train` builds it."""
    method = get(config.method)
    choose = partial(
        choose_engine, config, head=method.head, together=method.models_together(config), log=log
    )
    task = Task.build(config, ("PER", "LOC"), toy, {}, log, choose_engine=choose)
    method.check_task(task)
    return task


def test_which_engine(backbones: dict[str, Path], tiny: Path, toy: list[Sentence]) -> None:
    said: list[str] = []

    def engine(name: str, backbone: str, **more: Any) -> Any:
        config = load_config(overrides=overrides(backbones[backbone], **{"optimiser.engine": name, **more}))
        return built(config, toy, said.append).engine

    assert isinstance(engine("auto", "bert"), PlainEngine)  # no GPU was asked for
    assert isinstance(engine("plain", "bert"), PlainEngine)
    fast = engine("fast", "bert")
    assert isinstance(fast, FastEngine)
    assert fast.at_once == 5
    assert engine("fast", "bert", **{"ensemble.at_once": 2}).at_once == 2
    assert engine("fast", "bert", **{"ensemble.enabled": False}).at_once == 1
    for more in ({"method": "fine-tune"}, {"method": "bond", "bond.begin_step": 9}, {"method": "autoner"}):
        assert engine("fast", "bert", **more).at_once == 1
    with pytest.raises(ConfigError, match=r"fast engine cannot train .*modernbert.*use auto or plain"):
        engine("fast", "modernbert")
    # Where a GPU is asked for, `auto` says why it is not fast.
    config = load_config(overrides=overrides(backbones["modernbert"]))
    from roster.backbone.loading import load_encoder

    encoder = load_encoder(str(backbones["modernbert"]))
    chosen = choose_engine(config, torch.device("cuda"), encoder, TwoHeads, (5, 0), said.append)
    assert isinstance(chosen, PlainEngine)
    assert "modernbert" in said[-1]


def test_kernels_are_compiled_ahead_only_where_they_are_used(
    backbones: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the description of the backbone alone, before its weights are read."""
    from roster.accelerate import engine, kernels
    from roster.backbone.loading import load_encoder

    asked: list[tuple[Any, int]] = []
    monkeypatch.setattr(
        kernels, "prepare", lambda shape, inner, dtype, device: asked.append((shape, inner)) or []
    )
    config = load_config(overrides=overrides(backbones["distilbert"]))
    engine.compile_kernels(config)
    assert engine.compile_kernels(load_config(overrides={"optimiser.device": "abacus"})) == []
    assert not asked  # on a CPU, or on what is no device
    monkeypatch.setattr(engine, "choose_device", lambda name: torch.device("cuda"))
    for kind in ("bert", "distilbert"):
        engine.compile_kernels(load_config(overrides=overrides(backbones[kind])))
        encoder = load_encoder(str(backbones[kind]))
        inner = {one.name: one.shape for one in encoder_weights(encoder)}["0.up.weight"][0]
        assert asked[-1] == (shape_of(encoder.config), inner)
    asked.clear()
    for more in (
        overrides(backbones["modernbert"]),
        {**overrides(backbones["bert"]), "optimiser.engine": "plain"},
        {"method": "bilstm-crf", "backbone.name": "bilstm-cnn"},
        {"backbone.name": str(backbones["bert"] / "none")},
    ):
        assert engine.compile_kernels(load_config(overrides=more)) == []
    assert not asked


def test_a_training_waits_for_what_was_compiled_ahead(
    tiny: Path, toy: list[Sentence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[bool] = []

    class Kernel(Future[object]):
        def result(self, timeout: float | None = None) -> object:
            waited.append(True)
            return None

    def choose(config: Config, *_: Any, kernels: Any, **__: Any) -> FastEngine:
        return FastEngine(config, CPU, 1, kernels)

    monkeypatch.setattr("roster.methods.train.compile_kernels", lambda config: [Kernel()])
    monkeypatch.setattr("roster.methods.train.choose_engine", choose)
    values = overrides(tiny, **{"method": "fine-tune", "fine_tune.epochs": 1})
    train(Dataset.from_sentences(toy), tmp_path / "run", load_config(overrides=values))
    assert waited


@pytest.mark.parametrize(
    ("more", "last"),
    [
        ({}, "fast"),
        ({"augmentation.by": "names"}, "plain"),
        ({"augmentation.masked_lm": "tiny"}, "plain"),
        ({"augmentation.by": "names", "augmentation.enabled": False}, "fast"),
        ({"augmentation.by": "names", "optimiser.engine": "plain"}, "plain"),
    ],
)
def test_which_engine_for_self_training(
    more: dict[str, Any], last: str, tiny: Path, toy: list[Sentence]
) -> None:
    """Other names change the number of sub-words, which captured steps cannot; no other stage is kept from
    the fast engine."""
    if "augmentation.masked_lm" in more:
        more = {**more, "augmentation.masked_lm": str(tiny)}
    config = load_config(overrides=overrides(tiny, **{"optimiser.engine": "fast", **more}))
    task = built(config, toy)
    kind = SelfTrainingObjective if keeps_lengths(config) else VariableLengthSelfTraining
    names = (task.engine_of(NoiseRobustObjective).name, task.engine_of(kind).name)
    assert names == (config.optimiser.engine, last)


class Trap(CrossEntropyObjective):
    """Declares itself capturable, and branches on a Python value."""

    epoch = 0

    def start_epoch(self, models: Any, epoch: int) -> None:
        self.epoch = epoch

    def loss(self, outputs: Any, words: Tensor, present: Tensor, own: Any) -> Tensor:
        loss = super().loss(outputs, words, present, own)
        return 2 * loss if self.epoch > 2 else loss


class Replaced(CrossEntropyObjective):
    """Declares itself capturable, and replaces a tensor where it should change it."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.factor = torch.ones(())

    def start_epoch(self, models: Any, epoch: int) -> None:
        self.factor = torch.full((), 1.0 + epoch)

    def loss(self, outputs: Any, words: Tensor, present: Tensor, own: Any) -> Tensor:
        return self.factor * super().loss(outputs, words, present, own)


@pytest.mark.parametrize(("kind", "epochs"), [(Trap, 4), (Replaced, 2)])
def test_a_loss_that_cannot_be_recorded_is_found(
    kind: type[CrossEntropyObjective], epochs: int, task: Task
) -> None:
    """In the first step in which a replayed step and the loss differ, before any weight is wrong for long."""
    labels = bio_classes(task.sentences, task.types)
    objective, last = kind(task.corpus, labels), []

    def note(models: Any, step: int) -> None:
        last.append(step)

    with pytest.raises(RosterError, match=rf"recorded step of {kind.__name__} differs .*{kind.__name__}.cap"):
        stacked_loop.fit(
            stack_of(task, OneHead, 1), objective, Schedule(6, 1e-3), OPTIMISER, SEEDS[:1],
            description="", before_step=note,
        )  # fmt: skip
    per_epoch = len(task.sentences) // OPTIMISER.batch_size + 1
    assert last[-1] == (epochs - 1) * per_epoch


def test_objectives_are_plain_unless_they_say_otherwise(task: Task) -> None:
    class Mine(Objective):
        pass

    assert task.engine.name == "plain"  # no engine was asked for
    fast = replace(task, engine=FastEngine(task.config, CPU, 1, []))
    assert fast.engine_of(Mine).name == "plain"
    assert fast.engine_of(CrossEntropyObjective).name == "fast"


def test_members_that_fit_into_memory(tiny: Path, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(overrides=overrides(tiny))
    counts = []
    for free in (0, 10**7, 2 * 10**7, 4 * 10**7, 10**9):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, free))
        counts.append(members_at_once(config, torch.device("cuda"), task.pretrained, 5, 0))
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
@pytest.mark.parametrize("name", CASES)
def test_captured_steps_learn_as_the_cpu_does(name: str, tiny: Path, toy: list[Sentence]) -> None:
    """Without dropout the captured bf16 steps of a GPU lose about as the float32 steps of a CPU do."""
    case, k = CASES[name], CASES[name].models
    losses = []
    for device in ("cpu", "cuda"):
        config = load_config(
            overrides={**overrides(tiny), "optimiser.device": device, "optimiser.engine": "fast"}
        )

        def fast(device: torch.device, encoder: Any, config: Config = config) -> TrainingEngine:
            return choose_engine(config, device, encoder, case.head, (k, 0), print)

        task = Task.build(config, ("PER", "LOC"), toy, {}, choose_engine=fast)
        assert isinstance(task.engine, FastEngine)
        models = [without_dropout(task, case.head, seed) for seed in SEEDS[:k]]
        stack = task.engine.take(models)
        told = task.engine.fit(stack, case.make(task, k), Schedule(3, 2e-3), SEEDS[:k], description=name)
        losses.append([one["losses"] for one in told])
    np.testing.assert_allclose(losses[0], losses[1], rtol=0.15)
