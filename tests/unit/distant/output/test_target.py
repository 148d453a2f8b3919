"""Where labels go: names of files, what is written beside them, and what is never written over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from roster.corpus.dataset import load_dataset
from roster.corpus.io import FORMATS, read
from roster.corpus.sentence import Sentence, Span
from roster.distant.labelling.chunk_labeller import Labelled
from roster.distant.matching.mention import Label, Mention
from roster.distant.output.report import Report
from roster.distant.output.target import DEAD, MARK, Target
from roster.errors import RosterError

TOOLS = ("doccano", "labelstudio", "prodigy", "brat", "argilla")
LABELLED = ("lines", "conll", "bond", "ck", "jsonl", "parquet", "arrow", "docbin", *TOOLS)


def corpus() -> list[Labelled]:
    def one(words: str, start: int, end: int, label: str, entry: str, line: int) -> Labelled:
        mention = Mention(start, end, label, label, "names.tsv", entry, line)
        sentence = Sentence.from_words(words.split(), [Span(start, end, label)])
        return Labelled(sentence, (Label(start, end, (label,), (mention,)),))

    nothing = Labelled(Sentence.from_words(["it", "rained", "."], []), ())
    phrase = Label(0, 2, (), (Mention(0, 2, "", "", "full.txt", "warm rain", 9),))
    unknown = Labelled(Sentence.from_words(["warm", "rain", "."], []), (phrase,))
    return [
        one("Ada Lund left .", 0, 2, "PER", "Ada Lund", 3),
        nothing,
        one("in Oslo .", 1, 2, "LOC", "Oslo", 1),
        unknown,
    ]


def write(target: Target, rows: list[Labelled] | None = None, *, sources: bool = True) -> Report:
    report = Report()
    target.write(report.follow(corpus() if rows is None else rows), sources=sources)
    target.finish(report, [("the", "ORG", "names.tsv", 2, "only stop-words")])
    return report


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def names(folder: Path) -> set[str]:
    return {f.name for f in folder.iterdir()}


@pytest.mark.parametrize("format", LABELLED)
def test_a_folder_of_each_format_is_a_data_set(format: str, folder: Path) -> None:
    target = Target(folder, format)
    write(target)
    dataset = load_dataset(folder)
    assert dataset.types == ("LOC", "PER")
    assert [(s.words, s.spans) for s in dataset.train] == [
        (one.sentence.words, one.sentence.spans) for one in corpus()
    ]
    assert target.provenance.is_file()
    assert target.provenance.parent == folder
    assert {MARK, DEAD, "types.txt"} <= names(folder)


@pytest.mark.parametrize("format", LABELLED)
def test_a_folder_can_be_written_again(format: str, folder: Path) -> None:
    write(Target(folder, format))
    before = names(folder)
    write(Target(folder, format))
    assert names(folder) == before
    assert len(load_dataset(folder).train) == len(corpus())


@pytest.mark.parametrize("first", LABELLED)
def test_a_folder_written_again_in_another_format_has_one_data_set(first: str, folder: Path) -> None:
    write(Target(folder, first))
    write(Target(folder, "jsonl"), corpus()[:2])
    assert len(load_dataset(folder).train) == 2
    assert {n for n in names(folder) if "train" in n} == {"train.jsonl", "train.jsonl.provenance.jsonl"}


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("x.jsonl", "jsonl"),
        ("x.conll", "conll"),
        ("x.json", "bond"),
        ("x.ck", "ck"),
        ("x.parquet", "parquet"),
        ("x.arrow", "arrow"),
        ("x.spacy", "docbin"),
        ("train_text.txt", "lines"),
    ],
)
def test_a_file_is_told_by_its_name(name: str, format: str, tmp_path: Path) -> None:
    for _ in range(2):  # the second time over what the first one wrote
        target = Target(tmp_path / name)
        assert (target.folder, target.format, target.file) == (False, format, tmp_path / name)
        write(target)
    assert [s.spans for s in read(tmp_path / name)] == [one.sentence.spans for one in corpus()]
    assert {f"{name}.{MARK}", f"{name}.{DEAD}", f"{name}.provenance.jsonl"} <= names(tmp_path)
    assert "types.txt" not in names(tmp_path)


def test_a_name_without_an_ending_is_a_folder(tmp_path: Path) -> None:
    assert Target(tmp_path / "data").file == tmp_path / "data" / "train.jsonl"
    (tmp_path / "data.v2").mkdir()
    assert Target(tmp_path / "data.v2").folder
    with pytest.raises(RosterError, match=r"data\.xyz.*does not tell which of"):
        Target(tmp_path / "data.xyz")


@pytest.mark.parametrize("format", LABELLED)
def test_a_format_does_not_make_a_file_of_a_folder(format: str, tmp_path: Path) -> None:
    """`-o data --to conll` is a data set, whether the folder is there or not."""
    (tmp_path / "old").mkdir()
    assert Target(tmp_path / "new", format).folder
    assert Target(tmp_path / "new", format).file.name == Target(tmp_path / "old", format).file.name


@pytest.mark.parametrize("format", sorted(set(FORMATS) - set(LABELLED)))
def test_a_format_without_labels_is_refused(format: str, tmp_path: Path) -> None:
    """The labels would be lost without a word."""
    for path in (tmp_path, tmp_path / f"x{FORMATS[format].suffixes[0]}"):
        with pytest.raises(RosterError, match=rf"{format}.* labels.*jsonl"):
            Target(path, format)


def test_other_peoples_files_stay(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("mine")
    with pytest.raises(RosterError, match="the folder has other files in it"):
        Target(tmp_path)
    assert names(tmp_path) == {"train.txt"}
    (tmp_path / "train.txt").unlink()
    assert Target(tmp_path).folder


def test_a_folder_of_ours_keeps_what_others_put_there(tmp_path: Path) -> None:
    """Only the old labels go; true labels and notes do not."""
    write(Target(tmp_path / "data"))
    mine = ("test.jsonl", "training-notes.md", "train_label_true.txt")
    for name in mine:
        (tmp_path / "data" / name).write_text("mine")
    write(Target(tmp_path / "data"))
    for name in mine:
        assert (tmp_path / "data" / name).is_file(), name


def test_sources_can_be_left_out(tmp_path: Path) -> None:
    target = Target(tmp_path / "x.jsonl")
    write(target)
    assert target.provenance.exists()
    write(target, sources=False)
    assert not target.provenance.exists(), "those of the labels that were there before"


def test_provenance_rows_point_at_words(tmp_path: Path) -> None:
    target = Target(tmp_path / "x.conll")
    write(target)
    rows = [json.loads(line) for line in target.provenance.read_text(encoding="utf-8").splitlines()]
    assert [(r["sentence"], r["text"], r["types"], r["evidence"]) for r in rows] == [
        (0, "Ada Lund", ["PER"], [{"source": "names.tsv", "entry": "Ada Lund", "kind": "PER", "line": 3}]),
        (2, "Oslo", ["LOC"], [{"source": "names.tsv", "entry": "Oslo", "kind": "LOC", "line": 1}]),
        (3, "warm rain", [], [{"source": "full.txt", "entry": "warm rain", "kind": "", "line": 9}]),
    ]
    sentences = list(read(target.file))
    for row in rows:
        assert " ".join(sentences[row["sentence"]].words[row["start"] : row["end"]]) == row["text"]


@pytest.mark.parametrize(
    "name", ["x.conll", "x.json", "x.ck", "x.jsonl", "x.parquet", "x.arrow", "x.spacy", "x_text.txt"]
)
def test_provenance_counts_sentences_as_the_file_does(name: str, tmp_path: Path) -> None:
    """A sentence without words has no place in a file of columns."""
    rows = [Labelled(Sentence.from_words([], []), ()), *corpus()]
    target = Target(tmp_path / name)
    write(target, rows)
    written = list(read(target.file))
    first = json.loads(target.provenance.read_text(encoding="utf-8").splitlines()[0])
    assert written[first["sentence"]].words[first["start"] : first["end"]] == ("Ada", "Lund")


def test_entries_that_can_match_nothing(tmp_path: Path) -> None:
    target = Target(tmp_path / "x.jsonl")
    write(target)
    assert target.dead.read_text(encoding="utf-8") == (
        "surface\ttype\tfile\tline\treason\nthe\tORG\tnames.tsv\t2\tonly stop-words\n"
    )
    report = Report()
    target.write(report.follow(corpus()))
    assert target.finish(report, []) == 0
    assert not target.dead.exists()


def broken() -> Iterator[Labelled]:
    yield corpus()[0]
    raise RosterError("the corpus ends here")


@pytest.mark.parametrize("format", LABELLED)
def test_an_error_on_the_way_leaves_nothing(format: str, folder: Path) -> None:
    with pytest.raises(RosterError, match="ends here"):
        Target(folder, format).write(broken())
    assert not [f for f in folder.rglob("*") if f.is_file()]


@pytest.mark.parametrize("format", LABELLED)
def test_an_error_on_the_way_leaves_the_old_labels(format: str, folder: Path) -> None:
    write(Target(folder, format))
    with pytest.raises(RosterError, match="ends here"):
        Target(folder, format).write(broken())
    assert len(load_dataset(folder).train) == len(corpus())


def test_no_label_at_all_is_still_a_data_set(tmp_path: Path) -> None:
    """`roster train` says that no word has a label, and nothing of an empty file of types."""
    write(Target(tmp_path / "data"), [corpus()[1]])
    dataset = load_dataset(tmp_path / "data")
    assert (dataset.types, [s.spans for s in dataset.train]) == ((), [()])
