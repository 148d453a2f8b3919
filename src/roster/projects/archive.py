"""A folder as a zip archive, in parts, so that no copy of it is made. The same files give the same bytes."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

CHUNK = 2**20
DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest date of a zip archive, in place of that of each file."""


class _Parts:
    """A file that is only written; what was written is taken out again."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def write(self, data: bytes) -> int:
        self._buffer += data
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def take(self) -> bytes:
        taken = bytes(self._buffer)
        self._buffer.clear()
        return taken


def files_of(folder: Path) -> list[Path]:
    """The files of a folder and its sub-folders, relative to it and sorted; no links, nothing hidden."""
    found = []
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        above = [folder / parent for parent in relative.parents if parent != Path()]
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.is_file() and not hidden and not any(one.is_symlink() for one in [path, *above]):
            found.append(relative)
    return sorted(found, key=lambda path: path.as_posix())


def archive(folder: Path, root: str) -> Iterator[bytes]:
    """The parts of a zip archive whose files lie in the folder `root`. They are stored as they are: weights
    hardly get smaller.

    Args:
        folder: the folder.
        root: a checked name.
    """
    parts = _Parts()
    with zipfile.ZipFile(parts, "w", zipfile.ZIP_STORED) as made:  # type: ignore[call-overload]
        for name in files_of(folder):
            entry = zipfile.ZipInfo(f"{root}/{name.as_posix()}", DATE)
            entry.external_attr = 0o644 << 16
            with (folder / name).open("rb") as source, made.open(entry, "w", force_zip64=True) as target:
                while chunk := source.read(CHUNK):
                    target.write(chunk)
                    yield parts.take()
            yield parts.take()
    yield parts.take()
