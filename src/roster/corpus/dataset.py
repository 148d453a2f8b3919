"""A data set for training: types, sentences with distant labels, and gold sentences for evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path

from roster.corpus.formats import brat, columns, conll, lines
from roster.corpus.formats.base import Labels
from roster.corpus.formats.textfile import read_lines
from roster.corpus.io import detect, read
from roster.corpus.layout import SPLITS, TYPES
from roster.corpus.sentence import Sentence
from roster.corpus.texts import labelled
from roster.errors import DataError
from roster.files import fingerprint
from roster.progress import bar

SHARD = re.compile(r"-\d+-of-\d+$")
PROVENANCE = ".provenance.jsonl"
"""Suffix of the file with the provenance of the labels of another file."""


@dataclass(frozen=True)
class Part:
    """The files of one split: files of one format, or one split of a folder."""

    paths: tuple[Path, ...]
    format: str
    split: str | None = None
    labels: Labels | None = None

    @property
    def place(self) -> Path | None:
        """The path that errors about the split have."""
        return self.paths[0]

    def sentences(self, types: frozenset[str] | None) -> Iterator[Sentence]:
        """Those with at least one word; a label that `types` does not list is an error."""
        for path in self.paths:
            for number, sentence in enumerate(
                read(path, self.format, split=self.split, labels=self.labels), 1
            ):
                if types is not None:
                    self._check(sentence, types, path, number)
                if sentence.words:
                    yield sentence

    def _check(self, sentence: Sentence, types: frozenset[str], path: Path, number: int) -> None:
        for span in sentence.spans or ():
            if span.label not in types:
                message = f"the label {span.label!r} is not in {TYPES}, which has {', '.join(sorted(types))}"
                if self.format == "lines":  # one line is one sentence there
                    raise DataError(message, path=lines.labels_of(path, self.labels) or path, line=number)
                raise DataError(f"sentence {number}: {message}", path=path)


@dataclass(frozen=True)
class InMemory:
    """A split in memory."""

    given: Sequence[Sentence]
    format: str = "memory"
    place: Path | None = None

    def sentences(self, types: frozenset[str] | None) -> Iterator[Sentence]:
        """Those with at least one word; a label that `types` does not list is an error."""
        for number, sentence in enumerate(self.given, 1):
            for span in sentence.spans or ():
                if types is not None and span.label not in types:
                    raise DataError(
                        f"sentence {number}: the label {span.label!r} is not one of the types "
                        f"{', '.join(sorted(types))}"
                    )
            if sentence.words:
                yield sentence


@dataclass(frozen=True)
class Dataset:
    """Splits are read when they are first used, and kept.

    `train` has distant labels if there are any, else true labels; `train_gold` the same sentences with true
    labels, or None if there are none. A missing split is an empty list.
    """

    path: Path | None
    """The folder or file; None for a data set in memory."""
    parts: Mapping[str, Part | InMemory]
    listed_types: tuple[str, ...] | None = field(default=None)

    @classmethod
    def from_sentences(
        cls,
        train: Iterable[Sentence],
        valid: Iterable[Sentence] = (),
        test: Iterable[Sentence] = (),
        types: Iterable[str] | None = None,
    ) -> Dataset:
        """A data set in memory. `types` are all labels of `train` unless they are given.

        Raises DataError for what is no `Sentence`.

        >>> from roster.corpus.sentence import Span
        >>> data = Dataset.from_sentences([Sentence.from_words(["Ada", "ran"], [Span(0, 1, "PER")])])
        >>> data.types, len(data.train), len(data.test)
        (('PER',), 1, 0)
        """
        given = {"train": train, "valid": valid, "test": test}
        splits = {name: list(labelled(split, name)) for name, split in given.items()}
        parts = {name: InMemory(split) for name, split in splits.items() if split or name == "train"}
        return cls(None, parts, None if types is None else tuple(types))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """As `types.txt` lists them, else all labels of `train`, sorted."""
        if self.listed_types is not None:
            return self.listed_types
        return tuple(sorted({span.label for sentence in self.train for span in sentence.spans or ()}))

    @cached_property
    def train(self) -> list[Sentence]:
        sentences = self._load("train")
        if not sentences:
            raise DataError("there is no sentence to train on", path=self.parts["train"].place)
        if all(sentence.spans is None for sentence in sentences):
            raise DataError(
                "the sentences have no labels; make some with roster label, from a dictionary of names",
                path=self.parts["train"].place,
            )
        return sentences

    @property
    def has_train_gold(self) -> bool:
        """Whether the training sentences have true labels, too; without reading them."""
        return "train_gold" in self.parts

    @cached_property
    def train_gold(self) -> list[Sentence] | None:
        return self._load("train_gold") if self.has_train_gold else None

    @cached_property
    def valid(self) -> list[Sentence]:
        return self._load("valid")

    @cached_property
    def test(self) -> list[Sentence]:
        return self._load("test")

    def with_train(self, sentences: Sequence[Sentence]) -> Dataset:
        """The same types and splits with other sentences to train on."""
        labels = {span.label for s in sentences for span in s.spans or ()}
        types = (*self.types, *sorted(labels.difference(self.types)))
        return Dataset.from_sentences(sentences, self.valid, self.test, types)

    def fingerprint(self) -> str:
        """A hash of the types, and of all words and labels that a training reads."""
        return fingerprint(self.types, *map(content, (self.train, self.valid, self.test)))

    def _load(self, name: str) -> list[Sentence]:
        types = None if self.listed_types is None else frozenset(self.listed_types)
        if name not in self.parts:
            return []
        return list(bar(self.parts[name].sentences(types), description=f"read {name}", unit="sentence"))


def content(sentences: Iterable[Sentence] | None) -> object:
    """Words and labels of sentences, for a fingerprint."""
    if sentences is None:
        return None
    return [
        [
            s.words,
            None if s.spans is None else [[x.start, x.end, x.label] for x in sorted(s.spans)],
            *([[[x.start, x.end] for x in sorted(s.unknown)]] if s.unknown else []),
            *([s.weight] if s.weight != 1 else []),
        ]
        for s in sentences
    ]


def load_dataset(path: str | PathLike[str], format: str | None = None) -> Dataset:
    """A folder with train, valid or dev, and test files of any format, or one labelled file (train only)."""
    path = Path(path)
    if not path.exists():
        raise DataError("no such file or folder", path=path)
    if path.is_file():
        parts = {"train": Part((path,), format or detect(path))}
    else:
        parts = _lines_parts(path) if format in (None, "lines") else {}
        parts = parts or _file_parts(path, format)
    if "train" not in parts:
        raise DataError(
            "found no file to train on: expected train_text.txt, train.jsonl or the like", path=path
        )
    if format is None:
        _refuse_dictionary(parts["train"])
    types = path / TYPES
    dataset = Dataset(path, parts, _read_types(types) if types.is_file() else None)
    _ = dataset.train  # an empty or unlabelled corpus is an error before a model is loaded
    return dataset


def _refuse_dictionary(part: Part) -> None:
    """Raise `DataError` for a dictionary: it has columns like CoNLL, but no sentences."""
    path = part.paths[0]
    if part.format == "conll" and conll.looks_like_dictionary(path):
        raise DataError(
            "this looks like a dictionary (name and type on each line, no sentences); label a text with it "
            f"first: roster label TEXT --dictionary {path} -o DATA",
            path=path,
        )


def _read_types(path: Path) -> tuple[str, ...]:
    types = tuple(dict.fromkeys(name for _, line in read_lines(path) if (name := line.strip())))
    if not types:
        raise DataError("expected one type per line, found none", path=path)
    return types


def _lines_parts(folder: Path) -> dict[str, Part]:
    parts = {}
    for split, names in SPLITS.items():
        texts = [text for name in names if (text := folder / f"{name}{lines.TEXT}").is_file()]
        if not texts:
            continue
        true = lines.label_file(texts[0], "true").is_file()
        if split == "train":
            parts["train"] = Part((texts[0],), "lines")
            if true:
                parts["train_gold"] = Part((texts[0],), "lines", labels="true")
        else:
            parts[split] = Part((texts[0],), "lines", labels="true" if true else None)
    return parts


def _brat_folders(folder: Path) -> dict[str, Path]:
    """Folders of brat named after splits, as `train` or `train.brat`; or the folder itself as `train`."""
    if any(folder.glob(f"*{brat.ANN}")):
        return {"train": folder}
    found: dict[str, Path] = {}
    for split, names in SPLITS.items():
        places = [folder / f"{name}{suffix}" for name in names for suffix in ("", *brat.FORMAT.suffixes)]
        for place in places:
            if place.is_dir() and brat.detect(place):
                found.setdefault(split, place)
    return found if "train" in found else {}


def _file_parts(folder: Path, format: str | None) -> dict[str, Part]:
    """Files whose name has `train` and so on in it; the shards `train-00000-of-00002` are one split."""
    if columns.detect_arrow(folder):
        saved = columns.splits(folder)
        if not saved:
            return {"train": Part((folder,), "arrow")}
        known = {split: name for split, names in SPLITS.items() for name in names if name in saved}
        return {split: Part((folder,), "arrow", split=name) for split, name in known.items()}
    if format in (None, brat.FORMAT.name) and (folders := _brat_folders(folder)):
        return {split: Part((path,), brat.FORMAT.name) for split, path in folders.items()}
    parts = {}
    files = sorted(
        f
        for f in folder.iterdir()
        if f.is_file() and not f.name.startswith(".") and not f.name.endswith(PROVENANCE)
    )
    for split, names in SPLITS.items():
        found = [f for f in files if f.stem.lower() in names]
        found = found or [f for f in files if set(re.split(r"[-_.]", f.stem.lower())) & set(names)]
        if len(found) > 1 and not all(SHARD.search(f.stem) for f in found):
            raise DataError(
                f"several files for {split}: {', '.join(f.name for f in found)}; keep one", path=folder
            )
        if found:
            parts[split] = Part(tuple(found), format or detect(found[0]))
    return parts
