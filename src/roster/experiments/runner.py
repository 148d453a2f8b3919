"""Train the points of a plan that have no result yet, until the time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roster.corpus.io import write
from roster.errors import RosterError
from roster.experiments.data import Material, material, name_of
from roster.experiments.hardware import commit, gpu, machine, versions
from roster.experiments.plan import Planned, stored
from roster.experiments.point import DISTANT_MATCH, Point, settings
from roster.experiments.store import Results, runs_of
from roster.experiments.workers import Finished, finished
from roster.methods.request import read_config
from roster.model.folder import is_model
from roster.parsing import parse_json
from roster.scores import evaluate_sentences

PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
SCORES = ("precision", "recall", "f1")
KEPT = ("peak_memory", "peak_gpu_memory", "curve", "type_targets", "hold_out_recall", "agreement", "undone",
        "trained_again", "extended", "outside_labels", "switches", "o_weight", "rounds")  # fmt: skip
Log = Callable[[str], None]


class OutOfTimeError(Exception):
    """The time limit is reached; the unfinished training is resumed by the next run."""


@dataclass
class Outcome:
    """Counts of points; `failed` (with errors) and `missing` have their descriptions."""

    trained: int = 0
    known: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def run(
    plans: Sequence[Planned],
    results: Results,
    *,
    minutes: float | None,
    log: Log,
    keep_models: bool = False,
    workers: int = 1,
    clock: Callable[[], float] = time.monotonic,
    start: Finished = finished,
) -> Outcome:
    """Train the points that have no result yet, each once, in the order of the plan.

    A point that fails does not stop the others, and is trained again by the next run.

    Parameters: the plan, the results to add to, the time limit, a function that takes a line of the log,
    whether models are kept, the number of worker processes, the clock, and what starts them.
    """
    end = None if minutes is None else clock() + 60 * minutes
    outcome = Outcome()
    unique: dict[str, Planned] = {}
    for plan in plans:
        unique.setdefault(plan.key, plan)
    todo = []
    for plan in unique.values():
        kept = is_model(results.run_folder(plan.key) / "model") or not (keep_models and plan.row.point.trains)
        if stored(results, plan) and kept:
            outcome.known += 1
            if not keep_models:
                results.remove_run(plan.key)
        else:
            todo.append(plan)
    measure = Measure(runs_of(results.path), end, clock, log)
    for plan, done in start(measure, todo, workers):
        name = describe(plan)
        try:
            results.add_point(done.result())
            outcome.trained += 1
            if not keep_models:
                results.remove_run(plan.key)
        except OutOfTimeError:
            outcome.missing.append(name)
        except RosterError as error:
            outcome.failed.append((name, str(error)))
        except Exception as error:  # an error in one point must not stop the others
            outcome.failed.append((name, " ".join(f"{type(error).__name__}: {error}".split())))
        if outcome.failed and outcome.failed[-1][0] == name:
            log(f"{name}: failed: {outcome.failed[-1][1]}")
    return outcome


def describe(plan: Planned) -> str:
    """Return a short description of a point: `conll03, q 0.1, seed 30`."""
    row, facts = plan.row, plan.as_dict()
    where = row.arm if row.x is None else f"{row.arm} {row.x:g}"
    return ", ".join([facts["data"], where, *([f"seed {row.point.seed}"] if row.point.trains else [])])


@dataclass(frozen=True)
class Measure:
    """Trains one point. Workers get a pickled copy."""

    runs: Path
    end: float | None
    clock: Callable[[], float]
    log: Log

    def __call__(self, plan: Planned) -> dict[str, Any]:
        if self.end is not None and self.clock() >= self.end:
            raise OutOfTimeError
        point = plan.row.point
        given = material(point)
        if not point.trains:
            score = evaluate_sentences(given.dataset.train, given.gold, same_words=True).as_dict()
            return record(plan, given, {DISTANT_MATCH: {"seconds": 0.0, "scores": {"train": score}}})
        folder, name = self.runs / plan.key, describe(plan)
        stages = _train(point, given, folder, self.end, self.clock, lambda line: self.log(f"{name}: {line}"))
        effective = settings(read_config(folder / "config.toml"))
        return {**record(plan, given, stages), "effective": effective}


def _train(
    point: Point,
    given: Material,
    folder: Path,
    end: float | None,
    clock: Callable[[], float],
    log: Log,
) -> dict[str, Any]:
    """Train, or resume; return the stages."""
    from roster.methods.train import train  # imports torch, which listing and drawing do not need

    gold_file = ""
    if given.gold:
        gold_file = str(folder.with_name(f"{folder.name}.gold.jsonl"))
        write(gold_file, given.gold)
    before = _finished(folder)

    def say(line: str) -> None:
        log(line)
        # Checked after a finished stage, so that every run of the command makes progress.
        if end is not None and clock() >= end and _finished(folder) > before:
            raise OutOfTimeError

    asked = point.request(gold_file)
    outcome = train(given.dataset, folder, asked, curves=dict(point.curves), log=say)
    if gold_file:
        Path(gold_file).unlink(missing_ok=True)
    return {stage: facts for stage, facts in outcome["stages"].items() if stage != "model"}


def _finished(run: Path) -> int:
    file = run / "results.json"
    return len(parse_json(file.read_text(encoding="utf-8")).get("stages", {})) if file.exists() else 0


def record(plan: Planned, given: Material, stages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the record of a point: request, settings, versions, machine, and the scores of every stage."""
    point = plan.row.point
    scored = {name: facts for name, facts in stages.items() if facts.get("scores")}
    if not scored:
        raise RosterError("the training has no scores")
    return {
        "key": plan.key,
        "asked": point.as_dict(),
        "settings": settings(point.config()) if point.trains else {},
        "data": name_of(point.data),
        "sentences": len(given.dataset.train),
        "versions": versions(PACKAGES),
        "commit": commit(),
        "machine": {**machine(), "gpu": gpu()},
        "seconds": round(sum(facts.get("seconds", 0.0) for facts in stages.values()), 3),
        "stages": {name: _stage(facts) for name, facts in scored.items()},
        "scores": list(scored.values())[-1]["scores"],
    }


def _stage(facts: Mapping[str, Any]) -> dict[str, Any]:
    scores = {split: {key: one[key] for key in SCORES} for split, one in facts["scores"].items()}
    kept = {"seconds": facts.get("seconds"), "scores": scores}
    return {**kept, **{name: facts[name] for name in KEPT if name in facts}}
