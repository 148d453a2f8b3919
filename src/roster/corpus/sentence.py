"""The one currency of the project: a sentence of words that knows where it lies in its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Words `start` to `end` (exclusive) of a sentence, with a type."""

    start: int
    end: int
    label: str


def type_set(label: str) -> tuple[str, ...]:
    """The types of a label: several where `roster label --ambiguous all` could not decide.

    >>> type_set("LOC"), type_set("LOC,PER")
    (('LOC',), ('LOC', 'PER'))
    """
    return tuple(label.split(","))


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words with character offsets into `text`.

    `text` is the user's own text, untouched. Sentences of one document share it: their offsets
    count from the start of the document, and `doc` is the same. `spans` is None where nobody has
    labelled the sentence yet, and empty where a labeller found nothing. `unknown` are phrases, as spans
    without a label, that may be entities or not: no label, but no evidence of absence either. `weight` is the
    number of sentences that it stands for, where it was drawn as part of a sample (`roster review`).

    >>> s = Sentence.from_words(["Swiss", "Bank", "sets"], [Span(0, 2, "ORG")])
    >>> s.text, s.offsets[1], [s.span_text(x) for x in s.spans]
    ('Swiss Bank sets', (6, 10), ['Swiss Bank'])
    """

    words: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    text: str
    spans: tuple[Span, ...] | None = None
    doc: str = ""
    unknown: tuple[Span, ...] = ()
    weight: float = 1.0

    @classmethod
    def from_words(cls, words: Sequence[str], spans: Iterable[Span] | None = None, doc: str = "") -> Sentence:
        """A sentence whose text is its words joined by single spaces."""
        offsets, at = [], 0
        for word in words:
            offsets.append((at, at + len(word)))
            at += len(word) + 1
        return cls(
            tuple(words), tuple(offsets), " ".join(words), None if spans is None else tuple(spans), doc
        )

    def with_spans(self, spans: Iterable[Span] | None, unknown: Iterable[Span] = ()) -> Sentence:
        """The same words with other labels, and with the phrases that these leave open."""
        return replace(self, spans=None if spans is None else tuple(spans), unknown=tuple(unknown))

    def char_span(self, span: Span) -> tuple[int, int]:
        return self.offsets[span.start][0], self.offsets[span.end - 1][1]

    def span_text(self, span: Span) -> str:
        start, end = self.char_span(span)
        return self.text[start:end]

    def __len__(self) -> int:
        return len(self.words)
