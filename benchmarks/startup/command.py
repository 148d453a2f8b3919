"""`python -m benchmarks startup`"""

from __future__ import annotations

import argparse

from benchmarks.options import add_runs, limits, output

SUMMARY = "time and memory of a command before it does any work"
HELP = """\
Seconds and memory of `roster --help`, `roster --version` and, for each MODEL, of `roster predict` on one
sentence, as new processes that take turns. The first run of each is listed separately, because the files
that it reads may not be cached yet.
"""
EXAMPLE = "python -m benchmarks startup runs/news news-int8 --imports"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="*", help="model folder, export, or run folder")
    parser.add_argument("--imports", action="store_true", help="also the ten slowest imports of each")
    add_runs(parser, repeat=5, limit=120, memory=False)


def run(args: argparse.Namespace) -> int:
    from benchmarks.startup.run import run
    from roster.progress import say_to_stderr

    report = run(
        args.models, imports=args.imports, repeat=args.repeat, limits=limits(args), log=say_to_stderr
    )
    return output(args, report, report.failed())
