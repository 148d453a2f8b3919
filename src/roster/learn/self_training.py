"""Language-model-augmented self-training (Section 3.3), Algorithm 1, lines 11 to 18."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from roster.config import SelfTraining
from roster.learn.loop import Objective
from roster.learn.losses import bce, kl, wmean
from roster.model.batches import Batch, DeviceCorpus
from roster.model.heads import TwoHeads, split_joint
from roster.model.reading import read_probabilities


def soft_labels(r: Tensor, entity: Tensor) -> Tensor:
    """Squared and normalised predictions over the words with `entity` true (Eq. 7):

        s_t = (r_t^2 / f_t) / sum_t' (r_t'^2 / f_t')        f_t = sum over those words of r_t

    Rows of the other words are 0: they get no type target.
    """
    f = (r * entity.unsqueeze(1)).sum(0)
    s = r.square() / torch.where(f > 0, f, 1.0)
    total = s.sum(-1, keepdim=True)
    s = torch.where(total > 0, s / torch.where(total > 0, total, 1.0), r)
    return s * entity.unsqueeze(1)


def self_training_loss(
    b: Tensor, z: Tensor, s: Tensor, e: Tensor, z_augmented: Tensor | None, agreement: bool
) -> Tensor:
    """KL(s || r) + BCE(e, 1 - y_O) + KL(s || r'), Eq. 8 with the entity head held to its predictions.

    Words without a type target (all of `s` 0) count in the second term only; with `agreement`,
    the third counts only words on which original and augmented sentence have the same best type.
    """
    has_target = (s.sum(-1) > 0).float()
    loss = wmean(kl(s, z), has_target) + bce(e, b).mean()
    if z_augmented is not None:
        kept = has_target
        if agreement:
            kept = kept * (z_augmented.argmax(-1) == z.argmax(-1))
        loss = loss + wmean(kl(s, z_augmented), kept)
    return loss


class SelfTrainingObjective(Objective[TwoHeads]):
    """Soft labels renewed every U' batches; new augmentations every epoch."""

    def __init__(
        self,
        corpus: DeviceCorpus,
        y: np.ndarray | None,
        config: SelfTraining,
        augment: Callable[[TwoHeads, int], DeviceCorpus] | None,
        precision: str,
    ):
        super().__init__(corpus)
        self.config, self.augment, self.precision = config, augment, precision
        self.e = None if y is None else split_joint(torch.from_numpy(y).to(corpus.device))[0]
        self.s: Tensor | None = None
        self.augmented: DeviceCorpus | None = None

    def prepare(self, model: TwoHeads, step: int) -> None:
        """Before batch number `step`: the soft labels, from the model as it is now."""
        if step % self.config.update_every:
            return
        e, r = split_joint(read_probabilities(model, self.corpus, self.precision))
        self.s = soft_labels(r, e >= self.config.threshold)
        if self.e is None:  # no ensemble: held to its own predictions at the start
            self.e = e

    def start_epoch(self, model: TwoHeads, epoch: int) -> None:
        self.augmented = self.augment(model, epoch) if self.augment else None

    def batches(self, plan: list[np.ndarray]) -> Iterator[tuple[Batch, ...]]:
        if self.augmented is None:
            return super().batches(plan)
        return zip(self.corpus.batches(plan), self.augmented.batches(plan), strict=True)

    def loss(self, model: TwoHeads, *batches: Batch) -> Tensor:
        batch = batches[0]
        assert self.s is not None
        assert self.e is not None
        s, e = self.s[batch.words], self.e[batch.words]
        if len(batches) == 1:
            b, z = model(batch)
            return self_training_loss(b, z, s, e, None, self.config.agreement)
        augmented, n = batches[1], len(batch.words)
        if augmented.ids.shape == batch.ids.shape:  # one wide pass is faster than two
            b, z = model(batch.stacked(augmented))
            b, z, z_augmented = b[:n], z[:n], z[n:]
        else:
            b, z = model(batch)
            _, z_augmented = model(augmented)
        return self_training_loss(b, z, s, e, z_augmented, self.config.agreement)

    def state(self) -> dict[str, Tensor]:
        assert self.s is not None
        assert self.e is not None
        return {"s": self.s, "e": self.e}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.s, self.e = (state[name].to(self.corpus.device) for name in ("s", "e"))
