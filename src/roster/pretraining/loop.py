"""The training itself: steps until the budget is spent, checkpoints, looks at documents kept apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from roster.model.reading import arithmetic, evaluating
from roster.pretraining.masked_lm import SplitMaskedLM
from roster.pretraining.masking import IGNORED, Masked, Masker
from roster.pretraining.objective import PARTS, PretrainingObjective
from roster.pretraining.sequences import PackedSequences
from roster.pretraining.settings import PretrainingSettings
from roster.training.schedule import warmup_decay

EVALUATIONS = 20
"""How often the documents kept apart are read, evenly over the training."""
VALID_ROWS = 512
SEEN_ROWS = 64
"""Rows from which the last states' mean and spread are taken."""
SYNC = 8
"""Steps between two waits for the device, where the clock decides when to stop."""
BETAS, EPS = (0.9, 0.98), 1e-6


@dataclass
class Progress:
    """Where a training is: all that a checkpoint needs beside tensors."""

    step: int = 0
    seconds: float = 0.0
    curve: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Budget:
    """The length of a training, in steps or in seconds."""

    steps: int = 0
    seconds: float = 0.0

    def share(self, progress: Progress) -> float:
        """How much of it is spent, 0 to 1."""
        done = progress.step / self.steps if self.steps else progress.seconds / self.seconds
        return min(1.0, done)


def budget(settings: PretrainingSettings, steps_of_a_pass: int) -> Budget:
    if settings.minutes:
        return Budget(seconds=60 * settings.minutes)
    return Budget(steps=settings.steps or max(1, round(settings.epochs * steps_of_a_pass)))


def groups(objective: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Decay on matrices only."""
    flat = [p for p in objective.parameters() if p.requires_grad]
    return [
        {"params": [p for p in flat if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in flat if p.dim() < 2], "weight_decay": 0.0},
    ]


class Trainer:
    """A objective with its optimiser; `run` trains, and can go on from any checkpoint."""

    def __init__(
        self,
        objective: PretrainingObjective,
        masker: Masker,
        rows: PackedSequences,
        settings: PretrainingSettings,
        length: Budget,
    ):
        self.objective, self.masker, self.rows, self.settings, self.budget = (
            objective,
            masker,
            rows,
            settings,
            length,
        )
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
        """The masks of a step follow from the seed and its number alone."""
        generator = torch.Generator(self.device).manual_seed(self.settings.seed * 1_000_003 + step)
        kind = self.settings.masking
        if kind == "mixed":
            kind = ("random", "names")[step % 2]
        return self.masker(ids, kind, generator)

    def step(self, ids: Tensor) -> Tensor:
        """One update of the weights; returns the losses, still on the device."""
        s, progress = self.settings, self.progress
        lr = s.rate * warmup_decay(self.budget.share(progress), s.warmup)
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        torch.manual_seed(s.seed * 1_000_003 + progress.step)  # dropout
        masked = self.masked(ids, progress.step)
        at_once = s.at_once or len(ids)
        parts = len(ids) // at_once
        found = []
        for i in range(parts):
            part = slice(i * at_once, (i + 1) * at_once)
            with arithmetic(self.device, s.precision):
                losses = self.losses(masked.ids[part], masked.places[part], masked.targets[part])
            (losses[0] / parts).backward()
            found.append(losses.detach())
        nn.utils.clip_grad_norm_(self.objective.parameters(), s.clip)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return torch.stack(found).mean(0)

    # -- the whole -------------------------------------------------------------------------------

    def run(
        self,
        look: Callable[[], Mapping[str, float]],
        save: Callable[[], None],
        told: Callable[[dict[str, float]], None],
        ticks: Callable[[], AbstractContextManager[Callable[[Progress, float], None]]],
    ) -> None:
        """`look` reads the documents kept apart, `save` keeps a checkpoint, `told` gets each point of the
        curve, `ticks` shows a person where it is."""
        p, s = self.progress, self.settings
        already, looking = p.seconds, 0.0
        lines: list[Tensor] = []
        if not p.curve and (found := look()):  # what it begins with
            p.curve.append({"step": 0, "tokens": 0, "share": 0.0, "seconds": 0.0, **found})
            told(p.curve[-1])
        self.objective.train()
        saved = began = since = time.monotonic()
        with ticks() as tick:
            for ids in self.rows.batches(p.step):
                lines.append(self.step(ids))
                p.step += 1
                if self.budget.seconds and p.step % SYNC == 0:
                    self._wait()
                p.seconds = already + time.monotonic() - began - looking
                share = self.budget.share(p)
                tick(p, share)
                if share >= 1 or int(share * EVALUATIONS) > self._looked():
                    self._wait()
                    pause = time.monotonic()
                    tokens = len(lines) * s.batch * s.length
                    point = {
                        "step": p.step, "tokens": p.step * s.batch * s.length,
                        "share": round(share, 6), "seconds": round(p.seconds, 3),
                        "tokens_per_second": tokens / max(1e-9, time.monotonic() - since),
                        **dict(zip(PARTS, torch.stack(lines).mean(0).tolist(), strict=True)), **look(),
                    }  # fmt: skip
                    p.curve.append(point)
                    told(point)
                    lines = []
                    looking += time.monotonic() - pause
                    since = time.monotonic()
                if share >= 1:
                    return
                if time.monotonic() - saved >= s.checkpoint:
                    pause = time.monotonic()
                    save()
                    saved = time.monotonic()
                    looking += saved - pause
                    since += saved - pause

    def _looked(self) -> int:
        return int(self.progress.curve[-1]["share"] * EVALUATIONS) if self.progress.curve else 0

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    # -- checkpoints -----------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """All that a resumed training needs: weights and both moments."""
        found = {}
        for name, p in self.objective.named_parameters():
            found[f"weight.{name}"] = p.detach()
            for key, value in self.optimiser.state[p].items():
                found[f"{key}.{name}"] = value
        return found

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor], progress: Progress) -> None:
        for name, p in self.objective.named_parameters():
            p.copy_(tensors[f"weight.{name}"])
            self.optimiser.state[p] = {
                key: tensors[f"{key}.{name}"].to(
                    p.device if key != "step" or self.device.type == "cuda" else "cpu"
                )
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"{key}.{name}" in tensors  # a weight that no loss reaches has no moments
            }
        self.progress = progress


def validation(rows: PackedSequences, masker: Masker, seed: int) -> list[Masked]:
    """Some rows of the documents kept apart, with masks that never change."""
    generator = torch.Generator(rows.device).manual_seed(seed)
    starts = rows.starts(0)[: rows.rows]  # where there are few, a batch repeats them
    return [
        masker(rows.take(starts[i : i + 64]), "random", generator)
        for i in range(0, min(len(starts), VALID_ROWS), 64)
    ]


def last_states(model: SplitMaskedLM, rows: PackedSequences, precision: str) -> Tensor:
    """What the encoder makes of some rows, nothing masked: [places, width]."""
    ids = rows.take(rows.starts(0)[:SEEN_ROWS])
    with evaluating(model), arithmetic(rows.device, precision):
        return model.states(ids, every=False)[-1].float().flatten(0, 1)


def evaluate(model: SplitMaskedLM, batches: list[Masked], precision: str) -> dict[str, float]:
    """Loss and accuracy of a model's guesses at masked places."""
    loss, right, count = 0.0, 0, 0
    for masked in batches:
        with evaluating(model), arithmetic(masked.ids.device, precision):
            states = model.states(masked.ids, every=False)[-1]
            logits = model.logits(states, masked.places).float()
        targets = masked.targets.flatten()
        asked = targets != IGNORED
        loss += float(nn.functional.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="sum"))
        right += int((logits.argmax(-1) == targets)[asked].sum())
        count += int(asked.sum())
    return {"valid_loss": loss / max(1, count), "valid_accuracy": right / max(1, count)}
