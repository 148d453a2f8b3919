"""`roster train`"""

from __future__ import annotations

import argparse

from roster.config import METHODS, PRESETS, load_config, to_toml
from roster.corpus.io import FORMATS

HELP = """\
Train a recogniser on a data set with distant labels. DATASET is a folder (train_text.txt and
train_label_dist.txt, or train files of any format roster reads) or one labelled file. RUN gets the
config, the log, the results of each stage and, in RUN/model, the model. The same command goes on
where an interrupted run stopped. Splits with gold labels in DATASET are scored, never learned from;
the sentences of --gold are learned from, and count as [gold] of the config says.
"""
EXAMPLE = "roster train news/ -o runs/news --preset small --set seed=7"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", nargs="?", help="folder or file with labels")
    parser.add_argument("-o", "--output", metavar="RUN", help="run folder; made, or continued")
    parser.add_argument("--method", choices=METHODS, help="what to train (default: roster)")
    parser.add_argument(
        "--backbone",
        metavar="NAME_OR_DIR",
        help="encoder (default: roster-small-en-2, bundled; bilstm-cnn for bilstm-crf)",
    )
    parser.add_argument(
        "--preset", metavar="NAME", choices=PRESETS, help=f"values for a kind of data: {', '.join(PRESETS)}"
    )
    parser.add_argument(
        "--gold", metavar="FILE", help="a few sentences with true labels, to learn from as well (any format)"
    )
    parser.add_argument("--config", metavar="FILE", help="TOML file with values that differ from the preset")
    parser.add_argument("--set", metavar="A.B=VALUE", action="append", default=[], dest="overrides",
                        help="one value of the config; may be repeated")  # fmt: skip
    parser.add_argument(
        "--format", metavar="NAME", choices=FORMATS,
        help=f"format of the data, where it is not recognised: {', '.join(FORMATS)}",
    )  # fmt: skip
    parser.add_argument("--print-config", action="store_true", help="print the effective config and stop")


def run(args: argparse.Namespace) -> int:
    named = (("method", args.method), ("backbone.name", args.backbone), ("gold.file", args.gold))
    overrides = [*args.overrides, *(pair for pair in named if pair[1])]
    config = load_config(preset=args.preset, file=args.config, overrides=overrides)
    if args.print_config:
        print(to_toml(config), end="")
        return 0
    if not args.dataset or not args.output:
        from roster.errors import ConfigError

        raise ConfigError("give a data set and a run folder: roster train DATASET -o RUN")
    from roster.corpus.dataset import load_dataset
    from roster.learn.train import train
    from roster.progress import say_to_stderr

    train(load_dataset(args.dataset, args.format), args.output, config, log=say_to_stderr)
    say_to_stderr(f"the model is in {args.output}/model; try: roster predict {args.output}/model FILE")
    return 0
