"""A point of an experiment: one training, and the key of its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from roster.config import Config, flat
from roster.files import fingerprint
from roster.methods import registry
from roster.methods.facts import Facts
from roster.methods.request import PATHS, Request, from_dict, load_request

DISTANT_MATCH = "distant-match"
"""Not a method: scores the distant labels where the training sentences also have gold labels."""


@dataclass(frozen=True)
class Change:
    """The change of the training data of a point."""

    labels: str = "distant"
    """`distant`, or `gold`."""
    first: int = 0
    """Number of sentences from the start; 0: all."""
    names: float = 1.0
    """Share of the distinct names that keep their labels, drawn with `names_seed`."""
    names_seed: int = 0
    gold: int = 0
    """Number of gold sentences beside the others."""


@dataclass(frozen=True)
class Point:
    """One training: data, method, seed and settings."""

    data: str
    method: str
    seed: int
    backbone: str
    preset: str | None = None
    overrides: tuple[tuple[str, Any], ...] = ()
    change: Change = Change()
    curves: tuple[tuple[str, int], ...] = ()
    """Stages with the number of steps at which they are scored."""

    @property
    def trains(self) -> bool:
        return self.method != DISTANT_MATCH

    @property
    def derives(self) -> bool:
        """Whether settings that are not given are derived from its data."""
        return self.trains and self.preset is None

    @property
    def encoder(self) -> str:
        """The encoder that is trained: the backbone, or that of the method."""
        return (
            registry.get(self.method).defaults.get("backbone.name", self.backbone)
            if self.trains
            else self.backbone
        )

    def request(self, gold_file: str = "") -> Request:
        """The request to `roster train`; other settings are derived from the data."""
        given: list[tuple[str, Any]] = [*self.overrides, ("backbone.name", self.encoder)]
        if self.trains:
            given += [("method", self.method), ("seed", self.seed)]
        if self.change.gold:
            given.append(("gold.file", gold_file))
        return load_request(preset=self.preset, overrides=given)

    def config(self) -> Config:
        """The config without derivation from data."""
        return self.request().config()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Point:
        """Read the result of `as_dict`; a missing value has its default."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        known["change"] = Change(**{k: v for k, v in known["change"].items() if k in asdict(Change())})
        for name in ("overrides", "curves"):
            known[name] = tuple(map(tuple, known[name]))
        return cls(**known)


def settings(config: Config) -> dict[str, Any]:
    """Return the options that the method uses by full name, without paths.

    >>> values = settings(from_dict({}))
    >>> values["noise_robust.q"], "backbone.name" in values, "bond.epochs" in values
    (0.7, False, False)
    """
    return {name: value for name, value in flat(config.as_dict()).items() if name not in PATHS}


def key_of(point: Point, data: str, backbone: str) -> str:
    """Return the key of the result of a point. `data` and `backbone` are fingerprints.

    The key depends on the options that the method uses and that differ from their default, so that results
    stay valid when a later version adds an option. `same_settings` detects a changed default. Without a
    preset, a given value that equals the default counts too if the option could be derived.
    """
    from roster.methods.defaults import derivable

    if not point.trains:
        return fingerprint(DISTANT_MATCH, data)
    config = point.config()
    usual = settings(from_dict({"method": config.method, "backbone": {"name": config.backbone.name}}))
    given = derivable(config) & set(point.request().given) if point.derives else set()
    chosen = {n: value for n, value in settings(config).items() if value != usual.get(n) or n in given}
    derived = registry.get(point.method).derivation if point.derives else None
    return fingerprint(chosen, point.method, point.seed, data, backbone, sorted(point.curves), derived)


def derived_values(point: Point, facts: Facts) -> dict[str, Any]:
    """Return the options that the data and the encoder decide, with the values that they have now."""
    from roster.methods.defaults import derivable, settle

    values = settings(settle(point.request(), facts)[0])
    return {name: values[name] for name in derivable(point.config()) if name in values}


def same_settings(point: Point, stored: Mapping[str, Any]) -> bool:
    """Whether a stored result was trained with the current settings of the point."""
    now = settings(point.config()) if point.trains else {}
    return all(now[name] == value for name, value in stored.items() if name in now)
