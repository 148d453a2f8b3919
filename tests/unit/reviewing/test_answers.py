"""What answers about a sentence say of its names."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.review.annotator import answers
from roster.corpus.sentence import Sentence, Span
from roster.reviewing.answers import Answer, AnswerError, Verdict, reviewed

TYPES = ("PER", "LOC")
WORDS = ("Ada", "Byron", "left", "New", "York", "today")
SENTENCE = Sentence.from_words(WORDS, [Span(0, 1, "PER"), Span(3, 5, "PER")])


def after(*given: Answer) -> tuple[Span, ...]:
    return reviewed(SENTENCE, given, TYPES).gold


def test_right_and_no_name() -> None:
    assert after(Answer(0, "right", 0), Answer(0, "no name", 1), Answer(0, "done")) == (Span(0, 1, "PER"),)


def test_all_right_takes_only_the_rest() -> None:
    state = reviewed(SENTENCE, [Answer(0, "no name", 0), Answer(0, "all right")], TYPES)
    assert (state.gold, state.closed) == ((Span(3, 5, "PER"),), True)
    assert state.verdicts == ("no name", "right")


def test_type_border_and_missing() -> None:
    given = [
        Answer(0, "border", 0, Span(0, 2, "PER")),
        Answer(0, "type", 1, Span(3, 5, "LOC")),
        Answer(0, "missing", span=Span(5, 6, "LOC")),
        Answer(0, "done"),
    ]
    assert after(*given) == (Span(0, 2, "PER"), Span(3, 5, "LOC"), Span(5, 6, "LOC"))


def test_a_name_that_overlaps_a_corrected_one_is_not_asked_about() -> None:
    state = reviewed(SENTENCE, [Answer(0, "border", 0, Span(0, 4, "LOC"))], TYPES)
    assert state.mention is None
    assert state.verdicts == ("border", "border")


def test_skip() -> None:
    state = reviewed(SENTENCE, [Answer(0, "right", 0), Answer(0, "skip")], TYPES)
    assert (state.closed, state.done, state.skipped) == (True, False, True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([Answer(0, "right", 1)], "about name 1"),
        ([Answer(0, "done")], "marked names first"),
        ([Answer(0, "missing", span=Span(2, 3, "PER"))], "marked names"),
        ([Answer(0, "type", 0, Span(0, 1, "PER"))], "has the type PER already"),
        ([Answer(0, "type", 0, Span(0, 2, "LOC"))], "use the answer for wrong borders"),
        ([Answer(0, "border", 0, Span(0, 1, "LOC"))], "give others"),
        ([Answer(0, "border", 0, Span(2, 3, "LOC"))], "another name"),
        ([Answer(0, "border", 0, Span(0, 7, "LOC"))], "from 1 to 6"),
        ([Answer(0, "border", 0, Span(0, 2, "ORG"))], "unknown type 'ORG'"),
        ([Answer(0, "border", 0)], "needs the true name"),
        ([Answer(0, "right", 0), Answer(0, "border", 1, Span(0, 5, "LOC"))], "overlap a name"),
        ([Answer(0, "all right"), Answer(0, "done")], "finished already"),
        ([Answer(0, "right", 0), Answer(0, "right", 1), Answer(0, "right", 1)], "none of its names"),
        (
            [Answer(0, "right", 0), Answer(0, "right", 1), Answer(0, "missing", span=Span(0, 1, "PER"))],
            "marked already",
        ),
    ],
)
def test_answers_that_do_not_fit(given: list[Answer], message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        reviewed(SENTENCE, given, TYPES)


@st.composite
def spans(draw: st.DrawFn, words: int = 6) -> tuple[Span, ...]:
    """Names that do not overlap."""
    borders = sorted(draw(st.sets(st.integers(0, words), max_size=words + 1)))
    found = [Span(a, b, draw(st.sampled_from(TYPES))) for a, b in pairwise(borders)]
    return tuple(one for one in found if draw(st.booleans()))


@given(spans(), spans(), st.booleans())
def test_every_gold_sentence_can_be_answered(
    predicted: tuple[Span, ...], gold: tuple[Span, ...], short: bool
) -> None:
    """Whatever was predicted, a person who answers by the gold names ends with just these."""
    sentence = Sentence.from_words(WORDS, predicted)
    given = answers(7, sentence, gold, TYPES, short)
    assert reviewed(sentence, given, TYPES).gold == gold
    assert len(given) <= len(predicted) + len(gold) + 1
    assert [Answer.from_dict(one.as_dict()) for one in given] == given


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"sentence": 0, "verdict": "maybe"},
        {"sentence": "0", "verdict": "done"},
        {"sentence": 0, "verdict": "right", "mention": "1"},
        {"sentence": 0, "verdict": "type", "mention": 0},
        {"sentence": 0, "verdict": "missing", "start": 0, "end": True, "label": "PER"},
    ],
)
def test_what_is_no_answer(record: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Answer.from_dict(record)


def test_the_verdicts_about_names_are_those_the_terminal_offers() -> None:
    from roster.cli.review import VERDICTS

    offered: set[Verdict] = {"right", "no name", "all right", "skip"}
    assert set(VERDICTS.values()) == offered
