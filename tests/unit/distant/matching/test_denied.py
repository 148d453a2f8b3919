"""Words that get no label from any source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.matching.denied import Denied
from roster.distant.matching.mention import Mention

WORDS = st.lists(
    st.sampled_from(["Swiss", "swiss", "SWISS", "Bank", "U.S.", "'s", "AT&T", "\u745e\u58eb"]), min_size=1
)


@pytest.mark.parametrize(
    ("name", "texts", "others"),
    [
        ("Swiss", ["Swiss", "(Swiss)", "Swiss's", "Swiss '", '"Swiss,"'], ["SWISS", "swiss", "Swiss Bank"]),
        ("Corp.", ["Corp", "Corp .", "Corp."], ["corp", "CORP."]),
        ("New  York", ["New York", "(New York)"], ["NewYork", "New york", "New-York"]),
        ("U.S.", ["U.S.", "U.S", "U . S ."], ["u.s.", "US"]),
        ("Japan's", ["Japan's", "Japan 's"], ["Japan"]),
        ("Yahoo!", ["Yahoo!", "Yahoo"], ["yahoo!"]),
        ("Zu\u0308rich", ["Z\u00fcrich"], ["Zurich"]),
        ("...", ["..."], ["Oslo"]),
    ],
)
def test_words(name: str, texts: list[str], others: list[str]) -> None:
    denied = Denied(["another", name])
    assert [denied.number(text) for text in texts] == [1] * len(texts)
    assert [denied.number(text) for text in others] == [None] * len(others)


@given(WORDS, st.data())
def test_mentions(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    mentions = [
        Mention(a, b, "X", "X", "s", "e")
        for a in range(len(words))
        for b in range(a + 1, min(a + 4, len(words) + 1))
    ]
    denied = Denied([" ".join(words[start:end])])
    (kept,), counts = denied.remove([words], [mentions])
    assert Mention(start, end, "X", "X", "s", "e") not in kept
    gone = [m for m in mentions if m not in kept]
    assert counts.total() == len(gone)
    assert all(denied.number(" ".join(words[m.start : m.end])) is None for m in kept)
    assert Denied(["other"]).remove([words], [mentions]) == ([mentions], {})
