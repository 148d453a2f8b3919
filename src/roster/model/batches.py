"""An encoded corpus on the device, and batches cut from it without a Python loop over tokens.

Sentences of like length go into one batch (little padding); which sentences meet, and in which
order the batches come, is random and follows from the generator alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from roster.backbone.alignment import Encoded
from roster.model.plan import plan

POOL = 50  # batches whose sentences are sorted by length together


@dataclass(frozen=True)
class Batch:
    """`ids`, `mask` [rows, length]; word number `words[i]` has its state at `at[i]` of rows x length.

    `ids` of whole words (`roster.backbone.words`) have one dimension more.
    """

    ids: Tensor
    mask: Tensor
    at: Tensor
    words: Tensor

    def part(self, first: int, last: int) -> Batch:
        """The rows from `first` up to `last`, which is left out."""
        length = self.mask.shape[1]
        chosen = (self.at >= first * length) & (self.at < last * length)
        return Batch(
            self.ids[first:last], self.mask[first:last], self.at[chosen] - first * length, self.words[chosen]
        )

    def stacked(self, other: Batch) -> Batch:
        """Both batches as one, the other's rows below; needs the same length."""
        return Batch(
            torch.cat([self.ids, other.ids]),
            torch.cat([self.mask, other.mask]),
            torch.cat([self.at, other.at + self.mask.numel()]),
            torch.cat([self.words, other.words]),
        )


@dataclass(frozen=True)
class DeviceCorpus:
    """All windows padded into one matrix on the device; the layout stays on the host."""

    ids: Tensor
    pad: int
    encoded: Encoded
    _readings: dict[int, list[Batch]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def put(cls, encoded: Encoded, pad: int, device: torch.device) -> DeviceCorpus:
        lengths = encoded.lengths
        shape = (encoded.n_windows, int(lengths.max(initial=1)), *encoded.ids.shape[1:])
        matrix = np.full(shape, pad, np.int32)
        matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = encoded.ids
        return cls(torch.from_numpy(matrix).to(device), pad, encoded)

    def with_ids(self, ids: Tensor) -> DeviceCorpus:
        """The same layout with other sub-words in it."""
        return replace(self, ids=ids, _readings={})

    @cached_property
    def words(self) -> Tensor:
        """The number of the word whose state is at each place of `ids`; -1 for none."""
        numbers = np.full(self.ids.shape[:2], -1, np.int32)
        rows = np.repeat(np.arange(self.encoded.n_windows), np.diff(self.encoded.word_starts))
        numbers[rows, self.encoded.positions] = self.encoded.words
        return torch.from_numpy(numbers).to(self.device)

    @property
    def device(self) -> torch.device:
        return self.ids.device

    @property
    def n_words(self) -> int:
        return self.encoded.n_words

    def batches(self, plan: list[np.ndarray]) -> Iterator[Batch]:
        """The batches of a plan (rows of each). Everything is sent to the device ahead, in one piece."""
        if not plan:
            return
        lengths = self.encoded.lengths
        sizes = np.array([len(rows) for rows in plan])
        order = np.concatenate(plan)
        widths = np.maximum.reduceat(lengths[order], np.cumsum(sizes) - sizes)
        # First and last entry of every row in the flat word arrays, then every entry in turn.
        first, last = self.encoded.word_starts[order], self.encoded.word_starts[order + 1]
        counts = last - first
        entries = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        row_in_batch = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        base = row_in_batch * np.repeat(widths, sizes)
        at = self.encoded.positions[entries] + np.repeat(base, counts)
        ends = np.cumsum(np.add.reduceat(counts, np.cumsum(sizes) - sizes))
        rows_d = torch.from_numpy(order).to(self.device)
        at_d = torch.from_numpy(at).to(self.device)
        words_d = torch.from_numpy(self.encoded.words[entries]).to(self.device)
        lengths_d = torch.from_numpy(lengths[order]).to(self.device)
        row = word = 0
        for size, width, end in zip(sizes.tolist(), widths.tolist(), ends.tolist(), strict=True):
            ids = self.ids[rows_d[row : row + size], :width].long()
            mask = (torch.arange(width, device=self.device) < lengths_d[row : row + size, None]).long()
            yield Batch(ids, mask, at_d[word:end], words_d[word:end])
            row, word = row + size, end

    def training_plan(self, batch_size: int, generator: np.random.Generator) -> list[np.ndarray]:
        """One epoch: shuffled, then sorted by length within pools of batches, then the batches shuffled."""
        order = generator.permutation(self.encoded.n_windows)
        lengths = self.encoded.lengths
        batches: list[np.ndarray] = []
        for start in range(0, len(order), POOL * batch_size):
            pool = order[start : start + POOL * batch_size]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            batches.extend(pool[i : i + batch_size] for i in range(0, len(pool), batch_size))
        return [batches[i] for i in generator.permutation(len(batches))]

    def readings(self, tokens: int) -> list[Batch]:
        """All batches of a reading plan; kept, for a model that learns from a corpus reads it many times."""
        if tokens not in self._readings:
            self._readings[tokens] = list(self.batches(self.reading_plan(tokens)))
        return self._readings[tokens]

    def reading_plan(self, tokens: int, rows: np.ndarray | None = None) -> list[np.ndarray]:
        """All windows, or those of `rows`, by falling length, at most `tokens` sub-words (padding counted) in
        a batch."""
        if rows is None:
            return plan(self.encoded.lengths, tokens)
        return [rows[part] for part in plan(self.encoded.lengths[rows], tokens)]
