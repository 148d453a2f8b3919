"""BiLSTM-CNN-CRF (Ma and Hovy 2016): a linear-chain CRF over BIO tags, on an encoder trained from scratch.

    objective   the negative log-likelihood of the tags of a chain
    head        the CRF as a model
    crf         its mathematics: forward algorithm, marginals, Viterbi

The encoder is `roster.model.bilstm`; any other that the config names works as well.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from roster.config import BILSTM_CNN, Config, option
from roster.methods.base import OneStage
from roster.methods.bilstm_crf.head import CrfHead
from roster.methods.bilstm_crf.objective import ChainObjective
from roster.methods.facts import Facts
from roster.model.decoding import bio_classes
from roster.training.objective import Objective, Schedule, Sgd
from roster.training.task import Task

MOMENTUM, RATE_DECAY = 0.9, 0.05
"""The authors' SGD."""


@dataclass(frozen=True)
class BilstmCrf:
    """BiLSTM-CNN-CRF: a linear-chain CRF over BIO tags, trained with SGD."""

    epochs: int = option(50, "passes over the data", low=1, high=10_000)
    learning_rate: float = option(0.015, "rate of the first epoch", low=0)


class BilstmCrfMethod(OneStage):
    name = "bilstm-crf"
    title = "BiLSTM-CNN-CRF"
    summary = "a CRF on an encoder that is trained from scratch, as a baseline on gold labels"
    sections = {"bilstm_crf": BilstmCrf}
    defaults = {
        "backbone.name": BILSTM_CNN,
        "optimiser.batch_size": 10,
        "optimiser.clip": 5.0,
        "optimiser.weight_decay": 0.0,
    }
    head = CrfHead

    def objective(self, task: Task, model: CrfHead) -> Objective:
        return ChainObjective(task.corpus, bio_classes(task.sentences, task.types), model, task.gold)

    def schedule(self, config: Config) -> Schedule:
        own = config.section(BilstmCrf)
        return Schedule(own.epochs, own.learning_rate, sgd=Sgd(MOMENTUM, RATE_DECAY))

    def derive(self, config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
        return {}


METHOD = BilstmCrfMethod()
