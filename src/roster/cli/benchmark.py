"""`roster benchmark`: the experiments of the paper."""

from __future__ import annotations

import argparse
from types import ModuleType

from roster.cli.benchmarks import draw
from roster.cli.benchmarks.experiments import SUMMARIES, Kind

HELP = """\
Runs an experiment of the paper and prints its table. Finished trainings are kept in a file, from which `draw`
writes all tables and figures.
"""
EXAMPLE = "roster benchmark main conll03/ --backbone roberta-base -o results.jsonl"
BENCHMARKS = (*SUMMARIES, "draw")


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


def run(args: argparse.Namespace) -> int:
    return int(_kind(args.benchmark).run(args))


def _kind(name: str) -> ModuleType | Kind:
    """The module `draw`, or one of the experiments, which share a module."""
    return draw if name == "draw" else Kind(name)
