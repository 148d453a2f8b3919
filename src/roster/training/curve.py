"""Scores in the course of a stage, for a figure. Models are looked at between two steps, and not touched."""

from __future__ import annotations

from typing import Any

from roster.model.heads import WordStates
from roster.training.objective import Models, Schedule
from roster.training.run import Run
from roster.training.task import Task


def steps_of(total: int, points: int) -> list[int]:
    """Evenly spaced steps of a stage, its start and its end among them.

    >>> steps_of(10, 4), steps_of(2, 4)
    ([0, 2, 5, 8, 10], [0, 1, 2])
    """
    return sorted({round(i * total / points) for i in range(points + 1)})


class Curve:
    """Scores the model of a stage before some of its steps.

    A resumed run finds the scores of the steps before in its folder.
    """

    def __init__(self, task: Task, run: Run, stage: str, head: type[WordStates], schedule: Schedule):
        self._task, self._run, self._stage, self._head = task, run, stage, head
        self._total = task.steps(schedule)
        self._wanted = frozenset(steps_of(self._total, run.curves[stage]))

    def __call__(self, models: Models, step: int) -> None:
        """Called before every step."""
        if step in self._wanted:
            self._score(models, step)

    def end(self, models: Models) -> list[dict[str, Any]]:
        """The scores by step, those of the trained model as the last."""
        self._score(models, self._total)
        return self._run.curve(self._stage)

    def _score(self, models: Models, step: int) -> None:
        p = {name: of_models[0] for name, of_models in self._task.read_splits(models).items()}
        scores = self._task.score(p, self._head)
        kept = {n: {key: s[key] for key in ("precision", "recall", "f1")} for n, s in scores.items()}
        self._run.note_curve(self._stage, step, kept)
