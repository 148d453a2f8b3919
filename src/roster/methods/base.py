"""What a method is: its name, its options, its checks, its head, and how it trains.

A method is one module or package in `roster.methods` with a `METHOD` (docs/methods.md shows how to add one).
The command line, the config, the experiments and whatever loads a model ask the registry for it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from roster.config import Config
from roster.corpus.sentence import Sentence

if TYPE_CHECKING:
    from torch import Tensor

    from roster.methods.facts import Facts
    from roster.model.heads import WordStates
    from roster.training.mentions import TypeCount
    from roster.training.objective import Objective, Schedule
    from roster.training.run import Run
    from roster.training.task import Task

MINIMUM_STEPS = 150
"""A model that learns its labels at all takes about so many steps. No time budget goes below."""
SHORTER = (0.75, 0.5, 0.33)
"""Shares of its epochs that a training is shortened to, to fit into a time budget."""


@dataclass(frozen=True)
class Prepared:
    """Training sentences as a method wants them; what it changed, for the results and for the log."""

    sentences: Sequence[Sentence]
    results: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[str] = ()


class Method:
    """Base class of all methods. What is not overridden has the obvious meaning, or none."""

    name: ClassVar[str]
    """As `--method` takes it; the module is called so, with underscores."""
    title: ClassVar[str]
    """As tables and figures show it."""
    summary: ClassVar[str]
    """One line for the documentation."""
    sections: ClassVar[Mapping[str, type]] = {}
    """The method's own sections of the config: dataclasses whose fields are `roster.config.option`s."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Values of shared options that are other than usual, by their full names."""
    derivation: ClassVar[int] = 5
    """Version of what a training does by default, raised by a change that affects results: stored results of
    experiments by another version are not used. A change of derived values alone is noticed without it."""

    @property
    def head(self) -> type[WordStates]:
        """The class of its models."""
        raise TypeError(f"{type(self).__name__} has no head")

    def train(self, task: Task, run: Run) -> WordStates:
        """Distant labels in, model out. Finished stages are taken from the run folder."""
        raise TypeError(f"{type(self).__name__} has no train")

    def kept_predictions(self, task: Task, run: Run) -> dict[str, Tensor]:
        """Predictions of other models than the last on the training text that stay in the run, by name: of
        every training word in order, [words, ...]. The run is finished but for its model."""
        return {}

    def check(self, config: Config) -> None:
        """Raise `ConfigError` for values that do not go together."""

    def check_task(self, task: Task) -> None:
        """Raise `RosterError` for what is wrong with config and data together, before anything is trained."""

    def check_result(self, config: Config, counts: Mapping[str, TypeCount]) -> None:
        """Raise `RosterError` if the model, by what it finds in its training text, must not be saved."""

    def derive(self, config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
        """Values of options that follow from the data and the encoder, by their full names.

        Args:
            config: with what the user gave, and the paper's values for all else.
            facts: counts of the data, and what is known of the encoder.
            given: names of the options that the user gave.
        """
        return {}

    def describe(self, config: Config, facts: Facts) -> list[str]:
        """Sentences for the log on what a config makes of the facts."""
        return []

    def cost(self, config: Config, facts: Facts) -> float:
        """How many steps of one model a training takes, all stages together."""
        return 0.0

    def shorter(self, config: Config, facts: Facts) -> list[dict[str, Any]]:
        """Changes of options that shorten a training, from a little to the most that does no harm."""
        return []

    def models_together(self, config: Config) -> tuple[int, int]:
        """How many models of one stage can be trained together, and how many the config allows (0: any)."""
        return 1, 0

    def types(self, types: tuple[str, ...]) -> tuple[str, ...]:
        """The types that a model chooses from, of those of the data set."""
        return types

    def prepare(self, config: Config, sentences: Sequence[Sentence], is_gold: Sequence[bool]) -> Prepared:
        """The training sentences as the method learns from them. Raise `DataError` for what it cannot use."""
        return Prepared(sentences)


class OneStage(Method):
    """A method that trains one model in one stage.

    It has one section, with `epochs`, `learning_rate` and `head_learning_rate`, and defines `objective`.
    """

    steps: ClassVar[int] = 1000
    """The derived number of epochs is for about so many steps."""

    def objective(self, task: Task, model: Any) -> Objective:
        """What the model learns."""
        raise TypeError(f"{type(self).__name__} has no objective")

    def schedule(self, config: Config) -> Schedule:
        from roster.training.objective import Schedule

        own = self.own(config)
        return Schedule(own.epochs, own.learning_rate, own.head_learning_rate)

    def train(self, task: Task, run: Run) -> WordStates:
        from roster.training.stage import train_one

        return train_one(
            task,
            run,
            self.name,
            self.head,
            lambda model: self.objective(task, model),
            self.schedule(task.config),
            lambda objective: self.finished(objective, run),
        )

    def finished(self, objective: Objective, run: Run) -> None:
        """Called after training with the objective; may log messages for the user."""

    @property
    def section(self) -> str:
        """The name of its section."""
        (name,) = self.sections
        return name

    def own(self, config: Config) -> Any:
        """Its options."""
        return config.own[self.section]

    def derive(self, config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
        from roster.methods.facts import epochs_for, learning_rate

        epochs = epochs_for(self.steps, facts.steps_per_epoch(config.optimiser.batch_size))
        return {f"{self.section}.epochs": epochs, f"{self.section}.learning_rate": learning_rate(facts)}

    def describe(self, config: Config, facts: Facts) -> list[str]:
        own = self.own(config)
        return [f"{own.epochs} epochs at a rate of {own.learning_rate:g}."]

    def cost(self, config: Config, facts: Facts) -> float:
        return float(self.own(config).epochs * facts.steps_per_epoch(config.optimiser.batch_size))

    def shorter(self, config: Config, facts: Facts) -> list[dict[str, Any]]:
        per_epoch = facts.steps_per_epoch(config.optimiser.batch_size)
        return [{f"{self.section}.epochs": e} for e in fewer_epochs(self.own(config).epochs, per_epoch)]


def fewer_epochs(epochs: int, per_epoch: int) -> list[int]:
    """Shorter trainings, down to what a model needs to learn its labels.

    >>> fewer_epochs(12, 30)
    [9, 6, 5]
    """
    least = min(epochs, max(1, math.ceil(MINIMUM_STEPS / per_epoch)))
    return [e for e in (round(epochs * share) for share in SHORTER) if e > least] + [least]
