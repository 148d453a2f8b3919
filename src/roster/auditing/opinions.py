"""What the members of a run think of its training text, and whether they had seen the label they judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Opinions:
    """Distributions of the members for every word of the training text.

    Members memorise the labels they learn. Of a word whose name was held out of one member, that member's
    distribution is out of fold: it has not seen the label. The mean of all is more accurate, but leans
    towards the label.
    """

    members: Sequence[np.ndarray]
    """[words, 1 + types] for each member."""
    held_out: np.ndarray
    """[words]: the member that a word was held out of, or -1."""
    removed: np.ndarray | None = None
    """[members, words]: at how many removals a member found the label wrong; None: no label was removed."""

    def mean(self) -> np.ndarray:
        """[words, classes]"""
        total = np.zeros(self.members[0].shape, np.float32)
        for p in self.members:
            total += p
        return total / len(self.members)

    def out_of_fold(self) -> np.ndarray:
        """[words, classes]: of words held out of a member that member's distribution, else the mean."""
        found = self.mean()
        for number, p in enumerate(self.members):
            mine = self.held_out == number
            found[mine] = p[mine]
        return found

    def is_out_of_fold(self) -> np.ndarray:
        """[words]: whether there is a member that did not learn the label."""
        return (self.held_out >= 0) & (self.held_out < len(self.members))

    def doubts(self) -> np.ndarray:
        """[words]: how often, on average over the members that learned the label, it was found wrong, as a
        share of the most that any label was."""
        if self.removed is None or not self.removed.size or not self.removed.max():
            return np.zeros(len(self.held_out), np.float32)
        learned = np.stack([self.held_out != number for number in range(len(self.removed))])
        times: np.ndarray = (self.removed * learned).sum(0) / np.maximum(1, learned.sum(0))
        return (times / self.removed.max()).astype(np.float32)
