"""Noise-robust training (Section 3.2), the inner loop of Algorithm 1, lines 4 to 9."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.config import NoiseRobust
from roster.learn.gold import Gold
from roster.learn.label_removal import dropped_o, label_weights, top_o
from roster.learn.loop import Coming, Models, Objective, read_coming
from roster.learn.losses import noise_robust_loss, type_loss
from roster.learn.masking import Disguise
from roster.learn.positive_unlabelled import Confidence, pu_risk
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
        labelled = np.ones(len(labels), bool) if unlabelled is None else ~unlabelled
        seen &= labelled
        self.labelled = torch.from_numpy(labelled).to(corpus.device)
        self.seen = torch.from_numpy(seen).to(corpus.device).float()
        self.w_e = self.seen.clone()
        self.w_t = (self.labels > 0).float().repeat(len(seeds), 1)
        self.plain = torch.zeros((), dtype=torch.bool, device=corpus.device)
        self.epoch = 0
        self.confidence = Confidence(self.labels, len(seeds)) if config.pu else None

    def start_epoch(self, models: Models, epoch: int) -> None:
        self.epoch = epoch
        self.plain.fill_(epoch < self.config.plain_epochs)  # a captured step reads it

    def prepare(self, models: Models, step: int, coming: Coming) -> None:
        """Before batch number `step`: w_i <- 1[f_{i, y_i} > tau] of the words until the next time."""
        c = self.config
        reads = (c.remove_labels or c.o_labels == "top" or c.pu) and self.epoch >= c.plain_epochs
        if not reads or step == 0 or step % c.update_every:
            return
        rows = coming(c.update_every)
        for member, (words, p) in enumerate(read_coming(models, self.corpus, rows)):
            self._renew(member, words, *split_joint(p))

    def _renew(self, member: int, words: Tensor | slice, e: Tensor, r: Tensor) -> None:
        c, labels, fixed = self.config, self.labels[words], self.gold.fixed[words]
        if c.o_labels == "top":
            free = ~fixed & self.labelled[words]
            seen = fixed.float()
            seen[free] = top_o(e[free], labels[free], c.drop_o, c.max_o, c.tau)
            self.seen[member, words] = self.w_e[member, words] = seen
        if c.remove_labels:
            w_e, w_t = label_weights(e, r, labels, c.tau, c.keep_minority, c.remove_entities)
            self.w_e[member, words] = torch.where(fixed, 1.0, w_e) * self.seen[member, words]
            self.w_t[member, words] = torch.where(fixed, (labels > 0).float(), w_t)
        self._renew_confidence(member, words, e)

    def _renew_confidence(self, member: int, words: Tensor | slice, e: Tensor) -> None:
        """Of a gold word everybody is sure: a gold `O` is always a negative, a gold entity a positive."""
        if self.confidence is not None:
            self.confidence.renew(member, words, self.gold.entities(e, words))

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
        ((b, z),) = outputs
        counted = self.counted(words, present)
        w_e, w_t = (w.gather(1, words) * counted for w in (self.w_e, self.w_t))
        labels, q = self.labels[words], self.config.q
        robust = noise_robust_loss(b, z, labels, w_e, w_t, q)
        if self.confidence is not None:
            risk = self._risk(b, words, counted) + type_loss(z, labels, w_t, q)
            robust = torch.where(self.confidence.prior > 0, risk, robust)
        if not self.config.plain_epochs:
            return robust
        return torch.where(self.plain, noise_robust_loss(b, z, labels, w_e, w_t, 0.0), robust)

    def _risk(self, b: Tensor, words: Tensor, counted: Tensor) -> Tensor:
        """Unlabelled are all O words but those left out by `drop_o`: which of them to believe is for the risk
        to say, and not for label removal."""
        assert self.confidence is not None
        entity = self.labels[words] > 0
        w_e, seen, confidence = (x.gather(1, words) for x in (self.w_e, self.seen, self.confidence.words))
        positive, unlabelled = w_e * entity * counted, seen * ~entity * counted
        c = self.config
        return pu_risk(b, positive, unlabelled, confidence, self.confidence.prior, c.pu_weight, c.q)

    def state(self) -> dict[str, Tensor]:
        found = {"w_e": self.w_e, "w_t": self.w_t}
        if self.config.o_labels == "top":
            found["seen"] = self.seen
        return found if self.confidence is None else {**found, **self.confidence.state()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        for name in ("w_e", "w_t", *(["seen"] if self.config.o_labels == "top" else [])):
            getattr(self, name).copy_(state[name])
        if self.confidence is not None:
            self.confidence.load_state(state)
