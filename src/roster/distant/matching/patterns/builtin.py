"""The bundled English patterns, picked by label or by name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from roster.distant.matching.patterns.table import Pattern, load_patterns
from roster.errors import ConfigError

BUNDLED = Path(__file__).with_name("patterns_en.toml")
SOURCE = "patterns"


@cache
def _bundled() -> tuple[Pattern, ...]:
    return tuple(load_patterns(tomllib.loads(BUNDLED.read_text(encoding="utf-8"))["patterns"], origin=SOURCE))


def builtin_kinds() -> tuple[str, ...]:
    """What the bundled patterns find, in the order of the file.

    >>> builtin_kinds()[:3]
    ('DATE', 'TIME', 'MONEY')
    """
    return tuple(dict.fromkeys(pattern.kind for pattern in _bundled()))


def builtin_patterns(names: Sequence[str], *, labels: Mapping[str, str] | None = None) -> list[Pattern]:
    """The bundled patterns with these labels (`DATE`) or names (`age`), each once, in the order of the file.

    `labels` gives other labels to what has a label or a name: `{"PERSON": "PER"}`. Where both are given, the
    name decides.

    >>> [(p.name, p.label, p.kind) for p in builtin_patterns(["ORDINAL"], labels={"ORDINAL": "RANK"})]
    [('ordinal', 'RANK', 'ORDINAL')]
    """
    labels = labels or {}
    known = {p.kind for p in _bundled()} | {p.name for p in _bundled()}
    for name in [*names, *labels]:
        if name not in known:
            kinds = dict.fromkeys(p.kind for p in _bundled())
            listed = "; ".join(f"{k}: {', '.join(p.name for p in _bundled() if p.kind == k)}" for k in kinds)
            raise ConfigError(f"no built-in pattern has the label or the name {name!r}; there are {listed}")
    for name, label in labels.items():
        if not isinstance(label, str) or not label:
            raise ConfigError(f"the label for the built-in pattern {name!r} must be a string, got {label!r}")
    wanted = set(names)
    return [
        replace(p, label=labels.get(p.name, labels.get(p.kind, p.kind)))
        for p in _bundled()
        if p.name in wanted or p.kind in wanted
    ]
