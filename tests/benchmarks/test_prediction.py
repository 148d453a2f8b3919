"""The text, the cases, the summary and the table of `python -m benchmarks prediction`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measure import FAILED, MISSING, OK, TOO_LONG, Limits, Measurement
from benchmarks.prediction.report import PredictionReport
from benchmarks.prediction.run import PredictionCase, _cases, named, run, summary
from benchmarks.prediction.text import TextFile, prepare
from roster.errors import DataError, ModelError

ABOUT = {"cpu": "Some CPU", "cores": 2, "cores_allowed": 2, "python": "3.12"}
LOAD = {"text": "t.txt", "sentences": 10, "words": 1000}


def model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "roster.json").write_text("{}")
    return folder


def test_names_of_models(tmp_path: Path) -> None:
    plain, inner = model(tmp_path / "plain"), model(tmp_path / "run" / "model")
    assert named([plain, tmp_path / "run", plain]) == {"plain": plain, "run/model": inner}
    other = model(tmp_path / "other" / "plain")
    assert named([plain, other]) == {str(plain): plain, str(other): other}


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model in .*nowhere; give a model folder, or the run folder"):
        named([tmp_path / "nowhere"])


def test_text_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Ana left .\n\nBo came back .\nNobody cared .\n")
    found = prepare(tmp_path / "in.txt", None, None, tmp_path)
    assert found.file.read_text() == "Ana left .\nBo came back .\nNobody cared .\n"
    assert found.facts() == {"text": "in.txt", "sentences": 3, "words": 10, "bytes": 41}
    assert prepare(tmp_path / "in.txt", None, 4, tmp_path).facts()["words"] == 7


def test_text_of_the_gold_sentences(tmp_path: Path) -> None:
    (tmp_path / "gold.conll").write_text("Ana B-PER\nleft O\n\n")
    assert prepare(None, tmp_path / "gold.conll", None, tmp_path).file.read_text() == "Ana left\n"


def test_synthetic_text(tmp_path: Path) -> None:
    found = prepare(None, None, 500, tmp_path)
    assert (found.name, 500 <= found.words < 600) == ("synthetic", True)


def test_no_words(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(DataError, match=r"empty\.txt: no words"):
        prepare(tmp_path / "empty.txt", None, None, tmp_path)


def test_gold_without_labels(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("Ana left .\n")
    with pytest.raises(DataError, match="no labels to score against"):
        run([model(tmp_path / "m")], gold=tmp_path / "plain.txt", limits=Limits(9), log=lambda line: None)


def test_without_torch_weights_there_is_no_pipeline(tmp_path: Path) -> None:
    """And a model that cannot be loaded is a failure that is told."""
    said: list[str] = []
    report = run(
        [model(tmp_path / "m")], words=50, beside=["pipeline"], repeat=2, limits=Limits(60), log=said.append
    )
    ours, pipeline = report.results
    assert ours["status"] == FAILED
    assert str(tmp_path / "m") in ours["message"]
    assert (pipeline["status"], pipeline["seconds"]) == (MISSING, None)
    assert report.failed() == ["ours m"]
    assert sum(line.startswith("ours m, run 1 of 2: failed") for line in said) == 1
    assert "pipeline missing: no MODEL is one" in " ".join(report.text().split())


def pipelines(models: Sequence[Path], tmp_path: Path) -> list[PredictionCase]:
    """What would be measured of the pipeline beside these models."""
    systems = ["pipeline", "pipeline-32"]
    text = TextFile("t", tmp_path / "t.txt", 1, 1, 1)
    folders = {folder.name: folder for folder in models}
    found = _cases(folders, systems, None, text, tmp_path, Limits(9), lambda line: None)
    assert [case.system for case in found] == [*["ours"] * len(models), *systems]
    return found[len(models) :]


@pytest.fixture
def unfit(trained: Path, tmp_path: Path) -> list[Path]:
    """A head and an encoder that the pipeline has no place for, an export, and a broken folder."""
    crf, bilstm, broken = (
        Path(shutil.copytree(trained, tmp_path / name)) for name in ("crf", "bilstm", "broken")
    )
    facts = json.loads((trained / "roster.json").read_text())
    (crf / "roster.json").write_text(json.dumps({**facts, "kind": "crf"}))
    (bilstm / "config.json").write_text(json.dumps({"model_type": "roster-bilstm-cnn"}))
    (broken / "roster.json").write_text("{")
    return [crf, bilstm, model(tmp_path / "export"), broken]


def test_the_pipeline_takes_the_first_model_that_fits(
    unfit: list[Path], trained: Path, tmp_path: Path
) -> None:
    later = Path(shutil.copytree(trained, tmp_path / "later"))
    for case in pipelines([*unfit, trained, later], tmp_path):
        assert (case.source, case.model, case.ready) == (str(trained), "model", None)


def test_no_model_that_the_pipeline_can_take(unfit: list[Path], tmp_path: Path) -> None:
    for case in pipelines(unfit, tmp_path):
        assert case.ready == Measurement(
            MISSING,
            {},
            "no MODEL is one-head or two-heads on a transformer, with torch weights: crf is crf on a "
            "transformer, bilstm is two-heads on a BiLSTM-CNN, export has no torch weights, broken cannot be "
            "read",
        )


def outcome(seconds: float, **more: Any) -> Measurement:
    facts = {"seconds": seconds, "load_seconds": 0.5, "entities": 7, "peak_memory": 2**28, "version": "1"}
    return Measurement(OK, {**facts, **more})


def outcomes() -> dict[PredictionCase, list[Measurement]]:
    return {
        PredictionCase("ours a", "ours", "/a", "a"): [outcome(1.0, scores={"f1": 0.5}), outcome(2.0)],
        PredictionCase("pipeline", "pipeline", "/a", "a"): [outcome(10.0), outcome(12.0)],
        PredictionCase("spacy", "spacy", "x", "x"): [Measurement(MISSING, {}, "No module named 'spacy'")],
        PredictionCase("spacy-pipe", "spacy-pipe", "y", "y"): [outcome(4.0), outcome(4.0)],
        PredictionCase("pipeline-32", "pipeline-32", "/a", "a"): [
            outcome(5.0),
            Measurement(TOO_LONG, {}, "stopped after 9 s"),
        ],
    }


def test_summary() -> None:
    found = outcomes()
    ours, pipeline, spacy, _, batched = (summary(case, found, 1000) for case in found)
    assert ours["words_per_second"] == {"median": 750.0, "min": 500.0, "max": 1000.0, "runs": 2}
    assert ours["ratios"] == {
        "pipeline": {"median": 8.0, "min": 6.0, "max": 10.0, "runs": 2},
        "spacy-pipe": {"median": 3.0, "min": 2.0, "max": 4.0, "runs": 2},
    }
    assert ours["scores"] == {"f1": 0.5}
    assert pipeline["ratios"]["pipeline"]["median"] == 1.0
    assert (spacy["status"], spacy["ratios"], spacy["seconds"]) == (MISSING, {}, None)
    assert (batched["status"], batched["seconds"]["runs"]) == (TOO_LONG, 1)


def test_the_table() -> None:
    found = outcomes()
    growth = {"measure": "growth", "name": "ours a", "megabytes": 10, "status": OK, "message": ""}
    one = {"median": 2.0, "min": 2.0, "max": 2.0, "runs": 1}
    grown = {**growth, "seconds": one, "words_per_second": one, "peak_memory": {**one, "median": 2**28}}
    broken = {**growth, "megabytes": 100, "status": TOO_LONG, "message": "stopped", "seconds": None}
    results = (*(summary(case, found, 1000) for case in found), grown, broken)
    report = PredictionReport({"machine": ABOUT, "versions": {}, "repeat": 2, "workload": LOAD}, results)
    rows = [" ".join(line.split()) for line in report.text().splitlines()]
    assert rows[0] == "1,000 words in 10 sentences (t.txt)"
    assert "words/s x pipeline x spacy x spacy-pipe memory MiB load s entities F1" in rows
    assert "ours a 750 ±250 8.00 ±2.00 - 3.00 ±1.00 256 0.500 ±0.000 7 0.5000" in rows
    assert "spacy missing: No module named 'spacy'" in rows
    assert "pipeline-32 200 2.00 - 0.800 256 0.500 7 - time limit: stopped after 9 s" in rows
    assert "ours a 10 2.00 2.00 256" in rows
    assert "ours a 100 MB: time limit: stopped" in rows
    assert rows[-1] == "spaCy's recogniser is y."
