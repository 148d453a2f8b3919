"""`roster benchmark`: each kind is a module of `cli/benchmarks`."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from types import ModuleType

HELP = """\
Measures this machine: each benchmark prints a table of what was measured in this run, with the conditions.
"""
EXAMPLE = "roster benchmark matching --dictionary names.tsv --text news.txt"
BENCHMARKS = ("matching", "prediction", "startup", "training")


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
        sub.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
        sub.add_argument(
            "-o", "--output", metavar="FILE", help="also append the results to a file, as JSON lines"
        )


def run(args: argparse.Namespace) -> int:
    if args.output:  # a file that cannot be written is told now, not after an hour of measuring
        with Path(args.output).open("a"):
            pass
    return int(_kind(args.benchmark).run(args))


def _kind(name: str) -> ModuleType:
    return import_module(f"roster.cli.benchmarks.{name}")
