"""Scores on the way: at the steps that were asked for, of the model as it is there, and no trace in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from roster.accelerate.engine import FastEngine
from roster.config import Config
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.methods.request import load_config
from roster.methods.train import train
from roster.model.weights import load_tensors
from roster.training.curve import steps_of
from roster.training.run import Run

WEIGHTS = Path("model") / "roster.safetensors"


@pytest.fixture(scope="module")
def config(tiny: Path) -> Config:
    return load_config(
        overrides={
            "backbone.name": str(tiny),
            "backbone.max_length": 32,
            "optimiser.device": "cpu",
            "optimiser.batch_size": 8,
            "noise_robust.epochs": 3,
            "noise_robust.learning_rate": 5e-3,
            "ensemble.enabled": False,
            "self_training.epochs": 3,
            "self_training.learning_rate": 1e-3,
            "self_training.update_every": 5,
            "self_training.threshold": 0.4,
        }
    )


@pytest.fixture(scope="module")
def data(toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    write(folder / "train.jsonl", toy)
    write(folder / "test.jsonl", toy[:20])
    return folder


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_tensors(run / WEIGHTS)[0]


@pytest.mark.parametrize("engine", ["plain", "fast"])
def test_watching_changes_nothing(
    engine: str, config: Config, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "fast":
        monkeypatch.setattr(
            "roster.methods.train.choose_engine",
            lambda config, *_, **__: FastEngine(config, torch.device("cpu"), 1, []),
        )
    train(data, tmp_path / "alone", config)
    curves = {"self-training": 7, "member-0": 2}
    results = train(data, tmp_path / "watched", config, curves=curves)
    alone, watched = weights(tmp_path / "alone"), weights(tmp_path / "watched")
    assert all(torch.equal(alone[name], watched[name]) for name in alone)
    total = 8 * 3
    for stage, points in curves.items():
        facts = results["stages"][stage]
        assert [point["step"] for point in facts["curve"]] == steps_of(total, points)
        last = facts["curve"][-1]["scores"]["test"]
        assert last == {key: facts["scores"]["test"][key] for key in last}
    first = results["stages"]["self-training"]["curve"][0]["scores"]["test"]["f1"]
    assert first == results["stages"]["member-0"]["scores"]["test"]["f1"]


def test_a_resumed_run_has_the_whole_curve(
    config: Config, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROSTER_CHECKPOINT_SECONDS", "0")
    curves = {"self-training": 6}
    whole = train(data, tmp_path / "whole", config, curves=curves)
    after_epoch = Run.after_epoch

    def stopping(self: Run, stage: str, epochs: int) -> Any:
        save = after_epoch(self, stage, epochs)

        def save_and_stop(epoch: int, take: Any) -> None:
            save(epoch, take)
            if stage == "self-training" and epoch == 2:
                raise KeyboardInterrupt

        return save_and_stop

    with monkeypatch.context() as patch:
        patch.setattr(Run, "after_epoch", stopping)
        with pytest.raises(KeyboardInterrupt):
            train(data, tmp_path / "run", config, curves=curves)
    with (tmp_path / "run" / "points" / "curve.jsonl").open("a") as file:
        file.write('{"stage": "self-tr')  # killed while writing
    resumed = train(data, tmp_path / "run", config, curves=curves)
    assert resumed["stages"]["self-training"]["curve"] == whole["stages"]["self-training"]["curve"]
