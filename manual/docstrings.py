"""Our docstrings: a line of purpose, text, `Args:`, `Returns:`, `Raises:`, examples."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

SECTIONS = ("Args", "Returns", "Raises")


@dataclass
class Docstring:
    """The parts of a docstring; `args` and `raises` by name."""

    text: str = ""
    args: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: dict[str, str] = field(default_factory=dict)
    example: str = ""


def parse(thing: Any) -> Docstring:
    """The docstring of an object.

    >>> def f(a):
    ...     '''Halves.
    ...
    ...     Args:
    ...         a: a number,
    ...             even.
    ...     '''
    >>> parse(f).text, parse(f).args
    ('Halves.', {'a': 'a number, even.'})
    """
    found = Docstring()
    text = inspect.getdoc(thing) or ""
    text, mark, example = text.partition(">>> ")
    found.example = mark + example
    parts = re.split(rf"^({'|'.join(SECTIONS)}):\n", text, flags=re.MULTILINE)
    found.text = parts[0].strip()
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        indented = [line for line in body.split("\n") if not line or line.startswith(" ")]
        rest = [line for line in body.split("\n") if line and not line.startswith(" ")]
        found.text += "\n\n" + "\n".join(rest) if rest else ""
        lines = inspect.cleandoc("\n".join(["", *indented])).split("\n")
        if name == "Returns":
            found.returns = " ".join(" ".join(lines).split())
        else:
            setattr(found, name.lower(), _items(lines))
    return found


def _items(lines: list[str]) -> dict[str, str]:
    """`name: text` with indented lines that continue it."""
    items: dict[str, str] = {}
    for line in lines:
        match = re.match(r"([\w, .*]+): (.*)", line)
        if match:
            items[match[1]] = match[2]
        elif line.strip():
            last = next(reversed(items))
            items[last] += " " + line.strip()
    return items
