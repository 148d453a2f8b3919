"""All patterns over a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from roster.corpus.sentence import Sentence
from roster.distant.matching.mention import Mention
from roster.distant.matching.patterns.regex import gate, joined
from roster.distant.matching.patterns.table import Pattern
from roster.distant.matching.patterns.tokens import WordConditions


class PatternMatcher:
    """What the patterns find. Each pattern's own matches do not overlap; those of different ones may.

    `lang` is the language whose rules spaCy follows in token patterns, for LIKE_NUM and IS_STOP.

    >>> from roster.distant.matching.patterns import load_patterns
    >>> table = {"name": "flight", "label": "FLIGHT", "regex": "[A-Z]{2} ?[0-9]{2,4}"}
    >>> matcher = PatternMatcher(load_patterns([table], origin="mine.toml"))
    >>> [(m.start, m.end, m.label) for m in matcher.mentions(Sentence.from_words(["on", "ZX", "204"]))]
    [(1, 3, 'FLIGHT')]
    """

    def __init__(self, patterns: Sequence[Pattern], *, lang: str = "xx"):
        self._arguments = patterns, lang
        self._regexes = [(p, p.word_regex()) for p in patterns if p.regex is not None]
        self._gate = gate([(p.regex, p.ignore_case) for p in patterns if p.regex is not None])
        self._tokens = [(p, p.token_pattern()) for p in patterns if p.tokens is not None]
        self._conditions = WordConditions([t for _, t in self._tokens], lang) if self._tokens else None

    def __reduce__(self) -> tuple[Callable[..., PatternMatcher], tuple[Sequence[Pattern]]]:
        """Pickled as its arguments: compiled expressions cannot be pickled."""
        patterns, lang = self._arguments
        return partial(PatternMatcher, lang=lang), (patterns,)

    def mentions(self, sentence: Sentence) -> list[Mention]:
        """Every match of every pattern, from left to right, longer ones first."""
        mentions: list[Mention] = []
        text = joined(sentence.words)
        if self._gate(text):
            for pattern, regex in self._regexes:
                mentions += [_mention(pattern, start, end) for start, end in regex.spans(text)]
        if self._conditions is not None:
            met = self._conditions.met(sentence.words)
            for number, (pattern, tokens) in enumerate(self._tokens):
                spans = tokens.spans(self._conditions.of(number, met))
                mentions += [_mention(pattern, start, end) for start, end in spans]
        return sorted(mentions, key=lambda m: (m.start, -m.end, -m.priority, m.entry))


def _mention(pattern: Pattern, start: int, end: int) -> Mention:
    return Mention(
        start, end, pattern.label, pattern.kind, pattern.source, pattern.name, priority=pattern.priority
    )
