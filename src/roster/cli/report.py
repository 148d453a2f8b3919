"""`roster report`"""

from __future__ import annotations

import argparse

from roster.corpus.io import FORMATS

HELP = """\
Write one self-contained HTML page on a finished run: how good its model is by scores or estimates, entities
beside the labels, examples where both differ, calibration and confusion where there are true labels, what was
derived from the data and why, curves, time and memory. roster train writes it at the end of each run.
"""
EXAMPLE = "roster report runs/news -o news.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", help="run folder, finished")
    parser.add_argument("-o", "--output", metavar="FILE", help="page to write (default: RUN/report.html)")
    parser.add_argument("--gold", metavar="FILE",
                        help="sentences with true labels (default: the test split of the data)")  # fmt: skip
    parser.add_argument("--data", metavar="DATASET", help="the data set of the run, if it was moved")
    parser.add_argument("--format", metavar="NAME", choices=FORMATS,
                        help=f"format of the gold file, if not recognised: {', '.join(FORMATS)}")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from roster.api.reporting import report

    print(report(args.folder, args.output, data=args.data, gold=args.gold, format=args.format))
    return 0
