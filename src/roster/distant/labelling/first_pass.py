"""The pass that counts: what is decided from the beginning of a corpus before any name is labelled.

Common words, how the text writes the names of each type, and with these the policy of each type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from roster.distant.compiling.lexicon import Lexicon
from roster.distant.labelling.chunks import Chunk, sentences_of
from roster.distant.matching.corpus_stats import CorpusStatsCounter
from roster.distant.matching.dictionary_matcher import DictionaryMatcher, slices
from roster.distant.policy.decision import Decision, TextCase, decide, decide_whole
from roster.distant.policy.policies import AUTO, Policies

COMMON_WORDS_SAMPLE = 500_000
"""Words that are read to learn which words are common; after that many, more change little."""
CORPUS_STATS_SAMPLE = 200_000
"""Words that are read to learn how the text writes the names of each type."""
BEGINNING_WORDS = 25_000
"""Words that are kept, to count matches inside longer names and labels under other policies."""


@dataclass(frozen=True)
class FirstPassResult:
    """The matcher for the second pass, what was decided for each type, and the beginning of the text."""

    matcher: DictionaryMatcher
    decisions: dict[str, Decision]
    beginning: Chunk


class FirstPass:
    """Counts over the first chunks of a corpus: `add` them until `done`, then take the `result`."""

    def __init__(self, lexicons: Sequence[Lexicon], policies: Policies):
        self._lexicons, self._policies = lexicons, policies
        self._matchers = DictionaryMatcher(lexicons, policies).matchers
        self._stats = [CorpusStatsCounter(matcher) for matcher in self._matchers]
        self._counts = [np.zeros((2, len(matcher.common)), np.int64) for matcher in self._matchers]
        self._beginning: Chunk = []
        self._words = self._kept = 0

    @property
    def done(self) -> bool:
        """Whether enough words were counted."""
        return self._words >= COMMON_WORDS_SAMPLE

    def add(self, chunk: Chunk) -> None:
        """Counts the words of some documents."""
        if self._kept < BEGINNING_WORDS:
            self._beginning += (some := _first_words(chunk, BEGINNING_WORDS - self._kept))
            self._kept += sum(map(len, sentences_of(some)))
        for _, part in slices([sentence.words for sentence in sentences_of(chunk)]):
            for matcher, counter, count in zip(self._matchers, self._stats, self._counts, strict=True):
                count += matcher.count(part)
                if self._words < CORPUS_STATS_SAMPLE:
                    counter.add(part)
            self._words += sum(map(len, part))

    def result(self) -> FirstPassResult:
        """Decides what is `auto`, with the reasons."""
        common = [np.asarray(lower > capital) for lower, capital in self._counts]
        decisions = self._decisions()
        policies = self._policies.with_decided({kind: d.policy for kind, d in decisions.items()})
        matcher = DictionaryMatcher(self._lexicons, policies, common)
        if any(d.policy.whole == AUTO for d in decisions.values()):
            inside = matcher.inside_longer([sentence.words for sentence in sentences_of(self._beginning)])
            decisions = {kind: decide_whole(d, *inside.get(kind, (0, 0))) for kind, d in decisions.items()}
            policies = policies.with_decided({kind: d.policy for kind, d in decisions.items()})
            matcher = DictionaryMatcher(self._lexicons, policies, common)
        return FirstPassResult(matcher, decisions, self._beginning)

    def _decisions(self) -> dict[str, Decision]:
        """For every type with a label that has entries."""
        text = self._stats[0].text_case() if self._stats else TextCase()
        decisions = {}
        for lexicon, counter in zip(self._lexicons, self._stats, strict=True):
            rows = zip(lexicon.kinds, lexicon.entry_stats, counter.result(), strict=True)
            for kind, entry_stats, corpus_stats in rows:
                if entry_stats.entries and self._policies.label(kind) is not None:
                    decisions[kind] = decide(self._policies.of(kind), entry_stats, corpus_stats, text)
        return decisions


def _first_words(documents: Chunk, words: int) -> Chunk:
    """The first sentences of some documents: as many as hold `words` words, and at least one."""
    some: Chunk = []
    for document in documents:
        before = [0, *accumulate(map(len, document))][:-1]
        taken = [sentence for sentence, at in zip(document, before, strict=True) if at < words]
        some.append(taken)
        words -= sum(map(len, taken))
        if words <= 0:
            break
    return some
