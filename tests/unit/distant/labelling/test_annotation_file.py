"""Which document of an annotation file is which of the corpus, and where its spans lie there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import split
from roster.distant.labelling.annotation_file import AnnotationFile
from roster.distant.labelling.chunks import chunks
from roster.distant.matching.span_mentions import SpanMentions
from roster.distant.policy.policies import Policies
from roster.distant.span_sources import Annotations
from roster.errors import DataError

TEXTS = ["Maria Lund left. She saw Oslo.", "It rained.", "Oslo's mayor, Lund, spoke."]


def corpus(*texts: str) -> list[Sentence]:
    return [s for number, text in enumerate(texts or TEXTS, 1) for s in split(text, str(number))]


def annotated(*rows: tuple[str, list[tuple[int, int, str]]]) -> list[Sentence]:
    """Sentences from texts and spans of characters; no names of documents."""
    return [s for text, spans in rows for s in split(text, spans=spans)]


def in_words(*rows: tuple[str, list[Span]]) -> list[Sentence]:
    return [Sentence.from_words(words.split(), spans) for words, spans in rows]


def run(given: Iterable[Sentence], *texts: str) -> tuple[list[tuple[str, str]], SpanMentions]:
    """Words and label of all mentions, and the counts."""
    spans = SpanMentions("llm", 0, None, Policies())
    file = AnnotationFile(Annotations(Path("llm.jsonl"), name="llm", sentences=tuple(given)), spans)
    found, sentences = [], corpus(*texts)
    for chunk in chunks(sentences):
        for sentence, mentions in zip((s for d in chunk for s in d), file.mentions(chunk), strict=True):
            found += [(" ".join(sentence.words[m.start : m.end]), m.label) for m in mentions]
    file.finish()
    return found, spans


def test_the_same_texts() -> None:
    given = annotated(
        (TEXTS[0], [(0, 10, "PER"), (25, 29, "LOC")]), (TEXTS[1], []), (TEXTS[2], [(14, 18, "PER")])
    )
    found, spans = run(given)
    assert found == [("Maria Lund", "PER"), ("Oslo", "LOC"), ("Lund", "PER")]
    assert (spans.counts.documents, spans.counts.covered, spans.counts.cut_words) == (3, 3, 0)


def test_other_words_and_other_sentences() -> None:
    """Only the characters count: `Oslo's` is one word here, and the first text comes in two documents."""
    given = in_words(
        ("Maria Lund left.", [Span(0, 2, "PER")]),
        ("She saw Oslo .", [Span(2, 3, "LOC")]),
        ("It rained .", []),
        ("Oslo's mayor , Lund, spoke .", [Span(0, 1, "LOC"), Span(3, 4, "PER")]),
    )
    found, spans = run(given)
    assert found == [("Maria Lund", "PER"), ("Oslo", "LOC"), ("Oslo 's", "LOC"), ("Lund ,", "PER")]
    assert spans.counts.covered == 3


def test_a_span_that_cuts_a_word_of_the_corpus() -> None:
    given = in_words(("Maria Lu nd left. She saw Oslo.", [Span(0, 2, "PER"), Span(3, 5, "X")]))
    found, spans = run(given, TEXTS[0])
    assert found == []
    assert (spans.counts.cut_words, spans.counts.cut_examples) == (2, ["Maria Lu", "left. She"])


def test_a_file_may_cover_a_part_of_the_corpus() -> None:
    found, spans = run(annotated((TEXTS[2], [(14, 18, "PER")])))
    assert found == [("Lund", "PER")]
    assert (spans.counts.documents, spans.counts.covered) == (3, 1)


def test_several_types_and_phrases_of_unknown_type() -> None:
    one = Sentence.from_words(["It", "rained", "."], [Span(0, 1, "A,B")]).with_spans(
        [Span(0, 1, "A,B")], [Span(1, 2, "")]
    )
    assert run([one], "It rained.")[0] == [("It", "A"), ("It", "B"), ("rained", "")]


def test_spans_may_overlap() -> None:
    given = annotated((TEXTS[0], [(0, 10, "PER"), (6, 10, "LOC")]))
    assert run(given, TEXTS[0])[0] == [("Maria Lund", "PER"), ("Lund", "LOC")]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("Maria Lund left.", [])], r"llm\.jsonl: document 1 \('Maria Lund left \.'\) is not in the corpus"),
        ([(TEXTS[2], []), (TEXTS[1], [])], "document 2 .*; document 1 is document 3 of the corpus"),
        ([(TEXTS[0], []), (TEXTS[0], [])], "document 2 .*; document 1 is document 1 of the corpus"),
        (
            [(TEXTS[2], []), ("Nothing of this is there, not even a word.", [])],
            "Nothing of this is there , not even a",
        ),
        ([("", [])], "it has no words, so no annotations"),
        ([], "it has no words, so no annotations"),
    ],
)
def test_what_does_not_correspond(rows: list[tuple[str, list[tuple[int, int, str]]]], says: str) -> None:
    with pytest.raises(DataError, match=says):
        run(annotated(*rows))


def test_a_document_without_labels() -> None:
    with pytest.raises(DataError, match=r"llm\.jsonl: document 2 \('It rained \.'\) has no labels"):
        run([*annotated((TEXTS[0], [])), *split(TEXTS[1])])
