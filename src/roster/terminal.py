"""Text from files on a terminal: control characters would move the cursor, colour or rename the window."""

from __future__ import annotations

import re
from typing import Any, TextIO

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line feed, marks that change the direction of text, halves of pairs."""


def printable(text: str) -> str:
    """The text with control characters as escapes.

    >>> printable("Ada\\x1b[31m\\tran\\u202e")
    'Ada\\\\x1b[31m\\tran\\\\u202e'
    """
    return UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """The same on one line, for messages.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return printable(text).replace("\n", "\\n")


class SafeOutput:
    """A stream of text that shows what files hold; it writes control characters as escapes.

    Args:
        stream: a terminal.
    """

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes a text."""
        return self._stream.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
