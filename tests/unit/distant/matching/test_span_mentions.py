"""Spans of another source as mentions: words, types, scores, and what is left out."""

from __future__ import annotations

import pytest

from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import split
from roster.distant.matching.mention import Mention
from roster.distant.matching.span_mentions import ScoredSpan, SpanMentions
from roster.distant.policy.policies import Policies
from roster.errors import DataError

TEXT = "It rained. Maria  Lund left Lund's house."


@pytest.fixture
def sentence() -> Sentence:
    return split(TEXT)[1]


def source(least: float | None = None, **labels: str) -> SpanMentions:
    return SpanMentions("llm", 3, least, Policies.from_tables(labels=labels))


def found(spans: SpanMentions, sentence: Sentence, *given: ScoredSpan) -> tuple[Mention, ...]:
    return spans.mentions(sentence, spans.located(sentence, given))


def test_characters_become_words(sentence: Sentence) -> None:
    """White space at the edges does not matter; the entry is the name with single spaces."""
    spans = source(person="PER")
    for start, end in ((11, 22), (10, 23)):
        (one,) = found(spans, sentence, ScoredSpan(start, end, "person", 0.5))
        assert one == Mention(0, 2, "PER", "person", "llm", "Maria Lund", priority=3, score=0.5)
    assert (spans.counts.spans, spans.counts.scored, spans.counts.kinds["person"]) == (2, 2, 2)


def test_spans_that_cut_words_are_counted(sentence: Sentence) -> None:
    """Inside a word, over the end of a sentence, in another sentence of the text, or nothing but space."""
    spans = source()
    assert (
        found(spans, sentence, *(ScoredSpan(a, b, "X") for a, b in ((11, 15), (3, 22), (0, 2), (16, 18))))
        == ()
    )
    assert (spans.counts.spans, spans.counts.cut_words) == (4, 4)
    assert spans.counts.cut_examples == ["Mari", "rained. Maria Lund", "It"]


def test_scores_and_types(sentence: Sentence) -> None:
    """A least score leaves out lower ones, not those without a score; an unwanted type gives no mention."""
    spans = source(0.5, junk="")
    given = [
        ScoredSpan(11, 22, "PER", 0.4),
        ScoredSpan(18, 22, "PER", 0.5),
        ScoredSpan(28, 32, "LOC"),
        ScoredSpan(35, 40, "junk", 0.9),
    ]
    assert [(m.label, m.score) for m in found(spans, sentence, *given)] == [("PER", 0.5), ("LOC", None)]
    assert (spans.counts.below_least_score, spans.counts.unwanted, spans.counts.scored) == (1, 1, 3)


def test_equal_spans_count_once_with_the_highest_score(sentence: Sentence) -> None:
    given = [ScoredSpan(28, 32, "LOC", score) for score in (None, 0.2, 0.7, 0.3)]
    for order in (given, given[::-1]):
        assert [m.score for m in found(source(), sentence, *order)] == [0.7]


@pytest.mark.parametrize(
    ("span", "says"),
    [
        (ScoredSpan(11, 99, "PER"), "llm: the span 11 to 99 is empty or outside a text of 41 characters"),
        (ScoredSpan(11, 11, "PER"), "is empty or outside"),
        (ScoredSpan(-1, 11, "PER"), "is empty or outside"),
        (ScoredSpan(11, 22, ""), "llm: expected the type of a span to be a text, found ''"),
        (ScoredSpan(11, 22, "PER", float("nan")), "llm: the score of 'Maria Lund' is nan; expected a finite"),
    ],
)
def test_spans_that_are_refused(sentence: Sentence, span: ScoredSpan, says: str) -> None:
    with pytest.raises(DataError, match=says):
        found(source(), sentence, span)
