"""Charts drawn by matplotlib as inline SVG. The only module of the report that uses it; without it there are
tables.

Colours are CSS variables of the page, so that a drawing follows light and dark. Text stays text. Legends are
HTML, which wraps on a phone and has the fonts for any script.
"""

from __future__ import annotations

import re
import warnings
from io import StringIO
from typing import Any

from roster.pages.document import text
from roster.reporting.charts import BARS, LINES, Chart

SERIES = 8
"""How many colours there are: `--s0` to `--s7` in the style of the page."""
MARKERS, SHOWN_MARKERS = "os^DvPX*", "●■▲◆▼✚✖★"
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
TEXT, DIM, LINE = "#01f001", "#02f002", "#03f003"
"""Stand for colours of the page until the drawing is text."""
VARIABLES = {TEXT: "--text", DIM: "--dim", LINE: "--line"} | {f"#04f00{i}": f"--s{i}" for i in range(SERIES)}
WIDTH, ROW, HEIGHT = 4.6, 0.2, 2.5
"""Inches; at 4.6 the text has its full size on a phone."""
STYLE = {
    "font.size": 9, "svg.fonttype": "none", "text.parse_math": False, "text.color": TEXT,
    "axes.edgecolor": DIM, "axes.labelcolor": TEXT, "xtick.color": DIM, "ytick.color": DIM,
    "xtick.labelcolor": TEXT, "ytick.labelcolor": TEXT, "grid.color": LINE, "figure.facecolor": "none",
    "axes.facecolor": "none", "savefig.facecolor": "none", "axes.unicode_minus": False,
}  # fmt: skip


def available() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def svg(chart: Chart) -> str:
    """A drawing for an HTML page. Needs matplotlib."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": chart.name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has the fonts
        height = HEIGHT if chart.kind == LINES else 0.7 + ROW * len(chart.ticks) * _slots(chart)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots()
        (_draw_lines if chart.kind == LINES else _draw_ticks)(axes, chart)
        axes.grid(axis="both" if chart.kind == LINES else "x", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return inline(file.getvalue(), chart)


def _slots(chart: Chart) -> float:
    """Rows that one tick takes."""
    return max(1.2, 0.9 * len(chart.series)) if chart.kind == BARS else 1.2


def _draw_lines(axes: Any, chart: Chart) -> None:
    if chart.diagonal:
        axes.plot([0, 1], [0, 1], color=DIM, linewidth=0.8, linestyle=DASHES[2])
    for i, one in enumerate(chart.series):
        axes.plot(
            one.x, one.y, color=_colour(i), marker=MARKERS[i % len(MARKERS)], markersize=3.5, linewidth=1.4,
            linestyle=DASHES[i // SERIES % len(DASHES)],
        )  # fmt: skip
        if len(one.low):
            axes.fill_between(one.x, one.low, one.high, color=_colour(i), alpha=0.15, linewidth=0)
    axes.set(xlabel=chart.x, ylabel=chart.y)
    if chart.limits:
        low, high = chart.limits
        margin = 0.03 * (high - low)
        axes.set_ylim(low - margin, high + margin)
    if chart.diagonal:
        axes.set_xlim(-0.03, 1.03)
    if all(float(x).is_integer() for one in chart.series for x in one.x):
        axes.xaxis.get_major_locator().set_params(integer=True)


def _draw_ticks(axes: Any, chart: Chart) -> None:
    """Categories from top to bottom, so that their names can be read."""
    n = len(chart.series)
    for i, one in enumerate(chart.series):
        if chart.kind == BARS:
            at = [x + 0.8 * ((i + 0.5) / n - 0.5) for x in one.x]
            axes.barh(at, one.y, 0.72 / n, color=_colour(i))
        else:
            axes.plot(one.y, one.x, color=_colour(i), marker=MARKERS[i], linestyle="none", markersize=5.5)
    axes.set_yticks(range(len(chart.ticks)), chart.ticks)
    axes.set_ylim(len(chart.ticks) - 0.4, -0.6)
    axes.set_xlabel(chart.x)


def _colour(i: int) -> str:
    return f"#04f00{i % SERIES}"


def legend(chart: Chart) -> str:
    """The legend as HTML: colour, marker and name of each series."""
    marker = "■" * len(SHOWN_MARKERS) if chart.kind == BARS else SHOWN_MARKERS
    items = [
        f'<li><span style="color:var(--s{i % SERIES})" aria-hidden="true">{marker[i % len(marker)]}</span> '
        f"<bdi>{text(one.label)}</bdi></li>"
        for i, one in enumerate(chart.series)
    ]
    return f'<ul class="legend">{"".join(items)}</ul>' if len(items) > 1 else ""


def inline(drawing: str, chart: Chart) -> str:
    """A drawing of matplotlib as a part of an HTML page: without what belongs to a file of its own, with
    colours of the page, and with ids that no other drawing has."""
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", drawing, flags=re.S)
    drawing = re.sub(r'\bid="([^"]*)"', rf'id="{chart.name}-\1"', drawing)
    drawing = re.sub(r'(href="#|url\(#)', rf"\1{chart.name}-", drawing)
    drawing = re.sub(r"'DejaVu Sans'[^;\"]*?sans-serif", "system-ui, sans-serif", drawing)
    for constant, variable in VARIABLES.items():
        drawing = drawing.replace(constant, f"var({variable})")
    label = text(f"Chart: {chart.title}. The figures are in the table that follows.")
    drawing = re.sub(r' (?:width|height)="[\d.]+pt"', "", drawing, count=2)
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
