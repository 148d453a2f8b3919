"""Fresh processes measured from outside."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import roster
from benchmarks.measure import FAILED, OK, TOO_LONG, Limits, Measurement, peak_memory
from benchmarks.startup import run as startup
from benchmarks.startup.run import Command, StartupReport, measured, run, slowest_imports, summary
from roster.errors import ModelError

LIMITS = Limits(30)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is handed on by Linux alone")


@pytest.fixture(autouse=True)
def found_by_a_fresh_python(monkeypatch: pytest.MonkeyPatch) -> None:
    source = str(Path(roster.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))


def test_a_command(tmp_path: Path) -> None:
    found = measured(Command("version", ("--version",)), LIMITS, tmp_path)
    assert found.status == OK
    assert 0.005 < found.facts["seconds"] < 30
    assert (tmp_path / "output").read_text() == f"roster {roster.__version__}\n"


def test_what_went_wrong_is_told(tmp_path: Path) -> None:
    found = measured(Command("nonsense", ("nonsense",)), LIMITS, tmp_path)
    assert found.status == FAILED
    assert found.message.startswith("ended with code 2: roster: ")
    assert not found.facts


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "START", "print(input().upper())")
    assert measured(Command("shout", (), "one line\n"), LIMITS, tmp_path).status == OK
    assert (tmp_path / "output").read_text() == "ONE LINE\n"


def test_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "START", "import time; time.sleep(60)")
    found = measured(Command("sleep", ()), Limits(0.5), tmp_path)
    assert (found.status, found.message) == (TOO_LONG, "stopped after 0.5 s")


@LINUX
def test_memory_is_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = b"x" * (120 * 2**20)
    assert peak_memory() > len(held)
    monkeypatch.setattr(startup, "START", "pass")
    small = measured(Command("nothing", ()), LIMITS, tmp_path).facts["peak_memory"]
    monkeypatch.setattr(startup, "START", "b'x' * (50 * 2**20)")
    large = measured(Command("block", ()), LIMITS, tmp_path).facts["peak_memory"]
    assert small < 40 * 2**20
    assert small + 45 * 2**20 < large < small + 60 * 2**20


def test_imports() -> None:
    wrote = (
        "import time: self [us] | cumulative | imported package\n"
        "import time:       100 |        100 |   fast\n"
        "noise of another kind\n"
        "import time:       200 |        300 | slow\n"
        "import time:       250 |        250 | middle.part\n"
    )
    assert slowest_imports(wrote, 2) == [
        {"module": "slow", "seconds": 0.0003, "self_seconds": 0.0002},
        {"module": "middle.part", "seconds": 0.00025, "self_seconds": 0.00025},
    ]


def test_help_and_version_with_their_imports() -> None:
    said: list[str] = []
    report = run(imports=True, repeat=2, limits=LIMITS, log=said.append)
    assert [result["command"] for result in report.results] == ["roster --help", "roster --version"]
    assert [line.partition(":")[0] for line in said] == [
        "roster --help, first run",
        "roster --version, first run",
        "roster --version, run 1 of 2",
        "roster --help, run 1 of 2",
        "roster --help, run 2 of 2",
        "roster --version, run 2 of 2",
        "roster --help",
        "roster --version",
    ]
    for result in report.results:
        assert result["seconds"]["runs"] == 2
        assert result["peak_memory"]["runs"] == 3
        assert len(result["imports"]) == 10
        assert "roster.cli.main" in {one["module"] for one in result["imports"]}
    text = report.text()
    assert "imports of roster --version" in text
    assert "±" in text


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model in"):
        run([tmp_path], limits=LIMITS, log=lambda line: None)


def test_the_first_run_is_told_apart() -> None:
    runs = [Measurement(OK, {"seconds": s, "peak_memory": 2**20, "errors": ""}) for s in (9.0, 1.0, 3.0)]
    result = summary(Command("roster x", ()), runs, [])
    assert result["first_seconds"] == 9.0
    assert result["seconds"] == {"median": 2.0, "min": 1.0, "max": 3.0, "runs": 2}
    broken = summary(Command("roster y", ()), [Measurement(FAILED, {}, "ended with code 2: no")], [])
    about = {"cpu": "Some CPU", "cores": 2, "cores_allowed": 2, "python": "3.12"}
    report = StartupReport({"machine": about, "versions": {}, "repeat": 2}, (result, broken))
    rows = [" ".join(line.split()) for line in report.text().splitlines()]
    assert "roster x 2.00 ±1.00 9.000 1.00" in rows
    assert "roster y failed: ended with code 2: no" in rows
    assert report.failed() == ["roster y"]
