"""The workload, the plan and the table of `python -m benchmarks matching`; measured for real, but little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.matching.report import NOTES, MatchingReport, MatchingResult
from benchmarks.matching.run import run, summary
from benchmarks.matching.workload import Size, prepare
from benchmarks.measure import FAILED, MISSING, OK, TOO_LONG, TOO_MUCH, Limits, Measurement
from roster.errors import DataError


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """100 names, every tenth with two types, and a text."""
    (tmp_path / "given").mkdir()
    dictionary, text = tmp_path / "given" / "people.tsv", tmp_path / "given" / "text.txt"
    lines = [f"Ana  Lee{i}\tPER\n" + (f"Ana Lee{i}\tLOC\n" if i % 10 == 0 else "") for i in range(100)]
    dictionary.write_text("".join(lines))
    text.write_text("".join(f"nobody met Ana Lee{i} there .\n" for i in range(100)))
    return dictionary, text


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_samples_are_of_distinct_names(files: tuple[Path, Path], tmp_path: Path) -> None:
    work = prepare(*files, [10, 50, "all", 5000], tmp_path)
    assert [size.names for size in work.sizes] == [10, 50, 100]
    assert work.facts() == {"dictionary": "people.tsv", "text": "text.txt", "sentences": 100, "words": 600}
    assert len(lines_of(work.file)) == 100
    before: set[str] = set()
    for size in work.sizes:
        listed, typed = lines_of(size.listed), [line.split("\t") for line in lines_of(size.typed)]
        assert len(listed) == len(set(listed)) == size.names
        assert {name for name, _ in typed} == set(listed)
        assert len(typed) == size.entries == size.names + sum(name.endswith("0") for name in listed)
        assert all("  " not in name for name in listed)
        assert before < set(listed)  # a smaller sample is part of a larger one
        before = set(listed)
    first = lines_of(work.sizes[0].listed)
    assert first != [f"Ana Lee{i}" for i in range(10)]  # not simply the beginning of the file
    (tmp_path / "again").mkdir()
    assert lines_of(prepare(*files, [10], tmp_path / "again").sizes[0].listed) == first


def test_names_without_a_type(tmp_path: Path) -> None:
    (tmp_path / "phrases.txt").write_text("Ana Lee\nBo\n")
    (tmp_path / "story.txt").write_text("Bo left .\n")
    work = prepare(tmp_path / "phrases.txt", tmp_path / "story.txt", ["all"], tmp_path)
    assert lines_of(work.sizes[0].typed) == ["Ana Lee\tNAME", "Bo\tNAME"]


def test_synthetic(tmp_path: Path) -> None:
    work = prepare(None, None, [50, 200], tmp_path)
    assert [size.names for size in work.sizes] == [50, 200]
    assert (work.facts()["dictionary"], work.facts()["text"]) == ("synthetic", "synthetic")
    assert 200_000 <= work.words < 200_200


def test_a_text_without_words(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(DataError, match=r"empty\.txt"):
        prepare(files[0], tmp_path / "empty.txt", ["all"], tmp_path)


def test_a_system_that_takes_too_long_is_not_asked_for_more(files: tuple[Path, Path]) -> None:
    said: list[str] = []
    report = run(*files, sizes=[10, 100], systems=["ours"], repeat=2, limits=Limits(0.001), log=said.append)
    small, large = report.results
    assert (small.status, small.message) == (TOO_LONG, "stopped after 0.001 s")
    assert (large.status, large.message) == (TOO_LONG, "not tried: stopped after 0.001 s with 10 names")
    assert small.build_seconds is small.matches is large.peak_memory is None
    assert [line for line in said if "time limit" in line] == [
        "ours, 10 names, run 1 of 2: time limit, stopped after 0.001 s"
    ]
    assert "ours time limit: stopped after 0.001 s" in " ".join(report.text().split())


def outcome(status: str = OK, message: str = "", **facts: Any) -> Measurement:
    every = {"version": "1", "start_memory": 2**20, "build_seconds": 2.0, "prepare_seconds": 0.5,
             "cold_seconds": 2.0, "matches": 1234, "warm_seconds": 1.0, "peak_memory": 2**28}  # fmt: skip
    return Measurement(status, {**every, **facts}, message)


SIZE = Size(1000, 1100, Path(), Path())


def report_of(*results: MatchingResult) -> MatchingReport:
    workload = {"dictionary": "d.tsv", "text": "t.txt", "sentences": 10, "words": 100_000}
    about = {"cpu": "Some CPU", "python": "3.11"}
    return MatchingReport(about, 1, Limits(300.0), 2, workload, results)


def test_summary() -> None:
    runs = [outcome(load_seconds=0.5), outcome(cold_seconds=4.0, build_seconds=1.0), outcome()]
    result = summary("ours", SIZE, 100_000, runs)
    assert result.build_seconds == {"median": 2.0, "min": 1.0, "max": 2.0, "runs": 3}
    assert result.load_seconds == {"median": 0.5, "min": 0.5, "max": 0.5, "runs": 1}
    assert result.cold_words_per_second == {"median": 50_000.0, "min": 25_000.0, "max": 50_000.0, "runs": 3}
    assert result.warm_words_per_second is not None
    assert result.warm_words_per_second["median"] == 100_000.0
    assert (result.names, result.entries, result.matches, result.version) == (1000, 1100, 1234, "1")
    assert result.loaded_peak_memory is None


def test_the_table_shows_what_was_measured_and_what_was_not() -> None:
    results = [
        summary("ours", SIZE, 100_000, [outcome(build_seconds=1.0, load_seconds=0.25), outcome()]),
        summary("flashtext", SIZE, 100_000, [Measurement(MISSING, {}, "No module named 'flashtext'")]),
        summary("pyahocorasick", SIZE, 100_000, [outcome(), outcome(TOO_MUCH, "stopped at 1 GiB")]),
        summary("ahocorasick_rs", SIZE, 100_000, [Measurement(FAILED, {}, "ValueError: no")]),
        summary(
            "phrasematcher",
            SIZE,
            100_000,
            [Measurement(TOO_LONG, {"build_seconds": 9.0}, "stopped after 9 s")],
        ),
    ]
    text = report_of(*results).text()
    assert text.endswith(NOTES)
    cells = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith("  ")}
    assert cells["ours"] == "1.50 ±0.50 0.250 50.0 ±0.0 100 ±0 1,234 256 -".split()  # noqa: SIM905
    assert " ".join(cells["flashtext"]) == "not installed; pip install flashtext"
    assert " ".join(cells["pyahocorasick"]).endswith("256 - memory limit: stopped at 1 GiB")
    assert " ".join(cells["ahocorasick_rs"]) == "failed: ValueError: no"
    assert " ".join(cells["phrasematcher"]) == "9.00 - - - - - - time limit: stopped after 9 s"


def test_a_record_for_each_result() -> None:
    report = report_of(summary("ours", SIZE, 100_000, [outcome()]))
    (record,) = report.records()
    whole = report.as_dict()
    assert json.loads(json.dumps(whole)) == whole
    assert {**record, **whole["results"][0]} == record
    assert record["workload"] == whole["workload"]
    assert record["benchmark"] == "matching"
