"""One word per line."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus import detect, read
from roster.errors import DataError


def test_blocks_of_words(tmp_path: Path) -> None:
    file = tmp_path / "raw_text.txt"
    file.write_text("a\nb\n\n\nc\nd\n.")
    assert detect(file) == "rawwords"
    assert [s.words for s in read(file)] == [("a", "b"), ("c", "d", ".")]
    assert all(s.spans is None for s in read(file))


def test_a_list_of_names_is_text(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Ada\nBo\n")
    assert detect(tmp_path / "names.txt") == "text"


def test_two_words_on_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb c\n")
    with pytest.raises(DataError, match=r"a\.txt, line 2: expected one word on the line, found 2"):
        list(read(tmp_path / "a.txt", "rawwords"))
