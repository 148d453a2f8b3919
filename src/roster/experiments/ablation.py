"""Ablation: RoSTER without one of its parts at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roster.experiments import published
from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, slug, spread
from roster.experiments.plan import Asked, Row
from roster.experiments.point import Point
from roster.experiments.tables import Spread, Table, cell, number
from roster.methods.roster.settings import Ensemble

ARMS: dict[str, dict[str, Any]] = {
    "full": {},
    "without GCE": {"noise_robust.q": 0.0},
    "without noise removal": {"noise_robust.remove_labels": False},
    "without self-training": {},
}


def rows(asked: Asked) -> list[Row]:
    return [
        _row(arm, asked.point(data, seed, overrides=overrides))
        for data in asked.data
        for arm, overrides in ARMS.items()
        for seed in asked.seeds
    ]


def _row(arm: str, point: Point) -> Row:
    """The result without self-training is the model before it, which the full training has scored."""
    if arm != "without self-training":
        return Row(arm, point)
    return Row(arm, point, stage="ensemble" if point.config().section(Ensemble).enabled else "member-0")


def draw(items: Sequence[Measured]) -> Drawing:
    tables = []
    for (data, backbone), group in grouped(items, lambda m: (m.data, m.backbone)):
        full = spread(m for m in group if m.arm == "full")
        there = published.ABLATION.get(data, {})
        lines = []
        for arm in ARMS:
            ours = spread(m for m in group if m.arm == arm)
            lines.append([arm, cell(ours), _difference(ours, full), number(there[arm]) if there else ""])
        head = ["", "F1", "against full", "published"] if there else ["", "F1", "against full"]
        title = f"Ablation on {data} with {backbone}"
        lines = [line[: len(head)] for line in lines]
        tables.append(Table(slug("ablation", data, backbone), title, head, lines, [SPREAD]))
    return Drawing(tables)


def _difference(ours: Spread | None, full: Spread | None) -> str:
    return "" if ours is None or full is None else number(ours.mean - full.mean)
