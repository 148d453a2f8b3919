"""A dictionary file, plain or gzip, as blocks of whole lines in bounded memory.

Only a line feed ends a line (for the reason see `roster.corpus.formats.textfile`). A carriage return before
it is kept; readers strip it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from roster import unpacking
from roster.corpus.formats.textfile import BOM, as_utf8, opened, undecodable
from roster.errors import DataError

LONGEST_LINE = 1 << 20
BLOCK_BYTES = 1 << 20  # at most LONGEST_LINE: `read_blocks` relies on it
BOM_BYTES = BOM.encode()
GZIP_MAGIC = b"\x1f\x8b"

Broken = Callable[[DataError], None]
"""Called with the error of each broken line: raises it, or returns, and the line is skipped."""


@dataclass(frozen=True, slots=True)
class Block:
    """Complete lines, each ended by a line feed.

    `line` is the number of the first, `offset` its byte position in the (unpacked) file.
    """

    path: Path
    raw: bytes
    line: int = 1
    offset: int = 0

    def count(self) -> int:
        return self.raw.count(b"\n")

    def after(self, end: int) -> Block:
        """The block from the byte `end`, where a line begins."""
        return Block(self.path, self.raw[end:], self.line + self.raw.count(b"\n", 0, end), self.offset + end)

    def text(self) -> str | None:
        """All lines at once, or None if one of them is broken."""
        if b"\0" in self.raw:
            return None
        try:
            return self.raw.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def lines(self, broken: Broken) -> Iterator[tuple[int, str]]:
        """(number, line without its line feed), one at a time."""
        offset = self.offset
        for number, raw in enumerate(self.raw.split(b"\n")[:-1], self.line):
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                broken(undecodable(error, self.path, number, offset))
            else:
                if "\0" in line:
                    message = "a zero byte; expected a text file in UTF-8"
                    broken(DataError(message, path=self.path, line=number))
                else:
                    yield number, line
            offset += len(raw) + 1


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """The file in binary; gzip is recognised by its first bytes and decompressed."""
    with opened(path) as file:
        # A peek, not a seek: a pipe can be read too.
        if cast(BufferedReader, file).peek(2)[:2] != GZIP_MAGIC:
            yield file
            return
        yield unpacking.unpacked(file, ".gz", path)


def read_blocks(file: BinaryIO, path: Path, broken: Broken) -> Iterator[Block]:
    """The lines of `file`, some thousands at a time; `path` is its name in errors."""
    with _failures(path, 1):
        file = as_utf8(file, path)
    line, offset = 1, 0
    rest = b""
    inside_long_line = False
    while raw := _read(file, path, line):
        if offset == 0 and not rest and raw.startswith(BOM_BYTES):
            raw, offset = raw[len(BOM_BYTES) :], len(BOM_BYTES)
        if inside_long_line:
            end = raw.find(b"\n") + 1
            if not end:
                offset += len(raw)
                continue
            raw, offset, line = raw[end:], offset + end, line + 1
            inside_long_line = False
        raw = rest + raw
        rest = b""
        # Only the first line can be too long: all others are within the last read.
        end = raw.find(b"\n") + 1
        if (end - 1 if end else len(raw)) > LONGEST_LINE:
            message = f"longer than {LONGEST_LINE:,} bytes; expected a text file with one entry on a line"
            broken(DataError(message, path=path, line=line))
            if not end:
                offset += len(raw)
                inside_long_line = True
                continue
            raw, offset, line = raw[end:], offset + end, line + 1
        end = raw.rfind(b"\n") + 1
        raw, rest = raw[:end], raw[end:]
        if raw:
            block = Block(path, raw, line, offset)
            yield block
            line, offset = line + block.count(), offset + len(raw)
    if rest:
        yield Block(path, rest + b"\n", line, offset)


def _read(file: BinaryIO, path: Path, line: int) -> bytes:
    with _failures(path, line):
        return file.read(BLOCK_BYTES)


@contextmanager
def _failures(path: Path, line: int) -> Iterator[None]:
    """Raise errors of reading as DataError."""
    try:
        yield
    except EOFError as error:
        message = "the gzip data end too early at or after this line; get the whole file again"
        raise DataError(message, path=path, line=line) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        message = f"damaged gzip data at or after this line ({error}); get the file again"
        raise DataError(message, path=path, line=line) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path, line=line) from error


def past_comments(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks from the first line that is neither blank nor a comment.

    A comment is a line before the first entry that begins with `# ` and has no tab. After it, or with a tab,
    such a line is an entry, because names can begin with a number sign.
    """
    top = True
    for block in blocks:
        at = 0
        while top and at < len(block.raw):
            end = block.raw.index(b"\n", at) + 1
            line = block.raw[at:end].decode("utf-8", errors="replace")
            top = not line.strip() or (line.split(maxsplit=1)[0] == "#" and "\t" not in line)
            if top:
                at = end
        if at < len(block.raw):
            yield block.after(at) if at else block
