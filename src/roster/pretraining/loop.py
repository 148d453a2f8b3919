"""The training loop: steps until the budget is spent, with validation and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from roster.model.reading import arithmetic
from roster.pretraining.masking import Masked, Masker
from roster.pretraining.objective import PARTS, PretrainingObjective
from roster.pretraining.sequences import PackedSequences
from roster.pretraining.settings import PretrainingSettings
from roster.training.schedule import warmup_decay

EVALUATIONS = 20
"""Number of validations, evenly spaced over the training."""
SYNC = 8
"""Steps between synchronisations with the device, if the budget is a time."""
BETAS, EPS = (0.9, 0.98), 1e-6


@dataclass
class Progress:
    """State of a training: all that a checkpoint has beside tensors."""

    step: int = 0
    seconds: float = 0.0
    curve: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Budget:
    """The length of a training, in steps or in seconds."""

    steps: int = 0
    seconds: float = 0.0

    def share(self, progress: Progress) -> float:
        """Share of the budget that is spent, 0 to 1."""
        done = progress.step / self.steps if self.steps else progress.seconds / self.seconds
        return min(1.0, done)


def budget(settings: PretrainingSettings, steps_per_epoch: int) -> Budget:
    """Return the length of the training that the settings give.

    >>> budget(PretrainingSettings(epochs=2.5), 100)
    Budget(steps=250, seconds=0.0)
    """
    if settings.minutes:
        return Budget(seconds=60 * settings.minutes)
    return Budget(steps=settings.steps or max(1, round(settings.epochs * steps_per_epoch)))


def groups(objective: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Parameter groups for AdamW: weight decay on matrices only."""
    flat = [p for p in objective.parameters() if p.requires_grad]
    return [
        {"params": [p for p in flat if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in flat if p.dim() < 2], "weight_decay": 0.0},
    ]


class Trainer:
    """An objective with its optimiser. `run` trains, from the start or from a restored checkpoint."""

    def __init__(
        self,
        objective: PretrainingObjective,
        masker: Masker,
        rows: PackedSequences,
        settings: PretrainingSettings,
        length: Budget,
    ):
        self.objective, self.masker, self.rows = objective, masker, rows
        self.settings, self.budget = settings, length
        self.device = rows.device
        self.progress = Progress()
        fused = self.device.type in ("cuda", "cpu")
        self.optimiser = torch.optim.AdamW(
            groups(objective, settings.weight_decay), lr=settings.rate, betas=BETAS, eps=EPS, fused=fused
        )
        compiled = settings.compile == "on" or (settings.compile == "auto" and self.device.type == "cuda")
        self.losses: Callable[..., Tensor] = torch.compile(objective) if compiled else objective

    # -- one step --------------------------------------------------------------------------------

    def masked(self, ids: Tensor, step: int) -> Masked:
        """Mask the batch of a step; the masks depend only on the seed and the number of the step."""
        generator = torch.Generator(self.device).manual_seed(self.settings.seed * 1_000_003 + step)
        kind = self.settings.masking
        if kind == "mixed":
            kind = ("random", "names")[step % 2]
        return self.masker(ids, kind, generator)

    def step(self, ids: Tensor) -> Tensor:
        """Update the weights once; return the losses, on the device."""
        s, progress = self.settings, self.progress
        lr = s.rate * warmup_decay(self.budget.share(progress), s.warmup)
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        torch.manual_seed(s.seed * 1_000_003 + progress.step)  # dropout
        masked = self.masked(ids, progress.step)
        at_once = s.at_once or len(ids)
        parts = len(ids) // at_once
        parts_losses = []
        for i in range(parts):
            part = slice(i * at_once, (i + 1) * at_once)
            with arithmetic(self.device, s.precision):
                losses = self.losses(masked.ids[part], masked.places[part], masked.targets[part])
            (losses[0] / parts).backward()
            parts_losses.append(losses.detach())
        nn.utils.clip_grad_norm_(self.objective.parameters(), s.clip)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return torch.stack(parts_losses).mean(0)

    # -- the whole -------------------------------------------------------------------------------

    def run(
        self,
        evaluate: Callable[[], Mapping[str, float]],
        save: Callable[[], None],
        report: Callable[[dict[str, float]], None],
        progress_bar: Callable[[], AbstractContextManager[Callable[[Progress, float], None]]],
    ) -> None:
        """Train until the budget is spent.

        Parameters:
            evaluate: returns the validation scores.
            save: saves a checkpoint.
            report: called with each point of the curve.
            progress_bar: a context whose value is called after each step with the progress and the share
                of the budget that is spent.
        """
        p, s = self.progress, self.settings
        earlier, paused = p.seconds, 0.0  # validation and checkpoints do not count as training time
        steps: list[Tensor] = []
        if not p.curve and (scores := evaluate()):  # of the initial weights
            p.curve.append({"step": 0, "tokens": 0, "share": 0.0, "seconds": 0.0, **scores})
            report(p.curve[-1])
        self.objective.train()
        saved = began = since = time.monotonic()
        with progress_bar() as show:
            for ids in self.rows.batches(p.step):
                steps.append(self.step(ids))
                p.step += 1
                if self.budget.seconds and p.step % SYNC == 0:
                    self._wait()
                p.seconds = earlier + time.monotonic() - began - paused
                share = self.budget.share(p)
                show(p, share)
                if share >= 1 or int(share * EVALUATIONS) > self._evaluations():
                    self._wait()
                    pause = time.monotonic()
                    tokens = len(steps) * s.batch * s.length
                    point = {
                        "step": p.step, "tokens": p.step * s.batch * s.length,
                        "share": round(share, 6), "seconds": round(p.seconds, 3),
                        "tokens_per_second": tokens / max(1e-9, time.monotonic() - since),
                        **dict(zip(PARTS, torch.stack(steps).mean(0).tolist(), strict=True)), **evaluate(),
                    }  # fmt: skip
                    p.curve.append(point)
                    report(point)
                    steps = []
                    paused += time.monotonic() - pause
                    since = time.monotonic()
                if share >= 1:
                    return
                if time.monotonic() - saved >= s.checkpoint:
                    pause = time.monotonic()
                    save()
                    saved = time.monotonic()
                    paused += saved - pause
                    since += saved - pause

    def _evaluations(self) -> int:
        """How many validations were due at the last point of the curve."""
        return int(self.progress.curve[-1]["share"] * EVALUATIONS) if self.progress.curve else 0

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    # -- checkpoints -----------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors of a checkpoint: weights and both moments of AdamW."""
        tensors = {}
        for name, p in self.objective.named_parameters():
            tensors[f"weight.{name}"] = p.detach()
            for key, value in self.optimiser.state[p].items():
                tensors[f"{key}.{name}"] = value
        return tensors

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor], progress: Progress) -> None:
        """Continue from a checkpoint: the result of `tensors`, and the progress that belongs to it."""
        for name, p in self.objective.named_parameters():
            p.copy_(tensors[f"weight.{name}"])
            self.optimiser.state[p] = {
                key: tensors[f"{key}.{name}"].to(
                    p.device if key != "step" or self.device.type == "cuda" else "cpu"
                )
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"{key}.{name}" in tensors  # a weight without gradient has no moments
            }
        self.progress = progress
