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


FEW = 4
"""With more batches for each worker than this, those that are left over at the end do not matter."""


def plan_for(lengths: np.ndarray, tokens: int, workers: int) -> list[np.ndarray]:
    """The same for so many workers: few batches are of like size, and as many for each.

    >>> [rows.tolist() for rows in plan_for(np.array([2, 9, 4, 3, 2]), 100, 2)]
    [[1], [2, 3, 0, 4]]
    >>> [rows.tolist() for rows in plan_for(np.array([2, 9, 4, 3, 2]), 8, 1)]
    [[1], [2, 3], [0, 4]]
    """
    batches = plan(lengths, tokens)
    if workers == 1 or not 0 < len(batches) <= FEW * workers:
        return batches
    wanted = -(-len(batches) // workers) * workers
    limit = min(tokens, -(-int(lengths.sum()) // wanted))
    while len(smaller := plan(lengths, limit)) > wanted:
        limit = min(tokens, limit + max(1, limit // 8))
    return smaller
