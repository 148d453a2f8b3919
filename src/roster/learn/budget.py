"""A training that fits into a number of minutes: fewer members, then shorter stages, never a broken model.

The time of a step is measured on this machine with the encoder itself; how many steps a config takes is
counted. Members go first, self-training next, and epochs only down to what a model needs to learn its labels.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from roster.config import Config, Request
from roster.errors import ConfigError

if TYPE_CHECKING:
    from roster.learn.defaults import Facts

SHARE = 0.85
"""Of the budget is planned for steps; the rest is for reading the data, saving, and what varies."""
READING, AUGMENTED = 1 / 3, 2.5
"""A pass without gradients costs this share of a step; a step of self-training as much as so many plain
ones."""
STACKED = 0.25
"""On a GPU several models are trained in step, which takes this share of the time of one after the other."""
FEWEST_STEPS = 150
"""A model that learns its labels at all takes about so many."""
TIMED = 3


def fit_into(
    config: Config,
    facts: Facts,
    minutes: float,
    seconds_per_step: float | None = None,
    given: Collection[str] = (),
) -> tuple[dict[str, Any], str]:
    """Values that shorten a training, and what was shortened in words; none where it fits as it is.

    Options that are `given` stay as they are.
    """
    step = seconds_per_step if seconds_per_step is not None else measure_step(config, facts)
    room = SHARE * 60 * minutes / step
    whole = cost(config, facts)
    if whole <= room:
        return {}, f"It fits into {minutes:g} minutes as it is (about {_minutes(whole * step)})"
    chosen: dict[str, Any] = {}
    for shorter in _shorter(config, facts):
        chosen = {name: value for name, value in shorter.items() if name not in given}
        if cost(_changed(config, chosen), facts) <= room:
            break
    left = cost(_changed(config, chosen), facts) * step
    said = ", ".join(
        f"{name.rpartition('.')[0]}: {name.rpartition('.')[2]} {value}" for name, value in chosen.items()
    )
    over = "" if left <= room * step else "; a shorter training would find too little, so it takes longer"
    if not said:
        return {}, f"What is given does not fit into {minutes:g} minutes (about {_minutes(left)})"
    return chosen, f"To fit into {minutes:g} minutes: {said} (about {_minutes(left)}{over})"


def check_minutes(minutes: float | None, asked: Config | Request) -> None:
    """A time budget must be positive, and needs settings that may be shortened."""
    if minutes is None:
        return
    if not minutes > 0:
        raise ConfigError(f"--minutes must be more than 0, not {minutes:g}")
    if isinstance(asked, Config) or asked.preset is not None:
        raise ConfigError(
            "--minutes shortens derived settings; with a preset or a complete Config there are none"
        )


def cost(config: Config, facts: Facts) -> float:
    """How many steps of one model a training takes, all stages together."""
    if config.method != "roster":
        section = getattr(config, config.method.replace("-", "_"))
        batch_size = getattr(section, "batch_size", config.optimiser.batch_size)
        return float(section.epochs * facts.steps_per_epoch(batch_size))
    per_epoch = facts.steps_per_epoch(config.optimiser.batch_size)
    members = config.ensemble.models if config.ensemble.enabled else 1
    epochs = members * config.noise_robust.epochs * (1 + READING) * (2 if config.noise_robust.extend else 1)
    if config.ensemble.enabled:
        epochs += config.ensemble.epochs
    if config.self_training.enabled:
        epochs += config.self_training.epochs * (AUGMENTED if config.augmentation.enabled else 1)
    return epochs * per_epoch


def _shorter(config: Config, facts: Facts) -> list[dict[str, Any]]:
    """From a little shorter to the shortest."""
    section = config.method.replace("-", "_") if config.method != "roster" else "noise_robust"
    epochs = getattr(config, section).epochs
    batch_size = getattr(getattr(config, section), "batch_size", config.optimiser.batch_size)
    least = min(epochs, max(1, math.ceil(FEWEST_STEPS / facts.steps_per_epoch(batch_size))))
    fewer_epochs = [e for e in (round(epochs * share) for share in (0.75, 0.5, 0.33)) if e > least] + [least]
    if config.method == "bond":
        steps = {name: getattr(config.bond, name) for name in ("warmup_steps", "begin_step", "period")}
        return [
            {"bond.epochs": e, **{f"bond.{name}": max(1, n * e // epochs) for name, n in steps.items()}}
            for e in fewer_epochs
        ]
    if config.method != "roster":
        return [{f"{section}.epochs": e} for e in fewer_epochs]
    once = {"noise_robust.extend": False} if config.noise_robust.extend else {}
    found: list[dict[str, Any]] = [once] if once else []
    found += [
        {**once, "ensemble.models": k}
        for k in (4, 3, 2)
        if k < config.ensemble.models and config.ensemble.enabled
    ]
    base = found[-1] if found else {}
    alone = {**once, "ensemble.enabled": False, "self_training.enabled": False}
    found += [{**base, "self_training.enabled": False}, alone]
    for e in fewer_epochs:
        every = max(1, config.noise_robust.update_every * e // max(1, epochs))
        found.append({**alone, "noise_robust.epochs": e, "noise_robust.update_every": every})
    return found


def _changed(config: Config, values: dict[str, Any]) -> Config:
    for name, value in values.items():
        section, _, key = name.partition(".")
        config = replace(config, **{section: replace(getattr(config, section), **{key: value})})
    return config


def measure_step(config: Config, facts: Facts) -> float:
    """Seconds that one model takes for a step here: forward, backward, on a batch of sentences of mean
    length."""
    import torch

    from roster.model.encoders import open_backbone
    from roster.model.processor import limit_threads
    from roster.model.reading import arithmetic, choose_device

    device = choose_device(config.optimiser.device)
    if device.type == "cpu":
        limit_threads()
    words = [["word"] * max(1, facts.words // max(1, facts.sentences))] * config.optimiser.batch_size
    opened = open_backbone(config, words)
    encoder, encoded = opened.encoder.to(device), opened.words.encode(words)
    width = int(encoded.lengths.max())
    ids = torch.from_numpy(encoded.ids[: len(words) * width]).long().to(device)
    ids = ids.reshape(len(words), width, *ids.shape[1:])
    mask = torch.ones(len(words), width, dtype=torch.long, device=device)
    encoder.train()
    began = 0.0
    for i in range(TIMED + 1):
        with arithmetic(device, config.optimiser.precision):
            hidden = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        hidden.float().square().mean().backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if i == 0:  # the first sets libraries up
            began = time.perf_counter()
    taken = (time.perf_counter() - began) / TIMED
    return taken * (STACKED if device.type == "cuda" else 1.3)  # on a CPU the optimiser's part counts


def _minutes(seconds: float) -> str:
    """
    >>> _minutes(20), _minutes(150)
    ('20 s', '2.5 minutes')
    """
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} minutes"
