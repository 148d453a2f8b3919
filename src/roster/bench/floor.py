"""The least time that a training run can take on a machine: its arithmetic and its memory traffic.

Counted are matrix products (of the encoder, the heads, the masked language model), at the lengths that the
sentences have, without padding; and the bytes that cannot be avoided: weights are read once for each pass
of a batch, and each step of AdamW reads and writes weights and both moments, and reads the gradients.
Everything else (softmax, norms, dropout, activations, losses, start-up) is left out, so that

    floor = sum over phases of  max(operations / measured peak,  bytes / measured bandwidth)

cannot be reached, only approached. Counts are pure functions of the config, the architecture and the
lengths; what the machine can do is measured in `model/ceilings.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from roster.config import Config
from roster.model.ceilings import Ceilings

FLOAT = 4
"""Bytes of a weight, a gradient or a moment, as the optimiser has them."""
MODELS = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert")
"""Architectures whose layers are counted here: four projections and two linear layers, no more."""


@dataclass(frozen=True)
class Encoder:
    """The sizes of an encoder of one of MODELS."""

    layers: int
    width: int
    intermediate: int
    vocabulary: int
    positions: int
    segments: int

    @classmethod
    def of(cls, config: Any) -> Encoder | None:
        """From a Hugging Face config; None where the architecture is another."""
        if config.model_type not in MODELS:
            return None
        distil = config.model_type == "distilbert"
        return cls(
            config.num_hidden_layers,
            config.hidden_size,
            config.hidden_dim if distil else config.intermediate_size,
            config.vocab_size,
            config.max_position_embeddings,
            0 if distil else config.type_vocab_size,
        )

    @property
    def matrices(self) -> int:
        """Weights that a sub-word meets in all layers: of q, k, v and their output, and two linear layers."""
        return self.layers * (4 * self.width**2 + 2 * self.width * self.intermediate)

    @property
    def parameters(self) -> int:
        embeddings = (self.vocabulary + self.positions + self.segments) * self.width
        biases = 4 * self.width + self.intermediate + self.width
        norms = 2 * self.width
        return embeddings + norms + self.matrices + self.layers * (biases + 2 * norms)


@dataclass(frozen=True)
class Corpus:
    """What the counts need of an encoded corpus: the length of each window in sub-words, and of the words.

    `special` of the sub-words of each window are the tokenizer's own (its beginning and its end).
    """

    lengths: np.ndarray
    words: int
    special: int

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    @property
    def squares(self) -> int:
        return int((self.lengths.astype(np.int64) ** 2).sum())

    def steps(self, batch_size: int) -> int:
        """Of one epoch."""
        return ceil(len(self.lengths) / batch_size)

    def masked(self, share: float) -> int:
        """Sub-words that the augmentation hides in one pass: a share of each window's own, at least one."""
        own = self.lengths - self.special
        wanted = np.clip(np.round(share * own), 1, None)
        return int(np.minimum(wanted, own).sum())


def forward(encoder: Encoder, corpus: Corpus) -> int:
    """Operations of one pass over the corpus: 2 for each weight and sub-word, and in each layer
    4 n^2 d for a window of n (scores, and the sums of values that they weigh)."""
    return 2 * encoder.matrices * corpus.tokens + 4 * encoder.layers * encoder.width * corpus.squares


def heads(encoder: Encoder, corpus: Corpus, classes: int) -> int:
    return 2 * encoder.width * classes * corpus.words


def language_model(encoder: Encoder, positions: int) -> int:
    """Operations of a masked language model's head: one dense layer, and the vocabulary."""
    return 2 * positions * (encoder.width**2 + encoder.width * encoder.vocabulary)


@dataclass(frozen=True)
class Phase:
    """A part of a stage that goes on at one time: operations and bytes can overlap within it."""

    stage: str
    name: str
    operations: int
    bytes: int

    def times(self, number: int) -> Phase:
        return replace(self, operations=self.operations * number, bytes=self.bytes * number)


@dataclass(frozen=True)
class Counter:
    """Counts phases for one model on one corpus. `weight` is how many bytes a weight has in arithmetic."""

    encoder: Encoder
    corpus: Corpus
    classes: int
    batch_size: int
    weight: int

    @property
    def parameters(self) -> int:
        return self.encoder.parameters + (self.encoder.width + 1) * self.classes

    @property
    def once(self) -> int:
        """Operations of one forward pass over the corpus."""
        return forward(self.encoder, self.corpus) + heads(self.encoder, self.corpus, self.classes)

    def training(self, stage: str, epochs: int, copies: int = 1) -> list[Phase]:
        """Epochs of steps; with 2 `copies`, each on the sentences and on as many augmented ones.

        Backward takes twice the operations of forward. A step reads the matrices for both and writes all
        gradients; clipping must read them before the update can: 4 reads and 3 writes of the update, and
        that one.
        """
        steps = epochs * self.corpus.steps(self.batch_size)
        passes = steps * (2 * self.weight * self.encoder.matrices + FLOAT * self.parameters)
        update = steps * 8 * FLOAT * self.parameters
        return [
            Phase(stage, "training", 3 * self.once * epochs * copies, passes),
            Phase(stage, "optimiser", 0, update),
        ]

    def reading(self, stage: str, name: str, passes: int) -> Phase:
        """Passes over the corpus without gradients; weights need be read but once for each."""
        return Phase(stage, name, self.once, self.weight * self.encoder.matrices).times(passes)

    def renewals(self, stage: str, name: str, epochs: int, every: int, first: int) -> Phase:
        """Reading before every n-th batch, from the `first` on: the windows used until the next time."""
        in_epoch = self.corpus.steps(self.batch_size)
        steps = epochs * in_epoch
        shares = [min(in_epoch, every, steps - at) for at in range(first, steps, every)]
        operations = round(self.once * sum(shares) / in_epoch)
        return Phase(stage, name, operations, len(shares) * self.weight * self.encoder.matrices)


def phases(
    config: Config, encoder: Encoder, corpus: Corpus, types: int, weight: int, lm: Encoder | None = None
) -> list[Phase]:
    """All that a run with this config must do; nothing where its method is not one of ours.

    `lm` is the augmentations' own masked language model, where they have one: counted at the lengths of
    the backbone.
    """
    batch_size = config.optimiser.batch_size
    if config.method == "fine-tune":
        counter = Counter(encoder, corpus, 1 + 2 * types, batch_size, weight)
        return [*counter.training("fine-tune", config.fine_tune.epochs), _comparison(counter)]
    if config.method == "bond":
        c = config.bond
        counter = Counter(encoder, corpus, 1 + 2 * types, c.batch_size, weight)
        teacher = counter.renewals("bond", "teacher", c.epochs, c.period, first=c.begin_step)
        return [*counter.training("bond", c.epochs), teacher, _comparison(counter)]
    if config.method != "roster":
        return []
    counter = Counter(encoder, corpus, 1 + types, batch_size, weight)
    members = config.ensemble.models if config.ensemble.enabled else 1
    found = [phase.times(members) for phase in _noise_robust("members", config, counter)]
    found.append(counter.reading("members", "distributions", members))
    if config.before_self_training == "ensemble":
        found += counter.training("ensemble", config.ensemble.epochs)
        found.append(counter.reading("ensemble", "agreement", 1))
    if config.self_training.enabled:
        found += _self_training(config, counter, lm or encoder)
    return [*found, _comparison(counter)]


def _comparison(counter: Counter) -> Phase:
    """The trained model reads its training text once, and is compared with the labels."""
    return counter.reading("rest", "comparison", 1)


def _noise_robust(stage: str, config: Config, counter: Counter) -> list[Phase]:
    """One noise-robust model: labels are removed before each U-th batch, but not before the first, and not in
    the steps with plain cross entropy."""
    settings = config.noise_robust
    total = settings.epochs * counter.corpus.steps(counter.batch_size)
    every, plain = settings.update_every, settings.plain * total
    found = counter.training(stage, settings.epochs)
    if settings.remove_labels:
        first = every * max(1, ceil(plain / every))
        found.append(counter.renewals(stage, "label removal", settings.epochs, every, first=first))
    return found


def _self_training(config: Config, counter: Counter, lm: Encoder) -> list[Phase]:
    """Soft labels before each U'-th batch, the first one too; augmentations before each epoch.

    Other names are drawn, which takes no operations; sentences with them count as long as they were.
    """
    stage, settings, augmentation = "self-training", config.self_training, config.augmentation
    found = [
        *counter.training(stage, settings.epochs, copies=2 if augmentation.enabled else 1),
        counter.renewals(stage, "soft labels", settings.epochs, settings.update_every, first=0),
        counter.reading(stage, "before and after", 2),
    ]
    if config.masked_lm is not None:
        corpus = counter.corpus
        positions = corpus.words if augmentation.by == "trained" else corpus.masked(augmentation.mask)
        operations = forward(lm, corpus) + language_model(lm, positions)
        read = counter.weight * (lm.matrices + lm.width * (lm.width + lm.vocabulary))
        found.append(Phase(stage, "augmentation", operations, read).times(settings.epochs))
    return found


@dataclass(frozen=True)
class Floor:
    """The least seconds, in all and by stage; what bounds each phase is in `phases`."""

    seconds: float
    stages: dict[str, float]
    phases: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def floor(counted: Sequence[Phase], ceilings: Ceilings) -> Floor:
    """Each phase takes as long as its slower half.

    >>> work = [Phase("a", "x", 100, 10), Phase("a", "y", 0, 30), Phase("b", "x", 50, 0)]
    >>> floor(work, Ceilings("cpu", "float32", operations=50.0, bytes=10.0)).stages
    {'a': 5.0, 'b': 1.0}
    """
    stages: dict[str, float] = {}
    listed = []
    for phase in counted:
        arithmetic, traffic = phase.operations / ceilings.operations, phase.bytes / ceilings.bytes
        stages[phase.stage] = stages.get(phase.stage, 0.0) + max(arithmetic, traffic)
        listed.append({**asdict(phase), "arithmetic_seconds": arithmetic, "memory_seconds": traffic})
    return Floor(sum(stages.values()), stages, listed)
