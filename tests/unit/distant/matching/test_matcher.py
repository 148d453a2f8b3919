"""Matches against a search that tries every stretch of words, and the case policies one by one."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.distant.compiling import compiler
from roster.distant.compiling.compiler import compile_lexicon
from roster.distant.compiling.lexicon import Lexicon, Source
from roster.distant.matching.matcher import COMMON, IN_LOWER_CASE, OTHERWISE, Matcher, common_words
from roster.distant.matching.text_arrays import MAX_CHUNK
from roster.distant.policy.policies import Policies
from roster.distant.subtokens import APOSTROPHES, EDGES, TEXT_EDGES

WORDS = ["Ada", "ada", "ADA", "of", "Lund", "Lund.", "(Lund)", "Lund's", "'", "U.S.", "S", "x-Ada", "42"]
NAMES = [
    "Ada",
    "ada",
    "Ada of Lund",
    "Lund",
    "Lund.",
    "LUND",
    "U.S.",
    "u. s",
    "of",
    "of Lund",
    "Ada Lund",
    "42",
]


def compiled(folder: Path, names: Sequence[tuple[str, str]], policies: Policies) -> Lexicon:
    path = folder / "names.tsv"
    path.write_text("surface\ttype\n" + "".join(f"{name}\t{kind}\n" for name, kind in names), "utf-8")
    return compile_lexicon([Source(path)], policies)


def found(
    folder: Path,
    names: Sequence[str],
    words: Sequence[str],
    common: Sequence[Sequence[str]] = (),
    **policy: object,
) -> list[tuple[int, int, str]]:
    """(first word, word after the last, entry) of every match."""
    policies = Policies.from_tables({"stop_words": [], "min_length": 1, **policy})
    lexicon = compiled(folder, [(name, "T") for name in names], policies)
    matcher = Matcher(lexicon, policies)
    if common:
        matcher = Matcher(lexicon, policies, common_words(matcher, [common]))
    m = matcher.find([words])
    assert m.sentence.tolist() == [0] * len(m.sentence)
    return [
        (int(a), int(b), lexicon.entry(int(e)).surface)
        for a, b, e in zip(m.start, m.end, m.entry, strict=True)
    ]


def subtokens(text: str) -> list[str]:
    result, run = [], ""
    for char in unicodedata.normalize("NFKC", text) + " ":
        if unicodedata.category(char)[0] in "LNM":
            run += char
            continue
        result += [run] if run else []
        run = ""
        result += [] if char.isspace() else [char]
    return result


def inner(name: list[str]) -> list[str]:
    """A name without the punctuation at its edges."""
    first = next((i for i, subtoken in enumerate(name) if subtoken not in EDGES), len(name))
    last = next((i for i, subtoken in enumerate(reversed(name)) if subtoken not in EDGES), len(name))
    return name[first : len(name) - last]


def readings(words: Sequence[str]) -> set[tuple[str, ...]]:
    """All that a stretch of whole words may be read as: punctuation and a possessive at its edges or not."""
    first, last = subtokens(words[0]), subtokens(words[-1])
    whole = [subtoken for word in words for subtoken in subtokens(word)]
    fronts, backs = [0], [0]
    while fronts[-1] + 1 < len(first) and first[fronts[-1]] in TEXT_EDGES:
        fronts.append(fronts[-1] + 1)
    while backs[-1] + 1 < len(last) and last[-1 - backs[-1]] in TEXT_EDGES:
        backs.append(backs[-1] + 1)
    rest = last[: len(last) - backs[-1]]
    if len(rest) > 2 and rest[-1].lower() == "s" and rest[-2] in APOSTROPHES:
        backs.append(backs[-1] + 2)
    return {tuple(whole[a : len(whole) - b]) for a in fronts for b in backs if a < len(whole) - b}


def brute_force(
    names: Sequence[str], words: Sequence[str], *, insensitive: bool
) -> list[tuple[int, int, str]]:
    result = []
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            options = readings(words[start:end])
            if insensitive:
                options = {tuple(p.lower() for p in option) for option in options}
            for name in names:
                key = inner(subtokens(name))
                key = [p.lower() for p in key] if insensitive else key
                if any(p.isalnum() for p in key) and tuple(key) in options:
                    result.append((start, end, name))
    return sorted(result)


@given(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True),
    st.lists(st.sampled_from(WORDS), max_size=10),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_against_brute_force(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], words: list[str], insensitive: bool
) -> None:
    folder = tmp_path_factory.getbasetemp()
    case = "insensitive" if insensitive else "exact"
    assert sorted(found(folder, names, words, case=case)) == brute_force(
        names, words, insensitive=insensitive
    )


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=6))
@settings(max_examples=50, deadline=None)
def test_many_sentences_are_as_each_alone(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]]
) -> None:
    policies = Policies.from_tables({"min_length": 1})
    lexicon = compiled(tmp_path_factory.getbasetemp(), [(n, "T") for n in NAMES], policies)
    together = Matcher(lexicon, policies).find(sentences)
    alone = Matcher(lexicon, policies)
    rows = []
    for i, sentence in enumerate(sentences):
        m = alone.find([sentence])
        rows += [(i, *row) for row in zip(m.start.tolist(), m.end.tolist(), m.entry.tolist(), strict=True)]
    columns = (together.sentence, together.start, together.end, together.entry)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == rows


@given(st.lists(st.sampled_from(WORDS), max_size=12))
@settings(max_examples=50, deadline=None)
def test_one_automaton_or_many(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    folder, names = tmp_path_factory.getbasetemp(), [n for n in NAMES if n != "of"]
    whole = found(folder, names, words, case="insensitive")
    for size, most in ((1, 99), (1, 2), (2, 99)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiler, "AUTOMATON_SIZE", size)
            patch.setattr(compiler, "MAX_AUTOMATA", most)
            assert found(folder, names, words, case="insensitive") == whole


def test_words_are_those_of_the_corpus(tmp_path: Path) -> None:
    for words in (["U.S."], ["U.S", "."], ["U", ".", "S", "."], ["(U.S.)"]):
        matches = found(tmp_path, ["U.S."], words, case="exact")
        assert matches == [(0, {1: 1, 2: 1, 4: 3}[len(words)], "U.S.")]
    assert found(tmp_path, ["Swiss"], ["Swiss-based"], case="exact") == []
    assert found(tmp_path, ["therapist"], ["the", "rapist"], case="insensitive") == []


CASES = [
    # name, text, exact, upper, insensitive, smart
    ("Apple", "we like Apple here", 1, 1, 1, 1),
    ("Apple", "we like APPLE here", 0, 1, 1, 1),
    ("Apple", "we like apple here", 0, 0, 1, 0),
    ("apple", "we like apple here", 1, 1, 1, 0),
    ("apple", "we like Apple here", 0, 0, 1, 1),
    ("APPLE INC", "we like Apple Inc here", 0, 0, 1, 1),
    ("It", "the IT world is here", 0, 1, 1, 0),  # an acronym
    ("WHO", "asked Who it was today", 0, 0, 1, 0),
    ("Bank of Lund", "the Bank of Lund is here", 1, 1, 1, 1),
    ("Bank of Lund", "the Bank Of Lund is here", 0, 0, 1, 1),
    ("Bank of Lund", "the bank of Lund is here", 0, 0, 1, 0),
    ("iPhone", "an iPhone is here now", 1, 1, 1, 1),
    ("iPhone", "an Iphone is here now", 0, 0, 1, 1),
    ("de Wit", "then de Wit came here", 1, 1, 1, 1),
    ("1984", "in 1984 it was here", 1, 1, 1, 0),
    ("عدن", "قال عدن", 1, 1, 1, 1),
]


@pytest.mark.parametrize(("name", "text", "exact", "upper", "insensitive", "smart"), CASES)
def test_case_policies(
    tmp_path: Path, name: str, text: str, exact: int, upper: int, insensitive: int, smart: int
) -> None:
    expected = {"exact": exact, "upper": upper, "insensitive": insensitive, "smart": smart}
    counts = {case: len(found(tmp_path, [name], text.split(), case=case)) for case in expected}
    assert counts == expected


def test_smart_learns_common_words_from_the_text(tmp_path: Path) -> None:
    corpus = [s.split() for s in ("the best of all", "my best friend", "Northgate paid", "he saw Best there")]
    names = ["Best", "Northgate", "Best Northgate"]
    assert found(tmp_path, names, ["Best", "of", "luck"], corpus) == []
    assert found(tmp_path, names, ["the", "firm", "Best", "paid"], corpus) == [(2, 3, "Best")]
    assert found(tmp_path, names, ["Northgate", "paid"], corpus) == [(0, 1, "Northgate")]
    everything = [(0, 2, "Best Northgate"), (1, 2, "Northgate")]
    assert found(tmp_path, names, ["Best", "Northgate", "paid", "it"], corpus) == everything
    # In a headline a capital says nothing.
    assert found(tmp_path, names, ["THE", "BEST", "NEWS", "TODAY"], corpus) == []


def test_what_is_refused_has_a_reason(tmp_path: Path) -> None:
    policies = Policies.from_tables({"case": "smart"}, {"ILL": {"case": "terms"}})
    names = [("Apple", "ORG"), ("Pear", "FRUIT"), ("AIDS", "ILL"), ("It", "FILM")]
    lexicon = compiled(tmp_path, names, policies)
    words = ["Apple", "is", "an", "apple", "and", "Pear", "aids", "nobody"]
    matcher = Matcher(lexicon, policies)
    matcher = Matcher(lexicon, policies, common_words(matcher, [[words, ["an", "apple"]]]))
    matches = matcher.find([words])
    assert [lexicon.entry(int(e)).surface for e in matches.entry] == ["Pear"]
    refused = [(lexicon.entry(e).surface, w) for e, w in zip(matches.refused, matches.why, strict=True)]
    assert sorted(refused) == [("AIDS", IN_LOWER_CASE), ("Apple", IN_LOWER_CASE), ("Apple", COMMON)]
    matches = matcher.find([["He", "had", "Aids", "then"]])
    assert matches.why.tolist() == [OTHERWISE]


def test_possessive_edges_and_plural_can_be_switched(tmp_path: Path) -> None:
    options = {"case": "exact", "possessive": False}
    assert found(tmp_path, ["Lund"], ["Lund's"], **options) == []
    assert found(tmp_path, ["Lund"], ["Lund."], **options) == [(0, 1, "Lund")]
    assert found(tmp_path, ["Lund"], ["Lund."], case="exact", edges=False) == []
    assert found(tmp_path, ["Lund."], ["Lund"], case="exact", edges=False) == []
    assert found(tmp_path, ["lung biopsy"], ["lung", "biopsies"], case="exact") == []
    assert found(tmp_path, ["lung biopsy"], ["lung", "biopsies"], case="exact", plural=True) == [
        (0, 2, "lung biopsy")
    ]
    assert found(tmp_path, ["NGO"], ["NGOs"], case="exact", plural=True) == [(0, 1, "NGO")]
    assert found(tmp_path, ["NGO"], ["ngos"], case="exact", plural=True) == [(0, 1, "NGO")]


def test_most_of_a_text_never_reaches_the_automata(tmp_path: Path) -> None:
    policies = Policies()
    lexicon = compiled(tmp_path, [("Ada Lund", "PER"), ("rain", "X")], policies)
    matcher = Matcher(lexicon, policies)
    words = ["rain"] * 500 + ["Ada", "Lund"] + ["Ada"] * 500
    numbers, place = matcher._promising(matcher.arrays_of([words]).number)
    assert place.tolist() == [500, 501]
    assert (numbers > 0).all()


def test_several_types_and_sources_of_one_name(tmp_path: Path) -> None:
    policies = Policies.from_tables({"case": "exact"}, {"B": {"case": "insensitive"}})
    lexicon = compiled(tmp_path, [("Lund", "A"), ("LUND", "A"), ("Lund", "B")], policies)
    matches = Matcher(lexicon, policies).find([["lund", "Lund"]])
    hits = [(int(s), lexicon.entry(int(e)).kind, lexicon.entry(int(e)).line)
            for s, e in zip(matches.start, matches.entry, strict=True)]  # fmt: skip
    assert hits == [(0, "B", 4), (1, "A", 2), (1, "B", 4)]


def test_memory_of_words_starts_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roster.distant.matching.matcher.MAX_FORMS", 3)
    policies = Policies()
    lexicon = compiled(tmp_path, [("Ada Lund", "PER")], policies)
    matcher = Matcher(lexicon, policies)
    for i in range(5):
        matches = matcher.find([[f"word{i}", "Ada", "Lund", "spoke", "again"]])
        assert (matches.start.tolist(), matches.end.tolist()) == ([1], [3])


def test_odd_words(tmp_path: Path) -> None:
    policies = Policies()
    lexicon = compiled(tmp_path, [("Ada Lund", "PER")], policies)
    matcher = Matcher(lexicon, policies)
    for words in (
        [""],
        [" "],
        ["\x00"],
        ["\n"],
        ["Ada", "", "Lund"],
        ["Ada\nLund"],
        ["Ada", "\u200b", "Lund"],
        [],
    ):
        matcher.find([words])
    assert matcher.find([["Ada", "\x00", "Lund"]]).start.tolist() == []
    assert matcher.find([["said", "Ada"], ["Lund", "said"]]).start.tolist() == []
    assert matcher.find([]).start.tolist() == []
    with pytest.raises(ValueError, match="at most"):
        matcher.find([["x"] * MAX_CHUNK])


def test_common_words_of_nothing(tmp_path: Path) -> None:
    policies = Policies()
    matcher = Matcher(compiled(tmp_path, [("Ada", "PER")], policies), policies)
    assert not common_words(matcher, []).any()


def test_stop_words_are_common_in_any_text(tmp_path: Path) -> None:
    options = {"stop_words": ["who"], "min_length": 1}
    assert found(tmp_path, ["Who Is Who"], ["Who", "is", "who", "today"], **options) == []
    assert found(tmp_path, ["Is Who"], ["then", "Is", "Who", "came"], **options) == [(1, 3, "Is Who")]
