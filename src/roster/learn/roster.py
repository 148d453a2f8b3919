"""RoSTER as the paper's Algorithm 1: K noise-robust models, their ensemble, self-training."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from roster.learn.augmentation import make_augmenter
from roster.learn.ensemble import DistillationObjective, mean_distribution
from roster.learn.loop import Objective, Schedule, derive, fit
from roster.learn.masking import input_mask
from roster.learn.noise_robust import NoiseRobustObjective
from roster.learn.run import Run
from roster.learn.self_training import SelfTrainingObjective
from roster.learn.task import Task
from roster.model.decoding import io_classes
from roster.model.heads import TwoHeads
from roster.progress import timed


def train_roster(task: Task, run: Run) -> TwoHeads:
    """Distant labels in, recogniser out. Finished stages are taken from the run folder."""
    config = task.config
    labels = io_classes(task.sentences, task.types)
    k = config.ensemble.models if config.ensemble.enabled else 1
    for member in range(k):  # lines 2 to 9
        train_member(task, run, labels, member, keep_weights=not config.ensemble.enabled)
    if config.ensemble.enabled:
        y = mean_of_members(task, run, k)
        distil(task, run, y)  # line 10
        start = "ensemble"
    else:
        y, start = None, "member-0"
    if config.self_training.enabled:  # lines 11 to 18
        self_train(task, run, y, start)
        start = "self-training"
    model = task.new_model("two-heads", 0)
    model.load_state_dict(run.tensors(start))
    return model


def train_member(task: Task, run: Run, labels: np.ndarray, member: int, keep_weights: bool) -> None:
    """One of the K models; what stays of it is its distribution over all training words."""
    stage = f"member-{member}"
    if run.finished(stage):
        return
    config, seed = task.config.noise_robust, derive(task.config.seed, "member", member)
    precision = task.config.optimiser.precision
    with timed(stage) as clock:
        model = task.new_model("two-heads", seed)
        mask = input_mask(config.mask_inputs, task.encoder, task.device)
        objective = NoiseRobustObjective(
            task.corpus, labels, config, derive(seed, "dropped"), mask, precision
        )
        schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
        facts = _fit(task, run, stage, model, objective, schedule, seed)
        p = task.read(model, task.corpus).astype(np.float16)
    scores, found = task.score(model)
    kept = {f"split.{name}": torch.from_numpy(q.astype(np.float16)) for name, q in found.items()}
    kept["train"] = torch.from_numpy(p)
    if keep_weights:
        kept = dict(model.state_dict())
    run.finish(stage, {**facts, **clock.facts, **_kept_labels(objective), "scores": scores}, kept)
    if finds_nothing(p):
        run.log(
            f"{stage} finds no entity in its own training text: the labels are too sparse for these "
            "settings. --set noise_robust.max_o=3 leaves out more O words; a larger dictionary, or "
            "--case insensitive in roster label, may give more labels"
        )


def finds_nothing(p: np.ndarray) -> bool:
    """Whether O is the most likely label of every word, as when generalised cross entropy gave up.

    >>> finds_nothing(np.array([[0.6, 0.4], [0.9, 0.1]])), finds_nothing(np.array([[0.6, 0.4], [0.3, 0.7]]))
    (True, False)
    """
    return not (p.argmax(axis=1) > 0).any()


def _kept_labels(objective: NoiseRobustObjective) -> dict[str, Any]:
    """How much of the distant labels the last removal left."""
    entity = objective.labels > 0
    return {
        "kept_type_labels": round(float(objective.w_t[entity].mean()), 4),
        "kept_o_labels": round(float(objective.w_e[~entity].mean()), 4) if bool((~entity).any()) else 0.0,
    }


def mean_of_members(task: Task, run: Run, k: int) -> np.ndarray:
    """The mean distribution on the training words; the mean on the report splits is scored in passing."""
    files = [run.tensors(f"member-{member}") for member in range(k)]
    if not run.finished("mean-of-members"):
        means = {n: mean_distribution(f[f"split.{n}"].numpy() for f in files) for n in task.splits}
        run.finish("mean-of-members", {"scores": task.score_distributions(means, TwoHeads.kind)})
    return mean_distribution(f["train"].numpy() for f in files)


def distil(task: Task, run: Run, y: np.ndarray) -> None:
    stage = "ensemble"
    if run.finished(stage):
        return
    config, seed = task.config.ensemble, derive(task.config.seed, stage)
    with timed(stage) as clock:
        model = task.new_model("two-heads", seed)
        schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
        facts = _fit(task, run, stage, model, DistillationObjective(task.corpus, y), schedule, seed)
    run.finish(stage, {**facts, **clock.facts, "scores": task.score(model)[0]}, model.state_dict())


def self_train(task: Task, run: Run, y: np.ndarray | None, start: str) -> None:
    stage = "self-training"
    if run.finished(stage):
        return
    config, seed = task.config.self_training, derive(task.config.seed, stage)
    precision = task.config.optimiser.precision
    with timed(stage) as clock:
        model = task.new_model("two-heads", seed)
        model.load_state_dict(run.tensors(start))
        augment = None
        if task.config.augmentation.enabled:
            words = [s.words for s in task.sentences]
            augment = make_augmenter(task.config.augmentation, task.config.backbone.name, task.corpus, words,
                                     task.encoder, seed, precision)  # fmt: skip
        objective = SelfTrainingObjective(task.corpus, y, config, augment, precision)
        facts = _fit(task, run, stage, model, objective, Schedule(config.epochs, config.learning_rate), seed)
    run.finish(stage, {**facts, **clock.facts, "scores": task.score(model)[0]}, model.state_dict())


def _fit(
    task: Task,
    run: Run,
    stage: str,
    model: TwoHeads,
    objective: Objective[TwoHeads],
    schedule: Schedule,
    seed: int,
) -> dict[str, Any]:
    return fit(
        model,
        objective,
        schedule,
        task.config.optimiser,
        seed,
        description=stage,
        resume=run.checkpoint(stage),
        after_epoch=run.after_epoch(stage, schedule.epochs),
    )
