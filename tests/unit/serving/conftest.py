"""A model without weights: every capitalised word is a name; what it reads is kept, and it can be held."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from roster.corpus.sentence import Sentence
from roster.infer.recogniser import Entity
from roster.serving.models import ServedModel


@dataclass(frozen=True)
class Labelled:
    entities: list[Entity]


@dataclass
class FakeModel:
    """`batches` has the sentences of every call, as text. While `go` is cleared, calls wait."""

    batches: list[list[str]] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.go.set()

    def find(self, sentences: list[Sentence]) -> Iterable[Labelled]:
        self.batches.append([" ".join(sentence.words) for sentence in sentences])
        assert self.go.wait(60)
        if any("Crash" in sentence.words for sentence in sentences):
            raise ValueError("a secret text")
        for sentence in sentences:
            yield Labelled([
                Entity(word, "PER" if len(word) < 5 else "LOC", start, end, len(word) / 10)
                for word, (start, end) in zip(sentence.words, sentence.offsets, strict=True)
                if word[:1].isupper()
            ])  # fmt: skip

    @property
    def served(self) -> ServedModel:
        return ServedModel(("PER", "LOC"), self.find)


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()
