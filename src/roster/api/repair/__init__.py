"""`roster.repair`: rounds of audit, labelling and training without a person."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from roster.api.repair.folder import ROUNDS, RepairFolder
from roster.api.repair.parts import Trained, audit_run, copy_folder, label_again, step, train_again
from roster.auditing.rounds import Step, describe, text
from roster.corpus.dataset import content, load_dataset
from roster.errors import ConfigError
from roster.files import write_json
from roster.log import LOGGER

NO_CHANGE = "the audit proposes no change that is sure enough to be made without a person"
NO_EFFECT = "the changes of the audit alter no label"


@dataclass(frozen=True)
class Repair:
    """What rounds of repair came to."""

    folder: Path
    steps: tuple[Step, ...]
    """Labels, estimates and scores before the first round, then after each."""
    run: Path
    """The last run."""
    stopped: str = ""
    """Why there are fewer rounds than asked for; empty if there are not."""

    @property
    def rounds(self) -> int:
        return len(self.steps) - 1

    @property
    def model(self) -> Path:
        """A copy of the model of the last run."""
        return RepairFolder(self.folder).model

    @property
    def audit(self) -> Path:
        """The audit of the last run."""
        return RepairFolder(self.folder).audit

    def text(self) -> str:
        """The rounds as tables for a terminal."""
        return text(self.steps)

    def as_dict(self) -> dict[str, Any]:
        return {
            "rounds": self.rounds,
            "stopped": self.stopped,
            "run": str(self.run),
            "model": str(self.model),
            "steps": [one.as_dict() for one in self.steps],
        }


def repair(run: str | Path, output: str | Path, rounds: int = 1, *, data: str | Path | None = None) -> Repair:
    """Repairs the labels of a run without a person and trains on them, or goes on where that was stopped.

    Each round audits a run, labels the same text from the same sources with the changes that the audit makes
    without a person, and trains on that as the first run was trained. There are fewer rounds where an audit
    has no such change, its changes alter no label, or the run has learned too little to judge labels.

    Args:
        run: a finished run of the method roster on a data set that `roster label` made from files.
        output: a folder. `round-1` and so on get `audit`, `data` and `run`; `audit` and `model` are those of
            the last run.
        rounds: how many; rounds that `output` has already stay.
        data: the data set of the run, if it has moved.

    Returns:
        Labels, estimates and scores of each round; `model` is the folder of the last model.

    Raises:
        RunError: the run is not finished, has no members, or was trained on other data; or `output` belongs
            to another run.
        DataError: how the data set was labelled is not known, was partly in memory, or one of its files has
            changed since.

    >>> found = repair("run", "repaired", rounds=2)  # doctest: +SKIP
    >>> print(found.text(), found.model)  # doctest: +SKIP
    """
    if rounds < 1:
        raise ConfigError(f"rounds must be at least 1, not {rounds}")
    first = now = Trained.first(run, data, whole=not RepairFolder.is_begun(output))
    with RepairFolder.claim(output, first.identity) as folder:
        steps: list[Step] = []
        name, changes, stopped = "before", None, ""
        most = max(rounds, folder.finished_rounds())
        for number in range(1, most + 1):
            this = folder.round(number)
            found = this.once("audit", partial(audit_run, now, this.audit, this.changes))
            stopped = found["reason"] or ("" if found["changes"] else NO_CHANGE)
            if not stopped:
                _log(number, most, f"changes of the audit: {describe(found['changes'])}; labelling again")
                this.once("data", partial(label_again, now, this.changes, this.data))
                stopped = _without_effect(now, this.data)
            if stopped:
                folder.once(f"audit of {name}", partial(copy_folder, this.audit, folder.audit))
                break
            steps.append(step(name, now, this.audit, changes))
            _log(number, most, f"training on {this.data}; the run is in {this.run}")
            this.once("run", partial(train_again, first, this.data, this.run))
            now, name, changes = Trained.of(this), f"round {number}", found["changes"]
        else:
            LOGGER.info(f"audit of {now.finished.path}")
            folder.once(f"audit of {name}", partial(audit_run, now, folder.audit))
        steps.append(step(name, now, folder.audit, changes))
        folder.once(f"model of {name}", partial(copy_folder, now.finished.path / "model", folder.model))
        done = Repair(Path(output), tuple(steps), now.finished.path, _early(len(steps) - 1, stopped))
        write_json(folder.folder / ROUNDS, done.as_dict())
        return done


def _log(number: int, most: int, line: str) -> None:
    LOGGER.info(f"round {number} of {most}: {line}")


def _without_effect(now: Trained, data: Path) -> str:
    same = content(load_dataset(data).train) == content(now.dataset.train)
    return NO_EFFECT if same else ""


def _early(rounds: int, reason: str) -> str:
    after = "before the first round" if not rounds else f"after round {rounds}"
    return f"stopped {after}: {reason}" if reason else ""
