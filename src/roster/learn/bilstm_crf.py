"""BiLSTM-CNN-CRF (Ma and Hovy 2016): a linear-chain CRF over BIO tags, on an encoder trained from scratch.

The encoder is `roster.model.bilstm`; any other that the config names works as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.learn.gold import Gold
from roster.learn.loop import Objective, Schedule
from roster.learn.losses import wmean
from roster.learn.run import Run
from roster.learn.stage import train_method
from roster.learn.task import Task
from roster.model.batches import DeviceCorpus
from roster.model.decoding import bio_classes
from roster.model.heads import CrfHead


class ChainObjective(Objective):
    """-log p(tags of a chain), mean over the chains of a batch, as the paper's own code has it.

    A chain is what a window classifies: a sentence, where it fits into one. A name that is cut by the border
    of a window begins anew behind it, for no chain may begin with an `I-` tag.
    """

    def __init__(self, corpus: DeviceCorpus, labels: np.ndarray, model: CrfHead, gold: Gold | None = None):
        super().__init__(corpus, gold)
        self.model = model
        encoded = corpus.encoded
        row = np.empty(encoded.n_words, np.int64)
        row[encoded.words] = np.repeat(np.arange(encoded.n_windows), np.diff(encoded.word_starts))
        tags = labels.astype(np.int64)
        first = encoded.words[encoded.word_starts[:-1]]
        tags[first] -= (tags[first] > 0) & (tags[first] % 2 == 0)
        self.row = torch.from_numpy(row).to(corpus.device)
        self.tags = torch.from_numpy(tags).to(corpus.device)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
        (emissions,) = outputs[0]  # one model: only the plain engine trains a CRF
        (mine,) = words
        rows = self.row[mine]
        losses = self.model.negative_log_likelihood(emissions, rows, self.tags[mine])
        begins = torch.cat([rows.new_ones(1, dtype=torch.bool), rows[1:] != rows[:-1]])
        weight = self.gold.weight[mine[begins]]  # a chain is gold as a whole
        return wmean(losses, weight).unsqueeze(0)


def train_bilstm_crf(task: Task, run: Run) -> CrfHead:
    config = task.config.bilstm_crf

    def begin(model: CrfHead) -> tuple[Objective, Schedule]:
        labels = bio_classes(task.sentences, task.types)
        changes = {
            "rule": "sgd", "momentum": config.momentum, "rate_decay": config.rate_decay,
            "weight_decay": 0.0, "clip": config.clip, "batch_size": config.batch_size,
        }  # fmt: skip
        schedule = Schedule(config.epochs, config.learning_rate, changes=changes)
        return ChainObjective(task.corpus, labels, model, task.gold), schedule

    found: CrfHead = train_method(task, run, "bilstm-crf", CrfHead.kind, begin)
    return found
