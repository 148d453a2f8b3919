"""A linear-chain conditional random field over BIO tags: pure functions on batches of chains.

    score(tags) = start[tags_1] + sum_i emissions[i, tags_i] + sum_i transitions[tags_i, tags_i+1]
    p(tags) = exp(score(tags)) / Z

`emissions` [chains, length, tags] and `mask` [chains, length], true for the words of a chain, which come
first; every chain has one at least. What is forbidden has a score of -inf in `start` and `transitions`; O
and all B- tags may follow anything, so no sum is ever empty. Loops go over positions alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def legal_bio(n_types: int) -> tuple[Tensor, Tensor]:
    """Which tags may begin a chain, and which may follow which: `I-t` comes after `B-t` and `I-t` alone.

    >>> start, pairs = legal_bio(1)
    >>> start.tolist(), pairs.tolist()
    ([True, True, False], [[True, True, False], [True, True, True], [True, True, True]])
    """
    tag = torch.arange(1 + 2 * n_types)
    kind = (tag + 1) // 2  # 0 for O, then one number for both tags of a type
    inside = (tag > 0) & (tag % 2 == 0)
    return ~inside, ~inside | (kind.unsqueeze(1) == kind)


def chains(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Words in order, with the number of the row that each is in, as chains.

    Gives the place of each word, [chains, length], 0 where there is none, and the mask.

    >>> chains(torch.tensor([4, 4, 4, 9]))[0].tolist()
    [[0, 1, 2], [3, 0, 0]]
    """
    _, lengths = rows.unique_consecutive(return_counts=True)
    place = torch.arange(int(lengths.max()), device=rows.device)
    mask = place < lengths.unsqueeze(1)
    return torch.where(mask, (lengths.cumsum(0) - lengths).unsqueeze(1) + place, 0), mask


def path_score(emissions: Tensor, mask: Tensor, start: Tensor, transitions: Tensor, tags: Tensor) -> Tensor:
    """[chains]: the score of one path through each."""
    own = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)
    own = torch.where(mask, own, 0.0).sum(1)
    steps = torch.where(mask[:, 1:], transitions[tags[:, :-1], tags[:, 1:]], 0.0).sum(1)
    return start[tags[:, 0]] + own + steps


def log_partition(emissions: Tensor, mask: Tensor, start: Tensor, transitions: Tensor) -> Tensor:
    """[chains]: log Z. Its gradient is the marginals of words and of neighbouring pairs."""
    found: Tensor = _LogPartition.apply(emissions, mask, start, transitions)
    return found


def marginals(emissions: Tensor, mask: Tensor, start: Tensor, transitions: Tensor) -> Tensor:
    """[chains, length, tags]: p(tag of word i), by forward-backward; 0 outside the mask."""
    alpha = _forward(emissions, start, transitions)
    beta = _backward(emissions, mask, transitions)
    return _nodes(alpha, beta, mask, _total(alpha, mask))


def best_path(emissions: Tensor, mask: Tensor, start: Tensor, transitions: Tensor) -> Tensor:
    """[chains, length]: the path of the highest score (Viterbi); 0 outside the mask."""
    best, pointers = start + emissions[:, 0], []
    scores = [best]
    for here in emissions[:, 1:].unbind(1):
        found = (best.unsqueeze(2) + transitions).max(1)
        best = found.values + here
        scores.append(best)
        pointers.append(found.indices)
    ends = torch.stack(scores, 1).argmax(2)  # the best last tag, had the chain ended here
    last = mask.sum(1) - 1
    tag = ends[:, -1]
    path = [tag]
    for i in range(len(pointers) - 1, -1, -1):
        before = pointers[i].gather(1, tag.unsqueeze(1)).squeeze(1)
        tag = torch.where(last > i, before, ends[:, i])
        path.append(tag)
    return torch.where(mask, torch.stack(path[::-1], 1), 0)


class _LogPartition(torch.autograd.Function):
    """The way back is one loop over positions, as the way forth; autograd would keep and undo every step."""

    @staticmethod
    def forward(ctx: Any, emissions: Tensor, mask: Tensor, start: Tensor, transitions: Tensor) -> Tensor:
        alpha = _forward(emissions, start, transitions)
        total = _total(alpha, mask)
        ctx.save_for_backward(emissions, mask, transitions, alpha, total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, Tensor, Tensor]:  # type: ignore[override]
        emissions, mask, transitions, alpha, total = ctx.saved_tensors
        beta = _backward(emissions, mask, transitions)
        nodes = _nodes(alpha, beta, mask, total) * grad[:, None, None]
        after = (emissions + beta)[:, 1:].unsqueeze(2) - total[:, None, None, None]
        pairs = (alpha[:, :-1].unsqueeze(3) + transitions + after).exp()
        pairs = torch.where(mask[:, 1:, None, None], pairs, 0.0) * grad[:, None, None, None]
        return nodes, None, nodes[:, 0].sum(0), pairs.sum((0, 1))


def _forward(emissions: Tensor, start: Tensor, transitions: Tensor) -> Tensor:
    """alpha[:, i, t]: log of the sum over all paths that are at tag t at word i."""
    alpha = [start + emissions[:, 0]]
    for here in emissions[:, 1:].unbind(1):
        alpha.append((alpha[-1].unsqueeze(2) + transitions).logsumexp(1) + here)
    return torch.stack(alpha, 1)


def _backward(emissions: Tensor, mask: Tensor, transitions: Tensor) -> Tensor:
    """beta[:, i, t]: log of the sum over all ways on from tag t at word i to the chain's end."""
    beta = [torch.zeros_like(emissions[:, 0])]
    for i in range(emissions.shape[1] - 1, 0, -1):
        on = (transitions + (emissions[:, i] + beta[-1]).unsqueeze(1)).logsumexp(2)
        beta.append(torch.where(mask[:, i].unsqueeze(1), on, 0.0))
    return torch.stack(beta[::-1], 1)


def _total(alpha: Tensor, mask: Tensor) -> Tensor:
    last = (mask.sum(1) - 1).view(-1, 1, 1).expand(-1, 1, alpha.shape[2])
    return alpha.gather(1, last).squeeze(1).logsumexp(1)


def _nodes(alpha: Tensor, beta: Tensor, mask: Tensor, total: Tensor) -> Tensor:
    return torch.where(mask.unsqueeze(2), (alpha + beta - total[:, None, None]).exp(), 0.0)
