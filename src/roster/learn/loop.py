"""What every stage of training shares: an `Objective`, a `Schedule`, and the plain loop over batches.

`roster.learn.fast` is the other loop, for K models at once on a GPU; it takes the same objectives.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from roster.config import Optimiser
from roster.errors import RosterError
from roster.learn.gold import Gold
from roster.model.batches import Batch, DeviceCorpus
from roster.model.heads import Model
from roster.model.reading import arithmetic, read_probabilities, read_words
from roster.progress import bar


def derive(seed: int, *names: str | int) -> int:
    """A seed for one purpose, from the run's seed: independent streams, and none to save or restore.

    >>> derive(30, "member", 0) == derive(30, "member", 0), derive(30, "member", 0) == derive(30, "member", 1)
    (True, False)
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "little")


class Models(Protocol):
    """K models under training; K is 1 in the plain loop."""

    @property
    def k(self) -> int: ...

    def read(self, corpus: DeviceCorpus, *, predicting: bool = False) -> Tensor:
        """[K, words, classes]: the distribution of every word, without dropout, in word order.

        `predicting`: in the numbers that prediction uses, so that scores are those of the saved model.
        """

    def read_rows(self, corpus: DeviceCorpus, rows: Sequence[np.ndarray]) -> list[tuple[Tensor, Tensor]]:
        """The same of some windows, others for each model: numbers of their words, and distributions."""

    def state_dict(self, member: int) -> Mapping[str, Tensor]: ...


Coming = Callable[[int], list[np.ndarray] | None]
"""Windows used by the next n batches, for each model; None: all windows, if n batches cover the epoch."""


def read_coming(
    models: Models, corpus: DeviceCorpus, rows: list[np.ndarray] | None
) -> list[tuple[Tensor | slice, Tensor]]:
    """Of each model the words of its windows and their distributions.

    What is renewed every U batches is needed for the words of the next U batches only. To read no more than
    these makes the cost of a training grow as its corpus does, and not with the square of it.
    """
    if rows is None:
        return [(slice(None), p) for p in models.read(corpus)]
    return [(words, p) for words, p in models.read_rows(corpus, rows)]


class Objective:
    """What a stage learns: a loss on the words of a batch, and whatever it renews in between.

    All tensors that change while training are in `state()`, so that a resumed run is the same run. They
    change in place: a captured step goes on reading where it read first.
    """

    def __init__(self, corpus: DeviceCorpus, gold: Gold | None = None):
        self.corpus = corpus
        self.gold = gold or Gold.none(corpus.n_words, corpus.device)

    def counted(self, words: Tensor, present: Tensor) -> Tensor:
        """How much each place of a batch counts: nothing without a word, gold words as the config says."""
        return present * self.gold.weight[words]

    def start_epoch(self, models: Models, epoch: int) -> None:
        """Called before the first batch of every epoch, also of the one that a resumed run begins with."""

    def prepare(self, models: Models, step: int, coming: Coming) -> None:
        """Called before every batch, counted from 0 over the whole stage."""

    def inputs(self) -> list[DeviceCorpus]:
        """What the models read in a step: the corpus, and others with the same words."""
        return [self.corpus]

    def disguise(self, ids: Tensor) -> Tensor:
        """The sub-words as the models are to see them in training."""
        return ids

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
        """[K] losses from the heads' outputs on each of `inputs`, [K, n, ...] of n places in a batch.

        Place i of member k is word number `words[k, i]` where `present[k, i]` is 1, and none where it is 0.
        """
        raise TypeError(f"{type(self).__name__} has no loss")

    def state(self) -> dict[str, Tensor]:
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Takes back what `state` gave."""


@dataclass(frozen=True)
class Schedule:
    """Passes over the data and peak rates of one stage. A head rate of 0 means the encoder's.

    `changes` are values of the config's optimiser that this stage wants otherwise.
    """

    epochs: int
    learning_rate: float
    head_learning_rate: float = 0.0
    changes: Mapping[str, Any] = field(default_factory=dict)

    def peak(self, head: bool) -> float:
        return (self.head_learning_rate if head else 0.0) or self.learning_rate

    def optimiser(self, usual: Optimiser) -> Optimiser:
        """The optimiser of this stage.

        >>> Schedule(3, 1e-5, changes={"batch_size": 16}).optimiser(Optimiser(beta2=0.98)).beta2
        0.98
        """
        return replace(usual, **self.changes)


@dataclass
class Checkpoint:
    """Everything a stage needs to go on after `epoch` finished epochs."""

    epoch: int
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors whose names begin with `name.`, without it."""
        return {k[len(name) + 1 :]: v for k, v in self.tensors.items() if k.startswith(f"{name}.")}


AfterEpoch = Callable[[int, Callable[[], Checkpoint]], None]


def rate(step: int, total: int, warmup: float) -> float:
    """The share of the peak rate at a step: linear rise over `warmup` of all steps, linear fall to 0.

    >>> [round(rate(s, 10, 0.2), 2) for s in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.12]
    """
    rise = math.ceil(warmup * total)
    if step < rise:
        return (step + 1) / rise
    return (total - step) / max(1, total - rise)


def _share(step: int, total: int, epoch: int, optimiser: Optimiser) -> float:
    """The share of the peak rate by the optimiser's own rule."""
    if optimiser.rule == "sgd":
        return 1 / (1 + optimiser.rate_decay * epoch)
    return rate(step, total, optimiser.warmup)


def check_finite(loss: float, description: str, epoch: int, schedule: Schedule) -> None:
    if not math.isfinite(loss):
        raise RosterError(
            f"{description}: the loss is no longer a number in epoch {epoch + 1}; "
            f"a lower learning rate than {schedule.learning_rate:g} will help"
        )


@dataclass(frozen=True)
class PlainModels:
    """One model as it is."""

    model: Model
    precision: str
    k: int = 1

    def read(self, corpus: DeviceCorpus, *, predicting: bool = False) -> Tensor:
        precision = None if predicting else self.precision
        return read_probabilities(self.model, corpus, precision).unsqueeze(0)

    def read_rows(self, corpus: DeviceCorpus, rows: Sequence[np.ndarray]) -> list[tuple[Tensor, Tensor]]:
        (mine,) = rows
        return [read_words(self.model, corpus, mine, self.precision)]

    def state_dict(self, member: int) -> Mapping[str, Tensor]:
        found: Mapping[str, Tensor] = self.model.state_dict()
        return found


def fit(
    models: PlainModels,
    objective: Objective,
    schedule: Schedule,
    optimiser: Optimiser,
    seed: int,
    *,
    description: str,
    resume: Checkpoint | None = None,
    after_epoch: AfterEpoch | None = None,
) -> dict[str, Any]:
    """Trains a model in place: AdamW with warm-up and linear decay, or SGD, clipping; returns what it saw.

    Each epoch draws its order and its dropout from seeds of its own. `after_epoch(epoch, checkpoint)`
    is called after every finished epoch, and may take a checkpoint.
    """
    model, corpus, optimiser = models.model, objective.corpus, schedule.optimiser(optimiser)
    device = corpus.device
    per_epoch = math.ceil(corpus.encoded.n_windows / optimiser.batch_size)
    total = per_epoch * schedule.epochs
    adam, peaks = _optimiser(model, schedule, optimiser, device)
    start = 0
    if resume is not None:
        start = resume.epoch
        _restore(resume, model, adam, objective)
    model.train()
    losses: list[float] = []
    progress = bar(description=description, total=total, initial=start * per_epoch)

    @lru_cache(2)
    def plan_of(epoch: int) -> list[np.ndarray]:
        order = np.random.default_rng(derive(seed, "order", epoch))
        return corpus.training_plan(optimiser.batch_size, order)

    for epoch in range(start, schedule.epochs):
        torch.manual_seed(derive(seed, "epoch", epoch))
        objective.start_epoch(models, epoch)
        plan = plan_of(epoch)
        seen = torch.zeros((), device=device)
        readings = zip(*(one.batches(plan) for one in objective.inputs()), strict=True)
        for step, batches in enumerate(readings, epoch * per_epoch):
            batches_from = partial(coming_rows, lambda e: [plan_of(e)], step, per_epoch, total)
            objective.prepare(models, step, batches_from)
            words = batches[0].words.unsqueeze(0)
            with arithmetic(device, optimiser.precision):
                outputs = _outputs(model, [replace(b, ids=objective.disguise(b.ids)) for b in batches])
                loss = objective.loss(outputs, words, torch.ones(words.shape, device=device)).sum()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), optimiser.clip)
            for group, peak in zip(adam.param_groups, peaks, strict=True):
                group["lr"] = peak * _share(step, total, epoch, optimiser)
            adam.step()
            adam.zero_grad(set_to_none=True)
            seen += loss.detach()
            progress.update()
        losses.append(float(seen) / per_epoch)
        check_finite(losses[-1], description, epoch, schedule)
        if after_epoch is not None:
            after_epoch(epoch + 1, lambda done=epoch + 1: _snapshot(done, model, adam, objective))  # type: ignore[misc]
    progress.close()
    return {"steps": total, "losses": [round(x, 5) for x in losses]}


def coming_rows(
    plans_of: Callable[[int], list[list[np.ndarray]]],
    step: int,
    per_epoch: int,
    total: int,
    count: int,
) -> list[np.ndarray] | None:
    """`Coming` at a step, from every model's batches in an epoch."""
    steps = range(step, min(step + count, total))
    if len(steps) >= per_epoch:
        return None
    members = zip(
        *(plans_of(epoch) for epoch in range(step // per_epoch, steps[-1] // per_epoch + 1)), strict=True
    )
    found = []
    for plans in members:
        batches = [batch for plan in plans for batch in plan]
        first = step % per_epoch
        found.append(np.unique(np.concatenate(batches[first : first + len(steps)])))
    return found


def _outputs(model: Model, batches: list[Batch]) -> list[Any]:
    """What the heads say of each batch; batches of one shape go through in one wide pass, which is faster."""
    if len({batch.ids.shape for batch in batches}) > 1:
        return [each(model(batch), lambda x: x.unsqueeze(0)) for batch in batches]
    wide, n = batches[0], len(batches[0].words)
    for other in batches[1:]:
        wide = wide.stacked(other)
    found = model(wide)
    return [each(found, lambda x, i=i: x[i * n : (i + 1) * n].unsqueeze(0)) for i in range(len(batches))]  # type: ignore[misc]


def each(outputs: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The heads' outputs, one tensor or two, changed one by one."""
    return tuple(map(change, outputs)) if isinstance(outputs, tuple) else change(outputs)


def _optimiser(
    model: nn.Module, schedule: Schedule, optimiser: Optimiser, device: torch.device
) -> tuple[torch.optim.Optimizer, list[float]]:
    """Four groups: encoder and heads, with and without decay (none on biases and norms)."""
    groups, peaks = [], []
    for is_encoder in (True, False):
        for decays, decay in ((True, optimiser.weight_decay), (False, 0.0)):
            chosen = [
                p
                for name, p in model.named_parameters()
                if p.requires_grad and name.startswith("encoder.") == is_encoder and (p.ndim > 1) == decays
            ]
            if chosen:
                groups.append({"params": chosen, "weight_decay": decay})
                peaks.append(schedule.peak(head=not is_encoder))
    fused = device.type in ("cuda", "cpu")
    if optimiser.rule == "sgd":
        sgd = torch.optim.SGD(groups, lr=schedule.learning_rate, momentum=optimiser.momentum, fused=fused)
        return sgd, peaks
    betas = (0.9, optimiser.beta2)
    return torch.optim.AdamW(groups, lr=schedule.learning_rate, betas=betas, fused=fused), peaks


def _snapshot(epoch: int, model: nn.Module, adam: torch.optim.Optimizer, objective: Objective) -> Checkpoint:
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for i, state in adam.state_dict()["state"].items():
        tensors.update({f"adam.{i}.{name}": x for name, x in state.items() if x is not None})
    tensors.update({f"objective.{name}": tensor for name, tensor in objective.state().items()})
    return Checkpoint(epoch, tensors)


def _restore(saved: Checkpoint, model: nn.Module, adam: torch.optim.Optimizer, objective: Objective) -> None:
    model.load_state_dict(saved.part("model"))
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in saved.part("adam").items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    adam.load_state_dict({"state": state, "param_groups": adam.state_dict()["param_groups"]})
    objective.load_state(saved.part("objective"))
