"""`python -m benchmarks serving`: requests per second and latency of the service.

Each run of a system is a new process that serves it; the clients are in the process of the benchmark.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import (
    FAILED,
    OK,
    ROOT,
    TOO_LONG,
    Limits,
    Measurement,
    conditions,
    interleaved,
    spread_of,
)
from benchmarks.prediction.run import named
from benchmarks.prediction.text import prepare
from benchmarks.prediction.token_classifier import unfit
from benchmarks.report import Report, Row, cell, machine_line, note, table
from benchmarks.serving.clients import load
from roster.model.folder import inner_model

PACKAGES = ("torch", "transformers", "tokenizers", "onnxruntime", "numpy", "fastapi", "uvicorn")
WORDS = 20_000
FACTS = ("requests_per_second", "p50", "p99")
WARM_UP_SECONDS = 1.0

NOTES = """\
Each client sends one sentence in a request, and the next when it is answered. p50, p99: milliseconds from
the request to the answer. Clients and service share the cores. pipeline: the token classification pipeline
of transformers with the same weights, in the same application, with the same batches."""


@dataclass(frozen=True)
class Case:
    """A system and the model that it serves."""

    system: str
    model: str
    source: str

    @property
    def name(self) -> str:
        return self.model if self.system == "ours" else f"{self.system} {self.model}"


class ServingReport(Report):
    def name(self, result: dict[str, Any]) -> str:
        return f"{result['name']}, {result['clients']} clients"

    def text(self) -> str:
        rows: list[Row] = [(["", "clients", "requests/s", "p50 ms", "p99 ms"], "")]
        for result in self.results:
            numbers = [cell(result[fact]) for fact in FACTS]
            rows.append(([f"  {result['name']}", str(result["clients"]), *numbers], note(result)))
        return "\n".join([machine_line(self.conditions), "", *table(rows), "", NOTES])


def run(
    models: Sequence[str | PathLike[str]],
    text: str | PathLike[str] | None = None,
    *,
    clients: Sequence[int],
    seconds: float,
    pipeline: bool = True,
    repeat: int = 3,
    limits: Limits,
    log: Callable[[str], None],
) -> ServingReport:
    """Measure each model, and the pipeline for those that it can have.

    Args:
        models: model folders, exports or run folders.
        text: a file whose sentences are sent; without it they are synthetic.
        clients: numbers of clients.
        seconds: length of each measurement.
        pipeline: whether transformers' pipeline is measured, too.
        repeat: runs of each system.
        limits: of the time of a run of a system with all numbers of clients.
        log: gets messages about progress.
    """
    cases = [Case("ours", name, str(folder)) for name, folder in named(models).items()]
    if pipeline:
        others = [Case("pipeline", one.model, one.source) for one in cases]
        cases += [one for one in others if not unfit(inner_model(one.source))]
    with TemporaryDirectory(prefix="roster-") as folder:
        given = prepare(text, None, None if text else WORDS, Path(folder))
        texts = given.file.read_text(encoding="utf-8").splitlines()

        def measure(case: Case, turn: int) -> Measurement:
            return measured(case, texts, clients, seconds, limits)

        def report_run(case: Case, turn: int, outcome: Measurement) -> None:
            shown = ", ".join(f"{n}: {outcome.facts.get(f'requests_per_second {n}', 0):.0f}" for n in clients)
            result = shown if outcome.status == OK else f"{outcome.status}, {outcome.message}"
            log(f"{case.name}, run {turn + 1} of {repeat}, requests/s by clients: {result}")

        outcomes = interleaved([cases], repeat, measure, description="serving", log=report_run)
    results = tuple(summary(case, n, outcomes[case]) for n in clients for case in cases)
    about = conditions("serving", PACKAGES, repeat, limits, workload=given.facts(), seconds=seconds)
    return ServingReport(about, results)


def measured(
    case: Case, texts: Sequence[str], clients: Sequence[int], seconds: float, limits: Limits
) -> Measurement:
    """Measure one run of a system; a fact is called `p50 8` for eight clients."""
    end = time.monotonic() + limits.seconds
    code = f"import sys; sys.path.insert(0, {ROOT!r}); from benchmarks.serving.service import main; "
    command = [sys.executable, "-P", "-c", code + "main(*sys.argv[1:])", case.system, case.source]
    with TemporaryDirectory(prefix="roster-") as folder, (Path(folder) / "out").open("w+") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            facts: dict[str, Any] = {}
            address = _address(process, Path(out.name), end)
            load(*address, texts, max(clients), WARM_UP_SECONDS)
            for number in clients:
                found = load(*address, texts, number, seconds).facts()
                facts |= {f"{name} {number}": value for name, value in found.items()}
                if found["failed"] or time.monotonic() > end:
                    status = FAILED if found["failed"] else TOO_LONG
                    return Measurement(status, facts, f"{found['failed']:.0f} requests failed")
            return Measurement(OK, facts)
        except TimeoutError:
            return Measurement(TOO_LONG, {}, f"did not listen within {limits.seconds:g} s")
        except (OSError, EOFError) as error:
            return Measurement(FAILED, {}, " ".join(str(error).split()) or type(error).__name__)
        finally:
            process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()


def _address(process: subprocess.Popen[Any], output: Path, end: float) -> tuple[str, int]:
    """Where the service listens, as the first line of its log has it."""
    while time.monotonic() < end:
        lines = output.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        for line in lines:
            if line.startswith("{") and line.endswith("\n") and "url" in (found := json.loads(line)):
                host, _, port = found["url"].removeprefix("http://").rpartition(":")
                return host, int(port)
        if process.poll() is not None:
            raise OSError(f"ended with code {process.returncode}: {lines[-1] if lines else ''}")
        time.sleep(0.05)
    raise TimeoutError


def summary(case: Case, clients: int, runs: Sequence[Measurement]) -> dict[str, Any]:
    """The result of a system for a number of clients."""
    return {
        "name": case.name,
        "system": case.system,
        "model": case.model,
        "clients": clients,
        "status": runs[-1].status,
        "message": runs[-1].message,
        **{fact: spread_of(runs, f"{fact} {clients}") for fact in FACTS},
    }
