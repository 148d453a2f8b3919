"""`roster predict`"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.corpus.formats.records import grouped
from roster.corpus.formats.textfile import decoded
from roster.corpus.io import FORMATS, read, write
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import split
from roster.errors import ConfigError
from roster.files import atomic, refuse_input

if TYPE_CHECKING:
    from roster.infer.recogniser import Found, Recogniser

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
        "--to", metavar="NAME", choices=FORMATS, help="format of OUT, where its name does not say it"
    )
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as test")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")


def run(args: argparse.Namespace) -> int:
    from roster.infer.recogniser import load

    if args.to and not args.output:
        raise ConfigError("--to needs a file to write: give -o OUT")
    if args.output:
        refuse_input(args.output, [args.model, *([args.input] if args.input != "-" else [])])
    ner = load(args.model, args.device)
    if args.output is None and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # JSON, whatever the terminal's own encoding is
    if args.input == "-" and args.output is None and sys.stdin.isatty():
        return _answer_each_line(ner)
    found = _counted(ner.find(_input(args)))
    if args.output is None:
        for record in _records(found):
            print(json.dumps(record, ensure_ascii=False))
        return 0
    from roster.corpus.io import format_of_name

    if (args.to or format_of_name(Path(args.output))) == "jsonl":
        with atomic(args.output) as file:
            for record in _records(found):
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    else:
        write(args.output, (one.sentence for one in found), args.to)
    return 0


def _answer_each_line(ner: Recogniser) -> int:
    """A person who types waits for each answer; only a stream is read in batches."""
    for number, line in decoded(sys.stdin.buffer, Path("standard input")):
        found = list(ner.find(split(line, str(number))))
        print(json.dumps(_record(found), ensure_ascii=False), flush=True)
    return 0


def _counted(found: Iterator[Found]) -> Iterator[Found]:
    from roster.progress import bar

    with bar(description="predict", unit="sentence") as progress:
        for one in found:
            yield one
            progress.update()


def _records(found: Iterable[Found]) -> Iterator[dict[str, Any]]:
    """One record for each document, in order."""
    return map(_record, grouped(found, lambda one: one.sentence))


def _record(group: list[Found]) -> dict[str, Any]:
    first = group[0].sentence
    spans = [entity.as_dict() for one in group for entity in one.entities]
    return {**({"id": first.doc} if first.doc else {}), "text": first.text, "spans": spans}


def _input(args: argparse.Namespace) -> Iterable[Sentence]:
    return _stdin() if args.input == "-" else read(args.input, args.format, split=args.split)


def _stdin() -> Iterator[Sentence]:
    for number, line in decoded(sys.stdin.buffer, Path("standard input")):
        yield from split(line, str(number))
