"""A stage of training inside a run: where it goes on from, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from roster.model.heads import WordStates
from roster.progress import timed
from roster.training.curve import Curve
from roster.training.objective import Models, Objective, Schedule, derive_seed
from roster.training.run import Run
from roster.training.task import Task

M = TypeVar("M", bound=WordStates)


def train_stage(
    task: Task,
    run: Run,
    stage: str,
    models: Sequence[WordStates],
    objective: Objective,
    schedule: Schedule,
    seeds: Sequence[int],
) -> tuple[Models, list[dict[str, Any]]]:
    """Trains fresh models with the engine that suits the objective.

    Args:
        task: the data on the device.
        run: where checkpoints are kept; a stage that was interrupted goes on.
        stage: its name in the run folder.
        models: one model, or several that are trained together.
        objective: what they learn.
        schedule: epochs and rates.
        seeds: one for each model.

    Returns:
        The trained models, and facts of each: steps, losses, scores by step where the run wants a curve.
    """
    engine = task.engine_of(objective)
    trained = engine.take(models)
    curve = None
    if stage in run.curves and task.splits:
        curve = Curve(task, run, stage, type(models[0]), schedule)
    facts = engine.fit(
        trained,
        objective,
        schedule,
        seeds,
        description=stage,
        resume=run.checkpoint(stage),
        after_epoch=run.after_epoch(stage, schedule.epochs),
        before_step=curve,
    )
    if curve is not None:
        facts[0]["curve"] = curve.end(trained)
    return trained, facts


def finish_stage(
    task: Task, run: Run, stage: str, models: Models, head: type[WordStates], facts: Mapping[str, Any]
) -> None:
    """Scores the one model of a stage on the report splits, and keeps it."""
    scores = task.score({name: p[0] for name, p in task.read_splits(models).items()}, head)
    run.finish(stage, {**facts, "scores": scores}, weights=models.state_dict(0))


def train_one(
    task: Task,
    run: Run,
    stage: str,
    head: type[M],
    objective_of: Callable[[M], Objective],
    schedule: Schedule,
    finished: Callable[[Objective], None] = lambda objective: None,
) -> M:
    """A method of one stage and one model: trained, or taken from the run.

    `finished` is called with the objective after training, not for a stage that is taken from the run.
    """
    seed = derive_seed(task.config.seed, stage)
    model = task.new_model(head, seed)
    objective = None
    if not run.finished(stage):
        with timed(stage) as clock:
            objective = objective_of(model)
            models, (facts,) = train_stage(task, run, stage, [model], objective, schedule, [seed])
        finish_stage(task, run, stage, models, head, {**facts, **clock.facts})
    model.load_state_dict(run.weights(stage))
    if objective is not None:
        finished(objective)
    return model
