"""Tables and sections in Markdown: the model cards."""

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


def with_section(page: str, title: str, body: str, before: str = "") -> str:
    """A page whose section of this title has another body.

    A page that lacks the section gets it, in front of the section `before` or else at the end.

    >>> print(with_section("## A\\n\\nold\\n\\n## B\\n", "A", "new"))
    ## A
    <BLANKLINE>
    new
    <BLANKLINE>
    ## B
    <BLANKLINE>
    """
    section = f"## {title}\n\n{body.strip()}\n"
    lines = page.splitlines(keepends=True)
    at = {line.strip(): number for number, line in reversed(list(enumerate(lines)))}
    if (first := at.get(f"## {title}")) is not None:
        rest = (n for n in range(first + 1, len(lines)) if lines[n].startswith(("# ", "## ")))
        last = next(rest, len(lines))
    else:
        first = last = at.get(f"## {before}", len(lines))
    above, below = "".join(lines[:first]).rstrip("\n"), "".join(lines[last:])
    return "\n".join([*([above, ""] if above else []), section, *([below] if below else [])])


def _row(values: Sequence[object]) -> str:
    return "| " + " | ".join(map(cell, values)) + " |"
