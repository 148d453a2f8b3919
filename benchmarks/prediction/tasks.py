"""The measurements of a prediction system, each in a process of its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.corpus.sentence import Sentence
from roster.progress import peak_memory

if TYPE_CHECKING:
    from roster.infer.recogniser import Recogniser
from benchmarks.prediction.systems import SYSTEMS, RosterModel

WARM_UP = 64
"""Sentences that are predicted before the measurement, because the first batch is slow."""


def predict(system: str, source: str, text: str, device: str, gold: str | None) -> Iterator[dict[str, Any]]:
    """Load a system and predict a text; afterwards score it on gold sentences."""
    for package in SYSTEMS[system].without:
        sys.modules[package] = None  # type: ignore[assignment]
    start = time.perf_counter()
    it = SYSTEMS[system](source, device)
    yield {"load_seconds": time.perf_counter() - start, "version": it.version()}
    it.find(it.take(islice(read_words(Path(text)), WARM_UP)))
    taken = it.take(read_words(Path(text)))
    start = time.perf_counter()
    entities = it.find(taken)
    yield {"seconds": time.perf_counter() - start, "entities": entities, **peak_memory()}
    if gold is not None and isinstance(it, RosterModel):
        yield {"scores": _scores(it.ner, gold)}


def stream(source: str, text: str, device: str, size: float) -> Iterator[dict[str, Any]]:
    """Predict a stream of `size` bytes, the text repeated, to measure the memory that a large file needs."""
    it = RosterModel(source, device)
    it.find(it.take(islice(read_words(Path(text)), WARM_UP)))
    words = 0

    def sentences() -> Iterator[Sentence]:
        nonlocal words
        for row in repeated(Path(text), size):
            words += len(row)
            yield Sentence.from_words(row)

    start = time.perf_counter()
    entities = it.find(sentences())
    yield {"seconds": time.perf_counter() - start, "words": words, "entities": entities, **peak_memory()}


def repeated(path: Path, size: float) -> Iterator[list[str]]:
    """Yield the sentences of a file, repeated, until `size` bytes were read."""
    read = 0
    while True:
        with path.open("rb") as file:
            for line in file:
                yield line.decode().split()
                read += len(line)
                if read >= size:
                    return


def read_words(path: Path) -> Iterator[list[str]]:
    """Yield the words of each line."""
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.split()


def _scores(ner: Recogniser, gold: str) -> dict[str, float]:
    from roster.corpus.io import read
    from roster.scores import evaluate_sentences

    truth = list(read(gold))
    scores = evaluate_sentences((one.sentence for one in ner.find(truth)), truth)
    return {name: round(getattr(scores, name), 5) for name in ("precision", "recall", "f1")}
