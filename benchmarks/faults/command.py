"""`python -m benchmarks faults`"""

from __future__ import annotations

import argparse

from benchmarks.options import output
from roster.cli.options import positive

SUMMARY = "trainings killed at random moments: whether the same command ends with the same model"
HELP = """\
Kill trainings of synthetic data with SIGKILL, in every stage of every method: at random moments, and while a
file of the stage is being written. The same command then goes on, and the model has to be that of an
unbroken run, bit for bit. Linux only.
"""
EXAMPLE = "python -m benchmarks faults --kills 3 -o faults.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from benchmarks.faults.workload import CASES

    parser.add_argument(
        "--methods", metavar="NAME", nargs="+", choices=CASES, default=list(CASES),
        help=f"what is trained: {', '.join(CASES)} (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--kills", metavar="N", type=int, default=3,
        help="kills at random moments for each stage; one more is made while a file is written (default: 3)",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the moments (default: 0)")


def run(args: argparse.Namespace) -> int:
    from benchmarks.faults.run import run
    from roster.progress import say_to_stderr

    positive(args, "kills")
    report = run(list(dict.fromkeys(args.methods)), kills=args.kills, seed=args.seed, log=say_to_stderr)
    return output(args, report, report.failed())
