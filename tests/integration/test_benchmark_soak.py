"""`python -m benchmarks soak` with a tiny model: the service under load, in short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_a_short_storm(benchmarks: Any, trained: Path, tmp_path: Path) -> None:
    done = benchmarks("soak", trained, "--clients", "60", "--seconds", "12", "--json", "-o",
                      tmp_path / "out.jsonl", "--serve", "--max-requests 8 --device cpu")  # fmt: skip
    report = json.loads(done.out)
    (result,) = report["results"]
    assert (done.code, result["status"], result["message"]) == (0, "ok", ""), result["problems"]
    assert result["errors"] == 0
    assert result["compared"] > 0
    assert result["refused"]["overload"] > 0
    assert set(result["rejected"]) <= {"400", "404", "405", "413", "415", "422"}
    assert result["rejected"]
    assert result["exit_code"] == 0
    assert result["health_ms"]["requests"] > 0
    assert result["memory"]["max"] - result["memory"]["start"] < 300 * 2**20
    assert result["files"]["end"] <= result["files"]["start"] + 2 < result["files"]["max"]
    assert json.loads((tmp_path / "out.jsonl").read_text())["served"] == result["served"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "required: MODEL"), (["no-such"], "there is no model in no-such"),
     (["x", "--clients", "0"], "--clients must be more than 0, not 0")],
)  # fmt: skip
def test_mistakes(arguments: list[str], message: str, benchmarks: Any) -> None:
    done = benchmarks("soak", *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_service_that_does_not_start(benchmarks: Any, trained: Path) -> None:
    done = benchmarks("soak", trained, "--seconds", "1", "--serve", "--max-requests 0")
    assert done.code == 1
    assert "--max-requests must be more than 0" in done.out
