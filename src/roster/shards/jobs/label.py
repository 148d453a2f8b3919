"""`roster label` over shards, once everything that depends on the whole corpus is decided."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.corpus.dataset import PROVENANCE
from roster.corpus.tags import Scheme
from roster.distant.labelling.chunk_labeller import ChunkLabeller
from roster.distant.labelling.chunks import Task, chunks
from roster.distant.matching.refused_matches import RefusedMatches
from roster.distant.output.report import Report
from roster.distant.output.target import Target
from roster.shards.content import Content
from roster.shards.jobs.base import Counts, suffix

REPORT = ("labels", "label_words", "entries", "sources")
NUMBERS = ("sentences", "words", "labelled_sentences", "covered", "unknown")
REFUSED = ("dropped", "ambiguous", "refused", "examples", "denied")


@dataclass(frozen=True)
class Label:
    """Labels each shard.

    Args:
        labeller: prepared by a first pass over the corpus.
        made_from: what the labels depend on; JSON can hold it.
    """

    labeller: ChunkLabeller
    made_from: dict[str, Any]
    to: str = "jsonl"
    scheme: Scheme = "BIO"
    provenance: bool = True
    command: str = "label"

    def settings(self) -> dict[str, Any]:
        return {
            **self.made_from,
            "format": self.to,
            "scheme": self.scheme,
            "provenance": self.provenance,
        }

    def files(self, name: str) -> list[str]:
        labels = f"train-{name}{suffix(self.to)}"
        return [labels, *([f"{labels}{PROVENANCE}"] if self.provenance else [])]

    def open(self) -> Label:
        return self

    def __call__(self, content: Content, folder: Path, name: str) -> Counts:
        report, refused = Report(), RefusedMatches()
        target = Target(folder / self.files(name)[0], self.to)
        labelled = (
            one
            for chunk in chunks(content.sentences("none"))
            for one in self.labeller.label(Task(chunk), refused)
        )
        target.write_sentences(report.follow(labelled), self.scheme, sources=self.provenance, distant=True)
        return {
            **{key: getattr(report, key) for key in NUMBERS},
            **{key: _rows(getattr(report, key)) for key in REPORT},
            **{key: _rows(getattr(refused, key)) for key in REFUSED},
        }


def counted(counts: Counts) -> tuple[Report, RefusedMatches]:
    """The counts of a shard, as its marker has them."""
    values: Counts = {key: counts[key] for key in NUMBERS}
    values |= {key: _counter(counts[key]) for key in REPORT}
    return Report(**values), RefusedMatches(**{key: _counter(counts[key]) for key in REFUSED})


def _rows(counter: Counter[Any]) -> list[list[Any]]:
    return [[key, count] for key, count in counter.items()]


def _counter(rows: list[list[Any]]) -> Counter[Any]:
    return Counter({_key(key): count for key, count in rows})


def _key(key: Any) -> Any:
    """JSON has lists where a key is a tuple."""
    return tuple(map(_key, key)) if isinstance(key, list) else key
