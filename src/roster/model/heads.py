"""The models that are trained: an encoder with RoSTER's two heads, with one for plain fine-tuning, with a CRF
over it, or with AutoNER's.

All classify words, not sub-words: the state of a word is that of its first sub-word.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from roster.model.batches import Batch
from roster.model.crf import best_path, chains, legal_bio, log_partition, marginals, path_score
from roster.model.ties import Outputs, tie_probabilities

AHEAD = 1e-5
"""Margin by which the Viterbi tag is placed above the marginal argmax, where the two differ."""


class WordStates(nn.Module):
    """Encoder and dropout: one state `h` for each word of a batch."""

    whole = False
    """Whether the distribution of a word needs all words of its window, and not its own logits alone."""

    def __init__(self, encoder: Any, dropout: float):
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.width: int = encoder.config.hidden_size

    def states(self, batch: Batch) -> Tensor:
        hidden = self.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        return self.dropout(hidden.flatten(0, 1)[batch.at])

    def probabilities(self, batch: Batch) -> Tensor:
        """The distribution of each word of a batch, [words, classes]."""
        return self.distributions(self(batch), batch.at // batch.mask.shape[1])

    @staticmethod
    def distributions(outputs: Any, row: Tensor) -> Tensor:
        """The same from what `forward` says of words in order; `row` [words] tells those of one window.

        Only where that says all: a CRF has its transitions besides.
        """
        raise NotImplementedError("what these heads say of words is no distribution; read `probabilities`")

    def logits(self, batch: Batch) -> Tensor:
        """[words, classes] as `roster.infer.logits` takes them: of all heads, side by side. Of a model that
        reads windows whole the logarithms of its distributions, of which softmax makes these again."""
        if self.whole:
            return self.probabilities(batch).clamp_min(1e-30).log()
        found = self(batch)
        return torch.cat([found[0].unsqueeze(-1), found[1]], -1) if isinstance(found, tuple) else found

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

    @staticmethod
    def distributions(outputs: tuple[Tensor, Tensor], row: Tensor) -> Tensor:
        """p over `O` and all types, [words, 1 + types]."""
        return joint(*outputs)


class TagScores(WordStates):
    """One linear layer over `O` and BIO tags: class 0 is `O`, then `B-t`, `I-t` for each type in turn.

    What the scores mean is for others to say: `OneHead`, `CrfHead`.
    """

    heads = ("tag",)

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__(encoder, dropout)
        self.tag = self._linear(1 + 2 * n_types)

    def forward(self, batch: Batch) -> Tensor:
        return self.tag(self.states(batch)).float()


class OneHead(TagScores):
    """Each word's tag by itself: the softmax of its scores."""

    kind = "one-head"

    @staticmethod
    def outputs(logits: Tensor) -> Tensor:
        return logits

    @staticmethod
    def distributions(outputs: Tensor, row: Tensor) -> Tensor:
        return outputs.softmax(-1)


class CrfHead(TagScores):
    """A CRF over the scores of tags: a chain is the words of one row of a batch, in order.

    No `OneHead`: the softmax of a word's scores is not its distribution, and there is no `distributions`.
    """

    kind = "crf"
    whole = True

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__(encoder, n_types, dropout)
        begins, follows = legal_bio(n_types)
        self.start = nn.Parameter(torch.zeros(begins.shape))
        self.transitions = nn.Parameter(torch.zeros(follows.shape))
        self.register_buffer("begins", begins, persistent=False)
        self.register_buffer("follows", follows, persistent=False)

    def steps(self) -> tuple[Tensor, Tensor]:
        """Scores of first tags and of pairs; -inf for what BIO forbids."""
        begins, follows = self.get_buffer("begins"), self.get_buffer("follows")
        return (
            self.start.masked_fill(~begins, -torch.inf),
            self.transitions.masked_fill(~follows, -torch.inf),
        )

    def negative_log_likelihood(self, emissions: Tensor, rows: Tensor, tags: Tensor) -> Tensor:
        """[chains] from what `forward` says of words in order, the row of each, and its tag."""
        places, mask = chains(rows)
        scores = (emissions[places], mask, *self.steps())
        return log_partition(*scores) - path_score(*scores, tags[places])

    def probabilities(self, batch: Batch) -> Tensor:
        """The marginal of every tag. Where the tag of the best path is not the most likely one of its word,
        the two change places: so the most likely tags are the best path, and scores stay probabilities."""
        places, mask = chains(batch.at // batch.mask.shape[1])
        scores = (self(batch)[places], mask, *self.steps())
        p, best = marginals(*scores)[mask], best_path(*scores)[mask].unsqueeze(1)
        most = p.max(-1, keepdim=True)
        p = p.scatter(1, most.indices, p.gather(1, best)).scatter(1, best, most.values * (1 + AHEAD))
        return p / p.sum(-1, keepdim=True)


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

    @staticmethod
    def distributions(outputs: Outputs, row: Tensor) -> Tensor:
        """p over BIO classes, [words, 1 + 2 types]."""
        return tie_probabilities(outputs, row)


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


Stackable = TwoHeads | OneHead | TieHeads
Model = Stackable | CrfHead

STACKABLE: dict[str, type[Stackable]] = {model.kind: model for model in (TwoHeads, OneHead, TieHeads)}
"""Kinds whose linear heads say all, so that K models can be one (`roster.model.stack`)."""
HEADS: dict[str, type[Model]] = {**STACKABLE, CrfHead.kind: CrfHead}

READ_WHOLE = frozenset(kind for kind, model in HEADS.items() if model.whole)
