"""Which kind of model a folder or a name means, and the annotator of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from roster.distant.matching.span_mentions import Annotate
from roster.distant.span_sources import Model
from roster.errors import ConfigError

MARKS = {
    "roster.json": "roster",
    "model/roster.json": "roster",
    "gliner_config.json": "gliner",
    "meta.json": "spacy",
    "config.json": "transformers",
}
"""Files by which the kind of a folder is recognised; the first one that exists decides."""


def load_annotator(model: Model, labels: Mapping[str, str]) -> Annotate:
    """The annotator of a model, loaded and ready.

    Args:
        model: what to load.
        labels: the map from types to labels; its types are those that GLiNER is asked for, if the model has
            none.

    Raises:
        ConfigError: it is not clear what kind of model it is, or a setting is missing.
        RosterError: the model cannot be loaded, or a package for it is not installed.
    """
    kind = model.kind or kind_of(model.model)
    if kind == "roster":
        from roster.annotators.roster_model import RosterModel

        return RosterModel.load(model.model, model.device)
    if kind == "spacy":
        from roster.annotators.spacy_entities import SpacyEntities

        return SpacyEntities(model.model, model.batch_size)
    if kind == "transformers":
        from roster.annotators.token_classifier import TokenClassifier

        return TokenClassifier(model.model, model.device)
    from roster.annotators.gliner_model import THRESHOLD, GlinerModel

    threshold = THRESHOLD if model.least_score is None else model.least_score
    types = model.types or asked_types(labels)
    return GlinerModel(model.model, types, threshold, model.batch_size, model.device)


def kind_of(model: str) -> str:
    """The kind of a model folder by what is in it; a name without a slash is a spaCy pipeline.

    Raises:
        ConfigError: there is no such folder, or it is nothing of that kind.

    >>> kind_of("en_core_web_sm")
    'spacy'
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        kind = next((kind for mark, kind in MARKS.items() if (folder / mark).is_file()), None)
        if kind is None:
            raise ConfigError(
                f"{model}: the folder is no model of ours, of GLiNER, spaCy or transformers: it has none of "
                f"{', '.join(MARKS)}"
            )
        return kind
    if "/" in model or "\\" in model or model.startswith((".", "~")):
        raise ConfigError(
            f"there is no model folder {model}; for a model on the Hugging Face hub name the kind: "
            f"{' or '.join(f'{kind}:{model}' for kind in ('transformers', 'gliner'))}"
        )
    return "spacy"


def asked_types(labels: Mapping[str, str]) -> tuple[str, ...]:
    """The types of a map to labels that are names, not patterns, and are wanted.

    >>> asked_types({"person": "PER", "ORG.*": "ORG", "film": ""})
    ('person',)
    """
    return tuple(kind for kind, label in labels.items() if label and not set("*?[") & set(kind))
