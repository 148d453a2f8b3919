"""A tokenised corpus as batches of packed rows: every row full, nothing padded, documents one after another.

Which rows a step has follows from the seed and the number of the step alone, so a training can go on from
any step. Every pass cuts the text at other places.
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
"""A corpus lies on the GPU if it takes no more than this share of the memory that is free there."""


@dataclass(frozen=True, eq=False)
class PackedSequences:
    """`tokens`: all sub-words; a row is `prefix`, as many of them as fit into `length`, and `suffix`."""

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
                "give more text or a smaller 'length'"
            )

    @property
    def room(self) -> int:
        return self.length - len(self.prefix) - len(self.suffix)

    @property
    def rows(self) -> int:
        """Of one pass: the last, incomplete row and what a shifted beginning may cost are left out."""
        return max(len(self.tokens) // self.room - 1, int(len(self.tokens) >= self.room))

    @property
    def steps(self) -> int:
        """Of one pass."""
        return max(1, self.rows // self.batch)

    def starts(self, step: int) -> np.ndarray:
        """Where the rows of a step begin in the text."""
        epoch, place = divmod(step, self.steps)
        shift, order = self._epoch(epoch)
        chosen = order[place * self.batch : (place + 1) * self.batch]
        if len(chosen) < self.batch:  # less text than one batch
            chosen = np.resize(chosen, self.batch)
        return shift + chosen.astype(np.int64) * self.room

    @lru_cache(maxsize=2)  # noqa: B019 - one object lives as long as the training
    def _epoch(self, epoch: int) -> tuple[int, np.ndarray]:
        rng = np.random.default_rng([self.seed, epoch])
        spare = len(self.tokens) - self.rows * self.room
        return int(rng.integers(min(spare, self.room) + 1)), rng.permutation(self.rows)

    @cached_property
    def resident(self) -> Tensor | None:
        """All sub-words on the GPU, if they fit."""
        if self.device.type != "cuda":
            return None
        free, _ = torch.cuda.mem_get_info(self.device)
        if 4 * len(self.tokens) > ON_DEVICE * free:
            return None
        return torch.from_numpy(self.tokens.astype(np.int32)).to(self.device)

    def take(self, starts: np.ndarray) -> Tensor:
        """[rows, length], int64, on the device."""
        inner: Tensor
        if self.resident is not None:
            begin = torch.from_numpy(starts).to(self.device, non_blocking=True)
            places = begin[:, None] + torch.arange(self.room, device=self.device)
            inner = self.resident[places].long()
        else:
            found = np.stack([self.tokens[at : at + self.room] for at in starts]).astype(np.int64)
            inner = torch.from_numpy(found)
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
