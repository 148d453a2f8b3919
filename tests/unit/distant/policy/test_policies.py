"""Policies and labels by type."""

from __future__ import annotations

import pytest

from roster.distant.policy.policies import Policies, Policy
from roster.errors import ConfigError


def test_the_most_specific_pattern_wins() -> None:
    policies = Policies.from_tables(
        {"min_length": 3},
        {"*": {"min_words": 2}, "ORG*": {"min_words": 3}, "ORG.team": {"min_words": 4}},
        {"*": "X", "ORG.*": "ORG", "ORG.team": ""},
    )
    found = {kind: policies.of(kind).min_words for kind in ("LOC", "ORG", "ORG.firm", "ORG.team")}
    assert found == {"LOC": 2, "ORG": 3, "ORG.firm": 3, "ORG.team": 4}
    assert {p.min_length for _, p in policies.types} == {3}
    assert [policies.label(kind) for kind in ("LOC", "ORG.firm", "ORG.team", "")] == ["X", "ORG", None, ""]


def test_without_tables_a_type_is_its_own_label() -> None:
    policies = Policies()
    assert policies.label("LOC.city") == "LOC.city"
    assert policies.of("LOC.city") == Policy()


def test_stop_words_by_name_and_by_word() -> None:
    assert {"the", "monday"} <= Policy().stops
    assert Policy(stop_words=("calendar", "foo")).stops >= {"monday", "foo"}
    assert "the" not in Policy(stop_words=("calendar", "foo")).stops
    assert Policy(stop_words=()).stops == frozenset()


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        (({"cases": "smart"},), ["[defaults]", "cases", "did you mean 'case'"]),
        (({"case": "clever"},), ["case", "exact, upper, insensitive, smart", "clever"]),
        (({}, {"ORG": {"min_length": -1}}), ["[types.ORG]", "min_length", "at least 0"]),
        (({"whole": "perhaps"},), ["[defaults]", "whole", "auto, true, false"]),
        (({}, {"ORG": 3}), ["ORG must be a table"]),
        (({}, {}, {"ORG": 3}), ["[labels]", "ORG", "text"]),
        (({"deny": "Best"},), ["deny", "a list of texts"]),
        (({"stop_words": [1]},), ["stop_words", "a list of texts"]),
    ],
)
def test_mistakes_are_named(tables: tuple[dict[str, object], ...], says: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        Policies.from_tables(*tables, where="my.toml: ")
    for part in ["my.toml", *says]:
        assert part in str(error.value)
