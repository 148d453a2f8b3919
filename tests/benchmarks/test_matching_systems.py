"""Every system finds what it should: the names of a plain search through all stretches of words."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.matching.systems import BLOCK, SYSTEMS, MatchingSystem, NameFile
from benchmarks.matching.tasks import read_sentences

Found = tuple[int, int, int, str]
"""Sentence, first word, last word + 1, name."""

WORDS = (
    "Ana",
    "ana",
    "ANA",
    "Anabel",
    "Bo",
    "of",
    "U.S.",
    "U",
    ".",
    "S",
    "-",
    "Zürich",
    "李",
    "7",
    "7up",
    "'s",
)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
sentences = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=1, max_size=6)
dictionary = st.lists(words.map(" ".join), min_size=1, max_size=12, unique=True)


def plain_search(names: Sequence[str], text: Sequence[Sequence[str]]) -> set[Found]:
    return {
        (i, start, end, " ".join(row[start:end]))
        for i, row in enumerate(text)
        for start in range(len(row))
        for end in range(start + 1, len(row) + 1)
        if " ".join(row[start:end]) in set(names)
    }


def at_words(text: Sequence[Sequence[str]], start: int, end: int) -> tuple[int, int, int]:
    """From characters of the text, a sentence on a line after an empty one, to words."""
    at = 1
    for i, row in enumerate(text):
        size = len(" ".join(row))
        if start < at + size:
            line = " ".join(row)
            return i, line[: start - at].count(" "), line[: end - at].count(" ") + 1
        at += size + 1
    raise AssertionError("a hit outside the text")


def built(system: str, names: Sequence[str], folder: Path) -> MatchingSystem:
    listed, typed = folder / "names.txt", folder / "names.tsv"
    listed.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    typed.write_text("".join(f"{name}\tNAME\n" for name in names), encoding="utf-8")
    it = SYSTEMS[system]()
    it.build(NameFile(listed), typed, folder)
    return it


def hits(it: MatchingSystem, names: Sequence[str], text: Sequence[list[str]]) -> list[Found]:
    """The hits of a system in words."""
    it.take(iter(text))
    it.prepare()
    found = it.find()
    assert sorted(it.find()) == sorted(found)  # another pass finds the same
    if it.package == "roster-ner":
        return [(i, start, end, names[entry]) for i, start, end, entry in found]
    if it.package == "pyahocorasick":
        return [(*at_words(text, start, end), names[number]) for start, end, number in found]
    assert it.package == "ahocorasick_rs"
    return [(*at_words(text, start, end), names[number]) for number, start, end in found]


@settings(max_examples=60)
@given(dictionary, sentences)
def test_aho_corasick_with_borders_is_a_plain_search(names: list[str], text: list[list[str]]) -> None:
    expected = plain_search(names, text)
    for system in ("pyahocorasick", "ahocorasick_rs"):
        pytest.importorskip({"pyahocorasick": "ahocorasick"}.get(system, system))
        with tempfile.TemporaryDirectory() as folder:
            found = hits(built(system, names, Path(folder)), names, text)
        assert len(found) == len(set(found))
        assert set(found) == expected, system


@settings(max_examples=60)
@given(dictionary, sentences)
def test_ours_exact_is_a_plain_search_and_more_only_by_other_splits(
    names: list[str], text: list[list[str]]
) -> None:
    """Of names without a letter or digit there is nothing to find."""
    with tempfile.TemporaryDirectory() as folder:
        found = hits(built("ours-exact", names, Path(folder)), names, text)
    expected = {hit for hit in plain_search(names, text) if any(c.isalnum() for c in hit[3])}
    assert expected <= set(found)
    for i, start, end, name in set(found) - expected:
        assert "".join(text[i][start:end]) == name.replace(" ", "")


@pytest.mark.parametrize("system", [name for name, kind in SYSTEMS.items() if kind.keeps])
def test_loaded_is_as_built(system: str, tmp_path: Path) -> None:
    if system == "pyahocorasick":
        pytest.importorskip("ahocorasick")
    names = ["Ana Lee", "Bo", "Lee", "Zürich"]
    text = [["Ana", "Lee", "met", "Bo", "in", "Zürich"], ["no", "Lee", "here", "Bo"]]
    first = built(system, names, tmp_path)
    first.save(tmp_path)
    second = SYSTEMS[system]()
    second.load(tmp_path)
    found = hits(first, names, text)
    assert found == hits(second, names, text)
    assert set(found) == plain_search(names, text)


def test_a_name_with_two_types_is_one_place(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Ana\nBo\n")
    (tmp_path / "names.tsv").write_text("Ana\tPER\nAna\tLOC\nBo\tPER\n")
    it = SYSTEMS["ours-exact"]()
    it.build(NameFile(tmp_path / "names.txt"), tmp_path / "names.tsv", tmp_path)
    it.take([["Ana", "saw", "Ana"], ["Bo"]])
    it.prepare()
    found = it.find()
    assert (len(found), it.places(found)) == (5, 3)


def test_ours_needs_what_was_built(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot be loaded"):
        SYSTEMS["ours"]().load(tmp_path)


def test_ours_takes_a_name_where_the_text_shows_one(tmp_path: Path) -> None:
    names = ["Rose", "Green Hill", "Bo"]
    text = [
        ["we", "saw", "Rose", "and", "a", "rose"],
        ["they", "left", "GREEN", "HILL", "for", "(Bo)", "in", "the", "rain"],
        ["a", "red", "rose"],
    ]
    found = hits(built("ours", names, tmp_path), names, text)
    assert set(found) == {(0, 2, 3, "Rose"), (1, 2, 4, "Green Hill"), (1, 5, 6, "Bo")}


def test_ours_over_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are counted on from chunk to chunk."""
    text = [["Ana", "saw", "Bo"], ["Bo", "saw", "nobody"]] * 20
    names = ["Ana", "Bo"]
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 7)
    it = built("ours-exact", names, tmp_path)
    assert set(hits(it, names, text)) == plain_search(names, text)


def test_flashtext_takes_the_longest(tmp_path: Path) -> None:
    pytest.importorskip("flashtext")
    it = built("flashtext", ["New Hill", "New Hill Bank", "Bank", "ana"], tmp_path)
    it.take([["the", "New", "Hill", "Bank", "and", "Ana"], ["(Bank)"]])
    assert it.find() == [("New Hill Bank", 4, 17), ("Bank", 1, 5)]


def test_names_are_read_in_blocks_and_timed(tmp_path: Path) -> None:
    expected = [f"Name {i}" for i in range(2 * BLOCK + 5)]
    path = tmp_path / "names.txt"
    path.write_text("".join(f"{name}\n" for name in expected))
    names = NameFile(path)
    assert names.seconds == 0
    assert list(names) == expected
    assert 0 < names.seconds < 5


def test_sentences(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Ana saw Bo\n\nthe end .\n")
    assert list(read_sentences(tmp_path / "text.txt")) == [["Ana", "saw", "Bo"], [], ["the", "end", "."]]
