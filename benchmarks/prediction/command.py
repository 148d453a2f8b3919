"""`python -m benchmarks prediction`"""

from __future__ import annotations

import argparse

from benchmarks.options import add_runs, limits, output
from roster.cli.options import positive

SUMMARY = "words per second of trained models: ours, the transformers pipeline, spaCy"
HELP = """\
Speed and memory of finding entities in a text: our recogniser on each MODEL (a model folder, an export
or a run), the transformers pipeline with the same weights, and spaCy's entity recogniser, each in
processes of its own that take turns and may use all cores. Without a file, the text is synthetic.
"""
EXAMPLE = "python -m benchmarks prediction runs/news news-int8 --gold test.conll -o speed.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from benchmarks.prediction.systems import SYSTEMS

    parser.add_argument("models", metavar="MODEL", nargs="+", help="model folder, export, or run folder")
    parser.add_argument("--text", metavar="FILE", help="text to read, any format")
    parser.add_argument(
        "--gold",
        metavar="FILE",
        help="labelled file for F1 of each MODEL; also the text, without --text",
    )
    parser.add_argument(
        "--words", metavar="N", type=int, help="number of words to read (default: all; synthetic text: 50000)"
    )
    parser.add_argument(
        "--systems",
        metavar="NAME",
        nargs="+",
        choices=tuple(SYSTEMS),
        default=list(SYSTEMS),
        help=f"systems to measure; ours always is (default: {' '.join(SYSTEMS)})",
    )
    parser.add_argument(
        "--spacy",
        metavar="NAME",
        help="an installed spaCy pipeline (default: one with the architecture of the small English pipeline)",
    )
    parser.add_argument(
        "--sizes",
        metavar="MB",
        nargs="+",
        type=float,
        default=[],
        help="also benchmark ours on inputs of N MB (the text is repeated)",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    add_runs(parser, repeat=3, limit=3600)


def run(args: argparse.Namespace) -> int:
    from benchmarks.prediction.run import BESIDE, run
    from roster.progress import say_to_stderr

    positive(args, "words", "sizes")
    report = run(
        args.models,
        args.text,
        gold=args.gold,
        beside=[name for name in BESIDE if name in args.systems],
        spacy=args.spacy,
        words=args.words,
        sizes=args.sizes,
        repeat=args.repeat,
        device=args.device,
        limits=limits(args),
        log=say_to_stderr,
    )
    return output(args, report, report.failed())
