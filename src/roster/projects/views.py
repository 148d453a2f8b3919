"""The state of a project as data for the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from roster.files import fingerprint
from roster.projects import results
from roster.projects.commands import review_of
from roster.projects.events import log_lines, read_events
from roster.projects.jobs import Jobs
from roster.projects.project import Job, Project
from roster.reviewing.folder import ANSWERS
from roster.reviewing.review import CORRECTIONS

LOG_LINES = 40


def view(project: Project, jobs: Jobs, served: str | None) -> dict[str, Any]:
    """A project: files, rounds, the commands of its steps."""
    state, now, active = project.state, project.round, project.active
    rounds = [
        {
            "number": one.number,
            "patterns": one.patterns,
            "training": one.training,
            "labelled": project.labelled(one.number),
            "trained": project.trained(one.number),
            "reviewed": answers_of(project, one.number),
        }
        for one in state.rounds
    ]
    return {
        "name": project.name,
        "created": state.created,
        "files": [{key: value for key, value in asdict(one).items() if key != "path"} for one in state.files],
        "rounds": rounds,
        "round": None if now is None else now.number,
        "best": project.best,
        "stale": bool(now and now.sources and now.sources != project.sources),
        "jobs": [_job(project, job, jobs) for job in state.jobs.values()],
        "active": None if active is None else active.kind,
        "served": served,
        "version": fingerprint([[j.kind, j.state, j.began, j.ended] for j in state.jobs.values()], rounds),
    }


def _job(project: Project, job: Job, jobs: Jobs) -> dict[str, Any]:
    running = job.state in ("running", "stopping")
    return {
        "step": job.kind,
        "state": job.state,
        "round": job.round,
        "began": job.began,
        "ended": job.ended,
        "error": plain(project, job.error),
        "position": jobs.position(project.name, job.kind) if job.state == "queued" else 0,
        "progress": read_events(project.job_file(job.kind, ".jsonl")).progress if running else None,
        "log": log_of(project, job.kind) if running else [],
    }


def log_of(project: Project, kind: str) -> list[str]:
    """The last lines that a command printed."""
    return [plain(project, line) for line in log_lines(project.job_file(kind, ".log"), LOG_LINES)]


def plain(project: Project, text: str) -> str:
    """A message with the client's names of files in place of ours, and without the place of the project."""
    for one in project.state.files:
        text = text.replace(str(project.path / one.path), one.name)
    return text.replace(f"{project.path}/", "")


def answers_of(project: Project, number: int) -> int:
    """About how many answers the review of a round has: its lines."""
    try:
        with (review_of(project, number) / ANSWERS).open("rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0


def results_of(project: Project) -> dict[str, Any]:
    """What the steps have found: the labels and the training of the newest round, the rest of the newest
    model."""
    now, best = project.round, project.best
    corrections = None if best is None else results.changes(review_of(project, best) / CORRECTIONS)
    return {
        "labels": None if now is None else results.labels(project, now.number),
        "training": None if now is None else results.training(project, now.number),
        "audit": None if best is None else results.audit(project, best),
        "corrections": corrections,
    }
