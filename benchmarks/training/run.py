"""`python -m benchmarks training`: whole training runs, by each engine in turn.

Each run is a fresh process that may use all cores; its run folder is thrown away.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from math import ceil
from os import PathLike
from pathlib import Path
from random import Random
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
from benchmarks.report import Report, Row, cell, machine_line, note, table
from benchmarks.training.task import scored_split, train_once
from roster.backbone.loading import resolve
from roster.config import Config
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence
from roster.methods.request import Request, load_request

PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
ENGINES = ("auto",)
SAMPLE_SENTENCES = 200
SAMPLE_SHORT = {"ensemble.models": 2, "noise_robust.epochs": 10}
"""Values for the bundled sample where nobody gives others: two cores train on it in a minute or two."""
SEED = 0

NOTES = """\
total: from reading the data to the saved model, compilation counted; imports and scoring are not (process:
from the start of Python to its end, with both). words/s: words of the corpus by total. memory: the most that
the process held; GPU: that torch held there. F1: of the saved model, where the data has gold labels. rest:
reading and tokenising the data, what lies between the stages, and saving."""


@dataclass(frozen=True)
class CorpusFiles:
    """A data set of some size, as files; `sentences` and `words` are those of its training part."""

    path: Path
    sentences: int
    words: int


@dataclass(frozen=True)
class TrainingCase:
    corpus: CorpusFiles
    engine: str
    seed: int


class TrainingReport(Report):
    def name(self, result: dict[str, Any]) -> str:
        return str(result["engine"])

    def text(self) -> str:
        asked = self.conditions["workload"]
        lines = [
            f"{asked['data']}: {asked['method']} with {asked['backbone']}",
            machine_line(self.conditions),
        ]
        for _, group in groupby(self.results, key=lambda result: result["sentences"]):
            lines += ["", *self._size(list(group))]
        return "\n".join([*lines, "", NOTES])

    def _size(self, results: list[dict[str, Any]]) -> list[str]:
        """Two tables of one size: the whole runs, and where their time went."""
        first = results[0]
        head = f"{first['sentences']:,} sentences"
        columns = ("total s", f"x {first['engine']}", "process s", "words/s", "memory MiB", "GPU MiB", "F1")
        rows: list[Row] = [([head, *columns], ""), *map(self._row, results)]
        stages = list(dict.fromkeys(stage for result in results for stage in result["stages"]))
        if not stages:
            return table(rows)
        parts: list[Row] = [(["seconds of", *stages], "")]
        for result in results:
            if result["stages"]:
                parts.append(
                    ([f"  {self.name(result)}", *(cell(result["stages"].get(s)) for s in stages)], "")
                )
        return [*table(rows), "", *table(parts)]

    def _row(self, result: dict[str, Any]) -> Row:
        name = f"  {self.name(result)}"
        if result["total_seconds"] is None:
            return [name], note(result)
        return [
            name,
            cell(result["total_seconds"]),
            cell(result["speed_up"]),
            cell(result["process_seconds"]),
            cell(result["words_per_second"]),
            cell(result["peak_memory"], 2**20, runs=False),
            cell(result["peak_gpu_memory"], 2**20, runs=False),
            cell(result["f1"]),
        ], note(result)


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
    """Trains with each engine, seed and size, `repeat` times; without a data set, on the bundled sample.

    `overrides` are those of `roster train --set`. Without seeds, the config's; without sizes, the data as
    they are, and of the sample what two cores train on in a minute or two.
    """
    short = list(SAMPLE_SHORT.items()) if dataset is None and preset is None else []
    named = [("backbone.name", backbone)] if backbone else []
    requests = requested(preset, [*short, *overrides, *named], engines, seeds)
    first = next(iter(requests.values())).config()
    resolve(first.backbone.name)  # a folder that is not there is told now
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

        def said(case: TrainingCase, turn: int, outcome: Measurement) -> None:
            which = f"seed {case.seed}, {case.corpus.sentences:,} sentences, run {turn + 1} of {repeat}"
            told = f"{outcome.status}, {outcome.message}"
            if outcome.status == OK:
                told = f"{outcome.facts['total_seconds']:.3g} s"
            log(f"{case.engine}, {which}: {told}")

        names = list(dict.fromkeys(engine for engine, _ in requests))
        numbers = list(dict.fromkeys(seed for _, seed in requests))
        groups = [
            [TrainingCase(corpus, engine, seed) for engine in names] for corpus in corpora for seed in numbers
        ]
        outcomes = interleaved(groups, repeat, measure, description="training", log=said)
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
    """What `roster train` is asked for, checked, with each engine and seed."""
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
    """The effective configs on one corpus; without a preset derived from it, as `roster train` does."""
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
        )  # of no engine, and no seed
        configs[key] = settle(request, facts)[0]
    return configs


def prepare(dataset: str | PathLike[str] | None, sizes: Sequence[int], folder: Path) -> list[CorpusFiles]:
    """The data set itself, or for each size a folder with so many of its sentences."""
    path = sample(folder / "sample") if dataset is None else Path(dataset)
    whole = load_dataset(path)
    if dataset is None:
        sizes = sizes or (SAMPLE_SENTENCES,)
    if not sizes:
        return [_corpus(path, whole.train)]
    corpora = []
    for size in sorted(set(sizes)):
        chosen = drawn(whole.train, size)
        corpora.append(_corpus(_written(folder / f"data-{size}", chosen, whole), chosen))
    return corpora


def _corpus(path: Path, sentences: Sequence[Sentence]) -> CorpusFiles:
    return CorpusFiles(path, len(sentences), sum(map(len, sentences)))


def drawn(sentences: Sequence[Sentence], size: int) -> list[Sentence]:
    """So many sentences at random; all of them as often as they fit in, where the corpus is smaller."""
    order = list(range(len(sentences)))
    Random(SEED).shuffle(order)
    return [sentences[i] for i in (order * ceil(size / len(order)))[:size]]


def _written(folder: Path, train: Sequence[Sentence], whole: Dataset) -> Path:
    """As lines of words: whatever made the words, they are read again as they were."""
    folder.mkdir(parents=True)
    (folder / "types.txt").write_text("".join(f"{name}\n" for name in whole.types), encoding="utf-8")
    write(folder / "train_text.txt", map(_alone, train), "lines", labels="dist")
    test = scored_split(whole)
    if test:
        write(folder / "test_text.txt", map(_alone, test), "lines", labels="true")
    return folder


def _alone(sentence: Sentence) -> Sentence:
    """Not a part of a document whose other sentences were not drawn."""
    return Sentence.from_words(sentence.words, sentence.spans or ())


def sample(folder: Path) -> Path:
    """The bundled sample with the labels that `roster demo` trains on."""
    from roster.demo import FIRST, PLAIN
    from roster.distant.labels import Labels
    from roster.distant.settings import load_settings

    with resources.as_file(resources.files("roster") / "sample") as source:
        settings = load_settings(dictionaries=[source / "dictionary.tsv"], policy=PLAIN, conflicts=FIRST)
        write(folder / "train.jsonl", Labels(lambda: read(source / "news.txt", "text"), settings))
        write(folder / "test.jsonl", read(source / "gold.jsonl", "jsonl"))
    return folder


def summary(
    corpus: CorpusFiles,
    engine: str,
    base: str,
    outcomes: Mapping[TrainingCase, Sequence[Measurement]],
) -> dict[str, Any]:
    """What one engine did with one size, over its seeds and repeats."""

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
