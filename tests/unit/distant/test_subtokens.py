"""Pieces against a slow, independent way to find them."""

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
    cut,
    normalised,
    sequence_hash,
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
    pieces = cut(texts)
    expected = [slow_pieces(text) for text in texts]
    assert np.diff(pieces.starts).tolist() == [len(found) for found in expected]
    assert pieces.length.tolist() == [len(piece) for found in expected for piece in found]
    assert [chr(c) for c in pieces.first] == [piece[0].casefold() for found in expected for piece in found]


@given(TEXT, TEXT)
def test_hashes_agree_exactly_where_folded_pieces_do(a: str, b: str) -> None:
    left, right = cut([a]), cut([b])
    folded = [[piece.casefold() for piece in slow_pieces(text)] for text in (a, b)]
    same = folded[0] == folded[1]
    assert (left.key.tolist() == right.key.tolist()) == same
    assert (left.check.tolist() == right.check.tolist()) == same


@given(TEXT, TEXT)
def test_shapes_tell_apart_what_case_tells_apart(a: str, b: str) -> None:
    left, right = cut([a]), cut([b])
    if left.key.tolist() == right.key.tolist():
        spelt = [[piece.replace("ς", "σ") for piece in slow_pieces(text)] for text in (a, b)]
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
    pieces = cut([text])
    assert (pieces.shape.tolist(), pieces.case.tolist()) == ([shape], [case])


def test_mixed_shapes_differ() -> None:
    assert len(set(cut(["iPhone", "IPhone", "iPHone", "iphonE", "McLeod"]).shape.tolist())) == 5


def test_every_ideograph_is_a_piece() -> None:
    pieces = cut(["東京タワー Tower"])
    assert len(pieces.key) == 6
    assert (pieces.kind != MARK).all()


def test_joiners_are_not_there() -> None:
    assert cut(["Zu\u00adrich"]).key.tolist() == cut(["Zurich"]).key.tolist()


def test_normal_forms() -> None:
    composed, loose, ligature = "Café", "Cafe\u0301", "Caﬁ"
    assert cut([composed]).key.tolist() == cut([loose]).key.tolist()
    assert cut([composed], "none").key.tolist() != cut([loose], "none").key.tolist()
    assert cut([ligature]).key.tolist() == cut(["Cafi"]).key.tolist()
    assert cut([ligature], "NFC").key.tolist() != cut(["Cafi"], "NFC").key.tolist()
    assert cut([composed], "accents").key.tolist() == cut(["Cafe"], "accents").key.tolist()
    assert normalised("\ufb01", "NFC") == "\ufb01"


def test_long_pieces_and_line_breaks_inside() -> None:
    long = "x" * 5000
    pieces = cut([long, "a\nb", ""])
    assert pieces.starts.tolist() == [0, 1, 3, 3]
    assert pieces.key[0] != cut(["x" * 4999]).key[0]


def test_nothing() -> None:
    assert cut([]).starts.tolist() == [0]
    assert cut(["", " \u3000"]).starts.tolist() == [0, 0, 0]
    assert len(cut(["", ""]).key) == 0


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=8))
def test_sequence_hash_is_that_of_the_sequence(rows: list[list[int]]) -> None:
    keys = np.array([7, 11, 2**63, 5], np.uint64)
    flat = np.array([keys[i] for row in rows for i in row], np.uint64)
    ends = np.cumsum([len(row) for row in rows])
    hashes = sequence_hash(flat, ends - [len(row) for row in rows], ends).tolist()
    for a, x in zip(rows, hashes, strict=True):
        for b, y in zip(rows, hashes, strict=True):
            assert (x == y) == (a == b)
