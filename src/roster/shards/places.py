"""Files and folders of this machine, or behind any URL that fsspec opens."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from roster.errors import DataError, RosterError

CONTENT_KEYS = ("ETag", "etag", "md5", "md5Hash", "content_md5", "crc32c", "sha256")
"""What stores call the hash of a file's content."""
TIME_KEYS = ("mtime", "LastModified", "last_modified", "updated", "created")

PART = ".part"
"""Suffix of files that are being written."""


def is_url(path: str | os.PathLike[str]) -> bool:
    """
    >>> is_url("s3://bucket/news"), is_url("news/2024.txt")
    (True, False)
    """
    return "://" in str(path)


@cache
def opened(url: str) -> tuple[Any, str]:
    """The file system of a path or URL, and the path in it."""
    import fsspec

    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise RosterError(f"{url}: {error}") from None
    except ValueError as error:
        raise RosterError(f"{url}: {error}; known to fsspec are {', '.join(_protocols())}") from None
    return filesystem, str(path)


def _protocols() -> list[str]:
    import fsspec

    return sorted(fsspec.available_protocols())


def is_local(url: str | os.PathLike[str]) -> bool:
    """Whether a path or URL is of this machine's file system."""
    return not is_url(url) or str(url).startswith(("file://", "local://"))


def local_path(url: str | os.PathLike[str]) -> Path:
    """The path of a local place."""
    return Path(opened(str(url))[1]) if is_url(url) else Path(url)


@dataclass(frozen=True, slots=True)
class File:
    """An input file: its path or URL, its name in the folder that was given, its size, and a stamp.

    The stamp is the store's hash of the content, or the time of the last change.
    """

    url: str
    name: str
    size: int
    stamp: str


def files_of(source: str) -> list[File]:
    """The files of a path, folder or pattern, in the order of their names. Hidden ones are left out.

    Raises:
        DataError: there is no such file.
    """
    filesystem, path = opened(source)
    scheme = source.partition("://")[0] + "://" if is_url(source) else ""
    try:
        if _has_magic(path):
            found = filesystem.glob(path, detail=True)
            names = {one: PurePosixPath(one).name for one in found}
        elif filesystem.isdir(path):
            found = filesystem.find(path, detail=True)
            names = {one: str(PurePosixPath(one).relative_to(PurePosixPath(path))) for one in found}
        else:
            found = {path: filesystem.info(path)}
            names = {path: PurePosixPath(path).name}
    except FileNotFoundError:
        raise DataError("no such file", path=source) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=source) from error
    files = [
        File(f"{scheme}{one}" if scheme else one, names[one], int(info.get("size") or 0), stamp_of(info))
        for one, info in found.items()
        if info.get("type") == "file" and not _hidden(names[one])
    ]
    if not files:
        raise DataError("no such file" if _has_magic(path) else "there is no file in it", path=source)
    return sorted(files, key=lambda file: PurePosixPath(file.name).parts)


def _has_magic(path: str) -> bool:
    return any(character in path for character in "*?[") and not Path(path).exists()


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(name).parts)


def stamp_of(info: dict[str, Any]) -> str:
    """What changes when the file changes: a hash of its content where the store has one, else a time."""
    key = next((key for key in (*CONTENT_KEYS, *TIME_KEYS) if info.get(key) is not None), None)
    return "" if key is None else f"{key} {info[key]}"


@contextmanager
def reading(url: str) -> Iterator[BinaryIO]:
    """A file, opened in binary; its errors are for the user."""
    filesystem, path = opened(url)
    try:
        with filesystem.open(path, "rb") as file:
            yield file
    except FileNotFoundError:
        raise DataError("no such file", path=url) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=url) from error


@dataclass(frozen=True)
class Folder:
    """A folder to write into: each file appears whole or not at all."""

    url: str

    def child(self, name: str) -> str:
        return f"{opened(self.url)[1].rstrip('/')}/{name}"

    def make(self) -> None:
        """Makes the folder, if it is not there."""
        filesystem, path = opened(self.url)
        try:
            filesystem.makedirs(path, exist_ok=True)
        except OSError as error:
            raise RosterError(f"cannot write {self.url}: {error.strerror or error}") from error

    def names(self) -> list[str]:
        """The names of the files and folders in it; none if it does not exist."""
        filesystem, path = opened(self.url)
        filesystem.invalidate_cache()
        try:
            return sorted(PurePosixPath(one).name for one in filesystem.ls(path, detail=False))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RosterError(f"{self.url}: {error.strerror or error}") from error

    def size(self, name: str) -> int | None:
        """The size of a file; None if there is none."""
        filesystem = opened(self.url)[0]
        try:
            return int(filesystem.info(self.child(name))["size"])
        except FileNotFoundError:
            return None

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        filesystem = opened(self.url)[0]
        try:
            with filesystem.open(self.child(name), "rb") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def read_json(self, name: str) -> dict[str, Any] | None:
        """A JSON object; None if there is none, or if it is damaged."""
        content = self.read(name)
        try:
            found = None if content is None else json.loads(content)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def publish(self, file: Path, name: str) -> None:
        """Moves a file of this machine to `name`, replacing what is there, in one step.

        It is copied beside its place first. So a process that is killed leaves at most a hidden file there.
        """
        filesystem = opened(self.url)[0]
        target = self.child(name)
        parent, _, last = target.rpartition("/")
        part = f"{parent}/.{last}.{uuid.uuid4().hex[:8]}{PART}"
        try:
            if is_local(self.url):
                try:
                    shutil.copyfile(file, part)
                    with open(part, "rb") as copied:  # noqa: PTH123
                        os.fsync(copied.fileno())
                    os.replace(part, target)
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(part)
            else:
                filesystem.put_file(str(file), part)
                filesystem.mv(part, target)
        except OSError as error:
            raise RosterError(f"cannot write {self.url}/{name}: {error.strerror or error}") from error

    def write(self, name: str, content: bytes) -> None:
        """Writes a small file in one step."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="roster-") as folder:
            file = Path(folder) / "content"
            file.write_bytes(content)
            self.publish(file, name)

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())

    def sweep(self) -> None:
        """Removes what processes that were killed have left of files."""
        for name in self.names():
            if name.startswith(".") and name.endswith(PART):
                with suppress(FileNotFoundError):
                    opened(self.url)[0].rm_file(self.child(name))
