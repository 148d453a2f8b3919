"""Scores in the course of a stage, for a figure. Models are looked at between two steps, and not touched."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from roster.learn.loop import Coming, Models, Objective, Schedule
from roster.learn.run import Run
from roster.learn.task import Task


def steps_of(total: int, points: int) -> list[int]:
    """Evenly spaced steps of a stage, its start and its end among them.

    >>> steps_of(10, 4), steps_of(2, 4)
    ([0, 2, 5, 8, 10], [0, 1, 2])
    """
    return sorted({round(i * total / points) for i in range(points + 1)})


def watch(
    task: Task, run: Run, stage: str, kind: str, objective: Objective, schedule: Schedule
) -> Callable[[Models], list[dict[str, Any]]]:
    """Has the model of a stage scored on its way. What is given back takes the trained model, for the last
    score, and gives the curve.

    A resumed run finds the scores of the steps before in its folder.
    """
    batch_size = schedule.optimiser(task.config.optimiser).batch_size
    total = math.ceil(task.corpus.encoded.n_windows / batch_size) * schedule.epochs
    wanted = frozenset(steps_of(total, run.curves[stage]))
    prepare = objective.prepare

    def look(models: Models, step: int) -> None:
        p = {name: found[0] for name, found in task.read_splits(models).items()}
        scores = task.score(p, kind)
        run.note_curve(
            stage,
            step,
            {n: {key: s[key] for key in ("precision", "recall", "f1")} for n, s in scores.items()},
        )

    def look_and_prepare(models: Models, step: int, coming: Coming) -> None:
        if step in wanted:
            look(models, step)
        prepare(models, step, coming)

    def end(models: Models) -> list[dict[str, Any]]:
        look(models, total)
        return run.curve(stage)

    objective.prepare = look_and_prepare  # type: ignore[method-assign]
    return end
