"""AdamW over flat buffers: each member's gradient is clipped by its own norm, all in one pass over memory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from roster.accelerate.parameters import Group, Parameters, Segment

BETA1, EPS = 0.9, 1e-8  # torch.optim.AdamW's


class StackedAdamW:
    """The rates of all steps lie on the device, and so does the step's number: none waits for the host."""

    def __init__(
        self,
        parameters: Parameters,
        rates: Callable[[Group], list[float]],
        weight_decay: float,
        clip: float,
        beta2: float = 0.999,
    ):
        device = parameters.rest.master.device
        self.parameters, self.weight_decay, self.clip = parameters, weight_decay, clip
        self.betas = (BETA1, beta2)
        self.rates = {s.group: torch.tensor(rates(s.group), device=device) for s in parameters.segments}
        steps = range(1, len(next(iter(self.rates.values()))) + 1)
        self.corrections = torch.tensor(
            [[1 - beta**step for beta in self.betas] for step in steps], device=device
        )
        self.done = torch.zeros(1, dtype=torch.int64, device=device)

    @torch.no_grad()
    def step(self) -> None:
        segments = self.parameters.segments
        squares = [torch.linalg.vector_norm(s.grad, dim=1, dtype=torch.float32) for s in segments]
        norm = torch.linalg.vector_norm(torch.stack(squares), dim=0)
        scale = (self.clip / (norm + 1e-6)).clamp_max(1.0)  # as torch.nn.utils.clip_grad_norm_
        rates = {group: table[self.done] for group, table in self.rates.items()}
        corrections = self.corrections[self.done].squeeze(0)
        self.done += 1
        change = _update(scale)
        for segment in segments:
            decay = self.weight_decay if segment.group.decays else 0.0
            change(segment, scale, rates[segment.group], corrections, decay, self.betas, EPS)

    def state(self) -> dict[str, Tensor]:
        """Moments and number of steps, for a checkpoint."""
        found = {"done": self.done}
        for i, segment in enumerate(self.parameters.segments):
            found[f"{i}.first"], found[f"{i}.second"] = segment.first, segment.second
        return found

    def load_state(self, state: dict[str, Tensor]) -> None:
        for name, tensor in self.state().items():
            tensor.copy_(state[name])


def _update(scale: Tensor) -> Callable[..., None]:
    if scale.is_cuda:
        from roster.accelerate import kernels

        if kernels.AVAILABLE:
            return kernels.adamw
    return update


def update(
    segment: Segment,
    scale: Tensor,
    rate: Tensor,
    corrections: Tensor,
    decay: float,
    betas: tuple[float, float],
    eps: float,
) -> None:
    """One step of AdamW; `scale` [K] clips, `corrections` are those of both moments' start at 0."""
    g = segment.grad.float() * scale.unsqueeze(1)
    segment.first.lerp_(g, 1 - betas[0])
    segment.second.mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
    segment.master.mul_(1 - rate * decay)
    root = (segment.second / corrections[1]).sqrt_().add_(eps)
    segment.master.sub_(rate / corrections[0] * segment.first / root)
    if segment.work is not None:
        segment.work.copy_(segment.master)
