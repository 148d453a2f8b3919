"""Measurements in processes of their own, with limits."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roster
from benchmarks.measure import (
    FAILED,
    MISSING,
    OK,
    TOO_LONG,
    TOO_MUCH,
    Limits,
    Measurement,
    conditions,
    free_memory,
    in_turn,
    interleaved,
    isolated,
    one_core,
    peak_memory,
    ratio,
    spread,
    spread_of,
)
from roster.experiments.hardware import machine

LIMITS = Limits(30)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory of processes is read from /proc")

TASKS = """
import os, signal, sys, time
from benchmarks.measure import memory, peak_memory

def facts(**given):
    yield {"given": given}
    yield {"pid": os.getpid(), "modules": sorted(sys.modules)}

def cores():
    yield {"cores": sorted(os.sched_getaffinity(0)), "threads": os.environ.get("OMP_NUM_THREADS")}

def memories(size):
    start = peak_memory()
    block = b"x" * size
    del block
    yield {"start": start, "peak": peak_memory(), "now": memory()}

def sleeps():
    yield {"before": 1}
    time.sleep(60)
    yield {"after": 1}

def grows():
    yield {"before": 1}
    held = []
    while True:
        held.append(b"x" * 2**24)

def raises():
    yield {"before": 1}
    raise ValueError("seven is\\nnot eight")

def exits():
    print("a last word", file=sys.stderr)
    os._exit(3)
    yield {}

def killed():
    os.kill(os.getpid(), signal.SIGKILL)
    yield {}

def imports():
    import no_such_package
    yield {}

def wants_package():
    from roster.errors import ModelError
    try:
        import no_such_package
    except ImportError:
        raise ModelError('this needs more; pip install "roster-ner[more]"') from None
    yield {}

def bad_data():
    from roster.errors import DataError
    raise DataError("no words", path="a.txt")
    yield {}

def out_of_memory():
    raise MemoryError
    yield {}

def prints():
    print("noise")
    yield {"quiet": True}
"""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A module that a fresh Python finds too."""
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "measured_tasks.py").write_text(TASKS)
    paths = [str(folder), str(Path(roster.__file__).parents[1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        patch.syspath_prepend(folder)
        yield importlib.import_module("measured_tasks")
    sys.modules.pop("measured_tasks", None)


def test_facts_come_from_another_process(tasks: ModuleType) -> None:
    found = isolated(tasks.facts, {"a": 1, "b": ["ü", None]}, LIMITS)
    assert (found.status, found.message) == (OK, "")
    assert found.facts["given"] == {"a": 1, "b": ["ü", None]}
    assert found.facts["pid"] != os.getpid()
    assert not {"numpy", "torch", "pytest"} & set(found.facts["modules"])  # the memory would count


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_on_one_core(tasks: ModuleType) -> None:
    core = one_core()
    assert core in os.sched_getaffinity(0)
    assert isolated(tasks.cores, {}, LIMITS, core).facts == {"cores": [core], "threads": "1"}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_on_all_cores(tasks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said of threads that the user has not said."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    found = isolated(tasks.cores, {}, LIMITS, threads=None).facts
    assert found == {"cores": sorted(os.sched_getaffinity(0)), "threads": "7"}


@LINUX
def test_the_peak_is_that_of_the_process_alone(tasks: ModuleType) -> None:
    """A large parent does not make its children look large, and what was freed still counts."""
    held = b"x" * (150 * 2**20)
    assert peak_memory() > len(held)
    found = isolated(tasks.memories, {"size": 50 * 2**20}, LIMITS).facts
    assert found["start"] < 60 * 2**20
    assert found["start"] + 45 * 2**20 < found["peak"] < found["start"] + 60 * 2**20
    assert found["now"] < found["peak"] - 40 * 2**20


def test_too_long(tasks: ModuleType) -> None:
    start = time.monotonic()
    found = isolated(tasks.sleeps, {}, Limits(1.0))
    assert time.monotonic() - start < 10
    assert (found.status, found.message) == (TOO_LONG, "stopped after 1 s")
    assert 1.0 <= found.seconds < 10
    assert found.facts == {"before": 1}


@LINUX
def test_too_much_memory(tasks: ModuleType) -> None:
    found = isolated(tasks.grows, {}, Limits(30, 2**27))
    assert (found.status, found.message) == (TOO_MUCH, "stopped at 0.125 GiB")
    assert found.facts == {"before": 1}


def test_what_goes_wrong_is_told(tasks: ModuleType) -> None:
    found = isolated(tasks.raises, {}, LIMITS)
    assert (found.status, found.message) == (FAILED, "ValueError: seven is not eight")
    assert found.facts == {"before": 1}
    assert isolated(tasks.exits, {}, LIMITS).message == "ended with code 3: a last word"
    assert isolated(tasks.killed, {}, LIMITS).status == TOO_MUCH
    assert isolated(tasks.out_of_memory, {}, LIMITS).status == TOO_MUCH
    found = isolated(tasks.imports, {}, LIMITS)
    assert (found.status, found.message) == (MISSING, "No module named 'no_such_package'")
    found = isolated(tasks.wants_package, {}, LIMITS)
    assert (found.status, found.message) == (MISSING, 'this needs more; pip install "roster-ner[more]"')
    found = isolated(tasks.bad_data, {}, LIMITS)
    assert (found.status, found.message) == (FAILED, "a.txt: no words")


def test_nothing_is_printed(tasks: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert isolated(tasks.prints, {}, LIMITS).facts == {"quiet": True}
    assert capfd.readouterr() == ("", "")


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_spread(values: list[float]) -> None:
    found = spread(values)
    assert found == {
        "median": statistics.median(values),
        "min": sorted(values)[0],
        "max": sorted(values)[-1],
        "runs": len(values),
    }


def test_spread_of_nothing() -> None:
    assert spread([]) is None


def test_free_memory() -> None:
    free = free_memory()
    assert free is None or 0 < free < machine()["memory"]


def test_runs_take_turns() -> None:
    """Within a group the order changes from turn to turn; groups begin at different places."""
    asked: list[str] = []
    told: list[tuple[str, int]] = []

    def measure(case: str, turn: int) -> Measurement:
        asked.append(case)
        return Measurement(OK, {"turn": turn})

    found = interleaved(
        [["a", "b"], ["x", "y", "z"]],
        3,
        measure,
        description="test",
        log=lambda case, turn, outcome: told.append((case, turn)),
    )
    assert " ".join(asked) == "a b y z x b a z x y a b x y z"
    assert told == [(case, number // 5) for number, case in enumerate(asked)]
    assert list(found) == ["a", "b", "x", "y", "z"]
    assert all([run.facts["turn"] for run in runs] == [0, 1, 2] for runs in found.values())


def test_what_could_not_be_measured_is_not_asked_again() -> None:
    def measure(case: str, turn: int) -> Measurement:
        return Measurement(FAILED if (case, turn) == ("b", 1) else OK, {})

    found = interleaved([["a", "b"]], 4, measure, description="test", log=lambda *_: None)
    assert [run.status for run in found["a"]] == [OK] * 4
    assert [run.status for run in found["b"]] == [OK, FAILED]


@given(st.lists(st.integers(), unique=True), st.integers(0, 50))
def test_a_turn_has_every_item_once(items: list[int], turn: int) -> None:
    assert sorted(in_turn(items, turn)) == sorted(items)
    assert not items or in_turn(items, turn)[0] == items[turn % len(items)]


def test_facts_of_several_runs() -> None:
    ours = [Measurement(OK, {"seconds": 2.0}), Measurement(OK, {"seconds": 4.0}), Measurement(TOO_LONG, {})]
    theirs = [
        Measurement(OK, {"seconds": 8.0}),
        Measurement(OK, {"seconds": 40.0}),
        Measurement(OK, {"seconds": 1.0}),
    ]
    assert spread_of(ours, "seconds", lambda s: 100 / s) == {"median": 37.5, "min": 25, "max": 50, "runs": 2}
    assert spread_of(ours, "memory") is None
    assert ratio(ours, theirs, "seconds") == {"median": 7.0, "min": 4.0, "max": 10.0, "runs": 2}
    assert ratio(ours, [Measurement(MISSING, {})], "seconds") is None


def test_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = conditions("speed", ("numpy", "no-such-package"), 2, Limits(5.0), workload={"words": 1})
    assert json.loads(json.dumps(found)) == found
    assert list(found["versions"]) == ["roster", "numpy"]
    assert found["environment"]["OMP_NUM_THREADS"] == "3"
    assert "CUDA_VISIBLE_DEVICES" not in found["environment"]
    assert found["machine"]["cores_allowed"] <= found["machine"]["cores"]
    assert (found["benchmark"], found["repeat"], found["workload"]) == ("speed", 2, {"words": 1})
