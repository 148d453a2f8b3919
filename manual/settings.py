"""The reference of the settings: names, defaults, limits and comments of the dataclasses that hold them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

from manual.markdown import code, plain, table
from roster.config import SHARED, Config
from roster.distant.policy.policies import Policy
from roster.distant.settings import Candidates, Conflicts, KnowledgeBase
from roster.methods import registry
from roster.pretraining.settings import PretrainingSettings

LABELLING = {"defaults": Policy, "conflicts": Conflicts, "candidates": Candidates, "kb": KnowledgeBase}


def pages() -> Iterator[tuple[str, str, str]]:
    """Place, title and text of each page."""
    yield "reference/training-settings.md", "Settings of training", _training()
    yield "reference/labelling-settings.md", "Settings of labelling", _labelling()
    yield "reference/pretraining-settings.md", "Settings of pre-training", _pretraining()


def _training() -> str:
    text = (
        "# Settings of training\n\n`roster train --set SECTION.NAME=VALUE` changes one, `--config FILE` "
        "(TOML) many. The defaults below are those without data: what depends on the data and the encoder is "
        "derived from them. `roster train DATA --print-config` prints the values of a training.\n\n"
        "## All methods\n"
    )
    text += "\n" + _table([f for f in fields(Config) if f.metadata])
    for name, kind in SHARED.items():
        text += _section(name, kind, 3)
    done: set[str] = set()
    for method in map(registry.get, registry.names()):
        text += f"\n## {method.title}\n\n`--method {method.name}`: {plain(method.summary)}.\n"
        for name, kind in method.sections.items():
            text += _section(name, kind, 3) if name not in done else f"\nSection `[{name}]`: see above.\n"
            done.add(name)
    return text


def _labelling() -> str:
    text = (
        "# Settings of labelling\n\n`roster label --config FILE` (TOML). `[types.NAME]` has the options of "
        "`[defaults]` for one type. Dictionaries, patterns, annotations, models and patches are lists.\n"
    )
    return text + "".join(_section(name, kind, 2) for name, kind in LABELLING.items())


def _pretraining() -> str:
    text = "# Settings of pre-training\n\n`roster pretrain --set NAME=VALUE`.\n\n"
    return text + _table(fields(PretrainingSettings))


def _section(name: str, kind: type, level: int) -> str:
    doc = str(kind.__doc__)
    words = "" if doc.startswith(f"{kind.__name__}(") else f"{plain(doc.partition(chr(10))[0])}\n\n"
    return f"\n{'#' * level} [{name}]\n\n{words}{_table(fields(kind))}"  # type: ignore[arg-type]


def _table(options: Any) -> str:
    return table(
        ["option", "default", "values", ""],
        [
            [code(f.name), code(_value(f)), _allowed(f), plain(f.metadata["doc"])]
            for f in options
            if f.metadata
        ],
    )


def _value(option: Field[Any]) -> str:
    value = option.default if option.default is not MISSING else None
    if isinstance(value, tuple):
        return json.dumps(list(value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | str) else repr(value)


def _allowed(option: Field[Any]) -> str:
    low, high, choices = (option.metadata[key] for key in ("low", "high", "choices"))
    if choices:
        return ", ".join(map(code, choices))
    if low is not None and high is not None:
        return f"{low:,} to {high:,}"
    return f"from {low:,}" if low is not None else ""
