"""`python -m benchmarks serving`"""

from __future__ import annotations

import argparse

from benchmarks.options import add_runs, limits, output
from roster.cli.options import positive

SUMMARY = "requests per second and latency of roster serve, and of the transformers pipeline behind it"
HELP = """\
Requests per second, median and 99th percentile of the time to an answer, for several numbers of clients
that send one sentence after the other. Each MODEL (a model folder, an export or a run) is served by a
process of its own, and the transformers pipeline with the same weights by the same application; they take
turns. The clients run on the same machine. Without --text, the text is synthetic.
"""
EXAMPLE = "python -m benchmarks serving runs/news news-int8 --text news.txt -o serving.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="+", help="model folder, export, or run folder")
    parser.add_argument("--text", metavar="FILE", help="text whose sentences are sent, any format")
    parser.add_argument("--clients", metavar="N", nargs="+", type=int, default=[1, 8, 64],
                        help="numbers of clients (default: 1 8 64)")  # fmt: skip
    parser.add_argument("--seconds", metavar="S", type=float, default=10.0,
                        help="seconds of each measurement (default: 10)")  # fmt: skip
    parser.add_argument("--no-pipeline", action="store_true", help="without the transformers pipeline")
    add_runs(parser, repeat=3, limit=600, memory=False)


def run(args: argparse.Namespace) -> int:
    from benchmarks.serving.run import run
    from roster.progress import say_to_stderr

    positive(args, "clients", "seconds")
    report = run(
        args.models,
        args.text,
        clients=args.clients,
        seconds=args.seconds,
        pipeline=not args.no_pipeline,
        repeat=args.repeat,
        limits=limits(args),
        log=say_to_stderr,
    )
    return output(args, report, report.failed())
