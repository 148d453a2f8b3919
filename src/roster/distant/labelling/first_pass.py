"""What must be known of a text before its names are labelled: common words, and the policy of each type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from roster.corpus.sentence import Sentence
from roster.distant.compiling.lexicon import Lexicon
from roster.distant.matching.corpus_stats import Survey
from roster.distant.matching.dictionary_matcher import Names, slices
from roster.distant.policy.decision import Decision, TextCase, decide, decide_whole
from roster.distant.policy.policies import AUTO, Policies
from roster.distant.subtokens import Array

Documents = list[list[Sentence]]

SAMPLE_WORDS = 500_000
"""Words that are read to learn which words are common; after that many, more change little."""
SURVEY_WORDS = 200_000
"""Words that are read to learn how the text writes the names of each type."""
BEGINNING_WORDS = 25_000
"""Words that are labelled beforehand: what other policies would give, what stands inside longer names."""


@dataclass(frozen=True)
class Prepared:
    """The names to look for, with what was decided of each type and the beginning of the text."""

    names: Names
    common: Sequence[Array]
    decisions: dict[str, Decision]
    beginning: Documents


def prepare(lexicons: Sequence[Lexicon], policies: Policies, chunks: Iterable[Documents]) -> Prepared:
    """Goes through the beginning of a text, once."""
    first = Names(lexicons, policies)
    surveys = [Survey(matcher) for matcher in first.matchers]
    counts = [np.zeros((2, len(matcher.common)), np.int64) for matcher in first.matchers]
    beginning: Documents = []
    seen = kept = 0
    for chunk in chunks:
        words = [sentence.words for document in chunk for sentence in document]
        if kept < BEGINNING_WORDS:
            beginning += (some := _first_words(chunk, BEGINNING_WORDS - kept))
            kept += sum(len(sentence) for document in some for sentence in document)
        for _, part in slices(words):
            for matcher, survey, count in zip(first.matchers, surveys, counts, strict=True):
                count += matcher.count(part)
                if seen < SURVEY_WORDS:
                    survey.add(part)
            seen += sum(map(len, part))
        if seen >= SAMPLE_WORDS:
            break
    common = [np.asarray(lower > capital) for lower, capital in counts]
    text = surveys[0].text() if surveys else TextCase()
    decisions = _decided(lexicons, policies, surveys, text)
    policies = policies.with_decided({kind: d.policy for kind, d in decisions.items()})
    names = Names(lexicons, policies, common)
    if any(d.policy.whole == AUTO for d in decisions.values()):
        rows = [sentence.words for document in beginning for sentence in document]
        inside = names.inside_longer(rows)
        decisions = {kind: decide_whole(d, *inside.get(kind, (0, 0))) for kind, d in decisions.items()}
        policies = policies.with_decided({kind: d.policy for kind, d in decisions.items()})
        names = Names(lexicons, policies, common)
    return Prepared(names, common, decisions, beginning)


def _decided(
    lexicons: Sequence[Lexicon], policies: Policies, surveys: Sequence[Survey], text: TextCase
) -> dict[str, Decision]:
    """For every type with a label that has entries."""
    decisions = {}
    for lexicon, survey in zip(lexicons, surveys, strict=True):
        for kind, writing, evidence in zip(lexicon.kinds, lexicon.writing, survey.evidence(), strict=True):
            if writing.entries and policies.label(kind) is not None:
                decisions[kind] = decide(policies.of(kind), writing, evidence, text)
    return decisions


def _first_words(documents: Documents, words: int) -> Documents:
    """The first sentences of some documents: as many as hold `words` words, and at least one."""
    some: Documents = []
    for document in documents:
        before = [0, *accumulate(map(len, document))][:-1]
        taken = [sentence for sentence, at in zip(document, before, strict=True) if at < words]
        some.append(taken)
        words -= sum(map(len, taken))
        if words <= 0:
            break
    return some
