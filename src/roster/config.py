"""One typed config describes a whole run: options that all methods share, and the sections of one method.

What is unknown or impossible is refused with its name and what is allowed. The effective config is written
beside the model, and gives the same run again. Sections of methods are defined beside the methods
(`roster.methods`); requests for values, presets and files are read in `roster.methods.request`.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast, get_origin, get_type_hints

from roster.errors import ConfigError
from roster.parsing import parse_toml
from roster.toml import toml_value

T = TypeVar("T")

BILSTM_CNN = "bilstm-cnn"
"""The backbone that is no folder and no hub name: trained from scratch, its sizes in `[bilstm]`."""


def option(default: Any, doc: str, *, low: float | None = None, high: float | None = None,
           choices: tuple[str, ...] | None = None) -> Any:  # fmt: skip
    """A field with its documentation and the values it may take (borders included)."""
    return field(default=default, metadata={"doc": doc, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True)
class Backbone:
    name: str = option(
        "roster-small-en-2",
        "bundled name, folder, or Hugging Face hub name of an encoder; or bilstm-cnn, see [bilstm]",
    )
    max_length: int = option(
        150, "sub-words in one window, special tokens included; longer sentences go through windows", low=8
    )
    dropout: float = option(0.1, "dropout between the encoder and the heads", low=0, high=0.9)


@dataclass(frozen=True)
class Bilstm:
    """The sizes of the backbone bilstm-cnn, which is trained from scratch (Ma and Hovy 2016)."""

    word_vectors: str = option(
        "", "file of word vectors, `word v1 v2 ...` on each line, maybe .gz; empty: random vectors"
    )
    word_size: int = option(100, "length of random word vectors; a file has its own", low=1)
    char_size: int = option(30, "length of the vectors of characters", low=1)
    filters: int = option(30, "filters of the CNN over characters, each three characters wide", low=1)
    hidden: int = option(200, "width of the LSTM, each way", low=1)
    dropout: float = option(0.5, "dropout before and after the LSTM", low=0, high=0.9)
    min_count: int = option(1, "words that occur less often have no vector of their own", low=1)


@dataclass(frozen=True)
class Optimiser:
    batch_size: int = option(32, "sentences in one step", low=1, high=100_000)
    weight_decay: float = option(0.01, "decay of the weights; none on biases and norms", low=0)
    beta2: float = option(0.999, "AdamW's memory of squared gradients", low=0, high=0.999999)
    warmup: float = option(
        0.1, "share of the steps with a rising rate; then it falls linearly to 0", low=0, high=1
    )
    clip: float = option(1.0, "largest norm of a gradient", low=1e-6)
    precision: str = option(
        "auto",
        "auto: bf16 on a GPU, and on a CPU that multiplies it; else float32",
        choices=("auto", "float32", "bfloat16"),
    )
    device: str = option("auto", "auto: the first GPU if there is one; or cpu, cuda, cuda:1, mps")
    engine: str = option(
        "auto",
        "plain: one model at a time, any encoder; fast: several models together, recorded steps, encoders "
        "like BERT; auto: fast on a GPU where it can",
        choices=("auto", "plain", "fast"),
    )


@dataclass(frozen=True)
class GoldSentences:
    """Sentences with true labels, learned together with the distantly labelled ones, by every method."""

    file: str = option("", "file of any labelled format; empty: none")
    format: str = option("", "its format, where it is not recognised")
    weight: float = option(5.0, "how much a word of a gold sentence counts; other words count 1", low=0)


@dataclass(frozen=True)
class Config:
    """The options of a run: those of every method, and in `own` the sections of the chosen one."""

    method: str = option("roster", "what to train")
    seed: int = option(30, "seed of everything random", low=0, high=2**31 - 1)
    backbone: Backbone = field(default_factory=Backbone)
    bilstm: Bilstm = field(default_factory=Bilstm)
    optimiser: Optimiser = field(default_factory=Optimiser)
    gold: GoldSentences = field(default_factory=GoldSentences)
    own: Mapping[str, Any] = field(default_factory=dict)

    def section(self, kind: type[T]) -> T:
        """The method's own section of this type, such as `config.section(NoiseRobust)`."""
        for values in self.own.values():
            if type(values) is kind:
                return values
        raise TypeError(f"the method {self.method} has no section {kind.__name__}")

    def sections(self) -> dict[str, Any]:
        """All sections that are read, by name; [bilstm] where it is the backbone."""
        shared = {
            "backbone": self.backbone,
            "bilstm": self.bilstm,
            "optimiser": self.optimiser,
            "gold": self.gold,
        }
        if self.backbone.name != BILSTM_CNN:
            del shared["bilstm"]
        return {**shared, **self.own}

    def as_dict(self) -> dict[str, Any]:
        """Plain values: method and seed, and each section as a dict."""
        values = {name: dataclasses.asdict(section) for name, section in self.sections().items()}
        return {"method": self.method, "seed": self.seed, **values}


SHARED: dict[str, type] = {
    "backbone": Backbone,
    "bilstm": Bilstm,
    "optimiser": Optimiser,
    "gold": GoldSentences,
}
"""The sections of every method."""


def default_tree(own: Mapping[str, type], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a method with their default values, as nested dicts.

    Args:
        own: the method's own sections by name.
        defaults: values of shared options that are other than usual, by their full names.
    """
    tree: dict[str, Any] = {f.name: f.default for f in fields(Config) if f.metadata}
    tree |= {name: dataclasses.asdict(section()) for name, section in {**SHARED, **own}.items()}
    for name, value in defaults.items():
        put(tree, name, value)
    return tree


def build_config(tree: Mapping[str, Any], own: Mapping[str, type]) -> Config:
    """A checked config from a complete tree of plain values.

    Raises:
        ConfigError: for a value of the wrong type, or out of its bounds.
    """
    hints = get_type_hints(Config)
    top = {f.name: _value(tree[f.name], hints[f.name], f, f.name) for f in fields(Config) if f.metadata}
    shared = {name: _build(kind, tree[name], f"{name}.") for name, kind in SHARED.items()}
    if not shared["backbone"].name.strip():
        raise ConfigError("'backbone.name' is empty; give a folder, a hub name, or roster-small-en-2")
    return Config(
        **top, **shared, own={name: _build(kind, tree[name], f"{name}.") for name, kind in own.items()}
    )


def put(tree: dict[str, Any], name: str, value: Any) -> None:
    """Sets a value in nested dicts: `a.b` is `b` of the section `a`."""
    *sections, last = name.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[last] = value


def flat(tree: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The values of nested dicts by their full names.

    >>> flat({"seed": 1, "optimiser": {"clip": 2.0}})
    {'seed': 1, 'optimiser.clip': 2.0}
    """
    values: dict[str, Any] = {}
    for key, value in tree.items():
        values |= flat(value, f"{where}{key}.") if isinstance(value, Mapping) else {f"{where}{key}": value}
    return values


def parse_override(text: str) -> tuple[str, Any]:
    """Name and value of `a.b=value`; the value is TOML where it parses as TOML, else a string."""
    path, equals, value = text.partition("=")
    path, value = path.strip(), value.strip()
    if not equals or not path:
        raise ConfigError(f"--set {text}: expected a.b=value, for example --set noise_robust.q=0.5")
    try:
        return path, parse_toml(f"x = {value}")["x"]
    except ValueError:
        return path, value


def to_toml(config: Any, *, comments: bool = True) -> str:
    """The config as a TOML file that reads as its own documentation."""
    own = config.sections() if isinstance(config, Config) else {}
    lines = toml_fields(config, comments)
    for name, section in own.items():
        lines.append(f"\n[{name}]")
        text = str(type(section).__doc__)
        if comments and not text.startswith(type(section).__name__):
            lines.append(f"# {text}")
        lines.extend(toml_fields(section, comments))
    return "\n".join(lines) + "\n"


def toml_fields(section: Any, comments: bool = True) -> list[str]:
    """The lines of a section's options."""
    return [
        line
        for f in fields(section)
        if f.metadata
        for line in (
            *([f"# {f.metadata['doc']}"] if comments else []),
            f"{f.name} = {toml_value(getattr(section, f.name))}",
        )
    ]


def read_toml(path: Path, what: str = "config file") -> dict[str, Any]:
    try:
        return parse_toml(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such {what}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def merge(tree: dict[str, Any], new: Mapping[str, Any], source: str, where: str = "") -> None:
    """Puts values into a tree that has all options.

    Raises:
        ConfigError: for an option that the tree does not have.
    """
    for key, value in new.items():
        name = f"{where}{key}"
        if key not in tree:
            close = difflib.get_close_matches(key, tree, n=1)
            hint = f"did you mean '{where}{close[0]}'? " if close else ""
            raise ConfigError(
                f"{source}: there is no option '{name}'; {hint}expected one of {', '.join(tree)}"
            )
        if isinstance(tree[key], dict):
            if not isinstance(value, Mapping):
                raise ConfigError(
                    f"{source}: '{name}' is a section, with the options {', '.join(tree[key])}; "
                    f"set one of them, not the section"
                )
            merge(tree[key], value, source, f"{name}.")
        elif isinstance(value, Mapping):
            raise ConfigError(f"{source}: '{name}' is an option, not a section")
        else:
            tree[key] = value


def _build(cls: type, tree: Mapping[str, Any], where: str) -> Any:
    hints = get_type_hints(cls)
    values = {}
    for f in fields(cls):
        value, kind = tree[f.name], hints[f.name]
        if isinstance(kind, type) and is_dataclass(kind):
            values[f.name] = _build(kind, value, f"{where}{f.name}.")
        else:
            values[f.name] = _value(value, kind, f, f"{where}{f.name}")
    return cls(**values)


def section(cls: type[T], table: Mapping[str, Any], where: str, base: T | None = None) -> T:
    """One flat dataclass of options from a TOML table; what the table leaves out is as in `base`."""
    tree = dataclasses.asdict(cls() if base is None else base)  # type: ignore[call-overload]
    merge(tree, table, where)
    try:
        return cast(T, _build(cls, tree, ""))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _value(value: Any, kind: Any, f: dataclasses.Field[Any], name: str) -> Any:
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"'{name}' must be a list of texts, not {value!r}")
        return tuple(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 2**1000 else float("inf")
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"'{name}' must be {words[kind]}, not {value!r}")
    low, high, choices = f.metadata["low"], f.metadata["high"], f.metadata["choices"]
    if choices and value not in choices:
        raise ConfigError(f"'{name}' must be one of {', '.join(choices)}, not {value!r}")
    # `not (a <= b)` also refuses NaN.
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        allowed = f"between {low} and {high}" if high is not None else f"at least {low}"
        raise ConfigError(f"'{name}' must be {allowed}, not {value}")
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise ConfigError(f"'{name}' must be finite")
    return value
