"""Progress bars, and the time and memory that stages take."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from roster.log import LOGGER

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

T = TypeVar("T")

EVERY = 30.0
"""Seconds between two lines of progress, where there is no terminal for a bar."""
LINE = "{desc}: {percentage:.0f} %, {n_fmt} of {total_fmt}{unit}, {rate_fmt}, {remaining} left"
WATCHED_EVERY = 0.5
"""Seconds between two states of a bar that a program watches."""
Watcher = Callable[[dict[str, Any]], None]
_watchers: list[Watcher] = []


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Calls a function with the states of all bars, instead of showing them, for as long as the block runs.

    A state has `stage` (the description), `done`, `total` (None if unknown), `unit`, `rate` (per second, or
    None) and `left` (seconds, or None).
    """
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def bar(
    items: Iterable[T] | None = None,
    *,
    description: str,
    total: int | None = None,
    initial: int = 0,
    unit: str = "batch",
) -> Any:
    """A progress bar with rate and time left; where there is no terminal, a line every `EVERY` seconds."""
    if _watchers:
        return _WatchedBar(
            items,
            desc=description,
            total=total,
            initial=initial,
            unit=unit,
            file=_Lines(),
            mininterval=WATCHED_EVERY,
            maxinterval=WATCHED_EVERY,
        )
    if sys.stderr.isatty():
        return _Bar(
            items,
            desc=description,
            total=total,
            initial=initial,
            unit=f" {unit}",
            **_width(),
            leave=False,
            delay=0.5,
        )
    return _LineBar(
        items,
        desc=description,
        total=total,
        initial=initial,
        unit=f" {unit}",
        file=_Lines(),
        leave=False,
        delay=EVERY,
        mininterval=EVERY,
        bar_format=None if total is None and not hasattr(items, "__len__") else LINE,
    )


def _width() -> dict[str, Any]:
    """The width of the terminal, or 80 where it has none set: tqdm shows nothing at a width of 0."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return {"dynamic_ncols": True} if columns else {"ncols": 80}


class _Bar(tqdm):
    """A bar whose clock does not jump: tqdm's own is the time of day, which may be set while it runs."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._time = time.monotonic
        self.start_t = self.last_print_t = self._time()


class _LineBar(_Bar):
    monitor_interval = 0  # its thread would not exist in a forked process


class _WatchedBar(tqdm):
    monitor_interval = 0

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        state = self.format_dict
        done, total, elapsed = state["n"], state["total"], state["elapsed"]
        rate = state["rate"] or ((done - state["initial"]) / elapsed if elapsed else None)
        left = (total - done) / rate if total and rate else None
        for watcher in _watchers:
            watcher({
                "stage": state["prefix"],
                "done": done,
                "total": total or None,
                "unit": state["unit"],
                "rate": round(rate, 3) if rate else None,
                "left": None if left is None else round(max(0.0, left), 1),
            })  # fmt: skip


class _Lines:
    """A file for `tqdm` that logs each state of a bar as a line, instead of overwriting the one before."""

    def write(self, text: str) -> int:
        if line := text.strip():
            LOGGER.info(line)
        return len(text)

    def flush(self) -> None:
        """Every line is flushed as it is written."""


def process_memory(field: str, process: str = "self") -> int:
    """A field of /proc/PROCESS/status such as `VmRSS`, in bytes; 0 if there is none."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith(f"{field}:")]
    return int(found[0]) * 1024 if found else 0


def peak_memory() -> dict[str, int]:
    """The most memory this process has held so far, in bytes: main memory, and the GPU's if one is used.

    On Windows it cannot be read, and `peak_memory` is missing.
    """
    scale = 1 if sys.platform == "darwin" else 1024
    # Linux hands `ru_maxrss` on from a process to the program it starts, so a small child of a large parent
    # would have the peak of its parent; `VmHWM` is reset when a program starts.
    most = process_memory("VmHWM")
    if not most and resource is not None:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
    found = {"peak_memory": most} if most else {}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        found["peak_gpu_memory"] = torch.cuda.max_memory_allocated()
    return found


@dataclass
class Stage:
    """Time and memory of one stage, set when the stage ends."""

    name: str
    facts: dict[str, Any] = field(default_factory=dict)


@contextmanager
def timed(name: str) -> Iterator[Stage]:
    """Measures a stage: seconds on the clock and peak memory, in `facts`."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.reset_peak_memory_stats()
    stage, start = Stage(name), time.perf_counter()
    yield stage
    stage.facts.update(seconds=round(time.perf_counter() - start, 3), **peak_memory())


def gigabytes(n: float) -> str:
    return f"{n / 2**30:.2f} GiB" if n >= 2**30 else f"{n / 2**20:.0f} MiB"


def say_to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
