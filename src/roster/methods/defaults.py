"""Settings that follow from the data and the encoder: what `roster train` uses for options not given.

`derive` asks the method, `settle` merges its values with those of the user, `describe` puts them into words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from roster.config import Config
from roster.methods import registry
from roster.methods.budget import fit_into
from roster.methods.facts import BASE_WIDTH, Facts, window
from roster.methods.request import Request


def settle(request: Request, facts: Facts, minutes: float | None = None) -> tuple[Config, str]:
    """The effective config, and a paragraph on what it follows from.

    Args:
        request: what the user gave, which stays as it is.
        facts: counts of the data, and what is known of the encoder (`facts_of`).
        minutes: a time budget; settings are shortened to fit into it.
    """
    values = _not_given(request, derive(request.config(), facts, request.given))
    config, budget = request.with_values(values).config(), ""
    if minutes is not None:
        fewer, budget = fit_into(config, facts, minutes, given=request.given)
        config = request.with_values({**values, **fewer}).config()
    return config, " ".join(filter(None, [describe(config, facts), budget]))


def _not_given(request: Request, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in request.given}


def derive(config: Config, facts: Facts, given: Collection[str] = ()) -> dict[str, Any]:
    """Values for the options of the config's method, by their full names.

    `config` has the method and its batch size, and epochs where these are `given`: steps are counted in them.
    """
    return {"backbone.max_length": window(facts), **registry.get(config.method).derive(config, facts, given)}


def derivable(config: Config) -> set[str]:
    """The options of the config's method that data or an encoder may decide, by their full names.

    >>> from roster.methods.request import load_config
    >>> names = derivable(load_config())
    >>> "noise_robust.epochs" in names, "noise_robust.tau" in names, "noise_robust.q" in names
    (True, True, False)
    """
    facts = Facts(1, 1, 1, 1, 1, 0, 1, BASE_WIDTH, None, True, True)
    return {*derive(config, facts), *derive(config, replace(facts, phrases=1))}


def describe(config: Config, facts: Facts) -> str:
    """One paragraph for the log: what a config follows from, and what the method makes of it."""
    first = (
        f"Settings derived from the data and the encoder: {facts.sentences:,} sentences "
        f"({facts.words:,} words) with {facts.labels:,} labels of {facts.names:,} names "
        f"and {facts.types} types, an encoder of width {facts.width}; windows of "
        f"{config.backbone.max_length} sub-words."
    )
    return " ".join([first, *registry.get(config.method).describe(config, facts)])
