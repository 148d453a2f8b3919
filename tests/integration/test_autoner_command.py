"""AutoNER from two dictionaries to a model: label, train, evaluate, predict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PEOPLE = ("Ada", "Boris", "Clara", "Dmitri", "Elena", "Farid", "Greta", "Hugo")
PLACES = ("Oslo", "Lima", "Cairo", "Quito", "Turin", "Dakar", "Porto", "Minsk")
VALUES = ("--method", "autoner", "--set", "autoner.epochs=10", "--set", "autoner.learning_rate=5e-3")


@pytest.fixture(scope="module")
def dataset(roster: Any, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy corpus, with the names of a core dictionary labelled and those of a full one left open."""
    folder = tmp_path_factory.mktemp("autoner")
    core = [f"PER\t{name}\n" for name in PEOPLE[1:]] + [f"LOC\t{name}\n" for name in PLACES[1:]]
    (folder / "core.txt").write_text("".join(core), encoding="utf-8")
    (folder / "full.txt").write_text("".join(f"{name}\n" for name in PEOPLE + PLACES), encoding="utf-8")
    done = roster(
        "label", corpus / "train_text.txt", "--dictionary", folder / "core.txt", folder / "full.txt",
        "--overlap", "squares", "--case", "exact", "--workers", "1", "--no-cache", "-o", folder / "data",
    )  # fmt: skip
    assert done.code == 0, done.err
    records = [json.loads(line) for line in (folder / "data" / "train.jsonl").read_text().splitlines()]
    open_ = {r["text"][x["start"] : x["end"]] for r in records for x in r.get("unknown", [])}
    assert open_ == {"Ada", "Oslo"}
    done = roster("convert", corpus / "test_text.txt", folder / "data" / "test.jsonl")
    assert done.code == 0, done.err
    return folder / "data"


def test_two_dictionaries_to_a_model(
    dataset: Path, settings: dict[str, Path], roster: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = roster("train", dataset, "-o", run, "--config", settings["autoner"], *VALUES)
    assert done.code == 0, done.err
    said = json.loads((run / "results.json").read_text())["stages"]["autoner"]["scores"]["test"]
    # Nothing found scores 0; one type everywhere, with all borders right, about 0.5.
    assert said["f1"] > 0.8
    done = roster("evaluate", run, dataset / "test.jsonl", "--json")
    assert json.loads(done.out) == said
    done = roster("predict", run / "model", stdin="Mr Boris met Mr Hugo in Lima .")
    assert done.code == 0, done.err
    spans = json.loads(done.out)["spans"]
    assert [(s["text"], s["label"]) for s in spans] == [("Boris", "PER"), ("Hugo", "PER"), ("Lima", "LOC")]
    assert all(0 < s["score"] <= 1 for s in spans)


def test_without_a_full_dictionary(
    corpus: Path, settings: dict[str, Path], roster: Any, tmp_path: Path
) -> None:
    """Lines of tags hold no phrases: said before anything is trained, with both ways out."""
    run = tmp_path / "run"
    done = roster(
        "train", corpus, "-o", run, "--config", settings["autoner"], *VALUES, "--set", "autoner.phrases=true"
    )
    assert done.code == 2
    assert "--dictionary core.txt full.txt" in done.err
    assert "--set autoner.phrases=false" in done.err
    assert not run.exists()
    done = roster(
        "train", corpus, "-o", run, "--config", settings["autoner"], *VALUES
    )  # as derived: without phrases
    assert done.code == 0, done.err
    assert "phrases = false" in (run / "config.toml").read_text()
    assert json.loads((run / "results.json").read_text())["stages"]["autoner"]["scores"]["test"]["f1"] > 0.8
