"""AutoNER's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus import Sentence, Span, detect, read, write
from roster.errors import DataError

GOOD = "<s> O None\na I X\nb O X\nc I None\nd O None\ne I X\nf O None\n<s> I None\n<eof> I None\n\n"


def put(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_chunks(tmp_path: Path) -> None:
    file = put(tmp_path / "a.ck", GOOD + "<s> O None S\n<eof> I None S\n")
    assert detect(file) == "ck"
    first, second = read(file)
    assert first.words == ("a", "b", "c", "d", "e", "f", "<s>")
    assert first.spans == (Span(0, 2, "X"), Span(4, 6, "X"))
    assert (second.words, second.spans) == ((), ())


def test_neighbours_are_told_apart(tmp_path: Path) -> None:
    corpus = [Sentence.from_words(["a", "b", "c"], [Span(0, 1, "X"), Span(1, 3, "X")])]
    write(tmp_path / "a.ck", corpus)
    assert (tmp_path / "a.ck").read_text() == "<s> O None\na I X\nb I X\nc O X\n<eof> I None\n\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a I X", "a X", "line 2: expected a word, I or O, and a type or None, found 'a X'"),
        ("a I X", "a B X", "line 2: expected a word, I or O"),
        ("a I X", "a O X", r"line 2: expected I \(a break\) on the first word"),
        ("b O X", "b O Y", "line 3: expected X as on the word it is tied to, or None, found Y"),
        ("<s> O None\n", "", "line 1: expected the sentence to begin with <s>, found 'a'"),
        ("<eof> I None\n", "", "line 8: expected the sentence to end with <eof>, found '<s>'"),
    ],
)
def test_broken_lines_are_located(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"a\.ck, {message}"):
        list(read(put(tmp_path / "a.ck", GOOD.replace(old, new, 1)), "ck"))


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="sentence 1 has no labels"):
        write(tmp_path / "a.ck", [Sentence.from_words(["a"])])
    with pytest.raises(DataError, match="sentence 1: the label None"):
        write(tmp_path / "a.ck", [Sentence.from_words(["a"], [Span(0, 1, "None")])])
