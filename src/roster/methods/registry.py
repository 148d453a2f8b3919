"""Which methods there are. Nothing is imported before a method is asked for.

A method of roster's own is a module or package in this folder; one of another package is an entry point of
the group `roster.methods`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from roster.methods.base import Method
    from roster.model.heads import WordStates

DEFAULT = "roster"
GROUP = "roster.methods"
NOT_METHODS = {
    "base", "budget", "card", "defaults", "facts", "label_check", "quality", "registry", "request", "train"
}  # fmt: skip
"""Modules of this folder that are no method."""


@cache
def names() -> tuple[str, ...]:
    """The names of all methods, `roster` first.

    >>> names()
    ('roster', 'autoner', 'bilstm-crf', 'bond', 'fine-tune')
    """
    own = (p.stem.replace("_", "-") for p in Path(__file__).parent.iterdir() if _is_method(p))
    return tuple(sorted({*own, *_installed()}, key=lambda name: (name != DEFAULT, name)))


def _is_method(path: Path) -> bool:
    if path.stem.startswith("_") or path.stem in NOT_METHODS:
        return False
    return path.suffix == ".py" or (path / "__init__.py").is_file()


def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def get(name: Any) -> Method:
    """The method of this name.

    Raises:
        ConfigError: if there is none.
    """
    if not isinstance(name, str) or name not in names():
        raise ConfigError(f"there is no method {name!r}; the methods are {', '.join(names())}")
    return _loaded(name)


@cache
def _loaded(name: str) -> Method:
    installed = _installed()
    found: Any = (
        installed[name].load()
        if name in installed
        else import_module(f"roster.methods.{name.replace('-', '_')}").METHOD
    )
    method: Method = found
    return method


def all_methods() -> list[Method]:
    return [get(name) for name in names()]


@cache
def heads() -> dict[str, type[WordStates]]:
    """The classes of models by their kind; two methods may share one."""
    return {method.head.kind: method.head for method in all_methods()}


def head_of(kind: str) -> type[WordStates]:
    """The class of the models of a kind, as a model folder names it.

    Raises:
        ModelError: if no method has such models.
    """
    if kind in heads():
        return heads()[kind]
    raise ModelError(
        f"no installed method has models of the kind {kind!r} (there are {', '.join(heads())}); they come "
        "from another version of roster, or from a package that is not installed"
    )
