"""The data of the training benchmark: a data set, or samples of it of several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from math import ceil
from os import PathLike
from pathlib import Path
from random import Random

from benchmarks.training.task import scored_split
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence

SAMPLE_SENTENCES = 200
SEED = 0


@dataclass(frozen=True)
class CorpusFiles:
    """A data set as files; `sentences` and `words` are the sizes of its training split."""

    path: Path
    sentences: int
    words: int


def prepare(dataset: str | PathLike[str] | None, sizes: Sequence[int], folder: Path) -> list[CorpusFiles]:
    """Return the data set, or for each size a folder with a sample of its sentences."""
    path = sample(folder / "sample") if dataset is None else Path(dataset)
    whole = load_dataset(path)
    if dataset is None:
        sizes = sizes or (SAMPLE_SENTENCES,)
    if not sizes:
        return [_corpus(path, whole.train)]
    corpora = []
    for size in sorted(set(sizes)):
        chosen = drawn(whole.train, size)
        corpora.append(_corpus(_written(folder / f"data-{size}", chosen, whole), chosen))
    return corpora


def _corpus(path: Path, sentences: Sequence[Sentence]) -> CorpusFiles:
    return CorpusFiles(path, len(sentences), sum(map(len, sentences)))


def drawn(sentences: Sequence[Sentence], size: int) -> list[Sentence]:
    """Draw sentences at random; if the corpus is smaller than `size`, it is repeated."""
    order = list(range(len(sentences)))
    Random(SEED).shuffle(order)
    return [sentences[i] for i in (order * ceil(size / len(order)))[:size]]


def _written(folder: Path, train: Sequence[Sentence], whole: Dataset) -> Path:
    """Write the data set as lines of words, so that the words stay the same."""
    folder.mkdir(parents=True)
    (folder / "types.txt").write_text("".join(f"{name}\n" for name in whole.types), encoding="utf-8")
    write(folder / "train_text.txt", map(_alone, train), "lines", labels="dist")
    test = scored_split(whole)
    if test:
        write(folder / "test_text.txt", map(_alone, test), "lines", labels="true")
    return folder


def _alone(sentence: Sentence) -> Sentence:
    """The sentence without its document, whose other sentences may not be in the sample."""
    return Sentence.from_words(sentence.words, sentence.spans or ())


def sample(folder: Path) -> Path:
    """Write the bundled sample with the labels that `roster demo` trains on."""
    from roster.demo import FIRST, PLAIN
    from roster.distant.labels import Labels
    from roster.distant.settings import load_settings

    with resources.as_file(resources.files("roster") / "sample") as source:
        settings = load_settings(dictionaries=[source / "dictionary.tsv"], policy=PLAIN, conflicts=FIRST)
        write(folder / "train.jsonl", Labels(lambda: read(source / "news.txt", "text"), settings))
        write(folder / "test.jsonl", read(source / "gold.jsonl", "jsonl"))
    return folder
