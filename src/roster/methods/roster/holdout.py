"""What a model finds in its own training text: of the labels it learned, and of the names held out of it.

The second is a signal of quality that needs no gold label: a member that memorises its labels scores high on
the first and low on the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roster.methods.roster.folds import Folds
from roster.training.mentions import Mentions, found_mentions


@dataclass(frozen=True)
class Estimate:
    """A mean over distinct names with its standard error."""

    value: float
    error: float
    names: int

    @classmethod
    def of(cls, shares: np.ndarray) -> Estimate | None:
        """From one share for each name; None without a name.

        >>> Estimate.of(np.array([1.0, 0.0, 1.0, 0.0]))
        Estimate(value=0.5, error=0.25, names=4)
        """
        if not len(shares):
            return None
        return cls(float(shares.mean()), float(shares.std()) / math.sqrt(len(shares)), len(shares))

    def as_dict(self) -> dict[str, float]:
        return {"value": round(self.value, 4), "error": round(self.error, 4), "names": self.names}


def shares_by_name(found: np.ndarray, mentions: Mentions, which: np.ndarray) -> np.ndarray:
    """Of every name with mentions among `which` the share of them that was found."""
    names = mentions.name[which]
    if not len(names):
        return np.zeros(0)
    count = np.bincount(names)
    hits = np.bincount(names, weights=found[which])
    return hits[count > 0] / count[count > 0]


def held_out_recall(
    members: Sequence[np.ndarray], folds: Folds, starts: np.ndarray, label: int | None = None
) -> Estimate | None:
    """Hold-out recall over the names of all members' folds, or those of one type; averaged by name.

    `members` are the classes [words] that each member predicts, from member 0 on.
    """
    shares = []
    for member, classes in enumerate(members):
        which = folds.held_out_mentions(member)
        if label is not None:
            which = which & (folds.mentions.label == label)
        found = found_mentions(classes, folds.mentions, starts)
        shares.append(shares_by_name(found, folds.mentions, which))
    return Estimate.of(np.concatenate(shares)) if shares else None
