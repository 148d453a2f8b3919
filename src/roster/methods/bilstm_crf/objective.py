"""What the BiLSTM-CNN-CRF learns: the tags of whole chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.methods.bilstm_crf.head import CrfHead
from roster.model.batches import DeviceCorpus
from roster.training.gold import Gold
from roster.training.losses import wmean
from roster.training.objective import Objective, Rows


class ChainObjective(Objective):
    """-log p(tags of a chain), mean over the chains of a batch, as the paper's own code has it.

    A chain is what a window classifies: a sentence, where it fits into one. A name that is cut by the border
    of a window begins anew behind it, for no chain may begin with an `I-` tag.
    """

    def __init__(self, corpus: DeviceCorpus, labels: np.ndarray, model: CrfHead, gold: Gold | None = None):
        super().__init__(corpus, gold)
        self.model = model
        encoded = corpus.encoded
        row = np.empty(encoded.n_words, np.int64)
        row[encoded.words] = np.repeat(np.arange(encoded.n_windows), np.diff(encoded.word_starts))
        tags = labels.astype(np.int64)
        first = encoded.words[encoded.word_starts[:-1]]
        tags[first] -= (tags[first] > 0) & (tags[first] % 2 == 0)
        self.row = torch.from_numpy(row).to(corpus.device)
        self.tags = torch.from_numpy(tags).to(corpus.device)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        (emissions,) = outputs
        rows = self.row[words]
        losses = self.model.negative_log_likelihood(emissions, rows, self.tags[words])
        begins = torch.cat([rows.new_ones(1, dtype=torch.bool), rows[1:] != rows[:-1]])
        weight = self.gold.weight[words[begins]]  # a chain is gold as a whole
        return wmean(losses, weight)
