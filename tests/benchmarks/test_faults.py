"""The benchmark of killed trainings: its moments, its workload, and one kill."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import pytest

from benchmarks.faults.run import FaultsReport, Unbroken, in_stage, stages, trial, unbroken
from benchmarks.faults.workload import CASES, arguments, write_data
from benchmarks.measure import FAILED, OK, Limits, conditions
from roster.corpus.dataset import load_dataset

WHOLE = Unbroken(b"", ["one", "two", "model"], {"one": 0.0, "two": 0.0, "model": 0.0})


def finish(run: Path, *names: str) -> None:
    (run / "results.json").write_text(json.dumps({"stages": {name: {} for name in names}}))


def test_a_moment_in_a_stage(tmp_path: Path) -> None:
    (tmp_path / "points").mkdir()
    reached = in_stage(tmp_path, WHOLE, "two", "writing", Random(0))
    part = tmp_path / "points" / ".checkpoint-000001.safetensors.x.part"
    part.touch()
    assert not reached()  # of the stage before
    finish(tmp_path, "one")
    assert stages(tmp_path) == ["one"]
    assert not reached()
    assert reached()
    part.unlink()
    assert not reached()
    assert not in_stage(tmp_path, WHOLE, "one", "random", Random(0))()  # the training has not begun
    (tmp_path / "config.toml").touch()
    random = in_stage(tmp_path, WHOLE, "one", "random", Random(0))
    assert not random()
    assert random()  # the stage takes no time


def test_the_data(tmp_path: Path) -> None:
    words = write_data(tmp_path / "data")
    train = load_dataset(tmp_path / "data").train
    assert len(train) == 60
    assert {word for sentence in train for word in sentence.words} <= set(words)
    assert 90 < sum(len(sentence.spans or ()) for sentence in train) < 120


def test_one_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("OMP_NUM_THREADS", "1"), ("CUDA_VISIBLE_DEVICES", "")):
        monkeypatch.setenv(name, value)
    if sys.platform != "linux":
        pytest.skip("processes are forked from a server")
    monkeypatch.setitem(CASES, "fine-tune", {**CASES["fine-tune"], "fine_tune.epochs": 6})
    command = arguments("fine-tune", tmp_path)
    whole = unbroken(command, tmp_path / "whole")
    assert list(whole.seconds) == ["fine-tune", "model"]
    found = trial(command, tmp_path / "killed", whole, "fine-tune", "writing", Random(1))
    assert found["status"] == OK, found
    assert found["killed"]
    assert found["same"]
    assert "model" not in found["finished"]
    other = Unbroken(b"other weights", whole.stages, whole.seconds)
    found = trial(command, tmp_path / "killed", other, "model", "random", Random(1))
    assert (found["status"], found["same"], bool(found["message"])) == (FAILED, False, True)


def test_the_table() -> None:
    one = {"method": "bond", "stage": "bond", "moment": "random", "status": OK, "message": "", "killed": True,
           "finished": [], "checkpoints": 2, "partial": 0, "same": True}  # fmt: skip
    other = {**one, "partial": 1, "checkpoints": 0, "same": False, "status": FAILED}
    report = FaultsReport(conditions("faults", ("torch",), 1, Limits(0.0)), (one, other))
    lines = report.text().splitlines()
    assert [line.split() for line in lines if "bond" in line] == [["bond,", "bond", "2", "1", "1", "1"]]
    assert "1 of 2" in lines
    assert report.failed() == ["bond, bond"]
