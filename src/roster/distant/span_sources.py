"""Sources of spans that need no matching: files of annotations, and models that predict on the corpus."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from roster.corpus.io import FORMATS
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError

KINDS = ("roster", "spacy", "transformers", "gliner")
NAMED = re.compile(r"(?P<name>[\w.-]+)=(?P<rest>.+)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class SpanSource:
    """What annotations and models have in common."""

    name: str
    """What provenance and report call the source."""
    priority: int = 0
    """As for dictionaries: of two claims on the same words, that of the larger priority counts."""
    least_score: float | None = None
    """Spans with a lower score are left out; those without a score are not."""


@dataclass(frozen=True)
class Annotations(SpanSource):
    """A file with the sentences of the corpus and spans that somebody or something else made."""

    path: Path
    format: str | None = None
    split: str | None = None
    sentences: tuple[Sentence, ...] | None = field(default=None, compare=False, repr=False)
    """The annotated sentences, where they are in memory and not in a file."""


@dataclass(frozen=True)
class Model(SpanSource):
    """A model whose predictions on the corpus are one source."""

    model: str
    """A folder, or the name of a pipeline or model that is installed."""
    kind: str = ""
    """One of `KINDS`; empty: recognised by what is in the folder."""
    types: tuple[str, ...] = ()
    """The types that a model is asked for which takes any (GLiNER)."""
    batch_size: int = 32
    """Sentences that the model reads at once."""
    device: str = "auto"


Source = TypeVar("Source", bound=SpanSource)


def annotations_in(table: Mapping[str, Any], folder: Path, where: str) -> Annotations:
    """One `[[annotations]]` table; its path lies beside the file.

    Raises:
        ConfigError: for an unknown key or a value of the wrong kind.
    """
    where = f"{where}[[annotations]]"
    _known(table, ("path", "name", "priority", "least_score", "format", "split"), where)
    path, format = _text(table, "path", where), _text(table, "format", where)
    if not path:
        raise ConfigError(f'{where}: path must be a text, such as path = "labels.jsonl"')
    if format and format not in FORMATS:
        raise ConfigError(f"{where}: format must be one of {', '.join(FORMATS)}, not {format!r}")
    return Annotations(
        folder / path,
        format,
        _text(table, "split", where),
        name=_text(table, "name", where) or Path(path).name,
        priority=_priority(table, where),
        least_score=_score(table.get("least_score"), where),
    )


def model_in(table: Mapping[str, Any], folder: Path, where: str) -> Model:
    """One `[[models]]` table; a folder lies beside the file, any other name is left as it is.

    Raises:
        ConfigError: for an unknown key or a value of the wrong kind.
    """
    where = f"{where}[[models]]"
    _known(table, tuple(one.name for one in fields(Model)), where)
    model, kind = _text(table, "model", where), _text(table, "kind", where) or ""
    if not model:
        raise ConfigError(f'{where}: model must be a text, such as model = "en_core_web_sm"')
    if kind and kind not in KINDS:
        raise ConfigError(f"{where}: kind must be one of {', '.join(KINDS)}, not {kind!r}")
    types, size = table.get("types", []), table.get("batch_size", 32)
    if not isinstance(types, list) or not all(isinstance(one, str) and one for one in types):
        raise ConfigError(f'{where}: types must be a list such as ["person", "city"], not {types!r}')
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ConfigError(f"{where}: batch_size must be a whole number of at least 1, not {size!r}")
    return Model(
        str(folder / model) if (folder / model).exists() else model,
        kind,
        tuple(types),
        size,
        _text(table, "device", where) or "auto",
        name=_text(table, "name", where) or last_part(model),
        priority=_priority(table, where),
        least_score=_score(table.get("least_score"), where),
    )


def parse_annotations(text: str | Path, format: str | None = None) -> Annotations:
    """A file as the command line has it, `FILE` or `NAME=FILE`.

    >>> parse_annotations("llm=labels.jsonl").name, parse_annotations("labels.jsonl").name
    ('llm', 'labels.jsonl')
    """
    name, path = named(text)
    return Annotations(Path(path), format, name=name or Path(path).name)


def parse_model(text: str | Path) -> Model:
    """A model as the command line has it: `MODEL`, `NAME=MODEL`, either with `KIND:` before the model.

    >>> model = parse_model("small=gliner:models/small")
    >>> model.name, model.kind, model.model
    ('small', 'gliner', 'models/small')
    """
    name, model = named(text)
    kind, colon, rest = model.partition(":")
    if colon and kind in KINDS and rest:
        model = rest
    else:
        kind = ""
    return Model(model, kind, name=name or last_part(model))


def named(text: str | Path) -> tuple[str, str]:
    """Name and rest of `NAME=REST`; a file that is there is never taken apart.

    >>> named("llm=labels.jsonl"), named("labels.jsonl")
    (('llm', 'labels.jsonl'), ('', 'labels.jsonl'))
    """
    match = NAMED.fullmatch(str(text))
    if match is None or isinstance(text, Path) or Path(text).exists():
        return "", str(text)
    return match["name"], match["rest"]


def last_part(model: str) -> str:
    """The name of a source that was given none: the last part of a path or of a hub name."""
    return Path(model.rstrip("/\\")).name or model


def with_least_scores(sources: Sequence[Source], scores: Mapping[str, float]) -> tuple[Source, ...]:
    """The sources with the least scores given by name; that of the name "" is for all others.

    Raises:
        ConfigError: for a score that is no finite number.
    """
    least = {name: _score(value, "least score") for name, value in scores.items()}
    return tuple(
        replace(one, least_score=least.get(one.name, least.get("", one.least_score))) for one in sources
    )


def _known(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    if unknown := sorted(set(table) - set(known)):
        raise ConfigError(f"{where}: unknown key {', '.join(unknown)}; expected {', '.join(known)}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{where}: {key} must be a text, not {value!r}")
    return value or None


def _priority(table: Mapping[str, Any], where: str) -> int:
    value = table.get("priority", 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"{where}: priority must be a whole number, not {value!r}")
    return value


def _score(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ConfigError(f"{where}: least_score must be a finite number, not {value!r}")
    return float(value)
