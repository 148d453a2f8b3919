"""The weights of K models in flat buffers, so that one pass over memory updates them all.

Two buffers: the matrices of the layers, which a GPU multiplies in bf16 and which therefore have a
working copy in it; and the rest (embeddings, biases, norms, heads), which stays in float32. Within a
buffer weights of one group (encoder or heads, with or without decay) lie together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from roster.model.bert_layout import Weight

ALIGNED = 64  # elements; every weight begins on a cache line, whichever its type


class Group(NamedTuple):
    """What decides a weight's rate and decay."""

    head: bool
    decays: bool


@dataclass(frozen=True)
class Parameter:
    """One stacked weight [K, ...]: the master, what products read, and where its gradient goes."""

    master: Tensor
    work: Tensor
    grad: Tensor


@dataclass(frozen=True)
class Segment:
    """A contiguous part [K, n] of a buffer with one rate and one decay."""

    group: Group
    master: Tensor
    work: Tensor | None
    """The working copy, where it is not the master itself."""
    grad: Tensor
    first: Tensor
    second: Tensor
    """Adam's moments."""


@dataclass(frozen=True)
class Buffer:
    """One flat buffer, [K, size], and everything of that size."""

    master: Tensor
    work: Tensor
    grad: Tensor
    first: Tensor
    second: Tensor

    @classmethod
    def zeros(cls, k: int, size: int, work: torch.dtype, device: torch.device, training: bool) -> Buffer:
        def zeros(dtype: torch.dtype = torch.float32, columns: int = size) -> Tensor:
            return torch.zeros(k, columns, dtype=dtype, device=device)

        master = zeros()
        working = master if work == torch.float32 else zeros(work)
        moments = size if training else 0
        return cls(master, working, zeros(work, moments), zeros(columns=moments), zeros(columns=moments))


class Parameters:
    """All weights of K stacked models by name."""

    def __init__(
        self,
        k: int,
        weights: Sequence[tuple[Weight, Group]],
        dtype: torch.dtype,
        device: torch.device,
        *,
        training: bool = True,
    ):
        self.k, self.dtype = k, dtype
        self.weights = [weight for weight, _ in weights]
        self.by_name: dict[str, Parameter] = {}
        self.segments: list[Segment] = []
        self.buffers: list[Buffer] = []
        width = next(weight.shape[1] for weight, _ in weights if weight.name == "words")
        for is_matrix in (True, False):
            chosen = [(w, g) for w, g in weights if _is_matrix(w, g) == is_matrix]
            chosen.sort(key=lambda pair: (pair[1].head, not pair[1].decays))  # the embeddings come first
            places, size = [], 0
            for weight, _ in chosen:
                places.append(size)
                size += -(-math.prod(weight.shape) // ALIGNED) * ALIGNED
            # A whole number of rows of the embeddings, which are then rows of the buffer itself.
            size = -(-size // width) * width
            buffer = Buffer.zeros(k, size, dtype if is_matrix else torch.float32, device, training)
            self.buffers.append(buffer)
            if not is_matrix:
                self.rest = buffer
            for (weight, _), place in zip(chosen, places, strict=True):
                self.by_name[weight.name] = _parameter(buffer, place, weight.shape)
            self._cut(buffer, [group for _, group in chosen], places, size)

    def _cut(self, buffer: Buffer, groups: list[Group], places: list[int], size: int) -> None:
        for group in dict.fromkeys(groups):
            mine = [i for i, g in enumerate(groups) if g == group]
            end = places[mine[-1] + 1] if mine[-1] + 1 < len(places) else size
            part = slice(places[mine[0]], end)
            work = None if buffer.work is buffer.master else buffer.work[:, part]
            self.segments.append(Segment(group, buffer.master[:, part], work, buffer.grad[:, part],
                                         buffer.first[:, part], buffer.second[:, part]))  # fmt: skip

    def __getitem__(self, name: str) -> Parameter:
        return self.by_name[name]

    def fill(self, member: int, tensors: Mapping[str, Tensor]) -> None:
        """Takes a member's weights from a model's `state_dict`."""
        with torch.no_grad():
            for weight in self.weights:
                rows = torch.cat([tensors[name].to(self.rest.master.device) for name in weight.sources])
                self[weight.name].master[member].copy_(rows)
            self.refresh(member)

    def refresh(self, member: int | slice = slice(None)) -> None:
        """The working copy anew from the master."""
        for segment in self.segments:
            if segment.work is not None:
                segment.work[member].copy_(segment.master[member])

    def state_dict(self, member: int, sizes: Mapping[str, int]) -> dict[str, Tensor]:
        """A member's weights under the names of the plain model; `sizes` are the rows of each source."""
        found: dict[str, Tensor] = {}
        for weight in self.weights:
            parts = self[weight.name].master[member].split([sizes[name] for name in weight.sources])
            found.update(zip(weight.sources, (part.clone() for part in parts), strict=True))
        return found

    def n_bytes(self) -> int:
        """Memory of all buffers."""
        buffers = [t for s in self.segments for t in (s.master, s.work, s.grad, s.first, s.second)]
        return sum(t.numel() * t.element_size() for t in buffers if t is not None)


def _is_matrix(weight: Weight, group: Group) -> bool:
    """Whether a weight is multiplied with all states of a layer."""
    return len(weight.shape) == 2 and not group.head and weight.name not in EMBEDDINGS


EMBEDDINGS = ("words", "positions", "segments")


def _parameter(buffer: Buffer, place: int, shape: tuple[int, ...]) -> Parameter:
    size = math.prod(shape)
    parts = [t[:, place : place + size].unflatten(1, shape) if t.shape[1] else t
             for t in (buffer.master, buffer.work, buffer.grad)]  # fmt: skip
    return Parameter(*parts)
