"""Results as JSON lines: one line for each finished point, and one for each list of points asked for.

A line is on the disk before the next point begins. The last line may be cut off, by a process that was
killed; it is dropped. The runs that are under way lie in a folder beside the file.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.errors import DataError, RosterError
from roster.files import lock_folder, reason
from roster.parsing import parse_json

if TYPE_CHECKING:
    from filelock import BaseFileLock

VERSION = 1
"""Version of the records, raised by a change of their meaning."""
POINT, PLAN = "point", "plan"


class Results:
    """A file of results. `read` is for reading; `open` also locks it for writing."""

    def __init__(self, path: Path, lines: list[dict[str, Any]], held: BaseFileLock | None = None):
        self.path, self._lock = path, held
        self.points = {line["key"]: line for line in lines if line["kind"] == POINT}
        self.plans = [line for line in lines if line["kind"] == PLAN]

    @classmethod
    def read(cls, *paths: str | Path) -> Results:
        """Read one file, or several; a later file overrides earlier ones."""
        for path in paths:
            if not Path(path).is_file():
                raise DataError(
                    "no such file of results; create one with roster benchmark main -o", path=path
                )
        return cls(Path(paths[0]), [line for path in paths for line in _lines(Path(path))[0]])

    @classmethod
    def open(cls, path: str | Path) -> Results:
        """Open a file for writing; it is created if it does not exist."""
        path = Path(path)
        runs = runs_of(path)
        try:
            runs.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError as error:
            raise RosterError(f"cannot write {path}: {error.strerror}") from None
        held = lock_folder(runs, "writing results")
        try:
            lines, whole = _lines(path)
            with path.open("r+b") as file:  # the next record starts on a new line
                file.truncate(whole)
                if whole and not path.read_bytes().endswith(b"\n"):
                    file.seek(whole)
                    file.write(b"\n")
            return cls(path, lines, held)
        except BaseException:
            held.release()
            raise

    def run_folder(self, key: str) -> Path:
        return runs_of(self.path) / key

    def remove_run(self, key: str) -> None:
        """Delete the folder of a run, after its result is on disk, so that nothing is lost on a kill."""
        shutil.rmtree(self.run_folder(key), ignore_errors=True)

    def add_point(self, record: Mapping[str, Any]) -> None:
        self.points[record["key"]] = self._append(POINT, record)

    def add_plan(self, record: Mapping[str, Any]) -> None:
        """Append a plan, unless the last one of its experiment is equal."""
        last = next((p for p in reversed(self.plans) if p["experiment"] == record["experiment"]), None)
        if last is None or any(last.get(name) != value for name, value in record.items()):
            self.plans.append(self._append(PLAN, record))

    def _append(self, kind: str, record: Mapping[str, Any]) -> dict[str, Any]:
        line = {"version": VERSION, "kind": kind, **record}
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RosterError(f"cannot write {self.path}: {reason(error)}") from None
        return line

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        runs = runs_of(self.path)
        if runs.is_dir() and {p.name for p in runs.iterdir()} <= {".lock"}:
            shutil.rmtree(runs, ignore_errors=True)


def runs_of(path: Path) -> Path:
    """Return the folder of unfinished runs, and of runs whose models are kept."""
    return path.with_name(f"{path.name}.runs")


def _is_complete(record: Mapping[str, Any]) -> bool:
    """Whether a record has the name by which it is found."""
    names = {POINT: "key", PLAN: "experiment"}
    kind = record.get("kind")
    return isinstance(kind, str) and (kind not in names or isinstance(record.get(names[kind]), str))


def _lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return all complete records, and their length in bytes."""
    records, whole = [], 0
    raw = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(raw, 1):
        try:
            record = parse_json(line) if line.strip() else None
        except ValueError:
            if number == len(raw):
                break
            raise DataError("damaged: not a JSON object; remove the line", path=path, line=number) from None
        whole += len(line)
        if record is None:
            continue
        version = record.get("version") if isinstance(record, dict) else None
        if isinstance(version, int) and version != VERSION:
            raise DataError(
                f"made by another version of roster (results of version {version}, this one reads "
                f"{VERSION}); use another file or that version",
                path=path,
                line=number,
            )
        if version != VERSION or not _is_complete(record):
            raise DataError(
                "not a line of results; expected a file written by roster benchmark", path=path, line=number
            )
        records.append(record)
    return records, whole
