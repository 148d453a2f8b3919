"""BOND (Liang et al., KDD 2020): fine-tuning that stops early, then teacher and student.

    batches 0 ... begin_step - 1      cross entropy on the distant labels
    from begin_step on                the teacher's labels; it is the student as it was at begin_step, and
                                      again every `period` batches

A teacher is fixed for its period, so its predictions for the upcoming batches are read at once, and no copy
of it is kept. One optimiser and one schedule go through both parts. The model of the last step is the result.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roster.config import Config, option
from roster.errors import ConfigError
from roster.methods.base import OneStage, fewer_epochs
from roster.methods.facts import FEWEST_STEPS, Facts, epochs_for, learning_rate, round_rate
from roster.model.batches import DeviceCorpus
from roster.model.decoding import bio_classes
from roster.model.heads import OneHead
from roster.training.gold import Gold
from roster.training.losses import kl, soft_labels, wmean
from roster.training.objective import Models, Objective, Rows, Upcoming, read_upcoming
from roster.training.run import Run
from roster.training.task import Task

STEPS = 2000
"""The derived number of epochs is for about so many steps."""


@dataclass(frozen=True)
class Bond:
    """Liang et al. 2020: early stopping, then teacher and student, over BIO tags, one linear head."""

    epochs: int = option(50, "passes over the data, both parts together", low=1, high=10_000)
    learning_rate: float = option(1e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the head; 0: the same as the encoder's", low=0)
    begin_step: int = option(900, "steps on the distant labels; then the teacher begins", low=1)
    period: int = option(450, "steps between two teachers", low=1)
    labels: str = option(
        "soft",
        "soft: the teacher's squared and normalised distributions; hard: its best classes",
        choices=("soft", "hard"),
    )
    threshold: float = option(
        0.9, "soft labels count on words where one of their values is above this", low=0, high=1
    )


class BondObjective(Objective):
    """Distant labels until `begin_step`, then the teacher's: its best class of every word (hard), or its
    squared and normalised distribution on the words that it is sure of (soft). Gold words keep their own."""

    capturable = True

    def __init__(
        self,
        corpus: DeviceCorpus,
        labels: np.ndarray,
        classes: int,
        config: Bond,
        gold: Gold | None = None,
        k: int = 1,
    ):
        super().__init__(corpus, gold)
        self.config, device = config, corpus.device
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(device)
        # float16 is precise enough for a teacher's predictions: some 80 MB for a million words.
        soft = config.labels == "soft"
        self.teacher = (
            torch.zeros(k, corpus.n_words, classes, dtype=torch.float16, device=device)
            if soft
            else torch.zeros(k, corpus.n_words, dtype=torch.int16, device=device)
        )
        self.taught = torch.zeros((), dtype=torch.bool, device=device)

    def prepare(self, models: Models, step: int, upcoming: Upcoming) -> None:
        """Before batch number `step`: the student becomes the teacher of the batches until the next time."""
        c = self.config
        if step < c.begin_step or (step - c.begin_step) % c.period:
            return
        for member, (words, p) in enumerate(read_upcoming(models, self.corpus, upcoming(c.period))):
            self.teacher[member, words] = (p if c.labels == "soft" else p.argmax(-1)).to(self.teacher.dtype)
        self.taught.fill_(True)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        """Both parts are computed and one is taken: a recorded step cannot branch."""
        (tags,) = outputs
        given = F.cross_entropy(tags, self.labels[words], reduction="none")
        teacher = own["teacher"][words]
        if self.config.labels == "soft":
            taught, sure = soft_loss(teacher.float(), tags, present, self.config.threshold)
        else:
            taught, sure = F.cross_entropy(tags, teacher.long(), reduction="none"), torch.ones_like(present)
        by_label = ~self.taught | self.gold.fixed[words]
        weights = self.counted(words, present) * torch.where(by_label, 1.0, sure)
        return wmean(torch.where(by_label, given, taught), weights)

    def own(self) -> dict[str, Tensor]:
        return {"teacher": self.teacher}

    def teaches_entities(self) -> bool:
        """Whether the last teacher found an entity in what it was asked."""
        classes = self.teacher.argmax(-1) if self.config.labels == "soft" else self.teacher
        return bool((classes > 0).any())

    def state(self) -> dict[str, Tensor]:
        return {"teacher": self.teacher, "taught": self.taught}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.teacher.copy_(state["teacher"])
        self.taught.copy_(state["taught"])


def soft_loss(p: Tensor, tags: Tensor, present: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """KL(s || student) of each word, and 1 where it counts: where some s_c is above the threshold.

        s_c = (p_c^2 / f_c) / sum_c' (p_c'^2 / f_c')        f_c = sum of p_c over the words of the batch

    `p`, `tags` are [..., n, classes], `present` [..., n]. The student's logits become log-probabilities here.
    """
    s = soft_labels(p, present)
    return kl(s, tags), (s.amax(-1) > threshold).float()


class BondMethod(OneStage):
    name = "bond"
    title = "BOND"
    summary = "fine-tuning that stops early, then teacher and student"
    sections = {"bond": Bond}
    defaults = {"optimiser.batch_size": 16, "optimiser.weight_decay": 1e-4, "optimiser.beta2": 0.98}
    head = OneHead

    def objective(self, task: Task, model: OneHead) -> BondObjective:
        labels, classes = bio_classes(task.sentences, task.types), model.tag.out_features
        return BondObjective(task.corpus, labels, classes, task.config.section(Bond), task.gold)

    def check_task(self, task: Task) -> None:
        own, total = task.config.section(Bond), task.steps(self.schedule(task.config))
        if own.begin_step >= total:
            raise ConfigError(
                f"bond.begin_step is {own.begin_step}, but the whole training has {total} steps "
                f"({own.epochs} epochs of {total // own.epochs}): no teacher would ever begin; lower it, or "
                "raise bond.epochs"
            )

    def finished(self, objective: Objective, run: Run) -> None:
        if isinstance(objective, BondObjective) and not objective.teaches_entities():
            run.log(
                "bond: the last teacher found no entity, and so taught that there are none. A later teacher "
                "(--set bond.begin_step=...) or a higher rate (bond.head_learning_rate) may find some"
            )

    def derive(self, config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
        """The teacher begins after half of the steps, with hard labels: soft ones lose precision."""
        per_epoch = facts.steps_per_epoch(config.optimiser.batch_size)
        epochs = epochs_for(STEPS, per_epoch, 2 * FEWEST_STEPS)
        if "bond.epochs" in given:
            epochs = config.section(Bond).epochs
        total = epochs * per_epoch
        return {
            "bond.epochs": epochs,
            "bond.learning_rate": round_rate(learning_rate(facts) / 2),
            "bond.begin_step": max(1, total // 2),
            "bond.period": max(1, total // 4),
            "bond.labels": "hard",
        }

    def shorter(self, config: Config, facts: Facts) -> list[dict[str, Any]]:
        own, per_epoch = config.section(Bond), facts.steps_per_epoch(config.optimiser.batch_size)
        return [
            {
                "bond.epochs": e,
                "bond.begin_step": max(1, own.begin_step * e // own.epochs),
                "bond.period": max(1, own.period * e // own.epochs),
            }
            for e in fewer_epochs(own.epochs, per_epoch)
        ]


METHOD = BondMethod()
