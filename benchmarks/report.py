"""What a benchmark hands out: conditions and results as data, and a table of them for people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from benchmarks.measure import FAILED, OK

Row = tuple[Sequence[str], str]
"""The cells of a line, only the first where nothing was measured, and what is to be said after them."""


@dataclass(frozen=True)
class Report(ABC):
    """Each result is a flat record: what was measured, its `status` and `message`, and the numbers."""

    conditions: dict[str, Any]
    results: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        return {**self.conditions, "results": list(self.results)}

    def records(self) -> Iterator[dict[str, Any]]:
        """One record for each result, with the conditions, to be kept beside those of other runs."""
        for result in self.results:
            yield {**self.conditions, **result}

    @abstractmethod
    def name(self, result: dict[str, Any]) -> str:
        """What was measured, in a word or two."""

    @abstractmethod
    def text(self) -> str:
        """The table."""

    def failed(self) -> list[str]:
        """What broke, in the order of the table, each once."""
        broken = (self.name(result) for result in self.results if result["status"] == FAILED)
        return list(dict.fromkeys(broken))


def table(rows: Sequence[Row]) -> list[str]:
    """Lines with the first cell to the left and the others, numbers, to the right of their columns."""
    full = [cells for cells, _ in rows if len(cells) > 1]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    lines = []
    for cells, note in rows:
        name = [cell.ljust(widths[0]) if widths else cell for cell in cells[:1]]
        numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=False)]
        lines.append("  ".join([*name, *numbers, note]).rstrip())
    return lines


def note(result: dict[str, Any]) -> str:
    """Why a result has no numbers, or not all of them."""
    return "" if result["status"] == OK else f"{result['status']}: {result['message']}"


def cell(values: dict[str, Any] | None, unit: float = 1, runs: bool = True) -> str:
    """The median with three digits that count, and half the distance from the least to the most.

    >>> from benchmarks.measure import spread
    >>> cell(spread([0.01234])), cell(spread([11.5, 12.34, 12.5])), cell(spread([1234, 1244]))
    ('0.0123', '12.3 ±0.5', '1,239 ±5')
    """
    if values is None:
        return "-"
    median, half = values["median"] / unit, (values["max"] - values["min"]) / 2 / unit
    digits = max(0, 2 - floor(log10(median))) if median > 0 else 0
    shown = f"{median:,.{digits}f}"
    return f"{shown} ±{half:,.{digits}f}" if runs and values["runs"] > 1 else shown


def machine_line(conditions: dict[str, Any]) -> str:
    """The machine, the versions and the runs, as one line over a table."""
    about, repeat = conditions["machine"], conditions["repeat"]
    cores = f"{about['cores_allowed']} of {about['cores']} cores of {about['cpu']}"
    names = ", ".join(f"{name} {number}" for name, number in conditions["versions"].items())
    runs = "one run each" if repeat == 1 else f"median of {repeat} interleaved runs, ± half of max - min"
    return f"{cores}; Python {about['python']}, {names}; {runs}"
