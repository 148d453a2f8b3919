"""What the formats of annotation tools share: recognition, overlaps, and messages on what is not read.

The JSON of every tool is changed into a record as the `jsonl` format has it (`records.from_record`) and back.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from roster.corpus.formats import jsonarray
from roster.corpus.formats.base import Options
from roster.corpus.formats.records import UNKNOWN, WEIGHT, char_spans, documents, from_record, to_record
from roster.corpus.formats.textfile import HEAD_BYTES, head, read_lines, writer
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import CharSpan
from roster.errors import DataError, json_problem
from roster.log import LOGGER
from roster.parsing import parse_json

KEPT = ("id", "words", UNKNOWN, WEIGHT)
"""Keys that `jsonl` writes beside text and spans. The tools keep or ignore keys that they do not know."""
OVERLAPS = "spans that overlap a longer one, which is kept"
ANSWERS = ("accept", "reject", "ignore")

Shape = Callable[[dict[str, Any]], dict[str, Any]]


class Omitted:
    """Counts what a reader leaves out, and reports it once, as a warning.

    Args:
        path: the file or folder that is read.
    """

    def __init__(self, path: Path):
        self.path = path
        self.place = ""
        """The record that is read, for the message."""
        self.counts: dict[str, tuple[int, str]] = {}

    def add(self, what: str, count: int = 1) -> None:
        """Counts things of one kind in the present record."""
        if count:
            before, first = self.counts.get(what, (0, self.place))
            self.counts[what] = (before + count, first)

    def tell(self) -> None:
        """Writes one warning, if anything was left out."""
        if self.counts:
            parts = [f"{count:,} {what} (first: {first})" for what, (count, first) in self.counts.items()]
            LOGGER.warning(f"{self.path}: not read: {'; '.join(parts)}")


Base = Callable[[Mapping[str, Any], Omitted], dict[str, Any] | None]


def tool_of(record: Any) -> str | None:
    """The annotation tool that writes such lines of JSON; None for `jsonl` itself, and for what is no record.

    >>> tool_of({"text": "Ada ran.", "label": [[0, 3, "PER"]]})
    'doccano'
    >>> tool_of({"text": "Ada ran.", "spans": [], "answer": "accept"})
    'prodigy'
    >>> tool_of({"fields": {"text": "Ada ran."}, "suggestions": {}})
    'argilla'
    >>> tool_of({"text": "Ada ran.", "spans": [{"start": 0, "end": 3, "label": "PER"}]})
    """
    if not isinstance(record, Mapping):
        return None
    if isinstance(record.get("fields"), Mapping) and ("suggestions" in record or "responses" in record):
        return "argilla"
    if any(str(key).endswith((".responses", ".suggestion")) for key in record):
        return "argilla"
    if not isinstance(record.get("text"), str):
        return None
    if record.get("answer") in ANSWERS or "_input_hash" in record or "_task_hash" in record:
        return "prodigy"
    tokens = record.get("tokens")
    if isinstance(tokens, list) and tokens and all(isinstance(token, Mapping) for token in tokens):
        return "prodigy"
    if tokens is not None or record.get("spans") is not None:
        return None
    if isinstance(record.get("label"), list) or isinstance(record.get("labels"), list):
        return "doccano"
    entities = record.get("entities")
    if isinstance(entities, list) and (
        any(isinstance(one, Mapping) and "start_offset" in one for one in entities) or "relations" in record
    ):
        return "doccano"
    return None


def first_line(path: Path) -> Any:
    """The JSON value on the first line that is not blank; None if the file has another beginning."""
    if not path.is_file():
        return None
    lines = head(path)
    first = next((line for line in lines if line.strip()), "")
    if not first.lstrip().startswith("{"):
        return None
    try:
        if len(lines) > 1 or len(first) < HEAD_BYTES // 4:
            return parse_json(first)
        return next(parse_json(line) for _, line in read_lines(path) if line.strip())
    except (ValueError, DataError):
        return None


def first_item(path: Path) -> Any:
    """The first item of a file that is a JSON list; None if it is none, or an empty one."""
    if not path.is_file() or not "\n".join(head(path)).lstrip().startswith("["):
        return None
    try:
        return next(jsonarray.items(path), (0, None))[1]
    except DataError:
        return None


def lines_of(path: Path) -> Iterator[tuple[str, int, Any]]:
    """(place for messages, line, value) for each line of JSON that is not blank."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            yield f"line {number}", number, parse_json(line)
        except json.JSONDecodeError as error:
            message = (
                f"expected one JSON object on the line: {json_problem(error)} at character {error.pos + 1}"
            )
            raise DataError(message, path=path, line=number) from error
        except ValueError as error:
            raise DataError(str(error), path=path, line=number) from error


def items_of(path: Path) -> Iterator[tuple[str, int, Any]]:
    """(place for messages, line, value) for each item of a JSON list."""
    for number, (line, value) in enumerate(jsonarray.items(path), 1):
        yield f"record {number}", line, value


def read_records(
    found: Iterable[tuple[str, int, Any]], base: Base, path: Path, options: Options
) -> Iterator[Sentence]:
    """The sentences of a tool's records.

    Args:
        found: place, line and value of each record.
        base: changes a record into one of `jsonl`, or gives None where it is left out. Raises ValueError.
        path: the file, for errors.
        options: as for every format.

    Raises:
        DataError: for a record that cannot be read, with its place.
    """
    omitted = Omitted(path)
    for place, line, value in found:
        omitted.place = place
        try:
            if not isinstance(value, Mapping):
                raise ValueError(f"expected an object, found {type(value).__name__}")
            record = base(value, omitted)
            sentences = [] if record is None else from_record(_flat(record, omitted), options)
        except ValueError as error:
            shown = f"{place}: {error}" if place.startswith("record") else str(error)
            raise DataError(shown, path=path, line=line) from error
        yield from sentences
    omitted.tell()


def _flat(record: dict[str, Any], omitted: Omitted) -> dict[str, Any]:
    spans = char_spans(record)
    if spans is None:
        return record
    kept = without_overlaps(spans)
    omitted.add(OVERLAPS, len(set(spans)) - len(kept))
    return {**record, "spans": kept}


def without_overlaps(spans: Iterable[CharSpan]) -> list[CharSpan]:
    """Spans that do not overlap: the longest first, among equally long ones the first in the list.

    >>> without_overlaps([(0, 5, "PER"), (0, 12, "ORG"), (12, 14, "LOC"), (0, 12, "PER")])
    [(0, 12, 'ORG'), (12, 14, 'LOC')]
    """
    kept: list[CharSpan] = []
    for span in sorted(dict.fromkeys(spans), key=lambda one: one[0] - one[1]):
        at = bisect_left(kept, span[0], key=lambda one: one[0])
        before = at == 0 or kept[at - 1][1] <= span[0]
        if before and (at == len(kept) or span[1] <= kept[at][0]):
            kept.insert(at, span)
    return kept


def write_lines(path: Path, sentences: Iterable[Sentence], shape: Shape) -> None:
    """One line of JSON for each document; `shape` changes a record of `jsonl` into one of the tool."""
    with writer(path) as put:
        for group in documents(sentences):
            put(json.dumps(shape(to_record(group, path)), ensure_ascii=False) + "\n")


def write_items(path: Path, sentences: Iterable[Sentence], shape: Shape) -> None:
    """The same as one JSON list, an item on each line."""
    with writer(path) as put:
        start = "[\n"
        for group in documents(sentences):
            put(start + json.dumps(shape(to_record(group, path)), ensure_ascii=False))
            start = ",\n"
        put("[]\n" if start == "[\n" else "\n]\n")


def text_field(fields: Mapping[str, Any], where: str) -> tuple[str, str]:
    """The name and the value of the field with the text: `text`, or else the only string.

    Raises:
        ValueError: no field is the text, or several can be.

    >>> text_field({"article": "Ada ran.", "year": 1843}, "data")
    ('article', 'Ada ran.')
    """
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    if "text" in texts:
        return "text", texts["text"]
    if len(texts) != 1:
        found = ", ".join(map(str, fields)) or "nothing"
        raise ValueError(f"expected {where} to hold the text as text, or as its only string; found {found}")
    return next(iter(texts.items()))


def kept_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    """Those keys of a record that every format of JSON keeps."""
    return {key: record[key] for key in KEPT if record.get(key) is not None}
