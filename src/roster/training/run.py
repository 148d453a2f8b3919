"""A run folder: what was asked, what is finished, and where to go on after a crash.

    run/config.toml            the effective config, derived values and all
    run/run.json               what the run was made from: fingerprints of config, data and backbone
    run/log.txt                one line for each stage: seconds, peak memory, scores
    run/results.json           the same as data
    run/points/                finished stages, and the last two checkpoints of the one under way
    run/predictions.safetensors  what the models predict on the training text, for the audit
    run/model/                 the final model

Every file is written whole or not at all. A folder made by another config or other data is refused. What is
damaged in `points/` is found by its checksum, and what made it is repeated: the result is the same.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import Tensor

from roster.config import Config, to_toml
from roster.errors import ModelError, RosterError, RunError
from roster.files import fingerprint, read_object, reason, write_json, write_text
from roster.model.weights import load_tensors, save_tensors, verify_tensors
from roster.parsing import parse_json
from roster.progress import gigabytes
from roster.training.folder import RunFolder
from roster.training.objective import Checkpoint
from roster.training.predictions import Predictions

LAYOUT = 5
"""Raised when files of an unfinished run change. 5: checksums, and a list of what each stage kept."""
CHECKPOINT_SECONDS = 30.0
PREDICTIONS = "predictions.safetensors"
WORDS = {
    "layout": "by another version of roster",
    "config": "with another config",
    "data": "from other data",
    "gold": "with other gold sentences",
    "backbone": "with another backbone",
}


class Run(RunFolder):
    """An opened run folder. `Run.open` makes a new one, or finds the point to go on from."""

    noun = "run"
    activity = "training"
    marker_name = "run.json"
    work_name = "points"
    layout = LAYOUT
    differences = WORDS
    repeated = "the stage is trained from its start"

    def __init__(self, path: str | Path):
        super().__init__(path)
        self.results: dict[str, Any] = {}
        self.curves: Mapping[str, int] = {}
        """Stages that are scored on their way, each at so many steps; no part of what a run is made from."""
        self._say: Callable[[str], None] | None = None
        self._saved_at = time.monotonic()
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self._recent: dict[str, dict[str, Tensor]] = {}
        self._decided: dict[str, Any] = {}
        self._kept: dict[str, list[str]] = {}
        """The files that each finished stage kept, by name without suffix."""
        self._lost: set[str] = set()
        """Finished stages that have to be trained again, because a file of theirs is damaged or missing."""

    @classmethod
    def open(
        cls,
        folder: str | Path,
        asked: Mapping[str, Any],
        sources: Mapping[str, str],
        log: Callable[[str], None] | None = None,
    ) -> Run:
        """`asked` are the values that a user gave; `sources` the fingerprints of all else that decides the
        result."""
        run = cls.claim(folder, {"config": fingerprint(asked), **sources})
        run._say = log
        try:
            run.results = run._read_results()
            run._find_lost()
        except BaseException:
            run.close()
            raise
        return run

    def config(
        self, settle: Callable[[], tuple[Config, str]], read: Callable[[Path], Config]
    ) -> tuple[Config, str]:
        """The effective config: as this run settled it when it began, else as `settle` does now; and what it
        follows from in words, where that is new."""
        file = self.path / "config.toml"
        if file.exists():
            return read(file), ""
        config, text = settle()
        write_text(file, to_toml(config))
        return config, text

    def close(self) -> None:
        if self._writer is not None:
            self._writer.shutdown()
        super().close()

    def keep_predictions(self, tensors: Mapping[str, Tensor]) -> None:
        """What stays of the predictions on the training text when the run is finished."""
        self._settle()
        save_tensors(self.path / PREDICTIONS, tensors)

    # -- finished stages ------------------------------------------------------------------------

    def finished(self, stage: str) -> bool:
        return stage in self.results.get("stages", {}) and stage not in self._lost

    def _find_lost(self) -> None:
        """Compares the checksums of what the finished stages of an unfinished run kept."""
        stages = self.results.get("stages", {})
        if not stages or "model" in stages:
            return
        try:
            self._kept = {stage: list(parts) for stage, parts in read_object(self._kept_file).items()}
        except (RunError, TypeError):
            self._lost = set(stages)
            self._append(f"{self._kept_file} is missing or damaged; all stages are trained again")
            return
        for stage in stages:
            try:
                for part in self._kept[stage]:
                    verify_tensors(self._file(part))
            except (ModelError, KeyError) as error:
                self._lost.add(stage)
                self._append(f"{error}; the stage {stage} is trained again")

    @property
    def _kept_file(self) -> Path:
        return self.work / "stages.json"

    def _file(self, part: str) -> Path:
        return self.work / f"{part}.safetensors"

    def finish(
        self,
        stage: str,
        facts: Mapping[str, Any],
        *,
        weights: Mapping[str, Tensor] | None = None,
        predictions: Predictions | None = None,
    ) -> None:
        """Keeps what a stage made, then notes it as finished: in this order, so that a crash in between only
        repeats the stage. Files are written in the background, while the next stage begins.

        Args:
            stage: the name of the stage.
            facts: what `results.json` has of it.
            weights: of its model.
            predictions: of its model.
        """
        self._settle()
        self.results.setdefault("stages", {})[stage] = dict(facts)
        self._lost.discard(stage)
        self._saved_at = time.monotonic()
        made = None if predictions is None else predictions.tensors()
        parts = {_weights_of(stage): weights, _predictions_of(stage): made}
        # Copies: the next stage may go on with the tensors themselves.
        self._recent = {
            part: {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
            for part, tensors in parts.items()
            if tensors is not None
        }
        if not self._recent:
            self._write(stage, facts, {})
            return
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1)
        self._writing = self._writer.submit(self._write, stage, facts, self._recent)

    def _write(self, stage: str, facts: Mapping[str, Any], parts: Mapping[str, Mapping[str, Tensor]]) -> None:
        for name, tensors in parts.items():
            save_tensors(self._file(name), tensors)
        if stage != "model":
            self._kept[stage] = list(parts)
            write_json(self._kept_file, self._kept)
        write_json(self.path / "results.json", self.results)
        self.remove_checkpoints()
        if told := describe(facts):
            self._append(f"{stage}: {told}")

    def _settle(self) -> None:
        """Waits for what is being written; what went wrong there is raised here."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def weights(self, stage: str) -> dict[str, Tensor]:
        """The weights of the model of a finished stage."""
        return self._tensors(_weights_of(stage))

    def predictions(self, stage: str) -> Predictions:
        """The predictions of the model of a finished stage."""
        return Predictions.of_tensors(self._tensors(_predictions_of(stage)))

    def _tensors(self, part: str) -> dict[str, Tensor]:
        if part in self._recent:
            return self._recent[part]
        self._settle()
        try:
            return load_tensors(self._file(part))[0]
        except ModelError as error:
            raise RunError(f"{error}; remove the folder {self.path} and start again") from None

    def has_weights(self, stage: str) -> bool:
        """Whether a finished stage kept the weights of its model."""
        self._settle()
        return _weights_of(stage) in self._kept.get(stage, ())

    def remember(self, name: str, value: int) -> int:
        """Keeps a number that was decided on the way and that a continued run has to use; returns it."""
        self._settle()
        self._decided[name] = value
        write_json(self._decided_file, self._decided)
        return value

    def remembered(self, name: str, otherwise: int) -> int:
        """A number that this run decided before; else it decides on `otherwise`."""
        if not self._decided and self._decided_file.exists():
            self._decided = read_object(self._decided_file)
        found = self._decided.get(name)
        return found if isinstance(found, int) and found > 0 else self.remember(name, otherwise)

    @property
    def _decided_file(self) -> Path:
        return self.work / "decided.json"

    def clean(self) -> None:
        """Removes what a finished run no longer needs, and what a killed process left half-written."""
        self._settle()
        self.remove_work()
        self.remove_partial()

    def abandon(self) -> None:
        """Leaves nothing of a run that could not begin, so that the corrected command can have its folder."""
        if not self.results and not self.checkpoints:
            self.clean()
            self.remove_new(("config.toml", "log.txt"))

    # -- the stage under way --------------------------------------------------------------------

    def checkpoint(self, stage: str) -> Checkpoint | None:
        """Where this stage was when the run was stopped, if it had got anywhere."""
        saved = self.load_checkpoint(lambda facts: facts.get("stage") == stage)
        if saved is None:
            return None
        tensors, facts = saved
        return Checkpoint(facts["epoch"], tensors)

    def after_epoch(self, stage: str, epochs: int) -> Callable[[int, Callable[[], Checkpoint]], None]:
        """Saves a checkpoint after an epoch, if the last one is old enough to be worth it: at most a tenth of
        the time goes into them."""
        told = os.environ.get("ROSTER_CHECKPOINT_SECONDS", str(CHECKPOINT_SECONDS))
        try:
            every = float(told)
        except ValueError:
            raise RunError(f"ROSTER_CHECKPOINT_SECONDS must be a number of seconds, not {told!r}") from None

        def save(epoch: int, take: Callable[[], Checkpoint]) -> None:
            nonlocal every
            began = time.monotonic()
            if epoch < epochs and began - self._saved_at >= every:
                self._settle()
                point = take()
                self.save_checkpoint(point.tensors, {"stage": stage, "epoch": point.epoch})
                self._saved_at = time.monotonic()
                if every > 0:
                    every = max(every, 9 * (self._saved_at - began))

        return save

    def note_curve(self, stage: str, step: int, scores: Mapping[str, Any]) -> None:
        line = json.dumps({"stage": stage, "step": step, "scores": scores})
        try:
            with self._curve_file.open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")  # a line of its own even after one that was cut off
        except OSError as error:
            raise RosterError(f"cannot write {self._curve_file}: {reason(error)}") from None

    def curve(self, stage: str) -> list[dict[str, Any]]:
        """By step; where a step was gone through twice, as it was the last time."""
        found: dict[int, Any] = {}
        for line in self._curve_file.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, KeyError, TypeError):  # what a killed process left half-written
                point = parse_json(line)
                if point["stage"] == stage:
                    found[point["step"]] = point["scores"]
        return [{"step": step, "scores": found[step]} for step in sorted(found)]

    @property
    def _curve_file(self) -> Path:
        return self.work / "curve.jsonl"

    # -- what people read -----------------------------------------------------------------------

    def log(self, line: str) -> None:
        self._settle()
        self._append(line)

    def _append(self, line: str) -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        try:
            with (self.path / "log.txt").open("a", encoding="utf-8") as file:
                file.write(f"{stamp} {line}\n")
        except OSError as error:
            raise RosterError(f"cannot write {self.path / 'log.txt'}: {reason(error)}") from None
        if self._say is not None:
            self._say(line)

    def _read_results(self) -> dict[str, Any]:
        path = self.path / "results.json"
        return read_object(path) if path.exists() else {}


def _weights_of(stage: str) -> str:
    return f"{stage}.weights"


def _predictions_of(stage: str) -> str:
    return f"{stage}.predictions"


def describe(facts: Mapping[str, Any]) -> str:
    """A stage's facts as one line for people."""
    parts = []
    if "seconds" in facts:
        parts.append(f"{facts['seconds']:.1f} s")
    for name, words in (("peak_memory", "memory"), ("peak_gpu_memory", "GPU memory")):
        if name in facts:
            parts.append(f"{words} {gigabytes(facts[name])}")
    if facts.get("losses"):
        parts.append(f"loss {facts['losses'][-1]:.4f}")
    if "all" in facts.get("hold_out_recall", {}):
        held_out = facts["hold_out_recall"]["all"]
        parts.append(
            f"hold-out recall {held_out['value']:.3f} ± {held_out['error']:.3f} ({held_out['names']} names)"
        )
    for split, scores in facts.get("scores", {}).items():
        parts.append(f"{split} P/R/F1 {scores['precision']:.3f}/{scores['recall']:.3f}/{scores['f1']:.3f}")
    return ", ".join(parts)
