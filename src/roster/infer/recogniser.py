"""A trained model at work: text in, entities with exact character offsets out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from roster.backbone.alignment import WordEncoder
from roster.corpus.formats.records import grouped
from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import split
from roster.model.batches import DeviceCorpus
from roster.model.decoding import decode
from roster.model.folder import load_model
from roster.model.reading import choose_device, read_probabilities

CHUNK_WORDS = 8192


@dataclass(frozen=True, slots=True)
class Entity:
    """`text` is exactly `document[start:end]`; `score` is the mean probability of its words."""

    text: str
    label: str
    start: int
    end: int
    score: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence with the spans that were found in it, and their scores."""

    sentence: Sentence
    scores: tuple[float, ...]

    @property
    def entities(self) -> list[Entity]:
        s = self.sentence
        return [
            Entity(s.span_text(span), span.label, *s.char_span(span), score)
            for span, score in zip(s.spans or (), self.scores, strict=True)
        ]


class Recogniser:
    """Finds entities. Calling it takes one text; `pipe` takes a stream of them."""

    def __init__(self, folder: str | Path, device: str = "auto"):
        model, tokenizer, facts = load_model(folder)
        self.device = choose_device(device)
        self.model = model.to(self.device)
        self.types = facts.types
        self._encoder = WordEncoder(tokenizer, facts.max_length)
        self._pad: int = tokenizer.pad_token_id or 0

    def __call__(self, text: str) -> list[Entity]:
        return next(self.pipe([text]))

    def pipe(self, texts: Iterable[str]) -> Iterator[list[Entity]]:
        """Entities of each text in turn; reads ahead only as far as a batch needs."""
        for found in grouped(self.find(_sentences(texts)), lambda one: one.sentence):
            yield [entity for one in found for entity in one.entities]

    def find(self, sentences: Iterable[Sentence], chunk_words: int = CHUNK_WORDS) -> Iterator[Found]:
        """Labels sentences in order, at constant memory."""
        source = iter(sentences)
        while chunk := _chunk(source, chunk_words):
            yield from self._find(chunk)

    def _find(self, sentences: list[Sentence]) -> Iterator[Found]:
        encoded = self._encoder.encode([s.words for s in sentences])
        p = read_probabilities(self.model, DeviceCorpus.put(encoded, self._pad, self.device)).cpu().numpy()
        best, at = p.max(-1) if len(p) else p, 0
        for sentence, spans in zip(
            sentences, decode(self.model.kind, p, map(len, sentences), self.types), strict=True
        ):
            yield Found(sentence.with_spans(spans), tuple(_score(best, at, span) for span in spans))
            at += len(sentence)


def load(folder: str | Path, device: str = "auto") -> Recogniser:
    """The recogniser in a model folder (or in a run folder, which has one)."""
    folder = Path(folder)
    inner = folder / "model"
    return Recogniser(inner if not (folder / "roster.json").is_file() and inner.is_dir() else folder, device)


def _sentences(texts: Iterable[str]) -> Iterator[Sentence]:
    for number, text in enumerate(texts):  # the number keeps equal texts apart
        yield from split(text, str(number))


def _chunk(source: Iterator[Sentence], words: int) -> list[Sentence]:
    chunk, total = [], 0
    while total < words and (one := list(islice(source, 1))):
        chunk.append(one[0])
        total += len(one[0]) + 1
    return chunk


def _score(best: np.ndarray, at: int, span: Span) -> float:
    return round(float(best[at + span.start : at + span.end].mean()), 4)
