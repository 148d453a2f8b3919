"""`roster serve`"""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType
from typing import NoReturn

from roster.cli.options import positive

HELP = """\
Answer requests over HTTP, and show a page at / to mark texts, correct the entities and export them. POST
/predict finds entities in texts; /explain has the dictionary entries behind a name; /models, /health, /ready,
/metrics and /openapi.json tell about the service. Each MODEL is a model folder or a run folder; NAME=FOLDER
gives it a name. Requests at the same time are computed together. The service listens on this machine only,
unless --host says otherwise. With --token-file, or a token in the variable ROSTER_SERVE_TOKEN, requests need
it. SIGTERM or Ctrl-C ends it, after the requests under way are answered. Standard output has one JSON object
a line: one for each request, without its text.
"""
EXAMPLE = "roster serve news=runs/news drugs=drugs-int8 --port 8080"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models", metavar="MODEL", nargs="+", help="model folder, export or run folder; or NAME=FOLDER"
    )
    parser.add_argument("--host", metavar="H", default="127.0.0.1",
                        help="address to listen on (default: 127.0.0.1, this machine only)")  # fmt: skip
    parser.add_argument("--port", metavar="N", type=int, default=8000,
                        help="port; 0 takes a free one (default: 8000)")  # fmt: skip
    parser.add_argument("--token-file", metavar="FILE", help="file with accepted tokens, one a line")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    parser.add_argument("--audit", metavar="[NAME=]FOLDER", action="append", default=[],
                        help="audit of a model, where it is not in its run folder")  # fmt: skip
    parser.add_argument("--max-body", metavar="BYTES", type=int, default=2 * 2**20,
                        help="largest body of a request (default: 2097152)")  # fmt: skip
    parser.add_argument("--max-characters", metavar="N", type=int, default=100_000,
                        help="most characters of a request (default: 100000)")  # fmt: skip
    parser.add_argument("--max-texts", metavar="N", type=int, default=256,
                        help="most texts of a request (default: 256)")  # fmt: skip
    parser.add_argument("--max-sentence", metavar="WORDS", type=int, default=4096,
                        help="most words of a sentence (default: 4096)")  # fmt: skip
    parser.add_argument("--max-requests", metavar="N", type=int, default=128,
                        help="most requests under way; others are refused (default: 128)")  # fmt: skip
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=30.0,
                        help="longest time of a request (default: 30)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    positive(args, "max_body", "max_characters", "max_texts", "max_sentence", "max_requests", "timeout")
    signal.signal(signal.SIGTERM, _end)  # until the service runs, and handles it itself
    from roster.api.serving import serve
    from roster.serving.logs import json_log
    from roster.serving.settings import Limits

    limits = Limits(
        body=args.max_body,
        characters=args.max_characters,
        texts=args.max_texts,
        sentence_words=args.max_sentence,
        seconds=args.timeout,
        requests=args.max_requests,
    )
    serve(args.models, host=args.host, port=args.port, token_file=args.token_file, device=args.device,
          audits=args.audit, limits=limits, log=json_log(sys.stdout))  # fmt: skip
    return 0


def _end(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(0)
