"""The losses of the paper, on arrays. All take logits or log-probabilities, so that none can overflow."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def gce(log_p: Tensor, q: float | Tensor) -> Tensor:
    """Generalised cross entropy of the probability `p` that a word's label was given:

        GCE_q(p) = (1 - p^q) / q        q -> 0: -log p (cross entropy)        q = 1: 1 - p (MAE)

    Its gradient with respect to `log p` is `-p^q`, finite down to `p = 0`.

    >>> gce(torch.tensor([0.25]).log(), 0.5).item()
    1.0
    """
    if isinstance(q, Tensor):  # may change between two replays of a captured step
        robust = q > 0
        safe = torch.where(robust, q, 1.0)
        return torch.where(robust, -torch.expm1(safe * log_p) / safe, -log_p)
    if q == 0:
        return -log_p
    return -torch.expm1(q * log_p) / q


def wmean(x: Tensor, w: Tensor) -> Tensor:
    """sum(w x) / sum(w) over the last dimension, and 0 where no weight is left.

    >>> wmean(torch.tensor([1.0, 5.0]), torch.tensor([1.0, 0.0])).item()
    1.0
    """
    total = w.sum(-1)
    return (w * x).sum(-1) / torch.where(total > 0, total, 1.0)


def noise_robust_loss(
    b: Tensor, z: Tensor, labels: Tensor, w_e: Tensor, w_t: Tensor, q_e: float | Tensor, q_t: float | Tensor
) -> Tensor:
    """wmean(GCE(entity head), w_e) + wmean(GCE(type head over entity-labelled words), w_t).

    `labels`: 0 is `O`, t + 1 is type t. `w_t` must be 0 on words labelled `O`. All but `z` are [..., words],
    and each row is a loss of its own. `q_e` and `q_t` are the exponents of the two heads.
    """
    entity = labels > 0
    log_p = F.logsigmoid(torch.where(entity, b, -b))
    log_r = z.log_softmax(-1).gather(-1, (labels - 1).clamp_min(0).unsqueeze(-1)).squeeze(-1)
    return wmean(gce(log_p, q_e), w_e) + wmean(gce(log_r, q_t), w_t * entity)


def kl(target: Tensor, logits: Tensor) -> Tensor:
    """KL(target || softmax(logits)) of each word, with 0 log 0 = 0."""
    return (torch.xlogy(target, target) - target * logits.log_softmax(-1)).sum(-1)


def bce(target: Tensor, b: Tensor) -> Tensor:
    """Binary cross entropy of `sigmoid(b)` against a probability, of each word."""
    return F.binary_cross_entropy_with_logits(b, target, reduction="none")


def soft_labels(r: Tensor, entity: Tensor) -> Tensor:
    """Squared and normalised predictions over the words with `entity` true (Eq. 7):

        s_t = (r_t^2 / f_t) / sum_t' (r_t'^2 / f_t')        f_t = sum over those words of r_t

    Rows of the other words are 0: they get no type target. `r` is [..., words, types].
    """
    f = (r * entity.unsqueeze(-1)).sum(-2, keepdim=True)
    s = r.square() / torch.where(f > 0, f, 1.0)
    total = s.sum(-1, keepdim=True)
    s = torch.where(total > 0, s / torch.where(total > 0, total, 1.0), r)
    return s * entity.unsqueeze(-1)
