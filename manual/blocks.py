"""The fenced blocks of a page of Markdown."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[^`\n]*)\n(?P<text>.*?)^ *(?P=fence) *$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, the language after its fence, and its text without indentation."""

    page: str
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}, line {self.line}"


def blocks(text: str, page: str = "") -> list[Block]:
    """The fenced blocks of a page, in order.

    >>> blocks("a\\n```sh\\nls\\n```\\n")
    [Block(page='', line=3, language='sh', text='ls\\n')]
    """
    return [
        Block(
            page,
            text.count("\n", 0, match.start("text")) + 1,
            match["language"].strip(),
            textwrap.dedent(match["text"]),
        )
        for match in FENCE.finditer(text)
    ]
