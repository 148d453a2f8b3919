"""What notebooks show: text of users is escaped, whatever it has."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

import roster
from roster.corpus.sentence import Sentence, Span
from roster.pages.inline import MOST, marked, table
from roster.scores import Evaluation, Score

BAD = "<script>alert('x')</script>"


def content(html: str) -> str:
    """The text without marks and labels."""
    return unescape(re.sub(r"&nbsp;<small.*?</small>|<[^>]*>", "", html, flags=re.DOTALL))


@given(
    st.text(st.sampled_from("a<>&\"' \n") | st.characters(exclude_categories=["Cs"]), max_size=30), st.data()
)
def test_nothing_but_marks_is_added(words: str, data: st.DataObject) -> None:
    at = sorted(data.draw(st.lists(st.integers(0, len(words)), max_size=6)))
    spans = [(a, b, BAD) for a, b in zip(at[::2], at[1::2], strict=False) if a < b]
    html = marked(words, spans)
    assert content(html) == words
    assert html.count("<mark") == len(spans)
    assert "<script" not in html


def test_long_texts_and_overlaps() -> None:
    words = "Ada ran. " * 2000
    html = marked(words, [(0, 3, "PER"), (2, 5, "X"), (len(words) - 9, len(words) - 6, "PER")])
    assert html.count("<mark") == 1
    assert f"{len(words) - MOST:,} more characters with 1 entities" in html


def test_tables() -> None:
    html = table([BAD, "n"], [[BAD, 1234], ["x", 0.5]], BAD)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 3
    assert ">1,234<" in html
    assert ">0.500<" in html


def test_sentences_scores_and_reports_of_labels() -> None:
    one = Sentence.from_words(["Mr", BAD.replace(" ", ""), "ran"], [Span(1, 2, "P<i>")])
    scores = Evaluation(1, 1, 2, {BAD: Score(1, 1, 2)})
    labels = roster.label([f"Mr {BAD} left ."], {"alert": BAD.replace("/", "")})
    list(labels)
    assert labels.report.labels.total() == 1
    for html in (one._repr_html_(), scores._repr_html_(), labels.report._repr_html_()):
        assert "&lt;script&gt;" in html
        assert "<script" not in html
        assert "<i>" not in html
    assert content(one._repr_html_()) == one.text
    assert Sentence.from_words([])._repr_html_().startswith("<div")
