"""The positive-unlabelled risk: its formula, a problem that cross entropy gets wrong, and its objective."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from roster.config import NoiseRobust, Optimiser, load_config
from roster.corpus.sentence import Sentence
from roster.learn.loop import Coming, Models, PlainModels, Schedule, fit
from roster.learn.losses import entity_loss, type_loss
from roster.learn.masking import input_mask
from roster.learn.noise_robust import NoiseRobustObjective
from roster.learn.positive_unlabelled import Confidence, pu_risk
from roster.learn.task import Task
from roster.model.decoding import io_classes
from roster.model.reading import read_probabilities

CPU = torch.device("cpu")


def plain_risk(
    e: np.ndarray, positive: np.ndarray, unlabelled: np.ndarray, confidence: np.ndarray, prior: float,
    weight: float, q: float,
) -> float:  # fmt: skip
    """Word by word, as the paper writes it."""

    def loss(p: float) -> float:
        return -np.log(p) if q == 0 else (1 - p**q) / q

    first = second = 0.0
    for i in range(len(e)):
        one, none = loss(e[i]), loss(1 - e[i])
        sure = confidence[i] > 0.5
        first += positive[i] * max(0.0, one + (none / confidence[i] if sure else 0.0) - none)
        second += unlabelled[i] * (0.0 if sure else none)
    return weight * prior * first / max(positive.sum(), 1) + second / max(unlabelled.sum(), 1)


@given(
    seed=st.integers(0, 2**32 - 1),
    words=st.integers(1, 12),
    weight=st.floats(0, 20),
    q=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
)
def test_the_risk_is_the_formula(seed: int, words: int, weight: float, q: float) -> None:
    generator = np.random.default_rng(seed)
    b = 3 * generator.standard_normal((2, words))
    kind = generator.integers(0, 3, (2, words))  # an entity, unlabelled, or left out
    confidence, prior = generator.random((2, words)), generator.random(2)
    found = pu_risk(
        *map(torch.from_numpy, (b, (kind == 0) * 1.0, (kind == 1) * 1.0, confidence, prior)), weight, q
    )
    for i in range(2):
        expected = plain_risk(
            1 / (1 + np.exp(-b[i])), kind[i] == 0, kind[i] == 1, confidence[i], prior[i], weight, q
        )
        assert found[i].item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_exactly_eta_is_not_an_entity() -> None:
    def risk(confidence: float) -> float:
        none, one = torch.zeros(1), torch.ones(1)
        return pu_risk(none, none, one, torch.tensor([confidence]), torch.tensor(0.3), 1.0, 1.0).item()

    assert (risk(0.5), risk(0.5001)) == (0.5, 0)


@pytest.mark.parametrize("q", [0.0, 0.7, 1.0])
def test_the_gradient_is_a_number_at_the_borders(q: float) -> None:
    b = torch.tensor([-1e4, 1e4, -1e4, 1e4, 0.0, 0.0], requires_grad=True)
    positive = torch.tensor([1.0, 1, 0, 0, 1, 0])
    confidence = torch.tensor([0.0, 1, 0, 1, 0, 1])
    for p, u in ((positive, 1 - positive), (torch.zeros(6), torch.zeros(6))):
        risk = pu_risk(b, p, u, confidence, torch.tensor(0.2), 10.0, q)
        (gradient,) = torch.autograd.grad(risk, b)
        assert torch.isfinite(risk)
        assert torch.isfinite(gradient).all()


def two_hills() -> tuple[Tensor, Tensor, Tensor]:
    """Places on a line, which of them are of the one hill (30 %), and labels: 60 % of those have none."""
    generator = np.random.default_rng(0)
    gold = generator.random(3000) < 0.3
    x = np.where(gold, 1.5, -1.5) + generator.standard_normal(3000)
    labels = gold & (generator.random(3000) < 0.4)
    return torch.from_numpy(x), torch.from_numpy(gold), torch.from_numpy(labels.astype(np.int64))


def learned(x: Tensor, loss: Callable[[Tensor], Tensor], line: Tensor, steps: int) -> Tensor:
    line = line.clone().requires_grad_()
    adam = torch.optim.Adam([line], 0.05)
    for _ in range(steps):
        adam.zero_grad()
        loss(line[0] * x + line[1]).backward()
        adam.step()
    return line.detach()


def recall_and_precision(x: Tensor, gold: Tensor, line: Tensor) -> tuple[float, float]:
    found = line[0] * x + line[1] > 0
    both = (found & gold).sum()
    return float(both / gold.sum()), float(both / found.sum().clamp_min(1))


def test_it_finds_what_cross_entropy_misses() -> None:
    x, gold, labels = two_hills()
    p = (labels > 0).double()
    start = torch.tensor([0.1, 0.0], dtype=torch.float64)
    usual = learned(x, lambda b: entity_loss(b, labels, torch.ones_like(x), 0.0), start, 120)
    recall, precision = recall_and_precision(x, gold, usual)
    assert recall < 0.3
    assert precision > 0.95

    # With lambda and the prior as they are, the risk needs no weight.
    known = torch.sigmoid(3 * x + np.log(0.3 / 0.7))
    prior = torch.tensor(0.3)
    line = learned(x, lambda b: pu_risk(b, p, 1 - p, known, prior, 1.0, 0.0), start, 150)
    assert min(recall_and_precision(x, gold, line)) > 0.85

    # With both read from the model every so often, beginning with the one that cross entropy made.
    confidence, line = Confidence(labels, 1), usual
    for _ in range(5):
        confidence.renew(0, slice(None), torch.sigmoid(line[0] * x + line[1]).float())
        lam, prior = confidence.words[0].double(), confidence.prior[0]
        line = learned(
            x, lambda b, lam=lam, prior=prior: pu_risk(b, p, 1 - p, lam, prior, 2.0, 0.0), line, 60
        )
    assert min(recall_and_precision(x, gold, line)) > 0.8


def test_the_prior_is_no_less_than_the_share_of_labels() -> None:
    confidence = Confidence(torch.tensor([0, 2, 1, 0]), 2)
    assert confidence.prior.tolist() == [0, 0]
    where = confidence.prior.data_ptr(), confidence.words.data_ptr()
    confidence.renew(1, slice(None), torch.tensor([0.1, 0.2, 0.3, 0.2]))
    assert confidence.prior.tolist() == [0, 0.5]
    confidence.renew(1, torch.tensor([3, 1]), torch.tensor([0.9, 0.7]))
    assert confidence.prior.tolist() == pytest.approx([0, 0.8])
    assert confidence.words[1].tolist() == pytest.approx([0.1, 0.7, 0.3, 0.9])
    assert confidence.words[0].tolist() == [0] * 4
    assert where == (confidence.prior.data_ptr(), confidence.words.data_ptr())  # a captured step reads there


# -- the options of the noise-robust objective --------------------------------------------------------------


@pytest.fixture(scope="module")
def sparse(toy: list[Sentence]) -> list[Sentence]:
    """The toy task with 60 % of its labels gone at random."""
    generator = np.random.default_rng(1)
    return [s.with_spans([x for x in s.spans or () if generator.random() < 0.4]) for s in toy]


@pytest.fixture(scope="module")
def task(tiny: Path, sparse: list[Sentence]) -> Task:
    overrides = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    return Task.build(load_config(overrides=overrides), ("PER", "LOC"), sparse, {})


def objective_of(task: Task, **options: Any) -> NoiseRobustObjective:
    config = NoiseRobust(**{"update_every": 5, "remove_labels": False, "drop_o": 0.0, **options})
    labels = io_classes(task.sentences, task.types)
    return NoiseRobustObjective(task.corpus, labels, config, [3], input_mask(0.0, task.encoder, CPU))


def everything(batches: int) -> None:
    """All windows are coming."""


def test_the_usual_loss_until_the_first_reading(task: Task) -> None:
    objective = objective_of(task, pu=True, pu_weight=3.0, drop_o=0.5)
    usual = objective_of(task, drop_o=0.5)
    model = task.new_model("two-heads", 0).eval()
    with torch.no_grad():
        model.entity_head.weight.mul_(30)
    batch = next(task.corpus.batches(task.corpus.training_plan(60, np.random.default_rng(0))))
    words, (b, z) = batch.words.unsqueeze(0), (x.unsqueeze(0) for x in model(batch))
    present = (torch.arange(words.shape[1]) % 7 > 0).float().unsqueeze(0)
    for step in (0, 4):
        objective.prepare(PlainModels(model, "float32"), step, everything)
        assert torch.equal(objective.loss([(b, z)], words, present), usual.loss([(b, z)], words, present))
    objective.prepare(PlainModels(model, "float32"), 5, everything)
    labels = objective.labels[words]
    seen = objective.seen[0, words[0]] * present[0]
    read = 1 - read_probabilities(model, task.corpus)[:, 0]
    prior = max(float(read.mean()), float((objective.labels > 0).float().mean()))
    entity = (labels[0] > 0).numpy()
    risk = plain_risk(
        torch.sigmoid(b[0]).detach().double().numpy(), present[0].numpy() * entity, seen.numpy() * ~entity,
        read[words[0]].numpy(), prior, 3.0, 0.7,
    )  # fmt: skip
    w_t = (labels > 0) * present
    found = objective.loss([(b, z)], words, present) - type_loss(z, labels, w_t, 0.7)
    assert found.item() == pytest.approx(risk, rel=1e-3)
    assert 0 < (read > 0.5).float().mean() < 1


def test_top_o_words(task: Task) -> None:
    """From the first reading on half of the O words, the believed ones that are most like entities."""
    for remove in (False, True):
        objective = objective_of(task, o_labels="top", drop_o=0.5, remove_labels=remove, tau=0.5)
        random = objective.w_e.clone()
        model = task.new_model("two-heads", 0)
        with torch.no_grad():
            model.entity_head.weight.mul_(30)
        objective.prepare(PlainModels(model, "float32"), 4, everything)
        assert torch.equal(objective.w_e, random)
        objective.prepare(PlainModels(model, "float32"), 5, everything)
        p_o = read_probabilities(model, task.corpus)[:, 0]
        o = objective.labels == 0
        chosen, left = objective.seen[0].bool() & o, ~objective.seen[0].bool()
        believed = o & (p_o > 0.5)
        assert 0 < int(believed.sum()) < int(o.sum())
        assert int(chosen.sum()) == min(int(believed.sum()), int(o.sum()) - round(0.5 * int(o.sum())))
        assert not (chosen & ~believed).any()
        if (left & believed).any():
            assert p_o[chosen].max() <= p_o[left & believed].min()
        assert not left[~o].any()
        assert torch.equal(objective.w_e[0][o], objective.seen[0][o])
        assert not torch.equal(objective.w_e, random)
        assert objective.w_e[0][o].any()


def test_models_in_step_are_as_models_alone(task: Task) -> None:
    """The risk of each of three models, from readings of their own, is what it would be of one."""
    labels, n = io_classes(task.sentences, task.types), task.corpus.n_words
    config, mask = NoiseRobust(pu=True, remove_labels=False), input_mask(0.0, task.encoder, CPU)
    generator = torch.Generator().manual_seed(0)
    words = torch.stack([torch.randperm(n, generator=generator)[:50] for _ in range(3)])
    b, z = torch.randn(3, 50, generator=generator), torch.randn(3, 50, 2, generator=generator)
    e = torch.rand(3, n, generator=generator) * torch.tensor([[0.6], [0.8], [1.0]])
    together = NoiseRobustObjective(task.corpus, labels, config, [0, 1, 2], mask)
    losses = []
    for member in range(3):
        alone = NoiseRobustObjective(task.corpus, labels, config, [member], mask)
        for objective, place in ((together, member), (alone, 0)):
            assert objective.confidence is not None
            objective.confidence.renew(place, slice(None), e[member])
        one = slice(member, member + 1)
        losses.append(alone.loss([(b[one], z[one])], words[one], torch.ones(1, 50)))
    found = together.loss([(b, z)], words, torch.ones(3, 50))
    torch.testing.assert_close(found, torch.cat(losses))
    assert len({round(x, 3) for x in found.tolist()}) == 3


def recall(task: Task, toy: list[Sentence], **options: Any) -> tuple[float, float]:
    """Of the entity words of the toy task and of the others: which share is found."""
    model = task.new_model("two-heads", 1)
    objective = objective_of(task, q=0.0, **options)
    fit(PlainModels(model, "float32"), objective, Schedule(12, 5e-3), Optimiser(8), 0, description="")
    found = read_probabilities(model, task.corpus)[:, 0] < 0.5
    gold = torch.from_numpy(io_classes(toy, task.types) > 0)
    return float(found[gold].float().mean()), float(found[~gold].float().mean())


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


def test_the_risk_finds_what_has_no_label(task: Task, toy: list[Sentence]) -> None:
    usual = recall(task, toy)
    assert usual[0] < 0.6
    assert usual[1] < 0.1
    found = recall(task, toy, pu=True)
    assert found[0] > max(0.7, usual[0] + 0.3)
    assert found[1] < 0.1


class Former(NoiseRobustObjective):
    """Noise-robust training as it was before it had these options."""

    def prepare(self, models: Models, step: int, coming: Coming) -> None:
        from roster.learn.label_removal import label_weights
        from roster.learn.loop import read_coming
        from roster.model.heads import split_joint

        if not self.config.remove_labels or step == 0 or step % self.config.update_every:
            return
        c = self.config
        for member, (words, p) in enumerate(read_coming(models, self.corpus, coming(c.update_every))):
            labels = self.labels[words]
            w_e, w_t = label_weights(*split_joint(p), labels, c.tau, c.keep_minority, c.remove_entities)
            self.w_e[member, words] = w_e * self.seen[member, words]
            self.w_t[member, words] = w_t

    def loss(self, outputs: Any, words: Tensor, present: Tensor) -> Tensor:
        from roster.learn.losses import gce, wmean

        ((b, z),) = outputs
        labels, q = self.labels[words], self.config.q
        w_e, w_t = (w.gather(1, words) * present for w in (self.w_e, self.w_t))
        entity = labels > 0
        log_p = torch.nn.functional.logsigmoid(torch.where(entity, b, -b))
        log_r = z.log_softmax(-1).gather(-1, (labels - 1).clamp_min(0).unsqueeze(-1)).squeeze(-1)
        return wmean(gce(log_p, q), w_e) + wmean(gce(log_r, q), w_t * entity)


@pytest.mark.parametrize("remove", [True, False])
def test_without_them_nothing_changes(task: Task, remove: bool) -> None:
    def trained(kind: type[NoiseRobustObjective]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        config = NoiseRobust(update_every=5, tau=0.4, remove_labels=remove)
        labels = io_classes(task.sentences, task.types)
        objective = kind(task.corpus, labels, config, [3], input_mask(0.0, task.encoder, CPU))
        model = task.new_model("two-heads", 1)
        fit(PlainModels(model, "float32"), objective, Schedule(2, 3e-3), Optimiser(8), 0, description="")
        return dict(model.state_dict()), objective.state()

    for now, then in zip(trained(NoiseRobustObjective), trained(Former), strict=True):
        assert now.keys() == then.keys()
        assert all(torch.equal(now[name], then[name]) for name in now)
