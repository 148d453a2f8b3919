"""Files whole or not at all."""

from __future__ import annotations

import json
import os
import stat
import threading
from itertools import product
from pathlib import Path

import pytest

from roster.errors import RosterError
from roster.files import atomic, atomic_folder, fingerprint, refuse_input, write_json, write_text


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_atomic_writes(tmp_path: Path) -> None:
    write_text(tmp_path / "deep" / "er" / "a.txt", "é\n")
    assert (tmp_path / "deep" / "er" / "a.txt").read_bytes() == "é\n".encode()
    assert names(tmp_path / "deep" / "er") == ["a.txt"]
    with atomic(tmp_path / "b", "wb") as file:
        file.write(b"\x00\r\n")
        assert not (tmp_path / "b").exists()
    assert (tmp_path / "b").read_bytes() == b"\x00\r\n"
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o644
    write_json(tmp_path / "c.json", {"é": [1, None]})
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8")) == {"é": [1, None]}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, RosterError])
def test_an_error_leaves_the_old_file(error: type[BaseException], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")

    def fail() -> None:
        with atomic(tmp_path / "a") as file:
            file.write("new")
            raise error

    with pytest.raises(error):
        fail()
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("old")

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RosterError, match=r"cannot write .*a: No space left on device"):
        write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    """The file it points to is written, also one that does not exist yet; the link stays."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old").write_text("old")
    for name in ("old", "new"):
        link = tmp_path / f"to-{name}"
        link.symlink_to(tmp_path / "there" / name)
        write_text(link, "content")
        assert link.is_symlink()
        assert (tmp_path / "there" / name).read_text() == "content"
    assert names(tmp_path) == ["there", "to-new", "to-old"]
    assert names(tmp_path / "there") == ["new", "old"]


def test_a_fifo_is_written_to(tmp_path: Path) -> None:
    fifo, received = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: received.append(fifo.read_text()), daemon=True)
    reader.start()
    write_text(fifo, "é\n")
    reader.join(10)
    assert received == ["é\n"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert names(tmp_path) == ["fifo"]


@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_device_stays_a_device(through_a_link: bool, tmp_path: Path) -> None:
    """A node of its own with the numbers of /dev/null."""
    node = tmp_path / "null"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        node.open("w").close()
    except OSError as error:
        pytest.skip(f"device nodes cannot be made or opened here: {error.strerror}")
    path = node
    if through_a_link:
        path = tmp_path / "link"
        path.symlink_to(node)
    write_text(path, "gone")
    assert stat.S_ISCHR(node.stat().st_mode)
    assert path.is_symlink() == through_a_link
    assert path.read_text() == ""


def test_a_closed_pipe(tmp_path: Path) -> None:
    """What goes wrong with a special file is told like any other error."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: fifo.open("rb").close(), daemon=True)
    reader.start()

    def fill() -> None:
        with atomic(fifo, "wb") as file:
            reader.join(10)
            for _ in range(100):
                file.write(b"x" * 65536)
                file.flush()

    with pytest.raises(RosterError, match=r"cannot write .*fifo: Broken pipe"):
        fill()


def test_an_input_is_not_written_to(tmp_path: Path) -> None:
    """By inode: under another name, through links, and in a folder that is read."""
    source = tmp_path / "folder" / "deep" / "a.txt"
    source.parent.mkdir(parents=True)
    source.write_text("text")
    other, hard, soft = tmp_path / "other", tmp_path / "hard", tmp_path / "soft"
    other.write_text("text")
    hard.hardlink_to(source)
    soft.symlink_to(source)
    outputs = (source, hard, soft, source.parent / ".." / "deep" / "a.txt")
    for output, given in product(outputs, (source, hard, tmp_path / "folder")):
        with pytest.raises(RosterError, match="is an input of this command"):
            refuse_input(output, [other, given])
    refuse_input(other, [source, tmp_path / "folder", tmp_path / "missing"])
    refuse_input(tmp_path / "new", [source])
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    refuse_input(fifo, [fifo])  # what is written to it replaces nothing


def test_atomic_folder(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "x" / "m") as part:
        (part / "one").write_text("1")
        assert not (tmp_path / "x" / "m").exists()
    assert names(tmp_path / "x") == ["m"]
    with atomic_folder(tmp_path / "x" / "m") as part:
        (part / "two").write_text("2")
        assert names(tmp_path / "x" / "m") == ["one"]
    assert names(tmp_path / "x" / "m") == ["two"]
    assert names(tmp_path / "x") == ["m"]
    assert (tmp_path / "x" / "m").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_folder(error: type[BaseException], tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "old").touch()

    def fail() -> None:
        with atomic_folder(tmp_path / "m") as part:
            (part / "new").touch()
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == ["m"]
    assert names(tmp_path / "m") == ["old"]


def test_a_failed_rename_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "old").touch()
    replace = os.replace

    def failing(source: str | Path, target: str | Path) -> None:
        if str(source).endswith(".part"):
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(RosterError, match="Input/output error"), atomic_folder(tmp_path / "m") as part:
        (part / "new").touch()
    assert names(tmp_path) == ["m"]
    assert names(tmp_path / "m") == ["old"]


def test_nowhere_to_write(tmp_path: Path) -> None:
    """A path under a file: root too cannot write there."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "a", tmp_path / "file" / "b" / "c"):
        with pytest.raises(RosterError, match=r"cannot write .*file"):
            write_text(path, "x")
        with pytest.raises(RosterError, match=r"cannot write .*file"), atomic_folder(path):
            pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(RosterError, match=r"cannot write .*folder"):
        write_text(tmp_path / "folder", "x")
    assert names(tmp_path) == ["file", "folder"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(RosterError, match="Permission denied"):
            write_text(tmp_path / "a", "x")
    finally:
        tmp_path.chmod(0o755)


def test_fingerprints() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    different = [("a", "b"), ("ab",), ("a", "b", ""), (b"a", b"b"), (["a", "b"],), ("b", "a"), ()]
    assert len({fingerprint(*parts) for parts in different}) == len(different)
    assert len(fingerprint("x")) == 16
