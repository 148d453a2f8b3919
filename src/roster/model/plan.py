"""Which windows are read together; numpy only, for engines that need no torch."""

from __future__ import annotations

import numpy as np


def plan(lengths: np.ndarray, tokens: int) -> list[np.ndarray]:
    """All windows once, by falling length, at most `tokens` sub-words (padding counted) in a batch.

    >>> [rows.tolist() for rows in plan(np.array([2, 9, 4, 3, 2]), 8)]
    [[1], [2, 3], [0, 4]]
    """
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, tokens // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches
