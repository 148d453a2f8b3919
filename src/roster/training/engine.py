"""Training engines: they train models with an objective. The plain one trains any model, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from roster.config import Config
from roster.model.heads import WordStates
from roster.training import loop
from roster.training.loop import PlainModels
from roster.training.objective import AfterEpoch, BeforeStep, Checkpoint, Models, Objective, Schedule


class TrainingEngine(Protocol):
    """Prepares models and trains them, one or several together."""

    @property
    def name(self) -> str: ...

    @property
    def at_once(self) -> int:
        """Number of models that are trained together."""

    def take(self, models: Sequence[WordStates]) -> Models:
        """The models as `fit` takes them; at most `at_once`."""

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
        """Train the models in place; return statistics of each."""


@dataclass(frozen=True)
class PlainEngine:
    """Trains one model at a time with `training.loop`."""

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
