"""`roster serve`"""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from roster.cli.options import positive
from roster.errors import ConfigError

if TYPE_CHECKING:
    from roster.serving.extension import Extension
    from roster.serving.logs import Log

HELP = """\
Answer requests over HTTP, and show a page at / to mark texts, correct the entities and export them. POST
/predict finds entities in texts; /explain has the dictionary entries behind a name; /models, /health, /ready,
/metrics and /openapi.json tell about the service. Each MODEL is a model folder or a run folder; NAME=FOLDER
gives it a name. Requests at the same time are computed together. The service listens on this machine only,
unless --host says otherwise, which needs a token or --allow-anonymous. With --token-file, or a token in the
variable ROSTER_SERVE_TOKEN, requests need it. With --projects, the page /projects
takes text and names to a model: label, train, audit, review, try.
SIGTERM or Ctrl-C ends it, after the requests under way are answered. Standard output has one JSON object a
line: one for each request, without its text.
"""
EXAMPLE = """\
roster serve news=runs/news drugs=drugs-int8 --port 8080
  roster serve --projects projects"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models", metavar="MODEL", nargs="*", help="model folder, export or run folder; or NAME=FOLDER"
    )
    parser.add_argument("--projects", metavar="FOLDER",
                        help="train models on the page /projects; FOLDER keeps the projects")  # fmt: skip
    parser.add_argument("--host", metavar="H", default="127.0.0.1",
                        help="address to listen on (default: 127.0.0.1, this machine only)")  # fmt: skip
    parser.add_argument("--port", metavar="N", type=int, default=8000,
                        help="port; 0 takes a free one (default: 8000)")  # fmt: skip
    parser.add_argument("--token-file", metavar="FILE", help="file with accepted tokens, one a line")
    parser.add_argument("--allow-host", metavar="NAME", action="append", default=[],
                        help="a name of this service, behind a proxy and without a token")  # fmt: skip
    parser.add_argument("--allow-anonymous", action="store_true",
                        help="no token, although --host is an address that other machines reach")  # fmt: skip
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
    parser.add_argument("--max-upload", metavar="BYTES", type=int, default=200 * 2**20,
                        help="with --projects: largest uploaded file (default: 209715200)")  # fmt: skip
    parser.add_argument("--max-connections", metavar="N", type=int, default=512,
                        help="most open connections (default: 512)")  # fmt: skip
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=30.0,
                        help="longest time of a request (default: 30)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    positive(args, "max_body", "max_characters", "max_texts", "max_sentence", "max_requests",
             "max_connections", "max_upload", "timeout")  # fmt: skip
    if not args.models and not args.projects:
        raise ConfigError("give a model, or a folder for projects: roster serve --projects FOLDER")
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
        connections=args.max_connections,
    )
    log = json_log(sys.stdout)
    serve(args.models, host=args.host, port=args.port, token_file=args.token_file, device=args.device,
          audits=args.audit, limits=limits, log=log, extension=_projects(args, log),
          allow_anonymous=args.allow_anonymous, allow_hosts=args.allow_host)  # fmt: skip
    return 0


def _projects(args: argparse.Namespace, log: Log) -> Extension | None:
    if not args.projects:
        return None
    from roster.api.serving import needs_extra

    with needs_extra():
        from roster.projects.project import Projects
        from roster.projects.settings import ProjectLimits
        from roster.projects.workshop import extension
        from roster.serving.server import is_loopback
    hosts = frozenset(args.allow_host) if is_loopback(args.host) or args.allow_host else None
    command = [sys.executable, "-m", "roster.cli.observed"]
    projects = Projects(args.projects, ProjectLimits(upload=args.max_upload))
    return extension(projects, command, hosts=hosts, device=args.device, log=log)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(0)
