"""The fast engine, and the choice between it and the plain one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import torch

from roster.accelerate import stacked_loop
from roster.accelerate.stack import Stack
from roster.backbone.loading import load_architecture
from roster.config import BILSTM_CNN, Config
from roster.errors import ConfigError, RosterError
from roster.model.bert_layout import NotStackableError, encoder_weights, network_width, shape_of
from roster.model.heads import WordStates
from roster.model.reading import choose_device, number_type
from roster.training.engine import PlainEngine, TrainingEngine
from roster.training.objective import Objective, Schedule


@dataclass(frozen=True)
class FastEngine:
    """Trains several models together with `accelerate.stacked_loop`."""

    config: Config
    device: torch.device
    at_once: int
    kernels: Sequence[Future[object]]
    """Done when the kernels are compiled."""
    name: str = "fast"

    def take(self, models: Sequence[WordStates]) -> Stack:
        for kernel in self.kernels:
            kernel.result()
        return Stack.of(models, number_type(self.device, self.config.optimiser.precision), self.device)

    def fit(self, models: Stack, objective: Objective, schedule: Schedule, seeds: Sequence[int],
            **options: Any) -> list[dict[str, Any]]:  # fmt: skip
        return stacked_loop.fit(models, objective, schedule, self.config.optimiser, seeds, **options)


def choose_engine(
    config: Config,
    device: torch.device,
    encoder: Any,
    head: type[WordStates],
    together: tuple[int, int],
    log: Callable[[str], None],
    kernels: Sequence[Future[object]] = (),
) -> TrainingEngine:
    """The engine that the config names; `auto` is fast on a GPU where encoder and heads can be stacked.

    Args:
        config: `optimiser.engine` names the engine.
        device: where the models are trained.
        encoder: the pre-trained encoder.
        head: the class of the models.
        together: how many models a stage has, and how many the config allows at once (0: as many as fit).
        log: receives the reason why the fast engine cannot be used.
        kernels: what `compile_kernels` returned; a training waits for them.
    """
    wanted = config.optimiser.engine
    if wanted == "plain" or (wanted == "auto" and device.type != "cuda"):
        return PlainEngine(config)
    try:
        if not head.stackable:
            raise NotStackableError(f"models of the kind {head.kind} have more than linear heads")
        encoder_weights(encoder)
    except NotStackableError as reason:
        if wanted == "fast":
            raise ConfigError(
                f"optimiser.engine: the fast engine cannot train {config.backbone.name}: {reason}; "
                "use auto or plain"
            ) from None
        log(f"the plain engine trains {config.backbone.name}: {reason}")
        return PlainEngine(config)
    at_once = members_at_once(config, device, encoder, *together)
    return FastEngine(config, device, at_once, kernels)


def compile_kernels(config: Config) -> Sequence[Future[object]]:
    """Starts to compile the kernels for the backbone of a config, while the data and its weights are read.

    Args:
        config: names the backbone, the device and the engine.

    Returns:
        What to wait for before training; nothing where the fast engine has no kernels or cannot be used. An
        error in the device or the backbone is not raised here but where they are used.
    """
    name = config.backbone.name
    if config.optimiser.engine == "plain" or name == BILSTM_CNN:
        return []
    try:
        device = choose_device(config.optimiser.device)
        if device.type != "cuda":
            return []
        architecture = load_architecture(name)
        shape, inner = shape_of(architecture), network_width(architecture)
    except (NotStackableError, RosterError):
        return []
    from roster.accelerate import kernels  # Triton, which is of no use elsewhere

    return kernels.prepare(shape, inner, number_type(device, config.optimiser.precision), device)


def members_at_once(config: Config, device: torch.device, encoder: Any, k: int, allowed: int) -> int:
    """As many of the K models as the config allows, or as fit into three quarters of the free memory."""
    if allowed:
        return min(k, allowed)
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
