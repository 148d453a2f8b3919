"""The data, the configs, the summary and the table of `python -m benchmarks training`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measure import FAILED, OK, TOO_MUCH, Limits, Measurement
from benchmarks.training.data import CorpusFiles, drawn, prepare
from benchmarks.training.report import TrainingReport
from benchmarks.training.run import TrainingCase, configured, requested, run, summary
from benchmarks.training.task import scored_split
from roster.corpus.dataset import load_dataset
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, DataError
from roster.methods.defaults import settle
from roster.methods.facts import facts_of
from roster.methods.request import load_config, load_request
from roster.methods.roster.settings import NoiseRobust

CORPUS = CorpusFiles(Path("x"), 100, 2000)


@pytest.fixture
def data(toy: list[Sentence], tmp_path: Path) -> Path:
    write(tmp_path / "given" / "train.jsonl", toy)
    write(tmp_path / "given" / "test.jsonl", toy[:10])
    return tmp_path / "given"


def test_a_config_for_each_engine_and_seed(data: Path, tiny: Path, tmp_path: Path) -> None:
    """What `roster train` would use on these data: derived from them; with a preset, the preset's."""
    (corpus,) = prepare(data, [], tmp_path)
    given = ["noise_robust.q=0.3", ("backbone.name", str(tiny))]
    found = configured(requested(None, given, ["plain", "fast"], [1, 2]), corpus)
    assert list(found) == [("plain", 1), ("plain", 2), ("fast", 1), ("fast", 2)]
    for (engine, seed), config in found.items():
        assert (config.optimiser.engine, config.seed, config.section(NoiseRobust).q) == (engine, seed, 0.3)
        asked = load_request(overrides=[*given, ("optimiser.engine", engine), ("seed", seed)])
        assert config == settle(asked, facts_of(asked.config(), load_dataset(data).train))[0]
    assert config.section(NoiseRobust).epochs != load_config().section(NoiseRobust).epochs
    paper = configured(requested("paper-wikigold", given, ["plain"], [7]), corpus)
    values = [*given, ("optimiser.engine", "plain"), ("seed", 7)]
    assert paper == {("plain", 7): load_config(preset="paper-wikigold", overrides=values)}
    assert list(requested(None, [], ["plain"], [])) == [("plain", load_config().seed)]


def test_each_size_has_settings_of_its_own(data: Path, tiny: Path, tmp_path: Path) -> None:
    few, many = prepare(data, [40, 4000], tmp_path)
    requests = requested(None, [("backbone.name", str(tiny))], ["plain"], [])
    configs = [next(iter(configured(requests, corpus).values())) for corpus in (few, many)]
    epochs = [config.section(NoiseRobust).epochs for config in configs]
    assert epochs[0] > epochs[1]


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match=r"'optimiser\.engine' must be one of .*, not 'warp'"):
        run(engines=["warp"], limits=Limits(9), log=lambda line: None)


def test_the_data_as_they_are(data: Path, tmp_path: Path) -> None:
    (found,) = prepare(data, [], tmp_path)
    assert (found.path, found.sentences) == (data, 60)
    assert found.words == sum(map(len, load_dataset(data).train))
    with pytest.raises(DataError, match="no such file"):
        prepare(tmp_path / "nothing", [], tmp_path)


def test_sizes(data: Path, toy: list[Sentence], tmp_path: Path) -> None:
    """Fewer sentences than there are, and more; words, labels, types and gold stay what they were."""
    whole = load_dataset(data)
    found = prepare(data, [150, 20, 20], tmp_path)
    assert [corpus.sentences for corpus in found] == [20, 150]
    for corpus in found:
        read = load_dataset(corpus.path)
        assert len(read.train) == corpus.sentences
        assert sum(map(len, read.train)) == corpus.words
        assert read.types == whole.types
        assert [(s.words, s.spans) for s in read.test] == [(s.words, s.spans) for s in toy[:10]]
        assert {(s.words, s.spans) for s in read.train} <= {(s.words, s.spans) for s in toy}


@pytest.mark.parametrize("size", [1, 59, 60, 61, 150])
def test_drawn(size: int, toy: list[Sentence]) -> None:
    """No sentence is taken a second time before all were taken once; not simply the first ones."""
    found = drawn(toy, size)
    assert len(found) == size
    counts = Counter(map(id, found))
    assert max(counts.values()) - min(counts.get(id(s), 0) for s in toy) <= 1
    assert found != (toy * 3)[:size]
    assert drawn(toy, size) == found


def test_the_sample(tmp_path: Path) -> None:
    few, all_of_it = prepare(None, [], tmp_path / "few"), prepare(None, [600], tmp_path / "all")
    assert [corpus.sentences for corpus in (*few, *all_of_it)] == [200, 600]
    sample = load_dataset(few[0].path)
    assert any(sentence.spans for sentence in sample.train)
    assert len(scored_split(sample)) > 100


def test_splits_without_gold_are_not_scored(toy: list[Sentence], tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", toy)
    assert scored_split(load_dataset(tmp_path)) == []
    write(tmp_path / "valid.jsonl", toy[:5])
    assert len(scored_split(load_dataset(tmp_path))) == 5


def outcome(total: float, seconds: float = 0.0, **more: Any) -> Measurement:
    facts = {
        "total_seconds": total,
        "stages": {"members": total / 2, "rest": total / 2},
        "peak_memory": 2**29,
    }
    return Measurement(OK, {**facts, **more}, "", seconds or total + 3)


OUTCOMES = {
    TrainingCase(CORPUS, "plain", 1): [outcome(20.0, f1=0.5), outcome(22.0)],
    TrainingCase(CORPUS, "fast", 1): [outcome(4.0, f1=0.6, peak_gpu_memory=2**30), outcome(2.0)],
    TrainingCase(CORPUS, "plain", 2): [outcome(24.0, f1=0.7), outcome(24.0)],
    TrainingCase(CORPUS, "fast", 2): [outcome(4.0), Measurement(FAILED, {}, "ValueError: no", 1.0)],
}


def test_summary() -> None:
    plain, fast = (summary(CORPUS, engine, "plain", OUTCOMES) for engine in ("plain", "fast"))
    assert plain["total_seconds"] == {"median": 23.0, "min": 20.0, "max": 24.0, "runs": 4}
    assert plain["process_seconds"]["median"] == 26.0
    assert plain["words_per_second"]["max"] == 100.0
    assert plain["f1"] == {"median": 0.6, "min": 0.5, "max": 0.7, "runs": 2}
    assert plain["speed_up"]["median"] == 1.0
    assert plain["peak_gpu_memory"] is None
    assert fast["speed_up"] == {"median": 6.0, "min": 5.0, "max": 11.0, "runs": 3}
    assert (fast["status"], fast["message"]) == (FAILED, "ValueError: no")
    assert fast["process_seconds"]["runs"] == 3
    assert fast["stages"]["members"]["median"] == 2.0


def report(*results: dict[str, Any]) -> TrainingReport:
    about = {"cpu": "Some CPU", "cores": 2, "cores_allowed": 2, "python": "3.12"}
    work = {"data": "news", "method": "roster", "backbone": "small"}
    conditions = {"machine": about, "versions": {}, "repeat": 2, "workload": work}
    return TrainingReport(conditions, results)


def test_the_table() -> None:
    found = report(*(summary(CORPUS, engine, "plain", OUTCOMES) for engine in ("plain", "fast")))
    rows = [" ".join(line.split()) for line in found.text().splitlines()]
    assert rows[0] == "news: roster with small"
    assert "100 sentences total s x plain process s words/s memory MiB GPU MiB F1" in rows
    assert "plain 23.0 ±2.0 1.00 ±0.00 26.0 ±2.0 87.1 ±8.3 512 - 0.600 ±0.100" in rows
    assert any(
        row.startswith("fast 4.00 ±1.00 6.00 ±3.00") and row.endswith("failed: ValueError: no")
        for row in rows
    )
    assert "seconds of members rest" in rows
    assert found.failed() == ["fast"]


def test_the_table_without_a_run() -> None:
    runs = {TrainingCase(CORPUS, "plain", 1): [Measurement(TOO_MUCH, {}, "stopped at 1 GiB")]}
    found = report(summary(CORPUS, "plain", "plain", runs))
    rows = [" ".join(line.split()) for line in found.text().splitlines()]
    assert "plain memory limit: stopped at 1 GiB" in rows
    assert not any(row.startswith("seconds of") for row in rows)
