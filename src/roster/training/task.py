"""A training task on the device: the corpus, its labels, and the splits that only report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch

from roster.backbone.words import AnyWordEncoder
from roster.config import Config
from roster.corpus.sentence import Sentence
from roster.errors import DataError
from roster.model.batches import DeviceCorpus
from roster.model.decoding import decode, io_classes
from roster.model.encoders import fresh_copy, open_backbone
from roster.model.heads import WordStates
from roster.model.processor import limit_threads
from roster.model.reading import choose_device
from roster.scores import Evaluation, evaluate_spans
from roster.training.engine import PlainEngine, TrainingEngine
from roster.training.gold import Gold, word_weights
from roster.training.mentions import Mentions, label_mentions, sentence_starts
from roster.training.objective import Models, Objective, Schedule, derive_seed

M = TypeVar("M", bound=WordStates)
ChooseEngine = Callable[[torch.device, Any], TrainingEngine]


@dataclass
class Split:
    """Labelled sentences that the training never sees; scored after each stage."""

    sentences: Sequence[Sentence]
    corpus: DeviceCorpus

    def score(self, scheme: str, p: np.ndarray, types: Sequence[str]) -> Evaluation:
        spans = decode(scheme, p, map(len, self.sentences), types)
        return evaluate_spans((guess, s.spans or ()) for guess, s in zip(spans, self.sentences, strict=True))


@dataclass
class Task:
    config: Config
    types: tuple[str, ...]
    sentences: Sequence[Sentence]
    encoder: AnyWordEncoder
    corpus: DeviceCorpus
    splits: dict[str, Split]
    pretrained: Any
    """The pre-trained encoder on the device; models are made of copies of it."""
    dropout: float
    """Between the encoder and the heads."""
    engine: TrainingEngine
    """Trains the objectives that are capturable; the plain engine trains the others."""
    gold: Gold
    is_gold: Sequence[bool]
    """Which of the sentences have labels that are sure."""

    @classmethod
    def build(
        cls,
        config: Config,
        types: Sequence[str],
        train: Sequence[Sentence],
        report: Mapping[str, Sequence[Sentence]],
        log: Callable[[str], None] = lambda line: None,
        gold: Sequence[bool] | None = None,
        choose_engine: ChooseEngine | None = None,
    ) -> Task:
        """Encodes the data and puts it on the device.

        Args:
            config: the effective config.
            types: the types that a model chooses from.
            train: the training sentences with their labels.
            report: splits with gold labels that are scored and never learned from.
            log: receives messages for the user.
            gold: which of the training sentences have gold labels; none without it.
            choose_engine: gives the engine for a device and an encoder; without it the plain one trains.

        Raises:
            DataError: if there is nothing to learn from.
        """
        if not any(len(s) for s in train):
            raise DataError("there is nothing to train on: the corpus has no words")
        if not any(s.spans for s in train):
            raise DataError(
                "no word of the training data has a label; check the dictionary, or which labels were read"
            )
        if not types:
            raise DataError("there are no entity types; list them in types.txt, or label the data")
        device = choose_device(config.optimiser.device)
        if device.type == "cpu":
            limit_threads()
        opened = open_backbone(config, [s.words for s in train])
        pretrained, encoder = opened.encoder.to(device), opened.words
        engine = choose_engine(device, pretrained) if choose_engine else PlainEngine(config)

        def put(sentences: Sequence[Sentence]) -> DeviceCorpus:
            encoded = encoder.encode([s.words for s in sentences])
            return DeviceCorpus.put(encoded, encoder.specials.pad, device)

        splits = {name: Split(sentences, put(sentences)) for name, sentences in report.items() if sentences}
        is_gold = gold or [False] * len(train)
        fixed = np.repeat(np.asarray(is_gold, bool), [len(s) for s in train])
        # Labels of the others may be of several types, which are no class (AutoNER).
        of_gold = [s if known else s.with_spans(()) for s, known in zip(train, is_gold, strict=True)]
        weight = word_weights(train, is_gold, config.gold.weight)
        sure = Gold.of(fixed, io_classes(of_gold, types), weight, device)
        return cls(config, tuple(types), train, encoder, put(train), splits, pretrained, opened.dropout,
                   engine, sure, is_gold)  # fmt: skip

    @property
    def device(self) -> torch.device:
        return self.corpus.device

    @cached_property
    def labels(self) -> np.ndarray:
        """[words]: the class of each training word by its label, 0 for `O`."""
        return io_classes(self.sentences, self.types)

    @cached_property
    def mentions(self) -> Mentions:
        """The labels as mentions of names; those of gold sentences are not among them."""
        return label_mentions(self.sentences, self.types, {}, self.is_gold)[0]

    @cached_property
    def starts(self) -> np.ndarray:
        return sentence_starts(self.sentences)

    def steps(self, schedule: Schedule) -> int:
        """How many steps a stage takes."""
        return schedule.epochs * self.steps_per_epoch()

    def steps_per_epoch(self) -> int:
        return math.ceil(self.corpus.encoded.n_windows / self.config.optimiser.batch_size)

    def engine_of(self, objective: Objective | type[Objective]) -> TrainingEngine:
        """The engine that trains an objective."""
        return self.engine if objective.capturable else PlainEngine(self.config)

    def new_model(self, head: type[M], seed: int) -> M:
        """Pre-trained encoder, fresh heads; the heads follow from the seed, and an encoder without
        pre-training too."""
        torch.manual_seed(derive_seed(seed, "heads"))
        return head(fresh_copy(self.pretrained), len(self.types), self.dropout).to(self.device)

    def read_splits(self, models: Models) -> dict[str, np.ndarray]:
        """[K, words, classes] of every split."""
        read = {name: models.read(split.corpus, predicting=True) for name, split in self.splits.items()}
        return {name: p.cpu().numpy() for name, p in read.items()}

    def score(self, p: Mapping[str, np.ndarray], head: type[WordStates]) -> dict[str, Any]:
        """Scores of distributions [words, classes] on the splits."""
        return {name: self.splits[name].score(head.scheme, p[name], self.types).as_dict() for name in p}
