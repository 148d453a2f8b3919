"""AutoNER's decoding: from the heads' words on gaps and spans to a distribution of every word."""

from __future__ import annotations

import torch
from torch import Tensor

Outputs = tuple[Tensor, Tensor, Tensor, Tensor]
"""Logits of each word: for the gap after it, the gap before it, a span that begins with it, and a span that
ends with it (the last two over None and all types)."""


def tie_probabilities(outputs: Outputs, row: Tensor) -> Tensor:
    """[..., n, 1 + 2 types] over BIO classes, of n words in order; `row` [n] numbers their windows.

    There is a break where the logits of the two words around a gap sum to less than 0, and between rows. A
    span's distribution over None and the types stands at each of its words: None on `O`, a type on `B` at the
    first word and on `I` at the others. So the best class of every word spells the best type of every span.

    The first word of a row has `I` too. Where its sentence begins with it, nothing is open that it could go
    on with; and a window may begin in the middle of a name.
    """
    after, before, first, last = outputs
    n = after.shape[-1]
    numbers = torch.arange(n, device=after.device).expand(after.shape)
    new_row = torch.ones(n, dtype=torch.bool, device=after.device)
    new_row[1:] = row[1:] != row[:-1]
    begins = new_row.expand(after.shape).clone()
    begins[..., 1:] |= after[..., :-1] + before[..., 1:] < 0
    ends = torch.cat([begins[..., 1:], torch.ones_like(begins[..., :1])], -1)[..., :n]
    start = torch.where(begins, numbers, 0).cummax(-1).values
    stop = torch.where(ends, numbers, n).flip(-1).cummin(-1).values.flip(-1)
    p = (at_places(first, start) + at_places(last, stop)).softmax(-1)
    as_b = (begins & ~new_row).unsqueeze(-1)
    types = p[..., 1:]
    pairs = torch.stack([torch.where(as_b, types, 0.0), torch.where(as_b, 0.0, types)], -1)
    return torch.cat([p[..., :1], pairs.flatten(-2)], -1)


def at_places(x: Tensor, places: Tensor) -> Tensor:
    """`x` [..., n, classes] at `places` [..., m] of its n."""
    return x.gather(-2, places.unsqueeze(-1).expand(*places.shape, x.shape[-1]))
