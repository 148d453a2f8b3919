"""Model ensemble (Section 3.2, Eq. 5): one new model learns the mean prediction of K."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.methods.roster.head import split_joint
from roster.model.batches import DeviceCorpus
from roster.training.gold import Gold
from roster.training.losses import bce, kl, wmean
from roster.training.objective import Objective, Rows


def mean_distribution(members: Iterable[np.ndarray]) -> np.ndarray:
    """(1/K) sum_k f_k of every word, [words, 1 + types], from the members' float16 distributions."""
    total, count = None, 0
    for p in members:
        total = p.astype(np.float32) if total is None else total + p
        count += 1
    if total is None:
        raise ValueError("an ensemble needs at least one member")
    return total / count


def distillation_loss(b: Tensor, z: Tensor, e: Tensor, r: Tensor, weight: Tensor) -> Tensor:
    """KL(y restricted to types, renormalised || r) + BCE(e, 1 - y_O), means by `weight`."""
    return wmean(kl(r, z), weight) + wmean(bce(e, b), weight)


class DistillationObjective(Objective):
    """Learn the mean distribution `y` of the K models on all words but gold ones, which keep their labels."""

    capturable = True

    def __init__(self, corpus: DeviceCorpus, y: np.ndarray, gold: Gold | None = None):
        super().__init__(corpus, gold)
        e, r = split_joint(torch.from_numpy(y).to(corpus.device))
        self.e, self.r = self.gold.entities(e), self.gold.types(r)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        ((b, z),) = outputs
        return distillation_loss(b, z, self.e[words], self.r[words], self.counted(words, present))
