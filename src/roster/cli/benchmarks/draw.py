"""`roster benchmark draw`"""

from __future__ import annotations

import argparse

SUMMARY = "tables and figures of all experiments, from stored results"
HELP = """\
Draws every experiment that has points in RESULTS into FOLDER: tables as Markdown and LaTeX, figures as SVG
and PNG, and README.md with all of them. Trains nothing. With --sentences also files with sentences of the
data (cases, examples of augmentations); they need the data sets and the models of the cases. Check the
licence of the text before you publish them.
"""
EXAMPLE = "roster benchmark draw results.jsonl -o figures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from roster.cli.benchmarks.experiments import SUMMARIES

    parser.add_argument("results", metavar="RESULTS", nargs="+", help="files of results")
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="where to write")
    parser.add_argument(
        "--only",
        metavar="NAME",
        nargs="+",
        choices=SUMMARIES,
        default=list(SUMMARIES),
        help="only these experiments",
    )
    parser.add_argument("--sentences", action="store_true", help="also files with sentences of the data")


def run(args: argparse.Namespace) -> int:
    from roster.errors import DataError
    from roster.experiments.gallery import save_all
    from roster.experiments.store import Results
    from roster.progress import say_to_stderr

    results = Results.read(*args.results)
    paths = save_all(results, args.output, names=args.only, texts=args.sentences, log=say_to_stderr)
    if not paths:
        raise DataError("nothing to draw: no point of an experiment is finished", path=args.results[0])
    for path in paths:
        print(path)
    return 0
