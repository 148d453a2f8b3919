"""`python -m benchmarks soak`: a storm of clients against the service, and what is left of it afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import FAILED, OK, Limits, conditions
from benchmarks.prediction.run import named
from benchmarks.prediction.text import prepare
from benchmarks.report import Report, machine_line, table
from benchmarks.soak.clients import Storm, client, observer
from benchmarks.soak.questions import Questions
from benchmarks.soak.service import Service, metrics, sample
from benchmarks.soak.tally import Tally
from benchmarks.soak.wire import Wire, post
from roster.infer.recogniser import load

PACKAGES = ("onnxruntime", "torch", "numpy", "fastapi", "pydantic", "uvicorn", "h11")
WORDS = 20_000
START_SECONDS = 120.0
CALM_SECONDS = 90.0
"""Time in which the service has to finish what is under way after the storm, and to end."""
POINTS = 60
"""Samples of memory in a record."""
UNDER_WAY = ("roster_requests_under_way", "roster_waiting_requests", "roster_connections")

NOTES = """\
served: right answers; those of /predict are compared with the model alone. refused: by limits of the service,
with the reason. rejected: wrong requests, by status. left: clients that went away. ms: p50, p99 and maximum.
Memory is that of the service. Clients and service share the cores."""


class SoakReport(Report):
    def name(self, result: dict[str, Any]) -> str:
        return str(result["model"])

    def text(self) -> str:
        lines = [machine_line(self.conditions)]
        for result in self.results:
            problems = [([""], problem) for problem in [result["message"], *result["problems"]] if problem]
            rows = [([name, value], "") for name, value in _rows(result)]
            lines += ["", f"{result['model']}: {result['status']}", *table([*rows, *problems])]
        return "\n".join([*lines, "", NOTES])


def run(
    models: Sequence[str | PathLike[str]],
    text: str | PathLike[str] | None = None,
    *,
    clients: int,
    seconds: float,
    options: Sequence[str] = (),
    log: Callable[[str], None],
) -> SoakReport:
    """Serve each model, one after the other, and send it a storm.

    Args:
        models: model folders, exports or run folders.
        text: a file whose sentences are sent; without it they are synthetic.
        clients: how many there are at the same time.
        seconds: length of the storm.
        options: further options of `roster serve`.
        log: gets messages about progress.
    """
    results = []
    with TemporaryDirectory(prefix="roster-") as folder:
        given = prepare(text, None, None if text else WORDS, Path(folder))
        lines = given.file.read_text(encoding="utf-8").splitlines()
        for name, source in named(models).items():
            log(f"{name}: {clients} clients for {seconds:g} s")
            questions = Questions(load(source, "cpu"), lines)
            service = Service(str(source), options, Path(folder) / "log")
            try:
                facts = soaked(service, questions, clients, seconds)
            finally:
                service.process.kill()
            results.append({"model": name, "clients": clients, "seconds": seconds, **facts})
    limits = Limits(START_SECONDS + seconds + 2 * CALM_SECONDS)
    about = conditions("soak", PACKAGES, 1, limits, workload=given.facts(), options=list(options))
    return SoakReport(about, tuple(results))


def soaked(service: Service, questions: Questions, clients: int, seconds: float) -> dict[str, Any]:
    """The facts of one storm."""
    try:
        address = service.address(START_SECONDS)
        facts, faults = asyncio.run(_storm(service, address, questions, clients, seconds))
    except (OSError, EOFError) as error:
        return {"status": FAILED, "message": f"{type(error).__name__}: {error}", "problems": []}
    code = service.end(CALM_SECONDS)
    events = service.events()
    if code != 0:
        faults.append(f"exit code {code}")
    if found := [event for event in events if event["event"] == "error"]:
        faults.append(f"{len(found)} errors in the log, the first: {found[0]}")
    if text := service.errors():
        faults.append(f"on standard error: {text}")
    facts |= {"exit_code": code, "warnings": sum(event["event"] == "warning" for event in events)}
    return {"status": FAILED if faults else OK, "message": "; ".join(faults), **facts}


async def _storm(
    service: Service, address: tuple[str, int], questions: Questions, clients: int, seconds: float
) -> tuple[dict[str, Any], list[str]]:
    faults = await _ask_all(address, questions, "before the storm")
    samples: list[dict[str, float]] = []
    storm = Storm(address, questions, time.perf_counter() + seconds)
    sampling = asyncio.create_task(sample(service, min(1.0, seconds / 20), samples))
    try:
        tasks = [asyncio.create_task(client(storm, number)) for number in range(clients)]
        done, late = await asyncio.wait(
            [*tasks, asyncio.create_task(observer(storm))], timeout=seconds + CALM_SECONDS
        )
        for task in late:
            task.cancel()
        faults += [f"a client ended in an error: {task.exception()!r}" for task in done if task.exception()]
        faults += [f"{len(late)} clients did not end"] if late else []
        left = await _calm(address)
        faults += await _ask_all(address, questions, "after the storm")
        await asyncio.sleep(1)
    finally:
        sampling.cancel()
    faults += [f"{name} is {value:g} after the storm" for name, value in left.items()]
    if storm.tally.errors:
        faults.append(f"{sum(storm.tally.errors.values())} errors of clients")
    counted = await metrics(address)
    refused = {
        name.split('"')[1]: value
        for name, value in counted.items()
        if name.startswith("roster_refused_total")
    }
    cpu = counted["process_cpu_seconds_total"]
    facts = storm.tally.facts() | {"refused_by_service": refused, "cpu_seconds": cpu}
    return {**facts, **_memory(samples)}, faults


async def _calm(address: tuple[str, int]) -> dict[str, float]:
    """Waits until nothing is under way; returns the numbers that do not come down."""
    end = time.monotonic() + CALM_SECONDS
    while True:
        found = await metrics(address)
        left = {
            name: value
            for name, value in found.items()
            if name.startswith(UNDER_WAY) and value > (1 if "connections" in name else 0)  # one is this one
        }
        if not left or time.monotonic() > end:
            return left
        await asyncio.sleep(0.2)


async def _ask_all(address: tuple[str, int], questions: Questions, when: str) -> list[str]:
    """Asks each text alone; returns what is wrong with the answers."""
    tally = Tally()
    wire = await Wire.open(address)
    try:
        for question in questions.each():
            await wire.send(post(question.body))
            tally.judge(when, await wire.answer(), question)
    finally:
        wire.close()
    return [*tally.problems, *(f"{when}: refused, {reason}" for reason in tally.refused)]


def _memory(samples: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Memory at the start, the most, at the end, and what the last quarter has more than the second."""
    memory, files = [int(one["memory"]) for one in samples], [int(one["files"]) for one in samples]
    quarter = max(1, len(memory) // 4)
    growth = median(memory[-quarter:]) - median(memory[quarter : 2 * quarter] or memory)
    step = max(1, -(-len(samples) // POINTS))
    return {
        "memory": {"start": memory[0], "max": max(memory), "end": memory[-1], "growth": int(growth)},
        "files": {"start": files[0], "max": max(files), "end": files[-1]},
        "samples": list(samples[::step]),
    }


def _rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    def counts(found: dict[str, float]) -> str:
        return ", ".join(f"{name} {number:,.0f}" for name, number in found.items()) or "none"

    rows = [("clients", f"{result['clients']}"), ("minutes", f"{result['seconds'] / 60:.3g}")]
    if "memory" not in result:
        return rows
    answers = f"{result['served']:,}, {result['compared']:,} of them compared"
    rows += [("served", answers), ("refused", counts(result["refused"])),
             ("rejected", counts(result["rejected"])), ("left", f"{result['left']:,}"),
             ("errors", f"{result['errors']:,}")]  # fmt: skip
    for name in ("answer", "refusal", "health"):
        if found := result.get(f"{name}_ms"):
            rows.append((f"{name} ms", f"{found['p50']:.0f}, {found['p99']:.0f}, {found['max']:.0f}"))
    memory = {name: value / 2**20 for name, value in result["memory"].items()}
    rows += [("memory MiB", counts(memory)), ("open files", counts(result["files"])),
             ("exit code", f"{result['exit_code']}")]  # fmt: skip
    return rows
