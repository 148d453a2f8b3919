"""`python -m benchmarks scaling`: rates of a core, Ray's overhead by shard size, two workers against one,
faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import OK, Limits, Measurement, conditions, interleaved, isolated, ratio, spread_of
from benchmarks.prediction.run import named
from benchmarks.report import Report, Row, cell, machine_line, note, table
from benchmarks.scaling.faults import faults
from benchmarks.scaling.model import fitted, seconds
from benchmarks.scaling.tasks import shards, untrained
from benchmarks.synthetic import synthetic_names, synthetic_text
from roster.experiments.hardware import commit

PACKAGES = ("ray", "torch", "onnxruntime", "numpy", "tokenizers")
NAMES = 50_000
FACTS = ("plan", "connect", "seconds", "read", "work", "processor", "longest")

NOTES = """\
s: from the plan to the last shard, with loading. MB/s: megabytes of text in a second of the clock. MB/s core:
in a second of processor time of the worker. / local: time against one process of the local engine with the
same shards, run by run. predicted: by the model (model.py), whose numbers are from one worker of the same
engine with the largest and the smallest shards."""


@dataclass(frozen=True)
class Case:
    """A command over shards of a size."""

    kind: str
    size: int
    engine: str
    workers: int

    @property
    def name(self) -> str:
        command, _, model = self.kind.partition(":")
        what = f"{command} {Path(model).name}".strip()
        return f"{what}, {self.size >> 10} KiB, {self.engine} x {self.workers}"


class ScalingReport(Report):
    def name(self, result: dict[str, Any]) -> str:
        return str(result["case"])

    def text(self) -> str:
        head = ["", "shards", "s", "MB/s", "MB/s core", "/ local", "predicted"]
        rows: list[Row] = [(head, "")]
        killed: list[Row] = [(["", "injected", "survived", "records lost", "doubled"], "")]
        for one in self.results:
            if "injected" in one:
                numbers = [str(one[key]) for key in ("injected", "survived", "lost", "doubled")]
                killed.append(([f"  {one['case']}", *numbers], note(one)))
                continue
            if one["status"] != OK:
                rows.append(([f"  {one['name']}"], note(one)))
                continue
            predicted = "-" if one["predicted"] is None else f"{one['predicted']:.1f}"
            numbers = [str(one["shards"]), cell(one["seconds"]), cell(one["rate"], 1e6)]
            rows.append(
                (
                    [
                        f"  {one['name']}",
                        *numbers,
                        cell(one["core_rate"], 1e6),
                        cell(one["to_local"]),
                        predicted,
                    ],
                    "",
                )
            )
        lines = [machine_line(self.conditions)]
        for part in (rows, killed):
            lines += ["", *table(part)] if len(part) > 1 else []
        return "\n".join([*lines, "", NOTES])


def run(
    models: Sequence[str | PathLike[str]],
    *,
    names: str | None,
    words: int,
    sizes: Sequence[int],
    workers: Sequence[int],
    commands: Sequence[str],
    injected: int,
    repeat: int,
    limits: Limits,
    log: Callable[[str], None],
) -> ScalingReport:
    """Measure each command with each size of shards on each engine.

    Args:
        models: model folders for `predict`; without one, the bundled encoder, untrained.
        names: a dictionary for `label`; without it, synthetic names.
        words: length of the synthetic text.
        sizes: bytes of a shard.
        workers: numbers of Ray's workers; the local engine has one.
        commands: those to measure, of convert, label, predict.
        injected: faults of each kind.
        repeat: runs of each case.
        limits: of a run.
        log: gets messages about progress.
    """
    with TemporaryDirectory(prefix="roster-") as folder:
        kinds = [one for one in commands if one != "predict"]
        if "predict" in commands:
            given = named(models).values() if models else [untrained(Path(folder) / "untrained")]
            kinds += [f"predict:{Path(one).resolve()}" for one in given]
        groups = [
            [Case(kind, size, *where) for where in (("local", 1), *(("ray", n) for n in workers))]
            for kind in kinds
            for size in sizes
        ]
        source, dictionary = Path(folder) / "text.txt", Path(folder) / "names.tsv"
        known = list(islice(synthetic_names(), NAMES))
        text = synthetic_text([name for name, _ in known], words, 1)
        source.write_text("".join(" ".join(sentence) + "\n" for sentence in text), encoding="utf-8")
        dictionary.write_text("".join(f"{name}\t{kind}\n" for name, kind in known), encoding="utf-8")

        def measure(case: Case, turn: int) -> Measurement:
            arguments = {
                "kind": case.kind,
                "source": str(source),
                "names": str((names and Path(names).resolve()) or dictionary),
                "cache": f"{folder}/cache",
                "engine": case.engine,
                "workers": case.workers,
                "size": case.size,
            }
            return isolated(shards, arguments, limits)

        def report_run(case: Case, turn: int, outcome: Measurement) -> None:
            found = f"{outcome.facts['seconds']:.2f} s" if outcome.status == OK else outcome.message
            log(f"{case.name}, run {turn + 1} of {repeat}: {found}")

        outcomes = interleaved(groups, repeat, measure, description="scaling", log=report_run)
        size = source.stat().st_size
    results = [result(case, outcomes) for group in groups for case in group]
    workload = {"bytes": size, "words": words, "names": Path(names).name if names else NAMES}
    about = conditions("scaling", PACKAGES, repeat, limits, commit=commit(), workload=workload)
    return ScalingReport(about, (*results, *(faults(injected, log) if injected else ())))


def result(case: Case, outcomes: dict[Case, list[Measurement]]) -> dict[str, Any]:
    """The result of a case, beside the local engine and the model."""
    runs = outcomes[case]
    local = outcomes[Case(case.kind, case.size, "local", 1)]
    facts = runs[-1].facts
    rates = {
        "rate": spread_of(runs, "seconds", lambda s: facts["bytes"] / s),
        "core_rate": spread_of(runs, "processor", lambda s: facts["bytes"] / s),
    }
    return {
        "case": case.name,
        "name": case.name,
        "command": case.kind.partition(":")[0],
        "model": Path(case.kind.partition(":")[2]).name,
        "engine": case.engine,
        "workers": case.workers,
        "shard_bytes": case.size,
        "status": runs[-1].status,
        "message": runs[-1].message,
        "shards": facts.get("shards"),
        **{fact: spread_of(runs, fact) for fact in FACTS},
        **(rates if facts.get("bytes") else {}),
        "to_local": ratio(local, runs, "seconds"),
        "predicted": predicted(case, outcomes),
    }


def predicted(case: Case, outcomes: dict[Case, list[Measurement]]) -> float | None:
    """The time that the model gives, from one worker of the engine with the largest and the smallest
    shards."""
    ones = {one.size: runs for one, runs in outcomes.items()
            if (one.kind, one.engine, one.workers) == (case.kind, case.engine, 1)}  # fmt: skip
    if len(ones) < 2 or any(run.status != OK for runs in ones.values() for run in runs):
        return None
    large, small = ones[max(ones)], ones[min(ones)]
    if case.workers == 1 and case.size in (max(ones), min(ones)):
        return None  # the model was fitted to these
    few, many = (
        (runs[0].facts["bytes"], runs[0].facts["shards"], spread_of(runs, "seconds"))
        for runs in (large, small)
    )
    work = spread_of(large, "work")
    if few[2] is None or many[2] is None or work is None or outcomes[case][-1].status != OK:
        return None
    costs = fitted(
        (few[0], few[1], few[2]["median"]), (many[0], many[1], many[2]["median"]), few[0] / work["median"]
    )
    return round(seconds(costs, few[0], outcomes[case][-1].facts["shards"], case.workers), 3)
