"""RoSTER: a named-entity recogniser from raw text and a dictionary, without annotation.

>>> import roster
>>> labels = roster.label(["Ada Lovelace was born in London."], {"Ada Lovelace": "PER", "London": "LOC"})
>>> [(s.span_text(x), x.label) for s in labels for x in s.spans]
[('Ada Lovelace', 'PER'), ('London', 'LOC')]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roster.api import (
        Dataset,
        Entity,
        Recogniser,
        Sentence,
        Span,
        evaluate,
        export,
        label,
        load,
        pretrain,
        read,
        train,
        write,
    )

__version__ = "0.1.0"
__all__ = [
    "Dataset",
    "Entity",
    "Recogniser",
    "Sentence",
    "Span",
    "evaluate",
    "export",
    "label",
    "load",
    "pretrain",
    "read",
    "train",
    "write",
]


def __getattr__(name: str) -> Any:
    """torch and transformers are imported when something is asked of them, not by `import roster`."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("roster.api"), name)
    raise AttributeError(f"module 'roster' has no attribute '{name}'")
