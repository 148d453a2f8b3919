"""`python -m benchmarks review`"""

from __future__ import annotations

import argparse

from benchmarks.options import output

SUMMARY = "coverage of the intervals of roster review, and the answers that it needs"
HELP = """\
Simulated reviews of a text with gold labels: how often the intervals of precision, recall and F1 hold the
true value after so many answers and when the review ends by itself, and how many answers it takes until F1 is
known to plus or minus a width, beside random sampling of sentences.
"""
EXAMPLE = "python -m benchmarks review runs/news test.conll --times 1000 --width 0.03"
BUDGETS = [50, 100, 200, 400, 800]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model folder, or run folder")
    parser.add_argument("gold", metavar="GOLD", help="file with the true labels")
    parser.add_argument("--labels", metavar="FILE", help="the same sentences with labels of a dictionary")
    parser.add_argument("--times", metavar="N", type=int, default=1000, help="reviews (default: 1000)")
    parser.add_argument(
        "--width", metavar="W", type=float, default=0.03, help="width to review until (default: 0.03)"
    )
    parser.add_argument("--answers", metavar="N", type=int, nargs="+", default=BUDGETS,
                        help=f"numbers of answers (default: {' '.join(map(str, BUDGETS))})")  # fmt: skip
    parser.add_argument(
        "--confidence", metavar="P", type=float, default=0.95, help="of the intervals (default: 0.95)"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed (default: 0)")


def run(args: argparse.Namespace) -> int:
    from benchmarks.review.run import Work, run
    from roster.cli.options import positive
    from roster.progress import say_to_stderr

    positive(args, "times", "width", "answers")
    work = Work(args.model, args.gold, args.labels, args.times, args.width, tuple(args.answers),
                args.confidence, args.seed)  # fmt: skip
    report = run(work, say_to_stderr)
    return output(args, report, report.failed())
