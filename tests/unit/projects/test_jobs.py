"""The queue, with real commands in real processes: the order, the end, what an earlier service left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roster.files import lock as hold
from roster.projects.commands import prepare
from roster.projects.events import error_of, is_held, log_lines, read_events
from roster.projects.jobs import Jobs
from roster.projects.project import Project, Projects
from tests.unit.projects.conftest import COMMAND


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    return Projects(tmp_path / "projects")


def ready(projects: Projects, name: str) -> Project:
    project = projects.create(name)
    for kind, suffix, content in (
        ("texts", ".jsonl", '{"text": "Ada lives in Oslo."}\n'),
        ("names", ".tsv", "Ada\tPER\nOslo\tLOC\n"),
    ):
        part = project.path / "part"
        part.write_text(content)
        project.add(project.reserve(), kind, f"a{suffix}", suffix, part, {})  # type: ignore[arg-type]
    return project


def state(projects: Projects, name: str) -> str:
    return projects.open(name).state.jobs["label"].state


def finish(jobs: Jobs, projects: Projects, *names: str) -> None:
    while any(state(projects, name) in ("queued", "running", "stopping") for name in names):
        jobs.tick()
        time.sleep(0.02)


def test_one_after_the_other(projects: Projects) -> None:
    jobs, events = Jobs(projects, COMMAND), []
    jobs._log = lambda event, **fields: events.append((fields["project"], fields["state"]))
    for name in ("a", "b"):
        jobs.put(project := ready(projects, name), prepare(project, "label", {}))
    assert [jobs.position(name, "label") for name in ("a", "b")] == [0, 1]
    finish(jobs, projects, "a", "b")
    assert events == [("a", "running"), ("a", "done"), ("b", "running"), ("b", "done")]
    assert projects.open("b").labelled(1)
    seen = read_events(projects.open("b").job_file("label", ".jsonl"))
    assert (seen.begun, seen.code) == (True, 0)
    assert seen.progress is not None
    assert seen.progress["stage"] == "label"


def test_an_error_of_the_command(projects: Projects) -> None:
    project = ready(projects, "a")
    (project.path / "names" / "2.tsv").write_text("Ada\tPER\nOslo\n")
    jobs = Jobs(projects, COMMAND)
    jobs.put(project, prepare(project, "label", {}))
    finish(jobs, projects, "a")
    job = projects.open("a").state.jobs["label"]
    assert job.state == "failed"
    assert "2.tsv, line 2" in job.error


def test_a_command_that_cannot_start(projects: Projects) -> None:
    project = ready(projects, "a")
    jobs = Jobs(projects, ["/no/such/program"])
    jobs.put(project, prepare(project, "label", {}))
    jobs.tick()
    assert state(projects, "a") == "failed"


def test_a_command_that_ignores_the_signal_is_killed(projects: Projects, tmp_path: Path) -> None:
    program = tmp_path / "deaf.py"
    program.write_text(
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "open(sys.argv[2], 'a').write('{\"event\": \"begin\"}\\n')\nwhile True: time.sleep(1)\n"
    )
    now = [time.time()]
    jobs = Jobs(projects, [sys.executable, str(program)], clock=lambda: now[0])
    project = ready(projects, "a")
    jobs.put(project, prepare(project, "label", {}))
    jobs.tick()
    while not read_events(project.job_file("label", ".jsonl")).begun:
        time.sleep(0.02)
    jobs.stop(projects.open("a"))
    jobs.tick()
    assert state(projects, "a") == "stopping"
    now[0] += 60
    finish(jobs, projects, "a")
    assert state(projects, "a") == "stopped"


def test_what_an_earlier_service_left(projects: Projects, tmp_path: Path) -> None:
    """`a` still runs, `b` was killed, `c` waited."""
    program = tmp_path / "waits.py"
    program.write_text(
        "import json, os, sys, time\nfrom pathlib import Path\nfrom filelock import FileLock\n"
        "held = FileLock(sys.argv[1]); held.acquire()\nout = open(sys.argv[2], 'a')\n"
        "print(json.dumps({'event': 'begin'}), file=out, flush=True)\n"
        "while not Path(sys.argv[3]).exists(): time.sleep(0.02)\n"
        "print(json.dumps({'event': 'end', 'code': 0}), file=out, flush=True)\n"
    )
    jobs = {name: ready(projects, name) for name in ("a", "b", "c")}
    for project in jobs.values():
        prepare(project, "label", {})
    lock, events = (jobs["a"].job_file("label", end) for end in (".lock", ".jsonl"))
    left = subprocess.Popen([sys.executable, str(program), str(lock), str(events), str(tmp_path / "go")])
    while not read_events(events).begun:
        time.sleep(0.02)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name, pid in (("a", left.pid), ("b", gone.pid)):
        job = jobs[name].state.jobs["label"]
        job.state, job.pid = "running", pid
        jobs[name].save()
    queue = Jobs(projects, COMMAND)
    queue.recover()
    queue.tick()
    assert is_held(lock)
    assert [state(projects, name) for name in "abc"] == ["running", "stopped", "queued"]
    assert "killed" in projects.open("b").state.jobs["label"].error
    (tmp_path / "go").touch()
    left.wait()
    finish(queue, projects, "a", "c")
    assert [state(projects, name) for name in "abc"] == ["done", "stopped", "done"]


def test_observed(tmp_path: Path) -> None:
    """The lock, the exit code, SIGTERM as Ctrl-C, and a second process on the same lock."""
    (tmp_path / "a.txt").write_text("Ada lives.\n")
    lock, events = tmp_path / "lock", tmp_path / "events"
    run = [*COMMAND, str(lock), str(events)]
    assert subprocess.run([*run, "convert", tmp_path / "a.txt", tmp_path / "a.jsonl"]).returncode == 0
    assert read_events(events).code == 0
    assert (
        subprocess.run(
            [*run, "convert", tmp_path / "no.txt", tmp_path / "b"], stderr=subprocess.DEVNULL
        ).returncode
        == 2
    )
    held = hold(lock, "held")
    assert subprocess.run([*run, "convert", "x", "y"], stderr=subprocess.DEVNULL).returncode == 3
    held.release()
    (tmp_path / "long.txt").write_text("Ada lives in Oslo.\n" * 300_000)
    events.unlink()
    long = subprocess.Popen(
        [*run, "convert", tmp_path / "long.txt", tmp_path / "c.jsonl"], stderr=subprocess.DEVNULL
    )
    while read_events(events).progress is None:
        assert long.poll() is None
        time.sleep(0.02)
    assert is_held(lock)
    long.send_signal(signal.SIGTERM)
    assert long.wait() == 130
    assert read_events(events).code == 130
    assert not is_held(lock)
    assert not (tmp_path / "c.jsonl").exists()


def test_logs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert (log_lines(log), error_of(log)) == ([], "")
    log.write_text("one\n\nroster: wrong\nroster: names.tsv, line 2: worse\n")
    assert log_lines(log)[0] == "one"
    assert error_of(log) == "names.tsv, line 2: worse"
    events = tmp_path / "events"
    events.write_text("x" * 100_000 + '\n{"event": "progress", "stage": "a", "done": 1}\n{"event": "pro')
    assert read_events(events).progress == {
        "stage": "a", "done": 1, "total": None, "unit": None, "rate": None, "left": None,
    }  # fmt: skip
    assert json.dumps(read_events(events).code) == "null"
