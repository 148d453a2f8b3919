"""`roster train`"""

from __future__ import annotations

import argparse
from typing import Any

from roster.api.training import effective_config, train
from roster.config import parse_override, to_toml
from roster.corpus.io import FORMATS
from roster.errors import ConfigError
from roster.log import LOGGER
from roster.methods import registry
from roster.methods.request import PRESETS

HELP = """\
Train a recogniser on a data set with distant labels. DATASET is a folder (train_text.txt and
train_label_dist.txt, or train files of any format roster reads) or one labelled file. RUN gets the
config, the log, the results of each stage and, in RUN/model, the model. The same command continues
an interrupted run. Splits with gold labels in DATASET are scored, never learned from;
the sentences of --gold are learned from, with the weight in [gold] of the config. Epochs, rates and all
else that depends on the data are derived from it and from the encoder; the log says how, --set overrides.
"""
EXAMPLE = "roster train news/ -o runs/news --minutes 30"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", nargs="?", help="folder or file with labels")
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN",
        help="run folder; created, or continued if it holds an unfinished run",
    )
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
        help="time budget in minutes; trains fewer members and shorter stages if needed",
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
        help=f"format of the data, if it is not recognised: {', '.join(FORMATS)}",
    )  # fmt: skip
    parser.add_argument(
        "--print-config", action="store_true",
        help="print the effective config and stop; with DATASET, as derived from it",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    options: dict[str, Any] = {
        "format": args.format,
        "method": args.method,
        "backbone": args.backbone,
        "preset": args.preset,
        "minutes": args.minutes,
        "gold": args.gold,
        "config": args.config,
        "overrides": dict(parse_override(text) for text in args.overrides),
    }
    if args.print_config:
        print(to_toml(effective_config(args.dataset, **options)), end="")
        return 0
    if not args.dataset or not args.output:
        raise ConfigError("give a data set and a run folder: roster train DATASET -o RUN")
    train(args.dataset, args.output, **options)
    LOGGER.info(f"the model is in {args.output}/model; try: roster predict {args.output}/model FILE")
    return 0
