"""The models of a service: their names on the command line, and which one a request means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roster.errors import ConfigError
from roster.infer.recogniser import Recogniser, load
from roster.serving.batcher import Find
from roster.serving.failures import RequestError
from roster.serving.origins import NOTHING, Origins, Places, find_places
from roster.serving.schemas import shown

DEFAULT = "default"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class ServedModel:
    """What the service needs of a model: its types, a function that labels sentences, and where the labels of
    its training come from."""

    types: tuple[str, ...]
    find: Find
    origins: Origins = field(default_factory=lambda: Origins(Places(note=NOTHING)))


def served(recogniser: Recogniser, places: Places | None = None) -> ServedModel:
    """A recogniser as a model of the service."""
    origins = Origins(places or Places(note=NOTHING))
    return ServedModel(tuple(recogniser.types), recogniser.find, origins)


def named_folders(given: Sequence[str]) -> dict[str, str]:
    """Names and folders of models, from arguments such as `news=runs/news` or `runs/news`.

    Args:
        given: the arguments; one without a name is called as its folder.

    Raises:
        ConfigError: two models have the same name.

    >>> named_folders(["news=runs/1", "runs/drugs/model", "./a=b"])
    {'news': 'runs/1', 'drugs': 'runs/drugs/model', 'a-b': './a=b'}
    """
    found: dict[str, str] = {}
    for argument in given:
        name, equals, folder = argument.partition("=")
        if not (equals and NAME.fullmatch(name)):
            name, folder = _name_of(argument), argument
        if not folder:
            raise ConfigError(f"{argument}: there is no folder after '='; give NAME=FOLDER")
        if name in found:
            raise ConfigError(f"two models are called '{name}' ({found[name]}, {folder}); give NAME=FOLDER")
        found[name] = folder
    return found


def _name_of(folder: str) -> str:
    path = Path(folder.replace("\0", "-")).resolve()
    name = path.parent.name if path.name == "model" else path.name
    return NOT_IN_NAME.sub("-", name)[:64] or DEFAULT


def load_models(
    folders: Mapping[str, str | Path], device: str = "auto", audits: Mapping[str, str | Path] | None = None
) -> dict[str, ServedModel]:
    """Loads models, and reads a sentence with each, so that the first request does not wait.

    Args:
        folders: model folders or run folders, by name.
        device: `auto`, `cpu` or `cuda`.
        audits: folders of `roster audit` by the name of the model, where they are not in the run folder.

    Raises:
        ModelError: a folder is not a model.
        ConfigError: a model does not run on the device; an audit is none, or of a model that is not served.
    """
    audits = audits or {}
    for name in audits:
        if name not in folders:
            known = ", ".join(folders)
            raise ConfigError(f"there is no model '{name}' for the audit {audits[name]}; models: {known}")
    places = {name: find_places(folder, audits.get(name)) for name, folder in folders.items()}
    models = {}
    for name, folder in folders.items():
        recogniser = load(folder, device)
        recogniser("Anna Berg lives in Oslo.")
        models[name] = served(recogniser, places[name])
    return models


def named_audits(given: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Folders of audits by model, from arguments such as `news=audits/news`; one model needs no name.

    Raises:
        ConfigError: an argument names no model, or two have the same name.

    >>> named_audits(["audit"], ["news"]), named_audits(["news=audit"], ["news", "drugs"])
    ({'news': 'audit'}, {'news': 'audit'})
    """
    found: dict[str, str] = {}
    for argument in given:
        name, equals, folder = argument.partition("=")
        if not (equals and name in models):
            if len(models) > 1:
                raise ConfigError(
                    f"--audit {argument}: give NAME=FOLDER, with one of the models {', '.join(models)}"
                )
            name, folder = models[0], argument
        if not folder or name in found:
            raise ConfigError(f"--audit {argument}: give one folder for each model, as NAME=FOLDER")
        found[name] = folder
    return found


def default_of(names: Sequence[str]) -> str | None:
    """The model of a request that names none: the only one, or the one called `default`.

    >>> default_of(["news"]), default_of(["news", "drugs"]), default_of(["news", "default"])
    ('news', None, 'default')
    """
    if len(names) == 1:
        return names[0]
    return DEFAULT if DEFAULT in names else None


def known_names(models: Mapping[str, ServedModel]) -> list[str]:
    """The values of `model` in a request."""
    names = list(models)
    return [*names, *([DEFAULT] if DEFAULT not in names and default_of(names) is not None else [])]


def known_types(models: Mapping[str, ServedModel]) -> list[str]:
    """The types of all models, each once."""
    return list(dict.fromkeys(label for model in models.values() for label in model.types))


def chosen(asked: str | None, names: Sequence[str]) -> str:
    """The name of the model that a request means.

    Args:
        asked: what the request has as `model`; `default` also means the only model.
        names: the names of all models.

    Raises:
        RequestError: 422; there is no such model, or the request has to name one.
    """
    if asked is not None and asked in names:
        return asked
    default = default_of(names)
    if asked in (None, DEFAULT) and default is not None:
        return default
    known = f"the models are {', '.join(names)}" if names else "there is no model yet"
    if asked is None:
        raise RequestError(422, f"model: name one; {known}", "model")
    raise RequestError(422, f"model: unknown model {shown(asked)!r}; {known}", "model")
