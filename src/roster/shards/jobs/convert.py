"""`roster convert` over shards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roster.corpus.formats.base import Labels
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.corpus.tags import Scheme
from roster.shards.content import Content
from roster.shards.jobs.base import Counts, suffix


@dataclass(frozen=True)
class Convert:
    """Writes each shard in another format."""

    to: str
    scheme: Scheme = "BIO"
    labels: Labels | None = None
    command: str = "convert"

    def settings(self) -> dict[str, Any]:
        return asdict(self)

    def files(self, name: str) -> list[str]:
        return [f"part-{name}{suffix(self.to)}"]

    def open(self) -> Convert:
        return self

    def __call__(self, content: Content, folder: Path, name: str) -> Counts:
        count = 0

        def counted() -> Iterator[Sentence]:
            nonlocal count
            for sentence in content.sentences(self.labels):
                count += 1
                yield sentence

        write(folder / self.files(name)[0], counted(), self.to, self.scheme, labels=self.labels)
        return {"sentences": count}
