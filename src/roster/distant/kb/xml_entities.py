"""RDF/XML whose entities stay small: the parser expands them without a limit.

Ontologies define an entity for each namespace, so entities are needed. Those that refer to others could grow
ten times with each line, and long ones with each use.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import IO, Any, cast

from roster.errors import DataError

HEAD = 1 << 16
"""Bytes within which the document type ends."""
LONGEST = 1024
"""Bytes of the text of an entity."""
MARKS = (b"<!DOCTYPE", b"<!ENTITY")
OVERLAP = max(map(len, MARKS)) - 1
DEFINED = re.compile(rb"<!ENTITY\s[^>\"']*([\"'])(.*?)\1", re.DOTALL)
REFERENCE = re.compile(rb"[&%](?!(?:amp|lt|gt|quot|apos);)")


def checked_xml(file: IO[bytes], path: Path) -> IO[bytes]:
    """The same content, read with checks.

    Args:
        file: an XML document in UTF-8.
        path: its name in errors.

    Returns:
        A stream. Reading it raises DataError for a document type after the first 64 KiB.

    Raises:
        DataError: an entity refers to another or is long, or cannot be read.
    """
    head = b""
    while len(head) < HEAD and (more := file.read(HEAD - len(head))):
        head += more
    if head.count(b"<!DOCTYPE") > 1:
        raise DataError("expected one document type", path=path)
    _check(head, path)
    return cast("IO[bytes]", io.BufferedReader(_Rest(head, file, path), HEAD))


def _check(head: bytes, path: Path) -> None:
    found = list(DEFINED.finditer(head))
    if len(found) != head.count(b"<!ENTITY"):  # a comment, or one that does not end
        raise DataError("an entity of the document type cannot be read", path=path)
    for entity in found:
        if len(entity[2]) > LONGEST or REFERENCE.search(entity[2]):
            raise DataError(
                "an entity of the document type is long or refers to another, as in a file that is made to "
                "fill the memory; write the text in full",
                path=path,
            )


class _Rest(io.RawIOBase):
    """The head that is read already, and the rest, which has no document type."""

    def __init__(self, head: bytes, file: IO[bytes], path: Path):
        self._head, self._file, self._path = head, file, path
        self._last = head[-OVERLAP:]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            data = self._file.read(len(buffer))
            seen = self._last + data
            if any(mark in seen for mark in MARKS):
                raise DataError("expected the document type within the first 64 KiB", path=self._path)
            self._last = seen[-OVERLAP:]
        buffer[: len(data)] = data
        return len(data)
