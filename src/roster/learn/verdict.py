"""Judgements without gold labels: is a model worse than what it began with, is it far from its labels?

All are made from the classes that a model gives the words of its own training text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from roster.learn.folds import Mentions
from roster.learn.holdout import TypeCount, count_by_type

FEWEST = 10
"""A type is judged by at least so many labels or entities."""
KEPT = 0.5
"""A stage that keeps less than this share of a type's entities, or of its labels found, has lost the type."""
FAR = 0.3
"""A model that finds less than this share of a type's labels in its training text is far from them."""


def agreement(classes: np.ndarray, target: np.ndarray) -> float:
    """The share of words on which both have one class, of those where either has an entity.

    >>> agreement(np.array([0, 1, 1, 0]), np.array([0, 1, 2, 0]))
    0.5
    """
    entity = (classes > 0) | (target > 0)
    return float((classes == target)[entity].mean()) if entity.any() else 1.0


def lost_types(
    before: np.ndarray,
    after: np.ndarray,
    mentions: Mentions,
    starts: np.ndarray,
    types: Sequence[str],
) -> list[str]:
    """Types of which a stage lost most entities, or most of the labels that were found before it."""
    old, new = (count_by_type(classes, mentions, starts, types) for classes in (before, after))
    return [name for name in types if _lost(old[name], new[name])]


def _lost(old: TypeCount, new: TypeCount) -> bool:
    """
    >>> old = TypeCount(labels=40, labels_found=30, found=50)
    >>> _lost(old, TypeCount(40, 30, 20)), _lost(old, TypeCount(40, 28, 45))
    (True, False)
    """
    fewer = old.found >= FEWEST and new.found < KEPT * old.found
    return fewer or (old.labels_found >= FEWEST and new.labels_found < KEPT * old.labels_found)


def far_from_labels(counts: Mapping[str, TypeCount]) -> list[str]:
    """One sentence for each type whose labels the model mostly does not find.

    >>> far_from_labels({"PER": TypeCount(50, 40, 60), "ORG": TypeCount(50, 2, 3)})
    ['ORG: the model finds 2 of the 50 labels in its own training text']
    """
    return [
        f"{name}: the model finds {c.labels_found} of the {c.labels} labels in its own training text"
        for name, c in counts.items()
        if c.labels >= FEWEST and c.labels_found < FAR * c.labels
    ]
