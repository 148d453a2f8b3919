"""A curriculum over the words, from easy to hard, as in CuPUL (Li et al., COLING 2025).

The K models are its voters: a word is the harder, the more they disagree. One more model then learns the
distant labels, easy words first, and self-training goes on from it. It takes the place of the ensemble model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.config import NoiseRobust
from roster.learn.gold import Gold
from roster.learn.loop import Models, Schedule, derive
from roster.learn.masking import Disguise, input_mask
from roster.learn.noise_robust import NoiseRobustObjective
from roster.learn.run import Run
from roster.learn.stage import finish_stage, train_stage
from roster.learn.task import Task
from roster.model.batches import DeviceCorpus
from roster.progress import timed

LEAST = 2.0**-24
"""The smallest number that the members' float16 has; a probability below it is stored as 0."""


def disagreement(voters: Iterable[np.ndarray]) -> np.ndarray:
    """How hard each word is: the mean of KL(p_i || p_j) + KL(p_j || p_i) over all pairs of voters.

    Of K distributions `p_i`, the sum over pairs of `(p_i - p_j) (log p_i - log p_j)` is
    `K sum_i p_i log p_i - (sum_i p_i) (sum_i log p_i)`, so no pair is ever formed.
    """
    k, p, log_p, p_log_p = 0, *(np.zeros(1, np.float32),) * 3
    for voter in voters:
        one = np.maximum(voter.astype(np.float32), LEAST)
        log_one = np.log(one)
        k, p, log_p, p_log_p = k + 1, p + one, log_p + log_one, p_log_p + one * log_one
    if k < 2:
        raise ValueError("a disagreement takes two voters")
    found: np.ndarray = (k * p_log_p - p * log_p).sum(-1) / (k * (k - 1) / 2)
    return np.maximum(found, 0)


def place_in_class(hardness: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """For each word the share of the words with its label that are easier, in [0, 1).

    CuPUL ranks all words together, and its risk takes a mean over each class. Voters agree first on what is
    `O`, so by that order our losses, which weigh words alike, would learn that nothing is an entity.
    """
    order = np.lexsort((hardness, labels))
    _, first, counts = np.unique(labels[order], return_index=True, return_counts=True)
    place = np.empty(len(labels), np.float64)
    place[order] = (np.arange(len(labels)) - np.repeat(first, counts)) / np.repeat(counts, counts)
    return place


def portion(epoch: int, epochs: int, portions: int) -> float:
    """The share of each label's words that an epoch is given: every portion adds half as many as the last.

    >>> [round(portion(epoch, 6, 3), 3) for epoch in range(6)]
    [0.571, 0.571, 0.857, 0.857, 1.0, 1.0]
    """
    number = epoch * portions // epochs + 1
    return (1 - 0.5**number) / (1 - 0.5**portions)


class CurriculumObjective(NoiseRobustObjective):
    """The noise-robust loss, on the words that are easy enough by now."""

    def __init__(
        self, corpus: DeviceCorpus, labels: np.ndarray, config: NoiseRobust, seed: int, mask: Disguise,
        hardness: np.ndarray, gold: Gold | None = None, unlabelled: np.ndarray | None = None,
    ):  # fmt: skip
        super().__init__(corpus, labels, config, [seed], mask, gold, unlabelled)
        place, noisy = np.zeros(len(labels)), ~self.gold.fixed.cpu().numpy()
        place[noisy] = place_in_class(hardness[noisy], labels[noisy])  # gold words are there from the start
        self.place = torch.from_numpy(place).to(corpus.device)
        self.admitted = torch.zeros(len(labels), device=corpus.device)

    def start_epoch(self, models: Models, epoch: int) -> None:
        super().start_epoch(models, epoch)
        self.admitted.copy_(self.place < portion(epoch, self.config.epochs, self.config.curriculum))

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
        return super().loss(outputs, words, present * self.admitted[words])


def train_curriculum(task: Task, run: Run, labels: np.ndarray) -> None:
    """The stage between the voters and self-training."""
    stage = "curriculum"
    if run.finished(stage):
        return
    config, seed = task.config.noise_robust, derive(task.config.seed, stage)
    with timed(stage) as clock:
        voters = range(task.config.ensemble.models)
        hardness = disagreement(run.tensors(f"member-{i}")["train"].numpy() for i in voters)
        model = task.new_model("two-heads", seed)
        mask = input_mask(config.mask_inputs, task.encoder, task.device)
        dropped = derive(seed, "dropped")
        objective = CurriculumObjective(
            task.corpus, labels, config, dropped, mask, hardness, task.gold, task.unlabelled
        )
        schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
        models, (facts,) = train_stage(task, run, stage, [model], objective, schedule, [seed])
    facts = {**facts, **clock.facts, **objective.kept_labels(0)}
    finish_stage(task, run, stage, models, model.kind, facts)
