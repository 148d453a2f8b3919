"""The plain loop over batches: one model, any encoder, any objective."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from roster.config import Optimiser
from roster.model.batches import Batch, DeviceCorpus
from roster.model.heads import Model
from roster.model.memory import is_out_of_memory, release
from roster.model.reading import arithmetic, read_probabilities, read_words
from roster.progress import bar
from roster.training.memory import BatchLimit, backward_in_parts
from roster.training.objective import (
    AfterEpoch,
    BeforeStep,
    Checkpoint,
    Objective,
    Schedule,
    check_finite,
    derive_seed,
    each,
    losses_of,
    observe,
    rate,
    upcoming_windows,
)


@dataclass(frozen=True)
class PlainModels:
    """One model as it is."""

    model: Model
    precision: str
    k: int = 1

    def read(self, corpus: DeviceCorpus, *, predicting: bool = False) -> Tensor:
        precision = None if predicting else self.precision
        return read_probabilities(self.model, corpus, precision).unsqueeze(0)

    def read_rows(self, corpus: DeviceCorpus, rows: Sequence[np.ndarray]) -> list[tuple[Tensor, Tensor]]:
        (mine,) = rows
        return [read_words(self.model, corpus, mine, self.precision)]

    def state_dict(self, member: int) -> Mapping[str, Tensor]:
        weights: Mapping[str, Tensor] = self.model.state_dict()
        return weights


def fit(
    models: PlainModels,
    objective: Objective,
    schedule: Schedule,
    optimiser: Optimiser,
    seed: int,
    *,
    description: str,
    resume: Checkpoint | None = None,
    after_epoch: AfterEpoch | None = None,
    before_step: BeforeStep | None = None,
) -> dict[str, Any]:
    """Trains a model in place: AdamW with warm-up and linear decay, or SGD; gradients are clipped.

    Each epoch draws its order and its dropout from seeds of its own. `after_epoch(epoch, checkpoint)` is
    called after every finished epoch, and may take a checkpoint. Returns the number of steps and the losses.
    """
    model, corpus = models.model, objective.corpus
    device = corpus.device
    per_epoch = math.ceil(corpus.encoded.n_windows / optimiser.batch_size)
    total = per_epoch * schedule.epochs
    rule, peaks = _optimiser(model, schedule, optimiser, device)
    start = 0
    if resume is not None:
        start = resume.epoch
        _restore(resume, model, rule, objective)
    limit = BatchLimit(description, resume)
    model.train()
    losses: list[float] = []
    progress = bar(description=description, total=total, initial=start * per_epoch)

    @lru_cache(2)
    def plan_of(epoch: int) -> list[np.ndarray]:
        order = np.random.default_rng(derive_seed(seed, "order", epoch))
        return corpus.training_plan(optimiser.batch_size, order)

    for epoch in range(start, schedule.epochs):
        torch.manual_seed(derive_seed(seed, "epoch", epoch))
        objective.start_epoch(models, epoch)
        plan = plan_of(epoch)
        sum_of_losses = torch.zeros((), device=device)
        readings = zip(*(one.batches(plan) for one in objective.inputs()), strict=True)
        for step, batches in enumerate(readings, epoch * per_epoch):
            if before_step is not None:
                before_step(models, step)
            objective.prepare(
                models, step, partial(upcoming_windows, lambda e: [plan_of(e)], step, per_epoch, total)
            )
            words = batches[0].words.unsqueeze(0)
            present = torch.ones(words.shape, device=device)
            with arithmetic(device, optimiser.precision):
                inputs = [replace(b, ids=objective.transform_inputs(b.ids)) for b in batches]
            outputs, loss = _backward(model, objective, inputs, words, present, optimiser.precision, limit)
            observe(objective, outputs, words, present)
            nn.utils.clip_grad_norm_(model.parameters(), optimiser.clip)
            share = _share(step, total, epoch, schedule, optimiser)
            for group, peak in zip(rule.param_groups, peaks, strict=True):
                group["lr"] = peak * share
            rule.step()
            rule.zero_grad(set_to_none=True)
            sum_of_losses += loss
            progress.update()
        losses.append(float(sum_of_losses) / per_epoch)
        check_finite(losses[-1], description, epoch, schedule)
        if after_epoch is not None:
            after_epoch(epoch + 1, lambda done=epoch + 1: _snapshot(done, model, rule, objective, limit))  # type: ignore[misc]
    progress.close()
    return {"steps": total, "losses": [round(x, 5) for x in losses], **limit.facts()}


def _backward(
    model: Model,
    objective: Objective,
    inputs: list[Batch],
    words: Tensor,
    present: Tensor,
    precision: str,
    limit: BatchLimit,
) -> tuple[list[Any], Tensor]:
    """Adds the gradient of a step to the weights'; returns the heads' outputs on each input and the loss.

    A batch that does not fit into the device's memory goes through in parts.
    """
    device, rows = inputs[0].ids.device, len(inputs[0].ids)
    subwords = sum(batch.mask.numel() for batch in inputs)

    def forward(first: int, last: int) -> list[Any]:
        with arithmetic(device, precision):  # a context each: autocast keeps casts made without a gradient
            return _outputs(model, [batch.part(first, last) for batch in inputs])

    def loss_of(outputs: list[Any]) -> Tensor:
        with arithmetic(device, precision):
            return losses_of(objective, outputs, words, present)

    def whole() -> tuple[list[Any], Tensor]:
        with arithmetic(device, precision):
            outputs = _outputs(model, inputs)
            loss = losses_of(objective, outputs, words, present).sum()
        loss.backward()
        return outputs, loss.detach()

    def divided(parts: int) -> tuple[list[Any], Tensor]:
        bounds = [rows * i // parts for i in range(parts + 1)]
        forwards = [partial(forward, *pair) for pair in pairwise(bounds)]
        outputs, losses = backward_in_parts(forwards, loss_of, device)
        return outputs, losses.sum()

    while True:
        parts = limit.parts(rows, subwords)
        try:
            return whole() if parts == 1 else divided(parts)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        model.zero_grad(set_to_none=True)
        release()
        limit.lower(rows, subwords)


def _share(step: int, total: int, epoch: int, schedule: Schedule, optimiser: Optimiser) -> float:
    """The share of the peak rate at a step."""
    if schedule.sgd is not None:
        return 1 / (1 + schedule.sgd.rate_decay * epoch)
    return rate(step, total, optimiser.warmup)


def _outputs(model: Model, batches: list[Batch]) -> list[Any]:
    """The heads' outputs on each batch; batches of one shape go through in one wide pass, which is faster."""
    if len({batch.ids.shape for batch in batches}) > 1:
        return [each(model(batch), lambda x: x.unsqueeze(0)) for batch in batches]
    wide, n = batches[0], len(batches[0].words)
    for other in batches[1:]:
        wide = wide.stacked(other)
    outputs = model(wide)
    return [each(outputs, lambda x, i=i: x[i * n : (i + 1) * n].unsqueeze(0)) for i in range(len(batches))]  # type: ignore[misc]


def _optimiser(
    model: nn.Module, schedule: Schedule, optimiser: Optimiser, device: torch.device
) -> tuple[torch.optim.Optimizer, list[float]]:
    """Four groups: encoder and heads, with and without decay (none on biases and norms)."""
    groups, peaks = [], []
    for is_encoder in (True, False):
        for decays, decay in ((True, optimiser.weight_decay), (False, 0.0)):
            chosen = [
                p
                for name, p in model.named_parameters()
                if p.requires_grad and name.startswith("encoder.") == is_encoder and (p.ndim > 1) == decays
            ]
            if chosen:
                groups.append({"params": chosen, "weight_decay": decay})
                peaks.append(schedule.peak(head=not is_encoder))
    fused = device.type in ("cuda", "cpu")
    if schedule.sgd is not None:
        momentum = schedule.sgd.momentum
        return torch.optim.SGD(groups, lr=schedule.learning_rate, momentum=momentum, fused=fused), peaks
    betas = (0.9, optimiser.beta2)
    return torch.optim.AdamW(groups, lr=schedule.learning_rate, betas=betas, fused=fused), peaks


def _snapshot(
    epoch: int, model: nn.Module, rule: torch.optim.Optimizer, objective: Objective, limit: BatchLimit
) -> Checkpoint:
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for i, state in rule.state_dict()["state"].items():
        tensors.update({f"adam.{i}.{name}": x for name, x in state.items() if x is not None})
    tensors.update({f"objective.{name}": tensor for name, tensor in objective.state().items()})
    tensors.update({f"limit.{name}": tensor for name, tensor in limit.state().items()})
    return Checkpoint(epoch, tensors)


def _restore(saved: Checkpoint, model: nn.Module, rule: torch.optim.Optimizer, objective: Objective) -> None:
    model.load_state_dict(saved.part("model"))
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in saved.part("adam").items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    rule.load_state_dict({"state": state, "param_groups": rule.state_dict()["param_groups"]})
    objective.load_state(saved.part("objective"))
