"""BOND (Liang et al., KDD 2020): fine-tuning that stops early, then teacher and student.

    batches 0 ... begin_step - 1      cross entropy on the distant labels
    from begin_step on                the teacher's labels; it is the student as it was at begin_step, and
                                      again every `period` batches

A teacher is fixed for its period, so what it says of the coming batches is read at once, and no copy of it is
kept. One optimiser and one schedule go through both parts. The model of the last step is the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roster.config import Bond
from roster.errors import ConfigError
from roster.learn.gold import Gold
from roster.learn.loop import Coming, Models, Objective, Schedule, read_coming
from roster.learn.losses import kl, wmean
from roster.learn.run import Run
from roster.learn.self_training import soft_labels
from roster.learn.stage import train_method
from roster.learn.task import Task
from roster.model.batches import DeviceCorpus
from roster.model.decoding import bio_classes
from roster.model.heads import OneHead


class BondObjective(Objective):
    """Distant labels until `begin_step`, then the teacher's: its best class of every word (hard), or its
    squared and normalised distribution on the words that it is sure of (soft). Gold words keep their own."""

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
        # float16 is enough for what the teacher says, and keeps a million words in some 80 MB.
        soft = config.labels == "soft"
        self.teacher = (
            torch.zeros(k, corpus.n_words, classes, dtype=torch.float16, device=device)
            if soft
            else torch.zeros(k, corpus.n_words, dtype=torch.int16, device=device)
        )
        self.taught = torch.zeros((), dtype=torch.bool, device=device)
        self.members = torch.arange(k, device=device).unsqueeze(1)

    def prepare(self, models: Models, step: int, coming: Coming) -> None:
        """Before batch number `step`: the student becomes the teacher of the batches until the next time."""
        c = self.config
        if step < c.begin_step or (step - c.begin_step) % c.period:
            return
        for member, (words, p) in enumerate(read_coming(models, self.corpus, coming(c.period))):
            self.teacher[member, words] = (p if c.labels == "soft" else p.argmax(-1)).to(self.teacher.dtype)
        self.taught.fill_(True)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
        """Both parts are computed and one is taken: a captured step cannot branch."""
        (tags,) = outputs
        own = F.cross_entropy(tags.mT, self.labels[words], reduction="none")
        said = self.teacher[self.members, words]
        if self.config.labels == "soft":
            taught, sure = soft_loss(said.float(), tags, present, self.config.threshold)
        else:
            taught, sure = F.cross_entropy(tags.mT, said.long(), reduction="none"), torch.ones_like(present)
        given = ~self.taught | self.gold.fixed[words]
        weights = self.counted(words, present) * torch.where(given, 1.0, sure)
        return wmean(torch.where(given, own, taught), weights)

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

    `p`, `tags` are [K, n, classes], `present` [K, n]. The student's logits become log-probabilities here.
    """
    s = soft_labels(p, present)
    return kl(s, tags), (s.amax(-1) > threshold).float()


def bond_schedule(task: Task) -> Schedule:
    """BOND counts its warm-up in steps, where the optimiser has a share of them all."""
    c = task.config.bond
    total = c.epochs * math.ceil(task.corpus.encoded.n_windows / c.batch_size)
    if c.begin_step >= total:
        raise ConfigError(
            f"bond.begin_step is {c.begin_step}, but the whole training has {total} steps ({c.epochs} epochs "
            f"of {total // c.epochs}): no teacher would ever begin; lower it, or raise bond.epochs"
        )
    changes = {
        "batch_size": c.batch_size,
        "weight_decay": c.weight_decay,
        "beta2": c.beta2,
        "warmup": warmup_share(c.warmup_steps, total),
    }
    return Schedule(c.epochs, c.learning_rate, c.head_learning_rate, changes)


def warmup_share(steps: int, total: int) -> float:
    """The share of `total` that the optimiser rounds up to exactly `steps`; to all of them where there are
    fewer.

    >>> [math.ceil(warmup_share(steps, 49) * 49) for steps in (0, 1, 7, 49, 200)]
    [0, 1, 7, 49, 49]
    """
    return max(0.0, min(steps, total) - 0.5) / total


def train_bond(task: Task, run: Run) -> OneHead:
    objectives: list[BondObjective] = []

    def begin(model: OneHead) -> tuple[Objective, Schedule]:
        labels, classes = bio_classes(task.sentences, task.types), model.tag.out_features
        objectives.append(BondObjective(task.corpus, labels, classes, task.config.bond, task.gold))
        return objectives[0], bond_schedule(task)

    found: OneHead = train_method(task, run, "bond", OneHead.kind, begin)
    if objectives and not objectives[0].teaches_entities():
        run.log(
            "bond: the last teacher found no entity, and so taught that there are none. A later teacher "
            "(--set bond.begin_step=...) or a higher rate (bond.head_learning_rate) may find some"
        )
    return found
