"""`python -m benchmarks step`: the time of one training step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.measure import OK, Limits, Measurement, conditions, interleaved, isolated, spread_of
from benchmarks.report import Report, Row, cell, machine_line, note, table
from benchmarks.step.task import steps

PACKAGES = ("torch", "transformers", "triton")
NOTES = """\
ms/step: a step of all models together. ms/model: the same by model. first: seconds of the steps before, with
what is compiled or recorded in them."""


@dataclass(frozen=True)
class Workload:
    backbone: str
    device: str
    sentences: int
    warm: int
    timed: int


@dataclass(frozen=True)
class StepCase:
    engine: str
    models: int

    @property
    def name(self) -> str:
        return self.engine if self.models == 1 else f"{self.engine}, {self.models} models"


class StepReport(Report):
    def name(self, result: dict[str, Any]) -> str:
        return str(result["case"])

    def text(self) -> str:
        rows: list[Row] = [(["", "ms/step", "ms/model", "first s"], ""), *map(self._row, self.results)]
        return "\n".join([machine_line(self.conditions), "", *table(rows), "", NOTES])

    def _row(self, result: dict[str, Any]) -> Row:
        if result["status"] != OK:
            return [f"  {self.name(result)}"], note(result)
        step = result["step_seconds"]
        return [f"  {self.name(result)}", cell(step, 1e-3), cell(step, 1e-3 * result["models"], runs=False),
                cell(result["warm_seconds"])], ""  # fmt: skip


def run(
    workload: Workload,
    cases: Sequence[StepCase],
    *,
    repeat: int,
    limits: Limits,
    log: Callable[[str], None],
) -> StepReport:
    """Measure the steps of each case."""

    def measure(case: StepCase, turn: int) -> Measurement:
        return isolated(steps, {**asdict(case), **asdict(workload)}, limits, threads=None)

    def report_run(case: StepCase, turn: int, outcome: Measurement) -> None:
        done = f"{1000 * outcome.facts['step_seconds']:.2f} ms" if outcome.status == OK else outcome.message
        log(f"{case.name}, run {turn + 1} of {repeat}: {done}")

    outcomes = interleaved([cases], repeat, measure, description="step", log=report_run)
    results = [
        {
            "case": case.name,
            **asdict(case),
            "status": outcomes[case][-1].status,
            "message": outcomes[case][-1].message,
            "step_seconds": spread_of(outcomes[case], "step_seconds"),
            "warm_seconds": spread_of(outcomes[case], "warm_seconds"),
        }
        for case in cases
    ]
    return StepReport(conditions("step", PACKAGES, repeat, limits, workload=asdict(workload)), tuple(results))
