"""Measurements in new processes with limits, interleaved runs, and statistics of several runs.

A task is a generator of facts, `def task(...) -> Iterator[dict]`. It runs in a new Python process, so that
its memory is its own and no cache is warm. If a limit ends it, the facts it has yielded are kept.
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
"""Seconds between two checks of the limits."""
SETTINGS = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
            "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES")  # fmt: skip
"""Environment variables that affect the speed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one measurement: elapsed seconds, and bytes of memory (on Linux; None: no limit)."""

    seconds: float
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """The status of a measurement (OK, MISSING, ...), its facts, and the error in one line.

    `seconds` is the lifetime of its process, from the start of Python to the end.
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
    """Run a task in a new Python process.

    Parameters:
        task: a function at the top level of a module.
        arguments: its arguments, as JSON values; its facts must be JSON values, too.
        limits: of time and memory.
        core: the core that the process is bound to, or None.
        threads: the number of threads of numerical libraries; None does not set it.
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
        answer = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
        facts = answer.get("facts", {})
        if broken:
            return Measurement(broken[0], facts, broken[1], seconds)
        if "status" in answer:
            return Measurement(answer["status"], facts, answer["message"], seconds)
        if process.returncode == -signal.SIGKILL:
            message = "killed by the system, most likely for want of memory"
            return Measurement(TOO_MUCH, facts, message, seconds)
        last = printed.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
        return Measurement(FAILED, facts, f"ended with code {process.returncode}: {last}", seconds)


def _watch(process: subprocess.Popen[bytes], limits: Limits) -> tuple[str, str] | None:
    """Wait for the end of a process; return the limit that it exceeded, with a message, or None."""
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
    """Run the task of `isolated`, in the new process."""
    request = json.loads(sys.argv[1])
    if request["core"] is not None:
        os.sched_setaffinity(0, {request["core"]})
    answer: dict[str, Any] = {"facts": {}}

    def write() -> None:
        part = Path(request["result"] + ".part")
        part.write_text(json.dumps(answer), encoding="utf-8")
        part.replace(request["result"])

    try:
        task: Task = getattr(import_module(request["module"]), request["task"])
        for facts in task(**request["arguments"]):
            answer["facts"].update(facts)
            write()
        answer.update(status=OK, message="")
    except ImportError as error:
        answer.update(status=MISSING, message=str(error))
    except RosterError as error:
        # An error that tells how to install a package is raised while an ImportError is handled.
        missing = isinstance(error.__context__, ImportError)
        answer.update(status=MISSING if missing else FAILED, message=str(error))
    except MemoryError:
        answer.update(status=TOO_MUCH, message="out of memory")
    except Exception as error:
        answer.update(status=FAILED, message=" ".join(f"{type(error).__name__}: {error}".split()))
    write()


def interleaved(
    groups: Sequence[Sequence[C]],
    repeat: int,
    measure: Callable[[C, int], Measurement],
    *,
    description: str,
    log: Callable[[C, int, Measurement], None],
) -> dict[C, list[Measurement]]:
    """Measure every case `repeat` times; return the measurements of each case in order.

    The cases of a group are compared with each other. They take turns, and each turn begins with the next
    one (A B, B A, A B), so that other work on the machine affects all of them, and none is always the first.
    A case that failed once is not measured again.
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
    """Return the items, rotated by the number of the turn.

    >>> [in_turn("AB", turn) for turn in range(3)]
    [('A', 'B'), ('B', 'A'), ('A', 'B')]
    """
    shift = turn % len(items) if items else 0
    return (*items[shift:], *items[:shift])


def memory() -> int:
    """Current memory of this process in bytes; 0 if the system does not provide it."""
    return process_memory("VmRSS")


def peak_memory() -> int:
    """Peak memory of this process in bytes."""
    return peak_of_process()["peak_memory"]


def one_core() -> int | None:
    """The core to measure on: the last available one, because the first serves most interrupts."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def free_memory() -> int | None:
    """Free memory in bytes; None if the system does not provide it."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def conditions(
    benchmark: str, packages: Sequence[str], repeat: int, limits: Limits, **more: Any
) -> dict[str, Any]:
    """Return the conditions of a benchmark: machine, versions of packages, environment, repeats, limits."""
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
    """Return median, minimum and maximum; None without values.

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
    """Return the spread of a fact over the runs that have it; `change` converts it (seconds to words/s)."""
    return spread([change(run.facts[fact]) for run in runs if run.facts.get(fact) is not None])


def ratio(ours: Sequence[Measurement], theirs: Sequence[Measurement], fact: str) -> dict[str, Any] | None:
    """Return the spread of theirs / ours, run by run, so that both ran under similar load."""
    pairs = zip(ours, theirs, strict=False)
    return spread([b.facts[fact] / a.facts[fact] for a, b in pairs if fact in a.facts and fact in b.facts])
