"""The arguments `annotations` and `models` of `roster.label`: files and names, or what is in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.corpus.texts import labelled
from roster.distant.matching.span_mentions import Annotate
from roster.distant.span_sources import Annotations, Model, parse_annotations, parse_model
from roster.errors import ConfigError

if TYPE_CHECKING:
    from roster.distant.settings import Settings


def annotations_of(given: Any) -> list[Annotations]:
    """The annotations that an argument means.

    Args:
        given: a file or `NAME=FILE`, several of them, or by the name of the source a file or labelled
            sentences.

    Raises:
        ConfigError: it is nothing of that.
        DataError: an item of a collection is no labelled `Sentence`.

    >>> [one.name for one in annotations_of({"llm": "labels.jsonl"})], annotations_of(None)
    (['llm'], [])
    """
    return [_annotations(name, one) for name, one in _by_name(given, "annotations")]


def models_of(given: Any) -> tuple[list[Model], dict[str, Annotate]]:
    """The models that an argument means, and by name what annotates for those that are in memory.

    Args:
        given: a model or `NAME=MODEL`, several of them, or by the name of the source a model, a recogniser,
            or a function from sentences to spans.

    Raises:
        ConfigError: it is nothing of that.

    >>> models_of("en_core_web_sm")[0][0].name
    'en_core_web_sm'
    """
    models, functions = [], {}
    for name, one in _by_name(given, "models"):
        if isinstance(one, Model):
            models.append(one)
        elif isinstance(one, str | Path):
            model = parse_model(one)
            models.append(replace(model, name=name) if name else model)
        elif name and (hasattr(one, "find") or callable(one)):
            models.append(Model(type(one).__name__, name=name))
            functions[name] = _function(one)
        else:
            raise ConfigError(
                "models are names or folders, or by name a name, a folder, a recogniser or a function from "
                'sentences to spans: {"tagger": "en_core_web_sm"}'
            )
    return models, functions


def annotators_of(settings: Settings, functions: Mapping[str, Annotate]) -> list[Annotate]:
    """What annotates for each model of some settings: a function in memory, or the model, loaded.

    Raises:
        RosterError: for a model that cannot be loaded.
    """
    if not settings.models:
        return []
    from roster.annotators.loading import load_annotator

    labels = dict(settings.policies.labels)
    return [functions.get(one.name) or load_annotator(one, labels) for one in settings.models]


def _function(model: Any) -> Annotate:
    """A recogniser as an annotator, or the function itself."""
    if not hasattr(model, "find"):
        annotate: Annotate = model
        return annotate
    from roster.annotators.roster_model import RosterModel

    return RosterModel(model)


def _annotations(name: str, given: Any) -> Annotations:
    if isinstance(given, Annotations):
        return given
    if isinstance(given, str | Path):
        if not name:
            return parse_annotations(given)
        return Annotations(Path(given), name=name)
    if not name or not isinstance(given, Iterable):
        raise ConfigError(
            "annotations are a file, several files, or by name a file or labelled sentences: "
            '{"llm": "labels.jsonl"}'
        )
    return Annotations(Path(name), name=name, sentences=tuple(labelled(given, name)))


def _by_name(given: Any, what: str) -> Iterator[tuple[str, Any]]:
    """The names and sources of an argument; the name is empty where the source has to have one itself."""
    if given is None:
        return
    if isinstance(given, Mapping):
        for name, one in given.items():
            if not isinstance(name, str) or not name:
                raise ConfigError(f"{what}: expected a text as the name of a source, not {name!r}")
            yield name, one
    elif isinstance(given, str | Path | Annotations | Model):
        yield "", given
    elif isinstance(given, Iterable):
        yield from (("", one) for one in given)
    else:
        raise ConfigError(f"{what}: expected names or files, not {given!r}")
