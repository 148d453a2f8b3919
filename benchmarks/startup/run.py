"""`python -m benchmarks startup`: time and memory of a command before it does any work.

Each run is a new process that starts like the installed command `roster`; the commands take turns.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import FAILED, OK, TOO_LONG, Limits, Measurement, conditions, interleaved, spread_of
from benchmarks.prediction.run import named
from benchmarks.report import Report, Row, cell, machine_line, note, table
from benchmarks.startup import launch

PACKAGES = ("torch", "transformers", "tokenizers", "onnxruntime", "numpy")
SENTENCE = "Anna Berg of Northgate Bank flew from Lisbon to Oslo on Tuesday.\n"
SLOWEST = 10
START = "from roster.cli.main import entry; entry()"  # as the installed script
IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)")

NOTES = """\
seconds: from the start of Python to the end of the process, with output. first: the first run of each
command, whose files may not be cached or compiled yet; it is not included in seconds.
memory: peak memory of the process. predict: one sentence from standard input."""


@dataclass(frozen=True)
class Command:
    name: str
    arguments: tuple[str, ...]
    input: str = ""


class StartupReport(Report):
    def name(self, result: dict[str, Any]) -> str:
        return str(result["command"])

    def text(self) -> str:
        rows: list[Row] = [(["", "seconds", "first", "memory MiB"], ""), *map(self._row, self.results)]
        lines = [machine_line(self.conditions), "", *table(rows)]
        for result in self.results:
            if result["imports"]:
                listed = [
                    ([f"  {one['module']}", f"{one['seconds']:.3f}", f"{one['self_seconds']:.3f}"], "")
                    for one in result["imports"]
                ]
                lines += [
                    "",
                    *table([([f"imports of {self.name(result)}", "seconds", "its own"], ""), *listed]),
                ]
        return "\n".join([*lines, "", NOTES])

    def _row(self, result: dict[str, Any]) -> Row:
        name = f"  {self.name(result)}"
        if result["first_seconds"] is None:
            return [name], note(result)
        numbers = [cell(result["seconds"]), f"{result['first_seconds']:.3f}"]
        return [name, *numbers, cell(result["peak_memory"], 2**20, runs=False)], note(result)


def run(
    models: Sequence[str | PathLike[str]] = (),
    *,
    imports: bool = False,
    repeat: int = 5,
    limits: Limits,
    log: Callable[[str], None],
) -> StartupReport:
    """Measure each command once, then `repeat` times; with `imports`, once more with import times."""
    commands = commands_for(models)
    with TemporaryDirectory(prefix="roster-") as folder:
        place = Path(folder)

        def measure(command: Command, turn: int) -> Measurement:
            return measured(command, limits, place)

        def report_run(command: Command, turn: int, outcome: Measurement) -> None:
            which = "first run" if turn == 0 else f"run {turn} of {repeat}"
            text = f"{outcome.status}, {outcome.message}"
            if outcome.status == OK:
                text = f"{outcome.facts['seconds']:.3f} s"
            log(f"{command.name}, {which}: {text}")

        outcomes = interleaved([commands], 1 + repeat, measure, description="startup", log=report_run)
        results = []
        for command in commands:
            slowest = []
            if imports and outcomes[command][-1].status == OK:
                log(f"{command.name}: imports")
                slowest = slowest_imports(
                    measured(command, limits, place, "-X", "importtime").facts["errors"]
                )
            results.append(summary(command, outcomes[command], slowest))
    return StartupReport(conditions("startup", PACKAGES, repeat, limits), tuple(results))


def commands_for(models: Sequence[str | PathLike[str]]) -> list[Command]:
    return [
        Command("roster --help", ("--help",)),
        Command("roster --version", ("--version",)),
        *(
            Command(f"roster predict {name}", ("predict", str(folder)), SENTENCE)
            for name, folder in named(models).items()
        ),
    ]


def measured(command: Command, limits: Limits, folder: Path, *options: str) -> Measurement:
    """Measure one run. Its facts: seconds, peak_memory, and its standard error."""
    given, output, errors = (folder / name for name in ("input", "output", "errors"))
    given.write_text(command.input, encoding="utf-8")
    for file in (output, errors):
        file.write_bytes(b"")
    # -P, because a file in the current folder must not replace a package.
    python = [sys.executable, "-P", *options, "-c", START, *command.arguments]
    files = [str(file) for file in (given, output, errors)]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(launch.__file__), *files, *python],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed = process.communicate(timeout=limits.seconds)[0]
    except subprocess.TimeoutExpired:
        return Measurement(TOO_LONG, {}, f"stopped after {limits.seconds:g} s")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    seconds, peak, code = printed.split()
    wrote = errors.read_text(encoding="utf-8", errors="replace")
    if int(code):
        return Measurement(FAILED, {}, f"ended with code {code}: {wrote.strip().rpartition(chr(10))[2]}")
    return Measurement(OK, {"seconds": float(seconds), "peak_memory": int(peak), "errors": wrote})


def slowest_imports(wrote: str, number: int = SLOWEST) -> list[dict[str, Any]]:
    """Parse the output of `python -X importtime`: seconds of a module with its imports, and its own.

    >>> slowest_imports("import time:       120 |        500 | json")
    [{'module': 'json', 'seconds': 0.0005, 'self_seconds': 0.00012}]
    """
    imports = [
        {"module": module, "seconds": int(whole) / 1e6, "self_seconds": int(own) / 1e6}
        for own, whole, module in IMPORT.findall(wrote)
    ]
    return sorted(imports, key=lambda one: -float(one["seconds"]))[:number]


def summary(command: Command, runs: Sequence[Measurement], imports: list[dict[str, Any]]) -> dict[str, Any]:
    first, later = runs[0], runs[1:]
    return {
        "command": command.name,
        "status": runs[-1].status,
        "message": runs[-1].message,
        "first_seconds": first.facts.get("seconds"),
        "seconds": spread_of(later, "seconds"),
        "peak_memory": spread_of(runs, "peak_memory"),
        "imports": imports,
    }
