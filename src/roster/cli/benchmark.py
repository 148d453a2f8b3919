"""`roster benchmark`"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.errors import ConfigError

HELP = """\
Measures this machine: each benchmark prints a table of what was measured in this run, with the conditions.
"""
EXAMPLE = "roster benchmark matching --dictionary names.tsv --text news.txt"


@dataclass(frozen=True)
class Benchmark:
    """One kind of benchmark: `roster benchmark NAME`."""

    summary: str
    help: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="benchmark", metavar="benchmark", title="benchmarks", required=True)
    for name, benchmark in BENCHMARKS.items():
        sub = kinds.add_parser(
            name,
            help=benchmark.summary,
            description=benchmark.help,
            epilog=f"Example:\n  {benchmark.example}",
            formatter_class=parser.formatter_class,
        )
        # Here too, so that it may stand at the end of the line; a default would undo the one before.
        sub.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
        )
        benchmark.add_arguments(sub)
        sub.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
        sub.add_argument(
            "-o", "--output", metavar="FILE", help="also append the results to a file, as JSON lines"
        )


def run(args: argparse.Namespace) -> int:
    if args.output:  # a file that cannot be written is told now, not after an hour of measuring
        with Path(args.output).open("a"):
            pass
    return BENCHMARKS[args.benchmark].run(args)


def give_out(args: argparse.Namespace, report: Any) -> None:
    """Prints and keeps a report, which has `text()`, `as_dict()` and `records()`."""
    print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if args.json else report.text())
    if args.output:
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in report.records())
        with Path(args.output).open("a", encoding="utf-8") as file:
            file.write(lines)


def _matching_arguments(parser: argparse.ArgumentParser) -> None:
    from roster.bench.matchers import SYSTEMS
    from roster.bench.matching import ALL, SIZES

    def size(value: str) -> int | str:
        if value == ALL:
            return ALL
        if not value.isdecimal() or int(value) < 1:
            raise argparse.ArgumentTypeError(f"{value!r} is neither a number of names nor 'all'")
        return int(value)

    parser.add_argument("--dictionary", metavar="FILE", help="names and types, as for `roster label`")
    parser.add_argument("--text", metavar="FILE", help="text to find them in, any format")
    parser.add_argument(
        "--sizes",
        metavar="N",
        nargs="+",
        type=size,
        default=list(SIZES),
        help=f"how many of the names, drawn at random (default: {' '.join(map(str, SIZES))})",
    )
    parser.add_argument(
        "--systems",
        metavar="NAME",
        nargs="+",
        choices=tuple(SYSTEMS),
        default=list(SYSTEMS),
        help=f"which matchers (default: {' '.join(SYSTEMS)})",
    )
    parser.add_argument("--repeat", metavar="N", type=int, default=3, help="runs of each (default: 3)")
    parser.add_argument(
        "--limit", metavar="SECONDS", type=float, default=300.0, help="for one process (default: 300)"
    )
    parser.add_argument(
        "--memory-limit",
        metavar="GIB",
        type=float,
        help="for one process (default: 80 %% of what is free when the benchmark starts)",
    )


def _matching(args: argparse.Namespace) -> int:
    from roster.bench.matching import run
    from roster.bench.measure import FAILED, Limits, free_memory
    from roster.progress import say_to_stderr

    if (args.dictionary is None) != (args.text is None):
        raise ConfigError(
            "give both --dictionary and --text, or neither to measure on invented names and text"
        )
    for option, value in (
        ("--repeat", args.repeat),
        ("--limit", args.limit),
        ("--memory-limit", args.memory_limit),
    ):
        if value is not None and value <= 0:
            raise ConfigError(f"{option} must be more than 0, not {value:g}")
    free = free_memory()
    most = args.memory_limit * 2**30 if args.memory_limit else None if free is None else 0.8 * free
    report = run(
        args.dictionary,
        args.text,
        sizes=args.sizes,
        systems=list(dict.fromkeys(args.systems)),
        repeat=args.repeat,
        limits=Limits(args.limit, None if most is None else int(most)),
        log=say_to_stderr,
    )
    give_out(args, report)
    failed = [result.system for result in report.results if result.status == FAILED]
    if failed:
        say_to_stderr(f"roster: {', '.join(dict.fromkeys(failed))} failed; the results say how")
    return 1 if failed else 0


BENCHMARKS = {
    "matching": Benchmark(
        "build, load and search a dictionary: ours, spaCy, FlashText and Aho-Corasick libraries",
        "Speed and memory of finding the names of a dictionary in a text: our matcher, and others that are\n"
        "installed, each in processes of its own on one core. Without files it invents names and text.",
        "roster benchmark matching --dictionary names.tsv --text news.txt --sizes 10000 all -o speed.jsonl",
        _matching_arguments,
        _matching,
    ),
}
