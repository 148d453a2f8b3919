"""The folder of a repair: which parts are finished.

    repair.json           which run is repaired
    round-1/audit/        audit of the run that the round begins with
    round-1/repair.tsv    all changes of the sources of labels, as roster label --patch takes them
    round-1/data/         the data set labelled with them
    round-1/run/          the run trained on it
    round-1/done.json     which of these are finished
    audit/, model/        audit and model of the last run
    rounds.json           labels, estimates and scores of all rounds

A part that `done.json` does not list was not finished, and is made again; an unfinished training goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import roster
from roster.errors import RunError
from roster.files import check_same, lock_folder, read_object, write_json

MARKER, DONE, ROUNDS = "repair.json", "done.json", "rounds.json"
WORDS = {"run": "from another run"}


class Parts:
    """Parts of a folder that are made once; `done.json` keeps the facts of each that is finished."""

    def __init__(self, folder: Path):
        self.folder = folder

    def done(self) -> dict[str, Any]:
        """The facts of the finished parts by name."""
        file = self.folder / DONE
        return read_object(file) if file.exists() else {}

    def once(self, part: str, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """The facts of a part, which is made now if it is not finished."""
        done = self.done()
        if part not in done:
            done[part] = dict(make())
            write_json(self.folder / DONE, done)
        facts: dict[str, Any] = done[part]
        return facts


class Round(Parts):
    @property
    def audit(self) -> Path:
        return self.folder / "audit"

    @property
    def changes(self) -> Path:
        return self.folder / "repair.tsv"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def run(self) -> Path:
        return self.folder / "run"


class RepairFolder(Parts):
    @classmethod
    def is_begun(cls, path: str | Path) -> bool:
        return (Path(path) / MARKER).exists()

    @classmethod
    @contextmanager
    def claim(cls, path: str | Path, made_from: Mapping[str, Any]) -> Iterator[RepairFolder]:
        """Hold a new folder, or that of an unfinished repair of the same run.

        Raises:
            RunError: the folder holds other files, belongs to another run, is in use, or cannot be written.
        """
        folder = Path(path)
        if folder.exists() and not folder.is_dir():
            raise RunError(f"{folder} is a file; a repair needs a folder")
        others = sorted(p.name for p in folder.iterdir() if p.name[0] != ".") if folder.is_dir() else []
        if others and not cls.is_begun(folder):
            raise RunError(f"{folder} holds other files ({others[0]}, ...); give a new folder for the repair")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the folder {folder}: {error.strerror}") from None
        held = lock_folder(folder, "repairing")
        try:
            if cls.is_begun(folder):
                check_same(folder / MARKER, made_from, "a repair", WORDS)
            else:
                write_json(folder / MARKER, {**made_from, "version": roster.__version__})
            for part in [*folder.glob(".*.part"), *folder.glob("round-*/.*.part")]:
                shutil.rmtree(part) if part.is_dir() else part.unlink()
            yield cls(folder)
        finally:
            held.release()

    def round(self, number: int) -> Round:
        return Round(self.folder / f"round-{number}")

    def finished_rounds(self) -> int:
        """How many rounds have a finished run."""
        number = 0
        while "run" in self.round(number + 1).done():
            number += 1
        return number

    @property
    def audit(self) -> Path:
        return self.folder / "audit"

    @property
    def model(self) -> Path:
        return self.folder / "model"
