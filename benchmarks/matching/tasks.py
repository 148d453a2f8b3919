"""The measurements of a matching system, each in a process of its own."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.measure import memory, peak_memory

if TYPE_CHECKING:
    pass
from benchmarks.matching.systems import SYSTEMS, MatchingSystem, NameFile, StoredSystem

T = TypeVar("T")


def read_sentences(path: Path) -> Iterator[list[str]]:
    """Yield the words of each line."""
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.split()


def build_and_match(system: str, names: str, typed: str, text: str, folder: str) -> Iterator[dict[str, Any]]:
    """Build the matcher and match, in one process. The matcher is saved in `folder`."""
    cache = Path(folder)
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    it = _ready(system, text)
    listed = NameFile(Path(names))
    yield {"version": it.version(), "start_memory": memory()}
    seconds, _ = _timed(lambda: it.build(listed, Path(typed), cache))
    yield {"build_seconds": seconds - listed.seconds}
    yield from _passes(it)
    yield {"peak_memory": peak_memory()}
    if isinstance(it, StoredSystem):
        it.save(cache)


def load_and_match(system: str, text: str, folder: str) -> Iterator[dict[str, Any]]:
    """Load the matcher that `build_and_match` saved, and match."""
    it = _ready(system, text)
    assert isinstance(it, StoredSystem)
    seconds, _ = _timed(lambda: it.load(Path(folder)))
    yield {"load_seconds": seconds}
    yield from _passes(it)
    yield {"peak_memory": peak_memory()}


def _ready(system: str, text: str) -> MatchingSystem:
    for package in SYSTEMS[system].without:
        sys.modules[package] = None  # type: ignore[assignment]
    it = SYSTEMS[system]()
    it.take(read_sentences(Path(text)))
    return it


def _passes(it: MatchingSystem) -> Iterator[dict[str, Any]]:
    """Match twice: the first pass, and one with warm caches."""
    prepare, _ = _timed(it.prepare)
    cold, hits = _timed(it.find)
    yield {"prepare_seconds": prepare, "cold_seconds": prepare + cold, "matches": it.places(hits)}
    del hits
    warm, _ = _timed(it.find)
    yield {"warm_seconds": warm}


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    made = work()
    return time.perf_counter() - start, made
