"""What every stage of training shares: an `Objective`, a `Schedule`, and what a loop needs of both.

Two loops train: `roster.training.loop` one model at a time, and `roster.accelerate.stacked_loop` several
models together on a GPU.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from roster.errors import RosterError
from roster.model.batches import DeviceCorpus
from roster.training.gold import Gold
from roster.training.schedule import warmup_decay


def derive_seed(seed: int, *names: str | int) -> int:
    """A seed for one purpose, derived from the run's seed. The streams are independent, and none has to be
    saved.

    >>> derive_seed(30, "member", 0) == derive_seed(30, "member", 0)
    True
    >>> derive_seed(30, "member", 0) == derive_seed(30, "member", 1)
    False
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "little")


class Models(Protocol):
    """K models under training; K is 1 in the plain loop."""

    @property
    def k(self) -> int: ...

    def read(self, corpus: DeviceCorpus, *, predicting: bool = False) -> Tensor:
        """[K, words, classes]: the distribution of every word, without dropout, in word order.

        `predicting`: in the precision of prediction, so that scores are those of the saved model.
        """

    def read_rows(self, corpus: DeviceCorpus, rows: Sequence[np.ndarray]) -> list[tuple[Tensor, Tensor]]:
        """The same for some windows, different ones for each model: word numbers, and distributions."""

    def state_dict(self, member: int) -> Mapping[str, Tensor]: ...


Rows = Mapping[str, Tensor]
"""One model's rows of tensors that have a row for each model."""
Upcoming = Callable[[int], list[np.ndarray] | None]
"""Windows used by the next n batches, for each model; None: all windows, if n batches cover the epoch."""


def read_upcoming(
    models: Models, corpus: DeviceCorpus, rows: list[np.ndarray] | None
) -> list[tuple[Tensor | slice, Tensor]]:
    """For each model the words of its windows and their distributions.

    What is renewed every U batches is needed for the words of the next U batches only. Reading no more than
    these keeps the cost of a training linear in the size of the corpus.
    """
    if rows is None:
        return [(slice(None), p) for p in models.read(corpus)]
    return [(words, p) for words, p in models.read_rows(corpus, rows)]


class Objective:
    """What a stage learns: a loss on the words of a batch, and what is renewed between batches.

    All tensors that change in the course of a training are in `state()`, so that a resumed run is the same
    run. `capturable` declares that the fast engine may record a step as a CUDA graph. Such an objective
    changes its tensors in place, and its `loss`, `observe` and `transform_inputs` do not branch on Python
    values that change: a recorded step repeats the branch it was recorded with (src/roster/accelerate).
    """

    capturable: ClassVar[bool] = False

    def __init__(self, corpus: DeviceCorpus, gold: Gold | None = None):
        self.corpus = corpus
        self.gold = gold or Gold.none(corpus.n_words, corpus.device)

    def counted(self, words: Tensor, present: Tensor) -> Tensor:
        """The weight of each place of a batch: 0 without a word, `gold.weight` for gold words, else 1."""
        return present * self.gold.weight[words]

    def start_epoch(self, models: Models, epoch: int) -> None:
        """Called before the first batch of every epoch, also of the one that a resumed run begins with."""

    def prepare(self, models: Models, step: int, upcoming: Upcoming) -> None:
        """Called before every batch, counted from 0 over the whole stage."""

    def inputs(self) -> list[DeviceCorpus]:
        """What the models read in a step: the corpus, and others with the same words."""
        return [self.corpus]

    def transform_inputs(self, ids: Tensor) -> Tensor:
        """The sub-words as the models see them in training, for example with some of them masked."""
        return ids

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        """The loss of one model on one batch.

        Args:
            outputs: the heads' outputs on each of `inputs`, [n, ...] for n places in the batch.
            words: [n], the numbers of the words at these places.
            present: [n], 1 where there is a word, and 0 where there is none.
            own: the model's rows of the tensors in `own`.

        Returns:
            A number: a pure function of the arguments and of the objective's tensors.
        """
        raise TypeError(f"{type(self).__name__} has no loss")

    def observe(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> None:
        """Called once for every batch with the arguments of `loss`; may change the rows in `own` in place."""

    def own(self) -> dict[str, Tensor]:
        """Tensors [K, ...] with a row for each of the K models that are trained together."""
        return {}

    def state(self) -> dict[str, Tensor]:
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Takes back what `state` gave."""


def losses_of(objective: Objective, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
    """[K]: the loss of each of K models, from outputs [K, n, ...], `words` and `present` [K, n]."""
    arguments = (list(outputs), words, present, objective.own())
    if len(words) == 1:
        return objective.loss(*_only(arguments)).unsqueeze(0)
    losses: Tensor = torch.vmap(objective.loss)(*arguments)
    return losses


@torch.no_grad()
def observe(objective: Objective, outputs: Sequence[Any], words: Tensor, present: Tensor) -> None:
    """Lets an objective observe a batch of each of K models."""
    arguments = (list(outputs), words, present, objective.own())
    if len(words) == 1:
        objective.observe(*_only(arguments))
    else:

        def observed(outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
            objective.observe(outputs, words, present, own)
            return words  # vmap needs a tensor

        torch.vmap(observed)(*arguments)


def _only(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of the only model."""
    return tree_map(lambda x: x[0], arguments)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Sgd:
    """SGD in place of AdamW; the rate in epoch i, from 0, is rate / (1 + rate_decay * i)."""

    momentum: float
    rate_decay: float


@dataclass(frozen=True)
class Schedule:
    """Passes over the data and peak rates of one stage. A head rate of 0 means the encoder's.

    The optimiser is AdamW with the config's values; or `sgd`, which the plain loop alone has.
    """

    epochs: int
    learning_rate: float
    head_learning_rate: float = 0.0
    sgd: Sgd | None = None

    def peak(self, head: bool) -> float:
        return (self.head_learning_rate if head else 0.0) or self.learning_rate


@dataclass
class Checkpoint:
    """Everything a stage needs to go on after `epoch` finished epochs."""

    epoch: int
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors whose names begin with `name.`, without it."""
        return {k[len(name) + 1 :]: v for k, v in self.tensors.items() if k.startswith(f"{name}.")}


AfterEpoch = Callable[[int, Callable[[], Checkpoint]], None]
BeforeStep = Callable[[Models, int], None]
"""Called before every batch, with its number in the stage; sees the models, and changes nothing."""


def rate(step: int, total: int, warmup: float) -> float:
    """The share of the peak rate at a step: linear rise over `warmup` of all steps, linear fall to 0.

    >>> [round(rate(s, 10, 0.2), 2) for s in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.12]
    """
    rise = math.ceil(warmup * total)
    return warmup_decay(step + 1 if step < rise else step, rise, total)


def check_finite(loss: float, description: str, epoch: int, schedule: Schedule) -> None:
    """Raise `RosterError` if the mean loss of an epoch is not a number."""
    if not math.isfinite(loss):
        raise RosterError(
            f"{description}: the loss is no longer a number in epoch {epoch + 1}; "
            f"a lower learning rate than {schedule.learning_rate:g} will help"
        )


def upcoming_windows(
    plans_of: Callable[[int], list[list[np.ndarray]]],
    step: int,
    per_epoch: int,
    total: int,
    count: int,
) -> list[np.ndarray] | None:
    """`Upcoming` at a step, from every model's batches in an epoch."""
    steps = range(step, min(step + count, total))
    if len(steps) >= per_epoch:
        return None
    members = zip(
        *(plans_of(epoch) for epoch in range(step // per_epoch, steps[-1] // per_epoch + 1)), strict=True
    )
    windows = []
    for plans in members:
        batches = [batch for plan in plans for batch in plan]
        first = step % per_epoch
        windows.append(np.unique(np.concatenate(batches[first : first + len(steps)])))
    return windows


def each(outputs: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The heads' outputs, one tensor or several, changed one by one."""
    return tuple(map(change, outputs)) if isinstance(outputs, tuple) else change(outputs)
