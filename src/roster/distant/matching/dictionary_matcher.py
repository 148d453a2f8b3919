"""The names of compiled dictionaries in sentences, as mentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from roster.distant.compiling.lexicon import Lexicon
from roster.distant.matching.capital_runs import CapitalRuns
from roster.distant.matching.matcher import Matcher, Matches
from roster.distant.matching.mention import Mention
from roster.distant.matching.refused_matches import RefusedMatches
from roster.distant.matching.text_arrays import MAX_CHUNK
from roster.distant.policy.filters import ALLOWED
from roster.distant.policy.policies import Policies
from roster.distant.subtokens import Array
from roster.errors import DataError

Words = Sequence[Sequence[str]]


class DictionaryMatcher:
    """Finds the names of dictionaries by the policies of their types.

    Args:
        lexicons: compiled dictionaries.
        policies: of their types.
        common: which subtokens of each lexicon are common words in the text.
    """

    def __init__(
        self, lexicons: Sequence[Lexicon], policies: Policies, common: Sequence[Array | None] | None = None
    ):
        self.lexicons, self.policies = lexicons, policies
        self.common = common or [None] * len(lexicons)
        self.matchers = [
            Matcher(lexicon, policies, words) for lexicon, words in zip(lexicons, self.common, strict=True)
        ]
        self._claims = [_EntryMentions(lexicon, policies) for lexicon in lexicons]

    def __reduce__(self) -> tuple[type[DictionaryMatcher], tuple[Any, ...]]:
        """Pickled as its arguments: a worker process builds its own tables of the words that it meets."""
        return DictionaryMatcher, (self.lexicons, self.policies, self.common)

    def for_other_machines(self) -> DictionaryMatcher:
        """The same, pickled with its arrays: another machine may not have the folder that they are mapped
        from."""
        lexicons = [replace(lexicon, folder=None) for lexicon in self.lexicons]
        return DictionaryMatcher(lexicons, self.policies, self.common)

    def mentions(self, words: Words, refused: RefusedMatches) -> list[list[Mention]]:
        """The mentions in each sentence; matches that the policies refuse are counted in `refused`."""
        mentions: list[list[Mention]] = [[] for _ in words]
        for matcher, claims in zip(self.matchers, self._claims, strict=True):
            matches = _find(matcher, words)
            parts: Counter[int] = Counter()
            for i, start, end, entry, part in _parts(words, matches, claims.whole[matches.entry]):
                if part:
                    parts[entry] += 1
                else:
                    mentions[i].append(claims.mention(start, end, entry))
            named: Counter[tuple[str, str]] = Counter()
            for entry, count in parts.items():
                about = matcher.lexicon.entry(entry)
                named[about.kind, about.surface] += count
            refused.count_parts(named)
            refused.count_refused(matcher.lexicon, matches.refused, matches.why)
        return mentions

    def inside_longer(self, words: Words) -> dict[str, tuple[int, int]]:
        """For each type: matches, and how many of them are part of a longer run of capitals."""
        counts: dict[str, tuple[int, int]] = {}
        for matcher in self.matchers:
            matches, kinds = _find(matcher, words), matcher.lexicon.kinds
            kind = matcher.lexicon.arrays["entry_kind"][matches.entry]
            every = np.ones(len(matches.entry), bool)
            part = np.array([row[-1] for row in _parts(words, matches, every)], bool)
            total = np.bincount(kind, minlength=len(kinds)).tolist()
            inside = np.bincount(kind[part], minlength=len(kinds)).tolist() if len(part) else total
            counts |= {name: (total[i], inside[i]) for i, name in enumerate(kinds) if total[i]}
        return counts


class _EntryMentions:
    """Mentions from entries; each entry is read from the table once."""

    def __init__(self, lexicon: Lexicon, policies: Policies):
        self.lexicon = lexicon
        self.labels = {kind: policies.label(kind) or "" for kind in lexicon.kinds}
        self.priority = dict(zip(lexicon.sources, lexicon.priorities, strict=True))
        whole = np.array([policies.of(kind).whole_only for kind in lexicon.kinds], bool)
        self.whole = _Whole(lexicon, whole)
        self._known: dict[int, tuple[str, str, str, str, int, int]] = {}

    def mention(self, start: int, end: int, entry: int) -> Mention:
        about = self._known.get(entry)
        if about is None:
            e = self.lexicon.entry(entry)
            about = (self.labels[e.kind], e.kind, e.source, e.surface, e.line, self.priority[e.source])
            self._known[entry] = about
        return Mention(start, end, *about)


class _Whole:
    """Which entries do not match as a part of a longer run of capitals."""

    def __init__(self, lexicon: Lexicon, kinds: Array):
        self._kind, self._flags = lexicon.arrays["entry_kind"], lexicon.arrays["entry_flags"]
        self._kinds = kinds

    def __getitem__(self, entry: Array) -> Array:
        return np.asarray(self._kinds[self._kind[entry]] & ((self._flags[entry] & ALLOWED) == 0))


def _parts(words: Words, matches: Matches, check: Array) -> Iterator[tuple[int, int, int, int, bool]]:
    """Sentence, start, end, entry of each match; if `check` is set, whether a longer run contains it."""
    columns = (matches.sentence, matches.start, matches.end, matches.entry, check)
    at, runs = -1, CapitalRuns(())
    for i, start, end, entry, needs in zip(*(column.tolist() for column in columns), strict=True):
        if needs and i != at:
            at, runs = i, CapitalRuns(words[i])
        yield i, start, end, entry, needs and runs.is_cut(start, end)


def slices(words: Words) -> Iterator[tuple[int, Words]]:
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


def _find(matcher: Matcher, words: Words) -> Matches:
    """All matches, also in a document that is too long for one call."""
    parts = [(first, matcher.find(part)) for first, part in slices(words)]
    if len(parts) == 1:
        return parts[0][1]
    return Matches(
        np.concatenate([p.sentence + first for first, p in parts]),
        np.concatenate([p.start for _, p in parts]),
        np.concatenate([p.end for _, p in parts]),
        np.concatenate([p.entry for _, p in parts]),
        np.concatenate([p.refused for _, p in parts]),
        np.concatenate([p.why for _, p in parts]),
    )
