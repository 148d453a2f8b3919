"""Plain fine-tuning ("Distant RoBERTa" on distant labels): cross entropy over BIO tags, one linear head."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roster.learn.loop import Objective, Schedule, derive, fit
from roster.learn.run import Run
from roster.learn.task import Task
from roster.model.batches import Batch, DeviceCorpus
from roster.model.decoding import bio_classes
from roster.model.heads import OneHead
from roster.progress import timed


class CrossEntropyObjective(Objective[OneHead]):
    def __init__(self, corpus: DeviceCorpus, labels: np.ndarray):
        super().__init__(corpus)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(corpus.device)

    def loss(self, model: OneHead, *batches: Batch) -> Tensor:
        (batch,) = batches
        return F.cross_entropy(model(batch), self.labels[batch.words])


def train_fine_tune(task: Task, run: Run) -> OneHead:
    stage, config = "fine-tune", task.config.fine_tune
    model: OneHead = task.new_model("one-head", derive(task.config.seed, stage))
    if run.finished(stage):
        model.load_state_dict(run.tensors(stage))
        return model
    with timed(stage) as clock:
        facts = fit(
            model,
            CrossEntropyObjective(task.corpus, bio_classes(task.sentences, task.types)),
            Schedule(config.epochs, config.learning_rate, config.head_learning_rate),
            task.config.optimiser,
            derive(task.config.seed, stage),
            description=stage,
            resume=run.checkpoint(stage),
            after_epoch=run.after_epoch(stage, config.epochs),
        )
    run.finish(stage, {**facts, **clock.facts, "scores": task.score(model)[0]}, model.state_dict())
    return model
