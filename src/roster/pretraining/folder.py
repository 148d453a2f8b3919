"""The folder of a pre-training.

    config.json, model.safetensors, tokenizer files     the backbone, when it is finished
    README.md, curve.svg                                its model card
    training.jsonl                                      the curve, point by point
    settings.json                                       what was asked
    work/                                               tokens and checkpoint while it is under way

Every file is written whole or not at all. A folder with a config.json is finished; any other goes on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import roster
from roster.errors import ModelError, RunError
from roster.files import atomic_folder, check_same, lock_folder, write_json, write_text
from roster.model.weights import load_tensors, save_tensors

if TYPE_CHECKING:
    from filelock import BaseFileLock

LAYOUT = 2
"""Raised when the files of an unfinished pre-training change. 2: the setting `even` is called `recentre`."""
WORDS = {
    "layout": "by another version of roster",
    "settings": "with other settings",
    "corpus": "from another corpus",
}


PARTIAL = ".*.part"


def _ours(name: str) -> bool:
    """Whether a folder without settings may hold this: it was stopped before they were written."""
    return name in ("work", ".lock") or fnmatch(name, PARTIAL)


class PretrainingFolder:
    def __init__(self, path: Path):
        self.path = path
        self.work = path / "work"
        self._lock: BaseFileLock | None = None

    @classmethod
    def claim(cls, path: str | Path, made_from: Mapping[str, Any]) -> PretrainingFolder:
        """A new folder, or one of this very training; any other is refused."""
        folder = cls(Path(path))
        made_from = {"layout": LAYOUT, **made_from}
        marker = folder.path / "settings.json"
        if folder.path.exists() and not folder.path.is_dir():
            raise RunError(f"{path} is a file; a backbone needs a folder")
        if not marker.exists() and folder.path.is_dir():
            strangers = sorted(p.name for p in folder.path.iterdir() if not _ours(p.name))
            if strangers:
                raise RunError(f"{path} holds other files ({strangers[0]}, ...); give a new folder")
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the folder {path}: {error.strerror}") from None
        folder._lock = lock_folder(folder.path, "pre-training")
        try:
            for part in folder.path.glob(PARTIAL):  # of a process that was killed while it wrote
                part.unlink()
            if marker.exists():
                check_same(marker, made_from, "a backbone", WORDS)
            else:
                write_json(marker, {**made_from, "version": roster.__version__})
        except BaseException:
            folder.close()
            raise
        return folder

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def finished(self) -> bool:
        return (self.path / "config.json").exists()

    def clean(self) -> None:
        """What a finished backbone does not need; a process may be killed just before."""
        shutil.rmtree(self.work, ignore_errors=True)

    def abandon(self) -> None:
        """Leaves nothing of a training that could not begin, so that the corrected command has its folder."""
        if self.finished or self.checkpoint.exists() or (self.path / "training.jsonl").exists():
            return
        self.clean()
        for name in ("settings.json", ".lock"):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()

    # -- while it is under way ---------------------------------------------------------------------

    @property
    def checkpoint(self) -> Path:
        return self.work / "checkpoint.safetensors"

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        save_tensors(self.checkpoint, tensors, facts)

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The last checkpoint, if there is one."""
        if not self.checkpoint.exists():
            return None
        try:
            return load_tensors(self.checkpoint)
        except ModelError as error:
            raise RunError(f"{error}; remove it to start again") from None

    def write_curve(self, curve: Sequence[Mapping[str, float]]) -> None:
        write_text(self.path / "training.jsonl", "".join(json.dumps(point) + "\n" for point in curve))

    def curve(self) -> list[dict[str, Any]]:
        path = self.path / "training.jsonl"
        try:
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError):
            raise RunError(f"{path} is missing or damaged") from None

    # -- the end -----------------------------------------------------------------------------------

    def finish(self, model: Any, tokenizer: Any, dtype: torch.dtype, texts: Mapping[str, str]) -> None:
        """Puts the backbone in its place: the config last, since a folder that has one is finished."""
        final = self.work / "final"
        model = model.to(device="cpu", dtype=dtype)
        if not all(p.isfinite().all() for p in model.parameters()):
            raise ModelError("some weights are not finite, or too large for float16; try weights=float32")
        with atomic_folder(final) as part:
            model.save_pretrained(part)
            tokenizer.save_pretrained(part)
            for name, text in texts.items():
                write_text(part / name, text)
        for path in sorted(final.iterdir(), key=lambda path: path.name == "config.json"):
            path.chmod(0o644)
            path.replace(self.path / path.name)
        self.clean()
