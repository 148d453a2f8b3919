"""`python -m benchmarks prediction` as a user runs it, small."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def test_models_beside_others(
    benchmarks: Any, environment: dict[str, str], model: Path, corpus: Path, tmp_path: Path
) -> None:
    """All that is asked for is measured; what is not installed is missing, and no error."""
    (tmp_path / "spacy.py").write_text("raise ImportError('it is not here')\n")
    paths = os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])
    command = type(benchmarks)({**environment, "PYTHONPATH": paths}, tmp_path)
    gold = corpus / "test_text.txt"
    done = command("prediction", model, "--gold", gold, "--systems", "pipeline", "spacy",
                        "--repeat", "1", "--sizes", "0.003", "--json", "-o", "out.jsonl")  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    words = len(gold.read_text().split())
    assert report["benchmark"] == "prediction"
    assert (report["workload"]["text"], report["workload"]["words"]) == ("test_text.txt", words)
    assert {"machine", "versions", "environment", "limits"} <= set(report)
    ours, pipeline, spacy, grown = report["results"]
    assert [ours["system"], pipeline["system"], spacy["system"]] == ["ours", "pipeline", "spacy"]
    assert (spacy["status"], spacy["message"]) == ("missing", "it is not here")
    for result in (ours, pipeline):
        assert (result["status"], result["message"]) == ("ok", "")
        assert result["words_per_second"]["median"] == pytest.approx(words / result["seconds"]["median"])
        assert result["peak_memory"]["median"] > 2**26
        assert result["entities"] > 0
    speed_up = pipeline["seconds"]["median"] / ours["seconds"]["median"]
    assert ours["ratios"]["pipeline"]["median"] == pytest.approx(speed_up)
    assert ours["scores"]["f1"] > 0.5
    assert pipeline["scores"] is None
    assert (grown["measure"], grown["megabytes"], grown["status"]) == ("growth", 0.003, "ok")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["name"] for line in lines] == [result["name"] for result in report["results"]]
    assert all(line["machine"] == report["machine"] for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: MODEL"),
        (["no-such"], "there is no model in no-such; give a model folder"),
        (["x", "--systems", "grep"], "invalid choice: 'grep'"),
        (["x", "--words", "0"], "--words must be more than 0, not 0"),
        (["x", "--sizes", "1", "-2"], "--sizes must be more than 0, not -2"),
        (["x", "--repeat", "0"], "--repeat must be more than 0, not 0"),
    ],
)
def test_mistakes(arguments: list[str], message: str, benchmarks: Any) -> None:
    done = benchmarks("prediction", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.splitlines()[-1].startswith("benchmarks: ")
    assert not done.out
