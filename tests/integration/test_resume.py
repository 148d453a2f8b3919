"""Killed at any moment, a run goes on and ends with the same model, bit for bit."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

WEIGHTS = Path("model") / "roster.safetensors"
EVERY_EPOCH = {"ROSTER_CHECKPOINT_SECONDS": "0"}
Moment = Callable[[Path], bool]


def stages(run: Path) -> list[str]:
    file = run / "results.json"
    return list(json.loads(file.read_text())["stages"]) if file.exists() else []


def checkpoint(run: Path) -> bool:
    return any(run.glob("points/checkpoint-*.safetensors"))


def leftovers(run: Path) -> list[Path]:
    return [p for p in run.rglob("*") if p.name.endswith((".part", ".old"))]


def until(moment: Moment, run: Path, running: Callable[[], bool]) -> bool:
    """Waits for the moment; False where the command ended before it."""
    while running():
        if moment(run):
            return True
        time.sleep(0.0005)
    return False


@pytest.fixture
def arguments(corpus: Path, settings: dict[str, Path], tmp_path: Path) -> list[str]:
    return ["train", str(corpus), "-o", str(tmp_path / "run"), "--config", str(settings["roster"])]


@pytest.fixture
def finish(roster: Any, arguments: list[str], runs: dict[str, Path], tmp_path: Path) -> Callable[[], str]:
    """The same command again, to its end: the model of the unbroken run, and nothing half-written."""

    def run() -> str:
        done = roster(*arguments, **EVERY_EPOCH)
        assert done.code == 0, done.err
        assert (tmp_path / "run" / WEIGHTS).read_bytes() == (runs["roster"] / WEIGHTS).read_bytes()
        assert stages(tmp_path / "run") == stages(runs["roster"])
        assert not leftovers(tmp_path / "run")
        assert not (tmp_path / "run" / "points").exists()
        return str(done.err)

    return run


MOMENTS: dict[str, Moment] = {
    "before the first stage ends": lambda run: (run / "run.json").exists(),
    "in the first stage, after a checkpoint": lambda run: checkpoint(run) and not stages(run),
    "after the first member": lambda run: stages(run) == ["member-0"],
    "in the second member": lambda run: stages(run) == ["member-0"] and checkpoint(run),
    "in the ensemble": lambda run: stages(run)[-1:] == ["mean-of-members"] and checkpoint(run),
    "in self-training": lambda run: stages(run)[-1:] == ["ensemble"] and checkpoint(run),
    "while the model is written": lambda run: any(run.glob(".model.*.part")),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed(
    moment: str, roster: Any, arguments: list[str], finish: Callable[[], str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for _ in range(5):  # some moments are short, and may be missed
        started = roster.start(*arguments, **EVERY_EPOCH)
        if until(MOMENTS[moment], run, lambda: started.running):  # noqa: B023
            code, before = started.send(signal.SIGKILL).code, stages(run)
            if code == -signal.SIGKILL and "model" not in before:
                break
        shutil.rmtree(run)
    else:
        pytest.fail("the process was always faster")
    said = finish()
    assert not [stage for stage in before if f"{stage}: " in said], "finished stages were repeated"


def test_killed_as_a_fresh_process(
    arguments: list[str], environment: dict[str, str], finish: Callable[[], str], tmp_path: Path
) -> None:
    process = subprocess.Popen([sys.executable, "-m", "roster.cli.main", *arguments],
                               env=environment | EVERY_EPOCH, stderr=subprocess.DEVNULL)  # fmt: skip
    assert until(MOMENTS["in self-training"], tmp_path / "run", lambda: process.poll() is None)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    finish()


def test_killed_again_and_again(
    roster: Any, arguments: list[str], finish: Callable[[], str], tmp_path: Path
) -> None:
    for moment in ("in the first stage, after a checkpoint", "in the second member", "in self-training"):
        started = roster.start(*arguments, **EVERY_EPOCH)
        assert until(MOMENTS[moment], tmp_path / "run", lambda: started.running)  # noqa: B023
        assert started.send(signal.SIGKILL).code == -signal.SIGKILL
    finish()


def test_killed_at_random(roster: Any, arguments: list[str], finish: Callable[[], str]) -> None:
    """Three times at moments nobody chose; the seed is shown when it fails."""
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    draw = random.Random(seed)
    for _ in range(3):
        started = roster.start(*arguments, **EVERY_EPOCH)
        time.sleep(draw.uniform(0.0, 1.5))
        assert started.send(signal.SIGKILL).code in (-signal.SIGKILL, 0)
    finish()


def test_stopped_by_hand(
    roster: Any, arguments: list[str], finish: Callable[[], str], tmp_path: Path
) -> None:
    started = roster.start(*arguments, **EVERY_EPOCH)
    assert until(MOMENTS["in the second member"], tmp_path / "run", lambda: started.running)
    done = started.send(signal.SIGINT)
    assert done.code == 130
    assert "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith("roster: stopped; the same command goes on")
    assert not leftovers(tmp_path / "run")
    finish()


def everything(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Bytes and times of all files but the lock, which is opened by whoever looks."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.name != ".lock")
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def test_a_finished_run_stays_as_it_is(
    runs: dict[str, Path], corpus: Path, roster: Any, settings: dict[str, Path]
) -> None:
    before = everything(runs["roster"])
    done = roster("train", corpus, "-o", runs["roster"], "--config", settings["roster"])
    assert done.code == 0, done.err
    assert "member-0" not in done.err
    assert everything(runs["roster"]) == before


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("roster", ["--set", "seed=6"], "with another config"),
        ("fine-tune", ["--set", "seed=5"], "with another config"),
        ("roster", [], "from other data"),
    ],
)
def test_another_run_in_the_same_folder(
    method: str, options: list[str], message: str, runs: dict[str, Path], corpus: Path,
    settings: dict[str, Path], roster: Any, write_lines: Callable[..., Path], tmp_path: Path,
) -> None:  # fmt: skip
    if not options:
        texts, tags = (
            (corpus / f"train_{name}.txt").read_text().splitlines() for name in ("text", "label_dist")
        )
        corpus = write_lines(tmp_path / "other", texts[:-1], tags[:-1], types=["PER", "LOC"])
    before = everything(runs["roster"])
    done = roster("train", corpus, "-o", runs["roster"], "--config", settings[method], *options)
    assert done.code == 2
    assert done.err.startswith(f"roster: {runs['roster']} holds a run made {message}")
    assert done.err.count("\n") == 1
    assert everything(runs["roster"]) == before


def test_a_finished_run_without_its_model(
    runs: dict[str, Path], corpus: Path, roster: Any, settings: dict[str, Path], tmp_path: Path
) -> None:
    """Somebody has removed it: that is said, and not that all is well."""
    run = shutil.copytree(runs["roster"], tmp_path / "run")
    shutil.rmtree(run / "model")
    done = roster("train", corpus, "-o", run, "--config", settings["roster"])
    assert done.code == 2
    assert done.err.splitlines()[-1].endswith(f"remove the folder {run} and start again")


def test_a_folder_in_use(
    roster: Any, arguments: list[str], finish: Callable[[], str], tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    with FileLock(tmp_path / "run" / ".lock"):
        done = roster(*arguments)
        assert done.code == 2
        assert done.err.startswith("roster: another process is training in")
    finish()
