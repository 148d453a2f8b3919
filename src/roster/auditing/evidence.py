"""What a finished run and its data set have for an audit: sentences, labels with their sources, opinions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from roster.auditing.occurrences import WordIndex
from roster.auditing.opinions import Opinions
from roster.corpus.dataset import Dataset, Part
from roster.corpus.io import read
from roster.corpus.provenance import Source, provenance_file, read_provenance
from roster.corpus.sentence import Sentence
from roster.errors import RunError
from roster.training.finished import FinishedRun, members
from roster.training.mentions import Mentions, found_mentions, label_mentions, sentence_starts

CONTEXT = 60
"""Characters of a sentence that an example shows on each side of a mention."""


@dataclass(frozen=True)
class Evidence:
    """`sources` has those of a label by sentence number, first word and word after the last; where nothing is
    known of them it is empty."""

    sentences: Sequence[Sentence]
    types: tuple[str, ...]
    opinions: Opinions
    sources: Mapping[tuple[int, int, int], tuple[Source, ...]]
    path: Path | None = None
    """Where the data set is, if it is in files."""

    @cached_property
    def mentions(self) -> Mentions:
        return label_mentions(self.sentences, self.types, {}, None)[0]

    @cached_property
    def starts(self) -> np.ndarray:
        return sentence_starts(self.sentences)

    @cached_property
    def first_words(self) -> np.ndarray:
        """The number of the first word of each sentence, and of the word after the last."""
        return np.cumsum([0, *map(len, self.sentences)])

    @cached_property
    def index(self) -> WordIndex:
        return WordIndex(self.sentences)

    @cached_property
    def learned(self) -> float:
        """The share of the labels that a member learned which it finds, on average; 1 without labels."""
        m, held_out = self.mentions, self.opinions.held_out
        if not len(m):
            return 1.0
        shares = []
        for number, p in enumerate(self.opinions.members):
            taught = held_out[m.start] != number
            if taught.any():
                shares.append(found_mentions(p.argmax(-1), m, self.starts)[taught].mean())
        return float(np.mean(shares)) if shares else 1.0

    def made(self, start: int, end: int) -> tuple[Source, ...]:
        """Where the label of some words comes from. Its own words count as the entry where that is not
        known."""
        known = self.sources.get(self.place(start, end))
        return tuple(dict.fromkeys(known)) if known else (Source("", self.name(start, end)),)

    def place(self, start: int, end: int) -> tuple[int, int, int]:
        """The sentence of some words of the text, and their numbers in it."""
        number = int(np.searchsorted(self.first_words, start, side="right")) - 1
        first = int(self.first_words[number])
        return number, start - first, end - first

    def name(self, start: int, end: int) -> str:
        """The words as the text has them."""
        number, first, last = self.place(start, end)
        sentence = self.sentences[number]
        return sentence.text[sentence.offsets[first][0] : sentence.offsets[last - 1][1]]

    def example(self, start: int, end: int) -> tuple[str, str, str]:
        """What stands before the words, the words, and what stands after them."""
        number, first, last = self.place(start, end)
        sentence = self.sentences[number]
        low, high = sentence.offsets[0][0], sentence.offsets[-1][1]
        begin, stop = sentence.offsets[first][0], sentence.offsets[last - 1][1]
        left, right = sentence.text[low:begin], sentence.text[stop:high]
        return _cut(left[::-1])[::-1], sentence.text[begin:stop], _cut(right)


def _cut(text: str) -> str:
    """The beginning of a text, in whole words where they are short enough."""
    if len(text) <= CONTEXT:
        return text
    kept = text[:CONTEXT].rsplit(maxsplit=1)
    return (kept[0] if len(kept) > 1 else text[:CONTEXT]) + " …"


def read_run(run: str | Path, data: str | Path | Dataset | None = None) -> Evidence:
    """The evidence in a run folder. `data` is the data set it was trained on, if that has moved.

    Raises:
        RunError: the run is not finished, kept no members, or was trained on other data.
    """
    finished = FinishedRun.open(run)
    kept = finished.predictions()
    if kept is None:
        raise RunError(f"{run} was made by an earlier version, which kept no predictions; train it again")
    if not members(kept):
        raise RunError(
            f"the run {run} has one model and no members; an audit compares several: "
            "train with --method roster"
        )
    dataset = finished.dataset(data)
    words = sum(map(len, dataset.train))  # gold sentences of a training come after them
    removed = kept["removed"][:, :words] if "removed" in kept else None
    opinions = Opinions([p[:words] for p in members(kept)], kept["held_out"][:words], removed)
    return Evidence(dataset.train, tuple(dataset.types), opinions, read_sources(dataset), dataset.path)


def read_sources(dataset: Dataset) -> dict[tuple[int, int, int], tuple[Source, ...]]:
    """Where the labels come from, as `roster label` noted it beside them; nothing where it did not."""
    part, file = dataset.parts["train"], provenance_file(dataset)
    if file is None or not isinstance(part, Part):
        return {}
    found = {(one.sentence, one.start, one.end): one.sources for one in read_provenance(file)}
    labels = {(i, x.start, x.end) for i, s in enumerate(dataset.train) for x in s.spans or ()}
    if labels.issuperset(found):
        return found
    numbers = _numbers(part)  # the file has empty sentences, or phrases that are no labels
    return {(numbers[n], start, end): made for (n, start, end), made in found.items() if n in numbers}


def _numbers(part: Part) -> dict[int, int]:
    """From the number of a sentence in its file, with the empty ones, to that in the data set."""
    sentences = read(part.paths[0], part.format, split=part.split, labels=part.labels)
    with_words = (number for number, sentence in enumerate(sentences) if sentence.words)
    return {number: kept for kept, number in enumerate(with_words)}
