"""Texts and sentences in memory: conversion to sentences, and checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from roster.corpus.formats.base import Options
from roster.corpus.formats.records import check_unicode, from_record
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import sentences
from roster.errors import DataError

TEXT_COLUMN = "text"
READ = ("id", "text", "tokens")
"""Keys of a record that are read; labels are ignored."""


def sentences_of(items: Iterable[Any]) -> Iterator[Sentence]:
    """Sentences of a list of texts, of sentences, or of records with `text` or `tokens`.

    Args:
        items: strings (each a document), `Sentence` objects, or dictionaries, as the rows of a Hugging Face
            dataset; a data frame with a column called `text`.

    Raises:
        DataError: an item is none of these; the message has its position.

    >>> [s.words for s in sentences_of(["Ada ran.", {"tokens": ["She", "won"]}])]
    [('Ada', 'ran', '.'), ('She', 'won')]
    """
    for number, item in enumerate(texts_in(items)):
        if isinstance(item, Sentence):
            yield item
        elif isinstance(item, Mapping):
            if not {TEXT_COLUMN, "tokens"} & set(item):
                names = ", ".join(map(str, item)) or "nothing"
                raise DataError(f"record {number}: expected text or tokens, found {names}. "
                                "Give the texts themselves: data['body']")  # fmt: skip
            try:
                record = {"id": str(number), **{key: item[key] for key in READ if key in item}}
                yield from from_record(record, Options())
            except ValueError as error:
                raise DataError(f"record {number}: {error}") from None
        else:
            check_text(item, number)
            yield from sentences(item, str(number))


def texts_in(items: Any) -> Iterable[Any]:
    """The items of a collection of texts; of a data frame, those of its column `text`.

    Raises:
        DataError: it is a single text, a mapping or not iterable.
    """
    if isinstance(items, Mapping) and items:  # as the splits of a Hugging Face DatasetDict
        raise DataError(f"expected several texts, not {describe(items)}; give one part of it: "
                        f"data[{next(iter(items))!r}]")  # fmt: skip
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise DataError(f"expected several texts, such as a list of strings, not {describe(items)}")
    columns = getattr(items, "columns", None)
    if columns is None:
        return items
    if TEXT_COLUMN not in list(columns):  # iterating over a data frame gives the names of its columns
        names = ", ".join(map(str, columns))
        raise DataError(f"expected a data frame with a column {TEXT_COLUMN!r}; this one has {names}. "
                        "Give one column: frame['body']")  # fmt: skip
    frame: Any = items
    column: Iterable[Any] = frame[TEXT_COLUMN]
    return column


def labelled(items: Iterable[Any], what: str) -> Iterator[Sentence]:
    """The same items, each of which must be a `Sentence`.

    Args:
        items: what is expected to be labelled sentences.
        what: name of the items in errors.

    Raises:
        DataError: an item is not a `Sentence`; the message has its position.

    >>> list(labelled(["Ada ran."], "gold"))
    Traceback (most recent call last):
    roster.errors.DataError: gold, item 0: expected a labelled Sentence, not a single string; roster.label makes them from texts and names
    """  # noqa: E501
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise DataError(f"{what}: expected labelled sentences, not {describe(items)}")
    for number, item in enumerate(items):
        if not isinstance(item, Sentence):
            raise DataError(
                f"{what}, item {number}: expected a labelled Sentence, not {describe(item)}; "
                "roster.label makes them from texts and names"
            )
        yield item


def check_text(text: object, number: int) -> None:
    if not isinstance(text, str):
        missing = "; drop missing values first" if describe(text) in ("None", "NaN", "a NAType") else ""
        raise DataError(f"text {number} is {describe(text)}, not a string{missing}")
    try:
        check_unicode(text)
    except ValueError as error:
        raise DataError(
            f"text {number} is not valid Unicode: {error}; "
            "text.encode('utf-8', 'replace').decode() replaces it"
        ) from None


def describe(value: object) -> str:
    """
    >>> describe(None), describe(float("nan")), describe(["a"]), describe("Oslo")
    ('None', 'NaN', 'a list', 'a single string')
    """
    if value is None or (isinstance(value, float) and value != value):
        return "None" if value is None else "NaN"
    return "a single string" if isinstance(value, str) else f"a {type(value).__name__}"
