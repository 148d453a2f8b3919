"""What every kind of benchmark does with its options and with its report."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.errors import ConfigError
from roster.progress import say_to_stderr

if TYPE_CHECKING:
    from roster.bench.measure import Limits


def add_runs(parser: argparse.ArgumentParser, repeat: int, limit: float, memory: bool = True) -> None:
    """How often, how long, and (with `memory`) how large a process may get."""
    parser.add_argument(
        "--repeat", metavar="N", type=int, default=repeat, help=f"runs of each (default: {repeat})"
    )
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=float,
        default=limit,
        help=f"time limit per process, in seconds (default: {limit:g})",
    )
    if memory:
        parser.add_argument(
            "--memory-limit",
            metavar="GIB",
            type=float,
            help="memory limit per process (default: 80 %% of what is free when the benchmark starts)",
        )


def limits(args: argparse.Namespace) -> Limits:
    """From the options of `add_runs`, which are checked here."""
    from roster.bench.measure import Limits, free_memory

    positive(args, "repeat", "limit")
    if not hasattr(args, "memory_limit"):
        return Limits(args.limit)
    positive(args, "memory_limit")
    free = free_memory()
    most = args.memory_limit * 2**30 if args.memory_limit else None if free is None else 0.8 * free
    return Limits(args.limit, None if most is None else int(most))


def positive(args: argparse.Namespace, *names: str) -> None:
    """Numbers, or lists of them, that mean nothing at 0 or below."""
    for name in names:
        given = getattr(args, name)
        for value in given if isinstance(given, list) else [given]:
            if value is not None and value <= 0:
                raise ConfigError(f"--{name.replace('_', '-')} must be more than 0, not {value:g}")


def give_out(args: argparse.Namespace, report: Any, failed: Iterable[str]) -> int:
    """Prints and keeps a report, which has `text()`, `as_dict()` and `records()`; the exit code.

    What failed is told, and makes the code 1: it is for us to mend.
    """
    print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if args.json else report.text())
    if args.output:
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in report.records())
        with Path(args.output).open("a", encoding="utf-8") as file:
            file.write(lines)
    names = ", ".join(dict.fromkeys(failed))
    if names:
        say_to_stderr(f"roster: {names} failed; the results say how")
    return 1 if names else 0
