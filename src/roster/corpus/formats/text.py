"""Plain text: each line a document of its own, or a folder of `.txt` files, each one document.

Files in sub-folders belong to the folder, at any depth. Hidden files and folders are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from roster.corpus.formats import conll, lines, rawwords
from roster.corpus.formats.base import Format, Options
from roster.corpus.formats.records import documents
from roster.corpus.formats.textfile import BOM, opened_text, read_lines, undecodable, writer
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import sentences
from roster.errors import DataError

SUFFIXES = (".txt", ".text", ".md")
SAMPLED = 5
"""Number of files of a folder from which its format is detected."""
ANNOTATIONS = ".ann"
"""Suffix of the files that make a folder of texts one of brat."""


def detect(path: Path) -> bool:
    """A file with the name of a text that is in no other format with such names."""
    if path.is_dir():
        names = files_of(path)
        files = [path / name for name in names[:SAMPLED]]
        annotated = any((path / name).with_suffix(ANNOTATIONS).is_file() for name in names)
        return not annotated and not lines.detect(path) and bool(files) and all(map(detect, files))
    return path.suffix.lower() in SUFFIXES and not any(
        form.detect(path) for form in (lines.FORMAT, conll.FORMAT, rawwords.FORMAT)
    )


def read(path: Path, options: Options) -> Iterator[Sentence]:
    """Sentences of our tokenizer; `doc` is the number of the line, or the path of the file in a folder."""
    if path.is_dir():
        for name in files_of(path):
            yield from sentences(whole(path / name), name.as_posix())
    else:
        for number, line in read_lines(path, options.lines_before):
            yield from sentences(line, str(number))


def files_of(folder: Path) -> list[Path]:
    """The paths of the text files in a folder and its sub-folders, relative to it and sorted."""
    names = (file.relative_to(folder) for file in folder.rglob("*.txt") if file.is_file())
    return sorted(name for name in names if not any(part.startswith(".") for part in name.parts))


def whole(file: Path) -> str:
    """The text of a file, with its line ends as they are."""
    with opened_text(file) as handle:
        raw = handle.read()
    try:
        return raw.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise undecodable(error, file, raw.count(b"\n", 0, error.start) + 1, 0) from error


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """One document per line, without its labels."""
    with writer(path) as put:
        for number, group in enumerate(documents(sentences), 1):
            text = group[0].text
            if "\n" in text or text.endswith("\r"):
                raise DataError(
                    f"document {number} has line breaks, which end a document here; use jsonl", path=path
                )
            put(text + "\n")


FORMAT = Format(
    "text", "plain text, one document per line, or a folder of .txt files", (".text",), detect, read, write,
    labels=False,
)  # fmt: skip
