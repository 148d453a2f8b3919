"""Variants of data sets with the runs on them, and means over variants and corpora."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from roster.experiments.drawing import Measured, grouped, spread
from roster.experiments.main import GOLD
from roster.experiments.point import DISTANT_MATCH
from roster.experiments.tables import Spread

PLAIN, OURS = "fine-tune", "roster"
GOLD_ARM = PLAIN + GOLD
COLLAPSED = 0.05
"""A run whose F1 is below this has collapsed."""


@dataclass(frozen=True)
class Variant:
    """A row of the table: runs by method, runs on gold labels, and the scores of the distant labels."""

    name: str
    corpus: str
    sentences: int
    runs: Mapping[str, Sequence[Measured]]
    gold: Spread | None
    labels: Measured | None

    def f1(self, method: str) -> Spread | None:
        return spread(self.runs.get(method, ()))

    def mean(self, method: str) -> float | None:
        scores = self.f1(method)
        return scores.mean if scores else None

    def against_plain(self, method: str) -> float | None:
        return _difference(self.mean(method), self.mean(PLAIN))

    def against_gold(self, method: str) -> float | None:
        return _difference(self.mean(method), self.gold.mean if self.gold else None)

    def collapsed(self, method: str) -> int:
        return sum(m.f1 < COLLAPSED for m in self.runs.get(method, ()))

    def below_plain(self, method: str) -> bool:
        """Whether F1 is below fine-tuning by more than the larger of the two deviations."""
        ours, plain = self.f1(method), self.f1(PLAIN)
        return bool(ours and plain and plain.mean - ours.mean > max(ours.deviation, plain.deviation))


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def variants(items: Iterable[Measured]) -> list[Variant]:
    """Return the variants with a result. Gold is that of the data set, otherwise that of its corpus."""
    items = list(items)
    on_gold = [m for m in items if m.arm == GOLD_ARM]
    listed = []
    for (data, first), group in grouped(items, lambda m: (m.data, m.x)):
        runs = dict(grouped((m for m in group if m.arm not in (GOLD_ARM, DISTANT_MATCH)), lambda m: m.arm))
        if not runs:
            continue
        corpus = group[0].corpus or data
        gold = [m for m in on_gold if m.data == data] or [m for m in on_gold if m.corpus == corpus]
        listed.append(
            Variant(
                data if first is None else f"{data}, first {first:,.0f}",
                corpus,
                group[0].record["sentences"],
                runs,
                spread(m for m in gold if m.data == gold[0].data),
                next((m for m in group if m.arm == DISTANT_MATCH), None),
            )
        )
    return listed


Score = Callable[[Variant], float | None]


def mean(shown: Iterable[Variant], score: Score) -> float | None:
    """Mean over the variants that have the score."""
    values = [value for v in shown if (value := score(v)) is not None]
    return fmean(values) if values else None


def corpus_mean(shown: Iterable[Variant], score: Score) -> float | None:
    """Mean over corpora of the means over their variants."""
    by_corpus: dict[str, list[Variant]] = {}
    for variant in shown:
        by_corpus.setdefault(variant.corpus, []).append(variant)
    means = [value for group in by_corpus.values() if (value := mean(group, score)) is not None]
    return fmean(means) if means else None
