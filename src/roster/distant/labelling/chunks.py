"""A corpus in chunks of whole documents: what is labelled at once, and what a worker process is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from roster.corpus.formats.records import documents
from roster.corpus.sentence import Sentence

Corpus = Callable[[], Iterable[Sentence]]
"""Gives the sentences from the first one each time: they are read once to count and once to label."""

Chunk = list[list[Sentence]]
"""Documents, each a list of its sentences."""

CHUNK_WORDS = 1 << 16


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
