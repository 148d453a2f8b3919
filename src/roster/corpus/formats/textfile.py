"""Text files line by line: UTF-8, or UTF-16 with a byte order mark, with errors that name line and byte.

UTF-16 without a mark is an error: it is recognised by its zero bytes, which are valid UTF-8.

Only a line feed ends a line (with a carriage return before it or not). Python's own text mode and
`str.splitlines` also break at U+2028, form feeds and the like, which occur inside real sentences.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from roster.errors import DataError
from roster.files import atomic

HEAD_BYTES = 1 << 16
BOM = "\ufeff"
UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Encodings by the byte order mark at the start of a file."""
UTF16_MARKS = tuple(UTF16)
WHITE_SPACE = b"\t\n\r "
PEEKED = 4096
"""Bytes at the start of a file from which its encoding is recognised."""
FEWEST = 4
"""Characters with a zero byte that UTF-16 must have to be recognised."""
FIELD = re.compile(r"[^ \t]+")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file in binary, or an error for the user instead of an OSError."""
    try:
        file = path.open("rb")
    except (FileNotFoundError, ValueError) as error:  # ValueError: a zero character, half a surrogate pair
        raise DataError("no such file", path=path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error
    with file:
        yield file


@contextmanager
def opened_text(path: Path) -> Iterator[BinaryIO]:
    """A text file in binary, as UTF-8 also where it is UTF-16."""
    with opened(path) as file:
        yield as_utf8(file, path)


def as_utf8(file: BinaryIO, path: Path) -> BinaryIO:
    """`file` itself, or a stream of its text in UTF-8 where it begins with a byte order mark of UTF-16.

    The byte order mark stays, as that of UTF-8; `path` is its name in errors.

    Raises:
        DataError: for what seems to be UTF-16 without a byte order mark.
    """
    # A peek, not a seek: a pipe can be read too.
    start = cast(io.BufferedReader, file).peek(PEEKED)[:PEEKED]
    encoding = UTF16.get(start[:2])
    if encoding is None:
        refuse_utf16_without_mark(start, path)
        return file
    return cast(BinaryIO, io.BufferedReader(_Transcoded(file, encoding, path)))


def refuse_utf16_without_mark(start: bytes, path: Path) -> None:
    """Raise `DataError` if a file begins as UTF-16 does, but without a byte order mark."""
    if name := utf16_without_mark(start):
        raise DataError(
            f"it seems to be {name} without a byte order mark; convert it: iconv -f {name} -t UTF-8 "
            f"{path.name} > NEW",
            path=path,
        )


def utf16_without_mark(start: bytes) -> str | None:
    """The name of the encoding, as iconv has it, if the start of a file is UTF-16 without a byte order mark.

    In UTF-16 a zero byte stands beside most white space (without any: beside most letters), and no character
    is two zero bytes, as numbers in binary files often are. A few zero bytes in UTF-8 are not enough.

    >>> utf16_without_mark("Ada left Oslo".encode("utf-16-be")), utf16_without_mark(b"Ada left Oslo")
    ('UTF-16BE', None)
    """
    if b"\0" not in start:
        return None
    even, odd = start[: len(start) // 2 * 2 : 2], start[1::2]
    if start.startswith(UTF16_MARKS) or any(not (a or b) for a, b in zip(even, odd, strict=True)):
        return None
    spaces = sum(start.count(byte) for byte in WHITE_SPACE)
    for name, low, high in (("UTF-16LE", even, odd), ("UTF-16BE", odd, even)):
        latin = [a for a, b in zip(low, high, strict=True) if not b]
        found = sum(byte in WHITE_SPACE for byte in latin)
        most = found * 2 > spaces if spaces else len(latin) * 2 > len(low)
        if most and len(latin) >= FEWEST and len(latin) > found:
            return name
    return None


class _Transcoded(io.RawIOBase):
    """The text of a file of another encoding as a stream of UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str, path: Path):
        self._file, self._encoding, self._path = cast(io.BufferedReader, file), encoding, path
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = memoryview(b"")
        self._line, self._offset = 1, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        raw = b" "
        while raw and not self._ready:
            raw = self._file.read1(HEAD_BYTES)
            self._ready = memoryview(self._decoded(raw).encode())
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _decoded(self, raw: bytes) -> str:
        start = self._offset - len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(self._encoding)
            raise DataError(
                f"not UTF-16, although the file begins with its byte order mark: {error.reason} at byte "
                f"position {start + error.start} of the file; save the file as UTF-8",
                path=self._path,
                line=self._line + before.count("\n"),
            ) from error
        self._line += text.count("\n")
        self._offset += len(raw)
        return text


def undecodable(error: UnicodeDecodeError, path: Path, line: int | None, offset: int) -> DataError:
    byte = error.object[error.start]
    return DataError(
        f"not UTF-8: byte 0x{byte:02x} at byte position {offset + error.start} of the file; "
        "save the file as UTF-8 (for example: iconv -f LATIN1 -t UTF-8)",
        path=path,
        line=line,
    )


def read_lines(path: Path, before: int = 0) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end), one at a time; `before` is added to each number."""
    with opened(path) as file:  # `decoded` handles UTF-16
        for number, line in decoded(file, path):
            yield number + before, line


def decoded(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    """The lines of an open file; `path` is its name in errors."""
    offset = 0
    for number, raw in enumerate(as_utf8(file, path), 1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise undecodable(error, path, number, offset) from error
        offset += len(raw)
        if number == 1:
            line = line.removeprefix(BOM)
        if line.endswith("\n"):
            line = line[:-1].removesuffix("\r")
        yield number, line


def head(path: Path) -> list[str]:
    """The first lines, for detecting a format, without a truncated line; invalid bytes are replaced."""
    with opened_text(path) as file:
        raw = file.read(HEAD_BYTES)
    lines = raw.decode("utf-8", errors="replace").removeprefix(BOM).split("\n")
    if len(raw) == HEAD_BYTES and len(lines) > 1:
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    return lines if lines[-1] else lines[:-1]


@contextmanager
def writer(path: Path) -> Iterator[Callable[[str], None]]:
    """A function that writes text to `path`, which appears when the block ends without an error.

    Readers remove one byte order mark at the start of a file, so a text that begins with one gets another.
    """
    empty = True
    with atomic(path) as file:

        def put(text: str) -> None:
            nonlocal empty
            if empty and text:
                empty = False
                if text.startswith(BOM):
                    file.write(BOM)
            try:
                file.write(text)
            except UnicodeEncodeError as error:
                raise unencodable(error, path) from error

        yield put


def encoded(text: str, path: Path) -> bytes:
    """A whole text as `writer` writes it; `path` is for errors."""
    try:
        return (BOM + text if text.startswith(BOM) else text).encode("utf-8")
    except UnicodeEncodeError as error:
        raise unencodable(error, path) from error


def unencodable(error: UnicodeEncodeError, path: Path) -> DataError:
    half = f"half of a surrogate pair (U+{ord(error.object[error.start]):04X})"
    return DataError(f"{half} cannot be written as UTF-8", path=path)
