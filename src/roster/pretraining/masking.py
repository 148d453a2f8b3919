"""Dynamic masking: the positions that a masked language model predicts, drawn for every batch on the device.

Each row has the same number of masked positions, so that all shapes are fixed. Weighted sampling without
replacement, word by word: every word draws an exponential waiting time, with a higher rate for words that
shall be masked more often, and the positions with the shortest times are masked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from roster.backbone.token_features import TokenFeatures, token_features
from roster.errors import ModelError

IGNORED = -100
"""Target, ignored by `cross_entropy`, where a row has fewer positions than requested."""
HIDDEN, REPLACED = 0.8, 0.1
"""Shares of the masked positions that have the mask token, and a random token. The rest is unchanged."""


@dataclass(frozen=True)
class Masked:
    """Input ids [rows, length], masked positions [rows, n], and the original ids there [rows, n]."""

    ids: Tensor
    places: Tensor
    targets: Tensor


@dataclass(frozen=True)
class Masker:
    """Masks batches of token ids."""

    features: TokenFeatures
    mask_id: int
    ordinary: Tensor
    """All token ids except special ones, for random replacement."""
    share: float
    names: float

    def count(self, length: int) -> int:
        """Number of masked positions of a row of `length`."""
        return max(1, round(self.share * length))

    def __call__(self, ids: Tensor, kind: str, generator: torch.Generator) -> Masked:
        """Mask a batch.

        Parameters:
            ids: [rows, length].
            kind: `random` (sub-words), `words` (whole words) or `names` (capitalised words more often).
            generator: source of the random numbers, on the device of `ids`.
        """
        special = self.features.special[ids]
        wait = self.waits(ids, special, kind, generator)
        first = wait.topk(self.count(ids.shape[1]), largest=False, sorted=False)
        places = first.indices
        there = ids.gather(1, places)
        draw = torch.rand(there.shape, generator=generator, device=ids.device)
        other = torch.randint(
            len(self.ordinary), there.shape, generator=generator, device=ids.device, dtype=torch.long
        )
        shown = torch.where(draw < HIDDEN + REPLACED, self.ordinary[other], there)
        shown = shown.masked_fill(draw < HIDDEN, self.mask_id)
        none = first.values.isinf()
        return Masked(
            ids.scatter(1, places, torch.where(none, there, shown)),
            places,
            there.masked_fill(none, IGNORED),
        )

    def waits(self, ids: Tensor, special: Tensor, kind: str, generator: torch.Generator) -> Tensor:
        """Waiting time of each position; infinite for special tokens."""
        wait = torch.empty(ids.shape, device=ids.device).exponential_(generator=generator)
        if kind != "random":
            begin = first_places(ids, special, self.features.starts_word)
            if kind == "names":
                wait = torch.where(self.features.capital[ids], wait / self.names, wait)
            wait = wait.gather(1, begin)
        return wait.masked_fill(special, float("inf"))


def first_places(ids: Tensor, special: Tensor, starts_word: Tensor) -> Tensor:
    """[rows, length]: position of the first sub-word of each word; a row may begin inside a word."""
    starts = starts_word[ids] | special
    starts[:, 1:] |= special[:, :-1]
    starts[:, 0] = True
    numbers = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    return torch.where(starts, numbers, 0).cummax(1).values


def masker(tokenizer: Any, share: float, names: float, device: torch.device) -> Masker:
    """Return the masker for a tokenizer.

    Parameters:
        tokenizer: a fast tokenizer.
        share: share of the sub-words of a row that are masked.
        names: factor by which capitalised words are masked more often.
        device: the device of the batches.

    Raises:
        ModelError: the tokenizer has no mask token.
    """
    if tokenizer.mask_token_id is None:
        raise ModelError("the tokenizer has no mask token, so it cannot be used for masked-LM training")
    features = token_features(tokenizer, device)
    return Masker(
        features, int(tokenizer.mask_token_id), (~features.special).nonzero().flatten(), share, names
    )
