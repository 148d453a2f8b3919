"""BOND's JSON: a list of objects with `str_words` and `tags`, whose names are in `tag_to_id.json`."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from roster.corpus.formats.base import Format, Options, decode, encode
from roster.corpus.formats.records import check_unicode
from roster.corpus.formats.textfile import BOM, head, opened, opened_text, undecodable, writer
from roster.corpus.sentence import Sentence
from roster.errors import DataError

NAMES = "tag_to_id.json"
CHUNK = 1 << 20
# Reading a list: characters allowed besides an item, and what is expected after it.
MARKS = {"start": "[", "first": "]", "item": "", "after": ",]", "end": ""}
NEXT = {"[": "first", ",": "item", "]": "end"}
NOT_BLANK = re.compile(r"[^ \t\r\n]")


def detect(path: Path) -> bool:
    if not path.is_file():
        return False
    start = "\n".join(head(path)).lstrip()
    return start.startswith("[") and ('"str_words"' in start or start.split() in (["[", "]"], ["[]"]))


def read(path: Path, options: Options) -> Iterator[Sentence]:
    names: dict[int, str] | None = None
    for number, (line, record) in enumerate(_records(path), 1):
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
        names = json.loads(file.read_bytes())  # which detects the encoding
    except ValueError as error:
        raise DataError(f"expected a JSON object: {error}", path=file) from error
    if not isinstance(names, dict) or not all(type(number) is int for number in names.values()):
        raise DataError("expected an object from tag to number", path=file)
    return names


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, value) for each item of a JSON list, without holding the list."""
    decoder = json.JSONDecoder()
    chunks = _chunks(path)
    text, at, line, state = "", 0, 1, "start"
    while True:
        found = NOT_BLANK.search(text, at)
        end = found.start() if found else len(text)
        line += text.count("\n", at, end)
        at = end
        if found is None:
            text, at = next(chunks, ""), 0
            if text:
                continue
            if state == "end":
                return
            raise DataError("expected a JSON list, found the end of the file", path=path, line=line)
        if text[at] in MARKS[state]:
            state = NEXT[text[at]]
            at += 1
        elif state in ("first", "item"):
            value, text, at, line_after = _value(decoder, text, at, chunks, path, line)
            yield line, value
            line, state = line_after, "after"
        else:
            what = {"start": "a JSON list", "after": "a comma or ]", "end": "nothing more"}[state]
            raise DataError(f"expected {what}, found {text[at : at + 20]!r}", path=path, line=line)


def _value(
    decoder: json.JSONDecoder, text: str, at: int, chunks: Iterator[str], path: Path, line: int
) -> tuple[Any, str, int, int]:
    """The value at `at`, the text with its end, and the position and line of the end; reads more if needed.

    The size of a read doubles, so that the time is linear in the length of a record.
    """
    while True:
        try:
            value, end = decoder.raw_decode(text, at)
            return value, text, end, line + text.count("\n", at, end)
        except json.JSONDecodeError as error:
            text, at, size, more = text[at:], 0, len(text) - at, []
            while size > 0 and (chunk := next(chunks, "")):
                more.append(chunk)
                size -= len(chunk)
            if not more:
                broken = line + text.count("\n", 0, error.pos)
                raise DataError(f"broken JSON: {error.msg}", path=path, line=broken) from error
            text += "".join(more)
        except RecursionError as error:
            raise DataError("lists nested too deep", path=path, line=line) from error


def _chunks(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, first = 0, True
    with opened_text(path) as file:
        while True:
            raw = file.read(CHUNK)
            held = len(decoder.getstate()[0])
            try:
                text = decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                with opened(path) as again:
                    line = again.read(offset - held + error.start).count(b"\n") + 1
                raise undecodable(error, path, line, offset - held) from error
            offset += len(raw)
            if first and text:
                text, first = text.removeprefix(BOM), False
            if text:
                yield text
            if not raw:
                return


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
