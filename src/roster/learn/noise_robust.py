"""Noise-robust training of one model (Section 3.2), the inner loop of Algorithm 1, lines 4 to 9."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from roster.config import NoiseRobust
from roster.learn.label_removal import dropped_o, label_weights
from roster.learn.loop import Objective
from roster.learn.losses import noise_robust_loss
from roster.learn.masking import InputMask
from roster.model.batches import Batch, DeviceCorpus
from roster.model.heads import TwoHeads, split_joint
from roster.model.reading import read_probabilities


class NoiseRobustObjective(Objective[TwoHeads]):
    """GCE on the labels that are left; every U batches the disbelieved ones are removed anew."""

    def __init__(
        self,
        corpus: DeviceCorpus,
        labels: np.ndarray,
        config: NoiseRobust,
        seed: int,
        mask: InputMask,
        precision: str,
    ):
        super().__init__(corpus)
        self.config, self.mask, self.precision = config, mask, precision
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(corpus.device)
        seen = ~dropped_o(labels, config.drop_o, np.random.default_rng(seed), config.max_o)
        self.seen = torch.from_numpy(seen).to(corpus.device).float()
        self.w_e = self.seen.clone()
        self.w_t = (self.labels > 0).float()

    def prepare(self, model: TwoHeads, step: int) -> None:
        """Before batch number `step`: w_i <- 1[f_{i, y_i} > tau]."""
        if not self.config.remove_labels or step == 0 or step % self.config.update_every:
            return
        e, r = split_joint(read_probabilities(model, self.corpus, self.precision))
        c = self.config
        w_e, self.w_t = label_weights(e, r, self.labels, c.tau, c.keep_minority, c.remove_entities)
        self.w_e = w_e * self.seen

    def loss(self, model: TwoHeads, *batches: Batch) -> Tensor:
        (batch,) = batches
        b, z = model(self.mask(batch))
        i = batch.words
        return noise_robust_loss(b, z, self.labels[i], self.w_e[i], self.w_t[i], self.config.q)

    def state(self) -> dict[str, Tensor]:
        return {"w_e": self.w_e, "w_t": self.w_t}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.w_e, self.w_t = (state[name].to(self.corpus.device) for name in ("w_e", "w_t"))
