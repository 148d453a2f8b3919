"""The program `roster` of the pages. It hands arguments to a fork of a process that has imported torch."""

from __future__ import annotations

import json
import shutil
import socketserver
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.documentation.table import TABLE
from tests.integration.conftest import Roster

SHIM = """\
#!{python} -SE
import json, os, socket, sys
job = {{"arguments": sys.argv[1:], "cwd": os.getcwd(), "stdin": sys.stdin.read(),
       "cache": os.environ["ROSTER_CACHE"], "train_on": os.environ.get("TRAIN_ON")}}
with socket.socket(socket.AF_UNIX) as link:
    link.connect({address!r})
    link.sendall(json.dumps(job).encode() + b"\\n")
    done = json.loads(link.makefile().readline())
sys.stdout.write(done["out"]); sys.stdout.flush()
sys.stderr.write(done["err"]); sys.stderr.flush()
sys.exit(done["code"])
"""


def with_test_arguments(
    arguments: list[str], given: Mapping[str, str], train_on: str | None = None
) -> list[str]:
    """The arguments of `roster ...` with what `pages.toml` replaces in them and adds to them.

    Args:
        arguments: as the page has them.
        given: what the names in capitals stand for.
        train_on: the data set in the place of that of the page.
    """
    replaced = {shown: given.get(name, name) for shown, name in TABLE["replace"].items()}
    arguments = [replaced.get(part, part) for part in arguments]
    if {"--print-config", "--preset"} & {*arguments}:
        return arguments
    command = arguments[0]
    if command == "train":
        if train_on:
            arguments[1] = train_on
        method = arguments[arguments.index("--method") + 1] if "--method" in arguments else "roster"
        command = f"train {method}"
    added = TABLE["add"].get(command, [])
    if "--backbone" in arguments and "--backbone" in added:  # one of its own, such as bilstm-cnn
        at = added.index("--backbone")
        added = added[:at] + added[at + 2 :]
    return [arguments[0], *(given.get(part, part) for part in added), *arguments[1:]]


@contextmanager
def shim(roster: Roster, given: Mapping[str, str]) -> Iterator[Path]:
    """A folder with the program `roster`."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            job = json.loads(self.rfile.readline())
            arguments = with_test_arguments(job["arguments"], given, job["train_on"])
            with lock:
                done = roster(*arguments, stdin=job["stdin"], cwd=job["cwd"], ROSTER_CACHE=job["cache"])
            reply = {"code": done.code, "out": done.out, "err": done.err}
            self.wfile.write(json.dumps(reply).encode() + b"\n")

    lock = threading.Lock()
    folder = Path(tempfile.mkdtemp(prefix="roster-"))  # short: a socket's address has at most 104 characters
    server = socketserver.ThreadingUnixStreamServer(str(folder / "socket"), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = folder / "roster"
    program.write_text(SHIM.format(python=sys.executable, address=str(folder / "socket")))
    program.chmod(0o755)
    try:
        yield folder
    finally:
        server.shutdown()
        server.server_close()
        shutil.rmtree(folder)
