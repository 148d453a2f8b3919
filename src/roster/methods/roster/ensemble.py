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


def distillation_loss(
    b: Tensor, z: Tensor, e: Tensor, r: Tensor, weight: Tensor, joint: bool = False
) -> Tensor:
    """KL(y restricted to types, renormalised || r) + BCE(e, 1 - y_O), means by `weight`.

    Args:
        b: logits of the entity head.
        z: logits of the type head.
        e: 1 - y_O, the entity probability in the mean distribution y.
        r: the mean distribution over types, renormalised.
        weight: of each word.
        joint: multiply the first term of each word by its e. The sum is then, up to a constant, the KL
            divergence of y and the model's own distribution over O and the types. Without it most of the
            term is the types of words that are O in y, which no decision needs.
    """
    types = kl(r, z)
    return wmean(e * types if joint else types, weight) + wmean(bce(e, b), weight)


class DistillationObjective(Objective):
    """Learn the mean distribution `y` of the K models on all words but gold ones, which keep their labels."""

    capturable = True

    def __init__(self, corpus: DeviceCorpus, y: np.ndarray, gold: Gold | None = None, joint: bool = False):
        super().__init__(corpus, gold)
        self.joint = joint
        e, r = split_joint(torch.from_numpy(y).to(corpus.device))
        self.e, self.r = self.gold.entities(e), self.gold.types(r)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        ((b, z),) = outputs
        weight = self.counted(words, present)
        return distillation_loss(b, z, self.e[words], self.r[words], weight, self.joint)
