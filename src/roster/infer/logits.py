"""From the heads' raw output to distributions over classes, in numpy.

The same mathematics as `roster.model.heads`, without torch.
"""

from __future__ import annotations

import numpy as np


def probabilities(kind: str, logits: np.ndarray) -> np.ndarray:
    """[words, classes]; two heads become `[1 - e, e r_1, ..., e r_T]`.

    >>> probabilities("two-heads", np.zeros((1, 3), np.float32)).tolist()
    [[0.5, 0.25, 0.25]]
    """
    if kind != "two-heads":
        return _softmax(logits)
    b = logits[:, :1]
    return np.concatenate([_sigmoid(-b), _sigmoid(b) * _softmax(logits[:, 1:])], 1)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.exp(-np.logaddexp(x.dtype.type(0), -x))
    return found


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    found: np.ndarray = e / e.sum(-1, keepdims=True)
    return found
