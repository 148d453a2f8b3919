"""The interface of a format: options, and checks whose errors have the position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from roster.corpus import tags as codec
from roster.corpus.sentence import Sentence, Span
from roster.corpus.tags import Scheme
from roster.errors import DataError

Labels = Literal["dist", "true", "none"]


@dataclass(frozen=True)
class Options:
    """How to read or write; a format ignores the options that it does not have.

    `scheme` is the tagging scheme to write (None: BIO). In reading, None accepts every scheme; with a scheme,
    tags of another one are an error.
    """

    scheme: Scheme | None = None
    split: str | None = None
    labels: Labels | None = None
    comments: bool = False
    first: int = 1
    """The number of the first sentence to write, for messages; more than 1 for a part of a corpus."""
    scores: bool = False
    """Whether to read the scores of spans into `Sentence.scores`, from formats that can hold them."""
    lines_before: int = 0
    """Number of lines before the first one, where a part of a text is read."""


@dataclass(frozen=True)
class Format:
    """One file format: `detect` looks at a path, `read` and `write` stream sentences."""

    name: str
    about: str
    suffixes: tuple[str, ...]
    detect: Callable[[Path], bool]
    read: Callable[[Path, Options], Iterator[Sentence]]
    write: Callable[[Path, Iterable[Sentence], Options], None]
    labels: bool = True
    """Whether it can hold labels."""
    keeps_empty: bool = True
    """Whether a sentence without words is still there when the file is read back."""


class TagError(ValueError):
    """Invalid tags; `word` is the index of the first invalid one, if the error is about one."""

    def __init__(self, message: str, word: int = 0):
        super().__init__(message)
        self.word = word


def decode(tags: Sequence[Any], words: int, scheme: Scheme | None) -> tuple[Span, ...]:
    """Spans from the tags of a sentence. Raises TagError; the caller adds the position."""
    if len(tags) != words:
        raise TagError(f"expected {words} tags, one per word, found {len(tags)}")
    for i, tag in enumerate(tags):
        if not isinstance(tag, str) or not tag:
            raise TagError(f"expected a tag such as O or B-PER for word {i + 1}, found {tag!r}", i)
    if scheme is not None:
        wrong = codec.check(["-".join(filter(None, codec.split_tag(tag))) for tag in tags], scheme)
        if wrong is not None:
            raise TagError(
                f"{tags[wrong]!r} (word {wrong + 1}) is not what the scheme {scheme} has there", wrong
            )
    return codec.decode(tags)


def encode(sentence: Sentence, options: Options, *, path: Path, number: int) -> list[str]:
    """The tags of a labelled sentence; `number` and `path` are for errors."""
    if sentence.spans is None:
        raise DataError(
            f"sentence {number} has no labels, and this file needs them for every sentence", path=path
        )
    try:
        return codec.encode(sentence.spans, len(sentence), options.scheme or "BIO")
    except ValueError as error:
        raise DataError(f"sentence {number}: {error} (jsonl can)", path=path) from error


def plain(field: str, what: str, *, path: Path, number: int) -> str:
    """`field`, if it can be written to a file whose fields are separated by white space."""
    if not field or any(c in field for c in " \t\r\n"):
        raise DataError(
            f"sentence {number}: the {what} {field!r} is empty or holds a space, tab or line break, "
            "which this format cannot write; use jsonl or parquet",
            path=path,
        )
    return field
