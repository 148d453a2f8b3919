"""`roster train`"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from roster.config import Config, to_toml
from roster.corpus.io import FORMATS
from roster.errors import ConfigError
from roster.methods import registry
from roster.methods.request import PRESETS, Request, load_request

HELP = """\
Train a recogniser on a data set with distant labels. DATASET is a folder (train_text.txt and
train_label_dist.txt, or train files of any format roster reads) or one labelled file. RUN gets the
config, the log, the results of each stage and, in RUN/model, the model. The same command goes on
where an interrupted run stopped. Splits with gold labels in DATASET are scored, never learned from;
the sentences of --gold are learned from, and count as [gold] of the config says. Epochs, rates and all
else that depends on the data are derived from it and from the encoder; the log says how, --set overrides.
"""
EXAMPLE = "roster train news/ -o runs/news --minutes 30"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", nargs="?", help="folder or file with labels")
    parser.add_argument("-o", "--output", metavar="RUN", help="run folder; made, or continued")
    parser.add_argument("--method", choices=registry.names(), help="what to train (default: roster)")
    parser.add_argument(
        "--backbone",
        metavar="NAME_OR_DIR",
        help="encoder (default: roster-small-en-2, bundled; bilstm-cnn for bilstm-crf)",
    )
    parser.add_argument(
        "--minutes",
        metavar="N",
        type=float,
        help="time budget: fewer members and shorter stages where needed",
    )
    parser.add_argument(
        "--preset",
        metavar="NAME",
        choices=PRESETS,
        help=f"the paper's own settings, for reproduction: {', '.join(PRESETS)}",
    )
    parser.add_argument(
        "--gold", metavar="FILE", help="a few sentences with true labels, to learn from as well (any format)"
    )
    parser.add_argument("--config", metavar="FILE", help="TOML file of values")
    parser.add_argument("--set", metavar="A.B=VALUE", action="append", default=[], dest="overrides",
                        help="one value of the config; may be repeated")  # fmt: skip
    parser.add_argument(
        "--format", metavar="NAME", choices=FORMATS,
        help=f"format of the data, where it is not recognised: {', '.join(FORMATS)}",
    )  # fmt: skip
    parser.add_argument(
        "--print-config", action="store_true",
        help="print the effective config and stop; with DATASET, as derived from it",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    named = (("method", args.method), ("backbone.name", args.backbone), ("gold.file", args.gold))
    overrides = [*args.overrides, *(pair for pair in named if pair[1])]
    asked = load_request(preset=args.preset, file=args.config, overrides=overrides)
    if args.minutes is not None:
        from roster.methods.budget import check_minutes

        check_minutes(args.minutes, asked)
    if args.print_config:
        print(to_toml(_effective(asked, args)), end="")
        return 0
    if not args.dataset or not args.output:
        raise ConfigError("give a data set and a run folder: roster train DATASET -o RUN")
    from roster.corpus.dataset import load_dataset
    from roster.methods.train import train
    from roster.progress import say_to_stderr

    data = load_dataset(args.dataset, args.format)
    results = train(data, args.output, asked, minutes=args.minutes, log=say_to_stderr)
    say_to_stderr(f"the model is in {args.output}/model; try: roster predict {args.output}/model FILE")
    for line in ending(results):
        say_to_stderr(line)
    return 0


def _effective(asked: Request, args: argparse.Namespace) -> Config:
    if not args.dataset or asked.preset is not None:
        return asked.config()
    from roster.corpus.dataset import load_dataset
    from roster.methods.defaults import settle
    from roster.methods.facts import facts_of

    data = load_dataset(args.dataset, args.format)
    return settle(asked, facts_of(asked.config(), data.train), args.minutes)[0]


def ending(results: Mapping[str, Any]) -> list[str]:
    """What a user should know of a finished run: types that were not learned, and what to do.

    >>> ending({"warnings": ["ORG: the model finds 2 of the 50 labels in its own training text"]})[0]
    'warning: ORG: the model finds 2 of the 50 labels in its own training text'
    """
    warnings = results.get("warnings", [])
    found = [f"warning: {warning}" for warning in warnings]
    if warnings:
        found.append(
            "either most labels of such a type are wrong, or there are too few to learn from: look at its "
            "names in the report of roster label, add names or text, or compare with --method fine-tune"
        )
    return found
