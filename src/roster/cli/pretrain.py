"""`roster pretrain`"""

from __future__ import annotations

import argparse
from typing import Any

HELP = """\
Train a backbone on plain text with masked language modelling: from random weights, from another encoder
(domain adaptation), or from a larger model, the teacher (distillation). CORPUS is plain text, compressed or
not; an empty line ends a document, each line is a paragraph. The result is a folder for the option
--backbone of other commands. Run the same command again to resume an interrupted training.
"""
EXAMPLE = "roster pretrain abstracts.txt.gz --from roberta-base --minutes 30 -o medical-roberta"
FLAGS: dict[str, tuple[str, Any, str]] = {
    "teacher": ("BACKBONE", str, "masked language model to distil; the student takes its vocabulary"),
    "layers": ("N", str, "number of layers, or the layers of the first model to keep (0,2,4)"),
    "width": ("N", int, "size of the hidden states"),
    "heads": ("N", int, "number of attention heads"),
    "inner": ("N", int, "units of the feed-forward networks"),
    "vocab": ("N", int, "size of a new vocabulary (default: 24,000), or to which another one is reduced"),
    "steps": ("N", int, "number of training steps"),
    "minutes": ("N", float, "training time in minutes (default: ten passes over the text)"),
    "batch": ("N", int, "sequences per step (default: 256)"),
    "length": ("N", int, "sub-words per sequence (default: 192)"),
    "rate": ("X", float, "peak learning rate (default: 5e-4)"),
    "seed": ("N", int, "random seed (default: 30)"),
    "device": ("NAME", str, "auto, cpu, cuda, ..."),
}
NAMES = {"vocab": "vocabulary"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "corpus", metavar="CORPUS", nargs="*", help="text files (.gz, .bz2, .xz too) or folders of them"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for the backbone")
    parser.add_argument("--from", dest="start", metavar="BACKBONE",
                        help="encoder or masked LM to start from (default: random weights)")  # fmt: skip
    for name, (metavar, kind, text) in FLAGS.items():
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=text)
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], dest="overrides",
                        help="set another setting; may be repeated")  # fmt: skip
    parser.add_argument("--print-settings", action="store_true", help="print all settings and stop")


def run(args: argparse.Namespace) -> int:
    from roster.config import parse_override, to_toml
    from roster.errors import ConfigError
    from roster.pretraining.settings import load_settings

    values = dict(parse_override(text) for text in args.overrides)
    named = {NAMES.get(name, name): getattr(args, name) for name in ("start", *FLAGS)}
    values.update({name: value for name, value in named.items() if value is not None})
    if args.print_settings:
        print(to_toml(load_settings(values)), end="")
        return 0
    if not args.corpus or not args.output:
        raise ConfigError("CORPUS and --output are required: roster pretrain CORPUS -o BACKBONE")
    from roster.api.training import pretrain

    pretrain(args.corpus, args.output, **values)
    return 0
