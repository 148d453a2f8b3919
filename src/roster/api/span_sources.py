"""The arguments `annotations` and `models` of `roster.label`: files and names, or what is in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from roster.corpus.texts import labelled
from roster.distant.span_sources import Annotations, parse_annotations
from roster.errors import ConfigError


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
    elif isinstance(given, str | Path | Annotations):
        yield "", given
    elif isinstance(given, Iterable):
        yield from (("", one) for one in given)
    else:
        raise ConfigError(f"{what}: expected names or files, not {given!r}")
