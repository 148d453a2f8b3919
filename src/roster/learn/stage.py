"""A stage of training inside a run: where it goes on from, and what stays of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roster.learn.curve import watch
from roster.learn.loop import Models, Objective, Schedule
from roster.learn.run import Run
from roster.learn.task import Task
from roster.model.heads import Model


def train_stage(
    task: Task,
    run: Run,
    stage: str,
    models: Sequence[Model],
    objective: Objective,
    schedule: Schedule,
    seeds: Sequence[int],
) -> tuple[Models, list[dict[str, Any]]]:
    """Trains fresh models with the run's engine; the trained ones, and what was seen of each."""
    trained = task.engine.take(models)
    end = None
    if stage in run.curves and task.splits:
        end = watch(task, run, stage, models[0].kind, objective, schedule)
    facts = task.engine.fit(
        trained,
        objective,
        schedule,
        seeds,
        description=stage,
        resume=run.checkpoint(stage),
        after_epoch=run.after_epoch(stage, schedule.epochs),
    )
    if end is not None:
        facts[0]["curve"] = end(trained)
    return trained, facts


def finish_stage(
    task: Task, run: Run, stage: str, models: Models, kind: str, facts: Mapping[str, Any]
) -> None:
    """Scores the one model of a stage on the report splits, and keeps it."""
    scores = task.score({name: p[0] for name, p in task.read_splits(models).items()}, kind)
    run.finish(stage, {**facts, "scores": scores}, models.state_dict(0))
