"""Positive-unlabelled learning: a word labelled O may be an entity that the dictionary lacks.

The Conf-MPU risk of Zhou, Li and Li (ACL 2022), for the entity head. An option of noise-robust training.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from roster.learn.losses import gce, wmean

ETA = 0.5
"""A word whose confidence is above this is taken for an entity, whatever its label."""


def pu_risk(
    b: Tensor,
    positive: Tensor,
    unlabelled: Tensor,
    confidence: Tensor,
    prior: Tensor,
    weight: float,
    q: float,
) -> Tensor:
    """Conf-MPU, with lambda the `confidence` that a word is an entity, pi the `prior` and m the `weight`:

        m pi E_P[ max(0, l(1) - l(0) + 1[lambda > eta] l(0) / lambda) ]  +  E_U[ 1[lambda <= eta] l(0) ]

    `l(1)` and `l(0)` are the losses of the entity logit `b` as an entity and as none, here GCE: mean absolute
    error, which the authors use, at q = 1. P are the words with an entity label and U those labelled O, with
    weights `positive` and `unlabelled`. All are [..., words] but `prior` [...], and each row is a risk of its
    own.

    The paper sums over types, each with its prior. The entity head tells no types apart, so they are one
    class here: the same sum when the priors of the types are as the numbers of their labels. m = 1 is the
    risk itself; the authors' code multiplies its first part by 10 to 28, without which a bounded loss learns
    that nothing is an entity. Their code takes the maximum over the whole first part, and the two means with
    lambda in them over the words that pass; this is the paper's formula, word by word.
    """
    as_entity, as_none = gce(F.logsigmoid(b), q), gce(F.logsigmoid(-b), q)
    trusted = (confidence > ETA).float()
    corrected = (as_entity - as_none + trusted * as_none / confidence.clamp_min(ETA)).clamp_min(0)
    return weight * prior * wmean(corrected, positive) + wmean((1 - trusted) * as_none, unlabelled)


class Confidence:
    """Each model's `confidence` in every word [K, words], and its `prior` [K]; 0 until its first reading.

    The authors train a binary model for the one and are given the other. Here both are what the model itself
    says every U batches: lambda is `e`, and pi is the mean of `e` over the words that were read, but no less
    than the share of all words that have an entity label.
    """

    def __init__(self, labels: Tensor, k: int):
        self.words = torch.zeros(k, len(labels), device=labels.device)
        self.prior = torch.zeros(k, device=labels.device)
        self._least = (labels > 0).float().mean()

    def renew(self, member: int, words: Tensor | slice, e: Tensor) -> None:
        self.words[member, words] = e
        self.prior[member] = torch.maximum(e.mean(), self._least)

    def state(self) -> dict[str, Tensor]:
        return {"confidence": self.words, "prior": self.prior}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.words.copy_(state["confidence"])
        self.prior.copy_(state["prior"])
