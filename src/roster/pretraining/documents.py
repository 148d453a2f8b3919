"""Plain text of any size as documents: an empty line ends a document, each line is a paragraph.

Files, compressed ones too, are read in blocks, so that memory does not grow with their size.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import lzma
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from roster.corpus.formats.textfile import BOM, PEEKED, opened, refuse_utf16_without_mark, undecodable
from roster.errors import DataError
from roster.files import fingerprint
from roster.unpacking import unpacked

LONGEST = 1 << 20
"""Maximum characters of a document; a longer one is split."""

CHUNK = 1 << 20
COMPRESSED = (".gz", ".bz2", ".xz")
FULLY_HASHED = 64 << 20
HASHED_BLOCK = 1 << 16


def read_documents(paths: Sequence[str | Path]) -> Iterator[str]:
    """Yield the documents of files and folders, in the order of the paths.

    A file may be compressed (`.gz`, `.bz2`, `.xz`). A document is its paragraphs joined by line feeds. One
    longer than `LONGEST` is split at the end of a line; a line as long as that is split at a space, and
    without a space anywhere.

    Raises:
        DataError: a file cannot be read, or there is no text.
    """
    empty = True
    for _, path in text_files(paths):
        for document in _documents(path):
            empty = False
            yield document
    if empty:
        raise DataError(f"no text in {', '.join(map(str, paths))}: every line is empty")


def text_files(paths: Sequence[str | Path]) -> Iterator[tuple[str, Path]]:
    """Yield (name, path) of every file to read; the name is relative to the given path.

    Of a folder these are the `.txt` files, compressed or not, at any depth, sorted by name, without hidden
    ones.

    Raises:
        DataError: a folder has no such file.
    """
    for path in map(Path, paths):
        if not path.is_dir():
            yield path.name, path
            continue
        inside = {file.relative_to(path): file for file in path.rglob("*") if file.is_file()}
        names = sorted(name for name in inside if _is_text(name))
        if not names:
            kinds = ", ".join(f".txt{suffix}" for suffix in COMPRESSED)
            raise DataError(f"the folder has no text: no file whose name ends in .txt, {kinds}", path=path)
        yield from ((name.as_posix(), inside[name]) for name in names)


def held_out(document: str, share: float) -> bool:
    """Whether a document is held out for validation, which is the case for a `share` of all documents.

    It depends on the text only, so that it is the same on every machine, and copies of a document are in
    the same split.
    """
    return split_position(document) < share


def split_position(document: str) -> float:
    """Return a hash of the text in [0, 1), uniform over texts.

    >>> split_position("Ada lives in Ulm.")
    0.1151261070525118
    """
    digest = hashlib.blake2b(document.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / (1 << 53)


def source_fingerprint(paths: Sequence[str | Path]) -> str:
    """Return a fingerprint of the corpus: the relative names, sizes and contents of its files.

    Up to 64 MB in all, the whole content is hashed. Because a larger corpus would take too long to read at
    every start, its fingerprint has the modification time, and 64 KB each of the beginning, middle and end
    of every file.
    """
    files = []
    for name, path in text_files(paths):
        with opened(path):
            files.append((name, path, path.stat()))
    whole = sum(status.st_size for _, _, status in files) <= FULLY_HASHED
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
            for start in (0, status.st_size // 2, max(0, status.st_size - HASHED_BLOCK)):
                file.seek(start)
                parts.append(hashlib.sha256(file.read(HASHED_BLOCK)).hexdigest())
    return fingerprint(*parts)


def _is_text(name: Path) -> bool:
    if any(part.startswith(".") for part in name.parts):
        return False
    lower = name.name.lower()
    return lower.endswith((".txt", *(f".txt{suffix}" for suffix in COMPRESSED)))


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
    """Lines without their ends; those longer than `LONGEST` are split."""
    rest = ""
    for chunk in _chunks(path):
        *lines, rest = (rest + chunk).split("\n")
        for line in lines:
            yield from _cut(line.removesuffix("\r"))
        if len(rest) > LONGEST:
            *parts, rest = _cut(rest)
            yield from parts
    if rest:
        yield from _cut(rest.removesuffix("\r"))


def _cut(line: str) -> Iterator[str]:
    """Parts of at most `LONGEST` characters; the space at which a line is split belongs to neither."""
    while len(line) > LONGEST:
        space = line.rfind(" ", LONGEST // 2, LONGEST + 1)
        yield line[: space if space >= 0 else LONGEST]
        line = line[space + 1 if space >= 0 else LONGEST :]
    yield line


def _chunks(path: Path) -> Iterator[str]:
    """The text of a file in blocks, without a byte order mark."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, line, first = 0, 1, True
    with opened(path) as raw, _read_errors(path), _decompressed(raw, path) as file:
        while True:
            data = file.read(CHUNK)
            if not offset:
                refuse_utf16_without_mark(data[:PEEKED], path)
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


def _decompressed(raw: BinaryIO, path: Path) -> BinaryIO:
    kind = path.suffix.lower()
    return unpacked(raw, kind, path) if kind in COMPRESSED else raw


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    """Raise errors of reading and decompression as DataError."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"the compressed file is truncated or damaged: {error}", path=path) from error
    except OSError as error:
        if error.errno is None:  # bz2 raises OSError without a number
            raise DataError(f"the compressed file is truncated or damaged: {error}", path=path) from error
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error
