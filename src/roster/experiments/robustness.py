"""Data sets and label variants by method: means, worst variant, collapses, distance to fine-tuning and gold.

A variant is an unchanged data set, one with the labels of a share of its names, or its first sentences.
Variants of one corpus are not independent, so there is a mean over corpora beside that over variants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from roster.errors import ConfigError
from roster.experiments.data import dataset_of, name_of
from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, slug
from roster.experiments.holdout_signal import signal, signal_table
from roster.experiments.main import title_of
from roster.experiments.plan import Asked, Row
from roster.experiments.point import DISTANT_MATCH, Change
from roster.experiments.supervised import gold_fine_tuning
from roster.experiments.tables import Table, cell, count_of, number, signed
from roster.experiments.variants import COLLAPSED, GOLD_ARM, OURS, PLAIN, Variant, corpus_mean, mean, variants
from roster.methods import registry

NAMES_KEPT = (0.5, 0.2)
FIRST = (100, 300, 1000, 3000)


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
        f"mean over {count_of(len(whole), 'variant')}": lambda m: number(mean(whole, lambda v: v.mean(m))),
        f"mean over {count_of(corpora, 'corpus', 'corpora')}": lambda m: number(
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
