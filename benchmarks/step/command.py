"""`python -m benchmarks step`"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchmarks.options import add_runs, limits, output

if TYPE_CHECKING:
    from benchmarks.step.run import StepCase

SUMMARY = "time of one training step: plain, with torch.compile, captured"
HELP = """\
Milliseconds of one step of fine-tuning, once it is warm, and the seconds of the steps before: plain PyTorch,
the encoder compiled by torch.compile with dynamic shapes, and the captured step of the fast engine, for one
model and for several trained together. Each in a new process; they take turns.
"""
ENGINES = ("plain", "compiled", "fast")
EXAMPLE = "python -m benchmarks step --backbone roster-small-en-2 --models 1 5"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backbone", metavar="NAME_OR_DIR", default="roster-small-en-2", help="encoder")
    parser.add_argument(
        "--device", metavar="NAME", default="auto", help="device (default: a GPU if there is one)"
    )
    parser.add_argument("--sentences", metavar="N", type=int, default=2000, help="sentences (default: 2000)")
    parser.add_argument("--warm", metavar="N", type=int, default=60, help="steps before the clock starts")
    parser.add_argument("--steps", metavar="N", type=int, default=120, help="steps that are timed")
    parser.add_argument("--models", metavar="K", type=int, nargs="+", default=[1, 5],
                        help="models that the fast engine trains together (default: 1 5)")  # fmt: skip
    parser.add_argument("--engines", choices=ENGINES, nargs="+", default=list(ENGINES),
                        help="what is measured (default: all)")  # fmt: skip
    add_runs(parser, repeat=3, limit=600, memory=False)


def cases(args: argparse.Namespace) -> list[StepCase]:
    """Return what the options ask for; only the fast engine trains several models together."""
    from benchmarks.step.run import StepCase

    engines = list(dict.fromkeys(args.engines))
    return [StepCase(engine, k) for engine in engines for k in (args.models if engine == "fast" else [1])]


def run(args: argparse.Namespace) -> int:
    from benchmarks.step.run import Workload, run
    from roster.cli.options import positive
    from roster.progress import say_to_stderr

    positive(args, "sentences", "warm", "steps")
    workload = Workload(args.backbone, args.device, args.sentences, args.warm, args.steps)
    report = run(workload, cases(args), repeat=args.repeat, limits=limits(args), log=say_to_stderr)
    return output(args, report, report.failed())
