"""What answers tell of the dictionary."""

from __future__ import annotations

from roster.corpus.sentence import Sentence, Span
from roster.reviewing import corrections as module
from roster.reviewing.answers import Answer, Reviewed, reviewed

TYPES = ("LOC", "PER")


def one(text: str, predicted: list[Span], *given: Answer) -> tuple[Sentence, Reviewed]:
    sentence = Sentence.from_words(text.split(), predicted)
    return sentence, reviewed(sentence, given, TYPES)


def corrections(pairs: list[tuple[Sentence, Reviewed]]) -> list[tuple[str, ...]]:
    """The columns of each line."""
    changes = module.corrections(pairs)
    return [tuple(filter(None, (c.action, c.name, c.type, c.new_type))) for c in changes]


MAY, ADA = Span(0, 1, "PER"), Span(2, 3, "PER")
NO, YES, DONE = Answer(0, "no name", 0), Answer(0, "right", 0), Answer(0, "done")
PLACE = Answer(0, "type", 0, Span(0, 1, "LOC"))


def test_every_kind() -> None:
    pairs = [
        one("May is warm", [MAY], NO, Answer(0, "missing", span=Span(2, 3, "PER")), DONE),
        one("Lima slept", [MAY], PLACE, DONE),
        one("Today rain", [MAY], NO, DONE),
        one("Today sun", [MAY], NO, DONE),
    ]
    assert corrections(pairs) == [
        ("retype", "Lima", "PER", "LOC"),
        ("remove", "May", "PER"),
        ("deny", "Today"),
        ("add", "warm", "PER"),
    ]


def test_a_name_that_is_right_somewhere_stays() -> None:
    assert corrections([one("May ran", [MAY], NO, DONE), one("May sat", [MAY], YES, DONE)]) == []


def test_two_different_answers_change_nothing() -> None:
    assert corrections([one("May ran", [MAY], NO, DONE), one("May sat", [MAY], PLACE, DONE)]) == []


def test_wrong_borders_remove_nothing_and_add_the_name() -> None:
    pair = one("Ada Byron ran", [MAY], Answer(0, "border", 0, Span(0, 2, "PER")), DONE)
    assert corrections([pair]) == [("add", "Ada Byron", "PER")]


def test_a_word_that_is_a_name_only_now_and_then_is_not_added() -> None:
    missing = Answer(0, "missing", span=Span(0, 1, "PER"))
    assert corrections([one("Will came", [], missing, DONE), one("Will he", [], DONE)]) == [
    ]  # fmt: skip
    assert corrections([one("Will came", [], missing, DONE)]) == [("add", "Will", "PER")]


def test_a_name_stays_on_one_line() -> None:
    sentence = Sentence(("New", "York"), ((0, 3), (5, 9)), "New\t\nYork", ())
    given = [Answer(0, "missing", span=Span(0, 2, "LOC")), DONE]
    assert corrections([(sentence, reviewed(sentence, given, TYPES))]) == [("add", "New York", "LOC")]
