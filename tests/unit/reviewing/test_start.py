"""Beginning a review with a trained model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import roster
from roster.api.review import training_text
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, DataError, RunError
from roster.files import write_json
from roster.reviewing.prediction import sample


@pytest.fixture(scope="module")
def ner(trained: Path) -> roster.Recogniser:
    return roster.load(trained, device="cpu")


def test_predictions_are_those_of_the_recogniser(
    ner: roster.Recogniser, toy: list[Sentence], tmp_path: Path
) -> None:
    with roster.start_review(ner, toy, tmp_path / "review") as review:
        found = review.session.sentences
    assert [s.spans for s in found] == [one.sentence.spans for one in ner.find(toy)]


def test_texts_in_memory_are_split_and_cut_out(ner: roster.Recogniser, tmp_path: Path) -> None:
    with roster.start_review(ner, ["Anna saw Oslo. Carl went to Rome.", ""], tmp_path / "r") as review:
        assert [s.text for s in review.session.sentences] == ["Anna saw Oslo.", "Carl went to Rome."]
        assert review.estimate() is None


def test_the_same_again_goes_on_and_another_is_refused(
    ner: roster.Recogniser, toy: list[Sentence], tmp_path: Path
) -> None:
    folder = tmp_path / "review"
    with roster.start_review(ner, toy, folder) as review:
        review.answer("all right" if review.next().mention is not None else "done")  # type: ignore[union-attr]
    with roster.start_review(ner, toy, folder) as review:
        assert review.session.answered == 1
    with pytest.raises(RunError, match="another seed"):
        roster.start_review(ner, toy, folder, seed=1)
    with pytest.raises(RunError, match="another text"):
        roster.start_review(ner, tmp_path / "text.txt", folder)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="no review"):
        roster.start_review(ner, toy, tmp_path)


@pytest.fixture
def run(trained: Path, toy: list[Sentence], tmp_path: Path) -> Path:
    """A finished run on a folder as `roster label` makes it."""
    write(tmp_path / "data" / "train.jsonl", toy)
    (tmp_path / "data" / "types.txt").write_text("LOC\nPER\n")
    folder = tmp_path / "run"
    shutil.copytree(trained, folder / "model")
    write_json(folder / "results.json", {"stages": {"model": {}}, "data": {"path": str(tmp_path / "data")}})
    return folder


def test_the_training_text_of_a_run_is_what_it_was_trained_on(run: Path, toy: list[Sentence]) -> None:
    """Not other files of the folder, such as the list of types."""
    text = training_text(run)
    assert text == str(run.parent / "data")
    with roster.start_review(run, text, run / "review", split="train", device="cpu") as review:
        assert [s.words for s in review.session.sentences] == [s.words for s in toy]
    with roster.start_review(run, text, run / "review", split="train", device="cpu") as review:
        assert review.about.text == text


def test_mistakes(ner: roster.Recogniser, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no sentences"):
        roster.start_review(ner, ["", " "], tmp_path / "a")
    with pytest.raises(ConfigError, match="1 or more"):
        roster.start_review(ner, ["Anna"], tmp_path / "b", sentences=0)
    with pytest.raises(DataError, match="no such file"):
        roster.start_review(ner, tmp_path / "missing.txt", tmp_path / "c")
    assert not any(tmp_path.iterdir())


def test_a_sample_of_a_long_text() -> None:
    """Every sentence is as likely as any other, and the sample is in the order of the text."""
    text = [Sentence.from_words([str(i)]) for i in range(20)]
    counts = dict.fromkeys(range(20), 0)
    for seed in range(1500):
        drawn, total = sample(iter([Sentence.from_words([]), *text]), 5, seed)
        numbers = [int(s.words[0]) for s in drawn]
        assert total == 20
        assert numbers == sorted(numbers)
        for number in numbers:
            counts[number] += 1
    assert all(abs(count / 1500 - 0.25) < 0.06 for count in counts.values())
