"""Questions, answers and undo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.review.annotator import answers
from roster.corpus.sentence import Sentence, Span
from roster.reviewing.answers import Answer, AnswerError
from roster.reviewing.design import plan
from roster.reviewing.estimate import Frame
from roster.reviewing.expectation import expect
from roster.reviewing.session import FIRST_ESTIMATE, Session

TYPES = ("LOC", "PER")


def session(toy: list[Sentence], drop: int = 3) -> tuple[Session, list[Sentence]]:
    """A model that misses every third name and takes every fifth for another type."""
    predicted, count = [], 0
    for sentence in toy:
        spans = []
        for span in sentence.spans or ():
            count += 1
            if count % drop:
                spans.append(replace(span, label="LOC") if count % 5 == 0 else span)
        predicted.append(sentence.with_spans(spans))
    p = [np.full((len(s), 2), 0.1) for s in predicted]
    for sentence, row in zip(predicted, p, strict=True):
        for span in sentence.spans or ():
            row[span.start : span.end, TYPES.index(span.label)] = 0.8
    expected = expect(predicted, p, TYPES)
    stratum, order = plan(expected, 0)
    return Session(predicted, TYPES, Frame(expected, stratum), order), toy


def review(one: Session, gold: list[Sentence], sentences: int, short: bool = True) -> None:
    for _ in range(sentences):
        question = one.next()
        assert question is not None
        for answer in answers(
            question.number, question.sentence, gold[question.number].spans or (), TYPES, short
        ):
            one.answer(answer)


def test_to_the_end(toy: list[Sentence]) -> None:
    one, gold = session(toy)
    review(one, gold, len(toy))
    assert one.next() is None
    assert {c.number: c.state.gold for c in one.closed()} == {
        i: tuple(sorted(s.spans or ())) for i, s in enumerate(gold)
    }
    assert all(c.weight == pytest.approx(1) for c in one.closed())
    found = one.estimate()
    assert found is not None
    assert found.f1 is not None
    predicted = sum(len(s.spans or ()) for s in one.sentences)
    true = sum(len(s.spans or ()) for s in gold)
    pairs = zip(one.sentences, gold, strict=True)
    right = sum(len(set(s.spans or ()) & set(g.spans or ())) for s, g in pairs)
    assert found.f1.value == pytest.approx(2 * right / (predicted + true))
    assert found.f1.margin < 1e-6
    assert one.narrow(0.001)
    assert one.answers_left(0.001) == 0


def test_types_add_up(toy: list[Sentence]) -> None:
    one, gold = session(toy)
    review(one, gold, len(toy))
    for kind in TYPES:
        found = one.estimate(kind)
        assert found is not None
        assert found.recall is not None
        pairs = list(zip(one.sentences, gold, strict=True))
        true = [{x for x in g.spans or () if x.label == kind} for _, g in pairs]
        right = sum(len(t & set(s.spans or ())) for (s, _), t in zip(pairs, true, strict=True))
        assert found.recall.value == pytest.approx(right / sum(map(len, true)))


def test_the_estimate_waits_for_some_sentences(toy: list[Sentence]) -> None:
    one, gold = session(toy)
    review(one, gold, FIRST_ESTIMATE - 1)
    assert one.estimate() is None
    assert one.answers_left(0.03) is None
    review(one, gold, 1)
    assert one.estimate() is not None
    assert not one.narrow(0.9)


@given(st.lists(st.integers(0, 4), max_size=60))
def test_undo_is_the_inverse_of_an_answer(toy: list[Sentence], steps: list[int]) -> None:
    """Answers and undos in any order leave what the answers that hold would leave alone."""
    one, gold = session(toy)
    held: list[Answer] = []
    for step in steps:
        if step == 0:
            assert one.undo() == (held.pop() if held else None)
            continue
        question = one.next()
        assert question is not None
        number = question.number
        whole = answers(number, question.sentence, gold[number].spans or (), TYPES, False)
        done = [a for a in held if a.sentence == number]
        answer = Answer(number, "skip") if step == 1 else whole[len(done)]
        one.answer(answer)
        held.append(answer)
    again, _ = session(toy)
    for answer in held:
        again.answer(answer)
    assert again.next() == one.next()
    assert again.answered == one.answered == len(held)
    assert [(c.number, c.state, c.weight) for c in again.closed()] == [
        (c.number, c.state, c.weight) for c in one.closed()
    ]


def test_skipped_sentences_are_represented_by_others(toy: list[Sentence]) -> None:
    one, gold = session(toy)
    for i in range(30):
        question = one.next()
        assert question is not None
        if i % 3 == 2:
            one.answer(Answer(question.number, "skip"))
        else:
            review(one, gold, 1)
    assert (one.skipped, len(one.closed())) == (10, 20)
    assert sum(c.weight for c in one.closed()) == pytest.approx(len(toy))


def test_a_refused_answer_changes_nothing(toy: list[Sentence]) -> None:
    one, _ = session(toy)
    before = one.next()
    assert before is not None
    outside = Answer(before.number, "missing", span=Span(0, 99, "PER"))
    for answer in (Answer(before.number + 1, "done"), outside):
        with pytest.raises(AnswerError):
            one.answer(answer)
    assert one.next() == before
    assert one.answered == 0
    assert one.undo() is None
