"""`roster predict`"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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
"""
EXAMPLE = 'echo "Swiss Bank Corp sets warrants." | roster predict runs/news/model'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model folder, or run folder")
    parser.add_argument(
        "input", metavar="INPUT", nargs="?", default="-", help="file or folder (default: standard input)"
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write (default: standard output)")
    parser.add_argument("--format", metavar="NAME", choices=FORMATS,
                        help=f"format of INPUT, if not recognised: {', '.join(FORMATS)}")  # fmt: skip
    parser.add_argument(
        "--to", metavar="NAME", choices=FORMATS, help="format of OUT, if its name does not tell it"
    )
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as test")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")


def run(args: argparse.Namespace) -> int:
    from roster.api.recognition import predict, predict_file
    from roster.infer.recogniser import load

    if args.to and not args.output:
        raise ConfigError("--to needs a file to write: give -o OUT")
    source = _stdin() if args.input == "-" else args.input
    options = {"format": args.format, "split": args.split, "device": args.device}
    if args.output:
        predict_file(args.model, source, args.output, to=args.to, **options)
        return 0
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # JSON is UTF-8, whatever the encoding of the terminal
    if args.input == "-" and sys.stdin.isatty():
        _answer_each_line(load(args.model, args.device))
        return 0
    for record in predict(args.model, source, **options):
        print(json.dumps(record, ensure_ascii=False))
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
