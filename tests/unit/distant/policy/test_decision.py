"""Facts of a type and of a text give its policy: case by case, and what holds for all facts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from roster.distant.policy.decision import (
    ENOUGH_NAMES,
    Decision,
    Evidence,
    Found,
    TextCase,
    decide,
    decide_whole,
    lists_common_words,
)
from roster.distant.policy.entry_stats import Writing
from roster.distant.policy.policies import AUTO, CASES, STOP_WORDS, Policy

NEWS = TextCase(1000, 160)
QUERIES = TextCase(1000, 3)
CAPITALS = Writing(300, 300, 0)
LOWER = Writing(300, 300, 290)
HALF = Writing(300, 300, 120)
NOISY = Writing(50_000, 50_000, 20, stop_words=60)
NOTHING = Evidence()

counts = st.integers(0, 60)
founds = st.builds(Found, counts, counts)
evidences = st.builds(Evidence, founds, founds, founds, founds, counts, counts)
writings = st.builds(
    lambda entries, cased, lower, **rest: Writing(
        entries, min(cased, entries), min(lower, cased, entries), **rest
    ),
    *(st.integers(0, 400) for _ in range(3)),
    stop_words=st.integers(0, 40),
    short=st.integers(0, 400),
    stop_entries=st.integers(0, 400),
)
texts = st.builds(lambda cased, capitals: TextCase(cased, min(cased, capitals)), counts, counts)


def case(writing: Writing, evidence: Evidence, text: TextCase = NEWS) -> str:
    return decide(Policy(), writing, evidence, text).policy.case


@pytest.mark.parametrize(
    ("writing", "evidence", "decided"),
    [
        # The dictionary alone, where the text has nothing of the type.
        (CAPITALS, NOTHING, "smart"),
        (LOWER, NOTHING, "terms"),
        (HALF, NOTHING, "listed"),
        # Dictionary and text agree.
        (CAPITALS, Evidence(capital_phrases=Found(1, 40)), "smart"),
        (LOWER, Evidence(lower_words=Found(40, 2)), "terms"),
        (HALF, Evidence(lower_phrases=Found(20, 1), capital_phrases=Found(30, 9)), "terms"),
        # Brand names beside generic ones: each as it is listed.
        (HALF, Evidence(lower_words=Found(20, 1), capital_words=Found(2, 30)), "listed"),
        # The dictionary was put into lower case, or into capitals; the text shows what its names are.
        (LOWER, Evidence(lower_phrases=Found(2, 30), lower_words=Found(50, 90)), "smart"),
        (CAPITALS, Evidence(capital_phrases=Found(40, 4)), "terms"),
        # Single words that are listed with capitals may be common words, so nearly all must be in lower case.
        (CAPITALS, Evidence(capital_words=Found(30, 9)), "smart"),
        (CAPITALS, Evidence(capital_words=Found(30, 1)), "terms"),
        # Too few names in the text.
        (CAPITALS, Evidence(capital_phrases=Found(ENOUGH_NAMES - 1, 0)), "smart"),
        (LOWER, Evidence(lower_phrases=Found(0, ENOUGH_NAMES - 1)), "terms"),
        # A type that lists common words needs capitals, whatever the text has in lower case.
        (NOISY, Evidence(capital_phrases=Found(900, 100), capital_words=Found(2000, 500)), "smart"),
    ],
)
def test_case(writing: Writing, evidence: Evidence, decided: str) -> None:
    assert case(writing, evidence) == decided


@pytest.mark.parametrize(("matches", "decided"), [(1, "listed"), (60, "smart"), (0, "smart")])
def test_a_few_names_in_lower_case_must_not_be_common_words(matches: int, decided: str) -> None:
    """Three of 300 names, in a type with 100 matches: `adidas` once, or `home` sixty times."""
    writing = Writing(300, 300, 3)
    assert case(writing, Evidence(lower_matches=matches, capital_matches=100)) == decided


@pytest.mark.parametrize("writing", [CAPITALS, LOWER, HALF, NOISY])
@pytest.mark.parametrize("text", [QUERIES, TextCase(1000, 1000)])
def test_a_text_in_one_case(writing: Writing, text: TextCase) -> None:
    decision = decide(Policy(), writing, NOTHING, text)
    assert decision.policy.case == "terms"
    assert decision.policy.min_words == (2 if lists_common_words(writing) else 1)
    assert ("no capitals" if text is QUERIES else "in capitals") in decision.reason


def test_a_script_without_capitals() -> None:
    decision = decide(Policy(), Writing(300), NOTHING, TextCase(0, 0))
    assert (decision.policy.case, decision.policy.min_length) == ("smart", 2)
    assert "script without capitals" in decision.reason


def test_types_of_stop_words_and_of_letters() -> None:
    days = decide(Policy(), Writing(7, 0, 0, stop_entries=7), NOTHING, NEWS)
    assert days.policy.stop_words == ()
    assert "stop-words match" in days.reason
    grades = decide(Policy(), Writing(8, 8, 0, short=6), NOTHING, NEWS)
    assert grades.policy.min_length == 1
    assert "single letters match" in grades.reason
    few = decide(Policy(), Writing(3, 3, 0, stop_entries=2), NOTHING, NEWS)
    assert set(few.policy.stop_words) == STOP_WORDS.keys() - {AUTO}
    named = decide(Policy(stop_words=(AUTO, "acme")), Writing(7, stop_entries=7), NOTHING, NEWS)
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


def decided(policy: Policy, writing: Writing, evidence: Evidence, text: TextCase, inside: int) -> Decision:
    return decide_whole(decide(policy, writing, evidence, text), 60, inside)


@given(writings, evidences, texts, st.integers(0, 60))
def test_nothing_is_left_open(writing: Writing, evidence: Evidence, text: TextCase, inside: int) -> None:
    decision = decided(Policy(), writing, evidence, text, inside)
    policy = decision.policy
    assert policy.case in ("smart", "listed", "terms")
    assert AUTO not in (policy.whole, *policy.stop_words)
    assert policy.min_length in (1, 2)
    assert decision.reason
    # What is decided once stays decided.
    assert decided(policy, writing, evidence, text, inside).policy == policy


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
    writing: Writing,
    evidence: Evidence,
    text: TextCase,
    inside: int,
    case: str,
    whole: str,
    length: int,
    words: int,
    stops: tuple[str, ...],
) -> None:
    policy = Policy(case=case, whole=whole, min_length=length, min_words=words, stop_words=stops)
    decision = decided(policy, writing, evidence, text, inside)
    assert (decision.policy, decision.rule) == (policy, "given")


@given(writings, evidences, st.sampled_from(["lower_phrases", "capital_phrases"]))
def test_more_names_in_lower_case_never_ask_for_more_capitals(
    writing: Writing, evidence: Evidence, which: str
) -> None:
    found = getattr(evidence, which)
    assume(found.names >= ENOUGH_NAMES)
    more = replace(evidence, **{which: found + Found(1, 0)})
    strict = ("smart", "listed", "terms")
    assert strict.index(case(writing, more)) >= strict.index(case(writing, evidence))


@given(writings, evidences, texts)
def test_names_without_lower_case_entries_are_never_matched_as_listed(
    writing: Writing, evidence: Evidence, text: TextCase
) -> None:
    assert case(replace(writing, lower=0), evidence, text) != "listed"
