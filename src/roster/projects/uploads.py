"""Uploaded files, read once by the readers of `roster label` before they are taken."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from roster.corpus.io import FORMATS, detect, read, write
from roster.corpus.sentence import Sentence
from roster.distant.entries import read_entries
from roster.distant.entries.patch import read_patch
from roster.errors import DataError, RosterError
from roster.projects.names import suffix_of
from roster.projects.project import Kind

GZIP = b"\x1f\x8b"
CHUNK = 2**20
PACKED = ("parquet", "arrow", "docbin")
"""Formats whose files are compressed inside, so that a small file can be any size in memory."""
TEXT_SUFFIXES = frozenset(s for form in FORMATS.values() for s in form.suffixes) | {
    ".txt",
    ".text",
    ".md",
    ".json",
}
NAME_SUFFIXES = frozenset([".tsv", ".csv", ".jsonl", ".ndjson", ".json", ".txt"])

HINTS = (
    (
        r"a list of names without types is --dictionary-format \w+",
        "for a list of names only, give their type",
    ),
    (r"say --dictionary-format .*?name the columns", "name the columns"),
    (r"say which one it is with --format .*", "save the text as plain text or JSON lines"),
)
"""What messages advise on the command line, and on the page."""


class TooLargeError(RosterError):
    """A file that is larger than allowed."""


def stored_suffix(kind: Kind, name: str) -> str:
    """The suffix of the file while it is checked: readers look at it."""
    if kind == "texts":
        return suffix_of(name, TEXT_SUFFIXES) or ".txt"
    return suffix_of(name, NAME_SUFFIXES) or ".tsv"


def take(
    kind: Kind, received: Path, name: str, *, number: int, unpacked: int, type: str | None = None
) -> tuple[str, dict[str, Any]]:
    """Checks a received file, and turns it into what the project keeps, in its place.

    Args:
        kind: what it is to be.
        received: the file; its suffix is that of `stored_suffix`.
        name: what the client calls it, for messages.
        number: of the file in the project.
        unpacked: the most bytes after decompression.
        type: of all names, for a list of names without types.

    Returns:
        The suffix of the file that is kept, and counts.

    Raises:
        DataError: the file cannot be read, with its line.
        TooLargeError: it is larger than allowed after decompression.
    """
    try:
        _unpack(received, unpacked, name)
        if kind == "texts":
            return ".jsonl", _texts(received, number, unpacked)
        if kind == "patches":
            changes = Counter(change.action for change in read_patch(received).changes)
            return ".tsv", {"changes": changes.total(), **{str(key): n for key, n in changes.items()}}
        return _names(received, type)
    except DataError as error:
        raise DataError(_with_name(str(error), received, name), line=None) from None


def _with_name(message: str, path: Path, name: str) -> str:
    """A message with the client's name of the file in place of ours, and without options of the command
    line."""
    for pattern, instead in HINTS:
        message = re.sub(pattern, instead, message)
    return message.replace(str(path), name).replace(path.name, name)


def _unpack(path: Path, most: int, name: str) -> None:
    """Decompresses a gzip file in place."""
    with path.open("rb") as file:
        if file.read(2) != GZIP:
            return
    plain = path.with_suffix(".plain")
    try:
        with gzip.open(path) as source, plain.open("wb") as target:
            size = 0
            while chunk := source.read(CHUNK):
                size += len(chunk)
                if size > most:
                    raise TooLargeError(f"{name} has more than {most} bytes after decompression; split it")
                target.write(chunk)
        plain.replace(path)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"damaged gzip data ({error}); get the file again", path=path) from None
    finally:
        plain.unlink(missing_ok=True)


def _texts(path: Path, number: int, most: int) -> dict[str, Any]:
    """Writes the sentences as JSON lines, without labels; documents of different files have different
    names."""
    form = detect(path)
    if form in PACKED:
        raise DataError(
            f"files of the format {form} are not taken; write JSON lines: roster convert FILE FILE.jsonl",
            path=path,
        )
    counts: Counter[str] = Counter()

    def counted(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            counts["sentences"] += bool(sentence.words)
            counts["words"] += len(sentence)
            yield replace(sentence, doc=f"{number}.{sentence.doc}", spans=None, unknown=(), scores=())

    made = path.with_suffix(".made")
    try:
        write(made, counted(read(path, form, labels="none")), "jsonl")
        if not counts["words"]:
            raise DataError("there is no text in it", path=path)
        if made.stat().st_size > most:
            raise TooLargeError(f"more than {most} bytes of text; split the file")
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)
    return {"format": form, "sentences": counts["sentences"], "words": counts["words"]}


def _names(path: Path, type: str | None) -> tuple[str, dict[str, Any]]:
    """Counts the entries; a list of names becomes a table of names and their type."""
    types: Counter[str] = Counter()
    if type is not None:
        made = path.with_suffix(".made")
        try:
            with made.open("w", encoding="utf-8", newline="\n") as file:
                file.write("surface\ttype\n")
                for batch in read_entries(path, "phrases"):
                    for surface, line in zip(batch.surfaces, batch.lines, strict=True):
                        if "\t" in surface:
                            raise DataError(
                                "a tab; the file has columns, so leave the type of all names empty",
                                path=path,
                                line=line,
                            )
                        file.write(f"{surface}\t{type}\n")
                        types[type] += 1
            made.replace(path)
        finally:
            made.unlink(missing_ok=True)
        return ".tsv", {"entries": types.total(), "types": dict(types)}
    for batch in read_entries(path):
        types.update(batch.kinds)
    if "" in types:
        raise DataError(
            "a list of names without types; give the type of all names beside the file, or write a type "
            "after each name, with a tab between",
            path=path,
        )
    return path.suffix, {"entries": types.total(), "types": dict(types.most_common(100))}


def write_corpus(files: Iterable[Path], target: Path) -> None:
    """All texts of a project in one file of JSON lines."""
    part = target.with_suffix(".part")
    try:
        with part.open("wb") as into:
            for file in files:
                with file.open("rb") as source:
                    while chunk := source.read(CHUNK):
                        into.write(chunk)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def merge_gold(files: Iterable[Path], target: Path) -> int:
    """The reviewed sentences of several rounds in one file; of a sentence reviewed twice the last. Returns
    their number."""
    lines: dict[str, str] = {}
    for file in files:
        with suppress(FileNotFoundError), file.open(encoding="utf-8") as source:
            for line in source:
                lines[json.loads(line)["text"]] = line
    target.write_text("".join(lines.values()), encoding="utf-8")
    return len(lines)
