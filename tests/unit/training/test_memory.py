"""Steps that do not fit into the device's memory: the same weights as where there is enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

from roster.accelerate import stacked_loop
from roster.accelerate.stack import Stack
from roster.config import Optimiser
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.errors import DeviceMemoryError, RosterError
from roster.methods.bilstm_crf.head import CrfHead
from roster.methods.bilstm_crf.objective import ChainObjective
from roster.methods.bond import BondObjective
from roster.methods.request import load_config
from roster.methods.roster.noise_robust import NoiseRobustObjective
from roster.methods.train import train
from roster.model.decoding import bio_classes
from roster.model.memory import in_fitting_batches, is_out_of_memory, release
from roster.model.reading import read_probabilities
from roster.training.loop import PlainModels, fit
from roster.training.memory import BatchLimit
from roster.training.objective import Checkpoint, Objective, Schedule
from roster.training.task import Task
from tests.unit.objectives import CASES, Case, cross_entropy, noise_robust

CPU = torch.device("cpu")
OPTIMISER = Optimiser(batch_size=8, precision="float32")
SCHEDULE = Schedule(1, 2e-3, 4e-3)


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    overrides = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    return Task.build(load_config(overrides=overrides), ("PER", "LOC"), toy, {})


class Budget:
    """A device that holds the states of so many sub-words: wider passes of a training end as on a GPU."""

    def __init__(self, subwords: int):
        self.subwords, self.failed, self.widest = subwords, 0, 0

    def take(self, wanted: int) -> None:
        if wanted > self.subwords:
            self.failed += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
        self.widest = max(self.widest, wanted)


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Budget]:
    """Limits the passes of both engines."""

    def limit(subwords: int) -> Budget:
        found = Budget(subwords)
        states, logits = nn.Module.__call__, Stack.logits

        def call(self: nn.Module, *args: Any, **options: Any) -> Any:
            if self.training and "input_ids" in options and "attention_mask" in options:
                found.take(options["attention_mask"].numel())
            return states(self, *args, **options)

        def stacked(self: Stack, ids: Tensor, lengths: Tensor, *, training: bool) -> Tensor:
            if training:
                found.take(ids[0].numel())
            return logits(self, ids, lengths, training=training)

        monkeypatch.setattr(nn.Module, "__call__", call)
        monkeypatch.setattr(Stack, "logits", stacked)
        return found

    return limit


def without_dropout(model: Any) -> Any:
    model.dropout.p = 0.0
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        if hasattr(model.encoder.config, name):
            setattr(model.encoder.config, name, 0.0)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def make(case: Case, task: Task, k: int) -> Objective:
    """The objective; with weights that differ, and a teacher that teaches from the first step on."""
    if case.objective is NoiseRobustObjective:
        objective = noise_robust(task, k, mask_inputs=0.0)
        objective.w_e.copy_(torch.rand(objective.w_e.shape, generator=torch.Generator().manual_seed(1)))
        return objective
    objective = case.make(task, k)
    if isinstance(objective, BondObjective):
        p = np.random.default_rng(1).dirichlet([0.3] * 5, size=(k, task.corpus.n_words))
        teacher = torch.from_numpy(p if objective.config.labels == "soft" else p.argmax(-1))
        objective.load_state({"teacher": teacher, "taught": torch.tensor(True)})
    return objective


PLAIN = {name: case for name, case in CASES.items() if "trained" not in name and "alone" not in name}


def alike(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    for name, tensor in expected.items():
        # The gradient of a bias of keys is rounding alone, and so is the step that it makes.
        if not name.endswith("key.bias"):
            torch.testing.assert_close(found[name], tensor, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", PLAIN)
def test_the_plain_loop(name: str, task: Task, budget: Callable[[int], Budget]) -> None:
    case = PLAIN[name]

    def train() -> tuple[dict[str, Tensor], dict[str, Any]]:
        model = without_dropout(task.new_model(case.head, 7))
        facts = fit(
            PlainModels(model, "float32"), make(case, task, 1), SCHEDULE, OPTIMISER, 11, description=name
        )
        return dict(model.state_dict()), facts

    expected, facts = train()
    small = budget(70)
    found, in_parts = train()
    assert small.failed
    assert small.widest <= 70
    assert in_parts["most_subwords"] <= 70
    assert "most_subwords" not in facts
    assert in_parts["losses"] == pytest.approx(facts["losses"], rel=1e-3)
    alike(found, expected)


@pytest.mark.parametrize("name", [name for name in PLAIN if PLAIN[name].head.stackable])
def test_the_fast_loop(name: str, task: Task, budget: Callable[[int], Budget]) -> None:
    case, k = PLAIN[name], PLAIN[name].models

    def train() -> tuple[list[dict[str, Tensor]], list[dict[str, Any]]]:
        stack = Stack.of([without_dropout(task.new_model(case.head, seed)) for seed in range(k)],
                         torch.float32, CPU)  # fmt: skip
        facts = stacked_loop.fit(stack, make(case, task, k), SCHEDULE, OPTIMISER, range(k), description=name)
        return [stack.state_dict(i) for i in range(k)], facts

    expected, facts = train()
    small = budget(70)
    found, in_parts = train()
    assert small.failed
    assert small.widest <= 70
    for i in range(k):
        assert in_parts[i]["most_subwords"] <= 70
        assert in_parts[i]["losses"] == pytest.approx(facts[i]["losses"], rel=1e-3)
        alike(found[i], expected[i])


def test_chains_with_weights_of_their_own(task: Task, budget: Callable[[int], Budget]) -> None:
    """The transitions of a CRF get their gradient from the loss itself, once."""

    def train() -> dict[str, Tensor]:
        model = without_dropout(task.new_model(CrfHead, 3))
        labels = bio_classes(task.sentences, task.types)
        objective = ChainObjective(task.corpus, labels, model)
        fit(PlainModels(model, "float32"), objective, SCHEDULE, OPTIMISER, 11, description="")
        return dict(model.state_dict())

    expected = train()
    small = budget(70)
    alike(train(), expected)
    assert small.failed


def test_dropout_is_the_same_both_ways(task: Task) -> None:
    """The gradient of a batch in parts, with dropout, against one graph of the same passes."""
    from roster.training.memory import backward_in_parts
    from roster.training.objective import losses_of

    model, objective = task.new_model(CASES["cross entropy"].head, 1).train(), cross_entropy(task)
    (batch,) = task.corpus.batches([np.arange(8)])
    parts = [batch.part(0, 3), batch.part(3, 8)]
    words = batch.words.unsqueeze(0)

    def outputs_of(part: Any) -> list[Tensor]:
        return [model(part).unsqueeze(0)]

    def loss_of(outputs: list[Tensor]) -> Tensor:
        return losses_of(objective, outputs, words, torch.ones(words.shape))

    torch.manual_seed(4)
    one_graph = torch.cat([outputs_of(part)[0] for part in parts], 1)
    loss_of([one_graph]).sum().backward()
    after = torch.get_rng_state()
    expected = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    torch.manual_seed(4)
    forwards = [lambda part=part: outputs_of(part) for part in parts]
    (outputs,), _ = backward_in_parts(forwards, loss_of, CPU)
    assert torch.equal(outputs, one_graph.detach())
    assert torch.equal(torch.get_rng_state(), after)
    for name, p in model.named_parameters():
        if name in expected:
            torch.testing.assert_close(p.grad, expected[name], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("engine", ["plain", "fast"])
def test_told_once_and_remembered(
    engine: str, task: Task, budget: Callable[[int], Budget], caplog: pytest.LogCaptureFixture
) -> None:
    taken: list[Checkpoint] = []

    def train(**options: Any) -> dict[str, Tensor]:
        model = task.new_model(CASES["cross entropy"].head, 7)
        if engine == "plain":
            fit(PlainModels(model, "float32"), cross_entropy(task), Schedule(3, 2e-3), OPTIMISER, 11,
                description="stage", **options)  # fmt: skip
            return dict(model.state_dict())
        stack = Stack.of([model], torch.float32, CPU)
        stacked_loop.fit(stack, cross_entropy(task), Schedule(3, 2e-3), OPTIMISER, [11],
                         description="stage", **options)  # fmt: skip
        return stack.state_dict(0)

    small = budget(70)
    whole = train(after_epoch=lambda epoch, take: taken.append(copied(take())))
    told = [line for line in caplog.messages if "does not fit" in line]
    assert len(told) == 1
    assert told[0].startswith("stage: a batch of 8 sentences")
    failed = small.failed
    resumed = train(resume=taken[0])
    assert small.failed == failed  # not tried again
    assert len([line for line in caplog.messages if "does not fit" in line]) == 1
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def copied(point: Checkpoint) -> Checkpoint:
    return Checkpoint(point.epoch, {name: tensor.clone() for name, tensor in point.tensors.items()})


@pytest.mark.parametrize("engine", ["plain", "fast"])
def test_not_even_one_sentence(engine: str, task: Task, budget: Callable[[int], Budget]) -> None:
    budget(3)
    model = task.new_model(CASES["cross entropy"].head, 7)

    def train() -> None:
        if engine == "plain":
            fit(
                PlainModels(model, "float32"),
                cross_entropy(task),
                SCHEDULE,
                OPTIMISER,
                0,
                description="stage",
            )
        else:
            stack = Stack.of([model], torch.float32, CPU)
            stacked_loop.fit(stack, cross_entropy(task), SCHEDULE, OPTIMISER, [0], description="stage")

    with pytest.raises(DeviceMemoryError, match="stage: not even one sentence at a time fits"):
        train()


def test_a_limit_is_halved() -> None:
    limit = BatchLimit("stage")
    for most in (2048, 1024, 512, 256, 128, 64):
        limit.lower(64, 4096)
        assert limit.most == most
    with pytest.raises(RosterError, match="not even one sentence"):
        limit.lower(64, 4096)
    again = BatchLimit("stage", Checkpoint(1, {"limit.most": limit.state()["most"]}))
    assert again.parts(64, 4096) == 64


def test_which_errors() -> None:
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling ..."))
    recording = RuntimeError("the recording failed")
    recording.__context__ = torch.OutOfMemoryError()
    assert is_out_of_memory(recording)
    assert not is_out_of_memory(RuntimeError("size mismatch"))
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


def test_reading_in_smaller_batches(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    model = task.new_model(CASES["cross entropy"].head, 7)
    expected, widest, forward = read_probabilities(model, task.corpus), [], type(model).forward

    def limited(self: Any, batch: Any) -> Any:
        if batch.ids.numel() > 200:
            raise torch.OutOfMemoryError
        widest.append(batch.ids.numel())
        return forward(self, batch)

    monkeypatch.setattr(type(model), "forward", limited)
    torch.testing.assert_close(read_probabilities(model, task.corpus), expected)
    assert max(widest) <= 200

    def never(tokens: int) -> None:
        tried.append(tokens)
        raise torch.OutOfMemoryError

    tried: list[int] = []
    with pytest.raises(torch.OutOfMemoryError):
        in_fitting_batches(never, 1024)
    assert tried == [1024, 512, 256, 128, 64]


RUN = {
    "noise_robust.epochs": 2, "noise_robust.update_every": 5, "ensemble.models": 3, "ensemble.epochs": 1,
    "self_training.enabled": False, "optimiser.batch_size": 8, "optimiser.engine": "fast",
    "optimiser.device": "cpu", "backbone.max_length": 32,
}  # fmt: skip


def test_fewer_members_at_once(
    tiny: Path, toy: list[Sentence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members that do not fit together are trained in smaller groups, also by a run that is continued."""
    write(tmp_path / "train.jsonl", toy)
    logits, groups = Stack.logits, []

    def limited(self: Stack, ids: Tensor, lengths: Tensor, *, training: bool) -> Tensor:
        if self.k > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        groups.append(self.k)
        return logits(self, ids, lengths, training=training)

    monkeypatch.setattr(Stack, "logits", limited)
    said: list[str] = []
    config = load_config(overrides={"backbone.name": str(tiny), **RUN})
    results = train(tmp_path / "train.jsonl", tmp_path / "run", config, log=said.append)
    assert "3 models do not fit into the device's memory together; 2 are trained at once" in said
    assert [results["stages"][f"member-{i}"].get("at_once") for i in range(3)] == [2, 2, None]
    assert set(groups) == {1, 2}


# -- on a GPU --------------------------------------------------------------------------------------


@pytest.fixture
def wide(tiny: Path, tmp_path: Path) -> Path:
    """An encoder whose states take much more memory than its weights."""
    config = AutoConfig.from_pretrained(tiny)
    config.update(
        {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    )
    torch.manual_seed(0)
    AutoModelForMaskedLM.from_config(config).save_pretrained(tmp_path / "wide")
    AutoTokenizer.from_pretrained(tiny).save_pretrained(tmp_path / "wide")
    return tmp_path / "wide"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("engine", ["plain", "fast"])
def test_a_gpu_with_too_little_memory(
    engine: str, wide: Path, toy: list[Sentence], caplog: pytest.LogCaptureFixture
) -> None:
    """A real error of the allocator: training goes on in parts, and the weights end where they would have."""
    device = torch.device("cuda")
    optimiser = Optimiser(batch_size=512, precision="float32", warmup=0.0)
    values = {"backbone.name": str(wide), "backbone.max_length": 32, "optimiser.device": "cuda"}
    task = Task.build(load_config(overrides=values), ("PER", "LOC"), toy * 40, {})

    def fitted() -> tuple[dict[str, Tensor], dict[str, Any], int]:
        """The weights, the facts, and the most memory that the training took beside what was there."""
        model = without_dropout(task.new_model(CASES["cross entropy"].head, 7))
        objective = cross_entropy(task)
        release()
        held = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        if engine == "plain":
            models: Any = PlainModels(model, "float32")
            facts = fit(models, objective, Schedule(2, 1e-3), optimiser, 11, description="stage")
        else:
            models = Stack.of([model], torch.float32, device)
            (facts,) = stacked_loop.fit(
                models, objective, Schedule(2, 1e-3), optimiser, [11], description="stage"
            )
        weights = {name: tensor.detach().cpu().clone() for name, tensor in models.state_dict(0).items()}
        return weights, facts, torch.cuda.max_memory_allocated() - held

    start = {name: x.cpu() for name, x in task.new_model(CASES["cross entropy"].head, 7).state_dict().items()}
    expected, facts, needed = fitted()
    assert "most_subwords" not in facts
    assert needed > 200 * 2**20
    release()
    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 0.6 * needed) / total)
    try:
        found, in_parts, taken = fitted()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert in_parts["most_subwords"] > 0
    assert taken < needed
    assert len([line for line in caplog.messages if "does not fit into the device's memory" in line]) == 1
    assert in_parts["losses"] == pytest.approx(facts["losses"], rel=1e-2)
    moved = sum(float((expected[name] - start[name]).abs().sum()) for name in expected)
    apart = sum(float((expected[name] - found[name]).abs().sum()) for name in expected)
    assert apart < 0.1 * moved  # sums in another order, and Adam makes steps of one size of them
