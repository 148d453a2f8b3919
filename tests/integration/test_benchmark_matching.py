"""`python -m benchmarks matching` as a user runs it, small."""

from __future__ import annotations

import json
import os
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

MODULES = {
    "ours": "daachorse",
    "ours-exact": "daachorse",
    "phrasematcher": "spacy",
    "flashtext": "flashtext",
    "pyahocorasick": "ahocorasick",
    "ahocorasick_rs": "ahocorasick_rs",
}
WORDS = "amber birch cedar delta ember flint grove heath inlet jetty knoll larch maple north ocean".split()  # noqa: SIM905
MEASURED = (
    "build_seconds",
    "prepare_seconds",
    "cold_words_per_second",
    "warm_words_per_second",
    "start_memory",
    "peak_memory",
)
LOADED = ("load_seconds", "loaded_cold_words_per_second", "loaded_peak_memory")


@pytest.fixture(scope="module")
def names() -> list[str]:
    draw = random.Random(7)
    found = {" ".join(draw.choices(WORDS, k=draw.randint(1, 3))).title() for _ in range(600)}
    return sorted(found)


@pytest.fixture(scope="module")
def files(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A dictionary, every name with one type, and sentences with some of the names."""
    draw = random.Random(8)
    folder = tmp_path_factory.mktemp("matching")
    dictionary, text = folder / "names.tsv", folder / "text.txt"
    dictionary.write_text("".join(f"{name}\tLOC\n" for name in names))
    lines = []
    for _ in range(400):
        line = [draw.choice(names) if draw.random() < 0.3 else draw.choice(WORDS) for _ in range(8)]
        lines.append(f"they saw {' '.join(line)} .\n")
    text.write_text("".join(lines))
    return dictionary, text


def plain_search(names: list[str], text: Path) -> int:
    """How often a name stands in the text as written, between spaces."""
    known, found = set(names), 0
    for line in text.read_text().splitlines():
        row = line.split()
        for start in range(len(row)):
            found += sum(
                " ".join(row[start:end]) in known for end in range(start + 1, start + 4) if end <= len(row)
            )
    return found


def test_all_systems(benchmarks: Any, names: list[str], files: tuple[Path, Path], tmp_path: Path) -> None:
    dictionary, text = files
    done = benchmarks("matching", "--dictionary", dictionary, "--text", text, "--sizes", "all",
                       "--repeat", "1", "--json", "-o", tmp_path / "out.jsonl")  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["benchmark"] == "matching"
    assert {"cpu", "cores", "memory", "python"} <= set(report["machine"])
    assert report["workload"]["words"] == len(text.read_text().split())
    results = {result["system"]: result for result in report["results"]}
    assert list(results) == list(MODULES)
    expected = plain_search(names, text)
    for system, result in results.items():
        if find_spec(MODULES[system]) is None:
            assert result["status"] == "missing"
            continue
        assert (result["status"], result["message"]) == ("ok", ""), system
        assert result["names"] == result["entries"] == len(names)
        assert result["version"]
        loads = system in ("ours", "ours-exact", "pyahocorasick")
        for fact in (*MEASURED, *(LOADED if loads else ())):
            assert 0 <= result[fact]["min"] <= result[fact]["median"] <= result[fact]["max"], (system, fact)
            assert result[fact]["runs"] == 1
        assert loads or all(result[fact] is None for fact in LOADED)
        assert 2**23 < result["start_memory"]["median"] <= result["peak_memory"]["median"] < 2**28
        if system in ("ours-exact", "phrasematcher", "pyahocorasick", "ahocorasick_rs"):
            assert result["matches"] == expected, system
        assert 0 < result["matches"] <= expected  # in this text, the others have reasons to find less
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["system"] for line in lines] == list(MODULES)
    assert all(line["machine"] == report["machine"] for line in lines)


def test_a_missing_package_and_limits(
    benchmarks: Any, environment: dict[str, str], files: tuple[Path, Path], tmp_path: Path
) -> None:
    """What cannot be imported is skipped, what hangs or grows is stopped; results are added to older ones."""
    (tmp_path / "flashtext.py").write_text("raise ImportError('it is not here')\n")
    (tmp_path / "ahocorasick.py").write_text("import time\ntime.sleep(60)\n")
    (tmp_path / "ahocorasick_rs.py").write_text("held = []\nwhile True:\n    held.append(b'x' * 2**24)\n")
    paths = os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])
    command = type(benchmarks)({**environment, "PYTHONPATH": paths}, tmp_path)
    (tmp_path / "out.jsonl").write_text('{"before": 1}\n')
    systems = ["flashtext", "pyahocorasick", "ahocorasick_rs", "ours"]
    done = command("matching", "--dictionary", files[0], "--text", files[1],
                        "--systems", *systems, "--sizes", "50", "--repeat", "2", "--limit", "4",
                        "--memory-limit", "0.25", "-o", "out.jsonl")  # fmt: skip
    assert done.code == 0, done.err
    assert done.err.count("skipped, it is not here; to have it in the table: pip install flashtext") == 1
    assert done.err.count("pyahocorasick, 50 names, run 1 of 2: time limit, stopped after 4 s") == 1
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in done.out.splitlines() if line[:2] == "  "}
    assert list(rows) == systems
    assert rows["flashtext"] == "not installed; pip install flashtext"
    assert rows["pyahocorasick"] == "time limit: stopped after 4 s"
    assert rows["ahocorasick_rs"] == "memory limit: stopped at 0.25 GiB"
    assert "±" in rows["ours"]
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert lines[0] == {"before": 1}
    assert [line["status"] for line in lines[1:]] == ["missing", "time limit", "memory limit", "ok"]
    assert lines[-1]["build_seconds"]["runs"] == 2


def test_a_system_that_breaks(
    benchmarks: Any, environment: dict[str, str], files: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "flashtext.py").write_text("raise ValueError('out of order')\n")
    paths = os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])
    command = type(benchmarks)({**environment, "PYTHONPATH": paths}, tmp_path)
    done = command("matching", "--dictionary", files[0], "--text", files[1],
                        "--systems", "flashtext", "--sizes", "50", "--json")  # fmt: skip
    assert done.code == 1
    assert done.err.splitlines()[-1] == "benchmarks: flashtext failed; the results give the error"
    (result,) = json.loads(done.out)["results"]
    assert (result["status"], result["message"]) == ("failed", "ValueError: out of order")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: benchmark"),
        (["matching", "--text", "x.txt"], "both --dictionary and --text, or neither"),
        (["matching", "--sizes", "0"], "'0' is neither a number of names nor 'all'"),
        (["matching", "--systems", "grep"], "invalid choice: 'grep'"),
        (["matching", "-o", "no/such/folder.jsonl"], "no/such/folder.jsonl: No such file or directory"),
        (["matching", "--repeat", "0"], "--repeat must be more than 0, not 0"),
        (["matching", "--memory-limit", "0"], "--memory-limit must be more than 0, not 0"),
        (["matching", "--limit", "-1"], "--limit must be more than 0, not -1"),
        (["matching", "--dictionary", "no.tsv", "--text", "no.txt"], "no.tsv"),
    ],
)
def test_mistakes(arguments: list[str], message: str, benchmarks: Any) -> None:
    done = benchmarks(*arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.splitlines()[-1].startswith("benchmarks: ")
    assert not done.out


def test_help(benchmarks: Any) -> None:
    done = benchmarks("matching", "--help")
    assert done.code == 0
    assert "Example:\n  python -m benchmarks matching" in done.out
