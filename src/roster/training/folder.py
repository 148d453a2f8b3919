"""The folder of one run: what the run was made from, a lock, and the checkpoint of an unfinished run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from torch import Tensor

import roster
from roster.errors import ModelError, RunError
from roster.files import check_same, lock_folder, write_json
from roster.model.weights import load_tensors, save_tensors

if TYPE_CHECKING:
    from filelock import BaseFileLock

PARTIAL, REPLACED = ".*.part", ".*.old"
"""Files that a killed process was writing, and folders that it was replacing."""


class RunFolder:
    """A folder that belongs to one run, and to one process at a time.

    A subclass sets the class variables. A new run writes what it is made from (settings, data) into the
    marker file; a folder whose marker differs is refused, and so is a folder with other files.
    """

    noun: ClassVar[str]
    """What the folder holds, for messages: `run`, `backbone`."""
    activity: ClassVar[str]
    """What a process does there, for messages: `training`."""
    marker_name: ClassVar[str]
    """File that records what the run was made from."""
    work_name: ClassVar[str]
    """Folder of what only an unfinished run needs."""
    layout: ClassVar[int]
    """Version of the files of an unfinished run."""
    differences: ClassVar[Mapping[str, str]]
    """For each key of the marker, how a folder was made in which it differs: `from other data`."""

    repeated: ClassVar[str] = "start again"
    """What happens without the checkpoint, for messages."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock: BaseFileLock | None = None

    @classmethod
    def claim(cls, path: str | Path, made_from: Mapping[str, Any]) -> Self:
        """Lock a new folder, or that of an unfinished run which was made from the same.

        Parameters:
            path: the folder; it is created if it does not exist.
            made_from: all that determines the result, as JSON values.

        Raises:
            RunError: the folder holds other files, belongs to another run, is in use, or cannot be written.
        """
        folder = cls(path)
        made_from = {"layout": cls.layout, **made_from}
        folder._refuse_other_files()
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the folder {path}: {error.strerror}") from None
        folder._lock = lock_folder(folder.path, cls.activity)
        try:
            folder.remove_partial()
            if folder.marker.exists():
                check_same(folder.marker, made_from, f"a {cls.noun}", cls.differences)
            else:
                write_json(folder.marker, {**made_from, "version": roster.__version__})
            folder.work.mkdir(exist_ok=True)
        except BaseException:
            folder.close()
            raise
        return folder

    def _refuse_other_files(self) -> None:
        """Checked before anything is written, so that a refused folder stays as it was."""
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"{self.path} is a file; a {self.noun} needs a folder")
        if not self.path.is_dir() or self.marker.exists():
            return
        names = sorted(p.name for p in self.path.iterdir())
        others = [n for n in names if n not in (self.work_name, ".lock") and not fnmatch(n, PARTIAL)]
        if others:
            raise RunError(
                f"{self.path} holds other files ({others[0]}, ...); give a new folder for the {self.noun}"
            )

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def marker(self) -> Path:
        return self.path / self.marker_name

    @property
    def work(self) -> Path:
        return self.path / self.work_name

    @property
    def checkpoint_file(self) -> Path:
        return self.work / "checkpoint.safetensors"

    def save_checkpoint(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Replace the checkpoint. `facts` are JSON values."""
        save_tensors(self.checkpoint_file, tensors, facts)

    def load_checkpoint(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return the tensors and facts of the checkpoint, or None if there is none.

        Raises:
            RunError: the file is damaged.
        """
        if not self.checkpoint_file.exists():
            return None
        try:
            return load_tensors(self.checkpoint_file)
        except ModelError as error:
            raise RunError(f"{error}; remove it to {self.repeated}") from None

    def remove_work(self) -> None:
        """Remove what a finished run does not need."""
        shutil.rmtree(self.work, ignore_errors=True)

    def remove_partial(self) -> None:
        """Remove what a killed process was writing or replacing."""
        for path in [*self.path.glob(PARTIAL), *self.path.glob(REPLACED)]:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def remove_new(self, names: Iterable[str] = ()) -> None:
        """Remove a run that failed before its first checkpoint, so that its folder can be used again.

        Parameters:
            names: files to remove beside the marker; files of other names stay, and so does the folder then.
        """
        if self.checkpoint_file.exists():
            return
        self.remove_work()
        for name in (self.marker_name, ".lock", *names):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()
