"""Figures as SVG and PNG. The only module that uses matplotlib, which is imported when a figure is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from roster.errors import ConfigError
from roster.experiments.tables import Spread

COLOURS = ("#1f4e99", "#c0392b", "#2e8b57", "#8e44ad", "#b8860b", "#444444")
MARKERS = "osD^vP"
WIDTH = 40
"""Maximum characters per line of a title."""


@dataclass(frozen=True)
class Line:
    """Spreads over x; with `across`, one value for all x, drawn as a dashed line."""

    label: str
    x: Sequence[float]
    y: Sequence[Spread]
    across: bool = False


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log: bool = False


def save(figure: Figure, folder: Path) -> list[Path]:
    """Write a figure as SVG and PNG. The same data give the same bytes, because no date is written."""
    pyplot = _pyplot()
    with pyplot.rc_context({"svg.hashsalt": figure.name, "font.size": 9, "svg.fonttype": "none"}):
        canvas = drawn(figure)
        try:
            paths = [folder / f"{figure.name}.{ending}" for ending in ("svg", "png")]
            canvas.savefig(paths[0], metadata={"Date": None})
            canvas.savefig(paths[1], metadata={"Software": None})
        finally:
            pyplot.close(canvas)
    return paths


def drawn(figure: Figure) -> Any:
    """Return the canvas. Long titles are wrapped; the legend is below, where it covers no line."""
    height = 2.9 + 0.17 * len(figure.lines)
    canvas, axes = _pyplot().subplots(figsize=(4.4, height), dpi=200, layout="constrained")
    _draw(axes, figure)
    canvas.legend(loc="outside lower center", frameon=False, fontsize=8)
    return canvas


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ConfigError(
            'figures are drawn with matplotlib; install it with pip install "roster-ner[figures]"'
        ) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def counted(spreads: Sequence[Spread]) -> str:
    """Return the number of runs of each point, or the range if it varies.

    >>> counted([Spread(0.5, 0.1, 3)] * 2), counted([Spread(0.5, 0.1, 3), Spread(0.5, 0.0, 1)])
    ('3', '1 to 3')
    """
    runs = [spread.runs for spread in spreads]
    return str(runs[0]) if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"


def _draw(axes: Any, figure: Figure) -> None:
    if figure.log:
        axes.set_xscale("log")
    for i, line in enumerate(figure.lines):
        colour, mean = COLOURS[i % len(COLOURS)], [spread.mean for spread in line.y]
        runs = f" (n = {counted(line.y)})"
        if line.across:
            axes.axhline(mean[0], color=colour, linestyle="--", label=line.label + runs)
            deviation = line.y[0].deviation
            axes.axhspan(mean[0] - deviation, mean[0] + deviation, color=colour, alpha=0.12, linewidth=0)
            continue
        marker = MARKERS[i % len(MARKERS)]
        axes.plot(line.x, mean, color=colour, marker=marker, markersize=3.5, label=line.label + runs)
        low, high = ([s.mean + sign * s.deviation for s in line.y] for sign in (-1, 1))
        axes.fill_between(line.x, low, high, color=colour, alpha=0.15, linewidth=0)
    if figure.log:
        ticks = sorted({x for line in figure.lines if not line.across for x in line.x})
        axes.set_xticks(ticks, [f"{x:,.0f}" for x in ticks])
        axes.minorticks_off()
    title = fill(figure.title, WIDTH, break_on_hyphens=False)
    axes.set(title=title, xlabel=figure.x, ylabel=figure.y)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
