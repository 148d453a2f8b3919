"""The report of a benchmark: conditions and results as data, and as a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from benchmarks.measure import FAILED, OK

Row = tuple[Sequence[str], str]
"""The cells of a row, and a note after them; only one cell if nothing was measured."""


@dataclass(frozen=True)
class Report(ABC):
    """Conditions and results; each result is a flat record with `status`, `message` and numbers."""

    conditions: dict[str, Any]
    results: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        return {**self.conditions, "results": list(self.results)}

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each result with the conditions, as a record for a file of many runs."""
        for result in self.results:
            yield {**self.conditions, **result}

    @abstractmethod
    def name(self, result: dict[str, Any]) -> str:
        """A short name of what was measured."""

    @abstractmethod
    def text(self) -> str:
        """Return the table."""

    def failed(self) -> list[str]:
        """Return the names of failed measurements, each once, in the order of the table."""
        broken = (self.name(result) for result in self.results if result["status"] == FAILED)
        return list(dict.fromkeys(broken))


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table: the first column is aligned left, the others right."""
    full = [cells for cells, _ in rows if len(cells) > 1]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    lines = []
    for cells, note in rows:
        name = [cell.ljust(widths[0]) if widths else cell for cell in cells[:1]]
        numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=False)]
        lines.append("  ".join([*name, *numbers, note]).rstrip())
    return lines


def note(result: dict[str, Any]) -> str:
    """Return the reason why a result lacks numbers; empty if it is complete."""
    return "" if result["status"] == OK else f"{result['status']}: {result['message']}"


def cell(values: dict[str, Any] | None, unit: float = 1, runs: bool = True) -> str:
    """Format the median with three significant digits, and half the range.

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
    """Return the machine, the versions and the number of runs as one line."""
    about, repeat = conditions["machine"], conditions["repeat"]
    cores = f"{about['cores_allowed']} of {about['cores']} cores of {about['cpu']}"
    names = ", ".join(f"{name} {number}" for name, number in conditions["versions"].items())
    runs = "one run each" if repeat == 1 else f"median of {repeat} interleaved runs, ± half of max - min"
    return f"{cores}; Python {about['python']}, {names}; {runs}"
