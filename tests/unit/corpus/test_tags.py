"""Tag codecs: every scheme round trips, and means what seqeval says it means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Span
from roster.corpus.tags import SCHEMES, Scheme, check, decode, encode

LABEL = st.sampled_from(["PER", "LOC", "geo-loc", "O", "B-x", "é"])


@st.composite
def spans(draw: st.DrawFn) -> tuple[tuple[Span, ...], int]:
    found, at = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = at + draw(st.integers(0, 2))
        at = start + draw(st.integers(1, 3))
        found.append(Span(start, at, draw(LABEL)))
    return tuple(found), at + draw(st.integers(0, 2))


@pytest.mark.parametrize("scheme", ["IOB1", "BIO", "BIOES"])
@given(spans())
def test_round_trip(scheme: Scheme, given: tuple[tuple[Span, ...], int]) -> None:
    tags = encode(*given, scheme)
    assert decode(tags) == given[0]
    assert check(tags, scheme) is None


@given(spans())
def test_io_joins_only_neighbours_of_one_type(given: tuple[tuple[Span, ...], int]) -> None:
    joined: list[Span] = []
    for span in given[0]:
        if joined and (joined[-1].end, joined[-1].label) == (span.start, span.label):
            span = Span(joined.pop().start, span.end, span.label)
        joined.append(span)
    assert decode(encode(*given, "IO")) == tuple(joined)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(st.data())
def test_any_tags_mean_what_seqeval_says(scheme: Scheme, data: st.DataObject) -> None:
    labelling = pytest.importorskip("seqeval.metrics.sequence_labeling")
    prefixes = {"IO": "I", "IOB1": "BI", "BIO": "BI", "BIOES": "BIES"}[scheme]
    tag = st.just("O") | st.builds("{}-{}".format, st.sampled_from(prefixes), st.sampled_from(["A", "B"]))
    tags = data.draw(st.lists(tag, max_size=8))
    assert [(s.label, s.start, s.end - 1) for s in decode(tags)] == labelling.get_entities(tags)


def test_overlap_and_outside_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        encode([Span(0, 2, "A"), Span(1, 3, "B")], 3)
    with pytest.raises(ValueError, match="outside"):
        encode([Span(0, 4, "A")], 3)
