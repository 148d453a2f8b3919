"""`roster benchmark`: what measures this machine, and the experiments of the paper."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from types import ModuleType

from roster.cli.benchmarks.experiments import SUMMARIES, Kind

HELP = """\
Measures this machine (matching, prediction, startup, training), or runs an experiment of the paper. Each
prints a table. Experiments keep every finished training in a file, from which `draw` makes all tables and
figures again.
"""
EXAMPLE = "roster benchmark matching --dictionary names.tsv --text news.txt"
SPEED = ("matching", "prediction", "startup", "training")
BENCHMARKS = (*SPEED, *SUMMARIES, "draw")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="benchmark", metavar="benchmark", title="benchmarks", required=True)
    for name in BENCHMARKS:
        kind = _kind(name)
        sub = kinds.add_parser(
            name,
            help=kind.SUMMARY,
            description=kind.HELP,
            epilog=f"Example:\n  {kind.EXAMPLE}",
            formatter_class=parser.formatter_class,
        )
        # Here too, so that it may stand at the end of the line; a default would undo the one before.
        sub.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
        )
        kind.add_arguments(sub)
        if name not in SPEED:
            continue
        sub.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
        sub.add_argument(
            "-o", "--output", metavar="FILE", help="also append the results to a file, as JSON lines"
        )


def run(args: argparse.Namespace) -> int:
    if (
        args.benchmark in SPEED and args.output
    ):  # a file that cannot be written is told now, not after an hour of measuring
        with Path(args.output).open("a"):
            pass
    return int(_kind(args.benchmark).run(args))


def _kind(name: str) -> ModuleType | Kind:
    """A module of `cli/benchmarks`; the experiments share one."""
    if name in SUMMARIES:
        return Kind(name)
    return import_module(f"roster.cli.benchmarks.{name}")
