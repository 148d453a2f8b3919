"""`python -m benchmarks matching`"""

from __future__ import annotations

import argparse

from benchmarks.options import add_runs, limits, output
from roster.errors import ConfigError

SUMMARY = "build, load and search a dictionary: ours, spaCy, FlashText and Aho-Corasick libraries"
HELP = """\
Speed and memory of finding the names of a dictionary in a text: our matcher, and others that are
installed, each in processes of its own on one core. Without files, names and text are synthetic.
"""
EXAMPLE = (
    "python -m benchmarks matching --dictionary names.tsv --text news.txt --sizes 10000 all -o speed.jsonl"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from benchmarks.matching.systems import SYSTEMS
    from benchmarks.matching.workload import ALL, SIZES

    def size(value: str) -> int | str:
        if value == ALL:
            return ALL
        if not value.isdecimal() or int(value) < 1:
            raise argparse.ArgumentTypeError(f"{value!r} is neither a number of names nor 'all'")
        return int(value)

    parser.add_argument("--dictionary", metavar="FILE", help="dictionary, as for `roster label`")
    parser.add_argument("--text", metavar="FILE", help="text to match, in any format")
    parser.add_argument(
        "--sizes",
        metavar="N",
        nargs="+",
        type=size,
        default=list(SIZES),
        help=f"numbers of names, drawn at random (default: {' '.join(map(str, SIZES))})",
    )
    parser.add_argument(
        "--systems",
        metavar="NAME",
        nargs="+",
        choices=tuple(SYSTEMS),
        default=list(SYSTEMS),
        help=f"matchers to measure (default: {' '.join(SYSTEMS)})",
    )
    add_runs(parser, repeat=3, limit=300)


def run(args: argparse.Namespace) -> int:
    from benchmarks.matching.run import run
    from benchmarks.measure import FAILED
    from roster.progress import say_to_stderr

    if (args.dictionary is None) != (args.text is None):
        raise ConfigError(
            "give both --dictionary and --text, or neither to measure on synthetic names and text"
        )
    report = run(
        args.dictionary,
        args.text,
        sizes=args.sizes,
        systems=list(dict.fromkeys(args.systems)),
        repeat=args.repeat,
        limits=limits(args),
        log=say_to_stderr,
    )
    return output(args, report, [one.system for one in report.results if one.status == FAILED])
