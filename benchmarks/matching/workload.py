"""The names and the text of the matching benchmark, as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.synthetic import synthetic_names, synthetic_text
from roster.corpus.io import read
from roster.distant.entries import read_entries
from roster.errors import DataError

ALL = "all"
SIZES: tuple[int | str, ...] = (10_000, 100_000, 1_000_000, ALL)
SYNTHETIC_NAMES, SYNTHETIC_WORDS = 1_000_000, 200_000
SEED = 0


@dataclass(frozen=True)
class Size:
    """A sample of the distinct names of the dictionary, as files; a name has one entry per type."""

    names: int
    entries: int
    listed: Path
    typed: Path


@dataclass(frozen=True)
class Workload:
    """The names and the text that are matched."""

    dictionary: str
    text: str
    sentences: int
    words: int
    sizes: tuple[Size, ...]
    file: Path

    def facts(self) -> dict[str, Any]:
        return {
            "dictionary": self.dictionary,
            "text": self.text,
            "sentences": self.sentences,
            "words": self.words,
        }


def prepare(
    dictionary: str | PathLike[str] | None,
    text: str | PathLike[str] | None,
    sizes: Sequence[int | str],
    folder: Path,
) -> Workload:
    """Write the files that all systems read. White space in names is normalised to single spaces."""
    source = folder / "synthetic.tsv" if dictionary is None else Path(dictionary)
    if dictionary is None:
        wanted = max(SYNTHETIC_NAMES if size == ALL else int(size) for size in sizes)
        with source.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{name}\t{kind}\n" for name, kind in islice(synthetic_names(SEED), wanted))
    chosen = _samples(source, sizes, folder)
    if text is None:
        names = chosen[-1].listed.read_text(encoding="utf-8").splitlines()
        sentences: Iterator[list[str]] = synthetic_text(names, SYNTHETIC_WORDS, SEED)
    else:
        sentences = ([part for word in s.words for part in word.split()] for s in read(text))
    file_of_text = folder / "text.txt"
    lines = words = 0
    with file_of_text.open("w", encoding="utf-8", newline="\n") as file:
        for sentence in sentences:
            file.write(" ".join(sentence) + "\n")
            lines += 1
            words += len(sentence)
    if not words:
        raise DataError("no words to match names in", path=text)
    return Workload(
        "synthetic" if dictionary is None else source.name,
        "synthetic" if text is None else Path(text).name,
        lines,
        words,
        chosen,
        file_of_text,
    )


def _samples(source: Path, sizes: Sequence[int | str], folder: Path) -> tuple[Size, ...]:
    """Draw a random sample of the distinct names for each size; smaller ones are parts of larger ones."""
    rank: dict[str, int] = {}
    for name, _ in _entries(source):
        rank.setdefault(name, len(rank))
    if not rank:
        raise DataError("no names", path=source)
    order = list(range(len(rank)))
    Random(SEED).shuffle(order)
    counts = sorted({len(rank) if size == ALL else min(int(size), len(rank)) for size in sizes})
    samples = []
    for count in counts:
        listed, typed = folder / f"names-{count}.txt", folder / f"names-{count}.tsv"
        seen: set[int] = set()
        entries = 0
        with (
            listed.open("w", encoding="utf-8", newline="\n") as names,
            typed.open("w", encoding="utf-8", newline="\n") as table,
        ):
            for name, kind in _entries(source):
                number = rank[name]
                if order[number] >= count:
                    continue
                if number not in seen:
                    seen.add(number)
                    names.write(f"{name}\n")
                table.write(f"{name}\t{kind}\n")
                entries += 1
        samples.append(Size(count, entries, listed, typed))
    return tuple(samples)


def _entries(source: Path) -> Iterator[tuple[str, str]]:
    for batch in read_entries(source):
        for surface, kind in zip(batch.surfaces, batch.kinds, strict=True):
            name = " ".join(surface.split())
            if name:
                yield name, kind or "NAME"
