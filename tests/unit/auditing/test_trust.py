"""The order of doubted labels, and where the words of a name stand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roster.auditing.occurrences import Claim, WordIndex, agreement
from roster.auditing.opinions import Opinions
from roster.auditing.spans import Spans
from roster.auditing.trust import LONGER, NOTHING, OTHER, SAME, Weights, places, rates, share, trust
from roster.corpus.sentence import Sentence


def score(certainty: list[float], place: list[int], **more: float) -> list[float]:
    n = len(certainty)
    doubts = np.full(n, more.get("doubt", 0.0))
    zeros = np.zeros(n, int)
    found = trust(np.array(certainty), doubts, np.array(place), np.arange(n), zeros, 0.5, Weights(entry=0.0))
    return share(found).round(3).tolist()


def test_what_stands_in_the_place_counts_for_doubted_labels_only() -> None:
    low = score([0.2] * 4, [LONGER, NOTHING, OTHER, SAME])
    assert low[0] == low[1] < 0.2 < low[2] == low[3]
    assert score([0.9], [SAME])[0] > score([0.9], [SAME], doubt=1.0)[0]


def test_certainties_of_zero_and_one_are_finite() -> None:
    found = score([0.0, 1.0], [LONGER, SAME])
    assert found == [0.0, 1.0]


def test_places_without_any_name() -> None:
    none = Spans(*np.zeros((3, 0), np.int64))
    spans = Spans(np.array([0]), np.array([1]), np.array([1]))
    assert places(spans, none, np.array([-1])).tolist() == [NOTHING]
    assert len(rates(np.zeros(0), np.zeros(0, int), np.zeros(0, int), 1.0)) == 0


@given(
    st.lists(st.lists(st.sampled_from(["a", "A", "b", "C"]), min_size=1, max_size=6), min_size=1), st.data()
)
def test_words_are_found_in_any_case_within_a_sentence(texts: list[list[str]], data: st.DataObject) -> None:
    index = WordIndex([Sentence.from_words(words) for words in texts])
    number = data.draw(st.integers(0, len(texts) - 1))
    start = data.draw(st.integers(0, len(texts[number]) - 1))
    end = data.draw(st.integers(start + 1, len(texts[number])))
    first = np.cumsum([0, *map(len, texts)])
    wanted = [word.casefold() for word in texts[number][start:end]]
    expected = [
        int(first[n]) + at
        for n, words in enumerate(texts)
        for at in range(len(words) - len(wanted) + 1)
        if [word.casefold() for word in words[at : at + len(wanted)]] == wanted
    ]
    found = index.find(index.key(int(first[number]) + start, int(first[number]) + end))
    assert found.tolist() == expected


def test_agreement_of_the_members() -> None:
    one = np.array([[0.0, 1.0], [0.0, 1.0]], np.float16)
    two = np.array([[0.0, 1.0], [1.0, 0.0]], np.float16)
    starts = np.array([True, True, True])
    claims = [Claim([(np.array([0, 1]), 1)], 1), Claim([], 1)]
    found = agreement(claims, Opinions([one, two], np.full(2, -1)), starts)
    assert found.count.tolist() == [2, 0]
    assert (found.least.tolist(), found.most.tolist()) == ([0.5, 0], [1, 0])
    assert found.certainty.tolist() == [0.75, 0]
    assert agreement([], Opinions([one], np.full(2, -1)), starts).count.tolist() == []
