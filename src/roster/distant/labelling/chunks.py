"""A corpus in chunks of whole documents: what is labelled at once, and what a worker process is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from roster.corpus.formats.records import documents
from roster.corpus.sentence import Sentence
from roster.distant.matching.mention import Mention

Corpus = Callable[[], Iterable[Sentence]]
"""Gives the sentences from the first one each time: they are read once to count and once to label."""

Chunk = list[list[Sentence]]
"""Documents, each a list of its sentences."""

CHUNK_WORDS = 1 << 16


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk to be labelled, and the mentions in it that no matcher has to find."""

    chunk: Chunk
    mentions: tuple[tuple[Mention, ...], ...] = ()
    """The mentions of each sentence from annotations and models; empty without such sources."""


def chunks(sentences: Iterable[Sentence]) -> Iterator[Chunk]:
    """Whole documents, at least `CHUNK_WORDS` words at a time.

    >>> sentences = [Sentence.from_words(["Oslo"], doc="1"), Sentence.from_words(["Rome"], doc="2")]
    >>> [len(chunk) for chunk in chunks(sentences)]
    [2]
    """
    chunk: Chunk = []
    size = 0
    for document in documents(sentences):
        chunk.append(document)
        size += sum(map(len, document))
        if size >= CHUNK_WORDS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def sentences_of(chunk: Iterable[Iterable[Sentence]]) -> Iterator[Sentence]:
    """The sentences of all documents of a chunk, in order."""
    return (sentence for document in chunk for sentence in document)
