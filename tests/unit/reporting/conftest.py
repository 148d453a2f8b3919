"""A finished run of the tiny encoder on strange text."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus.dataset import load_dataset
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.methods.request import load_request
from roster.methods.train import train
from tests.unit.reporting.strange import LOC, PER, strange

SETTINGS = {
    "optimiser.device": "cpu", "optimiser.batch_size": 8, "backbone.max_length": 32, "ensemble.models": 2,
    "noise_robust.epochs": 6, "noise_robust.learning_rate": 5e-3, "ensemble.epochs": 3,
    "ensemble.learning_rate": 5e-3, "self_training.epochs": 1,
}  # fmt: skip


@pytest.fixture(scope="session")
def data(toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half of the sentences to train on, a third of whose labels are missing; all are gold to score on."""
    folder = tmp_path_factory.mktemp("reporting") / "data"
    sentences = [strange(s) for s in toy]
    train_part = [
        s.with_spans(x for x in s.spans or () if (x.start + i) % 3) for i, s in enumerate(sentences[:30])
    ]
    write(folder / "train.jsonl", train_part)
    write(folder / "test.jsonl", sentences)
    (folder / "types.txt").write_text(f"{PER}\n{LOC}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def run(data: Path, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; nothing may write to it."""
    folder = tmp_path_factory.mktemp("reporting") / "<run> & \U0001f600"
    train(load_dataset(data), folder, load_request(overrides={**SETTINGS, "backbone.name": str(tiny)}))
    return folder
