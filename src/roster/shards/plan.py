"""Which part of which file is which shard: a function of names, sizes and, for tables, their row groups.

Text and JSON lines are cut at bytes; the line that begins in a range belongs to it. Parquet is cut between
row groups. The files of a folder of texts, each a document, are put together until they fill a shard. Any
other file is a shard by itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from roster.corpus.formats.textfile import HEAD_BYTES, UTF16_MARKS, utf16_without_mark
from roster.corpus.io import FORMATS, detect
from roster.errors import ConfigError, DataError
from roster.files import fingerprint
from roster.shards.places import File, files_of, is_local, local_path, reading

SHARD_BYTES = 16 << 20
"""Input of a shard: minutes of prediction on a core, so that little is lost with a worker."""
BY_BYTES = ("text", "jsonl")
"""Formats that may be cut between lines."""
SEVERAL_FILES = ("lines", "arrow", "brat")
"""Formats in which a corpus is more than one file, or a folder."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file: bytes `start` to `end`, or row groups of a table."""

    file: int
    start: int
    end: int
    lines_before: int = 0
    """Number of line ends before `start`: lines are numbered as in the whole file."""


@dataclass(frozen=True, slots=True)
class Shard:
    number: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Plan:
    """The files of an input and their shards.

    `documents` means that each file is one document: a folder of texts.
    """

    format: str
    documents: bool
    files: tuple[File, ...]
    shards: tuple[Shard, ...]

    @cached_property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def stamp(self, shard: Shard) -> str:
        """Changes when a file of the shard changes, or another part of it is taken."""
        pieces = [(asdict(self.files[piece.file]), piece.start, piece.end) for piece in shard.pieces]
        return fingerprint(
            self.format, [[file["name"], file["size"], file["stamp"], *at] for file, *at in pieces]
        )

    def as_dict(self) -> dict[str, Any]:
        """For `shards.json`: the files with their numbers of shards."""
        counts = [0] * len(self.files)
        for shard in self.shards:
            for piece in shard.pieces:
                counts[piece.file] += 1
        return {
            "format": self.format,
            "files": [
                {"file": file.name, "size": file.size, "shards": count}
                for file, count in zip(self.files, counts, strict=True)
            ],
        }


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of a file, whose line ends are to be counted."""

    url: str
    start: int
    end: int


@dataclass(frozen=True)
class CountLines:
    """Counts line ends in ranges: texts cut into shards keep the numbers of their lines."""

    def open(self) -> CountLines:
        return self

    def __call__(self, part: Range) -> int:
        count, left = 0, part.end - part.start
        with reading(part.url) as file:
            file.seek(part.start)
            while left > 0 and (block := file.read(min(left, 1 << 20))):
                count += block.count(b"\n")
                left -= len(block)
        return count


def input_files(source: str, format: str | None) -> tuple[str, bool, tuple[File, ...]]:
    """The format of an input, whether each file is a document, and the files.

    Raises:
        DataError: there is no such file, or files of several formats.
        ConfigError: the format is one of several files.
    """
    files = files_of(source)
    folder = len(files) > 1 or PurePosixPath(files[0].url).name != PurePosixPath(source.rstrip("/")).name
    if folder and is_local(source) and local_path(source).is_dir() and format is None:
        _refuse_folder_format(local_path(source))
    kinds = {PurePosixPath(file.name).suffix.lower(): file for file in files}
    found = {suffix: format or _format(file) for suffix, file in sorted(kinds.items())}
    if len(set(found.values())) > 1:
        shown = ", ".join(f"*{suffix} ({name})" for suffix, name in found.items())
        raise DataError(
            f"files of several formats: {shown}; name some by a pattern, or give --format", path=source
        )
    name = next(iter(found.values()))
    if name in SEVERAL_FILES:
        raise ConfigError(
            f"{source}: {name} is a format of several files, which are no shards; convert it first"
        )
    pattern = any(character in source for character in "*?[")
    documents = name == "text" and folder and not pattern
    return name, documents, tuple(files)


def _refuse_folder_format(path: Path) -> None:
    for name in ("arrow", "brat"):
        if FORMATS[name].detect(path):
            raise ConfigError(
                f"{path}: {name} is a format of several files, which are no shards; convert it first"
            )


def _format(file: File) -> str:
    """By content and name, as everywhere; of a remote file the beginning is fetched."""
    if is_local(file.url):
        return detect(local_path(file.url))
    with tempfile.TemporaryDirectory(prefix="roster-") as folder, reading(file.url) as remote:
        head = Path(folder) / PurePosixPath(file.name).name
        head.write_bytes(remote.read(HEAD_BYTES))
        return detect(head)


def ranges(files: Sequence[File], size: int) -> Iterator[tuple[int, int, int]]:
    """(number of the file, start, end) of pieces of at most `size` bytes.

    >>> list(ranges([File("a", "a", 5, ""), File("b", "b", 0, ""), File("c", "c", 4, "")], 4))
    [(0, 0, 4), (0, 4, 5), (1, 0, 0), (2, 0, 4)]
    """
    for number, file in enumerate(files):
        if not file.size:
            yield number, 0, 0
        for start in range(0, file.size, size):
            yield number, start, min(start + size, file.size)


def cut_bytes(files: Sequence[File], size: int) -> list[tuple[Piece, ...]]:
    """Pieces of at most `size` bytes, each a shard; files in UTF-16 are not cut."""
    pieces: list[tuple[Piece, ...]] = []
    whole: dict[int, bool] = {}
    for number, start, end in ranges(files, size):
        file = files[number]
        if number not in whole:
            whole[number] = file.size > size and _utf16(file)
        if whole[number]:
            if start == 0:
                pieces.append((Piece(number, 0, file.size),))
        else:
            pieces.append((Piece(number, start, end),))
    return pieces


def _utf16(file: File) -> bool:
    with reading(file.url) as opened:
        head = opened.read(4096)
    return head.startswith(UTF16_MARKS) or utf16_without_mark(head) is not None


def put_together(files: Sequence[File], size: int) -> list[tuple[Piece, ...]]:
    """Whole files, as many as fill a shard.

    >>> files = [File("a", "a", 3, ""), File("b", "b", 3, ""), File("c", "c", 9, "")]
    >>> [[piece.file for piece in pieces] for pieces in put_together(files, 6)]
    [[0, 1], [2]]
    """
    shards: list[tuple[Piece, ...]] = []
    waiting: list[Piece] = []
    total = 0
    for number, file in enumerate(files):
        if waiting and total + file.size > size:
            shards.append(tuple(waiting))
            waiting, total = [], 0
        waiting.append(Piece(number, 0, file.size))
        total += file.size
    return [*shards, *([tuple(waiting)] if waiting else [])]


def cut_row_groups(file: File, number: int, size: int) -> list[tuple[Piece, ...]]:
    """Runs of row groups of about `size` compressed bytes."""
    from roster.corpus.formats.columns import row_group_sizes

    with reading(file.url) as opened:
        sizes = row_group_sizes(opened, file.url)
    cuts, total = [0], 0
    for group, length in enumerate(sizes):
        if total and total + length > size:
            cuts.append(group)
            total = 0
        total += length
    return [(Piece(number, start, end),) for start, end in pairwise([*cuts, len(sizes)])]


def cut(format: str, documents: bool, files: Sequence[File], size: int) -> list[tuple[Piece, ...]]:
    """The pieces of each shard, before lines are counted."""
    if documents:
        return put_together(files, size)
    if format in BY_BYTES:
        return cut_bytes(files, size)
    if format == "parquet":
        return [pieces for number, file in enumerate(files) for pieces in cut_row_groups(file, number, size)]
    return [(Piece(number, 0, file.size),) for number, file in enumerate(files)]


def uncounted(files: Sequence[File], shards: Sequence[tuple[Piece, ...]]) -> list[Range]:
    """The ranges whose lines have to be counted: all but the last of each file that was cut."""
    pieces = [pieces[0] for pieces in shards if len(pieces) == 1]
    return [Range(files[a.file].url, a.start, a.end) for a, b in pairwise(pieces) if a.file == b.file]


def with_lines(
    shards: Sequence[tuple[Piece, ...]], counts: dict[Range, int], files: Sequence[File]
) -> tuple[Shard, ...]:
    """The shards with the number of lines before each."""
    before: dict[int, int] = {}
    numbered = []
    for number, pieces in enumerate(shards):
        counted = []
        for piece in pieces:
            lines = before.get(piece.file, 0)
            counted.append(Piece(piece.file, piece.start, piece.end, lines))
            part = Range(files[piece.file].url, piece.start, piece.end)
            before[piece.file] = lines + counts.get(part, 0)
        numbered.append(Shard(number, tuple(counted)))
    return tuple(numbered)
