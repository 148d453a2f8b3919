"""A training task on the device: the corpus, its labels, and the splits that only report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from roster.backbone.loading import load_masked_lm
from roster.backbone.words import AnyWordEncoder
from roster.config import Config
from roster.corpus.sentence import Sentence
from roster.errors import DataError
from roster.learn.engine import Engine, choose_engines
from roster.learn.folds import Mentions, make_folds
from roster.learn.gold import Gold
from roster.learn.holdout import sentence_starts
from roster.learn.label_removal import words_of_phrases
from roster.learn.loop import Models, Schedule, derive
from roster.model.batches import DeviceCorpus
from roster.model.decoding import decode, io_classes
from roster.model.encoders import fresh_copy, open_backbone
from roster.model.heads import HEADS
from roster.model.processor import limit_threads
from roster.model.reading import choose_device
from roster.scores import Evaluation, evaluate_spans


@dataclass
class Split:
    """Labelled sentences that the training never sees; scored after each stage."""

    sentences: Sequence[Sentence]
    corpus: DeviceCorpus

    def score(self, kind: str, p: np.ndarray, types: Sequence[str]) -> Evaluation:
        spans = decode(kind, p, map(len, self.sentences), types)
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
    engine: Engine
    self_training_engine: Engine
    """Of that stage alone; all others have `engine`."""
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
    ) -> Task:
        """`gold` says which of the training sentences have labels that are sure; without it none has."""
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
        engine, last_engine = choose_engines(config, device, pretrained, log)

        def put(sentences: Sequence[Sentence]) -> DeviceCorpus:
            encoded = encoder.encode([s.words for s in sentences])
            return DeviceCorpus.put(encoded, encoder.specials.pad, device)

        splits = {name: Split(sentences, put(sentences)) for name, sentences in report.items() if sentences}
        is_gold = gold or [False] * len(train)
        fixed = np.repeat(np.asarray(is_gold, bool), [len(s) for s in train])
        # Labels of the others may be of several types, which are no class (AutoNER).
        of_gold = [s if known else s.with_spans(()) for s, known in zip(train, is_gold, strict=True)]
        sure = Gold.of(fixed, io_classes(of_gold, types), config.gold.weight, device)
        return cls(config, tuple(types), train, encoder, put(train), splits, pretrained, opened.dropout,
                   engine, last_engine, sure, is_gold)  # fmt: skip

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
        return make_folds(self.sentences, self.types, 0, 0, self.is_gold).mentions

    @cached_property
    def starts(self) -> np.ndarray:
        return sentence_starts(self.sentences)

    def steps(self, schedule: Schedule) -> int:
        """How many steps a stage takes."""
        return schedule.epochs * self.steps_per_epoch(schedule.optimiser(self.config.optimiser).batch_size)

    def steps_per_epoch(self, batch_size: int | None = None) -> int:
        """By the batch size of the config, or another."""
        return math.ceil(self.corpus.encoded.n_windows / (batch_size or self.config.optimiser.batch_size))

    @cached_property
    def unlabelled(self) -> np.ndarray | None:
        """The words that a noise-robust loss leaves open; None: every word has a label, be it `O`."""
        return words_of_phrases(self.sentences) if self.config.noise_robust.phrases else None

    @cached_property
    def masked_lm(self) -> Any:
        """The masked language model that writes augmentations."""
        assert self.config.masked_lm is not None
        return load_masked_lm(self.config.masked_lm)

    def new_model(self, kind: str, seed: int) -> Any:
        """Pre-trained encoder, fresh heads; the heads follow from the seed, and an encoder without
        pre-training too."""
        torch.manual_seed(derive(seed, "heads"))
        return HEADS[kind](fresh_copy(self.pretrained), len(self.types), self.dropout).to(self.device)

    def read_splits(self, models: Models) -> dict[str, np.ndarray]:
        """[K, words, classes] of every split."""
        read = {name: models.read(split.corpus, predicting=True) for name, split in self.splits.items()}
        return {name: p.cpu().numpy() for name, p in read.items()}

    def score(self, p: Mapping[str, np.ndarray], kind: str) -> dict[str, Any]:
        """Scores of distributions [words, classes] on the splits."""
        return {name: self.splits[name].score(kind, p[name], self.types).as_dict() for name in p}
