"""`python -m benchmarks faults`: kills in every stage, and what the same command makes of what is left."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.faults.process import Command
from benchmarks.faults.workload import arguments
from benchmarks.measure import FAILED, OK, Limits, conditions
from benchmarks.report import Report, Row, machine_line, table

PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
WEIGHTS = Path("model") / "roster.safetensors"
BEGINNING, MODEL = "beginning", "model"
"""Before the first stage, and after the last one."""
INSTANT = ("mean-of-members",)
"""Stages without a training."""
TRIES = 8
"""How often a moment that was missed is tried again."""
NOTES = """\
kills: SIGKILL at a random moment of the stage, or while a file was being written. at checkpoint: those that
left a checkpoint of the stage. half-written: those that left an unfinished file. same: of the trainings
that went on, how many ended with the weights of the unbroken run, bit for bit."""


class FaultsReport(Report):
    def name(self, result: dict[str, Any]) -> str:
        return f"{result['method']}, {result['stage']}"

    def text(self) -> str:
        rows: list[Row] = [(["", "kills", "at checkpoint", "half-written", "same"], "")]
        for name, group in groupby(self.results, key=self.name):
            trials = list(group)
            counts = [sum(bool(one[key]) for one in trials) for key in ("checkpoints", "partial", "same")]
            rows.append(([f"  {name}", str(len(trials)), *map(str, counts)], ""))
        same = sum(one["same"] for one in self.results)
        return "\n".join(
            [machine_line(self.conditions), "", *table(rows), "", f"{same} of {len(self.results)}", "", NOTES]
        )


@dataclass
class Unbroken:
    """An unbroken run: its weights, its stages, and how long each took."""

    weights: bytes
    stages: list[str]
    seconds: dict[str, float]


def run(methods: Sequence[str], *, kills: int, seed: int, log: Callable[[str], None]) -> FaultsReport:
    """Kill each stage of each method `kills` times at random moments and once while a file is written."""
    os.environ["OMP_NUM_THREADS"] = "1"  # sums are then the same in every run
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # A killed process cannot release what it shares; the tracker of such things need not warn of that.
    os.environ["PYTHONWARNINGS"] = "ignore::UserWarning:multiprocessing.resource_tracker"
    results: list[dict[str, Any]] = []
    with TemporaryDirectory(prefix="roster-") as folder:
        place = Path(folder)
        for method in methods:
            command = arguments(method, place)
            whole = unbroken(command, place / f"{method}-unbroken")
            log(f"{method}: {', '.join(f'{name} {took:.2f} s' for name, took in whole.seconds.items())}")
            for stage in whole.seconds:
                draw = Random(f"{seed}/{method}/{stage}")
                for number in range(kills + 1):
                    moment = "random" if number < kills else "writing"
                    one = trial(command, place / f"{method}-killed", whole, stage, moment, draw)
                    results.append({"method": method, "stage": stage, "moment": moment, **one})
                    log(f"{method}, {stage}, {moment}: {one['message'] or 'the same model'}")
    return FaultsReport(
        conditions("faults", PACKAGES, 1, Limits(0.0), kills=kills, seed=seed, threads=1), tuple(results)
    )


def unbroken(command: Sequence[str], run: Path) -> Unbroken:
    """Train without a fault and watch when each stage ends."""
    started = Command([*command, "-o", str(run)], run.with_suffix(".err"))
    ends: dict[str, float] = {}
    while started.running:
        for name in (BEGINNING,) if (run / "config.toml").exists() else ():
            ends.setdefault(name, time.monotonic())
        for name in stages(run):
            ends.setdefault(name, time.monotonic())
        time.sleep(0.002)
    if started.wait() != 0:
        raise RuntimeError(started.errors.read_text(encoding="utf-8"))
    for name in stages(run):
        ends.setdefault(name, time.monotonic())
    names = [name for name in ends if name not in INSTANT]
    previous = dict(zip(names[1:], names, strict=False))
    seconds = {name: max(0.01, ends[name] - ends[before]) for name, before in previous.items()}
    return Unbroken((run / WEIGHTS).read_bytes(), stages(run), seconds)


def trial(
    command: Sequence[str], run: Path, whole: Unbroken, stage: str, moment: str, draw: Random
) -> dict[str, Any]:
    """One kill, and the same command again; what the kill left, and whether the model is the same."""
    full, errors = [*command, "-o", str(run)], run.with_suffix(".err")
    killed = False
    for _ in range(TRIES):
        shutil.rmtree(run, ignore_errors=True)
        errors.write_bytes(b"")
        when = in_stage(run, whole, stage, moment, draw)
        killed = Command(full, errors).kill_when(when)
        if killed and MODEL not in stages(run):
            break
    before = stages(run)
    left = {
        "killed": killed,
        "finished": before,
        "checkpoints": len(list(run.glob("points/checkpoint-*"))),
        "partial": len([p for p in run.rglob("*.part") if p.name.startswith(".")]),
    }
    code = Command(full, errors).wait()
    weights = run / WEIGHTS
    same = code == 0 and weights.exists() and weights.read_bytes() == whole.weights
    message = (
        "" if same else errors.read_text(encoding="utf-8").strip().rpartition("\n")[2] or "other weights"
    )
    if not killed:
        same, message = False, "the moment was always missed"
    elif same and (stages(run) != whole.stages or list(run.rglob("*.part")) or (run / "points").exists()):
        same, message = False, "the folder differs from that of the unbroken run"
    return {"status": OK if same else FAILED, "message": message, "same": same, **left}


def in_stage(run: Path, whole: Unbroken, stage: str, moment: str, draw: Random) -> Callable[[], bool]:
    """A moment in a stage: at a random time after its beginning, or while a file is being written."""
    position = whole.stages.index(stage)
    before = whole.stages[position - 1] if position else None
    pause, began = draw.uniform(0, whole.seconds[stage]), 0.0

    def reached() -> bool:
        nonlocal began
        if not began:
            if (before in stages(run)) if before else (run / "config.toml").exists():
                began = time.monotonic()
            return False
        if moment == "writing":
            return any(run.glob("points/.*.part")) or any(run.glob(".*.part"))
        return time.monotonic() - began >= pause

    return reached


def stages(run: Path) -> list[str]:
    """The finished stages of a run folder."""
    try:
        return list(json.loads((run / "results.json").read_text(encoding="utf-8")).get("stages", {}))
    except (OSError, ValueError):
        return []
