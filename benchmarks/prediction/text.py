"""The text that all systems read, as a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from benchmarks.synthetic import synthetic_names, synthetic_text
from roster.corpus.io import read
from roster.errors import DataError

SYNTHETIC_WORDS, SYNTHETIC_NAMES = 50_000, 5_000


@dataclass(frozen=True)
class TextFile:
    """The text, as a file with one sentence per line and spaces between words."""

    name: str
    file: Path
    sentences: int
    words: int
    size: int

    def facts(self) -> dict[str, Any]:
        return {"text": self.name, "sentences": self.sentences, "words": self.words, "bytes": self.size}


def prepare(
    text: str | PathLike[str] | None, gold: str | PathLike[str] | None, words: int | None, folder: Path
) -> TextFile:
    """Write the file that all systems read."""
    source = gold if text is None else text
    if source is None:
        names = [name for name, _ in islice(synthetic_names(), SYNTHETIC_NAMES)]
        sentences: Iterable[Sequence[str]] = synthetic_text(names, words or SYNTHETIC_WORDS)
    else:
        sentences = (sentence.words for sentence in read(source, labels="none"))
    file = folder / "text.txt"
    lines = total = 0
    with file.open("w", encoding="utf-8", newline="\n") as out:
        for sentence in _until(sentences, words):
            out.write(" ".join(sentence) + "\n")
            lines += 1
            total += len(sentence)
    if not total:
        raise DataError("no words to find entities in", path=source)
    return TextFile(
        "synthetic" if source is None else Path(source).name, file, lines, total, file.stat().st_size
    )


def _until(sentences: Iterable[Sequence[str]], words: int | None) -> Iterator[list[str]]:
    """Yield sentences of words without white space, until there are `words` words."""
    seen = 0
    for sentence in sentences:
        row = [part for word in sentence for part in word.split()]
        if row:
            yield row
            seen += len(row)
        if words is not None and seen >= words:
            return
