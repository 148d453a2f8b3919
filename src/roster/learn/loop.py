"""The one training loop. What is learned is an `Objective`; everything else is the same for all stages."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from roster.config import Optimiser
from roster.errors import RosterError
from roster.model.batches import Batch, DeviceCorpus
from roster.model.reading import arithmetic
from roster.progress import bar

M = TypeVar("M", bound=nn.Module)


def derive(seed: int, *names: str | int) -> int:
    """A seed for one purpose, from the run's seed: independent streams, and none to save or restore.

    >>> derive(30, "member", 0) == derive(30, "member", 0), derive(30, "member", 0) == derive(30, "member", 1)
    (True, False)
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "little")


class Objective(Generic[M]):
    """What a stage learns: a loss on a batch, and whatever it renews in between.

    All tensors that change while training are in `state()`, so that a resumed run is the same run.
    """

    def __init__(self, corpus: DeviceCorpus):
        self.corpus = corpus

    def start_epoch(self, model: M, epoch: int) -> None:
        """Called before the first batch of every epoch, also of the one that a resumed run begins with."""

    def prepare(self, model: M, step: int) -> None:
        """Called before every batch, counted from 0 over the whole stage."""

    def batches(self, plan: list[np.ndarray]) -> Iterator[tuple[Batch, ...]]:
        return ((batch,) for batch in self.corpus.batches(plan))

    def loss(self, model: M, *batches: Batch) -> Tensor:
        raise TypeError(f"{type(self).__name__} has no loss")

    def state(self) -> dict[str, Tensor]:
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Takes back what `state` gave."""


@dataclass(frozen=True)
class Schedule:
    """Passes over the data and peak rates of one stage. A head rate of 0 means the encoder's."""

    epochs: int
    learning_rate: float
    head_learning_rate: float = 0.0


@dataclass
class Checkpoint:
    """Everything a stage needs to go on after `epoch` finished epochs."""

    epoch: int
    tensors: dict[str, Tensor] = field(default_factory=dict)


def rate(step: int, total: int, warmup: float) -> float:
    """The share of the peak rate at a step: linear rise over `warmup` of all steps, linear fall to 0.

    >>> [round(rate(s, 10, 0.2), 2) for s in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.12]
    """
    rise = math.ceil(warmup * total)
    if step < rise:
        return (step + 1) / rise
    return (total - step) / max(1, total - rise)


def fit(
    model: M,
    objective: Objective[M],
    schedule: Schedule,
    optimiser: Optimiser,
    seed: int,
    *,
    description: str,
    resume: Checkpoint | None = None,
    after_epoch: Callable[[int, Callable[[], Checkpoint]], None] | None = None,
) -> dict[str, Any]:
    """Trains `model` in place: AdamW, warm-up and linear decay, clipping; returns what it saw.

    Each epoch draws its order and its dropout from seeds of its own. `after_epoch(epoch, checkpoint)`
    is called after every finished epoch, and may take a checkpoint.
    """
    corpus = objective.corpus
    device = corpus.device
    per_epoch = math.ceil(corpus.encoded.n_windows / optimiser.batch_size)
    total = per_epoch * schedule.epochs
    adam, peaks = _adamw(model, schedule, optimiser, device)
    start = 0
    if resume is not None:
        start = resume.epoch
        _restore(resume, model, adam, objective)
    model.train()
    losses: list[float] = []
    progress = bar(description=description, total=total, initial=start * per_epoch)
    for epoch in range(start, schedule.epochs):
        torch.manual_seed(derive(seed, "epoch", epoch))
        objective.start_epoch(model, epoch)
        plan = corpus.training_plan(optimiser.batch_size, np.random.default_rng(derive(seed, "order", epoch)))
        seen = torch.zeros((), device=device)
        for step, batches in enumerate(objective.batches(plan), epoch * per_epoch):
            objective.prepare(model, step)
            with arithmetic(device, optimiser.precision):
                loss = objective.loss(model, *batches)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), optimiser.clip)
            for group, peak in zip(adam.param_groups, peaks, strict=True):
                group["lr"] = peak * rate(step, total, optimiser.warmup)
            adam.step()
            adam.zero_grad(set_to_none=True)
            seen += loss.detach()
            progress.update()
        losses.append(float(seen) / per_epoch)
        if not math.isfinite(losses[-1]):
            raise RosterError(
                f"{description}: the loss is no longer a number in epoch {epoch + 1}; "
                f"a lower learning rate than {schedule.learning_rate:g} will help"
            )
        if after_epoch is not None:
            after_epoch(epoch + 1, lambda done=epoch + 1: _snapshot(done, model, adam, objective))  # type: ignore[misc]
    progress.close()
    return {"steps": total, "losses": [round(x, 5) for x in losses]}


def _adamw(
    model: nn.Module, schedule: Schedule, optimiser: Optimiser, device: torch.device
) -> tuple[torch.optim.Optimizer, list[float]]:
    """Four groups: encoder and heads, with and without decay (none on biases and norms)."""
    head_rate = schedule.head_learning_rate or schedule.learning_rate
    groups, peaks = [], []
    for is_encoder, peak in ((True, schedule.learning_rate), (False, head_rate)):
        for decays, decay in ((True, optimiser.weight_decay), (False, 0.0)):
            chosen = [
                p
                for name, p in model.named_parameters()
                if p.requires_grad and name.startswith("encoder.") == is_encoder and (p.ndim > 1) == decays
            ]
            if chosen:
                groups.append({"params": chosen, "weight_decay": decay})
                peaks.append(peak)
    return torch.optim.AdamW(groups, lr=schedule.learning_rate, fused=device.type in ("cuda", "cpu")), peaks


def _snapshot(
    epoch: int, model: nn.Module, adam: torch.optim.Optimizer, objective: Objective[Any]
) -> Checkpoint:
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for i, state in adam.state_dict()["state"].items():
        tensors.update({f"adam.{i}.{name}": value for name, value in state.items()})
    tensors.update({f"objective.{name}": tensor for name, tensor in objective.state().items()})
    return Checkpoint(epoch, tensors)


def _restore(
    saved: Checkpoint, model: nn.Module, adam: torch.optim.Optimizer, objective: Objective[Any]
) -> None:
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "adam": {}, "objective": {}}
    for name, tensor in saved.tensors.items():
        kind, _, rest = name.partition(".")
        parts[kind][rest] = tensor
    model.load_state_dict(parts["model"])
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in parts["adam"].items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    adam.load_state_dict({"state": state, "param_groups": adam.state_dict()["param_groups"]})
    objective.load_state(parts["objective"])
