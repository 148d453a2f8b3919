"""Plain text: each line a document of its own, or a folder of `.txt` files, each one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from roster.corpus.formats import conll, lines, rawwords
from roster.corpus.formats.base import Format, Options
from roster.corpus.formats.records import documents
from roster.corpus.formats.textfile import BOM, opened, read_lines, undecodable, writer
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import split
from roster.errors import DataError

SUFFIXES = (".txt", ".text", ".md")


def detect(path: Path) -> bool:
    """Whatever is called text and is in no other format that uses such names."""
    if path.is_dir():
        files = list(islice(path.glob("*.txt"), 5))
        return not lines.detect(path) and bool(files) and all(map(detect, files))
    return path.suffix.lower() in SUFFIXES and not any(
        form.detect(path) for form in (lines.FORMAT, conll.FORMAT, rawwords.FORMAT)
    )


def read(path: Path, options: Options) -> Iterator[Sentence]:
    """Sentences of our tokenizer; `doc` is the number of the line, or the name of the file in a folder."""
    if path.is_dir():
        for file in sorted(path.glob("*.txt")):
            yield from split(_whole(file), file.name)
    else:
        for number, line in read_lines(path):
            yield from split(line, str(number))


def _whole(file: Path) -> str:
    with opened(file) as handle:
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
