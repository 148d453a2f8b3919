"""Settings as the TOML file that `load_settings` reads them from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from roster.config import toml_fields
from roster.distant.matching.patterns import Pattern
from roster.distant.matching.patterns.builtin import SOURCE, builtin_patterns
from roster.distant.policy.policies import Policies
from roster.distant.settings import RULES, Settings
from roster.distant.span_sources import Annotations, Model
from roster.errors import ConfigError
from roster.toml import toml_key, toml_value

Place = Callable[[str | Path], str]
"""From a path to what the file has of it; `load_settings` takes it as relative to the folder of the file."""


def as_toml(settings: Settings, place: Place) -> str:
    """All settings, those that have their default too, and comments on each.

    Sentences of annotations that are in memory, and functions in place of models, have no path; what is
    written for them cannot be read again.
    """
    return "\n\n".join("\n".join(lines) for lines in _sections(settings, place)) + "\n"


def _sections(settings: Settings, place: Place) -> Iterable[list[str]]:
    """The lines of each section."""
    candidates, kb = settings.candidates, settings.kb
    if candidates.by != RULES and Path(candidates.by).is_dir():
        candidates = replace(candidates, by=place(candidates.by))
    if kb.source and "://" not in kb.source:
        kb = replace(kb, source=place(kb.source))
    if kb.classes.endswith(".toml"):
        kb = replace(kb, classes=place(kb.classes))
    yield ["[defaults]", *toml_fields(settings.policies.default)]
    yield from _types(settings.policies)
    if settings.policies.labels:
        yield _lines("[labels]", dict(settings.policies.labels))
    yield ["[conflicts]", *toml_fields(settings.conflicts)]
    yield ["[candidates]", *toml_fields(candidates)]
    yield ["[kb]", *toml_fields(kb)]
    for source in settings.sources:
        yield _lines(
            "[[dictionaries]]",
            {
                "path": place(source.path),
                "format": source.format,
                "priority": source.priority,
                "skip_broken": source.skip_broken,
            },
        )
    yield from _patterns(settings.patterns)
    if settings.patch:
        yield _lines("[patch]", {"files": [place(path) for path in settings.patch.files]})
    for one in settings.annotations:
        yield _lines("[[annotations]]", _annotations(one, place))
    for model in settings.models:
        yield _lines("[[models]]", _model(model, place))


def _types(policies: Policies) -> Iterable[list[str]]:
    """The policy of each type, without what is as in `[defaults]`."""
    for name, policy in policies.types:
        different = {
            f.name: getattr(policy, f.name)
            for f in fields(policy)
            if getattr(policy, f.name) != getattr(policies.default, f.name)
        }
        yield _lines(f"[types.{toml_key(name)}]", different)


def _patterns(patterns: Sequence[Pattern]) -> Iterable[list[str]]:
    bundled = [pattern for pattern in patterns if _is_bundled(pattern)]
    if bundled:
        labels = {pattern.name: pattern.label for pattern in bundled if pattern.label != pattern.kind}
        yield _lines("[builtin]", {"patterns": [p.name for p in bundled], "labels": labels})
    for pattern in patterns:
        if pattern in bundled:
            continue
        values = {
            "name": pattern.name,
            "label": pattern.label,
            "source": pattern.source,
            "regex": pattern.regex,
            "tokens": pattern.tokens,
            "group": pattern.group,
            "priority": pattern.priority,
        }
        if pattern.regex is not None:  # token patterns have neither
            values |= {"ignore_case": pattern.ignore_case, "longest": pattern.longest}
        yield _lines("[[patterns]]", values)


def _is_bundled(pattern: Pattern) -> bool:
    if pattern.source != SOURCE:
        return False
    try:
        return replace(builtin_patterns([pattern.name])[0], label=pattern.label) == pattern
    except ConfigError:
        return False


def _annotations(one: Annotations, place: Place) -> dict[str, Any]:
    return {
        "path": place(one.path),
        "name": one.name,
        "format": one.format,
        "split": one.split,
        "priority": one.priority,
        "least_score": one.least_score,
    }


def _model(one: Model, place: Place) -> dict[str, Any]:
    return {
        "model": place(one.model) if Path(one.model).exists() else one.model,
        "name": one.name,
        "kind": one.kind,
        "types": one.types,
        "batch_size": one.batch_size,
        "device": one.device,
        "priority": one.priority,
        "least_score": one.least_score,
    }


def _lines(head: str, values: Mapping[str, Any]) -> list[str]:
    """A table; what is None is left out."""
    given = {name: value for name, value in values.items() if value is not None}
    return [head, *(f"{toml_key(name)} = {toml_value(value)}" for name, value in given.items())]
