"""Table of all methods by data set."""

from __future__ import annotations

from collections.abc import Sequence

from roster.errors import ConfigError
from roster.experiments import published
from roster.experiments.data import dataset_of
from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, slug, spread
from roster.experiments.plan import Asked, Row
from roster.experiments.point import DISTANT_MATCH, Change, Point
from roster.experiments.supervised import gold_fine_tuning
from roster.experiments.tables import Table, cell, number
from roster.methods import registry

GOLD = "-gold"
"""Suffix of a method that is trained on gold labels."""
ORDER = ("distant-match", "fine-tune", "autoner", "bond", "roster", "bilstm-crf-gold", "fine-tune-gold")
"""Order of the rows in the paper's table."""


BASELINES = ("fine-tune", "bilstm-crf")
"""Methods that are also trained on gold labels, for comparison."""


def title_of(arm: str) -> str:
    """Return the title of a method in tables and figures.

    >>> title_of("bond"), title_of("fine-tune-gold"), title_of("distant-match")
    ('BOND', 'Fine-tuning on gold labels', 'Distant match')
    """
    method = arm.removesuffix(GOLD)
    if arm == DISTANT_MATCH or method not in registry.names():
        return "Distant match" if arm == DISTANT_MATCH else arm
    title = registry.get(method).title
    if arm.endswith(GOLD):
        return f"{title} on gold labels"
    return f"{title} on distant labels" if method in BASELINES else title


def usual_methods() -> list[str]:
    """Return the rows of the paper's table whose methods are installed."""
    return [m for m in ORDER if m == DISTANT_MATCH or m.removesuffix(GOLD) in registry.names()]


def rows(asked: Asked, methods: Sequence[str] | None = None) -> list[Row]:
    """Return the trainings; without `methods`, those of the paper's table that have labels."""
    listed = []
    for data in asked.data:
        has_gold = dataset_of(data).has_train_gold
        for method in methods or usual_methods():
            needs_gold = method == DISTANT_MATCH or method.endswith(GOLD)
            if methods is None and needs_gold and not has_gold:
                continue
            learned = method.removesuffix(GOLD)
            if method != DISTANT_MATCH and learned not in registry.names():
                raise ConfigError(
                    f"there is no method '{method}'; the methods are {DISTANT_MATCH}, "
                    f"{', '.join(registry.names())}, "
                    f"and each with {GOLD} after its name"
                )
            for seed in asked.seeds if method != DISTANT_MATCH else asked.seeds[:1]:
                listed.append(Row(method, _point(asked, data, seed, learned, method.endswith(GOLD))))
    return listed


def _point(asked: Asked, data: str, seed: int, method: str, gold: bool) -> Point:
    if gold and method == "fine-tune":
        return gold_fine_tuning(asked, data, seed)
    return asked.point(data, seed, method, change=Change(labels="gold") if gold else None)


def draw(items: Sequence[Measured]) -> Drawing:
    tables = []
    for backbone, group in grouped(items, lambda m: m.backbone):
        data_sets = list(dict.fromkeys(m.data for m in group))
        arms = sorted({m.arm for m in group}, key=lambda a: (ORDER.index(a) if a in ORDER else len(ORDER), a))
        head = [""]
        for data in data_sets:
            head += [data, "published"] if data in published.MAIN else [data]
        lines = []
        for arm in arms:
            cells = [title_of(arm)]
            for data in data_sets:
                cells.append(_scores([m for m in group if (m.arm, m.data) == (arm, data)]))
                if data in published.MAIN:
                    there = published.MAIN[data].get(arm)
                    cells.append("/".join(map(number, there)) if there else "")
            lines.append(cells)
        later = [
            f"Later methods on the labels of {data}, as published: "
            + ", ".join(f"{name} {number(f1)}" for name, f1 in published.LATER[data].items())
            + "."
            for data in data_sets
            if data in published.LATER
        ]
        notes = [
            f"Precision/recall/F1 of the test split (distant match: of the training sentences). {SPREAD} "
            f"The deviation is that of F1. Encoder: {backbone}.",
            *_own_encoders(arms),
            *_published_encoders(arms, data_sets),
            *later,
        ]
        tables.append(Table(slug("main", backbone), f"Main results with {backbone}", head, lines, notes))
    return Drawing(tables)


def _own_encoders(arms: Sequence[str]) -> list[str]:
    """Return notes on rows with another encoder than the table.

    >>> _own_encoders(["roster", "bilstm-crf-gold"])
    ['BiLSTM-CNN-CRF on gold labels has its own encoder (bilstm-cnn).']
    """
    return [
        f"{title_of(arm)} has its own encoder ({own})."
        for arm in arms
        if (method := arm.removesuffix(GOLD)) in registry.names()
        and (own := registry.get(method).defaults.get("backbone.name"))
    ]


def _published_encoders(arms: Sequence[str], data_sets: Sequence[str]) -> list[str]:
    """Return a note on the encoders of the published figures, with data sets if they differ.

    >>> _published_encoders(["distant-match", "autoner", "roster"], ["conll03"])
    ['Published figures with a BiLSTM: AutoNER; with RoBERTa-base: RoSTER.']
    """
    by_encoder: dict[str, list[str]] = {}
    for arm in arms:
        there = {
            data: published.encoder(data, arm) for data in data_sets if arm in published.MAIN.get(data, {})
        }
        for encoder in filter(None, dict.fromkeys(there.values())):
            those = [data for data in there if there[data] == encoder]
            where = f" ({', '.join(those)})" if len(those) < len(there) else ""
            by_encoder.setdefault(encoder, []).append(title_of(arm) + where)
    parts = [f"with {encoder}: {', '.join(rows)}" for encoder, rows in by_encoder.items()]
    return [f"Published figures {'; '.join(parts)}."] if parts else []


def _scores(items: Sequence[Measured]) -> str:
    means = [spread(items, score) for score in ("precision", "recall", "f1")]
    if means[2] is None:
        return "-"
    return "/".join([*(number(s.mean) for s in means[:2] if s), cell(means[2])])
