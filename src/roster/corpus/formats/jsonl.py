"""JSON lines: one document per line as `text` and `spans`, or one sentence as `tokens` and `tags`.

Documents are written with their unchanged text, so that offsets stay valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from roster.corpus.formats.base import Format, Options
from roster.corpus.formats.records import documents, from_record, to_record
from roster.corpus.formats.textfile import head, read_lines, writer
from roster.corpus.sentence import Sentence
from roster.errors import DataError

SUFFIXES = (".jsonl", ".ndjson", ".jsonlines")


def detect(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix.lower() in SUFFIXES:
        return True
    first = next((line for line in head(path) if line.strip()), "")
    if not first.startswith("{"):
        return False
    try:
        record = json.loads(first)
    except ValueError:
        return False
    return "text" in record or "tokens" in record


def read(path: Path, options: Options) -> Iterator[Sentence]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            message = f"expected one JSON object on the line: {error.msg} at character {error.pos + 1}"
            raise DataError(message, path=path, line=number) from error
        except RecursionError as error:
            raise DataError("lists nested too deep", path=path, line=number) from error
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
