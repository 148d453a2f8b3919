"""The models that are trained: an encoder with RoSTER's two heads, with one for plain fine-tuning, or with
AutoNER's.

All classify words, not sub-words: the state of a word is that of its first sub-word.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from roster.model.batches import Batch
from roster.model.ties import Outputs, tie_probabilities


class WordStates(nn.Module):
    """Encoder and dropout: one state `h` for each word of a batch."""

    def __init__(self, encoder: Any, dropout: float):
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.width: int = encoder.config.hidden_size

    def states(self, batch: Batch) -> Tensor:
        hidden = self.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        return self.dropout(hidden.flatten(0, 1)[batch.at])

    def _linear(self, size: int) -> nn.Linear:
        layer = nn.Linear(self.width, size)
        nn.init.normal_(layer.weight, std=0.02)
        nn.init.zeros_(layer.bias)
        return layer


class TwoHeads(WordStates):
    """The paper's NER head (appendix, "Implementation of the NER Head").

    `b = w_e h` says entity or not, `z = W_t h` which type:

        e = sigmoid(b)    r = softmax(z)    p(O) = 1 - e    p(t) = e r_t
    """

    kind = "two-heads"
    heads = ("entity_head", "type_head")

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__(encoder, dropout)
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

    def probabilities(self, batch: Batch) -> Tensor:
        """p over `O` and all types, [words, 1 + types]."""
        b, z = self(batch)
        return joint(b, z)


class OneHead(WordStates):
    """One linear layer over `O` and BIO tags: class 0 is `O`, then `B-t`, `I-t` for each type in turn."""

    kind = "one-head"
    heads = ("tag",)

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__(encoder, dropout)
        self.tag = self._linear(1 + 2 * n_types)

    @staticmethod
    def outputs(logits: Tensor) -> Tensor:
        return logits

    def forward(self, batch: Batch) -> Tensor:
        return self.tag(self.states(batch)).float()

    def probabilities(self, batch: Batch) -> Tensor:
        return self(batch).softmax(-1)


class TieHeads(WordStates):
    """AutoNER: whether a gap ties the words around it, and which type the words between two breaks are.

    A gap's state is that of its two words side by side, a span's that of its first and its last word. One
    linear layer over two states is the sum of one over each, so every head works on single words:

        tie(i, i + 1) = w h_i + w' h_{i + 1}        type(i..j) = V h_i + V' h_j
    """

    kind = "autoner"
    heads = ("tie", "first", "last")

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__(encoder, dropout)
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

    def probabilities(self, batch: Batch) -> Tensor:
        """p over BIO classes, [words, 1 + 2 types]; see `tie_probabilities`."""
        return tie_probabilities(self(batch), batch.at // batch.mask.shape[1])


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


Model = TwoHeads | OneHead | TieHeads

HEADS: dict[str, type[TwoHeads] | type[OneHead] | type[TieHeads]] = {
    model.kind: model for model in (TwoHeads, OneHead, TieHeads)
}

READ_WHOLE = frozenset({TieHeads.kind})
"""Kinds whose distribution of a word needs the other words of its window, and not its own logits alone."""
