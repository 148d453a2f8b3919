"""Messages about progress: the logger `roster` of the standard library, and a handler that prints them.

A program that uses the package decides what happens to the messages (`logging.basicConfig(level="INFO")`);
the command line prints them to standard error.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from roster.terminal import printable

LOGGER = logging.getLogger("roster")
LOGGER.addHandler(logging.NullHandler())


class StderrHandler(logging.Handler):
    """Prints each message as a line on standard error, above the progress bars that are there."""

    def emit(self, record: logging.LogRecord) -> None:
        line = printable(self.format(record))
        if record.levelno >= logging.WARNING:
            line = f"{record.levelname.lower()}: {line}"
        tqdm = sys.modules.get("tqdm")
        if tqdm is not None and sys.stderr.isatty():
            tqdm.tqdm.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)


def show_log() -> None:
    """Prints the messages of RoSTER to standard error, as the commands do; the same call again does nothing.

    `logging.basicConfig(level="INFO")` shows them as well, with those of all other libraries.

    >>> import roster
    >>> roster.show_log()  # doctest: +SKIP
    """
    if not any(isinstance(handler, StderrHandler) for handler in LOGGER.handlers):
        LOGGER.addHandler(StderrHandler())
    LOGGER.setLevel(logging.INFO)


@contextmanager
def log_to_stderr() -> Iterator[None]:
    """Prints the messages to standard error for as long as the block runs."""
    handlers, level = LOGGER.handlers[:], LOGGER.level
    show_log()
    try:
        yield
    finally:
        LOGGER.handlers[:] = handlers
        LOGGER.setLevel(level)
