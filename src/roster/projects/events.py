"""What is known of a command from outside: its events (`roster.cli.observed`), its log, its lock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.errors import RunError
from roster.files import lock

TAIL = 64 * 2**10
"""Bytes at the end of a file that are read."""
LINES = 200
ERROR = "roster: "
"""Begins the line of a command that ends in an error."""


@dataclass(frozen=True)
class Observed:
    """The events of a command: whether it has begun, its exit code or None, the last state of its bar."""

    begun: bool = False
    code: int | None = None
    progress: dict[str, Any] | None = None


def read_events(path: Path) -> Observed:
    """Reads the beginning and the end of a file of events; a line that is not whole yet is left out."""
    begun, code, progress = False, None, None
    for event in _objects(path):
        begun = True
        if event.get("event") == "progress":
            progress = {key: event.get(key) for key in ("stage", "done", "total", "unit", "rate", "left")}
        elif event.get("event") == "end":
            code = event.get("code")
    return Observed(begun, code if isinstance(code, int) else None, progress)


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    for line in tail(path).split("\n"):
        with suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found


def tail(path: Path, size: int = TAIL) -> str:
    """The end of a file, from the beginning of a line; empty if there is none."""
    try:
        with path.open("rb") as file:
            length = file.seek(0, 2)
            file.seek(max(0, length - size))
            text = file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
    return text if length <= size else text.partition("\n")[2]


def log_lines(path: Path, most: int = LINES) -> list[str]:
    """The last lines of a log that are not empty."""
    return [line for line in tail(path).splitlines() if line.strip()][-most:]


def error_of(path: Path) -> str:
    """The message of a command that ended in an error; empty if it left none."""
    found = [line for line in log_lines(path) if line.startswith(ERROR)]
    return found[-1].removeprefix(ERROR) if found else ""


def is_held(path: Path) -> bool:
    """Whether a command holds its lock file."""
    if not path.exists():
        return False
    try:
        lock(path, "held").release()
    except RunError:
        return True
    return False
