"""The fast loop: K models trained together on one GPU, every step recorded once for each width and replayed.

Reading (label removal, soft labels) happens between steps, in wide batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch

from roster.accelerate.adamw import StackedAdamW
from roster.accelerate.captured_step import CapturedStep
from roster.accelerate.fixed_shapes import FixedShapes, Plan, choose_widths, joint_plan
from roster.accelerate.stack import Stack
from roster.config import Optimiser
from roster.progress import bar
from roster.training.memory import BatchLimit
from roster.training.objective import (
    AfterEpoch,
    BeforeStep,
    Checkpoint,
    Objective,
    Schedule,
    check_finite,
    derive_seed,
    rate,
    upcoming_windows,
)

WIDTHS, STEPS_PER_WIDTH = 14, 100
"""The most shapes that a step is recorded in, and how many steps must stand behind each: a recording costs as
much as some forty steps, and fewer shapes cost padding."""


def fit(
    stack: Stack,
    objective: Objective,
    schedule: Schedule,
    optimiser: Optimiser,
    seeds: Sequence[int],
    *,
    description: str,
    resume: Checkpoint | None = None,
    after_epoch: AfterEpoch | None = None,
    before_step: BeforeStep | None = None,
) -> list[dict[str, Any]]:
    """Trains all members in place; the same arithmetic as `loop.fit`, and what it saw of each member.

    Every member has a seed, from which its order of the data follows; dropout follows from the first.
    """
    corpus = objective.corpus
    lengths = corpus.encoded.lengths
    per_epoch = math.ceil(corpus.encoded.n_windows / optimiser.batch_size)
    total = per_epoch * schedule.epochs
    shares = [rate(step, total, optimiser.warmup) for step in range(total)]
    adam = StackedAdamW(
        stack.parameters,
        lambda group: [schedule.peak(group.head) * share for share in shares],
        optimiser.weight_decay,
        optimiser.clip,
        optimiser.beta2,
    )
    start = 0
    if resume is not None:
        start = resume.epoch
        _restore(resume, stack, adam, objective)
    limit = BatchLimit(description, resume)
    widths = choose_widths(lengths, max(2, min(WIDTHS, total // STEPS_PER_WIDTH)))
    step: CapturedStep | None = None
    losses: list[list[float]] = []
    progress = bar(description=description, total=total, initial=start * per_epoch)

    @lru_cache(2)
    def plan_of(epoch: int) -> Plan:
        orders = [np.random.default_rng(derive_seed(seed, "order", epoch)) for seed in seeds]
        return joint_plan(corpus, optimiser.batch_size, orders, widths)

    for epoch in range(start, schedule.epochs):
        torch.manual_seed(derive_seed(seeds[0], "epoch", epoch))
        stack.dropout_seed.fill_(derive_seed(seeds[0], "dropout", epoch))
        objective.start_epoch(stack, epoch)
        plan = plan_of(epoch)
        inputs = objective.inputs()
        if step is None:
            shapes = FixedShapes(corpus, widths[-1], len(inputs))
            step = CapturedStep(stack, objective, adam, shapes, per_epoch, optimiser.batch_size, limit)
        step.corpus.fill(inputs)
        step.start_epoch(plan.rows)
        for number, width in enumerate(plan.widths, epoch * per_epoch):
            batches_of = partial(_batches, plan_of, corpus.encoded.n_windows)
            upcoming = partial(upcoming_windows, batches_of, number, per_epoch, total)
            if before_step is not None:
                before_step(stack, number)
            objective.prepare(stack, number, upcoming)
            step(width)
            progress.update()
        losses.append((step.sum_of_losses / per_epoch).tolist())
        for loss in losses[-1]:
            check_finite(loss, description, epoch, schedule)
        if after_epoch is not None:
            after_epoch(epoch + 1, lambda done=epoch + 1: _snapshot(done, stack, adam, objective, limit))  # type: ignore[misc]
    progress.close()
    return [
        {"steps": total, "losses": [round(x[k], 5) for x in losses], **limit.facts()} for k in range(stack.k)
    ]


def _batches(plan_of: Callable[[int], Plan], empty: int, epoch: int) -> list[list[np.ndarray]]:
    """Every member's batches of an epoch, without the rows that only fill them up."""
    return [[batch[batch < empty] for batch in member] for member in plan_of(epoch).rows.swapaxes(0, 1)]


def _snapshot(
    epoch: int, stack: Stack, adam: StackedAdamW, objective: Objective, limit: BatchLimit
) -> Checkpoint:
    tensors = {f"model.{name}": p.master for name, p in stack.parameters.by_name.items()}
    tensors.update({f"adam.{name}": tensor for name, tensor in adam.state().items()})
    tensors.update({f"objective.{name}": tensor for name, tensor in objective.state().items()})
    tensors.update({f"limit.{name}": tensor for name, tensor in limit.state().items()})
    return Checkpoint(epoch, tensors)


def _restore(saved: Checkpoint, stack: Stack, adam: StackedAdamW, objective: Objective) -> None:
    for name, tensor in saved.part("model").items():
        stack.parameters[name].master.copy_(tensor)
    stack.parameters.refresh()
    adam.load_state(saved.part("adam"))
    objective.load_state(saved.part("objective"))
