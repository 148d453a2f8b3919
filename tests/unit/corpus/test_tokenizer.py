"""Words and sentences: exact offsets, nothing lost, no surprises in time."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.corpus.rules import Rules
from roster.corpus.tokenizer import LONGEST, locate, sentences, split, tokenize, trimmed

# Characters that the rules treat specially, mixed with anything at all.
TRICKY = st.sampled_from(
    list(
        " \t\n\r'’-.&,:/!?…。！\"()[]aAsSzÉß1٣_日のไ\u0301\u0900\u00ad\u200b\u200d\ufeff\x00\x85\u2028👩💻🇨🇭️"
    )
)
TEXT = st.text(st.one_of(TRICKY, st.characters(exclude_categories=["Cs"])), max_size=60)


def words(text: str) -> list[str]:
    return [text[a:b] for a, b in tokenize(text)]


def covered_once(text: str, offsets: list[tuple[int, int]]) -> bool:
    count = [0] * len(text)
    for a, b in offsets:
        assert a < b
        for i in range(a, b):
            count[i] += 1
    return all(n == (0 if blank(text, i) else 1) for i, n in enumerate(count))


def blank(text: str, i: int) -> bool:
    """White space, or a byte order mark at the start."""
    return text[i].isspace() or (i == 0 and text[i] == "\ufeff")


@given(TEXT)
@settings(max_examples=400)
def test_every_character_that_is_not_white_space_is_in_exactly_one_word(text: str) -> None:
    assert covered_once(text, tokenize(text))


@given(TEXT, st.lists(st.integers(-3, 70), max_size=6))
def test_cuts_are_borders_and_lose_nothing(text: str, cuts: list[int]) -> None:
    offsets = tokenize(text, cuts)
    assert covered_once(text, offsets)
    assert not [(a, b, c) for a, b in offsets for c in cuts if a < c < b]


@given(TEXT, st.data())
@settings(max_examples=300)
def test_gold_spans_are_whole_words_inside_one_sentence(text: str, data: st.DataObject) -> None:
    solid = [i for i in range(len(text)) if not blank(text, i)]
    ends = st.tuples(st.sampled_from(solid), st.sampled_from(solid)) if solid else st.nothing()
    spans = [
        (min(p), max(p) + 1, "X") for p in data.draw(st.lists(ends, max_size=4) if solid else st.just([]))
    ]
    sentences = split(text, "d", spans)
    assert covered_once(text, [pair for s in sentences for pair in s.offsets])
    for s in sentences:
        assert s.text is text
        assert s.doc == "d"
        assert [text[a:b] for a, b in s.offsets] == list(s.words)
    found = [s.char_span(x) for s in sentences for x in s.spans or ()]
    assert sorted(found) == sorted((a, b) for a, b, _ in spans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't", ["don't"]),
        ("Northgate's plan", ["Northgate", "'s", "plan"]),
        ("Northgate’s", ["Northgate", "’s"]),
        ("the war 's end", ["the", "war", "'s", "end"]),
        ("O'Neill's", ["O'Neill", "'s"]),
        ("the U.S. army", ["the", "U.S.", "army"]),
        ("non-U.S. U.S.-based", ["non-U.S.", "U.S.-based"]),
        ("Mr. Vale", ["Mr.", "Vale"]),
        ("J. Smith", ["J.", "Smith"]),
        ("A Ph.D. there", ["A", "Ph.D.", "there"]),
        ("3.5% of 1,000", ["3.5", "%", "of", "1,000"]),
        ("Swiss-based", ["Swiss-based"]),
        ("pre- and post-war", ["pre", "-", "and", "post-war"]),
        ("a--b", ["a", "--", "b"]),
        ("wait... what?!", ["wait", "...", "what", "?", "!"]),
        ("end.Next", ["end", ".", "Next"]),
        ("see example.com.", ["see", "example.com", "."]),
        ("(AT&T)", ["(", "AT&T", ")"]),
        ("東京へ", ["東", "京", "へ"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("cafe\u0301 x", ["cafe\u0301", "x"]),
        ("👩\u200d💻 🇨🇭🇩🇪 ❤\ufe0f", ["👩\u200d💻", "🇨🇭", "🇩🇪", "❤\ufe0f"]),
        ("\ufeffSwiss\u200bBank\x00", ["Swiss", "\u200b", "Bank", "\x00"]),
        ("", []),
        (" \t\n", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rains. We stay.", ["It rains.", "We stay."]),
        ("He said no. then left", ["He said no. then left"]),
        ('"No." Then left. (He did!) Yes', ['"No."', "Then left.", "(He did!)", "Yes"]),
        ("Mr. Vale met J. Smith of the U.S. Treasury.", ["Mr. Vale met J. Smith of the U.S. Treasury."]),
        ("It cost 3.5. Four came", ["It cost 3.5.", "Four came"]),
        ("Really? Yes! And so… On", ["Really?", "Yes!", "And so…", "On"]),
        ("東京。「はい。」次", ["東京。", "「はい。」", "次"]),
        ("Title\nIt rains\nand pours\n\nand stops", ["Title", "It rains\nand pours", "and stops"]),
        ("wait . . . What", ["wait . . .", "What"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [text[s.offsets[0][0] : s.offsets[-1][1]] for s in split(text)] == expected


def test_a_span_over_a_border_joins_the_sentences() -> None:
    text = "We saw Oh! Brother. It was fine."
    assert len(split(text)) == 3
    first, second = split(text, spans=[(7, 18, "FILM")])
    assert first.words == ("We", "saw", "Oh", "!", "Brother", ".")
    assert first.spans is not None
    assert [first.span_text(x) for x in first.spans] == ["Oh! Brother"]
    assert second.spans == ()


def test_rules_can_be_replaced() -> None:
    text = "Hr. Vale's U-Boot"
    assert [text[a:b] for a, b in tokenize(text, rules=Rules())] == ["Hr", ".", "Vale's", "U-Boot"]
    assert len(split(text)) == 2
    assert len(split(text, rules=Rules(abbreviations=frozenset({"hr"})))) == 1


def test_a_text_without_words_is_one_sentence_without_words() -> None:
    (sentence,) = split(" \n", "d", spans=[])
    assert (sentence.words, sentence.text, sentence.spans) == ((), " \n", ())


def test_spans_that_name_nothing_are_refused() -> None:
    assert trimmed("a  bc ", 1, 6) == (3, 5)
    for start, end in ((1, 3), (2, 2), (0, 7), (-1, 2)):
        with pytest.raises(ValueError, match=f"span {start} to {end}"):
            trimmed("a  bc ", start, end)
    with pytest.raises(ValueError, match="does not begin and end with a word"):
        locate("abc", [(0, 3)], [(0, 2, "X")])


@pytest.mark.parametrize(
    "unit",
    ["a", "a-", "'", "a.", ".", " ", "x\u0301", "👩\u200d", "1,", "A. ", "'s", '."', ")", "日。", "a.b\n"],
)
@pytest.mark.parametrize("tail", ["", "bb"])
def test_time_is_linear(unit: str, tail: str) -> None:
    """Four times the text must not take sixteen times the processor time, which other work does not count
    in."""

    def seconds(n: int) -> float:
        text = unit * (n // len(unit)) + tail
        began = time.thread_time()
        split(text)
        return time.thread_time() - began

    seconds(1000)
    small = min(seconds(40_000) for _ in range(3))
    assert min(seconds(160_000) for _ in range(3)) < max(0.1, 9 * small)


def test_a_byte_order_mark_is_no_word() -> None:
    """At the start; elsewhere it is a character like any other."""
    text = "\ufeffParis is \ufeff far ."
    assert words(text) == ["Paris", "is", "\ufeff", "far", "."]
    (sentence,) = split(text, spans=[(0, 6, "LOC")])
    assert sentence.char_span(sentence.spans[0]) == (1, 6)  # type: ignore[index]
    assert words("\ufeff") == []
    with pytest.raises(ValueError, match="holds only white space"):
        split("\ufeff x", spans=[(0, 1, "LOC")])


PROSE = "The mayor of Oslo met Anna Berg in the harbour. "
ENDLESS = "the mayor of Oslo met Anna Berg in the harbour and "


def test_a_text_without_full_stops_is_cut_after_so_many_words() -> None:
    text = ENDLESS * (3 * LONGEST // 10)
    found = split(text)
    assert [len(s) for s in found[:-1]] == [LONGEST] * (len(found) - 1)
    assert [pair for s in found for pair in s.offsets] == tokenize(text)
    assert len(found) == -(-len(tokenize(text)) // LONGEST)


def test_a_span_over_the_cut_stays_whole() -> None:
    words = tokenize(ENDLESS * LONGEST)
    start, end = words[LONGEST - 1][0], words[LONGEST][1]
    first, second, *_ = split(ENDLESS * LONGEST, spans=[(start, end, "X")])
    assert [s.span_text(x) for s in (first, second) for x in s.spans or ()] == [text_of(start, end)]


def text_of(start: int, end: int) -> str:
    return (ENDLESS * LONGEST)[start:end]


@pytest.mark.parametrize("line", [PROSE, ENDLESS])
def test_only_one_sentence_is_in_memory(line: str) -> None:
    text = line * (400_000 // len(line))
    tracemalloc.start()
    try:
        count = sum(1 for _ in sentences(text))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count > 5
    assert peak < 4_000_000  # all sentences take 12 million
