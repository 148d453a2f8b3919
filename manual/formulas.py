"""Formulas between dollar signs, as GitHub reads them, to MathML, which browsers draw without a script."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

from manual.markdown import outside_code

DISPLAY = re.compile(r"^\$\$\n?(.+?)\n?\$\$$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<![\w$\\`])\$(?=[^\s$])([^$\n]+?)(?<=[^\s\\])\$(?![\w$])")
CODE = re.compile(r"(`+[^`\n]+`+)")


def with_mathml(text: str) -> str:
    """Markdown with MathML in place of `$...$` and `$$...$$`, code apart.

    >>> with_mathml("`$a$` is $a$").count("<math")
    1
    """

    def convert_part(part: str) -> str:
        part = DISPLAY.sub(lambda match: convert(match[1].strip(), display="block"), part)
        pieces = CODE.split(part)
        return "".join(piece if i % 2 else INLINE.sub(_inline, piece) for i, piece in enumerate(pieces))

    return outside_code(text, convert_part)


def _inline(match: re.Match[str]) -> str:
    """In a span, because Markdown takes `<math>` at the beginning of a line for a block."""
    return f"<span>{convert(match[1])}</span>"
