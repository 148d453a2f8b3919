"""A review on disk: saved answers, crashes, damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.review.annotator import answers
from roster.api.review import open_review
from roster.corpus.io import read
from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError, RosterError, RunError
from roster.reviewing.answers import AnswerError
from roster.reviewing.expectation import expect
from roster.reviewing.folder import LAYOUT, About, create, portion
from roster.reviewing.review import Review
from roster.scores import evaluate_sentences

TYPES = ("LOC", "PER")


@pytest.fixture
def folder(tmp_path: Path, toy: list[Sentence]) -> Path:
    """A review of the toy text, by a model that finds only the first name of a sentence."""
    sentences = [sentence.with_spans((sentence.spans or ())[:1]) for sentence in toy]
    p = [np.full((len(sentence), 2), 0.2) for sentence in sentences]
    create_in(tmp_path / "review", sentences, p)
    return tmp_path / "review"


def create_in(folder: Path, sentences: list[Sentence], p: list[np.ndarray]) -> None:
    folder.mkdir()
    about = About("model", "text", TYPES, len(sentences), 20000, 0)
    create(folder, about, sentences, expect(sentences, p, TYPES))


def go_on(review: Review, gold: list[Sentence], sentences: int) -> None:
    for _ in range(sentences):
        question = review.next()
        assert question is not None
        for one in answers(
            question.number, question.sentence, gold[question.number].spans or (), TYPES, False
        ):
            review.answer(one.verdict, one.span)


def test_a_review_goes_on_where_it_ended(folder: Path, toy: list[Sentence]) -> None:
    with open_review(folder) as review:
        go_on(review, toy, 12)
        review.answer("skip")
        go_on(review, toy, 3)
        assert review.undo()
        before = review.next(), review.status()
    with open_review(folder) as review:
        assert (review.next(), review.status()) == before
        assert before[1]["scores"]["f1"]["low"] < before[1]["scores"]["f1"]["high"]


@pytest.mark.parametrize("torn", [b'{"sentence": 1, "verd', b"{", b'{"undo": true}'])
def test_a_torn_last_line_is_dropped(folder: Path, toy: list[Sentence], torn: bytes) -> None:
    with open_review(folder) as review:
        go_on(review, toy, 11)
        before = review.next()
    with (folder / "answers.jsonl").open("ab") as file:
        file.write(torn)
    with open_review(folder) as review:
        assert review.next() == before
        go_on(review, toy, 1)
    with open_review(folder) as review:
        assert review.status()["sentences"] == 12


def test_every_answer_is_on_the_disk_at_once(folder: Path, toy: list[Sentence]) -> None:
    with open_review(folder) as review:
        for number in range(1, 6):
            go_on(review, toy, 1)
            lines = (folder / "answers.jsonl").read_text().splitlines()
            assert len(lines) == review.session.answered
            assert json.loads(lines[-1])["verdict"] == "done", number


def test_two_processes_are_refused(folder: Path) -> None:
    with open_review(folder), pytest.raises(RunError, match="open"):
        open_review(folder)
    open_review(folder).close()


def test_a_refused_answer_is_not_saved(folder: Path) -> None:
    with open_review(folder) as review:
        with pytest.raises(AnswerError):
            review.answer("missing", Span(0, 99, "PER"))
        assert not (folder / "answers.jsonl").read_text()


def spoil_answers(folder: Path) -> None:
    (folder / "answers.jsonl").write_text('{"sentence": 0, "verdict": "what"}\n')


def spoil_sentences(folder: Path) -> None:
    (folder / "sentences.jsonl").write_text("{}\n")


def cut_sentences(folder: Path) -> None:
    (folder / "sentences.jsonl").write_text('{"text": ')


def spoil_marker(folder: Path) -> None:
    (folder / "review.json").write_text(json.dumps({"layout": LAYOUT}))


def other_layout(folder: Path) -> None:
    (folder / "review.json").write_text('{"layout": 0}')


def no_marker(folder: Path) -> None:
    (folder / "review.json").unlink()


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (spoil_answers, DataError, r"answers\.jsonl, line 1: .*unknown verdict"),
        (spoil_sentences, DataError, r"sentences\.jsonl, line 1: damaged"),
        (cut_sentences, DataError, "damaged"),
        (spoil_marker, RunError, "damaged"),
        (other_layout, RunError, "another version"),
        (no_marker, RunError, "holds no review"),
    ],
)
def test_damage_is_an_error(
    folder: Path, spoil: Callable[[Path], None], error: type[RosterError], message: str
) -> None:
    spoil(folder)
    for _ in range(2):  # the lock is released
        with pytest.raises(error, match=message):
            open_review(folder)


def test_the_gold_file_serves_evaluation(folder: Path, toy: list[Sentence]) -> None:
    with open_review(folder) as review:
        go_on(review, toy, 25)
        closed = review.gold()
    gold = list(read(folder / "gold.jsonl"))
    assert [s.words for s in gold] == [one.sentence.words for one in closed]
    assert sum(s.weight for s in gold) == pytest.approx(len(toy), rel=1e-3)
    found = [one.sentence.with_spans(one.sentence.spans) for one in closed]
    apart = [Sentence(s.words, s.offsets, s.text, s.spans, str(i)) for i, s in enumerate(found)]
    scores = evaluate_sentences(apart, gold)
    right = sum(one.weight * len(set(one.sentence.spans or ()) & set(one.state.gold)) for one in closed)
    assert scores.right == pytest.approx(right, rel=1e-3)
    assert scores.precision == pytest.approx(1)
    assert (folder / "corrections.tsv").read_text().startswith("add\t")


def test_estimates_by_type(folder: Path, toy: list[Sentence]) -> None:
    with open_review(folder) as review:
        go_on(review, toy, len(toy))
        assert review.next() is None
        review.answer("done")  # nothing is asked any more
        found = review.by_type()
    assert set(found) == set(TYPES)
    for kind, scores in found.items():
        true = sum(x.label == kind for s in toy for x in s.spans or ())
        right = sum(x.label == kind for s in toy for x in (s.spans or ())[:1])
        assert scores.recall is not None
        assert scores.recall.value == pytest.approx(right / true)


def test_a_sentence_alone() -> None:
    sentence = Sentence(("b", "c"), ((3, 4), (6, 7)), "a. b  c. d", (Span(1, 2, "X"),), "doc")
    found = portion(sentence)
    assert (found.text, found.offsets, found.span_text(Span(1, 2, "X"))) == ("b  c", ((0, 1), (3, 4)), "c")
