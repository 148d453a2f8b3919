"""`roster convert`"""

from __future__ import annotations

import argparse

from roster.api.data import convert
from roster.cli.options import add_shards, by_shards
from roster.corpus.io import FORMATS
from roster.corpus.tags import SCHEMES
from roster.errors import ConfigError
from roster.log import LOGGER

HELP = "Change the format of data, one sentence at a time. The formats:\n" + "".join(
    f"\n  {name:11} {form.about}" for name, form in FORMATS.items()
)
EXAMPLE = """\
roster convert train.conll train.jsonl
  roster convert 'news/*.txt' news-parquet --to parquet --engine local"""


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
    add_shards(parser)


def run(args: argparse.Namespace) -> int:
    if by_shards(args, args.input, args.output):
        return _shards(args)
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


def _shards(args: argparse.Namespace) -> int:
    from roster.api.sharding import convert_shards

    if args.split:
        raise ConfigError("shards are made from files; give the files of one split, and no --split")
    result = convert_shards(
        args.input,
        args.output,
        format=args.from_format,
        to=args.to_format or "jsonl",
        scheme=args.scheme,
        labels=args.labels,
        engine=args.engine,
        address=args.address,
        shard_size=args.shard_size,
    )
    LOGGER.info(f"wrote {result.counts['sentences']} sentences as {result.shards} shards to {args.output}")
    return 0
