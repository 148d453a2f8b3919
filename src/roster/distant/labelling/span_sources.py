"""Annotations and models over a corpus: read side by side with it, in the first process.

A model predicts there as well, chunk by chunk, on all cores or the GPU; worker processes match names
meanwhile. So a model is in memory once, and the labels do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from roster.distant.labelling.annotation_file import AnnotationFile
from roster.distant.labelling.chunks import Chunk, Task, sentences_of
from roster.distant.matching.mention import Mention
from roster.distant.matching.span_mentions import Annotate, SpanCounts, SpanMentions
from roster.distant.settings import Settings
from roster.distant.span_sources import SpanSource
from roster.errors import ConfigError, DataError


class _Source(Protocol):
    def mentions(self, chunk: Chunk) -> Iterable[tuple[Mention, ...]]: ...

    def finish(self) -> None: ...


@dataclass(frozen=True)
class _ModelSource:
    """The predictions of a model."""

    annotate: Annotate
    spans: SpanMentions

    def mentions(self, chunk: Chunk) -> Iterator[tuple[Mention, ...]]:
        """The mentions in each sentence of a chunk.

        Raises:
            DataError: the annotator gives the spans of another number of sentences.
        """
        sentences, counts = list(sentences_of(chunk)), self.spans.counts
        found = list(self.annotate(sentences))
        if len(found) != len(sentences):
            raise DataError(
                f"{self.spans.source}: expected the spans of {len(sentences)} sentences, found {len(found)}"
            )
        with_words = sum(any(map(len, document)) for document in chunk)
        counts.documents += with_words
        counts.covered += with_words
        for sentence, spans in zip(sentences, found, strict=True):
            yield self.spans.mentions(sentence, self.spans.located(sentence, spans))

    def finish(self) -> None:
        """Nothing is left over: a model reads what it is given."""


class SpanSources:
    """All annotations and models of some settings.

    Args:
        settings: have the sources, and the labels of types.
        annotators: what annotates for each of `settings.models`, in their order.

    Raises:
        ConfigError: for another number of annotators.
    """

    def __init__(self, settings: Settings, annotators: Sequence[Annotate] = ()):
        if len(annotators) != len(settings.models):
            raise ConfigError(
                f"{len(settings.models)} models, {len(annotators)} annotators; roster.label loads the models"
            )
        self._settings, self._annotators = settings, annotators
        self.counts: dict[str, SpanCounts] = {}
        """By source: what it gave in the last pass."""

    def __bool__(self) -> bool:
        return bool(self._settings.annotations or self._settings.models)

    @property
    def labels(self) -> set[str]:
        """The labels of all types that the sources gave in the last pass."""
        kinds = {kind for counts in self.counts.values() for kind in counts.kinds}
        return {self._settings.policies.label(kind) or "" for kind in kinds} - {""}

    def tasks(self, chunks: Iterable[Chunk]) -> Iterator[Task]:
        """Each chunk with the mentions of all sources in it; the counts begin anew.

        Raises:
            DataError: for annotations that cannot be read, or that do not correspond to the corpus.
        """
        if not self:
            yield from map(Task, chunks)
            return
        sources = self._sources()
        for chunk in chunks:
            found = [list(source.mentions(chunk)) for source in sources]
            yield Task(chunk, tuple(sum(of_sentence, ()) for of_sentence in zip(*found, strict=True)))
        for source in sources:
            source.finish()

    def _sources(self) -> list[_Source]:
        sources: list[_Source] = [AnnotationFile(one, self._spans(one)) for one in self._settings.annotations]
        for model, annotate in zip(self._settings.models, self._annotators, strict=True):
            sources.append(_ModelSource(annotate, self._spans(model)))
        return sources

    def _spans(self, one: SpanSource) -> SpanMentions:
        spans = SpanMentions(one.name, one.priority, one.least_score, self._settings.policies)
        self.counts[one.name] = spans.counts
        return spans
