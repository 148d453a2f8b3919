"""`python -m benchmarks matching`: the dictionary matcher beside others, on the same names and text.

Every number is measured in this run. Each system builds and matches in a fresh process, and loads and matches
in another, on one core; systems take turns within each repeat, so that a busy minute of the machine hits all.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from os import PathLike
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.matching.systems import SYSTEMS, build_and_match, load_and_match
from benchmarks.measure import (
    MISSING,
    OK,
    Limits,
    Measurement,
    in_turn,
    isolated,
    machine,
    one_core,
    spread,
)
from benchmarks.report import Row, cell, table
from benchmarks.synthetic import synthetic_names, synthetic_text
from roster.corpus.io import read
from roster.distant.entries import read_entries
from roster.errors import DataError
from roster.progress import bar

ALL = "all"
SIZES: tuple[int | str, ...] = (10_000, 100_000, 1_000_000, ALL)
SYNTHETIC_NAMES, SYNTHETIC_WORDS = 1_000_000, 200_000
SEED = 0

NOTES = """\
build: ours reads the file, applies the policies, compiles and writes its cache; the others add names that
are strings already (reading them is not counted) and make their automaton.
load: from the file that the build left, which the system still has in memory; "-": there is no such file,
each process builds anew.
words/s: over the whole text, read and split beforehand; hits are a Python list with place and entry. The
first pass of ours includes counting which words are common, for its case policy; "again" is a second pass.
matches: places in the text, whatever the number of types. ours: also in other cases and beside punctuation
where the text shows a name, but no common words. ours-exact: as written, also where words are split
otherwise ("U.S." in "U . S ."). phrasematcher, pyahocorasick, ahocorasick_rs: as written, between spaces,
names within names too. flashtext: as written, only the longest name, and all but letters, digits and "_" end
a word.
memory: the most that the process held from its start to the matches; "loaded": without building."""


@dataclass(frozen=True)
class Size:
    """So many distinct names of the dictionary, as files; a name with several types is several entries."""

    names: int
    entries: int
    listed: Path
    typed: Path


@dataclass(frozen=True)
class Workload:
    dictionary: str
    text: str
    sentences: int
    words: int
    sizes: tuple[Size, ...]
    file: Path

    def facts(self) -> dict[str, Any]:
        return {
            "dictionary": self.dictionary,
            "text": self.text,
            "sentences": self.sentences,
            "words": self.words,
        }


@dataclass(frozen=True)
class MatchingResult:
    """What one system did with one size. Of several runs there are median, min and max."""

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
        """One flat record for each result, with the conditions, to be kept beside those of other runs."""
        for result in self.results:
            yield {**self.conditions(), **asdict(result)}

    def text(self) -> str:
        return text_of(self)


def run(
    dictionary: str | PathLike[str] | None = None,
    text: str | PathLike[str] | None = None,
    *,
    sizes: Sequence[int | str] = SIZES,
    systems: Sequence[str] = tuple(SYSTEMS),
    repeat: int = 3,
    limits: Limits,
    log: Callable[[str], None],
) -> MatchingReport:
    """Measures each system on each size; without files, on synthetic names and text."""
    with TemporaryDirectory(prefix="roster-") as folder:
        place = Path(folder)
        log("preparing names and text")
        workload = prepare(dictionary, text, sizes, place)
        core = one_core()
        outcomes = _measured(workload, systems, repeat, limits, core, place / "cache", log)
        results = [
            summary(system, size, workload.words, outcomes[system, size.names])
            for size in workload.sizes
            for system in systems
        ]
    return MatchingReport(machine(), core, limits, repeat, workload.facts(), tuple(results))


def prepare(
    dictionary: str | PathLike[str] | None,
    text: str | PathLike[str] | None,
    sizes: Sequence[int | str],
    folder: Path,
) -> Workload:
    """The files that all systems read. White space in names is made single spaces."""
    source = folder / "synthetic.tsv" if dictionary is None else Path(dictionary)
    if dictionary is None:
        wanted = max(SYNTHETIC_NAMES if size == ALL else int(size) for size in sizes)
        with source.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{name}\t{kind}\n" for name, kind in islice(synthetic_names(SEED), wanted))
    chosen = _samples(source, sizes, folder)
    if text is None:
        names = chosen[-1].listed.read_text(encoding="utf-8").splitlines()
        sentences: Iterator[list[str]] = synthetic_text(names, SYNTHETIC_WORDS, SEED)
    else:
        sentences = ([part for word in s.words for part in word.split()] for s in read(text))
    file_of_text = folder / "text.txt"
    lines = words = 0
    with file_of_text.open("w", encoding="utf-8", newline="\n") as file:
        for sentence in sentences:
            file.write(" ".join(sentence) + "\n")
            lines += 1
            words += len(sentence)
    if not words:
        raise DataError("no words to match names in", path=text)
    return Workload(
        "synthetic" if dictionary is None else source.name,
        "synthetic" if text is None else Path(text).name,
        lines,
        words,
        chosen,
        file_of_text,
    )


def _samples(source: Path, sizes: Sequence[int | str], folder: Path) -> tuple[Size, ...]:
    """For each size a random sample of the distinct names; a smaller one is part of a larger one."""
    rank: dict[str, int] = {}
    for name, _ in _entries(source):
        rank.setdefault(name, len(rank))
    if not rank:
        raise DataError("no names", path=source)
    order = list(range(len(rank)))
    Random(SEED).shuffle(order)
    counts = sorted({len(rank) if size == ALL else min(int(size), len(rank)) for size in sizes})
    samples = []
    for count in counts:
        listed, typed = folder / f"names-{count}.txt", folder / f"names-{count}.tsv"
        seen: set[int] = set()
        entries = 0
        with (
            listed.open("w", encoding="utf-8", newline="\n") as names,
            typed.open("w", encoding="utf-8", newline="\n") as table,
        ):
            for name, kind in _entries(source):
                number = rank[name]
                if order[number] >= count:
                    continue
                if number not in seen:
                    seen.add(number)
                    names.write(f"{name}\n")
                table.write(f"{name}\t{kind}\n")
                entries += 1
        samples.append(Size(count, entries, listed, typed))
    return tuple(samples)


def _entries(source: Path) -> Iterator[tuple[str, str]]:
    for batch in read_entries(source):
        for surface, kind in zip(batch.surfaces, batch.kinds, strict=True):
            name = " ".join(surface.split())
            if name:
                yield name, kind or "NAME"


def _measured(
    workload: Workload,
    systems: Sequence[str],
    repeat: int,
    limits: Limits,
    core: int | None,
    cache: Path,
    log: Callable[[str], None],
) -> dict[tuple[str, int], list[Measurement]]:
    """The outcomes of every system and size, in the order of the runs.

    A system that could not do a size is not asked again, nor for a larger one.
    """
    outcomes: dict[tuple[str, int], list[Measurement]] = {}
    ended: dict[str, tuple[int, Measurement]] = {}
    with bar(total=repeat * len(workload.sizes) * len(systems), description="matching", unit="run") as shown:
        for turn in range(repeat):
            for size in workload.sizes:
                for system in in_turn(systems, turn):
                    shown.update()
                    runs = outcomes.setdefault((system, size.names), [])
                    before = ended.get(system)
                    if before is not None and size.names >= before[0]:
                        if not runs:
                            runs.append(_not_tried(*before))
                        continue
                    outcome = _one(system, size, workload.file, limits, core, cache)
                    runs.append(outcome)
                    if outcome.status != OK:
                        ended[system] = size.names, outcome
                    shown.clear()
                    log(_line(system, size, turn, repeat, outcome))
    return outcomes


def _one(system: str, size: Size, text: Path, limits: Limits, core: int | None, cache: Path) -> Measurement:
    arguments = {"system": system, "text": str(text), "folder": str(cache)}
    files = {"names": str(size.listed), "typed": str(size.typed)}
    try:
        first = isolated(build_and_match, {**arguments, **files}, limits, core)
        if first.status != OK or not SYSTEMS[system].keeps:
            return first
        second = isolated(load_and_match, arguments, limits, core)
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    load = second.facts.pop("load_seconds", None)
    facts = {**first.facts, **{f"loaded_{name}": fact for name, fact in second.facts.items()}}
    return Measurement(
        second.status, facts if load is None else {**facts, "load_seconds": load}, second.message
    )


def _not_tried(size: int, outcome: Measurement) -> Measurement:
    if outcome.status == MISSING:
        return Measurement(MISSING, {}, outcome.message)
    return Measurement(outcome.status, {}, f"not tried: {outcome.message} with {size:,} names")


def _line(system: str, size: Size, turn: int, repeat: int, outcome: Measurement) -> str:
    start = f"{system}, {size.names:,} names, run {turn + 1} of {repeat}: "
    if outcome.status == MISSING:
        package = SYSTEMS[system].package
        return f"{system}: skipped, {outcome.message}; to have it in the table: pip install {package}"
    if outcome.status != OK:
        return f"{start}{outcome.status}, {outcome.message}"
    return f"{start}built in {outcome.facts['build_seconds']:.3g} s, {outcome.facts['matches']:,} matches"


def summary(system: str, size: Size, words: int, runs: Sequence[Measurement]) -> MatchingResult:
    last = runs[-1]

    def over(name: str, change: Callable[[float], float] = float) -> dict[str, Any] | None:
        return spread([change(run.facts[name]) for run in runs if name in run.facts])

    def per_second(seconds: float) -> float:
        return words / max(seconds, 1e-9)

    facts = runs[0].facts
    return MatchingResult(
        system,
        SYSTEMS[system].package,
        facts.get("version"),
        size.names,
        size.entries,
        last.status,
        last.message,
        over("build_seconds"),
        over("load_seconds"),
        over("prepare_seconds"),
        over("cold_seconds", per_second),
        over("warm_seconds", per_second),
        facts.get("matches"),
        over("start_memory"),
        over("peak_memory"),
        over("loaded_cold_seconds", per_second),
        over("loaded_peak_memory"),
    )


COLUMNS = ("build s", "load s", "1000 words/s first", "again", "matches", "memory MiB", "loaded MiB")


def text_of(report: MatchingReport) -> str:
    """A line for each result; the records have least and most of each number too."""
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
    """The cells, only the first where nothing was measured, and what is to be said after them."""
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
