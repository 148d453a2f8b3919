"""Which sub-words a masked language model must guess, drawn anew for every batch, on the device.

Each row has the same number of masked places, so that all shapes are known beforehand. Every word draws
how long it waits (an exponential time, shorter for words that shall come more often), and the first
places of a row in this order are taken: random draws without replacement, weighted, and word by word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from roster.backbone.vocabulary import Vocabulary, vocabulary
from roster.errors import ModelError

IGNORED = -100
"""Target where a row has fewer places than are wanted, as `cross_entropy` knows it."""
HIDDEN, REPLACED = 0.8, 0.1
"""Of the places to guess: shares that show the mask, and any other sub-word. The rest stays as it is."""


@dataclass(frozen=True)
class Masked:
    """What the model sees [rows, length], where it must guess [rows, n], and what was there [rows, n]."""

    ids: Tensor
    places: Tensor
    targets: Tensor


@dataclass(frozen=True)
class Masker:
    vocabulary: Vocabulary
    mask_id: int
    ordinary: Tensor
    """All entries but the special ones: what a place is replaced by."""
    share: float
    names: float

    def count(self, length: int) -> int:
        """How many places of a row are masked."""
        return max(1, round(self.share * length))

    def __call__(self, ids: Tensor, kind: str, generator: torch.Generator) -> Masked:
        """`kind`: random, words or names."""
        special = self.vocabulary.special[ids]
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
        """How long each place waits; for ever where nothing is to be evaluate."""
        wait = torch.empty(ids.shape, device=ids.device).exponential_(generator=generator)
        if kind != "random":
            begin = first_places(ids, special, self.vocabulary.starts_word)
            if kind == "names":
                wait = torch.where(self.vocabulary.capital[ids], wait / self.names, wait)
            wait = wait.gather(1, begin)
        return wait.masked_fill(special, float("inf"))


def first_places(ids: Tensor, special: Tensor, starts_word: Tensor) -> Tensor:
    """[rows, length]: where the word of each sub-word begins; a row may begin inside a word."""
    starts = starts_word[ids] | special
    starts[:, 1:] |= special[:, :-1]
    starts[:, 0] = True
    numbers = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    return torch.where(starts, numbers, 0).cummax(1).values


def masker(tokenizer: Any, share: float, names: float, device: torch.device) -> Masker:
    if tokenizer.mask_token_id is None:
        raise ModelError("the tokenizer has no mask token, so it cannot be used for masked-LM training")
    found = vocabulary(tokenizer, device)
    return Masker(found, int(tokenizer.mask_token_id), (~found.special).nonzero().flatten(), share, names)
