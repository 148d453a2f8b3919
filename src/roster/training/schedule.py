"""The learning-rate schedule of every training: linear warm-up, then linear decay to 0."""

from __future__ import annotations


def warmup_decay(position: float, warmup: float, total: float = 1.0) -> float:
    """Return the share of the peak learning rate at a position of the training.

    Parameters:
        position: how much of the training is done, in steps or as a share.
        warmup: the length of the warm-up, in the same unit.
        total: the length of the whole training, in the same unit.

    >>> [round(warmup_decay(share, 0.1), 2) for share in (0, 0.05, 0.1, 0.55, 1)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    >>> [warmup_decay(step, 2, 10) for step in (1, 2, 6)]
    [0.5, 1.0, 0.5]
    """
    if position < warmup:
        return position / warmup
    return (total - position) / (total - warmup) if warmup < total else 1.0
