"""Plain fine-tuning ("Distant RoBERTa" on distant labels): cross entropy over BIO tags, one linear head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roster.config import option
from roster.methods.base import OneStage
from roster.model.batches import DeviceCorpus
from roster.model.decoding import bio_classes
from roster.model.heads import OneHead
from roster.training.gold import Gold
from roster.training.losses import wmean
from roster.training.objective import Objective, Rows
from roster.training.task import Task


@dataclass(frozen=True)
class FineTune:
    """Plain fine-tuning: cross entropy over BIO tags, one linear head."""

    epochs: int = option(3, "passes over the data", low=1, high=10_000)
    learning_rate: float = option(5e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the head; 0: the same as the encoder's", low=0)


class CrossEntropyObjective(Objective):
    """Cross entropy of the label of every word."""

    capturable = True

    def __init__(self, corpus: DeviceCorpus, labels: np.ndarray, gold: Gold | None = None):
        super().__init__(corpus, gold)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(corpus.device)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        (tags,) = outputs
        losses = F.cross_entropy(tags, self.labels[words], reduction="none")
        return wmean(losses, self.counted(words, present))


class FineTuneMethod(OneStage):
    name = "fine-tune"
    title = "Fine-tuning"
    summary = "cross entropy on all labels, one linear head"
    sections = {"fine_tune": FineTune}
    head = OneHead

    def objective(self, task: Task, model: OneHead) -> Objective:
        return CrossEntropyObjective(task.corpus, bio_classes(task.sentences, task.types), task.gold)


METHOD = FineTuneMethod()
