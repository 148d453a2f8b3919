"""Plain fine-tuning ("Distant RoBERTa" on distant labels): cross entropy over BIO tags, one linear head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roster.learn.gold import Gold
from roster.learn.loop import Objective, Schedule
from roster.learn.losses import wmean
from roster.learn.run import Run
from roster.learn.stage import train_method
from roster.learn.task import Task
from roster.model.batches import DeviceCorpus
from roster.model.decoding import bio_classes
from roster.model.heads import OneHead


class CrossEntropyObjective(Objective):
    def __init__(self, corpus: DeviceCorpus, labels: np.ndarray, gold: Gold | None = None):
        super().__init__(corpus, gold)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(corpus.device)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
        (tags,) = outputs
        losses = F.cross_entropy(tags.mT, self.labels[words], reduction="none")
        return wmean(losses, self.counted(words, present))


def train_fine_tune(task: Task, run: Run) -> OneHead:
    config = task.config.fine_tune

    def begin(model: OneHead) -> tuple[Objective, Schedule]:
        labels = bio_classes(task.sentences, task.types)
        schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
        return CrossEntropyObjective(task.corpus, labels, task.gold), schedule

    found: OneHead = train_method(task, run, "fine-tune", OneHead.kind, begin)
    return found
