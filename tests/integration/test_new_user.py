"""What somebody does on the first day: mistakes in what is given to which command, files of other systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.dataset import load_dataset

NAMES = "Ada Lund\tPER\nOslo\tLOC\n"


def test_a_dictionary_given_to_train(roster: Any, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text(NAMES, encoding="utf-8")
    done = roster("train", "names.tsv", "-o", "run", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "roster: names.tsv: this looks like a dictionary (name and type on each line, no sentences); label a "
        "text with it first: roster label TEXT --dictionary names.tsv -o DATA\n"
    )
    assert not (tmp_path / "run").exists()


def test_a_dictionary_with_the_type_first(roster: Any, tmp_path: Path) -> None:
    (tmp_path / "news.txt").write_text("Then Ada Lund left Oslo .\n", encoding="utf-8")
    run = (
        "label",
        "news.txt",
        "--dictionary",
        "names.tsv",
        "-o",
        "out.conll",
        "--no-cache",
        "--workers",
        "1",
    )
    (tmp_path / "names.tsv").write_text("PER\tAda Lund\nLOC\tOslo\n", encoding="utf-8")
    done = roster(*run, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "Ada B-PER\nLund I-PER\nleft O\nOslo B-LOC\n" in (tmp_path / "out.conll").read_text()
    (tmp_path / "names.tsv").write_text("Sailor\tLund\nPort\tOslo\n", encoding="utf-8")
    done = roster(*run, cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("roster: names.tsv: cannot tell which column holds the type: in the first 2 ")


def test_a_label_for_a_type_that_is_not_in_the_dictionary(roster: Any, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text(NAMES, encoding="utf-8")
    (tmp_path / "news.txt").write_text("Then Ada Lund left Oslo .\n", encoding="utf-8")
    run = (
        "label",
        "news.txt",
        "--dictionary",
        "names.tsv",
        "-o",
        "out.conll",
        "--no-cache",
        "--workers",
        "1",
    )
    done = roster(*run, "--types", "XYZ=PLACE", "LOC=TOWN", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1] == (
        "warning: XYZ=PLACE has no effect: no entry has a type that matches XYZ; the types are LOC, PER"
    )
    assert "warning" not in roster(*run, "--types", "LOC=TOWN", cwd=tmp_path).err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_blank_lines_are_no_sentences(workers: str, roster: Any, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text(NAMES, encoding="utf-8")
    (tmp_path / "news.txt").write_text("Ada Lund left. She was gone.\n\n \nIn Oslo it rained.\n\n" * 5)
    run = ("label", "news.txt", "--dictionary", "names.tsv", "-o", "data", "--no-cache", "--workers", workers)
    done = roster(*run, cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "data/labels.json").read_text())["sentences"] == 15
    assert " words in 15 sentences; 10 labels in 10 sentences " in done.out
    assert len(load_dataset(tmp_path / "data").train) == 15


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_files_of_windows(encoding: str, roster: Any, tmp_path: Path) -> None:
    """Text, dictionary and data in UTF-16, or with the byte order mark of UTF-8."""

    def save(name: str, text: str) -> None:
        mark = "\ufeff" if encoding == "utf-16-be" else ""
        (tmp_path / name).write_bytes((mark + text.replace("\n", "\r\n")).encode(encoding))

    save("names.tsv", "Zoë Lund\tPER\nŁódź\tLOC\n")
    save("news.txt", "Then Zoë Lund left Łódź .\n")
    run = ("--no-cache", "--workers", "1", "--dictionary", "names.tsv", "-o", "out.conll")
    done = roster("label", "news.txt", *run, cwd=tmp_path)
    assert done.code == 0, done.err
    out = (tmp_path / "out.conll").read_text(encoding="utf-8")
    assert "Zoë B-PER\nLund I-PER\nleft O\nŁódź B-LOC\n" in out
    save("data.conll", out)
    assert load_dataset(tmp_path / "data.conll").types == ("LOC", "PER")


def test_texts_in_sub_folders(roster: Any, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text(NAMES, encoding="utf-8")
    for name in ("2026/may.txt", "2026/.draft.txt", "old.txt"):
        (tmp_path / "news" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "news" / name).write_text("Then Ada Lund left.", encoding="utf-8")
    run = ("--no-cache", "--workers", "1", "--dictionary", "names.tsv", "-o", "out.jsonl")
    done = roster("label", "news", *run, cwd=tmp_path)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["2026/may.txt", "old.txt"]
    assert [len(row["spans"]) for row in rows] == [1, 1]
