"""Longest matches against a search that tries everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.distant.matcher import Matcher

WORD = st.sampled_from(["a", "b", "c", "A"])
NAME = st.lists(WORD, min_size=1, max_size=4).map(tuple)
NAMES = st.dictionaries(
    NAME, st.sets(st.sampled_from(["X", "Y", "Z"]), min_size=1).map(lambda s: tuple(sorted(s)))
)


def brute_force(names: dict[tuple[str, ...], tuple[str, ...]], words: tuple[str, ...]) -> tuple[Span, ...]:
    found, at = [], 0
    while at < len(words):
        ends = [end for end in range(at + 1, len(words) + 1) if words[at:end] in names]
        if ends:
            found.append(Span(at, max(ends), min(names[words[at : max(ends)]])))
        at = max(ends, default=at + 1)
    return tuple(found)


@given(NAMES, st.lists(WORD, max_size=15).map(tuple))
def test_against_brute_force(names: dict[tuple[str, ...], tuple[str, ...]], words: tuple[str, ...]) -> None:
    assert Matcher(names).spans(words) == brute_force(names, words)


def test_case_matters_and_names_end_with_the_sentence() -> None:
    m = Matcher({("New", "York", "Times"): ("ORG",), ("York",): ("LOC",)})
    assert m.spans(("New", "York", "times")) == (Span(1, 2, "LOC"),)
    assert m.spans(("New", "York")) == (Span(1, 2, "LOC"),)
    assert m.spans(()) == ()


def test_labels_are_replaced() -> None:
    m = Matcher({("Ada",): ("PER",)})
    found = m.label([Sentence.from_words(["Ada", "left"], [Span(1, 2, "X")]), Sentence.from_words(["x"])])
    assert [s.spans for s in found] == [(Span(0, 1, "PER"),), ()]
