"""A training that fits into a number of minutes: fewer members, then shorter stages, never a broken model.

The time of a step is measured on this machine with the encoder itself; how many steps a config takes is
counted. Members go first, self-training next, and epochs only down to what a model needs to learn its labels.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from roster.config import Config
from roster.errors import ConfigError
from roster.methods import registry
from roster.methods.facts import Facts
from roster.methods.request import Request, changed

SHARE = 0.85
"""Of the budget is planned for steps; the rest is for reading the data, saving, and what varies."""
STACKED = 0.25
"""On a GPU several models are trained in step, which takes this share of the time of one after the other."""
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
    method = registry.get(config.method)
    whole = method.cost(config, facts)
    if whole <= room:
        return {}, f"It fits into {minutes:g} minutes as it is (about {_minutes(whole * step)})"
    chosen: dict[str, Any] = {}
    for shorter in method.shorter(config, facts):
        chosen = {name: value for name, value in shorter.items() if name not in given}
        if method.cost(changed(config, chosen), facts) <= room:
            break
    left = method.cost(changed(config, chosen), facts) * step
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
