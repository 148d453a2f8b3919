"""Compressed input within limits: a small file must not fill the memory or run for days.

What is unpacked may be `RATIO` times as large as what was read, beyond the first `FREE` bytes. Text, tables
and dumps of knowledge bases are compressed to a tenth or a thirtieth; a file made to do harm, to a thousandth
or less.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from roster.errors import DataError

RATIO = 200
FREE = 256 << 20
BUFFER = 1 << 18
PIECE = 1 << 14
OPENERS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
"""How a compressed file is opened, by its suffix."""


def unpacked(raw: BinaryIO, kind: str, path: Path) -> BinaryIO:
    """The content of a compressed file as a stream.

    Args:
        raw: the compressed file; it need not be seekable.
        kind: `.gz`, `.bz2` or `.xz`.
        path: its name in errors.

    Returns:
        A stream whose reading raises DataError beyond the limits, and what the decompressor raises for a
        damaged file.
    """
    counted = _Counted(raw)
    source = OPENERS[kind](io.BufferedReader(counted, BUFFER))
    return cast(BinaryIO, io.BufferedReader(_Limited(source, counted, path), BUFFER))


def check_zlib(data: bytes, path: Path) -> None:
    """Raises DataError if data of zlib would unpack to too much, and zlib.error for damaged ones.

    Nothing is kept, so that a library can be given the data afterwards.
    """
    decompressor, size, rest = zlib.decompressobj(), 0, data
    while rest:
        size += len(decompressor.decompress(rest, BUFFER))
        check_size(size, len(data), path)
        rest = decompressor.unconsumed_tail


def check_size(size: int, packed: int, path: Path) -> None:
    """Raises DataError if so many bytes cannot come from a file of so many `packed` ones in good faith."""
    if size > max(FREE, RATIO * packed):
        raise DataError(
            f"unpacks to more than {RATIO} times its size, as a decompression bomb does; if it is what you "
            "expect, unpack it first",
            path=path,
        )


class _Counted(io.RawIOBase):
    """Counts the bytes that are read."""

    def __init__(self, raw: BinaryIO):
        self._raw, self.count = raw, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self.count += len(data)
        return len(data)


class _Limited(io.RawIOBase):
    """What a decompressor gives, as long as it is not too much for what it has read."""

    def __init__(self, source: Any, counted: _Counted, path: Path):
        self._source, self._counted, self._path, self._size = source, counted, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # In small pieces: where the data are damaged, what comes before is still read.
        data = self._source.read1(min(len(buffer), PIECE))
        buffer[: len(data)] = data
        self._size += len(data)
        check_size(self._size, self._counted.count, self._path)
        return len(data)
