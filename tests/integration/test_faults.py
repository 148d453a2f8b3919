"""Trainings that meet a fault end with the weights of an unbroken run, or say what to do and lose nothing.

test_resume.py kills RoSTER's own stages, and test_bilstm_crf.py that method. `python -m benchmarks faults`
kills all of them at random moments.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

WEIGHTS = Path("model") / "roster.safetensors"
EVERY_EPOCH = {"ROSTER_CHECKPOINT_SECONDS": "0"}
METHODS = ("fine-tune", "bond", "autoner", "roster-fast")


@pytest.fixture(scope="module")
def commands(corpus: Path, settings: dict[str, Path]) -> dict[str, list[str]]:
    """What trains each method; `roster-fast` has its members in step, as on a GPU."""

    def of(method: str) -> list[str]:
        name = method.removesuffix("-fast")
        more = ["--set", "optimiser.engine=fast"] if name != method else []
        if method == "autoner":
            more = ["--set", "autoner.epochs=8", "--set", "autoner.learning_rate=5e-3"]
        return ["train", str(corpus), "--config", str(settings[name]), *more]

    return {method: of(method) for method in METHODS}


@pytest.fixture(scope="module")
def unbroken(
    roster: Any, commands: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The run of a method without a fault, trained when a test first asks for it."""
    found: dict[str, Path] = {}

    def run(method: str) -> Path:
        if method not in found:
            found[method] = tmp_path_factory.mktemp("unbroken") / method
            done = roster(*commands[method], "-o", found[method])
            assert done.code == 0, done.err
        return found[method]

    return run


def same_model(run: Path, other: Path) -> bool:
    return (run / WEIGHTS).read_bytes() == (other / WEIGHTS).read_bytes()


def stages(run: Path) -> list[str]:
    file = run / "results.json"
    return list(json.loads(file.read_text())["stages"]) if file.exists() else []


def leftovers(run: Path) -> list[Path]:
    return [p for p in run.rglob("*") if p.name.endswith((".part", ".old"))]


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "a checkpoint is being written": lambda run: any(run.glob("points/.checkpoint-*.part")),
    "between two checkpoints": lambda run: len(list(run.glob("points/checkpoint-*"))) == 2,
    "the weights of a stage are being written": lambda run: any(run.glob("points/.*.weights.*.part")),
}


@pytest.mark.parametrize("method", METHODS)
def test_killed(
    method: str, roster: Any, commands: dict[str, list[str]], unbroken: Callable[[str], Path], tmp_path: Path
) -> None:
    """Once at each moment, one after the other in one run; a short moment may be missed."""
    run, killed = tmp_path / "run", 0
    for moment in MOMENTS.values():
        started = roster.start(*commands[method], "-o", run, **EVERY_EPOCH)
        while started.running and not moment(run):
            time.sleep(0.0003)
        killed += started.send(signal.SIGKILL).code == -signal.SIGKILL
        if "model" in stages(run):
            break
    assert killed, "the process was always faster"
    done = roster(*commands[method], "-o", run)
    assert done.code == 0, done.err
    assert same_model(run, unbroken(method))
    assert stages(run) == stages(unbroken(method))
    assert not leftovers(run)


def killed_after_two_checkpoints(roster: Any, command: list[str], run: Path) -> None:
    started = roster.start(*command, "-o", run, **EVERY_EPOCH)
    while started.running and len(list(run.glob("points/checkpoint-*"))) < 2:
        time.sleep(0.0003)
    assert started.send(signal.SIGKILL).code == -signal.SIGKILL


@pytest.mark.parametrize("broken", [1, 2])
def test_a_damaged_checkpoint(
    broken: int, roster: Any, commands: dict[str, list[str]], unbroken: Callable[[str], Path], tmp_path: Path
) -> None:
    """The newest, or both: training goes on from the one before, or from the beginning of the stage."""
    run = tmp_path / "run"
    killed_after_two_checkpoints(roster, commands["fine-tune"], run)
    files = sorted(run.glob("points/checkpoint-*"), reverse=True)
    for path in files[:broken]:
        content = bytearray(path.read_bytes())
        content[-1000] ^= 1
        path.write_bytes(content)
    done = roster(*commands["fine-tune"], "-o", run)
    assert done.code == 0, done.err
    assert done.err.count("is damaged or incomplete: its checksum is not that of its content") == broken
    assert ("the one before is taken" in done.err) == (len(files) > 1)
    assert same_model(run, unbroken("fine-tune"))


# -- a full disk -----------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts a file system of so many kilobytes."""
    mounted = []

    def mount(kilobytes: int) -> Path:
        place = tmp_path / "disk"
        place.mkdir()
        try:
            done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)],
                                  capture_output=True, text=True, check=False)  # fmt: skip
        except FileNotFoundError:
            pytest.skip("there is no command mount")
        if done.returncode:
            pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Fills a disk up to so many bytes."""
    ballast, free = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - leave)))
    return ballast


@pytest.mark.parametrize("full", ["a checkpoint", "the weights of a stage"])
def test_no_space_for(
    full: str, roster: Any, commands: dict[str, list[str]], unbroken: Callable[[str], Path],
    small_disk: Callable[[int], Path],
) -> None:  # fmt: skip
    disk, command = small_disk(16_000), commands["fine-tune"]
    run = disk / "run"
    killed_after_two_checkpoints(roster, command, run)
    size = max(p.stat().st_size for p in run.glob("points/checkpoint-*"))
    # The second last checkpoint makes room for a new one, so the disk has to lack what is more than that.
    if full == "a checkpoint":
        for path in sorted(run.glob("points/checkpoint-*"))[:-1]:
            path.unlink()
    before = {path: path.read_bytes() for path in run.glob("points/checkpoint-*")}
    ballast = fill(disk, size // 2 if full == "a checkpoint" else 20_000)
    done = roster(*command, "-o", run, **(EVERY_EPOCH if full == "a checkpoint" else {}))
    assert done.code == 2, done.err
    assert not leftovers(run)
    told = done.err.splitlines()[-1]
    assert told.startswith(f"roster: cannot write {run}/")
    assert told.endswith("No space left on device; free some space there and give the same command again")
    assert ("checkpoint-" if full == "a checkpoint" else "fine-tune.weights.safetensors") in told
    assert {path: path.read_bytes() for path in run.glob("points/checkpoint-*")} == before
    ballast.unlink()
    done = roster(*command, "-o", run)
    assert done.code == 0, done.err
    assert same_model(run, unbroken("fine-tune"))


def test_no_space_at_all(
    roster: Any, commands: dict[str, list[str]], small_disk: Callable[[int], Path]
) -> None:
    disk = small_disk(400)
    fill(disk, 0)
    done = roster(*commands["fine-tune"], "-o", disk / "run")
    assert done.code == 2
    assert done.err.splitlines()[-1].endswith("free some space there and give the same command again")
    assert "Traceback" not in done.err


OUTPUTS: dict[str, Callable[[Path, Path, Path], list[Any]]] = {
    "label": lambda text, run, out: [
        "label", text / "train_text.txt", "--dictionary", text / "names.tsv", "-o", out / "labels.jsonl",
    ],
    "predict": lambda text, run, out: ["predict", run, text / "train_text.txt", "-o", out / "found.jsonl"],
    "export": lambda text, run, out: ["export", run, "-o", out / "onnx"],
    "convert": lambda text, run, out: ["convert", text / "train_text.txt", out / "train.conll"],
    "report": lambda text, run, out: ["report", run, "-o", out / "report.html"],
    "pretrain": lambda text, run, out: [
        "pretrain", text / "train_text.txt", "-o", out / "backbone", "--steps", "4", "--layers", "1",
        "--width", "64", "--heads", "4", "--vocab", "300", "--length", "24", "--batch", "16",
        "--set", "positions=32", "--device", "cpu",
    ],
}  # fmt: skip
"""Commands that write, from a corpus and a run, to a disk."""


@pytest.mark.parametrize("command", OUTPUTS)
def test_other_outputs(
    command: str, roster: Any, corpus: Path, unbroken: Callable[[str], Path],
    small_disk: Callable[[int], Path], tmp_path: Path,
) -> None:  # fmt: skip
    """The same words; what was there before stays, and nothing half-written."""
    if command == "export":
        pytest.importorskip("onnxscript")
    disk, text = small_disk(300), shutil.copytree(corpus, tmp_path / "corpus")
    (text / "names.tsv").write_text("Ada Lovelace\tPER\nOslo\tLOC\n")
    arguments = OUTPUTS[command](text, unbroken("fine-tune"), disk)
    output = Path(arguments[-1] if command == "convert" else arguments[arguments.index("-o") + 1])
    if output.suffix:
        output.write_text("what was there before\n")
    fill(disk, 0 if output.suffix else 20_000)
    done = roster(*arguments)
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    told = done.err.splitlines()[-1]
    assert told.startswith("roster: cannot write "), told
    assert str(disk) in told
    assert told.endswith("free some space there and give the same command again")
    if output.suffix:
        assert output.read_text() == "what was there before\n"
        assert not leftovers(disk)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv[:] = ["roster", *sys.argv[2:]]
from roster.cli.main import entry
entry()
"""


def test_a_limit_on_the_size_of_files(
    roster: Any, environment: dict[str, str], commands: dict[str, list[str]], unbroken: Callable[[str], Path],
    tmp_path: Path,
) -> None:  # fmt: skip
    """As `ulimit -f` sets it; this needs no root and no mount."""
    run = tmp_path / "run"
    killed_after_two_checkpoints(roster, commands["fine-tune"], run)
    before = {path: path.read_bytes() for path in run.glob("points/checkpoint-*")}
    newest = max(before)
    limit = newest.stat().st_size // 2
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] in (resource.RLIM_INFINITY, -1)
    limited = [sys.executable, "-c", LIMITED, str(limit), *commands["fine-tune"], "-o", str(run)]
    done = subprocess.run(limited, env=environment | EVERY_EPOCH, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    told = done.stderr.splitlines()[-1]
    assert "checkpoint-" in told
    assert told.endswith("File too large; raise the limit on the size of files (ulimit -f) and give the same "
                         "command again")  # fmt: skip
    assert newest.read_bytes() == before[newest]
    assert not leftovers(run)
    done = roster(*commands["fine-tune"], "-o", run)
    assert done.code == 0, done.err
    assert same_model(run, unbroken("fine-tune"))


# -- two processes, and a clock that jumps ---------------------------------------------------------


def test_two_processes(
    roster: Any, commands: dict[str, list[str]], unbroken: Callable[[str], Path], tmp_path: Path
) -> None:
    """The second is refused while the first trains; the lock of a killed process does not hold anybody up."""
    run = tmp_path / "run"
    first = roster.start(*commands["fine-tune"], "-o", run, **EVERY_EPOCH)
    while first.running and not any(run.glob("points/checkpoint-*")):
        time.sleep(0.0003)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        command = [sys.executable, "-m", "roster.cli.main", *commands["fine-tune"], "-o", str(run)]
        second = subprocess.run(command, env=roster.environment, capture_output=True, text=True, check=False)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert second.returncode == 2
    assert second.stderr == (
        f"roster: another process is training in {run}; wait for it, or use another folder "
        f"(it is process {first.pid} on {os.uname().nodename})\n"
    )
    first.send(signal.SIGKILL)
    done = roster(*commands["fine-tune"], "-o", run)
    assert done.code == 0, done.err
    assert same_model(run, unbroken("fine-tune"))


CLOCK = """
import itertools, random, time
real, draw, calls = time.time, random.Random(3), itertools.count()

def jumping():
    next(calls)
    return real() + draw.choice((-1e9, -86400.0, 0.0, 3600.0, 1e8))

time.time = jumping
"""


def test_a_clock_that_jumps(
    environment: dict[str, str],
    commands: dict[str, list[str]],
    unbroken: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    """The time of day moves by years between any two looks at it: checkpoints, lines of progress and the lock
    follow the clock that only goes forward."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(CLOCK)
    paths = os.pathsep.join([str(tmp_path / "path"), environment["PYTHONPATH"]])
    run = tmp_path / "run"
    command = [sys.executable, "-m", "roster.cli.main", *commands["fine-tune"], "-o", str(run)]
    jumping = environment | {"PYTHONPATH": paths, "ROSTER_CHECKPOINT_SECONDS": "1000"}
    process = subprocess.Popen([*command, "--minutes", "60"], env=jumping, stderr=subprocess.PIPE, text=True)
    checkpoints = 0
    while process.poll() is None:
        checkpoints += any(run.glob("points/checkpoint-*"))
        time.sleep(0.001)
    assert process.stderr
    told = process.stderr.read()
    assert process.returncode == 0, told
    assert not checkpoints  # no 1,000 seconds have passed
    assert not [line for line in told.splitlines() if " left" in line]  # nor 30, after which a line comes
    assert same_model(run, unbroken("fine-tune"))
    facts = json.loads((run / "results.json").read_text())["stages"]
    assert all(0 <= stage["seconds"] < 600 for stage in facts.values())
