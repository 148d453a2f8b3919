"""`python -m benchmarks soak`"""

from __future__ import annotations

import argparse

from benchmarks.options import output
from roster.cli.options import positive

SUMMARY = "roster serve under a storm of honest, slow, rude and broken clients: right answers, bounded memory"
HELP = """\
Serves each MODEL (a model folder, an export or a run) and sends it requests from many clients at once: right
ones, whose answers are compared with those of the model alone; bodies of 0 bytes to 10 MB; slow senders and
readers; clients that go away; wrong JSON, Unicode, headers and methods; bodies and heads without an end.
Notes what is served and refused, times, memory and open files. Fails if an answer is wrong or missing, if a
refusal lacks Retry-After, if the service does not answer as before afterwards, or if its exit code is not 0.
Everything runs on this machine. Without --text, the text is synthetic.
"""
EXAMPLE = "python -m benchmarks soak news-int8 --clients 300 --seconds 300 -o soak.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="+", help="model folder, export, or run folder")
    parser.add_argument("--text", metavar="FILE", help="text whose sentences are sent, any format")
    parser.add_argument("--clients", metavar="N", type=int, default=200,
                        help="clients at the same time (default: 200)")  # fmt: skip
    parser.add_argument("--seconds", metavar="S", type=float, default=60.0,
                        help="length of the storm (default: 60)")  # fmt: skip
    parser.add_argument("--serve", metavar="OPTIONS", default="",
                        help="further options of roster serve, such as '--max-requests 32'")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from benchmarks.soak.run import run
    from roster.progress import say_to_stderr

    positive(args, "clients", "seconds")
    report = run(args.models, args.text, clients=args.clients, seconds=args.seconds,
                 options=args.serve.split(), log=say_to_stderr)  # fmt: skip
    return output(args, report, report.failed())
