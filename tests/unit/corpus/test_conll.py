"""Columns of words and tags."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus import Sentence, Span, detect, read, write
from roster.errors import DataError

CONLL03 = "-DOCSTART- -X- O O\n\nAda NNP I-NP I-PER\nBo NNP I-NP B-PER\n\n-DOCSTART- -X- O O\n\nx NN O O\n"


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_columns_and_documents(tmp_path: Path) -> None:
    file = put(tmp_path / "a.txt", CONLL03)
    assert detect(file) == "conll"
    first, second = read(file)
    assert first.spans == (Span(0, 1, "PER"), Span(1, 2, "PER"))
    assert (first.doc, second.doc) == ("1", "2")


@pytest.mark.parametrize("text", ["Ada\tB-PER\r\nx\tO\r\n\r\n\r\ny\tO\r\n", "Ada B-PER\nx O\n \t\ny O"])
def test_separators_and_blank_lines(tmp_path: Path, text: str) -> None:
    assert [s.words for s in read(put(tmp_path / "a.conll", text))] == [("Ada", "x"), ("y",)]


def test_a_tab_lets_a_word_hold_a_space(tmp_path: Path) -> None:
    (sentence,) = read(put(tmp_path / "a.conll", "New York\tB-LOC\n"))
    assert sentence.words == ("New York",)


def test_comments_only_where_asked_for(tmp_path: Path) -> None:
    file = put(tmp_path / "a.conll", "# id 7\nAda B-PER\n# O\n")
    with pytest.raises(DataError, match=r"line 2: expected 3 columns.* found 2"):
        list(read(file))
    assert [s.words for s in read(file, comments=True)] == [("Ada",)]
    file = put(tmp_path / "b.conll", "Ada B-PER\n# O\n")
    assert [s.words for s in read(file)] == [("Ada", "#")]


def test_broken_lines_are_located(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"a\.conll, line 4: expected 2 columns, word first and tag last, found 1"
    ):
        list(read(put(tmp_path / "a.conll", "Ada B-PER\n\nx O\ny\n")))
    with pytest.raises(DataError, match=r"a\.conll, line 4: 'I-PER' \(word 2\)"):
        list(read(put(tmp_path / "a.conll", "Ada B-PER\n\nx O\ny I-PER\n"), scheme="BIO"))


def test_documents_are_kept(tmp_path: Path) -> None:
    corpus = [Sentence.from_words([w], [], doc) for w, doc in (("a", "x"), ("b", "x"), ("c", "y"))]
    write(tmp_path / "a.conll", corpus)
    assert [s.doc for s in read(tmp_path / "a.conll")] == ["1", "1", "2"]
    with pytest.raises(DataError, match="-DOCSTART- begins a document"):
        write(tmp_path / "b.conll", [Sentence.from_words(["-DOCSTART-"], [])])


def test_some_labels_only_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="sentence 2: labels for some"):
        write(tmp_path / "a.conll", [Sentence.from_words(["a"], []), Sentence.from_words(["a"])])


def test_prose_is_not_columns(tmp_path: Path) -> None:
    assert detect(put(tmp_path / "a.txt", "Ada saw O\nBo left X\n")) == "text"
