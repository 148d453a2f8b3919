"""Training on a CPU: no more threads than cores, and scores in the numbers of prediction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from roster.corpus.sentence import Sentence
from roster.methods.request import load_config
from roster.methods.roster.head import TwoHeads
from roster.model import reading
from roster.model.reading import read_probabilities
from roster.training.task import Task

TYPES = ("PER", "LOC")


def build(tiny: Path, toy: list[Sentence]) -> Task:
    values = {"backbone.name": str(tiny), "backbone.max_length": 32, "optimiser.device": "cpu"}
    return Task.build(load_config(overrides=values), TYPES, toy, {"test": toy[:20]})


def test_no_more_threads_than_cores(tiny: Path, toy: list[Sentence], monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    try:
        torch.set_num_threads(2)
        build(tiny, toy)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_scores_are_those_of_prediction(
    tiny: Path, toy: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A processor with bf16 trains in it, and is scored in float32 all the same."""
    monkeypatch.setattr(reading, "multiplies_bf16", lambda: True)
    task = build(tiny, toy)
    model = task.new_model(TwoHeads, 1)
    models = task.engine.take([model])
    corpus = task.splits["test"].corpus
    exact = read_probabilities(model, corpus, "float32").numpy()
    np.testing.assert_array_equal(task.read_splits(models)["test"][0], exact)
    assert not np.array_equal(models.read(corpus)[0].numpy(), exact)  # as it is read in training
