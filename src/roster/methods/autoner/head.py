"""AutoNER's heads: ties between words, and types of spans."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from roster.methods.autoner.decoding import Outputs, tie_probabilities
from roster.model.batches import Batch
from roster.model.heads import WordStates


class TieHeads(WordStates):
    """AutoNER: whether a gap ties the words around it, and which type the words between two breaks are.

    A gap's state is that of its two words side by side, a span's that of its first and its last word. One
    linear layer over two states is the sum of one over each, so every head works on single words:

        tie(i, i + 1) = w h_i + w' h_{i + 1}        type(i..j) = V h_i + V' h_j
    """

    kind = "autoner"
    whole = True
    heads = ("tie", "first", "last")

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__(encoder, n_types, dropout)
        self.tie = self._linear(2)
        self.first = self._linear(1 + n_types)
        self.last = self._linear(1 + n_types)

    @staticmethod
    def outputs(logits: Tensor) -> Outputs:
        size = (logits.shape[-1] - 2) // 2
        return logits[..., 0], logits[..., 1], logits[..., 2 : 2 + size], logits[..., 2 + size :]

    def forward(self, batch: Batch) -> Outputs:
        h = self.states(batch)
        return self.outputs(torch.cat([self.get_submodule(head)(h).float() for head in self.heads], -1))

    @staticmethod
    def distributions(outputs: Outputs, row: Tensor) -> Tensor:
        """p over BIO classes, [words, 1 + 2 types]."""
        return tie_probabilities(outputs, row)
