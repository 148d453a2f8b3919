"""Checks of options that several commands share."""

from __future__ import annotations

import argparse
from typing import Any

from roster.errors import ConfigError

ENGINES = ("local", "ray")


def positive(args: argparse.Namespace, *names: str) -> None:
    """Check that options are greater than 0.

    Parameters: the parsed arguments, and the names of attributes whose value is a number, a list of numbers,
    or None for an option that was not given.

    Raises:
        ConfigError: a value is 0 or less.

    >>> positive(argparse.Namespace(repeat=3, limit=None), "repeat", "limit")
    >>> positive(argparse.Namespace(sizes=[1, 0]), "sizes")
    Traceback (most recent call last):
    roster.errors.ConfigError: --sizes must be more than 0, not 0
    """
    for name in names:
        given = getattr(args, name)
        for value in given if isinstance(given, list) else [given]:
            if value is not None and value <= 0:
                raise ConfigError(f"--{name.replace('_', '-')} must be more than 0, not {value:g}")


def add_engine(parser: Any, what: str) -> None:
    """Add --engine and --address; `what` is the help of --engine."""
    parser.add_argument("--engine", choices=ENGINES, help=what)
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="the Ray cluster, or auto for that of this machine (default: Ray is started here)",
    )


def add_shards(parser: argparse.ArgumentParser) -> None:
    """Add --engine, --address and --shard-size."""
    group = parser.add_argument_group("large inputs")
    add_engine(
        group,
        "write a folder with a file for each shard of the input: local, on this machine, or ray, on all "
        "nodes of a Ray cluster; the same command goes on where it was interrupted",
    )
    group.add_argument(
        "--shard-size", metavar="MIB", type=float, help="input of a shard, in MiB (default: 16)"
    )


def by_shards(args: argparse.Namespace, *places: str | None) -> bool:
    """Whether the options ask for shards: one of them was given, or a place is a URL; sets `engine`.

    Raises:
        ConfigError: a cluster without the engine.
    """
    if args.address and args.engine != "ray":
        raise ConfigError("--address is of a Ray cluster; add --engine ray")
    wanted = bool(args.engine or args.shard_size) or any("://" in place for place in places if place)
    if wanted:
        args.engine, args.resumes = args.engine or "local", True
    return wanted
