"""Batches of few fixed shapes, so that a step can be captured once and replayed.

A corpus lies on the device as matrices; a batch is the numbers of its rows. Lengths are rounded up to one
of a few widths, chosen so that little is wasted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from roster.model.batches import DeviceCorpus

STEP = 4
"""Widths are multiples of this: 32 rows are then a multiple of 128 sub-words, as matrix products like it."""


@dataclass(frozen=True)
class Plan:
    """One epoch of K models: the rows of every batch [steps, K, batch] and how wide each step is.

    Where a batch is not full, the missing rows are numbered as the one after the last, which is empty.
    """

    rows: np.ndarray
    widths: list[int]


def joint_plan(
    corpus: DeviceCorpus, batch_size: int, orders: Sequence[np.random.Generator], widths: Sequence[int]
) -> Plan:
    """Each model has batches of its own, drawn as `training_plan` draws them. Models in step need one width,
    so batches of like length meet; in which order these steps come is random."""
    empty = corpus.encoded.n_windows
    lengths = np.append(corpus.encoded.lengths, 0)
    plans = [corpus.training_plan(batch_size, order) for order in orders]
    rows = np.full((len(plans[0]), len(plans), batch_size), empty, np.int64)
    for k, plan in enumerate(plans):
        plan.sort(key=lambda batch: int(lengths[batch].max()))
        for i, batch in enumerate(plan):
            rows[i, k, : len(batch)] = batch
    longest = lengths[rows].max(axis=(1, 2))
    order = orders[0].permutation(len(rows))
    fitting = np.asarray(widths)[np.searchsorted(widths, longest)]
    return Plan(rows[order], fitting[order].tolist())


def choose_widths(lengths: np.ndarray, most: int) -> list[int]:
    """At most `most` widths, the last no less than any length, with the least padding in total.

    >>> choose_widths(np.array([5, 6, 7, 30, 31, 100]), 3)
    [8, 32, 100]
    """
    rounded, counts = np.unique(-(-np.maximum(lengths, 1) // STEP) * STEP, return_counts=True)
    n = len(rounded)
    upto = np.concatenate([[0], np.cumsum(counts)])
    # cost[j]: the least sum of widths of all batches up to the j-th length with the widths used so far.
    cost, chosen = np.where(np.arange(n + 1) == 0, 0.0, np.inf), []
    for _ in range(min(most, n)):
        options = cost[:, None] + (upto[None, 1:] - upto[:, None]) * rounded[None, :]
        options[np.arange(n + 1)[:, None] > np.arange(n)[None, :]] = np.inf
        chosen.append(options.argmin(0))
        cost = np.concatenate([[0.0], options.min(0)])
    widths, end = [], n
    for best in reversed(chosen):
        if end == 0:
            break
        widths.append(int(rounded[end - 1]))
        end = int(best[end - 1])
    return widths[::-1]


class FixedShapes:
    """A corpus as matrices that stay where they are, with one empty row at the end."""

    def __init__(self, corpus: DeviceCorpus, width: int, inputs: int):
        encoded = corpus.encoded
        self.words = torch.full((encoded.n_windows + 1, width), -1, dtype=torch.int32, device=corpus.device)
        self.words[:-1, : corpus.words.shape[1]] = corpus.words
        self.lengths = torch.from_numpy(np.append(encoded.lengths, 0)).to(corpus.device)
        self.ids = torch.full(
            (inputs, encoded.n_windows + 1, width), corpus.pad, dtype=torch.int32, device=corpus.device
        )

    def fill(self, inputs: Sequence[DeviceCorpus]) -> None:
        """Takes the sub-words of each input; all have one layout."""
        for matrix, corpus in zip(self.ids, inputs, strict=True):
            matrix[:-1, : corpus.ids.shape[1]] = corpus.ids

    def cut(self, rows: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """`ids` [inputs, K, batch, width], `lengths` [K, batch], `words` [K, batch x width] (-1: none)."""
        ids = self.ids[:, rows, :width].long()
        return ids, self.lengths[rows], self.words[rows, :width].flatten(1).long()
