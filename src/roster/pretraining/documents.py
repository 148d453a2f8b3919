"""Plain text of any size as documents: an empty line ends a document, each line is a paragraph.

Files are read in pieces, packed ones too, so that memory stays the same however large they are.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import lzma
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from roster.corpus.formats.textfile import BOM, opened, undecodable
from roster.errors import DataError
from roster.files import fingerprint

LONGEST = 1 << 20
"""The most characters of a document; a longer one is given in pieces."""

CHUNK = 1 << 20
PACKED = (".gz", ".bz2", ".xz")
WHOLE = 64 << 20
SAMPLE = 1 << 16


def read_documents(paths: Sequence[str | Path]) -> Iterator[str]:
    """The documents of files and folders, one at a time, in the order of the paths.

    A file may be packed (`.gz`, `.bz2`, `.xz`). A document is its paragraphs joined by line feeds. One
    longer than `LONGEST` is given in pieces, cut at the end of a line; a line as long as that is cut at a
    space, and without a space anywhere.
    """
    empty = True
    for _, path in text_files(paths):
        for document in _documents(path):
            empty = False
            yield document
    if empty:
        raise DataError(f"no text in {', '.join(map(str, paths))}: every line is empty")


def text_files(paths: Sequence[str | Path]) -> Iterator[tuple[str, Path]]:
    """(name, file) of every file to be read; the name does not tell where the corpus lies.

    A folder stands for its `.txt` files, packed or not, at any depth, by name; hidden ones are left out.
    """
    for path in map(Path, paths):
        if not path.is_dir():
            yield path.name, path
            continue
        inside = {file.relative_to(path): file for file in path.rglob("*") if file.is_file()}
        names = sorted(name for name in inside if _is_text(name))
        if not names:
            kinds = ", ".join(f".txt{packed}" for packed in PACKED)
            raise DataError(f"the folder has no text: no file whose name ends in .txt, {kinds}", path=path)
        yield from ((name.as_posix(), inside[name]) for name in names)


def held_out(document: str, share: float) -> bool:
    """Whether a document belongs to the `share` that is kept apart.

    Its text alone decides, so it is the same on every machine, and copies of a document stay together.
    """
    return place(document) < share


def place(document: str) -> float:
    """A number in [0, 1) that only the text decides; over many texts, all are equally likely.

    >>> place("Ada lives in Ulm.")
    0.1151261070525118
    """
    digest = hashlib.blake2b(document.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / (1 << 53)


def source_fingerprint(paths: Sequence[str | Path]) -> str:
    """Changes when the corpus does: its files' names (below the paths given), sizes and contents.

    Up to 64 MB in all, every byte counts. Beyond, reading all of it would take too long for a question
    that is asked at every start: then it is the time of the last change, and 64 KB each of the beginning,
    middle and end of every file.
    """
    files = []
    for name, path in text_files(paths):
        with opened(path):
            files.append((name, path, path.stat()))
    whole = sum(status.st_size for _, _, status in files) <= WHOLE
    parts: list[object] = []
    for name, path, status in files:
        parts += [name, status.st_size]
        with opened(path) as file:
            if whole:
                digest = hashlib.sha256()
                while data := file.read(CHUNK):
                    digest.update(data)
                parts.append(digest.hexdigest())
                continue
            parts.append(status.st_mtime_ns)
            for start in (0, status.st_size // 2, max(0, status.st_size - SAMPLE)):
                file.seek(start)
                parts.append(hashlib.sha256(file.read(SAMPLE)).hexdigest())
    return fingerprint(*parts)


def _is_text(name: Path) -> bool:
    if any(part.startswith(".") for part in name.parts):
        return False
    lower = name.name.lower()
    return lower.endswith((".txt", *(f".txt{packed}" for packed in PACKED)))


def _documents(path: Path) -> Iterator[str]:
    paragraphs: list[str] = []
    size = 0
    for line in _lines(path):
        blank = not line or line.isspace()
        if paragraphs and (blank or size + len(line) > LONGEST):
            yield "\n".join(paragraphs)
            paragraphs, size = [], 0
        if not blank:
            paragraphs.append(line)
            size += len(line) + 1
    if paragraphs:
        yield "\n".join(paragraphs)


def _lines(path: Path) -> Iterator[str]:
    """Lines without their ends; those longer than `LONGEST` in pieces."""
    rest = ""
    for chunk in _chunks(path):
        *lines, rest = (rest + chunk).split("\n")
        for line in lines:
            yield from _cut(line.removesuffix("\r"))
        if len(rest) > LONGEST:
            *pieces, rest = _cut(rest)
            yield from pieces
    if rest:
        yield from _cut(rest.removesuffix("\r"))


def _cut(line: str) -> Iterator[str]:
    """Pieces of at most `LONGEST` characters; the space at which a line is cut belongs to neither."""
    while len(line) > LONGEST:
        space = line.rfind(" ", LONGEST // 2, LONGEST + 1)
        yield line[: space if space >= 0 else LONGEST]
        line = line[space + 1 if space >= 0 else LONGEST :]
    yield line


def _chunks(path: Path) -> Iterator[str]:
    """The text of a file in pieces, without a byte order mark."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, line, first = 0, 1, True
    with opened(path) as raw, _damage(path), _unpacked(raw, path) as file:
        while True:
            data = file.read(CHUNK)
            held = len(decoder.getstate()[0])
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                raise undecodable(error, path, line, offset - held) from error
            offset += len(data)
            line += text.count("\n")
            if first and text:
                text, first = text.removeprefix(BOM), False
            if text:
                yield text
            if not data:
                return


def _unpacked(raw: BinaryIO, path: Path) -> Any:
    match path.suffix.lower():
        case ".gz":
            return gzip.open(raw)
        case ".bz2":
            return bz2.open(raw)
        case ".xz":
            return lzma.open(raw)
        case _:
            return raw


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """What goes wrong while a file is read and unpacked, in words for the user."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"the packed file is cut or damaged: {error}", path=path) from error
    except OSError as error:
        if error.errno is None:  # bz2's way to say the same
            raise DataError(f"the packed file is cut or damaged: {error}", path=path) from error
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error
