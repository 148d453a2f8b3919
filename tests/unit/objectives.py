"""An objective of each kind for the toy corpus: both loops are tested with all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from roster.backbone.loading import load_masked_lm
from roster.methods.autoner.head import TieHeads
from roster.methods.autoner.labels import tie_labels
from roster.methods.autoner.objective import TieOrBreakObjective
from roster.methods.bond import Bond, BondObjective
from roster.methods.fine_tune import CrossEntropyObjective
from roster.methods.registry import all_methods
from roster.methods.roster.augmentation import make_augmenter
from roster.methods.roster.ensemble import DistillationObjective
from roster.methods.roster.head import TwoHeads
from roster.methods.roster.masking import input_mask
from roster.methods.roster.noise_robust import NoiseRobustObjective
from roster.methods.roster.self_training import SelfTrainingObjective
from roster.methods.roster.settings import Augmentation, NoiseRobust, SelfTraining
from roster.model.decoding import bio_classes, io_classes
from roster.model.heads import OneHead, WordStates
from roster.training.objective import Objective
from roster.training.task import Task


@dataclass(frozen=True)
class Case:
    """What is trained: the class of the models, how many together, and what they learn."""

    head: type[WordStates]
    objective: type[Objective]
    models: int
    make: Callable[[Task, int], Objective]


def noise_robust(task: Task, k: int, **options: Any) -> NoiseRobustObjective:
    config = NoiseRobust(**{"update_every": 5, "tau": 0.4, "mask_inputs": 0.2, **options})
    labels = io_classes(task.sentences, task.types)
    mask = input_mask(config.mask_inputs, task.encoder, task.corpus.device)
    return NoiseRobustObjective(task.corpus, labels, config, list(range(3, 3 + k)), mask)


def mean_distribution(task: Task) -> np.ndarray:
    return np.random.default_rng(0).dirichlet([1.0] * 3, size=task.corpus.n_words).astype(np.float32)


def self_training(task: Task, k: int = 1, by: str = "frozen", ensemble: bool = True) -> SelfTrainingObjective:
    words = [s.words for s in task.sentences]
    model = load_masked_lm(task.config.backbone.name)
    augment = make_augmenter(
        Augmentation(by=by, mask=0.6, top_k=50), model, task.corpus, words, task.encoder, 5, "float32"
    )
    # Renewed in the middle of an epoch, so that what a checkpoint must hold is older than the epoch.
    config = SelfTraining(update_every=5, threshold=0.4)
    return SelfTrainingObjective(task.corpus, mean_distribution(task) if ensemble else None, config, augment)


def distillation(task: Task, k: int = 1) -> DistillationObjective:
    return DistillationObjective(task.corpus, mean_distribution(task))


def cross_entropy(task: Task, k: int = 1) -> CrossEntropyObjective:
    return CrossEntropyObjective(task.corpus, bio_classes(task.sentences, task.types))


def bond(task: Task, k: int, labels: str) -> BondObjective:
    # The first teacher begins within the first epoch, and its period goes on after the checkpoint.
    config = Bond(begin_step=5, period=6, labels=labels, threshold=0.4)
    return BondObjective(task.corpus, bio_classes(task.sentences, task.types), 5, config, k=k)


def ties(task: Task, k: int) -> TieOrBreakObjective:
    return TieOrBreakObjective(task.corpus, tie_labels(task.sentences, task.types, task.corpus.encoded))


CASES: dict[str, Case] = {
    "noise-robust": Case(TwoHeads, NoiseRobustObjective, 3, noise_robust),
    "noise-robust, plain first": Case(TwoHeads, NoiseRobustObjective, 3, partial(noise_robust, plain=0.5)),
    "distillation": Case(TwoHeads, DistillationObjective, 1, distillation),
    "self-training": Case(TwoHeads, SelfTrainingObjective, 1, self_training),
    "self-training, trained": Case(TwoHeads, SelfTrainingObjective, 1, partial(self_training, by="trained")),
    "self-training, alone": Case(TwoHeads, SelfTrainingObjective, 1, partial(self_training, ensemble=False)),
    "cross entropy": Case(OneHead, CrossEntropyObjective, 1, cross_entropy),
    "bond, soft": Case(OneHead, BondObjective, 2, partial(bond, labels="soft")),
    "bond, hard": Case(OneHead, BondObjective, 2, partial(bond, labels="hard")),
    "ties": Case(TieHeads, TieOrBreakObjective, 1, ties),
}


def capturable_objectives() -> set[type[Objective]]:
    """The objectives of roster's own methods that declare themselves capturable."""
    all_methods()  # imports them

    def below(one: type[Objective]) -> Iterator[type[Objective]]:
        for other in one.__subclasses__():
            yield other
            yield from below(other)

    return {one for one in below(Objective) if one.capturable and one.__module__.startswith("roster.")}
