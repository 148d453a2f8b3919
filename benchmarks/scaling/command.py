"""`python -m benchmarks scaling`"""

from __future__ import annotations

import argparse

from benchmarks.options import add_runs, limits, output

SUMMARY = "commands over shards: rates of a core, Ray beside one process by shard size, and killed processes"
HELP = """\
Time of roster convert, label and predict over shards of a synthetic text: in one process, and with one or
several workers of Ray on this machine; they take turns. The time is compared with a model of it. With
--faults, a worker, a node and the driver of a cluster of three nodes on this machine are killed while they
work, and the records are compared with those of one process.
"""
COMMANDS = ("convert", "label", "predict")
EXAMPLE = "python -m benchmarks scaling news-int8 --names names.tsv.gz --faults 5 -o scaling.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="*",
        help="model folder, export or run folder (default: the bundled encoder, untrained, as fast)",
    )
    parser.add_argument("--names", metavar="FILE", help="dictionary (default: 50,000 synthetic names)")
    parser.add_argument("--words", metavar="N", type=int, default=200_000,
                        help="length of the text (default: 200000)")  # fmt: skip
    parser.add_argument("--sizes", metavar="MIB", nargs="+", type=float, default=[0.0625, 0.25, 1],
                        help="input of a shard (default: 0.0625 0.25 1)")  # fmt: skip
    parser.add_argument("--workers", metavar="N", nargs="*", type=int, default=[1, 2],
                        help="workers of Ray (default: 1 2); none measures this process only")  # fmt: skip
    parser.add_argument("--faults", metavar="N", type=int, default=0,
                        help="faults of each kind (default: none)")  # fmt: skip
    parser.add_argument("--commands", metavar="NAME", nargs="*", choices=COMMANDS, default=list(COMMANDS),
                        help="what is measured (default: all)")  # fmt: skip
    add_runs(parser, repeat=3, limit=600, memory=False)


def run(args: argparse.Namespace) -> int:
    from benchmarks.scaling.run import run
    from roster.cli.options import positive
    from roster.progress import say_to_stderr

    positive(args, "words", "sizes", "workers")
    report = run(
        args.models,
        names=args.names,
        words=args.words,
        sizes=[max(1, int(size * 2**20)) for size in args.sizes],
        workers=args.workers,
        commands=args.commands,
        injected=args.faults,
        repeat=args.repeat,
        limits=limits(args),
        log=say_to_stderr,
    )
    return output(args, report, report.failed())
