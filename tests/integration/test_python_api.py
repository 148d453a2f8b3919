"""The chain in Python: texts and names in memory, labels, training, a recogniser; nothing goes through files
that the caller has to name but the run folder."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

import roster
from roster.errors import ConfigError, DataError

NAMES = {"Ada": "PER", "Boris": "PER", "Oslo": "LOC", "Lima": "LOC"}
TEXTS = ["Mr Ada lives in Oslo .", "Boris met Ada in Lima .", "nobody was there ."]
FOUND = [{"Ada": "PER", "Oslo": "LOC"}, {"Boris": "PER", "Ada": "PER", "Lima": "LOC"}, {}]


def found_in(labels: Any) -> list[dict[str, str]]:
    return [{s.span_text(x): x.label for x in s.spans} for s in labels]


@pytest.mark.parametrize(
    "make",
    [
        lambda names: names,
        lambda names: {"PER": ["Ada", "Boris"], "LOC": ("Oslo", "Lima")},
        lambda names: list(names.items()),
        lambda names: iter(names.items()),
        lambda names: [[name, kind] for name, kind in names.items()],
        lambda names: pandas.DataFrame({"type": names.values(), "name": names.keys()}),
    ],
)
def test_names_of_every_kind(make: Callable[[dict[str, str]], Any]) -> None:
    labels = roster.label(TEXTS, make(NAMES))
    assert found_in(labels) == FOUND
    assert found_in(labels) == FOUND  # as often as one likes
    assert dict(labels.report.labels) == {"PER": 3, "LOC": 2}


def test_names_in_files_and_texts_in_memory(tmp_path: Path) -> None:
    for kind in ("PER", "LOC"):
        lines = [f"{name}\t{kind}\n" for name, of in NAMES.items() if of == kind]
        (tmp_path / f"{kind}.tsv").write_text("".join([*lines, f"Quito Town\t{kind}\n"]), encoding="utf-8")
    files = [tmp_path / "PER.tsv", str(tmp_path / "LOC.tsv")]
    assert found_in(roster.label(pandas.Series(TEXTS), files)) == FOUND


def test_what_is_no_dictionary() -> None:
    for names, message in (
        ([("Ada", None)], "entry 0: expected a type"),
        ([("Ada", "PER"), "Oslo"], "entry 1: expected a name and its type, found 'Oslo'"),
        ({"Ada": 3}, "entry 0: expected a type"),
        ({"PER": ["Ada", float("nan")]}, "entry 1: expected a name"),
        (pandas.DataFrame({"a": ["Ada"], "b": ["PER"]}), "two columns.*found 'a', 'b'"),
    ):
        with pytest.raises(DataError, match=message):
            roster.label(TEXTS, names)
    with pytest.raises(ConfigError, match="nothing to label with"):
        roster.label(TEXTS)


def test_the_files_of_names_in_memory_go_with_the_labels(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    labels = roster.label(TEXTS, NAMES)
    assert found_in(labels) == FOUND
    del labels
    assert not list(tmp_path.iterdir())


def test_labels_are_saved_by_a_path(tmp_path: Path) -> None:
    roster.label(TEXTS, NAMES).save(tmp_path / "data")
    assert found_in(roster.read(tmp_path / "data" / "train.jsonl")) == FOUND
    roster.label(TEXTS, NAMES).save(str(tmp_path / "labels.conll"))
    assert found_in(roster.read(tmp_path / "labels.conll")) == FOUND


def test_from_texts_to_a_recogniser(
    corpus: Path, backbone: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Labels go straight into training, and the result predicts and is scored; the same from a file."""
    texts = (corpus / "train_text.txt").read_text(encoding="utf-8").splitlines()
    names = {"PER": ["Ada", "Boris", "Clara", "Dmitri", "Elena"], "LOC": ["Oslo", "Lima", "Cairo", "Quito"]}
    labels = roster.label(texts, names)
    settings = {"ensemble.models": 2, "optimiser.batch_size": 8, "noise_robust.epochs": 8,
                "noise_robust.learning_rate": 5e-3, "ensemble.learning_rate": 5e-3}  # fmt: skip
    told: list[str] = []
    ner = roster.train(labels, tmp_path / "run", backbone=str(backbone), overrides=settings, log=told.append)
    assert any(f"{len(texts)} sentences" in line for line in told)
    assert {e.text: e.label for e in ner("Mr Ada lives in Oslo .")} == {"Ada": "PER", "Oslo": "LOC"}
    scores = roster.evaluate(ner, corpus / "test_text.txt")
    assert scores.as_dict()["f1"] > 0.6

    labels.save(tmp_path / "data")
    with caplog.at_level(logging.INFO, logger="roster"):
        again = roster.train(
            tmp_path / "data", tmp_path / "again", backbone=str(backbone), overrides=settings
        )
    logged = [(record.name, record.getMessage().split(":")[0]) for record in caplog.records]
    assert ("roster", "member-0") in logged
    assert ("roster", "self-training") in logged
    line = "yesterday Mr Farid said nothing in Turin ."
    assert [(e.text, e.label, e.score) for e in again(line)] == [
        (e.text, e.label, e.score) for e in ner(line)
    ]


def test_sentences_without_labels_cannot_be_trained_on(tmp_path: Path) -> None:
    plain = [roster.Sentence.from_words(["Ada", "ran"])]
    for sentences, message in (
        (plain, "no labels; make some with roster label"),
        ([], "no sentence"),
        (TEXTS, "train, item 0: expected a labelled Sentence, not a single string"),
        (pandas.DataFrame({"text": TEXTS}), "train, item 0: expected a labelled Sentence"),
    ):
        with pytest.raises(DataError, match=message):
            roster.train(sentences, tmp_path / "run")
    assert not (tmp_path / "run").exists()
