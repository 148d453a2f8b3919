"""Questions as text: nothing in a text may control the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.reviewing.answers import Answer, reviewed
from roster.reviewing.estimate import Interval, Scores
from roster.reviewing.screen import (
    BOLD,
    COLOUR,
    DIM,
    FIRST_STRONG,
    JOINERS,
    PLAIN,
    POP,
    UNDERLINE,
    columns_of,
    dimmed,
    estimate_lines,
    marked,
    numbered,
    parse_span,
    parse_type,
    safe,
    summary,
    wrapped,
)
from roster.reviewing.session import Question

TYPES = ("LOC", "ORG", "PER")
EVIL = "\x1b]0;title\x07\x1b[2J\x9b1m\u202e\u2066\u200f\ud800"


@given(st.text() | st.text(alphabet=EVIL + "ab \u05d0\u0627"))
def test_no_character_controls_the_terminal(text: str) -> None:
    found = safe(text)
    inner = found.removeprefix(FIRST_STRONG).removesuffix(POP)
    assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in JOINERS for c in inner)
    assert safe(inner) == found


def test_plain_text_stays_as_it_is() -> None:
    assert safe("Zürich, naïve 東京 ☂ नि\u200d") == "Zürich, naïve 東京 ☂ नि\u200d"
    assert safe("a\u00a0b\r\n") == "a b  "


def test_text_from_right_to_left_is_isolated() -> None:
    assert safe("שלום") == f"{FIRST_STRONG}שלום{POP}"


def question(words: list[str], spans: list[Span], *given: Answer) -> Question:
    sentence = Sentence.from_words(words, spans)
    state = reviewed(sentence, given, TYPES)
    return Question(0, sentence, state.mention, state)


def test_marks() -> None:
    spans = [Span(0, 1, "PER"), Span(2, 3, "LOC")]
    words = ["Ada", "saw", "Oslo", "."]
    assert marked(question(words, spans)) == "[[Ada]]PER saw [Oslo]LOC ."
    assert marked(question(words, spans, Answer(0, "no name", 0))) == "Ada saw [[Oslo]]LOC ."
    wrong = Answer(0, "border", 0, Span(0, 2, "ORG"))
    assert marked(question(words, spans, wrong)) == "[Ada saw]ORG [[Oslo]]LOC ."


def test_colour_marks_only_what_is_marked() -> None:
    shown = marked(question(["\x1b[31mAda", "saw"], [Span(0, 1, "PER")]), colour=True)
    assert shown.count("\x1b") == 4
    assert "\\x1b[31mAda" in shown


def test_names_stand_out_from_what_is_around_the_sentence() -> None:
    """The sentence and its names are never dim; without colours nothing is."""
    words, spans = ["Ada", "saw", "Oslo"], [Span(0, 1, "PER"), Span(2, 3, "LOC")]
    shown = marked(question(words, spans), colour=True)
    assert DIM not in shown
    assert f"{UNDERLINE}[Oslo]{PLAIN}{BOLD}LOC{PLAIN}" in shown
    assert COLOUR.sub("", shown) == marked(question(words, spans))
    assert dimmed("a\nb", True) == f"{DIM}a{PLAIN}\n{DIM}b{PLAIN}"
    assert dimmed("a\nb", False) == "a\nb"


def test_numbers() -> None:
    assert numbered(Sentence.from_words(["a\x07", "b"])) == "1:a\\x07 2:b"


@pytest.mark.parametrize(
    ("text", "default", "span"),
    [
        ("1 2 ORG", None, Span(0, 2, "ORG")),
        ("2-3 org", None, Span(1, 3, "ORG")),
        ("2 per", None, Span(1, 2, "PER")),
        ("1 3", "LOC", Span(0, 3, "LOC")),
        ("1 3 2", None, Span(0, 3, "ORG")),
        ("3", "PER", Span(2, 3, "PER")),
    ],
)
def test_spans_as_they_are_typed(text: str, default: str | None, span: Span) -> None:
    assert parse_span(text, Sentence.from_words(["a", "b", "c"]), TYPES, default) == span


@pytest.mark.parametrize(
    "text", ["", "x", "1 2", "0 1 ORG", "2 1 ORG", "1 4 ORG", "1 2 XYZ", "1 2 4", "² ORG"]
)
def test_spans_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|unknown"):
        parse_span(text, Sentence.from_words(["a", "b", "c"]), TYPES, None)


def test_a_type_named_as_a_number_wins() -> None:
    assert parse_type("2", ["1", "2", "3"]) == "2"
    assert parse_type("1", ["B", "C"]) == "B"
    assert parse_type("t2", ["1", "B"]) == "B"


def test_summary_without_an_estimate() -> None:
    status = {"answers": 1, "sentences": 1, "skipped": 0, "population": 9, "confidence": 0.95,
              "scores": None, "types": {}}  # fmt: skip
    assert summary(status).endswith("too few for an estimate")


@given(st.lists(st.text(alphabet="ab東é\u0301", min_size=1, max_size=15)), st.integers(30, 80))
def test_lines_break_between_words(words: list[str], columns: int) -> None:
    text = " ".join(words)
    found = wrapped(text, columns)
    assert found.replace("\n", " ") == text
    assert all(columns_of(line) <= columns for line in found.split("\n"))


def test_a_line_is_as_long_as_it_can_be() -> None:
    assert wrapped(f"{'a' * 10} {BOLD}{'b' * 9}{PLAIN} c", 20) == f"{'a' * 10} {BOLD}{'b' * 9}{PLAIN}\nc"
    assert wrapped("東 " * 7 + "a", 20) == "東 東 東 東 東 東 東\na"
    assert wrapped("a" * 50 + " b\n  c", 20) == "a" * 50 + "\nb\n  c"
    assert wrapped("a b " * 9, None) == "a b " * 9


def test_an_estimate_fits_into_eighty_columns() -> None:
    one = Interval(0.9, 0.85, 0.95)
    lines = estimate_lines(Scores(one, one, one), 12345, 0.025, 12345).split("\n")
    assert lines[0] == "12345 answers: F1 0.900 (0.850 to 0.950); about 12345 more for ± 0.025"
    assert lines[1] == "  precision 0.900 (0.850 to 0.950), recall 0.900 (0.850 to 0.950)"
    assert all(len(line) < 80 for line in lines)
    assert "\n" not in estimate_lines(Scores(None, None, one), 1, None, None)
    assert "follows" in estimate_lines(None, 1, 0.03, None)
