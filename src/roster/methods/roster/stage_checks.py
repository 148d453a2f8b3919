"""Checks without gold labels: does a model agree with its target, has a stage lost what came before it?

All are made from the classes that a model gives the words of its own training text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roster.training.mentions import Mentions, TypeCount, count_by_type

FEWEST = 10
"""A type is judged by at least so many labels or entities."""
KEPT = 0.5
"""A stage that keeps less than this share of a type's entities, or of its labels found, has lost the type."""


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
