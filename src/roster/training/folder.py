"""The folder of one run: what the run was made from, a lock, and the checkpoint of an unfinished run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from torch import Tensor

import roster
from roster.errors import ModelError, RunError
from roster.files import check_same, fingerprint, lock_folder, reason, write_json
from roster.log import LOGGER
from roster.model.weights import load_tensors, read_facts, save_tensors

if TYPE_CHECKING:
    from filelock import BaseFileLock

PARTIAL, REPLACED = ".*.part", ".*.old"
"""Files that a killed process was writing, and folders that it was replacing."""
CHECKPOINT = "checkpoint-{:06d}.safetensors"


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

    repeated: ClassVar[str] = "the work starts again"
    """What happens without a checkpoint, for messages."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock: BaseFileLock | None = None
        self._made_from = ""
        """Fingerprint of what the run is made from; every checkpoint carries it."""

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
        folder._made_from = fingerprint(made_from)
        folder._refuse_other_files()
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the folder {path}: {reason(error)}") from None
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
    def checkpoints(self) -> list[Path]:
        """The checkpoints, the newest first: at most two."""
        return sorted(self.work.glob("checkpoint-*.safetensors"), reverse=True)

    def save_checkpoint(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Write a checkpoint and keep the one before. `facts` are JSON values.

        The second last is removed first, so that the disk never has to hold more than two.
        """
        number = 0
        for i, path in enumerate(self.checkpoints):
            if i == 0:
                number = int(path.stem.rpartition("-")[2]) + 1
            else:
                path.unlink()
        save_tensors(self.work / CHECKPOINT.format(number), tensors, {**facts, "made_from": self._made_from})

    def load_checkpoint(
        self, wanted: Callable[[Mapping[str, Any]], bool] = lambda facts: True
    ) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return the tensors and facts of the newest checkpoint, or None if there is none.

        A checkpoint that is damaged or belongs to another run is removed with a warning, and the one before
        is taken. Without any the work starts again, which costs time and leads to the same result.

        Parameters:
            wanted: whether a checkpoint with these facts may be taken; others stay.
        """
        for path in self.checkpoints:
            try:
                if not wanted(read_facts(path)):
                    continue
                tensors, facts = load_tensors(path, verify=True)
                if facts.pop("made_from", None) != self._made_from:
                    raise ModelError(f"{path} belongs to another {self.noun}")
                return tensors, facts
            except ModelError as error:
                if not path.exists():  # removed in the background, with the stage it belonged to
                    continue
                path.unlink()
                instead = "the one before is taken" if self.checkpoints else self.repeated
                LOGGER.warning(f"{error}; it is removed, and {instead}")
        return None

    def remove_checkpoints(self) -> None:
        for path in self.checkpoints:
            path.unlink(missing_ok=True)

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
        if self.checkpoints:
            return
        self.remove_work()
        for name in (self.marker_name, ".lock", *names):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()
