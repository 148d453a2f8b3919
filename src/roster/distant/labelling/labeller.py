"""Dictionaries, patterns and a knowledge base together: sentences in, labels and their sources out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from roster.corpus.formats.records import documents
from roster.corpus.sentence import Sentence, Span
from roster.distant.compiling.cache import load_lexicons
from roster.distant.labelling.first_pass import prepare
from roster.distant.labelling.process_pool import Team
from roster.distant.matching.candidates import rule_candidates, spacy_candidates
from roster.distant.matching.conflicts import Resolved, resolve_document
from roster.distant.matching.dictionary_matcher import Names
from roster.distant.matching.mention import Label, Mention
from roster.distant.matching.patterns import PatternMatcher
from roster.distant.matching.refused_matches import Lost
from roster.distant.policy.decision import Decision
from roster.distant.settings import Settings
from roster.distant.subtokens import Array
from roster.progress import bar

Corpus = Callable[[], Iterable[Sentence]]
"""Gives the sentences anew each time: they are read once for statistics and once for labels."""

CHUNK_WORDS = 1 << 16


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence with its labels as spans, and the same labels with the claims behind them."""

    sentence: Sentence
    labels: tuple[Label, ...]


class Labeller:
    """Made once for a corpus: `prepare` looks at it, `label` goes through it."""

    def __init__(
        self, settings: Settings, cache: Path | None = None, *, log: Callable[[str], None] | None = None
    ):
        self.settings = settings
        self.lexicons = load_lexicons(settings.sources, settings.policies, cache, log=log)
        self.patterns = PatternMatcher(settings.patterns) if settings.patterns else None
        self.lost = Lost()
        self.decisions: dict[str, Decision] = {}
        """By type of the dictionaries: how its names are matched, and why; empty before `prepare`."""
        self.beginning: list[list[Sentence]] = []
        """The documents at the beginning of the corpus that were looked at to decide."""
        self.kb_types: tuple[str, ...] = ()
        """Types that the knowledge base can give; empty without one and before `prepare`."""
        self._names = Names(self.lexicons, settings.policies)
        self._common: Sequence[Array] | None = None
        self._items: dict[str, tuple[tuple[str, str], ...]] = {}  # name -> (type, item) of the knowledge base
        self._cache, self._log = cache, log

    def prepare(self, corpus: Corpus) -> None:
        """What must be known of the corpus: policies, common words, what the knowledge base says of it."""
        if self.lexicons:
            ready = prepare(self.lexicons, self.settings.policies, chunks(corpus()))
            self._names, self._common = ready.names, ready.common
            self.decisions, self.beginning = ready.decisions, ready.beginning
        if self.settings.kb.source:
            self._items = self._look_up(corpus)

    def forget(self) -> None:
        """Begin to count anew what did not become a label."""
        self.lost = Lost()

    def label(self, corpus: Corpus | Iterable[Sentence], workers: int = 1) -> Iterator[Labelled]:
        """Each sentence with its labels, in order; the same whatever the number of workers."""
        if not callable(corpus):
            sentences = corpus if workers <= 1 or isinstance(corpus, Sequence) else list(corpus)
            corpus = lambda: sentences  # noqa: E731
        if workers <= 1 or sys.platform != "linux":
            for some in chunks(corpus()):
                yield from self.chunk(some, self.lost)
            return
        with Team(self._chunk, lambda: chunks(corpus()), workers) as results:
            for some, (labels, lost) in zip(chunks(corpus()), results, strict=True):
                self.lost.add(lost)
                yield from _together(some, labels)

    def of_dictionaries(self, case: str | None = None) -> Labeller:
        """The same without patterns and knowledge base, with one case policy for all types if given."""
        other = copy(self)
        other.patterns, other._items, other.lost = None, {}, Lost()
        if case is not None:
            policies = self.settings.policies
            others = {kind: replace(policies.of(kind), case=case) for kind in self.decisions}
            other._names = Names(self.lexicons, policies.with_decided(others), self._common)
        return other

    def _chunk(self, chunk: Sequence[Sequence[Sentence]]) -> tuple[list[tuple[Label, ...]], Lost]:
        """The labels of all sentences of some documents."""
        sentences = [sentence for document in chunk for sentence in document]
        lost = Lost()
        words = [sentence.words for sentence in sentences]
        mentions = self._names.mentions(words, lost)
        if self.patterns is not None:
            for i, sentence in enumerate(sentences):
                mentions[i] += self.patterns.mentions(sentence)
        if self._items:
            for i, spans in enumerate(self._candidates(sentences)):
                mentions[i] += self._known(sentences[i], spans)
        resolved: list[Resolved] = []
        at = 0
        for document in chunk:
            rows = words[at : at + len(document)]
            pairs = list(zip(rows, mentions[at : at + len(document)], strict=True))
            resolved += resolve_document(
                pairs, overlap=self.settings.overlap, ambiguous=self.settings.ambiguous
            )
            at += len(document)
        lost.count_dropped(words, resolved)
        return [tuple(one.labels) for one in resolved], lost

    def chunk(self, chunk: Sequence[Sequence[Sentence]], lost: Lost) -> Iterator[Labelled]:
        """The labels of some documents; what did not become one is counted in `lost`."""
        labels, lost_here = self._chunk(chunk)
        lost.add(lost_here)
        return _together(chunk, labels)

    def _candidates(self, sentences: Sequence[Sentence]) -> Iterator[list[tuple[int, int]]]:
        rules = self.settings.candidates
        if rules.by == "rules":
            return (rule_candidates(sentence.words, nested=rules.nested) for sentence in sentences)
        return spacy_candidates(sentences, rules.by, nested=rules.nested)

    def _known(self, sentence: Sentence, spans: Iterable[tuple[int, int]]) -> Iterator[Mention]:
        for start, end in spans:
            name = _name(sentence, start, end)
            for kind, item in self._items.get(name, ()):
                label = self.settings.policies.label(kind)
                if label is not None:
                    yield Mention(
                        start,
                        end,
                        label,
                        kind,
                        self.settings.kb.source,
                        item,
                        priority=self.settings.kb.priority,
                        name=name,
                    )

    def _look_up(self, corpus: Corpus) -> dict[str, tuple[tuple[str, str], ...]]:
        from roster.distant.kb.classes import load_classes
        from roster.distant.kb.lookup import open_backend, types_of

        kb = self.settings.kb
        classes = load_classes(kb.classes or "conll")
        self.kb_types = tuple(kind.name for kind in classes.types)
        cache = None if self._cache is None else self._cache / "sparql"
        options = {"timeout": kb.timeout, "cache": cache, "log": self._log}
        backend = open_backend(kb.source, **(options if "://" in kb.source else {}))
        names: dict[str, None] = {}
        for chunk in chunks(bar(corpus(), description="candidates", unit="sentence")):
            sentences = [sentence for document in chunk for sentence in document]
            for sentence, spans in zip(sentences, self._candidates(sentences), strict=True):
                names.update((_name(sentence, start, end), None) for start, end in spans)
        hits = types_of(backend, names, classes, case_variants=kb.any_case)
        return {name: tuple((hit.type, hit.item) for hit in found) for name, found in hits.items() if found}


def _name(sentence: Sentence, start: int, end: int) -> str:
    """What the knowledge base is asked: the text of the words, with single spaces."""
    return " ".join(sentence.text[sentence.offsets[start][0] : sentence.offsets[end - 1][1]].split())


def _together(chunk: Iterable[Sequence[Sentence]], labels: Iterable[tuple[Label, ...]]) -> Iterator[Labelled]:
    sentences = (sentence for document in chunk for sentence in document)
    for sentence, found in zip(sentences, labels, strict=True):
        spans = [Span(x.start, x.end, ",".join(x.types)) for x in found if x.types]
        unknown = [Span(x.start, x.end, "") for x in found if not x.types]
        yield Labelled(sentence.with_spans(spans, unknown), found)


def chunks(sentences: Iterable[Sentence]) -> Iterator[list[list[Sentence]]]:
    """Whole documents, some ten thousand words at a time."""
    chunk: list[list[Sentence]] = []
    size = 0
    for document in documents(sentences):
        chunk.append(document)
        size += sum(map(len, document))
        if size >= CHUNK_WORDS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
