"""JSON lines: one document per line as `text` and `spans`, or one sentence as `tokens` and `tags`.

Documents are written with their unchanged text, so that offsets stay valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from roster.corpus.formats.base import Format, Options
from roster.corpus.formats.records import documents, from_record, to_record
from roster.corpus.formats.textfile import writer
from roster.corpus.formats.tools import first_line, lines_of, tool_of
from roster.corpus.sentence import Sentence
from roster.errors import DataError

SUFFIXES = (".jsonl", ".ndjson", ".jsonlines")


def detect(path: Path) -> bool:
    """By the name or the first record, unless an annotation tool writes such records (`tools.tool_of`)."""
    if not path.is_file():
        return False
    record = first_line(path)
    if tool_of(record) is not None:
        return False
    if path.suffix.lower() in SUFFIXES:
        return True
    return isinstance(record, dict) and ("text" in record or "tokens" in record)


def read(path: Path, options: Options) -> Iterator[Sentence]:
    for _, number, record in lines_of(path):
        try:
            sentences = from_record(record, options)
        except ValueError as error:
            raise DataError(str(error), path=path, line=number) from error
        yield from sentences


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    with writer(path) as put:
        for group in documents(sentences):
            put(json.dumps(to_record(group, path), ensure_ascii=False) + "\n")


FORMAT = Format("jsonl", "JSON lines with text and spans, or tokens and tags", SUFFIXES, detect, read, write)
