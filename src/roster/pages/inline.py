"""Pieces of HTML for notebooks: marked text and small tables, with styles in attributes and no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

from roster.pages.document import text

HUES = 347
"""A prime, with which PER, LOC, ORG and MISC are far apart."""
MOST = 10_000
"""Characters of a text that are shown."""
MARK = "padding: 0 .2em; border-radius: .2em; color: inherit; background: hsla({}, 75%, 50%, .25)"
NUMBER = ' style="text-align: right"'


def marked(words: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """A text with coloured spans, each followed by its label. Everything is escaped.

    A label has the same colour everywhere. A span that overlaps the one before it is not marked, and of a
    long text the beginning is shown.

    Args:
        words: the text.
        spans: start, end and label.

    >>> marked("<b> Ada", [(4, 7, "PER")])  # doctest: +ELLIPSIS
    '<div style="white-space: pre-wrap; line-height: 1.8">&lt;b&gt; <mark style="..."><bdi>Ada</bdi>&nbsp;...'
    """
    parts, at, left = [], 0, 0
    for start, end, label in sorted(spans):
        if end > MOST:
            left += 1
        elif start >= at:
            parts += [text(words[at:start]), _mark(words[start:end], label)]
            at = end
    parts.append(text(words[at : max(at, MOST)]))
    if len(words) > MOST:
        more = f"{len(words) - max(at, MOST):,} more characters with {left:,} entities"
        parts.append(f" … <i>({more})</i>")
    return f'<div style="white-space: pre-wrap; line-height: 1.8">{"".join(parts)}</div>'


def _mark(words: str, label: str) -> str:
    hue = crc32(label.encode("utf-8", "replace")) % HUES
    name = f'<small style="opacity: .75"><bdi>{text(label)}</bdi></small>'
    return f'<mark style="{MARK.format(hue)}"><bdi>{text(words)}</bdi>&nbsp;{name}</mark>'


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table whose cells are text; numbers are aligned to the right, floats have three digits.

    >>> table(["type", "F1"], [["<PER>", 0.5]])
    '<table><tr><th>type</th><th>F1</th></tr><tr><td>&lt;PER&gt;</td><td style="text-align: right">0.500</td></tr></table>'
    """  # noqa: E501
    parts = ["<table>", f"<caption>{text(caption)}</caption>" if caption else ""]
    parts += ["<tr>", *(f"<th>{text(name)}</th>" for name in head), "</tr>"]
    for row in rows:
        parts += ["<tr>", *map(_cell, row), "</tr>"]
    return "".join([*parts, "</table>"])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"<td{NUMBER}>{value:.3f}</td>"
    if isinstance(value, int):
        return f"<td{NUMBER}>{value:,}</td>"
    return f"<td>{text(value)}</td>"
