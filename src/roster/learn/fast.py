"""The fast loop: K models in step on one GPU, every step captured once for each width and then replayed.

A captured step holds everything from the numbers of the rows to the new weights; the host only says
"again". Reading (label removal, soft labels) happens between steps, in wide batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.config import Optimiser
from roster.learn.loop import (
    AfterEpoch,
    Checkpoint,
    Objective,
    Schedule,
    check_finite,
    coming_rows,
    derive,
    each,
    rate,
)
from roster.learn.static import Plan, StaticCorpus, choose_widths, joint_plan
from roster.model.stack.adamw import StackedAdamW
from roster.model.stack.models import Stack
from roster.progress import bar

WIDTHS, STEPS_PER_WIDTH = 14, 50
"""The most shapes that a step is captured in, and how many steps must stand behind each: a capture costs as
much as some ten steps, and fewer shapes cost padding."""


class Step:
    """One step of training for all models. On a GPU it is recorded at its first use in each width."""

    def __init__(self, stack: Stack, objective: Objective, adam: StackedAdamW, corpus: StaticCorpus,
                 steps: int, batch_size: int):  # fmt: skip
        self.stack, self.objective, self.adam, self.corpus = stack, objective, adam, corpus
        device = stack.device
        self.rows = torch.zeros(steps, stack.k, batch_size, dtype=torch.int64, device=device)
        self.at = torch.zeros(1, dtype=torch.int64, device=device)
        self.seen = torch.zeros(stack.k, device=device)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self._pool: Any = None

    def start_epoch(self, rows: np.ndarray) -> None:
        self.rows.copy_(torch.from_numpy(rows))
        self.at.zero_()
        self.seen.zero_()

    def __call__(self, width: int) -> None:
        if self.stack.device.type != "cuda":
            self._step(width)
            return
        if width not in self._graphs:
            self._capture(width)
        self._graphs[width].replay()

    def _capture(self, width: int) -> None:
        if not self._graphs:
            self._warm_up(width)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self._step(width)
        self._pool = self._pool or graph.pool()
        self._graphs[width] = graph

    def _warm_up(self, width: int) -> None:
        """Libraries set themselves up at first use, which cannot be recorded. Changes nothing."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            self._losses(width).sum().backward()
        torch.cuda.current_stream().wait_stream(aside)

    def _step(self, width: int) -> None:
        losses = self._losses(width)
        losses.sum().backward()
        self.adam.step()
        self.seen += losses.detach()
        self.at += 1
        self.stack.dropout_seed += 1

    def _losses(self, width: int) -> Tensor:
        ids, lengths, words = self.corpus.cut(self.rows[self.at].squeeze(0), width)
        n = len(ids)
        wide = self.objective.disguise(ids).transpose(0, 1).flatten(1, 2)  # [K, inputs x batch, width]
        logits = self.stack.logits(wide, lengths.repeat(1, n), training=True)
        outputs = self.stack.outputs(logits.flatten(1, 2))
        size = words.shape[1]
        parts = [each(outputs, lambda x, i=i: x[:, i * size : (i + 1) * size]) for i in range(n)]  # type: ignore[misc]
        return self.objective.loss(parts, words.clamp_min(0), (words >= 0).float())


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
) -> list[dict[str, Any]]:
    """Trains all members in place; the same arithmetic as `loop.fit`, and what it saw of each member.

    Every member has a seed, from which its order of the data follows; dropout follows from the first.
    """
    corpus, optimiser = objective.corpus, schedule.optimiser(optimiser)
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
    widths = choose_widths(lengths, max(2, min(WIDTHS, total // STEPS_PER_WIDTH)))
    step: Step | None = None
    losses: list[list[float]] = []
    progress = bar(description=description, total=total, initial=start * per_epoch)

    @lru_cache(2)
    def plan_of(epoch: int) -> Plan:
        orders = [np.random.default_rng(derive(seed, "order", epoch)) for seed in seeds]
        return joint_plan(corpus, optimiser.batch_size, orders, widths)

    for epoch in range(start, schedule.epochs):
        torch.manual_seed(derive(seeds[0], "epoch", epoch))
        stack.dropout_seed.fill_(derive(seeds[0], "dropout", epoch))
        objective.start_epoch(stack, epoch)
        plan = plan_of(epoch)
        inputs = objective.inputs()
        if step is None:
            static = StaticCorpus(corpus, widths[-1], len(inputs))
            step = Step(stack, objective, adam, static, per_epoch, optimiser.batch_size)
        step.corpus.fill(inputs)
        step.start_epoch(plan.rows)
        for number, width in enumerate(plan.widths, epoch * per_epoch):
            batches_of = partial(_batches, plan_of, corpus.encoded.n_windows)
            coming = partial(coming_rows, batches_of, number, per_epoch, total)
            objective.prepare(stack, number, coming)
            step(width)
            progress.update()
        losses.append((step.seen / per_epoch).tolist())
        for loss in losses[-1]:
            check_finite(loss, description, epoch, schedule)
        if after_epoch is not None:
            after_epoch(epoch + 1, lambda done=epoch + 1: _snapshot(done, stack, adam, objective))  # type: ignore[misc]
    progress.close()
    return [{"steps": total, "losses": [round(x[k], 5) for x in losses]} for k in range(stack.k)]


def _batches(plan_of: Callable[[int], Plan], empty: int, epoch: int) -> list[list[np.ndarray]]:
    """Every member's batches of an epoch, without the rows that only fill them up."""
    return [[batch[batch < empty] for batch in member] for member in plan_of(epoch).rows.swapaxes(0, 1)]


def _snapshot(epoch: int, stack: Stack, adam: StackedAdamW, objective: Objective) -> Checkpoint:
    tensors = {f"model.{name}": p.master for name, p in stack.parameters.by_name.items()}
    tensors.update({f"adam.{name}": tensor for name, tensor in adam.state().items()})
    tensors.update({f"objective.{name}": tensor for name, tensor in objective.state().items()})
    return Checkpoint(epoch, tensors)


def _restore(saved: Checkpoint, stack: Stack, adam: StackedAdamW, objective: Objective) -> None:
    for name, tensor in saved.part("model").items():
        stack.parameters[name].master.copy_(tensor)
    stack.parameters.refresh()
    adam.load_state(saved.part("adam"))
    objective.load_state(saved.part("objective"))
