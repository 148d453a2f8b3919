"""`roster.convert`: labelled data from one format to another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from roster.corpus.formats.base import Labels
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence
from roster.corpus.tags import Scheme
from roster.files import refuse_input
from roster.progress import bar


def convert(
    source: str | Path,
    output: str | Path,
    *,
    format: str | None = None,
    to: str | None = None,
    scheme: Scheme = "BIO",
    split: str | None = None,
    labels: Labels | None = None,
) -> int:
    """Writes data in another format, one sentence at a time.

    Args:
        source: a file or folder of any format.
        output: the file or folder to write.
        format: the format of `source`, where it is not recognised.
        to: the format of `output`, where its name does not tell it.
        scheme: tags to write, where the format has tags.
        split: the split to read where `source` is a folder of several.
        labels: which label file of a file of lines to read or write, `dist` or `true`; with `true`, labels
            for Label Studio are written as annotations, not as predictions.

    Returns:
        The number of sentences.

    Raises:
        DataError: for data that cannot be read, with the place.
        RosterError: if `output` is one of the files that are read, or cannot be written.

    >>> convert("train.conll", "train.jsonl")  # doctest: +SKIP
    """
    refuse_input(output, [source])
    sentences = read(source, format, split=split, labels=labels)
    count = 0
    with bar(description="convert", unit="sentence") as progress:

        def counted() -> Iterator[Sentence]:
            nonlocal count
            for sentence in sentences:
                count += 1
                progress.update()
                yield sentence

        write(output, counted(), to, scheme, labels=labels)
    return count
