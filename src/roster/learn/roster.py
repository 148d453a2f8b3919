"""RoSTER as the paper's Algorithm 1: K noise-robust models, their ensemble, self-training."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from roster.learn.augmentation import make_augmenter
from roster.learn.curriculum import train_curriculum
from roster.learn.ensemble import DistillationObjective, mean_distribution
from roster.learn.loop import Models, Schedule, derive
from roster.learn.masking import input_mask
from roster.learn.names import NameAugmenter, dictionary_names, labelled_names
from roster.learn.noise_robust import NoiseRobustObjective
from roster.learn.run import Run
from roster.learn.self_training import SelfTrainingObjective
from roster.learn.stage import finish_stage, train_stage
from roster.learn.task import Task
from roster.model.batches import DeviceCorpus
from roster.model.decoding import io_classes
from roster.model.heads import TwoHeads
from roster.progress import timed

FIRST, WEIGHT = "member-0", "weight."
"""The member whose weights are kept if the ensemble model begins with them, and a mark on their names."""


def train_roster(task: Task, run: Run) -> TwoHeads:
    """Distant labels in, recogniser out. Finished stages are taken from the run folder."""
    config = task.config
    labels = io_classes(task.sentences, task.types)
    k = config.ensemble.models if config.ensemble.enabled else 1
    y: np.ndarray | None = None
    last = config.before_self_training
    train_members(task, run, labels, k, keep_weights=not config.ensemble.enabled)  # lines 2 to 9
    if last == "ensemble":
        y = mean_of_members(task, run, k)
        distil(task, run, y)  # line 10
    elif last == "curriculum":
        mean_of_members(task, run, k)  # for its scores
        train_curriculum(task, run, labels)
    if config.self_training.enabled:  # lines 11 to 18
        self_train(task, run, y, last)
        last = "self-training"
    model = task.new_model("two-heads", 0)
    model.load_state_dict(run.tensors(last))
    return model


def train_members(task: Task, run: Run, labels: np.ndarray, k: int, keep_weights: bool) -> None:
    """The K models, as many in step as the engine takes."""
    left = [member for member in range(k) if not run.finished(f"member-{member}")]
    size = task.engine.at_once
    for start in range(0, len(left), size):
        _train_members(task, run, labels, left[start : start + size], keep_weights)


def _train_members(
    task: Task, run: Run, labels: np.ndarray, members: Sequence[int], keep_weights: bool
) -> None:
    """Some of the K models; what stays of each is its distribution over all training words."""
    config = task.config.noise_robust
    seeds = [derive(task.config.seed, "member", member) for member in members]
    names = [f"member-{member}" for member in members]
    with timed("members") as clock:
        models = [task.new_model("two-heads", seed) for seed in seeds]
        mask = input_mask(config.mask_inputs, task.encoder, task.device)
        dropped = [derive(seed, "dropped") for seed in seeds]
        objective = NoiseRobustObjective(
            task.corpus, labels, config, dropped, mask, task.gold, task.unlabelled
        )
        schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
        trained, facts = train_stage(task, run, "+".join(names), models, objective, schedule, seeds)
        p = trained.read(task.corpus).half().cpu()
    cost = {**clock.facts, "seconds": round(clock.facts["seconds"] / len(members), 3)}
    if len(members) > 1:
        cost["at_once"] = len(members)
    splits = task.read_splits(trained)
    for i, name in enumerate(names):
        found = {split: q[i] for split, q in splits.items()}
        kept = {f"split.{split}": torch.from_numpy(q.astype(np.float16)) for split, q in found.items()}
        kept["train"] = p[i]
        if keep_weights:
            kept = dict(trained.state_dict(i))
        elif name == FIRST and task.config.ensemble.start == "member":
            kept.update({f"{WEIGHT}{key}": value for key, value in trained.state_dict(i).items()})
        scores = task.score(found, TwoHeads.kind)
        run.finish(name, {**facts[i], **cost, **objective.kept_labels(i), "scores": scores}, kept)
        if finds_nothing(p[i].numpy()):
            what = (
                "drop_o=0.8 leaves out more O words"
                if config.plain_epochs
                else "plain_epochs=2 begins with cross entropy, which learns them"
            )
            run.log(
                f"{name} finds no entity in its own training text: the labels are too sparse for these "
                f"settings. --set noise_robust.{what}; a larger dictionary, or --case insensitive in "
                "roster label, may give more of them"
            )


def finds_nothing(p: np.ndarray) -> bool:
    """Whether O is the most likely label of every word, as when generalised cross entropy gave up.

    >>> finds_nothing(np.array([[0.6, 0.4], [0.9, 0.1]])), finds_nothing(np.array([[0.6, 0.4], [0.3, 0.7]]))
    (True, False)
    """
    return not (p.argmax(axis=1) > 0).any()


def mean_of_members(task: Task, run: Run, k: int) -> np.ndarray:
    """The mean distribution on the training words; the mean on the report splits is scored in passing."""
    files = [run.tensors(f"member-{member}") for member in range(k)]
    if not run.finished("mean-of-members"):
        means = {n: mean_distribution(f[f"split.{n}"].numpy() for f in files) for n in task.splits}
        run.finish("mean-of-members", {"scores": task.score(means, TwoHeads.kind)})
    return mean_distribution(f["train"].numpy() for f in files)


def distil(task: Task, run: Run, y: np.ndarray) -> None:
    stage = "ensemble"
    if run.finished(stage):
        return
    config, seed = task.config.ensemble, derive(task.config.seed, stage)
    with timed(stage) as clock:
        model = task.new_model("two-heads", seed)
        if config.start == "member":
            first = run.tensors(FIRST)
            model.load_state_dict(
                {k.removeprefix(WEIGHT): v for k, v in first.items() if k.startswith(WEIGHT)}
            )
        schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
        objective = DistillationObjective(task.corpus, y, task.gold)
        models, (facts,) = train_stage(task, run, stage, [model], objective, schedule, [seed])
    finish_stage(task, run, stage, models, model.kind, {**facts, **clock.facts})


def self_train(task: Task, run: Run, y: np.ndarray | None, start: str) -> None:
    stage = "self-training"
    if run.finished(stage):
        return
    config, seed = task.config.self_training, derive(task.config.seed, stage)
    with timed(stage) as clock:
        model = task.new_model("two-heads", seed)
        model.load_state_dict(run.tensors(start))
        augment = augmenter(task, seed) if task.config.augmentation.enabled else None
        objective = SelfTrainingObjective(task.corpus, y, config, augment, task.gold)
        schedule = Schedule(config.epochs, config.learning_rate)
        engine = task.self_training_engine
        models, (facts,) = train_stage(task, run, stage, [model], objective, schedule, [seed], engine)
    facts["type_targets"] = objective.type_targets()
    finish_stage(task, run, stage, models, model.kind, {**facts, **clock.facts})


def augmenter(task: Task, seed: int) -> Callable[[Models, int], DeviceCorpus]:
    """Line 12: what rewrites the sentences of the corpus before every epoch."""
    config, words = task.config.augmentation, [s.words for s in task.sentences]
    if config.by == "names":
        names = (
            dictionary_names(config.dictionary, task.types)
            if config.dictionary
            else labelled_names(task.sentences)
        )
        return NameAugmenter(names, task.corpus, task.sentences, task.encoder, seed)
    return make_augmenter(
        config, task.masked_lm, task.corpus, words, task.encoder, seed, task.config.optimiser.precision
    )
