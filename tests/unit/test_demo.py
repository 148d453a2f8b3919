"""The pieces of `roster demo` that need no training."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import split
from roster.demo import Corrected, Demo, corrections, marked, report, table
from roster.scores import evaluate_sentences

WORDS = ["Ada", "Berg", "left", "New", "Lima", "."]
GOLD = Sentence.from_words(WORDS, [Span(0, 2, "PER"), Span(3, 5, "LOC")])


def with_spans(*spans: tuple[int, int, str]) -> Sentence:
    return GOLD.with_spans(Span(*span) for span in spans)


def test_marked() -> None:
    assert marked(GOLD) == "[Ada Berg PER] left [New Lima LOC] ."
    assert marked(with_spans((2, 3, "X"))) == "Ada Berg [left X] New Lima ."
    assert marked(with_spans((0, 1, "A"), (1, 2, "B"))) == "[Ada A] [Berg B] left New Lima ."
    assert marked(with_spans((0, 6, "ALL"))) == "[Ada Berg left New Lima . ALL]"
    assert marked(with_spans()) == marked(GOLD.with_spans(None)) == "Ada Berg left New Lima ."
    natural = split('He came. "Ada Berg left," she said.', spans=[(10, 18, "PER")])[1]
    assert marked(natural) == '"[Ada Berg PER] left," she said.'
    assert marked(Sentence.from_words([])) == ""


def test_corrections_are_wrong_in_the_dictionary_and_right_in_the_model() -> None:
    one_wrong = with_spans((0, 2, "PER"))
    all_wrong = with_spans((4, 5, "LOC"))
    found = corrections(
        [GOLD, GOLD, GOLD, GOLD],
        [one_wrong, GOLD, all_wrong, one_wrong],
        [GOLD, GOLD, GOLD.with_spans(reversed(GOLD.spans or ())), one_wrong],
    )
    # More mistakes come first; where both are right, or the model is wrong, nothing was corrected.
    assert [c.distant for c in found] == [all_wrong, one_wrong]
    assert corrections([GOLD], [with_spans()], [with_spans((0, 2, "PER"))]) == []
    assert corrections([], [], []) == []


def test_corrections_need_as_many_of_each() -> None:
    with pytest.raises(ValueError):
        corrections([GOLD], [GOLD, GOLD], [GOLD])


def test_table() -> None:
    half = evaluate_sentences([with_spans((0, 2, "PER"))], [GOLD])
    nothing = evaluate_sentences([with_spans()], [GOLD])
    lines = table({"distant-match": half, "roster": nothing}).splitlines()
    assert [line.split() for line in lines] == [
        ["precision", "recall", "F1"],
        ["distant-match", "1.000", "0.500", "0.667"],
        ["roster", "0.000", "0.000", "0.000"],
    ]
    assert len({line.rindex(" ") for line in lines[1:]}) == 1, "the columns stand below one another"


def test_report() -> None:
    scores = {"roster": evaluate_sentences([GOLD], [GOLD])}
    corrected = [Corrected(GOLD, with_spans((i, i + 1, "PER")), GOLD) for i in range(6)]
    text = report(Demo(scores, corrected, Path("demo")), examples=2)
    assert table(scores) in text
    assert text.count("- dictionary: ") == text.count("  RoSTER: ") == 2
    assert (
        "- dictionary: [Ada PER] Berg left New Lima .\n  RoSTER: [Ada Berg PER] left [New Lima LOC] ." in text
    )
    assert "- dictionary" not in report(Demo(scores, [], Path("demo")))
