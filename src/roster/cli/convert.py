"""`roster convert`"""

from __future__ import annotations

import argparse

from roster.api.data import convert
from roster.corpus.io import FORMATS
from roster.corpus.tags import SCHEMES
from roster.log import LOGGER

HELP = "Change the format of data, one sentence at a time. The formats:\n" + "".join(
    f"\n  {name:11} {form.about}" for name, form in FORMATS.items()
)
EXAMPLE = "roster convert train.conll train.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help="file or folder to read")
    parser.add_argument("output", metavar="OUT", help="file or folder to write")
    parser.add_argument("--from", metavar="NAME", dest="from_format", choices=FORMATS,
                        help="format of IN, if it is not recognised")  # fmt: skip
    parser.add_argument("--to", metavar="NAME", dest="to_format", choices=FORMATS,
                        help="format of OUT, if its name does not tell it")  # fmt: skip
    parser.add_argument("--scheme", choices=SCHEMES, default="BIO", help="tags to write (default: BIO)")
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as train")
    parser.add_argument(
        "--labels",
        choices=("dist", "true"),
        help="which label file beside a file of lines to read or write; with true, labels for Label Studio "
        "are written as annotations, not as predictions",
    )


def run(args: argparse.Namespace) -> int:
    count = convert(
        args.input,
        args.output,
        format=args.from_format,
        to=args.to_format,
        scheme=args.scheme,
        split=args.split,
        labels=args.labels,
    )
    LOGGER.info(f"wrote {count} sentences to {args.output}")
    return 0
