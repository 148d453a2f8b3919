"""A point of an experiment: one training, and the fingerprint by which its result is found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from roster.config import Config, flat
from roster.files import fingerprint
from roster.methods import registry
from roster.methods.request import Request, from_dict, load_request

DISTANT_MATCH = "distant-match"
"""No method: the distant labels themselves, scored where the training sentences have gold labels too."""
PLACES = ("backbone.name", "bilstm.word_vectors", "gold.file")
"""Options that say where a file lies. What counts is what is in it, and of that there are fingerprints."""

DERIVATION = 6
"""Of the values that are derived from data: a change of `roster.methods.defaults` that changes results raises
it."""


@dataclass(frozen=True)
class Change:
    """How the training data of a point differs from that of its data set."""

    labels: str = "distant"
    """`distant`, or `gold`."""
    first: int = 0
    """Only so many sentences, from the start; 0: all."""
    names: float = 1.0
    """The share of distinct names whose labels are left, drawn with `names_seed`: a thinner dictionary."""
    names_seed: int = 0
    gold: int = 0
    """So many sentences with gold labels are given beside the others."""


@dataclass(frozen=True)
class Point:
    data: str
    method: str
    seed: int
    backbone: str
    preset: str | None = None
    overrides: tuple[tuple[str, Any], ...] = ()
    change: Change = Change()
    curves: tuple[tuple[str, int], ...] = ()
    """Stages that are scored on their way, each at so many steps."""

    @property
    def trains(self) -> bool:
        return self.method != DISTANT_MATCH

    @property
    def encoder(self) -> str:
        """What is trained: the backbone, but the method's own where it has one."""
        return (
            registry.get(self.method).defaults.get("backbone.name", self.backbone)
            if self.trains
            else self.backbone
        )

    def request(self, gold_file: str = "") -> Request:
        """What `roster train` is asked for; what it leaves open is derived from the data."""
        given: list[tuple[str, Any]] = [*self.overrides, ("backbone.name", self.encoder)]
        if self.trains:
            given += [("method", self.method), ("seed", self.seed)]
        if self.change.gold:
            given.append(("gold.file", gold_file))
        return load_request(preset=self.preset, overrides=given)

    def config(self) -> Config:
        """The same without data to derive from."""
        return self.request().config()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Point:
        """As `as_dict` gave it, through JSON; what an older file does not have is as by default."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        known["change"] = Change(**{k: v for k, v in known["change"].items() if k in asdict(Change())})
        for name in ("overrides", "curves"):
            known[name] = tuple(map(tuple, known[name]))
        return cls(**known)


def settings(config: Config) -> dict[str, Any]:
    """Every option that the method uses by its full name, but for those that say where a file lies.

    >>> values = settings(from_dict({}))
    >>> values["noise_robust.q"], "backbone.name" in values, "bond.epochs" in values
    (0.7, False, False)
    """
    return {name: value for name, value in flat(config.as_dict()).items() if name not in PLACES}


def key_of(point: Point, data: str, backbone: str) -> str:
    """The name of a point's result. `data` and `backbone` are fingerprints.

    Of the config those options count that the method uses and that are not at their default: results outlive
    another value of another method, and an option that a later version adds. `same_settings` tells where a
    default has changed meanwhile. Without a preset, what was given counts at its default too where another
    value could be derived in its place.
    """
    from roster.methods.defaults import derivable

    if not point.trains:
        return fingerprint(DISTANT_MATCH, data)
    config = point.config()
    usual = settings(from_dict({"method": config.method, "backbone": {"name": config.backbone.name}}))
    given = derivable(config) & set(point.request().given) if point.preset is None else set()
    chosen = {n: value for n, value in settings(config).items() if value != usual.get(n) or n in given}
    derived = DERIVATION if point.preset is None else None
    return fingerprint(chosen, point.method, point.seed, data, backbone, sorted(point.curves), derived)


def same_settings(point: Point, stored: Mapping[str, Any]) -> bool:
    """Whether a stored result was made with the settings that the point would have now."""
    now = settings(point.config()) if point.trains else {}
    return all(now[name] == value for name, value in stored.items() if name in now)
