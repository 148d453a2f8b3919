"""`python -m benchmarks step` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_steps(benchmarks: Any, backbone: Path) -> None:
    short = ["--sentences", "64", "--warm", "2", "--steps", "3", "--repeat", "1"]
    short += ["--models", "2", "--engines", "plain", "fast"]  # compiling takes minutes on a CPU
    done = benchmarks("step", "--backbone", backbone, "--device", "cpu", *short, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert [result["case"] for result in report["results"]] == ["plain", "fast, 2 models"]
    for result in report["results"]:
        assert (result["status"], result["message"]) == ("ok", "")
        assert result["step_seconds"]["median"] > 0


def test_what_cannot_be_measured(benchmarks: Any, tmp_path: Path) -> None:
    done = benchmarks("step", "--backbone", tmp_path, "--repeat", "1", "--engines", "plain")
    assert done.code == 1
    assert "plain  failed: " in done.out
