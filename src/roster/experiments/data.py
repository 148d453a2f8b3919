"""The data of a point: a data set with the changes of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from roster.corpus.dataset import Dataset, Part, content, load_dataset
from roster.corpus.formats import lines
from roster.corpus.sentence import Sentence
from roster.errors import DataError
from roster.experiments.point import Change, Point
from roster.experiments.thinning import thin
from roster.files import fingerprint


@dataclass(frozen=True)
class Material:
    """The input of a training: a data set, and gold sentences beside it."""

    dataset: Dataset
    gold: Sequence[Sentence] = ()

    def fingerprint(self) -> str:
        own = self.dataset.fingerprint()
        return fingerprint(own, content(self.gold)) if self.gold else own


def name_of(data: str) -> str:
    """Return the name of a data set: that of its folder, or of its file without the suffix.

    >>> name_of("benchmarks/conll03/")
    'conll03'
    """
    path = Path(data).resolve()
    return path.stem if path.is_file() else path.name


@lru_cache(2)  # a large one takes half a gigabyte
def dataset_of(data: str) -> Dataset:
    """Load a data set.

    Raises:
        DataError: it has no gold labels to score on.
    """
    dataset = load_dataset(data)
    for part in (dataset.valid, dataset.test):
        if part and all(s.spans is not None for s in part):
            return dataset
    raise DataError(
        "no split with gold labels to score on; expected test or valid files with labels", path=data
    )


def material(point: Point) -> Material:
    """Return the input of a training.

    Raises:
        DataError: labels that the point needs are missing.
    """
    dataset, change = dataset_of(point.data), point.change
    if change.labels == "distant":
        check_distant(dataset)
    if not point.trains:
        return Material(changed(dataset, change), gold_sentences(dataset)[: change.first or None])
    return Material(changed(dataset, change), gold_sentences(dataset)[: change.gold] if change.gold else ())


def changed(dataset: Dataset, change: Change) -> Dataset:
    """Apply a change to the training split."""
    if change == Change(gold=change.gold):
        return dataset
    train: Sequence[Sentence] = gold_sentences(dataset) if change.labels == "gold" else dataset.train
    if change.names < 1:
        train = thin(train, change.names, change.names_seed)
    if change.first:
        train = train[: change.first]
    return dataset.with_train(train)


def gold_sentences(dataset: Dataset) -> list[Sentence]:
    """Return the training sentences with gold labels, or raise DataError."""
    if dataset.train_gold is None:
        raise DataError(
            "the training sentences have no gold labels, which this point needs; expected "
            "train_label_true.txt beside train_text.txt",
            path=dataset.path,
        )
    return dataset.train_gold


def check_distant(dataset: Dataset) -> None:
    """Raise DataError if the training sentences have gold labels only."""
    part = dataset.parts["train"]
    if not isinstance(part, Part) or part.format != "lines" or not dataset.has_train_gold:
        return
    if not lines.label_file(part.paths[0], "dist").is_file():
        raise DataError(
            "no distant labels: expected train_label_dist.txt beside train_text.txt; roster label makes them",
            path=dataset.path,
        )
