"""Thin distant labels as if the dictionary were smaller, to measure the effect of missing names."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

import numpy as np

from roster.corpus.dataset import load_dataset
from roster.corpus.io import write
from roster.corpus.sentence import Sentence, Span
from roster.files import write_text


def thin(sentences: Sequence[Sentence], keep: float, seed: int) -> list[Sentence]:
    """Keep the labels of a share `keep` of the distinct names, drawn at random.

    A name is a surface (case-sensitive) with its type; all its labels are kept or removed. With the same seed
    the names of a smaller share are a subset of those of a larger one. Phrases of unknown type are kept,
    because they come from another dictionary.

    >>> one = Sentence.from_words(["Oslo", "Rome", "Oslo"], [Span(i, i + 1, "LOC") for i in range(3)])
    >>> [[s.span_text(x) for x in s.spans or ()] for s in thin([one], 0.5, 1)]
    [['Oslo', 'Oslo']]
    """
    names = sorted({(s.span_text(span), span.label) for s in sentences for span in s.spans or ()})
    order = np.random.default_rng(seed).permutation(len(names))
    kept = {names[i] for i in order[: round(keep * len(names))]}
    return [s if s.spans is None else s.with_spans(_named(s, kept), s.unknown) for s in sentences]


def _named(sentence: Sentence, names: Container[tuple[str, str]]) -> list[Span]:
    return [x for x in sentence.spans or () if (sentence.span_text(x), x.label) in names]


def thin_dataset(source: str | Path, target: str | Path, keep: float, seed: int) -> None:
    """Write a data set with thinned training labels as a new folder of JSON lines."""
    dataset, folder = load_dataset(source), Path(target)
    folder.mkdir(parents=True)
    write_text(folder / "types.txt", "".join(f"{name}\n" for name in dataset.types))
    write(folder / "train.jsonl", thin(dataset.train, keep, seed))
    for name, part in (("valid", dataset.valid), ("test", dataset.test)):
        if part:
            write(folder / f"{name}.jsonl", part)
