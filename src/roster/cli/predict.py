"""`roster predict`"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from roster.cli.options import add_shards, by_shards
from roster.corpus.formats.textfile import decoded
from roster.corpus.io import FORMATS
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import sentences
from roster.errors import ConfigError

if TYPE_CHECKING:
    from roster.infer.recogniser import Recogniser

HELP = """\
Find entities. INPUT is a file of any format roster reads, a folder of .txt files, or standard input
(one text a line). The result is JSON lines, one document each: its text and its spans with label,
start, end (characters of that text) and score; with another name for OUT, or --to, any other format.

With a folder as OUT, --engine or a URL, INPUT is cut into shards, each of which is a file in OUT and
written once: the same command goes on where it was interrupted. INPUT is then a file, a folder of files
of one format, or a pattern; each file of a folder of .txt files is a document, each line of those that a
pattern names.
"""
EXAMPLE = """\
echo "Swiss Bank Corp sets warrants." | roster predict runs/news/model
  roster predict runs/news 'news/*.txt' -o entities/
  roster predict runs/news s3://bucket/news -o s3://bucket/entities --engine ray --address auto"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model folder, or run folder")
    parser.add_argument(
        "input", metavar="INPUT", nargs="?", default="-", help="file or folder (default: standard input)"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="file or folder to write (default: standard output)"
    )
    parser.add_argument("--format", metavar="NAME", choices=FORMATS,
                        help=f"format of INPUT, if not recognised: {', '.join(FORMATS)}")  # fmt: skip
    parser.add_argument(
        "--to", metavar="NAME", choices=FORMATS, help="format of OUT, if its name does not tell it"
    )
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as test")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    add_shards(parser)


def run(args: argparse.Namespace) -> int:
    from roster.api.recognition import predict, predict_file
    from roster.infer.recogniser import load

    if args.to and not args.output:
        raise ConfigError("--to needs a file to write: give -o OUT")
    if by_shards(args, args.input, args.output) or _is_folder(args):
        return _shards(args)
    source = _stdin() if args.input == "-" else args.input
    options = {"format": args.format, "split": args.split, "device": args.device}
    if args.output:
        predict_file(args.model, source, args.output, to=args.to, **options)
        return 0
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # JSON is UTF-8, whatever the encoding of the terminal
    if args.input == "-" and sys.stdin.isatty():
        _answer_each_line(load(args.model, args.device))
        return 0
    for record in predict(args.model, source, **options):
        print(json.dumps(record, ensure_ascii=False))
    return 0


def _is_folder(args: argparse.Namespace) -> bool:
    """Whether OUT is a folder: there is one, or its name has neither a suffix nor a format beside it."""
    if not args.output:
        return False
    path = Path(args.output)
    found = path.is_dir() or args.output.endswith(os.sep) or not (path.suffix or args.to or path.exists())
    if found:
        args.engine, args.resumes = "local", True
    return found


def _shards(args: argparse.Namespace) -> int:
    from roster.api.sharding import predict_shards
    from roster.log import LOGGER

    if args.input == "-" or not args.output or args.split:
        raise ConfigError(
            "shards are made from files, and written into a folder: give INPUT and -o OUT, no --split"
        )
    result = predict_shards(
        args.model,
        args.input,
        args.output,
        format=args.format,
        to=args.to,
        device=args.device,
        engine=args.engine,
        address=args.address,
        shard_size=args.shard_size,
    )
    counts = result.counts
    LOGGER.info(
        f"{counts['entities']:,} entities in {counts['sentences']:,} sentences; {result.shards} shards in "
        f"{args.output}"
    )
    return 0


def _answer_each_line(ner: Recogniser) -> None:
    """Answers each line at once, for input that is typed; other input is read in batches."""
    from roster.infer.documents import records

    for number, line in decoded(sys.stdin.buffer, Path("standard input")):
        for record in records(ner.find(sentences(line, str(number)))):
            print(json.dumps(record, ensure_ascii=False), flush=True)


def _stdin() -> Iterator[Sentence]:
    for number, line in decoded(sys.stdin.buffer, Path("standard input")):
        yield from sentences(line, str(number))
