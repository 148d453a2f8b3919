"""What benchmarks share: work in a process of its own and within limits; runs that take turns; the machine.

A measurement is a generator of facts, `def task(...) -> Iterator[dict]`. It runs in a fresh Python, so that
its memory is its own and nothing is warm that should be cold. Where a limit ends it, what it
has yielded is kept.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from roster.errors import RosterError
from roster.experiments.hardware import machine, versions
from roster.progress import bar, process_memory
from roster.progress import peak_memory as peak_of_process

C = TypeVar("C", bound=Hashable)
Task = Callable[..., Iterator[dict[str, Any]]]

OK, MISSING, TOO_LONG, TOO_MUCH, FAILED = "ok", "missing", "time limit", "memory limit", "failed"
ROOT = str(Path(__file__).parents[1])
POLL = 0.02
"""Seconds between two looks at a running measurement."""
SETTINGS = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
            "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES")  # fmt: skip
"""Variables of the environment that change what a machine can do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one measurement: seconds on the clock, and bytes of memory (on Linux; None for no limit)."""

    seconds: float
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """How a measurement ended (OK, MISSING, ...), the facts it yielded, and what went wrong, in one line.

    `seconds` is how long its process lived, from the start of Python to the end.
    """

    status: str
    facts: dict[str, Any]
    message: str = ""
    seconds: float = 0.0


def isolated(
    task: Task,
    arguments: Mapping[str, Any],
    limits: Limits,
    core: int | None = None,
    threads: int | None = 1,
) -> Measurement:
    """Runs a task in a fresh Python. Its arguments and facts must be what JSON can hold.

    With `core` it is tied to that one. `threads` is how many a library may start; None leaves cores and
    threads as they are for any program.
    """
    with tempfile.TemporaryDirectory(prefix="roster-") as folder:
        result, printed = Path(folder) / "result.json", Path(folder) / "printed.txt"
        request = {
            "module": task.__module__,
            "task": task.__qualname__,
            "arguments": arguments,
            "core": core,
            "result": str(result),
        }
        # -P, because a file in the current folder must not replace a package; the root of the repository is
        # needed for `benchmarks`, which is not installed.
        code = f"import sys; sys.path.insert(0, {ROOT!r}); from benchmarks.measure import serve; serve()"
        command = [sys.executable, "-P", "-c", code, json.dumps(request)]
        names = () if threads is None else ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        start = time.monotonic()
        with printed.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **dict.fromkeys(names, str(threads))},
            )
            try:
                broken = _watch(process, limits)
            finally:
                process.kill()
                process.wait()
        seconds = time.monotonic() - start
        told = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
        facts = told.get("facts", {})
        if broken:
            return Measurement(broken[0], facts, broken[1], seconds)
        if "status" in told:
            return Measurement(told["status"], facts, told["message"], seconds)
        if process.returncode == -signal.SIGKILL:
            message = "killed by the system, most likely for want of memory"
            return Measurement(TOO_MUCH, facts, message, seconds)
        last = printed.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
        return Measurement(FAILED, facts, f"ended with code {process.returncode}: {last}", seconds)


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
    except RosterError as error:
        # One that says how to install what is missing was raised where the import failed.
        missing = isinstance(error.__context__, ImportError)
        told.update(status=MISSING if missing else FAILED, message=str(error))
    except MemoryError:
        told.update(status=TOO_MUCH, message="out of memory")
    except Exception as error:
        told.update(status=FAILED, message=" ".join(f"{type(error).__name__}: {error}".split()))
    tell()


def interleaved(
    groups: Sequence[Sequence[C]],
    repeat: int,
    measure: Callable[[C, int], Measurement],
    *,
    description: str,
    log: Callable[[C, int, Measurement], None],
) -> dict[C, list[Measurement]]:
    """The outcomes of each case, in the order of its runs.

    The cases of a group are what is compared: they take turns, and each turn begins with the next of them
    (A B, B A, A B), so that a busy minute of the machine hits all, and none is always the first. A case that
    could not be measured once is not asked again.
    """
    outcomes: dict[C, list[Measurement]] = {case: [] for group in groups for case in group}
    with bar(total=repeat * len(outcomes), description=description, unit="run") as shown:
        for turn in range(repeat):
            for number, group in enumerate(groups):
                for case in in_turn(group, turn + number):
                    shown.update()
                    if outcomes[case] and outcomes[case][-1].status != OK:
                        continue
                    outcome = measure(case, turn)
                    outcomes[case].append(outcome)
                    shown.clear()
                    log(case, turn, outcome)
    return outcomes


def in_turn(items: Sequence[C], turn: int) -> tuple[C, ...]:
    """The items, beginning with another one each turn.

    >>> [in_turn("AB", turn) for turn in range(3)]
    [('A', 'B'), ('B', 'A'), ('A', 'B')]
    """
    shift = turn % len(items) if items else 0
    return (*items[shift:], *items[:shift])


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


def conditions(
    benchmark: str, packages: Sequence[str], repeat: int, limits: Limits, **more: Any
) -> dict[str, Any]:
    """What a number depends on: the machine, versions of packages that are installed, threads, repeats."""
    return {
        "benchmark": benchmark,
        "machine": machine(),
        "versions": versions(packages),
        "environment": {name: os.environ[name] for name in SETTINGS if name in os.environ},
        "repeat": repeat,
        "limits": asdict(limits),
        **more,
    }


def spread(values: Sequence[float]) -> dict[str, Any] | None:
    """Median, least and most; None of nothing.

    >>> spread([3.0, 1.0, 2.0])
    {'median': 2.0, 'min': 1.0, 'max': 3.0, 'runs': 3}
    """
    if not values:
        return None
    median = statistics.median(values)
    return {"median": median, "min": min(values), "max": max(values), "runs": len(values)}


def spread_of(
    runs: Sequence[Measurement], fact: str, change: Callable[[float], float] = float
) -> dict[str, Any] | None:
    """Over the runs that have this fact; `change` makes another number of it (words/s of seconds)."""
    return spread([change(run.facts[fact]) for run in runs if run.facts.get(fact) is not None])


def ratio(ours: Sequence[Measurement], theirs: Sequence[Measurement], fact: str) -> dict[str, Any] | None:
    """How many times as large a fact of theirs is, turn by turn: a busy minute is in both or in neither."""
    pairs = zip(ours, theirs, strict=False)
    return spread([b.facts[fact] / a.facts[fact] for a, b in pairs if fact in a.facts and fact in b.facts])
