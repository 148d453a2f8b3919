"""Subtokens against a slow, independent way to find them."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.subtokens import (
    ALL_CAPITALS,
    CAPITALISED,
    HAS_CAPITAL,
    HAS_CASE,
    HAS_UNCASED,
    MARK,
    NO_CAPITAL,
    ONLY_CAPITALS,
    normalised,
    sequence_hash,
    to_subtokens,
)

TEXT = st.text(st.sampled_from("aBcÉé9 .'-&\n\t_ßσςΣ"), max_size=12)


def slow_pieces(text: str) -> list[str]:
    """Runs of letters, digits and marks; every other character that is no space, alone."""
    found, run = [], ""
    for char in unicodedata.normalize("NFKC", text.replace("ß", "ss")):
        if unicodedata.category(char)[0] in "LNM":
            run += char
            continue
        if run:
            found.append(run)
        run = ""
        if not char.isspace():
            found.append(char)
    return [*found, run] if run else found


@given(st.lists(TEXT, max_size=6))
def test_same_pieces_as_the_slow_way(texts: list[str]) -> None:
    subtokens = to_subtokens(texts)
    expected = [slow_pieces(text) for text in texts]
    assert np.diff(subtokens.starts).tolist() == [len(found) for found in expected]
    assert subtokens.length.tolist() == [len(subtoken) for found in expected for subtoken in found]
    assert [chr(c) for c in subtokens.first] == [
        subtoken[0].casefold() for found in expected for subtoken in found
    ]


@given(TEXT, TEXT)
def test_hashes_agree_exactly_where_folded_pieces_do(a: str, b: str) -> None:
    left, right = to_subtokens([a]), to_subtokens([b])
    folded = [[subtoken.casefold() for subtoken in slow_pieces(text)] for text in (a, b)]
    same = folded[0] == folded[1]
    assert (left.key.tolist() == right.key.tolist()) == same
    assert (left.check.tolist() == right.check.tolist()) == same


@given(TEXT, TEXT)
def test_shapes_tell_apart_what_case_tells_apart(a: str, b: str) -> None:
    left, right = to_subtokens([a]), to_subtokens([b])
    if left.key.tolist() == right.key.tolist():
        spelt = [[subtoken.replace("ς", "σ") for subtoken in slow_pieces(text)] for text in (a, b)]
        assert (left.shape.tolist() == right.shape.tolist()) == (spelt[0] == spelt[1])


@pytest.mark.parametrize(
    ("text", "shape", "case"),
    [
        ("apple", NO_CAPITAL, HAS_CASE),
        ("Apple", CAPITALISED, HAS_CASE | HAS_CAPITAL),
        ("APPLE", ALL_CAPITALS, HAS_CASE | HAS_CAPITAL | ONLY_CAPITALS),
        ("A", CAPITALISED, HAS_CASE | HAS_CAPITAL | ONLY_CAPITALS),
        ("A4", CAPITALISED, HAS_CASE | HAS_CAPITAL | ONLY_CAPITALS),
        ("1984", NO_CAPITAL, 0),
        ("&", NO_CAPITAL, 0),
        ("عدن", NO_CAPITAL, HAS_UNCASED),
    ],
)
def test_shape_and_case(text: str, shape: int, case: int) -> None:
    subtokens = to_subtokens([text])
    assert (subtokens.shape.tolist(), subtokens.case.tolist()) == ([shape], [case])


def test_mixed_shapes_differ() -> None:
    assert len(set(to_subtokens(["iPhone", "IPhone", "iPHone", "iphonE", "McLeod"]).shape.tolist())) == 5


def test_every_ideograph_is_a_piece() -> None:
    subtokens = to_subtokens(["東京タワー Tower"])
    assert len(subtokens.key) == 6
    assert (subtokens.kind != MARK).all()


def test_joiners_are_not_there() -> None:
    assert to_subtokens(["Zu\u00adrich"]).key.tolist() == to_subtokens(["Zurich"]).key.tolist()


def test_normal_forms() -> None:
    composed, loose, ligature = "Café", "Cafe\u0301", "Caﬁ"
    assert to_subtokens([composed]).key.tolist() == to_subtokens([loose]).key.tolist()
    assert to_subtokens([composed], "none").key.tolist() != to_subtokens([loose], "none").key.tolist()
    assert to_subtokens([ligature]).key.tolist() == to_subtokens(["Cafi"]).key.tolist()
    assert to_subtokens([ligature], "NFC").key.tolist() != to_subtokens(["Cafi"], "NFC").key.tolist()
    assert to_subtokens([composed], "accents").key.tolist() == to_subtokens(["Cafe"], "accents").key.tolist()
    assert normalised("\ufb01", "NFC") == "\ufb01"


def test_long_pieces_and_line_breaks_inside() -> None:
    long = "x" * 5000
    subtokens = to_subtokens([long, "a\nb", ""])
    assert subtokens.starts.tolist() == [0, 1, 3, 3]
    assert subtokens.key[0] != to_subtokens(["x" * 4999]).key[0]


def test_nothing() -> None:
    assert to_subtokens([]).starts.tolist() == [0]
    assert to_subtokens(["", " \u3000"]).starts.tolist() == [0, 0, 0]
    assert len(to_subtokens(["", ""]).key) == 0


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=8))
def test_sequence_hash_is_that_of_the_sequence(rows: list[list[int]]) -> None:
    keys = np.array([7, 11, 2**63, 5], np.uint64)
    flat = np.array([keys[i] for row in rows for i in row], np.uint64)
    ends = np.cumsum([len(row) for row in rows])
    hashes = sequence_hash(flat, ends - [len(row) for row in rows], ends).tolist()
    for a, x in zip(rows, hashes, strict=True):
        for b, y in zip(rows, hashes, strict=True):
            assert (x == y) == (a == b)
