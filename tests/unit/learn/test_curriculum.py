"""The curriculum: which words are hard, when they are let in, and the stage in a run, stopped and not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from torch import Tensor

from roster.config import NoiseRobust, Optimiser, load_config
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError
from roster.learn import fast, loop
from roster.learn.curriculum import LEAST, CurriculumObjective, disagreement, place_in_class, portion
from roster.learn.loop import Checkpoint, PlainModels, Schedule
from roster.learn.masking import input_mask
from roster.learn.task import Task
from roster.learn.train import train
from roster.model.decoding import io_classes
from roster.model.stack.models import Stack

CPU = torch.device("cpu")
EPOCHS = 3


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 4), st.floats(0.01, 3))
def test_disagreement_is_the_mean_over_pairs(seed: int, k: int, classes: int, spread: float) -> None:
    voters = np.random.default_rng(seed).dirichlet([spread] * classes, (k, 6)).astype(np.float16)
    found = disagreement(voters)
    p = np.maximum(voters.astype(np.float64), LEAST)
    pairs = [(p[i], p[j]) for i in range(k) for j in range(i)]
    expected = np.mean([(rel_entr(a, b) + rel_entr(b, a)).sum(-1) for a, b in pairs], axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_voters_that_are_sure_of_the_opposite_disagree_most() -> None:
    one = np.array([[1, 0], [0.5, 0.5], [0.9, 0.1]], np.float16)
    other = np.array([[0, 1], [0.5, 0.5], [0.8, 0.2]], np.float16)
    found = disagreement([one, other])
    assert np.isfinite(found).all()
    assert found[1] == pytest.approx(0, abs=1e-6)
    assert found[0] > found[2] > found[1]
    with pytest.raises(ValueError, match="two voters"):
        disagreement([one])


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 2.0])), max_size=30))
def test_places_are_those_among_words_of_the_same_label(words: list[tuple[int, float]]) -> None:
    labels, hard = np.array([x[0] for x in words], np.int16), np.array([x[1] for x in words])
    places = place_in_class(hard, labels)
    for label in set(labels.tolist()):
        mine = places[labels == label]
        np.testing.assert_allclose(np.sort(mine), np.arange(len(mine)) / len(mine))
        assert (np.diff(hard[labels == label][np.argsort(mine)]) >= 0).all()


@given(st.integers(1, 12), st.integers(1, 8))
def test_portions_grow_to_everything(epochs: int, portions: int) -> None:
    shares = [portion(epoch, epochs, portions) for epoch in range(epochs)]
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1
    if epochs >= portions:
        assert shares[-1] == 1
        steps = np.diff([0.0, *dict.fromkeys(shares)])
        np.testing.assert_allclose(steps[1:], steps[:-1] / 2)


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    overrides = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    return Task.build(load_config(overrides=overrides), ("PER", "LOC"), toy, {})


def hardness(task: Task) -> np.ndarray:
    return np.random.default_rng(0).permutation(task.corpus.n_words).astype(np.float32)


def curriculum(task: Task, **options: Any) -> CurriculumObjective:
    config = NoiseRobust(**{"epochs": EPOCHS, "update_every": 5, "tau": 0.4, "curriculum": 3, **options})
    labels = io_classes(task.sentences, task.types)
    mask = input_mask(0.0, task.encoder, CPU)
    return CurriculumObjective(task.corpus, labels, config, 3, mask, hardness(task))


def test_easy_words_first(task: Task) -> None:
    """A word that is not let in counts no more than one that is not there."""
    objective, n = curriculum(task), task.corpus.n_words
    words = torch.randperm(n, generator=torch.Generator().manual_seed(0)).unsqueeze(0)
    b, z = torch.randn(1, n, generator=torch.Generator().manual_seed(1)), torch.zeros(1, n, 2)
    where = objective.admitted.data_ptr()
    for epoch, share in enumerate((4 / 7, 6 / 7, 1.0)):
        objective.start_epoch(PlainModels(task.new_model("two-heads", 0), "float32"), epoch)
        labels = io_classes(task.sentences, task.types)
        easy = torch.zeros(n, dtype=torch.bool)
        for label in range(3):  # of every label the same share, so that none has a phase of its own
            mine = np.flatnonzero(labels == label)
            order = mine[np.argsort(hardness(task)[mine])]
            easy[order[: int(np.ceil(share * len(mine) - 1e-9))]] = True
        assert torch.equal(objective.admitted.bool(), easy)
        assert objective.admitted.data_ptr() == where  # a captured step reads there
        found = objective.loss([(b, z)], words, torch.ones(1, n))
        kept = easy[words[0]]
        alone = super(CurriculumObjective, objective).loss(
            [(b[:, kept], z[:, kept])], words[:, kept], torch.ones(1, int(kept.sum()))
        )
        torch.testing.assert_close(found, alone)
        loud = torch.where(kept, b, 50.0)  # whatever the model says of the others
        torch.testing.assert_close(objective.loss([(loud, z)], words, torch.ones(1, n)), found)


@pytest.mark.parametrize("engine", ["plain", "fast"])
def test_two_runs_and_a_resumed_one_are_bit_identical(
    engine: str, task: Task, stopped: Callable[[Callable[..., Any]], Checkpoint]
) -> None:
    schedule, optimiser = Schedule(EPOCHS, 3e-3), Optimiser(8)

    def fitted(**options: Any) -> dict[str, Tensor]:
        model, objective = task.new_model("two-heads", 7), curriculum(task)
        if engine == "plain":
            loop.fit(
                PlainModels(model, "float32"), objective, schedule, optimiser, 1, description="", **options
            )
            return dict(model.state_dict())
        stack = Stack.of([model], torch.float32, CPU)
        fast.fit(stack, objective, schedule, optimiser, [1], description="", **options)
        return dict(stack.state_dict(0))

    whole, again, resumed = fitted(), fitted(), fitted(resume=stopped(fitted))
    assert all(torch.equal(whole[name], again[name]) for name in whole)
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_a_whole_run(tiny: Path, toy: list[Sentence], tmp_path: Path) -> None:
    """In the place of the ensemble model, and better than any one class for all words."""
    write(tmp_path / "train.jsonl", toy)
    config = load_config(overrides={
        "backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu",
        "optimiser.batch_size": 8, "noise_robust.epochs": 12, "noise_robust.learning_rate": 5e-3,
        "noise_robust.update_every": 40, "noise_robust.curriculum": 3,
        "noise_robust.remove_labels": False, "noise_robust.drop_o": 0, "ensemble.models": 2,
        "self_training.epochs": 1, "self_training.update_every": 5,
    })  # fmt: skip
    results = train(tmp_path / "train.jsonl", tmp_path / "run", config, report={"test": toy})["stages"]
    stages = ["member-0", "member-1", "mean-of-members", "curriculum", "self-training", "model"]
    assert list(results) == stages
    assert results["curriculum"]["steps"] == 12 * 8
    assert results["curriculum"]["scores"]["test"]["f1"] > 0.9


@pytest.mark.parametrize("change", [{"ensemble.enabled": False}, {"ensemble.models": 1}])
def test_no_curriculum_without_voters(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"noise_robust\.curriculum.*needs two.*ensemble\.models"):
        load_config(overrides={"noise_robust.curriculum": 5, **change})
