"""Options that all speed benchmarks share, and the output of their reports."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.cli.options import positive
from roster.progress import say_to_stderr

if TYPE_CHECKING:
    from benchmarks.measure import Limits


def add_runs(parser: argparse.ArgumentParser, repeat: int, limit: float, memory: bool = True) -> None:
    """Add --repeat, --limit and, with `memory`, --memory-limit; `repeat` and `limit` are the defaults."""
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
    """Return the limits that the options of `add_runs` set.

    Raises:
        ConfigError: a number is 0 or less.
    """
    from benchmarks.measure import Limits, free_memory

    positive(args, "repeat", "limit")
    if not hasattr(args, "memory_limit"):
        return Limits(args.limit)
    positive(args, "memory_limit")
    free = free_memory()
    most = args.memory_limit * 2**30 if args.memory_limit else None if free is None else 0.8 * free
    return Limits(args.limit, None if most is None else int(most))


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add --json and --output."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="also append the results to a file, as JSON lines"
    )


def check_output(args: argparse.Namespace) -> None:
    """Open the output file, so that an error shows before the measurements and not after them.

    Raises:
        OSError: the file cannot be written.
    """
    if args.output:
        with Path(args.output).open("a"):
            pass


def output(args: argparse.Namespace, report: Any, failed: Iterable[str]) -> int:
    """Print a report and append its records to the output file.

    Parameters: the parsed arguments, a report with `text()`, `as_dict()` and `records()`, and the names of
    the systems whose measurement failed.

    Returns:
        The exit code: 1 if a measurement failed, otherwise 0.
    """
    print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if args.json else report.text())
    if args.output:
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in report.records())
        with Path(args.output).open("a", encoding="utf-8") as file:
            file.write(lines)
    names = ", ".join(dict.fromkeys(failed))
    if names:
        say_to_stderr(f"benchmarks: {names} failed; the results give the error")
    return 1 if names else 0
