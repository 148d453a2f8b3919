"""Tables as Markdown and LaTeX, and the spread of several runs in one cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
}


@dataclass(frozen=True)
class Spread:
    """Mean, sample standard deviation (0 of one run) and number of runs."""

    mean: float
    deviation: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        values = list(values)
        if not values:
            return None
        return cls(fmean(values), stdev(values) if len(values) > 1 else 0.0, len(values))


def number(value: float | None) -> str:
    """Format a score as in the paper.

    >>> number(0.8541), number(1.0), number(-0.02), number(None)
    ('.854', '1.000', '-.020', '-')
    """
    return "-" if value is None else re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}")


def signed(value: float | None) -> str:
    """Format a difference.

    >>> signed(0.0512), signed(-0.02), signed(None)
    ('+.051', '-.020', '-')
    """
    return number(value) if value is None or value < 0 else f"+{number(value)}"


def count_of(n: int, one: str, many: str = "") -> str:
    """Format a number with its noun.

    >>> count_of(1, "variant"), count_of(2, "variant"), count_of(2, "corpus", "corpora")
    ('1 variant', '2 variants', '2 corpora')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def cell(spread: Spread | None) -> str:
    """Format mean, deviation and number of runs.

    >>> cell(Spread.of([0.8, 0.9])), cell(Spread.of([0.5])), cell(None)
    ('.850 ± .071 (2)', '.500 (1)', '-')
    """
    if spread is None:
        return "-"
    deviation = f" ± {number(spread.deviation)}" if spread.runs > 1 else ""
    return f"{number(spread.mean)}{deviation} ({spread.runs})"


@dataclass(frozen=True)
class Table:
    """A table; `**words**` in a cell are bold."""

    name: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        rule = ["---"] * len(self.head)
        lines = [_markdown_row(row) for row in (self.head, rule, *self.rows)]
        return "\n".join(
            [f"### {self.title}", "", *lines, *(x for note in self.notes for x in ("", note)), ""]
        )

    def latex(self) -> str:
        columns = "l" + "r" * (len(self.head) - 1)
        body = [" & ".join(map(escape, row)) + r" \\" for row in (self.head, *self.rows)]
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            body[0],
            r"\hline",
            *body[1:],
            r"\hline",
            r"\end{tabular}",
            rf"\caption{{{escape(' '.join([self.title + '.', *self.notes]))}}}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def escape(text: str) -> str:
    r"""Escape text for LaTeX; `**words**` become bold.

    >>> escape("a_b & 50 %, **c**")
    'a\\_b \\& 50 \\%, \\textbf{c}'
    """
    plain = "".join(ESCAPES.get(character, character) for character in text)
    return re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", plain)
