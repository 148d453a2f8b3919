"""Spans that another source has found in a sentence, as mentions; and counts of those that become none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import inf, isfinite
from typing import Any

from roster.corpus.sentence import Sentence
from roster.distant.matching.mention import Mention
from roster.distant.policy.policies import Policies
from roster.errors import DataError

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """The characters `start` to `end` (exclusive) of a text, with the type as the source writes it."""

    start: int
    end: int
    kind: str
    score: float | None = None


Annotate = Callable[[Sequence[Sentence]], Iterable[Sequence[ScoredSpan]]]
"""An annotator, such as a model: the spans that it finds in each of some sentences, in their order. Places
are characters of `Sentence.text`. It is called once for each chunk of the corpus, in the first process."""

Located = tuple[int, int, str, float | None]
"""First word, the word after the last, type, score."""


@dataclass
class SpanCounts:
    """What one source gave over a corpus, and what was left out of it."""

    documents: int = 0
    """Documents of the corpus that have words."""
    covered: int = 0
    """Those of them that the source has."""
    spans: int = 0
    scored: int = 0
    below_least_score: int = 0
    cut_words: int = 0
    """Spans that begin or end inside a word, or go over the end of a sentence."""
    unwanted: int = 0
    """Spans of a type that `[labels]` or `--types` leave out."""
    kinds: Counter[str] = field(default_factory=Counter)
    cut_examples: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; types by frequency."""
        return {**asdict(self), "kinds": dict(sorted(self.kinds.items(), key=lambda x: (-x[1], x[0])))}


class SpanMentions:
    """Makes mentions of the spans of one source.

    Args:
        source: name of the source.
        priority: of its mentions, as for dictionaries.
        least_score: spans with a lower score become no mention; None for no limit.
        policies: have the label of each type.
    """

    def __init__(self, source: str, priority: int, least_score: float | None, policies: Policies):
        self.source, self._priority, self._least = source, priority, least_score
        self._policies = policies
        self.counts = SpanCounts()

    def located(self, sentence: Sentence, spans: Iterable[ScoredSpan]) -> Iterator[Located]:
        """The words of each span of characters; spans that cut a word are counted and left out.

        Raises:
            DataError: a span lies outside the text, has no type, or a score that is no finite number.
        """
        starts = {start: word for word, (start, _) in enumerate(sentence.offsets)}
        ends = {end: word + 1 for word, (_, end) in enumerate(sentence.offsets)}
        for span in spans:
            self._check(span, sentence)
            inside = sentence.text[span.start : span.end]
            start = span.end - len(inside.lstrip())
            end = span.start + len(inside.rstrip())
            first, last = starts.get(start), ends.get(end)
            if first is None or last is None or first >= last:
                self.cut(inside)
            else:
                yield first, last, span.kind, span.score

    def mentions(self, sentence: Sentence, located: Iterable[Located]) -> tuple[Mention, ...]:
        """The mentions of a sentence; of equal spans the one with the highest score."""
        found: dict[tuple[int, int, str], Mention] = {}
        for start, end, kind, score in located:
            self.counts.spans += 1
            self.counts.scored += score is not None
            self.counts.kinds[kind] += 1
            if score is not None and self._least is not None and score < self._least:
                self.counts.below_least_score += 1
                continue
            label = self._policies.label(kind)
            if label is None:
                self.counts.unwanted += 1
                continue
            known = found.get((start, end, kind))
            if known is None or _rank(known.score) < _rank(score):
                text = sentence.text[sentence.offsets[start][0] : sentence.offsets[end - 1][1]]
                name = " ".join(text.split())
                found[start, end, kind] = Mention(
                    start, end, label, kind, self.source, name, priority=self._priority, score=score
                )
        return tuple(found.values())

    def cut(self, text: str) -> None:
        """Counts a span whose ends are not those of words of one sentence."""
        self.counts.spans += 1
        self.counts.cut_words += 1
        if len(self.counts.cut_examples) < EXAMPLES:
            self.counts.cut_examples.append(" ".join(text.split()))

    def _check(self, span: ScoredSpan, sentence: Sentence) -> None:
        if not 0 <= span.start < span.end <= len(sentence.text):
            raise DataError(
                f"{self.source}: the span {span.start} to {span.end} is empty or outside a text of "
                f"{len(sentence.text)} characters"
            )
        if not isinstance(span.kind, str) or not span.kind:
            raise DataError(f"{self.source}: expected the type of a span to be a text, found {span.kind!r}")
        if span.score is not None and not isfinite(span.score):
            shown = " ".join(sentence.text[span.start : span.end].split())
            raise DataError(
                f"{self.source}: the score of {shown!r} is {span.score}; expected a finite number"
            )


def _rank(score: float | None) -> float:
    return -inf if score is None else score
