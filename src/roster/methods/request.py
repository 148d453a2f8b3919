"""What a user asks for: a method, a preset, a file of values, single values; and the config that follows.

Values come from what `roster.methods.defaults` derives from the data, then a preset, then a TOML file, then
`--set a.b=value`; each later one wins. The values in the sections of a method are the paper's; a preset
begins with them, too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from roster.config import (
    BILSTM_CNN,
    SHARED,
    Config,
    build_config,
    default_tree,
    flat,
    merge,
    parse_override,
    put,
    read_toml,
)
from roster.errors import ConfigError
from roster.methods import registry
from roster.methods.base import Method

PRESETS = ("paper-conll03", "paper-ontonotes5", "paper-wikigold")
"""The paper's own settings, for its own data sets."""
BY_METHOD = "by_method"
"""The table of a preset with values of shared options for one method."""

PATHS = ("gold.file", "backbone.name", "bilstm.word_vectors")
"""Options whose values are paths, or may be."""


@dataclass(frozen=True)
class Request:
    """What a user asked for: values by the full names of options, only those given.

    With a preset, which is complete, nothing is derived from the data: `config()` is the effective config.
    """

    given: Mapping[str, Any]
    preset: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For the results of a run: files are named by absolute paths, as the data set is there."""
        return {"preset": self.preset, "given": {name: _kept(name, v) for name, v in self.given.items()}}

    @classmethod
    def of_dict(cls, tree: Mapping[str, Any]) -> Request:
        """The request that `as_dict` wrote.

        Raises:
            ConfigError: a value is impossible, or not known to this version.

        >>> Request.of_dict(load_request(overrides={"seed": 7}).as_dict()).given
        {'seed': 7}
        """
        return load_request(preset=tree["preset"], overrides=tree["given"])

    def config(self) -> Config:
        """The values given, and the paper's for all else."""
        tree: dict[str, Any] = {}
        for name, value in self.given.items():
            put(tree, name, value)
        return from_dict(tree)

    def with_values(self, values: Mapping[str, Any]) -> Request:
        """The same with other values besides, which win."""
        return Request({**self.given, **values}, self.preset)


def load_request(
    *,
    preset: str | None = None,
    file: str | Path | None = None,
    overrides: Iterable[str | tuple[str, Any]] | Mapping[str, Any] = (),
) -> Request:
    """Reads what a user asks for: preset, then file, then overrides; all checked.

    Args:
        preset: one of `PRESETS`.
        file: a TOML file of values.
        overrides: `a.b=value` strings, pairs of name and value, or a mapping.

    Raises:
        ConfigError: for options that the method does not have, and values that are impossible.

    >>> load_request(overrides=["noise_robust.q=0.5", "seed=7"]).given
    {'noise_robust.q': 0.5, 'seed': 7}
    """
    sources: list[tuple[str, Mapping[str, Any]]] = []
    if file is not None:
        sources.append((str(file), read_toml(Path(file))))
    items = overrides.items() if isinstance(overrides, Mapping) else overrides
    for item in items:
        nested: dict[str, Any] = {}
        put(nested, *(parse_override(item) if isinstance(item, str) else item))
        sources.append(("--set", nested))
    names = [tree["method"] for _, tree in sources if "method" in tree]
    method = registry.get(names[-1] if names else registry.DEFAULT)
    if preset is not None:
        sources.insert(0, (f"preset {preset}", _preset(preset, method)))
    known, given = default_tree(method.sections, method.defaults), {}
    for source, tree in sources:
        _check_sections(tree, method, source)
        merge(known, tree, source)
        given.update(flat(tree))
    _check_bilstm(known, given)
    request = Request(given, preset)
    request.config()  # raises for values that are impossible
    return request


def load_config(
    *,
    preset: str | None = None,
    file: str | Path | None = None,
    overrides: Iterable[str | tuple[str, Any]] | Mapping[str, Any] = (),
) -> Config:
    """A complete config without data to derive values from: what is not given has the paper's value.

    >>> load_config(overrides=["method=fine-tune", "seed=7"]).own["fine_tune"].epochs
    3
    """
    return load_request(preset=preset, file=file, overrides=overrides).config()


def from_dict(tree: Mapping[str, Any]) -> Config:
    """A checked config from plain values; every option that is not given keeps its default.

    >>> from_dict({"method": "bilstm-crf"}).backbone.name
    'bilstm-cnn'
    """
    method = registry.get(tree.get("method", registry.DEFAULT))
    whole = default_tree(method.sections, method.defaults)
    _check_sections(tree, method, "config")
    merge(whole, tree, "config")
    config = build_config(whole, method.sections)
    method.check(config)
    return config


def changed(config: Config, values: Mapping[str, Any]) -> Config:
    """The same config with other values, by the full names of options."""
    tree = config.as_dict()
    for name, value in values.items():
        put(tree, name, value)
    return from_dict(tree)


def read_config(path: str | Path) -> Config:
    """A config as `roster.config.to_toml` wrote it."""
    return from_dict(read_toml(Path(path)))


def readers(option: str) -> tuple[str, ...]:
    """The methods that read an option: the one that has its section, or all of them.

    >>> readers("bond.epochs"), "roster" in readers("optimiser.clip")
    (('bond',), True)
    """
    section, dot, _ = option.partition(".")
    owners = tuple(method.name for method in registry.all_methods() if section in method.sections)
    return owners if dot and owners else registry.names()


def _kept(name: str, value: Any) -> Any:
    if name in PATHS and value and Path(value).expanduser().exists():
        return str(Path(value).expanduser().resolve())
    return value


def _check_sections(tree: Mapping[str, Any], method: Method, source: str) -> None:
    """Refuses the sections of other methods: their values would have no effect."""
    sections = {**SHARED, **method.sections}
    for name, values in tree.items():
        if name in sections or not isinstance(values, Mapping):
            continue
        owners = readers(f"{name}.")
        if method.name not in owners:
            raise ConfigError(
                f"{source}: [{name}] belongs to the method {' and '.join(owners)}; the method is "
                f"{method.name}, which reads [{'], ['.join(sections)}]"
            )


def _check_bilstm(tree: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    names = [name for name in given if name.startswith("bilstm.")]
    if names and tree["backbone"]["name"] != BILSTM_CNN:
        raise ConfigError(
            f"'{names[0]}' has no effect: [bilstm] is read where backbone.name is {BILSTM_CNN}, and it is "
            f"{tree['backbone']['name']}"
        )


def _preset(name: str, method: Method) -> dict[str, Any]:
    """The values of a preset that a method reads."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset '{name}'; the presets are {', '.join(PRESETS)}")
    text = (resources.files("roster") / "presets" / f"{name}.toml").read_text(encoding="utf-8")
    tree = tomllib.loads(text)
    values = {key: tree[key] for key in ({**SHARED, **method.sections}) if key in tree}
    for option, value in tree.get(BY_METHOD, {}).get(method.name, {}).items():
        put(values, option, value)
    return values
