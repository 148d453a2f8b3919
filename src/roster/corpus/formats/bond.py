"""BOND's JSON: a list of objects with `str_words` and `tags`, whose names are in `tag_to_id.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from roster.corpus.formats.base import Format, Options, decode, encode
from roster.corpus.formats.jsonarray import items
from roster.corpus.formats.records import check_unicode
from roster.corpus.formats.textfile import head, writer
from roster.corpus.sentence import Sentence
from roster.errors import DataError
from roster.parsing import parse_json

NAMES = "tag_to_id.json"


def detect(path: Path) -> bool:
    if not path.is_file():
        return False
    start = "\n".join(head(path)).lstrip()
    return start.startswith("[") and ('"str_words"' in start or start.split() in (["[", "]"], ["[]"]))


def read(path: Path, options: Options) -> Iterator[Sentence]:
    names: dict[int, str] | None = None
    for number, (line, record) in enumerate(items(path), 1):
        if names is None and _has_numbers(record):
            names = _names(path)
        try:
            sentence = _sentence(record, names or {}, options)
        except ValueError as error:
            raise DataError(f"record {number}: {error}", path=path, line=line) from error
        yield sentence


def _has_numbers(record: Any) -> bool:
    tags = record.get("tags") if isinstance(record, dict) else None
    return isinstance(tags, list) and any(isinstance(tag, int) for tag in tags)


def _sentence(record: Any, names: dict[int, str], options: Options) -> Sentence:
    words = record.get("str_words") if isinstance(record, dict) else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("expected str_words, a list of strings")
    check_unicode(" ".join(words))
    tags = record.get("tags")
    if tags is None:
        return Sentence.from_words(words)
    if not isinstance(tags, list):
        raise ValueError("expected tags, a list of numbers or strings")
    for tag in tags:
        if isinstance(tag, int) and tag not in names:
            raise ValueError(f"the tag {tag} is not in {NAMES}")
    tags = [names[tag] if isinstance(tag, int) else tag for tag in tags]
    return Sentence.from_words(words, decode(tags, len(words), options.scheme))


def _names(path: Path) -> dict[int, str]:
    file = path.with_name(NAMES)
    if not file.exists():
        raise DataError(f"the tags are numbers; expected their names in {file}", path=path)
    return {number: name for name, number in _load_names(file).items()}


def _load_names(file: Path) -> dict[str, int]:
    try:
        names = parse_json(file.read_bytes())  # which detects the encoding
    except ValueError as error:
        raise DataError(f"expected a JSON object: {error}", path=file) from error
    if not isinstance(names, dict) or not all(type(number) is int for number in names.values()):
        raise DataError("expected an object from tag to number", path=file)
    return names


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """The list, and `tag_to_id.json` beside it, which keeps the ids that other files there use."""
    names_file = path.with_name(NAMES)
    names = _load_names(names_file) if names_file.exists() else {"O": 0}
    with ExitStack() as stack:
        put_names = stack.enter_context(writer(names_file))
        put = stack.enter_context(writer(path))
        empty = True
        for number, sentence in enumerate(sentences, 1):
            record: dict[str, Any] = {"str_words": sentence.words}
            if sentence.spans is not None:
                tags = encode(sentence, options, path=path, number=number)
                for tag in tags:
                    if tag not in names:
                        names[tag] = max(names.values(), default=-1) + 1
                record["tags"] = [names[tag] for tag in tags]
            put(("[" if number == 1 else ",\n") + json.dumps(record, ensure_ascii=False))
            empty = False
        put("[]\n" if empty else "]\n")
        put_names(json.dumps(names, ensure_ascii=False) + "\n")


FORMAT = Format(
    "bond", f"BOND's JSON list of str_words and tags, with {NAMES}", (".json",), detect, read, write
)
