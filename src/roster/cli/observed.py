"""`python -m roster.cli.observed LOCK EVENTS COMMAND ...`: a command of `roster` that can be observed.

The process holds the lock file LOCK until it ends, however it ends, and adds JSON objects to the file EVENTS:

    {"event": "begin", "pid": 4711}
    {"event": "progress", "stage": "member-0", "done": 59, "total": 161, ...}    the state of a bar
    {"event": "end", "code": 0}                                                  the exit code

Without an `end` the process was killed. SIGTERM ends the command as Ctrl-C does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from roster.errors import RunError
from roster.files import lock

if TYPE_CHECKING:
    from filelock import BaseFileLock

PATIENCE = 1.0
"""Seconds to wait for the lock."""
IN_USE = 3
"""Exit code if another process holds the lock."""


def observed(lock_file: Path, events: Path, arguments: Sequence[str]) -> int:
    """Runs a command; returns its exit code."""
    try:
        held = _lock(lock_file)
    except RunError as error:
        print(f"roster: {error}", file=sys.stderr)
        return IN_USE
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # The commands' own end (`gc.freeze`, exit codes) is in `entry`, which reads sys.argv.
    sys.argv = ["roster", *arguments]
    code = 1
    with events.open("a", encoding="utf-8") as file:
        write_event(file, "begin", pid=os.getpid())
        try:
            from roster.cli.main import entry
            from roster.progress import watched

            with watched(lambda state: write_event(file, "progress", **state)):
                entry()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except KeyboardInterrupt:
            code = 130
        finally:
            write_event(file, "end", code=code)
            held.release()
    return code


def _lock(path: Path) -> BaseFileLock:
    """Holds the lock file. Whoever looks whether it is held holds it for a moment, which is waited for."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return lock(path, f"{path} is held by another command")
        except RunError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def write_event(file: IO[str], event: str, **fields: Any) -> None:
    """One line, at once."""
    file.write(json.dumps({"event": event, **fields}) + "\n")
    file.flush()


if __name__ == "__main__":
    sys.exit(observed(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
