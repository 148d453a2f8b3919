"""Scores against seqeval, and two sides that were cut differently."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus import tags
from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import split
from roster.errors import DataError
from roster.scores import Evaluation, evaluate_sentences, evaluate_spans

TAG = st.just("O") | st.builds("{}-{}".format, st.sampled_from("BI"), st.sampled_from(["A", "B", "C"]))


@st.composite
def pairs(draw: st.DrawFn) -> list[tuple[list[str], list[str]]]:
    found = []
    for n in draw(st.lists(st.integers(1, 8), min_size=1, max_size=5)):
        row = st.lists(TAG, min_size=n, max_size=n)
        gold = draw(row)
        found.append((draw(st.just(gold) | row), gold))
    return found


def sentence(row: list[str], doc: str = "") -> Sentence:
    return Sentence.from_words([f"w{i}" for i in range(len(row))], tags.decode(row), doc)


@given(pairs())
def test_as_seqeval(rows: list[tuple[list[str], list[str]]]) -> None:
    metrics = pytest.importorskip("seqeval.metrics")
    guess, gold = [p for p, _ in rows], [g for _, g in rows]
    found = evaluate_sentences(map(sentence, guess), map(sentence, gold))
    assert found.precision == pytest.approx(metrics.precision_score(gold, guess, zero_division=0))
    assert found.recall == pytest.approx(metrics.recall_score(gold, guess, zero_division=0))
    assert found.f1 == pytest.approx(metrics.f1_score(gold, guess, zero_division=0))
    if found.types:
        report = metrics.classification_report(gold, guess, output_dict=True, zero_division=0)
        for name, score in found.types.items():
            expected = report.get(name, {"precision": 0, "recall": 0, "f1-score": 0, "support": 0})
            assert (score.precision, score.recall, score.f1, score.support) == pytest.approx(
                (expected["precision"], expected["recall"], expected["f1-score"], expected["support"])
            )


def test_by_hand() -> None:
    e = evaluate_spans(
        [([Span(0, 1, "A"), Span(2, 3, "A")], [Span(0, 1, "A"), Span(2, 4, "A"), Span(5, 6, "B")])]
    )
    assert (e.right, e.predicted, e.support) == (1, 2, 3)
    assert (e.precision, e.recall, e.f1) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    assert (e.types["B"].precision, e.types["B"].recall, e.types["B"].f1) == (0, 0, 0)
    assert list(e.types) == ["A", "B"]
    assert e.as_dict()["types"]["A"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2}
    assert evaluate_spans([([Span(0, 1, "A")], [Span(0, 1, "B")])]).f1 == 0


def test_nothing() -> None:
    for e in (evaluate_sentences([], []), evaluate_spans([]), evaluate_spans([([], [])])):
        assert (e.precision, e.recall, e.f1, e.support, e.types) == (0, 0, 0, 0, {})
    assert Evaluation().table().splitlines()[1].split() == ["all", "0.000", "0.000", "0.000", "0"]


def test_the_table() -> None:
    e = evaluate_spans([([Span(0, 1, "LONGNAME")], [Span(0, 1, "LONGNAME"), Span(1, 2, "B")])])
    lines = e.table().splitlines()
    assert [line.split() for line in lines] == [
        ["type", "precision", "recall", "F1", "support"],
        ["B", "0.000", "0.000", "0.000", "1"],
        ["LONGNAME", "1.000", "1.000", "1.000", "1"],
        ["all", "1.000", "0.500", "0.667", "2"],
    ]
    assert len({len(line) for line in lines}) == 1


TEXT = "Ada Lovelace met Bo. They left St. Gallen."


def test_one_text_cut_in_two_ways() -> None:
    """Characters are compared where the text is the same, however it was cut into words and sentences."""
    gold = split(TEXT, "1", [(0, 12, "PER"), (17, 19, "PER"), (31, 41, "LOC")])
    assert len(gold) == 2
    offsets = tuple((i, i + 1) for i, c in enumerate(TEXT) if not c.isspace())
    at = {start: i for i, (start, _) in enumerate(offsets)}
    spans = (Span(0, at[11] + 1, "PER"), Span(at[31], at[40] + 1, "LOC"), Span(at[21], at[24] + 1, "PER"))
    guess = [Sentence(tuple(TEXT[a:b] for a, b in offsets), offsets, TEXT, spans, "1")]
    e = evaluate_sentences(guess, gold)
    assert (e.right, e.predicted, e.support) == (2, 3, 3)


def test_words_where_the_texts_differ() -> None:
    gold = Sentence.from_words(["Ada", "Lovelace", "left"], [Span(0, 2, "PER")])
    guess = Sentence(("_", "_", "_"), ((0, 1), (2, 3), (4, 5)), "_ _ _", (Span(0, 2, "PER"),))
    assert evaluate_sentences([guess], [gold]).f1 == 1
    # Sentences of one document count on.
    two = split("Ada left. Bo came.", "d", [(10, 12, "PER")])
    words = [w for s in two for w in s.words]
    one = Sentence.from_words(
        [w.lower() for w in words], [Span(words.index("Bo"), words.index("Bo") + 1, "PER")]
    )
    assert evaluate_sentences([one], two).f1 == 1


def test_mismatches() -> None:
    a, b = sentence(["O", "B-A"]), sentence(["O", "B-A", "O"])
    with pytest.raises(DataError, match="text 1 has 2 words in the predictions and 3 in the gold"):
        evaluate_sentences([a], [b])
    with pytest.raises(DataError, match="the gold labels go on after text 1"):
        evaluate_sentences([a], [a, b])
    with pytest.raises(DataError, match="the predictions go on after text 1"):
        evaluate_sentences([a, b], [a])
    with pytest.raises(DataError, match="the predictions go on after text 0"):
        evaluate_sentences([a], [])
    with pytest.raises(DataError, match="text 2 of the gold labels has no labels"):
        evaluate_sentences([a, b], [a, b.with_spans(None)])
    with pytest.raises(DataError, match="text 1 of the predictions has no labels"):
        evaluate_sentences([a.with_spans(None)], [a])


def test_doubled_spans_count_once() -> None:
    e = evaluate_spans([([Span(0, 1, "A"), Span(0, 1, "A")], [Span(0, 1, "A")])])
    assert (e.precision, e.predicted) == (1, 1)


def test_sampled_sentences_count_with_their_weights() -> None:
    """As many times as sentences that they stand for."""
    words = ["a", "b"]
    gold = [Sentence.from_words(words, [Span(0, 1, "X")], doc=str(i)) for i in range(2)]
    found = [gold[0], gold[1].with_spans([Span(1, 2, "X")])]
    weighted = [replace(gold[0], weight=3.0), gold[1]]
    often = evaluate_sentences([found[0]] * 3 + found[1:], [gold[0]] * 3 + gold[1:])
    assert evaluate_sentences(found, weighted) == often
    assert (often.right, often.precision) == (3, 0.75)
    assert isinstance(evaluate_sentences(found, gold).support, int)
