"""A stage of training inside a run: where it goes on from, and what stays of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from roster.learn.curve import watch
from roster.learn.engine import Engine
from roster.learn.loop import Models, Objective, Schedule, derive
from roster.learn.run import Run
from roster.learn.task import Task
from roster.model.heads import Model
from roster.progress import timed


def train_stage(
    task: Task,
    run: Run,
    stage: str,
    models: Sequence[Model],
    objective: Objective,
    schedule: Schedule,
    seeds: Sequence[int],
    engine: Engine | None = None,
) -> tuple[Models, list[dict[str, Any]]]:
    """Trains fresh models, with the run's engine or another; the trained ones, and what was seen of each."""
    engine = engine or task.engine
    trained = engine.take(models)
    end = None
    if stage in run.curves and task.splits:
        end = watch(task, run, stage, models[0].kind, objective, schedule)
    facts = engine.fit(
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


def train_method(
    task: Task, run: Run, stage: str, kind: str, begin: Callable[[Any], tuple[Objective, Schedule]]
) -> Any:
    """A method of one stage and one model: trained, or taken from the run. `begin` says what it learns."""
    seed = derive(task.config.seed, stage)
    model = task.new_model(kind, seed)
    if not run.finished(stage):
        with timed(stage) as clock:
            objective, schedule = begin(model)
            models, (facts,) = train_stage(task, run, stage, [model], objective, schedule, [seed])
        finish_stage(task, run, stage, models, kind, {**facts, **clock.facts})
    model.load_state_dict(run.tensors(stage))
    return model
