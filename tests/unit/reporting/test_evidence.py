"""Differences of labels and model, confusion, and a fair choice of examples."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.infer.recogniser import Found
from roster.reporting.evidence import (
    ADDED,
    LEFT_OUT,
    MISSED,
    NO_ENTITY,
    OTHER_BORDERS,
    OTHER_TYPE,
    Checked,
    confusion,
    differences,
    evenly,
    spread,
)

WORDS = list("abcdefgh")


def sides(labels: list[Span], model: list[Span]) -> tuple[Sentence, Found]:
    sentence = Sentence.from_words(WORDS)
    return sentence.with_spans(labels), Found(sentence.with_spans(model), tuple(0.9 for _ in model))


LABELS = [Span(0, 1, "A"), Span(2, 3, "A"), Span(4, 5, "B"), Span(7, 8, "B")]
MODEL = [Span(0, 1, "A"), Span(2, 3, "B"), Span(4, 6, "B"), Span(6, 7, "A")]


def test_each_kind_of_difference() -> None:
    labelled, found = sides(LABELS, MODEL)
    assert [(d.kind, d.type, d.start, d.end) for d in differences([labelled], [found])] == [
        (OTHER_TYPE, "B", 2, 3),
        (OTHER_BORDERS, "B", 4, 6),
        (ADDED, "A", 6, 7),
        (LEFT_OUT, "B", 7, 8),
    ]


def test_confusion() -> None:
    labelled, found = sides(LABELS, MODEL)
    counts = confusion(Checked("test", (labelled,), (found,), 1))
    assert counts == {
        ("A", "A"): 1,
        ("A", "B"): 1,
        ("B", OTHER_BORDERS): 1,
        ("B", MISSED): 1,
        (NO_ENTITY, "A"): 1,
    }


@st.composite
def spans(draw: st.DrawFn) -> list[Span]:
    borders = sorted(draw(st.sets(st.integers(0, 8))))
    pairs = pairwise(borders)
    return [Span(a, b, draw(st.sampled_from("AB"))) for a, b in pairs if draw(st.booleans())]


@given(spans(), spans())
def test_every_true_entity_is_counted_once(labels: list[Span], model: list[Span]) -> None:
    labelled, found = sides(labels, model)
    counts = confusion(Checked("test", (labelled,), (found,), 1))
    by_type = Counter[str]()
    for (true, _), count in counts.items():
        by_type[true] += count
    del by_type[NO_ENTITY]
    assert by_type == Counter(span.label for span in labels)
    right = sum(counts.get((t, t), 0) for t in "AB")
    assert right == len(set(labels) & set(model))


@given(spans(), spans())
def test_there_are_differences_unless_both_are_the_same(labels: list[Span], model: list[Span]) -> None:
    labelled, found = sides(labels, model)
    assert (not differences([labelled], [found])) == (set(labels) == set(model))


def test_examples_are_of_all_kinds_by_turns() -> None:
    made = []
    for number in range(50):
        sentence = Sentence.from_words([f"w{number}", "x"])
        model = [Span(0, 1, "rare" if number == 49 else "common")]
        made += differences([sentence.with_spans(())], [Found(sentence.with_spans(model), (number / 99,))])
    chosen = spread(made, 6)
    assert Counter(d.type for d in chosen) == {"common": 5, "rare": 1}
    assert max(d.score for d in chosen if d.type == "common") == 48 / 99
    assert len(spread(made * 2, 200)) == 50


def test_evenly() -> None:
    sentences = [Sentence.from_words([str(i)]) for i in range(10)]
    assert [s.text for s in evenly(sentences, 4)] == ["0", "2", "5", "7"]
    assert evenly(sentences, 10) == sentences
