"""`roster pretrain`"""

from __future__ import annotations

import argparse
from typing import Any

HELP = """\
Make a backbone from plain text: masked-language-model training from nothing, or from another encoder (for
the language of a field: medicine, law), or with a teacher, a larger model that a smaller one learns from.
CORPUS is plain text, compressed or not; an empty line ends a document, each line is a paragraph. The result
is a folder that --backbone takes everywhere else. The same command goes on where it was stopped.
"""
EXAMPLE = "roster pretrain abstracts.txt.gz --from roberta-base --minutes 30 -o medical-roberta"
FLAGS: dict[str, tuple[str, Any, str]] = {
    "teacher": ("BACKBONE", str, "masked language model to learn from; the student gets its vocabulary"),
    "layers": ("N", str, "layers of the model, or which of the first one's (0,2,4)"),
    "width": ("N", int, "size of its states"),
    "heads": ("N", int, "its attention heads"),
    "inner": ("N", int, "units of its feed-forward networks"),
    "vocab": ("N", int, "entries of a new vocabulary (default: 24,000), or to cut another to"),
    "steps": ("N", int, "length of the training in steps"),
    "minutes": ("N", float, "or in minutes (default: ten passes over the text)"),
    "batch": ("N", int, "sequences in one step (default: 256)"),
    "length": ("N", int, "sub-words in a sequence (default: 192)"),
    "rate": ("X", float, "peak learning rate (default: 5e-4)"),
    "seed": ("N", int, "everything random follows from it (default: 30)"),
    "device": ("NAME", str, "auto, cpu, cuda, ..."),
}
NAMES = {"vocab": "vocabulary"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "corpus", metavar="CORPUS", nargs="*", help="text files (.gz, .bz2, .xz too) or folders of them"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for the backbone")
    parser.add_argument("--from", dest="start", metavar="BACKBONE",
                        help="encoder or masked LM to start from (default: from nothing)")  # fmt: skip
    for name, (metavar, kind, text) in FLAGS.items():
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=text)
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], dest="overrides",
                        help="any other setting; may be repeated")  # fmt: skip
    parser.add_argument("--print-settings", action="store_true", help="print all settings and stop")


def run(args: argparse.Namespace) -> int:
    from roster.config import parse_override, to_toml
    from roster.errors import ConfigError
    from roster.pretraining.settings import load_settings

    values = dict(parse_override(text) for text in args.overrides)
    named = {NAMES.get(name, name): getattr(args, name) for name in ("start", *FLAGS)}
    settings = load_settings(
        {**values, **{name: value for name, value in named.items() if value is not None}}
    )
    if args.print_settings:
        print(to_toml(settings), end="")
        return 0
    if not args.corpus or not args.output:
        raise ConfigError("give text and a folder: roster pretrain CORPUS -o BACKBONE")
    from roster.pretraining.pretrain import pretrain
    from roster.progress import say_to_stderr

    pretrain(args.corpus, args.output, settings, log=say_to_stderr)
    return 0
