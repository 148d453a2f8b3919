"""F1 over the two parameters of the noise-robust stage: GCE's exponent q, and tau of noise removal."""

from __future__ import annotations

from collections.abc import Sequence

from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, line, slug, spread
from roster.experiments.figures import Figure
from roster.experiments.plan import Asked, Row
from roster.experiments.tables import Table, cell

NAMES = {"q": "noise_robust.q", "tau": "noise_robust.tau"}
VALUES = (0.1, 0.3, 0.5, 0.7, 0.9)
PUBLISHED = "Published: flat between .5 and .9 for both, lower below."


def rows(asked: Asked, values: Sequence[float] = VALUES) -> list[Row]:
    """One parameter is varied, the other has the value of `roster train`."""
    return [
        Row(arm, asked.point(data, seed, overrides={name: float(value)}), x=float(value))
        for data in asked.data
        for arm, name in NAMES.items()
        for value in values
        for seed in asked.seeds
    ]


def draw(items: Sequence[Measured]) -> Drawing:
    tables, figures = [], []
    for (data, backbone), group in grouped(items, lambda m: (m.data, m.backbone)):
        name, title = slug("parameters", data, backbone), f"Parameters on {data} with {backbone}"
        values = sorted({m.x for m in group if m.x is not None})
        lines = [
            [f"{x:g}", *(cell(spread(m for m in group if (m.arm, m.x) == (arm, x))) for arm in NAMES)]
            for x in values
        ]
        notes = [SPREAD, *([PUBLISHED] if data == "conll03" else [])]
        tables.append(Table(name, title, ["value", *(f"F1 by {arm}" for arm in NAMES)], lines, notes))
        shown = [line(arm, [m for m in group if m.arm == arm]) for arm in NAMES]
        figures.append(Figure(name, title, "value of the parameter", "F1", shown))
    return Drawing(tables, figures)
