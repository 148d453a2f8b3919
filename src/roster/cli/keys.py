"""Keys from a terminal, one at a time, or lines from anything else."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import TextIO

try:
    import termios
    import tty
except ImportError:  # Windows: lines only
    termios = None  # type: ignore[assignment]

END = "\x04"
INTERRUPT = "\x03"
ESCAPE = "\x1b"


class Keys:
    """What a person types. On a terminal `key` returns at once; elsewhere it takes a line.

    A line may hold more than the key (`b 2 3 ORG`); the rest is what `line` returns next.
    """

    def __init__(self, source: TextIO, show: Callable[[str], None]):
        self._source, self._show = source, show
        self.single = termios is not None and source.isatty()
        self._rest: str | None = None

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
        line = self._source.readline()
        return line.strip() if line else None

    def _press(self) -> str:
        handle = self._source.fileno()
        before = termios.tcgetattr(handle)
        try:
            # Keys come at once and unseen; signals (Ctrl-C, Ctrl-Z) work as ever.
            tty.setcbreak(handle)
            pressed = os.read(handle, 1)
            while pressed and (pressed == ESCAPE.encode() or pressed[-1] >= 0x80) and _waiting(handle):
                pressed += os.read(handle, 32)  # the rest of an arrow key, or of a letter of several bytes
        finally:
            termios.tcsetattr(handle, termios.TCSADRAIN, before)
        text = pressed.decode("utf-8", "replace")
        if text == END:
            return ""
        return "\n" if text == "\r" else text


def _waiting(handle: int) -> bool:
    return bool(select.select([handle], [], [], 0.05)[0])


def standard(show: Callable[[str], None]) -> Keys:
    """Keys from standard input."""
    return Keys(sys.stdin, show)
