"""The noise-robust objective: models in step, each for itself; GCE or cross entropy, decided for each."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from roster.config import Optimiser
from roster.corpus.sentence import Sentence
from roster.methods.request import load_config
from roster.methods.roster.head import TwoHeads, split_joint
from roster.methods.roster.label_removal import label_weights
from roster.methods.roster.masking import input_mask
from roster.methods.roster.noise_robust import (
    COLLAPSES,
    LEAST,
    PATIENCE,
    STEP,
    TAKES_OFF,
    TARGET,
    TYPED,
    NoiseRobustObjective,
    repaired,
    type_accuracy,
)
from roster.methods.roster.settings import NoiseRobust
from roster.model.decoding import io_classes
from roster.model.reading import read_probabilities
from roster.training.loop import PlainModels, fit
from roster.training.losses import noise_robust_loss
from roster.training.objective import Schedule, losses_of, observe
from roster.training.task import Task

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    overrides = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    return Task.build(load_config(overrides=overrides), ("PER", "LOC"), toy, {})


def objective_of(
    task: Task,
    seeds: tuple[int, ...] = (3,),
    steps: int = 1000,
    held_out: np.ndarray | None = None,
    **options: Any,
) -> NoiseRobustObjective:
    config = NoiseRobust(**{"update_every": 5, "remove_labels": False, "drop_o": 0.0, **options})
    mask = input_mask(0.0, task.encoder, CPU)
    return NoiseRobustObjective(task.corpus, task.labels, config, seeds, mask, held_out=held_out, steps=steps)


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
        losses.append(losses_of(alone, [(b[one], z[one])], words[one], torch.ones(1, 50)))
    found = losses_of(together, [(b, z)], words, torch.ones(3, 50))
    torch.testing.assert_close(found, torch.cat(losses))
    assert len({round(x, 3) for x in found.tolist()}) == 3


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def seen(objective: NoiseRobustObjective, *e: float, types_right: float = 1.0) -> None:
    """A batch of all words, on which each model finds every word an entity with its probability."""
    n, k = objective.corpus.n_words, len(e)
    b = torch.tensor([logit(x) for x in e]).unsqueeze(1).expand(k, n)
    right = torch.nn.functional.one_hot((objective.labels - 1).clamp_min(0), 2).float()
    cut = (torch.arange(n) % 100) < 100 * types_right
    z = torch.where(cut.unsqueeze(1), right, 1 - right).expand(k, n, 2)
    observe(objective, [(b, z)], torch.arange(n).expand(k, n), torch.ones(k, n))


def check(objective: NoiseRobustObjective, step: int, *e: float, **more: float) -> None:
    """What the models find until a step, and what is decided then."""
    assert step % objective.check_every == 0
    seen(objective, *e, **more)
    objective.prepare(Says(torch.zeros(0)), step, everything)  # type: ignore[arg-type]


def gone(objective: NoiseRobustObjective) -> None:
    """As after a removal that left nothing."""
    objective.w_e.zero_()
    objective.w_t.zero_()


def test_a_model_that_recognises_nothing_has_cross_entropy_and_all_labels(task: Task) -> None:
    """After the patience; the other model, which recognises some, is left alone. Then it takes off again."""
    objective = objective_of(task, (0, 1), repair=True, q=0.6, drop_o=0.4)
    every, patience = objective.check_every, PATIENCE * objective.steps
    early = every * (math.ceil(patience / every) - 1)
    assert 0 < early < patience
    low, fine = COLLAPSES - 0.02, COLLAPSES + 0.02
    gone(objective)
    check(objective, early, low, low)
    assert objective.robust.tolist() == [True, True]
    check(objective, early + every, low, fine)
    assert objective.robust.tolist() == [False, True]
    assert torch.equal(objective.w_e[0], objective.seen[0])
    assert torch.equal(objective.w_t[0], objective.learned[0])
    assert not objective.w_e[1].any()
    # Not at the share where it collapsed, but at a higher one.
    check(objective, early + 2 * every, TAKES_OFF - 0.02, fine)
    assert objective.robust.tolist() == [False, True]
    check(objective, early + 3 * every, TAKES_OFF + 0.02, fine)
    assert objective.robust.tolist() == [True, True]
    assert objective.q.squeeze(1).tolist() == pytest.approx([0.6, 0.6])
    assert objective.facts(0)["switches"] == [early + every, early + 3 * every]
    assert objective.facts(1)["switches"] == []


def test_without_repair_nobody_is_helped(task: Task) -> None:
    objective = objective_of(task, repair=False)
    for step in range(objective.check_every, 800, objective.check_every):
        check(objective, step, 0.01)
    assert objective.robust.tolist() == [True]
    assert objective.o_weight.tolist() == [[1.0]]


def test_only_what_was_seen_since_the_last_check_counts(task: Task) -> None:
    objective = objective_of(task, repair=True)
    late = objective.check_every * 30
    check(objective, objective.check_every, 0.99)
    assert not objective.tally.any()
    check(objective, late, COLLAPSES - 0.02)
    assert objective.robust.tolist() == [False]


def test_cross_entropy_on_a_model_is_not_gce(task: Task) -> None:
    """The exponents that the controller decides are those of the loss."""
    objective = objective_of(task, (0, 1), repair=True, q=0.6)
    objective.q[0] = 0.0
    n = task.corpus.n_words
    generator = torch.Generator().manual_seed(0)
    b, z = torch.randn(2, n, generator=generator), torch.randn(2, n, 2, generator=generator)
    words, present = torch.arange(n).expand(2, n), torch.ones(2, n)
    found = losses_of(objective, [(b, z)], words, present)
    wanted = [
        noise_robust_loss(b[i], z[i], objective.labels, torch.ones(n), objective.learned[i], q, 0.6)
        for i, q in enumerate((0.0, 0.6))
    ]
    torch.testing.assert_close(found, torch.stack(wanted))


def test_o_words_weigh_less_while_few_entities_are_recognised(task: Task) -> None:
    objective = objective_of(task, (0, 1), balance=True)
    every, found = objective.check_every, []
    for i in range(1, 41):
        check(objective, i * every, TARGET - 0.01, TARGET + 0.01)
        found.append(objective.o_weight.squeeze(1).tolist())
    falling = [weights[0] for weights in found]
    assert falling[:3] == pytest.approx([STEP, STEP**2, STEP**3])
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] == pytest.approx(LEAST)
    assert all(weights[1] == 1.0 for weights in found)
    for i in range(41, 81):
        check(objective, i * every, TARGET + 0.01, TARGET - 0.01)
        assert LEAST - 1e-6 <= objective.o_weight.min() <= objective.o_weight.max() <= 1
    assert objective.o_weight.squeeze(1).tolist() == pytest.approx([1.0, LEAST])
    assert objective.facts(1)["o_weight"] == LEAST


def test_the_weight_is_that_of_o_words_alone(task: Task) -> None:
    objective = objective_of(task, balance=True, q=0.0)
    n = task.corpus.n_words
    words, present = torch.arange(n).unsqueeze(0), torch.ones(1, n)

    def slopes() -> Tensor:
        b = torch.zeros(1, n, requires_grad=True)
        losses_of(objective, [(b, torch.zeros(1, n, 2))], words, present).sum().backward()
        assert b.grad is not None
        return b.grad[0]

    whole = slopes()
    objective.o_weight.fill_(0.25)
    entity = objective.labels > 0
    lighter = slopes()
    ratio = (lighter[~entity].mean() / lighter[entity].mean()) / (
        whole[~entity].mean() / whole[entity].mean()
    )
    assert ratio.item() == pytest.approx(0.25, rel=1e-5)


def held_out(task: Task) -> np.ndarray:
    """The first half of the words, of two models; none of a third."""
    n = task.corpus.n_words
    mask = np.zeros((3, n), bool)
    mask[:2, : n // 2] = True
    return mask


def test_a_model_is_judged_by_the_words_held_out_of_it(task: Task) -> None:
    mask = held_out(task)
    objective = objective_of(task, (0, 1, 2), held_out=mask, repair=True)
    entity = objective.labels > 0
    out = torch.from_numpy(mask[0])
    assert torch.equal(objective.judged[0] > 0, entity & out)
    assert torch.equal(objective.judged[2] > 0, entity)  # nothing is held out of it: what it learns
    n = task.corpus.n_words
    b = torch.where(out, logit(0.05), logit(0.95)).expand(3, n)
    late = 30 * objective.check_every
    observe(objective, [(b, torch.zeros(3, n, 2))], torch.arange(n).expand(3, n), torch.ones(3, n))
    objective.prepare(Says(torch.zeros(0)), late, everything)  # type: ignore[arg-type]
    assert objective.robust.tolist() == [False, False, True]


def test_words_held_out_have_no_gradient_even_when_labels_come_back(task: Task) -> None:
    mask = held_out(task)
    objective = objective_of(task, (0, 1, 2), held_out=mask, repair=True)
    gone(objective)
    check(objective, 30 * objective.check_every, 0.01, 0.01, 0.01)
    n = task.corpus.n_words
    b = torch.zeros(3, n, requires_grad=True)
    z = torch.randn(3, n, 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
    losses_of(objective, [(b, z)], torch.arange(n).expand(3, n), torch.ones(3, n)).sum().backward()
    assert b.grad is not None
    assert z.grad is not None
    out = torch.from_numpy(mask)
    assert not b.grad[out].any()
    assert not z.grad[out].any()
    assert (b.grad[~out] != 0).all()
    assert (z.grad[~out & (objective.labels > 0)] != 0).all()


def test_padding_is_not_judged(task: Task) -> None:
    objective = objective_of(task, repair=True)
    n = task.corpus.n_words
    b = torch.where(torch.arange(n) < 50, logit(0.9), logit(0.1)).unsqueeze(0)
    present = (torch.arange(n) < 50).float().unsqueeze(0)
    observe(objective, [(b, torch.zeros(1, n, 2))], torch.arange(n).unsqueeze(0), present)
    count, total = objective.tally[0].tolist()
    assert count == int((objective.labels[:50] > 0).sum())
    assert total / count == pytest.approx(0.9)


def test_a_batch_without_entities_decides_nothing(task: Task) -> None:
    objective = objective_of(task, repair=True, balance=True)
    objective.prepare(Says(torch.zeros(0)), 30 * objective.check_every, everything)  # type: ignore[arg-type]
    assert objective.robust.tolist() == [True]
    assert objective.o_weight.item() == 1


def test_the_type_head_has_cross_entropy_at_first(task: Task) -> None:
    """Until it knows the types, or its share of the steps is over."""
    objective = objective_of(task, (0,), plain_types=0.5, q=0.6)
    every = objective.check_every
    assert (objective.q_types.item(), objective.q.item()) == (0.0, pytest.approx(0.6))
    check(objective, every, 0.5, types_right=TYPED - 0.1)
    assert objective.q_types.item() == 0
    check(objective, 2 * every, 0.5, types_right=TYPED + 0.1)
    assert objective.q_types.item() == pytest.approx(0.6)
    late = objective_of(task, (0,), plain_types=0.5, q=0.6)
    half = every * math.ceil(0.5 * late.steps / every)
    check(late, half - every, 0.5, types_right=0.0)
    assert late.q_types.item() == 0
    check(late, half, 0.5, types_right=0.0)
    assert late.q_types.item() == pytest.approx(0.6)
    assert objective_of(task, q=0.6).q_types.item() == pytest.approx(0.6)


def test_type_accuracy_is_a_mean_over_types() -> None:
    taught = torch.tensor([[90.0, 10.0, 0.0], [0.0, 0.0, 0.0]])
    right = torch.tensor([[90.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = type_accuracy(taught, right)
    assert float(found[0]) == pytest.approx(0.5)  # a type without words does not count
    assert float(found[1]) < TYPED or float(found[1]) == pytest.approx(0.0)


@pytest.mark.parametrize(("repair", "kept"), [(True, True), (False, False)])
def test_few_entity_labels_are_all_kept(repair: bool, kept: bool, task: Task) -> None:
    """Of a model that finds many entity words outside the labels, as long as it does."""
    objective = objective_of(
        task, (0, 1), remove_labels=True, tau=0.7, remove_entities=True, repair=repair, drop_o=0.0
    )
    entity = objective.labels > 0
    doubted = torch.nonzero(entity).squeeze(1)[:3]
    finds, finds_not = (torch.where(entity, 0.9, e) for e in (0.6, 0.2))
    for e in (finds, finds_not):
        e[doubted] = 0.4
    right = torch.nn.functional.one_hot((objective.labels - 1).clamp_min(0), 2) * 0.8 + 0.1
    p = torch.stack([torch.cat([1 - e.unsqueeze(1), e.unsqueeze(1) * right], 1) for e in (finds, finds_not)])
    assert (~entity).sum() > entity.sum()
    objective.prepare(Says(p), 5, everything)  # type: ignore[arg-type]
    assert objective.w_e[0, doubted].bool().all() == kept
    assert not objective.w_e[1, doubted].any()
    objective.prepare(Says(p.flip(0)), 10, everything)  # type: ignore[arg-type]
    assert not objective.w_e[0, doubted].any()
    assert objective.w_e[1, doubted].bool().all() == kept


def test_state_and_back(task: Task) -> None:
    """A resumed stage goes on as the one that was stopped, in place: a captured step reads where it read."""
    options: dict[str, Any] = {"repair": True, "balance": True, "remove_labels": True, "tau": 0.3}
    objective, other = (objective_of(task, (0, 1), **options) for _ in range(2))
    n, every = task.corpus.n_words, objective.check_every
    p = torch.from_numpy(np.random.default_rng(0).dirichlet([2.0, 0.5, 0.5], size=(2, n)).astype(np.float32))
    objective.prepare(Says(p), 5, everything)  # type: ignore[arg-type]
    check(objective, 30 * every, 0.01, 0.4)  # the first goes back to cross entropy
    seen(objective, 0.2, 0.3)
    places = {name: tensor.data_ptr() for name, tensor in other.state().items()}
    other.load_state({name: tensor.clone() for name, tensor in objective.state().items()})
    assert {name: tensor.data_ptr() for name, tensor in other.state().items()} == places
    for name, tensor in objective.state().items():
        assert torch.equal(other.state()[name], tensor)
        if name != "q_types":
            fresh = objective_of(task, (0, 1), **options).state()[name]
            assert not torch.equal(tensor, fresh), name
    words, present = torch.arange(n).expand(2, n), torch.ones(2, n)
    b, z = torch.randn(2, n), torch.randn(2, n, 2)
    assert torch.equal(
        losses_of(objective, [(b, z)], words, present), losses_of(other, [(b, z)], words, present)
    )
    for one in (objective, other):
        one.prepare(Says(p), 31 * every, everything)  # type: ignore[arg-type]
    assert torch.equal(objective.q, other.q)
    assert torch.equal(objective.o_weight, other.o_weight)


@pytest.mark.parametrize("q", [0.0, 0.7])
def test_without_repair_and_balance_it_is_the_papers_objective(q: float, task: Task) -> None:
    """GCE with one exponent from the first step to the last, and labels removed by tau alone, whatever the
    models find; with an exponent of 0, cross entropy with label removal (the paper's `without GCE`)."""
    objective = objective_of(task, (0, 1), remove_labels=True, tau=0.4, q=q, drop_o=0.5)
    n, generator = task.corpus.n_words, np.random.default_rng(0)
    words, present = torch.arange(n).expand(2, n), torch.ones(2, n)
    for step in range(0, 200, 5):
        p = torch.from_numpy(generator.dirichlet([2.0, 0.5, 0.5], size=(2, n)).astype(np.float32))
        objective.prepare(Says(p), step, everything)  # type: ignore[arg-type]
        b, z = torch.full((2, n), -6.0), torch.zeros(2, n, 2)
        found = losses_of(objective, [(b, z)], words, present)
        for member in range(2):
            w_e, w_t = objective.seen[member], objective.learned[member]
            if step:
                kept = label_weights(*split_joint(p[member]), objective.labels, 0.4, 0.9, False)
                w_e, w_t = kept[0] * w_e, kept[1] * w_t
                assert not torch.equal(w_e, objective.seen[member])
            wanted = noise_robust_loss(b[member], z[member], objective.labels, w_e, w_t, q, q)
            torch.testing.assert_close(found[member], wanted)


def test_no_labels_are_removed_in_the_plain_steps(task: Task) -> None:
    """With either exponent nothing is removed in the plain share of the steps; then it is."""
    n = task.corpus.n_words
    p = torch.from_numpy(np.random.default_rng(0).dirichlet([0.5] * 3, size=(1, n)).astype(np.float32))
    for q in (0.0, 0.6):
        objective = objective_of(task, steps=100, plain=0.5, q=q, remove_labels=True, tau=0.4)
        assert objective.q.item() == 0
        for step in range(100):
            seen(objective, 0.5)
            objective.prepare(Says(p), step, everything)  # type: ignore[arg-type]
            removed = not torch.equal(objective.w_e, objective.seen)
            assert removed == (step >= 60) or 50 <= step < 60, (q, step)
            assert objective.q.item() == 0 or step >= 50
        assert objective.q.item() == pytest.approx(q)


@pytest.mark.parametrize("remove_entities", [False, True])
def test_entity_labels_leave_the_loss_of_the_entity_head_on_demand(task: Task, remove_entities: bool) -> None:
    objective = objective_of(task, remove_labels=True, keep_minority=1.0, remove_entities=remove_entities)
    p = distributions(task)
    objective.prepare(Says(p), 5, everything)  # type: ignore[arg-type]
    entity = objective.labels > 0
    found, doubted = 1 - p[0, :, 0] > 0.7, objective.w_e[0] == 0
    assert torch.equal(doubted[entity], ~found[entity] & remove_entities)


def test_the_history_of_removals(task: Task) -> None:
    """How often each word's label was found wrong, and the share of each class that was left, every time."""
    objective = objective_of(task, (0, 1), steps=15, remove_labels=True, tau=0.4, drop_o=0.3)
    n, rng = task.corpus.n_words, np.random.default_rng(0)
    times, shares = np.zeros((2, n)), []
    for step in (5, 10):
        p = torch.from_numpy(rng.dirichlet([0.5] * 3, size=(2, n)).astype(np.float32))
        objective.prepare(Says(p), step, everything)  # type: ignore[arg-type]
        labels, learned = objective.labels.numpy(), objective.seen.numpy() > 0
        left = np.where(labels > 0, objective.w_t.numpy(), objective.w_e.numpy()) > 0
        times += learned & ~left
        shares.append([left[1][learned[1] & (labels == c)].mean() for c in range(3)])
    assert np.array_equal(objective.removed.numpy(), times)
    assert times.max() == 2
    told = objective.kept_by_type(1, ("PER", "LOC"))
    assert [one["step"] for one in told] == [5, 10]
    for one, (o, per, loc) in zip(told, shares, strict=True):
        assert one["O"] == pytest.approx(o, abs=1e-4)
        assert one["types"] == {"PER": pytest.approx(per, abs=1e-4), "LOC": pytest.approx(loc, abs=1e-4)}


def test_only_o_labels_are_removed_in_the_entity_warmup(task: Task) -> None:
    """Missing names leave the loss from the first removal on; entity labels only after the warm-up."""
    options = {"remove_labels": True, "remove_entities": True, "tau": 0.4, "keep_minority": 1.0}
    late = objective_of(task, steps=100, entity_warmup=0.25, **options)
    early = objective_of(task, steps=100, **options)
    p, entity = distributions(task), late.labels > 0
    for step in range(5, 50, 5):
        for objective in (late, early):
            objective.prepare(Says(p), step, everything)  # type: ignore[arg-type]
        assert torch.equal(late.w_e[0][~entity], early.w_e[0][~entity])
        assert not early.w_e[0][~entity].all()
        assert not early.w_t[0][entity].all()
        if step < 25:
            assert late.w_e[0][entity].all()
            assert late.w_t[0][entity].all()
        else:
            assert torch.equal(late.w_e, early.w_e)
            assert torch.equal(late.w_t, early.w_t)


def distributions(task: Task) -> Tensor:
    """Of one model, drawn."""
    drawn = np.random.default_rng(0).dirichlet([0.5] * 3, size=(1, task.corpus.n_words))
    return torch.from_numpy(drawn.astype(np.float32))


def test_settings_of_a_model_that_is_trained_again() -> None:
    config = NoiseRobust(epochs=3, q=0.7, mask_inputs=0.2, drop_o=0.1, repair=True)
    again = repaired(config, 1000)
    assert (again.epochs, again.q, again.remove_labels, again.mask_inputs) == (6, 0.0, False, 0.0)
    assert again.balance
    assert again.drop_o >= 0.5
    few = repaired(config, 4)
    assert few.epochs * 4 >= 300


def test_few_labels_are_learned(toy: list[Sentence], tiny: Path) -> None:
    """A dictionary of two names. GCE alone gives their labels up, but not after cross entropy, nor where O
    words weigh less and a model that collapses is helped."""
    few = [s.with_spans([x for x in s.spans or () if s.span_text(x) in ("Oslo", "Rome")]) for s in toy]
    overrides = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    task = Task.build(load_config(overrides=overrides), ("LOC",), few, {})
    labelled = torch.from_numpy(io_classes(few, task.types) > 0)
    assert 0.05 < labelled.float().mean() < 0.1
    schedule = Schedule(16, 5e-3)

    def found(**options: Any) -> tuple[float, float]:
        model = task.new_model(TwoHeads, 1)
        objective = objective_of(task, steps=16 * math.ceil(len(few) / 8), epochs=16, **options)
        fit(PlainModels(model, "float32"), objective, schedule, Optimiser(8), 0, description="")
        e = read_probabilities(model, task.corpus)[:, 0] < 0.5
        return float(e[labelled].float().mean()), float(e[~labelled].float().mean())

    assert found() == (0.0, 0.0)
    for options in ({"plain": 0.5}, {"repair": True, "balance": True}):
        recall, wrong = found(**options)
        assert recall > 0.9, options
        assert wrong < 0.1, options
