"""The queue of jobs: one command at a time, in a process of its own that outlives the service if it has to.

What is asked for is in the states of the projects; nothing is lost with this process. A command holds a lock
file for as long as it runs, so a service that starts again recognises the commands of the one before it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from roster.errors import RosterError
from roster.files import write_text
from roster.projects.commands import arguments, before
from roster.projects.events import error_of, is_held, read_events
from roster.projects.project import Job, MissingError, Project, Projects
from roster.serving.auth import VARIABLE

GRACE = 15.0
"""Seconds between SIGTERM and SIGKILL."""
BEGIN = 60.0
"""Seconds within which a command of an earlier service must have taken its lock."""
STOPPED = 130


@dataclass
class Running:
    """The job under way. `process` is None for a command that an earlier service started."""

    project: str
    kind: str
    pid: int
    since: float
    process: subprocess.Popen[bytes] | None = None
    stopped_at: float | None = None


class Jobs:
    """Runs the jobs of all projects, one after the other. All calls are made by one thread.

    Args:
        projects: the projects.
        command: the beginning of a command line; the lock file, the file of events and the arguments of
            `roster` follow.
        log: is told of the beginning and the end of each job.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        projects: Projects,
        command: Sequence[str],
        log: Callable[..., None] = lambda event, **fields: None,
        clock: Callable[[], float] = time.time,
        environment: Mapping[str, str] = os.environ,
    ):
        self.projects, self._command, self._log, self._clock = projects, list(command), log, clock
        self._environment = {name: value for name, value in environment.items() if name != VARIABLE}
        self._queue: deque[tuple[str, str]] = deque()
        self._running: Running | None = None

    # -- what clients ask for -------------------------------------------------------------------

    def put(self, project: Project, job: Job) -> None:
        """Queues a job that `commands.prepare` made."""
        self._queue.append((project.name, job.kind))

    def position(self, project: str, kind: str) -> int:
        """How many jobs a queued one waits for."""
        ahead = list(self._queue).index((project, kind)) if (project, kind) in self._queue else 0
        return ahead + (self._running is not None)

    def stop(self, project: Project) -> None:
        """Ends the job of a project, or takes it from the queue.

        Raises:
            MissingError: none is under way.
        """
        job = project.active
        if job is None:
            raise MissingError("nothing is under way that could be stopped")
        if (project.name, job.kind) in self._queue:
            self._queue.remove((project.name, job.kind))
            self._finish(project, job, "stopped")
        elif self._running is not None and job.state == "running":
            job.state = "stopping"
            project.save()
            self._running.stopped_at = self._clock()
            _signal(self._running.pid, signal.SIGTERM)

    # -- the loop -------------------------------------------------------------------------------

    def recover(self) -> None:
        """Finds what an earlier service left: a command that still runs is watched, another one has been
        killed, and the queue goes on."""
        waiting = []
        for name in self.projects.names():
            try:
                project = self.projects.open(name)
            except RosterError as error:
                self._log("project", project=name, error=str(error))
                continue
            for job in [one for one in project.state.jobs.values() if one.active]:
                if job.state == "queued":
                    waiting.append((job.began, name, job.kind))
                elif self._running is None and _alive(project, job, self._clock()):
                    self._running = Running(name, job.kind, job.pid, job.began)
                    if job.state == "stopping":
                        self._running.stopped_at = self._clock()
                        _signal(job.pid, signal.SIGTERM)
                else:
                    self._end(project, job)
        self._queue.extend((name, kind) for _, name, kind in sorted(waiting))

    def tick(self) -> None:
        """Notes the end of the job under way, and starts the next. Called a few times a second."""
        if (running := self._running) is not None:
            project = self.projects.open(running.project)
            job = project.state.jobs[running.kind]
            if self._runs(running, project, job):
                if running.stopped_at is not None and self._clock() - running.stopped_at > GRACE:
                    _signal(running.pid, KILL)
                return
            if is_held(project.job_file(running.kind, ".lock")):
                _signal(running.pid, KILL)  # processes that it started and left behind
            self._running = None
            self._end(project, job)
        while self._queue and self._running is None:
            name, kind = self._queue.popleft()
            with suppress(MissingError):
                self._start(self.projects.open(name), kind)

    @property
    def busy(self) -> bool:
        return self._running is not None

    def shut_down(self) -> None:
        """Ends the job under way, for the end of the service; the queue stays for the next one."""
        running = self._running
        if running is None:
            return
        _signal(running.pid, signal.SIGTERM)
        running.stopped_at = self._clock()
        if running.process is not None:
            try:
                running.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                _signal(running.pid, KILL)
                running.process.wait()
        self.tick_end()

    def tick_end(self) -> None:
        """Notes the end of the job under way, and starts no other."""
        waiting, self._queue = self._queue, deque()
        try:
            self.tick()
        finally:
            self._queue = waiting

    def _start(self, project: Project, kind: str) -> None:
        job = project.state.jobs[kind]
        lock_file, events, log = (project.job_file(kind, end) for end in (".lock", ".jsonl", ".log"))
        try:
            before(project, job)
            write_text(events, "")
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [*self._command, str(lock_file), str(events), *arguments(project, job)],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=self._environment,
                    **_APART,
                )
        except (OSError, RosterError) as error:
            self._finish(project, job, "failed", f"the command could not be started: {error}")
            return
        job.state, job.pid, job.began, job.error = "running", process.pid, round(self._clock(), 3), ""
        self._running = Running(project.name, kind, process.pid, job.began, process)
        project.save()
        self._log("job", project=project.name, step=kind, state="running")

    def _runs(self, running: Running, project: Project, job: Job) -> bool:
        if running.process is not None:
            return running.process.poll() is None
        return _alive(project, job, self._clock())

    def _end(self, project: Project, job: Job) -> None:
        """The state of a job whose process has ended."""
        code = read_events(project.job_file(job.kind, ".jsonl")).code
        if code == 0:
            self._finish(project, job, "done")
        elif job.state == "stopping" or code == STOPPED:
            self._finish(project, job, "stopped")
        elif code is None:
            self._finish(project, job, "stopped", "the command was killed before its end; it can go on")
        else:
            told = error_of(project.job_file(job.kind, ".log"))
            self._finish(project, job, "failed", told or f"the command ended with exit code {code}")

    def _finish(self, project: Project, job: Job, state: str, error: str = "") -> None:
        job.state, job.error, job.pid = state, error, 0  # type: ignore[assignment]
        job.ended = round(self._clock(), 3)
        project.save()
        self._log("job", project=project.name, step=job.kind, state=state)


def _alive(project: Project, job: Job, now: float) -> bool:
    """Whether a command that another service started still runs."""
    if not _exists(job.pid):
        return False
    if is_held(project.job_file(job.kind, ".lock")):
        return True
    begun = read_events(project.job_file(job.kind, ".jsonl")).begun
    return not begun and now - job.began < BEGIN  # it has started, and not yet taken its lock


def _exists(pid: int) -> bool:
    if pid <= 0:
        return False
    if sys.platform == "win32":  # a signal would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if sys.platform == "win32":
    KILL = signal.SIGTERM
    _APART: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}

    def _signal(pid: int, number: signal.Signals) -> None:
        """Ends a process."""
        with suppress(OSError):
            os.kill(pid, number)
else:
    KILL = signal.SIGKILL
    _APART: dict[str, Any] = {"start_new_session": True}

    def _signal(pid: int, number: signal.Signals) -> None:
        """Sends a signal to a command and the processes it has started."""
        if pid > 1:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, number)
