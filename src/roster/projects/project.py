"""A project on disk.

    FOLDER/NAME/project.json        files, rounds and jobs: what the files below do not tell by themselves
    FOLDER/NAME/texts/1.jsonl       uploaded texts, as JSON lines
    FOLDER/NAME/names/2.tsv         uploaded dictionaries
    FOLDER/NAME/patches/3.tsv       changes of the dictionaries that a person has accepted
    FOLDER/NAME/jobs/train.log      what the command printed; train.jsonl: its events; train.lock: held by it
    FOLDER/NAME/rounds/1/data       labels, as `roster label` writes them
    FOLDER/NAME/rounds/1/run        the run, with its model, report, audit and review
    FOLDER/NAME/rounds/1/gold.jsonl reviewed sentences of earlier rounds, for a training that learns from them

A round is one set of labels with one training. Labels that are made again after a training begin a new round,
so the audit and the review of a model always find the labels it was trained on.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from roster.errors import ConfigError, RunError
from roster.files import fingerprint, lock, write_json
from roster.projects.names import check_name
from roster.projects.settings import ProjectLimits

LAYOUT = 1
STATE = "project.json"
Kind = Literal["texts", "names", "patches"]
JobState = Literal["queued", "running", "stopping", "done", "failed", "stopped"]
ACTIVE = ("queued", "running", "stopping")


class MissingError(RunError):
    """There is no such project, file or result."""


class BusyError(RunError):
    """Something is under way that does not allow this now."""


@dataclass
class File:
    """An uploaded file. `name` is shown; `path` is ours, relative to the project. `facts` are counts."""

    number: int
    kind: Kind
    name: str
    path: str
    bytes: int
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Round:
    """A set of labels and a training. `sources` is the fingerprint of the files that the labels were made
    from."""

    number: int
    sources: str = ""
    patterns: list[str] = field(default_factory=list)
    training: dict[str, Any] = field(default_factory=dict)


@dataclass
class Job:
    """The last command of its kind."""

    kind: str
    state: JobState
    round: int
    began: float = 0.0
    ended: float = 0.0
    pid: int = 0
    error: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


@dataclass
class State:
    """Everything in `project.json`."""

    created: float
    next: int = 1
    files: list[File] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    layout: int = LAYOUT


class Project:
    """The folder of a project; its state is read when it is opened, and written with `save`."""

    def __init__(self, path: Path, state: State):
        self.path, self.state = path, state

    @classmethod
    def open(cls, path: Path) -> Project:
        """Raises RunError for a state that cannot be read."""
        try:
            found = json.loads((path / STATE).read_text(encoding="utf-8"))
            if found["layout"] != LAYOUT:
                raise RunError(f"the project {path.name} was made by another version of roster")
            state = State(
                found["created"],
                found["next"],
                [File(**one) for one in found["files"]],
                [Round(**one) for one in found["rounds"]],
                {kind: Job(**one) for kind, one in found["jobs"].items()},
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"the project {path.name} is damaged: {STATE} cannot be read") from error
        return cls(path, state)

    @property
    def name(self) -> str:
        return self.path.name

    def save(self) -> None:
        write_json(self.path / STATE, asdict(self.state))

    def files(self, kind: Kind) -> list[File]:
        return [one for one in self.state.files if one.kind == kind]

    def reserve(self) -> int:
        """A number for a file that is about to be received."""
        number = self.state.next
        self.state.next += 1
        self.save()
        return number

    def add(self, number: int, kind: Kind, name: str, suffix: str, part: Path, facts: dict[str, Any]) -> File:
        """Takes a checked file, which is moved into the project, under a reserved number."""
        path = f"{kind}/{number}{suffix}"
        (self.path / kind).mkdir(exist_ok=True)
        part.replace(self.path / path)
        file = File(number, kind, name, path, (self.path / path).stat().st_size, facts)
        self.state.files.append(file)
        self.save()
        return file

    def remove(self, number: int) -> None:
        """Raises MissingError."""
        file = next((one for one in self.state.files if one.number == number), None)
        if file is None:
            raise MissingError(f"there is no file {number} in the project {self.name}")
        self.state.files.remove(file)
        self.save()
        (self.path / file.path).unlink(missing_ok=True)

    @property
    def sources(self) -> str:
        """A fingerprint of the uploaded files: labels made from others are out of date."""
        return fingerprint(*(f"{one.kind} {one.number}" for one in self.state.files))

    # -- rounds ---------------------------------------------------------------------------------

    @property
    def round(self) -> Round | None:
        """The newest round."""
        return self.state.rounds[-1] if self.state.rounds else None

    def folder(self, number: int) -> Path:
        return self.path / "rounds" / str(number)

    def data(self, number: int) -> Path:
        return self.folder(number) / "data"

    def run(self, number: int) -> Path:
        return self.folder(number) / "run"

    def labelled(self, number: int) -> bool:
        return (self.data(number) / "labels.json").is_file()

    def trained(self, number: int) -> bool:
        """Whether the training of a round is finished."""
        try:
            results = json.loads((self.run(number) / "results.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        model = self.run(number) / "model" / "roster.json"
        return "model" in results.get("stages", {}) and model.is_file()

    @property
    def best(self) -> int | None:
        """The newest round whose training is finished."""
        return next((r.number for r in reversed(self.state.rounds) if self.trained(r.number)), None)

    def new_round(self) -> Round:
        made = Round(self.round.number + 1 if self.round else 1)
        self.folder(made.number).mkdir(parents=True, exist_ok=True)
        self.state.rounds.append(made)
        return made

    # -- jobs -----------------------------------------------------------------------------------

    @property
    def active(self) -> Job | None:
        """The job that is queued or runs."""
        return next((job for job in self.state.jobs.values() if job.active), None)

    def check_idle(self) -> None:
        """Raises BusyError while a job is queued or runs."""
        if (job := self.active) is not None:
            raise BusyError(
                f"the step '{job.kind}' of this project is under way; stop it, or wait for its end"
            )

    def job_file(self, kind: str, suffix: str) -> Path:
        return self.path / "jobs" / f"{kind}{suffix}"


class Projects:
    """A folder of projects, which one service has at a time.

    Args:
        folder: it is made if it is missing.
        limits: what the projects may take.

    Raises:
        RunError: the folder cannot be made, or another service has it.
    """

    def __init__(self, folder: str | Path, limits: ProjectLimits | None = None):
        self.folder, self.limits = Path(folder).resolve(), limits or ProjectLimits()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the folder {folder}: {error.strerror}") from None
        self._lock = lock(
            self.folder / ".lock",
            f"another service has the projects in {folder}; end it, or use another folder",
        )

    def close(self) -> None:
        self._lock.release()

    def names(self) -> list[str]:
        """The names of all projects, sorted."""
        return sorted(path.name for path in self._paths())

    def _paths(self) -> Iterator[Path]:
        for path in self.folder.iterdir():
            try:
                check_name(path.name)
            except ConfigError:
                continue
            if not path.is_symlink() and (path / STATE).is_file():
                yield path

    def open(self, name: str) -> Project:
        """Raises MissingError if there is no such project, RunError if it cannot be read."""
        path = self._path(name)
        if path.is_symlink() or not (path / STATE).is_file():
            raise MissingError(f"there is no project {name}")
        return Project.open(path)

    def create(self, name: str) -> Project:
        """Raises BusyError if there is one of this name, or no room."""
        path = self._path(name)
        if len(self.names()) >= self.limits.projects:
            raise BusyError(f"there are {self.limits.projects} projects; remove one first")
        if any(one.name.lower() == name.lower() for one in self.folder.iterdir()):
            raise BusyError(f"there is a project {name} already; choose another name")
        path.mkdir()
        project = Project(path, State(created=round(time.time(), 3)))
        (path / "jobs").mkdir()
        project.save()
        return project

    def delete(self, name: str) -> None:
        """Removes a project with everything in it. Raises BusyError while a job is under way."""
        project = self.open(name)
        project.check_idle()
        # Without its state it is no project any more, whatever is left after a crash.
        (project.path / STATE).unlink()
        shutil.rmtree(project.path, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self.folder / check_name(name)
