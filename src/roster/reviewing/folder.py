"""A review on disk: everything it was made from, and the answers as they are given.

    review/review.json        what is reviewed, and the settings
    review/sentences.jsonl    the sentences with the predicted names, one a line, and what is expected of each
    review/answers.jsonl      one line for each answer, on the disk before the next question is asked
    review/gold.jsonl         the reviewed sentences with their true names and weights
    review/corrections.tsv    corrections of the dictionary

Answers are only ever appended; taking one back appends too. So a crash costs at most the answer under way: a
last line that is not whole is dropped. Only one process may write.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError, RunError
from roster.files import atomic, check_same, lock, read_object, write_json
from roster.parsing import parse_json
from roster.reviewing.answers import Answer, AnswerError
from roster.reviewing.expectation import Expectation
from roster.reviewing.session import Session

if TYPE_CHECKING:
    from filelock import BaseFileLock

LAYOUT = 2
MARKER, SENTENCES_FILE, ANSWERS = "review.json", "sentences.jsonl", "answers.jsonl"
DIFFERENT = {
    "layout": "by another version of roster",
    "model": "with another model",
    "text": "of another text",
    "sample": "with another number of sentences",
    "seed": "with another seed",
}
ARRAYS = ("predicted", "right", "gold", "controls", "spread")


@dataclass(frozen=True)
class About:
    """What a review was made from. `sentences` is the size of the text, of which at most `sample` are
    drawn."""

    model: str
    text: str
    types: tuple[str, ...]
    sentences: int
    sample: int
    seed: int
    layout: int = LAYOUT


def is_review(path: Path) -> bool:
    return (path / MARKER).is_file()


def create(folder: Path, about: About, sentences: Sequence[Sentence], expected: Expectation) -> None:
    """Writes a new review; the marker is last, so that a folder with it is whole."""
    if (folder / ANSWERS).exists():
        raise RunError(f"{folder} holds answers of a review that is damaged; give another folder")
    columns = [getattr(expected, name).round(5).tolist() for name in ARRAYS]
    with atomic(folder / SENTENCES_FILE) as file:
        for sentence, *values in zip(sentences, *columns, strict=True):
            record = _record(sentence, dict(zip(ARRAYS, values, strict=True)))
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    write_json(folder / MARKER, asdict(about))


def read_about(folder: Path) -> About:
    """What the review in a folder was made from."""
    found = read_object(folder / MARKER)
    if found.get("layout") != LAYOUT:
        raise RunError(f"{folder} holds a review made {DIFFERENT['layout']}; give another folder")
    try:
        return About(**{**found, "types": tuple(found["types"])})
    except (KeyError, TypeError):
        raise RunError(f"{folder / MARKER} is damaged; give another folder") from None


def check_about(folder: Path, asked: dict[str, Any]) -> None:
    """Raises RunError if the review in a folder was made from anything else."""
    check_same(folder / MARKER, asked, "a review", DIFFERENT)


def read_sentences(folder: Path) -> tuple[list[Sentence], Expectation]:
    sentences: list[Sentence] = []
    rows: list[list[Any]] = []
    path = folder / SENTENCES_FILE
    for number, record in _lines(path):
        try:
            sentences.append(_sentence(record))
            rows.append([record["expected"][name] for name in ARRAYS])
        except (KeyError, TypeError, IndexError):
            raise DataError(
                "damaged; start the review again in another folder", path=path, line=number
            ) from None
    return sentences, Expectation(*(np.array(column, float) for column in zip(*rows, strict=True)))


def portion(sentence: Sentence) -> Sentence:
    """The sentence with no more of its text than its own words, so that it can stand alone."""
    if not sentence.words:
        return sentence
    first, last = sentence.offsets[0][0], sentence.offsets[-1][1]
    offsets = tuple((start - first, end - first) for start, end in sentence.offsets)
    return Sentence(sentence.words, offsets, sentence.text[first:last], sentence.spans, sentence.doc)


class AnswerFile:
    """The answers of a review: replayed when it is opened, appended to from then on.

    Raises RunError if another process has it open.
    """

    def __init__(self, folder: Path):
        self.path = folder / ANSWERS
        self._lock: BaseFileLock = lock(
            folder / ".lock", f"another process has the review {folder} open; end that one first"
        )
        self._file: IO[bytes] | None = None

    def replay(self, session: Session) -> None:
        """Brings a new session to where the answers end, and drops a last line that is not whole."""
        whole = 0
        if self.path.exists():
            content = self.path.read_bytes()
            whole = content.rfind(b"\n") + 1
            for number, line in enumerate(content[:whole].splitlines(), 1):
                try:
                    record = parse_json(line)
                    if not isinstance(record, dict):
                        raise ValueError("expected an object")
                    if record.get("undo"):
                        session.undo()
                    else:
                        session.answer(Answer.from_dict(record))
                except (ValueError, AnswerError) as error:
                    raise DataError(
                        f"not an answer of this review: {error}", path=self.path, line=number
                    ) from None
        try:
            self._file = self.path.open("ab")
            self._file.truncate(whole)
        except OSError as error:
            raise RunError(f"cannot write {self.path}: {error.strerror}") from None

    def append(self, record: dict[str, Any]) -> None:
        """Puts one line on the disk."""
        assert self._file is not None, "replay() opens the file"
        self._file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._lock.release()


def _record(sentence: Sentence, expected: dict[str, Any]) -> dict[str, Any]:
    return {
        "doc": sentence.doc,
        "text": sentence.text,
        "words": [[*pair] for pair in sentence.offsets],
        "spans": [[s.start, s.end, s.label] for s in sentence.spans or ()],
        "expected": expected,
    }


def _sentence(record: dict[str, Any]) -> Sentence:
    text, offsets = record["text"], tuple((start, end) for start, end in record["words"])
    spans = tuple(Span(start, end, label) for start, end, label in record["spans"])
    return Sentence(tuple(text[a:b] for a, b in offsets), offsets, text, spans, record["doc"])


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                yield number, parse_json(line)
    except (OSError, ValueError) as error:
        raise DataError(f"damaged ({error}); start the review again in another folder", path=path) from None
