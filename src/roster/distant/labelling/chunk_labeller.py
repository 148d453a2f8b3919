"""The labels of a chunk of documents, once everything that depends on the whole corpus is decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from roster.corpus.sentence import Sentence, Span
from roster.distant.labelling.chunks import Task, sentences_of
from roster.distant.labelling.kb_matcher import KbMatcher
from roster.distant.matching.conflicts import Ambiguous, Overlap, Resolved, resolve_document
from roster.distant.matching.denied import Denied
from roster.distant.matching.dictionary_matcher import DictionaryMatcher
from roster.distant.matching.mention import Label
from roster.distant.matching.patterns import PatternMatcher
from roster.distant.matching.refused_matches import RefusedMatches

Labels = tuple[Label, ...]
"""The labels of one sentence."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence with its labels as spans, and the same labels with the mentions behind them."""

    sentence: Sentence
    labels: Labels


@dataclass(frozen=True)
class ChunkLabeller:
    """Runs the matchers over a chunk and resolves conflicts; worker processes get a copy."""

    dictionaries: DictionaryMatcher
    patterns: PatternMatcher | None = None
    kb: KbMatcher | None = None
    denied: Denied | None = None
    overlap: Overlap = "longest"
    ambiguous: Ambiguous = "drop"
    agreement: int = 1

    def labels(self, task: Task) -> tuple[list[Labels], RefusedMatches]:
        """The labels of each sentence, and counts of the matches that became none."""
        sentences = list(sentences_of(task.chunk))
        refused = RefusedMatches()
        words = [sentence.words for sentence in sentences]
        mentions = self.dictionaries.mentions(words, refused)
        if self.patterns is not None:
            for i, sentence in enumerate(sentences):
                mentions[i] += self.patterns.mentions(sentence)
        if self.kb is not None:
            for of_sentence, more in zip(mentions, self.kb.mentions(sentences), strict=True):
                of_sentence += more
        if task.mentions:
            for of_sentence, found in zip(mentions, task.mentions, strict=True):
                of_sentence += found
        if self.denied is not None:
            mentions, counts = self.denied.remove(words, mentions)
            refused.denied.update(counts)
        resolved: list[Resolved] = []
        at = 0
        for document in task.chunk:
            end = at + len(document)
            pairs = list(zip(words[at:end], mentions[at:end], strict=True))
            resolved += resolve_document(
                pairs, overlap=self.overlap, ambiguous=self.ambiguous, agreement=self.agreement
            )
            at = end
        refused.count_dropped(words, resolved)
        return [tuple(one.labels) for one in resolved], refused

    def label(self, task: Task, refused: RefusedMatches) -> Iterator[Labelled]:
        """The sentences of a chunk with their labels; matches that became none are counted in `refused`."""
        labels, of_chunk = self.labels(task)
        refused.add(of_chunk)
        return with_labels(task.chunk, labels)


def with_labels(chunk: Iterable[Sequence[Sentence]], labels: Iterable[Labels]) -> Iterator[Labelled]:
    """The sentences of a chunk with labels that were found for them, here or in a worker process."""
    for sentence, of_sentence in zip(sentences_of(chunk), labels, strict=True):
        spans = [Span(x.start, x.end, ",".join(x.types)) for x in of_sentence if x.types]
        unknown = [Span(x.start, x.end, "") for x in of_sentence if not x.types]
        yield Labelled(sentence.with_spans(spans, unknown), of_sentence)
