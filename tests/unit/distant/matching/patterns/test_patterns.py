"""Pattern tables, regular expressions over words, and what the matcher makes of them."""

from __future__ import annotations

import builtins
import pickle
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence
from roster.distant.matching.mention import Mention
from roster.distant.matching.patterns import PatternMatcher, builtin_patterns, load_patterns
from roster.distant.matching.patterns.regex import WordRegex, gate, joined
from roster.errors import ConfigError, RosterError


def spans(regex: str, words: list[str], **options: Any) -> list[tuple[int, int]]:
    return list(WordRegex(regex, **options).spans(joined(words)))


def one(**table: object) -> dict[str, object]:
    return {"name": "p", "label": "X", **table}


# --- words and borders ----------------------------------------------------------------------------------


def test_a_match_begins_and_ends_with_words() -> None:
    assert spans("cat|at", ["cat", "at", "scat", "cats", "cat"]) == [(0, 1), (1, 2), (4, 5)]
    assert spans("a b", ["a", "b", "a", "bb", "a", "b"]) == [(0, 2), (4, 6)]
    assert spans("^a", ["a", "a"]) == [(0, 1)]
    assert spans("a$", ["a", "a"]) == [(1, 2)]
    assert spans(" a| a b|b ", ["a", "b", "c"]) == []


def test_neighbours_share_a_border() -> None:
    assert spans("[0-9]+", ["1", "22", "333"]) == [(0, 1), (1, 2), (2, 3)]


def test_longest_or_first() -> None:
    words = ["New", "York", "City"]
    assert spans("New|New York City|New York", words) == [(0, 3)]
    assert spans("New|New York City|New York", words, longest=False) == [(0, 1)]
    assert spans("New.*?", words) == [(0, 3)]
    assert spans("New.*?", words, longest=False) == [(0, 1)]


def test_leftmost_goes_before_longest() -> None:
    assert spans("a b|b c d", ["a", "b", "c", "d"]) == [(0, 2)]


def test_a_group_selects_the_entity() -> None:
    words = ["Dr", "Ada", "and", "Dr", "Bob"]
    assert spans("Dr ([A-Z][a-z]+)", words, group=1) == [(1, 2), (4, 5)]
    assert spans("(?P<title>Dr) (?P<who>[A-Z][a-z]+)", words, group="who") == [(1, 2), (4, 5)]


def test_a_group_must_be_whole_words_and_take_part() -> None:
    assert spans("x(a)|(b)", ["xa", "b"], group=1) == []
    assert spans("x(a)|(b)", ["xa", "b"], group=2) == [(1, 2)]
    assert spans("(a*)b", ["b"], group=1) == []


def test_alternatives_outside_the_group_are_passed_over() -> None:
    assert spans("no one|(one)", ["no", "one", "and", "one"], group=1) == [(3, 4)]


def test_what_stands_after_a_group_can_stand_before_the_next() -> None:
    assert spans("x (a|b) x", ["x", "a", "x", "b", "x"], group=1) == [(1, 2), (3, 4)]


def test_case_and_scripts() -> None:
    assert spans("gmbh", ["GmbH"]) == []
    assert spans("gmbh", ["GmbH"], ignore_case=True) == [(0, 1)]
    assert spans(r"\p{Lu}\pL+ é", ["x", "Ärzte", "é", "日本"]) == [(1, 3)]
    assert spans("日.", ["é", "日本"]) == [(1, 2)]


def test_odd_words() -> None:
    assert spans("a", []) == []
    assert spans("a.b", ["a b", "a", "b"]) == [(0, 1), (1, 3)]  # a space inside a word is no border
    assert spans("a b", ["a b"]) == []
    assert spans("b", ["\ud800", "b", "", "b"]) == [(1, 2), (3, 4)]
    assert spans("x*", ["", "a", ""]) == []


WORDS = st.lists(st.text(alphabet="ab1é$ ", max_size=3), max_size=8)


@given(WORDS, st.sampled_from(["a+", "a b?|1", "[ab]+( [ab]+)*", "a|ab|b 1", "é.*", r"\$? ?1+", "(?:a )*b"]))
def test_against_python_on_every_stretch_of_words(words: list[str], regex: str) -> None:
    """Leftmost-longest by trying each start and end with Python's own engine."""
    words = [word.strip() or "a" for word in words]
    shown = [word.replace(" ", "\u00a0") for word in words]
    expected, at = [], 0
    while at < len(words):
        ends = [e for e in range(at + 1, len(words) + 1) if re.fullmatch(regex, " ".join(shown[at:e]))]
        if ends:
            expected.append((at, ends[-1]))
        at = max(ends, default=at + 1)
    assert spans(regex, words) == expected


@given(WORDS, st.lists(st.sampled_from(["a+", "A", "1 .*", "(?P<n>b)", "é$"]), max_size=3))
def test_the_gate_lets_through_what_any_regex_matches(words: list[str], regexes: list[str]) -> None:
    text = joined(words)
    # A regex that matches at a border without covering a word passes the gate, too; it then finds nothing.
    found = any(list(WordRegex(r, ignore_case=True).spans(text)) for r in regexes)
    assert gate([(r, True) for r in regexes])(text) >= found


def test_the_gate_is_closed_where_nothing_matches_and_open_where_it_cannot_know() -> None:
    assert not gate([])(b"a")
    assert not gate([("a", False), ("b", True)])(b"A c")
    assert gate([("a", False), ("b", True)])(b"A B")
    assert not gate([("(?P<n>a)", False), ("(?P<n>b)", False)])(b"c")
    heavy = r"(?:\pL{300} ){2}"
    assert gate([(heavy + str(n), False) for n in range(12)])(b"nothing of the kind")


# --- time -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regex", ["(a+)+$", "(a|aa)+b", "(a*)*c", "(.*)*=(.*)*=x", "(?:a ?)*a{200}z"])
def test_no_regex_can_take_for_ever(regex: str) -> None:
    """Backtracking takes 2^n steps here; what grows with n takes milliseconds for 100,000 characters."""
    for words in (["a" * 100_000 + "!"], ["a"] * 50_000 + ["!"]):
        start = time.process_time()
        assert spans(regex, words) == []
        assert time.process_time() - start < 5


# --- tables ---------------------------------------------------------------------------------------------


def test_a_table_in_full() -> None:
    table = one(regex="dr\n  ( a)", group=1, ignore_case=True, longest=False, priority=3)
    [pattern] = load_patterns([table], origin="my.toml")
    assert (pattern.regex, pattern.group, pattern.ignore_case) == ("dr( a)", 1, True)
    assert (pattern.longest, pattern.priority) == (False, 3)
    assert pickle.loads(pickle.dumps(pattern)) == pattern


def test_mentions_say_where_they_come_from() -> None:
    tables = [one(regex="a b"), one(name="q", label="Y", regex="b|a", priority=7)]
    found = PatternMatcher(load_patterns(tables, origin="my.toml")).mentions(Sentence.from_words(["a", "b"]))
    assert found == [
        Mention(0, 2, "X", "X", "my.toml", "p"),
        Mention(0, 1, "Y", "Y", "my.toml", "q", priority=7),
        Mention(1, 2, "Y", "Y", "my.toml", "q", priority=7),
    ]
    assert PatternMatcher([]).mentions(Sentence.from_words(["a"])) == []


def test_parts() -> None:
    tables: list[dict[str, object]] = [
        {"part": "n", "regex": "[0-9]|one"},
        {"part": "nn", "regex": "(?&n)-(?&n)"},
        one(regex="(?&nn)!"),
    ]
    [pattern] = load_patterns(tables, origin="x")
    assert spans(pattern.regex or "", ["1-one!", "1-one", "1-!"]) == [(0, 1)]


BAD_TABLES = [
    (one(), "pattern 'p': needs exactly one of regex and tokens"),
    (one(regex="a", tokens=[{}]), "needs exactly one of regex and tokens"),
    ({"label": "X", "regex": "a"}, "pattern 1: name is missing"),
    ({"name": "p", "label": "", "regex": "a"}, "pattern 'p': label is missing"),
    (one(regex="a", lable="Y"), "unknown key 'lable'; a pattern has name, label, regex"),
    (one(regex=5), "regex must be a string, got 5"),
    (one(regex=""), "the regex is empty"),
    (one(regex="a", ignore_case="yes"), "ignore_case must be true or false, got 'yes'"),
    (one(regex="a", priority=True), "priority must be a whole number, got True"),
    (one(tokens="x"), "tokens must be a list of token tables"),
    (one(regex="(a)", group=2), "group is 2, but the regex has 1 groups"),
    (one(regex="a", group=1), "group is 1, but the regex has no groups"),
    (one(regex="(a)", group="n"), "the regex has no group named 'n'$"),
    (one(regex="(?P<m>a)", group="n"), "no group named 'n'; it has m"),
    (one(regex="(a)", group=0), "group must be the number"),
    (one(regex="(a)", group=-1), "group must be 1 or more, got -1"),
    (one(regex="(a)", group=True), "group must be the number"),
    (
        one(regex="a(?=b)"),
        r"pattern 'p': the regex is not valid \(.*\): look-ahead and look-behind do not exist",
    ),
    (one(regex="(?<!a)b"), "look-ahead and look-behind do not exist"),
    (one(regex=r"(a)\1"), "back references do not exist"),
    (one(regex="(?P<x>a)(?P=x)"), "back references do not exist"),
    (one(regex=r"a\Z"), r"written \\z"),
    (one(regex="a)"), r"the regex is not valid \(.*\)$"),
    (one(regex="a{2000}"), "may count to 1000"),
    (one(regex=r"(?:\pL{100}){10}(?:\pL{100}){10}" * 10), "too large; split it"),
    (one(regex="\ud800"), "half of a surrogate pair"),
    (one(regex="(?&no)"), "there is no part 'no' above this table"),
    ({"part": "n"}, "part 'n': a part has the two keys part and regex"),
    ({"part": "n", "regex": "a", "label": "X"}, "a part has the two keys part and regex"),
    ({"part": "a b", "regex": "a"}, "letters, digits, - and _"),
    ({"part": "n", "regex": "(a)"}, "a part cannot hold a capturing group"),
    ({"part": "n", "regex": "("}, "part 'n': the regex is not valid"),
]


@pytest.mark.parametrize(("table", "message"), BAD_TABLES)
def test_what_is_wrong_with_a_table(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        load_patterns([table], origin="my.toml")
    assert str(error.value).startswith("my.toml: ")
    assert "\n" not in str(error.value)


def test_what_is_wrong_with_several() -> None:
    with pytest.raises(ConfigError, match="pattern 'p': the name is used twice"):
        load_patterns([one(regex="a"), one(regex="b")], origin="x")
    part: dict[str, object] = {"part": "n", "regex": "a"}
    with pytest.raises(ConfigError, match="part 'n': the part is defined twice"):
        load_patterns([part, part], origin="x")
    with pytest.raises(ConfigError, match="pattern 1: expected a table, got 'a'"):
        load_patterns(["a"], origin="x")  # type: ignore[list-item]


def test_parts_of_parts_cannot_grow_without_end() -> None:
    tables: list[dict[str, object]] = [{"part": "p0", "regex": "abcdefghij"}]
    tables += [{"part": f"p{n}", "regex": f"(?&p{n - 1})" * 10} for n in range(1, 12)]
    with pytest.raises(ConfigError, match="characters; at most 100000 are allowed"):
        load_patterns(tables, origin="x")


def test_without_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "re2":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RosterError, match=r"pip install google-re2"):
        WordRegex("a")


# --- everything together --------------------------------------------------------------------------------

LABELS = ["DATE", "TIME", "MONEY", "PERCENT", "QUANTITY", "ORDINAL", "CARDINAL", "ORG", "PERSON"]
PIECES = st.sampled_from(
    """May|5|,|1999|$|%|10%|$5|million|two|-|year|old|first|third|quarter|last|Mr.|Roe|Inc.|p.m.|9:30|miles|of|the
|about|between|and|to|'s|é|x|one|another|10 000|\u00a0""".replace("\n", "").split("|")
)


MATCHER = PatternMatcher(builtin_patterns(LABELS))


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=20))
def test_mentions_lie_between_words_and_those_of_a_pattern_apart(words: list[str]) -> None:
    sentence = Sentence.from_words(words)
    found = MATCHER.mentions(sentence)
    assert found == PatternMatcher(builtin_patterns(LABELS)).mentions(sentence)
    assert all(0 <= m.start < m.end <= len(words) for m in found)
    last: dict[str, int] = {}
    for m in found:
        assert m.start >= last.get(m.entry, 0)
        last[m.entry] = m.end
