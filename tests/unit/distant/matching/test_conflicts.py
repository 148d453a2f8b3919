"""Overlaps and types against searches that try everything; each reason on an example of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.matching.conflicts import (
    Ambiguous,
    Overlap,
    Reason,
    Resolved,
    resolve,
    resolve_document,
    tied_types,
)
from roster.distant.matching.mention import Label, Mention
from roster.errors import ConfigError

WORDS = 7
Stretch = tuple[int, int]


def mention(start: int, end: int, label: str, source: str = "s", **more: Any) -> Mention:
    return Mention(start, end, label, more.pop("kind", label), source, more.pop("entry", "e"), **more)


@st.composite
def any_mention(draw: st.DrawFn, words: int = WORDS) -> Mention:
    start = draw(st.integers(0, words - 1))
    label = draw(st.sampled_from(["X", "X", "Y", "Z", ""]))
    return Mention(
        start,
        draw(st.integers(start + 1, min(words, start + 4))),
        label,
        draw(st.sampled_from([label, f"{label}.a"])),
        draw(st.sampled_from(["s", "t"])),
        "e",
        draw(st.integers(0, 2)),
        draw(st.integers(-1, 1)),
    )


MENTIONS = st.lists(any_mention(), max_size=9)
SENTENCE = st.tuples(
    st.lists(st.sampled_from(["a", "A", "b", "ß", "SS"]), min_size=WORDS, max_size=WORDS), MENTIONS
)
DOCUMENT = st.lists(SENTENCE, max_size=4)
OVERLAPS = st.sampled_from(get_args(Overlap))
AMBIGUOUS = st.sampled_from(get_args(Ambiguous))


# Overlap


def disjoint(spans: Iterable[Stretch]) -> bool:
    covered = [word for start, end in spans for word in range(start, end)]
    return len(covered) == len(set(covered))


def strength(mentions: Sequence[Mention], span: Stretch) -> tuple[int, int, int]:
    claims = [m for m in mentions if (m.start, m.end) == span]
    return (
        span[1] - span[0],
        max(m.priority for m in claims),
        len({f"{m.source}/{m.kind}" for m in claims}),
    )


def longest_by_search(mentions: Sequence[Mention]) -> list[Stretch]:
    left, taken = {(m.start, m.end) for m in mentions}, []
    while left:
        best = max(left, key=lambda span: (*strength(mentions, span), -span[0]))
        taken.append(best)
        left = {span for span in left if disjoint([best, span])}
    return sorted(taken)


def squares_by_search(mentions: Sequence[Mention]) -> list[Stretch]:
    """The best of all subsets."""

    def subsets() -> Iterator[tuple[Stretch, ...]]:
        spans = sorted({(m.start, m.end) for m in mentions})
        for size in range(len(spans) + 1):
            yield from filter(disjoint, combinations(spans, size))

    def worth(subset: Iterable[Stretch]) -> Any:
        strengths = [strength(mentions, span) for span in subset]
        sums = (
            sum(n * n for n, _, _ in strengths),
            sum(p for _, p, _ in strengths),
            sum(v for *_, v in strengths),
        )
        return (*sums, [(-start, end) for start, end in subset])

    return list(max(subsets(), key=worth))


@given(MENTIONS)
def test_longest_against_search(mentions: list[Mention]) -> None:
    taken, _ = resolve(mentions, "longest")
    assert [(c[0].start, c[0].end) for c in taken] == longest_by_search(mentions)


@given(MENTIONS)
def test_squares_against_all_subsets(mentions: list[Mention]) -> None:
    taken, _ = resolve(mentions, "squares")
    assert [(c[0].start, c[0].end) for c in taken] == squares_by_search(mentions)


@given(MENTIONS, OVERLAPS)
def test_taken_and_lost_spans_are_all_mentions_grouped_by_stretch(
    mentions: list[Mention], overlap: Any
) -> None:
    taken, lost = resolve(mentions, overlap)
    spans = [{(m.start, m.end) for m in claims} for claims in taken + lost]
    assert all(len(span) == 1 for span in spans)
    assert len({next(iter(span)) for span in spans}) == len(spans)
    assert Counter(m for claims in taken + lost for m in claims) == Counter(mentions)


def test_the_rules_differ_where_a_long_name_lies_between_two() -> None:
    left, middle, right = mention(0, 3, "X"), mention(2, 6, "X"), mention(5, 8, "X")
    assert resolve([left, middle, right], "longest") == ([[middle]], [[left], [right]])
    assert resolve([left, middle, right], "squares") == ([[left], [right]], [[middle]])


@pytest.mark.parametrize("overlap", get_args(Overlap))
def test_equal_lengths_go_by_priority_then_votes_then_left(overlap: Overlap) -> None:
    left, right = mention(0, 2, "X"), mention(1, 3, "X")
    other = mention(1, 3, "X", "t")
    high = mention(0, 2, "X", priority=1)
    assert resolve([right, left], overlap)[0] == [[left]]
    assert resolve([right, other, left], overlap)[0] == [[right, other]]
    assert resolve([right, other, high], overlap)[0] == [[high]]


@pytest.mark.parametrize("overlap", get_args(Overlap))
def test_a_name_listed_twice_has_one_vote(overlap: Overlap) -> None:
    left = mention(0, 2, "X")
    twice = [mention(1, 3, "X", line=1), mention(1, 3, "X", line=2)]
    assert resolve([left, *twice], overlap) == ([[left]], [twice])
    kinds = [mention(1, 3, "X", kind="X.a"), mention(1, 3, "X", kind="X.b")]
    assert resolve([left, *kinds], overlap) == ([kinds], [[left]])


def test_among_equal_sets_the_longer_span_on_the_left_wins() -> None:
    # 1 + 4 and 4 + 1 over three words: sums of squares, priorities and votes are all equal.
    spans = [mention(0, 1, "X"), mention(1, 3, "X"), mention(0, 2, "X"), mention(2, 3, "X")]
    assert resolve(spans, "squares")[0] == [[spans[2]], [spans[3]]]


@pytest.mark.parametrize("overlap", get_args(Overlap))
def test_a_chain_of_thousands_of_overlapping_spans(overlap: Overlap) -> None:
    chain = [mention(i, i + 2, "X") for i in range(5000)]
    taken, lost = resolve(chain, overlap)
    assert [claims[0].start for claims in taken] == list(range(0, 5000, 2))
    assert len(lost) == 2500


# Types


def tied_by_search(claims: Sequence[Mention]) -> tuple[str, ...]:
    typed = [c for c in claims if c.label != ""]
    heard = [c for c in typed if all(c.priority >= d.priority for d in typed)]
    votes = Counter(label for label, _, _ in {(c.label, c.source, c.kind) for c in heard})
    return tuple(sorted(label for label in votes if votes[label] == max(votes.values())))


@given(st.lists(any_mention(words=1), min_size=1, max_size=8))
def test_types_against_search(claims: list[Mention]) -> None:
    assert tied_types(claims) == tied_by_search(claims)


def only(mentions: Sequence[Mention], ambiguous: Ambiguous = "drop") -> Resolved:
    words = ["w"] * max(m.end for m in mentions)
    (resolved,) = resolve_document([(words, mentions)], ambiguous=ambiguous)
    return resolved


def test_higher_priority_silences_any_number_of_votes() -> None:
    high = mention(0, 1, "X", priority=1)
    low = [mention(0, 1, "Y", "s"), mention(0, 1, "Y", "t")]
    assert only([*low, high]) == Resolved([Label(0, 1, ("X",), (high,))], [(m, Reason.PRIORITY) for m in low])


def test_more_votes_win_and_repetition_is_no_vote() -> None:
    two = [mention(0, 1, "Y", "s"), mention(0, 1, "Y", "t")]
    repeated = [mention(0, 1, "X", line=n) for n in range(3)]
    assert only([*repeated, *two]) == Resolved(
        [Label(0, 1, ("Y",), tuple(two))], [(m, Reason.VOTES) for m in repeated]
    )


def test_evidence_is_every_claim_of_the_type_weightiest_first() -> None:
    high, low, also = mention(0, 1, "X", priority=2), mention(0, 1, "X", "a"), mention(0, 1, "X", "b")
    assert only([also, low, high]) == Resolved([Label(0, 1, ("X",), (high, low, also))], [])


X, Y = mention(1, 2, "X"), mention(1, 2, "Y")
LOW = mention(1, 2, "Z", priority=-1)


def test_ambiguous_dropped() -> None:
    dropped = [(X, Reason.AMBIGUOUS), (Y, Reason.AMBIGUOUS), (LOW, Reason.PRIORITY)]
    assert only([Y, LOW, X]) == Resolved([], dropped)


def test_ambiguous_all() -> None:
    assert only([Y, LOW, X], "all") == Resolved([Label(1, 2, ("X", "Y"), (X, Y))], [(LOW, Reason.PRIORITY)])


def test_ambiguous_first() -> None:
    assert only([Y, LOW, X], "first") == Resolved(
        [Label(1, 2, ("X",), (X,))], [(Y, Reason.FIRST), (LOW, Reason.PRIORITY)]
    )


@pytest.mark.parametrize("ambiguous", get_args(Ambiguous))
def test_a_dropped_span_does_not_free_the_words_of_those_it_beat(ambiguous: Ambiguous) -> None:
    inner = mention(0, 1, "X")
    outer = [mention(0, 2, "X"), mention(0, 2, "Y")]
    resolved = only([inner, *outer], ambiguous)
    assert (inner, Reason.OVERLAP) in resolved.dropped
    # The document rule has nothing to go by here: the inner span was not taken.
    assert len(resolved.labels) == (ambiguous in ("all", "first"))


def test_a_phrase_of_unknown_type_is_kept_and_wins_overlaps() -> None:
    phrase, name = mention(0, 3, ""), mention(1, 2, "X")
    assert only([name, phrase]) == Resolved([Label(0, 3, (), (phrase,))], [(name, Reason.OVERLAP)])


def test_a_typed_claim_beats_an_untyped_one_of_any_priority() -> None:
    phrase, name = mention(0, 2, "", priority=5), mention(0, 2, "X")
    assert only([phrase, name]) == Resolved([Label(0, 2, ("X",), (name,))], [(phrase, Reason.UNTYPED)])
    # An ambiguous span is not kept as a phrase of unknown type either.
    other = mention(0, 2, "Y")
    assert only([phrase, name, other]) == Resolved(
        [], [(phrase, Reason.UNTYPED), (name, Reason.AMBIGUOUS), (other, Reason.AMBIGUOUS)]
    )


def test_the_priority_of_an_untyped_claim_does_not_outrank_types() -> None:
    phrase, outvoted = mention(0, 1, "", priority=5), mention(0, 1, "X")
    winners = mention(0, 1, "Y", "s"), mention(0, 1, "Y", "t")
    assert only([phrase, outvoted, *winners]) == Resolved(
        [Label(0, 1, ("Y",), winners)], [(phrase, Reason.UNTYPED), (outvoted, Reason.VOTES)]
    )


# The document


def document(*named: tuple[str, str]) -> list[tuple[list[str], list[Mention]]]:
    """One sentence for each name, with a mention for each letter of its types."""
    return [
        (["the", *name.split(), "."], [mention(1, 1 + len(name.split()), t) for t in types])
        for name, types in named
    ]


def types_of_first(*named: tuple[str, str], ambiguous: Ambiguous = "document") -> tuple[str, ...]:
    labels = resolve_document(document(*named), ambiguous=ambiguous)[0].labels
    return labels[0].types if labels else ()


def test_labels_that_contain_the_name_decide() -> None:
    assert types_of_first(("Lund", "XY"), ("Maria Lund", "Y"), ("Oslo", "X"), ("Bergen", "X")) == ("Y",)
    assert types_of_first(("Port Lund", "XY"), ("old PORT LUND harbour", "Y"), ("Oslo", "X")) == ("Y",)
    assert types_of_first(("Lund", "XY"), ("LUND", "Y"), ("Oslo", "X"), ("Bergen", "X")) == ("Y",)


def test_only_whole_words_beside_each_other_contain_the_name() -> None:
    assert types_of_first(("Port Lund", "XY"), ("Port of Lund", "Y"), ("Oslo", "X"), ("Bergen", "X")) == (
        "X",
    )
    assert types_of_first(("Lund", "XY"), ("Lundgren", "Y"), ("Oslo", "X"), ("Bergen", "X")) == ("X",)


def test_the_most_frequent_type_around_the_name_wins() -> None:
    around = ("Maria Lund", "Y"), ("Lund Harbour", "X"), ("Maria Lund", "Y")
    assert types_of_first(("Lund", "XY"), *around, ("Oslo", "X"), ("Bergen", "X")) == ("Y",)


def test_a_label_counts_once_however_often_it_contains_the_name() -> None:
    # Once for X and once for Y around the name; the document has more of Y.
    assert types_of_first(("Lund", "XY"), ("Lund and Lund", "X"), ("Maria Lund", "Y"), ("Oslo", "Y")) == (
        "Y",
    )


def test_the_whole_document_decides_between_types_that_are_still_tied() -> None:
    around = ("Maria Lund", "X"), ("Lund Harbour", "Y")
    everywhere = ("Oslo", "Z"), ("Bergen", "Z"), ("Oslo", "Y")
    assert types_of_first(("Lund", "XYZ"), *around, *everywhere) == ("Y",)


def test_other_types_do_not_count() -> None:
    assert types_of_first(("Lund", "XY"), ("Maria Lund", "Z"), ("Oslo", "Z"), ("Bergen", "X")) == ("X",)


def test_a_tie_in_the_document_is_dropped() -> None:
    assert types_of_first(("Lund", "XY"), ("Oslo", "X"), ("Bergen", "Y")) == ()
    resolved = resolve_document(document(("Lund", "XY")), ambiguous="document")
    assert resolved == [Resolved([], [(X, Reason.AMBIGUOUS), (Y, Reason.AMBIGUOUS)])]


def test_ambiguous_names_never_count() -> None:
    # Oslo is decided as Y by Oslo Harbour; if it counted, X and Y would tie for Lund.
    clear = ("Oslo Harbour", "Y"), ("Bergen", "X"), ("Hamar", "X")
    found = resolve_document(
        document(*clear, ("Oslo", "XY"), ("Lund", "XY"), ("Lund Harbour", "XY")), ambiguous="document"
    )
    assert [r.labels[0].types for r in found[3:]] == [("Y",), ("X",), ("X",)]
    assert [r.dropped for r in found[3:]] == [
        [(X, Reason.DOCUMENT)],
        [(Y, Reason.DOCUMENT)],
        [(mention(1, 3, "Y"), Reason.DOCUMENT)],
    ]


def fold(words: Sequence[str], span: Label | Mention) -> list[str]:
    return [w.casefold() for w in words[span.start : span.end]]


def contains(name: list[str], part: list[str]) -> bool:
    return any(name[i : i + len(part)] == part for i in range(len(name)))


@given(DOCUMENT, OVERLAPS)
def test_document_rule_against_search(sentences: list[tuple[list[str], list[Mention]]], overlap: Any) -> None:
    """The labels of rule `all` show the tied types; each is decided by comparing it with all others."""
    everything = resolve_document(sentences, overlap=overlap, ambiguous="all")
    texts = [words for words, _ in sentences]
    clear = [
        (fold(words, x), x.types[0])
        for words, r in zip(texts, everything, strict=True)
        for x in r.labels
        if len(x.types) == 1
    ]
    expected = []
    for words, r in zip(texts, everything, strict=True):
        row = []
        for x in r.labels:
            types = x.types
            if len(types) > 1:
                near = [t for name, t in clear if contains(name, fold(words, x))]
                for voters in (near, [t for _, t in clear]):
                    types = tuple(t for t in types if all(voters.count(t) >= voters.count(u) for u in types))
                if len(types) > 1:
                    continue
            row.append((x.start, x.end, types))
        expected.append(row)
    found = resolve_document(sentences, overlap=overlap, ambiguous="document")
    assert [[(x.start, x.end, x.types) for x in r.labels] for r in found] == expected


# All together


@given(DOCUMENT, OVERLAPS, AMBIGUOUS, st.randoms(use_true_random=False))
def test_the_order_of_mentions_does_not_matter(
    sentences: list[tuple[list[str], list[Mention]]], overlap: Any, ambiguous: Any, random: Any
) -> None:
    shuffled = [(words, random.sample(mentions, len(mentions))) for words, mentions in sentences]
    assert resolve_document(sentences, overlap=overlap, ambiguous=ambiguous) == resolve_document(
        shuffled, overlap=overlap, ambiguous=ambiguous
    )


@given(DOCUMENT, OVERLAPS, AMBIGUOUS)
def test_every_mention_is_evidence_once_or_dropped_with_a_true_reason(
    sentences: list[tuple[list[str], list[Mention]]], overlap: Any, ambiguous: Any
) -> None:
    found = resolve_document(sentences, overlap=overlap, ambiguous=ambiguous)
    for (_, mentions), r in zip(sentences, found, strict=True):
        assert [x.start for x in r.labels] == sorted(x.start for x in r.labels)
        assert disjoint((x.start, x.end) for x in r.labels)
        evidence = [m for x in r.labels for m in x.evidence]
        assert Counter(evidence) + Counter(m for m, _ in r.dropped) == Counter(mentions)
        for x in r.labels:
            assert x.evidence
            assert {m.label for m in x.evidence} == (set(x.types) or {""})
            assert all((m.start, m.end) == (x.start, x.end) for m in x.evidence)
        labelled = {(x.start, x.end): x.types for x in r.labels}
        for m, reason in r.dropped:
            types = labelled.get((m.start, m.end))
            match reason:
                case Reason.OVERLAP:
                    assert types is None
                case Reason.AMBIGUOUS:
                    assert types is None
                    assert ambiguous in ("drop", "document")
                case Reason.UNTYPED:
                    assert not m.label
                case Reason.FIRST:
                    assert ambiguous == "first"
                    assert types is not None
                    assert types[0] < m.label
                case Reason.DOCUMENT:
                    assert ambiguous == "document"
                    assert types is not None
                    assert m.label not in types
                case Reason.PRIORITY | Reason.VOTES:
                    rivals = [o for o in mentions if (o.start, o.end) == (m.start, m.end) and o.label]
                    outranked = any(o.priority > m.priority for o in rivals)
                    assert outranked == (reason == Reason.PRIORITY)
                case _:
                    pytest.fail(f"unknown reason {reason!r}")


@given(DOCUMENT, OVERLAPS, AMBIGUOUS)
def test_repeated_entries_change_no_label(
    sentences: list[tuple[list[str], list[Mention]]], overlap: Any, ambiguous: Any
) -> None:
    twice = [(words, mentions * 2) for words, mentions in sentences]

    def labels(
        document: list[tuple[list[str], list[Mention]]],
    ) -> list[list[tuple[int, int, tuple[str, ...]]]]:
        found = resolve_document(document, overlap=overlap, ambiguous=ambiguous)
        return [[(x.start, x.end, x.types) for x in r.labels] for r in found]

    assert labels(twice) == labels(sentences)


def test_a_document_without_mentions() -> None:
    assert resolve_document([]) == []
    assert resolve_document([(["a"], []), ([], [])], ambiguous="document") == [Resolved([], [])] * 2


def test_unknown_rules_are_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="overlap = 'widest': expected one of longest, squares"):
        resolve_document([(["a"], [])], overlap="widest")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="ambiguous = 'any': expected one of drop, all, first, document"):
        resolve_document([], ambiguous="any")  # type: ignore[arg-type]


# Agreement


def agreed(number: int, *claims: tuple[int, int, str, str, int], **options: Any) -> Resolved:
    """The claims are start, end, label, source and priority."""
    found = [Mention(a, b, label, label, source, "x", priority=p) for a, b, label, source, p in claims]
    (one,) = resolve_document([(("a", "b", "c"), found)], agreement=number, **options)
    return one


def test_a_type_needs_as_many_sources_as_are_asked_for() -> None:
    """Two entries of one source are one source; a claim of lower priority counts as well."""
    alone = agreed(2, (0, 1, "PER", "a", 0), (0, 1, "PER", "a", 0))
    assert alone.labels == []
    assert [reason for _, reason in alone.dropped] == [Reason.AGREEMENT] * 2
    both = agreed(2, (0, 1, "PER", "a", 1), (0, 1, "PER", "b", 0))
    assert [label.types for label in both.labels] == [("PER",)]
    assert agreed(3, (0, 1, "PER", "a", 1), (0, 1, "PER", "b", 0)).labels == []
    assert [x.types for x in agreed(1, (0, 1, "PER", "a", 0)).labels] == [("PER",)]


def test_agreement_comes_after_overlap_and_type() -> None:
    """A longer span without agreement keeps its words; a type with it loses against a higher priority."""
    long = agreed(2, (0, 2, "ORG", "a", 0), (0, 1, "LOC", "a", 0), (0, 1, "LOC", "b", 0))
    assert long.labels == []
    assert sorted(reason for _, reason in long.dropped) == ["agreement", "overlap", "overlap"]
    first = agreed(2, (0, 1, "ORG", "a", 1), (0, 1, "LOC", "b", 0), (0, 1, "LOC", "c", 0))
    assert first.labels == []
    assert sorted(reason for _, reason in first.dropped) == ["agreement", "priority", "priority"]


def test_agreement_leaves_phrases_of_unknown_type_and_ambiguous_names() -> None:
    assert [x.types for x in agreed(2, (0, 1, "", "a", 0)).labels] == [()]
    claims = [(0, 1, kind, source, 0) for kind in ("LOC", "ORG") for source in "ab"]
    assert [x.types for x in agreed(2, *claims, ambiguous="all").labels] == [("LOC", "ORG")]
    assert [reason for _, reason in agreed(2, *claims).dropped] == [Reason.AMBIGUOUS] * 4
    three = agreed(2, *claims, (0, 1, "PER", "a", 0), ambiguous="all")
    assert [x.types for x in three.labels] == [("LOC", "ORG")]
