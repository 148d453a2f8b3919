"""Language-model-augmented self-training (Section 3.3), Algorithm 1, lines 11 to 18."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.methods.roster.head import split_joint
from roster.methods.roster.settings import SelfTraining
from roster.model.batches import DeviceCorpus
from roster.training.gold import Gold
from roster.training.losses import bce, kl, soft_labels, wmean
from roster.training.objective import Models, Objective, Rows, Upcoming, read_upcoming


def self_training_loss(
    b: Tensor,
    z: Tensor,
    s: Tensor,
    e: Tensor,
    z_augmented: Tensor | None,
    agreement: bool,
    weight: Tensor,
) -> Tensor:
    """KL(s || r) + BCE(e, 1 - y_O) + KL(s || r'), Eq. 8 with the entity head held to its predictions.

    Words without a type target (all of `s` 0) count in the second term only; with `agreement`,
    the third counts only words on which original and augmented sentence have the same best type. All
    count by their `weight`.
    """
    has_target = (s.sum(-1) > 0).float() * weight
    loss = wmean(kl(s, z), has_target) + wmean(bce(e, b), weight)
    if z_augmented is not None:
        kept = has_target
        if agreement:
            kept = kept * (z_augmented.argmax(-1) == z.argmax(-1))
        loss = loss + wmean(kl(s, z_augmented), kept)
    return loss


class SelfTrainingObjective(Objective):
    """Soft labels renewed every U' batches, but for gold words, which keep theirs; new augmentations every
    epoch."""

    capturable = True

    def __init__(
        self,
        corpus: DeviceCorpus,
        y: np.ndarray | None,
        config: SelfTraining,
        augment: Callable[[Models, int], DeviceCorpus] | None,
        gold: Gold | None = None,
    ):
        super().__init__(corpus, gold)
        self.config, self.augment = config, augment
        self.e: Tensor | None = None
        if y is not None:
            self.e = self.gold.entities(split_joint(torch.from_numpy(y).to(corpus.device))[0])
        self.s: Tensor | None = None
        self.augmented: DeviceCorpus | None = None

    def prepare(self, models: Models, step: int, upcoming: Upcoming) -> None:
        """Before batch number `step`: the soft labels until the next time, from the model as it is now."""
        if step % self.config.update_every:
            return
        rows = None if self.e is None else upcoming(self.config.update_every)
        ((words, p),) = read_upcoming(models, self.corpus, rows)
        e, r = split_joint(p)
        e = self.gold.entities(e, words)
        if self.s is None:
            self.s = torch.zeros(self.corpus.n_words, r.shape[1], device=r.device)
        self.s[words] = self.gold.types(soft_labels(r, e >= self.config.threshold), words)
        if self.e is None:  # no ensemble: held to its own predictions at the start
            self.e = e

    def type_targets(self) -> float:
        """The share of words that have a soft label now. At 0, augmentations have taught nothing."""
        return 0.0 if self.s is None else round(float((self.s.sum(-1) > 0).float().mean()), 4)

    def start_epoch(self, models: Models, epoch: int) -> None:
        self.augmented = self.augment(models, epoch) if self.augment else None

    def inputs(self) -> list[DeviceCorpus]:
        return [self.corpus] if self.augmented is None else [self.corpus, self.augmented]

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        assert self.s is not None
        assert self.e is not None
        b, z = outputs[0]
        z_augmented = outputs[1][1] if len(outputs) > 1 else None
        return self_training_loss(
            b,
            z,
            self.s[words],
            self.e[words],
            z_augmented,
            self.config.agreement,
            self.counted(words, present),
        )

    def state(self) -> dict[str, Tensor]:
        assert self.s is not None
        assert self.e is not None
        return {"s": self.s, "e": self.e}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.s, self.e = (state[name].to(self.corpus.device) for name in ("s", "e"))


class VariableLengthSelfTraining(SelfTrainingObjective):
    """The same for augmentations that change the number of sub-words: a recorded step needs fixed shapes."""

    capturable = False
