"""Steps that do not fit into the device's memory: the same gradient, from one part of the batch at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map

from roster.errors import DeviceMemoryError
from roster.log import LOGGER
from roster.training.objective import Checkpoint

Outputs = Any
"""Tensors [K, places, ...] in lists or tuples: what the heads give for a batch or for a part of it."""


class BatchLimit:
    """The most sub-words, padding counted, that go through the models in one pass; first there is no limit.

    It is set when a batch does not fit and stays for the rest of the stage, also when the stage is resumed.
    Smaller batches stay whole.
    """

    def __init__(self, description: str, resume: Checkpoint | None = None):
        self.description = description
        found = {} if resume is None else resume.part("limit")
        self.most: int | None = int(found["most"]) if found else None

    def state(self) -> dict[str, Tensor]:
        """For a checkpoint: what the constructor reads back."""
        return {} if self.most is None else {"most": torch.tensor(self.most)}

    def facts(self) -> dict[str, int]:
        """For the results."""
        return {} if self.most is None else {"most_subwords": self.most}

    def parts(self, rows: int, subwords: int) -> int:
        """Into how many parts a batch is divided.

        >>> limit = BatchLimit("")
        >>> limit.parts(32, 4096)
        1
        >>> limit.most = 1000
        >>> limit.parts(32, 4096), limit.parts(32, 1000), limit.parts(2, 4096)
        (5, 1, 2)
        """
        return 1 if self.most is None else min(rows, math.ceil(subwords / self.most))

    def lower(self, rows: int, subwords: int) -> None:
        """Called when a batch did not fit: half as many sub-words as its largest part had.

        Raises:
            DeviceMemoryError: the parts were single sentences.
        """
        largest = math.ceil(rows / self.parts(rows, subwords))
        if largest == 1:
            raise DeviceMemoryError(
                f"{self.description}: not even one sentence at a time fits into the device's memory; use a "
                "smaller backbone.name or backbone.max_length, or --set optimiser.device=cpu"
            )
        first, self.most = self.most is None, max(1, subwords * largest // rows // 2)
        if first:
            LOGGER.warning(
                f"{self.description}: a batch of {rows} sentences ({subwords:,} sub-words) does not fit into "
                "the device's memory; large batches go through in parts from here on, with the same gradient"
            )


def backward_in_parts(
    parts: Sequence[Callable[[], Outputs]],
    loss_of: Callable[[Outputs], Tensor],
    device: torch.device,
    after_part: Callable[[], None] = lambda: None,
) -> tuple[Outputs, Tensor]:
    """The gradient of a loss of a whole batch, with the states of one part in memory at a time.

    A loss may divide by the weights of all words of a batch, or compare them, so it cannot be taken part by
    part. Here the parts go forward without a gradient; the loss of all outputs gives the gradient of each
    output; then each part goes forward again, with the same dropout, and backward from these gradients.

    Parameters:
        parts: each computes the outputs of one part; called twice.
        loss_of: [K] losses from the outputs of all parts, joined along their second dimension.
        device: whose random numbers the parts draw.
        after_part: called after each part's backward pass.

    Returns:
        The outputs of the batch, without their gradients, and the losses.
    """
    states, found = [], []
    with torch.no_grad():
        for forward in parts:
            states.append(_random_state(device))
            found.append(forward())
    end = _random_state(device)
    outputs = tree_map(lambda *of_parts: torch.cat(of_parts, 1).requires_grad_(), *found)
    losses = loss_of(outputs)
    losses.sum().backward()
    gradients = [x.grad if x.grad is not None else torch.zeros_like(x) for x in tree_flatten(outputs)[0]]
    begin = 0
    for forward, state, earlier in zip(parts, states, found, strict=True):
        _set_random_state(state, device)
        places = tree_flatten(earlier)[0][0].shape[1]
        again = tree_flatten(forward())[0]
        torch.autograd.backward(again, [gradient[:, begin : begin + places] for gradient in gradients])
        begin += places
        after_part()
    _set_random_state(end, device)
    return tree_map(Tensor.detach, outputs), losses.detach()


def _random_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_random_state(state: Tensor, device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
