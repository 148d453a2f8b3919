"""Pieces of HTML that the sections share. What is given as text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from unicodedata import bidirectional

from roster.corpus.sentence import Sentence, Span
from roster.pages.document import text
from roster.reporting import plots
from roster.reporting.charts import Chart, rows

MARKS = 8
"""Colours of entities: `--s0` to `--s7`."""
AROUND = 25
"""Words shown on each side of the place that matters."""


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    html: str


def paragraph(words: str, kind: str = "") -> str:
    return f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>"


def table(head: Sequence[object], body: Iterable[Sequence[object]], caption: str = "") -> str:
    """Numbers are aligned to the right; floats have three digits."""
    shown = [[_shown(value) for value in row] for row in body]
    numbers = [
        all(number for _, number in column if _) and any(number for _, number in column)
        for column in zip(*shown, strict=True)
    ] or [False] * len(head)
    parts = ['<div class="wide"><table>', f"<caption>{text(caption)}</caption>" if caption else "", "<tr>"]
    for name, number in zip(head, numbers, strict=True):
        parts.append(f'<th scope="col"{_NUMBER if number else ""}><bdi>{text(name)}</bdi></th>')
    parts.append("</tr>")
    for row in shown:
        cells = [
            f"<td{_NUMBER if number else ''}><bdi>{text(value)}</bdi></td>"
            for (value, _), number in zip(row, numbers, strict=True)
        ]
        parts.append(f"<tr>{''.join(cells)}</tr>")
    return "".join([*parts, "</table></div>"])


_NUMBER = ' class="number"'


def _shown(value: object) -> tuple[str, bool]:
    """A value as text, and whether it is a number (an empty cell may stand among numbers)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value), value == ""
    if isinstance(value, int):
        return f"{value:,}", True
    return (f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3f}"), True


def figure(chart: Chart | None, draw: bool) -> str:
    """A chart with its legend and its table; the table alone where nothing can be drawn."""
    if chart is None:
        return ""
    if not draw:
        return table(*rows(chart), caption=chart.title)
    return (
        f"<figure><figcaption>{text(chart.title)}</figcaption>{plots.svg(chart)}{plots.legend(chart)}"
        f"<details><summary>As a table</summary>{table(*rows(chart))}</details></figure>"
    )


def marked(sentence: Sentence, types: Sequence[str], start: int, end: int) -> str:
    """The sentence's text around some words, its spans coloured and with their types in text."""
    first, last = max(0, start - AROUND), min(len(sentence), end + AROUND)
    number = {name: i for i, name in enumerate(types)}
    at = sentence.offsets[first][0]
    parts = ["… " if first else ""]
    for span in sorted(sentence.spans or ()):
        if span.start < first or span.end > last:
            continue
        begin, stop = sentence.char_span(span)
        parts.append(text(sentence.text[at:begin]))
        parts.append(_mark(sentence.text[begin:stop], span, number))
        at = stop
    parts.append(text(sentence.text[at : sentence.offsets[last - 1][1]]))
    return "".join([*parts, " …" if last < len(sentence) else ""])


def _mark(words: str, span: Span, number: dict[str, int]) -> str:
    colour = number.get(span.label, 0) % MARKS
    return (
        f'<mark class="e" style="--c:var(--s{colour})"><bdi>{text(words)}</bdi>&nbsp;'
        f"<small><bdi>{text(span.label)}</bdi></small></mark>"
    )


def direction(words: str) -> str:
    """The direction of a text, by its first letter; `dir="auto"` would also look at the names of types.

    >>> direction("Oslo"), direction("12 \u05d0"), direction("")
    ('ltr', 'rtl', 'ltr')
    """
    kinds = (bidirectional(character) for character in words)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"
