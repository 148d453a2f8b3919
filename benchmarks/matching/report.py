"""The results of the matching benchmark, as data and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from benchmarks.measure import (
    MISSING,
    OK,
    Limits,
)
from benchmarks.report import Row, cell, table

NOTES = """\
build: ours reads the file, applies the policies, compiles and writes its cache; the others add names that
are strings already (reading them is not counted) and build their automaton.
load: from the file that the build wrote, which is in the page cache; "-": the system cannot save, and every
process builds.
words/s: over the whole text, read and split beforehand; matches are a Python list with place and entry. The
first pass of ours includes counting common words, for its case policy; "again" is a second pass.
matches: places in the text, whatever the number of types. ours: also in other cases and beside punctuation
where the text shows a name, but no common words. ours-exact: as written, also where words are split
differently ("U.S." in "U . S ."). phrasematcher, pyahocorasick, ahocorasick_rs: as written, between spaces,
also names within names. flashtext: as written, the longest name only; a word ends at all characters except
letters, digits and "_".
memory: peak memory of the process from its start to the matches; "loaded": without building."""


@dataclass(frozen=True)
class MatchingResult:
    """The result of one system with one size: median, min and max of several runs."""

    system: str
    package: str
    version: str | None
    names: int
    entries: int
    status: str
    message: str
    build_seconds: dict[str, Any] | None
    load_seconds: dict[str, Any] | None
    prepare_seconds: dict[str, Any] | None
    cold_words_per_second: dict[str, Any] | None
    warm_words_per_second: dict[str, Any] | None
    matches: int | None
    start_memory: dict[str, Any] | None
    peak_memory: dict[str, Any] | None
    loaded_cold_words_per_second: dict[str, Any] | None
    loaded_peak_memory: dict[str, Any] | None


@dataclass(frozen=True)
class MatchingReport:
    """Conditions and results of the matching benchmark."""

    machine: dict[str, Any]
    core: int | None
    limits: Limits
    repeat: int
    workload: dict[str, Any]
    results: tuple[MatchingResult, ...]

    def conditions(self) -> dict[str, Any]:
        return {
            "benchmark": "matching",
            "machine": self.machine,
            "core": self.core,
            "limits": asdict(self.limits),
            "repeat": self.repeat,
            "workload": self.workload,
        }

    def as_dict(self) -> dict[str, Any]:
        return {**self.conditions(), "results": [asdict(result) for result in self.results]}

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each result with the conditions, as a record for a file of many runs."""
        for result in self.results:
            yield {**self.conditions(), **asdict(result)}

    def text(self) -> str:
        return text_of(self)


COLUMNS = ("build s", "load s", "1000 words/s first", "again", "matches", "memory MiB", "loaded MiB")


def text_of(report: MatchingReport) -> str:
    """Return the table: one row per result, with medians and half the range."""
    about, load = report.machine, report.workload
    core = "one core" if report.core is not None else "not tied to a core"
    runs = "one run" if report.repeat == 1 else f"median of {report.repeat} runs, ± half of max - min"
    rows: list[Row] = []
    for names, results in groupby(report.results, key=lambda result: result.names):
        rows += [([], ""), ([f"{names:,} names", *COLUMNS], ""), *map(_row, results)]
    return "\n".join(
        [
            f"{load['words']:,} words in {load['sentences']:,} sentences ({load['text']}); "
            f"names from {load['dictionary']}",
            f"{core} of {about['cpu']}, Python {about['python']}; {runs}",
            *table(rows),
            "",
            NOTES,
        ]
    )


def _row(result: MatchingResult) -> Row:
    """The cells and the note of a result; only one cell if nothing was measured."""
    name = f"  {result.system}"
    if result.status == MISSING:
        return [name], f"not installed; pip install {result.package}"
    note = "" if result.status == OK else f"{result.status}: {result.message}"
    if result.build_seconds is None:
        return [name], note
    return [
        name,
        cell(result.build_seconds),
        cell(result.load_seconds),
        cell(result.cold_words_per_second, 1e3),
        cell(result.warm_words_per_second, 1e3),
        "-" if result.matches is None else f"{result.matches:,}",
        cell(result.peak_memory, 2**20, runs=False),
        cell(result.loaded_peak_memory, 2**20, runs=False),
    ], note
