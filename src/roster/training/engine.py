"""Who trains: an engine takes models and an objective. The plain one trains any of them, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from roster.config import Config
from roster.model.heads import WordStates
from roster.training import loop
from roster.training.loop import PlainModels
from roster.training.objective import AfterEpoch, BeforeStep, Checkpoint, Models, Objective, Schedule


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def at_once(self) -> int:
        """How many models it trains together."""

    def take(self, models: Sequence[WordStates]) -> Models:
        """Fresh models for training: at most `at_once`."""

    def fit(
        self,
        models: Any,
        objective: Objective,
        schedule: Schedule,
        seeds: Sequence[int],
        *,
        description: str,
        resume: Checkpoint | None = None,
        after_epoch: AfterEpoch | None = None,
        before_step: BeforeStep | None = None,
    ) -> list[dict[str, Any]]:
        """Trains the models in place; returns facts of each."""


@dataclass(frozen=True)
class PlainEngine:
    config: Config
    name: str = "plain"
    at_once: int = 1

    def take(self, models: Sequence[WordStates]) -> PlainModels:
        (model,) = models
        return PlainModels(model, self.config.optimiser.precision)

    def fit(self, models: PlainModels, objective: Objective, schedule: Schedule, seeds: Sequence[int],
            **options: Any) -> list[dict[str, Any]]:  # fmt: skip
        (seed,) = seeds
        return [loop.fit(models, objective, schedule, self.config.optimiser, seed, **options)]
