"""The chain in Python: texts and names in memory, labels, training, a recogniser; nothing goes through files
that the caller has to name but the run folder."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pandas
import pytest

import roster
from roster.errors import ConfigError, DataError, RosterError

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
        lambda names: pandas.Series(names),
        lambda names: [{"name": name, "type": kind} for name, kind in names.items()],
        lambda names: datasets.Dataset.from_dict({"name": list(names), "type": list(names.values())}),
    ],
)
def test_names_of_every_kind(make: Callable[[dict[str, str]], Any]) -> None:
    labels = roster.label(TEXTS, make(NAMES))
    assert found_in(labels) == FOUND
    assert found_in(labels) == FOUND  # as often as one likes
    assert dict(labels.report.labels) == {"PER": 3, "LOC": 2}


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        iter,
        pandas.Series,
        lambda texts: pandas.Series(texts).to_numpy(),
        lambda texts: pandas.DataFrame({"number": [1, 2, 3], "text": texts}),
        lambda texts: datasets.Dataset.from_dict({"text": texts}),
        lambda texts: datasets.Dataset.from_dict({"text": texts}).to_iterable_dataset(),
        lambda texts: [{"tokens": text.split(), "tags": ["O"] * len(text.split())} for text in texts],
        lambda texts: [roster.Sentence.from_words(text.split()) for text in texts],
    ],
)
def test_texts_of_every_kind(make: Callable[[list[str]], Any]) -> None:
    assert found_in(roster.label(make(TEXTS), NAMES)) == FOUND


def test_what_is_no_text() -> None:
    data = datasets.Dataset.from_dict({"body": TEXTS})
    for texts, message in (
        ("Mr Ada lives in Oslo .", r"no such file; a text to label is given in a list: \[text\]"),
        (data, r"record 0: expected text or tokens, found body.*data\['body'\]"),
        (datasets.DatasetDict({"train": data}), r"not a DatasetDict; give one part of it: data\['train'\]"),
        (pandas.DataFrame({"body": TEXTS}), r"a column 'text'.*frame\['body'\]"),
        (pandas.Series(["Ada", None]), "text 1 is NaN|text 1 is None"),
        (None, "expected several texts, such as a list of strings, not None"),
        ([], "no word in the corpus"),
    ):
        with pytest.raises(DataError, match=message):
            list(roster.label(texts, NAMES))


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
        ([{"a": "Ada", "b": "PER"}], "entry 0: expected a record with two fields.*found 'a', 'b'"),
        ({}, "expected names with their types, found none"),
        (["Ada", "Oslo"], "Ada: no such file; strings are paths of dictionaries"),
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
    with caplog.at_level(logging.INFO, logger="roster"):
        ner = roster.train(labels, tmp_path / "run", backbone=str(backbone), overrides=settings)
    assert any(f"{len(texts)} sentences" in line for line in caplog.messages)
    caplog.clear()
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


def test_labels_of_a_file_are_written_with_their_report(tmp_path: Path) -> None:
    (tmp_path / "news.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    (tmp_path / "label.toml").write_text('[labels]\nLOC = "PLACE"\n', encoding="utf-8")
    options = {"config": tmp_path / "label.toml", "format": "text", "cache": tmp_path / "cache", "workers": 1}
    written = roster.label_file(tmp_path / "news.txt", tmp_path / "data", NAMES, **options)
    assert dict(written.report.labels) == {"PER": 3, "PLACE": 2}
    assert (written.target.file, written.dead_entries) == (tmp_path / "data/train.jsonl", 0)
    assert len(list(roster.read(written.target.file))) == len(TEXTS)
    assert json.loads(written.target.report.read_text(encoding="utf-8")) == written.report.as_dict()
    assert list((tmp_path / "cache/lexicons").iterdir())

    with pytest.raises(RosterError, match="is an input of this command"):
        roster.label_file(tmp_path / "news.txt", tmp_path / "label.toml", NAMES, **{**options, "to": "jsonl"})
    gold = tmp_path / "gold.conll"
    gold.write_text("Ada B-PER\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"gold\.conll: text 1 has 6 words"):
        roster.label_file(tmp_path / "news.txt", tmp_path / "other", NAMES, **options, gold=gold)


@pytest.mark.parametrize("call", [roster.label, partial(roster.label_file, output="data")])
def test_less_than_one_process(call: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="workers must be at least 1, not 0"):
        call("news.txt", names=NAMES, workers=0)


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


def test_an_input_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("Ada\tPER\nOslo\tLOC\nLima\tLOC\n", encoding="utf-8")
    roster.label(TEXTS, NAMES).save(tmp_path / "data")
    data = tmp_path / "data" / "train.jsonl"
    before = data.read_bytes()
    labels = roster.label(data, tmp_path / "names.tsv")
    for action in (
        lambda: labels.save(data),
        lambda: labels.save(tmp_path / "data"),
        lambda: roster.convert(data, data),
    ):
        with pytest.raises(RosterError, match="is an input of this command"):
            action()
    assert data.read_bytes() == before


def test_prediction_from_python(model: Path, tmp_path: Path) -> None:
    records = list(roster.predict(model.parent, TEXTS))
    assert [record["text"] for record in records] == TEXTS
    assert {x["text"]: x["label"] for x in records[0]["spans"]} == FOUND[0]
    ner = roster.load(model, "cpu")
    assert list(roster.predict(ner, pandas.DataFrame({"text": TEXTS}))) == records
    found = [ner(text) for text in TEXTS]
    assert found == list(ner.pipe(pandas.Series(TEXTS))) == list(ner.pipe(pandas.DataFrame({"text": TEXTS})))
    with pytest.raises(
        DataError, match="expected several texts, such as a list of strings, not a single string"
    ):
        list(ner.pipe(TEXTS[0]))

    roster.predict_file(ner, TEXTS, tmp_path / "found.jsonl")
    lines = (tmp_path / "found.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == records
    roster.predict_file(ner, tmp_path / "found.jsonl", tmp_path / "found.conll")
    assert found_in(roster.read(tmp_path / "found.conll")) == FOUND
    assert roster.convert(tmp_path / "found.jsonl", tmp_path / "again.conll") == 3
    assert found_in(roster.read(tmp_path / "again.conll")) == FOUND
    assert roster.evaluate(ner, tmp_path / "found.conll").as_dict()["f1"] == 1

    with pytest.raises(RosterError, match="is an input of this command"):
        roster.predict_file(ner, tmp_path / "found.jsonl", tmp_path / "found.jsonl")
    for missing in (tmp_path / "nothing", TEXTS[0]):
        with pytest.raises(DataError, match="no such file"):
            roster.predict(ner, missing)


def test_scores_of_what_is_not_labelled() -> None:
    labels = roster.label(TEXTS, NAMES)
    assert roster.evaluate(labels, labels).as_dict()["f1"] == 1
    with pytest.raises(
        DataError, match="predictions, item 0: expected a labelled Sentence, not a single string"
    ):
        roster.evaluate(TEXTS, labels)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="gold, item 0: expected a labelled Sentence"):
        roster.evaluate(labels, pandas.Series(TEXTS))


def test_the_config_before_the_training(corpus: Path, backbone: Path) -> None:
    asked: dict[str, Any] = {"backbone": str(backbone), "overrides": {"ensemble.models": 3}}
    derived = roster.effective_config(corpus, **asked)
    assert derived.as_dict()["ensemble"]["models"] == 3
    assert roster.effective_config(config=derived) == derived
    with pytest.raises(ConfigError, match="a Config is complete"):
        roster.effective_config(config=derived, method="bond")


def test_what_is_offered() -> None:
    assert set(dir(roster)) == {*roster.__all__, "__version__"}
    for name in roster.__all__:
        assert getattr(roster, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'lable'"):
        roster.lable  # noqa: B018
