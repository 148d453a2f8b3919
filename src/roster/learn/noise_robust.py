"""Noise-robust training (Section 3.2), the inner loop of Algorithm 1, lines 4 to 9."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.config import NoiseRobust
from roster.learn.gold import Gold
from roster.learn.label_removal import dropped_o, label_weights
from roster.learn.loop import Coming, Models, Objective, read_coming
from roster.learn.losses import noise_robust_loss
from roster.learn.masking import Disguise
from roster.model.batches import DeviceCorpus
from roster.model.heads import split_joint


class NoiseRobustObjective(Objective):
    """GCE on the labels that are left; every U batches the disbelieved ones are removed anew; gold ones stay.

    With `plain_epochs`, cross entropy on all of them at first. GCE pays little heed to labels that a model
    finds unlikely, and where entity labels are few, it finds all of them unlikely at first.

    One seed for each model: every one leaves out O words of its own, and removes labels for itself. Of words
    that are `unlabelled` nobody says that they are `O`: they are in no loss.
    """

    def __init__(
        self,
        corpus: DeviceCorpus,
        labels: np.ndarray,
        config: NoiseRobust,
        seeds: Sequence[int],
        mask: Disguise,
        gold: Gold | None = None,
        unlabelled: np.ndarray | None = None,
    ):
        super().__init__(corpus, gold)
        self.config, self.disguise = config, mask  # type: ignore[method-assign, assignment]
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(corpus.device)
        seen, noisy = np.ones((len(seeds), len(labels)), bool), ~self.gold.fixed.cpu().numpy()
        for row, seed in zip(seen, seeds, strict=True):
            generator = np.random.default_rng(seed)
            row[noisy] = ~dropped_o(labels[noisy], config.drop_o, generator, config.max_o)
        if unlabelled is not None:
            seen &= ~unlabelled
        self.seen = torch.from_numpy(seen).to(corpus.device).float()
        self.w_e = self.seen.clone()
        self.w_t = (self.labels > 0).float().repeat(len(seeds), 1)
        self.plain = torch.zeros((), dtype=torch.bool, device=corpus.device)
        self.epoch = 0

    def start_epoch(self, models: Models, epoch: int) -> None:
        self.epoch = epoch
        self.plain.fill_(epoch < self.config.plain_epochs)  # a captured step reads it

    def prepare(self, models: Models, step: int, coming: Coming) -> None:
        """Before batch number `step`: w_i <- 1[f_{i, y_i} > tau] of the words until the next time."""
        c = self.config
        removes = c.remove_labels and self.epoch >= c.plain_epochs
        if not removes or step == 0 or step % c.update_every:
            return
        rows = coming(c.update_every)
        for member, (words, p) in enumerate(read_coming(models, self.corpus, rows)):
            labels, fixed = self.labels[words], self.gold.fixed[words]
            w_e, w_t = label_weights(*split_joint(p), labels, c.tau, c.keep_minority, c.remove_entities)
            self.w_e[member, words] = torch.where(fixed, 1.0, w_e) * self.seen[member, words]
            self.w_t[member, words] = torch.where(fixed, (labels > 0).float(), w_t)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
        ((b, z),) = outputs
        counted = self.counted(words, present)
        w_e, w_t = (w.gather(1, words) * counted for w in (self.w_e, self.w_t))
        labels, q = self.labels[words], self.config.q
        robust = noise_robust_loss(b, z, labels, w_e, w_t, q)
        if not self.config.plain_epochs:
            return robust
        return torch.where(self.plain, noise_robust_loss(b, z, labels, w_e, w_t, 0.0), robust)

    def kept_labels(self, member: int) -> dict[str, float]:
        """How much of the distant labels the last removal left."""
        entity = self.labels > 0
        kept_o = self.w_e[member][~entity]
        return {
            "kept_type_labels": round(float(self.w_t[member][entity].mean()), 4),
            "kept_o_labels": round(float(kept_o.mean()), 4) if len(kept_o) else 0.0,
        }

    def state(self) -> dict[str, Tensor]:
        return {"w_e": self.w_e, "w_t": self.w_t}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.w_e.copy_(state["w_e"])
        self.w_t.copy_(state["w_t"])
