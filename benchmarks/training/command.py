"""`python -m benchmarks training`"""

from __future__ import annotations

import argparse

from benchmarks.options import add_runs, limits, output
from roster.cli.options import positive
from roster.methods.request import PRESETS

SUMMARY = "time and memory of whole training runs, stage by stage"
HELP = """\
Seconds of whole training runs, stage by stage, with memory and scores; each engine in processes of its own
that take turns. Without DATASET, the data are 200 sentences of the bundled sample.
"""
EXAMPLE = "python -m benchmarks training news/ --engines plain fast --seeds 1 2 3 -o speed.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dataset", metavar="DATASET", nargs="?", help="as for `roster train` (default: the bundled sample)"
    )
    parser.add_argument("--backbone", metavar="NAME_OR_DIR", help="encoder")
    parser.add_argument(
        "--preset",
        metavar="NAME",
        choices=PRESETS,
        help=f"the paper's own settings: {', '.join(PRESETS)} (default: derived from the data)",
    )
    parser.add_argument("--set", metavar="A.B=VALUE", action="append", default=[], dest="overrides",
                        help="set a value of the config; may be repeated")  # fmt: skip
    parser.add_argument(
        "--engines",
        metavar="NAME",
        nargs="+",
        default=["auto"],
        help="values of optimiser.engine to compare (default: auto, what `roster train` takes)",
    )
    parser.add_argument("--seeds", metavar="N", nargs="+", type=int, default=[], help="a run with each seed")
    parser.add_argument(
        "--sizes",
        metavar="N",
        nargs="+",
        type=int,
        default=[],
        help="numbers of sentences of DATASET, drawn at random, or repeated if there are fewer",
    )
    add_runs(parser, repeat=1, limit=3600)


def run(args: argparse.Namespace) -> int:
    from benchmarks.training.run import run
    from roster.progress import say_to_stderr

    positive(args, "sizes")
    report = run(
        args.dataset,
        backbone=args.backbone,
        preset=args.preset,
        overrides=args.overrides,
        engines=list(dict.fromkeys(args.engines)),
        seeds=list(dict.fromkeys(args.seeds)),
        sizes=args.sizes,
        repeat=args.repeat,
        limits=limits(args),
        log=say_to_stderr,
    )
    return output(args, report, report.failed())
