"""Lists as GitHub reads them, for Python-Markdown, which wants four spaces a level and a blank line."""

from __future__ import annotations

import re

ITEM = re.compile(r"( *)([-*+]|\d+[.)])( +)(?=\S)")
FENCE = re.compile(r" *(`{3,})")


def with_four_spaces(text: str) -> str:
    """The same lists with the indentation that Python-Markdown needs.

    >>> print(with_four_spaces("a:\\n1. b\\n\\n   c\\n   - d\\n     e\\n\\nf"))
    a:
    <BLANKLINE>
    1.  b
    <BLANKLINE>
        c
        -   d
            e
    <BLANKLINE>
    f
    >>> print(with_four_spaces("- a\\n\\n  ```\\n  - b\\n  ```\\n\\n```\\n- c\\n```"))
    -   a
    <BLANKLINE>
        ```
        - b
        ```
    <BLANKLINE>
    ```
    - c
    ```
    """
    done: list[str] = []
    columns: list[int] = []  # where the text of each open list item begins
    fence = ""
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        mark = FENCE.match(line)
        if fence:
            done.append(_moved(line, columns))
            fence = "" if mark and mark[1].startswith(fence) and not line.strip(" `") else fence
            continue
        if not line.strip():
            done.append("")
            continue
        blank, inside = not done or not done[-1], bool(columns)
        item = ITEM.match(line)
        while columns and indent < columns[-1] and (blank or item or mark):
            columns.pop()
        if mark:
            fence = mark[1]
        elif item and (blank or inside or item[2] in "-*+" or item[2][0] == "1"):
            if not blank and not inside:  # a list interrupts a paragraph
                done.append("")
            done.append("    " * len(columns) + item[2].ljust(4) + line[item.end() :])
            columns.append(item.end())
            continue
        done.append(_moved(line, columns))
    return "\n".join(done)


def _moved(line: str, columns: list[int]) -> str:
    """A line of the innermost open item, or of a paragraph that goes on without indentation."""
    if not columns or not line.strip():
        return line
    indent = len(line) - len(line.lstrip(" "))
    return "    " * len(columns) + line[min(indent, columns[-1]) :]
