"""The sentences of a shard: its part of the input as a file of this machine, read like any other file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from roster.corpus.formats.base import Options
from roster.corpus.io import FORMATS
from roster.corpus.sentence import Sentence
from roster.errors import DataError
from roster.shards.places import reading
from roster.shards.plan import BY_BYTES, CountLines, Piece, Plan, Range, Shard

BLOCK = 1 << 20


@dataclass(frozen=True)
class Content:
    """The input of a shard on this machine."""

    path: Path
    """A file, or a folder where each file is a document."""
    format: str
    digest: str
    """Of the content, and of the names of documents."""
    lines_before: int
    source: str
    """What errors name."""
    uncounted: Range | None = None
    """What is before the shard, where its lines are counted for an error only."""

    def sentences(self, labels: Any = None) -> Iterator[Sentence]:
        """The sentences; an error has the place in the input.

        Raises:
            DataError: for what cannot be read.
        """
        options = Options(labels=labels, lines_before=self.lines_before)
        try:
            yield from FORMATS[self.format].read(self.path, options)
        except DataError as error:
            raise self._in_source(error) from error

    def _in_source(self, error: DataError) -> DataError:
        message = str(error).removeprefix(f"{error.path}: ")
        path = self.source
        if error.path and Path(error.path) != self.path and Path(error.path).is_relative_to(self.path):
            path = f"{self.source.rstrip('/')}/{Path(error.path).relative_to(self.path).as_posix()}"
        if error.line is not None:
            message = message.removeprefix(f"{error.path}, line {error.line}: ")
            before = self.lines_before + (CountLines()(self.uncounted) if self.uncounted else 0)
            return DataError(message, path=path, line=error.line + before)
        return DataError(message, path=path)


def fetch(plan: Plan, shard: Shard, folder: Path) -> Content:
    """Copies the input of a shard into a folder of this machine."""
    digest = hashlib.sha256()
    if plan.documents:
        root = folder / "documents"
        for piece in shard.pieces:
            file = plan.files[piece.file]
            digest.update(f"{file.name}\n".encode())
            target = root / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy(file.url, target, digest)
        first = plan.files[shard.pieces[0].file]
        source = first.url[: len(first.url) - len(first.name)]
        return Content(root, plan.format, digest.hexdigest(), 0, source)
    (piece,) = shard.pieces
    file = plan.files[piece.file]
    path = folder / Path(file.name).name
    before = piece.lines_before
    if plan.format == "parquet":
        from roster.corpus.formats.columns import copy_row_groups

        with reading(file.url) as opened:
            copy_row_groups(opened, range(piece.start, piece.end), path, file.url)
        _update(digest, path)
    elif plan.format in BY_BYTES and (piece.start, piece.end) != (0, file.size):
        before += _copy_lines(file.url, piece, path, digest)
    else:
        _copy(file.url, path, digest)
    uncounted = Range(file.url, 0, piece.start) if plan.format == "jsonl" and piece.start else None
    return Content(path, plan.format, digest.hexdigest(), before, file.url, uncounted)


def _copy(url: str, path: Path, digest: Any) -> None:
    with reading(url) as source, path.open("wb") as target:
        while block := source.read(BLOCK):
            digest.update(block)
            target.write(block)


def _update(digest: Any, path: Path) -> None:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)


def _copy_lines(url: str, piece: Piece, path: Path, digest: Any) -> int:
    """Copies the lines that begin in a range; 1 if a line goes over its start, which belongs to the one
    before."""
    with reading(url) as source, path.open("wb") as target:
        skipped = 0
        at = piece.start
        if at:
            source.seek(at - 1)
            if source.read(1) != b"\n":
                skipped = 1
                at += sum(map(len, _rest_of_line(source)))
        left = piece.end - at
        last = b""
        while left > 0 and (block := source.read(min(left, BLOCK))):
            digest.update(block)
            target.write(block)
            left -= len(block)
            last = block[-1:]
        if left == 0 and last and last != b"\n":
            for block in _rest_of_line(source):
                digest.update(block)
                target.write(block)
    return skipped


def _rest_of_line(source: BinaryIO) -> Iterator[bytes]:
    """Reads to the end of a line."""
    while block := source.readline(BLOCK):
        yield block
        if block.endswith(b"\n"):
            return
