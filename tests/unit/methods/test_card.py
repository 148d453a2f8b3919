"""The model card: what is known, and what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roster.config import Config
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.io import write
from roster.corpus.sentence import Sentence, Span
from roster.methods.card import calibrated_card, licence_of, model_card
from roster.methods.request import load_config

SENTENCE = Sentence.from_words(["Ada", "ran"], [Span(0, 1, "PER|<b>")])
SCORES = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3, "support": 8}


def config(backbone: str) -> Config:
    return load_config(overrides={"backbone.name": backbone})


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    write(tmp_path / "news" / "train.jsonl", [SENTENCE])
    (tmp_path / "news" / "labels.json").write_text(json.dumps({"sources": {"names.tsv": 1181}}))
    return load_dataset(tmp_path / "news")


def test_what_is_known(data: Dataset, tiny: Path) -> None:
    results = {
        "stages": {"fine-tune": {"scores": {"test": {**SCORES, "types": {"PER|<b>": SCORES}}}}},
        "found": {"PER|<b>": {"labels": 1, "labels_found": 1, "found": 2}},
        "warnings": ["PER: few"],
    }
    card = model_card(config(str(tiny)), data.types, data, [*data.train, SENTENCE], [SENTENCE], results)
    front, text = card.split("---\n", 2)[1:]
    assert "license: unknown\n" in front
    assert "base_model" not in front  # a folder of this machine
    assert str(tiny.parent) not in card
    assert f"| backbone | {tiny.name} |" in text
    assert "| data | news |" in text
    assert "| labels | 1, distant" in text
    assert "| sources of the labels | names.tsv (1,181) |" in text
    assert r"| PER\|&lt;b&gt; | .50 | .25 | .33 | 8 |" in text
    assert r"| PER\|&lt;b&gt; | 1 | 1 | 2 |" in text
    assert "- Warning of the training: PER: few.\n" in text
    assert "<b>" not in card


def test_what_is_not_known() -> None:
    data = Dataset.from_sentences([SENTENCE])
    recall = {"all": {"value": 0.5, "error": 0.01, "names": 9}}
    results = {"stages": {"mean-of-members": {"hold_out_recall": recall}}}
    card = model_card(config("someone/some-encoder"), data.types, data, data.train, [], results)
    assert 'base_model: "someone/some-encoder"\n' in card
    assert "| data | in memory |" in card
    assert "| sources of the labels | unknown |" in card
    assert "| licence of the backbone | unknown |" in card
    assert "Not measured" in card
    assert "- estimated recall of names that the dictionary lacks: .50 ± .10" in card
    assert "licences of the text, of the dictionary and of the backbone are not known" in card


def test_the_bundled_backbone() -> None:
    data = Dataset.from_sentences([SENTENCE])
    card = model_card(config("roster-small-en-2"), data.types, data, data.train, [], {})
    assert "The licence of the backbone roster-small-en-2 is Apache-2.0." in card


ERRORS = {"expected calibration error": (0.2, 0.03), "Brier score": (0.19, 0.1)}


def test_scores_are_said_to_be_calibrated_once_they_are() -> None:
    data = Dataset.from_sentences([SENTENCE])
    card = model_card(config("roster-small-en-2"), data.types, data, data.train, [], {})
    assert "Scores are not calibrated" in card
    now = calibrated_card(card, 1234, ERRORS)
    assert "not calibrated" not in now
    assert "the 1,234 entities" in now
    assert "| expected calibration error | 0.200 | 0.030 |" in now
    titles = [[line for line in one.splitlines() if line.startswith("#")] for one in (card, now)]
    assert titles[0] == titles[1]
    for kept in ("## Limits\n\n- Labels from", "license: unknown"):
        assert kept in now
    assert calibrated_card(now, 1234, ERRORS) == now


@pytest.mark.parametrize(
    ("card", "titles"),
    [
        (
            "# A\n\n## Quality\n\nx\n\n## Limits\n\ny\n",
            ["# A", "## Quality", "## Scores of entities", "## Limits"],
        ),
        ("# A\n\nx", ["# A", "## Scores of entities"]),
        ("", ["## Scores of entities"]),
    ],
)
def test_cards_without_the_section(card: str, titles: list[str]) -> None:
    """Of earlier versions, or rewritten by their owner."""
    now = calibrated_card(card, 60, ERRORS)
    assert [line for line in now.splitlines() if line.startswith("#")] == titles
    assert "Scores are calibrated" in now
    assert calibrated_card(now, 60, ERRORS) == now


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: mit\nlanguage: en\n---\n# x", "mit"),
        ('---\nlicense: "apache-2.0"\n---', "apache-2.0"),
        ("# x\n\n| | |\n|---|---|\n| licence | Apache-2.0 |\n", "Apache-2.0"),
        ("# x\n\nIt has a license.", ""),
        ("", ""),
    ],
)
def test_licences(card: str, licence: str) -> None:
    assert licence_of(card) == licence
