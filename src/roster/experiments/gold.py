"""A few gold sentences beside distant labels: F1 over their number."""

from __future__ import annotations

from collections.abc import Sequence

from roster.experiments.data import dataset_of, gold_sentences
from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, line, slug, spread
from roster.experiments.figures import Figure
from roster.experiments.plan import Asked, Row
from roster.experiments.point import Change
from roster.experiments.supervised import LEAST_STEPS, gold_fine_tuning
from roster.experiments.tables import Table, cell

SIZES = (0, 30, 100, 300)
ROSTER, ALONE, BOTH = "RoSTER", "fine-tuning on gold alone", "fine-tuning on gold and distant labels"
ARMS = (ROSTER, ALONE, BOTH)


def rows(asked: Asked, sizes: Sequence[int] = SIZES, least_steps: int = LEAST_STEPS) -> list[Row]:
    """Trainings with the first n gold sentences, the same for all three rows."""
    listed = []
    for data in asked.data:
        every = len(gold_sentences(dataset_of(data)))
        for n in sorted({min(n, every) for n in sizes}):
            for seed in asked.seeds:
                given = Change(names=asked.names, gold=n)
                listed.append(Row(ROSTER, asked.point(data, seed, "roster", change=given), n))
                listed.append(Row(BOTH, asked.point(data, seed, "fine-tune", change=given), n))
                if n:
                    alone = gold_fine_tuning(asked, data, seed, n, least_steps)
                    listed.append(Row(ALONE, alone, n))
    return listed


def draw(items: Sequence[Measured]) -> Drawing:
    tables, figures = [], []
    for (data, backbone), group in grouped(items, lambda m: (m.data, m.backbone)):
        name, title = slug("gold", data, backbone), f"A few gold sentences on {data} with {backbone}"
        sizes = sorted({m.x for m in group if m.x is not None})
        lines = [
            [f"{n:,.0f}", *(cell(spread(m for m in group if (m.arm, m.x) == (arm, n))) for arm in ARMS)]
            for n in sizes
        ]
        tables.append(Table(name, title, ["gold sentences", *ARMS], lines, [SPREAD]))
        shown = [one for arm in ARMS if (one := line(arm, [m for m in group if m.arm == arm])).x]
        figures.append(Figure(name, title, "gold sentences", "F1", shown))
    return Drawing(tables, figures)
