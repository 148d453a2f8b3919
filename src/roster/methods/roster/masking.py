"""Hiding part of the input in training, so that a model leans on context and not on memorised names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from roster.backbone.token_features import token_features
from roster.backbone.words import PAD, UNKNOWN, AnyWordEncoder, WholeWords
from roster.errors import ModelError

InputTransform = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class InputMask:
    """Replaces each sub-word by the mask token with probability `share`; special tokens stay.

    Draws from torch's own random numbers, as dropout does.
    """

    share: float
    mask_id: int
    special: Tensor

    def __call__(self, ids: Tensor) -> Tensor:
        if self.share == 0:
            return ids
        hidden = torch.rand(ids.shape, device=ids.device) < self.share
        hidden &= ~self.special[ids]
        return ids.masked_fill(hidden, self.mask_id)


@dataclass(frozen=True)
class WordMask:
    """The same for whole words: an unknown word, and no characters."""

    share: float

    def __call__(self, ids: Tensor) -> Tensor:
        if self.share == 0:
            return ids
        hidden = torch.rand(ids.shape[:-1], device=ids.device) < self.share
        hidden &= ids[..., 0] != PAD
        blank = torch.zeros_like(ids)
        blank[..., 0] = UNKNOWN
        return torch.where(hidden.unsqueeze(-1), blank, ids)


def input_mask(share: float, encoder: AnyWordEncoder, device: torch.device) -> InputTransform:
    if isinstance(encoder, WholeWords):
        return WordMask(share)
    mask_id = encoder.tokenizer.mask_token_id
    if share > 0 and mask_id is None:
        raise ModelError("this backbone's tokenizer has no mask token; set mask_inputs to 0")
    special = token_features(encoder.tokenizer, device).special if share > 0 else torch.zeros(0)
    return InputMask(share, mask_id or 0, special)
