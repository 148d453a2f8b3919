"""`roster convert`"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from roster.corpus.io import FORMATS, read, write
from roster.corpus.sentence import Sentence
from roster.corpus.tags import SCHEMES
from roster.files import refuse_input
from roster.progress import bar

HELP = "Change the format of data, one sentence at a time. The formats:\n" + "".join(
    f"\n  {name:9} {form.about}" for name, form in FORMATS.items()
)
EXAMPLE = "roster convert train.conll train.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help="file or folder to read")
    parser.add_argument("output", metavar="OUT", help="file or folder to write")
    parser.add_argument("--from", metavar="NAME", dest="from_format", choices=FORMATS,
                        help="format of IN, where it is not recognised")  # fmt: skip
    parser.add_argument("--to", metavar="NAME", dest="to_format", choices=FORMATS,
                        help="format of OUT, where its name does not say it")  # fmt: skip
    parser.add_argument("--scheme", choices=SCHEMES, default="BIO", help="tags to write (default: BIO)")
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as train")
    parser.add_argument(
        "--labels", choices=("dist", "true"), help="which label file of a file of lines to read or write"
    )


def run(args: argparse.Namespace) -> int:
    refuse_input(args.output, [args.input])
    sentences = read(args.input, args.from_format, split=args.split, labels=args.labels)
    count = 0
    with bar(description="convert", unit="sentence") as progress:

        def counted() -> Iterator[Sentence]:
            nonlocal count
            for sentence in sentences:
                count += 1
                progress.update()
                yield sentence

        write(args.output, counted(), args.to_format, args.scheme, labels=args.labels)
    print(f"wrote {count} sentences to {args.output}", file=sys.stderr)
    return 0
