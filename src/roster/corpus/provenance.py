"""Where labels come from: the file that `roster label` writes beside a labelled file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.corpus.dataset import PROVENANCE, Dataset, Part
from roster.parsing import parse_json


@dataclass(frozen=True)
class Source:
    """An entry of a dictionary (or another source) that a label comes from. `line` 0: not known."""

    source: str
    entry: str
    line: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {"source": self.source, "entry": self.entry, "line": self.line}


@dataclass(frozen=True)
class Origin:
    """A label with the entries that it rests on.

    Args:
        sentence: number of its sentence in the file, from 0; sentences without words count.
        start: its first word.
        end: the word after its last.
        text: its words as the text has them.
        types: its types; empty for a phrase of unknown type.
        sources: the entries, the weightiest first.
    """

    sentence: int
    start: int
    end: int
    text: str
    types: tuple[str, ...]
    sources: tuple[Source, ...]


def provenance_file(dataset: Dataset) -> Path | None:
    """The file with the provenance of the training labels, if `roster label` wrote one."""
    part = dataset.parts["train"]
    if not isinstance(part, Part) or len(part.paths) != 1:
        return None
    file = part.paths[0].with_name(part.paths[0].name + PROVENANCE)
    return file if file.is_file() else None


def read_provenance(file: Path) -> Iterator[Origin]:
    """The labels of a provenance file, one at a time.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is no JSON, or no label.
    """
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            one = parse_json(line)
            try:
                yield Origin(
                    *(one["sentence"], one["start"], one["end"]),
                    str(one.get("text", "")),
                    tuple(map(str, one.get("types", ()))),
                    tuple(map(_source, one.get("evidence", ()))),
                )
            except (KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{file}, line {number}: not the provenance of a label") from error


def _source(one: dict[str, Any]) -> Source:
    return Source(str(one.get("source", "")), str(one.get("entry", "")), int(one.get("line") or 0))
