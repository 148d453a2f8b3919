"""The paper's NER head (appendix, "Implementation of the NER Head")."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from roster.model.batches import Batch
from roster.model.heads import WordStates


class TwoHeads(WordStates):
    """An entity head and a type head.

    `b = w_e h` is the logit of entity or not, `z = W_t h` are those of the types:

        e = sigmoid(b)    r = softmax(z)    p(O) = 1 - e    p(t) = e r_t
    """

    kind = "two-heads"
    scheme = "io"
    heads = ("entity_head", "type_head")

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__(encoder, n_types, dropout)
        self.entity_head = self._linear(1)
        self.type_head = self._linear(n_types)

    @staticmethod
    def outputs(logits: Tensor) -> tuple[Tensor, Tensor]:
        """Both heads' logits, which lie side by side, as `forward` gives them."""
        return logits[..., 0], logits[..., 1:]

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Entity logits `b` [words] and type logits `z` [words, types], in float32."""
        h = self.states(batch)
        return self.entity_head(h).float().squeeze(-1), self.type_head(h).float()

    @staticmethod
    def distributions(outputs: tuple[Tensor, Tensor], row: Tensor) -> Tensor:
        """p over `O` and all types, [words, 1 + types]."""
        return joint(*outputs)


def joint(b: Tensor, z: Tensor) -> Tensor:
    """Both heads' logits to one distribution: `[1 - e, e r_1, ..., e r_T]`.

    >>> joint(torch.tensor([0.0]), torch.tensor([[0.0, 0.0]])).tolist()
    [[0.5, 0.25, 0.25]]
    """
    e = b.sigmoid().unsqueeze(-1)
    return torch.cat([torch.sigmoid(-b).unsqueeze(-1), e * z.softmax(-1)], dim=-1)


def split_joint(p: Tensor) -> tuple[Tensor, Tensor]:
    """The other way: `e` and `r` from a joint distribution. Where `e` is 0, `r` is uniform."""
    types = p[:, 1:]
    e = types.sum(-1)
    r = torch.where(e.unsqueeze(-1) > 0, types / e.clamp_min(1e-30).unsqueeze(-1), 1.0 / types.shape[1])
    return e, r
