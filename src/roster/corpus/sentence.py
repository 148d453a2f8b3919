"""Sentences: words with character offsets into their text, and labelled spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from roster.pages.inline import marked


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Words `start` to `end` (exclusive) of a sentence, with a type."""

    start: int
    end: int
    label: str


def type_set(label: str) -> tuple[str, ...]:
    """The types of a label; ambiguous labels (`roster label --ambiguous all`) have several.

    >>> type_set("LOC"), type_set("LOC,PER")
    (('LOC',), ('LOC', 'PER'))
    """
    return tuple(label.split(","))


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words with character offsets into `text`.

    `text` is the text of the document, unchanged. The sentences of a document share it: offsets are
    relative to the start of the document, and `doc` is the same. `spans` is None if the sentence is not
    labelled, and empty if it is labelled and has no entity. `unknown` are phrases of unknown type, as spans
    without a label: they may be entities or not. `weight` is the number of sentences that
    it stands for, if it was drawn as part of a sample (`roster review`). `scores` has the score of each span
    (None for a span without one), if the sentence was read with scores; else it is empty.

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
    scores: tuple[float | None, ...] = ()

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
        """The same words with other spans, without scores, and other phrases of unknown type."""
        return replace(self, spans=None if spans is None else tuple(spans), unknown=tuple(unknown), scores=())

    def char_span(self, span: Span) -> tuple[int, int]:
        return self.offsets[span.start][0], self.offsets[span.end - 1][1]

    def span_text(self, span: Span) -> str:
        start, end = self.char_span(span)
        return self.text[start:end]

    def _repr_html_(self) -> str:
        """The words with coloured spans, for notebooks."""
        if not self.words:
            return marked("", [])
        start, end = self.offsets[0][0], self.offsets[-1][1]
        spans = ((*self.char_span(span), span.label) for span in self.spans or ())
        return marked(self.text[start:end], [(a - start, b - start, label) for a, b, label in spans])

    def __len__(self) -> int:
        return len(self.words)
