"""`python -m benchmarks training` as a user runs it, on the toy corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SHORT = ("backbone.max_length=32", "optimiser.device=cpu", "optimiser.batch_size=8", "noise_robust.epochs=1",
         "noise_robust.repair=false", "ensemble.models=2", "ensemble.epochs=1",
         "self_training.epochs=1")  # fmt: skip
STAGES = ["members", "ensemble", "self-training", "rest"]


def test_one_size(benchmarks: Any, corpus: Path, backbone: Path, tmp_path: Path) -> None:
    values = [part for value in SHORT for part in ("--set", value)]
    values += ["--set", "optimiser.precision=float32", "--sizes", "80", "--seeds", "3", "--engines", "plain"]
    done = benchmarks("training", corpus, "--backbone", backbone, *values,
                       "--json", "-o", tmp_path / "out.jsonl")  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["benchmark"] == "training"
    assert report["workload"]["seeds"] == [3]
    assert report["workload"]["given"]["noise_robust.epochs"] == 1
    (result,) = report["results"]
    assert (result["engine"], result["status"], result["message"]) == ("plain", "ok", "")
    assert result["config"]["noise_robust"]["epochs"] == 1  # as given
    assert result["config"]["noise_robust"]["folds"]  # as derived: the paper has none
    assert result["sentences"] == 80
    total = result["total_seconds"]["median"]
    assert list(result["stages"]) == STAGES
    assert sum(stage["median"] for stage in result["stages"].values()) == pytest.approx(total, abs=0.01)
    assert total < result["process_seconds"]["median"]
    assert result["words_per_second"]["median"] == pytest.approx(result["words"] / total)
    assert 0 <= result["f1"]["median"] <= 1
    assert result["peak_memory"]["median"] > 2**26
    assert result["peak_gpu_memory"] is None
    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(line)["engine"] == "plain"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engines", "warp"], "'optimiser.engine' must be one of auto, plain, fast, not 'warp'"),
        (["--set", "no.such=1"], "there is no option 'no'"),
        (["--backbone", "./no-such"], "there is no backbone folder no-such"),
        (["--sizes", "0"], "--sizes must be more than 0, not 0"),
        (["no-such-data"], "no-such-data: no such file or folder"),
    ],
)
def test_mistakes(arguments: list[str], message: str, benchmarks: Any) -> None:
    done = benchmarks("training", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.splitlines()[-1].startswith("benchmarks: ")
    assert not done.out
