"""`roster predict` over shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.files import file_digest, fingerprint
from roster.infer.documents import write_found
from roster.model.folder import inner_model
from roster.model.hub import local_folder
from roster.shards.content import Content
from roster.shards.jobs.base import Counts, suffix

if TYPE_CHECKING:
    from roster.infer.recogniser import Found, Recogniser


@dataclass(frozen=True)
class Predict:
    """Finds entities in each shard."""

    model: str
    to: str = "jsonl"
    device: str = "auto"
    command: str = "predict"

    def settings(self) -> dict[str, Any]:
        return {"model": model_digest(self.model), "format": self.to, "device": self.device}

    def files(self, name: str) -> list[str]:
        return [f"part-{name}{suffix(self.to)}"]

    def open(self) -> Callable[[Content, Path, str], Counts]:
        from roster.infer.recogniser import Recogniser, load

        loaded = load(self.model, self.device)
        return _Predictor(self, Recogniser(loaded.engine, loaded.calibration, share_batches=False))


@dataclass(frozen=True)
class _Predictor:
    job: Predict
    recogniser: Recogniser

    def __call__(self, content: Content, folder: Path, name: str) -> Counts:
        counts = {"sentences": 0, "words": 0, "entities": 0}

        def counted() -> Iterator[Found]:
            for one in self.recogniser.find(content.sentences()):
                counts["sentences"] += 1
                counts["words"] += len(one.sentence)
                counts["entities"] += len(one.scores)
                yield one

        write_found(counted(), folder / self.job.files(name)[0], self.job.to)
        return counts


def model_digest(model: str) -> str:
    """A hash of all files of a model folder."""
    folder = inner_model(local_folder(model))
    files = sorted(file for file in Path(folder).rglob("*") if file.is_file() and file.name != "README.md")
    return fingerprint([[file.relative_to(folder).as_posix(), file_digest(file)] for file in files])
