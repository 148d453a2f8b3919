"""Whole words as rows of numbers, vocabularies, and files of word vectors."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.backbone.words import (
    CHARACTERS,
    UNKNOWN,
    Vectors,
    WholeWords,
    Words,
    is_word_level,
    learn_words,
    read_vectors,
)
from roster.errors import DataError, ModelError

SENTENCES = [("the", "cat", "saw", "Anna"), ("the", "dog", "saw", "the", "cat")]
VECTORS = Vectors(("the", "anna", "bird"), np.arange(6, dtype=np.float32).reshape(3, 2))


def test_the_words_of_the_training_text() -> None:
    found = learn_words(SENTENCES, 1, 4, None)
    assert found.words.learned == ("the", "cat", "saw", "Anna", "dog")  # the frequent first
    assert found.words.fixed == ()
    assert found.words.characters == "Aacdeghnostw"
    assert found.given.shape == (7, 4)
    assert np.isnan(found.given).all()
    assert found.rare.tolist() == [False] * 5 + [True] * 2


def test_words_that_are_too_rare() -> None:
    words = learn_words(SENTENCES, 2, 4, None).words
    assert words.learned == ("the", "cat", "saw")
    assert words.number("dog") == UNKNOWN


def test_words_of_a_file() -> None:
    found = learn_words(SENTENCES, 1, 100, VECTORS)
    words = found.words
    assert words.fixed == ("anna", "bird")  # also those that no sentence has
    np.testing.assert_array_equal(found.fixed, [[2, 3], [4, 5]])
    given = dict(zip(words.learned, found.given[2:].tolist(), strict=True))
    assert given["the"] == [0, 1]
    assert given["Anna"] == [2, 3]  # as in lower case
    assert np.isnan(given["dog"]).all()
    assert [words.learned[i - 2] for i in np.flatnonzero(found.rare)] == ["dog"]  # Anna has a vector
    assert words.number("bird") == words.number("Bird") == 2 + 5 + 1
    assert words.number("Anna") != words.number("anna") == words.number("ANNA")


def test_a_word_is_its_number_and_its_characters() -> None:
    words = Words(("cab",), (), "abc")
    row, upper, strange = words.rows(["cab", "CAB", "x"]).tolist()
    assert row == [2, 4, 2, 3, *[0] * (CHARACTERS - 3)]
    assert upper == [2, 1, 1, 1, *[0] * (CHARACTERS - 3)]
    assert strange == [1, 1, *[0] * (CHARACTERS - 1)]


def test_a_long_word_keeps_both_ends() -> None:
    words = Words((), (), "abc")
    half = CHARACTERS // 2
    (row,) = words.rows(["a" * half + "b" * 50 + "c" * half]).tolist()
    assert row == [1, *[2] * half, *[4] * half]


WORD = st.text(st.characters(exclude_categories=["Cs", "Zs"]), min_size=1, max_size=25)


@given(st.lists(st.lists(WORD, max_size=5), max_size=6))
def test_a_sentence_is_a_window(sentences: list[list[str]]) -> None:
    words = Words(("the", "été"), (), "thé")
    found = WholeWords(words, 8).encode(sentences)
    real = [s for s in sentences if s]
    assert found.n_windows == len(real)
    assert found.n_words == sum(map(len, real)) == len(found.words)
    for i, sentence in enumerate(real):
        mine = slice(found.starts[i], found.starts[i + 1])
        np.testing.assert_array_equal(found.ids[mine], words.rows(sentence))
        np.testing.assert_array_equal(found.positions[mine], np.arange(len(sentence)))
    np.testing.assert_array_equal(found.word_starts, found.starts)
    np.testing.assert_array_equal(found.words, np.arange(found.n_words))


def test_saved_and_loaded(tmp_path: Path) -> None:
    words = Words(("the", '"', "été", "\u2028"), ("bird",), 'thé"\u2028')
    words.save_pretrained(tmp_path)
    assert Words.load(tmp_path) == words


def test_a_damaged_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no vocabulary: .*words\.json is missing"):
        Words.load(tmp_path)
    for text in ("{", "[]", '{"learned": []}', '{"learned": 3, "fixed": [], "characters": ""}'):
        (tmp_path / "words.json").write_text(text)
        with pytest.raises(ModelError, match=r"words\.json is damaged"):
            Words.load(tmp_path)


def test_which_folders_have_words(tmp_path: Path) -> None:
    assert not is_word_level(tmp_path)
    for text, expected in (("{", False), ("[]", False), ('{"model_type": "bert"}', False),
                           ('{"model_type": "roster-bilstm-cnn"}', True)):  # fmt: skip
        (tmp_path / "config.json").write_text(text)
        assert is_word_level(tmp_path) == expected


PLAIN = "the 0.5 -1\nnew york 2 3e-1\nThe 1 1\nthe 7 7\n"


@pytest.mark.parametrize("text", [PLAIN, "4 2\n" + PLAIN, PLAIN.replace("\n", " \n"), PLAIN.strip()])
@pytest.mark.parametrize("packed", [False, True])
def test_vectors(text: str, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("v.txt.gz" if packed else "v.txt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = read_vectors(path)
    assert found.words == ("the", "new york", "The")
    np.testing.assert_allclose(found.values, [[0.5, -1], [2, 0.3], [1, 1]])
    assert found.of("THE") is not None
    np.testing.assert_allclose(found.of("THE") if found.of("THE") is not None else 0, [0.5, -1])
    assert found.of("york") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "there are no word vectors in it"),
        (b"3 2\n", "there are no word vectors in it"),
        (b"the\n", r"v\.txt, line 1: expected a word and its numbers"),
        (b"the 1 2\nof 1\n", r"v\.txt, line 2: expected a word and 2 numbers"),
        (b"the 1 2\nof 1 x\n", r"v\.txt, line 2: expected a word and 2 numbers"),
        (b"the 1 2\nof 1 nan\n", r"v\.txt, line 2: expected a word and 2 numbers"),
        (b"the 1 2\n\nof 1 2\n", r"v\.txt, line 2: expected a word and 2 numbers"),
        (b"the\t1\t2\n", r"line 1: expected a word and its numbers, with single spaces"),
        (b"\xff\xfe 1 2\n", "cannot be read as word vectors"),
    ],
)
def test_files_that_are_no_vectors(text: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(text)
    with pytest.raises(DataError, match=message):
        read_vectors(path)


def test_vectors_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.txt: no such file of word vectors"):
        read_vectors(tmp_path / "nowhere.txt")
    with pytest.raises(DataError, match="directory"):
        read_vectors(tmp_path)
    (tmp_path / "v.gz").write_bytes(b"the 1 2\n")
    with pytest.raises(DataError, match="cannot be read as word vectors"):
        read_vectors(tmp_path / "v.gz")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(PLAIN.encode() * 100)[:-20])
    with pytest.raises(DataError, match="cannot be read as word vectors"):
        read_vectors(tmp_path / "cut.gz")
