"""What a person sees while something takes long: bars on a terminal, one line a stage in the log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

T = TypeVar("T")

EVERY = 30.0
"""Seconds between two lines of progress, where there is no terminal for a bar."""
LINE = "{desc}: {percentage:.0f} %, {n_fmt} of {total_fmt}{unit}, {rate_fmt}, {remaining} left"


def bar(
    items: Iterable[T] | None = None,
    *,
    description: str,
    total: int | None = None,
    initial: int = 0,
    unit: str = "batch",
) -> Any:
    """A progress bar with rate and time left; where there is no terminal, a line every `EVERY` seconds."""
    if sys.stderr.isatty():
        return tqdm(
            items,
            desc=description,
            total=total,
            initial=initial,
            unit=f" {unit}",
            dynamic_ncols=True,
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


class _LineBar(tqdm):
    monitor_interval = 0  # its thread would not survive a fork


class _Lines:
    """A file that takes each state of a bar, which overwrites the one before, as a line of its own."""

    def write(self, text: str) -> int:
        if line := text.strip():
            say_to_stderr(line)
        return len(text)

    def flush(self) -> None:
        """Every line is flushed as it is written."""


def process_memory(field: str, process: str = "self") -> int:
    """A size in bytes that the kernel knows of a process, such as `VmRSS`; 0 where it does not say."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith(f"{field}:")]
    return int(found[0]) * 1024 if found else 0


def peak_memory() -> dict[str, int]:
    """The most memory this process has held so far, in bytes: main memory, and the GPU's if one is used.

    Windows does not tell: there `peak_memory` is missing.
    """
    scale = 1 if sys.platform == "darwin" else 1024
    # Linux hands `ru_maxrss` on from a process to the program it starts, so a small child of a large parent
    # would seem large; `VmHWM` begins anew with the program.
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
    """What one stage cost, filled when it ends."""

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
