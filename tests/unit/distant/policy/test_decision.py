"""Facts of a type and of a text give its policy: case by case, and what holds for all facts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from roster.distant.policy.decision import (
    ENOUGH_NAMES,
    CaseCounts,
    CorpusStats,
    Decision,
    TextCase,
    decide,
    decide_whole,
    lists_common_words,
)
from roster.distant.policy.entry_stats import EntryStats
from roster.distant.policy.policies import AUTO, CASES, STOP_WORDS, Policy

NEWS = TextCase(1000, 160)
QUERIES = TextCase(1000, 3)
CAPITALS = EntryStats(300, 300, 0)
LOWER = EntryStats(300, 300, 290)
HALF = EntryStats(300, 300, 120)
NOISY = EntryStats(50_000, 50_000, 20, stop_words=60)
NOTHING = CorpusStats()

counts = st.integers(0, 60)
founds = st.builds(CaseCounts, counts, counts)
evidences = st.builds(CorpusStats, founds, founds, founds, founds, counts, counts)
writings = st.builds(
    lambda entries, cased, lower, **rest: EntryStats(
        entries, min(cased, entries), min(lower, cased, entries), **rest
    ),
    *(st.integers(0, 400) for _ in range(3)),
    stop_words=st.integers(0, 40),
    short=st.integers(0, 400),
    stop_entries=st.integers(0, 400),
)
texts = st.builds(lambda cased, capitals: TextCase(cased, min(cased, capitals)), counts, counts)


def case(entry_stats: EntryStats, corpus_stats: CorpusStats, text: TextCase = NEWS) -> str:
    return decide(Policy(), entry_stats, corpus_stats, text).policy.case


@pytest.mark.parametrize(
    ("entry_stats", "corpus_stats", "decided"),
    [
        # The dictionary alone, where the text has nothing of the type.
        (CAPITALS, NOTHING, "smart"),
        (LOWER, NOTHING, "terms"),
        (HALF, NOTHING, "listed"),
        # Dictionary and text agree.
        (CAPITALS, CorpusStats(capital_phrases=CaseCounts(1, 40)), "smart"),
        (LOWER, CorpusStats(lower_words=CaseCounts(40, 2)), "terms"),
        (HALF, CorpusStats(lower_phrases=CaseCounts(20, 1), capital_phrases=CaseCounts(30, 9)), "terms"),
        # Brand names beside generic ones: each as it is listed.
        (HALF, CorpusStats(lower_words=CaseCounts(20, 1), capital_words=CaseCounts(2, 30)), "listed"),
        # The dictionary was put into lower case, or into capitals; the text shows what its names are.
        (LOWER, CorpusStats(lower_phrases=CaseCounts(2, 30), lower_words=CaseCounts(50, 90)), "smart"),
        (CAPITALS, CorpusStats(capital_phrases=CaseCounts(40, 4)), "terms"),
        # Single words that are listed with capitals may be common words, so nearly all must be in lower case.
        (CAPITALS, CorpusStats(capital_words=CaseCounts(30, 9)), "smart"),
        (CAPITALS, CorpusStats(capital_words=CaseCounts(30, 1)), "terms"),
        # Too few names in the text.
        (CAPITALS, CorpusStats(capital_phrases=CaseCounts(ENOUGH_NAMES - 1, 0)), "smart"),
        (LOWER, CorpusStats(lower_phrases=CaseCounts(0, ENOUGH_NAMES - 1)), "terms"),
        # A type that lists common words needs capitals, whatever the text has in lower case.
        (
            NOISY,
            CorpusStats(capital_phrases=CaseCounts(900, 100), capital_words=CaseCounts(2000, 500)),
            "smart",
        ),
    ],
)
def test_case(entry_stats: EntryStats, corpus_stats: CorpusStats, decided: str) -> None:
    assert case(entry_stats, corpus_stats) == decided


@pytest.mark.parametrize(("matches", "decided"), [(1, "listed"), (60, "smart"), (0, "smart")])
def test_a_few_names_in_lower_case_must_not_be_common_words(matches: int, decided: str) -> None:
    """Three of 300 names, in a type with 100 matches: `adidas` once, or `home` sixty times."""
    entry_stats = EntryStats(300, 300, 3)
    assert case(entry_stats, CorpusStats(lower_matches=matches, capital_matches=100)) == decided


@pytest.mark.parametrize("entry_stats", [CAPITALS, LOWER, HALF, NOISY])
@pytest.mark.parametrize("text", [QUERIES, TextCase(1000, 1000)])
def test_a_text_in_one_case(entry_stats: EntryStats, text: TextCase) -> None:
    decision = decide(Policy(), entry_stats, NOTHING, text)
    assert decision.policy.case == "terms"
    assert decision.policy.min_words == (2 if lists_common_words(entry_stats) else 1)
    assert ("no capitals" if text is QUERIES else "in capitals") in decision.reason


def test_a_script_without_capitals() -> None:
    decision = decide(Policy(), EntryStats(300), NOTHING, TextCase(0, 0))
    assert (decision.policy.case, decision.policy.min_length) == ("smart", 2)
    assert "script without capitals" in decision.reason


def test_types_of_stop_words_and_of_letters() -> None:
    days = decide(Policy(), EntryStats(7, 0, 0, stop_entries=7), NOTHING, NEWS)
    assert days.policy.stop_words == ()
    assert "stop-words match" in days.reason
    grades = decide(Policy(), EntryStats(8, 8, 0, short=6), NOTHING, NEWS)
    assert grades.policy.min_length == 1
    assert "single letters match" in grades.reason
    few = decide(Policy(), EntryStats(3, 3, 0, stop_entries=2), NOTHING, NEWS)
    assert set(few.policy.stop_words) == STOP_WORDS.keys() - {AUTO}
    named = decide(Policy(stop_words=(AUTO, "acme")), EntryStats(7, stop_entries=7), NOTHING, NEWS)
    assert named.policy.stop_words == ("acme",)


@pytest.mark.parametrize(
    ("matches", "inside", "whole"),
    [(100, 95, "false"), (100, 80, "true"), (10, 10, "true"), (0, 0, "true")],
)
def test_parts_of_longer_names(matches: int, inside: int, whole: str) -> None:
    decision = decide_whole(decide(Policy(), CAPITALS, NOTHING, NEWS), matches, inside)
    assert decision.policy.whole == whole
    assert ("parts of longer names match" in decision.reason) == (whole == "false")


def test_terms_may_be_part_of_a_longer_name() -> None:
    decision = decide_whole(decide(Policy(), LOWER, NOTHING, NEWS), 100, 0)
    assert not decision.policy.whole_only
    assert "longer" not in decision.reason


# For all facts


def decided(
    policy: Policy, entry_stats: EntryStats, corpus_stats: CorpusStats, text: TextCase, inside: int
) -> Decision:
    return decide_whole(decide(policy, entry_stats, corpus_stats, text), 60, inside)


@given(writings, evidences, texts, st.integers(0, 60))
def test_nothing_is_left_open(
    entry_stats: EntryStats, corpus_stats: CorpusStats, text: TextCase, inside: int
) -> None:
    decision = decided(Policy(), entry_stats, corpus_stats, text, inside)
    policy = decision.policy
    assert policy.case in ("smart", "listed", "terms")
    assert AUTO not in (policy.whole, *policy.stop_words)
    assert policy.min_length in (1, 2)
    assert decision.reason
    # What is decided once stays decided.
    assert decided(policy, entry_stats, corpus_stats, text, inside).policy == policy


@given(
    writings,
    evidences,
    texts,
    st.integers(0, 60),
    st.sampled_from([name for name in CASES if name != AUTO]),
    st.sampled_from(["true", "false"]),
    st.integers(1, 4),
    st.integers(1, 3),
    st.lists(st.sampled_from(["english", "calendar", "acme"]), unique=True).map(tuple),
)
def test_what_is_set_stays(
    entry_stats: EntryStats,
    corpus_stats: CorpusStats,
    text: TextCase,
    inside: int,
    case: str,
    whole: str,
    length: int,
    words: int,
    stops: tuple[str, ...],
) -> None:
    policy = Policy(case=case, whole=whole, min_length=length, min_words=words, stop_words=stops)
    decision = decided(policy, entry_stats, corpus_stats, text, inside)
    assert (decision.policy, decision.rule) == (policy, "given")


@given(writings, evidences, st.sampled_from(["lower_phrases", "capital_phrases"]))
def test_more_names_in_lower_case_never_ask_for_more_capitals(
    entry_stats: EntryStats, corpus_stats: CorpusStats, which: str
) -> None:
    found = getattr(corpus_stats, which)
    assume(found.names >= ENOUGH_NAMES)
    more = replace(corpus_stats, **{which: found + CaseCounts(1, 0)})
    strict = ("smart", "listed", "terms")
    assert strict.index(case(entry_stats, more)) >= strict.index(case(entry_stats, corpus_stats))


@given(writings, evidences, texts)
def test_names_without_lower_case_entries_are_never_matched_as_listed(
    entry_stats: EntryStats, corpus_stats: CorpusStats, text: TextCase
) -> None:
    assert case(replace(entry_stats, lower=0), corpus_stats, text) != "listed"
