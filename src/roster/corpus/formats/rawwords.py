"""AutoNER's raw text: one word per line, a blank line after each sentence, no labels.

A sentence without words cannot be written and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from roster.corpus.formats.base import Format, Options, plain
from roster.corpus.formats.textfile import FIELD, head, read_lines, writer
from roster.corpus.sentence import Sentence
from roster.errors import DataError


def detect(path: Path) -> bool:
    """A `.txt` with one word on each line and blank lines between sentences (a list of names has none)."""
    if not path.is_file() or path.suffix not in (".txt", ".words"):
        return False
    counts = [len(FIELD.findall(line)) for line in head(path)]
    blank = counts.count(0)
    return blank > 0 and max(counts) == 1 and len(counts) - blank >= 2 * blank


def read(path: Path, options: Options) -> Iterator[Sentence]:
    words: list[str] = []
    for number, line in read_lines(path):
        fields = FIELD.findall(line)
        if len(fields) > 1:
            raise DataError(f"expected one word on the line, found {len(fields)}", path=path, line=number)
        if fields:
            words += fields
        elif words:
            yield Sentence.from_words(words)
            words = []
    if words:
        yield Sentence.from_words(words)


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """Labels are not written: the format has none."""
    with writer(path) as put:
        for number, sentence in enumerate(sentences, 1):
            if sentence.words:
                put("".join(f"{plain(w, 'word', path=path, number=number)}\n" for w in sentence.words) + "\n")


FORMAT = Format(
    "rawwords", "one word per line, no labels (AutoNER's raw_text.txt)", (".words",), detect, read, write,
    labels=False, keeps_empty=False,
)  # fmt: skip
