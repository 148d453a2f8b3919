"""`python -m benchmarks matching`: our dictionary matcher and others, on the same names and text.

Each system builds and matches in one new process, and loads and matches in another, on one core. The systems
take turns within each repeat, so that other work on the machine affects all of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.matching.report import MatchingReport, MatchingResult
from benchmarks.matching.systems import SYSTEMS
from benchmarks.matching.tasks import build_and_match, load_and_match
from benchmarks.matching.workload import SIZES, Size, Workload, prepare
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
from roster.progress import bar


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
    """Measure each system with each size; without files, on synthetic names and text."""
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


def _measured(
    workload: Workload,
    systems: Sequence[str],
    repeat: int,
    limits: Limits,
    core: int | None,
    cache: Path,
    log: Callable[[str], None],
) -> dict[tuple[str, int], list[Measurement]]:
    """Return the measurements of every system and size, in the order of the runs.

    A system that failed with a size is not measured again with this size or a larger one.
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
