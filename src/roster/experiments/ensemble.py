"""The ensemble of K models compared with one of them, before self-training."""

from __future__ import annotations

from collections.abc import Sequence

from roster.errors import ConfigError
from roster.experiments import published
from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, slug, spread
from roster.experiments.plan import Asked, Row
from roster.experiments.tables import Table, cell, number
from roster.methods.roster.settings import Ensemble

STAGES = {"with ensemble": "ensemble", "without ensemble": "member-0"}


def rows(asked: Asked) -> list[Row]:
    """Both are stages of one training, because the first of its K models is a model without ensemble."""
    for data in asked.data:
        if not asked.point(data, 0).config().section(Ensemble).enabled:
            raise ConfigError("this experiment needs the ensemble; leave ensemble.enabled as it is")
    return [
        Row(arm, asked.point(data, seed), stage=stage)
        for data in asked.data
        for arm, stage in STAGES.items()
        for seed in asked.seeds
    ]


def draw(items: Sequence[Measured]) -> Drawing:
    tables = []
    for (data, backbone), group in grouped(items, lambda m: (m.data, m.backbone)):
        there = published.ENSEMBLE.get(data, {})
        lines = []
        for arm in STAGES:
            line = [arm, cell(spread(m for m in group if m.arm == arm))]
            if there:
                mean, deviation = there[arm]
                line.append(f"{number(mean)} ± {number(deviation)} (5)")
            lines.append(line)
        head = ["before self-training", "F1", *(["published"] if there else [])]
        title = f"Ensemble on {data} with {backbone}"
        tables.append(Table(slug("ensemble", data, backbone), title, head, lines, [SPREAD]))
    return Drawing(tables)
