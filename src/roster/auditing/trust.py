"""How far a label is trusted, by all that speaks for and against it, as one number.

What the members think of the label itself decides most. Where that is near 0 for many labels, the rest
decides which of them come first: the other labels of its entry, and what the members find in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roster.auditing.spans import Spans

SAME, LONGER, NOTHING, OTHER = range(4)
"""What is found in the place of a label: the same span and type, a longer name of any type that contains it,
no name, or another name."""
LEAST = 1e-7
"""Certainties are kept so far from 0 and 1, which half precision rounds to. Which claims are the first
hundred depends on it."""
LEAST_RATE = 1e-3


@dataclass(frozen=True)
class Weights:
    """How much each signal counts, in log odds. `entry`, `place` and `removed` were chosen by leaving out
    one text of four (docs/audit.md); the order of the claims hardly depends on them."""

    entry: float = 0.25
    """The log odds that the other labels of the entry are right."""
    few: float = 5.0
    """So many labels of its type are added to those of an entry."""
    place: float = 0.5
    """Against a doubted label where the members find a longer name or nothing, for it where they find another
    name: the first is wrong more often on every text."""
    removed: float = 0.5
    """Share of the certainty that the label loses which was removed most often."""


WEIGHTS = Weights()


def places(spans: Spans, found: Spans, meets: np.ndarray) -> np.ndarray:
    """[spans]: SAME, LONGER, NOTHING or OTHER.

    `meets` is the number of the name in `found` that shares a word with a span, or -1.

    >>> spans = Spans(np.array([0, 2, 5, 7]), np.array([1, 3, 6, 8]), np.array([1, 1, 1, 1]))
    >>> found = Spans(np.array([0, 2, 7]), np.array([1, 4, 8]), np.array([1, 1, 2]))
    >>> places(spans, found, np.array([0, 1, -1, 2])).tolist()
    [0, 1, 2, 3]
    """
    if not len(found):
        return np.full(len(spans), NOTHING)
    at = np.maximum(0, meets)
    start, end, label = found.start[at], found.end[at], found.label[at]
    words = (start == spans.start) & (end == spans.end)
    longer = (start <= spans.start) & (end >= spans.end) & ~words
    return np.select(
        [meets < 0, words & (label == spans.label), longer], [NOTHING, SAME, LONGER], default=OTHER
    )


def rates(values: np.ndarray, groups: np.ndarray, types: np.ndarray, few: float) -> np.ndarray:
    """[values]: the mean of the other values of the group, shrunk towards that of the type.

    `groups` and `types` are numbers; `few` values of the type's mean are added to those of a group.

    >>> one_type = np.zeros(4, int)
    >>> rates(np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 0, 0, 1]), one_type, 2.0).tolist()
    [0.25, 0.5, 0.5, 0.5]
    """
    if not len(values):
        return np.zeros(0)
    total, count = np.bincount(groups, weights=values), np.bincount(groups)
    of_type = np.bincount(types, weights=values) / np.maximum(1, np.bincount(types))
    rate: np.ndarray = (total[groups] - values + few * of_type[types]) / (count[groups] - 1 + few)
    return rate


def trust(
    certainty: np.ndarray,
    doubts: np.ndarray,
    place: np.ndarray,
    entry: np.ndarray,
    label: np.ndarray,
    doubted: float,
    weights: Weights = WEIGHTS,
) -> np.ndarray:
    """[labels]: log odds that a label is right.

    Args:
        certainty: of the label, by the mean of the members.
        doubts: how often label removal found it wrong, from 0 to 1.
        place: what is found in its place (`places`).
        entry: the number of the entry that made it.
        label: its class.
        doubted: below this certainty a label is doubted.
        weights: how much each signal counts.
    """
    own = certainty * (1 - weights.removed * doubts)
    others = rates(own, entry, label, weights.few)
    against = np.where((place == LONGER) | (place == NOTHING), 1.0, -1.0) * (own < doubted)
    return log_odds(own, LEAST) + weights.entry * log_odds(others, LEAST_RATE) - weights.place * against


def log_odds(p: np.ndarray, least: float) -> np.ndarray:
    """Log odds of probabilities, which are kept `least` away from 0 and 1.

    >>> log_odds(np.array([0.5, 0.0]), 0.1).round(3).tolist()
    [0.0, -2.197]
    """
    kept = np.clip(p.astype(np.float64), least, 1 - least)
    odds: np.ndarray = np.log(kept / (1 - kept))
    return odds


def share(odds: np.ndarray) -> np.ndarray:
    """The probability of log odds."""
    p: np.ndarray = 1 / (1 + np.exp(-odds))
    return p
