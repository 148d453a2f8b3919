"""F1 of fine-tuning over the number of gold sentences, and the number that RoSTER is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from roster.experiments import published
from roster.experiments.data import dataset_of, gold_sentences
from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, line, slug, spread
from roster.experiments.figures import Figure, Line
from roster.experiments.plan import Asked, Row
from roster.experiments.point import Change, Point
from roster.experiments.tables import Table, cell

SIZES = (100, 300, 1000, 3000)
EPOCHS, LEAST_STEPS = 3, 600
"""Three epochs of gold sentences, more of few sentences, so that F1 is not limited by the number of steps."""
SUPERVISED, DISTANT = "fine-tuning on gold labels", "RoSTER on distant labels"


def rows(asked: Asked, sizes: Sequence[int] = SIZES, least_steps: int = LEAST_STEPS) -> list[Row]:
    """Fine-tuning on the first n gold sentences and on all, and RoSTER without gold sentences."""
    listed = []
    for data in asked.data:
        every = len(gold_sentences(dataset_of(data)))
        for n in (*sorted(n for n in sizes if n < every), every):
            for seed in asked.seeds:
                listed.append(Row(SUPERVISED, gold_fine_tuning(asked, data, seed, n, least_steps), n))
        listed += [Row(DISTANT, asked.point(data, seed)) for seed in asked.seeds]
    return listed


def gold_fine_tuning(
    asked: Asked, data: str, seed: int, first: int = 0, least_steps: int = LEAST_STEPS
) -> Point:
    """Fine-tuning on the first gold sentences, or on all. Its number of epochs replaces the derived one and
    that of a preset, which are for noisy labels."""
    batch_size = asked.point(data, seed).config().optimiser.batch_size
    n = first or len(gold_sentences(dataset_of(data)))
    epochs = max(EPOCHS, math.ceil(least_steps / math.ceil(n / batch_size)))
    change = Change(labels="gold", first=first)
    return asked.point(data, seed, "fine-tune", {"fine_tune.epochs": epochs}, change)


def worth(sizes: Sequence[float], f1: Sequence[float], target: float) -> tuple[float, str]:
    """Return the number of gold sentences at which the curve first reaches `target`, linear in log n.

    Where it lies outside the curve, the border, with `fewer than` or `more than` as the second part.

    >>> n, words = worth([100, 10000], [0.5, 0.9], 0.7)
    >>> round(n), words
    (1000, 'about')
    >>> worth([100, 1000], [0.5, 0.9], 0.3), worth([100, 1000], [0.5, 0.9], 0.95)
    ((100, 'fewer than'), (1000, 'more than'))
    """
    if target <= f1[0]:
        return sizes[0], "fewer than"
    for (a, low), (b, high) in pairwise(zip(sizes, f1, strict=True)):
        if low < target <= high:
            share = (target - low) / (high - low)
            return math.exp(math.log(a) + share * math.log(b / a)), "about"
    return sizes[-1], "more than"


def draw(items: Sequence[Measured]) -> Drawing:
    tables, figures = [], []
    for (data, backbone), group in grouped(items, lambda m: (m.data, m.backbone)):
        name, title = slug("supervised", data, backbone), f"Gold sentences on {data} with {backbone}"
        curve = line(SUPERVISED, [m for m in group if m.arm == SUPERVISED])
        ours = spread(m for m in group if m.arm == DISTANT)
        lines = [[f"{x:,.0f}", cell(y)] for x, y in zip(curve.x, curve.y, strict=True)]
        notes, shown = [SPREAD], [curve]
        if ours is not None:
            lines.append([DISTANT, cell(ours)])
            shown.append(Line(DISTANT, [0], [ours], across=True))
            if len(curve.x) > 1:
                n, words = worth(curve.x, [s.mean for s in curve.y], ours.mean)
                there = published.GOLD_WORTH.get(data)
                beside = f" (published: about {there:,})" if there else ""
                notes.append(
                    f"RoSTER without gold labels is worth {words} {_rounded(n):,} gold sentences{beside}."
                )
        tables.append(Table(name, title, ["gold sentences", "F1"], lines, notes))
        if curve.x:
            figures.append(Figure(name, title, "gold sentences", "F1", shown, log=True))
    return Drawing(tables, figures)


def _rounded(n: float) -> int:
    """Round to two significant digits, the precision of an interpolation.

    >>> _rounded(1234.5), _rounded(87.6)
    (1200, 88)
    """
    return int(float(f"{n:.2g}"))
