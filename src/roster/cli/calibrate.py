"""`roster calibrate`"""

from __future__ import annotations

import argparse
import json

from roster.corpus.io import FORMATS

HELP = """\
Fit the scores of a model to sentences with true labels, which it must not have learned from. The fit is kept
in the model folder and noted on the model card. From then on the score of an entity, as roster predict prints
it, is the estimated probability that the entity is right; the entities stay the same. Prints the calibration
error before and after, where each half of the sentences is judged by a fit to the other half.
"""
EXAMPLE = "roster calibrate runs/news/model reviewed.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model folder, trained or exported, or run folder")
    parser.add_argument("gold", metavar="GOLD", help="file with the true labels")
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as test")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--format", metavar="NAME", choices=FORMATS,
                        help=f"format of the file, if not recognised: {', '.join(FORMATS)}")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from roster.api.recognition import calibrate
    from roster.log import LOGGER

    fit = calibrate(args.model, args.gold, format=args.format, split=args.split)
    print(json.dumps(fit.as_dict(), indent=2) if args.json else fit.table())
    LOGGER.info(f"fitted to {fit.entities:,} entities; the model's scores are calibrated from now on")
    return 0
