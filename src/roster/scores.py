"""Strict entity scores: a span is correct if both its boundaries and its type are.

    precision = right / predicted      recall = right / gold      F1 = 2 P R / (P + R)

with 0 where nothing was predicted or nothing is there to find, as conlleval and seqeval have it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeVar

from roster.corpus.formats.records import documents, grouped
from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError
from roster.pages.inline import table

T = TypeVar("T")

SAME = "both must hold the same sentences"


@dataclass(frozen=True)
class Score:
    """Counts of one type, or of all of them together (micro average)."""

    right: float = 0
    predicted: float = 0
    support: float = 0

    @property
    def precision(self) -> float:
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        total = self.predicted + self.support
        return 2 * self.right / total if total else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "support": self.support,
        }


@dataclass(frozen=True)
class Evaluation(Score):
    types: dict[str, Score] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), "types": {name: score.as_dict() for name, score in self.types.items()}}

    def table(self) -> str:
        """The scores as aligned text, one type a line."""
        width = max([len("all"), *map(len, self.types)])
        rows: list[tuple[str, Score]] = [*self.types.items(), ("all", self)]
        lines = [f"{'type':{width}}  precision  recall      F1  support"]
        for name, s in rows:
            lines.append(
                f"{name:{width}}  {s.precision:9.3f}  {s.recall:6.3f}  {s.f1:6.3f}  {s.support:7.0f}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        head = ["type", "precision", "recall", "F1", "support"]
        named: list[tuple[str, Score]] = [*self.types.items(), ("all", self)]
        rows = [[name, s.precision, s.recall, s.f1, round(s.support)] for name, s in named]
        return table(head, rows)


class _Counts:
    """Right, predicted and gold spans by type. Sums are whole numbers as long as all weights are 1."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0, 0])

    def add(self, predicted: Iterable[Span], gold: Iterable[Span], weight: float = 1) -> None:
        predicted, gold = set(predicted), set(gold)
        one = 1 if weight == 1 else weight
        for place, spans in enumerate((predicted & gold, predicted, gold)):
            for span in spans:
                self._counts[span.label][place] += one

    def result(self) -> Evaluation:
        types = {name: Score(*self._counts[name]) for name in sorted(self._counts)}
        right, predicted, support = (sum(c[place] for c in self._counts.values()) for place in range(3))
        return Evaluation(right, predicted, support, types)


def evaluate_spans(pairs: Iterable[tuple[Iterable[Span], Iterable[Span]]]) -> Evaluation:
    """Scores over (predicted, gold) span collections, one pair a sentence.

    >>> e = evaluate_spans([([Span(0, 2, "PER"), Span(4, 5, "LOC")], [Span(0, 2, "PER"), Span(3, 5, "LOC")])])
    >>> e.precision, e.recall, e.types["PER"].f1, e.types["LOC"].f1
    (0.5, 0.5, 1.0, 0.0)
    """
    counts = _Counts()
    for predicted, gold in pairs:
        counts.add(predicted, gold)
    return counts.result()


def evaluate_sentences(
    predicted: Iterable[Sentence], gold: Iterable[Sentence], *, same_words: bool = False
) -> Evaluation:
    """Scores of labelled sentences against gold ones; both sides must hold the same documents in order.

    Where both have the same text, characters are compared, so that it does not matter how either side
    was cut into words and sentences. Otherwise words are, and there must be equally many; with `same_words`
    they must also be the same ones. Gold sentences drawn as a sample count with their sampling weights.
    """
    counts = _Counts()
    for pair in _pairs(documents(predicted), documents(gold), same_words):
        counts.add(*pair)
    return counts.result()


class Scorer:
    """Scores labelled sentences while they go by, so that they need not be made a second time.

    Args:
        gold: the true labels, as for `evaluate_sentences`.
        same_words: both sides must have the same words.

    >>> from roster.corpus.sentence import Sentence
    >>> gold = [Sentence.from_words(["Oslo", "."], [Span(0, 1, "LOC")])]
    >>> scorer = Scorer(gold)
    >>> len(list(scorer.follow(gold, lambda sentence: sentence))), scorer.result().f1
    (1, 1.0)
    """

    def __init__(self, gold: Iterable[Sentence], *, same_words: bool = False):
        self._gold, self._same_words = gold, same_words
        self._counts = _Counts()

    def follow(self, items: Iterable[T], sentence_of: Callable[[T], Sentence]) -> Iterator[T]:
        """The items, a document at a time, each with a labelled sentence that is scored.

        Raises:
            DataError: both sides do not hold the same documents.
        """
        document: list[T] = []

        def predicted() -> Iterator[list[Sentence]]:
            nonlocal document
            for document in grouped(items, sentence_of):
                yield [sentence_of(item) for item in document]

        for pair in _pairs(predicted(), documents(self._gold), self._same_words):
            self._counts.add(*pair)
            yield from document

    def result(self) -> Evaluation:
        """The scores of all items that went by."""
        return self._counts.result()


def _pairs(
    predicted: Iterable[list[Sentence]], gold: Iterable[list[Sentence]], same_words: bool
) -> Iterator[tuple[list[Span], list[Span], float]]:
    for number, (p, g) in enumerate(zip_longest(predicted, gold), 1):
        if p is None or g is None:
            longer = "gold labels" if p is None else "predictions"
            raise DataError(f"the {longer} go on after text {number - 1}, where the other side ends; {SAME}")
        for side, name in ((p, "predictions"), (g, "gold labels")):
            if any(s.spans is None for s in side):
                raise DataError(f"text {number} of the {name} has no labels")
        by_text = p[0].text == g[0].text
        lengths = [sum(map(len, side)) for side in (p, g)]
        if not by_text and lengths[0] != lengths[1]:
            raise DataError(
                f"text {number} has {lengths[0]} words in the predictions and {lengths[1]} in the gold "
                f"labels; {SAME}"
            )
        if same_words and not by_text:
            for ours, theirs in zip(*([w for s in side for w in s.words] for side in (p, g)), strict=True):
                if ours != theirs:
                    raise DataError(f"text {number} has {theirs!r} where the corpus has {ours!r}; {SAME}")
        yield _spans(p, by_text), _spans(g, by_text), g[0].weight


def _spans(group: list[Sentence], by_text: bool) -> list[Span]:
    """All spans of a document, counted in characters or in words from its start."""
    found, at = [], 0
    for sentence in group:
        for span in sentence.spans or ():
            start, end = sentence.char_span(span) if by_text else (at + span.start, at + span.end)
            found.append(Span(start, end, span.label))
        at += len(sentence)
    return found
