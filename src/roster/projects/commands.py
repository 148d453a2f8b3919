"""The commands of a project's jobs, as a person would type them, and the order of the steps. Nothing is run
here."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from roster.distant.matching.patterns.builtin import builtin_kinds
from roster.errors import ConfigError
from roster.projects.project import Job, MissingError, Project, Round
from roster.projects.uploads import merge_gold, write_corpus
from roster.reviewing.folder import is_review
from roster.reviewing.review import GOLD

KINDS = ("label", "train", "audit", "review")
TRAINING = ("minutes", "backbone", "gold")
"""The options of a training."""


def prepare(project: Project, kind: str, options: Mapping[str, Any]) -> Job:
    """Checks that a step can be done, makes the round it belongs to, and returns its job, to be queued.

    Args:
        project: a project without a job under way.
        kind: `label`, `train`, `audit` or `review`.
        options: `patterns` of `label`; `minutes`, `backbone` and `gold` of `train`.

    Raises:
        BusyError: a job is under way.
        MissingError: a step before this one is missing.
    """
    project.check_idle()
    made = PREPARE[kind](project, dict(options))
    job = Job(kind, "queued", made.number, began=round(time.time(), 3), options=dict(options))
    project.state.jobs[kind] = job
    project.save()
    return job


def _label(project: Project, options: dict[str, Any]) -> Round:
    if not project.files("texts"):
        raise MissingError("there is no text yet; add a file with text first")
    if not (project.files("names") or options.get("patterns")):
        raise MissingError("there are no names yet; add a file with names and their types first")
    if unknown := [one for one in options.get("patterns") or () if one not in builtin_kinds()]:
        raise ConfigError(f"unknown pattern {unknown[0][:50]!r}; known are {', '.join(builtin_kinds())}")
    now = project.round
    made = now if now is not None and not _begun(project, now) else project.new_round()
    made.patterns, made.training = list(options.get("patterns") or ()), {}
    return made


def _train(project: Project, options: dict[str, Any]) -> Round:
    now = project.round
    if now is None or not project.labelled(now.number):
        raise MissingError("there are no labels yet; label the text first")
    asked = {name: options.get(name) for name in TRAINING}
    if project.trained(now.number):  # another training is another round, with the same labels
        made = project.new_round()
        made.sources, made.patterns = now.sources, list(now.patterns)
        shutil.copytree(project.data(now.number), project.data(made.number), dirs_exist_ok=True)
        now = made
    elif now.training != asked and project.run(now.number).exists():
        shutil.rmtree(project.run(now.number))  # an unfinished training with other settings
    if asked["gold"] and now.training != asked:
        earlier = [project.run(one.number) / "review" / GOLD for one in project.state.rounds]
        if not merge_gold(earlier, project.folder(now.number) / "gold.jsonl"):
            raise MissingError("there are no reviewed sentences yet; review some first")
    now.training = asked
    return now


def _of_model(project: Project, options: dict[str, Any]) -> Round:
    if (number := project.best) is None:
        raise MissingError("there is no trained model yet; train first")
    return next(one for one in project.state.rounds if one.number == number)


def _begun(project: Project, made: Round) -> bool:
    """Whether the labels of a round have been used in a training."""
    return bool(made.training) or project.run(made.number).exists()


PREPARE: dict[str, Callable[[Project, dict[str, Any]], Round]] = {
    "label": _label,
    "train": _train,
    "audit": _of_model,
    "review": _of_model,
}


def arguments(project: Project, job: Job) -> list[str]:
    """The arguments of the `roster` command of a job. Values that a client gave follow an `=`, so none is
    taken for an option.

    Raises:
        ConfigError: for a job of another version.
    """
    data, run = project.data(job.round), project.run(job.round)
    made = next(one for one in project.state.rounds if one.number == job.round)
    if job.kind == "label":
        found = ["label", str(corpus_of(project)), "-o", str(data), "--format", "jsonl"]
        for option, kind in (("--dictionary", "names"), ("--patch", "patches")):
            files = [str(project.path / one.path) for one in project.files(kind)]  # type: ignore[arg-type]
            found += [option, *files] if files else []
        return found + (["--patterns", *made.patterns] if made.patterns else [])
    if job.kind == "train":
        found = ["train", str(data), "-o", str(run)]
        if made.training.get("minutes"):
            found.append(f"--minutes={made.training['minutes']:g}")
        if made.training.get("backbone"):
            found.append(f"--backbone={made.training['backbone']}")
        if made.training.get("gold"):
            found.append(f"--gold={project.folder(job.round) / 'gold.jsonl'}")
        return found
    if job.kind == "audit":
        gold = review_of(project, job.round) / GOLD
        reviewed = [f"--reviewed={gold}"] if gold.is_file() else []
        return ["audit", str(run), "-o", str(run / "audit"), f"--data={data}", *reviewed]
    if job.kind == "review":
        return [
            "review",
            str(run),
            str(data / "train.jsonl"),
            "-o",
            str(review_of(project, job.round)),
            "--json",
        ]
    raise ConfigError(f"unknown step {job.kind!r}; known are {', '.join(KINDS)}")


def before(project: Project, job: Job) -> None:
    """What is done before the command of a job starts."""
    if job.kind == "label":
        files = [project.path / one.path for one in project.files("texts")]
        write_corpus(files, corpus_of(project))
        next(one for one in project.state.rounds if one.number == job.round).sources = project.sources
    if job.kind == "review":
        folder = review_of(project, job.round)
        if folder.exists() and not is_review(folder):
            shutil.rmtree(folder)  # killed while it was made: nothing was answered


def corpus_of(project: Project) -> Path:
    return project.path / "corpus.jsonl"


def review_of(project: Project, number: int) -> Path:
    return project.run(number) / "review"
