"""A tokenised corpus as batches of packed sequences: documents follow one another, without padding.

The rows of a step depend only on the seed and on the number of the step, so that training can resume at any
step. Every epoch splits the text at other positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count

import numpy as np
import torch
from torch import Tensor

from roster.errors import DataError
from roster.pretraining.prefetch import prefetch

ON_DEVICE = 0.25
"""The corpus is kept on the GPU if it takes no more than this share of the free memory."""


@dataclass(frozen=True, eq=False)
class PackedSequences:
    """Rows of `length` ids: `prefix`, as many of the `tokens` as fit, and `suffix`."""

    tokens: np.ndarray
    length: int
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    batch: int
    seed: int
    device: torch.device

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise DataError(
                f"the text has {len(self.tokens)} sub-words, fewer than one sequence of {self.length}; "
                "use more text or a smaller 'length'"
            )

    @property
    def content_length(self) -> int:
        return self.length - len(self.prefix) - len(self.suffix)

    @property
    def rows(self) -> int:
        """Rows per epoch, without the incomplete last row, and without one row for the shifted start."""
        return max(len(self.tokens) // self.content_length - 1, int(len(self.tokens) >= self.content_length))

    @property
    def steps(self) -> int:
        """Steps per epoch."""
        return max(1, self.rows // self.batch)

    def starts(self, step: int) -> np.ndarray:
        """Return the index of the first token of each row of a step."""
        epoch, place = divmod(step, self.steps)
        shift, order = self._epoch(epoch)
        chosen = order[place * self.batch : (place + 1) * self.batch]
        if len(chosen) < self.batch:  # the text is shorter than one batch
            chosen = np.resize(chosen, self.batch)
        return shift + chosen.astype(np.int64) * self.content_length

    @lru_cache(maxsize=2)  # noqa: B019 - there is one object, for the whole training
    def _epoch(self, epoch: int) -> tuple[int, np.ndarray]:
        rng = np.random.default_rng([self.seed, epoch])
        spare = len(self.tokens) - self.rows * self.content_length
        return int(rng.integers(min(spare, self.content_length) + 1)), rng.permutation(self.rows)

    @cached_property
    def resident(self) -> Tensor | None:
        """All tokens on the GPU, if they fit."""
        if self.device.type != "cuda":
            return None
        free, _ = torch.cuda.mem_get_info(self.device)
        if 4 * len(self.tokens) > ON_DEVICE * free:
            return None
        return torch.from_numpy(self.tokens.astype(np.int32)).to(self.device)

    def take(self, starts: np.ndarray) -> Tensor:
        """Return the rows that begin at `starts`: [rows, length], int64, on the device."""
        inner: Tensor
        if self.resident is not None:
            begin = torch.from_numpy(starts).to(self.device, non_blocking=True)
            places = begin[:, None] + torch.arange(self.content_length, device=self.device)
            inner = self.resident[places].long()
        else:
            rows = np.stack([self.tokens[at : at + self.content_length] for at in starts]).astype(np.int64)
            inner = torch.from_numpy(rows)
            if self.device.type == "cuda":
                inner = inner.pin_memory()
            inner = inner.to(self.device, non_blocking=True)
        begins, ends = (
            torch.tensor(ids, dtype=torch.long, device=self.device).expand(len(starts), -1)
            for ids in (self.prefix, self.suffix)
        )
        return torch.cat([begins, inner, ends], dim=1)

    def batches(self, first: int) -> Iterator[Tensor]:
        """Yield the rows of each step from `first` on, without end."""
        return prefetch(self.take(self.starts(step)) for step in count(first))
