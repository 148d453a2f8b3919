"""RoSTER: a named-entity recogniser from raw text and a dictionary, without annotation.

>>> import roster
>>> sorted(roster.__all__)
['Entity', 'Recogniser', 'evaluate', 'export', 'label', 'load', 'pretrain', 'train']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roster.api import Entity, Recogniser, evaluate, export, label, load, pretrain, train

__version__ = "0.1.0"
__all__ = ["Entity", "Recogniser", "evaluate", "export", "label", "load", "pretrain", "train"]


def __getattr__(name: str) -> Any:
    """torch and transformers are imported when something is asked of them, not by `import roster`."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("roster.api"), name)
    raise AttributeError(f"module 'roster' has no attribute '{name}'")
