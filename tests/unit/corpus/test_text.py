"""Plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus import detect, read, write
from roster.corpus.tokenizer import split
from roster.errors import DataError


def test_each_line_is_a_document(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("One. Two.\n\nThree\u2028four\x85", encoding="utf-8")
    assert detect(file) == "text"
    found = list(read(file))
    assert [(s.doc, s.words) for s in found] == [
        ("1", ("One", ".")),
        ("1", ("Two", ".")),
        ("2", ()),
        ("3", ("Three", "four")),
    ]
    assert found[3].text == "Three\u2028four\x85"


def test_a_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbfTwo\r\nlines.")
    (tmp_path / "a.txt").write_text("One.")
    assert detect(tmp_path) == "text"
    found = list(read(tmp_path))
    assert [(s.doc, s.text) for s in found] == [("a.txt", "One."), ("b.txt", "Two\r\nlines.")]
    (tmp_path / "b.txt").write_bytes("\ufeffTwo\r\nlines.".encode("utf-16-be"))
    assert list(read(tmp_path)) == found
    (tmp_path / "b.txt").write_bytes(b"one\n\xe9")
    with pytest.raises(DataError, match=r"b\.txt, line 2: not UTF-8: byte 0xe9 at byte position 4"):
        list(read(tmp_path))


def test_sub_folders(tmp_path: Path) -> None:
    for name in ("b/one.txt", "b/c/two.txt", "a.txt", "b.txt", ".git/x.txt", "b/.x.txt", "b/x.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"This is {name}")
    (tmp_path / "b" / "folder.txt").mkdir()
    assert detect(tmp_path) == "text"
    names = ["a.txt", "b/c/two.txt", "b/one.txt", "b.txt"]
    assert [(s.doc, s.text) for s in read(tmp_path)] == [(name, f"This is {name}") for name in names]
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.txt").unlink()
    assert [s.doc for s in read(tmp_path)] == ["b/c/two.txt", "b/one.txt"]


def test_line_breaks_inside_a_document_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="document 2 has line breaks"):
        write(tmp_path / "a.txt", [*split("one", "1"), *split("two\nlines", "2")], "text")
    assert not any(tmp_path.iterdir())


def test_a_folder_of_columns_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("Ada B-PER\nx O\n")
    with pytest.raises(DataError, match="--format"):
        detect(tmp_path)
