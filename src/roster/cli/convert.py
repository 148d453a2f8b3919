"""`roster convert`: between data formats, one sentence at a time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

from roster.corpus.io import FORMATS, read, write
from roster.corpus.sentence import Sentence
from roster.corpus.tags import SCHEMES

HELP = "convert between data formats"
EXAMPLE = "roster convert train.conll train.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    formats = "; ".join(f"{name}: {form.about}" for name, form in FORMATS.items())
    parser.add_argument("input", metavar="IN", help="file or folder to read")
    parser.add_argument("output", metavar="OUT", help="file or folder to write")
    parser.add_argument(
        "--from", dest="from_format", choices=FORMATS, help=f"format of IN (recognised); {formats}"
    )
    parser.add_argument("--to", dest="to_format", choices=FORMATS, help="format of OUT (by its name)")
    parser.add_argument("--scheme", choices=SCHEMES, default="BIO", help="tags to write (%(default)s)")
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as train")
    parser.add_argument(
        "--labels", choices=("dist", "true"), help="which label file of a file of lines to read or write"
    )


def run(args: argparse.Namespace) -> int:
    counter = _Counter(read(args.input, args.from_format, split=args.split, labels=args.labels))
    write(args.output, counter, args.to_format, args.scheme, labels=args.labels)
    print(f"wrote {counter.count} sentences to {args.output}", file=sys.stderr)
    return 0


class _Counter:
    """Sentences passed through, and how many there were."""

    def __init__(self, sentences: Iterable[Sentence]):
        self.sentences = sentences
        self.count = 0

    def __iter__(self) -> Iterator[Sentence]:
        for sentence in self.sentences:
            self.count += 1
            yield sentence
