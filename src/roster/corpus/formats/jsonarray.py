"""A file that is one JSON list, read item by item: BOND's, Label Studio's and Argilla's files."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roster.corpus.formats.textfile import BOM, opened, opened_text, undecodable
from roster.errors import DataError, json_problem
from roster.parsing import DECODER, TOO_DEEP

CHUNK = 1 << 20
# Reading a list: characters allowed besides an item, and what is expected after it.
MARKS = {"start": "[", "first": "]", "item": "", "after": ",]", "end": ""}
NEXT = {"[": "first", ",": "item", "]": "end"}
NOT_BLANK = re.compile(r"[^ \t\r\n]")


def items(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, value) for each item of a JSON list, without holding the list."""
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
            value, text, at, line_after = _value(text, at, chunks, path, line)
            yield line, value
            line, state = line_after, "after"
        else:
            what = {"start": "a JSON list", "after": "a comma or ]", "end": "nothing more"}[state]
            raise DataError(f"expected {what}, found {text[at : at + 20]!r}", path=path, line=line)


def _value(text: str, at: int, chunks: Iterator[str], path: Path, line: int) -> tuple[Any, str, int, int]:
    """The value at `at`, the text with its end, and the position and line of the end; reads more if needed.

    The size of a read doubles, so that the time is linear in the length of a record.
    """
    while True:
        try:
            value, end = DECODER.raw_decode(text, at)
            return value, text, end, line + text.count("\n", at, end)
        except json.JSONDecodeError as error:
            text, at, size, more = text[at:], 0, len(text) - at, []
            while size > 0 and (chunk := next(chunks, "")):
                more.append(chunk)
                size -= len(chunk)
            if not more:
                broken = line + text.count("\n", 0, error.pos)
                raise DataError(f"broken JSON: {json_problem(error)}", path=path, line=broken) from error
            text += "".join(more)
        except RecursionError as error:
            raise DataError(TOO_DEEP, path=path, line=line) from error
        except ValueError as error:
            raise DataError(str(error), path=path, line=line) from error


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
