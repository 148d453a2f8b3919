"""`roster evaluate`"""

from __future__ import annotations

import argparse
import json

from roster.corpus.io import FORMATS

HELP = """\
Strict entity precision, recall and F1: a span is correct if its boundaries and its type are.
The first argument is a model (or run) folder, or a file with predicted labels in any format.
"""
EXAMPLE = "roster evaluate runs/news/model test.conll --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("predicted", metavar="MODEL_OR_PREDICTIONS", help="model folder, or labelled file")
    parser.add_argument("gold", metavar="GOLD", help="file with the true labels")
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as test")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--format", metavar="NAME", choices=FORMATS,
                        help=f"format of both files, if not recognised: {', '.join(FORMATS)}")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from roster.api.recognition import evaluate

    scores = evaluate(args.predicted, args.gold, format=args.format, split=args.split)
    print(json.dumps(scores.as_dict(), indent=2) if args.json else scores.table())
    return 0
