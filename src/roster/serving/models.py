"""The models of a service: their names on the command line, and which one a request means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from roster.errors import ConfigError
from roster.infer.recogniser import Recogniser, load
from roster.serving.batcher import Find
from roster.serving.failures import RequestError
from roster.serving.schemas import shown

DEFAULT = "default"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class ServedModel:
    """What the service needs of a model: its types, and a function that labels sentences."""

    types: tuple[str, ...]
    find: Find


def served(recogniser: Recogniser) -> ServedModel:
    """A recogniser as a model of the service."""
    return ServedModel(tuple(recogniser.types), recogniser.find)


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
    path = Path(folder).resolve()
    name = path.parent.name if path.name == "model" else path.name
    return NOT_IN_NAME.sub("-", name)[:64] or DEFAULT


def load_models(folders: Mapping[str, str | Path], device: str = "auto") -> dict[str, ServedModel]:
    """Loads models, and reads a sentence with each, so that the first request does not wait.

    Raises:
        ModelError: a folder is not a model.
        ConfigError: a model does not run on the device.
    """
    models = {}
    for name, folder in folders.items():
        recogniser = load(folder, device)
        recogniser("Anna Berg lives in Oslo.")
        models[name] = served(recogniser)
    return models


def default_of(names: Sequence[str]) -> str | None:
    """The model of a request that names none: the only one, or the one called `default`.

    >>> default_of(["news"]), default_of(["news", "drugs"]), default_of(["news", "default"])
    ('news', None, 'default')
    """
    if len(names) == 1:
        return names[0]
    return DEFAULT if DEFAULT in names else None


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
    known = f"the models are {', '.join(names)}"
    if asked is None:
        raise RequestError(422, f"model: name one; {known}", "model")
    raise RequestError(422, f"model: unknown model {shown(asked)!r}; {known}", "model")
