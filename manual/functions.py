"""The reference of the Python functions and classes, from their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import roster
from manual.docstrings import Docstring, parse
from manual.markdown import plain, table

GROUPS = {
    "Labels": ("label", "label_file", "label_shards"),
    "Training": ("train", "effective_config", "pretrain", "Recognizer"),
    "Recognition": ("load", "Recogniser", "Entity", "Entities", "predict", "predict_file", "predict_shards"),
    "Quality": (
        "evaluate",
        "calibrate",
        "audit",
        "repair",
        "report",
        "start_review",
        "open_review",
        "Review",
    ),
    "Data": ("read", "write", "convert", "convert_shards", "Sentence", "Span", "Dataset"),
    "Other": ("export", "serve", "show_log"),
}


def pages() -> Iterator[tuple[str, str, str]]:
    """Place, title and text of the page."""
    text = (
        "# Python functions\n\nAll of them are in the package itself: `import roster`, then `roster.label`.\n"
    )
    for group, names in GROUPS.items():
        text += f"\n## {group}\n"
        for name in names:
            text += _entry(f"roster.{name}", getattr(roster, name), 3)
    yield "reference/python.md", "Python functions", text


def _entry(name: str, thing: Any, level: int) -> str:
    text = f"\n{'#' * level} {name}\n\n```python\n{signature(name, thing)}\n```\n\n{_body(parse(thing))}"
    if inspect.isclass(thing):
        for member, of in vars(thing).items():
            public = not member.startswith("_") or member == "__call__"
            if public and callable(getattr(of, "__func__", of)) and inspect.getdoc(of):
                shown = name.rpartition(".")[2] + ("" if member == "__call__" else f".{member}")
                text += _entry(shown, getattr(of, "__func__", of), level + 1)
    return text


def signature(name: str, thing: Any) -> str:
    """Name and parameters, one on each line if they are many; annotations as they are in the source."""
    found = inspect.signature(thing)
    shown, keyword_only = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            shown.append("*")
        shown.append(str(parameter))
    returns = found.return_annotation
    end = "" if inspect.isclass(thing) or returns is found.empty else f" -> {_plain(str(returns))}"
    one = f"{name}({', '.join(map(_plain, shown))}){end}"
    if len(one) <= 88:
        return one
    return f"{name}(\n" + "".join(f"    {_plain(part)},\n" for part in shown) + f"){end}"


def _plain(annotation: str) -> str:
    return re.sub(r"'([\w.|\[\], ]+)'", r"\1", annotation) if ": '" in annotation else annotation


def _body(doc: Docstring) -> str:
    text = "\n\n".join(_paragraph(part) for part in doc.text.split("\n\n")) + "\n"
    if doc.args:
        text += "\n" + table(
            ["parameter", ""], [[f"`{name}`", plain(what)] for name, what in doc.args.items()]
        )
    if doc.returns:
        text += f"\n**Returns** {plain(doc.returns)}\n"
    if doc.raises:
        text += "\n" + table(
            ["raises", "if"], [[f"`{name}`", plain(what)] for name, what in doc.raises.items()]
        )
    if doc.example:
        text += f"\n```pycon\n{re.sub(r'  # doctest:.*', '', doc.example)}\n```\n"
    return text


def _paragraph(text: str) -> str:
    return f"```text\n{inspect.cleandoc(text)}\n```" if text.startswith("    ") else plain(text)
