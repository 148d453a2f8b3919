"""Data sets and label variants by method: means, worst variant, collapses, distance to fine-tuning and gold.

A variant is an unchanged data set, one with the labels of a share of its names, or its first sentences.
Variants of one corpus are not independent, so there is a mean over corpora beside that over variants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from roster.errors import ConfigError
from roster.experiments.data import dataset_of, name_of
from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, slug, spread
from roster.experiments.main import GOLD, title_of
from roster.experiments.plan import Asked, Row
from roster.experiments.point import DISTANT_MATCH, Change
from roster.experiments.supervised import gold_fine_tuning
from roster.experiments.tables import Spread, Table, cell, number
from roster.methods import registry

PLAIN, OURS = "fine-tune", "roster"
GOLD_ARM = PLAIN + GOLD
NAMES_KEPT = (0.5, 0.2)
FIRST = (100, 300, 1000, 3000)
COLLAPSED = 0.05
"""A run whose F1 is below this has collapsed."""
SIGNAL_STAGE = "mean-of-members"
"""The stage that estimates hold-out recall, with whose scores the estimate is compared."""


# -- rows ------------------------------------------------------------------------------------------


def rows(
    asked: Asked,
    methods: Sequence[str] = (PLAIN, OURS),
    names_kept: Sequence[float] = NAMES_KEPT,
    first: Sequence[int] = FIRST,
    vary: Sequence[str] | None = None,
    corpora: Mapping[str, str] | None = None,
) -> list[Row]:
    """Return the trainings on every data set; on those of `vary` (default: the first) also on variants.

    `corpora` maps the name of a data set to the corpus of which it is a variant. Where the training sentences
    also have gold labels, the distant labels are scored, and there is fine-tuning on gold labels.
    """
    _check(methods, names_kept, first)
    names = [name_of(data) for data in asked.data]
    varied = names[:1] if vary is None else [_named(data, names, "--vary") for data in vary]
    corpus_of = {_named(data, names, "--corpus"): corpus for data, corpus in (corpora or {}).items()}
    listed = []
    for data, name in zip(asked.data, names, strict=True):
        dataset, corpus = dataset_of(data), corpus_of.get(name, name)
        has_gold = dataset.has_train_gold
        changes = [Change(names=asked.names)]
        if name in varied:
            changes += [Change(names=share) for share in dict.fromkeys(names_kept) if share < asked.names]
            shorter = sorted({n for n in first if n < len(dataset.train)})
            changes += [Change(names=asked.names, first=n) for n in shorter]
        for change in changes:
            x = change.first or None
            if has_gold:
                match = asked.point(data, asked.seeds[0], DISTANT_MATCH, change=change)
                listed.append(Row(DISTANT_MATCH, match, x, corpus=corpus))
            for method in methods:
                for seed in asked.seeds:
                    point = asked.point(data, seed, method, change=change)
                    listed.append(Row(method, point, x, corpus=corpus))
        if has_gold:
            for seed in asked.seeds:
                listed.append(Row(GOLD_ARM, gold_fine_tuning(asked, data, seed), corpus=corpus))
    return listed


def _check(methods: Sequence[str], names_kept: Sequence[float], first: Sequence[int]) -> None:
    for method in methods:
        if method not in registry.names():
            raise ConfigError(f"there is no method '{method}'; the methods are {', '.join(registry.names())}")
    for share in names_kept:
        if not 0 < share < 1:
            raise ConfigError(f"--names-kept must be more than 0 and less than 1, not {share:g}")
    for n in first:
        if n < 1:
            raise ConfigError(f"--first must be at least 1, not {n}")


def _named(given: str, names: Sequence[str], option: str) -> str:
    """Return the name of the data set that an option gives by name or path."""
    name = given if given in names else name_of(given)
    if name not in names:
        raise ConfigError(f"{option} {given}: the data sets are {', '.join(names)}")
    return name


# -- what is drawn ---------------------------------------------------------------------------------


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


def draw(items: Sequence[Measured]) -> Drawing:
    """Return for each encoder a table of variants, one of means and counts, and one of hold-out recall."""
    tables = []
    for backbone, group in grouped(items, lambda m: m.backbone):
        shown = variants(group)
        if not shown:
            continue
        arms = {arm for variant in shown for arm in variant.runs}
        methods = sorted(arms, key=lambda m: (m == OURS, m != PLAIN, m))  # fine-tuning first, RoSTER last
        tables += [variant_table(shown, methods, backbone), summary_table(shown, methods, backbone)]
        if signals := [one for v in shown if (one := signal(v))]:
            tables.append(signal_table(signals, backbone))
    return Drawing(tables)


def variant_table(shown: Sequence[Variant], methods: Sequence[str], backbone: str) -> Table:
    compared = [m for m in methods if m != PLAIN] if PLAIN in methods else []
    head = ["variant", "corpus", "sentences", "labels: precision/recall", *(_short(m) for m in methods),
            "fine-tuning on gold", *(f"{_short(m)} - fine-tuning" for m in compared),
            *(f"{_short(m)} - gold" for m in methods), "collapsed"]  # fmt: skip
    lines = [
        [
            v.name, v.corpus, f"{v.sentences:,}", _labels(v), *(cell(v.f1(m)) for m in methods), cell(v.gold),
            *(signed(v.against_plain(m)) for m in compared), *(signed(v.against_gold(m)) for m in methods),
            ", ".join(f"{_short(m)} {n} of {len(v.runs[m])}" for m in methods if (n := v.collapsed(m))),
        ]
        for v in shown
    ]  # fmt: skip
    notes = [
        f"F1 of the test split. {SPREAD} Collapsed: runs with F1 below {number(COLLAPSED)}. Gold: "
        "fine-tuning on all gold labels of the data set, or of its corpus. Precision and recall of the "
        "labels are measured on the training sentences, where these have gold labels."
    ]
    return Table(slug("robustness", backbone), f"Robustness with {backbone}", head, lines, notes)


def summary_table(shown: Sequence[Variant], methods: Sequence[str], backbone: str) -> Table:
    """Means over the variants with results of all methods; collapses over all runs."""
    whole = [v for v in shown if all(m in v.runs for m in methods)]
    corpora = len({v.corpus for v in whole})
    measures: dict[str, Callable[[str], str]] = {
        f"mean over {_count(len(whole), 'variant')}": lambda m: number(mean(whole, lambda v: v.mean(m))),
        f"mean over {_count(corpora, 'corpus', 'corpora')}": lambda m: number(
            corpus_mean(whole, lambda v: v.mean(m))
        ),
        "worst variant": lambda m: _worst(whole, m),
        "collapsed runs": lambda m: (
            f"{sum(v.collapsed(m) for v in shown)} of {sum(len(v.runs.get(m, ())) for v in shown)}"
        ),
    }
    if PLAIN in methods:
        measures |= {
            "against fine-tuning, over variants": lambda m: _other(
                m, signed(mean(whole, lambda v: v.against_plain(m)))
            ),
            "against fine-tuning, over corpora": lambda m: _other(
                m, signed(corpus_mean(whole, lambda v: v.against_plain(m)))
            ),
            "variants below fine-tuning by more than the spread": lambda m: _other(m, _below(whole, m)),
        }
    if with_gold := [v for v in whole if v.gold]:
        known = len({v.corpus for v in with_gold})
        measures[f"against gold, over corpora with gold labels ({known})"] = lambda m: signed(
            corpus_mean(with_gold, lambda v: v.against_gold(m))
        )
    lines = [[name, *(measure(m) for m in methods)] for name, measure in measures.items()]
    notes = [
        "Variants of one corpus count as one set in a mean over corpora, which is the mean of the corpora's "
        "means. The spread is the larger standard deviation of the two; one run has none, so any shortfall "
        "counts."
    ]
    if len(whole) < len(shown):
        notes.append(
            f"{len(shown) - len(whole)} of {len(shown)} variants lack a method's results and count only in "
            "collapsed runs."
        )
    title = f"Robustness with {backbone}: means and counts"
    return Table(slug("robustness", backbone, "summary"), title, ["", *map(_short, methods)], lines, notes)


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


def _worst(shown: Sequence[Variant], method: str) -> str:
    scored = [(value, v.name) for v in shown if (value := v.mean(method)) is not None]
    if not scored:
        return "-"
    value, name = min(scored)
    return f"{number(value)} ({name})"


def _below(shown: Sequence[Variant], method: str) -> str:
    names = [v.name for v in shown if v.below_plain(method)]
    return f"{len(names)} of {len(shown)}" + (f" ({'; '.join(names)})" if names else "")


def _other(method: str, text: str) -> str:
    """Fine-tuning is not compared with itself."""
    return "" if method == PLAIN else text


def _labels(variant: Variant) -> str:
    if variant.labels is None:
        return "-"
    scores = variant.labels.scores
    return f"{number(scores['precision'])}/{number(scores['recall'])}"


def _short(method: str) -> str:
    return title_of(method).removesuffix(" on distant labels")


def _count(n: int, one: str, many: str = "") -> str:
    """
    >>> _count(1, "variant"), _count(2, "variant"), _count(2, "corpus", "corpora")
    ('1 variant', '2 variants', '2 corpora')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def signed(value: float | None) -> str:
    """Format a difference.

    >>> signed(0.0512), signed(-0.02), signed(None)
    ('+.051', '-.020', '-')
    """
    return number(value) if value is None or value < 0 else f"+{number(value)}"


# -- the signal ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signal:
    """Hold-out recall of a variant, and the scores that it predicts: those of the members' mean, over seeds."""

    name: str
    names: int
    """Number of distinct held-out names per run."""
    error: float
    """Mean of the standard errors that the runs estimate."""
    hold_out: Spread
    recall: Spread
    f1: Spread


def signal(variant: Variant) -> Signal | None:
    """Return the signal of a variant; None if no run held names out."""
    runs = [m for m in variant.runs.get(OURS, ()) if _estimate(m)]
    estimates = [_estimate(m) for m in runs]
    members = [replace(m, stage=SIGNAL_STAGE) for m in runs]
    hold_out = Spread.of(e["value"] for e in estimates)
    recall, f1 = spread(members, "recall"), spread(members)
    if hold_out is None or recall is None or f1 is None:
        return None
    error = fmean(e["error"] for e in estimates)
    return Signal(variant.name, round(fmean(e["names"] for e in estimates)), error, hold_out, recall, f1)


def _estimate(item: Measured) -> dict[str, Any]:
    stage: dict[str, Any] = item.record["stages"].get(SIGNAL_STAGE, {})
    estimate: dict[str, Any] = stage.get("hold_out_recall", {}).get("all", {})
    return estimate


def signal_table(signals: Sequence[Signal], backbone: str) -> Table:
    head = ["variant", "names", "hold-out recall", "its error", "test recall", "hold-out - test", "test F1"]
    lines = [
        [s.name, f"{s.names:,}", cell(s.hold_out), number(s.error), cell(s.recall),
         signed(s.hold_out.mean - s.recall.mean), cell(s.f1)]
        for s in signals
    ]  # fmt: skip
    predicted = [s.hold_out.mean for s in signals]
    recall, f1 = [s.recall.mean for s in signals], [s.f1.mean for s in signals]
    off = fmean(abs(a - b) for a, b in zip(predicted, recall, strict=True))
    notes = [
        "Hold-out recall: the share of the mentions of names that a member was not taught which it finds in "
        "the training text, averaged by name; no gold label is needed for it. Test scores are those of the "
        f"members' mean. {SPREAD}",
        f"Rank correlation of hold-out recall over {_count(len(signals), 'variant')}: "
        f"{number(rank_correlation(predicted, recall))} with test recall, "
        f"{number(rank_correlation(predicted, f1))} with test F1. Mean absolute difference from test recall: "
        f"{number(off)}.",
    ]
    title = f"Hold-out recall with {backbone}: predicted and true"
    return Table(slug("robustness", backbone, "signal"), title, head, lines, notes)


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, with mean ranks for ties; None for fewer than three pairs or a constant.

    >>> round(rank_correlation([1, 2, 3, 4], [10, 20, 40, 30]), 3), rank_correlation([1, 1, 1], [1, 2, 3])
    (0.8, None)
    """
    if len(x) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray:
    """
    >>> _ranks([0.3, 0.1, 0.3]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts - 1) / 2)[where]
    return ranks
