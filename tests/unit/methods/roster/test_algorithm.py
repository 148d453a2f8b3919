"""RoSTER's stages beside one another: what is taken, repeated or undone, by what the models find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roster.corpus.sentence import Sentence, Span
from roster.errors import RosterError
from roster.methods.request import load_config
from roster.methods.roster import algorithm
from roster.methods.roster.algorithm import (
    LEARNED,
    Member,
    _finds_more_names,
    closest_member,
    distil,
    learned_share,
    mean_of_members,
    member_folds,
    self_train,
)
from roster.methods.roster.folds import make_folds
from roster.methods.roster.head import TwoHeads
from roster.methods.roster.settings import NoiseRobust
from roster.training.mentions import sentence_starts
from roster.training.predictions import Predictions
from roster.training.run import Run
from roster.training.task import Task

TYPES = ("PER", "LOC")


def task_of(tiny: Path, toy: list[Sentence], **more: Any) -> Task:
    overrides = {
        "backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu",
        "optimiser.batch_size": 8, "ensemble.models": 2, "ensemble.epochs": 1, "ensemble.start": "member",
        "ensemble.learning_rate": 5e-3, "self_training.epochs": 1, "self_training.update_every": 5,
        "augmentation.enabled": False, "noise_robust.repair": True,
    }  # fmt: skip
    return Task.build(load_config(overrides={**overrides, **more}), TYPES, toy, {})


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    opened = Run.open(tmp_path / "run", {}, {})
    yield opened
    opened.close()


def certain(labels: np.ndarray) -> np.ndarray:
    """Distributions of which these classes are the best."""
    return np.where(np.eye(3)[labels] > 0, 0.9, 0.05).astype(np.float32)


def keep(run: Run, task: Task, *members: np.ndarray, seed: int = 0) -> None:
    """Finished members with these distributions, and the weights of fresh models."""
    for i, p in enumerate(members):
        weights = task.new_model(TwoHeads, seed + i).state_dict()
        run.finish(f"member-{i}", {}, weights=weights, predictions=Predictions(torch.from_numpy(p).half()))


def log_of(run: Run) -> str:
    run.log("the end")  # which waits for what is being written
    return (run.path / "log.txt").read_text()


def test_the_share_of_its_labels_that_a_member_learned(toy: list[Sentence]) -> None:
    folds, starts = make_folds(toy, TYPES, 0, 0), sentence_starts(toy)
    labels = np.concatenate([row(s) for s in toy])
    assert learned_share(labels, folds, 0, starts) == 1.0
    assert learned_share(0 * labels, folds, 0, starts) == 0.0
    only = np.where(labels == 1, 1, 0)
    people = (folds.mentions.label == 1).mean()
    assert learned_share(only, folds, 0, starts) == pytest.approx(people)


def row(sentence: Sentence) -> np.ndarray:
    found = np.zeros(len(sentence), int)
    for span in sentence.spans or ():
        found[span.start : span.end] = TYPES.index(span.label) + 1
    return found


def test_names_held_out_are_not_what_a_member_has_to_learn() -> None:
    names = [Sentence.from_words([f"A{i}"], [Span(0, 1, "PER")]) for i in range(40)]
    folds, starts = make_folds(names, TYPES, 5, 1), sentence_starts(names)
    out = folds.held_out(2)
    assert 0 < out.sum() < 20
    assert learned_share(np.where(out, 0, 1), folds, 2, starts) == 1.0
    assert learned_share(np.where(out, 1, 0), folds, 2, starts) == 0.0


def test_the_better_of_both_goes_finds_more_of_the_names_held_out(toy: list[Sentence]) -> None:
    names = [Sentence.from_words([f"A{i}"], [Span(0, 1, "PER")]) for i in range(40)]
    folds, starts = make_folds(names, TYPES, 5, 1), sentence_starts(names)
    out = folds.held_out(2)
    first, again = np.where(out, 1, 0), np.where(out, 0, 1)
    assert _finds_more_names(first, again, folds, 2, starts)
    assert not _finds_more_names(again, first, folds, 2, starts)
    assert not _finds_more_names(first, first, folds, 2, starts)
    none = make_folds(toy, TYPES, 0, 0)  # no name is held out: nothing speaks for the first
    labels = np.concatenate([row(s) for s in toy])
    assert not _finds_more_names(labels, 0 * labels, none, 0, sentence_starts(toy))


def trained_as(task: Task, *classes: np.ndarray) -> list[Member]:
    """Members trained in step that find these classes."""
    models = task.engine.take([task.new_model(TwoHeads, 0)])
    found = [torch.from_numpy(certain(x)).half() for x in classes]
    return [Member(p, {}, models, 0, {"number": i}, torch.zeros(len(p))) for i, p in enumerate(found)]


@pytest.mark.parametrize("first_is_better", [True, False])
def test_which_go_of_a_member_is_kept(
    first_is_better: bool, tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy)
    few = np.where(np.arange(len(task.labels)) < 0.3 * len(task.labels), task.labels, 0)
    assert 0.1 < algorithm.learned_share(few, member_folds(task, 2), 1, task.starts) < LEARNED
    first, again = trained_as(task, few, task.labels)
    monkeypatch.setattr(algorithm, "_train", lambda *_, **__: [again])
    monkeypatch.setattr(algorithm, "_finds_more_names", lambda *_: first_is_better)
    kept = algorithm._repair(task, run, member_folds(task, 2), 1, first, {"seconds": 50.0})
    assert torch.equal(kept.p, (first if first_is_better else again).p)
    assert kept.facts["number"] == (0 if first_is_better else 1)
    assert kept.facts["trained_again"] is not first_is_better
    assert 50 <= kept.facts["seconds"] < 60  # of both goes
    assert "of its labels; it is trained again with cross entropy" in log_of(run)
    assert ("that model is kept" in log_of(run)) == first_is_better


def test_a_member_that_learned_is_not_trained_again(tiny: Path, toy: list[Sentence], run: Run) -> None:
    task = task_of(tiny, toy)
    half = np.where(np.arange(len(task.labels)) < 0.6 * len(task.labels), task.labels, 0)
    (good,) = trained_as(task, half)
    assert LEARNED < algorithm.learned_share(half, member_folds(task, 2), 1, task.starts) < 1
    kept = algorithm._repair(task, run, member_folds(task, 2), 1, good, {"seconds": 5.0})
    assert (kept.p is good.p, kept.facts) == (True, {"number": 0, "seconds": 5.0})


def outside(labels: np.ndarray, share: float) -> np.ndarray:
    """The labels, and entity words of the first type beside them: so many for each labelled one."""
    found = labels.copy()
    free = np.flatnonzero(labels == 0)
    found[free[: round(share * (labels > 0).sum())]] = 1
    return found


def test_a_member_whose_labels_look_complete_is_trained_for_as_long_again(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy, **{"noise_robust.extend": True})
    folds = member_folds(task, 3)
    first = trained_as(task, outside(task.labels, 0.3), outside(task.labels, 0.1), task.labels)
    more = trained_as(task, 0 * task.labels, 0 * task.labels)
    asked: list[Any] = []

    def train(*given: Any) -> list[Member]:
        asked.append(given)
        return more

    monkeypatch.setattr(algorithm, "_train", train)
    found = algorithm._extend(task, run, folds, [0, 1, 2], first)
    ((_, _, _, members, config, attempt, start),) = asked
    assert (members, attempt, start) == ([1, 2], "extended", first[1:])
    assert (config.epochs, config.plain_types) == (task.config.section(NoiseRobust).epochs, 0.0)
    assert [one.p is p for one, p in zip(found, [first[0].p, more[0].p, more[1].p], strict=True)] == [
        True
    ] * 3
    assert [one.facts["extended"] for one in found] == [False, True, True]
    assert [one.facts["outside_labels"] for one in found] == pytest.approx([0.3, 0.1, 0.0], abs=0.05)
    assert "training continues for member-1, member-2" in log_of(run)


def test_a_member_that_finds_nothing_is_no_sign_of_complete_labels(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy, **{"noise_robust.extend": True})
    monkeypatch.setattr(algorithm, "_train", lambda *_: pytest.fail("trained"))
    (one,) = algorithm._extend(task, run, member_folds(task, 1), [0], trained_as(task, 0 * task.labels))
    assert (one.facts["outside_labels"], one.facts["extended"]) == (0.0, False)


def test_words_of_names_held_out_are_not_outside_the_labels(tiny: Path, toy: list[Sentence]) -> None:
    task = task_of(tiny, toy)
    folds = member_folds(task, 2)
    held_out = folds.held_out(0)
    (one,) = trained_as(task, np.where(held_out & (task.labels == 0), 1, task.labels))
    assert algorithm._outside(task, folds, 0, one) == 0.0


def test_without_extend_no_member_is_trained_for_longer(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy, **{"noise_robust.extend": False})
    members = trained_as(task, task.labels)
    monkeypatch.setattr(algorithm, "_train", lambda *_: pytest.fail("trained"))
    assert algorithm._extend(task, run, member_folds(task, 1), [0], members) == members


def test_a_second_go_begins_with_the_weights_of_the_first(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy)
    (first,) = trained_as(task, task.labels)
    taken: list[Any] = []

    def stage(task: Any, run: Any, name: str, models: Any, *_: Any) -> Any:
        taken.append((name, models[0].state_dict()))
        raise KeyboardInterrupt

    monkeypatch.setattr(algorithm, "train_stage", stage)
    with pytest.raises(KeyboardInterrupt):
        algorithm._train(
            task, run, member_folds(task, 1), [0], task.config.section(NoiseRobust), "extended", [first]
        )
    ((name, weights),) = taken
    assert name == "member-0-extended"
    expected = first.models.state_dict(0)
    assert all(torch.equal(weights[n], expected[n]) for n in expected)


def test_of_members_in_step_the_closest_to_their_mean_keeps_its_weights(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy, **{"ensemble.models": 3})
    task.engine = replace(task.engine, at_once=3)  # type: ignore[type-var]
    half = np.where(np.arange(len(task.labels)) < 0.6 * len(task.labels), task.labels, 0)
    members = trained_as(task, half, task.labels, np.where(task.labels > 0, 1, 0))
    monkeypatch.setattr(algorithm, "_train", lambda *_, **__: members)
    monkeypatch.setattr(algorithm, "_repair", lambda task, run, folds, n, one, cost: one)
    algorithm.train_members(task, run, 3)
    assert [run.has_weights(f"member-{i}") for i in range(3)] == [False, True, False]
    assert closest_member(run, 3, task.labels)[0] == "member-1"


def test_members_that_find_nothing_have_no_part_in_the_mean(
    tiny: Path, toy: list[Sentence], run: Run
) -> None:
    task = task_of(tiny, toy)
    good = certain(task.labels)
    keep(run, task, certain(0 * task.labels), good)
    assert np.allclose(mean_of_members(task, run, 2), good, atol=1e-3)


def test_where_no_member_finds_anything_there_is_an_error(tiny: Path, toy: list[Sentence], run: Run) -> None:
    task = task_of(tiny, toy)
    nothing = certain(0 * task.labels)
    keep(run, task, nothing, nothing)
    with pytest.raises(RosterError, match="no member finds an entity"):
        mean_of_members(task, run, 2)
    assert not run.finished("mean-of-members")
    task = task_of(tiny, toy, **{"noise_robust.repair": False})  # as the paper: whatever comes of it
    assert np.allclose(mean_of_members(task, run, 2), nothing, atol=1e-3)


def test_hold_out_recall_is_noted(tiny: Path, toy: list[Sentence], run: Run) -> None:
    task = task_of(tiny, toy, **{"noise_robust.folds": True})
    good = certain(task.labels)
    keep(run, task, good, good)
    mean_of_members(task, run, 2)
    # The toy has too few names to hold any out.
    assert run.results["stages"]["mean-of-members"]["hold_out_recall"] == {}


def test_distillation_begins_as_the_member_closest_to_the_mean(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy, **{"ensemble.learning_rate": 0.0})  # what it begins with is what it ends with
    good, half = task.labels, np.where(np.arange(len(task.labels)) % 2, task.labels, 0)
    keep(run, task, certain(half), certain(good), certain(0 * good))
    assert closest_member(run, 3, good) == ("member-1", 1.0)
    monkeypatch.setattr(algorithm, "agreement", lambda classes, target: float((classes == target).mean()))
    wanted = task.new_model(TwoHeads, 1).state_dict()
    distil(task, run, certain(good), 3)
    kept = run.weights("ensemble")
    assert all(torch.equal(kept[name], value) for name, value in wanted.items())


@pytest.mark.parametrize("loss", ["separate", "joint"])
def test_the_loss_of_distillation_is_that_of_the_config(
    loss: str, tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, joint = task_of(tiny, toy, **{"ensemble.loss": loss}), []
    keep(run, task, certain(0 * task.labels))
    train_stage = algorithm.train_stage

    def noted(*parts: Any) -> Any:
        joint.append(parts[4].joint)
        return train_stage(*parts)

    monkeypatch.setattr(algorithm, "train_stage", noted)
    distil(task, run, certain(task.labels), 1)
    assert set(joint) == {loss == "joint"}


def test_distillation_goes_on_until_it_agrees(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Round after round from where the last one ended, while it helps and is needed."""
    task = task_of(tiny, toy)
    keep(run, task, certain(0 * task.labels))
    reached = iter([0.0, 0.3, 0.6, 0.7, 0.8])  # the first is the first member's
    monkeypatch.setattr(algorithm, "agreement", lambda classes, target: next(reached))
    distil(task, run, certain(task.labels), 1)
    facts = run.results["stages"]["ensemble"]
    assert (facts["rounds"], facts["agreement"]) == (3, 0.7)
    assert "undone" not in facts


@pytest.mark.parametrize(
    ("shares", "repair", "rounds"),
    [
        ([0.0, 0.99], True, 1),
        ([0.0, 0.3, 0.304], True, 2),
        ([0.0, 0.3, 0.31, 0.32], True, 3),
        ([0.0, 0.3], False, 1),
    ],
)
def test_when_distillation_ends(
    shares: list[float], repair: bool, rounds: int, tiny: Path, toy: list[Sentence], run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """It agrees, or gains no more; without `repair` after one round."""
    task = task_of(tiny, toy, **{"noise_robust.repair": repair})
    keep(run, task, certain(0 * task.labels))
    reached = iter(shares)
    monkeypatch.setattr(algorithm, "agreement", lambda classes, target: next(reached))
    distil(task, run, certain(task.labels), 1)
    assert run.results["stages"]["ensemble"]["rounds"] == rounds


def test_a_round_that_loses_is_not_kept(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy)
    keep(run, task, certain(0 * task.labels))
    shares, weights = iter([0.0, 0.5, 0.3]), []
    train_stage = algorithm.train_stage

    def noted(*parts: Any) -> Any:
        models, facts = train_stage(*parts)
        weights.append({name: value.clone() for name, value in models.state_dict(0).items()})
        return models, facts

    monkeypatch.setattr(algorithm, "train_stage", noted)
    monkeypatch.setattr(algorithm, "agreement", lambda classes, target: next(shares))
    distil(task, run, certain(task.labels), 1)
    facts, kept = run.results["stages"]["ensemble"], run.weights("ensemble")
    assert (facts["rounds"], facts["agreement"]) == (2, 0.5)
    assert all(torch.equal(kept[name], value) for name, value in weights[0].items())
    assert not all(torch.equal(kept[name], value) for name, value in weights[1].items())


@pytest.mark.parametrize("repair", [True, False])
def test_an_ensemble_model_worse_than_a_member_is_undone(
    repair: bool, tiny: Path, toy: list[Sentence], run: Run
) -> None:
    """A round at a rate of 0 leaves the weights of a fresh model, which agrees with nothing."""
    task = task_of(tiny, toy, **{"noise_robust.repair": repair, "ensemble.learning_rate": 0.0})
    good = certain(task.labels)
    keep(run, task, good, seed=4)
    monkey = run.weights("member-0")
    with torch.no_grad():  # what is trained is not what the member found: it goes elsewhere
        monkey["entity_head.bias"].fill_(-20.0)
    distil(task, run, good, 1)
    facts = run.results["stages"]["ensemble"]
    assert ("undone" in facts) == repair
    assert ("that one is taken" in log_of(run)) == repair


@pytest.mark.parametrize("repair", [True, False])
def test_self_training_that_loses_a_type_is_undone(
    repair: bool, tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy, **{"noise_robust.repair": repair, "self_training.learning_rate": 1e-2})
    start = {k: v.clone() for k, v in task.new_model(TwoHeads, 3).state_dict().items()}
    run.finish("ensemble", {}, weights=start)
    monkeypatch.setattr(algorithm, "lost_types", lambda *_: ["PER"])
    self_train(task, run, certain(task.labels), "ensemble")
    facts, kept = run.results["stages"]["self-training"], run.weights("self-training")
    same = all(torch.equal(kept[name], value) for name, value in start.items())
    assert same == repair
    assert ("lost entities of PER" in facts.get("undone", "")) == repair
    assert ("self-training lost entities of PER; it is undone" in log_of(run)) == repair


def test_self_training_that_loses_nothing_stays(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(tiny, toy, **{"self_training.learning_rate": 1e-2})
    start = {k: v.clone() for k, v in task.new_model(TwoHeads, 3).state_dict().items()}
    run.finish("ensemble", {}, weights=start)
    monkeypatch.setattr(algorithm, "lost_types", lambda *_: [])
    self_train(task, run, certain(task.labels), "ensemble")
    kept = run.weights("self-training")
    assert not all(torch.equal(kept[name], value) for name, value in start.items())
    assert "undone" not in run.results["stages"]["self-training"]


@pytest.mark.parametrize(
    ("share", "repair", "trained"), [(0.86, True, False), (0.87, True, True), (0.5, False, True)]
)
def test_a_model_that_did_not_follow_the_mean_does_not_teach_itself(
    share: float, repair: bool, trained: bool, tiny: Path, toy: list[Sentence], run: Run
) -> None:
    task = task_of(tiny, toy, **{"noise_robust.repair": repair})
    run.finish("ensemble", {"agreement": share})
    assert algorithm.follows_the_mean(task, run) == trained
    assert ("no self-training" in log_of(run)) != trained


def test_a_run_without_self_training_ends_with_the_ensemble_model(
    tiny: Path, toy: list[Sentence], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(algorithm, "FOLLOWED", 2.0)
    task = task_of(tiny, toy)
    keep(run, task, certain(task.labels), certain(task.labels))
    model = algorithm.train_roster(task, run)
    assert "self-training" not in run.results["stages"]
    weights = run.weights("ensemble")
    assert all(torch.equal(weights[name], value) for name, value in model.state_dict().items())
