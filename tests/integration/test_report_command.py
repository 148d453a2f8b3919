"""The report, the model card and the calibration of a run, by commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.io import read, write


@pytest.fixture
def copy(runs: dict[str, Path], tmp_path: Path) -> Path:
    return shutil.copytree(runs["roster"], tmp_path / "run")


@pytest.mark.parametrize("method", ["roster", "fine-tune", "bond"])
def test_training_writes_a_report_and_a_card(method: str, runs: dict[str, Path], corpus: Path) -> None:
    page = (runs[method] / "report.html").read_text(encoding="utf-8")
    assert "Where labels and model differ" in page
    assert "Measured on" in page
    assert "<script" not in page
    card = (runs[method] / "model" / "README.md").read_text(encoding="utf-8")
    assert f"| method | {method} |" in card
    assert f"| data | {corpus.name} |" in card
    assert "On the split `test`" in card


def test_training_ends_with_estimates_and_the_report(
    corpus: Path, settings: dict[str, Path], roster: Any, tmp_path: Path
) -> None:
    unscored = shutil.copytree(corpus, tmp_path / "data", ignore=shutil.ignore_patterns("test_*"))
    done = roster("train", unscored, "-o", tmp_path / "run", "--config", settings["fine-tune"],
                  "--set", "fine_tune.epochs=1")  # fmt: skip
    assert done.code == 0, done.err
    assert f"the report is {tmp_path / 'run' / 'report.html'}" in done.err
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Not measured" in page
    assert "Where labels and model differ" in page


def test_report(copy: Path, corpus: Path, roster: Any, tmp_path: Path) -> None:
    (copy / "report.html").unlink()
    done = roster("report", copy, "--data", corpus)
    assert (done.code, done.out) == (0, f"{copy / 'report.html'}\n")
    assert "Where labels and model differ" in (copy / "report.html").read_text(encoding="utf-8")
    done = roster("report", copy, "-o", tmp_path / "page.html", "--gold", corpus / "test_text.txt")
    assert done.code == 0, done.err
    assert "the given sentences" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_report_of_what_is_no_run(corpus: Path, roster: Any, tmp_path: Path) -> None:
    done = roster("report", tmp_path)
    assert done.code == 2
    assert "is not a run folder" in done.err


def test_calibrate(copy: Path, corpus: Path, roster: Any, tmp_path: Path) -> None:
    gold = corpus / "train_text.txt"  # the larger file
    before = roster("predict", copy, gold).out
    scored = roster("evaluate", copy, gold, "--json").out
    done = roster("calibrate", copy, gold, "--json")
    assert done.code == 0, done.err
    fit = json.loads(done.out)
    assert json.loads((copy / "model" / "calibration.json").read_text()) == fit
    assert "Scores are calibrated" in (copy / "model" / "README.md").read_text(encoding="utf-8")
    assert set(fit["before"]) == set(fit["after"]) == {"calibration_error", "brier"}
    after = roster("predict", copy, gold).out
    assert after != before

    def spans(lines: str) -> list[Any]:
        records = [json.loads(line) for line in lines.splitlines()]
        return [[{**span, "score": 0} for span in record["spans"]] for record in records]

    assert spans(after) == spans(before)
    assert roster("evaluate", copy, gold, "--json").out == scored
    again = roster("calibrate", copy, gold)
    assert again.code == 0, again.err
    assert [line.split()[0] for line in again.out.splitlines()] == ["before", "expected", "Brier"]


def test_calibrate_refuses_what_it_cannot_fit(copy: Path, corpus: Path, roster: Any, tmp_path: Path) -> None:
    few = list(read(corpus / "test_text.txt"))[:5]
    write(tmp_path / "few.jsonl", few)
    done = roster("calibrate", copy, tmp_path / "few.jsonl")
    assert done.code == 2
    assert "give more sentences with true labels" in done.err
    write(tmp_path / "none.jsonl", [s.with_spans(None) for s in few])
    done = roster("calibrate", copy, tmp_path / "none.jsonl")
    assert done.code == 2
    assert "labels" in done.err
    assert not (copy / "model" / "calibration.json").exists()
