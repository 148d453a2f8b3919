"""The record beside labels: it makes the same labels again, and notices what has changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from roster.api.labelling import label, label_file
from roster.corpus.io import read
from roster.distant.output.record import digest, read_record
from roster.errors import ConfigError, DataError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A text, a dictionary, a patch, and the data set made of them, in one folder."""
    folder = tmp_path / "project"
    (folder / "lists").mkdir(parents=True)
    (folder / "news.txt").write_text("Ada lives in Oslo .\nBo went to Bonn .\n")
    (folder / "gold.jsonl").write_text(
        '{"tokens": ["Ada", "lives", "in", "Oslo", "."], "tags": ["B-PER", "O", "O", "B-LOC", "O"]}\n'
        '{"tokens": ["Bo", "went", "to", "Bonn", "."], "tags": ["B-PER", "O", "O", "B-LOC", "O"]}\n'
    )
    (folder / "lists/names.tsv").write_text("Ada\tPER\nOslo\tLOC\nMay\tPER\n")
    (folder / "some.patch").write_text("add\tBonn\tLOC\n")
    label_file(
        folder / "news.txt",
        folder / "data",
        folder / "lists/names.tsv",
        patch=folder / "some.patch",
        policy={"case": "exact"},
        gold=folder / "gold.jsonl",
        to="conll",
        scheme="BIOES",
        provenance=False,
        cache=False,
    )
    return folder


def labels_of(record_of: Path, output: Path) -> bytes:
    record = read_record(record_of)
    label_file(
        record.corpus, output, config=record.settings, to=record.to, scheme=record.scheme,
        provenance=record.provenance, gold=record.gold, cache=False,
    )  # fmt: skip
    return (output / "train.conll").read_bytes()


def test_the_same_labels_again(project: Path, tmp_path: Path) -> None:
    record = read_record(project / "data")
    record.check_unchanged()
    assert (record.to, record.scheme, record.provenance) == ("conll", "BIOES", False)
    assert labels_of(project / "data", tmp_path / "again") == (project / "data/train.conll").read_bytes()
    assert (tmp_path / "again/labels.json").read_text() == (project / "data/labels.json").read_text()
    assert read_record(tmp_path / "again").settings == read_record(tmp_path / "again").settings


def test_from_a_folder_that_was_moved(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = project.rename(tmp_path / "moved")
    monkeypatch.chdir("/")
    read_record(moved / "data").check_unchanged()
    assert labels_of(moved / "data", tmp_path / "again") == (moved / "data/train.conll").read_bytes()


def test_relative_paths_and_links(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record names the files themselves, wherever the command was and however it came to the folder."""
    (tmp_path / "link").symlink_to(project)
    monkeypatch.chdir(tmp_path / "link" / "lists")
    label_file("../news.txt", "../data2", "names.tsv", cache=False)
    read_record(project / "data2").check_unchanged()
    text = (project / "data2/labels.toml").read_text()
    assert 'path = "../lists/names.tsv"' in text
    assert 'corpus = "../news.txt"' in text


def test_a_file_beside_other_files(project: Path) -> None:
    label_file(project / "news.txt", project / "out.jsonl", project / "lists/names.tsv", cache=False)
    assert read_record(project / "out.jsonl").path == project / "out.jsonl.labels.toml"
    read_record(project / "out.jsonl").check_unchanged()


@pytest.mark.parametrize("name", ["news.txt", "lists/names.tsv", "some.patch"])
def test_changed_inputs(project: Path, name: str) -> None:
    record = read_record(project / "data")
    file = project / name
    before = file.read_bytes()
    file.write_bytes(before + b"\nadd\tX\tLOC\n")
    with pytest.raises(DataError, match=r"was changed since .*data was labelled with it; label and train"):
        record.check_unchanged()
    file.unlink()
    with pytest.raises(DataError, match="is missing, or moved, since"):
        record.check_unchanged()
    file.write_bytes(before)
    record.check_unchanged()


def test_labels_changed_by_hand(project: Path) -> None:
    file = project / "data/train.conll"
    file.write_text(file.read_text().replace("S-LOC", "S-PER", 1))
    with pytest.raises(DataError, match=r"was changed after roster label wrote it.*--patch"):
        read_record(project / "data").check_unchanged()


def test_a_corpus_of_several_files(project: Path) -> None:
    (project / "texts").mkdir()
    before = digest(project / "texts")
    shutil.copy(project / "news.txt", project / "texts")
    assert digest(project / "texts") not in (before, "")
    assert digest(project / "no such file") == ""


IN_MEMORY: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "names": (lambda p, out: label_file(p / "news.txt", out, {"Ada": "PER"}, cache=False), "names of this"),
    "the corpus": (lambda p, out: label(["Ada ."], p / "lists/names.tsv").save(out), "the corpus of this"),
    "annotations": (
        lambda p, out: label_file(
            p / "news.txt", out, annotations={"llm": read(p / "gold.jsonl")}, cache=False
        ),
        "annotations llm of this",
    ),
    "a function": (
        lambda p, out: label_file(
            p / "news.txt",
            out,
            models={"none": lambda sentences: [() for _ in sentences]},
            cache=False,
            workers=1,
        ),
        "model none of this",
    ),
}


@pytest.mark.parametrize("what", IN_MEMORY)
def test_what_was_in_memory(what: str, project: Path, tmp_path: Path) -> None:
    make, words = IN_MEMORY[what]
    make(project, tmp_path / "out")
    with pytest.raises(DataError, match=rf"{words} data set came from memory .*write them to files") as error:
        read_record(tmp_path / "out")
    assert "\n" not in str(error.value)


def test_no_record(project: Path) -> None:
    (project / "data/labels.toml").unlink()
    with pytest.raises(DataError, match=r"no record of how it was labelled \(labels.toml\); label again"):
        read_record(project / "data")
    with pytest.raises(DataError, match="no record"):
        read_record(project)


def test_a_damaged_record(project: Path) -> None:
    file = project / "data/labels.toml"
    text = file.read_text()
    for broken in (
        text.partition("[record]")[0],
        text.replace('to = "conll"', ""),
        text.replace("corpus = ", "# "),
    ):
        file.write_text(broken)
        with pytest.raises(ConfigError, match="label again"):
            read_record(project / "data")


def test_an_output_is_no_input(project: Path) -> None:
    """The settings of a data set may label another one, not itself."""
    from roster.errors import RosterError

    with pytest.raises(RosterError, match=r"labels\.toml is an input"):
        label_file(project / "news.txt", project / "data", config=project / "data/labels.toml", cache=False)
    label_file(project / "news.txt", project / "next", config=project / "data/labels.toml", cache=False)
    assert read_record(project / "next").settings.policies == read_record(project / "data").settings.policies
