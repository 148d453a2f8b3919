"""A linear-chain CRF over BIO tags."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from roster.methods.bilstm_crf.crf import best_path, chains, legal_bio, log_partition, marginals, path_score
from roster.model.batches import Batch
from roster.model.heads import TagScores

AHEAD = 1e-5
"""Margin by which the Viterbi tag is placed above the marginal argmax, where the two differ."""


class CrfHead(TagScores):
    """A CRF over the scores of tags: a chain is the words of one row of a batch, in order.

    No `OneHead`: the softmax of a word's scores is not its distribution, and there is no `distributions`.
    """

    kind = "crf"
    stackable = False
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
        """[chains], from the emissions of words in order, the row of each, and its tag."""
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
