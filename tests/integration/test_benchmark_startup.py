"""`python -m benchmarks startup` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_commands(benchmarks: Any, model: Path, tmp_path: Path) -> None:
    done = benchmarks("startup", model, "--repeat", "1", "--json", "-o", tmp_path / "out.jsonl")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["benchmark"] == "startup"
    *quick, predict = report["results"]
    assert [result["command"] for result in quick] == ["roster --help", "roster --version"]
    assert predict["command"].startswith("roster predict ")
    for result in report["results"]:
        assert (result["status"], result["imports"]) == ("ok", [])
        assert result["first_seconds"] > 0
        assert result["seconds"]["runs"] == 1
    assert max(result["seconds"]["median"] for result in quick) < predict["seconds"]["median"]
    assert max(result["peak_memory"]["max"] for result in quick) < 2**26 < predict["peak_memory"]["min"]
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


def test_a_model_that_cannot_be_used(benchmarks: Any, tmp_path: Path) -> None:
    """What fails is in the table, is told at the end, and makes the exit code 1."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "roster.json").write_text("{}")
    done = benchmarks("startup", tmp_path / "broken", "--repeat", "1")
    assert done.code == 1
    assert done.err.splitlines()[-1] == "benchmarks: roster predict broken failed; the results give the error"
    assert "roster predict broken  failed: ended with code 2: roster: " in done.out
