"""Tables in Markdown: the model cards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def cell(value: object) -> str:
    """A value on one line, without what Markdown and HTML would read as their own.

    >>> cell("a|b <c>"), cell("two" + chr(10) + "lines")
    ('a\\\\|b &lt;c&gt;', 'two lines')
    """
    line = " ".join(str(value).split())
    for character, instead in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        line = line.replace(character, instead)
    return line


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """
    >>> print(table(["type", "labels"], [["PER", 3]]))
    | type | labels |
    |---|---|
    | PER | 3 |
    """
    lines = [_row(head), "|" + "---|" * len(head)]
    return "\n".join([*lines, *map(_row, rows)])


def facts_table(facts: Mapping[str, object]) -> str:
    """A table of names and values, without a head.

    >>> print(facts_table({"text": "3 words"}))
    | | |
    |---|---|
    | text | 3 words |
    """
    return "\n".join(["| | |", "|---|---|", *(_row(pair) for pair in facts.items())])


def _row(values: Sequence[object]) -> str:
    return "| " + " | ".join(map(cell, values)) + " |"
