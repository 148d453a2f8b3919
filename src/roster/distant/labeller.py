"""Dictionaries, patterns and a knowledge base together: sentences in, labels and their sources out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from roster.corpus.formats.records import documents
from roster.corpus.sentence import Sentence, Span
from roster.distant.cached import load_lexicons
from roster.distant.candidates import rule_candidates, spacy_candidates
from roster.distant.conflicts import Resolved, resolve_document
from roster.distant.filters import ALLOWED
from roster.distant.lexicon import Lexicon
from roster.distant.matcher import MAX_CHUNK, Matcher, Matches, common_words
from roster.distant.mention import Label, Mention
from roster.distant.patterns import PatternMatcher
from roster.distant.settings import Settings
from roster.distant.team import Team
from roster.errors import DataError
from roster.progress import bar

Corpus = Callable[[], Iterable[Sentence]]
"""Gives the sentences anew each time: they are read once for statistics and once for labels."""

CHUNK_WORDS = 1 << 16
SAMPLE_WORDS = 500_000
"""Words that are read to learn which words are common; after that many, more change little."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence with its labels as spans, and the same labels with the claims behind them."""

    sentence: Sentence
    labels: tuple[Label, ...]


@dataclass
class Lost:
    """What did not become a label, counted."""

    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)  # (reason, label of the claim)
    ambiguous: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)  # (name, types)
    refused: Counter[str] = field(default_factory=Counter)  # kind of names that only their case refused
    parts: Counter[str] = field(default_factory=Counter)  # kind of names that are part of a longer run

    def add(self, other: Lost) -> None:
        self.dropped.update(other.dropped)
        self.ambiguous.update(other.ambiguous)
        self.refused.update(other.refused)
        self.parts.update(other.parts)


class Labeller:
    """Made once for a corpus: `prepare` looks at it, `label` goes through it."""

    def __init__(
        self, settings: Settings, cache: Path | None = None, *, log: Callable[[str], None] | None = None
    ):
        self.settings = settings
        self.lexicons = load_lexicons(settings.sources, settings.policies, cache, log=log)
        self.patterns = PatternMatcher(settings.patterns) if settings.patterns else None
        self.lost = Lost()
        self._matchers = [Matcher(lexicon, settings.policies) for lexicon in self.lexicons]
        self._entries = [_Claims(lexicon, settings) for lexicon in self.lexicons]
        self._items: dict[str, tuple[tuple[str, str], ...]] = {}  # name -> (type, item) of the knowledge base
        self._cache, self._log = cache, log

    def prepare(self, corpus: Corpus) -> None:
        """What must be known of the whole corpus: its common words, what the knowledge base says of it."""
        smart = any(p.case == "smart" for p in self._policies())
        if self._matchers and smart:
            for i, matcher in enumerate(self._matchers):
                common = common_words(matcher, _sample(corpus()))
                self._matchers[i] = Matcher(matcher.lexicon, self.settings.policies, common)
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

    def _policies(self) -> Iterator[Any]:
        return (self.settings.policies.of(kind) for lexicon in self.lexicons for kind in lexicon.kinds)

    def _chunk(self, chunk: Sequence[Sequence[Sentence]]) -> tuple[list[tuple[Label, ...]], Lost]:
        """The labels of all sentences of some documents."""
        sentences = [sentence for document in chunk for sentence in document]
        mentions: list[list[Mention]] = [[] for _ in sentences]
        lost = Lost()
        words = [sentence.words for sentence in sentences]
        for matcher, claims in zip(self._matchers, self._entries, strict=True):
            found = _find(matcher, words)
            entries = matcher.lexicon.arrays
            whole = claims.whole[entries["entry_kind"][found.entry]]
            whole &= (entries["entry_flags"][found.entry] & ALLOWED) == 0
            columns = (found.sentence, found.start, found.end, found.entry, whole)
            at, runs = -1, _Runs(())
            for i, start, end, entry, needs in zip(*(c.tolist() for c in columns), strict=True):
                if needs:
                    if i != at:
                        at, runs = i, _Runs(words[i])
                    if runs.cut(start, end):
                        lost.parts[claims.kind(entry)] += 1
                        continue
                mentions[i].append(claims.mention(start, end, entry))
            for kind in np.flatnonzero(found.refused).tolist():
                lost.refused[matcher.lexicon.kinds[kind]] += int(found.refused[kind])
        if self.patterns is not None:
            for i, sentence in enumerate(sentences):
                mentions[i] += self.patterns.mentions(sentence)
        if self._items:
            for i, spans in enumerate(self._candidates(sentences)):
                mentions[i] += self._known(sentences[i], spans)
        labels: list[tuple[Label, ...]] = []
        at = 0
        for document in chunk:
            pairs = list(zip(words[at : at + len(document)], mentions[at : at + len(document)], strict=True))
            found_here = resolve_document(
                pairs, overlap=self.settings.overlap, ambiguous=self.settings.ambiguous
            )
            for (row, _), resolved in zip(pairs, found_here, strict=True):
                _count(lost, row, resolved)
                labels.append(tuple(resolved.labels))
            at += len(document)
        return labels, lost

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
            for kind, item in self._items.get(_name(sentence, start, end), ()):
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
                    )

    def _look_up(self, corpus: Corpus) -> dict[str, tuple[tuple[str, str], ...]]:
        from roster.distant.kb.classes import load_classes
        from roster.distant.kb.lookup import open_backend, types_of

        kb = self.settings.kb
        classes = load_classes(kb.classes or "conll")
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


class _Claims:
    """Mentions from entries; each entry is read from the table once."""

    def __init__(self, lexicon: Lexicon, settings: Settings):
        self.lexicon = lexicon
        self.labels = {kind: settings.policies.label(kind) or "" for kind in lexicon.kinds}
        self.priority = dict(zip(lexicon.sources, lexicon.priorities, strict=True))
        policies = [settings.policies.of(kind) for kind in lexicon.kinds]
        self.whole = np.array([p.whole and p.case == "smart" for p in policies], bool)
        self._known: dict[int, tuple[str, str, str, str, int, int]] = {}

    def kind(self, entry: int) -> str:
        return self.lexicon.kinds[self.lexicon.arrays["entry_kind"][entry]]

    def mention(self, start: int, end: int, entry: int) -> Mention:
        about = self._known.get(entry)
        if about is None:
            e = self.lexicon.entry(entry)
            about = (self.labels[e.kind], e.kind, e.source, e.surface, e.line, self.priority[e.source])
            self._known[entry] = about
        return Mention(start, end, *about)


def _count(lost: Lost, words: Sequence[str], resolved: Resolved) -> None:
    tied: dict[tuple[int, int], set[str]] = {}
    for mention, reason in resolved.dropped:
        lost.dropped[reason.value, mention.label] += 1
        if reason in ("ambiguous", "first", "document"):
            tied.setdefault((mention.start, mention.end), set()).add(mention.label)
    if tied or any(len(x.types) > 1 for x in resolved.labels):
        for label in resolved.labels:
            if (label.start, label.end) in tied or len(label.types) > 1:
                tied.setdefault((label.start, label.end), set()).update(label.types)
        for (start, end), types in tied.items():
            lost.ambiguous[" ".join(words[start:end]), tuple(sorted(types))] += 1


class _Runs:
    """The runs of capitalised words of a sentence, and whether a match is cut out of one."""

    def __init__(self, words: Sequence[str]):
        self._words = words
        self._run = [-1] * (len(words) + 1)  # the last one stands for both ends of the sentence
        for number, (start, end) in enumerate(rule_candidates(words)):
            self._run[start:end] = [number] * (end - start)
        self._parts: frozenset[tuple[int, int]] | None = None

    def cut(self, start: int, end: int) -> bool:
        """Whether the run goes on before or after; its parts at titles and connectors may stand alone."""
        run = self._run
        before = run[start] >= 0 and run[start] == run[start - 1]
        after = run[end - 1] >= 0 and run[end - 1] == run[end]
        if not before and not after:
            return False
        if self._parts is None:
            self._parts = frozenset(rule_candidates(self._words, nested=True))
        return (start, end) not in self._parts


def _slices(words: Sequence[Sequence[str]]) -> Iterator[tuple[int, Sequence[Sequence[str]]]]:
    """Parts that are short enough for one call of the matcher, each with the number of its first sentence."""
    first, size = 0, 0
    for i, sentence in enumerate(words):
        if len(sentence) >= MAX_CHUNK:
            raise DataError(f"a sentence of {len(sentence):,} words; put line breaks between sentences")
        size += len(sentence) + 1
        if size > MAX_CHUNK:
            yield first, words[first:i]
            first, size = i, len(sentence) + 1
    yield first, words[first:]


def _find(matcher: Matcher, words: Sequence[Sequence[str]]) -> Matches:
    """All matches, also in a document that is too long for one call."""
    parts = [(first, matcher.find(part)) for first, part in _slices(words)]
    return Matches(
        np.concatenate([p.sentence + first for first, p in parts]),
        np.concatenate([p.start for _, p in parts]),
        np.concatenate([p.end for _, p in parts]),
        np.concatenate([p.entry for _, p in parts]),
        np.sum([p.refused for _, p in parts], axis=0),
    )


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


def _sample(sentences: Iterable[Sentence]) -> Iterator[Sequence[Sequence[str]]]:
    total = 0
    for chunk in chunks(sentences):
        words = [sentence.words for document in chunk for sentence in document]
        yield from (part for _, part in _slices(words))
        total += sum(map(len, words))
        if total >= SAMPLE_WORDS:
            return
