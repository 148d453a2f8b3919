"""One step of training for K models, recorded once for each width and then replayed.

A recorded step holds everything from the row numbers of the batch to the new weights. It repeats the kernels
and the Python branches of the moment in which it was recorded; only tensors that change in place change
what it computes. A batch that does not fit into the device's memory goes through in parts, which are not
recorded. `check` compares a replayed step with the objective as it is now, so that a loss that
branches on a Python value stops the training instead of repeating one branch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from roster.accelerate.adamw import StackedAdamW
from roster.accelerate.fixed_shapes import FixedShapes
from roster.accelerate.stack import Stack
from roster.errors import RosterError
from roster.model.memory import is_out_of_memory, release
from roster.training.memory import BatchLimit, backward_in_parts
from roster.training.objective import Objective, each, losses_of, observe

CHECKED = 3
"""So many of the first steps of a stage are checked, and the first one of every epoch."""
TOLERANCE = 1e-4
"""Largest relative difference of two computations of one loss: sums in another order differ by less."""
PART = 1 << 32
"""Between the dropout seeds of two parts of a batch; those of steps follow each other."""


class Recording(Protocol):
    """A step that was recorded; `replay` repeats it."""

    def replay(self) -> None: ...


class Recorder(Protocol):
    """How a step is recorded on a device."""

    def record(self, step: Callable[[Objective], None], objective: Objective) -> Recording: ...


class CudaRecorder:
    """CUDA graphs, which share one pool of memory."""

    def __init__(self, warm_up: Callable[[Objective], None]):
        self._warm_up: Callable[[Objective], None] | None = warm_up
        self._pool: Any = None

    def record(self, step: Callable[[Objective], None], objective: Objective) -> torch.cuda.CUDAGraph:
        if self._warm_up is not None:
            # Libraries initialise themselves at first use, which cannot be recorded.
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                self._warm_up(objective)
            torch.cuda.current_stream().wait_stream(aside)
            self._warm_up = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            step(objective)
        self._pool = self._pool or graph.pool()
        return graph


class FrozenStep:
    """What a CUDA graph does, on a CPU: Python values stay as they were, tensors are read as they are now."""

    def __init__(self, step: Callable[[Objective], None], objective: Objective):
        self._step, self._objective = step, copy.copy(objective)

    def replay(self) -> None:
        self._step(self._objective)


class FrozenRecorder:
    """Records nothing but the objective's Python values. It makes CPU tests see what a GPU would do."""

    def record(self, step: Callable[[Objective], None], objective: Objective) -> FrozenStep:
        return FrozenStep(step, objective)


class CapturedStep:
    """A step of training for all models of a stack. Calling it trains on the next batch of the plan."""

    def __init__(self, stack: Stack, objective: Objective, adam: StackedAdamW, corpus: FixedShapes,
                 steps: int, batch_size: int, limit: BatchLimit | None = None):  # fmt: skip
        self.limit = limit or BatchLimit("training")
        self.stack, self.objective, self.adam, self.corpus = stack, objective, adam, corpus
        device = stack.device
        self.rows = torch.zeros(steps, stack.k, batch_size, dtype=torch.int64, device=device)
        self.at = torch.zeros(1, dtype=torch.int64, device=device)
        self.sum_of_losses = torch.zeros(stack.k, device=device)
        self._recordings: dict[int, Recording] = {}
        self._last: dict[int, tuple[list[Any], Tensor, Tensor, Tensor]] = {}
        """By width: outputs, words, presence and losses of the last step, in the memory of its recording."""
        self._recorder = self._new_recorder()
        self._checks = CHECKED
        self._width = 0

    def start_epoch(self, rows: np.ndarray) -> None:
        self.rows.copy_(torch.from_numpy(rows))
        self.at.zero_()
        self.sum_of_losses.zero_()
        self._checks = max(self._checks, 1)

    def _new_recorder(self) -> Recorder:
        return FrozenRecorder() if self.stack.device.type != "cuda" else CudaRecorder(self._warm_up)

    def __call__(self, width: int) -> None:
        self._width = width
        rows = self.rows.shape[2]
        subwords = rows * width * len(self.corpus.ids)
        while True:
            parts = self.limit.parts(rows, subwords)
            try:
                if parts > 1:
                    self._step_in_parts(parts)
                else:
                    self._recorded_step(width)
                return
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            # Recordings keep the memory of their steps.
            self._recordings.clear()
            self._last.clear()
            self._recorder = self._new_recorder()
            release()
            self.limit.lower(rows, subwords)

    def _recorded_step(self, width: int) -> None:
        new = width not in self._recordings
        if new:
            self._recordings[width] = self._recorder.record(self._step, self.objective)
        self._recordings[width].replay()
        if self._checks or new:
            self._checks = max(0, self._checks - 1)
            self.check()

    @torch.no_grad()
    def check(self) -> None:
        """Raise `RosterError` if the last replayed step had other losses than the objective computes now."""
        outputs, words, present, losses = self._last[self._width]
        now = losses_of(self.objective, outputs, words, present)
        if not torch.allclose(now, losses, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            name = type(self.objective).__name__
            raise RosterError(
                f"the recorded step of {name} differs from its loss: {losses.tolist()} and {now.tolist()}. A "
                f"loss that branches on a Python value cannot be recorded; use tensors, or set "
                f"{name}.capturable to False. --set optimiser.engine=plain trains without recorded steps"
            )

    def _warm_up(self, objective: Objective) -> None:
        ids, lengths, words, present = self._batch(objective)
        losses_of(objective, self._outputs(ids, lengths), words, present).sum().backward()

    def _step(self, objective: Objective) -> None:
        ids, lengths, words, present = self._batch(objective)
        outputs = self._outputs(ids, lengths)
        losses = losses_of(objective, outputs, words, present)
        losses.sum().backward()
        kept = [each(output, lambda x: x.detach().clone()) for output in outputs]
        self._last[self._width] = (kept, words, present, losses.detach())
        self._update(objective, kept, words, present, losses.detach())

    def _step_in_parts(self, parts: int) -> None:
        """The same for a batch that is too large: not recorded, the gradients of its parts added up."""
        ids, lengths, words, present = self._batch(self.objective)
        rows, seed = ids.shape[2], self.stack.dropout_seed.clone()
        buffers = self.stack.parameters.buffers
        sums = [torch.zeros_like(buffer.grad, dtype=torch.float32) for buffer in buffers]

        def forward(part: int) -> list[Any]:
            self.stack.dropout_seed.copy_(seed + part * PART)
            chosen = slice(rows * part // parts, rows * (part + 1) // parts)
            return self._outputs(ids[:, :, chosen], lengths[:, chosen])

        def add_up() -> None:
            for total, buffer in zip(sums, buffers, strict=True):
                total += buffer.grad

        try:
            outputs, losses = backward_in_parts(
                [partial(forward, part) for part in range(parts)],
                lambda outputs: losses_of(self.objective, outputs, words, present),
                self.stack.device,
                add_up,
            )
        finally:
            self.stack.dropout_seed.copy_(seed)
        for total, buffer in zip(sums, buffers, strict=True):
            buffer.grad.copy_(total)
        self._update(self.objective, outputs, words, present, losses)

    def _update(
        self, objective: Objective, outputs: list[Any], words: Tensor, present: Tensor, losses: Tensor
    ) -> None:
        """What follows the gradient of a step."""
        observe(objective, outputs, words, present)
        self.adam.step()
        self.sum_of_losses += losses
        self.at += 1
        self.stack.dropout_seed += 1

    def _batch(self, objective: Objective) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """`ids` [inputs, K, rows, width], `lengths` [K, rows], words and their presence [K, rows x width]."""
        ids, lengths, words = self.corpus.cut(self.rows[self.at].squeeze(0), self._width)
        return objective.transform_inputs(ids), lengths, words.clamp_min(0), (words >= 0).float()

    def _outputs(self, ids: Tensor, lengths: Tensor) -> list[Any]:
        """The heads' outputs on each input, [K, rows x width, ...]."""
        n, _, rows, width = ids.shape
        wide = ids.transpose(0, 1).flatten(1, 2)  # [K, inputs x rows, width]
        logits = self.stack.logits(wide, lengths.repeat(1, n), training=True)
        joined, size = self.stack.outputs(logits.flatten(1, 2)), rows * width
        return [each(joined, lambda x, i=i: x[:, i * size : (i + 1) * size]) for i in range(n)]  # type: ignore[misc]
