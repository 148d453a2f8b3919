"""Token patterns: the same matches as spaCy's own matcher, without its running times."""

from __future__ import annotations

import builtins
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence
from roster.distant.matching.patterns import PatternMatcher, load_patterns
from roster.distant.matching.patterns.tokens import FLAGS
from roster.errors import ConfigError, RosterError

pytest.importorskip("spacy")


def find(tokens: list[Any], words: list[str], **options: Any) -> list[tuple[int, int]]:
    patterns = load_patterns([{"name": "p", "label": "X", "tokens": tokens}], origin="my.toml")
    found = PatternMatcher(patterns, **options).mentions(Sentence.from_words(words))
    assert all((m.label, m.kind, m.source, m.entry) == ("X", "X", "my.toml", "p") for m in found)
    return [(m.start, m.end) for m in found]


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (
            [{"LOWER": "flight"}, {"IS_DIGIT": True, "OP": "+"}],
            "Flight 1 2 flight x FLIGHT 3",
            [(0, 3), (5, 7)],
        ),
        ([{"ORTH": "a"}, {"TEXT": "b", "OP": "?"}], "a b a", [(0, 2), (2, 3)]),
        ([{"orth": "a"}, {}, {"ORTH": "b"}], "a x b", [(0, 3)]),
        ([{"IS_TITLE": True, "OP": "{2,3}"}], "Ab Cd Ef Gh x Ij", [(0, 3)]),
        ([{"IS_UPPER": True, "LENGTH": {">=": 3}}], "ABC AB abc", [(0, 1)]),
        ([{"SHAPE": "dd/dd"}], "12/34 1/2", [(0, 1)]),
        ([{"LOWER": {"IN": ["inc", "ltd"]}}], "Inc x LTD", [(0, 1), (2, 3)]),
        ([{"LOWER": {"NOT_IN": ["inc"]}}, {"LOWER": "inc"}], "a inc inc", [(0, 2)]),
        ([{"ORTH": "a"}, {"ORTH": "b", "OP": "!"}], "a b a c", [(2, 4)]),
        ([{"ORTH": {"REGEX": "^[A-Z]{2}$"}}, {"LIKE_NUM": True}], "ZX 12 Z 12", [(0, 2)]),
        ([{"LOWER": {"REGEX": "^z", "NOT_IN": ["zz"]}}], "Zz ZA a", [(1, 2)]),
        ([{"TEXT": {"REGEX": {"IN": ["^a", "b$"]}}}], "ax xb x", [(0, 1), (1, 2)]),
        ([{"TEXT": {"REGEX": {"NOT_IN": ["^a", "b$"]}}}], "ax xb x", [(2, 3)]),
        ([{"TEXT": {"REGEX": {"IN": []}}}], "a b", []),
        ([{"TEXT": {"REGEX": {"NOT_IN": []}}}], "a", [(0, 1)]),
        ([{"TEXT": {"FUZZY": "colour"}}], "color x", [(0, 1)]),
        ([{"NORM": "xyz"}], "XYZ ayz", [(0, 1)]),
    ],
)
def test_attributes_and_operators(tokens: list[Any], text: str, expected: list[tuple[int, int]]) -> None:
    assert find(tokens, text.split()) == expected


@pytest.mark.parametrize("attribute", sorted(FLAGS))
def test_every_flag_is_known_to_spacy(attribute: str) -> None:
    words = ["7", "ab", "AB", "Ab", ".", "(", ")", '"', "$", "the", "a@b.org", "www.x.org", "é"]
    yes, no = find([{attribute: True}], words, lang="en"), find([{attribute: False}], words, lang="en")
    assert sorted(yes + no) == [(n, n + 1) for n in range(len(words))]
    assert no
    assert yes or attribute == "IS_SPACE"


def test_the_language_decides_what_looks_like_a_number() -> None:
    assert find([{"LIKE_NUM": True}], ["seven"], lang="en") == [(0, 1)]
    assert find([{"LIKE_NUM": True}], ["seven"]) == []
    with pytest.raises(ConfigError, match="spaCy has no language 'zzz'"):
        find([{"LIKE_NUM": True}], ["7"], lang="zzz")


def test_several_patterns_and_regexes_side_by_side() -> None:
    tables = [
        {"name": "t1", "label": "X", "tokens": [{"ORTH": "a"}, {}]},
        {"name": "r", "label": "Y", "regex": "b"},
        {"name": "t2", "label": "Z", "tokens": [{"ORTH": "b"}], "priority": 4},
    ]
    found = PatternMatcher(load_patterns(tables, origin="x")).mentions(Sentence.from_words(["a", "b"]))
    assert [(m.start, m.end, m.entry, m.priority) for m in found] == [
        (0, 2, "t1", 0),
        (1, 2, "t2", 4),
        (1, 2, "r", 0),
    ]


def test_words_that_are_hard_to_take() -> None:
    assert find([{"ORTH": "b"}], ["a b", "b", "é"]) == [(1, 2)]
    assert find([{"ORTH": "b"}], []) == []


TOKEN = st.fixed_dictionaries(
    {"ORTH": st.sampled_from(["a", "b"])},
    optional={"OP": st.sampled_from(["!", "?", "+", "*", "{2}", "{1,2}", "{,2}", "{2,}"])},
) | st.fixed_dictionaries({}, optional={"OP": st.sampled_from(["?", "+", "*"])})


@settings(max_examples=150, deadline=None)
@given(st.lists(TOKEN, min_size=1, max_size=3), st.lists(st.sampled_from(["a", "b", "c"]), max_size=7))
def test_against_spacy(tokens: list[dict[str, Any]], words: list[str]) -> None:
    """The leftmost-longest of all matches that spaCy's own search finds."""
    from spacy.matcher import Matcher
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    if all(t.get("OP", "")[:1] in ("?", "*") or t.get("OP", "").startswith("{,") for t in tokens):
        with pytest.raises(ConfigError, match="every token is optional"):
            find(tokens, words)
        return
    vocab = Vocab()
    matcher = Matcher(vocab)
    matcher.add("p", [tokens])
    every = {(start, end) for _, start, end in matcher(Doc(vocab, words=words)) if end > start}
    expected, at = [], 0
    while left := [span for span in every if span[0] >= at]:
        start = min(span[0] for span in left)
        at = max(end for s, end in left if s == start)
        expected.append((start, at))
    assert find(tokens, words) == expected


def test_operators_and_regexes_take_no_longer_than_the_text() -> None:
    """Five stars in a row, and an expression that backtracks: spaCy by itself would not come back."""
    stars = [{"IS_ALPHA": True, "OP": "*"}] * 5 + [{"ORTH": "zz"}]
    start = time.process_time()
    assert find(stars, ["a"] * 2000) == []
    assert find([{"ORTH": {"REGEX": "(a+)+$"}}], ["a" * 50_000 + "!"]) == []
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "tokens is empty"),
        (["a"], "token 1: expected a table"),
        ([{"ORTH": "a"}, {"POS": "NOUN"}], "token 2: POS needs a trained pipeline, which is not available"),
        ([{"LEMMA": "a"}], "LEMMA needs a trained pipeline"),
        ([{"_": {"x": 1}}], "_ needs a trained pipeline"),
        ([{"COLOUR": "red"}], "unknown attribute 'COLOUR'; known are IS_ALPHA"),
        ([{"ORTH": "a"}, {"LOWER": 5}], r"token 2: spaCy says: \[LOWER"),
        ([{"LOWER": {"INSIDE": ["a"]}}], r"spaCy says: \[LOWER.*INSIDE"),
        ([{"ORTH": "a", "OP": "++"}], r"OP must be one of .*, got '\+\+'"),
        ([{"ORTH": "a", "OP": "{3,2}"}], "OP must be one of"),
        ([{"ORTH": "a", "OP": "{0}"}], "OP must be one of"),
        ([{"ORTH": "a", "OP": 2}], "OP must be one of"),
        ([{"ORTH": "a", "OP": "{1001}"}], "counts to 1000 at most"),
        ([{"ORTH": "a", "OP": "*"}], "every token is optional"),
        ([{"ORTH": {"REGEX": "("}}], "token 1: the regex is not valid"),
        ([{"ORTH": {"REGEX": "a(?=b)"}}], "look-ahead"),
        ([{"ORTH": {"REGEX": {"IN": ["a)", "(b"]}}}], "the regex is not valid"),
        ([{"ORTH": {"REGEX": 5}}], "REGEX must be a string"),
        ([{"ORTH": {"REGEX": {"IN": "a"}}}], "REGEX must be a string"),
        ([{"LENGTH": {"REGEX": "a"}}], "REGEX asks for a string, which LENGTH is not"),
    ],
)
def test_what_is_wrong_with_tokens(tokens: list[Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        find(tokens, ["a"])
    assert str(error.value).startswith("my.toml: pattern 'p': ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", ["group", "ignore_case", "longest"])
def test_keys_of_a_regex(key: str) -> None:
    table = {"name": "p", "label": "X", "tokens": [{"ORTH": "a"}], key: 1 if key == "group" else True}
    with pytest.raises(ConfigError, match=f"pattern 'p': {key} goes with regex, not with tokens"):
        load_patterns([table], origin="x")


def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "spacy":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RosterError, match=r'token patterns need spaCy: pip install "roster-ner\[spacy\]"'):
        find([{"ORTH": "a"}], ["a"])
    assert load_patterns([{"name": "p", "label": "X", "regex": "a"}], origin="x")
