"""`roster.Recognizer` with scikit-learn's own functions, and trained on a toy."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from sklearn.base import clone

import roster
from roster.errors import ConfigError, DataError

TEXTS = ["Anna went to Paris .", "Carl saw Oslo .", "then Dora went to Rome .", "the house with Anna ."] * 6
NAMES = {"PER": ["Anna", "Carl", "Dora"], "LOC": ["Paris", "Oslo", "Rome"]}


@pytest.fixture(scope="module")
def fitted(tiny: Path) -> roster.Recognizer:
    values = {
        "backbone.max_length": 24,
        "optimiser.device": "cpu",
        "optimiser.precision": "float32",
        "optimiser.batch_size": 8,
        "fine_tune.epochs": 20,
        "fine_tune.learning_rate": 5e-3,
    }
    return roster.Recognizer(method="fine-tune", backbone=str(tiny), overrides=values).fit(TEXTS, NAMES)


def test_settings() -> None:
    one = roster.Recognizer("run", {"builtin": ["DATE"]}, minutes=3, overrides={"ensemble.models": 2})
    assert set(one.get_params()) == {"run", "labelling", "minutes", "overrides"}
    other = clone(one)
    assert other is not one
    assert other.get_params() == one.get_params()
    assert other.set_params(minutes=4, run=None) is other
    assert (
        repr(other)
        == "Recognizer(labelling={'builtin': ['DATE']}, minutes=4, overrides={'ensemble.models': 2})"
    )
    assert one.get_params()["minutes"] == 3


def test_fit_predict_score(fitted: roster.Recognizer) -> None:
    found = fitted.predict(TEXTS[:2])
    assert [[(e.text, e.label) for e in entities] for entities in found] == [
        [("Anna", "PER"), ("Paris", "LOC")],
        [("Carl", "PER"), ("Oslo", "LOC")],
    ]
    gold = [[(0, 4, "PER"), (13, 18, "LOC")], [{"start": 0, "end": 4, "label": "PER"}]]
    assert fitted.score(TEXTS[:2], gold) == pytest.approx(2 * 3 / 7)
    assert fitted.score(iter(TEXTS[:2]), found) == 1
    with pytest.raises(DataError, match="expected gold spans for 2 texts, found them for 1"):
        fitted.score(TEXTS[:2], gold[:1])
    with pytest.raises(DataError, match="text 1: span 0 to 99"):
        fitted.score(TEXTS[:2], [[], [(0, 99, "PER")]])


def test_a_copy_is_not_trained(fitted: roster.Recognizer) -> None:
    with pytest.raises(ConfigError, match=r"not trained; call fit\(texts, names\) first"):
        clone(fitted).predict(TEXTS)


def test_a_temporary_run_folder_goes_with_the_object(fitted: roster.Recognizer) -> None:
    assert fitted._folder is not None
    folder = Path(fitted._folder.name)
    assert (folder / "model" / "roster.json").is_file()
    assert fitted.run is None
    gc.collect()
    assert folder.is_dir()
