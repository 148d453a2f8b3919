"""Pieces of Markdown: fenced code that is left alone, tables, text in which nothing is markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

FENCE = re.compile(r"^ *(`{3,})[^`\n]*\n.*?^ *\1`*[ ]*$\n?", re.MULTILINE | re.DOTALL)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Applies `change` to everything between fenced blocks.

    >>> print(outside_code("a\\n```\\na\\n```\\na", str.upper))
    A
    ```
    a
    ```
    A
    """
    done, at = [], 0
    for match in FENCE.finditer(text):
        done += [change(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*done, change(text[at:])])


def plain(text: str) -> str:
    """Text as Markdown that shows exactly it; names in backquotes stay code.

    >>> plain("a_b * [c] `d_e` <f>")
    'a\\\\_b \\\\* \\\\[c\\\\] `d_e` &lt;f&gt;'
    """
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(part if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\*_\[\]|`$])", r"\\\1", text)


def code(text: str) -> str:
    """Inline code that may hold backquotes and bars."""
    fence = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |\n" for line in lines)
