"""`python -m benchmarks serving` as a user runs it, small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_a_model(benchmarks: Any, trained: Path, tmp_path: Path) -> None:
    done = benchmarks("serving", trained, "--clients", "1", "3", "--seconds", "0.3", "--repeat", "1",
                      "--no-pipeline", "--json", "-o", tmp_path / "out.jsonl")  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["benchmark"] == "serving"
    assert [(one["name"].partition("/")[2], one["clients"], one["status"]) for one in report["results"]] == [
        ("model", 1, "ok"), ("model", 3, "ok")
    ]  # fmt: skip
    for result in report["results"]:
        assert result["requests_per_second"]["median"] > 0
        assert 0 < result["p50"]["median"] <= result["p99"]["median"]
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "required: MODEL"), (["no-such"], "there is no model in no-such"),
     (["x", "--clients", "0"], "--clients must be more than 0, not 0"),
     (["x", "--seconds", "0"], "--seconds must be more than 0, not 0")],
)  # fmt: skip
def test_mistakes(arguments: list[str], message: str, benchmarks: Any) -> None:
    done = benchmarks("serving", *arguments)
    assert done.code == 2
    assert message in done.err
