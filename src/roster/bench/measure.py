"""What benchmarks share: work in a process of its own, on one core and within limits; medians; the machine.

A measurement is a generator of facts, `def task(...) -> Iterator[dict]`. It runs in a fresh Python, so that
its memory is its own and nothing is warm that should be cold. Where a limit ends it, what it
has yielded is kept.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from roster.progress import peak_memory as peak_of_process
from roster.progress import process_memory

Task = Callable[..., Iterator[dict[str, Any]]]

OK, MISSING, TOO_LONG, TOO_MUCH, FAILED = "ok", "missing", "time limit", "memory limit", "failed"
POLL = 0.02
"""Seconds between two looks at a running measurement."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one measurement: seconds on the clock, and bytes of memory (on Linux; None for no limit)."""

    seconds: float
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a measurement ended (OK, MISSING, ...), the facts it yielded, and what went wrong, in one line."""

    status: str
    facts: dict[str, Any]
    message: str = ""


def isolated(task: Task, arguments: Mapping[str, Any], limits: Limits, core: int | None = None) -> Outcome:
    """Runs a task in a fresh Python, tied to a core. Its arguments and facts must be what JSON can hold."""
    with tempfile.TemporaryDirectory(prefix="roster-") as folder:
        result, printed = Path(folder) / "result.json", Path(folder) / "printed.txt"
        request = {
            "module": task.__module__,
            "task": task.__qualname__,
            "arguments": arguments,
            "core": core,
            "result": str(result),
        }
        code = "from roster.bench.measure import serve; serve()"
        # -P: a file of the user's that is called like a package must not be taken for it.
        command = [sys.executable, "-P", "-c", code, json.dumps(request)]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with printed.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **threads},
            )
            try:
                broken = _watch(process, limits)
            finally:
                process.kill()
                process.wait()
        told = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
        facts = told.get("facts", {})
        if broken:
            return Outcome(broken[0], facts, broken[1])
        if "status" in told:
            return Outcome(told["status"], facts, told["message"])
        if process.returncode == -signal.SIGKILL:
            return Outcome(TOO_MUCH, facts, "killed by the system, most likely for want of memory")
        last = printed.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
        return Outcome(FAILED, facts, f"ended with code {process.returncode}: {last}")


def _watch(process: subprocess.Popen[bytes], limits: Limits) -> tuple[str, str] | None:
    """Waits for the end of a process; which limit it broke, and what to say of it."""
    end = time.monotonic() + limits.seconds
    while True:
        try:
            process.wait(POLL)
            return None
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                return TOO_LONG, f"stopped after {limits.seconds:g} s"
            if limits.memory is not None and process_memory("VmRSS", str(process.pid)) > limits.memory:
                return TOO_MUCH, f"stopped at {limits.memory / 2**30:.3g} GiB"


def serve() -> None:
    """The other side of `isolated`."""
    request = json.loads(sys.argv[1])
    if request["core"] is not None:
        os.sched_setaffinity(0, {request["core"]})
    told: dict[str, Any] = {"facts": {}}

    def tell() -> None:
        part = Path(request["result"] + ".part")
        part.write_text(json.dumps(told), encoding="utf-8")
        part.replace(request["result"])

    try:
        task: Task = getattr(import_module(request["module"]), request["task"])
        for facts in task(**request["arguments"]):
            told["facts"].update(facts)
            tell()
        told.update(status=OK, message="")
    except ImportError as error:
        told.update(status=MISSING, message=str(error))
    except MemoryError:
        told.update(status=TOO_MUCH, message="out of memory")
    except Exception as error:
        told.update(status=FAILED, message=" ".join(f"{type(error).__name__}: {error}".split()))
    tell()


def memory() -> int:
    """Bytes that this process holds now; 0 where the system does not tell."""
    return process_memory("VmRSS")


def peak_memory() -> int:
    """The most bytes that this process has held."""
    return peak_of_process()["peak_memory"]


def one_core() -> int | None:
    """A core to measure on: the last of those we may use (the first serves most interrupts)."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def free_memory() -> int | None:
    """Bytes that a new process can take; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def spread(values: Sequence[float]) -> dict[str, Any] | None:
    """Median, least and most; None of nothing.

    >>> spread([3.0, 1.0, 2.0])
    {'median': 2.0, 'min': 1.0, 'max': 3.0, 'runs': 3}
    """
    if not values:
        return None
    median = statistics.median(values)
    return {"median": median, "min": min(values), "max": max(values), "runs": len(values)}
