"""The log: one JSON object a line, one line a request, and never a text or a token."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO, Any

Log = Callable[..., None]
"""`log("request", status=200, ...)`"""


def json_log(stream: IO[str]) -> Log:
    """A log that writes to a stream. An error of the stream is ignored: requests are answered all the same.

    Args:
        stream: where the lines are written.

    Returns:
        A function of the name of the event and its fields.
    """

    def log(event: str, **fields: Any) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with suppress(OSError, ValueError):  # a closed stream is a ValueError
            print(json.dumps({"time": now, "event": event, **fields}), file=stream, flush=True)

    return log


def place_of(error: BaseException) -> dict[str, Any]:
    """An unexpected error without its message, which may quote a text: its class and the calls it came from.

    >>> try:
    ...     int("a secret")
    ... except ValueError as error:
    ...     place_of(error)["error"]
    'ValueError'
    """
    calls = [
        f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
    ]
    return {"error": type(error).__name__, "calls": calls}


class Forward(logging.Handler):
    """Warnings of other packages (uvicorn, asyncio) as lines of the log, without their arguments.

    The message of an exception may quote a text, so only the class of the exception is written.
    """

    def __init__(self, log: Log):
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._log("warning", logger=record.name, message=str(record.msg).partition("\n")[0],
                  **({} if error is None else place_of(error)))  # fmt: skip
