"""`roster evaluate`"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from roster.corpus.io import FORMATS, read
from roster.scores import Evaluation, evaluate_sentences

HELP = """\
Strict entity precision, recall and F1: a span counts when its borders and its type are right.
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
    scores = _scores(args)
    print(json.dumps(scores.as_dict(), indent=2) if args.json else scores.table())
    return 0


def _scores(args: argparse.Namespace) -> Evaluation:
    if any((Path(args.predicted) / part).is_file() for part in ("roster.json", "model/roster.json")):
        from roster.api import evaluate

        return evaluate(args.predicted, args.gold, format=args.format, split=args.split)
    # Two label files need neither torch nor a model.
    both = [read(path, args.format, split=args.split) for path in (args.predicted, args.gold)]
    return evaluate_sentences(*both)
