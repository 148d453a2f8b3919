"""Keys from a terminal, one at a time, or lines from anything else."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import Any, TextIO

try:
    import termios
    import tty
except ImportError:  # Windows: lines only
    termios = None  # type: ignore[assignment]

END = "\x04"
ESCAPE = "\x1b"


class Keys:
    """What a person types. On a terminal `key` returns at once; elsewhere it takes a line.

    A line may hold more than the key (`b 2 3 ORG`); the rest is what `line` returns next. Use it in a `with`
    statement: on a terminal, keys are then neither shown nor held back until Enter, and none typed ahead is
        lost.
    """

    def __init__(self, source: TextIO, show: Callable[[str], None]):
        self._source, self._show = source, show
        self.single = termios is not None and source.isatty()
        self._rest: str | None = None
        self._before: list[Any] | None = None

    def __enter__(self) -> Keys:
        if self.single:
            self._before = termios.tcgetattr(self._source.fileno())
            self._unbuffered()
        return self

    def __exit__(self, *error: object) -> None:
        self._buffered()

    @property
    def pending(self) -> bool:
        """Whether the line of the last key holds what `line` would ask for."""
        return self._rest is not None

    def key(self) -> str:
        """The next key; '' at the end of the input, a newline for the Enter key or an empty line."""
        if self.single:
            return self._press()
        line = self._source.readline()
        if not line:
            return ""
        text = line.strip()
        self._rest = text[1:].strip() or None
        return text[:1] or "\n"

    def line(self, prompt: str) -> str | None:
        """A line, asked for by `prompt`; None at the end of the input."""
        if self._rest is not None:
            rest, self._rest = self._rest, None
            return rest
        self._show(prompt)
        self._buffered()
        line = self._source.readline()
        self._unbuffered()
        return line.strip() if line else None

    def _press(self) -> str:
        handle = self._source.fileno()
        pressed = os.read(handle, 1)
        while pressed and (pressed == ESCAPE.encode() or pressed[-1] >= 0x80) and _waiting(handle):
            pressed += os.read(handle, 32)  # the rest of an arrow key, or of a letter of several bytes
        text = pressed.decode("utf-8", "replace")
        if text == END:
            return ""
        return "\n" if text == "\r" else text

    def _unbuffered(self) -> None:
        """Keys come at once and unseen; signals (Ctrl-C, Ctrl-Z) work as ever."""
        if self._before is not None:
            tty.setcbreak(self._source.fileno(), termios.TCSADRAIN)

    def _buffered(self) -> None:
        if self._before is not None:
            termios.tcsetattr(self._source.fileno(), termios.TCSADRAIN, self._before)


def _waiting(handle: int) -> bool:
    return bool(select.select([handle], [], [], 0.05)[0])


def standard(show: Callable[[str], None]) -> Keys:
    """Keys from standard input."""
    return Keys(sys.stdin, show)
