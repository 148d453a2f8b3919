"""The training loop: its schedule, its groups, and runs that are the same run after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from roster.accelerate import stacked_loop
from roster.accelerate.stack import Stack
from roster.config import Optimiser
from roster.corpus.sentence import Sentence
from roster.errors import RosterError
from roster.methods.request import load_config
from roster.methods.roster.head import TwoHeads, split_joint
from roster.methods.roster.label_removal import label_weights
from roster.methods.roster.masking import input_mask
from roster.methods.roster.noise_robust import NoiseRobustObjective
from roster.methods.roster.settings import NoiseRobust
from roster.model.batches import Batch
from roster.model.decoding import io_classes
from roster.model.heads import OneHead
from roster.model.reading import read_probabilities
from roster.training.loop import PlainModels, _optimiser, _outputs, fit
from roster.training.objective import (
    Checkpoint,
    Objective,
    Schedule,
    derive_seed,
    losses_of,
    rate,
    upcoming_windows,
)
from roster.training.run import Run
from roster.training.task import Task
from tests.unit.objectives import (
    CASES,
    cross_entropy,
    distillation,
    mean_distribution,
    noise_robust,
    self_training,
)

CPU = torch.device("cpu")
OPTIMISER = Optimiser(batch_size=8)
PER_EPOCH = 8  # 60 sentences


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    overrides = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    return Task.build(load_config(overrides=overrides), ("PER", "LOC"), toy, {})


def plain(model: Any) -> PlainModels:
    return PlainModels(model, "float32")


def everything(batches: int) -> None:
    """All windows are coming."""


def loss_of(objective: Objective, model: Any, *batches: Batch) -> Tensor:
    words = batches[0].words.unsqueeze(0)
    return losses_of(objective, _outputs(model, list(batches)), words, torch.ones(words.shape)).squeeze(0)


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("name", CASES)
def test_two_runs_and_a_resumed_one_are_bit_identical(
    name: str, task: Task, stopped: Callable[[Callable[..., Any]], Checkpoint]
) -> None:
    case = CASES[name]

    def train(**options: Any) -> dict[str, Tensor]:
        model = task.new_model(case.head, 7)
        torch.rand(int(torch.randint(1, 9, ())))  # whatever state the random numbers are in
        objective = case.make(task, 1)
        fit(plain(model), objective, Schedule(3, 3e-3, 5e-3), OPTIMISER, 11, description=name, **options)
        return dict(model.state_dict())

    whole = train()
    assert same(whole, train())
    assert not same(whole, dict(task.new_model(case.head, 7).state_dict()))

    assert same(whole, train(resume=stopped(train)))


def test_the_checkpoint_belongs_to_one_stage(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROSTER_CHECKPOINT_SECONDS", "0")
    run = Run.open(tmp_path, {}, {})
    save = run.after_epoch("one", 2)
    model = plain(task.new_model(OneHead, 0))
    fit(model, cross_entropy(task), Schedule(2, 1e-3), OPTIMISER, 0, description="", after_epoch=save)
    assert run.checkpoint("one") is not None
    assert run.checkpoint("two") is None
    run.close()


def test_another_seed_is_another_run(task: Task) -> None:
    def train(seed: int) -> dict[str, Tensor]:
        model = task.new_model(OneHead, 0)
        fit(plain(model), cross_entropy(task), Schedule(1, 1e-3), OPTIMISER, seed, description="")
        return dict(model.state_dict())

    assert not same(train(0), train(1))


def test_training_learns(task: Task) -> None:
    model = task.new_model(OneHead, 0)
    facts = fit(plain(model), cross_entropy(task), Schedule(8, 5e-3), OPTIMISER, 0, description="")
    assert facts["steps"] == 8 * PER_EPOCH
    assert len(facts["losses"]) == 8
    assert facts["losses"][-1] < 0.5 * facts["losses"][0]


@pytest.mark.parametrize(
    ("total", "warmup"), [(100, 0.1), (7, 0.1), (10, 0.0), (10, 1.0), (1, 0.1), (15, 0.5)]
)
def test_rate(total: int, warmup: float) -> None:
    found = [rate(step, total, warmup) for step in range(total)]
    rise = next(n for n in range(total + 1) if n >= warmup * total - 1e-9)
    assert all(0 < x <= 1 for x in found)
    assert max(found) == 1
    steps_up, steps_down = np.diff(found[: rise or 1]), np.diff(found[max(rise, 1) :])
    np.testing.assert_allclose(steps_up, 1 / rise if rise else 1)
    np.testing.assert_allclose(steps_down, -1 / max(1, total - rise))
    if rise < total:
        assert found[-1] == pytest.approx(1 / (total - rise))


def test_rate_by_hand() -> None:
    assert [rate(s, 20, 0.1) for s in (0, 1, 2, 11, 19)] == [0.5, 1.0, 1.0, 0.5, 1 / 18]


def test_rates_reach_the_optimiser(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[float]] = []
    step = torch.optim.AdamW.step

    def spy(self: Any, *args: Any) -> Any:
        seen.append([group["lr"] for group in self.param_groups])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.AdamW, "step", spy)
    fit(plain(task.new_model(OneHead, 0)), cross_entropy(task), Schedule(2, 1e-3, 4e-3),
        Optimiser(batch_size=8, warmup=0.25), 0, description="")  # fmt: skip
    assert len(seen) == 2 * PER_EPOCH
    for i, rates in enumerate(seen):
        share = (i + 1) / 4 if i < 4 else (16 - i) / 12
        assert rates == pytest.approx([1e-3 * share] * 2 + [4e-3 * share] * 2)


def test_no_decay_on_biases_and_norms(task: Task) -> None:
    model = task.new_model(TwoHeads, 0)
    adam, peaks = _optimiser(model, Schedule(1, 1e-3, 2e-3), Optimiser(weight_decay=0.05), CPU)
    names = {id(p): name for name, p in model.named_parameters()}
    found = {}
    for group, peak in zip(adam.param_groups, peaks, strict=True):
        for p in group["params"]:
            found[names[id(p)]] = (group["weight_decay"], peak)
    assert found.keys() == set(names.values())
    for name, (decay, peak) in found.items():
        free = name.endswith(".bias") or "LayerNorm" in name
        assert decay == (0 if free else 0.05), name
        assert peak == (1e-3 if name.startswith("encoder.") else 2e-3), name


def test_the_gradient_is_clipped(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    norms = []
    step = torch.optim.AdamW.step

    def spy(self: Any, *args: Any) -> Any:
        grads = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        norms.append(torch.stack([g.norm() for g in grads]).norm().item())
        return step(self, *args)

    monkeypatch.setattr(torch.optim.AdamW, "step", spy)
    fit(plain(task.new_model(OneHead, 0)), cross_entropy(task), Schedule(1, 1e-3),
        Optimiser(batch_size=8, clip=0.01), 0, description="")  # fmt: skip
    assert max(norms) <= 0.0101


class Broken(Objective):
    def loss(self, outputs: Any, words: Tensor, present: Tensor, own: Any) -> Tensor:
        loss: Tensor = outputs[0].sum() * float("nan")
        return loss


def test_a_loss_that_is_no_number(task: Task) -> None:
    with pytest.raises(RosterError, match=r"stage-x: the loss is no longer a number in epoch 1.*0\.002"):
        fit(plain(task.new_model(OneHead, 0)), Broken(task.corpus), Schedule(2, 2e-3), OPTIMISER, 0,
            description="stage-x")  # fmt: skip


def test_derived_seeds() -> None:
    seeds = {
        derive_seed(seed, *names) for seed in range(20) for names in (("a",), ("b",), ("a", 0), ("a", 1), ())
    }
    assert len(seeds) == 100
    assert derive_seed(1, "a", 2) == derive_seed(1, "a", 2)
    assert all(0 <= s < 2**63 for s in seeds)


def test_labels_are_removed_every_u_batches(task: Task) -> None:
    """w starts at 1 (but for the dropped O words), and changes at steps U, 2U, ..., not at 0."""
    objective = noise_robust(task, 1, update_every=5)
    labels = io_classes(task.sentences, task.types)
    entity = torch.from_numpy(labels > 0)
    (dropped,) = objective.seen == 0
    assert dropped.sum() == round(0.5 * (labels == 0).sum())
    assert not dropped[entity].any()
    assert torch.equal(objective.w_e[0], 1 - dropped.float())
    assert torch.equal(objective.w_t[0], entity.float())
    model = task.new_model(TwoHeads, 0)
    with torch.no_grad():
        model.entity_head.bias.fill_(9.0)  # no O label is believed
        model.type_head.bias.copy_(torch.tensor([9.0, -9.0]))
    for step in (0, 1, 4):
        objective.prepare(plain(model), step, everything)
        assert torch.equal(objective.w_e[0], 1 - dropped.float())
    objective.prepare(plain(model), 5, everything)
    assert torch.equal(objective.w_e[0], entity.float())
    assert torch.equal(objective.w_t[0], entity.float())  # all of the second type would go: guarded
    with torch.no_grad():
        model.entity_head.bias.fill_(-9.0)  # every O label is believed again; the dropped ones stay dropped
    objective.prepare(plain(model), 10, everything)
    assert torch.equal(objective.w_e[0], 1 - dropped.float())
    off = noise_robust(task, 1, remove_labels=False)
    off.prepare(plain(model), 5, everything)
    assert torch.equal(off.w_e, off.seen)


def opinionated(task: Task) -> TwoHeads:
    """A model whose predictions differ from word to word, as fresh heads' do not."""
    model: TwoHeads = task.new_model(TwoHeads, 0)
    with torch.no_grad():
        model.entity_head.weight.mul_(30)
        model.type_head.weight.mul_(30)
    return model


def test_soft_labels_are_renewed_every_u_batches(task: Task) -> None:
    objective = self_training(task)
    model = opinionated(task)
    objective.prepare(plain(model), 0, everything)
    assert objective.s is not None
    first = objective.s.clone()
    e, _ = split_joint(read_probabilities(model, task.corpus))
    assert torch.equal(first.sum(-1) > 0, e >= 0.4)
    assert 0.1 < (first.sum(-1) > 0).float().mean() < 0.9
    model.type_head.bias.data.copy_(torch.tensor([2.0, -2.0]))
    objective.prepare(plain(model), 3, everything)
    assert torch.equal(objective.s, first)
    objective.prepare(plain(model), 5, everything)
    assert objective.s is not None
    assert not torch.equal(objective.s, first)


def test_one_wide_pass_is_two_passes(task: Task) -> None:
    """Original and augmented sentences through the model in one batch or in two: the same loss."""
    objective = self_training(task)
    model = opinionated(task).eval()
    objective.prepare(plain(model), 0, everything)
    objective.start_epoch(plain(model), 0)
    plan = task.corpus.training_plan(8, np.random.default_rng(0))
    readings = [corpus.batches(plan) for corpus in objective.inputs()]
    for batch, augmented in zip(*readings, strict=True):
        assert torch.equal(batch.words, augmented.words)
        assert not torch.equal(batch.ids, augmented.ids)
        one = loss_of(objective, model, batch, augmented)
        padding = torch.zeros_like(augmented.ids[:, :1])
        wider = type(augmented)(
            torch.cat([augmented.ids, padding + task.corpus.pad], 1), torch.cat([augmented.mask, padding], 1),
            augmented.at // batch.ids.shape[1] * (batch.ids.shape[1] + 1) + augmented.at % batch.ids.shape[1],
            augmented.words,
        )  # fmt: skip
        torch.testing.assert_close(loss_of(objective, model, batch, wider), one, rtol=1e-4, atol=1e-5)


def test_distillation_objective_uses_the_target_of_its_own_word(task: Task) -> None:
    objective = distillation(task)
    model = task.new_model(TwoHeads, 0).eval()
    y = mean_distribution(task)
    plan = task.corpus.training_plan(60, np.random.default_rng(0))
    batch = next(task.corpus.batches(plan))
    loss = loss_of(objective, model, batch).item()
    p = read_probabilities(model, task.corpus).double().numpy()
    e, target = p[:, 1:].sum(-1), y[:, 1:] / y[:, 1:].sum(-1, keepdims=True)
    r = p[:, 1:] / e[:, None]
    kl = (target * np.log(target / r)).sum(-1).mean()
    bce = -((1 - y[:, 0]) * np.log(e) + y[:, 0] * np.log(1 - e)).mean()
    assert loss == pytest.approx(kl + bce, rel=1e-4)


def test_the_windows_of_the_next_batches() -> None:
    """Against a plain walk over the batches of all epochs, for two models."""
    generator = np.random.default_rng(0)
    epochs, per_epoch = 3, 7
    plans = [
        [[generator.integers(0, 40, 3) for _ in range(per_epoch)] for _ in range(2)] for _ in range(epochs)
    ]
    for count in (1, 2, 6, 7, 30):
        for step in range(epochs * per_epoch):
            found = upcoming_windows(plans.__getitem__, step, per_epoch, epochs * per_epoch, count)
            for k in range(2):
                walk = [batch for plan in plans for batch in plan[k]][step : step + count]
                if len(walk) >= per_epoch:
                    assert found is None
                else:
                    assert found is not None
                    assert found[k].tolist() == sorted({int(row) for batch in walk for row in batch})


class Watched(NoiseRobustObjective):
    """Compares the weights of every batch with those that reading the whole corpus would have given."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.compared, self.different = torch.zeros(2, len(self.w_e))
        self.whole = torch.stack([self.w_e, self.w_t], 1)

    def prepare(self, models: Any, step: int, upcoming: Any) -> None:
        super().prepare(models, step, upcoming)
        c = self.config
        if step and step % c.update_every == 0:
            for i, p in enumerate(models.read(self.corpus)):
                w_e, w_t = label_weights(*split_joint(p), self.labels, c.tau, c.keep_minority)
                self.whole[i] = torch.stack([w_e * self.seen[i], w_t])

    def own(self) -> dict[str, Tensor]:
        mine = {"whole": self.whole, "compared": self.compared, "different": self.different}
        return {**super().own(), **mine}

    def observe(self, outputs: Any, words: Tensor, present: Tensor, own: Any) -> None:
        own["compared"].add_(present.sum())
        for mine, whole in zip((own["w_e"], own["w_t"]), own["whole"].unbind(), strict=True):
            own["different"].add_(((mine[words] != whole[words]) * present).sum())


@pytest.mark.parametrize("k", [1, 3])
def test_reading_what_is_coming_is_reading_everything(task: Task, k: int) -> None:
    config = NoiseRobust(update_every=3, tau=0.4, keep_minority=1.0)  # no guard: it sees fewer words
    labels = io_classes(task.sentences, task.types)
    mask = input_mask(0.0, task.encoder, CPU)
    objective = Watched(task.corpus, labels, config, list(range(k)), mask)
    models = [task.new_model(TwoHeads, seed) for seed in range(k)]
    if k == 1:
        fit(plain(models[0]), objective, Schedule(3, 3e-3), OPTIMISER, 0, description="")
    else:
        stack = Stack.of(models, torch.float32, CPU)
        stacked_loop.fit(stack, objective, Schedule(3, 3e-3), OPTIMISER, list(range(k)), description="")
    assert objective.compared.tolist() == [3 * task.corpus.n_words] * k
    assert not objective.different.any()
    assert 0 < objective.w_t.mean() < 1
