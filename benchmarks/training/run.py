"""`python -m benchmarks training`: whole training runs with each engine in turn.

Each run is a new process that may use all cores; its run folder is deleted.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import (
    FAILED,
    OK,
    Limits,
    Measurement,
    conditions,
    interleaved,
    isolated,
    ratio,
    spread,
    spread_of,
)
from benchmarks.training.data import CorpusFiles, prepare
from benchmarks.training.report import TrainingReport
from benchmarks.training.task import train_once
from roster.backbone.loading import resolve
from roster.config import Config
from roster.corpus.dataset import load_dataset
from roster.methods.request import Request, load_request

PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
ENGINES = ("auto",)
SAMPLE_SHORT = {"ensemble.models": 2, "noise_robust.epochs": 10}
"""Default values for the bundled sample, with which two cores train in a minute or two."""


@dataclass(frozen=True)
class TrainingCase:
    corpus: CorpusFiles
    engine: str
    seed: int


def run(
    dataset: str | PathLike[str] | None = None,
    *,
    backbone: str | None = None,
    preset: str | None = None,
    overrides: Sequence[str] = (),
    engines: Sequence[str] = ENGINES,
    seeds: Sequence[int] = (),
    sizes: Sequence[int] = (),
    repeat: int = 1,
    limits: Limits,
    log: Callable[[str], None],
) -> TrainingReport:
    """Train with each engine, seed and size, `repeat` times; without a data set, on the bundled sample.

    `overrides` are those of `roster train --set`. Without seeds, the config's; without sizes, the data as
    they are, and of the sample what two cores train on in a minute or two.
    """
    short = list(SAMPLE_SHORT.items()) if dataset is None and preset is None else []
    named = [("backbone.name", backbone)] if backbone else []
    requests = requested(preset, [*short, *overrides, *named], engines, seeds)
    first = next(iter(requests.values())).config()
    resolve(first.backbone.name)  # an error if the folder is missing
    with TemporaryDirectory(prefix="roster-") as folder:
        place = Path(folder)
        log("preparing the data")
        corpora = prepare(dataset, sizes, place)
        settled = {corpus: configured(requests, corpus) for corpus in corpora}

        def measure(case: TrainingCase, turn: int) -> Measurement:
            name = f"{case.engine}-{case.seed}-{case.corpus.sentences}-{turn}"
            arguments = {"dataset": str(case.corpus.path), "run": str(place / "runs" / name),
                         "config": settled[case.corpus][case.engine, case.seed].as_dict()}  # fmt: skip
            try:
                return isolated(train_once, arguments, limits, threads=None)
            finally:
                shutil.rmtree(place / "runs", ignore_errors=True)

        def report_run(case: TrainingCase, turn: int, outcome: Measurement) -> None:
            which = f"seed {case.seed}, {case.corpus.sentences:,} sentences, run {turn + 1} of {repeat}"
            text = f"{outcome.status}, {outcome.message}"
            if outcome.status == OK:
                text = f"{outcome.facts['total_seconds']:.3g} s"
            log(f"{case.engine}, {which}: {text}")

        names = list(dict.fromkeys(engine for engine, _ in requests))
        numbers = list(dict.fromkeys(seed for _, seed in requests))
        groups = [
            [TrainingCase(corpus, engine, seed) for engine in names] for corpus in corpora for seed in numbers
        ]
        outcomes = interleaved(groups, repeat, measure, description="training", log=report_run)
    results = [
        {
            **summary(corpus, engine, names[0], outcomes),
            "config": settled[corpus][engine, numbers[0]].as_dict(),
        }
        for corpus in corpora
        for engine in names
    ]
    return TrainingReport(
        conditions(
            "training",
            PACKAGES,
            repeat,
            limits,
            workload={
                "data": "the bundled sample" if dataset is None else Path(dataset).name,
                "method": first.method,
                "backbone": Path(first.backbone.name).name,
                "preset": preset,
                "seeds": numbers,
                "given": dict(next(iter(requests.values())).given),
            },
        ),
        tuple(results),
    )


def requested(
    preset: str | None,
    overrides: Sequence[str | tuple[str, Any]],
    engines: Sequence[str],
    seeds: Sequence[int],
) -> dict[tuple[str, int], Request]:
    """Return the checked request for each engine and seed."""
    requests_by_case = {}
    for engine in engines:
        for seed in seeds or (None,):
            more = [("optimiser.engine", engine), *([("seed", seed)] if seed is not None else [])]
            request = load_request(preset=preset, overrides=[*overrides, *more])
            requests_by_case[engine, request.config().seed] = request
    return requests_by_case


def configured(
    requests: Mapping[tuple[str, int], Request], corpus: CorpusFiles
) -> dict[tuple[str, int], Config]:
    """Return the effective configs for a corpus; without a preset they are derived as in `roster train`."""
    from roster.methods.defaults import settle
    from roster.methods.facts import facts_of

    facts = None
    configs = {}
    for key, request in requests.items():
        if request.preset is not None:
            configs[key] = request.config()
            continue
        facts = facts or facts_of(
            request.config(), load_dataset(corpus.path).train
        )  # they depend neither on the engine nor on the seed
        configs[key] = settle(request, facts)[0]
    return configs


def summary(
    corpus: CorpusFiles,
    engine: str,
    base: str,
    outcomes: Mapping[TrainingCase, Sequence[Measurement]],
) -> dict[str, Any]:
    """Return the result of one engine with one size, over its seeds and repeats."""

    def of(name: str) -> list[Measurement]:
        return [
            run
            for case, runs in outcomes.items()
            if (case.corpus, case.engine) == (corpus, name)
            for run in runs
        ]

    runs = of(engine)
    broken = next((run for run in runs if run.status == FAILED), runs[-1])
    stages = list(dict.fromkeys(stage for run in runs for stage in run.facts.get("stages", {})))
    parts = {stage: [Measurement(OK, run.facts.get("stages", {})) for run in runs] for stage in stages}
    return {
        "engine": engine,
        "sentences": corpus.sentences,
        "words": corpus.words,
        "status": broken.status,
        "message": broken.message,
        "total_seconds": spread_of(runs, "total_seconds"),
        "process_seconds": spread([run.seconds for run in runs if run.status == OK]),
        "stages": {stage: spread_of(those, stage) for stage, those in parts.items()},
        "words_per_second": spread_of(runs, "total_seconds", lambda seconds: corpus.words / seconds),
        "peak_memory": spread_of(runs, "peak_memory"),
        "peak_gpu_memory": spread_of(runs, "peak_gpu_memory"),
        "speed_up": ratio(runs, of(base), "total_seconds"),
        "f1": spread_of(runs, "f1"),
    }
