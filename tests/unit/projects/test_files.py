"""Names, uploads, states, archives: what touches the disk."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.io import read
from roster.errors import ConfigError, DataError, RunError
from roster.projects.archive import archive
from roster.projects.names import check_name, display_name
from roster.projects.project import STATE, BusyError, MissingError, Projects
from roster.projects.settings import ProjectLimits
from roster.projects.uploads import TooLargeError, merge_gold, stored_suffix, take, write_corpus


@given(st.text(max_size=80))
def test_no_name_leaves_the_folder(name: str) -> None:
    try:
        check_name(name)
    except ConfigError:
        return
    assert Path("/a", name).resolve().parent == Path("/a")
    assert name.isascii()
    assert "/" not in name
    assert not name.startswith((".", "-"))


@given(st.text(max_size=300))
def test_shown_names_are_one_short_line(name: str) -> None:
    shown = display_name(name)
    assert shown
    assert len(shown) <= 120
    assert not set(shown) & set("/\\\n\r\x00\u202e\u2028")
    shown.encode()


def taken(folder: Path, kind: str, name: str, content: bytes, **options: object) -> tuple[Path, str, dict]:
    path = folder / f"part{stored_suffix(kind, name)}"  # type: ignore[arg-type]
    path.write_bytes(content)
    options = {"number": 3, "unpacked": 10**6, **options}
    suffix, facts = take(kind, path, name, **options)  # type: ignore[arg-type]
    return path, suffix, facts


def test_texts_become_documents_without_labels(tmp_path: Path) -> None:
    record = {"id": "x", "text": "Ada ran. Bo sat.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}
    path, suffix, facts = taken(tmp_path, "texts", "a.jsonl", json.dumps(record).encode())
    assert (suffix, facts["words"]) == (".jsonl", 6)
    found = list(read(path, "jsonl"))
    assert {one.doc for one in found} == {"3.x"}
    assert [one.spans for one in found] == [None] * len(found)
    other, _, _ = taken(tmp_path, "texts", "b.txt", b"Cy left.\n", number=4)
    write_corpus([path, other], tmp_path / "corpus.jsonl")
    assert [one.doc for one in read(tmp_path / "corpus.jsonl")] == ["3.x"] * len(found) + ["4.1"]


@pytest.mark.parametrize(
    ("kind", "name", "content", "message"),
    [
        ("texts", "a.txt", b"Fine.\nNot \xff this.\n", "a.txt, line 2: not UTF-8"),
        ("texts", "a.jsonl", b'{"text": "Fine."}\n{"text": 7}\n', "a.jsonl, line 2"),
        ("texts", "a.txt", b"\n \n", "no text"),
        ("names", "n.tsv", b"Ada\tPER\nOslo\n", "n.tsv, line 2"),
        ("names", "n.txt", b"Ada\nBo\n", "give the type of all names"),
        ("names", "n.tsv", b"", "no entries"),
        ("names", "n.tsv.gz", gzip.compress(b"Ada\tPER\n", mtime=0)[:-9], "damaged gzip"),
        ("patches", "p.tsv", b"add\tAda\n", "p.tsv, line 1"),
    ],
)
def test_errors_have_the_name_and_the_line(
    tmp_path: Path, kind: str, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(DataError) as failed:
        taken(tmp_path, kind, name, content)
    assert message in str(failed.value)
    assert str(tmp_path) not in str(failed.value)
    assert [one.name for one in tmp_path.iterdir()] == [f"part{stored_suffix(kind, name)}"]  # type: ignore[arg-type]


def test_compressed_inside(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    out = io.BytesIO()
    pyarrow.write_table(pa.table({"text": ["Ada ran."]}), out)
    with pytest.raises(DataError, match="roster convert"):
        taken(tmp_path, "texts", "a.parquet", out.getvalue())


@pytest.mark.parametrize("kind", ["texts", "names"])
def test_bombs(tmp_path: Path, kind: str) -> None:
    packed = gzip.compress(b"Ada\tPER\n" * 10**6)
    assert len(packed) < 10**5
    with pytest.raises(TooLargeError, match="after decompression"):
        taken(tmp_path, kind, "a.txt.gz", packed)
    assert len(list(tmp_path.iterdir())) == 1


def test_lists_of_names(tmp_path: Path) -> None:
    path, suffix, facts = taken(
        tmp_path, "names", "people.txt.gz", gzip.compress(b"Ada\nBo Li\n"), type="PER"
    )
    assert (suffix, facts) == (".tsv", {"entries": 2, "types": {"PER": 2}})
    assert path.read_text() == "surface\ttype\nAda\tPER\nBo Li\tPER\n"
    with pytest.raises(DataError, match="columns"):
        taken(tmp_path, "names", "people.txt", b"Ada\tPER\n", type="PER")


def test_gold_of_several_rounds(tmp_path: Path) -> None:
    for name, labels in (("a", {"x": 1, "y": 1}), ("b", {"y": 2})):
        lines = [json.dumps({"text": text, "round": label}) + "\n" for text, label in labels.items()]
        (tmp_path / name).write_text("".join(lines))
    assert merge_gold([tmp_path / "a", tmp_path / "none", tmp_path / "b"], tmp_path / "all") == 2
    found = [json.loads(line) for line in (tmp_path / "all").read_text().splitlines()]
    assert {one["text"]: one["round"] for one in found} == {"x": 1, "y": 2}


def test_states_and_folders(tmp_path: Path) -> None:
    projects = Projects(tmp_path / "all", ProjectLimits(projects=2))
    with pytest.raises(RunError, match="another service"):
        Projects(tmp_path / "all")
    made = projects.create("press")
    part = tmp_path / "part.tsv"
    part.write_text("Ada\tPER\n")
    file = made.add(made.reserve(), "names", "n.tsv", ".tsv", part, {"entries": 1})
    assert projects.open("press").files("names") == [file]
    before = projects.open("press").sources
    projects.open("press").remove(file.number)
    assert projects.open("press").sources != before
    assert list((made.path / "names").iterdir()) == []
    with pytest.raises(BusyError, match="already"):
        projects.create("PRESS")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / STATE).write_text((made.path / STATE).read_text())
    (projects.folder / "linked").symlink_to(tmp_path / "outside")
    assert projects.names() == ["press"]
    with pytest.raises(MissingError):
        projects.open("linked")
    projects.create("other")
    with pytest.raises(BusyError, match="2 projects"):
        projects.create("third")
    (made.path / STATE).write_text("{")
    with pytest.raises(RunError, match="damaged"):
        projects.open("press")
    projects.delete("other")
    assert not (projects.folder / "other").exists()
    projects.close()
    Projects(tmp_path / "all").close()


def test_archives(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.bin").write_bytes(bytes(3 * 2**20))
    (folder / "sub" / "a.txt").write_text("a")
    (folder / ".hidden").write_text("no")
    (folder / "link").symlink_to("/etc/hostname")
    (folder / "linked").symlink_to(tmp_path)
    parts = list(archive(folder, "press-model"))
    assert max(map(len, parts)) < 2 * 2**20
    content = b"".join(parts)
    (folder / "b.bin").touch()
    assert content == b"".join(archive(folder, "press-model"))
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert packed.namelist() == ["press-model/b.bin", "press-model/sub/a.txt"]
        assert packed.testzip() is None
        assert packed.read("press-model/b.bin") == bytes(3 * 2**20)
