"""`python -m benchmarks repair`"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.repair.arms import BUDGETS, every_arm

SUMMARY = "what rounds of repair of the labels bring, and what a few answers of a person bring"
HELP = """\
Labels a text, trains, lets the audit repair the dictionary, and labels and trains again; beside that, a
simulated person answers questions of the review of the first model, or labels sentences drawn at random with
as many answers. Each SOURCE is a TOML file with paths beside it: text, gold (true labels of all its sentences
or of some), valid, test, and what `roster label` takes: dictionaries, config. Results are appended to the
file -o, one JSON line each; what is finished there is not done again.
"""
EXAMPLE = "python -m benchmarks repair news.toml -o repair.jsonl --seeds 1 2 3 --workers 2"
SEEDS = (1, 2, 3)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = [*map(str, every_arm(()))]
    parser.add_argument("sources", metavar="SOURCE", nargs="*", help="TOML file of a data set")
    parser.add_argument("--report", action="store_true", help="measure nothing, only print the table")
    parser.add_argument("--split", choices=("dev", "test"), default="dev",
                        help="split whose scores the table has (default: dev)")  # fmt: skip
    parser.add_argument("--arms", metavar="NAME", nargs="+",
                        help=f"some arms: {', '.join(names)}, review-100 (default: all)")  # fmt: skip
    parser.add_argument("--answers", metavar="N", type=int, nargs="+", default=list(BUDGETS),
                        help=f"answers of the person (default: {' '.join(map(str, BUDGETS))})")  # fmt: skip
    parser.add_argument("--seeds", metavar="N", type=int, nargs="+", default=list(SEEDS),
                        help=f"a chain with each seed (default: {' '.join(map(str, SEEDS))})")  # fmt: skip
    parser.add_argument("--backbone", metavar="NAME_OR_DIR", help="encoder")
    parser.add_argument("--set", metavar="A.B=VALUE", action="append", default=[], dest="overrides",
                        help="set a value of the config; may be repeated")  # fmt: skip
    parser.add_argument("--device", metavar="NAME", help="auto (default), cpu, cuda")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--minutes", metavar="N", type=float,
                        help="begin no training after so many minutes")  # fmt: skip
    parser.add_argument("--keep", metavar="FOLDER",
                        help="keep predictions and results of each base run, and the patches")  # fmt: skip
    parser.add_argument("--cache", metavar="FOLDER",
                        help="compiled dictionaries (default: beside the results)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    import json

    from benchmarks.repair.arms import Arm
    from benchmarks.repair.report import RepairReport
    from benchmarks.repair.run import Asked, run
    from benchmarks.repair.source import read_source
    from roster.cli.options import positive
    from roster.config import parse_override
    from roster.errors import ConfigError
    from roster.experiments.store import Results
    from roster.progress import say_to_stderr

    positive(args, "answers", "workers", "minutes")
    if not args.output:
        raise ConfigError("give the file of results with -o")
    failed = False
    if args.report:
        results = Results.read(args.output)
    else:
        if not args.sources:
            raise ConfigError("give the TOML file of a data set, or --report")
        asked = Asked(
            tuple(map(read_source, args.sources)),
            tuple(dict.fromkeys(args.seeds)),
            tuple(dict.fromkeys(map(Arm.of, args.arms))) if args.arms else every_arm(args.answers),
            args.backbone,
            dict(map(parse_override, args.overrides)),
            args.device,
            args.workers,
            args.minutes,
            Path(args.keep) if args.keep else None,
            Path(args.cache) if args.cache else None,
        )
        results = Results.open(args.output)
        try:
            outcome = run(asked, results, say_to_stderr)
        finally:
            results.close()
        say_to_stderr(f"measured: {outcome.measured}, known: {outcome.known}, left: {len(outcome.left)}")
        failed = bool(outcome.failed)
    report = RepairReport(list(results.points.values()), args.split)
    print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if args.json else report.text())
    return 1 if failed else 0
