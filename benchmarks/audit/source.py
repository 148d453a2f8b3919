"""A finished run with its data set, and gold labels of its training text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roster.config import read_toml
from roster.errors import ConfigError, DataError

KEYS = ("name", "text", "run", "data", "gold", "source", "reviewed")


@dataclass(frozen=True)
class Source:
    """`text` names what runs on the same text share; they are left out together."""

    name: str
    text: str
    run: Path
    data: Path
    gold: tuple[Path, ...]
    repair: Path | None = None
    """The TOML file of `benchmarks repair` that says how the labels were made."""
    reviewed: tuple[Path, ...] = ()
    """Files of sentences that a person has checked; the estimates by type are measured with each."""


def read_source(path: str | Path) -> Source:
    """Read the TOML file of a run; paths are beside it.

    Raises:
        ConfigError: a key is unknown or missing.
        DataError: a path does not exist.
    """
    path = Path(path)
    tree = read_toml(path)
    if unknown := set(tree) - set(KEYS):
        raise ConfigError(f"{path}: unknown {', '.join(sorted(unknown))}; expected {', '.join(KEYS)}")
    for key in ("run", "data", "gold"):
        if not tree.get(key):
            raise ConfigError(f"{path}: {key} is missing")
    gold = tree["gold"] if isinstance(tree["gold"], list) else [tree["gold"]]
    run, data, *files = (path.parent / str(one) for one in (tree["run"], tree["data"], *gold))
    made = path.parent / str(tree["source"]) if "source" in tree else None
    reviewed = tuple(path.parent / str(one) for one in tree.get("reviewed", ()))
    for one in (run, data, *files, *reviewed, *filter(None, [made])):
        if not one.exists():
            raise DataError(f"no such file or folder (in {path.name})", path=one)
    name = str(tree.get("name", path.stem))
    return Source(name, str(tree.get("text", name)), run, data, tuple(files), made, reviewed)
