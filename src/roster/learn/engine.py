"""Who trains: the plain loop, one model at a time, or the fast one, several in step on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from roster.config import Config
from roster.errors import ConfigError
from roster.learn import fast, loop
from roster.learn.loop import AfterEpoch, Checkpoint, Models, Objective, PlainModels, Schedule
from roster.model.heads import Model
from roster.model.reading import number_type
from roster.model.stack.family import NotStackableError, encoder_weights, shape_of
from roster.model.stack.models import Stack


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def at_once(self) -> int:
        """How many models it trains in step."""

    def take(self, models: Sequence[Model]) -> Models:
        """Fresh models for training: at most `at_once`."""

    def fit(
        self,
        models: Any,
        objective: Objective,
        schedule: Schedule,
        seeds: Sequence[int],
        *,
        description: str,
        resume: Checkpoint | None = None,
        after_epoch: AfterEpoch | None = None,
    ) -> list[dict[str, Any]]:
        """Trains them in place, and tells what it saw of each."""


@dataclass(frozen=True)
class PlainEngine:
    config: Config
    name: str = "plain"
    at_once: int = 1

    def take(self, models: Sequence[Model]) -> PlainModels:
        (model,) = models
        return PlainModels(model, self.config.optimiser.precision)

    def fit(self, models: PlainModels, objective: Objective, schedule: Schedule, seeds: Sequence[int],
            **options: Any) -> list[dict[str, Any]]:  # fmt: skip
        (seed,) = seeds
        return [loop.fit(models, objective, schedule, self.config.optimiser, seed, **options)]


@dataclass(frozen=True)
class FastEngine:
    config: Config
    device: torch.device
    at_once: int
    kernels: Sequence[Future[object]]
    """Done when the kernels are compiled."""
    name: str = "fast"

    def take(self, models: Sequence[Model]) -> Stack:
        for kernel in self.kernels:
            kernel.result()
        return Stack.of(models, number_type(self.device, self.config.optimiser.precision), self.device)

    def fit(self, models: Stack, objective: Objective, schedule: Schedule, seeds: Sequence[int],
            **options: Any) -> list[dict[str, Any]]:  # fmt: skip
        return fast.fit(models, objective, schedule, self.config.optimiser, seeds, **options)


def choose_engines(
    config: Config, device: torch.device, encoder: Any, log: Callable[[str], None]
) -> tuple[Engine, Engine]:
    """The engine of a run, and that of its self-training.

    CUDA graphs need fixed shapes; replaced names change the number of sub-words.
    """
    chosen = choose_engine(config, device, encoder, log)
    names = config.augments and config.augmentation.by == "names"
    return chosen, PlainEngine(config) if names else chosen


def choose_engine(config: Config, device: torch.device, encoder: Any, log: Callable[[str], None]) -> Engine:
    """The engine that the config names; `auto` is fast on a GPU where the encoder is one of BERT's kin."""
    wanted = config.optimiser.engine
    if wanted == "plain" or (wanted == "auto" and device.type != "cuda"):
        return PlainEngine(config)
    try:
        if config.augments and config.augmentation.masked_lm:
            raise NotStackableError("its augmentations come from another model (augmentation.masked_lm)")
        if config.method == "bilstm-crf":
            raise NotStackableError("a CRF goes along every sentence, word by word")
        if config.optimiser.rule != "adamw":
            raise NotStackableError(f"the rule of the optimiser is {config.optimiser.rule}, not adamw")
        encoder_weights(encoder)
    except NotStackableError as reason:
        if wanted == "fast":
            raise ConfigError(
                f"optimiser.engine: the fast engine cannot train {config.backbone.name}: {reason}; "
                "use auto or plain"
            ) from None
        log(f"the plain engine trains {config.backbone.name}: {reason}")
        return PlainEngine(config)
    return FastEngine(
        config, device, members_at_once(config, device, encoder), _compile(config, device, encoder)
    )


def _compile(config: Config, device: torch.device, encoder: Any) -> Sequence[Future[object]]:
    if device.type != "cuda":
        return []
    from roster.model.stack import kernels  # Triton, which is of no use elsewhere

    shape = shape_of(encoder.config)
    weights = {weight.name: weight.shape for weight in encoder_weights(encoder)}
    inner = weights["0.up.weight"][0]
    return kernels.prepare(shape, inner, number_type(device, config.optimiser.precision), device)


def members_at_once(config: Config, device: torch.device, encoder: Any) -> int:
    """As many of the K models as the config says, or as fit into three quarters of the free memory."""
    k = config.ensemble.models if config.ensemble.enabled else 1
    if config.ensemble.at_once:
        return min(k, config.ensemble.at_once)
    if device.type != "cuda":
        return k
    weights = sum(p.numel() for p in encoder.parameters())
    # Master, moments, gradient and working copy; and what a layer keeps of each sub-word for its way back.
    per_model = (
        20 * weights
        + 2 * _kept_per_subword(encoder) * config.optimiser.batch_size * config.backbone.max_length
    )
    free, _ = torch.cuda.mem_get_info(device)
    return max(1, min(k, int(0.75 * free / per_model)))


def _kept_per_subword(encoder: Any) -> int:
    """Numbers that a pass keeps of each sub-word: about 20 times the width in each layer, and 4 more of it in
    the feed-forward network for each of its two sides."""
    shape = shape_of(encoder.config)
    return shape.layers * 28 * shape.width
